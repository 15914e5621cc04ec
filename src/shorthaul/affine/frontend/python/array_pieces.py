"""Pieces of Python's syntax that array expressions are taken apart into: views, loops, lengths, affine numbers."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shorthaul.affine.frontend.python.pieces import Tree, base_of, called_name, copied, number_of, shape_of

#: Sums along axes: operator in place, and what they are called.
SUMS = {"sum": "sum", "mean": "sum", "max": "max", "min": "min", "amax": "max", "amin": "min", "prod": "prod"}
PRODUCTS = {"dot", "matmul", "outer", "inner", "vdot", "einsum"}
MODULES = {"np", "numpy"}
ACROSS = {"transpose", "roll"}


def on_arrays(node: ast.AST) -> bool:
    """True if something is computed from whole arrays that is no elementwise operation on slices by 1."""
    return any(is_array_operation(item) for item in ast.walk(node))


def is_array_operation(node: ast.AST) -> bool:
    """True for products, sums along axes, transposes, new axes and slices in steps."""
    if isinstance(node, ast.Call):
        method, of_module = isinstance(node.func, ast.Attribute), False
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            of_module = node.func.value.id in MODULES
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        return (name in PRODUCTS | ACROSS or name in SUMS) and (of_module or method)
    if isinstance(node, ast.Slice):
        return node.step is not None and number_of(node.step) != 1
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return any(isinstance(item, ast.Constant) and item.value is None for item in parts)
    return (isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult)) or (
        isinstance(node, ast.Attribute) and node.attr == "T"
    )


def is_sum(node: ast.AST) -> bool:
    """True for what is computed before the rest of a statement."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        return is_array_operation(node) and name not in {"outer", *ACROSS}
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)


#: A function of the indices.
Element = Callable[[Sequence[ast.expr]], ast.expr]


@dataclass(frozen=True)
class View:
    """An array expression: the length of every axis, and its element at given indices."""

    lengths: tuple[ast.expr, ...]
    element: Element


def repeated(view: View, at: Sequence[ast.expr]) -> list[ast.expr]:
    """Return the indices of an array that is repeated along axes in front, and along those of length 1."""
    mine = at[len(at) - len(view.lengths) :]
    return [ast.Constant(0) if is_one(length) else item for item, length in zip(mine, view.lengths, strict=True)]


def is_new(node: ast.expr) -> bool:
    """True for a new axis, ``None`` among subscripts."""
    return isinstance(node, ast.Constant) and node.value is None


def is_one(node: ast.expr) -> bool:
    """True for the number 1."""
    return isinstance(node, ast.Constant) and node.value == 1


def is_shape(node: ast.expr) -> bool:
    """True for the length of an axis, ``A.shape[0]``."""
    return isinstance(node, ast.Subscript) and shape_of(node) is not None


def name_of(node: ast.expr) -> str:
    """Return the name that an expression is."""
    assert isinstance(node, ast.Name)
    return node.id


def reads_of(name: str, value: ast.expr) -> Iterator[ast.expr]:
    """Yield what is read of an array, in full."""
    inner = {id(part) for item in ast.walk(value) if isinstance(item, ast.Subscript) for part in [item.value]}
    for item in ast.walk(value):
        if isinstance(item, ast.Subscript | ast.Name) and id(item) not in inner:
            base, _ = base_of(item)
            if isinstance(base, ast.Name) and base.id == name and shape_of(item) is None:
                yield item


def in_place(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the parts of an elementwise operation, each of which is read at the element that is assigned."""
    yield node
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.IfExp | ast.Compare | ast.BoolOp | ast.Call):
        if is_array_operation(node):  # a product of two has no parts in place
            return
        for item in ast.iter_child_nodes(node):
            if isinstance(item, ast.expr):
                yield from in_place(item)


def outside_of_subscripts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that are no part of a subscript or of a subscripted array."""
    if isinstance(node, ast.Subscript) or (isinstance(node, ast.expr) and shape_of(node) is not None):
        return
    yield node
    for item in ast.iter_child_nodes(node):
        yield from outside_of_subscripts(item)


def placed(node: Any, at: ast.stmt) -> Any:
    """Return a new statement at the place of another one."""
    for item in ast.walk(node):
        if isinstance(item, ast.expr | ast.stmt) and not hasattr(item, "lineno"):
            ast.copy_location(item, at)
    return node


def loaded(node: ast.expr) -> Any:
    """Return an expression that is read."""
    made = copied(node)
    made.ctx = ast.Load()  # type: ignore[attr-defined]
    return made


def stored(node: ast.expr) -> Any:
    """Return an expression that is assigned."""
    made = copy.copy(node)
    made.ctx = ast.Store()  # type: ignore[attr-defined]
    return made


class Replaced(ast.NodeTransformer):
    """Puts expressions in place of names, those that are set too, and of nodes themselves."""

    def __init__(self, values: Mapping[Any, ast.expr]) -> None:
        self.values = values

    def visit(self, node: ast.AST) -> Any:
        """Return a copy of what stands for a name or a node."""
        made: Any = copied(self.values.get(getattr(node, "id", node)))
        if made is not None and isinstance(made, ast.Name | ast.Subscript) and isinstance(node, ast.Name):
            made.ctx = node.ctx
        return self.generic_visit(node) if made is None else ast.copy_location(made, node)


def replaced(node: Tree, values: Mapping[str, ast.expr]) -> Tree:
    """Return a copy of ``node`` with expressions in place of names."""
    made: Tree = Replaced(values).visit(copied(node))  # type: ignore[arg-type]
    return made


def subscript(name: str, at: Sequence[ast.expr]) -> ast.expr:
    """Return an element of an array."""
    inside = at[0] if len(at) == 1 else ast.Tuple(list(at), ast.Load())
    return ast.Subscript(ast.Name(name, ast.Load()), inside, ast.Load())


def nest(loops: Sequence[tuple[ast.expr, ast.expr]], body: list[ast.stmt]) -> list[ast.stmt]:
    """Return loops around ``body``, the first outermost, none for a number as an index."""
    for index, length in reversed(loops):
        if isinstance(index, ast.Name):
            call = ast.Call(ast.Name("range", ast.Load()), [length], [])
            body = [ast.For(ast.Name(index.id, ast.Store()), call, body, [])]
    return body


class Lengths(ast.NodeTransformer):
    """Puts lengths in place of others that are ``same``, but where names are given to them."""

    def __init__(self, same: dict[str, ast.expr]) -> None:
        self.same = same

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Keep a length that is given a name."""
        return node if shape_of(node.value) is not None else self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Put one length in place of another one."""
        found: ast.expr = node
        while is_shape(found) and (text := ast.unparse(found)) in self.same:
            found = self.same[text]
        return self.generic_visit(node) if found is node else ast.copy_location(copied(found), node)


def plus(left: ast.expr, right: ast.expr) -> ast.expr:
    """Return a sum, of numbers the number."""
    a, b = number_of(left), number_of(right)
    if a is not None and b is not None:
        return ast.Constant(a + b)
    if a == 0:
        return right
    if b == 0:
        return left
    if b is not None and b < 0:
        return ast.BinOp(left, ast.Sub(), ast.Constant(-b))
    return ast.BinOp(left, ast.Add(), right)


def index(length: ast.expr, node: ast.expr) -> ast.expr:
    """Return an index of an axis, counted from the end where it is a number below 0."""
    number = number_of(node)
    return node if number is None or number >= 0 else plus(length, ast.Constant(number))


def less(left: ast.expr, right: ast.expr) -> ast.expr:
    """Return a difference, a number where it is one."""
    number = constant_difference(left, right)
    if number is not None:
        return ast.Constant(number)
    return left if number_of(right) == 0 else ast.BinOp(left, ast.Sub(), right)


def times(node: ast.expr, factor: int) -> ast.expr:
    """Return a multiple."""
    if factor == 1:
        return node
    return ast.UnaryOp(ast.USub(), node) if factor == -1 else ast.BinOp(ast.Constant(factor), ast.Mult(), node)


def divided(node: ast.expr, step: int) -> ast.expr:
    """Return the quotient rounded up."""
    if step == 1:
        return node
    return ast.BinOp(plus(node, ast.Constant(step - 1)), ast.FloorDiv(), ast.Constant(step))


def constant_difference(one: ast.expr, other: ast.expr) -> int | None:
    """Return the difference of two affine expressions if it is a number."""
    found = [affine(item) for item in (one, other)]
    if found[0] is None or found[1] is None:
        return None
    left = {key: found[0].get(key, 0) - found[1].get(key, 0) for key in {*found[0], *found[1]}}
    return left.pop("", 0) if not any(value for key, value in left.items() if key) else None


def affine(node: ast.expr) -> dict[str, int] | None:
    """Return factors of names, the constant under ""; None if an expression is not affine."""
    number = number_of(node)
    if number is not None:
        return {"": number}
    if isinstance(node, ast.Name) or is_shape(node):
        return {ast.unparse(node): 1}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        left, right = affine(node.left), affine(node.right)
        sign = 1 if isinstance(node.op, ast.Add) else -1
        if left is not None and right is not None:
            return {key: left.get(key, 0) + sign * right.get(key, 0) for key in {*left, *right}}
    return None


def is_outer(node: ast.AST) -> bool:
    """Return whether an expression is the matrix of the products of two vectors."""
    return isinstance(node, ast.Call) and called_name(node) == "outer" and len(node.args) == 2
