"""The least a subgraph takes at any granularity and in any order, for the checker of certificates.

Written apart from the cost model of the search: it follows the demands of :func:`shorthaul.tensor.check.steps.walk`
through one step of each class of steps and tiles, for arrays of granularities. A tile is interior or last along each
axis; its steps change where a sink begins its last one or ends. No order enters a tile better than along its row or its
column, and in each row and column one tile at least is entered otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce
from itertools import combinations, pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.check.slices import STEP, TILE, WHOLE, Column, Slice, mixed
from shorthaul.tensor.check.steps import Extent, Marking
from shorthaul.tensor.check.tile_floor import least_in_any_order
from shorthaul.tensor.model import Problem, Rules

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: Boxes of granularities that are looked at together, and for one column at most.
_AT_ONCE: Final = 16_384
_MOST_BOXES: Final = 2_000_000


class TooManyError(Exception):
    """There are more states, groups in the making, or granularities, than are looked at."""


def cheaper(problem: Problem, rules: Rules, item: Column, worth: float) -> tuple[int, int, int] | None:
    """Return a granularity at which the column may take less than ``worth``, None if it takes as much at every one.

    Boxes of granularities that may take less are halved, and halved again. Raises :class:`TooManyError` where that are
    too many.
    """
    machine = problem.machine
    most = [item.width, item.height, max(1, item.deepest)]
    if rules.granularity_is_native:
        natives = (machine.native_width, machine.native_height, machine.native_width)
        most = [*map(min, most, natives)]
    # Where native tiles bound the steps, halving leaves few boxes; running through short steps would take longer.
    even = 0 if rules.granularity_is_native else _even(problem, item, most[2])
    high = np.array([[most[0], most[0]], [most[1], most[1]], [even, most[2]]], dtype=np.int64)
    low = np.array([[1, 1], [1, 1], [1, even + 1]], dtype=np.int64)
    pending = [(low, high)]
    looked_at = 0
    while pending:
        low, high = pending.pop()
        if low.shape[1] > _AT_ONCE:
            pending.append((low[:, _AT_ONCE:], high[:, _AT_ONCE:]))
            low, high = low[:, :_AT_ONCE], high[:, :_AT_ONCE]
        looked_at += low.shape[1]
        if looked_at > _MOST_BOXES:
            raise TooManyError
        if rules.prologues_are_whole:
            low = np.stack([*low[:2], _least_depths(problem, item, low[2], *high[:2])])
        low, high = low[:, low[2] <= high[2]], high[:, low[2] <= high[2]]
        open_ = Steps(problem, item, *high).outline_in_all(*low[:2]) < worth
        open_ &= Steps(problem, item, *low).held_at_least() <= machine.capacity
        low, high = low[:, open_], high[:, open_]
        is_one = (low[:2] == high[:2]).all(axis=0) & ((low[2] == high[2]) | (high[2] <= even))
        first, last = low[:, is_one], high[:, is_one]
        ones = Steps(problem, item, *last)
        floor = ones.floor(np.where(first[2] < last[2], np.inf, machine.capacity)) if is_one.any() else np.zeros(0)
        for place in np.flatnonzero(floor < worth):
            size = int(ones.w[place]), int(ones.h[place]), int(ones.k[place])
            if first[2, place] < size[2]:
                depths = np.arange(first[2, place], size[2] + 1)
                each = np.stack([np.full_like(depths, size[0]), np.full_like(depths, size[1]), depths])
                pending.append((each, each))
            elif least_in_any_order(machine, item, *size, worth) < worth:
                return size
        low, high = low[:, ~is_one], high[:, ~is_one]
        if low.shape[1]:
            ratio = high / low
            ratio[2, high[2] <= even] = 0
            axis, each = np.argmax(ratio, axis=0), np.arange(low.shape[1])
            upper, lower = low.copy(), high.copy()
            lower[axis, each] = (low[axis, each] + high[axis, each]) // 2
            upper[axis, each] = lower[axis, each] + 1
            pending.append((np.concatenate([low, upper], axis=1), np.concatenate([lower, high], axis=1)))
    return None


def _even(problem: Problem, item: Column, deepest: int) -> int:
    """Return a step such that shorter ones take no less than it does, whether it fits or not; 0 without one.

    It cuts the only reduction evenly, and is no longer than a native tile. What is the same in every step is paid more
    often in shorter ones; nothing may be there by chance, or as all of a tensor is.
    """
    lengths = {slice_.length for group in item.works for slice_ in group} - {0}
    for group in item.loads + item.works:
        if len({STEP in (slice_.rows, slice_.columns) for slice_ in group}) > 1 or mixed(group):
            return 0
    most = min(deepest, problem.machine.native_width, problem.machine.native_height)
    return max(k for k in range(1, most + 1) if min(lengths) % k == 0) if len(lengths) == 1 else 0


def _least_depths(problem: Problem, item: Column, k: Integers, w: Integers, h: Integers) -> Integers:
    """Return what steps have at least, by the rule on prologues, where tiles are up to so wide and high."""
    room = (problem.machine.native_width, problem.machine.native_height)
    for need, tile, length, most in zip(item.prologues, (w, h), (item.width, item.height), room, strict=True):
        partial = (tile < min(need, length)) | (need > most)
        k = np.maximum(k, np.where(partial, need, 1))
    return k


class _Times(NamedTuple):
    """What the first step of a tile takes, if it begins or follows one of its row or column, and what later ones take.

    By class of tile; each class of later steps with how many there are.
    """

    start: Floats
    row: Floats
    column: Floats
    later: list[tuple[Integers, Floats]]


class Steps:
    """One column at many granularities; arrays of the shape [row class, column class, granularity]."""

    def __init__(self, problem: Problem, item: Column, w: Integers, h: Integers, k: Integers) -> None:
        self.machine = problem.machine
        self.item = item
        self.w, self.h, self.k = w, h, k
        self.rows, self.columns = -(-item.height // h), -(-item.width // w)
        h, w = np.minimum(h, item.height), np.minimum(w, item.width)
        self.tall = np.stack([h, item.height - (self.rows - 1) * h])[:, None, :]
        self.wide = np.stack([w, item.width - (self.columns - 1) * w])[None, :, :]
        down, across = np.stack([self.rows - 1, np.ones_like(h)]), np.stack([self.columns - 1, np.ones_like(h)])
        self.count = (down[:, None, :] * across[None, :, :]).astype(float)
        self.steps = -(-max(item.longest, 1) // k)
        self.slices = [item for group in item.loads for item in group]

    # --- one slice --------------------------------------------------------------------------------------------------

    def steps_of(self, slice_: Slice) -> Integers:
        """Return in how many steps of a tile a slice is asked for."""
        return -(-slice_.length // self.k) if slice_.length else np.ones_like(self.k)

    def codes(self, slice_: Slice) -> tuple[Integers, Integers]:
        """Return what the axes follow where that makes a difference."""
        one = np.zeros_like(self.k)
        step = np.where(self.steps_of(slice_) > 1, STEP, WHOLE)
        along = {WHOLE: one, STEP: step}
        rows = {**along, TILE: np.where(self.rows > 1, TILE, WHOLE)}
        columns = {**along, TILE: np.where(self.columns > 1, TILE, WHOLE)}
        return rows[slice_.rows], columns[slice_.columns]

    def is_asked(self, slice_: Slice, step: Integers) -> Mask:
        """Where a slice is asked for in ``step``."""
        asked: Mask = step < self.steps_of(slice_) if slice_.length else step == self.steps - 1
        return asked

    def extents(self, slice_: Slice, step: Integers) -> tuple[Integers, Integers]:
        """Return the rows and columns of a slice in ``step``, by class of tile."""
        part = np.minimum(self.k, slice_.length - step * self.k)[None, None, :]
        full = np.ones_like(self.k)[None, None, :]
        rows = {WHOLE: slice_.height * full, TILE: self.tall, STEP: part}[slice_.rows]
        columns = {WHOLE: slice_.width * full, TILE: self.wide, STEP: part}[slice_.columns]
        return rows, columns

    def same(self, one: Slice, other: Slice) -> Mask:
        """Where two slices are the same whenever both are asked for."""
        pairs = zip(self.codes(one), self.codes(other), strict=True)
        same: Mask = np.logical_and(*[mine == theirs for mine, theirs in pairs])
        return same

    def stays(self, slice_: Slice, step: Integers) -> Mask:
        """Where the slice used in ``step`` does not change with the step."""
        rows, columns = self.codes(slice_)
        stays: Mask = self.is_asked(slice_, step) & (rows != STEP) & (columns != STEP)
        return stays

    def covers(self, there: Slice, slice_: Slice) -> Mask:
        """Where having ``there`` makes ``slice_`` free."""
        rows, columns = self.codes(there)
        covers: Mask = self.same(there, slice_) | ((rows == WHOLE) & (columns == WHOLE))
        return covers

    # --- chance -----------------------------------------------------------------------------------------------------

    def chances(self) -> tuple[Integers, Integers]:
        """Return where slices of one tensor, or of what one operator computes, may be the same by chance.

        First in how many later steps of a tile at most, by class of tile: along one axis a tile's rows are those of one
        step, so that step and the next one; along both the later one of two. Then in how many first steps of all tiles:
        of lines whose first step, or that of what comes before or after, begins or ends the reduction.
        """
        later = np.zeros((2, 2, len(self.k)), dtype=np.int64)
        first = np.zeros(len(self.k), dtype=np.int64)
        for group in self.item.loads + self.item.works:
            for pair in combinations(group, 2):
                down, across = self._meet(pair, "rows"), self._meet(pair, "columns")
                axes = [{getattr(one, axis) for one in pair} == {TILE, STEP} for axis in ("rows", "columns")]
                if not any(axes):
                    continue
                may = down[:, None, :] & across[None, :, :]
                later += np.where(may, 1 if all(axes) else 2, 0)
                lines = [number for number, is_so in zip((self.columns, self.rows), axes, strict=True) if is_so]
                first += np.where(may.any(axis=(0, 1)), 3 * reduce(np.minimum, lines), 0)
        return later, first

    def _meet(self, pair: tuple[Slice, ...], axis: str) -> Mask:
        """Return by class of tile along an axis where two slices may be the same along it."""
        ways = [getattr(slice_, axis) for slice_ in pair]
        if set(ways) == {TILE, STEP}:
            tile, number = (self.tall[0, 0], self.rows) if axis == "rows" else (self.wide[0, 0], self.columns)
            last = (number - 1) * tile == (self.steps_of(pair[ways.index(STEP)]) - 1) * self.k
            return np.stack([tile == self.k, last])
        one, other = (self.codes(slice_)[axis == "columns"] for slice_ in pair)
        return np.stack([one == other] * 2)

    # --- sums -------------------------------------------------------------------------------------------------------

    def loads(self, step: Integers, groups: list[tuple[Slice, ...]], kept: list[Mask] | None = None) -> Integers:
        """Return the elements of the distinct slices asked for in ``step``, except those ``kept``."""
        total = np.zeros((1, 1, len(self.k)), dtype=np.int64)
        number = 0
        for group in groups:
            for place, slice_ in enumerate(group):
                rows, columns = self.extents(slice_, step)
                size = np.where(self.is_asked(slice_, step), rows * columns, 0)
                for earlier in group[:place]:
                    size = np.where(self.same(slice_, earlier) & self.is_asked(earlier, step), 0, size)
                if kept is not None:
                    size = np.where(kept[number], 0, size)
                total = total + size
                number += 1
        return total

    def compute(self, step: Integers, works: list[tuple[Slice, ...]]) -> Floats:
        """Return the time that all operators take in ``step``."""
        total = np.zeros((1, 1, len(self.k)))
        for group in works:
            times = [self.time(slice_, step) for slice_ in group]
            for number, slice_ in enumerate(group):
                for earlier in range(number):
                    same = self.same(slice_, group[earlier]) & self.same_reduction(slice_, group[earlier])
                    both = same & (times[number] > 0) & (times[earlier] > 0)
                    times[earlier] = np.where(both, np.maximum(times[earlier], times[number]), times[earlier])
                    times[number] = np.where(both, 0.0, times[number])
            total = total + sum(times)
        return total

    def time(self, slice_: Slice, step: Integers) -> Floats:
        """Return the time that a slice takes in ``step``."""
        rows, columns = self.extents(slice_, step)
        down: Floats = rows / self.machine.native_height
        across: Floats = columns / self.machine.native_width
        down = down if slice_.marking == Marking.ROWS.value else np.ceil(down)
        across = across if slice_.marking == Marking.COLUMNS.value else np.ceil(across)
        time: Floats = slice_.cost * down * across * self.is_asked(slice_, step)
        if slice_.part == Extent.STEP.value:
            time = time * (np.minimum(self.k, slice_.length - step * self.k) / slice_.length)
        return time

    def same_reduction(self, one: Slice, other: Slice) -> Mask:
        """Where two slices do the same part of a reduction."""
        if one.part == other.part or "none" in {one.part, other.part}:
            return np.full(len(self.k), one.part == other.part)
        single: Mask = self.steps_of(one if one.part == Extent.STEP.value else other) == 1
        return single

    def classes(self) -> Iterator[tuple[Integers, Integers]]:
        """Yield a step of each class but a tile's first, and how many there are."""
        lengths = sorted({slice_.length for group in self.item.works for slice_ in group} - {0})
        borders = [np.ones_like(self.k)]
        for length in lengths:
            number = -(-length // self.k)
            # What the last of these steps leaves there may serve others in the next one only.
            borders += [np.maximum(number - 1, 1), number, np.minimum(number + 1, self.steps)]
        ordered = np.sort(np.stack(borders), axis=0)
        for begin, end in pairwise(ordered):
            if (end > begin).any():
                yield np.minimum(begin, self.steps - 1), end - begin

    # --- what is asked of it ----------------------------------------------------------------------------------------

    def sure(self) -> tuple[list[tuple[Slice, ...]], list[tuple[Slice, ...]]]:
        """Return loads and works without the tensors and operators of which slices may coincide by chance."""
        loads = [group for group in self.item.loads if not mixed(group)]
        works = [group[:1] if mixed(group) else group for group in self.item.works]
        return loads, works

    def held(self, *, only_sure: bool) -> Floats:
        """Return the largest working set, or what it is at least, here and in longer steps."""

        def loads(step: Integers) -> Integers:
            total = self.loads(step, [group for group in self.item.loads if not only_sure or len(group) == 1])
            for group in self.item.loads if only_sure else ():
                if len(group) > 1:
                    total = total + reduce(np.maximum, (self.loads(step, [part]) for part in apart(group)))
            return total

        most = loads(np.zeros_like(self.k))
        for step, count in self.classes():
            most = np.maximum(most, np.where(count > 0, loads(step), 0))
        held: Floats = (most + self.tall * self.wide * self.item.stored).max(axis=(0, 1)) + float(self.item.held)
        return held

    def floor(self, capacity: Floats) -> Floats:
        """Return for every granularity what no order takes less than, infinite where it does not fit so much.

        Where slices may coincide by chance it is weak: without their tensors, or without the most that may save.
        """
        times = self.times(list(self.item.loads), list(self.item.works))
        floor = self.any_order(times)
        plain = np.where(self.held(only_sure=False) <= capacity, floor, np.inf)
        later, first = self.chances()
        if not first.any():
            return plain
        sure = self.times(*self.sure())
        less = first * np.max([self._most(one - other) for one, other in zip(times[:3], sure[:3], strict=True)], axis=0)
        steps = zip(times.later, sure.later, strict=True)
        most = np.max([np.where(count > 0, one - other, 0) for (count, one), (_, other) in steps], axis=0, initial=0)
        less = less + (self.count * later * most).sum(axis=(0, 1))
        floor = np.maximum(self.any_order(sure), floor - less)
        weak: Floats = np.where(self.held(only_sure=True) <= capacity, floor, np.inf)
        return np.where(first > 0, weak, plain)

    def _most(self, times: Floats) -> Floats:
        """Return the most by class of tile, of those that there are."""
        most: Floats = np.where(self.count > 0, times, 0).max(axis=(0, 1))
        return most

    def times(self, loads: list[tuple[Slice, ...]], works: list[tuple[Slice, ...]]) -> _Times:
        """Return what the steps take that load and do this, without what coincides by chance."""
        bandwidth = self.machine.bandwidth
        stored = self.tall * self.wide * self.item.stored
        zero, last = np.zeros_like(self.k), self.steps - 1
        first = (
            np.maximum(
                self.compute(zero, works),
                (self.loads(zero, loads, self.kept(loads, last, move)) + np.where(self.steps == 1, stored, 0))
                / bandwidth,
            )
            for move in ("start", "row", "column")
        )
        start, row, column_ = (np.broadcast_to(array, self.count.shape) for array in first)
        later = []
        for step, count in self.classes():
            there = self.kept(loads, step - 1, "step")
            traffic = self.loads(step, loads, there) + np.where(step == last, stored, 0)
            later.append((count, np.maximum(self.compute(step, works), traffic / bandwidth)))
        return _Times(start, row, column_, later)

    def any_order(self, times: _Times) -> Floats:
        """Return for every granularity what no order takes less than."""
        start, row, column_, later = times
        rest = sum((count * time for count, time in later), np.zeros_like(self.count))
        is_there = self.count > 0
        entered = np.minimum(row, column_)
        total: Floats = (self.count * (rest + entered)).sum(axis=(0, 1))
        most = np.zeros_like(total)
        for axis, (along, across, number) in enumerate(((row, column_, self.rows), (column_, row, self.columns))):
            # Of each line one tile at least is not entered along it; where all begin, that is the first one.
            turn = np.where(is_there, np.maximum(across - along, 0), np.inf).min(axis=1 - axis, keepdims=True)
            turn = np.where(np.isinf(turn), 0, turn)
            lines = np.expand_dims(np.stack([number - 1, np.ones_like(number)]), 1 - axis)
            begun = np.where(is_there, start - entered - turn, np.inf).min(axis=(0, 1))
            most = np.maximum(most, (lines * turn).sum(axis=(0, 1)) + begun)
        floor: Floats = total + most
        return floor

    def kept(self, groups: list[tuple[Slice, ...]], before: Integers, move: str) -> list[Mask]:
        """Return for each slice where it is there already from step ``before``, after a move."""
        kept = []
        for group in groups:
            for slice_ in group:
                there = np.zeros(len(self.k), dtype=np.bool_)
                for other in group:
                    rows, columns = self.codes(other)
                    follows = {"start": False, "row": columns != TILE, "column": rows != TILE, "step": True}[move]
                    there |= self.stays(other, before) & self.covers(other, slice_) & follows
                kept.append(there)
        return kept

    def outline_in_all(self, w: Integers, h: Integers) -> Floats:
        """Return a bound on what all granularities up to these take, whose tiles are at least so wide and high.

        What follows the tiles along one axis alone, ``down`` or ``across``, every tile loads its part of, or of what
        follows the other one; their product is at most the smaller part times the largest one of either.
        """
        compute = sum((self.time_in_all(group, h, w) for group in self.item.works), np.zeros(len(self.k)))
        traffic = np.full(len(self.k), float(self.item.height * self.item.width * self.item.stored))
        down, across = np.zeros(len(self.k)), np.zeros(len(self.k))
        for group in self.item.loads:
            size = group[0].height * group[0].width
            rows, columns = self.codes(group[0])
            is_down = (rows == TILE) & (columns == WHOLE) & (len(group) == 1)
            is_across = (rows == WHOLE) & (columns == TILE) & (len(group) == 1)
            down, across = down + np.where(is_down, size, 0), across + np.where(is_across, size, 0)
            passing = (self.count * self.passing(group)).sum(axis=(0, 1))
            traffic += np.where(is_down | is_across, 0, np.maximum(passing, size))
        again = np.minimum(down * self.item.width / self.wide[0, 0], across * self.item.height / self.tall[0, 0])
        traffic += np.maximum(down + across, again)
        outline: Floats = np.maximum(compute, traffic / self.machine.bandwidth)
        return outline

    def held_at_least(self) -> Floats:
        """Return what these and all longer tiles and steps hold at least: in first steps, or in last ones.

        Of the slices of a tensor the largest, as others may be the same there.
        """
        first, last = np.zeros(len(self.k)), np.zeros(len(self.k))
        for group in self.item.loads:
            size = {True: np.zeros(len(self.k)), False: np.zeros(len(self.k))}
            for slice_ in group:
                rows, columns = self.extents(slice_, np.zeros_like(self.k))
                is_last = not slice_.length
                size[is_last] = np.maximum(size[is_last], (rows * columns)[0, 0])
            first, last = first + size[False], last + size[True]
        outputs = self.tall[0, 0] * self.wide[0, 0] * self.item.stored
        held: Floats = np.maximum(first, last) + outputs + float(self.item.held)
        return held

    def passing(self, group: tuple[Slice, ...], beside: tuple[Slice, ...] = ()) -> Floats:
        """Return by class of tile how much of a tensor a tile loads at least, in several steps.

        Others may ask for slices ``beside`` the group's: the whole tensor, if it fits, or the same ones by chance.
        """
        whole = np.zeros(len(self.k), dtype=np.bool_)
        fits = group[0].height * group[0].width <= self.machine.capacity
        for slice_ in (*group, *(beside if fits else ())):
            whole |= np.logical_and(*[code == WHOLE for code in self.codes(slice_)])
        most = np.zeros((2, 2, len(self.k)))
        for slice_ in group:
            if STEP in {slice_.rows, slice_.columns}:
                rows, columns = self.along(slice_)
                less = 2 * (self.tall[:1] * columns if slice_.rows == STEP else rows * self.wide[:, :1])
                tiles = any((other.rows if slice_.rows == STEP else other.columns) == TILE for other in beside)
                less = less * (tiles or len(group) > 1)
                passes = (self.steps_of(slice_) > 1) & ~whole
                most = np.maximum(most, np.where(passes, rows * columns - less, 0))
        return most

    def along(self, slice_: Slice) -> tuple[Integers, Integers]:
        """Return the extents of all that the steps of a tile ask of a slice."""
        full = np.ones_like(self.k)[None, None, :]
        rows = {WHOLE: slice_.height * full, TILE: self.tall, STEP: slice_.length * full}[slice_.rows]
        columns = {WHOLE: slice_.width * full, TILE: self.wide, STEP: slice_.length * full}[slice_.columns]
        return rows, columns

    def time_in_all(self, group: tuple[Slice, ...], h: Integers, w: Integers) -> Floats:
        """Return the least time of what one operator does in all tiles of these sizes up to those here."""
        times = []
        for slice_ in group:
            exact = slice_.marking == Marking.ROWS.value, slice_.marking == Marking.COLUMNS.value
            lengths = self.item.height, self.item.width
            natives = self.machine.native_height, self.machine.native_width
            time = np.full(len(self.k), slice_.cost)
            tiles = (self.tall[:, 0], h), (self.wide[0], w)
            for axis, (code, number) in enumerate(((slice_.rows, self.rows), (slice_.columns, self.columns))):
                if code == TILE:  # what follows the tiles has the length of the outputs in all of them
                    native = lengths[axis] / natives[axis]
                    (longest, last), least = tiles[axis]
                    last = np.where(least >= longest, last, 1)  # of several sizes, it may be short
                    each = (number - 1) * np.ceil(np.minimum(least, longest) / natives[axis])
                    padded = np.maximum(each + np.ceil(last / natives[axis]), math.ceil(native))
                    time = time * (native if exact[axis] else padded)
                else:
                    whole = (slice_.height, slice_.width)[axis] if code == WHOLE else slice_.length
                    native = whole / natives[axis]
                    time = time * number * (native if exact[axis] else math.ceil(native))
            is_again = slice_.part != Extent.STEP.value and STEP not in {slice_.rows, slice_.columns}
            times.append(time * self.steps_of(slice_) if is_again else time)
        most: Floats = np.max(times, axis=0)
        return most


def apart(group: tuple[Slice, ...]) -> list[tuple[Slice, ...]]:
    """Return parts of slices of one tensor, of which none may coincide by chance, or as steps are long."""
    return [tuple(slice_ for slice_ in group if STEP not in (slice_.rows, slice_.columns)), *((one,) for one in group)]
