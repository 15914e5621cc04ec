"""The balanced form of the row-wise isoperimetric bound: what one part of a partition hands on, others take in.

Parts P of a stencil in levels (see ``stencil``), rows P_l with q_l = |P_l|, In(P) the vertices outside of P that P
reads, Out(P) the vertices of P with a successor outside of P, and |A + N| >= |A| + c |A|^((n-1)/n) for finite sets A of
a level. Every out-vertex whose successors are all in D is an in-vertex of another part, and every source is one of some
part. So over all parts sum Out <= sum In - |sources| + |F|, F the vertices of D with a successor not in D, and if

    |P| + lambda (In(P) - Out(P)) <= B   for all P with In(P) <= K,                                                 (2)

then |D| + lambda (|sources| - |F|) <= parts times B.

*On the line* (n = 1), (2) holds with lambda = K/(3c) - 1/2 and B = K^2/(3c) + K, for K >= 3c/2: with L rows, row l has
at most min(In - c l, Out - c (L - l)) points; these are summed.

*In n dimensions* (2) holds with rho = (K / (2^(n+1) - 1))^(1/n), lambda = rho / c and

    B = 2n / ((n+1) c) rho K + (1 + 1/n) K.

Proof. Let r = q_l^(1/n), d_l = c r^(n-1), k_l = max(0, 1 - c/r), I = In(P), O = Out(P).
(i) q_l + sum of d_j over j <= l is at most I: row j has at least q_j + d_j - q_(j-1) in-vertices.
(ii) q_l + sum of k_j d_j over j > l is at most O: if A vertices of row j - 1 are no out-vertices, their successors are
in row j, A + c A^((n-1)/n) <= q_j, hence q_j - A >= k_j d_j.

Go up the rows with X = I - sum of d_j so far, and m = O - (sum of all k_j d_j) + sum of k_j d_j so far, m >= 0 at the
start. For the next row q <= X and q <= m after it; with m = x^n before it, r^n - x^n <= c k r^(n-1). The claim is

    |P| + lambda (I - O) = sum over rows of (r/c - lambda k) d + lambda (I - m_start)
                        <= W(m_start, I) + lambda (I - m_start) + (1 + 1/n) sum d

with W >= 0: for m >= X, W = F(X) where c F(X) is the integral of v^(1/n) - rho from rho^n to X, 0 for X < rho^n. For
m < X and R^n = (m + X)/2, W = max(0, W0) if R >= rho and 0 otherwise, where c W0 is the sum of the integrals of
v^(1/n) - rho from m to R^n and from rho^n to R^n. W is continuous, and along a row (m grows by k dt, X falls by dt)

    r - rho k + c k W_m - c W_X <= (1 + 1/n) c                                                                     (3)

* m >= X: the left side is at most r - chi + rho min(1, c/r) with r <= chi = X^(1/n), or r - rho k where W = 0: at most
  c, for r + rho c/r is convex in r.
* W = W0: c W_m = R - x, c W_X = R - rho, so it is r - k x - (1 - k)(R - rho), at most c for r <= x (convex), and for
  r > x at most (r - x) + c x/r.
* W = 0 and m < X, where x <= rho: r - rho k, which is at most (r - x) + c x/r for r > x >= 0, at most c for r <= x.
* For r > x and u = x/r, (r - x) + c x/r <= c / (1 + u + ... + u^(n-1)) + c u <= (1 + 1/n) c.

The largest value of W(m, I) + lambda (I - m) over m is at R - m^(1/n) = rho, for I = K at m = rho^n, R = 2 rho; it
grows with I, and sum d <= I <= K. That is B.
"""

from __future__ import annotations

import sympy


def balanced_part(dimensions: int, constant: sympy.Expr, K: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr, sympy.Expr]:
    """Return B and lambda of inequality (2), and the least K / 2 for which they hold (1 or less: always).

    >>> balanced_part(1, sympy.Integer(2), sympy.Integer(12))
    (36, 3/2, 3/2)
    """
    n, c = dimensions, constant
    if n == 1:
        return K**2 / (3 * c) + K, K / (3 * c) - sympy.Rational(1, 2), 3 * c / 4
    rho = sympy.root(K / (2 ** (n + 1) - 1), n)
    most = sympy.Rational(2 * n, n + 1) / c * rho * K + sympy.Rational(n + 1, n) * K
    return most, rho / c, sympy.Integer(0)
