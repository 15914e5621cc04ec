"""The lemma on sums over two rows of one array (see ``lemmas``)."""

from __future__ import annotations

from shorthaul.affine.proofs.lemmas import Lemma

PAIRED_ROWS = Lemma(
    "sums over two rows of one array",
    """\
Let a sum have L terms, one at each of L positions, each but the first an operand of another one of its sum, and one
last term. Let two paths lead from every term to a source each, by vertices that are no terms: first by such as are on
paths of terms of one sum only, its own vertices, then by others, none of which is own of a sum and each of which
leads to one source only. Let sources be among the latter, in rows, with one for each position in a row, and let the
two of a term be of its position and of two rows, the same for all terms of a sum. Let at most w sums have the same
two rows, w = 1 or 2, and let there be D of them.
With any T >= 1 let
  U = max(w (3 T^2 + 2 S T + S^2) / (4 L^2), L^2 / w + w (S + T)^2 / (4 L^2)).
Then the loads of terms and of vertices on paths, beyond the first load of each input, are at least
T (ceil(D / U) - 1) - sources.""",
    """\
An event is a load of one of these vertices or the computation of a source that is no input. Cut the play after every
T events: with e events there are n stretches, (n - 1) T <= e. Take a stretch and the sums whose last terms it
computes. Go back from each by its terms and own vertices. Either one is found that the stretch does not compute, but
whose reader it computes: it was in memory when the stretch began or is loaded. Let q sums have one. Or all L terms
and all own vertices of the sum are computed. Let sums of this kind have the set M of rows, m of them: these sums are
among the w m (m - 1) / 2 of pairs of M. Every source of a row of M then has a vertex, none of a sum's own, that was
in memory when the stretch began or is loaded, or it is computed, an event; different ones have different vertices.
Let s rows of M be in the set of the stretch before. Let a be the number of sources of other rows of M of which a
vertex is in memory when the stretch begins, and b this number for the next stretch. Those b are of rows that are not
in M, and each has a vertex that was in memory when this stretch began or is loaded, or is an event.
  (1) L m + q + b <= S + T,    (2) L m <= L s + a + T.
All sums of the second kind are pairs of some M, and pairs of the s rows are pairs of two sets in turn: so these sums
are at most w / 2 times the sum over all stretches of m (m - 1) - s (s - 1) <= m^2 - s^2. With h = w / (2 L^2), x = L m
and y = L s a stretch gives G = h (x^2 - y^2) + q, where y >= max(0, x - a - T). This grows with x, so let x be
S + T - b - q. It is convex in q then, so largest at q = 0 or x = 0. Let H(z) = (S + T) z - z^2 / 2, no less than 0 for
0 <= z <= S. Now G <= U + h (H(a) - H(b)):
For x = 0, G + h H(b) = S + T - b + h H(b) <= 1 / (2 h) + h (S + T)^2 / 2 whatever b.
For q = 0, c = a + b <= S, x^2 - y^2 = (a + T) (2 S + T - a - 2 b) = T (2 S + T) + H(a) - H(b) + (S - T) c - c^2 / 2
- a b, and (S - T) c - c^2 / 2 <= (S - T)^2 / 2; together U' = (3 T^2 + 2 S T + S^2) / 2 + H(a) - H(b) at most.
For q = 0, c > S there is (c - S)^2 more, as y may be 0 only. As a b >= S (c - S), take (S - T) c - c^2 / 2 - S (c - S)
+ (c - S)^2: it falls up to c = 2 S, so it is at most its value at c = S, which is at most (S - T)^2 / 2 as before.
Memory is empty at first, so all stretches give at most n U + h (H(0) - H(b)) <= n U together, and D <= n U.""",
)
