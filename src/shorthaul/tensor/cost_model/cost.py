"""The latency of a subgraph in closed form, for many granularities at once.

Most steps of a subgraph are alike. A tile is interior or at the lower or right edge (clipped); it is entered from
nowhere, from elsewhere, along its row or along its column; and its steps fall into few classes between the steps at
which a sink MatMul begins or ends. One step of each class is evaluated, for an array of granularities, and counted
as often as it occurs. The checker (:mod:`shorthaul.tensor.check.replay`) replays every step instead and shares no code.

Where slices of one tensor follow the tile and the reduction step along one axis (:attr:`Profile.is_mixed`), they
coincide by chance in some steps; the classes take them as distinct, which is never cheaper than the replay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.cost_model.profile import (
    COLUMNS_EXACT,
    FULL,
    LAST,
    NO_REDUCTION,
    ROWS_EXACT,
    STEP,
    TILE,
    Charge,
    Load,
    Profile,
)
from shorthaul.tensor.model import Machine

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: How a tile is entered: first of all, from a tile of another row and column, of the same row, of the same column.
START: Final = 0
JUMP: Final = 1
ALONG_ROW: Final = 2
ALONG_COLUMN: Final = 3


@dataclass(frozen=True, slots=True)
class StepCosts:
    """Latencies of the tiles of one profile at G granularities.

    ``first[m, i, j, g]`` is the time of the first step of a tile entered by move ``m``, in an interior row (i = 0)
    or the last one (i = 1), an interior column (j = 0) or the last one (j = 1), at granularity ``g``;
    ``rest[i, j, g]`` the time of all its other steps; ``peak[g]`` the largest working set, in elements; ``rows[g]``
    and ``columns[g]`` the number of tiles along the axes, ``steps[g]`` the steps of one tile.
    """

    first: Floats
    rest: Floats
    peak: Floats
    rows: Integers
    columns: Integers
    steps: Integers

    def total(self, moves: Floats) -> Floats:
        """Return the latency of the subgraph; ``moves[m, i, j, g]`` counts the tiles of each class and move."""
        total: Floats = (self.first * moves).sum(axis=(0, 1, 2)) + (self.rest * moves.sum(axis=0)).sum(axis=(0, 1))
        return total


def step_costs(profile: Profile, machine: Machine, w: Integers, h: Integers, k: Integers) -> StepCosts:
    """Evaluate ``profile`` at the granularities ``(w[g], h[g], k[g])``."""
    return _Classes(profile, machine, w, h, k).evaluate()


def peaks(profile: Profile, machine: Machine, w: Integers, h: Integers, k: Integers) -> Floats:
    """Return the largest working sets only, as :attr:`StepCosts.peak`."""
    return _Classes(profile, machine, w, h, k).peak()


class _Classes:
    """The step classes of one profile. Arrays have the shape [row class, column class, granularity]."""

    def __init__(self, profile: Profile, machine: Machine, w: Integers, h: Integers, k: Integers) -> None:
        self.profile = profile
        self.machine = machine
        self.k = k
        self.rows = -(-profile.height // h)
        self.columns = -(-profile.width // w)
        h, w = np.minimum(h, profile.height), np.minimum(w, profile.width)
        self.tall = np.stack([h, profile.height - (self.rows - 1) * h])[:, None, :]
        self.wide = np.stack([w, profile.width - (self.columns - 1) * w])[None, :, :]
        self.steps_of = [-(-length // k) for length in profile.reductions]
        self.steps = self.steps_of[-1] if self.steps_of else np.ones_like(k)
        # Axes along which a slice follows the tile or the step only if there is more than one.
        one = np.zeros_like(k)
        self.code_rows = {FULL: one, TILE: np.where(self.rows > 1, TILE, FULL)}
        self.code_columns = {FULL: one, TILE: np.where(self.columns > 1, TILE, FULL)}
        self.code_step = [np.where(steps > 1, STEP, FULL) for steps in self.steps_of]

    def evaluate(self) -> StepCosts:
        tile = self.tall * self.wide
        bandwidth = self.machine.bandwidth
        stored = tile * self.profile.stored
        shape = (2, 2, len(self.k))

        zero = np.zeros_like(self.k)
        stores = np.where(self.steps == 1, stored, 0)
        first = np.maximum(self.compute(zero), (self.first_loads() + stores) / bandwidth)
        rest = np.zeros(shape)
        for step, count in self.later_steps():
            stores = np.where(step == self.steps - 1, stored, 0)
            rest += count * np.maximum(self.compute(step), (self.later_loads(step) + stores) / bandwidth)
        full = np.broadcast_to(first, (4, *shape))
        return StepCosts(full, rest, self.peak(), self.rows, self.columns, self.steps)

    def peak(self) -> Floats:
        slices: Floats | Integers = self.slices(np.zeros_like(self.k))
        for step, count in self.later_steps():
            slices = np.maximum(slices, np.where(count > 0, self.slices(step), 0))
        tiles = self.tall * self.wide * self.profile.stored
        largest: Floats = (np.broadcast_to(slices, tiles.shape) + tiles).max(axis=(0, 1)) + float(self.profile.held)
        return largest

    def later_steps(self) -> Iterator[tuple[Integers, Integers]]:
        """Yield a step of each class but a tile's first one, and how many of them there are."""
        begins = [np.ones_like(self.k)]
        for steps in self.steps_of:
            begins += [np.maximum(steps - 1, 1), steps]
        for begin, end in pairwise(np.sort(np.stack(begins), axis=0)):
            count = end - begin
            if count.any():
                yield np.minimum(begin, self.steps - 1), count

    def extent(self, axis: int, tile: Integers, length: int, part: Integers | None) -> Integers | int:
        if axis == FULL:
            return length
        if axis == TILE:
            return tile
        assert part is not None, "only the steps of a sink ask for a part of its reduction"
        return part

    def part(self, group: int, step: Integers) -> Integers | None:
        """Return how much of its reduction a sink of ``group`` does in ``step``."""
        if group == LAST:
            return None
        part: Integers = np.minimum(self.k, self.profile.reductions[group] - step * self.k)
        return part

    def is_asked(self, group: int, step: Integers) -> Mask:
        asked: Mask = step == self.steps - 1 if group == LAST else step < self.steps_of[group]
        return asked

    def codes(self, slice_: Load | Charge) -> tuple[Integers, Integers]:
        """Return what the rows and the columns of a slice follow, where that makes a difference."""
        step = self.code_step[slice_.group] if slice_.group != LAST else self.code_rows[FULL]
        rows = step if slice_.rows == STEP else self.code_rows[slice_.rows]
        columns = step if slice_.columns == STEP else self.code_columns[slice_.columns]
        return rows, columns

    def compute(self, step: Integers) -> Floats:
        """Return the time that the operators take in ``step`` of each class of tile."""
        total = np.zeros((1, 1, len(step)))
        for charge, base in self.profile.charges:
            total = total + base * self.charge(charge, step)
        for base, charges in self.profile.shared_charges:
            times = [base * self.charge(charge, step) for charge in charges]
            for number, charge in enumerate(charges):
                for earlier in range(number):
                    # Computed once, at the dearest of its charges.
                    same = self.same(charge, charges[earlier]) & self.same_reduction(charge, charges[earlier])
                    same &= (times[number] > 0).all(axis=(0, 1)) & (times[earlier] > 0).all(axis=(0, 1))
                    times[earlier] = np.where(same, np.maximum(times[earlier], times[number]), times[earlier])
                    times[number] = np.where(same, 0.0, times[number])
            total = total + sum(times)
        return total

    def charge(self, charge: Charge, step: Integers) -> Floats:
        part = self.part(charge.group, step)
        rows = self.extent(charge.rows, self.tall, charge.height, part) / self.machine.native_height
        columns = self.extent(charge.columns, self.wide, charge.width, part) / self.machine.native_width
        if charge.exact != ROWS_EXACT:
            rows = np.ceil(rows)
        if charge.exact != COLUMNS_EXACT:
            columns = np.ceil(columns)
        time: Floats = np.multiply(rows, columns) * self.is_asked(charge.group, step)
        if charge.reduction == STEP:
            assert part is not None
            time = time * (part / self.profile.reductions[charge.group])
        return np.broadcast_to(time, (*np.broadcast_shapes(time.shape, (1, 1, 1))[:2], len(step)))

    def same(self, one: Load | Charge, other: Load | Charge) -> Mask:
        """Where two slices of one tensor are the same in every step that asks for both."""
        (rows, columns), (other_rows, other_columns) = self.codes(one), self.codes(other)
        same: Mask = (rows == other_rows) & (columns == other_columns)
        return same

    def same_reduction(self, one: Charge, other: Charge) -> Mask:
        if NO_REDUCTION in {one.reduction, other.reduction} or one.reduction == other.reduction:
            return np.full(len(self.k), one.reduction == other.reduction)
        step = one if one.reduction == STEP else other
        single: Mask = self.steps_of[step.group] == 1
        return single

    def size(self, load: Load, step: Integers) -> Integers:
        part = self.part(load.group, step)
        rows = self.extent(load.rows, self.tall, load.height, part)
        columns = self.extent(load.columns, self.wide, load.width, part)
        size: Integers = np.where(self.is_asked(load.group, step), np.multiply(rows, columns), 0)
        return size

    def distinct(self, step: Integers) -> Iterator[tuple[Load, tuple[Load, ...], Integers]]:
        """Yield every slice asked for in ``step``, with all slices of its tensor, and its size (0 if it is another)."""
        for group, number in self.tensors():
            for position, load in enumerate(group):
                size = number * self.size(load, step)
                for earlier in group[:position]:
                    size = np.where(self.same(load, earlier) & self.is_asked(earlier.group, step), 0, size)
                yield load, group, size

    def slices(self, step: Integers) -> Integers:
        """Return the elements that the input slices of ``step`` take in fast memory."""
        slices = np.zeros((1, 1, len(self.k)), dtype=np.int64)
        for load, _, size in self.distinct(step):
            if not load.is_held:
                slices = slices + size
        return slices

    def first_loads(self) -> Integers:
        """Return the elements loaded in a tile's first step, by move."""
        last = self.steps - 1
        loads = np.zeros((4, 1, 1, len(self.k)), dtype=np.int64)
        for load, group, size in self.distinct(np.zeros_like(self.k)):
            kept = np.zeros((4, len(self.k)), dtype=np.bool_)
            for other in group:
                kept |= self.survivors(other, last) & (self.same(load, other) | self.is_whole(other))
            loads = loads + np.where(kept[:, None, None, :], 0, size)
        return loads

    def survivors(self, load: Load, last: Integers) -> Mask:
        """Return by move where the next tile's slice is the one that the last step of a tile used."""
        rows, columns = self.codes(load)
        used = self.is_asked(load.group, last) & (rows != STEP) & (columns != STEP)
        along_row, along_column = columns != TILE, rows != TILE
        kept: Mask = np.stack([np.zeros_like(used), along_row & along_column, along_row, along_column]) & used
        return kept

    def is_whole(self, load: Load) -> Mask:
        rows, columns = self.codes(load)
        whole: Mask = (rows == FULL) & (columns == FULL)
        return whole

    def later_loads(self, step: Integers) -> Integers:
        """Return the elements loaded in ``step``, not a tile's first one."""
        loads = np.zeros((1, 1, len(self.k)), dtype=np.int64)
        for load, group, size in self.distinct(step):
            kept = np.zeros(len(self.k), dtype=np.bool_)
            for other in group:
                rows, columns = self.codes(other)
                still = self.is_asked(other.group, step - 1) & (rows != STEP) & (columns != STEP)
                kept |= still & (self.same(load, other) | self.is_whole(other))
            loads = loads + np.where(kept, 0, size)
        return loads

    def tensors(self) -> list[tuple[tuple[Load, ...], int]]:
        """Return the slices asked of each tensor, and of how many tensors alike."""
        return [((load,), number) for load, number in self.profile.loads] + [
            (group, 1) for group in self.profile.shared_loads
        ]
