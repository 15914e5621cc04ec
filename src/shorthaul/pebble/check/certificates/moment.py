"""Loads between moments that follow one another, verified: the first nodes of levels that are ever deeper.

A level holds the nodes of one depth (1 and more for computed ones). When the first node of a level is computed, nothing
deeper is, but all that every node of the level needs was. Up to the first node of the next of the ``levels``, what that
one needs above the first level is computed. What it reads of what every node of the first level needs is in the room
that the first node left, or is loaded in between, and stored before if it was computed; its store counts in the stretch
in which it is read last. The room is that beside the first node and those of its operands that nothing deeper reads.
The least over all nodes that may be the first holds. Where values may be computed again, inputs alone count.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from shorthaul.pebble.check.certificates.part import Game, Proven, WrongError
from shorthaul.pebble.model import IntArray


def proven(game: Game, part: Mapping[str, Any]) -> Proven:
    """Return what a part of the kind ``moment`` proves; raises :class:`WrongError`."""
    levels = part.get("levels")
    if not isinstance(levels, list) or len(levels) < 2 or any(type(level) is not int for level in levels):
        raise WrongError("levels must be two integers and more")
    if any(one >= other for one, other in pairwise(levels)):
        raise WrongError("levels must ascend")
    moments = _Moments(game)
    if levels[0] < 0 or levels[-1] >= len(moments.rows):
        raise WrongError(f"levels must be from 0 to {len(moments.rows) - 1}")
    moved = sum(moments.between(one, other) for one, other in pairwise(levels))
    return Proven(moved, np.arange(game.cdag.n))


class _Moments:
    """All nodes by levels."""

    def __init__(self, game: Game) -> None:
        self._operands, self._level = game.operands(), [level - 1 for level in game.levels()]
        self._weights: list[int] = game.cdag.weights.tolist()
        self._given: list[bool] = game.cdag.given.tolist()
        self._budget, self._recompute = game.budget, game.recompute
        self.rows: list[list[int]] = [[] for _ in range(1 + max(self._level))]
        self._last = [-1] * game.cdag.n  # the deepest level that reads a node
        for node in range(game.cdag.n):
            self.rows[self._level[node]].append(node)
            for operand in self._operands[node]:
                self._last[operand] = max(self._last[operand], self._level[node])

    def between(self, one: int, other: int) -> int:
        """Return what is moved at least between the first nodes of two levels."""
        known, room = self._needed_by_all(one), self._room(one)
        firsts = self.rows[other]
        ahead = {node: 1 << bit for bit, node in enumerate(firsts)}  # which of the firsts need a node
        read: dict[int, int] = {}
        for level in range(other, one, -1):
            for node in self.rows[level]:
                mask = ahead.get(node, 0)
                for operand in self._operands[node] if mask else ():
                    ahead[operand] = ahead.get(operand, 0) | mask
                    if operand in known:
                        read[operand] = read.get(operand, 0) | mask
        loaded, stored = np.zeros(len(firsts), dtype=np.int64), np.zeros(len(firsts), dtype=np.int64)
        for node, mask in read.items():
            if self._recompute and not self._given[node]:
                continue
            amount = self._weights[node] * _bits(mask, len(firsts))
            loaded += amount
            if not self._given[node] and self._last[node] <= other:
                stored += amount
        return max(0, int(np.maximum(loaded - room, loaded + stored - 2 * room).min()))

    def _needed_by_all(self, level: int) -> set[int]:
        """Return what every node of a level needs."""
        masks = {node: 1 << bit for bit, node in enumerate(self.rows[level])}
        everybody = (1 << len(masks)) - 1
        for row in self.rows[level:0:-1]:
            for node in row:
                mask = masks.get(node, 0)
                for operand in self._operands[node] if mask else ():
                    masks[operand] = masks.get(operand, 0) | mask
        return {node for node, mask in masks.items() if mask == everybody and self._level[node] < level}

    def _room(self, level: int) -> int:
        """Return the most that the first node of a level may leave for others."""
        taken = [
            self._weights[node]
            + sum(self._weights[operand] for operand in self._operands[node] if self._last[operand] <= level)
            for node in self.rows[level]
        ]
        return self._budget - min(taken)


def _bits(mask: int, count: int) -> IntArray:
    """Return the bits of a mask, shape (count,)."""
    packed = np.frombuffer(mask.to_bytes(-(-count // 8), "little"), dtype=np.uint8)
    return np.unpackbits(packed, bitorder="little")[:count].astype(np.int64)
