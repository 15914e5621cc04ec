"""Rounds: sums and sweeps one after the other, in every step of a loop or once: a mean, a variance, what follows.

The last vertex of the chains of a statement in a step is an event. Some of them, b_1, b_2, ..., are in a row, each an
ancestor of the next, and the last one of b_1 in the next step, if there is one. Intervals between two that follow one
another are disjoint in time, so by the lemma on phases their loads add up, although the same vertices may be loaded in
all of them; where no step follows, so do those after the last event (lemma on wavefronts).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import islpy as isl

from shorthaul.affine.bounds.lifetime.phases import Phase, Phases, adding_up, between_events, events_of, phase_of
from shorthaul.affine.bounds.lifetime.read_again import components
from shorthaul.affine.bounds.lifetime.wavefront import Reachability, names_of
from shorthaul.affine.bounds.partition.parts import union_of_maps
from shorthaul.affine.effort import within
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.tuning import CHAIN_PAIR_OPERATIONS, FURTHER_COMPOSITIONS, MOST_CHAIN_PAIRS

_SET = isl.dim_type.set


def rounds(flow: DataFlow) -> Iterator[Phases]:
    """Yield the arguments for statements whose chains end one after the other, that of all of them first."""
    reach = Reachability.of(flow)
    found = [events_of(flow, reach, statement.name) for statement in flow.program.statements]
    chains = [(domain, free) for domain, free in found if free is not None and not domain.is_empty()]
    for axis in range(max((free for _, free in chains), default=0)):
        events = [single(domain, axis, last=True) for domain, free in chains if free > axis]
        seen = dict[isl.UnionSet, isl.UnionMap]()
        for event in events if len(events) > 1 else ():
            seen |= within(CHAIN_PAIR_OPERATIONS, ((some, ancestors(reach, some)) for some in [event]))
        numbers = [len(seen), 2, 1] if len(seen) > 2 else [2, 1] if len(seen) == 2 else []
        chosen = itertools.chain.from_iterable(itertools.combinations(seen, number) for number in numbers)
        for some in itertools.islice(chosen, MOST_CHAIN_PAIRS):
            yield from within(CHAIN_PAIR_OPERATIONS, of_round(reach, some, axis, seen.__getitem__))


def are_in_steps(flow: DataFlow) -> bool:
    """True if statements with chains need one another, step after step."""
    reach, part = Reachability.of(flow), components(flow)
    chains = [part[item.name] for item in flow.program.statements if reach.closure(item.name) is not None]
    return len(set(chains)) < len(chains)


def single(domain: isl.UnionSet, axis: int, last: bool) -> isl.UnionSet:
    """Return the first events of every step of the loop ``axis``, or the last ones."""
    events = domain.get_set_list().get_at(0)
    name, x = events.get_tuple_name(), [f"x{at}" for at in range(events.dim(_SET))]
    steps = isl.Map(f"{{ [{', '.join(x[: axis + 1])}] -> {name}[{', '.join(x)}] }}").intersect_range(events)
    return isl.UnionSet.from_set((steps.lexmax() if last else steps.lexmin()).range().coalesce())


def ancestors(reach: Reachability, events: isl.UnionSet) -> isl.UnionMap:
    """Return the events -> their ancestors, as far as a few compositions see."""
    (name,) = names_of(events)
    return reach.ancestors(name, events, steps=FURTHER_COMPOSITIONS)


def of_round(
    reach: Reachability,
    events: Sequence[isl.UnionSet],
    axis: int,
    seen: Callable[[isl.UnionSet], isl.UnionMap],
    length: int = 1,
) -> Iterator[Phases]:
    """Yield the argument on one event of each statement in every step, the round closed ``length`` steps further on.

    ``seen`` gives the ancestors of events.
    """
    begins, kinds = events[0].identity(), list[Phase | None]()
    for at, (one, other) in enumerate(zip(events, [*events[1:], events[0]], strict=True)):
        is_last = at + 1 == len(events)
        pairs = _steps(begins.range(), other, axis, length if is_last else 0).intersect(seen(other).reverse())
        if not pairs.is_empty():
            between = between_events(reach.flow, reach, pairs, exists=seen(other)).intersect_domain(pairs.domain())
            kinds.append(phase_of(reach, begins.intersect_range(pairs.domain()), pairs, seen(one), between))
        elif is_last and at:
            kinds.append(_rest(reach, begins, seen(one)))
        else:
            return
        if not is_last:
            begins = begins.apply_range(pairs)
    closed = begins.apply_range(pairs)
    closed = closed.union(begins.subtract_domain(closed.domain()))  # the last step
    passing = [replace(kind, times=length) for kind in kinds if kind is not None]
    if passing := adding_up(reach, passing, closed, seen(events[0]), axis, range(axis)):
        yield Phases(tuple(names_of(some).pop() for some in events), tuple(passing), axis)


def _steps(events: isl.UnionSet, others: isl.UnionSet, axis: int, length: int) -> isl.UnionMap:
    """Return event -> the other one in the same loops up to ``axis``, there ``length`` steps further on."""
    (name, width), (other, size) = (
        (item.get_tuple_name(), item.dim(_SET)) for item in (some.get_set_list().get_at(0) for some in (events, others))
    )
    x, y = [f"x{at}" for at in range(width)], [f"y{at}" for at in range(size)]
    where = " and ".join([*(f"x{at} = y{at}" for at in range(axis)), f"y{axis} = x{axis} + {length}"])
    pairs = isl.UnionMap(f"{{ {name}[{', '.join(x)}] -> {other}[{', '.join(y)}] : {where} }}")
    return pairs.intersect_domain(events).intersect_range(others)


def _rest(reach: Reachability, begins: isl.UnionMap, known: isl.UnionMap) -> Phase | None:
    """Return what waits at the last events of all; ``begins``: first event -> last one, ``known``: its ancestors."""
    (name,) = names_of(begins.range())
    later = union_of_maps(found for _, found in reach.further_descendants(name)).intersect_domain(begins.range())
    alive = union_of_maps(later.apply_range(item) for item in reach.references(later.range())).intersect(known)
    ends = begins.apply_range(alive).coalesce()
    rests_on = {
        "begins": str(begins),
        "finishes": None,
        "between": str(later),
        "paths": [{"ends": str(alive), "levels": []}],
    }
    return None if ends.is_empty() else Phase(begins, ends, ends, known, rests_on, last=True)
