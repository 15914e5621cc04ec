"""Calls of functions that the file itself defines as one expression of arguments and globals, written out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from shorthaul.affine.frontend.constants import PURE, ROUNDED
from shorthaul.affine.frontend.rewriting.trees import copied, element_of, names_in, nodes, rewritten, words_of
from shorthaul.core.errors import InputError

_VALUES = (
    c_ast.BinaryOp,
    c_ast.TernaryOp,
    c_ast.Cast,
    c_ast.Constant,
    c_ast.ID,
    c_ast.ArrayRef,
    c_ast.FuncCall,
    c_ast.ExprList,
)
_TYPES = (c_ast.Typename, c_ast.TypeDecl, c_ast.IdentifierType)
#: Nodes of the expressions that calls stand for, in one region: functions that call one another twice double them.
_MOST_NODES = 20_000


@dataclass(frozen=True, slots=True)
class _Function:
    """A function of scalars: what it returns, and the types of parameters, result and globals as words."""

    value: Any
    parameters: Mapping[str, Sequence[str]]
    result: Sequence[str]
    outside: Sequence[Sequence[str]]


def inlined(
    body: Any, definitions: Mapping[str, Any], declarations: Mapping[str, Any], outside: Mapping[str, Any]
) -> Any:
    """Return ``body`` with calls of functions that return one expression of arguments and globals written out.

    ``definitions`` are those of the file by name, ``declarations`` the types of what arguments may be, ``outside``
    those of globals, which no parameter hides. Arguments and results get casts to the types of the function, where
    they may be of others. Other calls stay.
    """
    known = PURE | ROUNDED.keys()  # by their names, whatever they are
    functions = {
        name: made for name, node in definitions.items() if name not in known and (made := _function(node, outside))
    }
    declared = {**declarations, **{item.name: item.type for item in nodes([body]) if isinstance(item, c_ast.Decl)}}
    room = [_MOST_NODES]

    def written_out(node: Any, open_calls: frozenset[str]) -> Any:
        name: str = getattr(node.name, "name", "") if isinstance(node, c_ast.FuncCall) else ""
        arguments = node.args.exprs if name and node.args is not None else []
        function = None if name in open_calls else functions.get(name)
        if function is None or len(arguments) != len(function.parameters):
            return node
        given = {
            parameter: argument if is_of(argument, words, declared) else cast_to(words, argument)
            for (parameter, words), argument in zip(function.parameters.items(), arguments, strict=True)
        }
        room[0] -= sum(1 for _ in nodes([function.value, *given.values()]))
        if room[0] < 0:
            place = "the loop nest" if node.coord is None else f"line {node.coord.line}"
            cure = "write out what the function computes, with variables for what is used again"
            raise InputError("calls stand for too much", place=place, value=name, cure=cure)
        value = rewritten(copied(function.value), lambda item: with_given(item, given))
        value = rewritten(value, lambda item: written_out(item, open_calls | {name}))
        kinds = {tuple(words) for words in (*function.parameters.values(), *function.outside, function.result)}
        return value if kinds in ({("double",)}, {("int",)}) else cast_to(function.result, value)

    return rewritten(body, lambda node: written_out(node, frozenset()))


def _function(definition: Any, outside: Mapping[str, Any]) -> _Function | None:
    """Return what a definition computes; None if that is not one expression of scalar arguments and globals."""
    items = definition.body.block_items or []
    listed = definition.decl.type.args
    named = [item for item in ([] if listed is None else listed.params) if isinstance(item, c_ast.Decl)]  # not void
    parameters = {item.name: words_of_scalar(item) for item in named}
    result = words_of_scalar(definition.decl.type)
    if len(items) != 1 or not isinstance(items[0], c_ast.Return) or items[0].expr is None or not result:
        return None
    if not all(parameters.values()) or not _is_value(items[0].expr, {*parameters, *outside}):
        return None
    read = names_in([items[0].expr]) & (outside.keys() - parameters.keys())
    return _Function(
        items[0].expr, parameters, result, [tuple(words_of(outside[name])) or ("int",) for name in sorted(read)]
    )


def is_one_value(definition: Any, outside: Mapping[str, Any]) -> bool:
    """True if a function is one expression of its arguments and globals, or called by a name that C knows."""
    return definition.decl.name in PURE | ROUNDED.keys() or _function(definition, outside) is not None


def _is_value(node: Any, known: Set[str]) -> bool:
    """Return whether ``node`` is computed of ``known`` names alone and changes nothing."""
    if isinstance(node, _TYPES):
        return True
    if isinstance(node, c_ast.ID):
        return node.name in known
    if not (isinstance(node, _VALUES) or (isinstance(node, c_ast.UnaryOp) and node.op in {"+", "-", "!", "~"})):
        return False
    called = node.name if isinstance(node, c_ast.FuncCall) else None
    return all(child is called or _is_value(child, known) for _, child in node.children())


def words_of_scalar(declared: Any) -> tuple[str, ...]:
    """Return the words of a scalar's type, nothing for any other type."""
    inner = declared.type if isinstance(declared, c_ast.Decl | c_ast.FuncDecl) else declared
    plain = isinstance(inner, c_ast.TypeDecl) and isinstance(inner.type, c_ast.IdentifierType)
    return () if not plain or inner.type.names == ["void"] else tuple(inner.type.names)


def is_of(node: Any, words: Sequence[str], declarations: Mapping[str, Any]) -> bool:
    """Return whether ``node`` is known to be of a type: an element or a variable, or a term of such."""
    if isinstance(node, c_ast.BinaryOp):
        kept = words in {("int",), ("double",)} and node.op in {"+", "-", "*", "/"}
        return kept and all(is_of(item, words, declarations) for item in (node.left, node.right))
    if isinstance(node, c_ast.Constant):
        return words == (node.type,)
    name: str = getattr(element_of(node)[0], "name", "")
    return name in declarations and words == tuple(words_of(declarations[name]))


def with_given(node: Any, given: Mapping[str, Any]) -> Any:
    """Return a copy of what is given for a parameter; other nodes stay."""
    return copied(given[node.name]) if isinstance(node, c_ast.ID) and node.name in given else node


def cast_to(words: Sequence[str], value: Any) -> Any:
    """Return a value as one of a type."""
    plain = c_ast.TypeDecl(None, [], None, c_ast.IdentifierType(list(words)))
    return c_ast.Cast(c_ast.Typename(None, [], None, plain), value, value.coord)
