"""What pieces of a subgraph take at least, over ranges of granularities: for the checker of certificates."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.check.column_floor import Steps
from shorthaul.tensor.check.slices import Column, Slice
from shorthaul.tensor.model import Problem, Rules, Tensor

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Where boxes begin, as parts of the native tile: parts of groups are priced at no granularity, but at boxes.
_TILES: Final = (0, 1 / 16, 1 / 8, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 4 / 5, 8 / 9, 1)
_DEPTHS: Final = (0, 1 / 16, 1 / 4, 1 / 2, 1)
#: Where there is no native tile to keep to: into how many parts the longest axis falls, if each is longer than this.
_COUNTS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1024, 2048)
_SHORT: Final = 3
#: Rows of a table: time, then traffic, each of what any step of a tile may take, of what only its last one takes, and
#: how much of the first that last step may take; then what is held in the first step, and in the last.
TIME, TRAFFIC, HELD, ROWS = 0, 3, 6, 8


def weighed(pairs: Iterable[tuple[float, float]]) -> Floats:
    """Return by pair what the rows of time and traffic count, if time counts so much in last steps, and in others.

    A step takes at least any mean of its time and its traffic, whatever the mean is in other steps. What a last step
    may take or not is where it counts less.
    """
    found = []
    for last, other in pairs:
        time = (other, last, min(0.0, last - other))
        found.append((*time, 1 - other, 1 - last, min(0.0, other - last)))
    return np.array(found)


class Boxes:
    """All granularities in boxes, and tables of pieces.

    Time and traffic are those at the largest granularity of a box, what is held that at the smallest one; they are
    nowhere less in the box.
    """

    def __init__(self, problem: Problem, rules: Rules) -> None:
        self.problem, self.rules = problem, rules
        machine = problem.machine
        ends: tuple[tuple[int, tuple[float, ...]], ...]
        ends = ((machine.native_width, _TILES), (machine.native_height, _TILES), (machine.native_width, _DEPTHS))
        if not rules.granularity_is_native:
            made = [problem.tensors[each.output] for each in problem.operators]
            depths = [problem.reduction(index) for index, each in enumerate(problem.operators) if each.is_matmul]
            longest = (max(each.width for each in made), max(each.height for each in made), max([1, *depths]))
            ends = tuple((end, _fractions(end)) for end in longest)
        every = list(product(*(_ranges(*end) for end in ends)))
        low = np.array([[begin for begin, _ in box] for box in every], dtype=np.int64)
        high = np.array([[end for _, end in box] for box in every], dtype=np.int64)
        self.low: tuple[Integers, ...] = tuple(low.T)
        self.high: tuple[Integers, ...] = tuple(high.T)
        self._tables: dict[tuple[Tensor, str, tuple[Slice, ...], tuple[Slice, ...]], Floats] = {}

    def table(self, shape: Tensor, kind: str, slices: tuple[Slice, ...], beside: tuple[Slice, ...] = ()) -> Floats:
        """Return the table of a piece, slices to ``load`` or to ``work`` out, with outputs of this shape.

        ``beside`` are slices of the same tensor that others may ask for at the same time.
        """
        key = shape, kind, slices, beside
        found = self._tables.get(key)
        if found is None:
            found = self._tables[key] = self._made(*key)
        return found

    def _made(self, shape: Tensor, kind: str, slices: tuple[Slice, ...], beside: tuple[Slice, ...]) -> Floats:
        longest = max(item.length for item in slices)
        loads, works = ((slices,), ()) if kind == "load" else ((), (slices,))
        item = Column(shape.height, shape.width, longest, 1, (0, 0), loads, works, 0, 0)
        table = np.zeros((ROWS, len(self.low[0])))
        largest = Steps(self.problem, item, *self.high)
        if kind == "work":
            self._divide(table[TIME:TRAFFIC], slices, largest.time_in_all(slices, *self.low[1::-1]))
            return table
        size = slices[0].height * slices[0].width
        passing = (largest.count * largest.passing(slices, beside)).sum(axis=(0, 1))
        self._divide(table[TRAFFIC:HELD], slices, np.maximum(passing, size))
        smallest = Steps(self.problem, item, *self.low)
        for slice_ in slices:  # each by itself: others may be the same by chance
            rows, columns = smallest.extents(slice_, np.zeros_like(smallest.k))
            row = HELD if slice_.length else HELD + 1
            table[row] = np.maximum(table[row], (rows * columns)[0, 0])
        return table

    def _divide(self, rows: Floats, slices: tuple[Slice, ...], total: Floats) -> None:
        """Divide what slices take among steps: a slice of a reduction is taken part by part, as long as the step is.

        Where several slices may coincide in some steps, any step may take all of it.
        """
        if all(not slice_.length for slice_ in slices):
            rows[1] = total
        else:
            part = np.minimum(self.high[2] / slices[0].length, 1.0) if len(slices) == 1 else 1.0
            rows[0], rows[2] = total, total * part

    def held(self, shape: Tensor, tables: Floats, stored: int, held: float) -> Floats:
        """Return what a group with these tables in all holds at least by box, in the first step of a tile and the last.

        ``stored`` is how many outputs it stores, ``held`` the size of what stays whole.
        """
        w, h, _ = self.low
        found: Floats = tables[HELD:] + stored * np.minimum(w, shape.width) * np.minimum(h, shape.height) + held
        return found

    def least(
        self, shape: Tensor, tables: Floats, held: Floats, stored: int, deepest: int, need: tuple[int, int]
    ) -> Floats:
        """Return rows of time and traffic by box, of a group with these tables in all, infinite where nothing fits.

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
        found = tables[:HELD].copy()
        found[TRAFFIC + 1] += stored * shape.size  # by the last step of each tile
        found[TRAFFIC:] /= machine.bandwidth
        return np.where(fits, found, np.inf)


def _fractions(end: int) -> tuple[float, ...]:
    return (0, *(1 / count for count in _COUNTS if end > _SHORT * count or count == 1))


def _ranges(native: int, parts: Iterable[float]) -> list[tuple[int, int]]:
    """Return ranges from 1 to the native length that begin at these parts of it."""
    ordered = sorted({max(1, round(native * part)) for part in parts})
    return list(zip(ordered, [*(begin - 1 for begin in ordered[1:]), native], strict=True))
