"""Local pointers that stand for a row or a place of an array: ``double *row = A[i];``, ``float *p = &x[i * n];``."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pycparser import c_ast

_STEPS = {"p++", "p--", "++", "--"}


def without_pointers(items: Sequence[Any]) -> list[Any]:
    r"""Return statements in which local pointers that are set once are written out, where they are subscripted.

    >>> from pycparser import c_generator, c_parser
    >>> text = "void f(void) { for (;;) { double *r = A[i], *p = &x[2 * i]; r[j] += *p + p[1]; } }"
    >>> (loop,) = without_pointers(c_parser.CParser().parse(text).ext[0].body.block_items)
    >>> print(c_generator.CGenerator().visit(loop.stmt.block_items[0]))
    A[i][j] += x[2 * i] + x[(2 * i) + 1]
    """
    result: list[Any] = []
    for at, item in enumerate(items):
        if isinstance(item, c_ast.Decl) and isinstance(item.type, c_ast.PtrDecl) and item.init is not None:
            rest = list(items[at + 1 :])
            array, first = _place(item.init)
            names = {item.name, *names_in([item.init])}
            if array is not None and not names & {*_changed(rest)}:
                return [*result, *without_pointers([_written(one, item.name, array, first) for one in rest])]
        result.append(_inside(item))
    return result


def _inside(node: Any) -> Any:
    """Write out the pointers in the blocks of a statement."""
    if isinstance(node, c_ast.Compound):
        node.block_items = without_pointers(node.block_items or [])
    elif isinstance(node, c_ast.For | c_ast.If | c_ast.DoWhile):
        for name in ("stmt", "iftrue", "iffalse"):
            if getattr(node, name, None) is not None:
                setattr(node, name, _inside(getattr(node, name)))
    return node


def _place(node: Any) -> tuple[Any, Any]:
    """Return the array, or the row, that a pointer leads into, and the subscript of where it leads (None: 0)."""
    if isinstance(node, c_ast.Cast):
        return _place(node.expr)
    if isinstance(node, c_ast.ID | c_ast.ArrayRef):
        return node, None
    if isinstance(node, c_ast.UnaryOp) and node.op == "&" and isinstance(node.expr, c_ast.ArrayRef):
        return node.expr.name, node.expr.subscript
    if isinstance(node, c_ast.BinaryOp) and node.op == "+":
        array, first = _place(node.left)
        if array is not None:
            return array, _plus(first, node.right)
    return None, None


def _plus(first: Any, more: Any) -> Any:
    if first is None:
        return more
    is_zero = isinstance(more, c_ast.Constant) and more.value == "0"
    return first if is_zero else c_ast.BinaryOp("+", first, more, more.coord)


def _written(node: Any, name: str, array: Any, first: Any) -> Any:
    """Return ``node`` with elements of the array in place of those behind the pointer ``name``."""
    if isinstance(node, c_ast.ArrayRef) and is_name(node.name, name):
        inner = _written(node.subscript, name, array, first)
        return c_ast.ArrayRef(copy.deepcopy(array), _plus(copy.deepcopy(first), inner), node.coord)
    if isinstance(node, c_ast.UnaryOp) and node.op == "*" and is_name(node.expr, name):
        zero = c_ast.Constant("int", "0", node.coord)
        return c_ast.ArrayRef(copy.deepcopy(array), _plus(copy.deepcopy(first), zero), node.coord)
    if is_name(node, name):
        whole = array if first is None else c_ast.BinaryOp("+", array, first, node.coord)
        return copy.deepcopy(whole)
    for place, child in node.children():
        word, _, number = place.partition("[")
        made = _written(child, name, array, first)
        if number:
            getattr(node, word)[int(number[:-1])] = made
        else:
            setattr(node, word, made)
    return node


def is_name(node: Any, name: str) -> bool:
    """True if ``node`` is the identifier ``name``."""
    return isinstance(node, c_ast.ID) and node.name == name


def _changed(items: Sequence[Any]) -> Iterator[str]:
    """Yield the names that are declared, assigned, counted or pointed at."""
    for node in nodes(items):
        if isinstance(node, c_ast.Decl) and node.name:
            yield node.name
        target = node.lvalue if isinstance(node, c_ast.Assignment) else None
        if isinstance(node, c_ast.UnaryOp) and node.op in {*_STEPS, "&"}:
            target = node.expr
        if isinstance(target, c_ast.ID):
            yield target.name


def nodes(items: Iterable[Any]) -> Iterator[Any]:
    """Yield the nodes of syntax trees, each before those inside of it."""
    for item in items:
        yield item
        yield from nodes([child for _, child in item.children()])


def names_in(items: Iterable[Any]) -> set[str]:
    """Return the identifiers of syntax trees."""
    return {node.name for node in nodes(items) if isinstance(node, c_ast.ID)}
