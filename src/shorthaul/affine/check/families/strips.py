"""Strips of places and steps, verified from a certificate: what waits at the moment when one of them begins.

A strip begins when the last of some vertices is computed, and ends when the last of some others is. Between the two a
path has a last vertex that exists: the paths must not meet, and lead from what exists then to what comes later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import islpy as isl

from shorthaul.affine.check.data_flow import Reads
from shorthaul.affine.check.execution import Vertex
from shorthaul.affine.check.lifetime_argument import Waiting, follows, wrong_sharing
from shorthaul.affine.check.lifetime_points import Graph, pairs_at, ranges_at


def wrong_strips(item: Waiting, reads: Reads) -> Iterator[str]:
    """Yield where a value does not wait in its strip, or strips that share one overlap in time."""
    (one,), ancestors = item.sums, item.relation("ancestors")
    begins, finishes, readers, order = map(item.relation, ("begins", "finishes", "readers", "order"))
    fixed, vertices = item.relation("fixed"), item.relation("vertices")
    events = one.alive.domain()
    known, until = (
        ends.apply_range(ancestors.union(ends.range().identity())).coalesce() for ends in (begins, finishes)
    )
    if not follows(ancestors, reads.all):
        yield "the ancestors do not follow from reads"
    if not events.is_subset(begins.domain()) or not events.is_subset(finishes.domain()):
        yield "a strip has no beginning or no end"
    if not begins.range().union(finishes.range()).is_subset(reads.instances):
        yield "a strip begins or ends with what is not computed"
    if not readers.reverse().apply_range(begins).is_subset(ancestors):
        yield "a reader is no descendant of all that a strip begins with"
    if not readers.is_subset(until):
        yield "a reader is no ancestor of what a strip ends with"
    if not fixed.is_subset(known) or not fixed.is_subset(readers.apply_range(reads.all)):
        yield "a value is not there at the beginning of a strip, or is not read in it"
    yield from _wrong_paths(item, readers, known, reads)
    if one.times != 1 or one.less != 1 or not one.alive.is_equal(fixed.union(item.relation("ends"))):
        yield "what waits is not the values and the ends of paths"
    # a strip -> one that ends before it begins: all that is complete at its end is complete then
    late = order.apply_range(finishes).subtract(known).apply_range(finishes.reverse())
    if not order.range().is_subset(events) or not follows(order, order.subtract(late)):
        yield "the order of strips does not follow from ancestors"
    counted = fixed.union(vertices).union(vertices.apply_range(item.relation("back")))
    alike = isl.UnionMap.from_domain_and_range(events, isl.UnionSet("{ [1, 0] }"))
    yield from wrong_sharing(counted, alike, order)
    if not counted.range().is_subset(item.spill):
        yield "the may-spill set lacks what waits"


def _wrong_paths(item: Waiting, readers: isl.UnionMap, known: isl.UnionMap, reads: Reads) -> Iterator[str]:
    """Yield where paths do not lead from what exists to a reader, or two of them meet."""
    back, vertices, ends, fixed = map(item.relation, ("back", "vertices", "ends", "fixed"))
    passed = vertices.apply_range(back)
    if not back.is_subset(reads.all) or not back.is_single_valued() or not back.is_injective():
        yield "a path does not follow reads, or two paths meet"
    if not vertices.range().is_subset(back.domain()) or not passed.is_subset(vertices.union(known)):
        yield "a path does not begin with what exists at the beginning of its strip"
    if not ends.is_subset(vertices.intersect(readers)) or not ends.intersect(passed).is_empty():
        yield "a path does not end in a reader, or goes on"
    if not fixed.intersect(vertices.union(passed)).is_empty():
        yield "a value is on a path"


def wrong_strips_in(item: Waiting, graph: Graph, sizes: Mapping[str, int]) -> Iterator[str]:
    """Follow the paths and values of every strip in the program as executed, and yield those that do not wait."""
    begins, finishes = (ranges_at(item.relation(name), sizes) for name in ("begins", "finishes"))
    back = dict(pairs_at(item.relation("back"), sizes))
    for strip, vertex in pairs_at(item.relation("fixed"), sizes):
        if not any(graph.is_before(vertex, first) or vertex == first for first in begins[strip]):
            yield f"{vertex} is not there when {strip} begins"
        elif not any(graph.is_between(one, begins[strip], finishes[strip]) for one in graph.readers[vertex]):
            yield f"{vertex} is not read in {strip}"
    on_path: dict[Vertex, set[Vertex]] = defaultdict(set)
    for strip, end in pairs_at(item.relation("ends"), sizes):
        path = [end]
        while not any(graph.is_before(path[-1], first) or path[-1] == first for first in begins[strip]):
            if back.get(path[-1]) not in graph.operands[path[-1]]:
                yield f"the path that ends in {end} does not lead back to the beginning of {strip}"
                break
            path.append(back[path[-1]])
        if not graph.is_between(end, begins[strip], finishes[strip]) or not on_path[strip].isdisjoint(path):
            yield f"{end} is not computed in {strip}, or two paths meet there"
        on_path[strip].update(path)
