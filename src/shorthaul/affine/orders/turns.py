"""Turns: statements of one outer loop in groups that take turns, some of them an iteration ahead.

The outermost loop runs step by step. In every step each group is executed once, as a phase of its own in tiles of the
other loops; nothing is kept from one group to the next. A group may hold statements of different iterations of the
outer loop: the backward sweep of one half step with the forward sweep of the next, or an update of all columns with the
products that the next iteration needs of them. Group A runs delta(A) steps late; all is legal if a dependence from A to
B never leads back, delta(B) - delta(A) + distance >= 0, and A comes before B wherever that can be 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import TypeVar

import sympy

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.model import Program
from shorthaul.affine.orders.boxes.stays import Staying
from shorthaul.affine.orders.boxes.steps import BoxStep
from shorthaul.affine.orders.placement import Loops, Placement, Read, entry, loops, placement_map, placements, reads_of
from shorthaul.affine.orders.splitting import Split, split
from shorthaul.affine.orders.tile_policy import Counts, best_policy, make_phase
from shorthaul.affine.orders.tile_steps import Edge, OfPhase, Step
from shorthaul.affine.tuning import MOST_TURNING_STATEMENTS, NEGLIGIBLE


@dataclass(frozen=True)
class TurnsStep(OfPhase):
    """One phase as groups that take turns: ``groups`` in the order of each step, ``delays`` how many steps late.

    ``plain`` is the phase without turns, in the statements as they are; ``parts`` tells how they were split. What is
    ``staying`` from turn to turn is not loaded.
    """

    groups: tuple[Step | BoxStep, ...]
    delays: tuple[int, ...]
    parts: Split
    staying: Staying = Staying({}, {"S": 0})

    @property
    def counts(self) -> Counts:
        """What counts its instances."""
        return self.plain.counts  # those of groups may have pieces of statements

    @cached_property
    def rate(self) -> float:
        """The loads where candidates are compared."""
        return sum(item.rate for item in self.groups) - sum(self.staying.loads.values())

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The edges in the formula."""
        return tuple(edge for item in self.groups for edge in item.edges)

    def formula(self, names: Mapping[Edge, sympy.Symbol]) -> sympy.Expr:
        """Return the loads with edges called ``names``."""
        return sympy.Add(*(item.formula(names) for item in self.groups), -sum(self.staying.loads.values()))

    def loads(self, sizes: Mapping[str, int], capacity: int) -> float:
        """Return the loads at ``sizes``."""
        turned = sum(item.loads(sizes, capacity) for item in self.groups) - self.staying.words(sizes, capacity)
        return min(turned, self.plain.loads(sizes, capacity))

    def loads_bytes(self, sizes: Mapping[str, int], capacity: int, widths: Mapping[str, int]) -> float:
        """Return bytes that suffice at ``sizes``; ``widths`` are the bytes of one element by array."""
        # copies of a statement have arrays of their own
        every = {name: item.element_bytes for name, item in self.parts.flow.program.arrays.items()} | dict(widths)
        turned = sum(item.loads_bytes(sizes, capacity, every) for item in self.groups)
        turned -= self.staying.bytes(sizes, capacity, every)
        return min(turned, self.plain.loads_bytes(sizes, capacity, widths))

    def pays(self, sizes: Mapping[str, int], capacity: int) -> bool:
        """True if turns need fewer loads than the plain order at ``sizes``."""
        return self.loads(sizes, capacity) < self.plain.loads(sizes, capacity)


class Turning:
    """The search for groups of one data flow; what is known of a group is remembered."""

    def __init__(self, flow: DataFlow, small: Sequence[str]) -> None:
        self.flow, self.small = flow, small
        self._parts: dict[tuple[str, ...], Groups] = {}

    def turned(self, plain: Step) -> TurnsStep | None:
        """Return the statements of ``plain`` in groups that take turns, or None if they have no common outer loop."""
        if not has_turns(self.flow.program, plain.names):
            return None
        parts = split(self.flow, plain.names)
        key = tuple(sorted(parts.pieces))
        if key not in self._parts:
            self._parts[key] = Groups(parts, self.small)
        return self._parts[key].best(plain)


def has_turns(program: Program, names: Sequence[str], most: int = MOST_TURNING_STATEMENTS) -> bool:
    """True if the statements ``names`` may have a common outer loop with others inside."""
    nests = [program.by_name[name].iterators for name in names]
    if not 2 <= len(nests) <= most or not all(nests):
        return False
    return len({nest[0] for nest in nests}) == 1 and max(map(len, nests)) > 1


def nests_of(program: Program, depth: int = 1) -> list[list[str]]:
    """Return the statements by the loop of so great a depth that they are in, as written; others are alone.

    The outermost loops have a depth of 1.
    """
    nests: dict[object, list[str]] = {}
    for item in program.statements:
        rows = [entry(item, at) for at in range(item.times[depth - 1] + 1)] if len(item.times) >= depth else [None]
        own = tuple(row and (row.factors[:depth], row.parameters, row.constant) for row in rows)
        nests.setdefault(item.name if None in own else own, []).append(item.name)
    return list(nests.values())


class Groups:
    """The groups of statements that take turns; each is executed in the best order for all sizes."""

    least_share = NEGLIGIBLE  #: of all loads that joining two groups has to save
    closed = False  #: whether groups are joined with what is between them

    def __init__(self, parts: Split, small: Sequence[str]) -> None:
        self.parts = parts
        self.counts = Counts(parts.flow, small)
        self.reads: dict[str, tuple[Read, ...]] = {}
        self._known: dict[frozenset[str], Step | BoxStep | None] = {}
        self._least: dict[tuple[str, str], int | None] = {}

    def best(self, plain: Step) -> TurnsStep | None:
        """Return the turns of the groups that are joined the furthest, None if they cannot take turns."""
        stages = [*self.stages(plain)]
        return stages[-1] if stages else None

    def stages(self, plain: Step) -> Iterator[TurnsStep]:
        """Yield the statements of ``plain`` in groups that take turns, joined further each time."""
        names = [part for name in plain.names for part in self.parts.names[name]]
        for name in names:
            self.reads.setdefault(name, reads_of(self.parts.flow, name))
        if any((self._distance(*pair) or 0) < 0 for pair in product(names, repeat=2)):
            return
        yield from self.as_written(plain)
        groups: list[Step | BoxStep] = []
        for members in self._together(names):
            made = self._group(frozenset(members))
            if made is None:
                return
            groups.append(made)
        if self._ordered(groups) is not None:
            yield from (self.in_turns(plain, joined) for joined in self._fused(groups))

    def as_written(self, plain: Step) -> Iterator[TurnsStep]:  # noqa: ARG002
        """Yield turns that are tried before statements are joined."""
        yield from ()

    def in_turns(self, plain: Step, groups: Sequence[Step | BoxStep]) -> TurnsStep:
        """Return the turns of groups for which there is an order."""
        order, delays = self._ordered(groups) or ((), ())
        return TurnsStep(plain, tuple(groups[at] for at in order), tuple(delays[at] for at in order), self.parts)

    def _together(self, names: Sequence[str]) -> list[list[str]]:
        """Return the statements that need each other within one iteration of the outer loop."""
        after = {
            name: {other for other in names if self._distance(name, other) == 0 and other != name} for name in names
        }
        reached = {name: reachable(after, name) for name in names}
        result: list[list[str]] = []
        for name in names:
            home = next((group for group in result if name in reached[group[0]] and group[0] in reached[name]), None)
            if home is None:
                result.append([name])
            else:
                home.append(name)
        return result

    def _distance(self, source: str, sink: str) -> int | None:
        """Return the least distance in the outer loop from a value of ``source`` to a use by ``sink``; None: no use."""
        key = (source, sink)
        if key not in self._least:
            program = self.parts.flow.program
            found = []
            for item in self.parts.flow.flows:
                if (item.source, item.sink) == key:
                    effort.step()
                    ends = [
                        placement_map(name, len(program.by_name[name].iterators), loops(program.by_name[name])[:1], ())
                        for name in key
                    ]
                    steps = item.relation.apply_domain(ends[0]).apply_range(ends[1]).deltas()
                    nearest = steps.dim_min_val(0)
                    # loops of the same name in different nests: there is no least distance
                    found.append(nearest.to_python() if nearest.is_int() else -1)
            self._least[key] = min(found, default=None)
        return self._least[key]

    def _group(self, names: frozenset[str]) -> Step | BoxStep | None:
        """Return the best order of ``names`` with the outer loop outermost, or None."""
        if names not in self._known:
            made = self.made([item.name for item in self.parts.flow.program.statements if item.name in names])
            if effort.is_out_of_effort():
                return made  # there may be a better one
            self._known[names] = made
        return self._known[names]

    def cost(self, step: Step | BoxStep) -> float:
        """Return what groups are compared by: loads where sizes are large."""
        return step.rate

    def made(self, names: Sequence[str]) -> Step | BoxStep | None:
        """Return the best order of ``names`` with the outer loop outermost, None if there is none."""
        flow = self.parts.flow
        mine = tuple(item for name in names for item in self.reads[name])
        best: Step | None = None
        depth = {name: len(flow.program.by_name[name].iterators) for name in names}
        starts = [name for name in names if depth[name] == max(depth.values())]
        for placement in (
            item
            for start in starts
            for item in placements(self.counts.distances, names, self.reads, start, in_turns=True)
        ):
            if not self.in_step(placement):
                continue
            phase = make_phase(flow, names, placement, self.reads, self.counts)
            signs = self.counts.distances.signs(placement)

            def legal(order: Loops, signs: frozenset[tuple[int, ...]] = signs) -> bool:
                return order.outer[:1] == (0,) and order.legal(signs)

            found = best_policy(phase, legal)
            # without a policy the group runs in program order and loads every use
            policy, rate = found or (None, self.counts.number(tuple(item.domain for item in mine)))
            if best is None or rate < best.rate * (1 - 1e-9):
                best = Step(tuple(names), phase, policy, rate, self.counts, mine)
        return best

    def beside(self, made: Step | BoxStep, rest: Sequence[Step | BoxStep]) -> Step | BoxStep | None:  # noqa: ARG002
        """Return ``made`` with statements so many steps late that there is an order beside ``rest``; None if not."""
        return None

    def in_step(self, placement: Placement) -> bool:
        """True if the first coordinate is the outer loop, up to a shift."""
        return all(self._shift(placement, name) is not None for name in placement)

    def _shift(self, placement: Placement, name: str) -> int | None:
        """Return by how many steps a statement is late, None if its outer loop is not the first coordinate."""
        row, own = placement[name][0], loops(self.parts.flow.program.by_name[name])[0]
        return row.constant - own.constant if row.factors == own.factors and row.parameters == own.parameters else None

    def _fused(self, groups: list[Step | BoxStep]) -> Iterator[list[Step | BoxStep]]:
        """Join groups as long as that saves loads and an order is left; yield all stages.

        Where two have no order beside what is between them, that is joined too in the end, if groups are ``closed``.
        """
        refused: set[frozenset[str]] = set()
        closing = False
        yield groups
        while True:
            total = sum(map(self.cost, groups))
            for first, second in self.pairs(groups):
                if not self._share(first, second, total):
                    continue
                parts = self._with_between(groups, first, second) if closing else [first, second]
                joined = frozenset(name for item in parts for name in item.names)
                if joined in refused:
                    continue
                made = self._group(joined)
                rest = [item for item in groups if item not in parts]
                least = sum(map(self.cost, parts)) - self.least_share * total
                if made is not None and self.cost(made) < least and self._ordered([*rest, made]) is None:
                    made = self.beside(made, rest)
                if made is not None and self.cost(made) < least:
                    groups = self.placed(groups, rest, made)
                    break
                refused.add(joined)
            else:
                if closing or not self.closed:
                    return
                closing = True
                continue
            yield groups

    def placed(
        self,
        groups: Sequence[Step | BoxStep],  # noqa: ARG002
        rest: list[Step | BoxStep],
        made: Step | BoxStep,
    ) -> list[Step | BoxStep]:
        """Return the groups after two were joined, in the order in which pairs are looked at."""
        return [*rest, made]

    def _with_between(
        self, groups: Sequence[Step | BoxStep], first: Step | BoxStep, second: Step | BoxStep
    ) -> list[Step | BoxStep]:
        """Return two groups with all others on a way from one to the other within a step."""
        home = {name: at for at, item in enumerate(groups) for name in item.names}
        after: dict[int, set[int]] = {at: set() for at in range(len(groups))}
        for (source, a), (sink, b) in product(home.items(), repeat=2):
            if a != b and self._distance(source, sink) == 0:
                after[a].add(b)
        ends = {groups.index(first), groups.index(second)}
        reached = {at: reachable(after, at) for at in after}
        inside = {at for at in after if any(at in reached[end] for end in ends) and reached[at] & ends} | ends
        return [groups[at] for at in sorted(inside)]

    def uses(self, step: Step | BoxStep) -> Mapping[str, float]:
        """Return how often values are used (see :class:`Step`)."""
        return step.uses_of

    def pairs(self, groups: Sequence[Step | BoxStep]) -> Iterable[tuple[Step | BoxStep, Step | BoxStep]]:
        """Return the pairs of groups, those to be joined first in front."""
        return combinations(groups, 2)

    def _share(self, first: Step | BoxStep, second: Step | BoxStep, total: float) -> bool:
        """True if two groups use the same values often, or one the other's."""
        often = [
            {key for key, uses in self.uses(item).items() if uses > self.least_share * total}
            for item in (first, second)
        ]
        return bool(often[0] & {*often[1], *second.names} or often[1] & {*first.names})

    def _ordered(self, groups: Sequence[Step | BoxStep]) -> tuple[list[int], list[int]] | None:
        """Return (order of the groups in a step, how many steps each is late), or None if there is no legal one."""
        return self.order_of([(item.names, {} if item.phase is None else item.phase.placement) for item in groups])

    def order_of(self, groups: Sequence[tuple[Sequence[str], Placement]]) -> tuple[list[int], list[int]] | None:
        """Return the order of groups in a step, and how many steps each is late, by statements and placements."""
        least = self._between(groups)
        delays = least_delays(len(groups), least)
        if delays is None:
            return None
        tight = {(a, b) for (a, b), distance in least.items() if delays[a] - distance == delays[b]}
        first = self._places_as_written(groups)  # as written: memory is reused so
        order: list[int] = []
        while len(order) < len(groups):
            rest = [at for at in range(len(groups)) if at not in order]
            free = [at for at in rest if not any((other, at) in tight for other in rest)]
            if not free:
                return None
            order.append(min(free, key=lambda at: first[at]))
        return order, delays

    def _between(self, groups: Sequence[tuple[Sequence[str], Placement]]) -> dict[tuple[int, int], int]:
        """Return the least distances in steps from groups to others that use their values."""
        home = {name: at for at, (names, _) in enumerate(groups) for name in names}
        placed = [(name, placement) for names, placement in groups for name in names if name in placement]
        shift = {name: self._shift(placement, name) or 0 for name, placement in placed}
        least: dict[tuple[int, int], int] = {}
        for (source, a), (sink, b) in product(home.items(), repeat=2):
            distance = self._distance(source, sink) if a != b else None
            if distance is not None:
                apart = distance + shift.get(sink, 0) - shift.get(source, 0)
                least[a, b] = min(least.get((a, b), 1 << 30), apart)
        return least

    def _places_as_written(self, groups: Sequence[tuple[Sequence[str], Placement]]) -> list[int]:
        number = {item.name: at for at, item in enumerate(self.parts.flow.program.statements)}
        return [min(number[name] for name in names) for names, _ in groups]

    def lateness(
        self, names: Sequence[str], others: Sequence[tuple[Sequence[str], Placement]], taken: Collection[str] = ()
    ) -> Iterator[dict[str, int]]:
        """Yield how many steps late each of ``names`` is if a step executes them together, behind some of ``others``.

        What these need of a group that comes later in a step is a step late, and what an earlier one needs of them. So
        may be what those ``taken`` need of the rest, or these of them.
        """
        first, count = self._places_as_written(others), len(names)
        written = [others[at] for at in sorted(range(len(others)), key=first.__getitem__)]
        groups: list[tuple[Sequence[str], Placement]] = [*(((name,), {}) for name in names), *written]
        between, seen = self._between(groups), list[list[int]]()
        is_taken = [name in taken for name in names]
        for end, later in product(range(count, len(groups) + 1), (None, True, False) if taken else (None,)):
            least = {}
            for (a, b), distance in between.items():
                is_apart = (a < count <= b < end) or (b < count and a >= end)
                if max(a, b) < count:
                    is_apart = later is not None and is_taken[a] is not later and is_taken[b] is later
                least[a, b] = distance - is_apart
            delays = least_delays(len(groups), least)
            if delays is not None:
                late = [delay - min(delays[:count]) for delay in delays[:count]]
                if late not in seen:
                    seen.append(late)
                    yield dict(zip(names, late, strict=True))


def least_delays(count: int, least: Mapping[tuple[int, int], int]) -> list[int] | None:
    """Return the least delays from 0 on with delay[b] - delay[a] + distance >= 0 for every (a, b): distance, or None.

    >>> least_delays(3, {(0, 1): -1, (1, 2): 0, (2, 0): 1})
    [0, 1, 1]
    """
    delays = [0] * count
    for _ in range(count + 1):
        late = [(b, delays[a] - distance) for (a, b), distance in least.items() if delays[a] - distance > delays[b]]
        if not late:
            return delays
        for b, needed in late:
            delays[b] = max(delays[b], needed)
    return None


_Node = TypeVar("_Node", str, int)


def reachable(after: Mapping[_Node, Iterable[_Node]], start: _Node) -> set[_Node]:
    """Return what can be reached from ``start``, itself included."""
    seen = {start}
    waiting = [start]
    while waiting:
        for other in after[waiting.pop()]:
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen
