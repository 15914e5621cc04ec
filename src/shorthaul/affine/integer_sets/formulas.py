"""Counts as formulas that hold for all parameter values."""

from __future__ import annotations

from fractions import Fraction

import sympy

from shorthaul.affine.integer_sets.counting import Cardinality


def guarded(value: Cardinality) -> sympy.Expr:
    """Return the count as a formula that is 0 where the set is empty."""
    return value.positive().expression()


def rational(value: Fraction) -> sympy.Rational:
    """Return a fraction as a SymPy number."""
    return sympy.Rational(value.numerator, value.denominator)
