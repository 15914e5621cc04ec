"""Constant integer expressions of C."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from pycparser import c_ast, c_parser

from shorthaul.affine.frontend.rewriting.trees import names_in

_OF_REALS = (
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh"),
    *("erf", "erfc", "exp", "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax", "fmin", "fmod", "hypot"),
    *("ldexp", "lgamma", "log", "log10", "log1p", "log2", "logb", "nearbyint", "pow", "remainder", "rint"),
    *("round", "sin", "sinh", "sqrt", "tan", "tanh", "tgamma", "trunc"),
)
_OF_OTHERS = ("abs", "labs", "llabs", "max", "min", "MAX", "MIN")
#: Functions without side effects that are called by their names.
PURE = {*_OF_OTHERS, *(f"{name}{kind}" for name in _OF_REALS for kind in ("", "f", "l"))}
#: Names of numbers that no literal of C is: they stay in the program.
NO_LITERALS = {"INFINITY", "NAN", "HUGE_VAL", "HUGE_VALF"}
#: Divisions that round up or down, as functions of dividend and divisor.
ROUNDED = {"floord": "floor", "floor_div": "floor", "floor_mod": "mod", "ceild": "ceil", "ceil_div": "ceil"}

_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<<": lambda a, b: a << b if 0 <= b < 64 else 0,
    ">>": lambda a, b: a >> b if 0 <= b < 64 else 0,
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
        if inner is None or node.op not in {"-", "+", "!", "~"}:
            return None
        return {"-": -inner, "+": inner, "!": int(not inner), "~": ~inner}[node.op]
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


_LEAST_SIZE: Final = 2


def numbers_in_control(nodes: Iterable[Any], macros: Mapping[str, int], *, subscripts: bool = False) -> dict[str, int]:
    """Return the integer macros that have to be numbers: steps of loops, divisors, factors of iterators in headers.

    With ``subscripts`` also factors of iterators there and in what declarations set, as ``int y = i * STRIDE + k``,
    which otherwise may be lengths of rows.

    Such a macro, as the edge of tiles, is its number everywhere; a loop step of 32 with bounds in a parameter T would
    be another program for every other T. So is one below 2, which is no size: ``#define RED 0``.

    >>> tree = c_parser.CParser().parse("void f(){ for (i = 0; i < N; i += T) a[i / W] = b[i] / M; }")
    >>> numbers_in_control([tree], {"N": 9, "T": 3, "W": 2, "M": 7})
    {'T': 3, 'W': 2}
    """
    found = {name: value for name, value in macros.items() if value < _LEAST_SIZE}
    waiting: list[tuple[Any, str]] = [(node, "data") for node in nodes]
    while waiting:
        node, where = waiting.pop()
        numbers: list[Any] = []
        if isinstance(node, c_ast.For):
            numbers = [node.next]
            headers = [node.init, node.cond]
            waiting += [(item, "header") for item in headers if item is not None] + [(node.stmt, "data")]
        elif isinstance(node, c_ast.If):
            rest = (node.iftrue, node.iffalse)
            waiting += [(node.cond, "header"), *((item, "data") for item in rest if item is not None)]
        elif isinstance(node, c_ast.ArrayRef):
            waiting += [(node.name, "data"), (node.subscript, "subscript")]
        elif isinstance(node, c_ast.Decl) and node.init is not None and subscripts:
            waiting.append((node.init, "subscript"))
        else:
            if isinstance(node, c_ast.FuncCall) and where != "data" and node.args is not None:
                numbers = node.args.exprs[1:] if getattr(node.name, "name", "") in ROUNDED else []
            if isinstance(node, c_ast.BinaryOp) and where != "data":
                divides = node.op in {"/", "%", "<<", ">>"}
                numbers = [node.right] if divides else []
                if node.op == "*" and (where == "header" or subscripts):
                    pairs = ((node.left, node.right), (node.right, node.left))
                    numbers = [one for one, other in pairs if constant(other, macros) is None]
            waiting += [(child, where) for _, child in node.children()]
        for item in numbers:
            found |= {name: macros[name] for name in names_in([] if item is None else [item]) if name in macros}
    return dict(sorted(found.items()))
