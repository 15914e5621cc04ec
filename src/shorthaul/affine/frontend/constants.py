"""Constant integer expressions of C."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from pycparser import c_ast, c_parser

_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "&&": lambda a, b: int(bool(a) and bool(b)),
    "||": lambda a, b: int(bool(a) or bool(b)),
}


def constant_value(text: str) -> int | None:
    """Return the value of a constant integer expression in C, None if it is not one.

    >>> constant_value("!(1 && 0) || 3 < 2")
    1
    """
    try:
        tree = c_parser.CParser().parse(f"int x = ({text});")
    except c_parser.ParseError:
        return None
    return constant(tree.ext[0].init, {})


def constant(node: Any, known: Mapping[str, int]) -> int | None:
    """Return the integer that the expression ``node`` stands for when the names of ``known`` have their values."""
    if isinstance(node, c_ast.Constant):
        return _literal(node.value)
    if isinstance(node, c_ast.ID):
        return known.get(node.name)
    if isinstance(node, c_ast.Cast):
        return constant(node.expr, known)
    if isinstance(node, c_ast.UnaryOp):
        inner = constant(node.expr, known)
        if inner is None or node.op not in {"-", "+", "!"}:
            return None
        return {"-": -inner, "+": inner, "!": int(not inner)}[node.op]
    if isinstance(node, c_ast.BinaryOp):
        left, right = constant(node.left, known), constant(node.right, known)
        if left is None or right is None:
            return None
        if node.op in {"/", "%"}:
            return _divided(left, right, node.op)
        return _OPERATORS[node.op](left, right) if node.op in _OPERATORS else None
    return None


def _divided(left: int, right: int, op: str) -> int | None:
    if right == 0:
        return None
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)  # C rounds towards zero
    return quotient if op == "/" else left - quotient * right


def _literal(text: str) -> int | None:
    try:
        return int(text.rstrip("uUlL"), 0)
    except ValueError:
        return None
