"""The lemma on rows that are read whole, and the number that it gives."""

from __future__ import annotations

import sympy

from shorthaul.affine.proofs.lemmas import Lemma

#: Kinds of lines where those of column x and step x are one; narrowing: W(c,t) <= W(b,c).
ONE_LINE = ("same", "narrowing")
WHOLE_ROWS = Lemma(
    "rows read whole",
    """\
Let instances D be at steps, columns and places, with W(c,t) >= w places in column c at step t, where it has any. A
column that has instances at two steps has some at all steps between, and each is an ancestor of all instances of its
column that are h steps later or more. Instances read a vertex of the line of their column, and one of the line of their
step: different ones at different places; lines of different columns are disjoint, those of different steps too. Let
W(c,t') <= W(c,t) + delta for |t' - t| <= h, and let an instance weigh min(W(c,t), M). An event is a load or the
computation of a vertex of a line. If a stretch with r events computes the instances P of D, K = S + r, then with
e = 1 + delta/w, m = 2 h M, q = w^2 and F(x) = (e x K + m)^2 / (4 e x) the set P weighs at most
  the larger one of e K^2 / 4 and m K, where no line of a column has a vertex of a line of a step;
  the larger one of F(q / max(q - 2K/3, q/3)) + 2 e h (2K/3)^2 / w and e (2/9 K^2 q / max(q - K, 2q/9) + 2 h K^2 / w)
  + m K / 3, where the lines of any column and any step have one vertex in common at most; but e (K^2 + 2 h K^2 / w) +
  m K in place of the second for 9 K >= 7 q;
  F(1) for K <= K0, and e K^2 / 2 + m K at least for others, where column x and step x have one line (place by place the
  same vertices), columns come after all their steps, or before, and there are no c, u, l with D at (c,u), (c,l) and
  (u,l), where a column passes at most g steps from l to u or back, (g + 2 - 2 h) v > K0 for some v that no
  W(c,x) is below for x >= min(u,l); and max(e K^2 / 4, m K) + m^2 / e there, where W(c,t) <= W(b,c) wherever D has
  (b,c) and (c,t).""",
    """\
Every vertex that P reads was in fast memory when the stretch began, is loaded, or is computed in it: at most K. Let
column c have alpha_c of these on its line, step t beta_t. Let P have column c from step s to t. All instances of c at
steps from s + h to t - h are in P, as they are descendants of one in P and ancestors of another: steps passed whole. At
these W <= alpha_c and W <= beta_u, so the column weighs at most alpha_c beta_u there. At each of the other steps, at
most 2 h, it has at most alpha_c and at most beta_u instances. If a step is passed whole, there is one at most h steps
from each other one, so an instance weighs at most W <= alpha_c + delta <= e alpha_c there, as alpha_c >= w; in all
the column weighs at most e alpha_c times the sum of beta_u over its steps. If none is, it weighs m alpha_c at most.
No common vertices: let columns of the first kind have A vertices on their lines in all, those of the second kind C,
and steps B: A + B + C <= K, and e A B + m C is linear in B and C, so at most e A (K - A) or m (K - A).
One common vertex of two lines: there are at most n = A / w columns of the first kind. Let beta'_u be beta_u without
vertices of their lines: beta_u <= beta'_u + n, and beta_u <= x beta'_u at steps passed whole by some, x = w / (w - n),
as beta_u >= w. With y = K - A, which the beta'_u add up to at most, and the second kind's vertices too, P weighs at
most e (K - y) (x y + 2 h n) + m y. If A <= 2K/3, then n <= 2K / (3w), x <= q / (q - 2K/3), so the first number. Else
y < K/3, so (K - y) y <= 2/9 K^2, x <= q / (q - K), n <= K/w: the second. In any case A, B, and the vertices of the
second kind are K at most each: the third.
One line: let v_x be the number of vertices of line x, alpha_x and beta_x at most; they add up to K at most. P weighs at
most e (sum of v_c v_u over pairs of a column of the first kind and a step of its) + m (sum of v_c over the others). For
two lines that are no such pair this is linear in what one has more and the other less, so it is largest where all lines
with v > 0 are pairs with one another (Motzkin and Straus). No three are: of c, u and l, in the order of columns and
steps, c would have instances at u and l, u at l. So D has them, and c passes more than g steps from one to the other;
all of them but h at either end are read whole, v or more vertices on (g + 2 - 2h) lines: more than K0 in all. So two
lines have it all: e (K - y) y + m y at most, which is F(1) or less. Without this, e K^2 / 2 + m K is always enough.
If W(c,t) <= W(b,c), let L be the columns of the second kind that none passes whole as a step; c in L weighs m v_c at
most. Any other column weighs e v_c v_t at most at its step t, one of the second kind too, as W(c,t) <= W(b,c) <= v_c
for a b that passes c whole; and at its steps L_c in L, which are not passed whole, 2 h at most, also m v_c in all. So
P weighs at most the sum of e v_c v_u over pairs outside of L, with min(e v(L_c), m) v_c for each c outside of L and m
v(L). For given v on L this is largest, as above, where of the others one pair c, u has it all; L_c and L_u have no
common line, as three would be pairs (a column of the second kind passes 2 h - 1 <= g steps from one to another at
most). With y and z of L_c and L_u, m / e each at most, and the rest r of L: e (v_c + z)(v_u + y) - e y z + m (y + z +
r), m (y + z) - e y z <= m^2 / e, so at most e (K - r)^2 / 4 + m r + m^2 / e, which is convex in r.""",
)


def most_weight(
    K: sympy.Expr, lines: str, parts: tuple[sympy.Expr, sympy.Expr, sympy.Expr, sympy.Expr], most: sympy.Expr
) -> sympy.Expr:
    """Return what the instances of a stretch weigh at most: ``parts`` are w, delta, h and M, ``most`` is K0.

    ``lines`` tells whether those of columns and steps are "apart", are "crossing", or are the "same", also "narrowing".

    >>> most_weight(sympy.Integer(100), "apart", (10, 0, 1, 10), sympy.Integer(0))
    2500
    """
    w, delta, h, M = map(sympy.sympify, parts)
    e, m, q = 1 + delta / w, 2 * h * M, w**2

    def product(x: sympy.Expr) -> sympy.Expr:
        return (e * x * K + m) ** 2 / (4 * e * x)

    def largest(*items: sympy.Expr) -> sympy.Expr:
        return sympy.Max(*items, evaluate=not K.free_symbols)

    def beyond(value: sympy.Expr) -> sympy.Expr:
        return sympy.Min(1, largest(0, value), evaluate=not K.free_symbols)

    if lines == "apart":
        return largest(e * K**2 / 4, m * K)
    if lines in ONE_LINE:
        pairs = product(sympy.Integer(1))
        if lines == "narrowing":
            pairs = sympy.Min(pairs, largest(e * K**2 / 4, m * K) + m**2 / e, evaluate=not K.free_symbols)
        return largest(pairs, beyond(K - most) * (e * K**2 / 2 + m * K))
    first = product(q / largest(q - 2 * K / 3, q / 3)) + 2 * e * h * (2 * K / 3) ** 2 / w
    always = beyond(9 * K - 7 * q + 1)
    second = e * (2 * K**2 * q / (9 * largest(q - K, 2 * q / 9)) + 2 * h * K**2 / w)
    return largest(first, second + m * K * (1 + 2 * always) / 3)
