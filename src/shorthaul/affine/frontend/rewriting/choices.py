"""Branches on data, as choices between values: ``if (d < best) best = d;`` is ``best = d < best ? d : best;``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pycparser import c_ast

from shorthaul.affine.frontend.expressions import c_text
from shorthaul.affine.frontend.rewriting.trees import element_of, names_in, statements_of


def choices(node: Any, is_affine: Callable[[Any], bool] = lambda _: False) -> list[Any] | None:
    r"""Return statements that do what a branch on data does, without one; None if they would not.

    What changes the condition comes last. Where there is no other branch, what has to hold first and ``is_affine``
    stays a condition.

    >>> from pycparser import c_parser
    >>> text = "void f(void) { if (d < best) { best = d; at += i; } else n = 0; }"
    >>> (branch,) = c_parser.CParser().parse(text).ext[0].body.block_items
    >>> for made in choices(branch):
    ...     print(c_text(made))
    at = (d < best) ? (at + i) : (at)
    n = (d < best) ? (n) : (0)
    best = (d < best) ? (d) : (best)
    """
    is_both = isinstance(node.cond, c_ast.BinaryOp) and node.cond.op == "&&" and node.iffalse is None
    if is_both and is_affine(node.cond.left):
        inner = c_ast.If(node.cond.right, node.iftrue, None, node.coord)
        return [c_ast.If(node.cond.left, inner, None, node.coord)]
    first, second = _assignments(node.iftrue), _assignments(node.iffalse)
    if first is None or second is None:
        return None
    places = [c_text(item.lvalue) for item in first]
    if places == [c_text(item.lvalue) for item in second] and len({*places}) == len(places):
        pairs = [(one.lvalue, one.rvalue, other.rvalue) for one, other in zip(first, second, strict=True)]
    else:
        pairs = [(one.lvalue, one.rvalue, one.lvalue) for one in first]
        pairs += [(one.lvalue, one.lvalue, one.rvalue) for one in second]
    made = [
        c_ast.Assignment("=", place, c_ast.TernaryOp(node.cond, then, other, node.coord), place.coord)
        for place, then, other in pairs
    ]
    asked = names_in([node.cond])
    changing = [at for at, item in enumerate(made) if _written(item) in asked]
    if len(changing) > 1:
        return None
    for at in changing:
        moved, after = made[at], made[at + 1 :]
        used = names_in([moved])
        values = [names_in([item.rvalue.iftrue, item.rvalue.iffalse]) for item in after]
        if any(_written(item) in used or _written(moved) in names for item, names in zip(after, values, strict=True)):
            return None
        made = [*made[:at], *after, moved]
    return made


def _assignments(node: Any) -> list[Any] | None:
    """Return the assignments of a branch, each of one value to one place; None if it has anything else."""
    if node is None or isinstance(node, c_ast.EmptyStatement):
        return []
    if isinstance(node, c_ast.Compound | c_ast.ExprList):
        parts = [
            _assignments(item) for item in (node.exprs if isinstance(node, c_ast.ExprList) else statements_of(node))
        ]
        return None if None in parts else [item for part in parts for item in part or []]
    if isinstance(node, c_ast.If):
        return choices(node)
    if not isinstance(node, c_ast.Assignment):
        return None
    first: list[Any] | None = []
    value = node.rvalue
    if isinstance(value, c_ast.Assignment):
        first, value = _assignments(value), value.lvalue
    if node.op != "=":
        value = c_ast.BinaryOp(node.op[:-1], node.lvalue, value, node.coord)
    return None if first is None else [*first, c_ast.Assignment("=", node.lvalue, value, node.coord)]


def _written(assignment: Any) -> str:
    return str(getattr(element_of(assignment.lvalue)[0], "name", ""))
