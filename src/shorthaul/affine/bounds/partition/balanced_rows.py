"""The balanced form of the row-wise isoperimetric bound: what one part of a partition hands on, others take in.

The lemma and its proof are :data:`shorthaul.affine.proofs.lemmas.BALANCED`:
|P| + lambda (In(P) - Out(P)) <= B for all parts P
of a stencil in levels (see ``stencil``) with In(P) <= K. Every out-vertex whose successors are all in D is an in-vertex
of another part, and every source is one of some part. So over all parts the sum of Out is at most that of In, less the
sources, plus |F|, F the vertices of D with a successor not in D:  |D| + lambda (|sources| - |F|) <= parts times B.
"""

from __future__ import annotations

import sympy


def balanced_part(dimensions: int, constant: sympy.Expr, K: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """Return B and lambda of the lemma on balanced rows, for levels of so many dimensions.

    >>> balanced_part(1, sympy.Integer(2), sympy.Integer(12))
    (36, 2)
    """
    n, c = dimensions, constant
    rho = sympy.root(K / (2 ** (n + 1) - 1), n)
    edge = sympy.Integer(1) if n == 1 else sympy.Rational(n + 1, n)
    return sympy.Rational(2 * n, n + 1) / c * rho * K + edge * K, rho / c
