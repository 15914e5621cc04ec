"""Cells along a diagonal: of the rows and columns of a band matrix a box holds what lies within the band."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import islpy as isl
import numpy as np
import numpy.typing as npt

from shorthaul.affine.orders.placement import Row

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Band:
    """``low <= x + sign * y <= high`` for two ``subscripts`` x and y of a group of cells."""

    subscripts: tuple[int, int]
    sign: int
    low: int
    high: int

    @property
    def width(self) -> int:
        """How many diagonals there are."""
        return self.high - self.low + 1

    def most(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Return the most cells in a box with these edges, wherever it lies: those of its longest diagonals.

        >>> print(Band((0, 1), -1, 0, 1).most(np.array(5.0), np.array(3.0)))
        6.0
        """
        short, long = np.minimum(x, y), np.maximum(x, y)
        whole = long - short + 1
        more = np.clip(self.width - whole, 0, 2 * (short - 1))
        half = more // 2
        rest = more - half
        cells: FloatArray = (
            short * np.minimum(self.width, whole) + more * short - (half * (half + 1) + rest * (rest + 1)) // 2
        )
        return cells

    def common(self, other: Band | None) -> Band | None:
        """Return the diagonals of both; None if they are not of one kind."""
        if other is None:
            return self
        if (self.subscripts, self.sign) != (other.subscripts, other.sign):
            return None
        return Band(self.subscripts, self.sign, max(self.low, other.low), min(self.high, other.high))

    def within(self, ends: Sequence[tuple[IntArray, IntArray]]) -> IntArray:
        """Return how many cells there are between ends of all subscripts.

        >>> x = y = (np.array([0]), np.array([4]))
        >>> Band((0, 1), -1, 0, 1).within([x, y]).tolist()
        [9]
        """
        result = np.ones(len(ends[0][0]), np.int64)
        for at, (low, high) in enumerate(ends):
            if at not in self.subscripts:
                result *= np.maximum(0, high - low + 1)
        (low, high), (first, last) = (ends[at] for at in self.subscripts)
        if self.sign < 0:
            first, last = -last, -first
        x, y = np.maximum(0, high - low + 1), np.maximum(0, last - first + 1)

        def below(most: int) -> IntArray:
            corner = most - low - first
            parts = (np.maximum(0, corner - less + 1) for less in (0 * x, x, y, x + y))
            whole, one, two, both = (part * (part + 1) // 2 for part in parts)
            cells: IntArray = whole - one - two + both
            return cells

        result *= np.maximum(0, below(self.high) - below(self.low - 1)) * (x > 0) * (y > 0)
        return result


@dataclass(frozen=True)
class Tie:
    """A loop that is in a sum of loops with a ``factor``: in a box of the ``total`` the rest leaves it few values.

    The rest of the sum has ``width`` values on a line. Of O[2 * i + r] in boxes of the subscript, of which r has 4
    values, i has in one of 8 at most (7 + 4 - 1) // 2 + 1 = 6.
    """

    total: int
    loop: int
    factor: int
    width: int


def band_of(
    places: isl.Set, factors: Sequence[Sequence[int]], ends: Sequence[tuple[int, int]], extents: Sequence[int]
) -> Band | None:
    """Return the narrowest band around the cells of a group.

    None if it is no narrower than half of their box, nor a tenth narrower than that is long.

    The cells have the subscripts ``factors`` times ``places`` and constants within ``ends``; every loop is in one
    subscript.

    >>> places = isl.Set("{ [k, i, j] : 0 <= k < 90 and k <= i < k + 5 and 0 <= j < 90 }")
    >>> band_of(places, ((1, 0, 0), (0, 1, 0)), ((0, 0), (0, 0)), (90, 94, 90))
    Band(subscripts=(0, 1), sign=-1, low=-4, high=0)
    """
    found: list[tuple[float, Band]] = []
    longest = [1 + sum(extents[at] - 1 for at, factor in enumerate(row) if factor) for row in factors]
    for y, second in enumerate(factors):
        for x, first in enumerate(factors[:y]):
            for sign in (-1, 1) if any(first) and any(second) else ():
                along = Row(tuple(a + sign * b for a, b in zip(first, second, strict=True)))
                values = places.apply(_to([along], len(first)))
                more = [ends[x][at] + sign * ends[y][at if sign > 0 else 1 - at] for at in (0, 1)]
                low, high = values.dim_min_val(0).to_python() + more[0], values.dim_max_val(0).to_python() + more[1]
                band = Band((x, y), sign, low, high)
                both = longest[x], longest[y]
                if 2 * band.width < sum(both) - 1 or 10 * band.width < 9 * max(both):
                    found.append((band.width / (longest[x] + longest[y]), band))
    return min(found, key=lambda item: item[0])[1] if found else None


def sheared(accesses: Mapping[str, Iterable[Sequence[Sequence[int]]]]) -> dict[str, isl.Map]:
    """Return other names for the elements of arrays: a subscript is added to another where that takes loops out of it.

    A band matrix that is stored by its diagonals, or by rows from the diagonal on, has rows and columns then.
    ``accesses`` are the factors of the loops by subscript.

    >>> sheared({"A": [((0, 1, 0), (0, -1, 1)), ((1, 0, 0), (-1, 0, 1))]})["A"]
    Map("{ [x0, x1] -> [x0, x0 + x1] }")
    """
    result = {}
    for array, found in accesses.items():
        items = [np.array(item, np.int64) for item in dict.fromkeys(tuple(map(tuple, item)) for item in found)]
        width = len(items[0])
        whole = np.eye(width, dtype=np.int64)
        for _ in range(width):
            options = []
            for x in range(width):
                for y in range(width):
                    for sign in (-1, 1) if x != y else ():
                        step = np.eye(width, dtype=np.int64)
                        step[y, x] = sign
                        options.append((_loops_in(step @ item for item in items), step))
            if not options:
                break
            least, step = min(options, key=lambda option: option[0])
            if least >= _loops_in(items):
                break
            items, whole = [step @ item for item in items], step @ whole
        if (whole != np.eye(width, dtype=np.int64)).any():
            result[array] = _to([Row(tuple(row)) for row in whole.tolist()], width)
    return result


def _loops_in(items: Iterable[IntArray]) -> int:
    return sum(int(np.count_nonzero(item)) for item in items)


def ties_of(
    places: isl.Set, loops: Collection[int], placement: Collection[Sequence[Row]], extents: Sequence[int]
) -> Iterator[Tie]:
    """Yield what boxes of sums of loops leave of ``loops``, those of a group that is accessed at ``places``.

    As a sum goes on, so does each of these: where every loop is in a subscript alone, no cell comes back.
    """
    for total, rows in enumerate(zip(*placement, strict=True)):
        for loop in sorted({*loops} - {total}):
            factors = {_multiple(own[loop], row) for own, row in zip(placement, rows, strict=True)}
            if len(factors) > 1 or not (factor := factors.pop()):
                continue
            rest = places.apply(
                _to([Row(tuple((at == total) - factor * (at == loop) for at in range(len(extents))))], len(extents))
            )
            width = rest.dim_max_val(0).to_python() - rest.dim_min_val(0).to_python() + 1
            if (width - 1) // abs(factor) + 1 < extents[loop]:
                yield Tie(total, loop, abs(factor), width)


def _multiple(loop: Row, total: Row) -> int:
    """Return how often a loop is in a sum of several, 0 where it is no loop or is not in there."""
    known = [at for at, factor in enumerate(loop.factors) if factor]
    several = sum(map(bool, total.factors)) > 1
    return total.factors[known[0]] * loop.factors[known[0]] if several and len(known) == 1 else 0


def _to(rows: Sequence[Row], width: int) -> isl.Map:
    names = [f"x{at}" for at in range(width)]
    text = f"{{ [{', '.join(names)}] -> [{', '.join(row.text(names) for row in rows)}] }}"
    return isl.Map(text)
