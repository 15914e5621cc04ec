"""Places that pointers lead to, as elements of arrays."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast


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
