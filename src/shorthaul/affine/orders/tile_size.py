"""The edge of tiles as a function of S: the largest b with P(b) <= S, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import sympy

from shorthaul.affine.integer_sets.leading_term import S


@dataclass(frozen=True)
class Edge:
    """b = floor((S / factor)^(1/degree) - less): no larger than the largest b with ``capacity``(b) <= S.

    A ``degree`` of 0 says that the memory needed does not depend on b.
    """

    SYMBOL: ClassVar[sympy.Symbol] = sympy.Symbol("b", positive=True)

    capacity: sympy.Poly
    degree: int
    factor: sympy.Rational
    less: sympy.Rational

    @property
    def formula(self) -> sympy.Expr:
        """B as a formula in S."""
        if not self.degree:
            return sympy.Integer(1)
        # Whole numbers stand outside: SymPy takes them out or leaves them, as its cache has it.
        whole = sympy.floor(self.less)
        return sympy.floor(sympy.root(S / self.factor, self.degree) - (self.less - whole)) - whole

    @property
    def leading(self) -> sympy.Expr:
        """B for S large."""
        return sympy.root(S / self.factor, self.degree) if self.degree else sympy.Integer(1)

    @property
    def least_capacity(self) -> sympy.Expr:
        """The least S for which b is at least 1 and everything fits."""
        if not self.degree:
            return self.capacity.eval(1)
        return sympy.ceiling(self.factor * (1 + self.less) ** self.degree)


def edge_formula(capacity: sympy.Poly) -> Edge:
    """Return b(S) for the capacity P(b), a polynomial with coefficients of at least 0.

    ``less`` is the smallest half-integer c with factor (b + c)^degree >= P(b) for all b >= 1, shown coefficient by
    coefficient in powers of b - 1.

    >>> edge_formula(sympy.Poly(Edge.SYMBOL**2 + Edge.SYMBOL + 2, Edge.SYMBOL)).formula
    floor(sqrt(S)) - 1
    """
    degree = capacity.degree()
    if degree < 1:
        return Edge(capacity, 0, sympy.Integer(1), sympy.Integer(0))
    b = Edge.SYMBOL
    factor = capacity.LC()
    shifted = sympy.Poly(capacity.as_expr().subs(b, b + 1), b)
    less = sympy.Integer(0)
    while True:
        room = sympy.Poly(factor * (b + 1 + less) ** degree, b) - shifted
        if all(value >= 0 for value in room.all_coeffs()):
            return Edge(capacity, degree, factor, less)
        less += sympy.Rational(1, 2)
