"""What accesses of operators reach, in every step: for the replay of plans of networks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.tensor.networks.model import Access, Expand, Permute, Regroup, Step, Stride

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
#: Positions from and to (included) along an axis, in every step.
Range = tuple[Ints, Ints]


def whole(size: int) -> Range:
    """Return all positions of an axis."""
    return np.zeros(1, np.int64), np.full(1, size - 1, np.int64)


def in_all(ranges: Range, count: int) -> Range:
    """Return positions that are the same in all of ``count`` steps, or given for each, for each."""
    return np.broadcast_to(ranges[0], (count,)).copy(), np.broadcast_to(ranges[1], (count,)).copy()


@dataclass(frozen=True, slots=True)
class Passes:
    """Boxes of steps in a row: where they lie (by axis and step), their volumes, and what the step before had too.

    ``passes`` and ``again`` are the same in positions that a machine of some widths computes, a part of a pass as all.
    """

    low: Ints
    high: Ints
    volume: Floats
    common: Floats
    passes: Floats
    again: Floats

    def last(self) -> list[tuple[int, int]]:
        """Return where the last box lies."""
        return list(zip(self.low[:, -1].tolist(), self.high[:, -1].tolist(), strict=True))


def passes(
    box: Sequence[Range], count: int, before: Sequence[tuple[int, int]] | None, widths: Sequence[int] | None
) -> Passes:
    """Return what becomes of a box in ``count`` steps, of which the first follows on ``before``, if on any."""
    low, high = (np.empty((len(box), count), np.int64) for _ in range(2))
    for axis, ranges in enumerate(box):
        low[axis], high[axis] = ranges
    first = np.array([(0, -1)] * len(box) if before is None else before, np.int64).reshape(len(box), 2)
    low_before = np.concatenate([first[:, :1], low[:, :-1]], 1)
    high_before = np.concatenate([first[:, 1:], high[:, :-1]], 1)
    length = np.maximum(high - low + 1, 0)
    shared = np.maximum(np.minimum(high, high_before) - np.maximum(low, low_before) + 1, 0)
    volume, common = length.prod(0, dtype=np.float64), shared.prod(0, dtype=np.float64)
    filled, again = volume, common
    if widths is not None:
        width = np.array(widths, np.int64).reshape(-1, 1)
        whole_passes = -(-length // width)
        filled = (whole_passes * width).prod(0, dtype=np.float64)
        again = (np.where(shared == length, whole_passes, shared // width) * width).prod(0, dtype=np.float64)
    if before is None:
        common[0] = again[0] = 0.0
    return Passes(low, high, volume, common, filled, again)


def joined(one: Range, other: Range) -> Range:
    """Return the least range around both; an empty one (0 to -1) adds nothing."""
    low = np.minimum(np.where(one[1] < one[0], other[0], one[0]), np.where(other[1] < other[0], one[0], other[0]))
    return low, np.maximum(one[1], other[1])


def _cut(low: Ints, high: Ints, size: int) -> Range:
    low, high = np.maximum(low, 0), np.minimum(high, size - 1)
    empty = high < low
    return (np.where(empty, 0, low), np.where(empty, -1, high)) if empty.any() else (low, high)


def reached_by(access: Access, dims: Sequence[Range]) -> list[Range]:
    """Return what an access reaches of the stored tensor."""
    box = []
    for index, size in zip(access.axes, access.shape, strict=True):
        first = last = np.full(1, index.offset, np.int64)
        for dim, factor in index.terms:
            low, high = dims[dim] if factor >= 0 else dims[dim][::-1]
            first, last = first + low * factor, last + high * factor
        if index.divisor > 1:
            first, last = first // index.divisor, last // index.divisor
        box.append(_cut(first, last, size))
    for step in access.steps:
        box = source_of(box, step)
    return box


def source_of(box: list[Range], step: Step) -> list[Range]:
    """Return the positions in the source of a view."""
    if isinstance(step, Permute):
        return [box[step.axes.index(axis)] for axis in range(len(box))]
    if isinstance(step, Stride):
        found = []
        for (low, high), start, by, size in zip(box, step.start, step.step, step.source, strict=True):
            first, last = start + by * low, start + by * high
            ends = (first, last) if by > 0 else (last, first)
            empty = high < low
            found.append(_cut(np.where(empty, 0, ends[0]), np.where(empty, -1, ends[1]), size))
        return found
    if isinstance(step, Expand):
        skipped = len(box) - len(step.source)
        return [whole(1) if size == 1 else box[skipped + axis] for axis, size in enumerate(step.source)]
    return _regroup(box, step)


def _regroup(box: list[Range], step: Regroup) -> list[Range]:
    """Return the source's ranges: axes are cut where the products of the sizes so far agree."""
    found: list[Range] = [whole(1)] * len(step.source)
    mine = [axis for axis in range(len(step.shape)) if step.shape[axis] > 1]
    theirs = [axis for axis in range(len(step.source)) if step.source[axis] > 1]
    while mine:
        pairs = ((a, b) for a in range(1, len(mine) + 1) for b in range(1, len(theirs) + 1))
        a, b = next(
            (a, b)
            for a, b in pairs
            if math.prod(step.shape[i] for i in mine[:a]) == math.prod(step.source[i] for i in theirs[:b])
        )
        left, right = mine[:a], theirs[:b]
        mine, theirs = mine[a:], theirs[b:]
        if len(left) == len(right) == 1:
            found[right[0]] = box[left[0]]
            continue
        low = high = np.zeros(1, np.int64)
        empty = np.zeros(1, bool)
        for axis in left:
            low, high = low * step.shape[axis] + box[axis][0], high * step.shape[axis] + box[axis][1]
            empty = empty | (box[axis][1] < box[axis][0])
        fixed = np.ones(1, bool)
        for number, axis in enumerate(right):
            below = math.prod(step.source[i] for i in right[number + 1 :])
            size = step.source[axis]
            first = np.where(fixed, low // below % size, 0)
            last = np.where(fixed, high // below % size, size - 1)
            found[axis] = (np.where(empty, 0, first), np.where(empty, -1, last))
            fixed = fixed & (first == last)
    return found
