"""Polynomials in names, as places of elements in flattened arrays are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from fractions import Fraction
from itertools import product
from math import lcm
from typing import Any

from pycparser import c_ast

#: Factors by products of names in ascending order; () is the constant.
Polynomial = dict[tuple[str, ...], Fraction]


def number(value: Fraction | int) -> Polynomial:
    """Return a constant."""
    return {(): Fraction(value)} if value else {}


def times(polynomial: Polynomial, factor: Fraction | int) -> Polynomial:
    """Return a multiple."""
    return {key: value * factor for key, value in polynomial.items() if factor}


def plus(one: Polynomial, other: Polynomial, sign: int = 1) -> Polynomial:
    """Return ``one + sign * other``."""
    made = dict(one)
    for key, value in other.items():
        made[key] = made.get(key, Fraction(0)) + sign * value
    return {key: value for key, value in made.items() if value}


def product_of(one: Polynomial, other: Polynomial) -> Polynomial:
    """Return a product."""
    made: Polynomial = {}
    for (left, first), (right, second) in product(one.items(), other.items()):
        key = tuple(sorted(left + right))
        made[key] = made.get(key, Fraction(0)) + first * second
    return {key: value for key, value in made.items() if value}


def atoms(polynomial: Iterable[tuple[str, ...]]) -> set[str]:
    """Return the names in it."""
    return {name for key in polynomial for name in key}


def with_value(polynomial: Polynomial, name: str, value: Polynomial) -> Polynomial:
    """Return the polynomial with ``value`` in place of ``name``."""
    made: Polynomial = {}
    for key, factor in polynomial.items():
        term = {tuple(each for each in key if each != name): factor}
        for _ in range(key.count(name)):
            term = product_of(term, value)
        made = plus(made, term)
    return made


def by_powers(polynomial: Polynomial, name: str) -> list[Polynomial]:
    """Return the factors of the powers of ``name``, from 0 on."""
    made: list[Polynomial] = [{} for _ in range(1 + max((key.count(name) for key in polynomial), default=0))]
    for key, factor in polynomial.items():
        made[key.count(name)][tuple(each for each in key if each != name)] = factor
    return made


def in_c(polynomial: Polynomial, counters: Set[str], known: Mapping[str, Any]) -> Any:
    """Return the polynomial, whose values are integers, as an expression of C, sums as factors of single ``counters``.

    ``known`` are names that stand for expressions.
    """
    below = lcm(*(factor.denominator for factor in polynomial.values()))
    made: Any = None
    rest = times(polynomial, below)
    for name in sorted(atoms(rest) & counters):
        inner = {key: factor for key, factor in rest.items() if counters & {*key} == {name} and key.count(name) == 1}
        common = [name, *sorted(each for each in atoms(inner) - {name} if all(each in key for key in inner))]
        if len(inner) > 1:
            rest = {key: factor for key, factor in rest.items() if key not in inner}
            others = {tuple(each for each in key if each not in common): factor for key, factor in inner.items()}
            term = _sum(others, known, None)
            for each in common:
                term = c_ast.BinaryOp("*", known.get(each, c_ast.ID(each)), term)
            made = term if made is None else c_ast.BinaryOp("+", made, term)
    made = _sum(rest, known, made)
    return made if below == 1 else c_ast.BinaryOp("/", made, c_ast.Constant("int", str(below)))


def _sum(polynomial: Polynomial, known: Mapping[str, Any], made: Any) -> Any:
    """Return ``made``, which may be None, and the terms of a polynomial of integers."""
    for key, factor in sorted(polynomial.items(), key=lambda item: (item[1] < 0, -len(item[0]), item[0])):
        term: Any = None if abs(factor) == 1 and key else c_ast.Constant("int", str(abs(factor)))
        for name in key:
            atom = known.get(name, c_ast.ID(name))
            term = atom if term is None else c_ast.BinaryOp("*", term, atom)
        if made is None:
            made = term if factor > 0 else c_ast.UnaryOp("-", term)
        else:
            made = c_ast.BinaryOp("+" if factor > 0 else "-", made, term)
    return made or c_ast.Constant("int", "0")
