"""Arrays that Python makes in other words than ``np.zeros`` and ``np.empty``, and sums written as ``sum(... for ...)``.

``u = np.ones(n)``, ``[0.0] * n``, ``np.zeros_like(A)`` become new arrays with loops that fill them, ``sum(a[k] for k in
range(n))`` a number and a loop in front of its statement, everything in Python's own syntax, which is translated then.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from shorthaul.affine.frontend.python.array_pieces import Replaced, nest, placed, replaced, stored, subscript
from shorthaul.affine.frontend.python.array_views import Views
from shorthaul.affine.frontend.python.calls import Plain, one_by_one
from shorthaul.affine.frontend.python.pieces import NEW, called_name, copied, fail, is_number, names_in, number_of

_ZERO, _ONE = ast.Constant(0.0), ast.Constant(1.0)
_FILLED = {"zeros": _ZERO, "ones": _ONE, "empty": None}
#: What a call or a list makes: its extents, and the value of its elements (None: any).
_Made: TypeAlias = "tuple[list[ast.expr], ast.expr | None]"
_FIRST = {"sum": "0.0", "max": "-np.inf", "min": "np.inf"}


def in_usual_words(function: ast.FunctionDef, others: Iterable[ast.FunctionDef] = ()) -> ast.FunctionDef:
    r"""Return ``function`` with usual makers of arrays, loops for generators, and types of arguments with defaults.

    ``others`` are functions of the file that it may call.

    >>> text = "def f(A, b, c=0.5):\n u = np.ones(3)\n s = 2 * sum(A[k] for k in range(3))"
    >>> print(ast.unparse(in_usual_words(ast.parse(text).body[0])))
    def f(A, b, c: float=0.5):
        u = np.empty((3,))
        for at_0 in range(3):
            u[at_0] = 1.0
        sum_0 = 0.0
        for k in range(3):
            sum_0 += A[k]
        s = 2 * sum_0
    """
    made = copied(function)
    arguments = made.args
    positional = [*arguments.posonlyargs, *arguments.args]
    given: list[tuple[ast.arg, ast.expr | None]] = list(
        zip(reversed(positional), reversed(arguments.defaults), strict=False)
    )
    given += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    for argument, default in given:
        kind = type(getattr(default, "value", None))
        if argument.annotation is None and kind in {int, float}:
            argument.annotation = ast.Name(kind.__name__, ast.Load())
    arguments.args += arguments.kwonlyargs
    arguments.defaults += filter(None, arguments.kw_defaults)
    arguments.kwonlyargs, arguments.kw_defaults = [], []
    plain = Plain(others, function, Views(made).ranks)
    plain.generic_visit(made)
    made.body = _Words(made).block(made.body)
    return ast.fix_missing_locations(made)


def with_constants(function: ast.FunctionDef, items: Iterable[ast.stmt]) -> ast.FunctionDef:
    """Return ``function`` with the numbers, and lists of numbers, that ``items`` of its file name."""
    own = {item.arg for item in ast.walk(function) if isinstance(item, ast.arg)}
    own |= {item.id for item in names_in(function) if isinstance(item.ctx, ast.Store)}
    read = {item.id for item in names_in(function)} - own
    given = {ast.unparse(item.targets[0]): item for item in items if isinstance(item, ast.Assign)}
    values = {name: given[name].value for name in sorted(read & given.keys())}
    plain = {name: value for name, value in values.items() if is_number(value) and number_of(value) is None}
    made = replaced(function, plain)
    made.body[:0] = [copied(given[name]) for name, value in values.items() if not is_number(value) and _numbers(value)]
    return made


class _Words:
    """Puts one function into other words."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self.names = {item.id for item in names_in(function)}
        self.axes = Views(function).ranks

    def block(self, items: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return statements in usual words."""
        result: list[ast.stmt] = []
        for item in (one for each in items for one in one_by_one(each, self.axes, self._new_name)):
            if isinstance(item, ast.For | ast.If | ast.While):
                item.body, item.orelse = self.block(item.body), self.block(item.orelse)
                result.append(item)
            elif isinstance(item, ast.Assign | ast.AugAssign | ast.AnnAssign) and item.value is not None:
                result += [one if one is item else placed(one, item) for one in self._assigned(item, item.value)]
            else:
                result.append(item)
        return result

    def _assigned(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign, value: ast.expr) -> list[ast.stmt]:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        is_new = isinstance(target, ast.Name) and not isinstance(node, ast.AugAssign)
        numbers = _numbers(value) if is_new and not is_number(value) else {}
        made = self._made(value, target) if isinstance(target, ast.Name) and is_new and not numbers else None
        if numbers:
            made = [ast.Constant(1 + max(along)) for along in zip(*numbers, strict=True)], None
        if made is None or (isinstance(value, ast.Call) and called_name(value) in NEW and len(value.args) == 1):
            return self._summed(node, value)
        extents, filling = made
        maker = ast.Attribute(ast.Name("np", ast.Load()), "empty", ast.Load())
        assert isinstance(target, ast.Name)
        result: list[ast.stmt] = [ast.Assign([target], ast.Call(maker, [ast.Tuple(extents, ast.Load())], []))]
        for place, number in numbers.items():
            result.append(ast.Assign([stored(subscript(target.id, [ast.Constant(at) for at in place]))], number))
        if filling is not None:
            loops: list[ast.expr] = [ast.Name(f"at_{axis}", ast.Load()) for axis in range(len(extents))]
            element = stored(subscript(target.id, loops))
            result += nest(list(zip(loops, extents, strict=True)), [ast.Assign([element], filling)])
        return result

    # -- arrays

    def _made(self, node: ast.expr, target: ast.Name) -> _Made | None:
        """Return what is made by a call of NumPy or by a list of numbers."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List):
            return self._in_list(node.left.elts, node.right, target)
        if isinstance(node, ast.ListComp) and isinstance(target, ast.Name):
            counts = [item.iter for item in node.generators]
            if all(
                isinstance(item, ast.Call) and called_name(item) == "range" and len(item.args) == 1 for item in counts
            ):
                inner = self._in_list([node.elt], counts[0].args[0], target)  # type: ignore[attr-defined]
                return inner if len(counts) == 1 else None
            return None
        if not isinstance(node, ast.Call) or not node.args:
            return None
        name = called_name(node)
        if name in _FILLED:
            return self._extents(node.args[0]), _FILLED[name]
        if name == "full" and len(node.args) > 1:
            return self._extents(node.args[0]), node.args[1]
        if (
            name.removesuffix("_like") in {*_FILLED, "full"}
            and name.endswith("_like")
            and isinstance(node.args[0], ast.Name)
        ):
            like = node.args[0].id
            axes = max(self.axes.get(like, 0), self.axes.get(target.id, 0))
            if not axes:
                fail(
                    node,
                    f"nothing tells how many axes {like} has",
                    f"write {name.removesuffix('_like')} and the extents",
                )
            shape = ast.Attribute(ast.Name(like, ast.Load()), "shape", ast.Load())
            extents: list[ast.expr] = [ast.Subscript(shape, ast.Constant(at), ast.Load()) for at in range(axes)]
            return extents, node.args[1] if name == "full_like" else _FILLED[name.removesuffix("_like")]
        return None

    def _in_list(self, elements: Sequence[ast.expr], count: ast.expr, target: ast.Name) -> _Made | None:
        """Return what ``count`` times a list of one element makes: a number, or what makes an array itself."""
        if len(elements) != 1:
            return None
        inner = self._made(elements[0], target)
        if inner is not None:
            return [count, *inner[0]], inner[1]
        sign = elements[0].operand if isinstance(elements[0], ast.UnaryOp) else elements[0]
        is_number = isinstance(sign, ast.Constant | ast.Attribute | ast.Name | ast.Call)
        return ([count], elements[0]) if is_number else None

    @staticmethod
    def _extents(shape: ast.expr) -> list[ast.expr]:
        return list(shape.elts) if isinstance(shape, ast.Tuple | ast.List) else [shape]

    # -- sums

    def _summed(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign, value: ast.expr) -> list[ast.stmt]:
        """Return loops for what is summed in ``value``, and the statement after them."""
        before: list[ast.stmt] = []
        for item in list(_generated(value)):
            word = called_name(item)
            name = self._new_name(word)
            number = ast.Name(name, ast.Load())
            before.append(ast.Assign([ast.Name(name, ast.Store())], ast.parse(_FIRST[word], mode="eval").body))
            inner = item.args[0]
            assert isinstance(inner, ast.GeneratorExp | ast.ListComp)
            joined = ast.Call(ast.Name(word, ast.Load()), [number, inner.elt], [])
            body: ast.stmt = (
                ast.AugAssign(ast.Name(name, ast.Store()), ast.Add(), inner.elt)
                if word == "sum"
                else ast.Assign([ast.Name(name, ast.Store())], joined)
            )
            for part in reversed(inner.generators):
                for condition in reversed(part.ifs):
                    body = ast.If(condition, [body], [])
                body = ast.For(part.target, part.iter, [body], [])
            before += self.block([ast.copy_location(body, node)])
            value = Replaced({item: number}).visit(value)
        node.value = value
        return [*before, node]

    def _new_name(self, word: str) -> str:
        number = 0
        while (name := f"{word}_{number}") in self.names:
            number += 1
        self.names.add(name)
        return name


def _numbers(node: ast.expr) -> dict[tuple[int, ...], ast.expr]:
    """Return the numbers of lists of equal length within lists, also as NumPy is given them, by their places."""
    if isinstance(node, ast.Call) and called_name(node) in {"array", "asarray"} and node.args:
        node = node.args[0]
    if not isinstance(node, ast.List | ast.Tuple):
        return {(): node} if is_number(node) else {}
    inner = [_numbers(item) for item in node.elts]
    if not all(found and found.keys() == inner[0].keys() for found in inner):
        return {}
    return {(at, *place): item for at, found in enumerate(inner) for place, item in found.items()}


def _generated(node: ast.AST) -> Iterator[ast.Call]:
    """Yield the sums and extremes of generators, outermost ones only."""
    inner = node.args[0] if isinstance(node, ast.Call) and len(node.args) == 1 else None
    if (
        isinstance(node, ast.Call)
        and called_name(node) in _FIRST
        and isinstance(inner, ast.GeneratorExp | ast.ListComp)
    ):
        yield node
        return
    for item in ast.iter_child_nodes(node):
        yield from _generated(item)
