"""Dependences: which instance produced the value that a read reads, and which instances share memory."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import islpy as isl

from shorthaul.affine.effort import patiently, step
from shorthaul.affine.integer_sets.divisions import has_divisions, without_divisions
from shorthaul.affine.model import Program, Reference
from shorthaul.core.arguments import public


@dataclass(frozen=True, slots=True)
class Flow:
    """Values flowing from the statement ``source`` to one read reference of the statement ``sink``.

    ``relation`` maps producing instances to consuming ones (``S0[i] -> S1[i, j]``). For values that are read and never
    written before, ``source`` is None and ``relation`` maps array elements to instances (``A[i, k] -> S1[i, j, k]``).
    """

    source: str | None
    sink: str
    reference: Reference
    relation: isl.Map


@dataclass(frozen=True, slots=True)
class DataFlow:
    """The parametric CDAG of a program: every flow, and per array the elements that are inputs.

    ``known`` is what was derived of it before; a copy made with ``replace`` begins with nothing.
    """

    program: Program
    flows: tuple[Flow, ...]
    inputs: dict[str, isl.Set]
    known: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def into(self, sink: str) -> tuple[Flow, ...]:
        """Return the flows that end in the statement ``sink``."""
        return tuple(flow for flow in self.flows if flow.sink == sink)

    def out_of(self, source: str) -> tuple[Flow, ...]:
        """Return the flows that start in the statement ``source``."""
        return tuple(flow for flow in self.flows if flow.source == source)


@public
def flow_dependences(program: Program) -> DataFlow:
    """Return the exact data-flow graph of ``program`` (Feautrier's array data-flow analysis, as isl does it).

    isl is asked once per read reference: several references of one stencil statement to the same array would otherwise
    merge into one relation that is no function.

    Parameters
    ----------
    program : Program
        The program.

    Returns
    -------
    DataFlow
        For every read the statement instance that wrote the value, or the input it comes from.

    Raises
    ------
    OutOfEffortError
        If the search it is charged to ends before.

    Examples
    --------
    >>> from shorthaul.affine.workloads.cases import kernel
    >>> sorted(flow_dependences(kernel("matvec")).inputs)
    ['A', 'x']
    """
    schedule, writes = program.schedule(), program.writes()
    plain = not any(has_divisions(item.schedule) or has_divisions(item.write.relation) for item in program.statements)
    flows: list[Flow] = []
    inputs: dict[str, isl.Set] = {}
    for statement in program.statements:
        for reference in statement.reads:
            step()
            read = isl.UnionMap.from_map(reference.relation)
            if plain and not has_divisions(reference.relation):
                access = isl.UnionAccessInfo.from_sink(read).set_must_source(writes).set_schedule_map(schedule)
                found = access.compute_flow()
                dependence, without = found.get_must_dependence(), found.get_must_no_source()
            else:
                dependence, without = patiently(partial(_last_writes, read, writes, schedule))
            for relation in sorted_maps(dependence):
                source = program.by_name[relation.get_tuple_name(isl.dim_type.in_)]
                known = isl.Map.from_domain_and_range(source.domain, statement.domain)
                simple = patiently(partial(without_divisions, relation, known))
                flows.append(Flow(source.name, statement.name, reference, simple))
            for relation in sorted_maps(without):
                known = isl.Map.universe(relation.get_space()).intersect_domain(statement.domain)
                turned = patiently(partial(without_divisions, relation, known)).reverse().coalesce()
                flows.append(Flow(None, statement.name, reference, turned))
                elements = turned.domain()
                known = inputs.get(reference.array)
                inputs[reference.array] = (elements if known is None else known.union(elements)).coalesce()
    return DataFlow(program, tuple(flows), inputs)


def _last_writes(read: isl.UnionMap, writes: isl.UnionMap, schedule: isl.UnionMap) -> tuple[isl.UnionMap, isl.UnionMap]:
    """Return last writer -> reader, and the reads without a writer: the last write in time before each read.

    The definition itself, all writes before less those before another one; where divisions occur, as in loops with
    steps, isl's own routine fails on some programs, and both that and its lexmax find other writes on some.
    """
    when = read.domain().apply(schedule)
    sets: list[isl.Set] = []
    when.foreach_set(sets.append)
    earlier = isl.UnionMap.from_map(isl.Map.lex_gt(sets[0].get_space()))
    times = read.apply_range(writes.reverse()).apply_range(schedule).intersect(schedule.apply_range(earlier))
    last = times.subtract(times.apply_range(earlier))
    dependence = last.apply_range(schedule.reverse()).reverse()
    return dependence.coalesce(), read.subtract_domain(dependence.range()).coalesce()


def sorted_maps(union: isl.UnionMap) -> list[isl.Map]:
    """Return the non-empty maps of ``union`` in an order that does not depend on isl's hashing."""
    return sorted((item.coalesce() for item in maps_of(union) if not item.is_empty()), key=str)


def maps_of(union: isl.UnionMap) -> list[isl.Map]:
    """Return the maps of ``union``."""
    maps: list[isl.Map] = []
    union.foreach_map(maps.append)  # nothing but appended: islpy prints what a callback raises and forgets its class
    return maps


@dataclass(frozen=True)
class Access:
    """One access of a statement: ``relation`` maps instances to the element; ``key`` tells it from all others."""

    statement: str
    array: str
    relation: isl.Map
    writes: bool
    key: Hashable = None


@dataclass(frozen=True)
class Conflicts:
    """Pairs of instances that access one element, one of them writing, in program order.

    ``known`` is what was found before, also with other accesses. ``local`` has the flows of arrays whose every value is
    computed and read in the region, by array: these may have a place for each iteration.
    """

    program: Program
    accesses: tuple[Access, ...]
    known: dict[Hashable, Any] = field(default_factory=dict)
    local: Mapping[str, tuple[Flow, ...]] = field(default_factory=dict)

    def before(self, first: str, second: str) -> isl.Map:
        """Return the pairs of instances of which the first comes earlier in the program."""
        key = first, second
        if key not in self.known:
            a, b = self.program.by_name[first].schedule, self.program.by_name[second].schedule
            earlier = isl.Map.lex_lt(a.get_space().range())
            self.known[key] = a.apply_range(earlier).apply_range(b.reverse())
        found: isl.Map = self.known[key]
        return found

    def between(self, first: str, second: str) -> Iterator[tuple[str, Hashable, isl.Map]]:
        """Yield (array, key, pairs) where an instance of ``first`` and a later one of ``second`` conflict."""
        for a in self._of[first]:
            for b in self._of[second]:
                if a.array == b.array and (a.writes or b.writes):
                    key = a.key, b.key
                    if key not in self.known:
                        step()
                        both = a.relation.apply_range(b.relation.reverse())
                        self.known[key] = both.intersect(self.before(first, second)).coalesce()
                    if not self.known[key].is_empty():
                        yield a.array, key, self.known[key]

    def overwritten(self, first: str, second: str) -> Iterator[isl.Map]:
        """Yield the pairs of an instance of ``first`` and a later one of ``second`` that writes what it accesses."""
        for a in self._of[first]:
            for b in self._of[second]:
                if a.array == b.array and b.writes:
                    step()
                    found = a.relation.apply_range(b.relation.reverse()).intersect(self.before(first, second))
                    if not found.is_empty():
                        yield found.coalesce()

    @cached_property
    def _of(self) -> dict[str, list[Access]]:
        """Accesses by statement, without reads of what the statement writes: these conflict as the writes do."""
        result: dict[str, list[Access]] = {item.name: [] for item in self.program.statements}
        for item in sorted(self.accesses, key=lambda item: not item.writes):
            own = (other for other in result[item.statement] if other.writes and other.array == item.array)
            if not any(other.relation.plain_is_equal(item.relation) for other in own):
                result[item.statement].append(item)
        return result


def accesses_of(program: Program) -> tuple[Access, ...]:
    """Return all accesses of a program to its memory."""
    return tuple(
        Access(item.name, reference.array, reference.relation, reference is item.write, reference.tag)
        for item in program.statements
        for reference in (*item.reads, item.write)
    )
