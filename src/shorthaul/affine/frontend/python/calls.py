"""Calls and loops of Python as simpler ones: functions of the file, copies, choices, loops over elements."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from shorthaul.affine.frontend.python.array_pieces import replaced
from shorthaul.affine.frontend.python.pieces import called_name, is_text, names_in


class Plain(ast.NodeTransformer):
    r"""Puts simpler expressions and loops in the place of others; ``functions`` are those of the file.

    >>> text = "def half(x): return x / 2\ndef f(a, b):\n for i, v in enumerate(a):\n  b[i] = half(np.square(v))"
    >>> half, function = ast.parse(text).body
    >>> print(ast.unparse(Plain([half], "ab").visit(function)))
    def f(a, b):
        for i in range(len(a)):
            v = a[i]
            b[i] = v * v / 2
    """

    def __init__(self, functions: Iterable[ast.FunctionDef], taken: Iterable[str]) -> None:
        self.values = {item.name: made for item in functions if (made := _value(item)) is not None}
        self.taken = {*taken}
        self.open: frozenset[str] = frozenset()

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return what a call stands for."""
        self.generic_visit(node)
        made = self._copy(node) or self._number(node) or self._choice(node) or self._inside(node)
        return node if made is None else ast.copy_location(made, node)

    def visit_For(self, node: ast.For) -> ast.AST:
        """Return a loop over indices for one over elements, and over a range for one that Numba runs in parallel."""
        call = node.iter
        if isinstance(call, ast.Call) and called_name(call) == "prange":
            call.func = ast.copy_location(ast.Name("range", ast.Load()), call)
        name = called_name(call) if isinstance(call, ast.Call) else ""
        given: list[ast.expr] = [call] if isinstance(call, ast.Name) else []
        targets = [node.target]
        pair = node.target.elts if isinstance(node.target, ast.Tuple) else []
        if isinstance(call, ast.Call) and name == "zip" and len(pair) == len(call.args):
            given, targets = call.args, pair
        if isinstance(call, ast.Call) and name == "enumerate" and len(pair) == 2 and len(call.args) == 1:
            given, targets = call.args, pair[1:]
        if given and all(isinstance(item, ast.Name) for item in (*given, *targets)):
            index = pair[0] if name == "enumerate" else self._index()
            first, *_ = given
            length = ast.Call(ast.Name("len", ast.Load()), [first], [])
            read = ast.Name(index.id, ast.Load()) if isinstance(index, ast.Name) else index
            node.body[:0] = [
                ast.copy_location(ast.Assign([target], ast.Subscript(item, read, ast.Load())), node)
                for target, item in zip(targets, given, strict=True)
            ]
            node.target = index
            node.iter = ast.copy_location(ast.Call(ast.Name("range", ast.Load()), [length], []), call)
        self.generic_visit(node)
        return ast.fix_missing_locations(node)

    def _index(self) -> ast.Name:
        number = 0
        while (name := f"at_{number}_") in self.taken:
            number += 1
        self.taken.add(name)
        return ast.Name(name, ast.Store())

    @staticmethod
    def _copy(node: ast.Call) -> ast.expr | None:
        """Return ``+A`` for ``A.copy()``, ``np.copy(A)`` and ``np.array(A)``."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == "copy" and not node.args:
            return ast.UnaryOp(ast.UAdd(), node.func.value)
        kind = ast.Name | ast.Subscript | ast.Attribute
        if called_name(node) in {"copy", "array"} and len(node.args) == 1 and isinstance(node.args[0], kind):
            return ast.UnaryOp(ast.UAdd(), node.args[0])
        return None

    @staticmethod
    def _number(node: ast.Call) -> ast.expr | None:
        """Return numbers of NumPy for ``float("inf")`` and ``float("nan")``."""
        text = node.args[0].value if len(node.args) == 1 and isinstance(node.args[0], ast.Constant) else None
        word = text.lower().lstrip("+-") if isinstance(text, str) and called_name(node) == "float" else ""
        if word not in {"inf", "infinity", "nan"}:
            return None
        number = ast.Attribute(ast.Name("np", ast.Load()), word[:3], ast.Load())
        return ast.UnaryOp(ast.USub(), number) if str(text).startswith("-") else number

    @staticmethod
    def _choice(node: ast.Call) -> ast.expr | None:
        """Return ``a if c else b`` for ``np.where(c, a, b)``, and the extremes and differences that NumPy names."""
        name, given = called_name(node), node.args
        if not isinstance(node.func, ast.Attribute) or node.keywords:
            return None
        if name == "where" and len(given) == 3:
            return ast.IfExp(*given)
        if name == "clip" and len(given) == 3:
            least = ast.Call(ast.Attribute(node.func.value, "maximum", ast.Load()), given[:2], [])
            return ast.Call(ast.Attribute(node.func.value, "minimum", ast.Load()), [least, given[2]], [])
        if name == "square" and len(given) == 1:
            return ast.BinOp(given[0], ast.Mult(), given[0])
        if name == "diff" and len(given) == 1 and isinstance(given[0], ast.Name):
            later = ast.Subscript(given[0], ast.Slice(ast.Constant(1)), ast.Load())
            return ast.BinOp(later, ast.Sub(), ast.Subscript(given[0], ast.Slice(None, ast.Constant(-1)), ast.Load()))
        return None

    def _inside(self, node: ast.Call) -> ast.expr | None:
        """Return what a function of the file returns, with arguments in place of parameters."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        parameters, value = self.values.get(name, ((), None))
        if value is None or name in self.open or node.keywords or len(parameters) != len(node.args):
            return None
        around, self.open = self.open, self.open | {name}
        made: ast.expr = self.visit(replaced(value, dict(zip(parameters, node.args, strict=True))))
        self.open = around
        return made


def _value(function: ast.FunctionDef) -> tuple[tuple[str, ...], ast.expr] | None:
    """Return the parameters and the value of a function that returns one expression of them, None of another one."""
    body = [item for item in function.body if not is_text(item)]
    arguments: Any = function.args
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return None
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
        return None
    return tuple(item.arg for item in (*arguments.posonlyargs, *arguments.args)), body[0].value


def one_by_one(node: ast.stmt, arrays: Mapping[str, int], new_name: Any) -> list[ast.stmt]:
    """Return one assignment for every name or element of several that are assigned at once.

    A value that reads one assigned before it is computed first. Whole arrays that are read, too, stay together.
    """
    if not isinstance(node, ast.Assign):
        return [node]
    first, value = node.targets[0], node.value
    if isinstance(value, ast.Constant):
        names: list[ast.expr] = node.targets
        values: list[ast.expr] = [value] * len(node.targets)
    elif isinstance(first, ast.Tuple) and isinstance(value, ast.Tuple) and len(node.targets) == 1:
        names, values = first.elts, value.elts
    else:
        return [node]
    bases = [next((item.id for item in names_in(name)), "") for name in names]
    read = {item.id for one in values for item in names_in(one)}
    whole = any(isinstance(name, ast.Name) and arrays.get(name.id) and name.id in read for name in names)
    if len(names) != len(values) or whole or not all(isinstance(name, ast.Name | ast.Subscript) for name in names):
        return [node]
    before, after = [], []
    for at, (name, one) in enumerate(zip(names, values, strict=True)):
        if {item.id for item in names_in(one)} & {*bases[:at]}:
            held = new_name("held")
            before.append(ast.Assign([ast.Name(held, ast.Store())], one))
            one = ast.Name(held, ast.Load())
        after.append(ast.Assign([name], one))
    return [ast.fix_missing_locations(ast.copy_location(item, node)) for item in (*before, *after)]
