"""Calls of C's library on memory: what ``malloc`` gives, and ``memset`` and ``memcpy`` as loops."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from pycparser import c_ast

from shorthaul.affine.frontend.expressions import c_text
from shorthaul.affine.frontend.rewriting.places import is_pointer
from shorthaul.affine.frontend.rewriting.structures import free_name, loop_of
from shorthaul.affine.frontend.rewriting.trees import (
    copied,
    element,
    element_of,
    in_blocks,
    is_name,
    joined,
    names_in,
    nodes,
    place,
    target_of,
    words_of,
)


def without_calls_on_memory(
    items: Sequence[Any], declarations: dict[str, Any], outside: Container[str] = ()
) -> list[Any]:
    r"""Return statements without ``malloc`` and ``free``, and with loops for ``memcpy`` and for ``memset`` with zeros.

    ``declarations`` gets what is allocated, as if it were given; those ``outside`` are no parameters. What is done
    where a pointer is NULL is left out, if nothing sets it to NULL.

    >>> from pycparser import c_generator, c_parser
    >>> text = "void f(void) { double *p = malloc(n * sizeof *p); if (!p) return; p[0] = 1; free(p); }"
    >>> left = without_calls_on_memory(c_parser.CParser().parse(text).ext[0].body.block_items, {})
    >>> print("; ".join(map(c_generator.CGenerator().visit, left)))
    p[0] = 1
    """
    values = [(target_of(node), _value(node)) for node in nodes(items) if target_of(node)]
    given = [name for name, value in values if _allocates(value)]
    held = {value.name for _, value in values if isinstance(value, c_ast.ID)}  # by others, while it is given anew
    made = {name for name in given if given.count(name) == 1 or name not in held}
    kinds = {**declarations, **{node.name: node.type for node in nodes(items) if isinstance(node, c_ast.Decl)}}
    names = {*kinds, *names_in(items)}
    counter = free_name("at", dict.fromkeys(names | {name.rpartition("_")[0] for name in names}))
    pointers = {
        name: kind for name, kind in kinds.items() if not any(one == name and _is_zero(at) for one, at in values)
    }
    parameters = {name for name in declarations if name not in outside}  # pointers, as sizeof sees them

    def left(items: Sequence[Any]) -> list[Any]:
        result = []
        for item in items:
            node = in_blocks(item, left)
            if isinstance(node, c_ast.If) and _is_null(node.cond, pointers):
                result += [] if node.iffalse is None else [node.iffalse]
                continue
            is_made = target_of(node) in made and _allocates(_value(node))
            if is_made and _called(_value(node)) == "calloc":
                cleared = _loops(_cleared(target_of(node), _value(node)), kinds, counter)
                result.append(node if cleared is None else cleared)
            if isinstance(node, c_ast.Decl) and node.name in made and (node.init is None or is_made):
                declarations[node.name] = node.type
            elif not is_made:
                sizes = [one.expr for one in nodes([node]) if isinstance(one, c_ast.UnaryOp) and one.op == "sizeof"]
                told = not any(is_name(one, name) for one in sizes for name in parameters)
                result.append((_loops(node, kinds, counter) if told else None) or node)
        return [node for node in result if not (isinstance(node, c_ast.FuncCall) and is_name(node.name, "free"))]

    return left(items)


def _value(node: Any) -> Any:
    """Return what a declaration or an assignment sets a name to, without casts."""
    value = getattr(node, "rvalue" if isinstance(node, c_ast.Assignment) else "init", None)
    while isinstance(value, c_ast.Cast):
        value = value.expr
    return value


def _is_zero(node: Any) -> bool:
    return is_name(node, "NULL") or getattr(node, "value", None) == "0"


def _allocates(node: Any) -> bool:
    while isinstance(node, c_ast.Cast):
        node = node.expr
    return _called(node) in {"malloc", "aligned_alloc", "calloc"}


def _called(node: Any) -> str:
    return getattr(node.name, "name", "") if isinstance(node, c_ast.FuncCall) else ""


def _cleared(name: str, call: Any) -> Any:
    """Return the ``memset`` that sets to zero what ``calloc`` gives."""
    size = joined([] if call.args is None else call.args.exprs, "*", call.coord)
    given = [c_ast.ID(name, call.coord), c_ast.Constant("int", "0", call.coord), size]
    return c_ast.FuncCall(c_ast.ID("memset", call.coord), c_ast.ExprList(given, call.coord), call.coord)


def _is_null(node: Any, kinds: Mapping[str, Any]) -> bool:
    """True if a condition holds for pointers that lead nowhere alone."""
    if isinstance(node, c_ast.BinaryOp) and node.op == "||":
        return _is_null(node.left, kinds) and _is_null(node.right, kinds)
    if isinstance(node, c_ast.BinaryOp) and node.op == "==":
        found = node.left if _is_zero(node.right) else None
    else:
        found = node.expr if isinstance(node, c_ast.UnaryOp) and node.op == "!" else None
    return isinstance(found, c_ast.ID) and is_pointer(kinds.get(found.name))


def _loops(node: Any, kinds: Mapping[str, Any], counter: str) -> Any:
    """Return the loops that ``memset`` with zeros or ``memcpy`` is; None for other statements."""
    called = _called(node)
    if called not in ("memset", "memcpy") or node.args is None or len(node.args.exprs) != 3:
        return None
    target, value, size = node.args.exprs
    if called == "memset" and getattr(value, "value", None) != "0":
        return None
    sides = [target] if called == "memset" else [target, value]
    extents = [_extents(side, size, kinds) for side in sides]
    if None in extents or len({len(each or ()) for each in extents}) != 1:
        return None
    words = [f"{counter}_{at}" for at in range(len(extents[0] or ()))]
    elements = [copied(side) for side in sides]
    for word in words:
        elements = [c_ast.ArrayRef(each, c_ast.ID(word)) for each in elements]
    made: Any = c_ast.Assignment("=", elements[0], elements[1] if sides[1:] else c_ast.Constant("int", "0"))
    for word, extent in reversed([*zip(words, extents[0] or (), strict=True)]):
        made = loop_of(word, c_ast.Constant("int", "0"), copied(extent), 1, made, node.coord)
    for each in nodes([made]):
        each.coord = node.coord
    return made


def _extents(pointer: Any, size: Any, kinds: Mapping[str, Any]) -> list[Any] | None:
    """Return how many elements, along each axis, ``size`` bytes from a pointer on are; None if that is not told."""
    found = place(pointer)
    axes, words = _axes(pointer if found is None else found[0], kinds)
    sizes = [item.expr for item in _factors(size) if getattr(item, "op", "") == "sizeof"]
    counts = [item for item in _factors(size) if getattr(item, "op", "") != "sizeof"]
    if len(sizes) != 1 or not axes:
        return None
    is_type = isinstance(sizes[0], c_ast.Typename)
    inner, of_what = ([], words_of(sizes[0].type)) if is_type else _axes(element(sizes[0]), kinds)
    if of_what != words or None in inner:
        return None
    start = found is None or found[1] is None
    if inner and counts:  # rows
        return [joined(counts, "*", None), *inner] if start and len(axes) == len(inner) + 1 else None
    if len(axes) == 1 and counts:
        return [joined(counts, "*", None)]
    told = inner if not counts else axes if sorted(map(_text, axes)) == sorted(map(c_text, counts)) else []
    return told if start and len(told) == len(axes) else None


def _axes(node: Any, kinds: Mapping[str, Any]) -> tuple[list[Any], list[str]]:
    """Return the extents of an array or a part of it, None where they are not told, and its elements' type."""
    root, subscripts = element_of(node)
    kind: Any = kinds.get(getattr(root, "name", ""))
    axes: list[Any] = []
    for _ in subscripts:
        kind = kind.type if is_pointer(kind) else None
    while is_pointer(kind):
        axes.append(getattr(kind, "dim", None))
        kind = kind.type
    return axes, words_of(kind)


def _text(node: Any) -> str:
    return "" if node is None else c_text(node)


def _factors(node: Any) -> list[Any]:
    if isinstance(node, c_ast.BinaryOp) and node.op == "*":
        return [*_factors(node.left), *_factors(node.right)]
    return [node]
