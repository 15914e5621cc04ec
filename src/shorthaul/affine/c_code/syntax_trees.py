"""What isl's syntax trees of loops say: children, calls, and the iterators and ends of loops."""

from __future__ import annotations

import re
from typing import Any

import islpy as isl


def children(node: Any) -> list[Any]:
    """Return what a tree executes one after the other; isl has blocks in blocks."""
    if node.get_type() != isl.ast_node_type.block:
        return [node]
    found = node.block_get_children()
    return [item for at in range(found.n_ast_node()) for item in children(found.get_at(at))]


def calls_of(node: Any) -> list[Any] | None:
    """Return the calls of a tree of nothing else, None for another one."""
    found = children(node)
    return found if all(item.get_type() == isl.ast_node_type.user for item in found) else None


def is_single(node: Any) -> bool:
    """True for one statement, with conditions or without."""
    while node.get_type() == isl.ast_node_type.if_ and not node.if_has_else_node():
        node = node.if_get_then_node()
    return bool(node.get_type() == isl.ast_node_type.user)


def executed(node: Any) -> frozenset[str]:
    """Return the parts that a tree executes."""
    kind = node.get_type()
    if kind == isl.ast_node_type.user:
        return frozenset({node.user_get_expr().get_op_arg(0).to_C_str()})
    if kind == isl.ast_node_type.block:
        found = children(node)
    elif kind == isl.ast_node_type.if_:
        found = [node.if_get_then_node(), *([node.if_get_else_node()] if node.if_has_else_node() else [])]
    else:
        found = [node.for_get_body()]
    return frozenset(name for item in found for name in executed(item))


def iterator(loop: Any) -> str:
    """Return the name of what a loop counts in."""
    return str(loop.for_get_iterator().to_C_str())


def entry(loop: Any, letter: str) -> int:
    """Return the entry of the time vectors that a loop walks."""
    return int(iterator(loop).removeprefix(letter))


def bounds(loop: Any) -> tuple[str, str, str]:
    """Return first value, condition and step of a loop."""
    return loop.for_get_init().to_C_str(), loop.for_get_cond().to_C_str(), loop.for_get_inc().to_C_str()


def values_of(loop: Any) -> range:
    """Return the values of a loop whose ends are numbers; no values where they are not."""
    first, condition, step = bounds(loop)
    end = re.fullmatch(rf"{iterator(loop)} (<=?) (-?\d+)", condition)
    if end is None or not re.fullmatch(r"-?\d+", first) or step != "1":
        return range(0)
    return range(int(first), int(end[2]) + (end[1] == "<="))
