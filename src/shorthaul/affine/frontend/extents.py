"""Extents of arrays: subscripts that leave the declared ones whatever the sizes are; how far subscripts reach."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import islpy as isl
from pycparser import c_ast

from shorthaul.affine.frontend.accesses import Access
from shorthaul.affine.frontend.expressions import Names, affine, c_text, integer, without_iterators
from shorthaul.affine.frontend.rewriting.trees import names_in, nodes
from shorthaul.affine.frontend.symbols import depth
from shorthaul.affine.model import Array, Statement
from shorthaul.core.errors import InputError


def refuse_outside(
    declared: Any,
    access: Access,
    subscripts: Sequence[isl.PwAff],
    names: Names,
    iterators: Collection[str],
    values: Mapping[str, Any],
) -> None:
    """Raise :class:`InputError` if a subscript is never inside its declared extent, or leaves one that is a number,
    or goes through rows of an array as if it had one axis, whatever the sizes are.

    ``names`` are those at the declaration, ``iterators`` the loops around the access, where ``values`` are known. What
    is out of bounds for some sizes only says that these sizes are not meant, and is accepted.
    """
    extents = []
    while isinstance(declared, c_ast.ArrayDecl):
        extents.append(declared.dim)
        declared = declared.type
    if len(extents) != len(subscripts):
        for extent, written in zip(extents[1:], access.subscripts[1:], strict=False):
            length = None if extent is None else c_text(extent)
            whole = [written, *(values[name] for name in names_in([written]) & values.keys())]
            products = [node for node in nodes(whole) if isinstance(node, c_ast.BinaryOp) and node.op == "*"]
            if any(length in {c_text(node.left), c_text(node.right)} for node in products):
                raise _outside(extent, written, access, names)
        return
    made = without_iterators(access.params, iterators)
    for at, (extent, value, written) in enumerate(zip(extents, subscripts, access.subscripts, strict=True)):
        if extent is None:
            continue
        try:  # a name of its own parameters: an extent alone makes no name a parameter of the program
            size = affine(extent, replace(names, parameters={}))
        except InputError:
            continue
        outside = value.lt_set(integer(0)).union(value.ge_set(size)).intersect(access.params)
        always = access.params.is_subset(outside)
        rows_on = (
            value.ge_set(size.scale_val(isl.Val(2))).intersect(access.params) if at and not size.is_cst() else outside
        )
        if always or ((at or size.is_cst()) and made.is_subset(without_iterators(rows_on, iterators))):
            raise _outside(extent, written, access, names)


def _outside(extent: Any, written: Any, access: Access, names: Names) -> InputError:
    return InputError(
        f"the subscript {c_text(written)} leaves the declared extent {c_text(extent)}",
        place=str(names.place(written)),
        value=c_text(access.node),
        allowed=f"0 up to {c_text(extent)} - 1",
        cure="correct the subscript, or declare the array larger; a walk through all rows needs an array of one axis",
    )


def refuse_from_end(access: Access, subscripts: Sequence[isl.PwAff], names: Names) -> None:
    """Raise :class:`InputError` for a subscript that is below 0 in some iteration, whatever the sizes are."""
    for value in subscripts:
        below = value.lt_set(integer(0)).intersect(access.params)
        if not below.is_empty() and not replace(names, reached=access.params).assume_none(below, names.parameters):
            problem, cure = (
                "the subscript falls below 0, where it counts from the end",
                "write (i - 1) % n for that",
            )
            raise InputError(problem, place=str(names.place(access.node)), value=c_text(access.node), cure=cure)


def reach(statements: Sequence[Statement], array: str, axis: int) -> Any:
    """Return one more than the largest subscript of an axis, in C."""
    uses = [item for statement in statements for item in (*statement.reads, statement.write) if item.array == array]
    if not uses:
        return c_ast.ID("1")
    reached = []
    for item in uses:  # other axes go first: the largest element of a union in several of them can take isl minutes
        elements = item.relation.range()
        elements = elements.project_out(isl.dim_type.set, axis + 1, elements.dim(isl.dim_type.set) - axis - 1)
        reached.append(elements.project_out(isl.dim_type.set, 0, axis))
    most = reduce(isl.Set.union, reached).coalesce().dim_max(0).add_constant_val(isl.Val(1)).coalesce()
    return c_ast.ID(isl.AstBuild.from_context(most.domain()).expr_from_pw_aff(most).to_C_str())


def complete_extents(declared: Mapping[str, Any], arrays: Mapping[str, Array], statements: Sequence[Statement]) -> None:
    """Declare extents that the source does not give, in place: as far as an array is accessed.

    Where that is up to a border, ``m - 1``, rows are as long as those of other arrays: inner elements are meant.
    """
    extents = [node.dim for node in nodes(declared.values()) if isinstance(node, c_ast.ArrayDecl)]
    known = {item.name for item in extents if isinstance(item, c_ast.ID)}
    for name, given in declared.items():
        axis, kind = 0, given
        if depth(given) == 1 and name in arrays and arrays[name].dimensions > 1:
            continue  # what was taken apart reaches as far as its subscripts do as they are written
        while isinstance(kind, c_ast.ArrayDecl):
            if kind.dim is None:
                kind.dim = reach(statements, name, axis)
                whole, _, border = kind.dim.name.partition(" - ") if axis else ("", "", "")
                kind.dim = c_ast.ID(whole) if whole in known and border.isdigit() else kind.dim
            axis, kind = axis + 1, kind.type
