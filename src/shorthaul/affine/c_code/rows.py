"""Steps of skewed tiles in rows along memory, in place of the lattice that skewed coordinates make of them.

A tile is marched along the coordinates that are not tiled. What it computes at one step of the march may come in any
order that keeps dependences. Skewed coordinates walk every second or fourth point of it, at large distances in memory.
Rows do not: loops of the program cut a step into rows, in which elements follow one another in memory. In every row one
statement comes after the other, so that no iteration of the innermost loop depends on another.

Room: at any time what is alive are values whose first use is not later and whose last use is not earlier (see
:mod:`shorthaul.affine.orders.value_classes`). With places counted along the march, then row by row, a class with reach
m along the coordinate of rows has m rows of values between their first and last uses at the same step of the march, and
those of one row more at most, whose last uses still come or whose first uses have been. In place of these stood what
skewed coordinates needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import permutations, product
from math import ceil, floor, lcm
from typing import NamedTuple

import islpy as isl
import numpy as np

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.dependences import Conflicts
from shorthaul.affine.integer_sets.lattices import diagonal
from shorthaul.affine.integer_sets.subspaces import rational_solution
from shorthaul.affine.model import Program
from shorthaul.affine.orders.borders.held import Border, BorderedStep, within
from shorthaul.affine.orders.boxes.fixed import FixedStep
from shorthaul.affine.orders.memories.nested import NestedStep
from shorthaul.affine.orders.placement import Loops, Row, placement_map
from shorthaul.affine.orders.tile_policy import Phase, memory_axis
from shorthaul.affine.orders.tile_steps import Step
from shorthaul.affine.orders.upper_bound import AnyStep
from shorthaul.affine.orders.value_classes import Group, ValueClass
from shorthaul.affine.tuning import PLACEMENT_OPERATIONS, ROW_BLOCK, ROWS_SHARE

#: Pairs of instances that share memory, by their statements.
_Pairs = Sequence[tuple[str, str, isl.Map]]


@dataclass(frozen=True)
class Rows:
    """A phase, in tiles that leave room for rows, and what sorts instances inside of them.

    ``entries`` are by statement, in its iterators v0, v1, ...
    """

    step: AnyStep
    entries: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class _Coordinate:
    """A loop of the root as a coordinate of all statements, each shifted by itself."""

    weights: tuple[Fraction, ...]
    factors: Mapping[str, tuple[int, ...]]
    shifts: Mapping[str, int]

    def row(self, name: str) -> Row:
        """Return the place of a statement."""
        return Row(self.factors[name], (), self.shifts[name])


def in_rows(step: AnyStep, capacity: int, conflicts: Conflicts) -> Rows | None:
    """Return a phase that runs in skewed tiles in rows along memory inside of them; None if it cannot.

    Tiles are for ``capacity`` words, of which rows may take ``ROWS_SHARE`` for themselves.
    """
    if isinstance(step, FixedStep):
        found = in_rows(step.step, step.capacity, conflicts)
        if found is None or isinstance(found.step, FixedStep):
            return found
        return replace(found, step=FixedStep(found.step.plain, found.step, step.capacity))
    if not isinstance(step, Step | BorderedStep | NestedStep) or step.phase is None or step.policy is None:
        return None
    if isinstance(step, NestedStep):
        capacity = step.capacities[-1]
    inside = _Inside(conflicts.program, step.phase, step.policy.order)
    if not step.policy.order.tiled or not inside.is_skewed:
        return None
    with suppress(isl.Error, effort.OutOfEffortError), effort.limited(PLACEMENT_OPERATIONS):
        for choice in inside.choices(conflicts):
            needed = _needed(step, inside, choice, capacity)
            if needed is None or needed.more > ROWS_SHARE * capacity:
                continue
            # larger memories of tiles within tiles hold what rows need too
            fits = needed.held + needed.more <= capacity and not (needed.more and isinstance(step, NestedStep))
            made = step if fits else _smaller(step, capacity - needed.more)
            needed = None if made is None else _needed(made, inside, choice, capacity)
            if made is not None and needed is not None and needed.held + needed.more <= capacity:
                return Rows(made, inside.entries(choice))
    return None


class _Words(NamedTuple):
    """The words that a phase holds, and how many ``more`` it needs in rows."""

    held: int
    more: int


def _needed(step: AnyStep, inside: _Inside, found: _Choice, capacity: int) -> _Words | None:
    """Return the words that a phase needs in tiles for ``capacity``; None where it cannot keep what it keeps."""
    if isinstance(step, FixedStep):
        plain, chosen = step.step, step.capacity
    else:
        plain, chosen = step, capacity
    assert isinstance(plain, Step | BorderedStep | NestedStep)
    assert plain.phase is not None
    assert plain.policy is not None
    if isinstance(plain, BorderedStep):
        phase, tiles, live, borders = plain.inside, plain.tiles, plain.live, plain.borders
    elif isinstance(plain, NestedStep):
        phase, tiles, borders = plain.phase, plain.tiles[-1], ()
        live = float(plain.room)
    else:
        edge = plain.phase.edge(plain.policy, chosen)
        if not edge:
            return None
        phase, tiles, borders = plain.phase, plain.phase.sizes(plain.policy, edge), ()
        live = float(phase.live(plain.policy, edge))
    room = _Room(inside, found, phase, tiles)
    more = room.more(plain.policy.levels, borders)
    return None if more is None else _Words(ceil(live), more)


def _smaller(step: Step | BorderedStep | NestedStep, capacity: int) -> AnyStep | None:
    """Return a phase in tiles for ``capacity`` words."""
    if isinstance(step, NestedStep):
        return step.with_less(step.capacities[-1] - capacity)
    return within(step, capacity) if isinstance(step, BorderedStep) else FixedStep(step.plain, step, capacity)


@dataclass(frozen=True)
class _Choice:
    """Coordinates of rows, the axis along them, and the place of every statement in a row.

    Rows are ``free`` where their instances may come in any order, statement by statement: the whole row, or blocks
    of it that are cut along the axis ``cut``.
    """

    rows: tuple[_Coordinate, ...]
    axis: _Coordinate
    ranks: Mapping[str, int]
    free: bool
    cut: _Coordinate | None = None


class _Inside:
    """The inside of tiles: what is marched along, and the root, a statement with as many loops as coordinates."""

    def __init__(self, program: Program, phase: Phase, order: Loops) -> None:
        self.program, self.phase, self.order = program, phase, order
        self.placement = phase.placement
        self.width = len(next(iter(self.placement.values())))
        whole = [name for name, rows in self.placement.items() if len(rows[0].factors) == self.width]
        self.root = next((name for name in whole if np.linalg.matrix_rank(self._matrix(name)) == self.width), None)
        marched = [at for at in order.inner if at not in order.tiled]
        self.march = (*order.outer, *marched)
        self.rest = order.inner[len(marched) :]

    def _matrix(self, name: str) -> list[tuple[int, ...]]:
        return [row.factors for row in self.placement[name]]

    @property
    def is_skewed(self) -> bool:
        """True if the march comes first, and a coordinate moves in several loops at once."""
        plain = not any(row.parameters for rows in self.placement.values() for row in rows)
        first = set(self.rest) == set(self.order.tiled)
        return self.root is not None and plain and first and self.phase.is_skewed

    def choices(self, conflicts: Conflicts) -> Iterator[_Choice]:
        """Yield legal orders in rows: those in which rows have no order, then those in which blocks have none."""
        assert self.root is not None
        axis = memory_axis(self.program.by_name[self.root])
        if axis is None or any(self._matrix(self.root)[at][axis] for at in self.march):
            return  # with the march held no two instances are one after the other in memory
        pairs = self._at_one_step(conflicts)
        others = [at for at in range(self.width) if at != axis]
        blocks: list[_Choice] = []
        late: list[_Choice] = []
        for chosen in permutations(others, len(self.rest) - 1):
            if not self._is_dense([*chosen, axis]):
                continue
            for signs in product((1, -1), repeat=len(chosen)):
                found = self._cut(pairs, [sign * (at + 1) for sign, at in zip(signs, chosen, strict=True)])
                if found is None:
                    continue
                rows, left = found
                straight = self._coordinate(axis + 1, ())
                ranks = None if straight is None else self._ranks(left)
                if straight is not None and ranks is not None:
                    yield _Choice(rows, straight, ranks, free=True)
                    cuts = (self._coordinate(sign * (axis + 1), left) for sign in (1, -1))
                    blocks += [_Choice(rows, straight, ranks, free=True, cut=cut) for cut in cuts if cut is not None]
                late += self._in_order(rows, left, axis)
        yield from (*blocks, *late)

    def entries(self, found: _Choice) -> dict[str, tuple[str, ...]]:
        """Return what sorts instances inside of tiles by statement."""
        result = {}
        marched = [at for at in self.march if at not in self.order.outer]
        for name, places in self.placement.items():
            names = [f"v{at}" for at in range(len(places[0].factors))]
            rows = [*(places[at] for at in marched), *(item.row(name) for item in found.rows)]
            texts = [row.text(names) for row in rows]
            if found.cut is not None:
                texts.append(f"floor(({found.cut.row(name).text(names)}) / {ROW_BLOCK})")
            last = (str(found.ranks[name]), found.axis.row(name).text(names))
            result[name] = (*texts, *(last if found.free else last[::-1]))
        return result

    def _in_order(self, rows: tuple[_Coordinate, ...], pairs: _Pairs, axis: int) -> Iterator[_Choice]:
        """Yield rows in which one iteration comes after the other."""
        for sign in (1, -1):
            found = self._cut(pairs, [sign * (axis + 1)])
            ranks = None if found is None else self._ranks(found[1])
            if found is not None and ranks is not None:
                yield _Choice(rows, found[0][0], ranks, free=False)

    def _is_dense(self, loops: Sequence[int]) -> bool:
        """True if every step of the loops, the march held, is one of instances."""
        assert self.root is not None
        matrix = self._matrix(self.root)
        units = [[int(at == loop) for at in range(self.width)] for loop in loops]
        return abs(round(float(np.linalg.det([*(matrix[at] for at in self.march), *units])))) == 1

    def _at_one_step(self, conflicts: Conflicts) -> _Pairs:
        """Return what shares memory at one step of the march."""
        rows = {name: tuple(places[at] for at in self.march) for name, places in self.placement.items()}
        pairs = [(a, b, item) for a, b in product(self.placement, repeat=2) for _, _, item in conflicts.between(a, b)]
        return self._equal(pairs, rows)

    def _equal(self, pairs: _Pairs, rows: Mapping[str, tuple[Row, ...]]) -> _Pairs:
        """Return the pairs with equal ``rows``."""
        result = []
        for a, b, item in pairs:
            effort.step()
            found = item.intersect(self._map(a, rows[a]).apply_range(self._map(b, rows[b]).reverse()))
            if not found.is_empty():
                result.append((a, b, found))
        return result

    def _map(self, name: str, rows: tuple[Row, ...]) -> isl.Map:
        return placement_map(name, len(self.program.by_name[name].iterators), rows, self.program.parameters)

    def _cut(self, pairs: _Pairs, loops: Sequence[int]) -> tuple[tuple[_Coordinate, ...], _Pairs] | None:
        """Return coordinates for loops of the root, counted from 1, downwards where below 0, along which no pair leads
        back, and the pairs that have the same place in all of them.
        """
        result: list[_Coordinate] = []
        for loop in loops:
            found = self._coordinate(loop, pairs)
            if found is None:
                return None
            result.append(found)
            pairs = self._equal(pairs, {name: (found.row(name),) for name in self.placement})
        return tuple(result), pairs

    def _coordinate(self, loop: int, pairs: _Pairs) -> _Coordinate | None:
        assert self.root is not None
        unit = [(1 if loop > 0 else -1) * int(at == abs(loop) - 1) for at in range(self.width)]
        weights = rational_solution(self._matrix(self.root), unit)
        if weights is None:
            return None
        factors: dict[str, tuple[int, ...]] = {}
        for name, rows in self.placement.items():
            found = [
                sum((weight * row.factors[at] for weight, row in zip(weights, rows, strict=True)), Fraction(0))
                for at in range(len(rows[0].factors))
            ]
            if any(value.denominator > 1 for value in found):
                return None
            factors[name] = tuple(map(int, found))
        shifts = self._shifts(factors, pairs)
        return None if shifts is None else _Coordinate(weights, factors, shifts)

    def _shifts(self, factors: Mapping[str, tuple[int, ...]], pairs: _Pairs) -> dict[str, int] | None:
        """Return the least shifts with which no pair leads back; None where there are none."""
        least: dict[tuple[str, str], int] = {}
        for a, b, item in pairs:
            effort.step()
            ends = [self._map(name, (Row(factors[name]),)) for name in (a, b)]
            apart = item.apply_domain(ends[0]).apply_range(ends[1]).deltas()
            low = apart.project_out(isl.dim_type.param, 0, apart.dim(isl.dim_type.param)).dim_min_val(0)
            if not low.is_int():
                return None
            least[a, b] = min(least.get((a, b), low.to_python()), low.to_python())
        shifts = dict.fromkeys(self.placement, 0)
        for _ in range(len(shifts) + 1):
            late = shifts.copy()
            for (a, b), low in least.items():
                late[b] = max(late[b], late[a] - low)
            if late == shifts:
                return shifts
            shifts = late
        return None

    def _ranks(self, pairs: _Pairs) -> dict[str, int] | None:
        """Return an order of the statements that keeps all pairs; None where there is none."""
        ranks = dict.fromkeys(self.placement, 0)
        for _ in range(len(ranks)):
            late = ranks.copy()
            for a, b, _pair in pairs:
                late[b] = max(late[b], late[a] + 1)
            if late == ranks:
                return ranks
            ranks = late
        return None


class _Room:
    """The words that rows need."""

    def __init__(self, inside: _Inside, found: _Choice, phase: Phase, tiles: Mapping[int, int]) -> None:
        self.inside, self.found, self.phase, self.tiles = inside, found, phase, tiles
        self.order, self.rest = inside.order, inside.rest

    def more(self, levels: Sequence[int], borders: Sequence[Border]) -> int | None:
        """Return the words beside those that skewed coordinates need; None where not all that is kept can be."""
        march = len(self.order.inner) - len(self.rest)
        total = Fraction(0)
        for item, level in zip(self.phase.classes, levels, strict=True):
            if level >= len(self.order.inner) or (item.across and march):
                continue  # planes that meet a step of the march are counted all
            if level > march or not item.regular:
                return None
            total += sum((self._beyond(item, group) for group in item.groups(self.order, level)), Fraction(0))
        for border in borders:
            (group,) = border.like.groups(self.order, 0)
            if self._is_within(border, group):
                continue
            if not border.faces:
                return None
            for generators in border.faces:
                face = replace(border.like, generators=generators, _cache={})
                total += self._beyond(face, group, border.apart)
        return ceil(total)

    def _is_within(self, border: Border, group: Group) -> bool:
        """True if values leave room for inputs read in their place (see :mod:`shorthaul.affine.orders.borders`)."""
        marched = [at for at in self.order.inner if at not in self.rest]
        steps = [Fraction(border.apart[at]) for at in marched]
        steps += [self._along(item, border.apart) for item in self._coordinates]
        reach = [Fraction(group.reach[at]) for at in marched]
        reach += [self._reach(item, group) for item in self._coordinates]
        return not any(border.apart) or steps <= reach

    def _beyond(self, item: ValueClass, group: Group, apart: Sequence[int] = ()) -> Fraction:
        """Return how many values of a class are alive at one step more than before; ``apart`` adds to their reach."""
        reach = {at: span + (abs(apart[at]) if apart else 0) for at, span in group.reach.items()}
        before = item.alive(self.rest, reach, item.spacing(self.order), self.tiles)
        return max(Fraction(0), self._alive(item, replace(group, reach=reach), apart) - Fraction(before))

    def _alive(self, item: ValueClass, group: Group, apart: Sequence[int]) -> Fraction:
        """Return how many values are between their first and last uses, which are at one step of the march."""
        extents = {at: self.tiles[at] + group.reach.get(at, 0) for at in self.rest}
        whole = Fraction(1)
        for at in self.rest:
            step = item.spacing(self.order)[at] if at not in item.free else None
            whole *= 1 if step is None else Fraction(extents[at] + step - 1, step)
        if item.free:
            return whole
        *gaps, along = self._spacing(item)
        length = min((Fraction(extents[at] - 1) / abs(step) for at, step in self._direction.items() if step))
        full = Fraction(1) if along is None else Fraction(1 + floor(length / along))
        live, one, cut = full, Fraction(1), self.found.cut
        if cut is not None and along is not None:
            blocks = 1 + ceil(self._reach(cut, group, apart) / ROW_BLOCK)
            live = min(live, Fraction(blocks * (1 + floor((ROW_BLOCK - 1) / along))))
        elif not self.found.free:
            live = self._crossed(self._reach(self.found.axis, group, apart), along, one, one)
        for place, gap in zip(reversed(self.found.rows), reversed(gaps), strict=True):
            live = self._crossed(self._reach(place, group, apart), gap, full, live)
            extent = sum((abs(place.weights[at]) * (extents[at] - 1) for at in self.rest), Fraction(0))
            full = full if gap is None else min(whole, full * (1 + floor(extent / gap)))
        return live

    @staticmethod
    def _crossed(reach: Fraction, step: Fraction | None, full: Fraction, live: Fraction) -> Fraction:
        """Return what is alive with one more coordinate, as :class:`ValueClass` counts it."""
        if step is None or not reach:
            return full if reach else live
        return reach // step * full + (full if reach % step else live)

    def _spacing(self, item: ValueClass) -> list[Fraction | None]:
        """Return the steps between values along rows and axis, each with all coordinates before it equal."""
        places, scale = self._coordinates, self._scale
        marched = (*self.order.outer, *(at for at in self.order.inner if at not in self.rest))
        lines = [
            [*(vector[at] for at in marched), *(int(scale * self._along(place, vector)) for place in places)]
            for vector in item.generators
        ]
        found = diagonal(lines, len(marched) + len(places))[len(marched) :]
        return [None if step is None else Fraction(step, scale) for step in found]

    @cached_property
    def _direction(self) -> dict[int, Fraction]:
        """How far the coordinates of tiles move for one step along a row."""
        march, places, scale = self.inside.march, self._coordinates, self._scale
        columns = [
            (*(int(at == other) for other in march), *(int(scale * place.weights[at]) for place in places))
            for at in range(self.inside.width)
        ]
        found = rational_solution(columns, (*(0,) * (self.inside.width - 1), scale))
        assert found is not None
        return {at: found[at] for at in self.rest}

    @cached_property
    def _coordinates(self) -> tuple[_Coordinate, ...]:
        return (*self.found.rows, self.found.axis)

    @cached_property
    def _scale(self) -> int:
        return lcm(*(weight.denominator for place in self._coordinates for weight in place.weights))

    def _along(self, item: _Coordinate, vector: Sequence[int | None]) -> Fraction:
        return sum((a * (b or 0) for a, b in zip(item.weights, vector, strict=True)), Fraction(0))

    def _reach(self, item: _Coordinate, group: Group, apart: Sequence[int] = ()) -> Fraction:
        """Return how far the uses of a value are apart along a coordinate, from its own place on if computed there."""
        found = []
        for use in group.uses:
            found.append(self._along(item, use.offsets) + self._moved(item, use.read.sink))
            if group.computed and use.read.source is not None:
                found.append(self._moved(item, use.read.source))
        return max(found) - min(found) + (abs(self._along(item, apart)) if apart else 0)

    def _moved(self, item: _Coordinate, name: str) -> Fraction:
        """Return how much a statement is shifted beside what its placement says."""
        return item.shifts[name] - self._along(item, [row.constant for row in self.inside.placement[name]])
