"""Local pointers that stand for a row or a place of an array: ``double *row = A[i];``, ``float *p = &x[i * n];``."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import partial
from typing import Any

from pycparser import c_ast

from shorthaul.affine.frontend.rewriting.trees import assigned, in_blocks, is_name, names_in, rewritten


def without_pointers(items: Sequence[Any]) -> list[Any]:
    r"""Return statements in which elements of arrays stand for those behind local pointers that are set once.

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
            start = rewritten(copy.deepcopy(item.init), _without_cast)
            names = {item.name, *names_in([start])}
            if place(start) is not None and not names & assigned(rest):
                change = partial(_behind, item.name, start)
                return [*result, *without_pointers([rewritten(one, change) for one in rest])]
        result.append(in_blocks(item, without_pointers))
    return result


def _without_cast(node: Any) -> Any:
    return node.expr if isinstance(node, c_ast.Cast) and isinstance(node.to_type.type, c_ast.PtrDecl) else node


def _behind(name: str, start: Any, node: Any) -> Any:
    return element(copy.deepcopy(start) if is_name(node, name) else node)


def element(node: Any) -> Any:
    """Return ``*(a + i)`` and ``(a + i)[0]`` as ``a[i]``; what is not understood stays, and so do other nodes."""
    if isinstance(node, c_ast.UnaryOp) and node.op == "*":
        found, last = place(node.expr), None
    elif isinstance(node, c_ast.ArrayRef) and not isinstance(node.name, c_ast.ID | c_ast.ArrayRef):
        found, last = place(node.name), node.subscript
    else:
        return node
    if found is None:
        return node
    array, first = found
    return c_ast.ArrayRef(array, plus(first, last) or c_ast.Constant("int", "0", node.coord), node.coord)


def place(node: Any) -> tuple[Any, Any] | None:
    """Return the array, or the row, that a pointer leads into, and the subscript of where it leads (None: 0)."""
    if isinstance(node, c_ast.ID | c_ast.ArrayRef):
        return node, None
    if isinstance(node, c_ast.UnaryOp) and node.op == "&" and isinstance(node.expr, c_ast.ArrayRef):
        return node.expr.name, node.expr.subscript
    if isinstance(node, c_ast.BinaryOp) and node.op in {"+", "-"}:
        found = place(node.left)
        more = node.right if node.op == "+" else c_ast.UnaryOp("-", node.right, node.coord)
        return None if found is None else (found[0], plus(found[1], more))
    return None


def plus(first: Any, more: Any) -> Any:
    """Return a sum of terms of which each may be None, or 0."""
    is_zero = isinstance(more, c_ast.Constant) and more.value == "0"
    return more if first is None else first if more is None or is_zero else c_ast.BinaryOp("+", first, more, more.coord)
