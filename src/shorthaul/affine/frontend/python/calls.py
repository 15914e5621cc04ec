"""Calls and loops of Python as simpler ones: functions of the file, copies, choices, loops over elements."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from shorthaul.affine.frontend.python.array_pieces import replaced
from shorthaul.affine.frontend.python.pieces import base_of, called_name, fail, is_text, names_in

_CURE = "let it return one expression of its parameters and of globals, or write it out"


class Plain(ast.NodeTransformer):
    r"""Puts simpler expressions and loops in the place of others; ``functions`` are those of the file.

    >>> text = "def half(x): return x / 2\ndef f(a, b):\n for i, v in enumerate(a):\n  b[i] = half(np.square(v))"
    >>> half, function = ast.parse(text).body
    >>> print(ast.unparse(Plain([half], function, {}).visit(function)))
    def f(a, b):
        for i in range(len(a)):
            v = a[i]
            b[i] = v * v / 2
    """

    def __init__(
        self, functions: Iterable[ast.FunctionDef], function: ast.FunctionDef, axes: Mapping[str, int]
    ) -> None:
        self.functions = {item.name: _value(item) for item in functions}
        self.axes = axes
        self.taken = {item.id for item in names_in(function)}
        self.own = {item.arg for item in ast.walk(function.args) if isinstance(item, ast.arg)}
        self.own |= {item.id for item in names_in(function) if isinstance(item.ctx, ast.Store)}
        self.open: frozenset[str] = frozenset()

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return what a call stands for."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in {*self.functions} - self.own:
            made = self._inside(node)
        else:
            made = self._copy(node) or self._number(node) or self._choice(node)
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
        if (
            isinstance(call, ast.Call)
            and name == "enumerate"
            and len(pair) == 2
            and len(call.args) == 1
            and not call.keywords
        ):
            given, targets = call.args, pair[1:]
        changed = {name for item in (node.target, *node.body) for name in _stored(item)}
        if any(isinstance(item, ast.Name) and item.id in changed for item in given):
            return fail(node, "what is looped over gets another value", "loop over indices: for i in range(len(a))")
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
        if (
            not node.keywords
            and called_name(node) in {"copy", "array"}
            and len(node.args) == 1
            and isinstance(node.args[0], kind)
        ):
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

    def _choice(self, node: ast.Call) -> ast.expr | None:
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
            array = given[0].id
            if not self.axes.get(array):
                cure = f"write {array}[1:] - {array}[:-1] for a vector, or name the extents, n, m = {array}.shape"
                fail(node, f"nothing tells how many axes {array} has", cure)
            ends = ast.Slice(ast.Constant(1)), ast.Slice(None, ast.Constant(-1))
            before: list[ast.expr] = [ast.Slice()] * (self.axes[array] - 1)
            parts = [ast.Tuple([*before, end], ast.Load()) if before else end for end in ends]
            later, earlier = (ast.Subscript(given[0], part, ast.Load()) for part in parts)
            return ast.BinOp(later, ast.Sub(), earlier)
        return None

    def _inside(self, node: ast.Call) -> ast.expr | None:
        """Return what a function of the file returns, with arguments in place of parameters."""
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        parameters, value = self.functions[name] or ((), None)
        if value is None or name in self.open or node.keywords or len(parameters) != len(node.args):
            return fail(node, f"the function {name} is not understood", _CURE)
        hidden = {item.id for item in names_in(value)} - {*parameters} & self.own
        if hidden:
            return fail(node, f"{name} reads a global that is hidden here: {min(hidden)}", "rename it in one of both")
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
    roots = [base_of(name)[0] for name in names]
    bases = [root.id if isinstance(root, ast.Name) else "" for root in roots]
    read = {item.id for one in values for item in names_in(one)}
    whole = any(isinstance(name, ast.Name) and arrays.get(name.id) and name.id in read for name in names)
    if len(names) != len(values) or whole or not all(isinstance(name, ast.Name | ast.Subscript) for name in names):
        return [node]
    before, after = [], []
    for at, (name, one) in enumerate(zip(names, values, strict=True)):
        if {item.id for item in names_in(one)} & {*bases[:at]}:
            root, subscripts = base_of(one)
            axes = arrays.get(root.id, 0) if isinstance(root, ast.Name) else 0
            axes -= sum(not isinstance(item, ast.Slice) for item in subscripts)
            if axes > 0 or isinstance(one, ast.Attribute):
                fail(
                    node, "parts of arrays are assigned at once, the later from what changes", "copy them: a[i].copy()"
                )
            held = new_name("held")
            before.append(ast.Assign([ast.Name(held, ast.Store())], one))
            one = ast.Name(held, ast.Load())
        after.append(ast.Assign([name], one))
    return [ast.fix_missing_locations(ast.copy_location(item, node)) for item in (*before, *after)]


def _stored(node: ast.AST) -> set[str]:
    """Return the names that a statement sets."""
    return {item.id for item in names_in(node) if isinstance(item.ctx, ast.Store)}
