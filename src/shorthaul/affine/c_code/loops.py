"""Loops in C that walk the parts of a nest, by isl's generation of syntax trees."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import islpy as isl

from shorthaul.affine.c_code.legality import Order
from shorthaul.affine.c_code.parts import Nest, Part
from shorthaul.affine.model import Program

_IN, _OUT, _PARAM = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.param
_INDENT = "  "


def context_of(names: Sequence[str]) -> isl.Set:
    """Return the parameter values for which code is made: all at least 1."""
    where = " and ".join(f"{name} >= 1" for name in names) or "true"
    return isl.Set.read_from_str(isl.DEFAULT_CONTEXT, f"[{', '.join(names)}] -> {{ : {where} }}")


def c_expressions(function: isl.Map, names: Sequence[str]) -> list[str]:
    """Return the values of a single-valued map as C in the ``names`` of its arguments and in the parameters."""
    moved = function
    first = moved.dim(_PARAM)
    moved = moved.move_dims(_PARAM, first, _IN, 0, moved.dim(_IN))
    for at, name in enumerate(names):
        moved = moved.set_dim_name(_PARAM, first + at, name)
    values = isl.PwMultiAff.from_map(moved.coalesce())
    build = isl.AstBuild.from_context(moved.params())
    found = (values.get_pw_aff(at).project_domain_on_params() for at in range(moved.dim(_OUT)))
    return [str(build.expr_from_pw_aff(item).to_C_str()) for item in found]


def c_value(value: isl.PwAff) -> str:
    """Return a function of the parameters as C."""
    return str(isl.AstBuild.from_context(value.domain()).expr_from_pw_aff(value).to_C_str())


@dataclass(frozen=True)
class _Text:
    """Lines of C, and the parts that they execute."""

    lines: tuple[str, ...]
    parts: frozenset[str]


def loops_text(nest: Nest, program: Program, order: Order | None, indent: int = 1) -> str:
    """Return the loops of ``nest``; calls are ``statement(iterators)``. With an ``order``, parallel loops say so."""
    return "\n".join(_Printer(nest, program, order).nest_lines(indent))


class _Printer:
    def __init__(self, nest: Nest, program: Program, order: Order | None) -> None:
        self.nest, self.order = nest, order
        self.parts: Mapping[str, Part] = {item.name: item for item in nest.parts}
        self.parameters = (*program.parameters, *nest.tiles)
        taken = {*self.parameters, *program.arrays, *program.code.macros}
        letters = ("c" + "_" * at for at in range(len(taken) + 1))
        self.letter = next(item for item in letters if not any(re.fullmatch(rf"{item}\d+", name) for name in taken))

    def nest_lines(self, indent: int) -> list[str]:
        """Return the lines of the whole nest."""
        if not self.nest.parts:
            return []
        schedule = isl.UnionMap.from_map(self.nest.parts[0].time)
        for item in self.nest.parts[1:]:
            schedule = schedule.union(isl.UnionMap.from_map(item.time))
        build = isl.AstBuild.from_context(context_of(self.parameters))
        names = ", ".join(f"i{at}" for at in range(self.nest.length))
        tiled = sorted({at for item in self.nest.parts for at in item.tiles})
        if tiled:  # loops over origins must stay whole: only then does every T-th value hit the grid
            options = "; ".join(f"[{names}] -> atomic[{at}]" for at in tiled)
            build = build.set_options(isl.UnionMap.read_from_str(isl.DEFAULT_CONTEXT, f"{{ {options} }}"))
        prefix = isl.IdList.alloc(isl.DEFAULT_CONTEXT, self.nest.length)
        for at in range(self.nest.length):
            prefix = prefix.add(isl.Id.read_from_str(isl.DEFAULT_CONTEXT, f"{self.letter}{at}"))
        node = build.set_iterators(prefix).node_from_schedule_map(schedule)
        text = self._node(node, frozenset(), parallel=self.order is None)
        return [_INDENT * indent + line for line in text.lines]

    def _node(self, node: Any, walked: frozenset[int], *, parallel: bool) -> _Text:
        kind = node.get_type()
        if kind == isl.ast_node_type.user:
            return self._call(node, walked)
        if kind == isl.ast_node_type.block:
            children = node.block_get_children()
            found = [self._node(children.get_at(at), walked, parallel=parallel) for at in range(children.n_ast_node())]
            return _joined(found)
        if kind == isl.ast_node_type.if_:
            return self._choice(node, walked, parallel=parallel)
        return self._loop(node, walked, parallel=parallel)

    def _choice(self, node: Any, walked: frozenset[int], *, parallel: bool) -> _Text:
        then = self._node(node.if_get_then_node(), walked, parallel=parallel)
        lines = [f"if ({node.if_get_cond().to_C_str()}) {{", *_indented(then.lines), "}"]
        parts = then.parts
        if node.if_has_else_node():
            other = self._node(node.if_get_else_node(), walked, parallel=parallel)
            lines = [*lines[:-1], "} else {", *_indented(other.lines), "}"]
            parts |= other.parts
        return _Text(tuple(lines), parts)

    def _loop(self, node: Any, walked: frozenset[int], *, parallel: bool) -> _Text:
        name = node.for_get_iterator().to_C_str()
        at = int(name.removeprefix(self.letter))
        body = node.for_get_body()
        free = not parallel and self._is_outer(at, walked) and self._is_free(at, _executed(body))
        inside = self._node(body, walked | {at}, parallel=parallel or free)
        first = node.for_get_init().to_C_str()
        sizes = {self.parts[item].tiles.get(at) for item in inside.parts}
        tile = sizes.pop() if len(sizes) == 1 else None
        if node.for_is_degenerate():
            lines = [f"const long {name} = {first};", *inside.lines]
            if tile is not None:
                lines = [lines[0], f"if ({name} % {tile} == 0) {{", *_indented(lines[1:]), "}"]
            return _Text(("{", *_indented(lines), "}"), inside.parts)
        step = node.for_get_inc().to_C_str()
        if tile is not None:
            first, step = f"first_origin({first}, {tile})", tile
        head = f"for (long {name} = {first}; {node.for_get_cond().to_C_str()}; {name} += {step}) {{"
        lines = [head, *_indented(inside.lines), "}"]
        return _Text((("PARALLEL", *lines) if free else tuple(lines)), inside.parts)

    def _is_outer(self, at: int, walked: frozenset[int]) -> bool:
        """True if the loop is not inside of a tile: threads are not worth their start there."""
        tiles = [place for part in self.nest.parts for place in part.tiles]
        return at <= max(tiles) if tiles else len(walked) <= 1

    def _is_free(self, at: int, parts: frozenset[str]) -> bool:
        """True if iterations of the loop for entry ``at`` do not depend on each other."""
        assert self.order is not None
        return not any(place == at and {a, b} <= parts for place, a, b in self.order.carried)

    def _call(self, node: Any, walked: frozenset[int]) -> _Text:
        call = node.user_get_expr()
        given = [call.get_op_arg(at).to_C_str() for at in range(call.get_op_n_arg())]
        part = self.parts[given[0]]
        origins = len(part.tiles)
        line = f"{part.statement}({', '.join(given[1 + origins :])});"
        # an origin without a loop of its own need not be on the grid
        missing = [
            f"({given[1 + number]}) % {tile} == 0"
            for number, (at, tile) in enumerate(part.tiles.items())
            if at not in walked
        ]
        return _Text((f"if ({' && '.join(missing)}) {line}" if missing else line,), frozenset({part.name}))


def _joined(found: Sequence[_Text]) -> _Text:
    return _Text(
        tuple(line for item in found for line in item.lines), frozenset(part for item in found for part in item.parts)
    )


def _executed(node: Any) -> frozenset[str]:
    """Return the parts that a tree executes."""
    kind = node.get_type()
    if kind == isl.ast_node_type.user:
        return frozenset({node.user_get_expr().get_op_arg(0).to_C_str()})
    if kind == isl.ast_node_type.block:
        children = node.block_get_children()
        found = [children.get_at(at) for at in range(children.n_ast_node())]
    elif kind == isl.ast_node_type.if_:
        found = [node.if_get_then_node(), *([node.if_get_else_node()] if node.if_has_else_node() else [])]
    else:
        found = [node.for_get_body()]
    return frozenset(name for item in found for name in _executed(item))


def _indented(lines: Sequence[str]) -> list[str]:
    return [_INDENT + line for line in lines]
