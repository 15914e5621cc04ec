"""Two sums, one after the other: a mean and then a variance, what a first pass and what the rest loads again.

Let b be the last vertex of a chain and b' that of another statement's chain, b an ancestor of b'. The lemma on phases
bounds the loads in the interval (b, b'], the lemma on wavefronts those after b'. The two are disjoint in time, so they
add up although the same vertices may be loaded in both. Pairs (b, b') add up if they share no vertex (checked).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, permutations

import islpy as isl

from shorthaul.affine.bounds.lifetime.phases import (
    Phase,
    Phases,
    between_events,
    counted,
    events_of,
    phase_of,
)
from shorthaul.affine.bounds.lifetime.wavefront import Reachability
from shorthaul.affine.bounds.partition.parts import union_of_maps
from shorthaul.affine.effort import within
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.tuning import CHAIN_PAIR_OPERATIONS, MOST_CHAIN_PAIRS

_SET = isl.dim_type.set


def successive_chains(flow: DataFlow) -> Iterator[Phases]:
    """Yield the arguments for pairs of statements whose chains end one after the other."""
    reach = Reachability.of(flow)
    chains = [item.name for item in flow.program.statements if reach.closure(item.name) is not None]
    for first, second in islice(permutations(chains, 2), MOST_CHAIN_PAIRS):
        yield from within(CHAIN_PAIR_OPERATIONS, _of_pairs(flow, reach, first, second))


def _pairs(flow: DataFlow, reach: Reachability, first: str, second: str) -> isl.UnionMap | None:
    """Return b -> b', a function that is one-to-one, for chains of two statements in common loops."""
    (before, _), (after, _) = (events_of(flow, reach, name) for name in (first, second))
    known = reach.ancestors(second).reverse().intersect_domain(before).intersect_range(after)
    if known.is_empty():
        return None
    widths = [flow.program.by_name[name].domain.dim(_SET) for name in (first, second)]
    x, y = ([f"{letter}{at}" for at in range(width)] for letter, width in zip("xy", widths, strict=True))
    for common in range(min(widths), 0, -1):
        where = " and ".join(f"x{at} = y{at}" for at in range(common))
        text = f"{{ {first}[{', '.join(x)}] -> {second}[{', '.join(y)}] : {where} }}"
        pairs = known.intersect(isl.UnionMap(text)).coalesce()
        if not pairs.is_empty() and pairs.is_single_valued() and pairs.is_injective():
            return pairs
    return None


def _of_pairs(flow: DataFlow, reach: Reachability, first: str, second: str) -> Iterator[Phases]:
    pairs = _pairs(flow, reach, first, second)
    if pairs is None:
        return
    same = pairs.domain().identity()
    between = phase_of(reach, same, pairs, reach.ancestors(first), between_events(flow, reach, pairs))
    if between is None:
        return
    for _, later in reach.further_descendants(second):
        later = later.intersect_domain(pairs.range())
        known = reach.ancestors(second)
        alive = union_of_maps(later.apply_range(item).intersect(known) for item in reach.references(later.range()))
        ends = pairs.apply_range(alive).coalesce()
        if ends.is_empty():
            continue
        rests_on = {
            "begins": str(pairs),
            "finishes": None,
            "between": str(later),
            "paths": [{"ends": str(pairs.reverse().apply_range(ends)), "levels": []}],
        }
        rest = Phase(pairs, ends, ends, known.intersect_domain(pairs.range()), rests_on, last=True)
        if between.vertices.union(rest.vertices).reverse().is_single_valued():
            kinds = tuple(kind for item in (between, rest) if (kind := counted(reach, item)) is not None)
            if len(kinds) == 2:
                yield Phases((first, second), kinds, None, apart=True)
