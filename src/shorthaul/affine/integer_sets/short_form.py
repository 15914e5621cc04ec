"""A short form of a bound: no guards, no floors, for all sizes above printed thresholds.

Where every size is large enough, one branch of every piecewise count holds, up to the residues of the sizes. A floor is
its argument less a number between 0 and 1; so a count is a polynomial whose coefficients lie between two numbers. The
smallest ones give a lower bound that is a plain sum of monomials. It is a little below the full formula.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import islpy as isl
import sympy

from shorthaul.affine.effort import limited
from shorthaul.affine.integer_sets.leading_term import S, monomials
from shorthaul.affine.integer_sets.quasi_polynomial import number_at, symbol
from shorthaul.affine.tuning import (
    LARGEST_SHORT_FORM,
    MOST_BRANCHES,
    SHORT_FORM_APART,
    SHORT_FORM_BRANCHES,
    SHORT_FORM_OPERATIONS,
    SHORT_FORM_WINDOW,
)

_PARAM = isl.dim_type.param


@dataclass(frozen=True, slots=True)
class Simple:
    """``formula`` is a lower bound on the loads for all sizes and S for which the conditions ``where`` hold.

    They are those of the set ``region`` and the ``others``.
    """

    where: tuple[str, ...]
    formula: sympy.Expr
    region: isl.Set = field(repr=False, compare=False)
    others: tuple[sympy.Basic, ...] = field(default=(), repr=False, compare=False)

    def holds_at(self, sizes: Mapping[str, int]) -> bool:
        """Return whether the conditions hold at ``sizes`` (every parameter, and ``S``)."""
        region = self.region
        for at in range(region.dim(_PARAM)):
            region = region.fix_val(_PARAM, at, sizes[region.get_dim_name(_PARAM, at)])
        numbers = {symbol(name): value for name, value in sizes.items()}
        return not region.is_empty() and all(item.xreplace(numbers) == sympy.true for item in self.others)

    def text(self) -> str:
        """Return the bound as one line."""
        return f"for {' and '.join(self.where) or 'all sizes'}: {self.formula}"


class _UnknownFormError(Exception):
    """The formula has a form that is not known here."""


def simple_bound(formula: sympy.Expr, sizes: Mapping[str, int] | None = None) -> Simple | None:
    """Return the short form of a bound for large sizes, or for ones like ``sizes``; None where there is none.

    >>> N = sympy.Symbol("N", integer=True, positive=True)
    >>> simple_bound(sympy.Piecewise((N**2 - 4, N >= 3), (0, True)) + sympy.Max(0, N * sympy.floor(N / 2) - 5)).text()
    'for N >= 3: 3*N**2/2 - N/2 - 9'
    """
    nodes = islice(sympy.preorder_traversal(formula), LARGEST_SHORT_FORM + 1)
    if sum(1 for _ in nodes) > LARGEST_SHORT_FORM:
        return None
    names = sorted((item for item in formula.free_symbols if item != S), key=str)
    try:
        with limited(SHORT_FORM_OPERATIONS):
            form = _Form(names, sizes or {})
            value = form.least(form.plain(form.without_max(formula)))
            return Simple(form.conditions(), value, form.where, tuple(form.others))
    except (_UnknownFormError, isl.Error):
        return None


class _Form:
    """The conditions met so far, and the unknown numbers between 0 and their largest value that stand for floors."""

    def __init__(self, names: Sequence[sympy.Symbol], sizes: Mapping[str, int]) -> None:
        self.names = [*names, S]
        start = {name: SHORT_FORM_BRANCHES.size + SHORT_FORM_APART * at for at, name in enumerate(names)} | {
            S: SHORT_FORM_BRANCHES.fast_memory
        }
        start = {name: sizes.get(name.name, value) for name, value in start.items()}
        listed = ", ".join(map(str, self.names))
        limits = " and ".join(f"{name} >= 1" for name in self.names)
        window = " and ".join(f"{low} <= {name} <= {low + SHORT_FORM_WINDOW}" for name, low in start.items())
        self.prefix = f"[{listed}] -> {{ : "
        self.context = isl.Set.read_from_str(isl.DEFAULT_CONTEXT, f"{self.prefix}{limits} }}")
        self.window = isl.Set.read_from_str(isl.DEFAULT_CONTEXT, f"{self.prefix}{window} }}")
        self.where = self.context
        self.start = start
        self.others: dict[sympy.Basic, None] = {}
        self.unknown: dict[sympy.Symbol, sympy.Rational] = {}
        self.fixed: dict[sympy.Expr, sympy.Symbol] = {}

    def conditions(self) -> tuple[str, ...]:
        """Return the conditions as text, those on sizes first."""
        found = self.where.coalesce().gist(self.context)
        text = str(found)
        inner = text[text.index("{") + 1 : text.rindex("}")].strip().lstrip(":").strip()
        inner = re.sub(r"(?<=\d)(?=[A-Za-z_])", "*", inner)
        return (*(part for part in inner.split(" and ") if part), *map(str, self.others))

    def without_max(self, value: sympy.Expr) -> sympy.Expr:
        """Return the sum with every ``Max`` replaced by the argument that is largest for large sizes."""
        if isinstance(value, sympy.Max):
            return self.without_max(max(value.args, key=self._size))
        if isinstance(value, sympy.Add):
            return sympy.Add(*(self.without_max(item) for item in value.args))
        if isinstance(value, sympy.Mul) and value.has(sympy.Max):
            factor, rest = value.as_coeff_Mul()
            if not factor.is_positive or isinstance(rest, sympy.Mul):
                raise _UnknownFormError
            return factor * self.without_max(rest)
        if value.has(sympy.Max):
            raise _UnknownFormError
        return value

    def _size(self, value: sympy.Expr) -> float:
        return number_at(value, {item.name: number for item, number in self.start.items()})

    def plain(self, value: sympy.Expr) -> sympy.Expr:
        """Return the value with unknown numbers in place of floors, and the branches that hold for large sizes."""
        if isinstance(value, sympy.Piecewise):
            return self._branch(value)
        if isinstance(value, sympy.floor | sympy.ceiling):
            inner = self.plain(value.args[0])
            sign = -1 if isinstance(value, sympy.floor) else 1
            return inner + sign * self._new(_largest_part(value.args[0]))
        if isinstance(value, sympy.Pow) and value.base.has(sympy.floor) and not value.exp.is_nonnegative:
            raise _UnknownFormError  # it is divided by something known to within a part of one only
        if isinstance(value, sympy.Pow) and value.base.is_Add:
            divides = (
                value.exp.is_negative
                and value.base.is_polynomial()
                and all(item.is_positive for item in value.base.args)
            )
            if divides or value.base.free_symbols <= {S}:
                return self._fixed(value)
        if value.args:
            return value.func(*(self.plain(item) for item in value.args))
        return value

    def _fixed(self, value: sympy.Pow) -> sympy.Expr:
        """Return a symbol for a power of a positive sum."""
        if not all(term.is_positive for term in value.base.args):
            raise _UnknownFormError
        return self.fixed.setdefault(value, sympy.Dummy(positive=True))

    def _new(self, largest: sympy.Rational) -> sympy.Symbol:
        made = sympy.Dummy(nonnegative=True)
        self.unknown[made] = largest
        return made

    def _branch(self, item: sympy.Piecewise) -> sympy.Expr:
        """Return the value of the branches that hold in the window, coefficients between their extremes."""
        if len(item.args) > MOST_BRANCHES:
            raise _UnknownFormError
        irregular = [where for _, where in item.args if where.has(sympy.sqrt(S)) or where.has(sympy.ceiling)]
        if irregular:
            return self._irregular(item)
        rest = self.context
        chosen: list[tuple[sympy.Expr, isl.Set]] = []
        missed: list[tuple[sympy.Expr, isl.Set]] = []
        for value, where in item.args:
            held = rest.intersect(self._set(where))
            rest = rest.subtract(held)
            (missed if held.intersect(self.window).is_empty() else chosen).append((value, held))
        missed.append((sympy.Integer(0), rest))
        for _, region in missed:
            for basic in region.coalesce().get_basic_sets():
                self._exclude(basic)
        values = [self.plain(value) for value, _ in chosen]
        return values[0] if len(values) == 1 else self._between(values)

    def _irregular(self, item: sympy.Piecewise) -> sympy.Expr:
        """Return the first branch where its condition, which is no linear one, holds; the condition is printed."""
        value, where = item.args[0]
        if where.subs(self.start) != sympy.true:
            raise _UnknownFormError
        self.others[where] = None
        return self.plain(value)

    def _set(self, where: sympy.Basic) -> isl.Set:
        return isl.Set.read_from_str(isl.DEFAULT_CONTEXT, f"{self.prefix}{_linear_text(where)} }}")

    def _exclude(self, basic: isl.BasicSet) -> None:
        """Add the negation of a constraint that the whole window violates, so that ``basic`` is left out."""
        if self.where.intersect(isl.Set.from_basic_set(basic)).is_empty():
            return
        found = [half for item in basic.get_constraints() for half in self._negations(item)]
        if not found:
            raise _UnknownFormError
        self.where = self.where.intersect(min(found, key=lambda item: (item[0], str(item[1])))[1])

    def _negations(self, constraint: isl.Constraint) -> Iterator[tuple[int, isl.Set]]:
        """Yield (number of symbols, half space) for the sides of a constraint on which the window lies."""
        aff = constraint.get_aff()
        if aff.dim(isl.dim_type.div):
            return
        factors = {
            name: aff.get_coefficient_val(_PARAM, aff.get_space().find_dim_by_name(_PARAM, str(name))).to_python()
            for name in self.names
        }
        constant = aff.get_constant_val().to_python()
        ends = [
            constant
            + sum(f * (self.start[n] + (SHORT_FORM_WINDOW if (f > 0) == high else 0)) for n, f in factors.items())
            for high in (False, True)
        ]
        signs = [-1] if ends[1] < 0 else [1] if ends[0] > 0 and constraint.is_equality() else []
        used = sum(map(bool, factors.values()))
        for sign in signs:
            body = " + ".join(f"{sign * factor}*{name}" for name, factor in factors.items())
            text = f"{self.prefix}{body} + {sign * constant} >= 1 }}"
            yield used, isl.Set.read_from_str(isl.DEFAULT_CONTEXT, text)

    def _between(self, values: Iterable[sympy.Expr]) -> sympy.Expr:
        """Return a sum whose coefficients are unknown between the extremes of those of ``values``."""
        ranges = [self._coefficients(value) for value in values]
        terms = []
        for monomial in dict.fromkeys(key for item in ranges for key in item):
            pairs = [item.get(monomial, (sympy.Integer(0), sympy.Integer(0))) for item in ranges]
            low = min((pair[0] for pair in pairs), key=float)
            high = max((pair[1] for pair in pairs), key=float)
            terms.append((low + (high - low) * self._new(sympy.Integer(1))) * monomial)
        return sympy.Add(*terms)

    def _coefficients(self, value: sympy.Expr) -> dict[sympy.Expr, tuple[sympy.Expr, sympy.Expr]]:
        """Return for every monomial in the sizes and S between which numbers its coefficient is."""
        result: dict[sympy.Expr, tuple[sympy.Expr, sympy.Expr]] = {}
        sizes = {*self.names, *self.fixed.values()}
        for term in monomials(value):
            factor, monomial = term.as_independent(*sizes, as_Add=False)
            number, unknown = factor.as_independent(*self.unknown, as_Add=False)
            if monomial.is_Add or any(item.is_Add for item in monomial.args) or number.free_symbols:
                raise _UnknownFormError
            most = unknown.subs(self.unknown)
            ends = (number, number) if unknown == 1 else sorted((sympy.Integer(0), number * most), key=float)
            low, high = result.get(monomial, (sympy.Integer(0), sympy.Integer(0)))
            result[monomial] = (low + ends[0], high + ends[1])
        return result

    def least(self, value: sympy.Expr) -> sympy.Expr:
        """Return the sum with the smallest coefficients, what is over one denominator together."""
        back = {symbol: power for power, symbol in self.fixed.items()}
        groups: dict[sympy.Expr, list[sympy.Expr]] = {}
        for monomial, (low, _) in self._coefficients(value).items():
            plain, below = monomial.as_independent(*back, as_Add=False)
            groups.setdefault(below, []).append(low * plain)
        return sympy.Add(*(sympy.Add(*terms) * below.subs(back) for below, terms in groups.items()))


def _largest_part(inner: sympy.Expr) -> sympy.Rational:
    """Return the largest value of inner - floor(inner): below 1 where inner is an integer over a number."""
    _, below = sympy.fraction(sympy.together(inner))
    return sympy.Rational(below - 1, below) if below.is_Integer else sympy.Integer(1)


def _linear_text(where: sympy.Basic) -> str:
    """Return a condition in the words of isl."""
    if where in (sympy.true, sympy.false):
        return "0 = 0" if where == sympy.true else "0 = 1"
    if isinstance(where, sympy.And | sympy.Or):
        word = " and " if isinstance(where, sympy.And) else " or "
        return "(" + word.join(_linear_text(item) for item in where.args) + ")"
    signs = {
        sympy.GreaterThan: ">=", sympy.LessThan: "<=", sympy.StrictGreaterThan: ">", sympy.StrictLessThan: "<",
        sympy.Equality: "=", sympy.Unequality: "!=",
    }  # fmt: skip
    if type(where) not in signs:
        raise _UnknownFormError
    return f"{_affine_text(where.lhs - where.rhs)} {signs[type(where)]} 0"


def _affine_text(value: sympy.Expr) -> str:
    """Return an affine expression, floors included, times its common denominator."""
    terms = sympy.Add.make_args(sympy.expand(value))
    scale = sympy.ilcm(1, *(term.as_coeff_Mul()[0].q for term in terms))
    texts = []
    for term in terms:
        factor, rest = (term * scale).as_coeff_Mul()
        if isinstance(rest, sympy.floor):
            inner = rest.args[0]
            below = sympy.ilcm(1, *(item.as_coeff_Mul()[0].q for item in sympy.Add.make_args(inner)))
            texts.append(f"{factor}*floor(({_affine_text(inner * below)})/{below})")
        elif rest.is_Symbol or rest == 1:
            texts.append(f"{factor}*{rest}" if rest != 1 else f"{factor}")
        else:
            raise _UnknownFormError
    return " + ".join(texts)
