"""Which groups have prices worth looking at, where bounds by weight alone leave too many: judged box by box.

In a box of granularities a group pays for all its pieces at the same lengths, and what it holds uses up fast memory.
What may still be gained from a state is worked out for each box, each number of parts of fast memory that are left, and
some weights of time against traffic.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.check.boxes import HELD, weighed
from shorthaul.tensor.check.column_floor import TooManyError
from shorthaul.tensor.check.groups.naming import Words, named
from shorthaul.tensor.check.groups.pricing import Asks, Groups, State
from shorthaul.tensor.check.slices import Column
from shorthaul.tensor.model import Tensor

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_PAIRS: Final = ((0, 0), (0.1, 0.1), (0.3, 0.3), (0.6, 0.6), (0.9, 0.9), (1, 1), (1, 0), (0, 1), (1, 0.5), (0, 0.5))
_WEIGHTS: Final = weighed(_PAIRS)
#: Parts that fast memory is divided into.
_PARTS: Final = 10
#: Numbers in what may be gained from all states, at once.
_AT_ONCE: Final = 8_000_000


class _Table(NamedTuple):
    """Rows of time and traffic by box, infinite where nothing fits, and what is held in first and last steps."""

    cost: Floats
    held: Floats


class _Group(NamedTuple):
    worth: float
    words: Words
    table: _Table


def favoured_by_box(groups: Groups, most: int) -> Iterator[tuple[Column | None, float, str]]:
    """Yield every column whose prices may exceed its latency; raises :class:`TooManyError` above ``most`` groups."""
    walk = _Walk(groups, most)
    number = len(groups.boxes.low[0])
    each = 2 * (_PARTS + 1) * len(_WEIGHTS) * sum(map(len, groups.steps))
    for first in range(0, number, max(1, _AT_ONCE // each)):
        walk.look(slice(first, min(number, first + max(1, _AT_ONCE // each))))
    for (end, asks), (worth, words) in walk.found.items():
        yield None if end.is_part else groups.column(end.shape, asks), worth, named(words)


def parts_of(room: Floats, capacity: float) -> Integers:
    """Return how many whole parts of fast memory this room is.

    The product comes first: a quotient of whole numbers is never rounded across a whole number, a reciprocal's may be.
    """
    return np.floor(room * _PARTS / capacity).astype(np.int64)


class _Walk:
    """The walk through all groups, some boxes at a time, and what it has found."""

    def __init__(self, groups: Groups, most: int) -> None:
        self.groups, self.most = groups, most
        self.found: dict[tuple[State, Asks], tuple[float, Words]] = {}
        self._count = 0
        self._tables: dict[tuple[Tensor, bool, Asks], _Table] = {}

    def look(self, boxes: slice) -> None:
        """Find the groups that may be favoured in some of these boxes."""
        hopes = self._hopes(boxes)
        groups = self.groups
        number = boxes.stop - boxes.start
        nothing = _Group(0.0, None, _Table(np.zeros((HELD, number)), np.zeros((2, number))))
        making: dict[State, dict[Asks, _Group]] = {}
        for place in range(len(groups.order)):
            following: dict[State, dict[Asks, _Group]] = defaultdict(dict)
            for state, steps in groups.steps[place].items():
                for asks, group in ({Asks(): nothing} if state.begins else making.get(state, {})).items():
                    for step in steps:
                        hope = _END if step.state is None else hopes[place + 1].get(step.state)
                        grown = group.table if hope is None else _sum(group.table, self._table(state, step.asks, boxes))
                        worth = group.worth + step.gain
                        if hope is None or not self._keep(grown, worth, hope):
                            continue
                        self._note(
                            following,
                            State(state.shape, is_part=state.is_part),
                            asks.plus(step.asks),
                            step.state,
                            _Group(worth, (group.words, step.words), grown),
                        )
            making = following

    def _note(
        self, following: dict[State, dict[Asks, _Group]], end: State, asks: Asks, state: State | None, group: _Group
    ) -> None:
        """Take note of a group in the making, or of one that is complete, if none alike is worth more."""
        self._count += 1
        if self._count > self.most:
            raise TooManyError
        if state is None:
            if group.worth > self.found.get((end, asks), (0.0, None))[0]:
                self.found[end, asks] = group.worth, group.words
        elif asks not in following[state] or following[state][asks].worth < group.worth:
            following[state][asks] = group

    def _keep(self, table: _Table, worth: float, hope: Floats) -> bool:
        """True if a group may gain something in a box; the others are marked in its table."""
        capacity = self.groups.problem.machine.capacity
        parts = parts_of(capacity - table.held, capacity)
        fits = (parts >= 0).all(axis=0) & np.isfinite(table.cost[0])
        cost = _weighted(np.where(fits, table.cost, 0.0))
        rest = hope[np.arange(2)[:, None], np.arange(len(fits)) if len(hope[0]) > 1 else 0, np.maximum(parts, 0)]
        fits &= worth + (rest - cost).min(axis=(0, 2)) > self.groups.slack
        table.cost[:, ~fits] = np.inf
        return bool(fits.any())

    def _hopes(self, boxes: slice) -> list[dict[State, Floats]]:
        """Return by place and state what may be gained from there: by step (first, last), box, parts left, weight."""
        groups = self.groups
        number = boxes.stop - boxes.start
        hopes: list[dict[State, Floats]] = [{} for _ in range(len(groups.order) + 1)]
        for place in range(len(groups.order) - 1, -1, -1):
            for state, steps in groups.steps[place].items():
                if state.begins:
                    continue
                best = np.full((2, number, _PARTS + 1, len(_WEIGHTS)), -np.inf)
                for step in steps:
                    rest = _END if step.state is None else hopes[place + 1].get(step.state)
                    if rest is not None:
                        table = self._table(state, step.asks, boxes)
                        np.maximum(best, self._along(table, step.gain, rest), out=best)
                hopes[place][state] = best
        return hopes

    def _along(self, table: _Table, gain: float, rest: Floats) -> Floats:
        """Return what may be gained by a step and from there on."""
        taken = parts_of(table.held, self.groups.problem.machine.capacity)
        left = np.arange(_PARTS + 1) - taken[:, :, None]
        box = np.arange(taken.shape[1])[:, None] if len(rest[0]) > 1 else 0
        found: Floats = rest[np.arange(2)[:, None, None], box, np.maximum(left, 0)] + gain
        found[left < 0] = -np.inf
        found -= _weighted(table.cost)[:, None, :]
        return found

    def _table(self, state: State, asks: Asks, boxes: slice) -> _Table:
        """Return what a step takes in these boxes."""
        key = state.shape, state.is_part, asks
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = _Table(*self.groups.tables(state, asks))
        return _Table(table.cost[:, boxes], table.held[:, boxes])


#: A group that is complete gains nothing more, in any box.
_END: Final = np.zeros((2, 1, _PARTS + 1, len(_WEIGHTS)))


def _sum(one: _Table, other: _Table) -> _Table:
    return _Table(one.cost + other.cost, one.held + other.held)


def _weighted(cost: Floats) -> Floats:
    """Return by box and weight the mean of time and traffic, infinite where nothing fits."""
    fits = np.isfinite(cost[0])
    known = np.where(fits, cost, 0.0)
    mean: Floats = known.T @ _WEIGHTS.T
    mean[~fits] = np.inf
    return mean
