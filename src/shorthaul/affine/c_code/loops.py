"""Loops in C that walk the parts of a nest, by isl's generation of syntax trees."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from math import inf, prod
from typing import Any

import islpy as isl

from shorthaul.affine import effort
from shorthaul.affine.c_code import syntax_trees as trees
from shorthaul.affine.c_code.legality import Order
from shorthaul.affine.c_code.parts import Nest, Part
from shorthaul.affine.c_code.strips import Strips, moved, strip_heads
from shorthaul.affine.model import Program
from shorthaul.affine.tuning import LOOPS_OPERATIONS, ROW_STRIP, STRIP

_IN, _OUT, _PARAM, _SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.param, isl.dim_type.set
_INDENT = "  "
#: Times as many lines that may come from taking choices out of loops (benchmarks/affine_code.py).
_MOST_SEPARATED = 3
#: Lines in a row that loops over few numbers become: nine for a filter of 3 x 3; not varied.
_MOST_UNROLLED = 16


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


def declaration_of(name: str, text: str) -> str:
    """Return the declaration of local data: compilers do not see that a value is set before it is read."""
    return f"{text}{'' if '[' in text or '*' in text else ' = 0'}; (void){name};"


@dataclass(frozen=True)
class _Text:
    """Lines of C, the parts that they execute, and the local data that they use and do not declare."""

    lines: tuple[str, ...]
    parts: frozenset[str]
    local: frozenset[str] = frozenset()


def loops_text(nest: Nest, program: Program, order: Order | None, strips: Strips | None = None) -> str:
    """Return the loops of ``nest``; calls are ``statement(iterators)``.

    With an ``order``, parallel loops say so, and loops declare the local data of their iterations; with ``strips`` some
    loops are executed in strips. Raises isl.Error if isl takes too long for them.
    """
    return "\n".join(_Printer(nest, program, order, strips).nest_lines())


class _Printer:
    def __init__(self, nest: Nest, program: Program, order: Order | None, strips: Strips | None) -> None:
        self.nest, self.order, self.strips = nest, order, strips
        self.local: Mapping[str, int] = {} if order is None else order.local
        self.used = {
            item.name: frozenset(read.array for read in (*item.reads, item.write)).intersection(self.local)
            for item in program.statements
        }
        self.declarations = program.code.declarations
        self.escaped: set[str] = set()
        self.parts: Mapping[str, Part] = {item.name: item for item in nest.parts}
        self.parameters = (*program.parameters, *nest.tiles)
        taken = {*self.parameters, *program.arrays, *program.code.macros}
        letters = ("c" + "_" * at for at in range(len(taken) + 1))
        self.letter = next(item for item in letters if not any(re.fullmatch(rf"{item}\d+", name) for name in taken))
        self.entries = _sorting(nest) if order is not None else range(nest.length)

    def nest_lines(self) -> list[str]:
        """Return the lines of the whole nest."""
        if not self.nest.parts:
            return []
        lines = self._lines(separated=False)
        with suppress(isl.Error):
            apart = self._lines(separated=True)
            lines = apart if len(apart) <= _MOST_SEPARATED * len(lines) else lines
        return [_INDENT + line for line in lines]

    def _lines(self, *, separated: bool) -> list[str]:
        """Return the lines of the whole nest; ``separated``: loops inside of tiles have no choices where isl can."""
        names, kept = (", ".join(f"i{at}" for at in items) for items in (range(self.nest.length), self.entries))
        sorting = isl.Map.read_from_str(isl.DEFAULT_CONTEXT, f"{{ [{names}] -> [{kept}] }}")
        schedule = isl.UnionMap.empty(isl.Space.params_alloc(isl.DEFAULT_CONTEXT, 0))
        for item in self.nest.parts:
            schedule = schedule.union(isl.UnionMap.from_map(item.time.apply_range(sorting)))
        build = isl.AstBuild.from_context(context_of(self.parameters))
        tiled = {at for item in self.nest.parts for at in item.tiles}
        # loops over origins must stay whole: only then does every T-th value hit the grid
        options = [f"[{kept}] -> atomic[{at}]" for at, entry in enumerate(self.entries) if entry in tiled]
        if separated:
            inside = (at for at, entry in enumerate(self.entries) if entry > max(tiled, default=-1))
            options += [f"[{kept}] -> separate[{at}]" for at in inside]
        if options:
            build = build.set_options(isl.UnionMap.read_from_str(isl.DEFAULT_CONTEXT, f"{{ {'; '.join(options)} }}"))
        prefix = isl.IdList.alloc(isl.DEFAULT_CONTEXT, len(self.entries))
        for at in self.entries:
            prefix = prefix.add(isl.Id.read_from_str(isl.DEFAULT_CONTEXT, f"{self.letter}{at}"))
        # program order is what is written where others take too long
        node = _tree(build.set_iterators(prefix), schedule, LOOPS_OPERATIONS if self.order is not None else 0)
        found = self._node(node, frozenset(), parallel=self.order is None)
        if not found.local:
            return list(found.lines)
        return ["{", *_indented([*self._declared(found.local), *found.lines]), "}"]

    def _node(self, node: Any, walked: frozenset[int], *, parallel: bool) -> _Text:
        kind = node.get_type()
        if kind == isl.ast_node_type.user:
            return self._call(node, walked)
        if kind == isl.ast_node_type.block:
            return _joined([self._node(item, walked, parallel=parallel) for item in trees.children(node)])
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
            return _Text(tuple(lines), parts, then.local | other.local)
        return _Text(tuple(lines), parts, then.local)

    def _loop(self, node: Any, walked: frozenset[int], *, parallel: bool) -> _Text:
        name, at = trees.iterator(node), trees.entry(node, self.letter)
        body = node.for_get_body()
        # isl leaves statements of an iteration out of its loop where they follow all others: their data stand outside
        escaped = self._escaped(trees.executed(body), at)
        free = not parallel and not escaped and self._is_outer(at, walked) and self._is_free(at, trees.executed(body))
        inside = self._node(body, walked | {at}, parallel=parallel or free)
        own = frozenset(name for name in inside.local - escaped if self.local[name] > at)
        declared = self._declared(own)
        inside = _Text((*declared, *inside.lines), inside.parts, inside.local - own)
        first, condition, step = trees.bounds(node)
        sizes = {self.parts[item].tiles.get(at) for item in inside.parts}
        tile = sizes.pop() if len(sizes) == 1 else None
        if node.for_is_degenerate():
            lines = [f"const long {name} = {first};", *inside.lines]
            if tile is not None:
                lines = [lines[0], f"if ({name} % {tile} == 0) {{", *_indented(lines[1:]), "}"]
            return _Text(("{", *_indented(lines), "}"), inside.parts, inside.local)
        if tile is not None:
            first, step = f"first_origin({first}, {tile})", tile
        before = ("PARALLEL",) if free else ("VECTOR",) if not escaped and self._is_vector(node, at) else ()
        lines = [*_head(name, first, condition, step, before), *_indented(inside.lines), "}"]
        # loops outside are one by one in what a tile holds: strips of them would take more room
        inner = tile is None and step == "1" and at >= self.nest.outside
        inner = inner and self.escaped.isdisjoint(self._used(inside.parts))
        rows = self._in_rows(node, walked) if inner else None
        found = self._stripped(node, walked) if inner and rows is None else None
        heads = None if found is None else strip_heads(name, first, condition, STRIP)
        if rows is not None:
            lines = rows
        elif found is not None and heads is not None:
            rest = [heads[1], *_indented(inside.lines), "}"]
            lines = [*before, heads[0], *_indented([*declared, *found]), "}", *rest]
        return _Text(tuple(lines), inside.parts, inside.local)

    def _used(self, parts: frozenset[str]) -> frozenset[str]:
        """Return the local data that some of the parts use."""
        return frozenset[str]().union(*(self.used.get(self.parts[name].statement, frozenset()) for name in parts))

    def _escaped(self, parts: frozenset[str], at: int) -> frozenset[str]:
        """Return the local data of an iteration of the loop for entry ``at`` of which parts outside use a value."""
        flows = {} if self.order is None else self.order.flows
        found = frozenset(
            name
            for name in self._used(parts)
            if self.local[name] > at and any((a in parts) != (b in parts) for a, b in flows[name])
        )
        self.escaped |= found
        return found

    def _declared(self, names: Collection[str]) -> list[str]:
        """Return declarations of local data."""
        return [declaration_of(name, self.declarations[name]) for name in sorted(names)]

    def _is_vector(self, node: Any, at: int) -> bool:
        """True for an innermost loop whose iterations do not depend on each other; arrays have one place for all."""
        body = node.for_get_body()
        if self.strips is None or trees.calls_of(body) is None or self._has_arrays(trees.executed(body)):
            return False
        return self._is_free(at, trees.executed(body))

    def _has_arrays(self, parts: frozenset[str]) -> bool:
        """True if some of the parts use local arrays."""
        return any("[" in self.declarations[name] for name in self._used(parts))

    def _stripped(self, node: Any, walked: frozenset[int]) -> list[str] | None:
        """Return the body of a loop for a whole strip; None if that of another loop is better, or none is legal."""
        before, chain, after = self._jammed(node)
        if self.strips is None or len(chain) < 2:
            return None
        users = trees.calls_of(chain[-1].for_get_body()) or []
        if len(users) * prod(len(trees.values_of(item)) or inf for item in chain[1:]) <= _MOST_UNROLLED:
            return None  # compilers unroll these, and keep what they write in registers
        named = [(self.parts[name], values) for name, values in map(self._given, users)]
        parts = [part for part, _ in named]
        entries = [trees.entry(item, self.letter) for item in chain]
        best, carried = (0, 0), None
        for at, loop in enumerate(chain[:-1]):
            name = trees.iterator(loop)
            if any(re.search(rf"\b{name}\b", text) for item in chain[at + 1 :] for text in trees.bounds(item)):
                continue
            gains = [self.strips.gain(part, values, name) for part, values in named]
            gain = sum(kept for kept, _ in gains), sum(rows for _, rows in gains)
            if gain[0] and gain > best:
                found = self.strips.carried(parts, entries[at], entries[at + 1 :])
                if at == 0 and found is not None and self._mixed(before, chain, after):
                    found = None
                if found is not None:
                    best, carried = gain, found if at == 0 else None
        if carried is None:
            return None
        calls = [line for item in users for line in self._call(item, walked | {*entries}).lines]
        lines = self._for_strip(node, calls)
        executed = frozenset(part.name for part in parts)
        own = frozenset[str]().union(*(self.used.get(part.statement, frozenset()) for part in parts))
        lines = [*self._declared([name for name in own if self.local[name] > entries[-1]]), *lines]
        for loop in reversed(chain[1:]):
            head = ["VECTOR"] if loop is chain[-1] and not carried and not self._has_arrays(executed) else []
            first, condition, step = trees.bounds(loop)
            lines = [*_head(trees.iterator(loop), first, condition, step, head), *_indented(lines), "}"]
        for item in reversed(before):
            lines = [*self._for_strip(node, self._single(item, walked, entries[0])), *lines]
        for item in after:
            lines += self._for_strip(node, self._single(item, walked, entries[0]))
        return lines

    def _in_rows(self, node: Any, walked: frozenset[int]) -> list[str] | None:
        """Return a loop along rows of memory that became the innermost one; None if it is, or must not be.

        What follows one another in the innermost loop, as the terms of a sum, cannot be vectors; rows can.
        """
        before, chain, after = self._jammed(node)
        executed, at, name = trees.executed(node), self._at(node), trees.iterator(node)
        if self.strips is None or len(chain) < 2 or not self._is_free(at, executed):
            return None
        if any(re.search(rf"\b{name}\b", text) for item in chain[1:] for text in trees.bounds(item)):
            return None
        if self.strips.is_short(trees.bounds(node), STRIP):
            return None
        calls = trees.calls_of(chain[-1].for_get_body()) or []
        named = [(self.parts[item], values) for item, values in map(self._given, calls)]

        def is_along(loop: Any) -> bool:
            assert self.strips is not None
            return all(self.strips.gain(part, values, trees.iterator(loop))[1] for part, values in named)

        if not is_along(node) or (
            is_along(chain[-1]) and self._is_free(self._at(chain[-1]), trees.executed(chain[-1]))
        ):
            return None
        lines = [line for item in calls for line in self._call(item, walked | {*map(self._at, chain)}).lines]
        loops = chain[1:]
        while loops and (values := trees.values_of(loops[-1])) and len(values) * len(lines) <= _MOST_UNROLLED:
            lines = [line for value in values for line in _replaced(lines, trees.iterator(loops[-1]), value)]
            del loops[-1]
        own = [item for item in self._used(executed) if self.local[item] > at]
        if loops and (own or self.strips.is_short(trees.bounds(loops[-1]), ROW_STRIP)):
            return None  # one place for all of a row, or every term loads and stores what it is added to

        def row(lines: Sequence[str]) -> list[str]:
            return [*_head(name, *trees.bounds(node), ["VECTOR"]), *_indented(lines), "}"]

        around = [[*self._single(item, walked, at)] for item in (*before, *after)]
        first, last = around[: len(before)], around[len(before) :]
        if not loops:
            return row([*self._declared(own), *itertools.chain(*first), *lines, *itertools.chain(*last)])
        begin, condition, step = trees.bounds(loops[-1])
        heads = strip_heads(trees.iterator(loops[-1]), begin, condition, ROW_STRIP)
        together = self._for_strip(loops[-1], lines, ROW_STRIP)
        lines = [*_head(trees.iterator(loops[-1]), begin, condition, step, ()), *_indented(row(lines)), "}"]
        if heads is not None:
            lines = [heads[0], *_indented(row(together)), "}", heads[1], *lines[1:]]
        for loop in reversed(loops[:-1]):
            lines = [*_head(trees.iterator(loop), *trees.bounds(loop), ()), *_indented(lines), "}"]
        return [*itertools.chain(*map(row, first)), *lines, *itertools.chain(*map(row, last))]

    def _at(self, loop: Any) -> int:
        return trees.entry(loop, self.letter)

    def _single(self, node: Any, walked: frozenset[int], at: int) -> tuple[str, ...]:
        """Return the lines of one statement within the loop for entry ``at``."""
        return self._node(node, walked | {at}, parallel=True).lines

    def _for_strip(self, loop: Any, lines: Sequence[str], size: int = STRIP) -> list[str]:
        """Return what a loop executes for all iterations of a strip, one after the other."""
        return [moved(line, trees.iterator(loop), at) for at in range(size) for line in lines]

    def _mixed(self, before: Sequence[Any], chain: Sequence[Any], after: Sequence[Any]) -> bool:
        """True if what stands around a chain cannot run for a whole strip at once."""
        assert self.strips is not None
        strip = trees.entry(chain[0], self.letter)
        items = [[self.parts[name] for name in trees.executed(item)] for item in (*before, chain[1], *after)]
        return any(
            self.strips.returns(a, b, strip) for first, last in combinations(items, 2) for a in last for b in first
        )

    def _jammed(self, node: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """Return a chain of loops, and the single statements before and after the second of them in the first."""
        items = trees.children(node.for_get_body())
        if len(items) == 1:
            return [], self._chain(node), []
        loops = [at for at, item in enumerate(items) if item.get_type() == isl.ast_node_type.for_]
        tiled = any(trees.entry(node, self.letter) in self.parts[name].tiles for name in trees.executed(node))
        if len(loops) != 1 or tiled or node.for_is_degenerate():
            return [], [], []
        before, after = items[: loops[0]], items[loops[0] + 1 :]
        chain = self._chain(items[loops[0]])
        if not chain or not all(trees.is_single(item) for item in (*before, *after)):
            return [], [], []
        return before, [node, *chain], after

    def _chain(self, node: Any) -> list[Any]:
        """Return loops that hold nothing but the next one, to the innermost; none where there is a tile or a choice."""
        found = []
        while node.get_type() == isl.ast_node_type.for_:
            at = trees.entry(node, self.letter)
            if node.for_is_degenerate() or any(at in self.parts[name].tiles for name in trees.executed(node)):
                return []
            found.append(node)
            node = node.for_get_body()
        return found if trees.calls_of(node) is not None else []

    def _given(self, node: Any) -> tuple[str, list[str]]:
        """Return the part that is called, and its iterators."""
        call = node.user_get_expr()
        name, *values = (call.get_op_arg(at).to_C_str() for at in range(call.get_op_n_arg()))
        return name, values[len(self.parts[name].tiles) :]

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
        line = f"if ({' && '.join(missing)}) {line}" if missing else line
        return _Text((line,), frozenset({part.name}), self.used.get(part.statement, frozenset()))


def _sorting(nest: Nest) -> list[int]:
    """Return the entries of time vectors that those before do not tell: isl takes long for the others.

    A stencil's tiles took more than 20 million operations with the program's order at the end, and 1 % of that without.
    """
    times, found = [item.time.range() for item in nest.parts], []
    for at in range(nest.length):
        told = [
            isl.Map.from_range(item.project_out(_SET, at + 1, nest.length - at - 1)).move_dims(_IN, 0, _OUT, 0, at)
            for item in times
        ]
        is_origin = any(at in item.tiles for item in nest.parts)
        if is_origin or not functools.reduce(isl.Map.union, told).is_single_valued():
            found.append(at)
    return found


def _tree(build: isl.AstBuild, schedule: isl.UnionMap, operations: int) -> Any:
    """Return isl's tree of loops; raise isl.Error if that takes more ``operations`` (0: no limit) or time."""
    context = isl.DEFAULT_CONTEXT

    def before_loop(_build: Any) -> isl.Id:
        mark = isl.Id.read_from_str(context, "loop")
        if effort.is_out_of_effort():
            context.set_max_operations(1)
        return mark

    watched, _callback = build.set_before_each_for(before_loop)
    with effort.limited(operations):
        return watched.node_from_schedule_map(schedule)


def _replaced(lines: Sequence[str], name: str, value: int) -> list[str]:
    text = str(value) if value >= 0 else f"({value})"
    return [re.sub(rf"\b{name}\b", text, line) for line in lines]


def _head(name: str, first: str, condition: str, step: str, before: Sequence[str]) -> list[str]:
    """Return the head of a loop with what stands before it."""
    end = re.fullmatch(rf"{name} (<=?) (.*)", condition)
    if "VECTOR" in before and end is not None:  # compilers ignore what stands before a condition with branches
        first, condition = f"{first}, {name}_end = {end[2]}", f"{name} {end[1]} {name}_end"
    else:
        before = [item for item in before if item != "VECTOR"]
    return [*before, f"for (long {name} = {first}; {condition}; {name} += {step}) {{"]


def _joined(found: Sequence[_Text]) -> _Text:
    return _Text(
        tuple(line for item in found for line in item.lines),
        frozenset(part for item in found for part in item.parts),
        frozenset(name for item in found for name in item.local),
    )


def _indented(lines: Sequence[str]) -> list[str]:
    return [_INDENT + line for line in lines]
