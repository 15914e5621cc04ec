"""What a part of a certificate speaks about: nodes by their names, edges, memory. And what is found wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shorthaul.pebble.model import BoolArray, Cdag, IntArray


class WrongError(Exception):
    """What is wrong with a part."""


class UnverifiedError(Exception):
    """Why a part that may be right is not verified."""


@dataclass(frozen=True, slots=True, eq=False)
class Proven:
    """What a part proves: ``moved`` by its ``nodes`` beyond inputs and outputs."""

    moved: int
    nodes: IntArray


@dataclass(slots=True, eq=False)
class Game:
    """The graph, the memory of the plans that a bound is about, and whether they compute values again, or in parts."""

    cdag: Cdag
    budget: int
    recompute: bool = False
    partial: bool = False
    _named: dict[object, int] = field(default_factory=dict)
    _edges: IntArray | None = None
    _operands: list[list[int]] = field(default_factory=list)
    _levels: list[int] = field(default_factory=list)

    def operands(self) -> list[list[int]]:
        """Return the operands of every node."""
        if not self._operands:
            starts, targets = self.cdag.parents.starts.tolist(), self.cdag.parents.targets.tolist()
            self._operands = [targets[starts[node] : starts[node + 1]] for node in range(self.cdag.n)]
        return self._operands

    def levels(self) -> list[int]:
        """Return how many nodes the longest path to each node has, itself among them."""
        if not self._levels:
            self._levels = [0] * self.cdag.n
            operands = self.operands()
            for node in self.cdag.order.tolist():
                self._levels[node] = 1 + max((self._levels[operand] for operand in operands[node]), default=0)
        return self._levels

    def node(self, name: object) -> int:
        """Return the node with a name; raises :class:`WrongError` if there is none."""
        if not self._named:
            self._named = {self.cdag.id_of(node): node for node in range(self.cdag.n)}
        found = None if isinstance(name, bool) or not isinstance(name, int | str) else self._named.get(name)
        if found is None:
            raise WrongError(f"{name!r} is no node")
        return found

    def nodes(self, part: Mapping[str, Any], key: str) -> IntArray:
        """Return the nodes in a list of names, shape (names,); raises :class:`WrongError` if it is none."""
        names = part.get(key)
        if not isinstance(names, list) or not names:
            raise WrongError(f"{key} must be a list of nodes")
        return np.array([self.node(name) for name in names], dtype=np.int64)

    def different(self, part: Mapping[str, Any], key: str) -> IntArray:
        """Return nodes as :meth:`nodes` does; raises :class:`WrongError` if one is there twice."""
        found = self.nodes(part, key)
        ordered = np.sort(found)
        again = ordered[1:][ordered[1:] == ordered[:-1]]
        if len(again):
            raise WrongError(f"{key}: {self.id(int(again[0]))} is there twice")
        return found

    def id(self, node: int) -> str:
        """Return the name of a node in messages."""
        return str(self.cdag.id_of(node))

    def are_edges(self, sources: IntArray, targets: IntArray) -> BoolArray:
        """Return which pairs are edges, shape (pairs,)."""
        if self._edges is None:
            starts, ends = self.cdag.edge_arrays()
            self._edges = np.sort(starts * self.cdag.n + ends)
        wanted = sources * self.cdag.n + targets
        if len(self._edges) == 0:
            return np.zeros(len(wanted), dtype=np.bool_)
        place = np.minimum(np.searchsorted(self._edges, wanted), len(self._edges) - 1)
        return np.asarray(self._edges[place] == wanted)


def whole(part: Mapping[str, Any], key: str, least: int, most: int = 2**40) -> int:
    """Return an integer of a part; raises :class:`WrongError` if it is none, or out of its range."""
    value = part.get(key)
    if type(value) is not int or not least <= value <= most:
        raise WrongError(f"{key} must be an integer from {least}")
    return value
