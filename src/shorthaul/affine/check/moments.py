"""Arguments on what passes between two moments at which sets of vertices are complete, verified from certificates.

An interval begins when the last of some vertices is computed, and ends when the last of some others is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import islpy as isl

from shorthaul.affine.check.data_flow import Reads, empty_map
from shorthaul.affine.check.lifetime_argument import Sum, Waiting, follows, wrong_sharing
from shorthaul.affine.check.lifetime_points import Graph, pairs_at, ranges_at


def wrong_moments(item: Waiting, reads: Reads) -> Iterator[str]:
    """Yield where a vertex does not pass in its interval, or intervals that share one overlap more than counted."""
    ancestors, descendants, order = map(item.relation, ("ancestors", "descendants", "order"))
    if not follows(ancestors, reads.all):
        yield "the ancestors do not follow from reads"
    if not follows(descendants, reads.all.reverse()):
        yield "the descendants do not follow from reads"
    width = reads.domains[item.names[0]].dim(isl.dim_type.set)
    x = ", ".join(f"x{at}" for at in range(width))
    begun, finishes, alive, classes = empty_map(), empty_map(), empty_map(), empty_map()
    for number, (one, given) in enumerate(zip(item.sums, item.given["intervals"], strict=True)):
        begins, ends, readers, turn = (
            isl.UnionMap(str(given[key])) for key in ("begins", "finishes", "readers", "classes")
        )
        named = isl.UnionMap(f"{{ k{number}[{x}] -> {item.names[0]}[{x}] }}").intersect_range(one.alive.domain())
        yield from _wrong_interval(one, (begins, ends, readers), (ancestors, descendants), reads)
        begun = begun.union(named.apply_range(begins.apply_range(ancestors.union(begins.range().identity()))))
        finishes = finishes.union(named.apply_range(ends))
        alive, classes = alive.union(named.apply_range(one.alive)), classes.union(named.apply_range(turn))
        allowed = isl.UnionSet(f"{{ [{one.times}, c] : 0 <= c < {one.times} }}")
        if not turn.range().is_subset(allowed) or not one.alive.domain().is_subset(turn.domain()):
            yield "an interval is in none of the classes"
    # interval -> one that ends before it begins: all that is complete at its end is complete then
    late = order.apply_range(finishes).subtract(begun).apply_range(finishes.reverse())
    if not order.range().is_subset(alive.domain()) or not follows(order, order.subtract(late)):
        yield "the order of intervals does not follow from ancestors"
    yield from wrong_sharing(alive, classes, order)
    if not item.spill.is_equal(alive.range()):
        yield "the may-spill set is not what passes"


def _wrong_interval(
    one: Sum,
    interval: tuple[isl.UnionMap, isl.UnionMap, isl.UnionMap],
    known: tuple[isl.UnionMap, isl.UnionMap],
    reads: Reads,
) -> Iterator[str]:
    """Yield where the vertices of one kind of intervals do not pass in them."""
    begins, finishes, readers = interval
    ancestors, descendants = known
    events = one.alive.domain()
    if one.less or not events.is_subset(begins.domain()) or not events.is_subset(finishes.domain()):
        yield "an interval has no beginning or no end"
    if not begins.range().union(finishes.range()).is_subset(reads.instances):
        yield "an interval begins or ends with what is not computed"
    if not begins.reverse().apply_range(readers).is_subset(descendants):
        yield "a reader is no descendant of all that is complete at the beginning"
    if not readers.is_subset(finishes.apply_range(ancestors.union(finishes.range().identity()))):
        yield "a reader is no ancestor of what is complete at the end"
    if not one.alive.is_subset(readers.apply_range(reads.all)):
        yield "what passes is not read in its interval"
    if not one.alive.is_subset(begins.apply_range(ancestors)) or not one.alive.intersect(begins).is_empty():
        yield "what passes does not exist at the beginning, or is what the interval begins with"


def wrong_moments_in(item: Waiting, graph: Graph, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield what does not pass in its interval in the program as executed."""
    for one, given in zip(item.sums, item.given["intervals"], strict=True):
        begins, finishes = (ranges_at(isl.UnionMap(str(given[key])), sizes) for key in ("begins", "finishes"))
        for event, vertex in pairs_at(one.alive, sizes):
            if not any(graph.is_before(vertex, first) for first in begins[event]) or vertex in begins[event]:
                yield f"{vertex} does not exist when all before {event} is complete"
            elif not any(graph.is_between(reader, begins[event], finishes[event]) for reader in graph.readers[vertex]):
                yield f"{vertex} is not read between the moments of {event}"
