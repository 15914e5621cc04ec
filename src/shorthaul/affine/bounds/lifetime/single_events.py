"""Phases between single vertices: steps of which each needs all of the one before, or of the one before that.

In x = A x every sum of a step needs all values of the step before, and all of these together need all of A. So all of A
is read between one vertex of step t and one of step t + 2, the first or the last of their loops: the lemma on phases
with one event in each step, where events of all lines would share what they read, and not add up. Half of the intervals
of two steps count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import islpy as isl

from shorthaul.affine.bounds.lifetime.phases import (
    Phases,
    adding_up,
    between_events,
    events_of,
    phase_of,
)
from shorthaul.affine.bounds.lifetime.read_again import read_again
from shorthaul.affine.bounds.lifetime.wavefront import Reachability, names_of
from shorthaul.affine.effort import within
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.tuning import FURTHER_COMPOSITIONS, MOST_PHASE_LOOPS, PHASE_OPERATIONS

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
        if width - (free is not None) > MOST_PHASE_LOOPS + 1:
            continue
        for axis in range(width):
            if any(at != free for at in range(axis + 1, width)):
                found += [(statement.name not in readers, last, domain, axis) for last in (False, True)]
    for _, last, domain, axis in sorted(found, key=lambda item: item[:2]):
        yield from within(PHASE_OPERATIONS, _of_events(flow, reach, domain, axis, last))


def _of_events(flow: DataFlow, reach: Reachability, domain: isl.UnionSet, axis: int, last: bool) -> Iterator[Phases]:
    """Yield the arguments on the first or ``last`` event of a statement in each step of the loop ``axis``."""
    events = _single(domain, axis, last)
    (name,) = names_of(events)
    exists = reach.ancestors(name, events, steps=FURTHER_COMPOSITIONS)
    for length in (2, 1):  # half of two steps is worth half of one at least
        pairs = _pairs(name, events, axis, f"y{axis} = x{axis} + {length}").intersect_range(events)
        pairs = pairs.intersect(exists.reverse())
        if pairs.is_empty():
            continue
        between = between_events(flow, reach, pairs, exists=exists)
        kind = phase_of(reach, pairs.domain().identity(), pairs, exists, between.intersect_domain(pairs.domain()))
        kinds = [] if kind is None else [replace(kind, times=length)]
        if kinds := adding_up(reach, kinds, pairs, exists, axis, range(axis)):
            yield Phases((name,), tuple(kinds), axis)


def _single(domain: isl.UnionSet, axis: int, last: bool) -> isl.UnionSet:
    """Return the first events of every step of the loop ``axis``, or the last ones."""
    events = domain.get_set_list().get_at(0)
    name, x = events.get_tuple_name(), [f"x{at}" for at in range(events.dim(_SET))]
    steps = isl.Map(f"{{ [{', '.join(x[: axis + 1])}] -> {name}[{', '.join(x)}] }}").intersect_range(events)
    return isl.UnionSet.from_set((steps.lexmax() if last else steps.lexmin()).range().coalesce())


def _pairs(name: str, events: isl.UnionSet, axis: int, told: str) -> isl.UnionMap:
    """Return event, x0, ... -> instance, y0, ... in the same loops around ``axis``, of which ``told`` holds."""
    width = events.get_set_list().get_at(0).dim(_SET)
    x, y = ([f"{letter}{at}" for at in range(width)] for letter in "xy")
    where = " and ".join([*(f"x{at} = y{at}" for at in range(axis)), told])
    pairs = isl.UnionMap(f"{{ {name}[{', '.join(x)}] -> {name}[{', '.join(y)}] : {where} }}")
    return pairs.intersect_domain(events)
