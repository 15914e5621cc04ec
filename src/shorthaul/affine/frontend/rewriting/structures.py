"""Structures of arrays, arrays of structures and pointer arithmetic, as plain arrays.

``p.x[i]`` and ``p->x[i]`` become ``p_x[i]``, ``p[i].x`` becomes ``p_x[i]``, ``*(a + i)`` becomes ``a[i]``: other names
for the same words of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

from pycparser import c_ast

#: Structures by the words that name them, "struct point" or the name of a type.
Structures = dict[str, Any]


def structures_in(nodes: Sequence[Any], known: Structures) -> None:
    """Add the structures that declarations define to ``known``."""
    for node in nodes:
        found = _structure(node)
        if found is not None and found.decls and found.name:
            known[f"struct {found.name}"] = found
        if isinstance(node, c_ast.Typedef):
            whole = found if found is None or found.decls else known.get(f"struct {found.name}")
            if whole is not None:
                known[node.name] = whole


def flattened(body: Any, declarations: dict[str, Any], known: Structures) -> Any:
    """Return ``body`` with plain arrays; the declarations of structures become those of their fields."""
    fields: dict[tuple[str, str], str] = {}
    for name, kind in list(declarations.items()):
        members = _members(kind, known)
        if members is None:
            continue
        made: dict[str, Any] = {}
        for other, value in declarations.items():
            if other != name:
                made[other] = value
                continue
            for member in members:
                field = fields[name, member.name] = _free_name(f"{name}_{member.name}", declarations)
                made[field] = _named(_joined(kind, member.type), field)
        declarations.clear()
        declarations.update(made)
    return rewritten(body, lambda node: _plain(node, fields))


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    return _free_name(f"{name}_", taken) if name in taken else name


def _structure(node: Any) -> Any:
    """Return the structure that a declaration is of, None if it is of none."""
    while isinstance(node, c_ast.Decl | c_ast.Typedef | c_ast.TypeDecl | c_ast.PtrDecl | c_ast.ArrayDecl):
        node = node.type
    return node if isinstance(node, c_ast.Struct) else None


def _members(kind: Any, known: Structures) -> Sequence[Any] | None:
    found = _structure(kind)
    if found is not None and not found.decls:
        found = known.get(f"struct {found.name}")
    inner = kind
    while isinstance(inner, c_ast.PtrDecl | c_ast.ArrayDecl | c_ast.TypeDecl):
        inner = inner.type
    if isinstance(inner, c_ast.IdentifierType):
        found = known.get(" ".join(inner.names))
    return None if found is None else [item for item in found.decls if isinstance(item, c_ast.Decl) and item.name]


def _joined(outer: Any, inner: Any) -> Any:
    """Return the type of a field over all structures of an array; a pointer to arrays is one structure."""
    if isinstance(outer, c_ast.PtrDecl) and isinstance(inner, c_ast.PtrDecl | c_ast.ArrayDecl):
        return inner
    if isinstance(outer, c_ast.PtrDecl | c_ast.ArrayDecl):
        made = copy(outer)
        made.type = _joined(outer.type, inner)
        return made
    return inner


def _named(kind: Any, name: str) -> Any:
    made = copy(kind)
    if isinstance(made, c_ast.TypeDecl):
        made.declname = name
    else:
        made.type = _named(made.type, name)
    return made


def rewritten(node: Any, change: Callable[[Any], Any]) -> Any:
    """Return ``change`` of the tree ``node``, whose inner nodes were replaced so before, in place."""
    for name, child in node.children():
        made = rewritten(child, change)
        if made is not child:
            field, bracket, place = name.partition("[")
            if bracket:
                getattr(node, field)[int(place.rstrip("]"))] = made
            else:
                setattr(node, field, made)
    return change(node)


def _plain(node: Any, fields: Mapping[tuple[str, str], str]) -> Any:
    """Return a field or an element behind a pointer as an element of an array, other nodes as they are."""
    if isinstance(node, c_ast.StructRef):
        return _field(node, fields)
    if isinstance(node, c_ast.UnaryOp) and node.op == "*":
        return _element(node)
    return node


def _field(node: Any, fields: Mapping[tuple[str, str], str]) -> Any:
    """Return ``p[i].x`` as ``p_x[i]``; what is not understood stays."""
    subscripts: list[Any] = []
    inner = node.name
    while isinstance(inner, c_ast.ArrayRef):
        subscripts.insert(0, inner.subscript)
        inner = inner.name
    if not isinstance(inner, c_ast.ID) or (inner.name, node.field.name) not in fields:
        return node
    made: Any = c_ast.ID(fields[inner.name, node.field.name], node.coord)
    for item in subscripts:
        made = c_ast.ArrayRef(made, item, node.coord)
    return made


def _element(node: Any) -> Any:
    """Return ``*(a + i * n + j)`` as ``a[i * n + j]`` and ``*a`` as ``a[0]``; what is not understood stays."""
    inner, subscript = node.expr, None
    while isinstance(inner, c_ast.BinaryOp) and inner.op in {"+", "-"}:
        subscript = _sum(inner.op, inner.right, subscript)
        inner = inner.left
    if not isinstance(inner, c_ast.ID | c_ast.ArrayRef):
        return node
    return c_ast.ArrayRef(inner, subscript or c_ast.Constant("int", "0", node.coord), node.coord)


def _sum(sign: str, term: Any, rest: Any) -> Any:
    """Return ``term``, subtracted where the sign says so, plus the rest."""
    signed = term if sign == "+" else c_ast.UnaryOp("-", term, term.coord)
    return signed if rest is None else c_ast.BinaryOp("+", signed, rest, term.coord)
