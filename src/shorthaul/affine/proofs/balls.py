"""The lemma on balanced rows around balls: an inequality that is sharp for all balls leaves next to nothing of e K."""

from __future__ import annotations

from shorthaul.affine.proofs.lemmas import Lemma

BALLS = Lemma(
    "balanced rows around balls",
    """\
As in the lemma on balanced rows, n <= 3, c = n v^(1/n). For 0 <= R let beta(R) = v (R^n + b R^(n-2)), b = 0 if n = 1,
b <= 1/2 if n = 2 and b <= 3 if n = 3; let beta(R) = 0 for R < 0. For every finite non-empty set A of places let
  |A + N| >= beta(R + 1)  for the R >= 0 with beta(R) = |A|, or R = 0 if |A| < beta(0), 3 |A| will do if n = 2. (2)
Let L = n rho / c. Then that lemma holds with e K min(1, max(1 / (2 L), 6 - L)) in place of e K.
(2) holds for a set on the line, v = |N| - 1; for a box, b = 0 (Brunn and Minkowski, as above); for a pyramid of one
height over one of these, v of that one divided by n, b = 0 (see the proof), and for one of h heights over a set on the
line, v = h c'/2, b = 1/4 (see there too), as the cross in the plane, v = 2: |A + N| >= |A| + 2 sqrt(2 |A| - 1) + 2; for
the cross in space, v = 4/3, b = 17/8: with m = r + 1/2 a ball has (4 m^3 + 5 m)/3 places, and between two balls |A + N|
is no less than the line from one to the other (Bollobas and Leader 1991, Isoperimetric inequalities and fractional set
systems, J. Combin. Theory A 56; Wang and Wang 1977, Discrete isoperimetric problems, SIAM J. Appl. Math. 32, for balls
and below). With s = 4 (r + 1)^2 + 2, its length, beta(R + 1) lies above that line by s^2/8 times the largest of 288 (24
R^2 + 24 R - 17)/(24 R^2 + 17)^3 there at most, at the ball it is 7/6 or more below |A + N|, so it is below the line for
r >= 20; it is for 0 < r < 20, by numbers, and for 1, ..., 6 places |A + N| is at least 7, 12, 16, 19, 22, 24 (Wang and
Wang). For two fields coupled at their place (lemma on these) v = c on a line, and v = 4, b = 1/2 in the plane. Sets in
several cosets have it, as beta(R + 1) is subadditive.""",
    """\
Pyramids of one height: let a_1, a_2, ... be the slices of A, each led to the next by the place over the plane, g_i =
d_i + (sum over j > i of max(d_j, a_(j-1) - a_j)) >= a_i + d_i, |A + N| - |A| >= g_1, beta theirs, beta_0 that of the
base, a_i = beta_0(r), d_i = beta_0(r + 1) - a_i if a_i > 0, g_i = beta(R_i + 1) - beta(R_i), the integral of beta_0
from R_i to R_i + 1. The sum of a_j over j >= i is at most beta(R_i), which shows (2): g_i >= beta_0(r + 1); if i is the
last, R_i is no less than for g_i = beta_0(r + 1), and n = 2: (r + 1/2)^2 >= 2 r is enough. Else beta(R_i) -
beta(R_(i+1)) >= a_i is, where
g_(i+1) <= g_i - d_i and g_(i+1) >= beta_0(1); beta changes beta_0(R) / (beta_0(R + 1) - beta_0(R)) times as fast as
g, which grows for R >= 0, so while R >= 0 at beta_0(r), let g_i = beta_0(r + 1), g_(i+1) = beta_0(r). n = 2: R_i = r
+ 1/2, R_(i+1) = r - 1/2, and r is what is wanted; for r < 1/2 R_(i+1) >= 1/2 is more. n = 3: R_i = s(r + 1) - 1/2,
R_(i+1) = s(r) - 1/2, s(x)^2 = x^2 - 1/12, and to show is R_i^3 >= 3 r^2 + R_(i+1)^3, without the last term if i is
the last. Now (s(x) - 1/2)^3 = u(x) - 3 x^2/2, u(x)^2 = x^6 + 5 x^4/4 + x^2/3 - 1/27, so u(x) = x^3 + 5 x/8 - e(x)
with e(x) >= 0, and e(x) < 1/10 for x >= 1: R_i^3 - 3 r^2 >= r^3 - 3 r^2/2 + 5 r/8 + 1/40 > 0, and R_i^3 - R_(i+1)^3 -
3 r^2 >= 1/8 - 1/10 for r >= 3/5; for less, with g_(i+1) = beta_0(1) R_i^3 - R_(i+1)^3 >= 1/2 + 2 r >= 3 r^2.
Pyramids of h heights over a set on the line: in the proof of (1), for u >= v > 0, max(c', u - v) - c' v/a exceeds f(u)
- f(v) + (u - v) c'/(2a), by (c' - u + v)(1 - u/a + (u - v)/(2a)) if u - v <= c' and by (u - v - c')(u + v)/(2a) else,
and u = f(u) + u^2/(2a). So up to its first 0, behind u, a sequence gains (c' (a - u) + u^2)/(2a) >= c'/2 - c'^2/(8a)
more, and |A + N| - |A| >= h (a + c')/2 + (|A| - v/4) c'/a >= v + 2 sqrt(v (|A| - v/4)) by means, if |A| >= v/4; else
it is 2 sqrt(v |A|) >= 2 |A| or more, by (1).
Balanced rows, in units of v, so v = 1: let 5 <= L, for L <= 5 it is the lemma before. Let R_l be the R of row l, q_l <=
beta(R_l), d_l = beta(R_l + 1) - beta(R_l), d'_l = beta(R_l) - beta(R_l - 1), but q_l if R_l < 1, and 2 q_l / 3 if n = 2
too; d_l = 2 q_l if q_l < beta(0) and n = 2. As there, with (2) in place of (1), X_l := I - (sum of d_j over j <= l) >=
beta(R_l), or q_l if q_l < beta(0), and (as places A of a row whose successors are all in row l are beta(R_l - 1) at
most or, where R_l < 1, q_l / 3) m_l := m_0 + (sum of d'_j over j <= l) >= q_l, m_0 = O - (sum of all d'_j) >= 0. For x
>= 1 let s(x) = max(3/2, beta(x + 1/2) / beta'(x)), else 3/2; s grows. Let x(m) be the R of m. Let G' = s(x(m)), G(0) =
0. Then q_l <= G(m_l) - G(m_(l-1)): G is convex, so let m_l = q_l; for R < 1 it is clear as s >= 3/2, for R >= 2 the
integral of beta(x + 1/2) from R - 1 to R is beta(R) or more, between for n > 1 beta(R) >= 3 beta(R - 1), and n = 1 is
computed. Let D' = beta'(x + 1) / beta'(x) for x = x(m) >= 1, D(beta(1)) = beta(2), D' as at 1 below. D is concave, so
in the same way d_l >= D(m_l) - D(m_(l-1)); where R < 1 and n = 2, D' <= 2 is enough. Let s(w) = lambda = L/n, H(X) =
h(chi - 1) for X = beta(chi), h(x) the integral of (s - lambda) beta' from w to x, 0 for x <= w. H is convex, as s -
lambda and beta'(chi - 1) / beta'(chi) grow, so q_l - lambda d'_l <= H(X_(l-1)) - H(X_l), the left side being negative
where R_l < 1. Let p be the largest l with m_l <= X_l (X_0 = I). Then
  |P| + lambda (I - O) = (sum over l <= p of q_l + lambda d_l) + (sum over l > p of q_l - lambda d'_l) + lambda (X_p -
m_p) <= G(m_p) - G(m_0) + lambda (I - m_p) + H(X_p),  X_p + D(m_p) <= I + D(m_0).                                (3)
Let m_p = beta(x), X_p = beta(y + 1). x <= w: rows l <= p have q_l <= lambda d'_l, so all is at most lambda K + H(X_p).
If p is the last row, (3) holds without H. Else, x > w, row p + 1 has X_p < m_p + beta(R + 1) - beta(R - 1), R <= y, so
x - 1 <= y < x + 1. G - lambda m is h plus a constant, H is convex in X_p as h(x) is in D(m_p) = beta(x + 1), so at a
given sum they are largest for y = x - 1 or y = x; all of it grows with I: let it be K. There is R with
  beta(R) + beta(R + 1) = K + D(m_0),  |P| + lambda (I - O) <= h(R) + h(R - 1) + G - lambda beta(w) - G(m_0) + lambda K,
G at beta(w). (4) If there is no p, as m_0 > I, H(K) is enough, which is less, and so are lambda K + H(X_p) for x <= w
and (3) without H. While s = 3/2 at m_0, the right side of (4) grows with m_0 (L >= 5), so let D(m_0) = beta(z), z =
x(m_0) + 1; then G at beta(x) is F(x + 1/2), F(x) the integral of beta from 0 to x, up to a constant that drops out.
Let P = R + 1/2, M = (n + 1) (lambda beta(w) - F(w + 1/2)), and f be n + 1 times what (4) is more than 2n/(n + 1)
lambda K, the first term of B; K = (2^(n+1) - 1) L^n. To show is f <= (n + 1) e K / (2 L).
n = 1: f = 3/4 - (L - z)^2 / 2 <= 3.
n = 2: M <= L^3/2 - 3 L^2/2 + 3 L (1 + b)/2, 2 P^2 = 7 L^2 + z^2 - b - 1/2,
  f <= P (7 L^2 + z^2 + 6 L + 5b + 5/2) - z^3 - 3 L z^2/2 - 27 L^3/2 - 12 L^2 - 3 L/2.
P is at most (P0 + P^2/P0)/2 with P0 = (7 L + z)/4, so f <= ((z - L)^2 (z^2 - 52 L z - 21 L^2) + 6 L (z - L) (9 z + 7
L)) / (8 (7 L + z)) + 5 P - 3 L/2. As R >= z - 1, z <= 3 L: the quotient is at most 0.8 L, P <= 2.83 L, f <= 15.75 L.
n = 3: M <= L^4/3 - 2 L^3 + 3 L^2 + 2 b L^2/9, 2 P^3 <= 15 L^3 + z^3 as z <= 2 P, and z <= 2.67 L,
  f <= P (15 L^3 + z^3) - z^4 - 4 L z^3/3 - 89 L^4/3 + 8 L (P^2 - 4 L^2) + g,  g = P (b z - 8 L - 1) + (2 b + 9/2) P^2
- 2 b z^2 - 3 z^2/2 + 3 L^2 + 2 b L^2/9 + b (8 L - 4 L z)/3 + 14 L/3 + z/2 + 3 b/2 + 1. P is at most (2 P0 +
P^3/P0^2)/3 with P0 = (15 L + z)/8. So the terms of fourth order are at most - (z - L)^2 (1982 L^2 z^2 + 1905 L^3
z + 675 L^4) / (12 (15 L + z)^2), those of third order at most 37 L^2 (z - L) (35 L^2 + 50 L z + 43 z^2) / (4 (15
L + z)^2) for z > L and 0 else: together 4 L^2 at most; and g <= 28 L^2. So f <= 40 L^2.""",
)
