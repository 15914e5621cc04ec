"""A program run step by step at given sizes: which instance each read gets its value from, by the last write.

Written from the accesses and the schedule alone, without isl's dependence analysis, so that the two can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import islpy as isl
import numpy as np
import numpy.typing as npt

from shorthaul.affine.model import Program, Reference, Statement
from shorthaul.core.errors import InputError

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Vertex = tuple[str, tuple[int, ...]]


@dataclass(frozen=True)
class Execution:
    """The CDAG as executed: vertices are the inputs, then the instances in program order.

    ``elements`` are those of each array that are inputs; of statement ``names[at]``, instance ``rows[at][k]`` is number
    ``ranks[at][k]`` of all. ``operands[starts[v]:starts[v + 1]]`` are the distinct operands of vertex v.
    """

    elements: tuple[tuple[str, IntArray], ...]
    names: tuple[str, ...]
    rows: tuple[IntArray, ...]
    ranks: tuple[IntArray, ...]
    starts: IntArray
    operands: IntArray

    @property
    def inputs(self) -> int:
        """The number of inputs."""
        return sum(len(found) for _, found in self.elements)

    @property
    def statement(self) -> IntArray:
        """The statement, by its place in the program, of every instance."""
        result = np.empty(sum(map(len, self.ranks)), dtype=np.int64)
        for at, ranks in enumerate(self.ranks):
            result[ranks] = at
        return result

    def instance(self, number: int) -> Vertex:
        """Return the statement and the iteration of an instance."""
        at = int(self.statement[number])
        return self.names[at], tuple(self.rows[at][self.ranks[at] == number][0].tolist())

    def vertices(self) -> list[Vertex]:
        """Return the array and element of every input, and the statement and iteration of every instance."""
        given = [(array, tuple(row)) for array, found in self.elements for row in found.tolist()]
        computed = {
            rank: (name, tuple(row))
            for name, rows, ranks in zip(self.names, self.rows, self.ranks, strict=True)
            for rank, row in zip(ranks.tolist(), rows.tolist(), strict=True)
        }
        return [*given, *(computed[rank] for rank in range(len(computed)))]


def instances(statement: Statement, sizes: Mapping[str, int]) -> IntArray:
    """Return every instance of ``statement`` at ``sizes``, as isl lists the points one by one."""
    width = len(statement.iterators)
    points: list[isl.Point] = []
    fixed(statement.domain, sizes).foreach_point(points.append)
    found = [[point.get_coordinate_val(isl.dim_type.set, at).to_python() for at in range(width)] for point in points]
    return np.array(found, dtype=np.int64).reshape(len(found), width)


def fixed(item: Any, sizes: Mapping[str, int]) -> Any:
    """Return a set or map with every parameter set to its size."""
    for name in item.get_space().get_var_names(isl.dim_type.param):
        at = item.find_dim_by_name(isl.dim_type.param, name)
        item = item.fix_val(isl.dim_type.param, at, isl.Val(sizes[name]))
    return item.project_out(isl.dim_type.param, 0, item.dim(isl.dim_type.param))


def contains(where: isl.Set, rows: IntArray) -> BoolArray:
    """Return which of ``rows`` lie in a set without parameters."""
    result = np.zeros(len(rows), dtype=np.bool_)
    for basic in where.compute_divs().get_basic_sets():
        inside = np.ones(len(rows), dtype=np.bool_)
        for constraint in basic.get_constraints():
            value = _value(constraint.get_aff(), rows)
            inside &= value == 0 if constraint.is_equality() else value >= 0
        result |= inside
    return result


def _value(affine: isl.Aff, rows: IntArray) -> Any:
    """Return an integer affine expression, floors included, for every row; Python's integers where they are long."""
    return _exact(affine, rows.astype(object) if _is_large(affine, rows) else rows)


def _is_large(affine: isl.Aff, rows: IntArray) -> bool:
    """True if 64 bits may not hold the sums of an affine expression."""
    numbers = [int(item) for item in re.findall(r"\d+", affine.to_str())]
    most = max(int(rows.max(initial=1)), -int(rows.min(initial=0)))
    return bool((sum(numbers) + 1) ** (1 + affine.dim(isl.dim_type.div)) * most >= 2**61)


def _exact(affine: isl.Aff, rows: Any) -> Any:
    scale = affine.get_denominator_val()
    total: Any = affine.get_constant_val().mul(scale).to_python()
    for at in range(rows.shape[1]):
        factor = affine.get_coefficient_val(isl.dim_type.in_, at).mul(scale).to_python()
        if factor:
            total = total + (rows[:, at] if factor == 1 else factor * rows[:, at])
    for at in range(affine.dim(isl.dim_type.div)):
        factor = affine.get_coefficient_val(isl.dim_type.div, at).mul(scale).to_python()
        if factor:
            div = affine.get_div(at)
            width = div.get_denominator_val()
            total = total + factor * (_exact(div.scale_val(width), rows) // width.to_python())
    return total if scale.is_one() else total // scale.to_python()


def evaluate(relation: isl.Map, sizes: Mapping[str, int], rows: IntArray) -> tuple[BoolArray, IntArray]:
    """Return which of ``rows`` the function ``relation`` is defined for, and its values, shape (rows, range)."""
    function = fixed(relation, sizes).as_pw_multi_aff()
    defined = np.zeros(len(rows), dtype=np.bool_)
    values = np.zeros((len(rows), relation.dim(isl.dim_type.out)), dtype=np.int64)
    pieces: list[tuple[isl.Set, isl.MultiAff]] = []
    function.foreach_piece(lambda where, expression: pieces.append((where, expression)))
    for where, expression in pieces:
        mask = contains(where, rows)
        defined |= mask
        for column in range(values.shape[1]):
            try:
                values[mask, column] = _value(expression.get_aff(column), rows[mask])
            except OverflowError:
                raise InputError("a subscript does not fit into 64 bits", cure="use smaller sizes") from None
    return defined, values


def ranked(rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return the different ones of ``rows`` (two dimensions) in lexicographic order, and where each row stands there.

    The same as ``np.unique(rows, axis=0, return_inverse=True)``, many times faster, and for rows without columns too.

    >>> rows, place = ranked(np.array([[1, 0], [0, 5], [1, 0]]))
    >>> rows.tolist(), place.tolist()
    ([[0, 5], [1, 0]], [1, 0, 1])
    """
    order = np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(len(rows))
    ascending = rows[order]
    first = np.ones(len(rows), dtype=np.bool_)
    first[1:] = (ascending[1:] != ascending[:-1]).any(axis=1)
    place = np.empty(len(rows), dtype=np.int64)
    place[order] = np.cumsum(first) - 1
    return ascending[first], place


def execute(program: Program, sizes: Mapping[str, int], rows: Sequence[IntArray] | None = None) -> Execution:
    """Run ``program`` at ``sizes``; ``rows`` are the instances of each statement, listed by isl if not given."""
    if rows is None:
        rows = [instances(statement, sizes) for statement in program.statements]
    times = [evaluate(s.schedule, sizes, r)[1] for s, r in zip(program.statements, rows, strict=True)]
    order = np.lexsort(np.concatenate(times).T[::-1])
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    ranks = np.split(rank, np.cumsum([len(item) for item in rows])[:-1])
    log = _Log(sizes)
    for statement, its, when in zip(program.statements, rows, ranks, strict=True):
        for reference in statement.reads:
            log.note(reference, its, when, write=False)
        log.note(statement.write, its, when, write=True)
    sinks, sources, elements = log.resolve()
    inputs = sum(len(found) for _, found in elements)
    n = inputs + len(order)
    keys = (sinks + inputs) * n + np.where(sources >= 0, sources + inputs, -1 - sources)
    edges = ranked(keys[:, np.newaxis])[0][:, 0]
    starts = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(edges // n, minlength=n), out=starts[1:])
    names = tuple(statement.name for statement in program.statements)
    return Execution(tuple(elements), names, tuple(rows), tuple(ranks), starts, edges % n)


class _Log:
    """Every access to every element, in order."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.events: dict[str, list[tuple[IntArray, IntArray, bool]]] = {}

    def note(self, reference: Reference, rows: IntArray, when: IntArray, *, write: bool) -> None:
        """Add one reference of one statement."""
        defined, elements = evaluate(reference.relation, self.sizes, rows)
        self.events.setdefault(reference.array, []).append((elements[defined], when[defined], write))

    def resolve(self) -> tuple[IntArray, IntArray, list[tuple[str, IntArray]]]:
        """Return for every read its instance and who wrote the value, an instance or -1 - k for input k; and inputs."""
        sinks, sources, inputs = [], [], 0
        found: list[tuple[str, IntArray]] = []
        for array, parts in sorted(self.events.items()):
            elements = np.concatenate([item for item, _, _ in parts])
            when = np.concatenate([item for _, item, _ in parts])
            write = np.concatenate([np.full(len(item), is_write) for item, _, is_write in parts])
            unique, element = ranked(elements)
            order = np.lexsort((write, when, element))  # a statement reads before it writes
            element, when, write = element[order], when[order], write[order]
            place = np.arange(len(order))
            first = np.flatnonzero(np.r_[True, element[1:] != element[:-1]])
            last_write = np.maximum.accumulate(np.where(write, place, -1))
            begin = first[np.searchsorted(first, place, side="right") - 1]
            written = last_write >= begin
            read = ~write
            fresh = read & ~written
            number = np.full(len(unique), -1, dtype=np.int64)
            wanted = np.flatnonzero(np.bincount(element[fresh]))
            number[wanted] = inputs + np.arange(len(wanted))
            inputs += len(wanted)
            found.append((array, unique[wanted]))
            sinks.append(when[read])
            sources.append(np.where(written, when[np.maximum(last_write, 0)], -1 - number[element])[read])
        return np.concatenate(sinks), np.concatenate(sources), found
