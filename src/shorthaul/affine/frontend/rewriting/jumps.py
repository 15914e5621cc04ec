"""Statements that jump, as branches: ``switch``, and ``break`` as the end of a loop without a condition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pycparser import c_ast

from shorthaul.affine.frontend.constants import constant
from shorthaul.affine.frontend.expressions import COMPARISONS, c_text
from shorthaul.affine.frontend.rewriting.counting import without_rest
from shorthaul.affine.frontend.rewriting.trees import copied, joined, nodes, rewritten, statements_of, target_of
from shorthaul.core.errors import InputError

_CONTROL = {
    "While": ("a while loop is not static control", "write it as a for loop whose bounds are affine"),
    "DoWhile": ("a do loop is not static control", "write it as a for loop whose bounds are affine"),
    "Break": ("break stands in no loop of the region", "put the rest of the region under an affine if"),
    "Continue": ("continue stands in no loop of the region", "put the rest of the body under an affine if"),
    "Goto": ("goto is not static control", "use for loops and affine conditions"),
    "Return": ("return is not static control", "end the region before it"),
    "Switch": ("switch is not static control", "use affine if conditions"),
}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def without_jumps(node: Any, numbers: Mapping[str, int]) -> Any:
    r"""Return a definition with branches for ``switch``, and with the conditions of loops that break, in place.

    Labels are ``numbers`` where these are macros or enumerators.

    >>> from pycparser import c_generator, c_parser
    >>> text = "void f(void) { switch (n) { case 1: case 2: a = 1; break; case 3: b = 1; default: c = 1; } }"
    >>> made = without_jumps(c_parser.CParser().parse(text).ext[0], {})
    >>> print(" ".join(c_generator.CGenerator().visit(made.body).split()))
    { if ((n == 1) || (n == 2)) { a = 1; } else if (n == 3) { b = 1; c = 1; } else { c = 1; } }
    """

    def change(item: Any) -> Any:
        return _with_condition(_branches(item, numbers) if isinstance(item, c_ast.Switch) else item)

    return rewritten(node, change)


def _branches(node: Any, numbers: Mapping[str, int]) -> Any:
    """Return a switch as branches, itself where its value is not one that stays."""
    items = statements_of(node.stmt)
    labels = [item for item in items if isinstance(item, c_ast.Case | c_ast.Default)]
    if len(labels) < len(items) or any(
        isinstance(each, c_ast.FuncCall) or target_of(each) for each in nodes([node.cond])
    ):
        return node
    made: Any = None
    groups: list[tuple[list[Any], list[Any]]] = [([], [])]  # labels one behind the other, and what follows the last one
    for at, item in enumerate(labels):
        groups[-1][0].append(item)
        if item.stmts or at == len(labels) - 1:
            rest = [each for later in labels[at:] for each in later.stmts or []]
            groups[-1][1].extend(without_rest(copied(rest), c_ast.Break))
            groups.append(([], []))
    others = [body for mine, body in groups if any(isinstance(item, c_ast.Default) for item in mine)]
    made = c_ast.Compound(others[0], node.coord) if others else None
    for mine, body in reversed(groups[:-1]):
        if body in others:
            continue
        values = [(item.expr, constant(item.expr, numbers)) for item in mine]
        labels = [one if value is None else c_ast.Constant("int", str(value), one.coord) for one, value in values]
        tests = [c_ast.BinaryOp("==", copied(node.cond), label, node.coord) for label in labels]
        made = c_ast.If(joined(tests, "||", node.coord), c_ast.Compound(body, node.coord), made, node.coord)
    return made or c_ast.EmptyStatement(node.coord)


def _with_condition(node: Any) -> Any:
    """Return a loop without a condition, that breaks at its begin or its end, as one with the condition."""
    if not isinstance(node, c_ast.For | c_ast.While) or getattr(node.cond, "value", "0" if node.cond else "1") == "0":
        return node
    items = statements_of(node.stmt)
    if items and (found := _broken(items[0])) is not None:
        node.cond, node.stmt = found, c_ast.Compound(items[1:], node.stmt.coord)
    elif items and isinstance(node, c_ast.While) and (found := _broken(items[-1])) is not None:
        return c_ast.DoWhile(found, c_ast.Compound(items[:-1], node.stmt.coord), node.coord)
    return node


def _broken(node: Any) -> Any:
    """Return on which condition ``if (...) break;`` does not break; None for other statements."""
    if not isinstance(node, c_ast.If) or node.iffalse is not None:
        return None
    if [type(item) for item in statements_of(node.iftrue)] != [c_ast.Break]:
        return None
    if isinstance(node.cond, c_ast.BinaryOp) and node.cond.op in COMPARISONS:
        return c_ast.BinaryOp(_OPPOSITE[node.cond.op], node.cond.left, node.cond.right, node.cond.coord)
    return c_ast.UnaryOp("!", node.cond, node.cond.coord)


def require_static_control(node: Any, place: str) -> None:
    """Raise for a statement at ``place`` that is a loop or a jump of other kinds than those that are read."""
    found = _CONTROL.get(type(node).__name__)
    if found is not None:
        raise InputError(found[0], place=place, value=c_text(node)[:80], cure=found[1])
