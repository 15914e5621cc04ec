"""Windows: a value that several places of a coordinate read is told apart by them, so many times as these are.

A convolution reads its input at 2 p + r. Where r takes few values, as it does over a small filter, an element of the
input is read with few of them, every second one at most. So it is in few classes of the finer projection onto (p, r),
whose kernel leaves more to the other projections: loads fall as 1/sqrt(S), where those of a large filter fall as 1/S.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import islpy as isl
import sympy

from shorthaul.affine.integer_sets.counting import Cardinality, card
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.integer_sets.subspaces import Subspace, kernel, unit

_PARAM, _SET = isl.dim_type.param, isl.dim_type.set


@dataclass(frozen=True, slots=True)
class Window:
    """A vertex is in at most ``points`` classes of the projection with the kernel ``finer``.

    ``points`` is a formula in parameters that are small; ``typical`` a number near its value where arguments are
    compared. Vectors of ``finer`` are 0 at the ``coordinates``.
    """

    coordinates: tuple[int, ...]
    points: sympy.Expr
    typical: int
    finer: Subspace

    def factor(self, sizes: Mapping[str, int]) -> float:
        """Return how many times ``typical`` the number of classes is at ``sizes``."""
        return max(1.0, number_at(self.points, sizes)) / self.typical


@dataclass(frozen=True, slots=True)
class Extent:
    """The values that a coordinate takes, and how many they are."""

    points: isl.Set
    number: Cardinality

    def apart(self, gap: int) -> sympy.Expr:
        """Return how many of them may be multiples of ``gap`` apart, at most."""
        number = self.number.expression()
        if gap == 1:
            return number
        width = card(isl.Set.from_basic_set(self.points.polyhedral_hull())).positive().expression()
        return sympy.floor((width - 1) / gap) + 1 if width.is_polynomial() else number


def few_values(domain: isl.Set, small: Collection[str], among: Collection[int] | None = None) -> dict[int, Extent]:
    """Return the coordinates that take a number of values that is constant, or depends on ``small`` parameters only.

    Coordinates not ``among`` some, if these are given, are not looked at.
    """
    extents = {}
    count = domain.dim(_SET)
    for at in range(count) if among is None else sorted(among):
        alone = domain.project_out(_SET, at + 1, count - at - 1).project_out(_SET, 0, at)
        for other in reversed(range(alone.dim(_PARAM))):
            if alone.get_dim_name(_PARAM, other) not in small:
                alone = alone.project_out(_PARAM, other, 1)
        if alone.is_empty() or not alone.is_bounded():
            continue
        number = card(alone).positive()
        if number.expression().is_polynomial():
            extents[at] = Extent(alone, number)
    return extents


def window(
    space: Subspace, dimensions: int, extents: Mapping[int, Extent], chosen: Iterable[int], sizes: Mapping[str, int]
) -> Window | None:
    """Return the window of a projection with the kernel ``space`` on coordinates ``chosen``, None if it has none.

    Within a class a coordinate takes every g-th value of its extent at most, where it is g or 0 in all integer vectors
    of the kernel. ``sizes`` are those at which arguments are compared.
    """
    used = [at for at in chosen if any(row[at] for row in space)]
    if not used:
        return None
    points = sympy.Mul(*(extents[at].apart(_gap(space, at)) for at in used))
    finer = kernel([*kernel(space, dimensions), *(unit(dimensions)[at] for at in used)], dimensions)
    return Window(tuple(used), points, max(1, round(number_at(points, sizes))), finer)


def _gap(space: Subspace, at: int) -> int:
    """Return a divisor of the coordinate in all integer vectors of the subspace.

    A row that has no coordinate with another one is in such a vector a whole number of times, as it is without divisor.

    >>> _gap(((2, -3, 0), (0, 0, 1)), 1), _gap(((2, 0, 1), (0, 2, 1)), 1)
    (3, 1)
    """
    (row, *others) = (row for row in space if row[at])
    support = supports([row])
    apart = not others and all(row is one or not any(one[place] for place in support) for one in space)
    return abs(row[at]) if apart else 1


def joined(kernels: Iterable[Sequence[Sequence[int]]]) -> set[int]:
    """Return the coordinates that a kernel joins with others, as (1, -1) of p and r."""
    return supports(row for space in kernels for row in space if sum(map(bool, row)) > 1)


def supports(rows: Iterable[Sequence[int]]) -> set[int]:
    """Return the coordinates that are not 0 in some row."""
    return {at for row in rows for at, value in enumerate(row) if value}
