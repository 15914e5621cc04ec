"""Interval bounds: what a whole chain reads has to pass through fast memory between its first and its last vertex.

Let l be a line of a chain and X(l) vertices that later vertices of the line read and that are ancestors of its first
vertex. When the first vertex has just been computed, at most S - 1 of X(l) are in fast memory; so the time from then
to the last vertex of the line, the interval of l, has at least |X(l)| - S + 1 loads of X(l). The intervals of two lines
that read one vertex through the same reference are disjoint if the last vertex of one is an ancestor of the first
vertex of the other (checked). Then a load counts at most once per reference, and

    loads  >=  1/r sum over l of (|X(l)| - S + 1)+,   r the number of references.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import islpy as isl

from shorthaul.affine.bounds.lifetime.wavefront import Reachability, Wavefront, argument, exact_closure
from shorthaul.affine.effort import results_within, step
from shorthaul.affine.integer_sets.dependences import DataFlow, maps_of
from shorthaul.affine.tuning import INTERVAL_COMPOSITIONS, WAVEFRONT_OPERATIONS


def intervals(flow: DataFlow) -> Iterator[Wavefront]:
    """Yield an interval argument for every statement with a chain that has one."""
    reach = Reachability.of(flow)
    names = [item.name for item in flow.program.statements]
    yield from results_within(WAVEFRONT_OPERATIONS, names, lambda name: _of_chain(flow, reach, name))


def _of_chain(flow: DataFlow, reach: Reachability, statement: str) -> Wavefront | None:
    closure = reach.closure(statement)
    if closure is None:
        return None
    first = closure.domain().subtract(closure.range())
    last = closure.range().subtract(closure.domain())
    later = closure.intersect_domain(first)
    ancestors = reach.ancestors(statement, first, steps=INTERVAL_COMPOSITIONS)
    reads = [reach.reads(statement, tag) for tag in sorted({item.reference.tag for item in flow.into(statement)})]
    needed = [later.apply_range(item).intersect(ancestors).coalesce() for item in reads]
    # a reference that gives each line one vertex at most adds little and would make loads count once more
    needed = [item for item in needed if not (item.is_empty() or item.is_injective() or item.is_single_valued())]
    if not needed:
        return None
    earlier = ancestors.intersect_range(last).apply_range(later.reverse())
    before = _ordered(earlier)
    kept = [item for item in needed if _apart(item, before)]
    if not kept:
        return None
    alive = kept[0]
    for item in kept[1:]:
        alive = alive.union(item)
    rests_on = {
        "ancestors": str(ancestors),
        "descendants": str(later),
        "last": str(later.intersect_range(last)),
        "before": str(before),
        "families": [str(item) for item in kept],
    }
    why = "the first of its chain; loads until the last"
    return argument(flow, statement, why, alive.coalesce(), rests_on, len(kept))


def _apart(needed: isl.UnionMap, before: isl.UnionMap) -> bool:
    """True if lines that share a vertex are ordered in time."""
    sharing = needed.apply_range(needed.reverse())
    same = isl.UnionMap("{ }")
    domain = sharing.domain()
    same = same.union(domain.identity())
    return bool(sharing.subtract(same).is_subset(before.union(before.reverse())))


def _ordered(earlier: isl.UnionMap) -> isl.UnionMap:
    """Return ``earlier`` (first vertex -> that of an earlier line) with the closures of its short translations."""
    result = earlier
    for item in sorted(maps_of(earlier), key=str):
        width, name = item.dim(isl.dim_type.in_), item.get_tuple_name(isl.dim_type.in_)
        names = [f"x{at}" for at in range(width)]
        for move in itertools.product((-1, 0, 1), repeat=width):
            values = [f"{x} + {value}" for x, value in zip(names, move, strict=True)]
            text = f"{{ {name}[{', '.join(names)}] -> {name}[{', '.join(values)}] }}"
            step()
            piece = item.intersect(isl.Map(text)).coalesce()
            if any(move) and not piece.is_empty():
                closed = exact_closure([piece])
                result = result if closed is None else result.union(closed)
    return result
