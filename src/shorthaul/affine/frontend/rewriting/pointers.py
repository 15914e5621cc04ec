"""Places that pointers lead to, as elements of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pycparser import c_ast

from shorthaul.affine.frontend.rewriting.trees import in_blocks, is_name, nodes, target_of


def without_allocation(items: Sequence[Any], declarations: dict[str, Any]) -> list[Any]:
    r"""Return statements without calls of ``malloc`` and ``free``; ``declarations`` gets the arrays, as if given.

    >>> from pycparser import c_generator, c_parser
    >>> text = "void f(void) { double *p = malloc(n * sizeof *p); p[0] = 1; free(p); }"
    >>> left = without_allocation(c_parser.CParser().parse(text).ext[0].body.block_items, {})
    >>> print("; ".join(map(c_generator.CGenerator().visit, left)))
    p[0] = 1
    """
    made = {
        target_of(node)
        for node in nodes(items)
        if _allocates(getattr(node, "rvalue" if isinstance(node, c_ast.Assignment) else "init", None))
    }

    def left(items: Sequence[Any]) -> list[Any]:
        result = []
        for item in items:
            node = in_blocks(item, left)
            if isinstance(node, c_ast.Decl) and node.name in made and (node.init is None or _allocates(node.init)):
                declarations[node.name] = node.type
            elif not isinstance(node, c_ast.Assignment) or not _allocates(node.rvalue) or target_of(node) not in made:
                result.append(node)
        return [node for node in result if not (isinstance(node, c_ast.FuncCall) and is_name(node.name, "free"))]

    return left(items)


def _allocates(node: Any) -> bool:
    while isinstance(node, c_ast.Cast):
        node = node.expr
    names = ("malloc", "aligned_alloc")
    return isinstance(node, c_ast.FuncCall) and any(is_name(node.name, name) for name in names)


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
