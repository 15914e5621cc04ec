"""Numbers that the lemmas on columns of a stencil give."""

from __future__ import annotations

from fractions import Fraction

import sympy


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
