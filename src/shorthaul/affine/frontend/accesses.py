"""The array elements and scalars that an expression reads, and its arithmetic operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import islpy as isl
from pycparser import c_ast

from shorthaul.affine.frontend.expressions import Names, c_text, condition
from shorthaul.affine.frontend.symbols import Symbols
from shorthaul.core.errors import InputError

_PURE = {
    *("sqrt", "sqrtf", "exp", "expf", "exp2", "pow", "powf", "fabs", "fabsf", "abs", "log", "logf", "log2", "log10"),
    *("sin", "cos", "tan", "sinf", "cosf", "sinh", "cosh", "tanh", "tanhf", "asin", "acos", "atan", "atan2", "erf"),
    *("fmax", "fmin", "fmaxf", "fminf", "max", "min", "MAX", "MIN", "floor", "ceil", "round", "fma", "cbrt", "hypot"),
    *(
        "fmaf",
        "cbrtf",
        "hypotf",
        "expm1",
        "expm1f",
        "log1p",
        "log1pf",
        "log2f",
        "log10f",
        "exp2f",
        "erff",
        "erfc",
        "tgamma",
    ),
    *(
        "lgamma",
        "atanf",
        "atan2f",
        "asinf",
        "acosf",
        "sinhf",
        "coshf",
        "asinh",
        "acosh",
        "atanh",
        "fmod",
        "fmodf",
        "trunc",
    ),
    *("floorf", "ceilf", "roundf", "rint", "copysign", "sqrtl", "fabsl", "expl", "logl", "powl"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """One access: made by the iterations ``params`` (iterators are isl parameters here)."""

    array: str
    subscripts: tuple[Any, ...]
    node: Any
    params: isl.Set


def subscripted(node: Any, params: isl.Set, names: Names) -> Access:
    """Return the access that the lvalue or operand ``node`` makes; raises :class:`InputError` if it is none."""
    subscripts: list[Any] = []
    inner = node
    while isinstance(inner, c_ast.ArrayRef):
        subscripts.insert(0, inner.subscript)
        inner = inner.name
    if isinstance(inner, c_ast.ID):
        return Access(inner.name, tuple(subscripts), node, params)
    place = str(names.place(node))
    if inner is node and isinstance(node, c_ast.Constant | c_ast.BinaryOp):
        cure = "let one array element or scalar stand left of ="
        raise InputError("a value is no place to write to", place=place, value=c_text(node), cure=cure)
    if isinstance(inner, c_ast.StructRef):
        raise InputError("a structure is accessed", place=place, value=c_text(node), cure="use plain arrays")
    raise InputError(
        "pointer arithmetic is not understood",
        place=place,
        value=c_text(node),
        allowed="array elements A[i][j] and scalars",
        cure="write *(a + i) as a[i]",
    )


def data_reads(node: Any, params: isl.Set, names: Names, symbols: Symbols) -> Iterator[Access]:
    """Yield what the expression ``node`` reads when evaluated by the iterations ``params``.

    A ternary with an affine condition reads each branch only where it is taken; one that depends on data reads all.
    """
    if isinstance(node, c_ast.ID):
        if node.name in symbols.data or (node.name in symbols.written and node.name not in names.iterators):
            if node.name in symbols.loops:
                raise InputError(
                    "a loop iterator is used outside its loop",
                    place=str(names.place(node)),
                    value=node.name,
                    cure="write the value it has there: the loop's limit",
                )
            yield subscripted(node, params, names)
        return
    if isinstance(node, c_ast.ArrayRef | c_ast.StructRef) or (
        isinstance(node, c_ast.UnaryOp) and node.op in {"*", "&"}
    ):
        yield subscripted(node, params, names)
        return
    if isinstance(node, c_ast.Constant) and node.type == "string":
        cure = "write a number, an array element or an expression"
        raise InputError("a text is no number", place=str(names.place(node)), value=node.value, cure=cure)
    if isinstance(node, c_ast.Cast):
        yield from data_reads(node.expr, params, names, symbols)
        return
    if isinstance(node, c_ast.TernaryOp):
        yield from _choice(node, params, names, symbols)
        return
    if isinstance(node, c_ast.FuncCall):
        _pure(node, names)
        for argument in node.args.exprs if node.args is not None else []:
            yield from data_reads(argument, params, names, symbols)
        return
    if isinstance(node, c_ast.Assignment) or (isinstance(node, c_ast.UnaryOp) and node.op.strip("p") in {"++", "--"}):
        raise InputError(
            "an expression assigns inside itself",
            place=str(names.place(node)),
            value=c_text(node),
            cure="write it as a statement of its own",
        )
    if isinstance(node, c_ast.ExprList):
        raise InputError(
            "a comma joins expressions in a value",
            place=str(names.place(node.exprs[0])),
            value=c_text(node),
            cure="write each expression as a statement of its own",
        )
    for _, child in node.children():
        yield from data_reads(child, params, names, symbols)


def _choice(node: Any, params: isl.Set, names: Names, symbols: Symbols) -> Iterator[Access]:
    asked = list(data_reads(node.cond, params, names, symbols))
    if asked:
        yield from asked
        where = None
    else:
        where = condition(node.cond, names)
    for branch, taken in ((node.iftrue, True), (node.iffalse, False)):
        if where is None:
            yield from data_reads(branch, params, names, symbols)
        else:
            limited = params.intersect(where if taken else where.complement())
            if not limited.is_empty():
                yield from data_reads(branch, limited, names, symbols)


def _pure(node: Any, names: Names) -> None:
    name = getattr(node.name, "name", c_text(node.name))
    if name not in _PURE:
        raise InputError(
            f"the function {name} may have side effects",
            place=str(names.place(node)),
            value=c_text(node),
            allowed="mathematical functions such as sqrt, exp, pow, fabs",
            cure="write the function out",
        )


def count_operations(node: Any) -> int:
    """Return the arithmetic operations of evaluating ``node`` once, equal subexpressions counted once.

    Binary operators, choices between values and calls count 1 each; subscripts, casts and signs count nothing.
    """
    found: set[str] = set()
    _operations(node, found)
    return len(found)


def _operations(node: Any, found: set[str]) -> None:
    if isinstance(node, c_ast.ArrayRef):
        return
    if isinstance(node, c_ast.BinaryOp | c_ast.FuncCall):
        found.add(c_text(node))
    for _, child in node.children():
        _operations(child, found)
