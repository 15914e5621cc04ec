"""Calls and loops of Python as simpler ones: functions of the file, copies, choices, loops over elements."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from shorthaul.affine.frontend.python.array_pieces import MODULES, replaced
from shorthaul.affine.frontend.python.pieces import base_of, called_name, copied, fail, is_text, names_in, shape_of

_CURE = "let it return a value of its parameters and of globals, computed without loops, or write it out"
#: Nodes of what a function returns: names that are used twice double them.
_MOST_NODES = 2_000


_OF_MEANS = {"axis", "keepdims"}


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
        self.definitions = {item.name: item for item in functions}
        self.functions = {name: _value(item) for name, item in self.definitions.items()}
        self.axes = axes
        self.taken = {item.id for item in names_in(function)}
        self.own = {item.arg for item in ast.walk(function.args) if isinstance(item, ast.arg)}
        self.own |= {item.id for item in names_in(function) if isinstance(item.ctx, ast.Store)}
        self.open: frozenset[str] = frozenset()
        shapes = (shape_of(item) for item in ast.walk(function) if isinstance(item, ast.expr))
        self.lengths = {shape[0] for shape in shapes if shape is not None}

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return what a call stands for."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in {*self.functions} - self.own:
            made = self._inside(node)
        else:
            made = self._copy(node) or self._number(node) or self._choice(node) or _variance(node)
        return node if made is None else ast.copy_location(made, node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        """Return the statements of a function of the file that is called for what it does to arrays."""
        call = node.value
        name = called_name(call) if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
        if not isinstance(call, ast.Call) or name in self.own or name not in self.definitions:
            return self.generic_visit(node)
        around, self.open = self.open, self.open | {name}
        made = None if name in around else self._written_out(self.definitions[name], call)
        if made is None:
            cure = "let it change arrays, not its parameters, and return at its end; give it names and sums of numbers"
            fail(node, f"the function {name} is not understood", cure)
        found = [self.visit(item) for item in made]
        self.open = around
        return [one for item in found for one in (item if isinstance(item, list) else [item])]

    def _written_out(self, function: ast.FunctionDef, call: ast.Call) -> list[ast.stmt] | None:
        """Return a function's statements, arguments in place of its parameters and new names in place of its own.

        None if they may change what an argument is, or return before their end.
        """
        given = None if function.args.vararg or function.args.kwarg else _bound(function.args, call)
        body = [item for item in function.body if not is_text(item)]
        body = body[:-1] if body and isinstance(body[-1], ast.Return) else body
        inside = [node for item in body for node in ast.walk(item)]
        stored = {name for item in body for name in _stored(item)}
        read = {node.id for node in inside if isinstance(node, ast.Name)} - stored
        refused = ast.Return | ast.FunctionDef | ast.Lambda | ast.Global | ast.Nonlocal
        if given is None or stored & given.keys() or any(isinstance(node, refused) for node in inside):
            return None
        arguments = [node for value in given.values() for node in ast.walk(value)]
        if any(isinstance(node, ast.Subscript | ast.Attribute) for node in arguments) or read - {*given} & self.own:
            return None
        body = _without_shapes(body, given)
        for name in sorted(stored - given.keys()):
            made = next(f"{name}_{at}" for at in count() if f"{name}_{at}" not in self.taken)
            self.taken.add(made)
            given[name] = ast.Name(made, ast.Load())
        return [replaced(item, given) for item in body]

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Return ``len(a)`` for ``a.size`` of a vector."""
        self.generic_visit(node)
        name = node.value.id if node.attr == "size" and isinstance(node.value, ast.Name) else ""
        is_vector = name and self.axes.get(name, 2 if name[0].isupper() else 1) == 1
        made = ast.Call(ast.Name("len", ast.Load()), [node.value], []) if is_vector else node
        return ast.copy_location(made, node)

    def visit_For(self, node: ast.For) -> ast.AST:
        """Return a loop over indices for one over elements, and over a range for one that Numba runs in parallel."""
        call = node.iter
        if isinstance(call, ast.Call) and called_name(call) == "prange":
            call.func = ast.copy_location(ast.Name("range", ast.Load()), call)
        index, target = None, node.target
        counted = call.args if isinstance(call, ast.Call) and called_name(call) == "enumerate" else []
        if len(counted) == 1 and isinstance(target, ast.Tuple) and len(target.elts) == 2 and not call.keywords:  # type: ignore[attr-defined]
            (index, target), call = target.elts, counted[0]
        given: list[ast.expr] = [call] if isinstance(call, ast.Name) else []
        targets = [target]
        several = target.elts if isinstance(target, ast.Tuple) else []
        if isinstance(call, ast.Call) and called_name(call) == "zip" and len(several) == len(call.args):
            given, targets = call.args, several
        changed = {name for item in (node.target, *node.body) for name in _stored(item)}
        if any(isinstance(item, ast.Name) and item.id in changed for item in given):
            return fail(node, "what is looped over gets another value", "loop over indices: for i in range(len(a))")
        if given and all(isinstance(item, ast.Name) for item in (*given, *targets)):
            index = self._index() if index is None else index
            length = self._shortest(given)
            read = ast.Name(index.id, ast.Load()) if isinstance(index, ast.Name) else index
            node.body[:0] = [
                ast.copy_location(ast.Assign([target], ast.Subscript(item, read, ast.Load())), node)
                for target, item in zip(targets, given, strict=True)
            ]
            node.target = index
            node.iter = ast.copy_location(ast.Call(ast.Name("range", ast.Load()), [length], []), node.iter)
        self.generic_visit(node)
        return ast.fix_missing_locations(node)

    def _shortest(self, given: Sequence[ast.expr]) -> ast.expr:
        """Return how far arrays go beside one another: those whose length is told nowhere are as long as the first."""
        names = list(dict.fromkeys(item.id for item in given if isinstance(item, ast.Name)))
        told = [name for name in names if name in self.lengths] or names[:1]
        arrays = [ast.Name(name, ast.Load()) for name in told]
        lengths: list[ast.expr] = [ast.Call(ast.Name("len", ast.Load()), [item], []) for item in arrays]
        return ast.Call(ast.Name("min", ast.Load()), lengths, []) if lengths[1:] else lengths[0]

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
        module = isinstance(node.func.value, ast.Name) and node.func.value.id in MODULES
        if node.func.attr == "clip" and len(given) == 2 and not module:
            name = "clip"
            given = [node.func.value, *given]
            node.func.value = ast.Name("np", ast.Load())
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
        parameters, value = self.functions[name] or (None, None)
        given = None if parameters is None or name in self.open else _bound(parameters, node)
        if value is None or given is None:
            return fail(node, f"the function {name} is not understood", _CURE)
        hidden = {item.id for item in names_in(value)} - {*given} & self.own
        if hidden:
            return fail(node, f"{name} reads a global that is hidden here: {min(hidden)}", "rename it in one of both")
        around, self.open = self.open, self.open | {name}
        made: ast.expr = self.visit(replaced(value, given))
        self.open = around
        return made


def _folded(items: Sequence[ast.stmt], known: dict[str, ast.expr]) -> ast.expr | None:
    """Return what statements return, with values in place of the names that they set; None if that is not one value."""
    for at, item in enumerate(items):
        if isinstance(item, ast.Return) and item.value is not None:
            return replaced(item.value, known)
        if isinstance(item, ast.If):
            rest = items[at + 1 :]
            then, other = (_folded([*part, *rest], known) for part in (item.body, item.orelse))
            test = replaced(item.test, known)
            return None if then is None or other is None else ast.IfExp(test, then, other)
        target = item.targets[0] if isinstance(item, ast.Assign) else getattr(item, "target", None)
        if not isinstance(item, ast.Assign | ast.AugAssign) or not isinstance(target, ast.Name):
            return None
        value = replaced(item.value, known)
        if isinstance(item, ast.AugAssign):
            before = known.get(target.id)
            if not isinstance(before, ast.Constant | ast.BinOp | ast.UnaryOp | ast.IfExp):
                return None  # of an array the caller's own may be changed
            value = ast.BinOp(before, item.op, value)
        known = {**known, target.id: value}
        if len(getattr(item, "targets", [0])) > 1 or sum(1 for _ in ast.walk(value)) > _MOST_NODES:
            return None
    return None


def _value(function: ast.FunctionDef) -> tuple[ast.arguments, ast.expr] | None:
    """Return the parameters and the value of a function that returns one expression of them, None of another one."""
    value = _folded([item for item in function.body if not is_text(item)], {})
    if value is None or function.args.vararg or function.args.kwarg:
        return None
    return function.args, value


def _without_shapes(body: Sequence[ast.stmt], given: dict[str, ast.expr]) -> list[ast.stmt]:
    """Return statements without those that name extents of ``given`` arrays; add to it what these names stand for."""
    stores = [node.id for item in body for node in names_in(item) if isinstance(node.ctx, ast.Store)]
    result = []
    for item in body:
        array, axis = (shape_of(item.value) if isinstance(item, ast.Assign) else None) or ("", None)
        target = item.targets[0] if isinstance(item, ast.Assign) and len(item.targets) == 1 else None
        names = target.elts if isinstance(target, ast.Tuple) and axis is None else [] if axis is None else [target]
        meant = given.get(array)
        if not (
            isinstance(meant, ast.Name)
            and names
            and all(isinstance(name, ast.Name) and stores.count(name.id) == 1 for name in names)
        ):
            result.append(item)
            continue
        for at, name in enumerate(names):
            assert isinstance(name, ast.Name)
            shape = ast.Attribute(ast.Name(meant.id, ast.Load()), "shape", ast.Load())
            place = ast.Constant(at if axis is None else axis)
            given[name.id] = ast.copy_location(ast.Subscript(shape, place, ast.Load()), item)
    return result


def _bound(parameters: ast.arguments, call: ast.Call) -> dict[str, ast.expr] | None:
    """Return the arguments of a call by the names of parameters, None if it does not fit them."""
    first = [item.arg for item in (*parameters.posonlyargs, *parameters.args)]
    others = [item.arg for item in parameters.kwonlyargs]
    given: dict[str, ast.expr] = dict(zip(reversed(first), reversed(parameters.defaults), strict=False))
    given |= {name: value for name, value in zip(others, parameters.kw_defaults, strict=True) if value is not None}
    named = {item.arg or "": item.value for item in call.keywords}
    placed = dict(zip(first, call.args, strict=False))
    fits = len(call.args) <= len(first) and not named.keys() & placed.keys()
    given |= {**placed, **named}
    return given if fits and given.keys() == {*first, *others} else None


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


def _variance(node: ast.Call) -> ast.expr | None:
    """Return ``np.var(x, axis=0)`` and ``x.std()`` by means of a named array, None for other calls."""
    name, given = called_name(node), node.args
    if isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") not in MODULES:
        given = [node.func.value, *given]
    options = {item.arg for item in node.keywords}
    if name not in {"var", "std"} or len(given) != 1 or not isinstance(given[0], ast.Name) or options - _OF_MEANS:
        return None
    axis = [item for item in node.keywords if item.arg == "axis"]
    kept = [*axis, ast.keyword("keepdims", ast.Constant(True))] if axis else []
    mean = ast.Call(ast.Attribute(copied(given[0]), "mean", ast.Load()), [], copied(kept))
    square = ast.BinOp(ast.BinOp(copied(given[0]), ast.Sub(), mean), ast.Pow(), ast.Constant(2))
    made = ast.Call(ast.Attribute(square, "mean", ast.Load()), [], node.keywords)
    root = ast.Attribute(ast.Name("np", ast.Load()), "sqrt", ast.Load())
    return ast.fix_missing_locations(ast.copy_location(ast.Call(root, [made], []) if name == "std" else made, node))
