"""Wavefront bounds: values that are alive when one event happens (Olivry et al. 2020, Sec. 6, made a phase lemma).

Let e be a computed vertex, and X(e) vertices that are ancestors of e and operands of descendants of e. When e has just
been computed, e is in fast memory, all of X(e) exists, and every vertex of X(e) must be in fast memory again later. So
at least |X(e)| - (S - 1) loads of X(e) follow, and for inputs they come after the first load, which e needed. If the
X(e) of different events are disjoint, the loads of all events add up.

Ancestors and descendants are under-approximated: by compositions of flows, and by transitive closures that isl says
are exact. Events are the vertices that many instances read, and the first vertices of chains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import islpy as isl
import sympy

from shorthaul.affine.bounds.lifetime.lifetime_certificate import lifetime_certificate, summed
from shorthaul.affine.effort import step, within
from shorthaul.affine.integer_sets.counting import Cardinality, count_formula
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.parametrisation import alive_per_event, disjoint_part, sum_over_events
from shorthaul.affine.integer_sets.quasi_polynomial import Polynomial
from shorthaul.affine.proofs.lemmas import INTERVALS, WAVEFRONT
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.tuning import MOST_PATHS_BACK, MOST_REACHABLE_MAPS, WAVEFRONT_COMPOSITIONS, WAVEFRONT_OPERATIONS


@dataclass(frozen=True, slots=True)
class Wavefront:
    """Events, what is alive at each of them (``alive``: event -> vertex), and the bound on the loads.

    ``rests_on`` are the relations from which ``alive`` follows, as a certificate names them.
    """

    event: str
    why: str
    alive: isl.UnionMap
    pieces: tuple[tuple[isl.Set, Polynomial], ...]
    sums: tuple[Cardinality, ...]
    times: int = 1
    rests_on: Mapping[str, Any] = field(default_factory=dict)

    @property
    def spill(self) -> isl.UnionSet:
        """The vertices whose loads are counted."""
        return self.alive.range().coalesce()

    def at(self, sizes: dict[str, int]) -> float:
        """Return the bound at ``sizes``, which has S."""
        return sum(item.at(sizes) for item in self.sums) / self.times


def wavefronts(flow: DataFlow) -> Iterator[Wavefront]:
    """Yield a wavefront argument for every family of events that has one and is found within the operations allowed."""
    reach = Reachability.of(flow)
    for statement in flow.program.statements:
        for ways in (reach.descendants, reach.further_descendants):
            yield from within(WAVEFRONT_OPERATIONS, _of_events(flow, reach, statement.name, ways))


def _of_events(
    flow: DataFlow, reach: Reachability, event: str, ways: Callable[[str], Iterable[tuple[str, isl.UnionMap]]]
) -> Iterator[Wavefront]:
    for why, later in ways(event):
        step()
        known = reach.ancestors(event)
        needed = [later.apply_range(item).intersect(known).coalesce() for item in reach.references(later.range())]
        alive = disjoint_part(needed)
        if alive is not None:
            rests_on = {"ancestors": str(known), "descendants": str(later)}
            yield argument(flow, event, why, alive, rests_on)


#: References that lead back from the last vertex of a path, the functions from it to where they lead, and whether
#: these are one-to-one.
_Back = tuple[tuple[str, isl.UnionMap, bool], ...]


@dataclass(frozen=True, slots=True)
class _Seen:
    """Event -> ancestors found so far, and those of the last composition; ``ended`` where no more are sought."""

    front: isl.UnionMap
    found: isl.UnionMap
    ended: bool = False

    def of(self, events: isl.UnionSet) -> _Seen:
        """Return the same for some of the events."""
        return replace(self, front=self.front.intersect_domain(events), found=self.found.intersect_domain(events))


class Reachability:
    """Flows of a program turned round, closures of its chains, ancestors by statement: each is derived once.

    With ``around`` ancestors also follow chains that return to a statement by way of another one.
    """

    def __init__(self, flow: DataFlow, *, around: bool = False) -> None:
        self.flow, self._is_around = flow, around
        self._ancestors: dict[str, list[_Seen]] = {}
        self._closures: dict[str, isl.UnionMap | None] = {}
        self._reads: dict[tuple[str, str | None], isl.UnionMap] = {}
        self._back: dict[tuple[str, ...], list[_Back]] = {}

    @classmethod
    def of(cls, flow: DataFlow, *, around: bool = False) -> Reachability:
        """Return what is known of a graph."""
        key = "reachability around" if around else "reachability"
        found: Reachability = flow.known.setdefault(key, cls(flow, around=around))
        return found

    def reads(self, statement: str, tag: str | None = None) -> isl.UnionMap:
        """Return instances of the statement -> what they read (by the reference ``tag``)."""
        key = statement, tag
        if key not in self._reads:
            result = isl.UnionMap("{ }")
            step()
            for item in self.flow.into(statement):
                if tag is None or item.reference.tag == tag:
                    result = result.union(isl.UnionMap.from_map(item.relation.reverse()))
            self._reads[key] = result
        return self._reads[key]

    def references(self, vertices: isl.UnionSet) -> list[isl.UnionMap]:
        """Return, for every reference of the statements in ``vertices``, instance -> what it reads by it."""
        names = sorted(names_of(vertices) & set(self.flow.program.by_name))
        tags = [(name, tag) for name in names for tag in sorted({item.reference.tag for item in self.flow.into(name)})]
        return [self.reads(name, tag) for name, tag in tags]

    def closure(self, statement: str) -> isl.UnionMap | None:
        """Return instance -> later instances along the statement's own chain, if isl knows it exactly."""
        if statement not in self._closures:
            own = [item.relation for item in self.flow.into(statement) if item.source == statement]
            even = [item for item in own if item.deltas().is_singleton()]
            self._closures[statement] = exact_closure(even) or exact_closure(even[:1])
            self._closures[statement] = self._closures[statement] or self._sum(statement) or self._around(statement)
        return self._closures[statement]

    def _around(self, statement: str) -> isl.UnionMap | None:
        """Return instance -> later instances by way of one other statement each time, if isl knows it exactly."""
        for item in self.flow.out_of(statement) if self._is_around else ():
            for after in self.flow.out_of(item.sink) if item.sink != statement else ():
                if after.sink == statement and (closed := exact_closure([item.relation.apply_range(after.relation)])):
                    return closed
        return None

    def _sum(self, name: str) -> isl.UnionMap | None:
        """Return instance -> later ones that add to the same element, if each is read by the next one.

        A function that is one-to-one, leads to later instances of the same line and is defined for all but the last
        one of each line leads from every instance to the next one, so its closure is the order of the line.
        """
        statement = self.flow.program.by_name[name]
        width = statement.domain.dim(isl.dim_type.set)
        write = statement.write.relation
        own = [
            item.relation
            for item in self.flow.into(name)
            if item.source == name and item.reference.relation.is_equal(write)
        ]
        if len(own) != 1 or not (own[0].is_single_valued() and own[0].is_injective()):
            return None
        order = statement.schedule.lex_lt_map(statement.schedule).intersect(write.apply_range(write.reverse()))
        for outer in range(width):
            names = [f"{letter}{at}" for letter in "xy" for at in range(width)]
            same = " and ".join(f"x{at} = y{at}" for at in range(outer)) or "true"
            text = f"{{ {name}[{', '.join(names[:width])}] -> {name}[{', '.join(names[width:])}] : {same} }}"
            line = order.intersect(isl.Map(text)).coalesce()
            if own[0].is_subset(line) and line.domain().is_subset(own[0].domain()):
                return isl.UnionMap.from_map(line)
        return None

    def descendants(self, event: str) -> Iterator[tuple[str, isl.UnionMap]]:
        """Yield ways in which events of the statement have several descendants: event -> descendants."""
        for item in self.flow.out_of(event):
            if not item.relation.is_single_valued():
                yield f"read by {item.sink} as {item.reference.text}", isl.UnionMap.from_map(item.relation)
        closure = self.closure(event)
        if closure is not None:
            first = closure.domain().subtract(closure.range())
            yield "first of its chain", closure.intersect_domain(first)

    def further_descendants(self, event: str) -> Iterator[tuple[str, isl.UnionMap]]:
        """Yield what a few flows and closures of chains lead to from the statement's events: event -> descendants."""
        first = isl.UnionSet.from_set(self.flow.program.by_name[event].domain)
        closure = self.closure(event)
        if closure is not None:
            first = closure.range().subtract(closure.domain())
        reached = front = first.identity()
        for _ in range(WAVEFRONT_COMPOSITIONS):
            following = isl.UnionMap("{ }")
            for name in sorted(names_of(front.range())):
                for item in self.flow.out_of(name):
                    step()
                    following = following.union(front.apply_range(isl.UnionMap.from_map(item.relation)))
            for name in sorted(names_of(following.range())):
                closure = self.closure(name)
                if closure is not None:
                    following = following.union(following.apply_range(closure))
            front = following.subtract(reached).coalesce()
            reached = reached.union(front).coalesce()
            if front.is_empty() or reached.n_map() > MOST_REACHABLE_MAPS:
                break
        reached = reached.subtract(first.identity())
        if not reached.is_empty():
            yield "all that follows it, as far as a few flows lead", reached

    def ancestors(
        self, event: str, only: isl.UnionSet | None = None, *, steps: int = WAVEFRONT_COMPOSITIONS
    ) -> isl.UnionMap:
        """Return event -> ancestors, as far as a few compositions see; for the events ``only`` if given."""
        known = self._ancestors.setdefault(event, [])
        if not known:
            same = isl.UnionSet.from_set(self.flow.program.by_name[event].domain).identity()
            known.append(_Seen(same, isl.UnionMap("{ }")))
        if only is None:
            while len(known) <= steps and not known[-1].ended:
                known.append(self._further(known[-1]))
            return known[: steps + 1][-1].found
        at = min(steps, len(known) - 1)
        seen = known[at].of(only)
        for _ in range(steps - at):
            seen = seen if seen.ended else self._further(seen)
        return seen.found

    def _further(self, seen: _Seen) -> _Seen:
        """Return what is seen by one more composition, along the chains of what was reached last and one flow back."""
        front, result = seen.front, seen.found
        widened = front
        for name in sorted(names_of(front.range())):
            step()
            closure = self.closure(name) if name in self.flow.program.by_name else None
            if closure is not None:
                widened = widened.union(front.apply_range(closure.reverse()))
        following = isl.UnionMap("{ }")
        for name in sorted(names_of(widened.range())):
            if name in self.flow.program.by_name:
                step()
                following = following.union(widened.apply_range(self.reads(name)))
        step()
        following = following.detect_equalities().coalesce()  # where some are hidden, coalescing may end the process
        new = following.union(widened.subtract(front).coalesce())
        if new.is_subset(result):
            return _Seen(front, result, ended=True)
        front = following.subtract(result).coalesce()
        result = result.union(new).coalesce()
        step()
        return _Seen(front, result, ended=result.n_map() > MOST_REACHABLE_MAPS or bool(front.is_empty()))

    def back(self, levels: _Back) -> list[_Back]:
        """Return the paths one reference longer than one that leads back, without those that lead nowhere."""
        key = tuple(item[0] for item in levels)
        if key not in self._back:
            found = []
            for name in sorted(names_of(levels[-1][1].range()) & set(self.flow.program.by_name)):
                for tag in sorted({item.reference.tag for item in self.flow.into(name)}):
                    step()
                    relation = levels[-1][1].apply_range(self.reads(name, tag)).coalesce()
                    if not relation.is_empty() and relation.is_single_valued():
                        found.append((*levels, (f"{name} {tag}", relation, bool(relation.is_injective()))))
            self._back[key] = found
        return self._back[key]


def exact_closure(relations: Sequence[isl.Map]) -> isl.UnionMap | None:
    """Return the transitive closure of a union that is one translation, None if it is not or isl cannot be exact."""
    if not relations:
        return None
    whole = relations[0]
    for item in relations[1:]:
        whole = whole.union(item)
    deltas = whole.deltas()
    if not deltas.is_singleton():
        return None
    closed, exact = whole.transitive_closure()
    return isl.UnionMap.from_map(closed.coalesce()) if exact else None


def ways_back(reach: Reachability, names: Sequence[str], longest: int) -> Iterator[tuple[isl.UnionMap, ...]]:
    """Yield for paths of two vertices or more the functions from the last vertex to the others."""
    known = reach.flow.program.by_name
    front: list[_Back]
    front = [((name, isl.UnionSet.from_set(known[name].domain).identity(), True),) for name in names if name in known]
    for _ in range(longest):
        longer = (item for levels in front for item in reach.back(levels))
        following = [item for item in longer if item[-1][2]]
        yield from (tuple(item[1] for item in levels[1:]) for levels in following)
        front = following[:MOST_PATHS_BACK]


def names_of(points: isl.UnionSet) -> set[str]:
    """Return the names of the statements and arrays in a union."""
    sets: list[isl.Set] = []
    points.foreach_set(sets.append)
    return {item.get_tuple_name() for item in sets}


def argument(
    flow: DataFlow, event: str, why: str, alive: isl.UnionMap, rests_on: Mapping[str, Any], times: int = 1
) -> Wavefront:
    """Return the argument for what is alive, in which one load counts up to ``times`` times."""
    pieces = alive_per_event(flow, alive)
    sums = tuple(sum_over_events(flow, event, where, count) for where, count in pieces)
    return Wavefront(event, why, alive, tuple(pieces), sums, times, rests_on)


def sub_bound(item: Wavefront, flow: DataFlow) -> SubBound:
    """Return the argument with its numbers as formulas, valid for all values of the parameters."""
    value = sympy.Add(*(count_formula(part) for part in item.sums)) / item.times
    facts = {f"|X(e)| in piece {at}": count.sympy() for at, (_, count) in enumerate(item.pieces)}
    chains = item.why.endswith("last")
    steps = _interval_steps(item, flow) if chains else _wavefront_steps(item, flow)
    return SubBound(
        "intervals of chains" if chains else "wavefront",
        (item.event,),
        set_text(item.alive.domain(), flow.program),
        value,
        item.spill,
        set_text(item.alive.range(), flow.program),
        {**facts, "per event": sympy.Symbol("|X(e)|") - S + 1},
        (*steps, *_summed(item)),
        (INTERVALS if chains else WAVEFRONT,),
        certificate=lifetime_certificate(
            "intervals" if chains else "wavefront",
            (item.event,),
            [summed(item.alive, item.pieces, flow.program, item.times)],
            item.rests_on,
        ),
    )


def _wavefront_steps(item: Wavefront, flow: DataFlow) -> tuple[str, ...]:
    return (
        f"Events: the vertices e of {item.event} in the domain ({item.why}); x0, x1, ... are the coordinates of e.",
        f"X(e), as a relation e -> vertex: {set_text(item.alive, flow.program)}",
        (
            "Each is an ancestor of e and is read by a descendant of e: the relation lies inside e -> "
            "ancestors, composed from the flows of the program, and inside e -> operands of descendants, "
            "composed in the same way."
        ),
        (
            "No vertex is in X(e) for two e (the relation turned round is a function). Lemma (wavefront): at "
            "least |X(e)| - S + 1 loads of X(e) after e; they add up."
        ),
    )


def _interval_steps(item: Wavefront, flow: DataFlow) -> tuple[str, ...]:
    return (
        f"Lines: the chains of {item.event}, named by their first vertices e; x0, x1, ... are the coordinates of e.",
        f"X(e), as a relation e -> vertex: {set_text(item.alive, flow.program)}",
        (
            "Each is an ancestor of e (by compositions of the flows of the program) and is read by a later "
            f"vertex of the chain of e, through one of {item.times} references. Of two lines that read one "
            "vertex through the same reference, the last vertex of one is an ancestor of the first vertex of "
            "the other, so that their intervals of time are disjoint (checked for all such pairs)."
        ),
        (
            f"Lemma (intervals of chains), r = {item.times}: at least |X(e)| - S + 1 loads in the interval of "
            f"each line; a load is counted at most {item.times} times, and the sum over the lines is divided "
            f"by {item.times}."
        ),
    )


def _summed(item: Wavefront) -> Iterator[str]:
    """Yield the pieces, and how the sum over them is taken."""
    for at, ((where, count), part) in enumerate(zip(item.pieces, item.sums, strict=True)):
        yield f"piece {at}: e in {summed_text(where, count.sympy(), count_formula(part))}"


def summed_text(where: isl.Set, count: sympy.Expr, total: sympy.Expr) -> str:
    """Return the piece, what is summed over its events and the sum, as text."""
    return f"{where}, {count} of them waiting; sum of {count} - S + 1 over the events where this is positive: {total}"
