"""Neighbourhoods with a known vertex-isoperimetric inequality, and why it holds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import sympy

Offset = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """A neighbourhood N with |A + N| >= |A| + c |A|^((n-1)/n) for all finite sets A, and the reason."""

    name: str
    because: str


_LINE = (
    "(1) with n = 1 and c = |N| - 1: on the line |A + N| >= |A| + |N| - 1, for A with the least element of N, "
    "and then the largest element of A with the others, are |A| + |N| - 1 different sums."
)
_CROSS = """\
N holds the cross 0, +-e1, +-e2. (1) holds with n = 2 and c = 2 sqrt(2): colour the plane as a checkerboard, let
A have u^2 and v^2 places of the two colours, u >= v. The neighbours +-e1, +-e2 of one colour form a 2 x 2 box
in the lattice of the other one (coordinates x + y and x - y), so by Brunn and Minkowski there are at least (u +
1)^2 and, if v > 0, (v + 1)^2 of them, and |A + N| >= (u + 1)^2 + max(u^2, (v + 1)^2). This is at least u^2 +
v^2 + 2 sqrt(2) sqrt(u^2 + v^2): for u <= v + 1, because (u + v + 1)^2 >= 2 (u^2 + v^2) where (u - v)^2 <= 1;
for larger u, because the excess 2u + 1 + u^2 - v^2 falls in v and the root grows in v, so that v = u - 1 is the
worst case."""
_CROSS_IN_SPACE = """\
N holds the cross 0, +-e1, +-e2, +-e3. (1) holds with n = 3 and c = 3 (4/3)^(1/3): among sets of one size those
that fill balls |x| + |y| + |z| <= r one after the other have the fewest neighbours (Wang and Wang 1977,
Discrete isoperimetric problems, SIAM J. Appl. Math. 32). With m = r + 1/2 a ball has (4 m^3 + 5 m)/3 places and
4 m^2 + 4 m + 3 neighbours outside, and c ((4 m^3 + 5 m)/3)^(2/3) = 4 m^2 (1 + 5/(4 m^2))^(2/3) <= 4 m^2 + 10/3
is no more than that. For sizes between two balls it is the inequality of Bollobas and Leader 1991
(Isoperimetric inequalities and fractional set systems, J. Combin. Theory A 56)."""
_CROSSES = {2: _CROSS, 3: _CROSS_IN_SPACE}


def isoperimetric_constant(offsets: frozenset[Offset]) -> tuple[sympy.Expr, Shape] | None:
    """Return the largest known c of the inequality for the neighbourhood, and why it holds; None if none is known.

    >>> isoperimetric_constant(frozenset({(-1,), (0,), (1,)}))[0]
    2
    """
    n = len(next(iter(offsets)))
    if n == 1:
        return sympy.Integer(len(offsets) - 1), Shape("a set on the line", _LINE)
    options: list[tuple[sympy.Expr, Shape]] = []
    ranges = [(min(item[axis] for item in offsets), max(item[axis] for item in offsets)) for axis in range(n)]
    box = set(itertools.product(*(range(low, high + 1) for low, high in ranges)))
    sides = [high - low for low, high in ranges]
    if box <= offsets and all(sides):
        options.append((n * sympy.root(sympy.prod(sides), n), _box(sides)))
    units = [tuple(sign * int(a == axis) for a in range(n)) for axis in range(n) for sign in (-1, 1)]
    if n in _CROSSES and {(0,) * n, *units} <= offsets:
        factor = sympy.root(sympy.Rational(2**n, sympy.factorial(n)), n)
        options.append((n * factor, Shape("a cross", _CROSSES[n])))
    return max(options, key=lambda item: float(item[0]), default=None)


def _box(sides: Sequence[int]) -> Shape:
    n, volume = len(sides), sympy.prod(sides)
    lengths = " x ".join(map(str, sides))
    because = (
        f"N holds a box of {lengths} steps. (1) holds with n = {n} and c = {n} ({volume})^(1/{n}): put a unit "
        "cube at every place of A. The cubes at A + N then cover the sum of that body and a box with sides "
        f"{lengths}, and by Brunn and Minkowski |A + N| >= (|A|^(1/{n}) + ({volume})^(1/{n}))^{n}, of which "
        "(1) keeps the two largest terms."
    )
    return Shape(f"a box of sides {list(sides)}", because)
