"""Pieces of Python's syntax that the translation asks for, and pieces of C's that it makes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from pycparser import c_ast

from shorthaul.affine.frontend.rewriting.structures import scalar_type
from shorthaul.core.errors import InputError

#: What makes arrays: True if their elements are 0.
#: Words of C, which no name may be.
KEYWORDS = {
    *("auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern"),
    *("float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed"),
    *("sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while"),
}
NEW = {"zeros": True, "empty": False}
#: Numbers of ``math`` and ``numpy``, in C.
NUMBERS = {"pi": "3.141592653589793", "e": "2.718281828459045", "inf": "INFINITY", "nan": "NAN"}
#: Annotations of numbers.
REALS = {"float", "np.float64", "np.float32"}
_CURE = "write loops over range, conditions on iterators and sizes, and assignments to elements"

Tree = TypeVar("Tree")


@dataclass(frozen=True, slots=True)
class Coord:
    """A place in the file, as nodes of C have it."""

    line: int
    column: int


def coord_of(node: Any) -> Coord:
    """Return the place of ``node``, as nodes of C have it."""
    return Coord(node.lineno, node.col_offset + 1)


def is_python(text: str, suffix: str) -> bool:
    r"""Return whether ``text`` is Python: by the end of its file's name, or as it defines a function.

    >>> is_python("def f(A):\n  A[0] = 1\n", ""), is_python("void f(int def) {}", ".c")
    (True, False)
    """
    return suffix == ".py" or (suffix == "" and re.search(r"^def\s+\w+\s*\(", text, re.MULTILINE) is not None)


def is_integer(node: ast.expr, integers: Set[str]) -> bool:
    """Return whether an expression is one of whole numbers and of the names of ``integers``."""
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        return not isinstance(node.op, ast.Div) and all(is_integer(item, integers) for item in sides)
    return number_of(node) is not None or (isinstance(node, ast.Name) and node.id in integers)


def as_real(value: Any) -> Any:
    """Return what is divided, as no integer of C, whose quotients have no fractions."""
    if isinstance(value, c_ast.Constant):
        return c_ast.Constant("double", value.value + ("" if value.type == "double" else ".0"), value.coord)
    kind = c_ast.TypeDecl(None, [], None, c_ast.IdentifierType(["double"]))
    return c_ast.Cast(c_ast.Typename(None, [], None, kind), value, value.coord)


def fail(node: Any, problem: str, cure: str = _CURE) -> NoReturn:
    """Raise the error that ``node`` is what ``problem`` says."""
    place = f"line {node.lineno} column {node.col_offset + 1}"
    raise InputError(problem, place=place, value=ast.unparse(node)[:80], cure=cure)


# -- pieces of Python


def copied(node: Tree) -> Tree:
    """Return a copy of a syntax tree, in a fifth of the time that ``copy.deepcopy`` takes."""
    made: Any = [copied(item) for item in node] if isinstance(node, list) else node
    if isinstance(node, ast.AST) and vars(node):  # of those that hold nothing, as Load, the parser has one alone
        made = type(node)()
        for name, value in vars(node).items():
            setattr(made, name, copied(value))
    return made  # type: ignore[no-any-return]


def names_in(node: ast.AST) -> Iterator[ast.Name]:
    """Return all names inside ``node``."""
    return (item for item in ast.walk(node) if isinstance(item, ast.Name))


def assigned_names(node: ast.AST) -> list[str]:
    """Return the plain names that a statement assigns."""
    if isinstance(node, ast.Assign):
        found = [item for target in node.targets for item in getattr(target, "elts", [target])]
    elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For):
        found = [node.target]
    else:
        return []
    return [item.id for item in found if isinstance(item, ast.Name)]


def base_of(node: ast.expr) -> tuple[ast.expr, list[ast.expr]]:
    """Return what is subscripted, and its subscripts: A[i][j] and A[i, j] alike."""
    subscripts: list[ast.expr] = []
    while isinstance(node, ast.Subscript):
        inner = node.slice
        subscripts[:0] = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        node = node.value
    return node, subscripts


def shape_of(node: ast.expr) -> tuple[str, int | None] | None:
    """Return the array and the axis of ``A.shape[0]`` or ``len(A)``; the axis is None for ``A.shape``."""
    if isinstance(node, ast.Call) and called_name(node) == "len" and len(node.args) == 1:
        return (node.args[0].id, 0) if isinstance(node.args[0], ast.Name) else None
    axis = None
    if isinstance(node, ast.Subscript):
        axis = number_of(node.slice)
        if axis is None or axis < 0:
            return None
        node = node.value
    if isinstance(node, ast.Attribute) and node.attr == "shape" and isinstance(node.value, ast.Name):
        return node.value.id, axis
    return None


def new_extents(node: ast.expr) -> list[ast.expr] | None:
    """Return the extents of ``np.zeros((n, m))`` or ``np.empty(n)``."""
    if not isinstance(node, ast.Call) or called_name(node) not in NEW or len(node.args) != 1:
        return None
    shape = node.args[0]
    return list(shape.elts) if isinstance(shape, ast.Tuple | ast.List) else [shape]


def called_name(node: ast.Call) -> str:
    """Return the name of a function, of a module or not."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr if isinstance(node.func.value, ast.Name) else ""
    return node.func.id if isinstance(node.func, ast.Name) else ""


def number_of(node: ast.expr) -> int | None:
    """Return the integer that ``node`` is, None if it is no such constant."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if type(value) is int else None


def is_number(node: ast.expr) -> bool:
    """Return whether an expression is a number, or arithmetic of numbers."""
    plain = ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop | ast.Constant
    return all(isinstance(part, plain) for part in ast.walk(node))


def is_text(node: ast.stmt) -> bool:
    """Return whether a statement is a comment in quotes."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


# -- pieces of C


def array_type(name: str, extents: Sequence[Any]) -> Any:
    """Return the type of an array of numbers; an extent of None is not known."""
    kind = scalar_type(name, "double")
    for extent in reversed(extents):
        kind = c_ast.ArrayDecl(kind, extent, [])
    return kind


def call_of(name: str, values: Sequence[Any], at: Any) -> Any:
    """Return a call."""
    return c_ast.FuncCall(c_ast.ID(name, at), c_ast.ExprList(list(values), at), at)


def minus(node: Any, amount: int) -> Any:
    """Return ``node`` less a number."""
    if amount == 0:
        return node
    if amount < 0:
        return c_ast.BinaryOp("+", node, c_ast.Constant("int", str(-amount), node.coord), node.coord)
    return c_ast.BinaryOp("-", node, c_ast.Constant("int", str(amount), node.coord), node.coord)


def one_of(values: Sequence[Any], operator: str, at: Any) -> Any:
    """Return what ``and`` and ``or`` of numbers are, one of these, as a choice in C."""
    result = values[-1]
    for item in reversed(values[:-1]):
        result = c_ast.TernaryOp(item, *((item, result) if operator == "||" else (result, item)), at)
    return result


def is_test(node: ast.expr) -> bool:
    """Return whether an expression is true or false, so that ``and`` and ``or`` are as well."""
    inner = node.values if isinstance(node, ast.BoolOp) else []
    negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return isinstance(node, ast.Compare) or negated or (bool(inner) and all(map(is_test, inner)))
