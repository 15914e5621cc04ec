"""Subscripts of triangles packed row after row, ``L[i * (i + 1) / 2 + j]``, taken apart into ``L[i][j]``.

Twice such a subscript is x (x + 1) + 2 r: place r of row x, the rows before it are of 1 to x places. Where rows become
shorter it is m (m + 1) - x (x + 1) + 2 r, with rows of m down to x places. An element has one x and one r with
0 <= r <= x (0 <= r < x), so these are subscripts of the same elements.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Final

import islpy as isl
from pycparser import c_ast

from shorthaul.affine.frontend.accesses import Access
from shorthaul.affine.frontend.constants import constant
from shorthaul.affine.frontend.expressions import Names, affine, integer
from shorthaul.affine.frontend.polynomials import Polynomial, plus, product_of, times
from shorthaul.core.errors import InputError

#: How far the first row may be from what the squares tell.
_SHIFTS: Final = (0, -1, 1)
#: Names of which all parities are looked at.
_MOST_NAMES: Final = 8


def triangles_of(uses: Sequence[tuple[Access, Names]]) -> dict[int, tuple[isl.PwAff, ...]] | None:
    """Return row and place in it for every access to an array, by the access's ``id``; None if it is no triangle."""
    polynomials = []
    for access, names in uses:
        found = _polynomial(access.subscripts[0], names)
        if found is None:
            return None
        polynomials.append(found)
    for grows, shift in ((True, 0), *((False, shift) for shift in _SHIFTS)):
        result = {}
        for (access, names), polynomial in zip(uses, polynomials, strict=True):
            row = next(_rows(polynomial, access, names, grows, shift), None)
            if row is None:
                break
            result[id(access)] = row
        else:
            return result
    return None


def _rows(
    polynomial: Polynomial, access: Access, names: Names, grows: bool, shift: int
) -> Iterator[tuple[isl.PwAff, ...]]:
    """Yield the row and the place in it of one access, if isl can prove that it stays in its row."""
    sign = 1 if grows else -1
    twice = {key: 2 * sign * factor for key, factor in polynomial.items()}
    line = _root(twice, names)
    if line is None:
        return
    rest = plus(twice, product_of(line, line), -1)
    first = _root(plus({}, rest, -1), names, of_parameters=True) if not grows else {}
    if first is None or any(len(key) > 1 for key in plus(rest, product_of(first, first), 1)):
        return
    last = plus(first, {(): Fraction(shift)}, 1)
    for side, more in product((1, -1), _SHIFTS):
        row = plus({(): Fraction(more)}, line, side)
        place = plus(twice, plus(product_of(row, row), row, 1), -1)
        place = {key: sign * factor / 2 for key, factor in place.items()}
        if not grows:
            place = plus(place, {key: factor / 2 for key, factor in plus(product_of(last, last), last, 1).items()}, -1)
        if any(len(key) > 1 or factor.denominator > 1 for key, factor in place.items() if factor):
            continue
        x, r = _line(row, names), _line(place, names)
        inside = r.ge_set(integer(0)).intersect(r.le_set(x) if grows else r.lt_set(x))
        if access.params.is_subset(inside):
            yield x, r


def _root(twice: Polynomial, names: Names, *, of_parameters: bool = False) -> Polynomial | None:
    """Return the linear form whose square has the terms with squares of an iterator, or of a parameter."""
    for key, factor in sorted(twice.items()):
        if len(key) == 2 and key[0] == key[1] and (of_parameters or key[0] in names.iterators):
            root = math.isqrt(int(factor)) if factor > 0 else 0
            if not root or root * root != factor:
                return None
            others = {name for pair in twice if len(pair) == 2 for name in pair if key[0] in pair} - {key[0]}
            mixed = {name: twice[tuple(sorted((key[0], name)))] / (2 * root) for name in sorted(others)}
            return {(key[0],): Fraction(root), **{(name,): value for name, value in mixed.items()}}
    return {} if of_parameters else None


def _polynomial(node: c_ast.Node, names: Names) -> Polynomial | None:
    """Return an integer expression as a polynomial of degree 2 at most, None if it is none."""
    if isinstance(node, c_ast.Cast):
        return _polynomial(node.expr, names)
    if isinstance(node, c_ast.ID) and node.name in names.locals and node.name not in names.iterators:
        return _polynomial(names.locals[node.name], names)
    if isinstance(node, c_ast.ID):
        try:
            affine(node, names)  # makes it a parameter
        except InputError:
            return None
        return {(node.name,): Fraction(1)}
    if isinstance(node, c_ast.UnaryOp) and node.op == "-":
        inner = _polynomial(node.expr, names)
        return None if inner is None else times(inner, Fraction(-1))
    if isinstance(node, c_ast.BinaryOp) and node.op in {"+", "-", "*"}:
        left, right = _polynomial(node.left, names), _polynomial(node.right, names)
        if left is None or right is None:
            return None
        made = product_of(left, right) if node.op == "*" else plus(left, right, 1 if node.op == "+" else -1)
        return made if all(len(key) <= 2 for key in made) else None
    value = constant(node, names.numbers)
    if value is not None:
        return {(): Fraction(value)}
    if isinstance(node, c_ast.BinaryOp) and node.op in {"/", ">>"}:
        given, divisor = _polynomial(node.left, names), constant(node.right, names.numbers)
        halves = divisor == (2 if node.op == "/" else 1)
        return times(given, Fraction(1, 2)) if halves and given is not None and _is_even(given) else None
    return None


def _is_even(polynomial: Polynomial) -> bool:
    """True if it is even for all integers: halves are exact then."""
    if any(factor.denominator > 1 for factor in polynomial.values()):
        return False
    odd = [{*key} for key, factor in polynomial.items() if factor % 2]
    used = sorted({name for key in odd for name in key})
    if len(used) > _MOST_NAMES:
        return False
    choices = product((0, 1), repeat=len(used))
    ones = ({name for name, bit in zip(used, bits, strict=True) if bit} for bits in choices)
    return all(sum(key <= chosen for key in odd) % 2 == 0 for chosen in ones)


def _line(form: Polynomial, names: Names) -> isl.PwAff:
    result = integer(int(form.get((), 0)))
    for key, factor in form.items():
        if key:
            result = result.add(affine(c_ast.ID(key[0]), names).scale_val(isl.Val(int(factor))))
    return result
