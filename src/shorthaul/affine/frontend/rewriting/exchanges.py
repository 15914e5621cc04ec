"""Pointers that change places, as in ``t = p; p = q; q = t``: one array of the arrays that they lead to in turn."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from shorthaul.affine.frontend.rewriting.places import is_pointer
from shorthaul.affine.frontend.rewriting.structures import declaration_of, free_name, named, scalar_type
from shorthaul.affine.frontend.rewriting.trees import copied, names_in, nodes, rewritten, target_of
from shorthaul.affine.frontend.rewriting.walking import without_walking


@dataclass(frozen=True, slots=True)
class _Run:
    """Statements one behind the other that set pointers to others, and what each of the pointers is set to."""

    statements: tuple[Any, ...]
    values: Mapping[str, str]

    def cycle(self, kept: set[str], order: Mapping[str, int]) -> tuple[str, ...]:
        """Return the pointers that change places, each set to the next; none if the run does more than that."""
        moved = {name: value for name, value in self.values.items() if name in kept and name != value}
        found = [min(moved, key=order.__getitem__, default="")]
        while (name := moved.get(found[-1], "")) not in {"", found[0]} and len(found) < len(moved):
            found.append(name)
        return tuple(found) if name == found[0] and len(found) == len(moved) > 1 else ()


def without_exchanges(items: Sequence[Any], declarations: dict[str, Any], first: dict[str, Any]) -> list[Any]:
    r"""Return statements in which an array of arrays stands for pointers that change places; others stay as they are.

    A variable counts which of them a pointer leads to, and where loops tell its value, that takes its place.
    ``declarations`` gets the array in the place of the pointers, or of what they lead to at first; ``first`` are the
    values of names before.

    >>> from pycparser import c_generator, c_parser
    >>> text = "void f(double *p, double *q) { for (k = 0; k < n; k++) { p[1] = q[0]; double *t = p; p = q; q = t; } }"
    >>> function = c_parser.CParser().parse(text).ext[0]
    >>> kinds = {item.name: item.type for item in function.decl.type.args.params}
    >>> (loop,) = without_exchanges(function.body.block_items, kinds, {})
    >>> print(c_generator.CGenerator().visit(loop).replace("\n", " "))
    for (k = 0; k < n; k++) {   p_q[k % 2][1] = p_q[(k + 1) % 2][0]; }
    """
    kinds = {**declarations, **{node.name: node.type for node in nodes(items) if isinstance(node, c_ast.Decl)}}
    if sum(_move(node, kinds) is not None for node in nodes(items)) < 3:
        return list(items)
    body, known = c_ast.Compound(copied(list(items))), ({**declarations}, {**first})
    order = {name: at for at, name in enumerate(kinds)}
    runs = [run for block in nodes([body]) for run in _runs(block, kinds)]
    inside = {id(item) for run in runs for item in run.statements}
    kept = {node.name for node in _outside(body, inside) if isinstance(node, c_ast.ID)}
    by_cycle: dict[tuple[str, ...], list[_Run]] = {}
    for run in runs:
        by_cycle.setdefault(run.cycle(kept, order), []).append(run)
    made: list[Any] = []
    for cycle, found in by_cycle.items():
        if cycle and not any({*cycle} & {*other} for other in by_cycle if other != cycle):
            made += _one_array(body, cycle, found, (*known, kinds))
    result = [*made, *body.block_items]
    counters = {node.name for node in made if node.init is not None}
    for only in (counters, None):
        result = without_walking(result, *known, only)
        if not names_in(result) & counters:
            for given, new in zip((declarations, first), known, strict=True):
                given.clear()
                given.update(new)
            return result
    return list(items)


def _runs(block: Any, kinds: Mapping[str, Any]) -> Iterator[_Run]:
    """Yield the runs of a block."""
    items = block.block_items or [] if isinstance(block, c_ast.Compound) else []
    for is_move, group in itertools.groupby(items, lambda item: _move(item, kinds) is not None):
        statements, values = tuple(group), dict[str, str]()
        for target, value in filter(None, (_move(item, kinds) for item in statements if is_move)):
            values[target] = values.get(value, value)
        if len(statements) > 2 and is_move:
            yield _Run(statements, values)


def _move(item: Any, kinds: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the pointer that a statement sets, and the one whose value it takes."""
    target, value = item, getattr(item, "init", None)
    if isinstance(item, c_ast.Assignment) and item.op == "=":
        target, value = item.lvalue, item.rvalue
    while isinstance(value, c_ast.Cast):
        value = value.expr
    if not isinstance(target, c_ast.ID | c_ast.Decl) or not isinstance(value, c_ast.ID):
        return None
    pair = (target.name, value.name)
    return pair if all(is_pointer(kinds.get(name)) for name in pair) else None


def _outside(node: Any, left_out: set[int]) -> Iterator[Any]:
    """Yield the nodes of a tree without some of its parts."""
    if id(node) not in left_out:
        yield node
        for child in node:
            yield from _outside(child, left_out)


def _one_array(body: Any, cycle: tuple[str, ...], runs: Sequence[_Run], known: tuple[Any, Any, Any]) -> list[Any]:
    """Put one array in the place of pointers that change places, in place; return the declarations that it needs."""
    declarations, first, kinds = known
    steps = {id(run.statements[-1]) for run in runs}
    gone = {id(item) for run in runs for item in run.statements} - steps
    begins = {name: first[name].name for name in cycle if isinstance(first.get(name), c_ast.ID)}
    for item in body.block_items:  # values at first are those set before anything else is done with the pointers
        target, value = _move(item, kinds) or ("", "")
        if target in cycle and target not in begins and id(item) not in gone | steps:
            begins[target] = value
            gone.add(id(item))
        elif names_in([item]) & {*cycle}:
            break
    arrays = [begins.get(name, name) for name in cycle]
    left = [node for node in _outside(body, gone | steps) if not isinstance(node, c_ast.Decl) or node.init is not None]
    if {*map(target_of, left)} & {*cycle, *arrays} or len({*arrays}) < len(cycle) or {*begins.values()} & {*cycle}:
        return []
    word = free_name("_".join(arrays), kinds)
    turn = free_name(f"{word}_turn", kinds)
    places = {name: c_ast.Constant("int", str(at)) for at, name in enumerate(arrays) if name not in cycle}
    for at, name in enumerate(cycle):
        count = c_ast.BinaryOp("+", c_ast.ID(turn), c_ast.Constant("int", str(at))) if at else c_ast.ID(turn)
        places[name] = c_ast.BinaryOp("%", count, c_ast.Constant("int", str(len(cycle))))

    def change(node: Any) -> Any:
        if id(node) in steps:
            return c_ast.UnaryOp("p++", c_ast.ID(turn, node.coord), node.coord)
        if isinstance(node, c_ast.Compound):
            declared = {id(item) for item in node.block_items or [] if getattr(item, "name", None) in places}
            node.block_items = [item for item in node.block_items or [] if id(item) not in gone | declared]
        if isinstance(node, c_ast.ID) and node.name in places:
            made = c_ast.ArrayRef(c_ast.ID(word), copied(places[node.name]))
            for each in nodes([made]):
                each.coord = node.coord
            return made
        return node

    rewritten(body, change)
    kind = max((kinds[name] for name in arrays), key=lambda kind: isinstance(kind, c_ast.ArrayDecl))
    whole = c_ast.ArrayDecl(named(kind, word), c_ast.Constant("int", str(len(cycle))), [])
    given = [(word, whole) if name in places else (name, kind) for name, kind in declarations.items()]
    declarations.clear()
    declarations.update(given)
    for name in cycle:
        first.pop(name, None)
    counter = declaration_of(turn, scalar_type(turn, "int"), c_ast.Constant("int", "0"))
    return [counter] if word in declarations else [declaration_of(word, whole), counter]
