"""What the identifiers of a scop region are: iterators, integer parameters, or data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from shorthaul.affine.frontend.constants import NO_LITERALS
from shorthaul.affine.frontend.expressions import c_text
from shorthaul.affine.frontend.parser import Region
from shorthaul.affine.frontend.rewriting.trees import assigned, is_integer, nodes, words_of

_BYTES = {"float": 4, "char": 1, "short": 2, "int": 4, "unsigned": 4, "bool": 1, "_Bool": 1}


@dataclass(frozen=True, slots=True)
class Symbols:
    """``written``: identifiers assigned in the region (loop iterators among them); ``data``: those that are no
    integers; ``constants``: integers with a value known before the region; ``loops``: loop iterators;
    ``declared``: the types of all that is declared in the file; ``kinds``: those of integers, in words.
    """

    written: frozenset[str]
    data: frozenset[str]
    constants: Mapping[str, Any]
    loops: frozenset[str]
    declared: Mapping[str, Any]
    kinds: Mapping[str, str]


def symbols(region: Region) -> Symbols:
    """Return what the identifiers of ``region`` are."""
    loops: set[str] = set()
    changed: set[str] = set()
    index_names: set[str] = set()
    asked: set[str] = set()
    mentioned: set[str] = set()
    declared = dict(region.declarations)
    for node in nodes(region.body):
        if isinstance(node, c_ast.For):
            header = [part for part in (node.init, node.cond, node.next) if part is not None]
            loops |= assigned(header)
            index_names |= set(_identifiers(header))
        elif isinstance(node, c_ast.If):
            asked |= set(_identifiers([node.cond], arrays=False))
        elif isinstance(node, c_ast.ArrayRef):
            index_names |= set(_identifiers([node.subscript]))
        elif isinstance(node, c_ast.Assignment) and isinstance(node.lvalue, c_ast.ID):
            changed.add(node.lvalue.name)
        elif isinstance(node, c_ast.Decl) and node.name:
            declared[node.name] = node.type
        if isinstance(node, c_ast.ID):
            mentioned.add(node.name)
    for kind in declared.values():
        index_names |= set(_identifiers([kind]))
    known = set(region.text.integers) | set(region.text.bounds)
    data = set()
    for name in (mentioned - NO_LITERALS) | set(declared):
        is_index = name in known or name in index_names | asked
        if not (is_integer(declared[name]) if name in declared else is_index):
            data.add(name)
    written = changed | loops
    data |= _of_data(region.body, data, index_names | loops)
    constants = {
        name: value
        for name, value in region.constants.items()
        if name not in written and name in declared and is_integer(declared[name])
    }
    given = [
        *region.declarations.items(),
        *((item.name, item.type) for item in nodes(region.body) if isinstance(item, c_ast.Decl)),
    ]
    words = [(name, words_of(kind)) for name, kind in given if isinstance(kind, c_ast.TypeDecl)]
    kinds = {name: " ".join(found) for name, found in words if name not in data}
    return Symbols(frozenset(written), frozenset(data), constants, frozenset(loops), declared, kinds)


def _of_data(body: Any, data: set[str], others: set[str]) -> set[str]:
    """Return the local integers whose first value is computed from data, but for ``others``, as those in subscripts."""
    found: set[str] = set()
    for node in nodes(body):
        if isinstance(node, c_ast.Decl) and node.init is not None and node.name not in others:
            inner = list(nodes([node.init]))
            reads = any(isinstance(item, c_ast.ArrayRef | c_ast.StructRef) for item in inner)
            if reads or any(isinstance(item, c_ast.ID) and item.name in data | found for item in inner):
                found.add(node.name)
    return found


def depth(declared: Any) -> int:
    """Return how many subscripts a declaration asks for, 0 if it does not tell (scalars, pointers, other types).

    >>> depth(None)
    0
    """
    found = 0
    while isinstance(declared, c_ast.ArrayDecl):
        declared, found = declared.type, found + 1
    return 0 if isinstance(declared, c_ast.PtrDecl) else found


def extents(declared: Any) -> tuple[str, ...]:
    """Return the extents of a declared array as C text; "" where one is not given."""
    result = []
    while isinstance(declared, c_ast.ArrayDecl | c_ast.PtrDecl):
        is_array = isinstance(declared, c_ast.ArrayDecl)
        result.append(c_text(declared.dim) if is_array and declared.dim is not None else "")
        declared = declared.type
    return tuple(result)


def element_bytes(declared: Any) -> int:
    """Return the size of one element in bytes; 8 where the type is not known."""
    words = words_of(declared)
    if "double" in words or "long" in words:
        return 8
    known = [_BYTES[word] for word in words if word in _BYTES]
    if known:
        return min(known)  # unsigned char
    for word in words:
        for bits in (8, 16, 32, 64, 128):
            if word in {f"int{bits}_t", f"uint{bits}_t", f"__int{bits}", f"_Float{bits}"}:
                return bits // 8
    return 8


def _identifiers(items: Any, *, arrays: bool = True) -> Iterator[str]:
    for item in items:
        if isinstance(item, c_ast.ID):
            yield item.name
        elif isinstance(item, c_ast.ArrayRef):
            if arrays:
                yield from _identifiers([item.subscript])
        elif isinstance(item, c_ast.FuncCall):
            yield from _identifiers([item.args] if item.args is not None else [])
        else:
            yield from _identifiers([child for _, child in item.children()], arrays=arrays)
