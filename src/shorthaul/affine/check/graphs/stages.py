"""The graph on which an argument argues, made from the program's by the steps of a certificate, each verified.

*Places.* Every vertex gets a place in the new graph, and perhaps a slice. A copy is an instance that reads one vertex
only and has its place: a value is in fast memory while it or a copy of it is, and a load of either is one of it. Other
vertices of one slice have places of their own, no read leads from slice to slice, and all slices have the same places
and reads: what a play does in one slice is a play of the new graph, so its loads count once for each slice.

*Sums.* ``Lemma (reassociated sums)``: see ``sums``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import islpy as isl

from shorthaul.affine.check.data_flow import ProgramReads, Reads
from shorthaul.affine.check.execution import Vertex
from shorthaul.affine.check.formulas import is_same, value_of
from shorthaul.affine.check.graphs.images import by_name, image
from shorthaul.affine.check.graphs.sums import sums_at, sums_of, wrong_sums
from shorthaul.affine.check.lifetime_points import Graph
from shorthaul.affine.check.partition_points import counted
from shorthaul.core.errors import InputError

Executed = tuple[tuple[dict[str, int], Graph], ...]


@dataclass(frozen=True)
class Stage:
    """A graph that stands for the program's: what is read in it, and the same at some sizes.

    The loads of an argument count once for each of the ``times``, formulas that are multiplied. ``any_order``: bounds
    hold for sums in any order; ``only``: arguments of this kind only, that on events where results are computed from
    all terms of their sums.
    """

    reads: Reads
    executed: Executed
    times: tuple[str, ...] = ()
    any_order: bool = False
    only: str = ""


def derived(
    steps: Sequence[Mapping[str, Any]], whole: Stage, sizes: Sequence[Mapping[str, int]]
) -> tuple[Stage, list[str]]:
    """Return the graph made by some steps, and what is wrong with them; slices are counted at ``sizes``."""
    wrong: list[str] = []
    stage = whole
    for number, step in enumerate(steps, 1):
        make = _MADE.get(str(step["kind"]))
        if make is None:
            raise InputError("is of an unknown kind", place=f"graph[{number}].kind", value=step["kind"])
        stage, found = make(step, stage, sizes)
        wrong += [f"graph, step {number}: {message}" for message in found]
    return stage, list(dict.fromkeys(wrong))


# -- places


def _placed(step: Mapping[str, Any], stage: Stage, sizes: Sequence[Mapping[str, int]]) -> tuple[Stage, list[str]]:
    """Return the graph of one slice."""
    reads = stage.reads
    place, copies = isl.UnionMap(str(step["place"])), isl.UnionSet(str(step["copies"]))
    vertices = reads.instances.union(reads.inputs)
    times, is_whole = str(step["times"]), step["slices"] is None
    if is_whole:
        slices = isl.UnionMap.from_domain_and_range(vertices, isl.UnionSet("{ one[] }"))
    else:
        slices = isl.UnionMap(str(step["slices"]))
    wrong = list(_wrong_places(place, slices, copies, reads))
    if any(not is_same(value_of(times, at), Fraction(1 if is_whole else counted(slices.range(), at))) for at in sizes):
        wrong.append("times is not the number of slices")
    rest = reads.all.subtract_domain(copies)
    made = rest.apply_domain(place).apply_range(place).coalesce()
    domains = by_name(place.intersect_domain(reads.instances.subtract(copies)).range())
    inputs = by_name(place.intersect_domain(reads.inputs).range())
    if domains.keys() & inputs.keys():
        wrong.append("an instance and an input have places of one name")
    executed = []
    for at, graph in stage.executed:
        operands, messages = _placed_at(place, slices, copies, graph, at)
        executed.append((at, Graph(operands)))
        wrong += messages
    known = Reads(domains, lambda name: made.intersect_domain(isl.UnionSet.from_set(domains[name])))
    return replace(stage, reads=known, executed=tuple(executed), times=(*stage.times, times)), wrong


def _wrong_places(place: isl.UnionMap, slices: isl.UnionMap, copies: isl.UnionSet, reads: Reads) -> Iterator[str]:
    """Yield where the new graph is not that of every slice, or vertices are one that are no copies."""
    vertices = reads.instances.union(reads.inputs)
    for what, relation in (("place", place), ("slice", slices)):
        if not relation.is_single_valued() or not vertices.is_subset(relation.domain()):
            yield f"a vertex has not one {what}"
    if not copies.is_subset(reads.instances):
        yield "a copy is no instance"
    source = reads.all.intersect_domain(copies)
    if not source.is_single_valued() or not copies.is_subset(source.domain()):
        yield "a copy does not read one vertex"
    if not source.apply_range(place).is_equal(place.intersect_domain(copies)):
        yield "a copy has not the place of what it reads"
    others = vertices.subtract(copies)
    if not slices.range_product(place).intersect_domain(others).is_injective():
        yield "two vertices of one slice that are no copies have one place"
    if not reads.all.is_subset(slices.apply_range(slices.reverse())):
        yield "a read leads from slice to slice"
    every, own = slices.intersect_domain(vertices).range(), slices.intersect_domain(others).reverse()
    found = own.apply_range(place)
    if not isl.UnionMap.from_domain_and_range(every, found.range()).is_subset(found):
        yield "a slice has not the places of the others"
    read = reads.all.intersect_domain(others)
    before, after = read.domain_map(), read.range_map()
    pairs = before.apply_range(place).range_product(after.apply_range(place))
    found = before.apply_range(slices).reverse().apply_range(pairs)
    if not isl.UnionMap.from_domain_and_range(every, found.range()).is_subset(found):
        yield "a slice has not the reads of the others"


def _placed_at(
    place: isl.UnionMap, slices: isl.UnionMap, copies: isl.UnionSet, graph: Graph, sizes: Mapping[str, int]
) -> tuple[dict[Vertex, set[Vertex]], list[str]]:
    """Return what is read in one slice of a graph as executed, and what is wrong: the second method."""
    vertices, wrong = list(graph.operands), []
    to, where = image(place, vertices, sizes), image(slices, vertices, sizes)
    if len(to) < len(vertices) or len(where) < len(vertices):
        return {}, [f"a vertex has no place at {dict(sizes)}"]
    copied = image(copies.identity(), vertices, sizes)
    by_slice: dict[Vertex, dict[Vertex, set[Vertex]]] = {}
    for vertex, read in graph.operands.items():
        if any(where[one] != where[vertex] for one in read):
            wrong.append(f"a read of {vertex} leads to another slice")
        if vertex in copied:
            if len(read) != 1 or to[next(iter(read))] != to[vertex]:
                wrong.append(f"{vertex} is no copy of one vertex")
            continue
        made = by_slice.setdefault(where[vertex], {})
        if to[vertex] in made:
            wrong.append(f"two vertices have the place of {vertex}")
        made[to[vertex]] = {to[one] for one in read}
    first: dict[Vertex, set[Vertex]] = next(iter(by_slice.values()), {})
    if any(made != first for made in by_slice.values()):
        wrong.append(f"slices differ at {dict(sizes)}")
    return first, wrong


# -- sums


def _summed(step: Mapping[str, Any], stage: Stage, _: Sequence[Mapping[str, int]]) -> tuple[Stage, list[str]]:
    """Return the graph of values or of order of a program's sums."""
    if not isinstance(stage.reads, ProgramReads):
        raise InputError("are sums of a graph that is not the program's", place="graph")
    item = sums_of(step, stage.reads)
    wrong = list(wrong_sums(item, stage.reads))
    executed = []
    for sizes, graph in stage.executed:
        operands, messages = sums_at(item, stage.reads.program, graph.operands, sizes)
        executed.append((sizes, Graph(operands)))
        wrong += messages
    made = item.graph(stage.reads)
    only = "wavefront" if item.is_order else ""
    return replace(stage, reads=made, executed=tuple(executed), any_order=True, only=only), wrong


_Make = Callable[[Mapping[str, Any], Stage, Sequence[Mapping[str, int]]], tuple[Stage, list[str]]]
_MADE: Final[dict[str, _Make]] = {"places": _placed, "values": _summed, "order": _summed}
