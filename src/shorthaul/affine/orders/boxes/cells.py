"""Groups of accesses with one linear part, and how many cells a box of them touches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import prod

import islpy as isl
import numpy as np
import numpy.typing as npt

from shorthaul.affine.orders.boxes.bands import Band, Tie
from shorthaul.affine.orders.boxes.regions import IntArray, Region, union

FloatArray = npt.NDArray[np.float64]


#: The factors of every coordinate, by subscript.
Factors = tuple[tuple[int, ...], ...]
#: Step and rest of every subscript.
Lattice = tuple[tuple[Fraction, Fraction], ...]
#: Where accesses are placed, with the constants of their subscripts.
Accesses = Sequence[tuple[isl.Set, Sequence[int]]]
#: The source of values that are there before a step of the outer loop begins.
BEFORE = "an earlier step"


@dataclass(frozen=True)
class Cells:
    """Accesses with one linear part: ``factors`` per subscript and coordinate, ``spread`` of their constants.

    The least of the constants are ``least``.
    ``fresh`` is the number of cells whose first access is a write, ``share`` their part of all. ``where`` are the
    regions of the accesses, without constraints where they fill a box. ``source`` is the statement of another phase
    whose values they read, or says what they are: these are not what the array holds now. Subscripts are counted on
    their ``lattice``: every one is a step times what ``factors`` and constants say, and a rest. Cells of the groups
    with the factors ``behind`` are read only after these groups have computed them. Subscripts are within ``bounds``,
    where these are known. Accesses that fill no box are within one of the edges ``own``, and cells within a ``band``,
    where every loop is in one subscript alone. Values computed here that are read in the group stay within one value of
    the loops ``inside``; ``elsewhere`` is the number of cells of which others are read too. Where boxes have all of the
    loops ``among``, as those over a window whose centre is read, another group has all cells: none are counted here.
    """

    array: str
    factors: Factors
    spread: tuple[int, ...]
    fresh: int = 0
    share: float = 0.0
    where: tuple[Region, ...] = (Region(()),)
    least: tuple[int, ...] = ()
    source: str | None = None
    lattice: Lattice = ()
    behind: frozenset[Factors] = frozenset()
    bounds: tuple[tuple[int, int], ...] = ()
    own: tuple[int, ...] = ()
    band: Band | None = None
    inside: frozenset[int] = frozenset()
    elsewhere: int = 0
    among: tuple[tuple[int, int], ...] = ()  #: with how many values each has
    ties: tuple[Tie, ...] = ()

    @property
    def name(self) -> str:
        """The array, or whose values of it they read."""
        return self.array if self.source is None else f"{self.array} of {self.source}"

    @cached_property
    def loops(self) -> frozenset[int]:
        """The coordinates that matter."""
        own = frozenset(at for row in self.factors for at, factor in enumerate(row) if factor)
        return own.union(item.total for item in self.ties)

    @cached_property
    def _apart(self) -> Factors:
        """The factors without loops that another subscript tells.

        A subscript that is one loop, with one constant in all accesses, says where this loop is. Taken from another
        subscript as often as the loop is in there, it leaves as many cells: to and fro, one cell becomes one.
        """
        rows = list(self.factors)
        for at, spread in enumerate(self.spread):
            known = [loop for loop, factor in enumerate(rows[at]) if factor]
            if not spread and len(known) == 1 and abs(rows[at][known[0]]) == 1:
                (loop,) = known
                rows = [row if other == at else (*row[:loop], 0, *row[loop + 1 :]) for other, row in enumerate(rows)]
        return tuple(rows)

    @cached_property
    def _terms(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """The loops that are left in every subscript, with their factors."""
        return tuple(tuple((at, abs(factor)) for at, factor in enumerate(row) if factor) for row in self._apart)

    @cached_property
    def _is_product(self) -> bool:
        """True if there are as many cells as values of the loops that are left: no subscript has two of them."""
        return not any(self.spread) and all(
            len(row) < 2 and all(factor == 1 for _, factor in row) for row in self._terms
        )

    def moves_as(self, other: Cells, loop: int) -> bool:
        """True if a loop is in the same subscripts of both, with the same factors and constants."""
        if any(tie.total == loop for tie in (*self.ties, *other.ties)):
            return False
        lines = [list(zip(item.factors, item.least, item.spread, strict=True)) for item in (self, other)]
        along = [[line if line[0][loop] else None for line in item] for item in lines]
        return along[0] == along[1]

    def count(self, edges: Sequence[FloatArray] | Sequence[int]) -> FloatArray | int:
        """Return F: the most cells held in a box of these edges."""
        counts = self._counts(edges) if self.among else 1
        if self.own:
            within = zip(edges, self.own, strict=True)
            edges = [np.minimum(np.asarray(edge), most) for edge, most in within]
        if self.ties:
            edges = [np.asarray(edge, np.float64) for edge in edges]
            for tie in self.ties:
                most = (edges[tie.total] + (tie.width - 2)) // tie.factor + 1
                edges[tie.loop] = np.minimum(edges[tie.loop], most)
        if self._is_product and self.band is None and not self.among:
            return prod(edges[at] for row in self._terms for at, _ in row)
        sides = [
            sum((factor * (edges[at] - 1) for at, factor in row), 1 + spread)
            for row, spread in zip(self._terms, self.spread, strict=True)
        ]
        if self.bounds:
            sides = [np.minimum(side, high - low + 1) for side, (low, high) in zip(sides, self.bounds, strict=True)]
        total: FloatArray | int = prod(sides)
        if self.band is not None:
            x, y = self.band.subscripts
            others = prod(side for at, side in enumerate(sides) if at not in (x, y))
            total = others * self.band.most(*(np.asarray(sides[at], np.float64) for at in (x, y)))
        if self.is_injective:
            total = np.minimum(total, prod(edges[at] for at in self.loops))
        return total * counts

    def in_lines(self, edges: Sequence[FloatArray] | Sequence[int], more: float) -> FloatArray | float:
        """Return what a cell counts in boxes of these edges where every row in memory counts ``more`` cells."""
        last = self.factors[-1] if self.factors else ()
        return 1 + more / prod(np.asarray(edges[at]) for at, factor in enumerate(last) if factor)

    def _counts(self, edges: Sequence[FloatArray] | Sequence[int]) -> FloatArray:
        """Return 0 where boxes have all of the loops ``among``, 1 elsewhere."""
        whole = [np.asarray(edges[at]) >= extent for at, extent in self.among]
        missing: FloatArray = 1.0 - np.all(np.stack(np.broadcast_arrays(*whole)), axis=0)
        return missing

    def is_among(self, edges: Mapping[int, int]) -> bool:
        """True if another group has all cells where loops have these edges, and all others are whole."""
        return bool(self.among) and all(edges.get(at, extent) >= extent for at, extent in self.among)

    def first(self, extents: Sequence[int]) -> int:
        """Return how many of the cells counted in all boxes need no load, where these are cut from ``extents``.

        Those written first need none, nor do those that are counted without being read. Where some are written first,
        these are all counted but those with values from ``elsewhere``, provided that each is counted in some box: with
        a cell for every point they are, and with every loop in one subscript alone, where boxes leave no gaps.
        """
        leave_no_gaps = self.fresh and (self.is_injective or _are_single(self._apart))
        return int(self.count(extents)) - self.elsewhere if leave_no_gaps else self.fresh

    @property
    def is_written_first(self) -> bool:
        """True if every cell that is read has been written before."""
        return self.share == 1

    @property
    def is_cut(self) -> bool:
        """True if the accesses fill no box."""
        return any(part.constraints for part in self.where)

    @cached_property
    def fill_boxes(self) -> bool:
        """True if all cells between the outermost ones are accessed in a box: every loop is in one subscript alone."""
        return _are_single(self.factors)

    def fills(self, places: isl.Set, box: isl.Set) -> bool:
        """True if the group is accessed, at ``places``, wherever the loops that matter are in their box."""
        if not self.is_cut:
            return True
        for at in reversed(range(box.dim(isl.dim_type.set))):
            if at not in self.loops:
                places, box = (item.project_out(isl.dim_type.set, at, 1) for item in (places, box))
        return bool(places.is_equal(box))

    def ends(self, low: IntArray, high: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the least and the largest value of every subscript in boxes with these ends."""
        for number, (row, constant, spread) in enumerate(zip(self.factors, self.least, self.spread, strict=True)):
            first = sum((factor * (low if factor > 0 else high)[:, at] for at, factor in enumerate(row)), constant)
            last = sum((factor * (high if factor > 0 else low)[:, at] for at, factor in enumerate(row)), constant)
            ends = first + np.zeros(len(low), np.int64), last + spread + np.zeros(len(low), np.int64)
            if self.bounds:
                ends = np.maximum(ends[0], self.bounds[number][0]), np.minimum(ends[1], self.bounds[number][1])
            yield ends

    def counted(self, low: IntArray, high: IntArray) -> FloatArray | IntArray:
        """Return how many cells there are at most in boxes with these ends."""
        if self.band is not None:
            return self.band.within(list(self.ends(low, high)))
        if self.bounds and self.fill_boxes:
            result = np.ones(len(low), np.int64)
            for first, last in self.ends(low, high):
                result *= np.maximum(0, last - first + 1)
            return result
        return np.broadcast_to(self.count(list((high - low + 1).T.astype(np.float64))), (len(low),))

    @cached_property
    def is_injective(self) -> bool:
        """True if there is one cell for every point of the loops that matter: boxes share none then.

        Otherwise a cell may come back after boxes without it, so all cells between the outermost ones are held.
        """
        rank = np.linalg.matrix_rank(np.array(self.factors)) if self.loops else 0
        return not any(self.spread) and int(rank) == len(self.loops)


def _are_single(factors: Factors) -> bool:
    """True if every loop is in one subscript alone, which moves by 1 with it."""
    used = [at for row in factors for at, factor in enumerate(row) if factor]
    return len(used) == len(set(used)) and all(abs(factor) <= 1 for row in factors for factor in row)


def among_others(groups: Sequence[tuple[Cells, Accesses]], extents: Sequence[int]) -> tuple[Cells, ...]:
    """Return groups, given with their accesses, with the loops of which boxes have to have all for that."""
    result = []
    for cells, accesses in groups:
        found = (
            tuple((at, extents[at]) for at in loops)
            for other, others in groups
            if (loops := _further_loops(cells, other))
            and _touched(cells.factors, accesses, loops).is_subset(_touched(other.factors, others, loops))
        )
        result.append(replace(cells, among=next(found, ())))
    return tuple(result)


def _further_loops(cells: Cells, other: Cells) -> list[int]:
    """Return the loops that move ``other``, a group of the same array, and not ``cells``; none if it cannot serve.

    It may have them in place of loops of this group, as rows x[t][m] and x[t][n] are one row where boxes have all n.
    Of groups that have the cells of one another, one counts them.
    """
    alike = (cells.name, cells.lattice, cells.fresh) == (other.name, other.lattice, other.fresh)
    instead = cells.loops - other.loops
    is_first = instead and (-len(cells.loops), cells.factors) <= (-len(other.loops), other.factors)
    return [] if not alike or cells.fresh or is_first or cells.is_cut else sorted(other.loops - cells.loops)


def _touched(factors: Factors, accesses: Accesses, without: Sequence[int]) -> isl.Set:
    """Return cells with the places, but for the loops ``without``, of the accesses that touch them."""
    parts = []
    for places, constants in accesses:
        names = [f"y{at}" for at in range(places.dim(isl.dim_type.set))]
        cells = (
            " + ".join([str(constant), *(f"{factor} {name}" for factor, name in zip(row, names, strict=True))])
            for row, constant in zip(factors, constants, strict=True)
        )
        kept = (name for at, name in enumerate(names) if at not in without)
        parts.append(places.apply(isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join((*kept, *cells))}] }}")))
    return union(parts)
