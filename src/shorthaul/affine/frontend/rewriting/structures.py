"""Structures of arrays, arrays of structures and pointer arithmetic, as plain arrays.

``p.x[i]`` and ``p->x[i]`` become ``p_x[i]``, ``p[i].x`` becomes ``p_x[i]``, ``*(a + i)`` becomes ``a[i]``: other names
for the same words of memory. ``p[i].v.x`` becomes ``p_v_x[i]``.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from pycparser import c_ast

from shorthaul.affine.frontend.expressions import c_text
from shorthaul.affine.frontend.rewriting.trees import (
    copied,
    element,
    element_of,
    in_blocks,
    kind_of,
    names_in,
    nodes,
    rewritten,
    words_of,
)
from shorthaul.core.errors import InputError

#: Structures by the words that name them, "struct point" or the name of a type.
Structures = dict[str, Any]


def structures_in(items: Sequence[Any], known: Structures) -> None:
    """Add the structures that declarations define to ``known``."""
    for node in items:
        found = _structure(node)
        if found is not None and found.decls and found.name:
            known[f"struct {found.name}"] = found
        if isinstance(node, c_ast.Typedef):
            whole = found if found is None or found.decls else known.get(f"struct {found.name}")
            if whole is not None:
                known[node.name] = whole


def flattened(body: Any, declarations: dict[str, Any], known: Structures) -> Any:
    """Return ``body`` with plain arrays; the declarations of structures become those of their fields."""
    pointers: set[str] = set()
    while True:
        body = _once(body, declarations, known, pointers)
        declared = {node.name: node.type for node in nodes([body]) if isinstance(node, c_ast.Decl)}
        whole = {name: kind for name, kind in {**declarations, **declared}.items() if _members(kind, known)}
        used = _used(body, pointers)
        if all(isinstance(kind, c_ast.PtrDecl) and name not in used for name, kind in whole.items()):
            return body


def _used(body: Any, pointers: set[str]) -> set[str]:
    """Return the names that are used; of ``pointers`` in structures those that are followed.

    One that is only copied may lead to a structure of its own kind, and so on without end.
    """
    return {*names_in([body])} - pointers | {
        *names_in([node for node in nodes([body]) if isinstance(node, c_ast.StructRef)])
    }


def _once(body: Any, declarations: dict[str, Any], known: Structures, pointers: set[str]) -> Any:
    """Return ``body`` with structures, but not those within them, taken apart; their ``pointers`` are noted."""
    inner = {node.name: node.type for node in nodes([body]) if isinstance(node, c_ast.Decl)}
    taken, used = {**inner, **declarations}, _used(body, pointers)
    found = {
        name: members
        for name, kind in taken.items()
        if (name in used or not isinstance(kind, c_ast.PtrDecl)) and (members := _members(kind, known)) is not None
    }
    pairs = [(name, member.name) for name, members in found.items() for member in members]
    fields = {pair: free_name("_".join(pair), taken) for pair in pairs}
    before = {*pointers}
    pointers |= {
        fields[name, member.name]
        for name, members in found.items()
        for member in members
        if isinstance(member.type, c_ast.PtrDecl)
    }

    def field_of(name: str, kind: Any, member: Any) -> Any:
        return named(_joined(kind, member.type), fields[name, member.name])

    given = {**declarations}
    declarations.clear()
    for name, kind in given.items():
        made = {fields[name, member.name]: field_of(name, kind, member) for member in found.get(name, ())}
        declarations.update(made if name in found else {name: kind})

    def apart(items: Sequence[Any]) -> list[Any]:
        """Return statements in which fields stand for what is declared, or assigned, as a whole."""
        result: list[Any] = []
        for item in items:
            node = in_blocks(item, apart)
            is_set = isinstance(node, c_ast.Assignment) and node.op == "="
            targets = [element_of(side)[0] for side in (node.lvalue, node.rvalue)] if is_set else [node]
            names = [item.name for item in targets if isinstance(item, c_ast.ID if is_set else c_ast.Decl)]
            name = next((name for name in names if name in found), "")
            if name and isinstance(taken[name], c_ast.PtrDecl):
                _leads_to_one(node, names[0] == name, before)
            for at, member in enumerate(found.get(name, ())):
                sides = (node.lvalue, node.rvalue) if is_set else (node.init,)
                inner = [None if side is None else _member(side, at, member.name, node) for side in sides]
                if is_set:
                    result.append(c_ast.Assignment("=", *inner, node.coord))
                else:
                    kind = field_of(name, node.type, member)
                    word = fields[name, member.name]
                    result.append(c_ast.Decl(word, [], [], node.storage, [], kind, *inner, None, node.coord))
            result += [] if name else [node]
        return result

    made = rewritten(in_blocks(body, apart), lambda node: _plain(node, fields))
    elements = [element_of(node)[0] for node in nodes([made]) if isinstance(node, c_ast.ArrayRef)]
    subscripted = {getattr(item, "name", "") for item in elements}
    for name, kind in given.items():  # numbers behind pointers to one structure
        for member in found.get(name, ()) if isinstance(kind, c_ast.PtrDecl) else ():
            if isinstance(member.type, c_ast.TypeDecl) and fields[name, member.name] not in subscripted:
                declarations[fields[name, member.name]] = named(member.type, fields[name, member.name])
    return made


def _leads_to_one(node: Any, is_first: bool, pointers: set[str]) -> None:
    """Raise :class:`InputError` where a pointer is set to one that elements hold: it may lead to any structure."""
    value = node.rvalue if isinstance(node, c_ast.Assignment) else node.init
    is_pointer = is_first and not (isinstance(node, c_ast.Assignment) and isinstance(node.lvalue, c_ast.ArrayRef))
    inside = any(isinstance(part, c_ast.ArrayRef) for part in nodes([value])) if value is not None else False
    is_held = isinstance(value, c_ast.StructRef) or getattr(element_of(value)[0], "name", "") in pointers
    if is_pointer and inside and is_held:
        place = "the loop nest" if node.coord is None else f"line {node.coord.line}"
        cure = "write out what it leads to, as p[k].x"
        raise InputError(
            "a pointer that an element holds may lead to any structure",
            place=place,
            value=c_text(value)[:80],
            cure=cure,
        )


def _member(whole: Any, at: int, name: str, declared: Any = None) -> Any:
    """Return a member of a structure, or of the list of its values; of each in an array that is ``declared``."""
    if isinstance(whole, c_ast.InitList) and isinstance(getattr(declared, "type", None), c_ast.ArrayDecl):
        return c_ast.InitList([_member(item, at, name, declared.type) for item in whole.exprs], whole.coord)
    if isinstance(whole, c_ast.InitList):
        return whole.exprs[at] if at < len(whole.exprs) else c_ast.Constant("int", "0", whole.coord)
    return c_ast.StructRef(copied(whole), ".", c_ast.ID(name, whole.coord), whole.coord)


def free_name(name: str, taken: Mapping[str, Any]) -> str:
    """Return a name that is not taken."""
    return free_name(f"{name}_", taken) if name in taken else name


def _structure(node: Any) -> Any:
    """Return the structure that a declaration is of, None if it is of none."""
    return found if isinstance(found := kind_of(node), c_ast.Struct) else None


def _members(kind: Any, known: Structures) -> Sequence[Any] | None:
    found = _structure(kind)
    if found is not None and not found.decls:
        found = known.get(f"struct {found.name}")
    if found is None:
        found = known.get(" ".join(words_of(kind)))
    return None if found is None else [item for item in found.decls if isinstance(item, c_ast.Decl) and item.name]


def _joined(outer: Any, inner: Any) -> Any:
    """Return the type of a field over all structures of an array; a pointer to arrays is one structure."""
    if isinstance(outer, c_ast.PtrDecl) and isinstance(inner, c_ast.PtrDecl | c_ast.ArrayDecl):
        return inner
    if isinstance(outer, c_ast.PtrDecl | c_ast.ArrayDecl):
        made = copy.copy(outer)
        made.type = _joined(outer.type, inner)
        return made
    return inner


def named(kind: Any, name: str) -> Any:
    """Return a type as that of ``name``."""
    made = copy.copy(kind)
    if isinstance(made, c_ast.TypeDecl):
        made.declname = name
    else:
        made.type = named(made.type, name)
    return made


def scalar_type(name: str, kind: str) -> Any:
    """Return the type of a number."""
    return c_ast.TypeDecl(name, [], None, c_ast.IdentifierType([kind]))


def declaration_of(name: str, kind: Any, value: Any = None, coord: Any = None) -> Any:
    """Return a declaration."""
    return c_ast.Decl(name, [], [], [], [], kind, value, None, coord)


def loop_of(name: str, start: Any, end: Any, step: int, body: Any, at: Any) -> Any:
    """Return a loop from ``start`` up or down to ``end``."""
    first = c_ast.DeclList([declaration_of(name, scalar_type(name, "int"), start, at)], at)
    condition = c_ast.BinaryOp("<" if step > 0 else ">", c_ast.ID(name, at), end, at)
    following = c_ast.Assignment("+=", c_ast.ID(name, at), c_ast.Constant("int", str(step), at), at)
    return c_ast.For(first, condition, following, body, at)


def _plain(node: Any, fields: Mapping[tuple[str, str], str]) -> Any:
    """Return a field, as ``p[i].x``, or what stands behind a pointer as an element; what is not understood stays."""
    if not isinstance(node, c_ast.StructRef):
        return element(node)
    is_array = isinstance(node.name, c_ast.ID | c_ast.ArrayRef)
    inner, subscripts = element_of(node.name if is_array else element(c_ast.UnaryOp("*", node.name, node.coord)))
    if not isinstance(inner, c_ast.ID) or (inner.name, node.field.name) not in fields:
        return node
    made: Any = c_ast.ID(fields[inner.name, node.field.name], node.coord)
    for item in subscripts:
        made = c_ast.ArrayRef(made, item, node.coord)
    return made
