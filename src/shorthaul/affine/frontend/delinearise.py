"""Flattened subscripts ``a[i*n + k]`` taken apart into ``a[i][k]``.

A subscript is a polynomial in the parameters with affine functions of the iterators as coefficients. Where its
monomials form a chain 1 | m1 | m2 ..., the coefficients are the subscripts of an array with extents m1, m2/m1, ...
(times a number that all coefficients of a monomial are multiples of), provided every inner one stays inside its
extent. Where isl cannot prove that for all parameters, as for the row length ``lda`` of a part of a matrix, the program
is one for those parameters only where it holds. Sums and quotients of parameters that are factors, as in
``a[i * (n + 2) + j]`` and ``a[i * (n / 2) + j]``, are tried as row lengths first, with the same condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import gcd
from typing import Any

import islpy as isl
from pycparser import c_ast

from shorthaul.affine.frontend.accesses import Access
from shorthaul.affine.frontend.constants import constant
from shorthaul.affine.frontend.expressions import Names, affine, c_text, integer, not_affine, variable
from shorthaul.affine.frontend.packed import triangles_of
from shorthaul.core.errors import InputError

Monomial = tuple[str, ...]
Polynomial = dict[Monomial, isl.PwAff]


def subscripts_of(uses: Sequence[tuple[Access, Names]]) -> dict[int, tuple[isl.PwAff, ...]]:
    """Return the subscripts of every access to one array, by the access's ``id``.

    Raises :class:`InputError` if one is not affine and cannot be taken apart either.
    """
    apart = {
        id(access): [(replace(access, subscripts=(item,)), names) for item in access.subscripts]
        for access, names in uses
    }
    axes = [_of_axis(axis) for axis in zip(*apart.values(), strict=True)]
    return {
        key: tuple(value for found, (one, _) in zip(axes, row, strict=True) for value in found[id(one)])
        for key, row in apart.items()
    }


def _of_axis(uses: Sequence[tuple[Access, Names]]) -> dict[int, tuple[isl.PwAff, ...]]:
    """Return what the only subscript of every access stands for."""
    if not any(_has_product(access.subscripts[0], names) for access, names in uses):
        return {id(access): _plain(access, names) for access, names in uses}
    rows: dict[str, Any] = {}
    for access, names in uses:
        _note_rows(access.subscripts[0], names, rows)
    noted = [len(names.assumed) for _, names in uses]
    errors = []
    for tried in (rows, {}) if rows else ({},):
        try:
            return _taken_apart(uses, tried)
        except InputError as error:
            errors.append(error)
            for (_, names), number in zip(uses, noted, strict=True):
                del names.assumed[number:]
    try:  # a macro's number may still make it affine
        return {id(access): _plain(access, names) for access, names in uses}
    except InputError:
        triangles = triangles_of(uses)
        if triangles is None:
            raise errors[0] from None
        return triangles


def _plain(access: Access, names: Names) -> tuple[isl.PwAff, ...]:
    return (affine(access.subscripts[0], names),)


def _has_product(node: Any, names: Names) -> bool:
    if isinstance(node, c_ast.ID) and node.name in names.locals and node.name not in names.iterators:
        return _has_product(names.locals[node.name], names)
    if isinstance(node, c_ast.BinaryOp) and node.op == "*":
        unknown = [constant(side, {}) is None for side in (node.left, node.right)]
        if all(unknown):
            return True
    return any(_has_product(child, names) for _, child in node.children())


def _note_rows(node: Any, names: Names, rows: dict[str, Any]) -> None:
    """Note sums and quotients of parameters that are factors, by their text; equal ones are noted as one."""
    if isinstance(node, c_ast.ID) and node.name in names.locals:
        _note_rows(names.locals[node.name], names, rows)
    is_product = isinstance(node, c_ast.BinaryOp) and node.op == "*"
    for side, other in ((node.left, node.right), (node.right, node.left)) if is_product else ():
        factor = side
        while isinstance(factor, c_ast.Cast) or (isinstance(factor, c_ast.ID) and factor.name in names.locals):
            factor = factor.expr if isinstance(factor, c_ast.Cast) else names.locals[factor.name]
        is_row = (
            isinstance(factor, c_ast.BinaryOp) and factor.op in {"+", "-", "/", ">>"} and constant(factor, {}) is None
        )
        if is_row and _is_of_parameters(factor, names) and not _is_of_parameters(other, names):
            value = affine(factor, names)
            rows[c_text(factor)] = next((row for row in rows.values() if affine(row, names).is_equal(value)), factor)
    for _, child in node.children():
        _note_rows(child, names, rows)


def _is_of_parameters(node: Any, names: Names) -> bool:
    if isinstance(node, c_ast.ID):
        is_number = isinstance(names.locals.get(node.name), c_ast.Constant)
        return node.name not in names.iterators and (is_number or node.name not in names.locals)
    is_plain = isinstance(node, c_ast.BinaryOp | c_ast.UnaryOp | c_ast.Constant | c_ast.Cast | c_ast.IdentifierType)
    return is_plain and all(_is_of_parameters(child, names) for _, child in node.children())


def _taken_apart(uses: Sequence[tuple[Access, Names]], rows: Mapping[str, Any]) -> dict[int, tuple[isl.PwAff, ...]]:
    """Return the subscripts, with the sums and quotients of parameters in ``rows`` as lengths of rows."""
    polynomials = {}
    for access, names in uses:
        polynomials[id(access)] = _polynomial(access.subscripts[0], names, rows)
    polynomials = _with_offsets(polynomials, rows)
    monomials = sorted({m for polynomial in polynomials.values() for m in polynomial} | {()}, key=lambda m: (len(m), m))
    access, names = uses[0]
    extents = []
    for smaller, larger in pairwise(monomials):
        rest = _divided(larger, smaller)
        if rest is None or len(rest) != 1:
            raise not_affine(access.node, names, "its extents are not a chain of products")
        extents.append(rest[0])
    steps = _steps([[item[monomial] for item in polynomials.values() if monomial in item] for monomial in monomials])
    result = {}
    for access, names in uses:
        polynomial, reached = polynomials[id(access)], access.params
        for name in names.parameters:
            reached = reached.intersect(variable(name).ge_set(integer(1)))
        values = [
            polynomial.get(monomial, integer(0)).scale_down_val(isl.Val(step))
            for monomial, step in zip(monomials, steps, strict=True)
        ]
        for at, (extent, (below, above)) in enumerate(zip(extents, pairwise(steps), strict=True)):
            length = rows.get(extent, c_ast.ID(extent, access.node.coord))
            size = affine(length, names).scale_val(isl.Val(above // below))
            if reached.is_subset(values[at].lt_set(integer(0))):  # a[i * n + n - 1] is not row i + 1
                values[at], values[at + 1] = values[at].add(size), values[at + 1].sub(integer(1))
            value = values[at]
            beyond = (reached if extent in rows else access.params).intersect(value.ge_set(size))
            # a row as long as a parameter that the loops do not know: long enough, or no row
            free = size.get_var_names(isl.dim_type.param)
            if not reached.is_subset(value.ge_set(integer(0))) or not (
                beyond.is_empty() or names.assume_none(beyond, free)
            ):
                row = extent if above == below else f"{above // below} * {extent}"
                cure = "end the loops within the row, or give the array its extents, as in double a[n][m]"
                raise not_affine(access.node, names, f"the subscript may leave its row of {row}", cure)
        result[id(access)] = tuple(reversed(values))
    return result


def _with_offsets(polynomials: Mapping[int, Polynomial], rows: Mapping[str, Any]) -> dict[int, Polynomial]:
    """Return the polynomials with parameters in subscripts in place of monomials that no iterator is a factor of.

    In ``a[i * n + m]`` that is the place m, in ``a[(n - 1) * n + j]`` the row n - 1.
    """
    found = [item for polynomial in polynomials.values() for item in polynomial.items()]
    lengths = {(), *(monomial for monomial, factor in found if not factor.is_cst())}
    result = {}
    for number, polynomial in polynomials.items():
        kept: Polynomial = {}
        for monomial, factor in polynomial.items():
            place, value = monomial, factor
            if monomial not in lengths:
                for length in sorted(lengths, key=len):
                    rest = _divided(monomial, length)
                    if rest is not None and len(rest) == 1 and rest[0] not in rows:
                        place, value = length, variable(rest[0]).scale_val(_number(factor))
            kept[place] = kept[place].add(value) if place in kept else value
        result[number] = kept
    return result


def _steps(coefficients: Sequence[Sequence[isl.PwAff]]) -> list[int]:
    """Return for every monomial the number that its coefficients are multiples of: rows of 4 n in a[4 * n * i + j]."""
    result = [1]
    for values in coefficients[1:]:
        common = gcd(*(_content(value) for value in values))
        result.append(common if common and common % result[-1] == 0 else result[-1])
    return result if all(a % b == 0 for b, a in pairwise(result)) else [1] * len(result)


def _content(value: isl.PwAff) -> int:
    """Return the greatest common divisor of all numbers in an affine function; 1 if it has divisions."""
    numbers = [0]
    for _, piece in value.get_pieces():
        if piece.get_denominator_val().to_python() != 1 or piece.dim(isl.dim_type.div):
            return 1
        numbers.append(piece.get_constant_val().to_python())
        places = range(piece.dim(isl.dim_type.param))
        numbers += [piece.get_coefficient_val(isl.dim_type.param, at).to_python() for at in places]
    return gcd(*numbers)


def _divided(larger: Monomial, smaller: Monomial) -> Monomial | None:
    rest = list(larger)
    for name in smaller:
        if name not in rest:
            return None
        rest.remove(name)
    return tuple(rest)


def _polynomial(node: Any, names: Names, rows: Mapping[str, Any]) -> Polynomial:
    if rows and isinstance(node, c_ast.BinaryOp) and c_text(node) in rows:
        return {(c_text(rows[c_text(node)]),): integer(1)}
    if isinstance(node, c_ast.BinaryOp) and node.op in {"+", "-"}:
        result = dict(_polynomial(node.left, names, rows))
        for monomial, factor in _polynomial(node.right, names, rows).items():
            signed = factor if node.op == "+" else factor.neg()
            result[monomial] = result[monomial].add(signed) if monomial in result else signed
        return result
    if isinstance(node, c_ast.BinaryOp) and node.op == "*":
        left, right = _polynomial(node.left, names, rows), _polynomial(node.right, names, rows)
        return _product(left, right, node, names)
    if isinstance(node, c_ast.ID) and node.name not in names.iterators and node.name not in names.locals:
        affine(node, names)  # makes it a parameter, or says why it cannot be one
        return {(node.name,): integer(1)}
    if isinstance(node, c_ast.ID) and node.name in names.locals:
        return _polynomial(names.locals[node.name], names, rows)
    if isinstance(node, c_ast.Cast):
        return _polynomial(node.expr, names, rows)
    return {(): affine(node, names)}


def _product(left: Polynomial, right: Polynomial, node: Any, names: Names) -> Polynomial:
    result: Polynomial = {}
    for first, factor in left.items():
        for second, other in right.items():
            if factor.is_cst():
                value = other.scale_val(_number(factor))
            elif other.is_cst():
                value = factor.scale_val(_number(other))
            else:
                raise not_affine(node, names, f"two iterators are multiplied in {c_text(node)}")
            monomial = tuple(sorted(first + second))
            result[monomial] = result[monomial].add(value) if monomial in result else value
    return result


def _number(value: isl.PwAff) -> isl.Val:
    return value.max_val()
