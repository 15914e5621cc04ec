"""Values in declarations: ``int k[3] = {1, 2, 1};`` assigns each element, in order; tables of numbers keep them.

A loop whose counter runs through numbers alone is written out if a table at the counter has to be affine, as in
``f[x - ex[q]]``, or if its step changes (``len *= 2``); an element of a table of integers at a number is its value.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from pycparser import c_ast

from shorthaul.affine.frontend.constants import constant
from shorthaul.affine.frontend.expressions import c_text
from shorthaul.affine.frontend.rewriting.structures import loop_of
from shorthaul.affine.frontend.rewriting.trees import (
    STEPS,
    assigned,
    copied,
    element_of,
    in_blocks,
    is_name,
    names_in,
    nodes,
    rewritten,
    words_of,
)
from shorthaul.affine.model import Place
from shorthaul.core.errors import InputError

#: The most copies of a body that one loop is written out as.
_MOST_COPIES: Final = 64


def with_values_assigned(body: Any, place: Callable[[Any], Place]) -> Any:
    """Return ``body`` with assignments in place of the lists that local arrays begin with."""
    taken = names_in([body])
    fresh = (name for at in itertools.count() if (name := f"value_{at}") not in taken)

    def apart(items: Sequence[Any]) -> list[Any]:
        result: list[Any] = []
        for item in items:
            node = in_blocks(item, apart)
            values = node.init if isinstance(node, c_ast.Decl) else None
            result.append(node)
            if isinstance(values, c_ast.InitList):
                target = c_ast.ID(node.name, values.coord)
                result += _assigned(target, node.type, values, fresh, place)
                node.init, node.storage = None, []
        return result

    return in_blocks(body, apart)


def without_static_values(body: Any) -> None:
    """Drop, in place, the values of ``static`` variables: they are set before the first call, so they are inputs.

    Integers that nothing changes keep theirs, which may be in subscripts.
    """
    changed = assigned(node for node in nodes([body]) if isinstance(node, c_ast.Assignment | c_ast.UnaryOp))
    for node in nodes([body]):
        is_static = (
            isinstance(node, c_ast.Decl) and "static" in node.storage and not isinstance(node.init, c_ast.InitList)
        )
        if is_static and (node.name in changed or {"float", "double"} & {*words_of(node)}):
            node.init = None


def refuse_designators(body: Any, place: Callable[[Any], Place]) -> None:
    """Raise :class:`InputError` for a list whose values are not in order."""
    for node in nodes([body]):
        if isinstance(node, c_ast.NamedInitializer):
            where, cure = str(place(node.name[0])), "give the values in order, those between them as 0"
            raise InputError("designators are not read", place=where, value=c_text(node)[:80], cure=cure)


def _assigned(
    target: Any, kind: Any, values: Any, fresh: Iterator[str], place: Callable[[Any], Place]
) -> Iterator[Any]:
    """Yield the assignments that give ``target`` of type ``kind`` the ``values``; elements that are not given are 0."""
    is_array = isinstance(kind, c_ast.ArrayDecl)
    if is_array == isinstance(values, c_ast.InitList):
        if not is_array:
            yield c_ast.Assignment("=", copied(target), values, values.coord)
            return
        for at, value in enumerate(values.exprs):
            index = c_ast.Constant("int", str(at), values.coord)
            yield from _assigned(c_ast.ArrayRef(target, index, values.coord), kind.type, value, fresh, place)
        yield from _zeros(target, kind, len(values.exprs), fresh)
        return
    cure = "write one list in braces for every row, or assign the elements one by one"
    problem = "the list of values does not follow the array's axes"
    allowed = "lists such as {1, 2} and {{1, 2}, {3, 4}}, elements in order"
    raise InputError(problem, place=str(place(values)), value=c_text(values)[:80], allowed=allowed, cure=cure)


def _zeros(target: Any, kind: Any, first: int, fresh: Iterator[str]) -> Iterator[Any]:
    """Yield the loop over elements from ``first`` on that sets them to 0."""
    if not isinstance(kind, c_ast.ArrayDecl):
        yield c_ast.Assignment("=", copied(target), c_ast.Constant("int", "0", target.coord), target.coord)
        return
    dim = kind.dim
    if dim is None or (isinstance(dim, c_ast.Constant) and dim.value == str(first)):
        return
    name, at = next(fresh), target.coord
    inner = list(_zeros(c_ast.ArrayRef(target, c_ast.ID(name, at), at), kind.type, 0, fresh))
    yield loop_of(name, c_ast.Constant("int", str(first), at), copied(dim), 1, c_ast.Compound(inner, at), at)


# -- tables


def tables_in(items: Any, body: Any) -> dict[str, Any]:
    """Return the declarations of arrays with values that nothing in ``body`` changes, by name."""
    found = {
        node.name: node
        for node in nodes(items)
        if isinstance(node, c_ast.Decl)
        and isinstance(node.init, c_ast.InitList)
        and isinstance(node.type, c_ast.ArrayDecl)
    }
    read = {id(element_of(node)[0]) for node in nodes([body]) if isinstance(node, c_ast.ArrayRef)}
    for node in nodes([body]):
        target = node.lvalue if isinstance(node, c_ast.Assignment) else None
        if isinstance(node, c_ast.UnaryOp) and node.op in {*STEPS, "&", "*"}:
            target = node.expr
        changed = [element_of(target)[0]] if target is not None else []
        if isinstance(node, c_ast.ID) and id(node) not in read:  # what gets its address may change it
            changed.append(node)
        for item in changed:
            found.pop(getattr(item, "name", ""), None)
    return found


def without_static_lists(body: Any, declarations: dict[str, Any]) -> Any:
    """Return ``body`` without the ``static`` arrays that begin with values: they are declared outside of it."""

    def change(block: list[Any]) -> list[Any]:
        rest = []
        for item in block:
            if isinstance(item, c_ast.Decl) and "static" in item.storage and isinstance(item.init, c_ast.InitList):
                declarations[item.name] = item.type
            else:
                rest.append(in_blocks(item, change))
        return rest

    return in_blocks(body, change)


def tables_text(tables: Mapping[str, Any], numbers: Mapping[str, int]) -> dict[str, str]:
    """Return the tables as C that rests on nothing else, those that can be so."""
    found = {}
    for name, node in tables.items():
        made = rewritten(copied(node), _with_numbers(numbers))
        made.storage, made.quals, kind = [], [], made.type
        if not names_in([made]):
            while isinstance(kind, c_ast.ArrayDecl):
                kind = kind.type
            found[name] = f"static const {c_text(made)};"
    return found


def written_out(items: list[Any], tables: Mapping[str, Any], numbers: Mapping[str, int]) -> list[Any]:
    """Return statements with loops written out; macros that say how often are numbers everywhere."""
    integers = {name: node for name, node in tables.items() if not {"float", "double"} & {*words_of(node.type)}}
    values = {name: dict(_values(node.init, numbers)) for name, node in integers.items()}
    used: set[str] = set()

    def change(block: list[Any]) -> list[Any]:
        result: list[Any] = []
        for item in block:
            copies = _copies(item, integers, numbers, used) if isinstance(item, c_ast.For) else None
            made = [in_blocks(one, change) for one in ([item] if copies is None else copies)]
            result += made
        return result

    def folded(node: Any) -> Any:
        if not isinstance(node, c_ast.ArrayRef):
            return node
        base, subscripts = element_of(node)
        known = values.get(getattr(base, "name", ""), {})
        place = tuple(constant(item, {}) for item in subscripts)
        if not known or None in place or len(place) != len(next(iter(known))):
            return node
        value = known.get(place, 0)  # type: ignore[arg-type]
        number = c_ast.Constant("int", str(abs(value)), node.coord)
        return c_ast.UnaryOp("-", number, node.coord) if value < 0 else number

    made = change(items)
    if used or values:
        fix = _with_numbers({name: numbers[name] for name in used})
        made = [rewritten(rewritten(item, fix), folded) for item in made]
    return made


def _with_numbers(numbers: Mapping[str, int]) -> Callable[[Any], Any]:
    def fixed(node: Any) -> Any:
        is_number = isinstance(node, c_ast.ID) and node.name in numbers
        return c_ast.Constant("int", str(numbers[node.name]), node.coord) if is_number else node

    return fixed


def _values(
    node: Any, numbers: Mapping[str, int], place: tuple[int, ...] = ()
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield the numbers of a list by their subscripts."""
    for at, item in enumerate(node.exprs):
        if isinstance(item, c_ast.InitList):
            yield from _values(item, numbers, (*place, at))
        elif (value := constant(item, numbers)) is not None:
            yield (*place, at), value


def _copies(loop: Any, tables: Mapping[str, Any], numbers: Mapping[str, int], used: set[str]) -> list[Any] | None:
    """Return the bodies of a loop for its values, None where it stays one."""
    start = loop.init.decls[0] if isinstance(loop.init, c_ast.DeclList) and len(loop.init.decls) == 1 else loop.init
    name = start.name if isinstance(start, c_ast.Decl) else getattr(getattr(start, "lvalue", None), "name", None)
    first = start.init if isinstance(start, c_ast.Decl) else getattr(start, "rvalue", None)
    if not isinstance(name, str) or first is None or None in {loop.cond, loop.next}:
        return None
    if not _steers(loop.stmt, name, tables) and not _changes_step(loop.next, name):
        return None
    found: list[Any] = []
    value = constant(first, numbers)
    while value is not None and constant(loop.cond, {**numbers, name: value}):
        if len(found) == _MOST_COPIES:
            return None
        found.append(c_ast.Compound([rewritten(copied(loop.stmt), _with_numbers({name: value}))], loop.coord))
        value = _next(loop.next, name, {**numbers, name: value})
    if value is None or constant(loop.cond, {**numbers, name: value}) is None:
        return None
    used |= names_in([first, loop.cond, loop.next]) & numbers.keys()
    return found


def _steers(body: Any, name: str, tables: Mapping[str, Any]) -> bool:
    """True if a table at a counter is where only affine expressions can be."""
    for node in nodes([body]):
        places: list[Any] = []
        if isinstance(node, c_ast.ArrayRef):
            places = [node.subscript]
        elif isinstance(node, c_ast.For):
            places = [node.init, node.cond]
        elif isinstance(node, c_ast.If):
            places = [node.cond]
        elif (
            isinstance(node, c_ast.Decl) and node.init is not None and not {"float", "double"} & {*words_of(node.type)}
        ):
            places = [node.init]
        for part in nodes([item for item in places if item is not None]):
            base, subscripts = element_of(part)
            if getattr(base, "name", "") in tables and name in names_in(subscripts):
                return True
    return False


def _changes_step(step: Any, name: str) -> bool:
    """True for ``i *= 2``, ``i <<= 1`` and ``i = 2 * i``, with any other number."""
    if not isinstance(step, c_ast.Assignment) or not is_name(step.lvalue, name):
        return False
    is_product = isinstance(step.rvalue, c_ast.BinaryOp) and step.rvalue.op in {"*", "/", "<<", ">>"}
    return step.op in {"*=", "/=", "<<=", ">>="} or (step.op == "=" and is_product)


def _next(step: Any, name: str, numbers: Mapping[str, int]) -> int | None:
    """Return the counter's next value."""
    if isinstance(step, c_ast.UnaryOp) and is_name(step.expr, name) and step.op in STEPS:
        return numbers[name] + STEPS[step.op]
    if not isinstance(step, c_ast.Assignment) or not is_name(step.lvalue, name):
        return None
    if step.op == "=":
        return constant(step.rvalue, numbers)
    return constant(c_ast.BinaryOp(step.op[:-1], step.lvalue, step.rvalue), numbers)
