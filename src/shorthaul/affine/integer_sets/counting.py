"""How many points a parametric integer set has, as a piecewise quasi-polynomial.

One dimension is summed after the other: isl gives the smallest and largest value of the innermost dimension
as piecewise affine functions of the others (``dim_min``, ``dim_max``), and the sum of a polynomial between the two is a
polynomial again (Faulhaber). Divisions are removed by splitting a dimension into its residue classes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import islpy as isl
import sympy

from shorthaul.affine.effort import limited, patiently, step
from shorthaul.affine.integer_sets.quasi_polynomial import Polynomial, sum_between
from shorthaul.affine.tuning import (
    CHEAP_STEP,
    COUNT_OPERATIONS,
    LARGEST_PERIOD,
    LEAST_LARGE,
    MOST_CONTRIBUTIONS,
    MOST_COUNT_PIECES,
    MOST_PRINTED_PIECES,
    WIDEST_COMPARED,
)
from shorthaul.core.arguments import public
from shorthaul.core.errors import InputError

_PARAM, _SET, _DIV = isl.dim_type.param, isl.dim_type.set, isl.dim_type.div


class LongFormulaError(isl.Error):  # type: ignore[misc]
    """A count has more pieces than a formula that anybody reads."""


@dataclass(frozen=True, slots=True)
class Piece:
    """``value`` on the parameter set ``where``."""

    where: isl.Set
    value: Polynomial


@dataclass(frozen=True, slots=True)
class Cardinality:
    """A piecewise quasi-polynomial: the value of the piece that holds the parameters, 0 outside of all pieces.

    The pieces are disjoint, unless taking them apart would have cost isl too much: then those that hold add up.
    """

    pieces: tuple[Piece, ...]
    disjoint: bool = True

    def at(self, sizes: Mapping[str, int]) -> int:
        """Return the value for the parameters ``sizes``, which has to be an integer."""
        value = self.weight_at(sizes)
        if value.denominator != 1:
            raise ArithmeticError(f"a count that is no integer: {value}")
        return int(value)

    def weight_at(self, sizes: Mapping[str, int]) -> Fraction:
        """Return the value for the parameters ``sizes``: a fraction where the weights summed are fractions."""
        return sum((piece.value.at(sizes) for piece in self.pieces if _holds(piece.where, sizes)), Fraction(0))

    def expression(self) -> sympy.Expr:
        """Return the formula: a ``Piecewise`` that is 0 elsewhere, unless one piece holds everywhere.

        Raises :class:`LongFormulaError` for too many pieces.
        """
        if len(self.pieces) > MOST_PRINTED_PIECES:
            raise LongFormulaError(f"a count in {len(self.pieces)} pieces")
        step(len(self.pieces))
        if not self.pieces:
            return sympy.Integer(0)
        if len(self.pieces) == 1 and self.pieces[0].where.plain_is_universe():
            return self.pieces[0].value.sympy()
        branches = [(piece.value.sympy(), condition(piece.where)) for piece in self.pieces]
        if not self.disjoint:
            return sympy.Add(*(sympy.Piecewise(branch, (sympy.Integer(0), True)) for branch in branches))
        return sympy.Piecewise(*branches, (sympy.Integer(0), True))

    def positive(self) -> Cardinality:
        """Return the same function for parameters from 1 on, in as few pieces as the polynomials allow.

        A polynomial that happens to be right on a neighbouring piece takes it over: N (N - 1) / 2 is 0 at N = 1 too.

        >>> card(isl.Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < i }")).positive().pieces[0].where
        Set("[N] -> {  :  }")
        """
        if not self.disjoint or len(self.pieces) > MOST_COUNT_PIECES:
            return self
        try:
            with limited(COUNT_OPERATIONS):
                return Cardinality(self._joined())
        except isl.Error:
            return self

    def _joined(self) -> tuple[Piece, ...]:
        names = sorted({name for piece in self.pieces for name in piece.where.get_var_names(_PARAM)})
        box = at_least(names, 1)
        kept = [Piece(piece.where.intersect(box), piece.value) for piece in self.pieces]
        kept = [piece for piece in kept if not piece.where.is_empty()]
        rest = box
        for piece in kept:
            rest = rest.subtract(piece.where)
        kept.sort(key=lambda piece: len(piece.where.get_basic_sets()[0].get_constraints()))
        zero = Polynomial({})
        todo = [Piece(isl.Set.from_basic_set(item), zero) for item in rest.make_disjoint().get_basic_sets()]
        result: list[Piece] = []
        for piece in [*kept, *todo]:
            step(CHEAP_STEP)
            same = next((at for at, known in enumerate(result) if _agree(piece, known.value)), None)
            if same is not None:
                result[same] = Piece(result[same].where.union(piece.where).coalesce(), result[same].value)
            elif not piece.value.is_zero():
                result.append(piece)
        return tuple(Piece(piece.where.coalesce().gist(box), piece.value) for piece in result)

    def within(self, context: isl.Set) -> Cardinality:
        """Return the same function for parameters in ``context`` only, pieces of other parameters left out.

        >>> card(isl.Set("[N, c] -> { S[i, j] : 0 <= i < N and i <= j < N and j < i + c }")).positive().within(
        ...     isl.Set("[N, c] -> { : 1 <= c <= N }")
        ... ).expression()
        N*c - c**2/2 + c/2
        """
        kept = [piece for piece in self.pieces if not piece.where.intersect(context).is_empty()]
        return Cardinality(tuple(Piece(piece.where.gist(context), piece.value) for piece in kept), self.disjoint)

    def large(self, least: int = LEAST_LARGE) -> sympy.Expr:
        """Return the formula that holds where every parameter is large (from ``least`` on).

        Where that still leaves several pieces (``N < M`` and ``N >= M``) the result is a ``Piecewise`` of these.
        """
        kept = []
        for piece in self.pieces:
            box = at_least(piece.where.get_var_names(_PARAM), least)
            if not piece.where.intersect(box).is_empty():
                kept.append(Piece(piece.where.gist(box), piece.value))
        return Cardinality(tuple(kept), self.disjoint).expression()


def count_formula(value: Cardinality) -> sympy.Expr:
    """Return the count as a formula for all parameter values: 0 where the set is empty.

    Raises :class:`LongFormulaError` for too many pieces.
    """
    return value.positive().expression()


def most_formula(points: isl.Set, context: isl.Set) -> sympy.Expr:
    """Return a formula for the number of points, or for that of a set around them where theirs is too long.

    >>> most_formula(isl.Set("[N] -> { A[i, j] : 0 <= j < i < N }"), isl.Set("[N] -> { : N >= 1 }"))
    N**2/2 - N/2
    """
    try:
        return count_formula(card(points, context, most=MOST_CONTRIBUTIONS))
    except LongFormulaError:
        return count_formula(card(points.remove_divs(), context, most=MOST_CONTRIBUTIONS))


def at_least(names: Sequence[str], least: int) -> isl.Set:
    """Return the parameters that are all ``least`` or more."""
    bounds = " and ".join(f"{name} >= {least}" for name in names) or "0 = 0"
    return isl.Set.read_from_str(isl.DEFAULT_CONTEXT, f"[{', '.join(names)}] -> {{ : {bounds} }}")


def rational(value: Fraction) -> sympy.Rational:
    """Return a fraction as a SymPy number."""
    return sympy.Rational(value.numerator, value.denominator)


@public
def card(points: isl.Set, context: isl.Set | None = None, most: int | None = None) -> Cardinality:
    """Return the number of points of ``points`` as a function of its parameters.

    ``context`` (a parameter set) restricts the parameters that matter.

    Parameters
    ----------
    points : isl.Set
        The set, with its parameters.
    context : isl.Set | None
        The parameters that matter, as a parameter set; None: all.
    most : int | None
        Sums over pieces of the set after which the count is given up; None: any number.

    Returns
    -------
    Cardinality
        Pieces of quasi-polynomials; ``positive().expression()`` is the one for large parameters.

    Raises
    ------
    ArithmeticError
        If the set is infinite.
    LongFormulaError
        If there are more than ``most`` sums.

    Examples
    --------
    >>> triangle = isl.Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < i }")
    >>> card(triangle).positive().expression()
    N**2/2 - N/2
    """
    return total(_without_fixed(points), Polynomial.number(1), context, most)


def counts_along(relation: isl.Map, first: int, count: int) -> list[int]:
    """Return how many elements of the domain go to each of ``count`` numbers from ``first`` on; no parameters.

    >>> counts_along(isl.Map("{ S[i, j] -> [i] : 0 <= j <= i < 3 }"), 0, 4)
    [1, 2, 3, 0]
    """
    apart = relation.move_dims(_PARAM, 0, isl.dim_type.out, 0, 1).domain().set_dim_name(_PARAM, 0, "place")
    found = card(apart)
    return [found.at({"place": first + at}) for at in range(count)]


def _without_fixed(points: isl.Set) -> isl.Set:
    """Return the set without the dimensions that are affine functions of the parameters: they count once."""
    equal = points.affine_hull().detect_equalities()
    for at in range(points.dim(_SET) - 1, -1, -1):
        for constraint in equal.get_constraints():
            if not constraint.is_equality() or constraint.get_aff().dim(_DIV):
                continue
            factors = [constraint.get_coefficient_val(_SET, k).to_python() for k in range(equal.dim(_SET))]
            if abs(factors[at]) == 1 and sum(map(abs, factors)) == 1:
                points, equal = points.project_out(_SET, at, 1), equal.project_out(_SET, at, 1)
                break
    return points


class _Contributions(list[Piece]):
    """The pieces of a sum; :class:`LongFormulaError` if they become more than ``most``."""

    def __init__(self, most: int | None) -> None:
        super().__init__()
        self.most = most

    def append(self, item: Piece) -> None:
        """Add a piece."""
        super().append(item)
        if self.most is not None and len(self) > self.most:
            raise LongFormulaError(f"a count of more than {self.most} sums")


def total(points: isl.Set, weight: Polynomial, context: isl.Set | None = None, most: int | None = None) -> Cardinality:
    """Return the sum of ``weight`` (a polynomial in the parameters and the names of the set's dimensions).

    Dimensions are named x0, x1, ... in ``weight``, whatever they are called in the set. After ``most`` sums over pieces
    of the set it raises :class:`LongFormulaError`.
    """
    if context is not None:
        points = points.intersect_params(context)
    dimensions = points.dim(_SET)
    names = [f"x{position}'" for position in range(dimensions)]
    renamed = weight.renamed({f"x{position}": name for position, name in enumerate(names)})
    flat = points.reset_tuple_id()
    for position, name in enumerate(names):
        flat = flat.set_dim_name(_SET, position, name)
    contributions = _Contributions(most)
    _sum(flat, renamed, names, contributions)
    try:
        with limited(COUNT_OPERATIONS):
            return Cardinality(_combined(contributions, context))
    except isl.Error:
        return Cardinality(tuple(contributions), disjoint=False)


def _sum(points: isl.Set, weight: Polynomial, names: Sequence[str], found: list[Piece]) -> None:
    """Add what ``points`` contributes to ``found``, innermost dimension first."""
    if points.is_empty() or weight.is_zero():
        return
    if not names:
        found.append(Piece(points.params(), weight))
        return
    for basic in patiently(lambda: points.compute_divs().make_disjoint()).get_basic_sets():
        step(CHEAP_STEP)
        _sum_innermost(isl.Set.from_basic_set(basic), weight, names, found)


def _sum_innermost(points: isl.Set, weight: Polynomial, names: Sequence[str], found: list[Piece]) -> None:
    last = len(names) - 1
    others = points.move_dims(_PARAM, points.dim(_PARAM), _SET, 0, last) if last else points
    period = math.lcm(_period(others), weight.period(names[last]))
    if period > 1 and (weight.period(names[last]) > 1 or _has_holes(others)):
        for residue in _residues(others, period):
            part = _residue_class(others, period, residue)
            if not part.is_empty():
                _between(part, weight.in_class(names[last], period, residue), names, found)
    else:
        _between(others, weight, names, found)


def _between(others: isl.Set, weight: Polynomial, names: Sequence[str], found: list[Piece]) -> None:
    """Sum over the one dimension of ``others``, whose values have no holes; the outer ones are parameters there."""
    if not (others.dim_has_lower_bound(_SET, 0) and others.dim_has_upper_bound(_SET, 0)):
        raise ArithmeticError(f"the set is infinite: {others}")
    last = len(names) - 1
    high_pieces = others.dim_max(0).get_pieces()
    for low_where, low in others.dim_min(0).get_pieces():
        for high_where, high in high_pieces:
            step(CHEAP_STEP)
            where = low_where.params().intersect(high_where.params()).coalesce()
            if where.is_empty():
                continue
            value = sum_between(weight, names[last], _polynomial(low), _polynomial(high))
            outer = isl.Set.from_params(where)
            for position, name in enumerate(names[:last]):
                at = outer.find_dim_by_name(_PARAM, name)
                outer = outer.move_dims(_SET, position, _PARAM, at, 1)
            _sum(outer, value, names[:last], found)


def _period(points: isl.Set) -> int:
    """Return the least common multiple of the denominators of the divisions that involve the one dimension."""
    result = 1
    for basic in points.get_basic_sets():
        local = basic.get_local_space()
        for position in range(basic.dim(_DIV)):
            div = local.get_div(position)
            if div.involves_dims(isl.dim_type.in_, 0, 1) or div.dim(_DIV):
                result = math.lcm(result, div.get_denominator_val().to_python())
    return result


def _has_holes(points: isl.Set) -> bool:
    """True if the one dimension leaves out values between its smallest and its largest one."""
    low, high = points.dim_min(0), points.dim_max(0)
    space = isl.Set.universe(points.get_space())
    value = isl.PwAff.var_on_domain(isl.LocalSpace.from_space(space.get_space()), _SET, 0)
    at_least = low.insert_domain(space.get_space())
    at_most = high.insert_domain(space.get_space())
    filled = value.ge_set(at_least).intersect(value.le_set(at_most))
    return not filled.is_subset(points)


def _residues(points: isl.Set, period: int) -> range:
    """Return a range that holds the remainders modulo ``period`` of the one dimension's values."""
    remainder = isl.Map.read_from_str(isl.DEFAULT_CONTEXT, f"{{ [x] -> [r] : r = x mod {period} }}")
    found = points.reset_tuple_id().apply(remainder)
    low, high = found.dim_min_val(0).to_python(), found.dim_max_val(0).to_python()
    if high - low >= LARGEST_PERIOD:
        raise InputError(
            "loops or subscripts have a pattern that repeats too late to be counted",
            value=period,
            allowed=f"periods up to {LARGEST_PERIOD}",
            cure="use smaller steps, divisors and factors in subscripts",
        )
    return range(low, high + 1)


def _residue_class(points: isl.Set, period: int, residue: int) -> isl.Set:
    """Return the values q with ``period * q + residue`` in ``points``."""
    stretch = isl.Map.read_from_str(isl.DEFAULT_CONTEXT, f"{{ [x] -> [q] : x = {period}q + {residue} }}")
    return points.reset_tuple_id().apply(stretch).compute_divs().coalesce()


def _polynomial(value: isl.Aff) -> Polynomial:
    """Return an affine expression of the parameters, divisions included, as a polynomial."""
    denominator = value.get_denominator_val().to_python()
    result = Polynomial.number(value.get_constant_val().mul(isl.Val(str(denominator))).to_python())
    for position in range(value.dim(_PARAM)):
        factor = value.get_coefficient_val(_PARAM, position).mul(isl.Val(str(denominator))).to_python()
        if factor:
            result = result.plus(Polynomial.variable(value.get_dim_name(_PARAM, position)).scaled(factor))
    for position in range(value.dim(_DIV)):
        factor = value.get_coefficient_val(_DIV, position).mul(isl.Val(str(denominator))).to_python()
        if factor:
            div = value.get_div(position)
            width = div.get_denominator_val().to_python()
            inner = _polynomial(div.scale_val(isl.Val(str(width))))
            result = result.plus(Polynomial.floor(inner, width).scaled(factor))
    return result.divided(denominator)


def _combined(contributions: Sequence[Piece], context: isl.Set | None) -> tuple[Piece, ...]:
    """Return disjoint pieces whose value is the sum of all contributions that hold there."""
    merged: list[Piece] = []
    for item in contributions:
        same = next((at for at, known in enumerate(merged) if known.where.is_equal(item.where)), None)
        if same is None:
            merged.append(item)
        else:
            merged[same] = Piece(item.where, merged[same].value.plus(item.value))
    chambers: list[Piece] = []
    for item in merged:
        step(CHEAP_STEP)
        rest = item.where
        split: list[Piece] = []
        for chamber in chambers:
            both = chamber.where.intersect(item.where)
            if both.is_empty():
                split.append(chamber)
                continue
            split.append(Piece(both, chamber.value.plus(item.value)))
            without = chamber.where.subtract(item.where)
            if not without.is_empty():
                split.append(Piece(without, chamber.value))
            rest = rest.subtract(chamber.where)
        if not rest.is_empty():
            split.append(Piece(rest, item.value))
        chambers = split
    return tuple(_merged(chambers, context))


def _merged(chambers: Sequence[Piece], context: isl.Set | None) -> list[Piece]:
    """Join chambers of the same value and drop the zeros."""
    result: list[Piece] = []
    for chamber in chambers:
        if chamber.value.is_zero():
            continue
        same = next((at for at, known in enumerate(result) if known.value == chamber.value), None)
        if same is None:
            result.append(chamber)
        else:
            result[same] = Piece(result[same].where.union(chamber.where), chamber.value)
    tidy = [Piece(piece.where.coalesce(), piece.value) for piece in result]
    if context is not None:
        tidy = [Piece(piece.where.gist(context), piece.value) for piece in tidy]
    return tidy


def _agree(piece: Piece, other: Polynomial) -> bool:
    """True if ``other`` has the value of ``piece`` on all of its set, as far as substitution can tell."""
    difference = piece.value.plus(other.scaled(-1))
    return all(
        _vanishes(difference, isl.Set.from_basic_set(basic), piece.where.get_var_names(_PARAM))
        for basic in piece.where.get_basic_sets()
    )


def _vanishes(value: Polynomial, where: isl.Set, names: Sequence[str]) -> bool:
    if value.is_zero() or where.is_empty():
        return True
    for constraint in where.affine_hull().get_constraints():
        aff = constraint.get_aff()
        for name in names:
            at = where.find_dim_by_name(_PARAM, name)
            factor = aff.get_coefficient_val(_PARAM, at).to_python()
            if abs(factor) == 1 and not aff.dim(_DIV):
                # factor * name + rest = 0
                rest = _polynomial(aff).plus(Polynomial.variable(name).scaled(-factor)).scaled(-factor)
                reduced = value.substituted({name: rest})
                if reduced.is_zero():
                    return True
    for name in names:
        at = where.find_dim_by_name(_PARAM, name)
        line = _only(where, at)
        low, high = line.dim_min_val(0), line.dim_max_val(0)
        if low.is_int() and high.is_int() and high.to_python() - low.to_python() < WIDEST_COMPARED:
            rest_names = [item for item in names if item != name]
            return all(
                _vanishes(
                    value.substituted({name: Polynomial.number(number)}),
                    where.fix_val(_PARAM, at, isl.Val(number)),
                    rest_names,
                )
                for number in range(low.to_python(), high.to_python() + 1)
            )
    return False


def _only(where: isl.Set, at: int) -> isl.Set:
    """Return the values of one parameter as a set of one dimension."""
    line = isl.Set.from_params(where) if where.is_params() else where
    line = line.move_dims(_SET, 0, _PARAM, at, 1)
    return line.project_out(_PARAM, 0, line.dim(_PARAM))


def _holds(where: isl.Set, sizes: Mapping[str, int]) -> bool:
    for name in where.get_var_names(_PARAM):
        at = where.find_dim_by_name(_PARAM, name)
        if name in sizes:
            where = where.fix_val(_PARAM, at, isl.Val(sizes[name]))
    return not where.is_empty()


def condition(where: isl.Set) -> Any:
    """Return a parameter set as a SymPy condition."""
    branches = []
    for basic in where.compute_divs().get_basic_sets():
        parts = []
        for constraint in basic.get_constraints():
            value = _polynomial(constraint.get_aff()).sympy()
            parts.append(sympy.Eq(value, 0) if constraint.is_equality() else value >= 0)
        branches.append(sympy.And(*parts))
    return sympy.Or(*branches)
