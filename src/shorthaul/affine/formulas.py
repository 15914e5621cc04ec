"""Counts as formulas that hold for all parameter values."""

from __future__ import annotations

from fractions import Fraction

import sympy

from shorthaul.affine.counting import Cardinality, condition


def guarded(value: Cardinality) -> sympy.Expr:
    """Return the count as a formula that is 0 where the set is empty."""
    if not value.pieces:
        return sympy.Integer(0)
    if len(value.pieces) == 1 and value.pieces[0].where.plain_is_universe():
        return value.pieces[0].value.sympy()
    branches = [(piece.value.sympy(), condition(piece.where)) for piece in value.pieces]
    return sympy.Piecewise(*branches, (sympy.Integer(0), True))


def rational(value: Fraction) -> sympy.Rational:
    """Return a fraction as a SymPy number."""
    return sympy.Rational(value.numerator, value.denominator)
