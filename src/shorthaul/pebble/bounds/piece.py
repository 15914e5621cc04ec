"""What one argument proves of some nodes, and how a certificate says that."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from shorthaul.pebble.model import BoolArray, Cdag, IntArray

#: Parts of a certificate, made when they are asked for; it travels to other processes.
Shown = Callable[[Cdag], list[dict[str, Any]]]


class Piece(NamedTuple):
    """A lower bound on what some nodes move beyond inputs and outputs; ``shown`` makes its certificate, if it has one.

    ``size`` is how many names of nodes that holds.
    """

    nodes: IntArray
    excess: int
    shown: Shown | None = None
    size: int = 0


def most_held(cdag: Cdag, counted: IntArray, left: BoolArray, read: BoolArray, budget: int, least: int) -> IntArray:
    """Return what the memory holds at most at 0, 1, ... cuts, in values that weigh ``least``; shape (counted + 1,).

    A cut comes right before one of the nodes ``counted`` is computed, each before another one. Then there is room for
    that node, and its operands are in fast memory, whatever they are for. A value is held once for what comes before
    the cut, if it is one of ``left``, and once for what follows, if it is one of ``read``.

    >>> from shorthaul.pebble.model import from_pairs
    >>> cdag = from_pairs([1] * 3, [(0, 1), (1, 2)])
    >>> is_computed = np.array([False, True, True])
    >>> most_held(cdag, np.array([1, 2]), is_computed, is_computed, 3, 1).tolist()
    [0, 4, 6]
    """
    operands, held = cdag.parents.targets, np.zeros(len(counted), np.int64)
    for is_of_use in (left, read):
        useless = np.append(0, np.cumsum(np.where(is_of_use[operands], 0, cdag.weights[operands])))
        room = budget - cdag.weights - np.diff(useless[cdag.parents.starts])
        held += np.maximum(0, room[counted]) // least
    return np.append(0, np.cumsum(np.sort(held)[::-1]))


def exhausted(nodes: IntArray, moved: int) -> Piece:
    """Return what an exhaustive search of some nodes has proven."""
    return Piece(nodes, moved, partial(_exhaustion, nodes, moved), len(nodes))


def _exhaustion(nodes: IntArray, moved: int, cdag: Cdag) -> list[dict[str, Any]]:
    return [{"kind": "exhaustion", "nodes": names(cdag, nodes), "moved": moved}]


def names(cdag: Cdag, nodes: IntArray) -> list[int | str]:
    """Return the names of some nodes."""
    return [cdag.id_of(node) for node in nodes.ravel().tolist()]
