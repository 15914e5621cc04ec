"""Values in declarations: ``int k[3] = {1, 2, 1};`` assigns each element, in order; static ones are inputs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pycparser import c_ast

from shorthaul.affine.frontend.expressions import c_text
from shorthaul.affine.frontend.rewriting.structures import loop_of
from shorthaul.affine.frontend.rewriting.trees import assigned, copied, in_blocks, names_in, nodes, words_of
from shorthaul.affine.model import Place
from shorthaul.core.errors import InputError


def with_values_assigned(body: Any, place: Callable[[Any], Place]) -> Any:
    """Return ``body`` with assignments in place of the lists that local arrays begin with.

    An array that is ``static`` has its values before the function begins: they are inputs, as those of the file are.
    """
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
                result += [] if "static" in node.storage else _assigned(target, node.type, values, fresh, place)
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
