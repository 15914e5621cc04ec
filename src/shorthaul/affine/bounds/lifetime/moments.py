"""Phases between moments at which several vertices are complete: steps that a matrix passes from its first row on.

In x = A x let the rows of a step before row c be complete: their elements have been read. Those in columns from c on
are read again in the next step, by sums that need all of x before c by then, and so between this moment and that of the
next step. With rows c(1) < c(2) < ... that is all of a triangle but its blocks on the diagonal, in every step; of what
is left a half is read in every step (phases between single vertices), three quarters of A in all:

    loads between the moments of c(k), of one step and the next  >=  n(k) - S + 1,

n(k) the elements in rows from c(k - 1) to c(k) and columns from c(k) on. The places c(k) suit given sizes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import islpy as isl
import sympy

from shorthaul.affine.bounds.lifetime.lifetime_certificate import lifetime_certificate, summed
from shorthaul.affine.bounds.lifetime.phases import between_events, events_of
from shorthaul.affine.bounds.lifetime.wavefront import Reachability, names_of, summed_text
from shorthaul.affine.bounds.partition.parts import united
from shorthaul.affine.effort import remembered, step, until_out_of_effort, within
from shorthaul.affine.integer_sets.counting import Cardinality, card, count_formula
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.parametrisation import alive_per_event, sum_over_events
from shorthaul.affine.integer_sets.quasi_polynomial import Polynomial
from shorthaul.affine.proofs.lemmas import MOMENTS
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.tuning import FURTHER_COMPOSITIONS, MOST_MOMENTS, PHASE_OPERATIONS

_PARAM, _SET = isl.dim_type.param, isl.dim_type.set


@dataclass(frozen=True, slots=True)
class _Steps:
    """Events of a statement in the steps of the loop ``axis`` and, in each, along the loop ``line``: one at a place.

    ``order`` is -1 where lines are passed from their end on.
    """

    flow: DataFlow
    events: isl.UnionSet
    axis: int
    line: int
    order: int

    @property
    def name(self) -> str:
        """The statement."""
        return names_of(self.events).pop()

    def pairs(self, *conditions: str) -> isl.UnionMap:
        """Return the pairs x -> y of events with the same loops outside of the steps, under some conditions."""
        width = self.events.get_set_list().get_at(0).dim(_SET)
        x, y = ([f"{letter}{at}" for at in range(width)] for letter in "xy")
        where = " and ".join([*(f"x{at} = y{at}" for at in range(self.axis)), *conditions])
        found = isl.UnionMap(f"{{ {self.name}[{', '.join(x)}] -> {self.name}[{', '.join(y)}] : {where} }}")
        return found.intersect_domain(self.events).intersect_range(self.events)

    def after(self, steps: int) -> str:
        """Return the condition that y is some steps behind x."""
        return f"y{self.axis} = x{self.axis} + {steps}"

    def up_to(self, *, before: bool = False) -> str:
        """Return the condition that y is up to the place of x, or ``before`` it."""
        signs = "<>" if self.order > 0 else "><"
        return f"y{self.line} {signs[0]}{'' if before else '='} x{self.line}"


@dataclass(frozen=True, slots=True)
class Interval:
    """Intervals of one kind: event -> vertices that are complete at its beginning, those at its end, what passes.

    ``readers``: event -> what reads in the interval; ``alive``: event -> what passes; a load may be in ``times`` ones;
    ``following``: event -> the one whose interval begins where its own ends; ``descendants`` and ``ancestors`` are what
    all of this follows from.
    """

    begins: isl.UnionMap
    finishes: isl.UnionMap
    readers: isl.UnionMap
    alive: isl.UnionMap
    following: isl.UnionMap
    ancestors: isl.UnionMap
    descendants: isl.UnionMap
    times: int = 1

    def without(self, vertices: isl.UnionSet, where: isl.Set) -> Interval | None:
        """Return the intervals without vertices that pass already, for some sizes, None where nothing else passes."""
        alive = self.alive.subtract_range(vertices).intersect_params(where).coalesce()
        return None if alive.is_empty() else self.of(alive)

    def of(self, alive: isl.UnionMap) -> Interval:
        """Return the intervals of some events with some of what passes."""
        events = alive.domain()
        begins, finishes, readers = (
            item.intersect_domain(events) for item in (self.begins, self.finishes, self.readers)
        )
        following = self.following.intersect_domain(events).intersect_range(events)
        return Interval(begins, finishes, readers, alive, following, self.ancestors, self.descendants, self.times)


@dataclass(frozen=True, slots=True)
class Moments:
    """The kinds of intervals of one argument, with the number of what passes in each, and their sum."""

    steps: _Steps
    kinds: tuple[Interval, ...]
    pieces: tuple[tuple[tuple[isl.Set, Polynomial], ...], ...]
    sums: tuple[tuple[Cardinality, ...], ...]

    @property
    def spill(self) -> isl.UnionSet:
        """The vertices whose loads are counted."""
        return united(kind.alive.range() for kind in self.kinds)

    def at(self, sizes: Mapping[str, int]) -> float:
        """Return the bound at ``sizes``, which has S."""
        rows = zip(self.kinds, self.sums, strict=True)
        return float(sum(part.weight_at(dict(sizes)) / kind.times for kind, parts in rows for part in parts))


def moments(flow: DataFlow, sizes: Mapping[str, int]) -> list[Moments]:
    """Return arguments that suit ``sizes``, S among them: for steps and lines at which most passes, none shared.

    They are remembered.
    """
    key = moments, *sorted(sizes.items())
    return remembered(flow.known, key, lambda: until_out_of_effort(_moments(flow, sizes)))


def _moments(flow: DataFlow, sizes: Mapping[str, int]) -> Iterator[Moments]:
    statements = flow.program.statements
    # Where no reference leads from one value to several readers (stencils), steps need little of those before.
    if all(item.relation.is_single_valued() for statement in statements for item in flow.out_of(statement.name)):
        return
    reach = Reachability.of(flow)
    found: list[tuple[float, _Steps, Interval]] = []
    for statement in statements:
        for steps, whole in within(PHASE_OPERATIONS, _of_statement(reach, statement.name)):
            passing = _number(whole, sizes)
            if passing > sizes["S"]:
                found.append((passing, steps, whole))
    taken = isl.UnionSet("{ }")
    for passing, steps, whole in sorted(found, key=lambda item: -item[0]):
        if whole.alive.range().intersect(taken).is_empty():
            for item in within(PHASE_OPERATIONS, _at_sizes(reach, steps, whole, passing, sizes)):
                taken = taken.union(item.spill)
                yield item


def _of_statement(reach: Reachability, name: str) -> Iterator[tuple[_Steps, Interval]]:
    domain, free = events_of(reach.flow, reach, name)
    width = reach.flow.program.by_name[name].domain.dim(_SET)
    for axis in range(width):
        for line in range(axis + 1, width):
            if free in (axis, line):
                continue
            events = _at_places(name, width, domain, axis, line)
            for order in (1, -1) if not events.is_empty() else ():
                steps = _Steps(reach.flow, events, axis, line, order)
                whole = _between_sets(reach, steps)
                if whole is not None:
                    yield steps, whole


def _at_places(name: str, width: int, domain: isl.UnionSet, axis: int, line: int) -> isl.UnionSet:
    """Return the first event at every place of a line in every step."""
    x = [f"x{at}" for at in range(width)]
    kept = ", ".join([*x[: axis + 1], x[line]])
    return isl.UnionMap(f"{{ [{kept}] -> {name}[{', '.join(x)}] }}").intersect_range(domain).lexmin().range().coalesce()


def _between_sets(reach: Reachability, steps: _Steps) -> Interval | None:
    """Return the intervals from where all events up to a place are complete to the same moment of the next step."""
    same = f"y{steps.axis} = x{steps.axis}"
    exists = reach.ancestors(steps.name, steps.events, steps=FURTHER_COMPOSITIONS)
    pairs = steps.pairs(steps.after(1)).intersect(exists.reverse())
    if pairs.is_empty():
        return None
    between = between_events(reach.flow, reach, pairs, exists=exists)
    begins = steps.pairs(same, steps.up_to())
    missing = steps.pairs(same).apply_range(between).subtract(between)
    finishes = steps.pairs(steps.after(1), steps.up_to())
    until = finishes.apply_range(exists.union(steps.events.identity()))
    readers = between.subtract(begins.apply_range(missing)).intersect(until).coalesce()
    read = _what_is_read(reach, readers)
    alive = read.intersect(begins.apply_range(exists)).subtract(begins).coalesce()
    if alive.is_empty():
        return None
    following = steps.pairs(steps.after(1), f"y{steps.line} = x{steps.line}")
    return Interval(begins, finishes, readers, alive, following, exists, between)


def _what_is_read(reach: Reachability, readers: isl.UnionMap) -> isl.UnionMap:
    """Return event -> what its readers read."""
    found = isl.UnionMap("{ }")
    for name in sorted(names_of(readers.range())):
        step()
        found = found.union(readers.apply_range(reach.reads(name)))
    return found


def _at_sizes(
    reach: Reachability, steps: _Steps, whole: Interval, passing: float, sizes: Mapping[str, int]
) -> Iterator[Moments]:
    """Yield the argument with a few places that suit ``sizes``, if it is worth something; ``passing``: at any place."""
    first, last = _ends_of_line(whole.alive.domain(), steps.line, sizes)
    # n places leave out 1 / (n + 1) of a triangle, and S each
    number = min(max(1, round(math.sqrt(passing / sizes["S"])) - 1), MOST_MOMENTS, last - first)
    if number < 1:
        return
    shares = [(last - first + 1) * at // (number + 1) for at in range(1, number + 1)]
    chosen = _at_chosen(steps, whole, [first + at - 1 if steps.order > 0 else last - at + 1 for at in shares])
    if chosen.alive.is_empty():
        return
    taken, there = chosen.alive.range(), chosen.alive.params()
    halves = sorted(_between_single(reach, steps), key=lambda item: -_number(item, sizes))
    kinds = [chosen, *filter(None, (item.without(taken, there) for item in halves[:1]))]
    found = _counted(reach, steps, [kind for kind in kinds if _in_order(kind, steps)])
    if found is not None and found.at(sizes) > 0:
        yield found


def _number(kind: Interval, sizes: Mapping[str, int]) -> float:
    """Return how many vertices pass at ``sizes`` in any interval."""
    return sum(card(item).at(dict(sizes)) for item in _sets(kind.alive.range()))


def _at_chosen(steps: _Steps, whole: Interval, places: list[int]) -> Interval:
    """Return the intervals of some places, each with what passes at none of those before."""
    width = steps.events.get_set_list().get_at(0).dim(_SET)
    x = ", ".join(f"x{at}" for at in range(width))
    where = " or ".join(f"x{steps.line} = {place}" for place in places)
    alive = whole.alive.intersect_domain(isl.UnionSet(f"{{ {steps.name}[{x}] : {where} }}"))
    for place in places:  # only sizes at which all of them are places of the line
        there = alive.domain().intersect(isl.UnionSet(f"{{ {steps.name}[{x}] : x{steps.line} = {place} }}"))
        alive = alive.intersect_params(there.params())
    before = steps.pairs(steps.up_to(before=True))  # in any step: then a vertex is at one place only
    return whole.of(alive.subtract(before.apply_range(alive)).coalesce())


def _between_single(reach: Reachability, steps: _Steps) -> list[Interval]:
    """Return the intervals from one event of a step to that of the next but one: the first of the steps or the last."""
    found = []
    for events in (_single(steps, last=False), _single(steps, last=True)):
        alone = _Steps(steps.flow, events, steps.axis, steps.line, steps.order)
        exists = reach.ancestors(steps.name, events, steps=FURTHER_COMPOSITIONS)
        pairs = alone.pairs(alone.after(2)).intersect(exists.reverse())
        if pairs.is_empty():
            continue
        between = between_events(reach.flow, reach, pairs, exists=exists)
        read = _what_is_read(reach, between).intersect(exists).intersect_domain(pairs.domain())
        alive = read.subtract(events.identity()).coalesce()
        if not alive.is_empty():
            begins = pairs.domain().identity()
            found.append(Interval(begins, pairs, between, alive, alone.pairs(alone.after(2)), exists, between, 2))
    return found


def _single(steps: _Steps, *, last: bool) -> isl.UnionSet:
    width = steps.events.get_set_list().get_at(0).dim(_SET)
    x = [f"x{at}" for at in range(width)]
    every = isl.UnionMap(f"{{ [{', '.join(x[: steps.axis + 1])}] -> {steps.name}[{', '.join(x)}] }}")
    every = every.intersect_range(steps.events)
    return (every.lexmax() if last else every.lexmin()).range().coalesce()


def _in_order(kind: Interval, steps: _Steps) -> bool:
    """True if intervals that share a vertex are in the order of their steps, each ending where the next begins."""
    order = _order(kind, steps)
    after = kind.following.reverse()
    if not order.is_subset(after.union(order.apply_range(after))):
        return False
    sharing = kind.alive.apply_range(kind.alive.reverse())
    apart = (
        steps.pairs(f"(x{steps.axis} - y{steps.axis}) mod {kind.times} != 0") if kind.times > 1 else isl.UnionMap("{ }")
    )
    rest = sharing.subtract(sharing.domain().identity()).subtract(apart)
    return bool(rest.is_subset(order.union(order.reverse())))


def _order(kind: Interval, steps: _Steps) -> isl.UnionMap:
    """Return event -> those whose intervals end before its own begins."""
    events = kind.alive.domain()
    conditions = [f"y{steps.axis} < x{steps.axis}", f"(x{steps.axis} - y{steps.axis}) mod {kind.times} = 0"]
    if kind.times == 1:
        conditions.append(f"x{steps.line} = y{steps.line}")
    return steps.pairs(*conditions).intersect_domain(events).intersect_range(events).coalesce()


def _counted(reach: Reachability, steps: _Steps, kinds: list[Interval]) -> Moments | None:
    if not kinds:
        return None
    pieces, sums = [], []
    for kind in kinds:
        found = [(where, count.without_floors()) for where, count in alive_per_event(reach.flow, kind.alive)]
        pieces.append(tuple(found))
        sums.append(tuple(sum_over_events(reach.flow, steps.name, where, count) for where, count in found))
    return Moments(steps, tuple(kinds), tuple(pieces), tuple(sums))


def _ends_of_line(events: isl.UnionSet, line: int, sizes: Mapping[str, int]) -> tuple[int, int]:
    """Return the first and the last place of lines at given sizes."""
    low, high = [], []
    for item in _sets(events):
        where = item
        for at in range(where.dim(_PARAM)):
            where = where.fix_val(_PARAM, at, isl.Val(sizes[where.get_dim_name(_PARAM, at)]))
        if not where.is_empty():
            low.append(where.dim_min_val(line).to_python())
            high.append(where.dim_max_val(line).to_python())
    return min(low, default=0), max(high, default=-1)


def _sets(union: isl.UnionSet) -> list[isl.Set]:
    found: list[isl.Set] = []
    union.foreach_set(found.append)
    return sorted(found, key=str)


# -- as a part of a bound


def sub_bound(item: Moments) -> SubBound:
    """Return the argument with its numbers as formulas, valid for all values of the parameters."""
    program, steps = item.steps.flow.program, item.steps
    facts: dict[str, sympy.Expr] = {}
    lines = [
        f"x0, x1, ... are the coordinates of the vertex e of {steps.name} with which an interval is listed.",
        "It begins when the last of the vertices B(e) is computed, and ends when the last of B'(e) is.",
    ]
    value = sympy.Integer(0)
    for number, kind in enumerate(item.kinds):
        lines += _kind_lines(number, kind, program)
        for at, ((where, count), part) in enumerate(zip(item.pieces[number], item.sums[number], strict=True)):
            facts[f"n of intervals {number}, piece {at}"] = count.sympy()
            lines.append(f"  piece {at}: {summed_text(where, count.sympy(), count_formula(part))}")
            value += count_formula(part) / kind.times
    lines += [
        "Lemma (moments): at least n - S + 1 loads of X(e) in each interval; they add up: of two that share a vertex",
        "one ends when the other begins or before (checked; of double length: of those an even number of steps apart).",
    ]
    spill = item.spill
    return SubBound(
        "phases between sets of vertices",
        (steps.name,),
        "; ".join(set_text(kind.alive.domain(), program) for kind in item.kinds),
        value,
        spill,
        set_text(spill, program),
        {**facts, "per interval": sympy.Symbol("n") - S + 1},
        tuple(lines),
        (MOMENTS,),
        certificate=_certificate(item),
    )


def _kind_lines(number: int, kind: Interval, program: Any) -> Iterator[str]:
    after = "" if kind.times == 1 else " (from each step to the next but one: a load is in two of them at most)"
    events = kind.alive.domain()
    yield f"intervals {number}{after}: B(e): {set_text(kind.begins.intersect_domain(events), program)}"
    yield f"  B'(e): {set_text(kind.finishes.intersect_domain(events), program)}"
    yield f"  X(e): {set_text(kind.alive, program)}"
    yield "  Each of X(e) is an ancestor of one of B(e), not in B(e), and is read by a descendant of all of B(e) that"
    yield "  is in B'(e) or an ancestor of one of them (by compositions of flows)."


def _certificate(item: Moments) -> dict[str, Any]:
    width = item.steps.flow.program.by_name[item.steps.name].domain.dim(_SET)
    x = [f"x{at}" for at in range(width)]
    order, ancestors, descendants = isl.UnionMap("{ }"), isl.UnionMap("{ }"), isl.UnionMap("{ }")
    intervals = []
    for number, kind in enumerate(item.kinds):
        named = isl.UnionMap(f"{{ k{number}[{', '.join(x)}] -> {item.steps.name}[{', '.join(x)}] }}")
        order = order.union(named.apply_range(_order(kind, item.steps)).apply_range(named.reverse()))
        ancestors, descendants = ancestors.union(kind.ancestors), descendants.union(kind.descendants)
        turn = "0" if kind.times == 1 else f"x{item.steps.axis} mod {kind.times}"
        relations = {"begins": kind.begins, "finishes": kind.finishes, "readers": kind.readers}
        intervals.append(
            {
                **{name: str(relation.coalesce()) for name, relation in relations.items()},
                "classes": f"{{ {item.steps.name}[{', '.join(x)}] -> [{kind.times}, {turn}] }}",
            }
        )
    rests_on = {
        "ancestors": str(ancestors.coalesce()),
        "descendants": str(descendants.coalesce()),
        "order": str(order.coalesce()),
        "intervals": intervals,
    }
    rows = zip(item.kinds, item.pieces, strict=True)
    program = item.steps.flow.program
    sums = [summed(kind.alive, pieces, program, kind.times) for kind, pieces in rows]
    return lifetime_certificate("moments", (item.steps.name,), sums, rests_on)
