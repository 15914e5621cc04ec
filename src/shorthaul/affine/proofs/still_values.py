"""The lemma on rows with still values, and by how much these make parts smaller."""

from __future__ import annotations

import sympy

from shorthaul.affine.proofs.lemmas import Lemma

STILL = Lemma(
    "rows with still values",
    """\
In the lemma on rows let every instance of P also read s still values: vertices that are no instances, neighbours or
temporaries. Let instances of one row have different ones, and no vertex be two of the s values of one instance. If the
neighbours outside of P, In(P), and the still values of P are K together, then
  |P| <= n / ((n + 1) c) K^((n+1)/n) / (s (n + 1) + 1)^(1/n).""",
    """\
Let q_l be the sizes of the rows, q_0 = 0, and q_L = m the largest one. Row L alone has s m still values. Row l has at
least q_l + c q_l^((n-1)/n) - q_(l-1) in-vertices, and at least a_l times that, for 0 <= a_l <= 1. Take a_l = 1 for
l <= L: q_l - q_(l-1) add up to m, and c q_l^((n-1)/n) >= c q_l / m^(1/n). For l > L take a_l = (q_l / m)^(1/n): then
a_l c q_l^((n-1)/n) = c q_l / m^(1/n), and a_l is the derivative of f(q) = n / (n + 1) q^((n+1)/n) / m^(1/n) at q_l; f
is convex, so a_l (q_l - q_(l-1)) >= f(q_l) - f(q_(l-1)), which add up to -f(m) = -n m / (n + 1) or more. Together
K >= s m + m / (n + 1) + c |P| / m^(1/n), so |P| <= m^(1/n) (K - h m) / c with h = s + 1 / (n + 1). That is largest at
m = K / (h (n + 1)), where it is what is said.""",
)


def smaller(dimensions: int, values: int) -> sympy.Expr:
    """Return what U of the lemma on rows is divided by, for instances with so many still values.

    >>> smaller(2, 1)
    2
    """
    return sympy.root(values * (dimensions + 1) + 1, dimensions)
