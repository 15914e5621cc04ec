"""Calls inside of statements, as statements of their own that set variables to the values of functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from pycparser import c_ast

from shorthaul.affine.frontend.constants import PURE, ROUNDED
from shorthaul.affine.frontend.rewriting.inlining import words_of_scalar
from shorthaul.affine.frontend.rewriting.structures import declaration_of, free_name, named
from shorthaul.affine.frontend.rewriting.trees import (
    assigned,
    copied,
    element_of,
    is_name,
    nodes,
    rewritten,
    statements_of,
)
from shorthaul.core.errors import InputError

#: What is evaluated with all that is inside of it.
_TERMS = (c_ast.BinaryOp, c_ast.UnaryOp, c_ast.Cast, c_ast.ArrayRef, c_ast.FuncCall)
_PARTS = (c_ast.Decl, c_ast.Assignment, *_TERMS)


def with_values_apart(
    items: Sequence[Any], definitions: Mapping[str, Any], kinds: dict[str, Any], taken: Set[str], made: set[str]
) -> list[Any]:
    r"""Return statements before which variables are set to the values of functions that take several statements.

    Only functions that change nothing but their own variables are called so. ``kinds`` and ``made`` get the variables.

    >>> from pycparser import c_generator, c_parser
    >>> text = "double f(double v) { double w = v; return w * w; } void g(double *a) { a[0] = 1 + f(a[1]); }"
    >>> f, g = c_parser.CParser().parse(text).ext
    >>> items = with_values_apart(g.body.block_items, {"f": f}, {}, set(), set())
    >>> print("; ".join(map(c_generator.CGenerator().visit, items)))
    double f_value; f_value = f(a[1]); a[0] = 1 + f_value
    """
    result: list[Any] = []
    for item in items:
        for call in list(_evaluated(item)):
            name = call.name.name
            if is_value(item, made) or not _is_pure(name, definitions, frozenset()):
                continue
            word = free_name(f"{name}_value", dict.fromkeys({*taken, *kinds}))
            made.add(word)
            kinds[word] = named(copied(definitions[name].decl.type.type), word)
            value = c_ast.ID(word, call.coord)
            setting = c_ast.Assignment("=", value, call, call.coord)
            result += [declaration_of(word, kinds[word], None, call.coord), setting]
            _replace(item, call, value)
        result.append(item)
    return result


def is_value(node: Any, made: Set[str]) -> bool:
    """True if a statement sets one of the variables that were ``made``."""
    return isinstance(node, c_ast.Assignment) and getattr(node.lvalue, "name", "") in made


def as_returned(items: Sequence[Any], value: Any) -> list[Any]:
    """Return the statements of a function that sets ``value`` where it returns one."""

    def change(node: Any) -> Any:
        if not isinstance(node, c_ast.Return) or node.expr is None:
            return node
        setting = c_ast.Assignment("=", copied(value), node.expr, node.coord)
        return c_ast.Compound([setting, c_ast.Return(None, node.coord)], node.coord)

    return statements_of(rewritten(c_ast.Compound(list(items)), change))


def with_value_set(definition: Any, kinds: dict[str, Any]) -> str:
    """Let a function set a variable where it returns a number; return its name, "" if there is none."""
    returned = any(isinstance(node, c_ast.Return) and node.expr is not None for node in nodes([definition.body]))
    if returned and isinstance(getattr(definition.decl.type.type, "type", None), c_ast.Struct | c_ast.Union):
        place, cure = (
            "line {} column {}".format(*str(definition.coord).split(":")[-2:]),
            "return a number, and set the others by pointers",
        )
        raise InputError("the function returns a structure", place=place, value=definition.decl.name, cure=cure)
    if not returned or not words_of_scalar(definition.decl.type):
        return ""
    name = definition.decl.name
    word = free_name(f"{name}_value", {**kinds, **dict.fromkeys(assigned([definition.body]))})
    kinds[word] = named(copied(definition.decl.type.type), word)
    definition.body.block_items = as_returned(definition.body.block_items, c_ast.ID(word, definition.coord))
    return word


def value_at_end(word: str, items: list[Any], kinds: Mapping[str, Any]) -> tuple[list[Any], str]:
    """Return the statements of a function that sets ``word`` to its value, and what it returns behind them in C.

    That is ``word``, but for a number and a variable with fractions, to which it is set once, at the end.
    """
    uses = [node for node in nodes(items) if is_name(node, word)]
    last = items[-1] if items else None
    if len(uses) != 1 or not isinstance(last, c_ast.Assignment) or last.lvalue is not uses[0]:
        return items, word if uses else ""
    if isinstance(last.rvalue, c_ast.Constant):
        return items[:-1], str(last.rvalue.value)
    declared = {node.name: node.type for node in nodes(items) if isinstance(node, c_ast.Decl)}
    kind = {**kinds, **declared}.get(getattr(last.rvalue, "name", ""))
    is_real = {"float", "double"} & {*words_of_scalar(kind)}
    return (items[:-1], str(last.rvalue.name)) if is_real else (items, word)


def _evaluated(node: Any) -> Iterator[Any]:
    """Yield calls that a statement makes whatever the values are, before it sets anything, the inner ones first."""
    if isinstance(node, c_ast.If):
        yield from _evaluated(node.cond)
        return
    if isinstance(node, c_ast.TernaryOp) or getattr(node, "op", "") in {"&&", "||", "sizeof"}:
        return
    if isinstance(node, _PARTS):
        inside = [child for field, child in node.children() if field != "type"]
        for child in inside if not isinstance(node, c_ast.FuncCall) or node.args is None else node.args.exprs:
            yield from _evaluated(child)
    if isinstance(node, c_ast.FuncCall) and _name(node):
        yield node


def _name(call: Any) -> str:
    return getattr(call.name, "name", "")


def _replace(node: Any, old: Any, new: Any) -> None:
    rewritten(node, lambda item: new if item is old else item)


def _is_pure(name: str, definitions: Mapping[str, Any], opened: frozenset[str]) -> bool:
    """True if a function of the file returns a scalar and changes nothing but its own variables."""
    known = PURE | ROUNDED.keys()
    if name in known:
        return bool(opened)
    definition = definitions.get(name)
    if definition is None or name in opened or not words_of_scalar(definition.decl.type):
        return False
    listed = definition.decl.type.args
    parameters = [] if listed is None else listed.params
    scalars, arrays = ((*parameters, definition.body), c_ast.TypeDecl), ((definition.body,), c_ast.ArrayDecl)
    own = {
        item.name
        for items, kind in (scalars, arrays)
        for item in nodes(items)
        if isinstance(item, c_ast.Decl) and isinstance(item.type, kind)
    }
    for node in nodes([definition.body]):
        target = node.lvalue if isinstance(node, c_ast.Assignment) else None
        if isinstance(node, c_ast.UnaryOp) and node.op in {"p++", "++", "p--", "--", "&"}:
            target = node.expr if node.op != "&" else node
        if target is not None and getattr(element_of(target)[0], "name", "") not in own:
            return False
        if isinstance(node, c_ast.FuncCall) and not _is_pure(_name(node), definitions, opened | {name}):
            return False
    return True
