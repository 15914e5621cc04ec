"""What pieces of a subgraph take at least, over ranges of granularities: for the checker of certificates."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.check.column_floor import Steps
from shorthaul.tensor.check.slices import Column, Slice
from shorthaul.tensor.model import Problem, Rules, Tensor

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class Boxes:
    """All granularities in boxes, and tables of pieces: time, traffic, held in the first step of a tile, in the last.

    Time and traffic are those at the largest granularity of a box, what is held that at the smallest one; they are
    nowhere less in the box.
    """

    def __init__(self, problem: Problem, rules: Rules) -> None:
        self.problem, self.rules = problem, rules
        machine = problem.machine
        every = list(
            product(*(_ranges(n) for n in (machine.native_width, machine.native_height, machine.native_width)))
        )
        low = np.array([[begin for begin, _ in box] for box in every], dtype=np.int64)
        high = np.array([[end for _, end in box] for box in every], dtype=np.int64)
        self.low: tuple[Integers, ...] = tuple(low.T)
        self.high: tuple[Integers, ...] = tuple(high.T)
        self._tables: dict[tuple[Tensor, str, tuple[Slice, ...]], Floats] = {}

    def table(self, shape: Tensor, kind: str, slices: tuple[Slice, ...]) -> Floats:
        """Return the table of a piece, slices to ``load`` or to ``work`` out, with outputs of this shape."""
        found = self._tables.get((shape, kind, slices))
        if found is None:
            found = self._tables[shape, kind, slices] = self._made(shape, kind, slices)
        return found

    def _made(self, shape: Tensor, kind: str, slices: tuple[Slice, ...]) -> Floats:
        longest = max(item.length for item in slices)
        loads, works = ((slices,), ()) if kind == "load" else ((), (slices,))
        item = Column(shape.height, shape.width, longest, 1, (0, 0), loads, works, 0, 0)
        table = np.zeros((4, len(self.low[0])))
        largest = Steps(self.problem, item, *self.high)
        if kind == "work":
            times = np.broadcast_arrays(*[largest.whole_time(slice_) for slice_ in slices])
            table[0] = (largest.count * np.max(times, axis=0)).sum(axis=(0, 1))
            return table
        size = slices[0].height * slices[0].width
        table[1] = np.maximum((largest.count * largest.passing(slices)).sum(axis=(0, 1)), size)
        smallest = Steps(self.problem, item, *self.low)
        for slice_ in slices:  # each by itself: others may be the same by chance
            rows, columns = smallest.extents(slice_, np.zeros_like(smallest.k))
            row = 2 if slice_.length else 3
            table[row] = np.maximum(table[row], (rows * columns)[0, 0])
        return table

    def held(self, shape: Tensor, tables: Floats, stored: int, held: int) -> Floats:
        """Return what a group with these tables in all holds at least by box, in the first step of a tile and the last.

        ``stored`` is how many outputs it stores, ``held`` the size of what stays whole.
        """
        w, h, _ = self.low
        found: Floats = tables[2:] + stored * np.minimum(w, shape.width) * np.minimum(h, shape.height) + held
        return found

    def least(
        self, shape: Tensor, tables: Floats, held: Floats, stored: int, deepest: int, need: tuple[int, int]
    ) -> Floats:
        """Return time and traffic by box, of a group with these tables in all, infinite where nothing fits.

        ``deepest`` is the longest step allowed, ``need`` the reductions under the rule on prologues.
        """
        machine = self.problem.machine
        k, (wide, tall, deep) = self.low[2], self.high
        fits: NDArray[np.bool_] = held.max(axis=0) <= machine.capacity
        fits &= k <= deepest
        for depth, tile, length, native in (
            (need[0], wide, shape.width, machine.native_width),
            (need[1], tall, shape.height, machine.native_height),
        ):
            if depth:
                fits &= (deep >= depth) | ((tile >= min(depth, length)) & (depth <= native))
        traffic = (tables[1] + stored * shape.size) / machine.bandwidth
        return np.where(fits, np.stack(np.broadcast_arrays(tables[0], traffic)), np.inf)


def _ranges(native: int) -> list[tuple[int, int]]:
    """Return ranges from 1 to the native length: eighths of it, the last two lengths and the first eighth in parts."""
    begins = {1, *(max(1, native * part // 16) for part in (1, 2, 4, 6, 8, 10, 12, 14)), native}
    ordered = sorted(begins)
    return list(zip(ordered, [*(begin - 1 for begin in ordered[1:]), native], strict=True))
