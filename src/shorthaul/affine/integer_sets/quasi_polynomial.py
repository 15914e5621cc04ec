"""Quasi-polynomials with rational coefficients: sums of products of variables and of floors of affine expressions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import sympy


@dataclass(frozen=True, slots=True, order=True)
class Floor:
    """The atom floor(sum of terms / divisor); ``terms`` are the terms of a polynomial, sorted."""

    terms: tuple[tuple[Monomial, Fraction], ...]
    divisor: int

    def inner(self) -> Polynomial:
        """Return what is divided."""
        return Polynomial(dict(self.terms))


#: A variable's name, or a floor.
Atom = Any
Monomial = tuple[tuple[Atom, int], ...]


class Polynomial:
    """A quasi-polynomial: coefficients by monomial, a monomial being sorted (atom, exponent) pairs."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Mapping[Monomial, Fraction]) -> None:
        self.terms = {monomial: factor for monomial, factor in terms.items() if factor}
        self._hash: int | None = None

    @staticmethod
    def number(value: int | Fraction) -> Polynomial:
        """Return a constant."""
        return Polynomial({(): Fraction(value)})

    @staticmethod
    def variable(name: str) -> Polynomial:
        """Return the variable ``name``."""
        return Polynomial({((name, 1),): Fraction(1)})

    @staticmethod
    def floor(inner: Polynomial, divisor: int) -> Polynomial:
        """Return the floor of inner / divisor, whole multiples of the divisor taken out; ``inner`` has integer values.

        >>> Polynomial.floor(Polynomial.variable("N").scaled(2).plus(Polynomial.number(5)), 2)
        N + 2
        """
        outside: dict[Monomial, Fraction] = {}
        inside: dict[Monomial, Fraction] = {}
        for monomial, factor in inner.terms.items():
            whole = Fraction(factor // divisor)
            outside[monomial] = whole
            inside[monomial] = factor - whole * divisor
        rest = Polynomial(inside)
        common = math.gcd(divisor, *(factor.numerator for monomial, factor in rest.terms.items() if monomial))
        if set(rest.terms) <= {()} or common == divisor:
            return Polynomial(outside)
        # floor((g x + c) / (g d)) = floor((x + floor(c / g)) / d)
        reduced = {m: (factor / common if m else Fraction(factor // common)) for m, factor in rest.terms.items()}
        terms = tuple(sorted(Polynomial(reduced).terms.items(), key=repr))
        atom = Floor(terms, divisor // common)
        return Polynomial(outside).plus(Polynomial({((atom, 1),): Fraction(1)}))

    def plus(self, other: Polynomial) -> Polynomial:
        """Return the sum."""
        result = dict(self.terms)
        for monomial, factor in other.terms.items():
            result[monomial] = result[monomial] + factor if monomial in result else factor
        return Polynomial(result)

    def scaled(self, factor: int | Fraction) -> Polynomial:
        """Return the product with a number."""
        return Polynomial({monomial: value * factor for monomial, value in self.terms.items()})

    def divided(self, divisor: int) -> Polynomial:
        """Return the quotient by a number."""
        return self.scaled(Fraction(1, divisor))

    def times(self, other: Polynomial) -> Polynomial:
        """Return the product."""
        result: dict[Monomial, Fraction] = {}
        for first, factor in self.terms.items():
            for second, value in other.terms.items():
                monomial = _product(first, second)
                known = result.get(monomial)
                result[monomial] = factor * value if known is None else known + factor * value
        return Polynomial(result)

    def power(self, exponent: int) -> Polynomial:
        """Return the power to a natural number."""
        result = self if exponent else Polynomial.number(1)
        for _ in range(exponent - 1):
            result = result.times(self)
        return result

    def substituted(self, values: Mapping[str, Polynomial]) -> Polynomial:
        """Return the polynomial with variables replaced, also inside floors."""
        result = Polynomial({})
        for monomial, factor in self.terms.items():
            term = Polynomial.number(factor)
            for atom, exponent in monomial:
                if isinstance(atom, Floor):
                    base = Polynomial.floor(atom.inner().substituted(values), atom.divisor)
                else:
                    base = values.get(atom) or Polynomial.variable(atom)
                term = term.times(base.power(exponent))
            result = result.plus(term)
        return result

    def renamed(self, names: Mapping[str, str]) -> Polynomial:
        """Return the polynomial with variables renamed."""
        return self.substituted({old: Polynomial.variable(new) for old, new in names.items()})

    def period(self, name: str) -> int:
        """Return the least common multiple of the divisors of the floors that depend on the variable ``name``."""
        result = 1
        for monomial in self.terms:
            for atom, _ in monomial:
                if isinstance(atom, Floor) and _depends(atom, name):
                    result = math.lcm(result, atom.divisor * atom.inner().period(name))
        return result

    def in_class(self, name: str, period: int, residue: int) -> Polynomial:
        """Return the polynomial with ``name`` replaced by ``period * name + residue``."""
        value = Polynomial.variable(name).scaled(period).plus(Polynomial.number(residue))
        return self.substituted({name: value})

    def by_power(self, name: str) -> dict[int, Polynomial]:
        """Return the coefficients of the powers of ``name``; it must not stand inside a floor."""
        result: dict[int, dict[Monomial, Fraction]] = {}
        for monomial, factor in self.terms.items():
            exponent = next((power for atom, power in monomial if atom == name), 0)
            rest = tuple(item for item in monomial if item[0] != name)
            if any(isinstance(atom, Floor) and _depends(atom, name) for atom, _ in rest):
                raise ArithmeticError(f"{name} stands inside a floor")
            result.setdefault(exponent, {})[rest] = factor
        return {exponent: Polynomial(terms) for exponent, terms in result.items()}

    def is_zero(self) -> bool:
        """True for the polynomial 0."""
        return not self.terms

    def at(self, sizes: Mapping[str, int]) -> Fraction:
        """Return the value when every variable has its size."""
        result = Fraction(0)
        for monomial, factor in self.terms.items():
            term = factor
            for atom, exponent in monomial:
                base = atom.inner().at(sizes) // atom.divisor if isinstance(atom, Floor) else sizes[atom]
                term *= base**exponent
            result += term
        return result

    def sympy(self) -> sympy.Expr:
        """Return the polynomial as a SymPy expression whose symbols are integers."""
        return sympy.Add(
            *(
                sympy.Mul(sympy.Rational(factor.numerator, factor.denominator), *(_sympy(a) ** e for a, e in monomial))
                for monomial, factor in self.terms.items()
            )
        )

    def without_floors(self) -> Polynomial:
        """Return an affine polynomial that is nowhere larger, if this one is affine with floors; else this one itself.

        >>> Polynomial.floor(Polynomial.variable("i"), 2).scaled(3).without_floors()
        3*i/2 - 3/2
        """
        if self.affine_text() is None:
            return self
        result = Polynomial({})
        for monomial, factor in self.terms.items():
            atom = monomial[0][0] if monomial else None
            if not isinstance(atom, Floor):
                result = result.plus(Polynomial({monomial: factor}))
                continue
            inner = atom.inner()
            if factor > 0:  # (x - d + 1) / d <= floor(x / d) <= x / d
                inner = inner.plus(Polynomial.number(1 - atom.divisor))
            result = result.plus(inner.divided(atom.divisor).scaled(factor).without_floors())
        return result

    def affine_text(self) -> tuple[str, int] | None:
        """Return the polynomial times a whole number in isl's notation, and that number; None if it is not affine.

        >>> Polynomial.variable("i").divided(3).plus(Polynomial.floor(Polynomial.variable("i"), 2)).affine_text()
        ('1*i + 3*floor((1*i)/2)', 3)
        """
        factor = math.lcm(*(value.denominator for value in self.terms.values()))
        parts = []
        for monomial, value in sorted(self.terms.items(), key=repr):
            if sum(exponent for _, exponent in monomial) > 1:
                return None
            scaled = int(value * factor)
            atom = monomial[0][0] if monomial else None
            if isinstance(atom, Floor):
                inner = atom.inner().affine_text()
                if inner is None or inner[1] != 1:
                    return None
                parts.append(f"{scaled}*floor(({inner[0]})/{atom.divisor})")
            else:
                parts.append(str(scaled) if atom is None else f"{scaled}*{atom}")
        return " + ".join(parts) or "0", factor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __repr__(self) -> str:
        return str(self.sympy())


def symbol(name: str) -> sympy.Symbol:
    """Return the SymPy symbol that stands for the parameter ``name`` in every formula: a positive integer."""
    return sympy.Symbol(name, integer=True, positive=True)


def number_at(value: sympy.Expr, sizes: Mapping[str, int]) -> float:
    """Return what a formula is worth at ``sizes``, all put in at once: one after the other, a Max compares symbols.

    >>> number_at(sympy.Max(0, symbol("N") ** 2 - symbol("S"), evaluate=False), {"N": 5, "S": 4})
    21.0
    """
    return float(_number_at(value, tuple(sizes.items())))


def amount_at(value: sympy.Expr, sizes: Mapping[str, int]) -> float:
    """Return what :func:`number_at` does, whole numbers without rounding.

    >>> amount_at(symbol("N") ** 2, {"N": 2**30 + 1})
    1152921506754330625
    """
    found = _number_at(value, tuple(sizes.items()))
    return int(found) if found.is_Integer else float(found)


@lru_cache(maxsize=4096)
def _number_at(value: sympy.Expr, sizes: tuple[tuple[str, int], ...]) -> sympy.Expr:
    """Return the number; more than half of them are asked for again, and each takes 2 ms."""
    found = value.xreplace({symbol(name): sympy.Integer(number) for name, number in sizes})
    return found if found.is_Integer else sympy.Float(float(found))


def _sympy(atom: Atom) -> sympy.Expr:
    if isinstance(atom, Floor):
        return sympy.floor(atom.inner().sympy() / atom.divisor)
    return symbol(atom)


def _depends(atom: Floor, name: str) -> bool:
    for monomial, _ in atom.terms:
        for inner, _ in monomial:
            if inner == name or (isinstance(inner, Floor) and _depends(inner, name)):
                return True
    return False


def _product(first: Monomial, second: Monomial) -> Monomial:
    if not first or not second:
        return first or second
    powers = dict(first)
    for atom, exponent in second:
        powers[atom] = powers.get(atom, 0) + exponent
    return tuple(sorted(powers.items(), key=lambda item: repr(item[0])))


def sum_between(weight: Polynomial, name: str, low: Polynomial, high: Polynomial) -> Polynomial:
    """Return the sum of ``weight`` for ``name`` from ``low`` to ``high``, which is right for high >= low - 1.

    >>> sum_between(Polynomial.variable("i"), "i", Polynomial.number(1), Polynomial.variable("N"))
    N**2/2 + N/2
    """
    before = low.plus(Polynomial.number(-1))
    result = Polynomial({})
    for exponent, factor in weight.by_power(name).items():
        for degree, coefficient in enumerate(_faulhaber(exponent)):
            if coefficient:
                difference = high.power(degree).plus(before.power(degree).scaled(-1))
                result = result.plus(factor.times(difference).scaled(coefficient))
    return result


@lru_cache(maxsize=64)
def _faulhaber(exponent: int) -> tuple[Fraction, ...]:
    """Return the coefficients, lowest degree first, of the polynomial F with F(n) - F(n - 1) = n^exponent, F(0) = 0."""
    coefficients = [Fraction(0)] * (exponent + 2)
    # F = (n^(e+1) - sum of the lower terms of n^(e+1) - (n-1)^(e+1)) / (e+1), taken from the top down
    rest = {exponent: Fraction(1)}
    for degree in range(exponent + 1, 0, -1):
        lead = rest.get(degree - 1, Fraction(0)) / degree
        coefficients[degree] = lead
        for lower in range(degree):
            term = lead * math.comb(degree, lower) * (-1) ** (degree - lower + 1)
            rest[lower] = rest.get(lower, Fraction(0)) - term
    return tuple(coefficients)
