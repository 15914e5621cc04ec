"""Syntax trees of C: names in them, what statements set, and changes of parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Final

from pycparser import c_ast

#: What operators that count add to their operand; those with p return what it was before.
STEPS: Final = {"p++": 1, "++": 1, "p--": -1, "--": -1}
_INTEGER_WORDS = {"int", "long", "short", "unsigned", "signed", "char", "size_t", "ssize_t", "ptrdiff_t", "uint"}
UNSIGNED: Final = frozenset({"unsigned", "size_t", "uint", *(f"uint{bits}_t" for bits in (8, 16, 32, 64))})
#: Words of types that are computed as int is.
SHORT: Final = frozenset({"char", "short", "uint8_t", "uint16_t"})
#: Words of types of numbers.
NUMBERS: Final = (
    frozenset(_INTEGER_WORDS)
    | {"float", "double", "bool", "_Bool", "ssize_t"}
    | {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)
#: Most nodes of a tree, which nothing is inside of.
_LEAVES: Final = frozenset({c_ast.ID, c_ast.Constant, c_ast.IdentifierType})


def nodes(items: Iterable[Any]) -> Iterator[Any]:
    """Yield the nodes of syntax trees, each before those inside of it; fields of structures are no names."""
    waiting = [*items][::-1]
    while waiting:
        item = waiting.pop()
        yield item
        if isinstance(item, c_ast.StructRef):
            waiting.append(item.name)
        elif type(item) not in _LEAVES:
            waiting.extend([*item][::-1])


def copied(item: Any) -> Any:
    """Return a copy of a syntax tree, or of a list of them, whose places in the file it shares."""
    if isinstance(item, list):
        return [copied(each) for each in item]
    if not isinstance(item, c_ast.Node):
        return item
    kind: Any = type(item)
    made = object.__new__(kind)
    for name in _fields(kind):
        setattr(made, name, copied(getattr(item, name)))
    return made


@cache
def _fields(kind: type) -> tuple[str, ...]:
    slots = [name for base in kind.__mro__ for name in getattr(base, "__slots__", ())]
    return tuple(name for name in slots if name != "__weakref__")


def is_name(node: Any, name: str) -> bool:
    """True if ``node`` is the identifier ``name``."""
    return isinstance(node, c_ast.ID) and node.name == name


def names_in(items: Iterable[Any]) -> set[str]:
    """Return the identifiers of syntax trees."""
    return {node.name for node in nodes(items) if isinstance(node, c_ast.ID)}


def element_of(node: Any) -> tuple[Any, list[Any]]:
    """Return what an element is one of, and its subscripts."""
    subscripts: list[Any] = []
    while isinstance(node, c_ast.ArrayRef):
        subscripts.insert(0, node.subscript)
        node = node.name
    return node, subscripts


def assigned(items: Iterable[Any]) -> set[str]:
    """Return the names that statements declare, set, count or point at."""
    return {*map(target_of, nodes(items))} - {""}


def target_of(node: Any) -> str:
    """Return the name that a node declares, sets, counts or points at, without those inside of it."""
    target = node.lvalue if isinstance(node, c_ast.Assignment) else None
    if isinstance(node, c_ast.UnaryOp) and node.op in {*STEPS, "&"}:
        target = node.expr
    named = target if isinstance(target, c_ast.ID) else node if isinstance(node, c_ast.Decl) else None
    return (named.name or "") if named is not None else ""


def rewritten(node: Any, change: Callable[[Any], Any]) -> Any:
    """Return ``change`` of the tree ``node``, whose inner nodes were replaced so before, in place."""
    for name, child in node.children():
        made = child if name == "field" else rewritten(child, change)
        if made is not child:
            field, bracket, place = name.partition("[")
            if bracket:
                getattr(node, field)[int(place.rstrip("]"))] = made
            else:
                setattr(node, field, made)
    return change(node)


def in_blocks(node: Any, change: Callable[[list[Any]], list[Any]]) -> Any:
    """Return a statement in whose blocks ``change`` has changed the statements, in place."""
    if isinstance(node, c_ast.Compound):
        node.block_items = change(node.block_items or [])
    elif isinstance(node, c_ast.For | c_ast.While | c_ast.DoWhile | c_ast.If):
        for name in ("stmt", "iftrue", "iffalse"):
            if getattr(node, name, None) is not None:
                made = change(statements_of(getattr(node, name)))
                alone = len(made) == 1 and not isinstance(getattr(node, name), c_ast.Compound)
                setattr(node, name, made[0] if alone else c_ast.Compound(made, getattr(node, name).coord))
    return node


def statements_of(node: Any) -> list[Any]:
    """Return the statements of a block, of any other statement that one."""
    return list(node.block_items or []) if isinstance(node, c_ast.Compound) else [] if node is None else [node]


def kind_of(declared: Any) -> Any:
    """Return the type inside of a declaration, that of an array's elements."""
    while isinstance(declared, c_ast.Decl | c_ast.Typedef | c_ast.ArrayDecl | c_ast.PtrDecl | c_ast.TypeDecl):
        declared = declared.type
    return declared


def words_of(declared: Any) -> list[str]:
    """Return the words of the type inside of a declaration; none for structures."""
    return list(getattr(kind_of(declared), "names", []))


def is_integer(declared: Any) -> bool:
    """True for a type of integers, but for pointers and arrays."""
    if isinstance(declared, c_ast.ArrayDecl | c_ast.PtrDecl):
        return False
    words = words_of(declared)
    return bool(words) and all(word in _INTEGER_WORDS or word.endswith("_t") for word in words)


def joined(values: Sequence[Any], operator: str, at: Any) -> Any:
    """Return ``values`` joined by ``operator``."""
    result = values[0]
    for item in values[1:]:
        result = c_ast.BinaryOp(operator, result, item, at)
    return result


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
