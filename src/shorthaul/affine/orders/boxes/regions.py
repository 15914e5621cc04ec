"""Where a phase is executed, as convex regions, and the boxes that lie there: triangles are not paid as squares.

Loops over boxes are followed from outside; in every box the least and the largest value of each coordinate follow from
the constraints, one by one, which is exact where no constraint has more than two coordinates and otherwise too wide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import islpy as isl
import numpy as np
import numpy.typing as npt

from shorthaul.affine.integer_sets.narrowing_kernels import narrow
from shorthaul.affine.tuning import MOST_BOX_VISITS

IntArray = npt.NDArray[np.int64]
_ROUNDS = 2  # of the constraints, for what follows from two of them


@dataclass(frozen=True)
class Region:
    """A convex set of coordinates: factors and constant of what is at least 0."""

    constraints: tuple[tuple[int, ...], ...]

    @cached_property
    def coupled(self) -> Region:
        """Return what is left to ask within a box that keeps to the constraints of one coordinate."""
        return Region(tuple(line for line in self.constraints if sum(map(bool, line[:-1])) > 1))

    @cached_property
    def lines(self) -> IntArray:
        """The constraints in the order in which boxes are narrowed, shape (lines, coordinates + 1)."""
        # a constraint of one coordinate says all in the first round
        return np.array(self.constraints + self.coupled.constraints * (_ROUNDS - 1), np.int64)


def union(parts: Iterable[isl.Set]) -> isl.Set:
    """Return the union of ``parts``, one at least."""
    first, *others = parts
    return reduce(isl.Set.union, others, first).coalesce()


def box_of(first: Sequence[int], extents: Sequence[int]) -> isl.Set:
    """Return the box that begins at ``first`` and has these ``extents``."""
    names = [f"y{at}" for at in range(len(first))]
    text = " and ".join(
        f"{low} <= {name} < {low + extent}" for name, low, extent in zip(names, first, extents, strict=True)
    )
    return isl.Set(f"{{ [{', '.join(names)}] : {text or 'true'} }}")


def regions(places: isl.Set) -> tuple[Region, ...]:
    """Return convex regions that hold ``places``, a set without parameters."""
    found = []
    for piece in places.get_basic_sets():
        lines: list[tuple[int, ...]] = []
        for item in piece.remove_divs().get_constraints():
            width = item.get_space().dim(isl.dim_type.set)
            line = [item.get_coefficient_val(isl.dim_type.set, at).to_python() for at in range(width)]
            line.append(item.get_constant_val().to_python())
            lines.append(tuple(line))
            if item.is_equality():
                lines.append(tuple(-value for value in line))
        found.append(Region(tuple(lines)))
    return tuple(found)


def boxes_in(
    parts: Sequence[Region], extents: Sequence[int], first: Sequence[int], loops: Sequence[tuple[int, int]]
) -> tuple[IntArray, IntArray] | None:
    """Return the ends of what boxes of ``loops`` hold of the regions, shape (boxes, coordinates); None if too many.

    ``loops`` are coordinates with edges, the outermost first. Other coordinates are as long as the regions there.
    """
    start = np.array(first, np.int64)
    low = np.tile(start, (len(parts), 1, 1))
    low, high = _inside(parts, low, low + np.array(extents, np.int64) - 1)
    parts = [part.coupled for part in parts]
    for at, edge in loops:
        lows, highs = _hull(low, high)
        if ((highs[:, at] - lows[:, at]) // edge + 2).sum() > MOST_BOX_VISITS:
            return None
        low, high = _inside(parts, *_cut(low, high, at, edge, first[at]))
    return _hull(low, high)


def within(parts: Sequence[Region], low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Return the ends of what given boxes hold of the regions; low > high where that is nothing."""
    return _hull(*_narrowed(parts, np.tile(low, (len(parts), 1, 1)), np.tile(high, (len(parts), 1, 1))))


def _narrowed(parts: Sequence[Region], low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Narrow ends, shape (regions, boxes, coordinates), in place; low > high where a box holds nothing of a region."""
    for part, *ends in zip(parts, low, high, strict=True):
        if part.constraints:
            narrow(part.lines, *ends)
    return low, high


def _inside(parts: Sequence[Region], low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Narrow ends, shape (regions, boxes, coordinates), to all regions, without boxes that lie in none."""
    low, high = _narrowed(parts, low, high)
    alive = (low <= high).all(axis=2).any(axis=0)
    return (low, high) if alive.all() else (low[:, alive], high[:, alive])


def _hull(low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Return the ends over all regions in which a box is not empty."""
    empty = np.asarray(low > high).any(axis=2, keepdims=True)
    if not empty.any():
        return (low[0], high[0]) if len(low) == 1 else (low.min(axis=0), high.max(axis=0))
    far = np.iinfo(np.int64)
    return np.where(empty, far.max, low).min(axis=0), np.where(empty, far.min, high).max(axis=0)


def _cut(low: IntArray, high: IntArray, at: int, edge: int, begin: int) -> tuple[IntArray, IntArray]:
    """Return all boxes cut along one coordinate."""
    lows, highs = _hull(low, high)
    from_, to = (lows[:, at] - begin) // edge, (highs[:, at] - begin) // edge
    times = to - from_ + 1
    number = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times) + np.repeat(from_, times)
    low, high = np.repeat(low, times, axis=1), np.repeat(high, times, axis=1)
    low[:, :, at] = np.maximum(low[:, :, at], begin + number * edge)
    high[:, :, at] = np.minimum(high[:, :, at], begin + (number + 1) * edge - 1)
    return low, high


def is_single_valued(parts: Sequence[isl.Map]) -> bool:
    """True if the maps are one function, whatever they lead to."""
    every = isl.UnionMap.from_map(parts[0])
    for item in parts[1:]:
        every = every.union(isl.UnionMap.from_map(item))
    return bool(every.is_single_valued())


def ends_of(places: isl.Set) -> list[tuple[int, int]]:
    """Return the least and the largest value of every coordinate."""
    count = 0 if places.is_empty() else places.dim(isl.dim_type.set)
    return [(places.dim_min_val(at).to_python(), places.dim_max_val(at).to_python()) for at in range(count)]
