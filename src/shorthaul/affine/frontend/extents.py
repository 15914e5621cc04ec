"""Extents of arrays: subscripts that leave the declared ones whatever the sizes are; how far subscripts reach."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import islpy as isl
from pycparser import c_ast

from shorthaul.affine.frontend.accesses import Access
from shorthaul.affine.frontend.expressions import Names, affine, c_text, integer, without_iterators
from shorthaul.affine.model import Statement
from shorthaul.core.errors import InputError


def refuse_outside(
    declared: Any, access: Access, subscripts: Sequence[isl.PwAff], names: Names, iterators: Collection[str]
) -> None:
    """Raise :class:`InputError` if a subscript is never inside its declared extent, or leaves one that is a number.

    ``names`` are those at the declaration, ``iterators`` the loops around the access. What is out of bounds for some
    sizes only says that these sizes are not meant, and is accepted.
    """
    extents = []
    while isinstance(declared, c_ast.ArrayDecl):
        extents.append(declared.dim)
        declared = declared.type
    if len(extents) != len(subscripts):
        return
    made = without_iterators(access.params, iterators)
    for extent, value, written in zip(extents, subscripts, access.subscripts, strict=True):
        if extent is None:
            continue
        try:  # a name of its own parameters: an extent alone makes no name a parameter of the program
            size = affine(extent, replace(names, parameters={}))
        except InputError:
            continue
        outside = value.lt_set(integer(0)).union(value.ge_set(size)).intersect(access.params)
        always = access.params.is_subset(outside)
        if always or (size.is_cst() and made.is_subset(without_iterators(outside, iterators))):
            raise InputError(
                f"the subscript {c_text(written)} leaves the declared extent {c_text(extent)}",
                place=str(names.place(written)),
                value=c_text(access.node),
                allowed=f"0 up to {c_text(extent)} - 1",
                cure="correct the subscript, or declare the array larger",
            )


def reach(statements: Sequence[Statement], array: str, axis: int) -> Any:
    """Return one more than the largest subscript of an axis, in C."""
    uses = [item for statement in statements for item in (*statement.reads, statement.write) if item.array == array]
    if not uses:
        return c_ast.Constant("int", "1")
    reached = []
    for item in uses:  # other axes go first: the largest element of a union in several of them can take isl minutes
        elements = item.relation.range()
        elements = elements.project_out(isl.dim_type.set, axis + 1, elements.dim(isl.dim_type.set) - axis - 1)
        reached.append(elements.project_out(isl.dim_type.set, 0, axis))
    most = reduce(isl.Set.union, reached).coalesce().dim_max(0).add_constant_val(isl.Val(1)).coalesce()
    return c_ast.ID(isl.AstBuild.from_context(most.domain()).expr_from_pw_aff(most).to_C_str())
