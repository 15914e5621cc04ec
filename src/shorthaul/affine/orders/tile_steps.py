"""Steps of a tiled order: statements executed together, with their loads, and the edge of tiles as a function of S."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import islpy as isl
import sympy

from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.orders.placement import Read
from shorthaul.affine.orders.tile_policy import Counts, Phase, Policy


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


@dataclass(frozen=True)
class Step:
    """One phase of the order: ``phase`` run by ``policy``, or statements in program order if there is no policy.

    Tiles in the coordinates of ``others`` load about as much for large sizes.
    """

    names: tuple[str, ...]
    phase: Phase | None
    policy: Policy | None
    rate: float
    counts: Counts
    reads: tuple[Read, ...]
    others: tuple[Step, ...] = ()

    @property
    def plain(self) -> Step:
        """The phase for all sizes: itself."""
        return self

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The edges in the formula."""
        return () if self.edge is None else (self.edge,)

    @cached_property
    def edge(self) -> Edge | None:
        """The edge of the tiles as a function of S."""
        if self.phase is None or self.policy is None:
            return None
        return edge_formula(sympy.Poly(self.phase.live(self.policy, Edge.SYMBOL), Edge.SYMBOL))

    @cached_property
    def uses_of(self) -> dict[str, float]:
        """How often values of every array that is an input, and of every statement, are used, where sizes are large."""
        result: dict[str, float] = {}
        for item in self.reads:
            key = item.source or f"input {item.array}"
            result[key] = result.get(key, 0) + self.counts.number((item.domain,))
        return result

    @cached_property
    def every_use(self) -> tuple[isl.Set, ...]:
        """Every instance, once for each value that it reads."""
        return tuple(item.domain for item in self.reads)

    def formula(self, names: Mapping[Edge, sympy.Symbol], context: isl.Set | None = None) -> sympy.Expr:
        """Return the loads with edges called ``names``; any name will do for edges that do not depend on S.

        With a ``context`` the formula is for parameters in it only.
        """
        count = partial(self.counts.formula, context=context)
        name = Edge.SYMBOL if self.edge is None else names.get(self.edge, Edge.SYMBOL)
        if self.phase is None or self.policy is None:
            return count(self.every_use)
        return sympy.expand(self.phase.loads(self.policy, name, count))

    def loads(self, sizes: Mapping[str, int], capacity: int) -> float:
        """Return the loads at ``sizes``: those of the policy, or those of keeping nothing where that is better.

        They are exact, as all loads and bytes of steps are, unless panels share rows: fractions, if averages are.
        """
        return self.loads_bytes(sizes, capacity, self.counts.words)

    def loads_bytes(self, sizes: Mapping[str, int], capacity: int, widths: Mapping[str, int]) -> float:
        """Return bytes that suffice at ``sizes``; ``widths`` are the bytes of one element by array."""
        count = self.counts.at(sizes)
        plain = sum(widths[item.array] * count((item.domain,)) for item in self.reads)
        if self.phase is None or self.policy is None:
            return plain
        edge = self.phase.edge(self.policy, capacity)
        if not edge:
            return plain
        tiles = self.phase.sizes(self.policy, edge)
        kept: float = 0
        for item, level in zip(self.phase.classes, self.policy.levels, strict=True):
            width = max(widths[use.read.array] for use in item.uses)
            kept += width * item.loads(self.policy.order, level, tiles, count)
        return min(plain, kept)


@dataclass(frozen=True)
class OfPhase(ABC):
    """What another order of a phase takes over from ``plain``, its order for all sizes."""

    plain: Step

    @property
    def names(self) -> tuple[str, ...]:
        """The statements."""
        return self.plain.names

    @property
    def phase(self) -> Phase | None:
        """The statements in their space."""
        return self.plain.phase

    @property
    def counts(self) -> Counts:
        """What counts its instances."""
        return self.plain.counts

    @property
    def uses_of(self) -> dict[str, float]:
        """How often values are used (see :class:`Step`)."""
        return self.plain.uses_of

    def loads(self, sizes: Mapping[str, int], capacity: int) -> float:
        """Return the loads at ``sizes``."""
        return self.loads_bytes(sizes, capacity, self.counts.words)

    @abstractmethod
    def loads_bytes(self, sizes: Mapping[str, int], capacity: int, widths: Mapping[str, int]) -> float:
        """Return bytes that suffice at ``sizes``; ``widths`` are the bytes of one element by array."""


class AtSizes(OfPhase):
    """An order of a phase that was searched at given sizes: neither its edges nor its loads are functions of S."""

    @property
    def edges(self) -> tuple[Edge, ...]:
        """No edge is a function of S."""
        return ()

    @property
    @abstractmethod
    def rate(self) -> float:
        """The loads at its sizes."""

    def formula(self, names: Mapping[Edge, sympy.Symbol]) -> sympy.Expr:  # noqa: ARG002
        """Return the loads at its sizes."""
        return sympy.Integer(int(self.rate))
