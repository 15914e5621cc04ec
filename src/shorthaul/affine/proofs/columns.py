"""The lemma on columns of a stencil: every place has values of its own, so a part that is wide needs many of them."""

from __future__ import annotations

from fractions import Fraction

import sympy

from shorthaul.affine.proofs.lemmas import Lemma

COLUMNS = Lemma(
    "columns of a stencil",
    """\
Let instances be at levels l and places z of Z^n, and let (l, z) of D read the vertices (l - 1, z + v) for all v in N,
a finite set with 0 in it, N = -N and (1). D leaves out no level between two of a place. The ring is all (l, z + v) that
are not in D, with v in N and (l - 1, z) and (l + 1, z) in D; they are instances that read (l - 1, z) and, if that is in
D or in the ring, (l - 1, z + v). Every place has s > 0 values: from every instance of D a walk back from operand to
operand leads for each of them over vertices of this place and this value only to a source; none of these vertices is an
instance of D or read as a neighbour. An event is a load of a neighbour or of a vertex of a walk, or the computation of
a source. If a stretch with r events computes the instances P of D, and e vertices of the ring, K = S + r, then with
tau = 2 / (2 + s) and mu = s / ((s + 2) c) (K / (s + 1))^(1/n)
  |P| <= n / ((n + 1) c) (tau K)^((n+1)/n) / (2 - tau^(n+1))^(1/n) + 2 s / ((s + 1) (s + 2)) K + mu e.
In the lemma on segments |D| - mu |ring| may stand for |D| so, without the last term.""",
    """\
Let h(z) be the number of instances of P at z, A_k the places with k or more, w_k their number, w = w_1 > 0, d(x) = c
x^((n-1)/n). What P reads and what is not in P was in memory when the stretch began, is loaded, or is a source that is
computed. Every place of A_1 has one vertex of each walk for which the same holds. So with I vertices outside of P that
P reads as neighbours,  I + s w <= K.  (2)
(a) I >= w_k + (sum of |A_j + N| - w_j over j <= k) for every k >= 1. Let y have i of these I vertices, and let M be the
largest h(z) for which z reads y. The lowest instance at y, if there is one, reads a vertex at y: i >= 1. Of the M
vertices at y that those at z read, h(y) at most are in P: i >= M - h(y). Hence i is at least what y counts on the right
side: 1 if h(y) >= k, and min(M, k) - h(y) else. So also, with weights b_0 = 1 >= b_1 >= ... that end in 0,
  I >= sum over k >= 1 of (b_(k-1) - b_k) w_k + b_(k-1) d(w_k).  (3)
(b) Let k > 2, z in A_k, v in N, and let P have z from level f to level g >= f + k - 1; all between are in P. For f < l
< g let x = (l, z + v). (l + 1, z) reads x, and (l - 1, z) is in D, so x is in D or in the ring. From (f, z) a path
leads over (f + 1, z + v), ... to x and on to (g - 1, z + v) and (g, z). So x is computed in the stretch. Hence w_k +
d(w_k) <= |A_k + N| <= w_(k-2) + e_(k-2), where the sum of the e_k is e at most.
(c) Let q = tau^n w, lambda = q^(1/n) / c, and m the largest k with w_k >= q. Take b_k = 1 for k < m and (w_(k+1) /
q)^(1/n) from m on. The first terms of (3) are w_m less the sum over k >= m of b_k (w_k - w_(k+1)), so q less the
integral of (x/q)^(1/n) from 0 to q or more: q / (n + 1). The others are d(w_k) for k <= m, then w_k / lambda. So
  |P| <= lambda (I - q / (n + 1)) + sum over k <= m of w_k - lambda d(w_k).
Let F(x) = (n x^((n+1)/n) - (n + 1) q^(1/n) x + q^((n+1)/n)) / ((n + 1) c). F is convex, F(q) = 0, F'(x) d(x) = x -
lambda d(x) =: f(x). f grows with x >= q. For 2 < k <= m, (b) gives f(w_k) <= F'(w_k) (w_(k-2) + e_(k-2) - w_k) <=
F(w_(k-2)) - F(w_k) + F'(w) e_(k-2). Added, with f(w) = (1 - tau) w for k <= 2,
  |P| <= lambda (I - q / (n + 1)) + 2 F(w) + 2 (1 - tau) w + F'(w) e.
By (2) the terms with w^(1/n) / c, but that with e, are w^(1/n) / c times tau K - (2 - tau^(n+1)) w / (n + 1) or less,
largest at w = tau K / (2 - tau^(n+1)): what is said. In the others w <= I by (a), so w <= K / (1 + s), and F'(w) = (1 -
tau) w^(1/n) / c <= mu, 1 - tau = s / (s + 2). A vertex of the ring is computed once.""",
)


BARE_COLUMNS = Lemma(
    "columns of a stencil that does not read its centre",
    """\
Let instances be at levels l and places z of Z^n, and let (l, z) of D read the vertices (l - 1, z + v) for all v in N, a
finite set with N = -N and an odd number chi.v for all its v, chi a vector of n numbers; let N and 0 together have (1).
The half of (l, z) is l + chi.z modulo 2: reads stay in it. Let D be in p halves, and leave out no level between two of
a place and half, where levels are 2 apart. The ring is all (l, z + v) that are not in D, with v in N and (l - 1, z) and
(l + 1, z) in D; they are instances that read (l - 1, z). Every place has values as in the lemma on columns of a
stencil, and s is their number divided by p. If a stretch with r events, as there, computes the instances P of D, and e
vertices of the ring, K = S + r, then with tau = 1 / (1 + s) and mu = (1 - tau) / c (K / s)^(1/n)
  |P| <= n / ((n + 1) c) (tau K)^((n+1)/n) / (1 - tau^(n+1))^(1/n) + tau K + mu e.
In the lemma on segments |D| - mu |ring| may stand for |D| so, without the last term.""",
    """\
A column is a place in a half; N leads from columns to columns of the half, each half a Z^n. Let h(y) be the number of
instances of P in column y, A_k the columns with k or more, w_k their number, w = w_1 > 0, d(x) = c x^((n-1)/n). As d is
subadditive, (1) holds over all halves: |A_k + N or A_k| >= w_k + d(w_k). Let P read I vertices outside of P as
neighbours. At least w / p places have one vertex of each walk that was in memory or stands for an event, so I + s w <=
K.
(a) Let M be the largest h(z) for which column z reads y. It reads M vertices of y, of which h(y) at most are in P. So
at least M - h(y) of the I are of y, 1 for each k for which y is in A_k + N and not in A_k: I >= sum of d(w_k) over k.
(b) Let (l - 1, z) and (l + 1, z) be in P and v in N. (l + 1, z) reads (l, z + v), which is in D or in the ring and
reads (l - 1, z): it is computed between the two, so in the stretch. So what P has of a column follows without a gap,
and if it has k > 1 there, k - 1 vertices of each column beside it are computed, in P or in the ring. Hence w_k +
d(w_k) <= w_(k-1) + e_(k-1), e_k being at most the number of columns of which P has less than k instances and the
stretch computes k or more with those of the ring: they add up to e at most.
(c) Let q = tau^n w, lambda = q^(1/n) / c, f(x) = x - lambda d(x), at most 0 for x <= q, m the largest k with w_k >= q.
By (a) |P| <= lambda I + sum of f(w_k) over k <= m. F(x) = (n x^((n+1)/n) - (n + 1) q^(1/n) x + q^((n+1)/n)) / ((n + 1)
c) is convex, F(q) = 0, F'(x) d(x) = f(x). For 1 < k <= m, (b) gives f(w_k) <= F'(w_k) (w_(k-1) + e_(k-1) - w_k) <=
F(w_(k-1)) - F(w_k) + F'(w) e_(k-1). Added, with f(w) = (1 - tau) w for k = 1,
  |P| <= lambda I + F(w) + (1 - tau) w + F'(w) e.
As I <= K - s w and tau (1 + s) = 1, the first two are at most w^(1/n) / c (tau K - w (1 - tau^(n+1)) / (n + 1)),
largest at w = tau K / (1 - tau^(n+1)): what is said. In the others w <= K / s, 1 - tau = s tau, and F'(w) = (1 - tau)
w^(1/n) / c. A vertex of the ring is computed once.""",
)


def rates(n: int, c: sympy.Expr, values: Fraction, *, bare: bool = False) -> tuple[sympy.Expr, sympy.Expr]:
    """Return a and b of U = a K^((n+1)/n) + b K; without values of its own that of the lemma on rows.

    >>> rates(2, sympy.Integer(1), Fraction(0))
    (2/3, 0)
    >>> rates(1, sympy.Integer(2), Fraction(2))
    (1/28, 1/3)
    >>> rates(1, sympy.Integer(2), Fraction(1), bare=True)
    (1/12, 1/2)
    """
    plain = sympy.Rational(n, n + 1) / c
    if not values:
        return plain, sympy.Integer(0)
    s = sympy.Rational(values.numerator, values.denominator)
    tau = 1 / (1 + s) if bare else 2 / (2 + s)
    less = sympy.root((1 if bare else 2) - tau ** (n + 1), n)
    beside = tau if bare else 2 * s / ((s + 1) * (s + 2))
    return plain * tau ** sympy.Rational(n + 1, n) / less, beside


def ring_rate(n: int, c: sympy.Expr, values: Fraction, *, bare: bool = False) -> sympy.Expr:
    """Return mu over K^(1/n): how many instances a vertex of the ring stands for.

    >>> ring_rate(1, sympy.Integer(2), Fraction(2)), ring_rate(1, sympy.Integer(2), Fraction(1), bare=True)
    (1/12, 1/4)
    """
    s = sympy.Rational(values.numerator, values.denominator)
    return s / (s + 1) / c / sympy.root(s, n) if bare else s / (s + 2) / c / sympy.root(s + 1, n)
