"""The least a subgraph takes in any order of its tiles, at a granularity where slices of one tensor meet by chance.

Plain code for the checker of certificates, apart from the kernels of the search: extents are compared as they are, in
every step in which something may change. All steps of a tile but its first one are the same in every order; what that
takes is known by what the tile before has left. Prices of leaving tiles, and of entering them along a row or a column,
bound the sum: any prices do, the best ones come from a linear program.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise, product
from typing import NamedTuple, TypeAlias

from shorthaul.tensor.check.slices import TILE, WHOLE, Column, Slice, meets
from shorthaul.tensor.check.steps import Extent, Marking
from shorthaul.tensor.model import Machine

_Range: TypeAlias = tuple[int, int]
_Extents: TypeAlias = tuple[_Range, _Range]


def least_in_any_order(machine: Machine, item: Column, w: int, h: int, k: int, worth: float) -> float:
    """Return a bound on the latency of every order at a granularity; infinite if it does not fit.

    A tile is entered from its row, from its column, from elsewhere, or first of all. What a tile before has left
    depends on whether its row is the same, on whether it is the first one, as the first part of a reduction begins
    where the first row does, and on whether the tile's own row is where the last part begins; so it does along the
    columns. Returns early once tiles take ``worth``, each after the best one.
    """
    tiles = _Tiles(machine, item, w, h, k)
    rows, columns = tiles.places("rows"), tiles.places("columns")
    alone = {place: tiles.first_step(*place, None) for place in product(rows, columns)}
    ways = [way for place in alone for way in _ways(tiles, place, rows, columns)]
    least = dict(alone)
    for way in ways:
        least[way.place] = min(least[way.place], way.time)
    total = 0.0
    for i, j in product(tiles.rows, tiles.columns):
        entered = least[_like(i, rows), _like(j, columns)]
        total += tiles.rows[i] * tiles.columns[j] * (entered + tiles.later_steps(i, j))
        if tiles.largest > machine.capacity:
            return math.inf
        if total >= worth:
            return total
    entering = math.fsum(rows[i] * columns[j] * time for (i, j), time in least.items())
    return total - entering + max(entering, _by_prices(alone, ways, rows, columns))


class _Way(NamedTuple):
    """A tile after another one, each standing for those like it: where both are, their line if any, and the time."""

    before: tuple[int, int]
    place: tuple[int, int]
    line: tuple[str, int] | None
    time: float


def _like(place: int, known: dict[int, int]) -> int:
    """Return the place along an axis that stands for this one: itself, or the one that stands for several."""
    return place if place in known else max(known, key=known.__getitem__)


def _ways(tiles: _Tiles, place: tuple[int, int], rows: dict[int, int], columns: dict[int, int]) -> Iterator[_Way]:
    """Yield in which ways a tile may come right after others."""
    for before in product(rows, columns):
        i, j = (
            old if old != mine else _second(old, known, number)
            for old, mine, known, number in zip(before, place, (rows, columns), (tiles.down, tiles.across), strict=True)
        )
        ways: list[tuple[int | None, int | None, tuple[str, int] | None]] = [(i, j, None)]
        if before[0] == place[0]:
            ways.append((place[0], j, ("row", place[0])))
        if before[1] == place[1]:
            ways.append((i, place[1], ("column", place[1])))
        for old_i, old_j, line in ways:
            if old_i is not None and old_j is not None:
                yield _Way(before, place, line, tiles.first_step(*place, (old_i, old_j)))


def _second(place: int, known: dict[int, int], number: int) -> int | None:
    """Return another place that this one stands for, None without one."""
    return None if known[place] == 1 else next(other for other in range(number) if other not in known)


def _by_prices(
    alone: dict[tuple[int, int], float],
    ways: list[_Way],
    rows: dict[int, int],
    columns: dict[int, int],
) -> float:
    """Return what entering all tiles takes at least: one of them is ``alone``, the first.

    Prices of leaving a tile, as each is left once at most, and of entering along a line, as one tile of each is not.
    """
    from ortools.linear_solver import pywraplp

    down, across = sum(rows.values()), sum(columns.values())
    number = {(i, j): rows[i] * columns[j] for i, j in alone}
    most: dict[tuple[str | int, int], int] = {(i, j): count for (i, j), count in number.items()}
    most |= {("row", i): count * (across - 1) for i, count in rows.items()}
    most |= {("column", j): count * (down - 1) for j, count in columns.items()}
    solver = pywraplp.Solver.CreateSolver("GLOP")
    infinity = solver.infinity()
    objective = solver.Objective()
    objective.SetMaximization()
    price = {key: solver.NumVar(0, infinity, "") for key in most}
    time = {place: solver.NumVar(-infinity, infinity, "") for place in number}
    begun = solver.NumVar(-infinity, infinity, "")
    objective.SetCoefficient(begun, 1)
    for key, count in most.items():
        objective.SetCoefficient(price[key], -count)
    for place, start in alone.items():
        objective.SetCoefficient(time[place], number[place])
        row = solver.Constraint(-infinity, start)
        row.SetCoefficient(time[place], 1)
        row.SetCoefficient(begun, 1)
    for way in ways:
        row = solver.Constraint(-infinity, way.time)
        row.SetCoefficient(time[way.place], 1)
        row.SetCoefficient(price[way.before], -1)
        if way.line:
            row.SetCoefficient(price[way.line], -1)
    if not ways or solver.Solve() != pywraplp.Solver.OPTIMAL:
        return 0.0
    paid = {key: max(0.0, variable.solution_value()) for key, variable in price.items()}
    least = dict.fromkeys(number, math.inf)
    for way in ways:
        priced = way.time + paid[way.before] + (paid[way.line] if way.line else 0.0)
        least[way.place] = min(least[way.place], priced)
    entered = math.fsum(count * least[place] for place, count in number.items())
    started = min(start - least[place] for place, start in alone.items())
    return entered + started - math.fsum(count * paid[key] for key, count in most.items())


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
        self.computed: dict[tuple[int, int, int], float] = {}  # by tile and step

    def places(self, axis: str) -> dict[int, int]:
        """Return places along an axis that are unlike each other before or after a tile, and how many are like each."""
        number = self.down if axis == "rows" else self.across
        tile = self.h if axis == "rows" else self.w
        alone = {number - 1}
        if self._meets(axis):
            alone |= {0, *({self.steps - 1} & set(range(number)) if tile == self.k else ())}
        others = [place for place in range(number) if place not in alone]
        return dict.fromkeys(alone, 1) | ({others[0]: len(others)} if others else {})

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
        if (i, j, step) not in self.computed:
            self.computed[i, j, step] = self._compute(i, j, step)
        return max(self.computed[i, j, step], traffic / self.machine.bandwidth)

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
