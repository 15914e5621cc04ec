"""Phases between single vertices: steps of which each needs all of the one before, or of the one before that.

In x = A x every sum of a step needs all values of the step before, and all of these together need all of A. So all of A
is read between one vertex of step t and one of step t + 2, the first or the last of their loops: the lemma on phases
with one event in each step, where events of all lines would share what they read, and not add up. Half of the intervals
of two steps count.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from itertools import chain

import islpy as isl

from shorthaul.affine.bounds.lifetime.phases import Phases, events_of
from shorthaul.affine.bounds.lifetime.read_again import read_again
from shorthaul.affine.bounds.lifetime.rounds import ancestors, of_round, single
from shorthaul.affine.bounds.lifetime.wavefront import Reachability
from shorthaul.affine.effort import within
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.tuning import MOST_PHASE_LOOPS, PHASE_OPERATIONS

_SET = isl.dim_type.set


def phases_of_single_events(flow: DataFlow) -> Iterator[Phases]:
    """Yield the arguments of every statement with loops inside of the one that counts the steps.

    Those of statements that read what is read again come first, and of each the first event of a step before the last.
    """
    reach = Reachability.of(flow)
    statements = flow.program.statements
    # Where no reference leads from one value to several readers (stencils), steps need little of those before.
    if all(item.relation.is_single_valued() for statement in statements for item in flow.out_of(statement.name)):
        return
    readers = {item.reader for item in read_again(flow)}
    found = []
    for statement in statements:
        domain, free = events_of(flow, reach, statement.name)
        width = statement.domain.dim(_SET)
        if domain.is_empty() or width - (free is not None) > MOST_PHASE_LOOPS + 1:
            continue
        for axis in range(width):
            if any(at != free for at in range(axis + 1, width)):
                found += [(statement.name not in readers, last, domain, axis) for last in (False, True)]
    for _, last, domain, axis in sorted(found, key=lambda item: item[:2]):
        events, seen = [single(domain, axis, last)], cache(partial(ancestors, reach))
        both = (of_round(reach, events, axis, seen, length) for length in (2, 1))  # half of two steps is half of one
        yield from within(PHASE_OPERATIONS, chain.from_iterable(both))
