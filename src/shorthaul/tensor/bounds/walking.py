"""The walk through a diagram from layer to layer, with all groups in the making at once, as columns of arrays.

Groups in the making at one node that have the same profile differ in their prices only: the best one goes on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from shorthaul.core.search import Search
from shorthaul.tensor.bounds.groups.compaction import END
from shorthaul.tensor.bounds.groups.diagram import Diagram

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: A group in which nothing is decided yet.
_NOTHING: Final = -1


@dataclass(slots=True)
class Trails:
    """How groups in the making came to be: by number, the one before and the last arc."""

    _begin: list[int] = field(default_factory=lambda: [0])
    _before: list[Integers] = field(default_factory=list)
    _arc: list[Integers] = field(default_factory=list)

    def extend(self, before: Integers, arc: Integers) -> Integers:
        """Note groups with an arc added; return their numbers."""
        self._before.append(before)
        self._arc.append(arc)
        self._begin.append(self._begin[-1] + len(arc))
        return np.arange(self._begin[-2], self._begin[-1])

    def arcs(self, number: int) -> Iterator[int]:
        """Yield the arcs of a group, the last one first."""
        while number != _NOTHING:
            chunk = bisect_right(self._begin, number) - 1
            place = number - self._begin[chunk]
            yield int(self._arc[chunk][place])
            number = int(self._before[chunk][place])


class Found(NamedTuple):
    """A group that its prices favour: its profile, by number, what it is worth, and what it decides."""

    profile: int
    worth: float
    trails: Trails
    number: int


class Judged(NamedTuple):
    """Of groups with an arc added, those that may gain something, by place; their profiles, hopes and states."""

    kept: Integers
    profile: Integers
    hope: Floats
    state: Integers


class Judge(Protocol):
    """Bounds what groups in the making may gain; of each it keeps a state, 0 for a group with nothing in it."""

    at_once: int  #: groups that are judged together
    labels_per_effort: float  #: groups that may gain something

    def judge(self, profile: Integers, state: Integers, arc: Integers, total: Floats) -> Judged:
        """Judge groups of these profiles and states with an arc added, worth ``total`` then."""

    def forget(self, states: Integers) -> None:
        """Take note that these states are not asked for any more."""


class _Making(NamedTuple):
    """Groups in the making, each with an ``arc`` added (``node`` is where they are then, ``trail`` their number)."""

    node: Integers
    profile: Integers
    worth: Floats
    hope: Floats
    trail: Integers
    state: Integers
    arc: Integers

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> _Making:
        return _Making._make(column[rows] for column in self)


class Walk:
    """One walk: ``found`` gets the best group of each profile and last operator; ``labels`` counts groups met.

    ``is_complete`` turns false where of the groups at a node only the ``width`` best go on, and where it ended early.
    """

    def __init__(self, diagram: Diagram, found: dict[tuple[int, int], Found], width: int) -> None:
        self._diagram = diagram
        self._found = found
        self._width = width
        self._trails = Trails()
        self.labels = 0
        self.is_complete = True

    def run(self, begin: list[Integers], gains: Floats, judge: Judge, search: Search, most: int) -> Iterator[int]:
        """Walk, until there are ``most`` groups, and yield how many each stretch of layers adds.

        ``begin`` are the profiles of groups that begin, by layer and arc. Layers at which no group waits are walked
        through together with the one before.
        """
        nobody = _Making._make(np.zeros(0, kind) for kind in (int, int, float, float, int, int, int))
        starts = self._diagram.starts
        has_nodes = np.bincount(self._diagram.layer_of[self._diagram.layer_of >= 0], minlength=len(starts)) > 0
        layer_ends = [each.stop for each in starts]
        ends = [*np.flatnonzero(has_nodes[1:]) + 1, len(starts)] if starts else []
        waiting = {end: [nobody] for end in (0, *ends)}
        for place, end in zip((0, *ends), ends):  # noqa: B905 -- the last one ends
            if search.expired() or self.labels > most:
                self.is_complete = False
                return
            met = _together(waiting.pop(place))
            making = self._best(met.take(_best_alike(met)))
            judge.forget(np.setdiff1d(met.state, making.state, assume_unique=True))
            first = np.concatenate([np.arange(each.start, each.stop) for each in starts[place:end]])
            none, zero = np.zeros(len(first), np.int64), np.zeros(len(first))
            nothing = _Making(none, np.concatenate(begin[place:end]), zero, zero, none + _NOTHING, none, none)
            begun = self._grown(nothing, first, none + 1, gains, judge)
            first, count = self._diagram.first_arc[making.node], self._diagram.arcs_of[making.node]
            after = _together([nobody, *begun, *self._grown(making, first, count, gains, judge)])
            judge.forget(making.state)
            self.labels += len(after.node)
            ended = after.take(after.node == END)
            ended = ended._replace(node=np.searchsorted(layer_ends, ended.arc, side="right"))
            self._note(ended.take(_best_alike(ended)))
            judge.forget(ended.state)
            layer = np.where(after.node == END, -1, self._diagram.layer_of[after.node])
            for later in np.unique(layer[layer >= 0]).tolist():
                waiting[later].append(after.take(layer == later))
            yield len(after.node)

    def _grown(
        self, making: _Making, first: Integers, count: Integers, gains: Floats, judge: Judge
    ) -> Iterator[_Making]:
        """Yield the groups that have hope with one of ``count`` arcs from ``first`` on added."""
        source = np.repeat(np.arange(len(count)), count)
        arcs = np.arange(len(source)) + np.repeat(first - np.cumsum(count) + count, count)
        for at in range(0, len(arcs), judge.at_once):
            one, arc = making.take(source[at : at + judge.at_once]), arcs[at : at + judge.at_once]
            total = one.worth + gains[arc]
            kept, profile, hope, state = judge.judge(one.profile, one.state, arc, total)
            trail = self._trails.extend(one.trail[kept], arc[kept])
            yield _Making(self._diagram.target[arc[kept]], profile, total[kept], hope, trail, state, arc[kept])

    def _note(self, ended: _Making) -> None:
        """Take note of groups that are complete, whose nodes are layers."""
        columns = (ended.profile, ended.node, ended.worth, ended.trail)
        for profile, place, worth, trail in zip(*(column.tolist() for column in columns), strict=True):
            known = self._found.get((profile, place))
            if known is None or known.worth < worth:
                self._found[profile, place] = Found(profile, worth, self._trails, trail)

    def _best(self, making: _Making) -> _Making:
        """Return the ``width`` groups at each node with the highest hopes."""
        order = np.lexsort((-making.hope, making.node))
        node = making.node[order]
        first = np.flatnonzero(np.append(True, np.diff(node) != 0)[: len(order)])
        rank = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
        if (rank >= self._width).any():
            self.is_complete = False
        return making.take(order[rank < self._width])


def _together(parts: list[_Making]) -> _Making:
    """Return the groups in the making of all parts."""
    return _Making._make(map(np.concatenate, zip(*parts, strict=True)))


def _best_alike(making: _Making) -> Integers:
    """Return the best group of each profile at each node, by place."""
    order = np.lexsort((-making.worth, making.profile, making.node))
    node, profile = making.node[order], making.profile[order]
    best: Integers = order[np.append(True, (np.diff(node) != 0) | (np.diff(profile) != 0))[: len(order)]]
    return best
