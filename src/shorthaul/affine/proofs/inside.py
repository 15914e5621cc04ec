"""Vertex-isoperimetric inequalities inside of a box, and why they hold.

Let B be a box of whole places with sides of at least m, and N a neighbourhood around the origin. For sets A of B that
are not too large   |(A + N) in B| >= |A| + c |A|^((n-1)/n).                                                       (1)
A set in a corner has the fewest neighbours, and c is half of what it is without walls for a cross or a cube.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import sympy

Offset = tuple[int, ...]

_LINE = """\
(1) on a line of m places, for N = {-r, ..., r}, c = r and sets with fewer than m places of A + N: some place x of
the line is not in A + N. What A has below x gains the r places after its last one, all below x; else the same above
x."""
_PUSHED = """\
Push the places of A on every line of one direction down to the wall, then those of the next direction, and so on
until nothing changes. What A + N has on a line is at least as much as it has when A is pushed: a line with a > 0 of
m places of A has min(m, a + 1) of A + N or more, and as many as its neighbours lend it. So let A be pushed."""
_CROSS_IN_PLANE = """\
(1) with n = 2, N = {0, +-e1, +-e2}, c = sqrt(2) and |A| = q <= m^2/2. A has rows a_1 >= ... >= a_r > 0. Let g = |A
+ N| - |A|. If no row and no column is full, g = 1 + (sum of c_i), c_i = max(1, a_i - a_(i+1)), and q <= (sum of i
c_i) <= g (g - 1)/2, so g > sqrt(2q). If a row is full and no column is, every column gains a place: g >= m >=
sqrt(2q); so if a column is and no row. Else let C be the rest of B, with rows c_1 >= ... >= c_r > 0 from the other
corner. g counts the places of C of which a neighbour away from that corner is not in C: g = sum of max(1, c_i -
c_(i+1)), and |C| <= g (g + 1)/2. As |C| >= m^2/2, g (g + 1) >= m^2 and g >= m."""
_CUBE_IN_PLANE = """\
(1) with n = 2, N = {-1, 0, 1}^2, c = 2 and |A| = q <= m^2/4. Let g = |A + N| - |A|. If no row and no column is
full, |A + N| >= (sqrt(q) + 1)^2 (Brunn and Minkowski). If a row is full and no column is, every column gains a
place: g >= m >= 2 sqrt(q); so if a column is and no row. Else let C be the rest of B and C' that of A + N: C' + {0,
1}^2, turned round, lies in C, so |C'| <= (sqrt(|C|) - 1)^2 and g >= 2 sqrt(|C|) - 1 >= m, as |C| >= 3 m^2/4 >= (m +
1)^2/4 (m > 1: for m = 1 there is no such A)."""
_CROSS_IN_CUBE = """\
(1) with n = 3, N = {0, +-e1, +-e2, +-e3}, c = (9/2)^(1/3), B a cube and |A| = q <= (m^3 - m)/6. Of all sets of q
places the first ones by x + y + z, those of one sum in the order of the theorem, have the fewest neighbours
(Bollobas and Leader 1991, Compressions and isoperimetric inequalities, J. Combin. Theory A 56, Theorem 8). Let
these be all places of sums below r and t L of those of sum r, L = (r + 1)(r + 2)/2, 0 <= t <= 1; r <= m - 2. A
place p of sum r leads to p + e_i; give that pair the weight p_i + 1: r + 3 at p, and at a place of sum r + 1 its
sum. So the t L places lead to t L (r + 3)/(r + 1) at least, and g = |A + N| - |A| >= L + t (r + 2) = (r + 2)(r + 1
+ 2t)/2, while q = (r + 2)(r + 1)(r + 3t)/6. g^3 >= 9 q^2/2 is (r + 2)(r + 1 + 2t)^3 >= (r + 1)^2 (r + 3t)^2. For 3t
<= 2 the right side is at most (r + 1)^2 (r + 3t)(r + 2) <= (r + 2/3 + t)^3 (r + 2). For 3t >= 2 the left side is at
least (r + 2)(r + 7/3)^3, and (r + 7/3)^2 and (r + 7/3)(r + 2) are both at least (r + 1)(r + 3)."""
_CROSS_IN_SPACE = """\
(1) with n = 3, N = {0, +-e1, +-e2, +-e3}, c = 1329/1000 and |A| = q <= m^3/8. Let a_1 >= a_2 >= ... >= 0 be the
sizes of the layers of A in some direction, k their number in B, and G = |A + N| - |A|. Layer z of A + N holds layer
z - 1 of A and what its own layer and its neighbours in the plane are, so it gains e_z >= a_(z-1) - a_z (from the
second on), and e_z >= sqrt(2 a_z) if a_z <= m^2/2 (the inequality in the plane). a_k <= q/m. If a_1 > m^2/2, G >=
a_1 - a_k >= 3 m^2/8. Else let X_z = a_k + (sum of e_y over y > z) >= a_z, and F(x) = sqrt(2)/3 x^(3/2), convex:
F(X_(z-1)) - F(X_z) >= e_z F'(X_z) >= sqrt(2 a_z) sqrt(a_z/2) = a_z. Added, q <= F(G + a_k) - F(a_k), so G >= (3
q/sqrt(2) + a_k^(3/2))^(2/3) - a_k. This falls in a_k, and at a_k = q/m it is q^(2/3) ((3/sqrt(2) + v^(3/2))^(2/3) -
v) with v = q^(1/3)/m <= 1/2, which falls in v: at least 1.3296 q^(2/3)."""
_CUBE_IN_SPACE = """\
(1) with n = 3, N = {-1, 0, 1}^3, c = 3 and |A| = q <= 64 m^3/729. Let a_1 >= a_2 >= ... >= 0 be the sizes of the
layers of A in some direction, k >= m their number in B, and f_z what layer z gains in its plane. As layer z of A +
N is what layer z - 1 of A is with its neighbours (z > 1; z = 1: what layer 1 is), G = |A + N| - |A| = a_1 - a_k +
f_1 + (f_1 + f_2 + ... + f_(k-1)). As in the plane, f >= min(2 sqrt(a), m) for a layer of a places, unless fewer
than (m + 1)^2/4 places are not in it; this grows with a, so the first f_1 will do for f_k. If that is so of layer
1, G >= a_1 - a_k > m^2 - (m + 1)^2/4 - 64 m^2/729, enough for m >= 8; for m < 8 it is not, as a_1 <= q. Now put m =
1 (lengths in units of m), a_1 = s^2, a_k = u^2, h = 1 if s <= 1/2 and h = 1/(2s) else: min(2 sqrt(a), 1) >= 2 h
sqrt(a) for a <= s^2, and by concavity 2 sqrt(a) >= 2u + 2 (a - u^2)/(s + u) from u^2 to s^2. With k = w >= 1, G >=
s^2 - u^2 + h (2 u w + 2 (q - w u^2)/(s + u)). This grows with w, so let w = 1: it is E(u) = s^2 - u^2 + h (2s - 2
(s^2 - q)/(s + u)), 0 <= u <= s, u^2 <= q. To show: E >= 3 q^(2/3). s <= 1/2, q > s^2: E falls in u, so E >= E(s) =
s + q/s >= 2 sqrt(q). s <= 1/2, q <= s^2: E is concave in u, E(0) = s^2 + 2 q/s >= 3 q^(2/3), and E(sqrt(q)) = s^2 -
q + 2 sqrt(q) >= 2 sqrt(q). s > 1/2 (s^2 > q): E is concave, E(0) = s^2 + q/s^2 is at least 2 sqrt(q), and for q <=
1/16 at least 1/4 + 4 q >= 3 q^(2/3) (their difference is least, 0, at q = 1/8); E(sqrt(q)) = s^2 - q + sqrt(q)/s >=
3 (q/4)^(1/3) - q >= 3 q^(2/3), as q^(1/3) <= 4/9. And 2 sqrt(q) >= 3 q^(2/3) since q <= (2/3)^6."""
_FOLD = """\
N holds {radius} times this neighbourhood: its inequality, {radius} times in turn for ever larger sets, all within A
+ N."""


@dataclass(frozen=True, slots=True)
class Inside:
    """A neighbourhood that holds ``radius`` times a ``kind`` around ``origin``: (1) for sets in a box with ``sides``.

    It holds with ``constant`` where A + N has at most ``most`` places in the box.
    """

    kind: str
    origin: Offset
    radius: int
    sides: tuple[sympy.Expr, ...]
    constant: sympy.Expr
    most: sympy.Expr
    because: str

    def allows(self, places: sympy.Expr) -> sympy.Expr:
        """Return a formula that is 1 where (1) holds for sets with so many places of A + N, 0 where it may not."""
        return sympy.Max(
            0, sympy.Min(1, sympy.floor(self.most / places, evaluate=False), evaluate=False), evaluate=False
        )

    def text(self, places: str) -> str:
        """Return how instances lie, and up to how many ``places`` (1) holds."""
        lengths = " x ".join(map(str, self.sides))
        return (
            f"Their places fill a box of {lengths}, and instances reach all their neighbours in it. (1) holds up to M "
            f"= {self.most}; where {places} is more, nothing is counted (lemma on boxes)."
        )

    def document(self) -> dict[str, object]:
        """Return it as data that a checker of its own verifies."""
        sides = [str(side) for side in self.sides]
        return {"kind": self.kind, "origin": list(self.origin), "radius": self.radius, "sides": sides}


def instances_text(box: Inside | None) -> str:
    """Return which instances of a stencil are meant, in a box or without."""
    if box is None:
        return "D: the instances of which all these neighbours are computed."
    return f"D: the instances at all steps but the first. {box.text('K')}"


#: By kind and dimension: c for the neighbourhood once, the most places, the reason.
_KNOWN: Final[Mapping[tuple[str, int], tuple[sympy.Expr, Callable[[sympy.Expr], sympy.Expr], str]]] = {
    ("cube", 1): (sympy.Integer(1), lambda m: m - 1, _LINE),
    ("cross", 2): (sympy.sqrt(2), lambda m: m**2 / 2, f"{_PUSHED} {_CROSS_IN_PLANE}"),
    ("cube", 2): (sympy.Integer(2), lambda m: m**2 / 4, f"{_PUSHED} {_CUBE_IN_PLANE}"),
    ("cross in a cube", 3): (sympy.root(sympy.Rational(9, 2), 3), lambda m: (m**3 - m) / 6, _CROSS_IN_CUBE),
    ("cross", 3): (sympy.Rational(1329, 1000), lambda m: m**3 / 8, f"{_PUSHED} {_CROSS_IN_PLANE} {_CROSS_IN_SPACE}"),
    ("cube", 3): (sympy.Integer(3), lambda m: 64 * m**3 / 729, f"{_PUSHED} {_CUBE_IN_PLANE} {_CUBE_IN_SPACE}"),
}  # fmt: skip


def inside(places: frozenset[Offset], sides: Sequence[sympy.Expr], origins: Iterable[Offset] = ()) -> Iterator[Inside]:
    """Yield what is known of a neighbourhood inside of a box, for each kind that it holds around one of ``origins``.

    Without these that is any of its places.

    >>> [(item.kind, item.radius) for item in inside(frozenset({(0,), (1,), (2,)}), [sympy.Symbol("N")])]
    [('cube', 1)]
    """
    n = len(sides)
    even = all(side == sides[0] for side in sides)
    for kind in ("cross in a cube" if n == 3 and even else "cross", "cube"):
        known = _KNOWN.get((kind, n))
        if known is None:
            continue
        radius, origin = max((_radius(places, at, kind), at) for at in origins or sorted(places))
        if radius:
            constant, most, because = known
            more = "" if radius == 1 or n == 1 else f" {_FOLD.format(radius=radius)}"
            least = sympy.Min(*sides)
            yield Inside(kind, origin, radius, tuple(sides), radius * constant, most(least), because + more)


def _radius(places: frozenset[Offset], origin: Offset, kind: str) -> int:
    """Return how many times the neighbourhood around a place holds the cross, or the cube."""
    n, radius = len(origin), 0
    while True:
        reach = itertools.product(range(-radius - 1, radius + 2), repeat=n)
        steps = (step for step in reach if kind == "cube" or sum(map(abs, step)) <= radius + 1)
        if not all(tuple(a + b for a, b in zip(origin, step, strict=True)) in places for step in steps):
            return radius
        radius += 1
