"""The least a subgraph takes in any order of its tiles, at a granularity where slices of one tensor meet by chance.

Plain code for the checker of certificates, apart from the kernels of the search: extents are compared as they are, in
every step in which something may change. All steps of a tile but its first one are the same in every order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise, product
from typing import TypeAlias

from shorthaul.tensor.check.slices import TILE, WHOLE, Column, Slice, meets
from shorthaul.tensor.check.steps import Extent, Marking
from shorthaul.tensor.model import Machine

_Range: TypeAlias = tuple[int, int]
_Extents: TypeAlias = tuple[_Range, _Range]


def least_in_any_order(machine: Machine, item: Column, w: int, h: int, k: int, worth: float) -> float:
    """Return a bound on the latency of every order at a granularity; infinite if it does not fit.

    A tile is entered from its row, from its column, from elsewhere, or first of all. What a tile before has left
    depends on whether its row is the same, and whether it is the first one, as the first part of a reduction begins
    where the first row does; so it does along the columns. The tile takes the least of these entries. In each row one
    tile is not entered from the row, and in the row of the very first tile that one is not, and finds nothing; the same
    holds for columns. Returns early once tiles take ``worth``.
    """
    tiles = _Tiles(machine, item, w, h, k)
    total = 0.0
    gained: dict[tuple[str, int], float] = {}
    begun = {"row": math.inf, "column": math.inf}
    for i, j in product(tiles.rows, tiles.columns):
        times: dict[tuple[bool, bool], float] = {}
        for old_i, old_j in product(_places_before(i, tiles.down), _places_before(j, tiles.across)):
            if (old_i, old_j) != (i, j):
                key = old_i == i, old_j == j
                times[key] = min(times.get(key, math.inf), tiles.first_step(i, j, (old_i, old_j)))
        start = tiles.first_step(i, j, None)
        least = min([start, *times.values()])
        total += tiles.rows[i] * tiles.columns[j] * (least + tiles.later_steps(i, j))
        if tiles.largest > machine.capacity:
            return math.inf
        if total >= worth:
            return total
        for axis, (name, line) in enumerate((("row", i), ("column", j))):
            other = min([start, *(time for key, time in times.items() if not key[axis])])
            gained[name, line] = min(gained.get((name, line), math.inf), other - least)
            begun[name] = min(begun[name], start - other)
    by_row = sum(number * gained["row", i] for i, number in tiles.rows.items())
    by_column = sum(number * gained["column", j] for j, number in tiles.columns.items())
    return total + max(by_row + begun["row"], by_column + begun["column"])


def _places_before(place: int, number: int) -> Iterator[int]:
    """Yield the same place along an axis, the first one, and one that is neither, as far as there are any."""
    yield place
    if place:
        yield 0
    another = 2 if place == 1 else 1
    if another < number:
        yield another


def _kinds(number: int, *, is_each: bool) -> dict[int, int]:
    """Return places along an axis, and how many are like each."""
    if is_each or number <= 2:
        return dict.fromkeys(range(number), 1)
    return {0: 1, 1: number - 2, number - 1: 1}


class _Tiles:
    """The tiles of a column at one granularity: kinds of ``rows`` and ``columns``, and the ``largest`` working set."""

    def __init__(self, machine: Machine, item: Column, w: int, h: int, k: int) -> None:
        self.machine, self.item = machine, item
        self.w, self.h, self.k = w, h, k
        self.down, self.across = -(-item.height // h), -(-item.width // w)
        # Tiles and steps that are not equally long along an axis cover the same in their last ones at most.
        self.rows = _kinds(self.down, is_each=h == k and self._meets("rows"))
        self.columns = _kinds(self.across, is_each=w == k and self._meets("columns"))
        self.steps = -(-max(item.longest, 1) // k)
        self.largest = 0.0

    def _meets(self, axis: str) -> bool:
        return any(meets(group, axis) for group in self.item.loads + self.item.works)

    def first_step(self, i: int, j: int, before: tuple[int, int] | None) -> float:
        """Return the time of a tile's first step after another tile, or of the very first one."""
        there = [] if before is None else self._asked(*before, self.steps - 1)
        return self._time(i, j, 0, there)

    def later_steps(self, i: int, j: int) -> float:
        """Return the time of all steps of a tile but the first."""
        borders = {1, self.steps}
        lengths = {one.length for group in self.item.works for one in group} - {0}
        for last in (-(-length // self.k) for length in lengths):
            borders |= {last - 1, last, last + 1}
        for same in (i * self.h // self.k, j * self.w // self.k):  # the step that may cover what the tile does
            borders |= {same, same + 1, same + 2}
        ordered = sorted(border for border in borders if 1 <= border <= self.steps)
        return math.fsum(
            (end - begin) * self._time(i, j, begin, self._asked(i, j, begin - 1)) for begin, end in pairwise(ordered)
        )

    def _range(self, code: int, length: int, tile: int, place: int, step: int) -> _Range:
        if code == WHOLE:
            return 0, length
        begin, extent = (place * tile, tile) if code == TILE else (step * self.k, self.k)
        return begin, min(begin + extent, length)

    def _extents(self, one: Slice, i: int, j: int, step: int) -> _Extents:
        return self._range(one.rows, one.height, self.h, i, step), self._range(one.columns, one.width, self.w, j, step)

    def _is_asked(self, one: Slice, step: int) -> bool:
        return step * self.k < one.length if one.length else step == self.steps - 1

    def _asked(self, i: int, j: int, step: int) -> list[set[_Extents]]:
        """Return by tensor the slices that a step of a tile asks for."""
        return [
            {self._extents(one, i, j, step) for one in group if self._is_asked(one, step)} for group in self.item.loads
        ]

    def _time(self, i: int, j: int, step: int, before: list[set[_Extents]]) -> float:
        """Return the time of a step after one that asked for the slices ``before``; none is an empty list."""
        (top, bottom), (left, right) = (
            self._range(TILE, self.item.height, self.h, i, step),
            self._range(TILE, self.item.width, self.w, j, step),
        )
        stored = (bottom - top) * (right - left) * self.item.stored
        traffic = stored if step == self.steps - 1 else 0
        held = stored + self.item.held
        for number, slices in enumerate(self._asked(i, j, step)):
            there = before[number] if before else set()
            any_slice = self.item.loads[number][0]
            is_whole = ((0, any_slice.height), (0, any_slice.width)) in there
            held += _size(slices)
            traffic += 0 if is_whole else _size(slices - there)
        self.largest = max(self.largest, held)
        return max(self._compute(i, j, step), traffic / self.machine.bandwidth)

    def _compute(self, i: int, j: int, step: int) -> float:
        total = 0.0
        for group in self.item.works:
            dearest: dict[tuple[_Extents, _Range | None], float] = {}
            for one in group:
                if self._is_asked(one, step):
                    key = self._extents(one, i, j, step), self._reduced(one, step)
                    dearest[key] = max(dearest.get(key, 0.0), self._charge(one, key[0], key[1]))
            total += math.fsum(dearest.values())
        return total

    def _reduced(self, one: Slice, step: int) -> _Range | None:
        """Return which part of its reduction a work does: None is all of it, or has none."""
        if one.part != Extent.STEP.value or one.length <= self.k:
            return None
        return step * self.k, min((step + 1) * self.k, one.length)

    def _charge(self, one: Slice, extents: _Extents, reduced: _Range | None) -> float:
        (top, bottom), (left, right) = extents
        down, across = (bottom - top) / self.machine.native_height, (right - left) / self.machine.native_width
        down = down if one.marking == Marking.ROWS.value else math.ceil(down)
        across = across if one.marking == Marking.COLUMNS.value else math.ceil(across)
        part = 1.0 if reduced is None else (reduced[1] - reduced[0]) / one.length
        return one.cost * down * across * part


def _size(slices: Iterable[_Extents]) -> int:
    return sum((bottom - top) * (right - left) for (top, bottom), (left, right) in slices)
