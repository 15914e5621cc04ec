"""The array elements and scalars that an expression reads, and its arithmetic operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import islpy as isl
from pycparser import c_ast

from shorthaul.affine.frontend.constants import PURE
from shorthaul.affine.frontend.expressions import Names, c_text, condition
from shorthaul.affine.frontend.rewriting.trees import STEPS, element_of, names_in, nodes
from shorthaul.affine.frontend.symbols import Symbols
from shorthaul.core.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """One access: made by the iterations ``params`` (iterators are isl parameters here).

    It is not ``sure`` where some data let the expression be evaluated without it.
    """

    array: str
    subscripts: tuple[Any, ...]
    node: Any
    params: isl.Set
    sure: bool = True


def subscripted(node: Any, params: isl.Set, names: Names) -> Access:
    """Return the access that the lvalue or operand ``node`` makes; raises :class:`InputError` if it is none."""
    inner, subscripts = element_of(node)
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

    A ternary with an affine condition reads each branch only where it is taken; one that depends on data reads all,
    but only what both branches read is sure, as is what stands before && and ||.
    """
    if isinstance(node, c_ast.ID):
        known = node.name in names.iterators or node.name in names.locals
        if node.name in symbols.data or (node.name in symbols.written and not known):
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
    if isinstance(node, c_ast.Assignment) or (isinstance(node, c_ast.UnaryOp) and node.op in STEPS):
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
    yield from _operands(node, params, names, symbols)


def _operands(node: Any, params: isl.Set, names: Names, symbols: Symbols) -> Iterator[Access]:
    if not isinstance(node, c_ast.Constant | c_ast.UnaryOp | c_ast.BinaryOp):
        place, cure = str(names.place(node)), "write numbers, array elements, operators and functions of math.h"
        raise InputError("this kind of expression is not understood", place=place, value=c_text(node)[:80], cure=cure)
    unevaluated = getattr(node, "op", "") == "sizeof"
    for at, (_, child) in enumerate([] if unevaluated else node.children()):
        found = data_reads(child, params, names, symbols)
        after = at and isinstance(node, c_ast.BinaryOp) and node.op in {"&&", "||"}
        yield from (replace(item, sure=False) for item in found) if after else found


def _choice(node: Any, params: isl.Set, names: Names, symbols: Symbols) -> Iterator[Access]:
    asked = list(data_reads(node.cond, params, names, symbols))
    if asked:
        yield from asked
        both = [list(data_reads(branch, params, names, symbols)) for branch in (node.iftrue, node.iffalse)]
        for mine, others in (both, both[::-1]):
            yield from (replace(item, sure=any(_is_sure(item, other) for other in others)) for item in mine)
        return
    where = condition(node.cond, names)
    for branch, taken in ((node.iftrue, True), (node.iffalse, False)):
        limited = params.intersect(where if taken else where.complement())
        if not limited.is_empty():
            yield from data_reads(branch, limited, names, symbols)


def _is_sure(one: Access, other: Access) -> bool:
    """Return whether one of two accesses in different branches is made whatever is chosen."""
    same = c_text(one.node) == c_text(other.node) and one.params.is_subset(other.params)
    return one.sure and other.sure and same


def _pure(node: Any, names: Names) -> None:
    name = getattr(node.name, "name", c_text(node.name))
    if name not in PURE | {"floord", "floor_mod"}:  # emitted C has these two
        raise InputError(
            f"the function {name} may have side effects",
            place=str(names.place(node)),
            value=c_text(node),
            allowed="mathematical functions such as sqrt, and functions of the file that change nothing but their own"
            " variables and return at their end",
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
    if isinstance(node, c_ast.ArrayRef) or getattr(node, "op", "") == "sizeof":
        return
    if isinstance(node, c_ast.BinaryOp | c_ast.FuncCall):
        found.add(c_text(node))
    for _, child in node.children():
        _operations(child, found)


_EXTREMES = {name: name.lower().removeprefix("f").removesuffix("f") for name in ("fmax", "fmin", "fmaxf", "fminf")}
_EXTREMES |= {name: name.lower() for name in ("max", "min", "MAX", "MIN")}


def accumulation(target: Any, value: Any, operator: str) -> str:
    """Return the associative operation by which ``target operator value`` adds to the target: +, *, max, min; or "".

    A difference ``x - e`` is the sum of x and a term. That ``value`` does not read the target elsewhere is left to
    the caller.

    >>> from shorthaul.affine.workloads.cases import kernel
    >>> [item.accumulates for item in kernel("gemm").statements]
    ['*', '+']
    """
    if operator != "=":
        return {"+=": "+", "-=": "+", "*=": "*"}.get(operator, "")
    name = c_text(target)
    while isinstance(value, c_ast.Cast):
        value = value.expr
    if isinstance(value, c_ast.FuncCall):
        arguments = value.args.exprs if value.args is not None else []
        found = _EXTREMES.get(getattr(value.name, "name", ""), "")
        return found if len(arguments) == 2 and name in {c_text(item) for item in arguments} else ""
    if isinstance(value, c_ast.TernaryOp):
        return _extreme(name, value)
    kind = "*" if isinstance(value, c_ast.BinaryOp) and value.op == "*" else "+"
    return kind if isinstance(value, c_ast.BinaryOp) and _adds(name, value, kind) else ""


def _adds(name: str, value: Any, kind: str) -> bool:
    """True if the target is one of the operands of a sum or product."""
    if isinstance(value, c_ast.BinaryOp) and value.op == kind:
        return _adds(name, value.left, kind) or _adds(name, value.right, kind)
    if isinstance(value, c_ast.BinaryOp) and (kind, value.op) == ("+", "-"):
        return _adds(name, value.left, kind)
    return bool(c_text(value) == name)


def _extreme(name: str, value: Any) -> str:
    """Return max or min for ``a < b ? b : a`` and the like, of which one is the target."""
    if not isinstance(value.cond, c_ast.BinaryOp) or value.cond.op not in {"<", "<=", ">", ">="}:
        return ""
    left, right, first, second = (
        c_text(item) for item in (value.cond.left, value.cond.right, value.iftrue, value.iffalse)
    )
    if name not in {left, right} or {left, right} != {first, second} or left == right:
        return ""
    return "max" if (first == left) == (value.cond.op in {">", ">="}) else "min"


def reads_one_of(node: Any, names: frozenset[str]) -> bool:
    """True if an expression reads an array, or a variable of ``names``."""
    return any(isinstance(item, c_ast.ArrayRef) for item in nodes([node])) or bool(names & names_in([node]))


def has_effect(node: Any) -> bool:
    """True if an expression assigns, counts or calls."""
    kinds = c_ast.Assignment | c_ast.FuncCall
    return any(isinstance(item, kinds) or getattr(item, "op", "") in STEPS for item in nodes([node]))


def unlike(array: str, uses: Sequence[Access], declared: Any, place: Callable[[Any], str]) -> InputError:
    """Return the error for an array that is used with unequal numbers of subscripts."""
    counts = sorted({len(access.subscripts) for access in uses})
    worst = next(access for access in uses if len(access.subscripts) != counts[-1])
    problem = f"{array} is used with {' and '.join(map(str, counts))} subscripts"
    cure = "subscript an array in full everywhere, and give it no other name"
    if isinstance(declared, c_ast.PtrDecl) and isinstance(worst.node, c_ast.ID):
        problem = f"the pointer {array} is set to lead elsewhere"
        cure = "write the array itself; of two arrays that take turns make one, u[t % 2][i]"
    return InputError(problem, place=place(worst.node), value=c_text(worst.node), cure=cure)
