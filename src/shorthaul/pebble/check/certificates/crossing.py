"""Paths between what was computed and what was not, verified, and what they charge.

A part holds node-disjoint paths along edges, each followed by the later node that it leads to. D are the later nodes,
with ``around`` if that is given; A are the starts. Where no value is computed twice, every node of D needs all of A,
and no path runs through D, the values that paths hold when the first of D is computed are in the room beside it, or are
loaded later, and stored before unless they are inputs. The room is the budget without the lightest node of D; with
``around``, which all of D needs, without that node and all that it reads, none of which may then be on a path. The
proof stands in ``bounds/crossings/crossing.py``.

Where values are accumulated, the later nodes are on the paths too: before the first of them is complete, or when the
node is that paths go around, each path has a complete node before one that is not, and one of both is read or goes on
later. All of the memory is room then, or all but that node.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from shorthaul.pebble.check.certificates.part import Game, Proven, WrongError


def proven(game: Game, part: Mapping[str, Any]) -> Proven:
    """Return what a part of the kind ``crossing`` proves; raises :class:`WrongError`."""
    return _Paths(game).proven(part)


class _Paths:
    """The paths of a part, and the graph that they are in."""

    def __init__(self, game: Game) -> None:
        self._game = game
        cdag = game.cdag
        self._weights: list[int] = cdag.weights.tolist()
        self._given: list[bool] = cdag.given.tolist()
        self._operands = game.operands()
        self._level = game.levels()

    def proven(self, part: Mapping[str, Any]) -> Proven:
        rows, named = part.get("paths"), part.get("around")
        if not isinstance(rows, list) or not rows or not all(isinstance(row, list) and len(row) > 1 for row in rows):
            raise WrongError("paths must be lists of two nodes and more")
        around = None if named is None else self._game.node(named)
        paths = [[self._game.node(name) for name in row] for row in rows]
        later = {path[-1] for path in paths} | (set() if around is None else {around})
        beside = set() if around is None or self._game.partial else set(self._operands[around])
        barred = {around} if self._game.partial else {*later, *beside}
        met: dict[int, int] = {}
        for number, path in enumerate(paths, 1):
            self._follow(path, barred, number, met)
        self._need({path[0] for path in paths}, later if around is None else {around})
        if around is None:
            room = self._game.budget - (0 if self._game.partial else min(self._weights[node] for node in later))
        else:
            self._need({around}, later - {around})
            room = self._game.budget - self._weights[around] - sum(self._weights[node] for node in beside)
        twice, once, room = 0, 0, max(0, room)
        for path in paths:
            least = min(self._weights[node] for node in self._held(path))
            if self._given[path[0]]:
                once += least
            else:
                twice += least
        spared = min(room, twice)
        moved = 2 * (twice - spared) + max(0, once - (room - spared))
        return Proven(moved, np.array(list(met), dtype=np.int64))

    def _held(self, path: Sequence[int]) -> Sequence[int]:
        """Return the nodes of a path of which one is held."""
        return path if self._game.partial else path[:-1]

    def _follow(self, path: Sequence[int], barred: Collection[int | None], number: int, met: dict[int, int]) -> None:
        """Take the nodes of a path; raises :class:`WrongError` where it is no path, or goes where it may not."""
        name, place = self._game.id, f"paths[{number}]"
        for node, following in itertools.pairwise(path):
            if node not in self._operands[following]:
                raise WrongError(f"{place}: {name(following)} does not read {name(node)}")
        for node in self._held(path):
            if node in barred:
                raise WrongError(f"{place}: {name(node)} is a later node, or read by the one that paths go around")
            if node in met:
                raise WrongError(f"{place}: {name(node)} is on paths[{met[node]}] too")
            met[node] = number

    def _need(self, needed: set[int], needing: Iterable[int]) -> None:
        """Raise :class:`WrongError` unless each of some nodes is computed from each of others.

        Bits of the needed nodes are handed on along the edges between.
        """
        order = sorted(needed)
        masks = {node: 1 << bit for bit, node in enumerate(order)}
        lowest = min(self._level[node] for node in order)
        ahead = list(needing)
        between = set(ahead)
        while ahead:
            for operand in self._operands[ahead.pop()]:
                if operand not in between and self._level[operand] >= lowest:
                    between.add(operand)
                    ahead.append(operand)
        for node in sorted(between, key=self._level.__getitem__):
            mask = masks.get(node, 0)
            for operand in self._operands[node]:
                mask |= masks.get(operand, 0)
            masks[node] = mask
        for node in needing:
            missing = ((1 << len(order)) - 1) & ~masks[node]
            if missing:
                lacking = order[(missing & -missing).bit_length() - 1]
                raise WrongError(f"{self._game.id(node)} does not need {self._game.id(lacking)}")
