"""Groups of statements that take turns in a loop, at given sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations, permutations
from math import prod
from typing import TYPE_CHECKING

import islpy as isl

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.points import at_sizes
from shorthaul.affine.orders.boxes.in_place import arrays_in_place
from shorthaul.affine.orders.boxes.skewed import late_in_steps
from shorthaul.affine.orders.boxes.stays import Staying, Turn, staying
from shorthaul.affine.orders.boxes.steps import BoxStep
from shorthaul.affine.orders.placement import Placement, Row, as_written, function_rows, loops, placement_map
from shorthaul.affine.orders.splitting import Split
from shorthaul.affine.orders.tile_steps import Step
from shorthaul.affine.orders.turns import Groups, TurnsStep, nests_of
from shorthaul.affine.tuning import LEAST_SHARE_JOINED, MOST_WRITTEN_FIRST, PLACEMENT_OPERATIONS

if TYPE_CHECKING:
    from shorthaul.affine.orders.sized import Boxes


class SizedGroups(Groups):
    """The groups of statements that take turns in a loop, each in the best boxes at given sizes.

    What a step of the loop needs at once often fits where a tile in all loops holds little: the rows of one half step
    of an alternating method, the vectors of an iterative solver.
    """

    least_share = LEAST_SHARE_JOINED
    closed = True

    def __init__(self, boxes: Boxes, small: Sequence[str], parts: Split | None = None) -> None:
        super().__init__(Split(boxes.flow) if parts is None else parts, small)
        self.boxes, self._last_first, self._at_first = boxes, False, False
        self._uses: dict[tuple[str, ...], Mapping[str, float]] = {}
        self._known_late: dict[tuple[object, ...], BoxStep | None] = {}

    def _together(self, names: Sequence[str]) -> list[list[str]]:
        """Return the statements that need each other within one iteration, with all pieces of a statement."""
        result: list[list[str]] = []
        for group in super()._together(names):
            mine = {other for name in group for piece in self.parts.names.values() if name in piece for other in piece}
            joined = [item for item in result if not mine.isdisjoint(item)]
            result = [*(item for item in result if item not in joined), [*chain(*joined), *group]]
        return result

    def cost(self, step: Step | BoxStep) -> float:
        """Return what groups are compared by: loads at the sizes."""
        return self.boxes.cost(step)

    def best(self, plain: Step) -> TurnsStep | None:
        """Return the turns that load least with what stays in memory from turn to turn, of those tried in time."""
        found = effort.until_out_of_effort(self.stages(plain))
        if not found:
            effort.step(0)  # raises what ended the search
        return min(found, key=lambda item: item.rate, default=None)

    def as_written(self, plain: Step) -> Iterator[TurnsStep]:
        """Yield the turns of the loops in the outer one, if all have boxes.

        Not where they pass on few values inside, against the inputs that every step reads again.
        """
        if self.parts.pieces:
            return
        count, flow = self.boxes.counts.at(self.boxes.sizes), self.boxes.flow
        nests = [item for item in nests_of(flow.program, 2) if {*item} <= {*plain.names}]
        reads = [(names, name, item) for names in nests for name in names for item in self.boxes.reads[name]]
        passed = sum(count((item.domain,)) for names, name, item in reads if item.source in {*names} - {name})
        again = prod(read_in_every_step(flow, plain.names, self.boxes.sizes))
        if passed > MOST_WRITTEN_FIRST * again:
            found = [self._group(frozenset(names)) for names in nests]
            groups = [item for item in found if isinstance(item, BoxStep) or (item and len(item.names) == 1)]
            if len(groups) == len(found) and self._ordered(groups) is not None:
                written = self.in_turns(plain, groups)
                yield written
                yield from self.regrouped(written)

    def in_turns(self, plain: Step, groups: Sequence[Step | BoxStep]) -> TurnsStep:
        """Return the turns of groups for which there is an order, with what stays in memory from turn to turn."""
        made = super().in_turns(plain, groups)
        if len(self.boxes.weights) > 1 or any(group.phase is None for group in made.groups):
            return made
        turns = []
        for group, delay in zip(made.groups, made.delays, strict=True):
            placement = {} if group.phase is None else group.phase.placement
            rows = {name: (replace(item, constant=item.constant + delay),) for name, (item, *_) in placement.items()}
            turns.append(Turn(self._room(group), self._times(rows), tuple(rows.items())))
        boxes = self.boxes

        def found(has_places: bool) -> Staying:
            in_place = arrays_in_place(boxes.conflicts, made.groups, turns, boxes.sizes) if has_places else frozenset()
            return staying(boxes.flow, turns, boxes.sizes, in_place, boxes.stays)

        kept = effort.results_within(PLACEMENT_OPERATIONS, (False, True), found)
        return replace(made, staying=max(kept, key=lambda item: sum(item.loads.values()), default=made.staying))

    def _times(self, rows: Placement) -> dict[str, isl.Map]:
        program = self.boxes.flow.program
        result = {}
        for name, row in rows.items():
            statement = program.by_name[name]
            times = placement_map(name, len(statement.iterators), row, program.parameters)
            result[name] = at_sizes(times.intersect_domain(statement.domain), self.boxes.sizes)
        return result

    def _room(self, step: Step | BoxStep) -> int:
        """Return how many words a group holds at most; all of S where that is not known."""
        if isinstance(step, BoxStep):
            return step.room
        if isinstance(step, Step) and step.policy is None:
            return 1 + max(len(self.boxes.flow.program.by_name[name].reads) for name in step.names)
        return self.boxes.sizes["S"]

    def uses(self, step: Step | BoxStep) -> Mapping[str, float]:
        """Return how often values are used at the sizes."""
        if step.names not in self._uses:
            count = self.boxes.counts.at(self.boxes.sizes)
            found: Counter[str] = Counter()
            for name in step.names:
                for item in self.boxes.reads[name]:
                    found[item.source or f"input {item.array}"] += count((item.domain,))
            self._uses[step.names] = found
        return self._uses[step.names]

    def pairs(self, groups: Sequence[Step | BoxStep]) -> Iterable[tuple[Step | BoxStep, Step | BoxStep]]:
        """Return the pairs of groups, of several nests first those of which one computes most for the other.

        The parts of one nest are joined as written, from one end or the other: there a part computes most for the next
        one, and what both read counts too (adi at LARGE and S = 32,768 loads twice as much otherwise).
        """
        names = {name for item in groups for name in item.names}
        if any(names.issubset(nest) for nest in nests_of(self.boxes.flow.program)):
            found = [*super().pairs(groups)]
            return found[::-1] if self._last_first else found

        def given(pair: tuple[Step | BoxStep, Step | BoxStep]) -> float:
            both = (pair, pair[::-1])
            return sum(self.uses(two).get(name, 0.0) for one, two in both for name in one.names)

        return sorted(combinations(groups, 2), key=given, reverse=True)

    def _fused(self, groups: list[Step | BoxStep]) -> Iterator[list[Step | BoxStep]]:
        """Join groups from the first on, what is joined last or at its first place; from the last if loops are folded.

        Which is best depends on what fits: a sweep to and fro, or parts of two sweeps that read the same.
        """
        for self._last_first, self._at_first in ((False, False), (False, True), (True, False)):
            if not self._last_first or self.parts.pieces:
                yield from super()._fused(groups)

    def placed(
        self, groups: Sequence[Step | BoxStep], rest: list[Step | BoxStep], made: Step | BoxStep
    ) -> list[Step | BoxStep]:
        """Return the groups after two were joined, where the first of them was or behind all others."""
        if not self._at_first:
            return super().placed(groups, rest, made)
        at = next(number for number, item in enumerate(groups) if item not in rest)
        return [*rest[:at], made, *rest[at:]]

    def made(self, names: Sequence[str]) -> Step | BoxStep | None:
        """Return ``names`` in boxes within every step of the outer loop, else in the best order for all sizes."""
        return self.boxes.of(names, self.in_step) or super().made(names)

    def beside(self, made: Step | BoxStep, rest: Sequence[Step | BoxStep]) -> Step | BoxStep | None:
        """Return ``made`` with statements so many steps late that there is an order beside ``rest``; None if not."""
        others = [(item.names, _placed(item)) for item in rest]
        return None if made.phase is None else self._late(made.phase.placement, others)

    def _late(
        self,
        placement: Placement,
        others: Sequence[tuple[Sequence[str], Placement]],
        taken: frozenset[str] = frozenset(),
    ) -> BoxStep | None:
        """Return a placement in boxes, with statements late as ``others`` and what they read of one another want it.

        Along the outer loop these come in another order of a step, along others in one step.
        """
        names, linear = [*placement], tuple(tuple(row.factors for row in rows) for rows in placement.values())
        key = *names, linear, taken, *(tuple(other) for other, _ in others)
        if key not in self._known_late:
            found: list[BoxStep] = []
            for late in self.lateness(names, others, taken):
                rows: Placement = {name: _late_rows(placement[name], late[name]) for name in names}
                rows = late_in_steps(self.boxes.flow, rows, self.boxes.sizes)
                step = self.boxes.placed(rows, stepped=True) if self.order_of([*others, (names, rows)]) else None
                found += [] if step is None else [step]
            self._known_late[key] = min(found, key=self.cost, default=None)
        return self._known_late[key]

    def regrouped(self, step: TurnsStep) -> Iterator[TurnsStep]:
        """Yield turns of which two groups are joined, or a statement is in another one, as long as that saves loads."""
        groups: list[Step | BoxStep] = [*step.groups]
        statements, refused = self.boxes.flow.program.statements, set[tuple[str, ...]]()
        while True:
            least = self.least_share * self.boxes.total(groups)
            for group, other, taken in self._moves(groups, least):
                inside = [item for item in statements if item.name in {*group.names, *taken}]
                left = frozenset(other.names) - taken
                key = *(item.name for item in inside), "", *sorted(left)
                rest = [item for item in groups if item is not group and item is not other]
                others = [(item.names, _placed(item)) for item in rest]
                others += [(tuple(sorted(left)), _placed(other))] if left else []
                made = None if key in refused else self._late(as_written(inside), others, taken)
                paid = self.cost(group) + self.cost(other) - least
                if made is None or self.cost(made) >= paid:
                    refused.add(key)
                    continue
                alone = self._group(left) if left else None
                found = [*rest, made] if alone is None else [*rest, alone, made]
                saved = self.boxes.total(groups) - self.boxes.total(found)
                if saved > least and (alone or not left) and self._ordered(found):
                    groups = found
                    yield self.in_turns(step.plain, groups)
                    break
                refused.add(key)
            else:
                return

    def _moves(
        self, groups: Sequence[Step | BoxStep], least: float
    ) -> list[tuple[Step | BoxStep, Step | BoxStep, frozenset[str]]]:
        """Return groups, others, and what of these may be joined with them, those in front that share most values."""
        found = []
        for (at, group), (also, other) in permutations(enumerate(groups), 2):
            parts = [frozenset({name}) for name in other.names if len(other.names) > 1]
            for taken in (*([frozenset(other.names)] if at < also else []), *parts):
                here, there = self._values(group.names), self._values(sorted(taken))
                shared = sum(min(count, there[key]) for key, count in here.items() if key in there)
                shared += sum(here.get(name, 0) for name in taken) + sum(there.get(name, 0) for name in group.names)
                if shared > least:
                    found.append((shared, group, other, taken))
        return [(group, other, taken) for _, group, other, taken in sorted(found, key=lambda item: -item[0])]

    def _values(self, names: Sequence[str]) -> Mapping[str, float]:
        """Return how many values statements read, by what computes them."""
        result: dict[str, float] = {}
        count = self.boxes.counts.at(self.boxes.sizes)
        for item in (item for name in names for item in self.boxes.reads[name]):
            key = item.source or f"input {item.array}"
            result[key] = max(result.get(key, 0.0), count((item.function.range(),)))
        return result


def _placed(step: Step | BoxStep) -> Placement:
    return {} if step.phase is None else step.phase.placement


def _late_rows(rows: Sequence[Row], late: int) -> tuple[Row, ...]:
    """Return rows without constants, the first so many steps late."""
    return tuple(replace(row, constant=0 if at else late) for at, row in enumerate(rows))


def read_in_every_step(flow: DataFlow, names: Sequence[str], sizes: Mapping[str, int]) -> tuple[int, int]:
    """Return how many inputs are read at places that do not depend on the outer loop, and its steps."""
    every: dict[str, isl.Set] = {}
    for item in (item for item in flow.flows if item.source is None and item.sink in names):
        rows = function_rows(item.reference.relation)
        if rows is not None and not any(row.factors[0] for row in rows):
            values, array = item.relation.domain(), item.reference.array
            every[array] = every[array].union(values) if array in every else values
    steps = at_sizes(flow.program.by_name[names[0]].domain, sizes)
    count = 1 + steps.dim_max_val(0).to_python() - steps.dim_min_val(0).to_python() if not steps.is_empty() else 0
    return sum(card(at_sizes(item, sizes)).at({}) for item in every.values()), count


def is_carried(flow: DataFlow, names: Iterable[str]) -> bool:
    """True if some of the statements ``names`` read what earlier steps of their outer loop have computed."""
    inside = {name: loops(flow.program.by_name[name])[:1] for name in names}
    for item in flow.flows:
        if item.source is not None and item.source in inside and item.sink in inside:
            effort.step()
            ends = (item.source, item.relation.domain()), (item.sink, item.relation.range())
            first, last = (
                placement_map(name, found.dim(isl.dim_type.set), inside[name], tuple(flow.program.parameters))
                for name, found in ends
            )
            steps = item.relation.apply_domain(first).apply_range(last).deltas()
            if not steps.is_subset(isl.Set("{ [0] }")):
                return True
    return False


def written_in_a_step(flow: DataFlow, names: Iterable[str], sizes: Mapping[str, int]) -> int:
    """Return how many elements the statements ``names`` write in the first step of their outer loop."""
    found: dict[str, isl.Set] = {}
    for item in (flow.program.by_name[name] for name in names):
        domain = at_sizes(item.domain, sizes)
        first = domain.fix_val(isl.dim_type.set, 0, domain.dim_min_val(0)) if not domain.is_empty() else domain
        cells = at_sizes(item.write.relation, sizes).intersect_domain(first).range()
        array = item.write.array
        found[array] = found[array].union(cells) if array in found else cells
    return sum(card(cells).at({}) for cells in found.values())


def read_from_elsewhere(flow: DataFlow, names: Iterable[str], sizes: Mapping[str, int]) -> float:
    """Return how many values the statements ``names`` read that others computed, and inputs."""
    inside = frozenset(names)
    found: dict[tuple[str | None, str], isl.Set] = {}
    for item in flow.flows:
        if item.sink in inside and item.source not in inside:
            values = item.relation.domain()
            key = item.source, item.reference.array
            found[key] = found[key].union(values) if key in found else values
    return sum(card(at_sizes(values, sizes)).at({}) for values in found.values())
