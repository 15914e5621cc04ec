"""The lemma on the ends of lines: the last value of a line is an operand that has no word of its own."""

from __future__ import annotations

from shorthaul.affine.proofs.lemmas import Lemma

LINE_ENDS = Lemma(
    "ends of lines",
    """\
Let D have a chain phi and two broadcasts, or g pairs of broadcasts that each read one set of vertices, as in the
lemma on symmetric reads. Slices are the classes modulo the sum of the broadcasts' two kernels; phi is injective on
each, and two broadcasts that are no such pair have kernels that meet in 0 only. Let E be some sources of broadcasts,
and x -> y(x) a function on E with y(x) in D, where y(x) is x or is read by x, and no other vertex of a family is y(x)
if it is not x. Let the lines (classes of phi) of different y(x) differ, and let the line of y(x) have no instance in
the slice in which x is read and in later ones, for one order of the slices. Let L hold all y(x), and X all sources
but E. Let a stretch of a play with r events compute the instances P of D and the y(x) of w vertices x of E. For every
q >= 0, with gamma = 1/(g sqrt 2) for pairs and 1/2 else, K = S + r (K = r if fast memory is empty at first) and R =
sqrt(K + q^2) - q,
    |P| <= G + gamma q w,  G = gamma (2/3 R^3 + q R^2 + q^3/3).
So if there are W vertices in E, the play has at least (|D| - gamma q W) / G segments in place of |D| / U.""",
    """\
Where x and y(x) are computed by the stretch, the class that reads x has no cut. Else walk back from the instance past
x to y(x): the first vertex that the stretch does not compute is a cut. It is no cut of phi: if it is y(x), then y(x)
is a vertex of no other path. So with c lines in P, and u classes (for pairs: vertices) of broadcasts that have cuts, c
+ u <= K, and at most w have none; call these free. The y(x) of a free x is in P, so its line is one of the c, and w <=
c may be assumed, as these lines differ. In slice k let u_k and f_k be the numbers of both kinds. The lines of what is
free in slices up to k have no instance there, so P has at most c_k = c - (f of all slices up to k) instances in slice
k. It has at most as many as the two broadcasts have pairs of classes: with the inequality of the means |P_k| <= gamma
sqrt(c_k) (u_k + f_k), for g pairs by the mean over them. The sum over k of sqrt(c_k) f_k is at most the integral of
sqrt(c - t) for t from 0 to w, and c_k <= c, so
    |P| <= gamma (sqrt(c) (K - c) + 2/3 (c^(3/2) - (c - w)^(3/2))).
Less gamma q w this is largest over w at c - w = q^2, or at w = 0 if c <= q^2. Then for c >= q^2 it is gamma (K sqrt(c)
- c^(3/2)/3 - q c + q^3/3), whose largest value over all c >= 0 is at sqrt(c) = R, where it is G. At c <= q^2 it is
gamma (K - c) sqrt(c) at w = 0, which is less by gamma (q - sqrt(c))^2 (q + 2 sqrt(c))/3. The vertices x of all
segments are different, so |D| is at most G times the number of segments and gamma q W.""",
)
