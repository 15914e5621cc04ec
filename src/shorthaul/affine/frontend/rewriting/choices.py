"""Branches on data, as choices between values: ``if (d < best) best = d;`` is ``best = d < best ? d : best;``."""

from __future__ import annotations

import copy
from collections.abc import Callable, Set
from typing import Any

from pycparser import c_ast

from shorthaul.affine.frontend.expressions import COMPARISONS, c_text
from shorthaul.affine.frontend.rewriting.trees import element_of, names_in, nodes, rewritten, statements_of


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
    made = _chosen(node, first, second)
    asked = names_in([node.cond])
    changing = [at for at, item in enumerate(made) if _written(item) in asked]
    if len(changing) > 1 or (changing and any(isinstance(item, c_ast.Decl) for item in made)):
        return None
    for at in changing:
        moved, after = made[at], made[at + 1 :]
        used = names_in([moved])
        values = [names_in([item.rvalue.iftrue, item.rvalue.iffalse]) for item in after]
        if any(_written(item) in used or _written(moved) in names for item, names in zip(after, values, strict=True)):
            return None
        made = [*made[:at], *after, moved]
    return made


def with_conditions_kept(items: list[Any], taken: Set[str]) -> list[Any]:
    r"""Return statements in which a variable keeps the condition of a branch that changes it more than once.

    >>> from pycparser import c_parser
    >>> text = "void f(void) { if (i && x[i] < x[0]) { double t = x[i]; x[i] = x[0]; x[0] = t; } }"
    >>> (made,) = with_conditions_kept(c_parser.CParser().parse(text).ext[0].body.block_items, set())
    >>> print(" ".join(c_text(made).split()))
    if (i) { int is_so; is_so = x[i] < x[0]; if (is_so) { double t = x[i]; x[i] = x[0]; x[0] = t; } }
    """

    def change(node: Any) -> Any:
        if not isinstance(node, c_ast.If) or choices(node) is not None:
            return node
        if _assignments(node.iftrue) is None or _assignments(node.iffalse) is None:
            return node
        name, at = "is_so", node.coord
        while name in taken or name in names_in([node]):
            name += "_"
        cond, before = node.cond, []
        while isinstance(cond, c_ast.BinaryOp) and cond.op == "&&" and node.iffalse is None:
            if any(isinstance(item, c_ast.ArrayRef | c_ast.FuncCall) for item in nodes([cond.left])):
                break
            before.append(cond.left)
            cond = cond.right
        is_test = isinstance(cond, c_ast.BinaryOp) and cond.op in COMPARISONS | {"&&", "||"}
        value = cond if is_test else c_ast.BinaryOp("!=", cond, c_ast.Constant("int", "0", at), at)
        kept, kind = c_ast.ID(name, at), c_ast.TypeDecl(name, [], None, c_ast.IdentifierType(["int"]))
        setting = c_ast.Assignment("=", kept, value, at)
        node.cond = kept
        made: Any = c_ast.Compound([c_ast.Decl(name, [], [], [], [], kind, None, None, at), setting, node], at)
        for part in reversed(before):
            made = c_ast.If(part, made, None, at)
        return made

    return [rewritten(item, change) for item in items]


def _chosen(node: Any, first: list[Any], second: list[Any]) -> list[Any]:
    """Return what both branches assign, each with its choice; what they declare has any value elsewhere."""
    places = [c_text(item.lvalue) for item in first if isinstance(item, c_ast.Assignment)]
    own = {item.name for item in (*first, *second) if isinstance(item, c_ast.Decl)}
    others = [c_text(item.lvalue) for item in second if isinstance(item, c_ast.Assignment)]
    if places == others and len({*places}) == len(places) and not own:
        pairs = [(one, one.lvalue, one.rvalue, other.rvalue) for one, other in zip(first, second, strict=True)]
    else:
        pairs = [(one, *_sides(one, own)) for one in first]
        pairs += [(one, place, other, then) for one in second for place, then, other in [_sides(one, own)]]
    made = []
    for item, place, then, other in pairs:
        value = None if then is None or other is None else c_ast.TernaryOp(node.cond, then, other, node.coord)
        if isinstance(item, c_ast.Assignment):
            item = c_ast.Assignment("=", place, value, place.coord)
        else:
            item = copy.copy(item)
            item.init = value
        made.append(item)
    return made


def _sides(item: Any, own: Set[str]) -> tuple[Any, Any, Any]:
    """Return a place, its value where its branch is taken, and where it is not: any one if the branch declares it."""
    zero = c_ast.Constant("int", "0", item.coord)
    if isinstance(item, c_ast.Decl):
        return None, item.init, zero
    return item.lvalue, item.rvalue, zero if _written(item) in own else item.lvalue


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
    if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.TypeDecl):
        return [node]
    if not isinstance(node, c_ast.Assignment):
        return None
    first: list[Any] | None = []
    value = node.rvalue
    if isinstance(value, c_ast.Assignment):
        first, value = _assignments(value), value.lvalue
    if node.op != "=":
        value = c_ast.BinaryOp(node.op[:-1], node.lvalue, value, node.coord)
    return None if first is None else [*first, c_ast.Assignment("=", node.lvalue, value, node.coord)]


def _written(item: Any) -> str:
    return str(getattr(item if isinstance(item, c_ast.Decl) else element_of(item.lvalue)[0], "name", ""))
