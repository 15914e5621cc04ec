"""Calls of functions of the file, written out as their statements with arguments for parameters.

Of a function that takes several statements and returns a value, a variable is set before the statement that calls it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from pycparser import c_ast

from shorthaul.affine.frontend.rewriting.counting import without_rest
from shorthaul.affine.frontend.rewriting.inlining import cast_to, is_of, is_one_value, with_given, words_of_scalar
from shorthaul.affine.frontend.rewriting.scopes import with_names_apart
from shorthaul.affine.frontend.rewriting.structures import declaration_of, free_name, named
from shorthaul.affine.frontend.rewriting.trees import (
    copied,
    element_of,
    in_blocks,
    names_in,
    nodes,
    rewritten,
    target_of,
    words_of,
)
from shorthaul.affine.frontend.rewriting.values import as_returned, is_value, with_values_apart
from shorthaul.core.errors import InputError

_PLAIN = (c_ast.ID, c_ast.Constant, c_ast.BinaryOp)
#: Words of types that not every integer is one of.
_SMALL = frozenset({"char", "short", "unsigned", "_Bool", "bool"})
#: Nodes of the statements that calls stand for, in one region: functions that call one another twice double them.
_MOST_NODES = 100_000


def with_calls_written_out(
    body: Any, definitions: Mapping[str, Any], declarations: Mapping[str, Any], outside: Mapping[str, Any]
) -> dict[str, str]:
    """Write out calls of ``definitions`` that take statements, in place; return what new names were.

    ``declarations`` are the types of what is declared around, ``outside`` has the globals that no parameter hides.
    Functions that return within loops, have static variables, call themselves or use hidden globals stay calls.
    """
    renamed: dict[str, str] = {}
    room = _MOST_NODES
    kinds = {**declarations, **{item.name: item.type for item in nodes([body]) if isinstance(item, c_ast.Decl)}}
    taken = {*kinds, *names_in([body])}
    hidden = kinds.keys() - outside.keys()
    made_values: set[str] = set()
    several = {name: item for name, item in definitions.items() if not is_one_value(item, outside)}

    def apart(items: Sequence[Any], opened: frozenset[str]) -> list[Any]:
        nonlocal room
        result = []
        for item in with_values_apart(items, several, kinds, taken, made_values):
            node = in_blocks(item, lambda inner: apart(inner, opened))
            call = node.rvalue if is_value(node, made_values) else node
            name = getattr(call.name, "name", "") if isinstance(call, c_ast.FuncCall) else ""
            definition = None if name in opened else definitions.get(name)
            known = (taken, hidden, set() if definition is None else _changed(name, definitions, {*opened}))
            value = None if call is node else node.lvalue
            made = None if definition is None else _statements(call, value, definition, kinds, known, renamed)
            if made is not None:
                room -= sum(1 for _ in nodes([made]))
                if room < 0:
                    place, cure = f"line {node.coord.line}", "write out what the function does, with loops around"
                    raise InputError("calls stand for too much", place=place, value=name, cure=cure)
                kinds.update({item.name: item.type for item in nodes([made]) if isinstance(item, c_ast.Decl)})
                taken.update(names_in([made]), kinds)
                made.block_items = apart(made.block_items, opened | {name})
            result.append(node if made is None else made)
        return result

    in_blocks(body, lambda items: apart(items, frozenset()))
    return renamed


def _statements(
    call: Any,
    value: Any,
    definition: Any,
    kinds: Mapping[str, Any],
    known: tuple[Set[str], Set[str], Set[str]],
    renamed: dict[str, str],
) -> Any | None:
    """Return the block that a call stands for, which sets ``value`` to its value; None if that is not understood."""
    listed = definition.decl.type.args
    parameters = [item for item in ([] if listed is None else listed.params) if isinstance(item, c_ast.Decl)]
    arguments = [] if call.args is None else call.args.exprs
    items = copied(definition.body.block_items or [])
    body = c_ast.Compound(without_rest(items if value is None else as_returned(items, value), c_ast.Return))
    inner = list(nodes([body]))
    is_static = any(isinstance(node, c_ast.Decl) and "static" in node.storage for node in inner)
    if len(parameters) != len(arguments) or is_static or any(isinstance(node, c_ast.Return) for node in inner):
        return None
    returned = [node.expr for node in nodes([definition.body]) if isinstance(node, c_ast.Return) and node.expr]
    does = any(isinstance(node, c_ast.FuncCall | c_ast.Assignment) or target_of(node) for node in nodes(returned))
    if does and value is None:
        return None  # what a value does is done though nobody asks for the value
    names = {item.name for item in parameters}
    sizes = (node.expr for node in inner if isinstance(node, c_ast.UnaryOp) and node.op == "sizeof")
    if any(isinstance(item, c_ast.ID) and item.name in names for item in sizes):
        return None
    taken, hidden, elsewhere = known
    own = {item.name for item in inner if isinstance(item, c_ast.Decl)}
    if names_in(inner) & hidden - names - own:
        return None
    renamed |= with_names_apart(body, taken | names)
    changed = {*map(target_of, nodes([body]))} | elsewhere
    given, first = {}, []
    for parameter, argument in zip(parameters, arguments, strict=True):
        words = words_of_scalar(parameter)
        whole = {"float", "double"}.isdisjoint(words) and _SMALL.isdisjoint(words) and _is_whole(argument, kinds)
        held = cast_to(words, argument) if words and not whole and not is_of(argument, words, kinds) else argument
        is_plain = not words or all(isinstance(node, _PLAIN) for node in nodes([argument]))
        if is_plain and not changed & (names_in([argument]) | {parameter.name}):
            given[parameter.name] = held
            continue
        word = free_name(f"{call.name.name}_{parameter.name}", dict.fromkeys(taken | names))
        kind = parameter.type
        if isinstance(kind, c_ast.ArrayDecl):
            kind = c_ast.PtrDecl([], kind.type)
        first.append(declaration_of(word, named(kind, word), held))
        given[parameter.name] = c_ast.ID(word)
    rewritten(body, lambda node: with_given(node, given))  # not in arguments, which may have names of parameters
    body.block_items = [*first, *body.block_items]
    for node in nodes([body]):
        node.coord = call.coord
    return body


def _changed(name: str, definitions: Mapping[str, Any], done: set[str]) -> set[str]:
    """Return what the functions change that a function calls, globals among them."""
    called = names_in([definitions[name].body]) & definitions.keys() - done
    done |= called
    inner: set[str] = set().union(*(_changed(other, definitions, done) for other in sorted(called)))
    return inner.union(*(map(target_of, nodes([definitions[other].body])) for other in called))


def _is_whole(node: Any, kinds: Mapping[str, Any]) -> bool:
    """True if a term is of integers, so that integers as parameters hold it; macros are integers."""
    if isinstance(node, c_ast.BinaryOp):
        return _is_whole(node.left, kinds) and _is_whole(node.right, kinds)
    if isinstance(node, c_ast.Constant):
        return "int" in node.type
    name = getattr(element_of(node)[0], "name", "")
    return not {"float", "double"} & {*words_of(kinds.get(name))} if isinstance(name, str) and name else False
