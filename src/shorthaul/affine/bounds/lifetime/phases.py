"""Phases: what must pass through fast memory between two events of which one is an ancestor of the other.

Let b be an ancestor of b', and let vertex-disjoint paths lead from vertices that exist before b (ancestors of b, inputs
that b or an ancestor of b reads) to vertices y that are read by a descendant w of b which is b' or an ancestor of it.
When b has just been computed, the last computed vertex of every path still has a reader that is computed in (b, b']:
the next vertex of the path, or w. It has to be in fast memory then, and beside b at most S - 1 are. So with n(b) paths

    loads in (b, b']  >=  n(b) - S + 1,

none of them the first load of an input. Over a sequence b_1, b_2, ... in which each event is an ancestor of the next
the intervals are disjoint in time, and the loads add up. Where the domain has a gap, the events behind it need not
follow from those before: both sides add up if no vertex is on paths of both, as do sequences of different lines
(checked); otherwise one side is taken. Intervals from each event to the next but one cover every moment twice at most:
half of what they load adds up, beside the loads of other vertices.

The events are instances of one statement, or the last vertices of its chains, in steps of one of the loops around.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Final

import islpy as isl
import sympy

from shorthaul.affine.bounds.lifetime.lifetime_certificate import lifetime_certificate, summed
from shorthaul.affine.bounds.lifetime.routes import routes
from shorthaul.affine.bounds.lifetime.sequences import in_sequence, sharing_in_sequence, sides
from shorthaul.affine.bounds.lifetime.wavefront import Reachability, names_of, summed_text, ways_back
from shorthaul.affine.bounds.partition.parts import union_of_maps
from shorthaul.affine.effort import limited, step, within
from shorthaul.affine.integer_sets.counting import Cardinality, count_formula
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.parametrisation import alive_per_event, sum_over_events
from shorthaul.affine.integer_sets.quasi_polynomial import Polynomial
from shorthaul.affine.model import Program
from shorthaul.affine.proofs.lemmas import PHASES, WAVEFRONT
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.tuning import (
    COMPARED_ARGUMENTS,
    LONGEST_PHASE_PATH,
    MOST_PHASE_LOOPS,
    MOST_PHASE_PATHS,
    PHASE_COMPOSITIONS,
    PHASE_OPERATIONS,
)

_SET = isl.dim_type.set
_LEAST_CAPACITY: Final = min(item.fast_memory for item in COMPARED_ARGUMENTS)


@dataclass(frozen=True, slots=True)
class Phase:
    """One kind of interval b -> b' for every event e: the last vertices of the paths and all their vertices, by e.

    ``pieces`` count the paths, with floors replaced by what is below them; a load may be in ``times`` intervals.
    ``last``: it begins at b' and has no end. ``known``: ancestors of
    events from which it follows, ``rests_on``: what certificates say too. ``order``: event -> those that end before.
    """

    pairs: isl.UnionMap
    ends: isl.UnionMap
    vertices: isl.UnionMap
    known: isl.UnionMap
    rests_on: Mapping[str, Any]
    pieces: tuple[tuple[isl.Set, Polynomial], ...] = ()
    sums: tuple[Cardinality, ...] = ()
    times: int = 1
    last: bool = False
    order: isl.UnionMap = field(default_factory=lambda: isl.UnionMap("{ }"))


@dataclass(frozen=True, slots=True)
class Phases:
    """A sequence of events and the bound on the loads between them."""

    events: tuple[str, ...]
    kinds: tuple[Phase, ...]
    axis: int  #: the coordinate along which events follow one another

    @property
    def apart(self) -> bool:
        """True if the events of a step are of several statements."""
        return len(self.events) > 1

    @property
    def spill(self) -> isl.UnionSet:
        """The vertices whose loads are counted."""
        return reduce(isl.UnionSet.union, (kind.vertices.range() for kind in self.kinds))

    @property
    def doubled(self) -> bool:
        """True if there are intervals from each event to the next but one."""
        return any(kind.times > 1 for kind in self.kinds)

    def at(self, sizes: dict[str, int]) -> float:
        """Return the bound at ``sizes``, which has S."""
        return float(sum(item.weight_at(sizes) / kind.times for kind in self.kinds for item in kind.sums))


def phases(flow: DataFlow) -> Iterator[Phases]:
    """Yield the arguments of every statement whose instances follow one another."""
    reach = Reachability.of(flow)
    for statement in flow.program.statements:
        width = statement.domain.dim(_SET)
        try:
            with limited(PHASE_OPERATIONS):
                _, free = events_of(flow, reach, statement.name)
                if width - (free is not None) > MOST_PHASE_LOOPS:
                    continue
                reach.ancestors(statement.name, steps=PHASE_COMPOSITIONS)  # remembered
        except isl.Error:
            continue
        for axis in reversed(range(width)):
            yield from within(PHASE_OPERATIONS, _of_events(flow, reach, statement.name, axis))


def _of_events(flow: DataFlow, reach: Reachability, event: str, axis: int) -> Iterator[Phases]:
    """Yield the arguments for the events of a statement in steps of the loop ``axis``, counted from the outermost."""
    domain, free = events_of(flow, reach, event)
    width = flow.program.by_name[event].domain.dim(_SET)
    once = _steps(event, width, domain, axis, free)
    if free == axis or not (once.is_single_valued() and once.is_injective()):
        return
    exists = reach.ancestors(event, steps=PHASE_COMPOSITIONS)
    once = once.intersect(exists.reverse())
    line = [at for at in range(width) if at not in {axis, free}]
    if once.is_empty():
        return
    for some in sides(once, exists, axis, line):
        yield from _of_steps(flow, reach, some, exists, axis, line)


def _steps(event: str, width: int, domain: isl.UnionSet, axis: int, free: int | None) -> isl.UnionMap:
    """Return the events whose coordinate ``axis`` differs by 1; ``free`` is that of their chain, if any."""
    names = [f"x{at}" for at in range(width)]
    after = ["y" if at == free else f"{name} + 1" if at == axis else name for at, name in enumerate(names)]
    moved = isl.UnionMap(f"{{ {event}[{', '.join(names)}] -> {event}[{', '.join(after)}] }}")
    return moved.intersect_domain(domain).intersect_range(domain)


def adding_up(
    reach: Reachability,
    kinds: Sequence[Phase],
    pairs: isl.UnionMap,
    exists: isl.UnionMap,
    axis: int,
    line: Sequence[int],
) -> list[Phase]:
    """Return kinds of intervals between ``pairs``, counted and with their order, none if those that share a vertex

    may overlap.
    """
    if not kinds:
        return []
    vertices, events, times = kinds[0].vertices, kinds[0].ends.domain(), kinds[0].times
    for kind in kinds[1:]:
        vertices, events = vertices.union(kind.vertices), events.union(kind.ends.domain())
    order, _ = in_sequence(pairs.intersect_domain(events), exists, axis, line, times)
    if not sharing_in_sequence(vertices, order, axis, line, times):
        return []
    ordered = (counted(reach, replace(kind, order=order)) for kind in kinds)
    return [kind for kind in ordered if kind is not None]


def events_of(flow: DataFlow, reach: Reachability, name: str) -> tuple[isl.UnionSet, int | None]:
    """Return the instances of a statement, or of its chains in the last loop the last ones, and that loop then.

    Where a chain goes on in later steps, as in ``x[j] += a[i][j] * r[i]``, these are the last ones of every step.
    """
    domain = isl.UnionSet.from_set(flow.program.by_name[name].domain)
    width = flow.program.by_name[name].domain.dim(_SET)
    closure = reach.closure(name)
    if closure is None or width < 2:
        return domain, None
    x, y = ([f"{letter}{at}" for at in range(width)] for letter in "xy")
    same = " and ".join(f"x{at} = y{at}" for at in range(width - 1))
    inner = closure.intersect(isl.UnionMap(f"{{ {name}[{', '.join(x)}] -> {name}[{', '.join(y)}] : {same} }}"))
    closure = closure if inner.is_empty() else inner
    return closure.range().subtract(closure.domain()), width - 1


def _of_steps(
    flow: DataFlow, reach: Reachability, once: isl.UnionMap, exists: isl.UnionMap, axis: int, line: Sequence[int]
) -> Iterator[Phases]:
    """Yield what passes between events that follow one another."""
    single = phase_of(reach, once.domain().identity(), once, exists, between_events(flow, reach, once))
    if kinds := adding_up(reach, [single] if single else [], once, exists, axis, line):
        yield Phases((names_of(once.domain()).pop(),), tuple(kinds), axis)


def between_events(
    flow: DataFlow,
    reach: Reachability,
    pairs: isl.UnionMap,
    *,
    exists: isl.UnionMap | None = None,
) -> isl.UnionMap:
    """Return b -> descendants of b that are b' or ancestors of b', as far as a few compositions see.

    ``exists``: events -> ancestors where those of all b' are known.
    """
    ends = pairs.range()
    known = (
        [exists]
        if exists
        else [reach.ancestors(name, ends, steps=PHASE_COMPOSITIONS) for name in sorted(names_of(ends))]
    )
    inside = union_of_maps([pairs, *(pairs.apply_range(item) for item in known)]).coalesce()
    reached = front = pairs.domain().identity()
    for _ in range(2 * PHASE_COMPOSITIONS):
        following = isl.UnionMap("{ }")
        for name in sorted(names_of(front.range()) & set(flow.program.by_name)):
            for item in flow.out_of(name):
                step()
                following = following.union(front.apply_range(isl.UnionMap.from_map(item.relation)))
        following = following.intersect(inside)
        for name in sorted(names_of(following.range())):
            closure = reach.closure(name)
            if closure is not None:
                following = following.union(following.apply_range(closure).intersect(inside))
        front = following.subtract(reached).coalesce()
        if front.is_empty():
            break
        reached = reached.union(front).coalesce()
    return reached.subtract(pairs.domain().identity())


def phase_of(
    reach: Reachability,
    begins: isl.UnionMap,
    pairs: isl.UnionMap,
    exists: isl.UnionMap,
    between: isl.UnionMap,
) -> Phase | None:
    """Return the paths of every interval, not counted, as many as a simple reach finds; ``begins``: e -> b."""
    events = pairs.domain()
    exists = exists.intersect_domain(events)
    operands = union_of_maps(between.apply_range(reach.reads(name)) for name in sorted(names_of(between.range())))
    operands = operands.subtract(events.identity()).coalesce()
    ends = vertices = operands.intersect(exists).coalesce()
    paths: list[tuple[isl.UnionMap, Sequence[isl.UnionMap]]] = [(ends, ())]
    waiting = operands.subtract(ends).coalesce()
    ways = ways_back(reach, sorted(names_of(waiting.range())), LONGEST_PHASE_PATH)
    for levels in itertools.islice(ways, MOST_PHASE_PATHS):
        step()
        first = levels[-1].intersect_domain(waiting.range())
        used = vertices.union(events.identity())
        found = waiting.intersect(exists.apply_range(first.reverse())).subtract(used)
        if found.is_empty():
            continue
        for level in levels:
            found = found.subtract(found.apply_range(level).intersect(used).apply_range(level.reverse()))
        found = found.subtract(found.apply_range(meeting(levels, found.range())))
        if found.is_empty():
            continue
        ends, waiting = ends.union(found).coalesce(), waiting.subtract(found).coalesce()
        paths.append((found, levels))
        for level in levels:
            vertices = vertices.union(found.apply_range(level))
        vertices = vertices.union(found).coalesce()
    if ends.is_empty():
        return None
    ends, vertices = (begins.apply_range(item).coalesce() for item in (ends, vertices))
    back = pairs.reverse().apply_range(between.union(events.identity()))
    known = exists.union(back.subtract(pairs.range().identity()))
    rests_on = {
        "begins": str(begins),
        "finishes": str(begins.apply_range(pairs)),
        "between": str(between),
        "paths": [
            {"ends": str(found), "levels": [str(level.intersect_domain(found.range())) for level in levels]}
            for found, levels in paths
        ],
    }
    return Phase(pairs, ends, vertices, known, rests_on)


def meeting(levels: Sequence[isl.UnionMap], ends: isl.UnionSet) -> isl.UnionMap:
    """Return the pairs of different ends whose paths meet: at different levels, as each level is injective."""
    whole = same = ends.identity()
    for level in levels:
        whole = whole.union(level.intersect_domain(ends))
    return whole.apply_range(whole.reverse()).subtract(same)


def counted(reach: Reachability, kind: Phase) -> Phase | None:
    """Return intervals with the number of their paths, None if these are too few to be worth anything."""
    if kind.pieces:
        return kind
    pieces = tuple((where, count.without_floors()) for where, count in alive_per_event(reach.flow, kind.ends))
    if all(set(count.terms) <= {()} and count.at({}) < _LEAST_CAPACITY for _, count in pieces):
        return None
    event = names_of(kind.ends.domain()).pop()
    sums = tuple(sum_over_events(reach.flow, event, where, count) for where, count in pieces)
    return replace(kind, pieces=pieces, sums=sums)


def sub_bound(item: Phases, flow: DataFlow) -> SubBound:
    """Return the argument with its numbers as formulas, valid for all values of the parameters."""
    program = flow.program
    facts: dict[str, sympy.Expr] = {}
    steps = [*_event_steps(item)]
    reach = Reachability.of(flow)
    for number, kind in enumerate(item.kinds):
        steps.extend(_interval_steps(number, kind, program))
        steps.extend(f"  b' <- b: {route.text(flow)}" for route in routes(reach, kind.pairs))
        for at, ((where, count), part) in enumerate(zip(kind.pieces, kind.sums, strict=True)):
            facts[f"n of intervals {number}, piece {at}"] = count.sympy()
            steps.append(f"  piece {at}: {summed_text(where, count.sympy(), count_formula(part))}")
    steps.extend(_last_steps(item))
    spill = item.spill
    return SubBound(
        "phases",
        item.events,
        "; ".join(set_text(kind.ends.domain(), program) for kind in item.kinds),
        sympy.Add(*(count_formula(part) / kind.times for kind in item.kinds for part in kind.sums)),
        spill.coalesce(),
        set_text(spill, program),
        {**facts, "per interval": sympy.Symbol("n") - S + 1},
        tuple(steps),
        (PHASES, WAVEFRONT) if any(kind.last for kind in item.kinds) else (PHASES,),
        certificate=_certificate(item, program),
    )


def _certificate(item: Phases, program: Program) -> dict[str, Any]:
    width = program.by_name[item.events[0]].domain.dim(_SET)
    known = item.kinds[0].known
    for kind in item.kinds[1:]:
        known = known.union(kind.known)
    rests_on = {
        "ancestors": str(known.coalesce()),
        "order": str(_order(item, width)),
        "intervals": [{**kind.rests_on, "classes": _classes(item, kind, width)} for kind in item.kinds],
    }
    sums = [summed(kind.ends, kind.pieces, program, kind.times) for kind in item.kinds]
    return lifetime_certificate("phases", item.events, sums, rests_on)


def _order(item: Phases, width: int) -> isl.UnionMap:
    """Return interval -> those that end before it on its line; those of kind 0 are k0[...], named by their events."""
    x = ", ".join(f"x{at}" for at in range(width))
    found = isl.UnionMap("{ }")
    for (one, later), (other, sooner) in itertools.product(enumerate(item.kinds), repeat=2):
        if later.times != sooner.times:
            continue
        order = later.order.union(later.ends.domain().identity()) if other < one else later.order
        names = [isl.UnionMap(f"{{ k{at}[{x}] -> {item.events[0]}[{x}] }}") for at in (one, other)]
        ends = [kind.ends.domain() for kind in (later, sooner)]
        order = order.intersect_domain(ends[0]).intersect_range(ends[1])
        found = found.union(names[0].apply_range(order).apply_range(names[1].reverse()))
    return found.coalesce()


def _classes(item: Phases, kind: Phase, width: int) -> str:
    """Return interval -> how many of its kind a moment may be in, and a number that tells overlapping ones apart."""
    x = [f"x{at}" for at in range(width)]
    number = "0" if kind.times == 1 else f"x{item.axis} mod {kind.times}"
    return f"{{ {item.events[0]}[{', '.join(x)}] -> [{kind.times}, {number}] }}"


def _event_steps(item: Phases) -> Iterator[str]:
    if item.apart:
        yield f"Events: last vertices of chains of {', '.join(item.events)}, one of each in every step, in this order."
        yield "b -> b' are two that follow one another; b is an ancestor of b' (by compositions of flows)."
    else:
        yield f"Events: vertices of {item.events[0]} in steps of a loop (of chains, the last ones)."
        yield "b -> b' are two events that follow one another; b is an ancestor of b' (by compositions of flows)."
    yield f"x0, x1, ... are the coordinates of the vertex of {item.events[0]} with which the interval is listed."


def _interval_steps(number: int, kind: Phase, program: Program) -> Iterator[str]:
    after = "" if kind.times == 1 else " (from each event to the next but one: a load is in two of them at most)"
    where = "from b' on" if kind.last else "b -> b'"
    yield f"intervals {number}: {where} in {set_text(kind.pairs, program)}{after}"
    yield f"  last vertices of the paths: {set_text(kind.ends, program)}"
    yield f"  all vertices of the paths: {set_text(kind.vertices, program)}"
    if kind.last:
        yield "  Each is an ancestor of b' and is read by a descendant of b' (both by compositions of flows)."
    else:
        yield (
            "  A last vertex is read by a descendant of b that is b' or an ancestor of b'. It, or the first vertex of "
            "its path, is an ancestor of b or an input that one reads. No vertex is on two paths or is b (checked)."
        )


def _last_steps(item: Phases) -> Iterator[str]:
    halved = "; those of double length count half, beside vertices of their own" if item.doubled else ""
    yield (
        f"Lemma (phases): at least n - S + 1 loads of path vertices in each interval, and the intervals add up{halved}:"
    )
    yield "of two that share a vertex, one ends at the event at which the other begins or an ancestor of it (checked)."
    yield "Lines of events (by the outer loops) share no path vertex, so they add up as well."
