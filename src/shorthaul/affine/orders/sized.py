"""The derived order at given sizes: boxes in place of a phase's order where they load less there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import combinations, islice

import islpy as isl

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.dependences import Conflicts, DataFlow, accesses_of
from shorthaul.affine.orders.boxes.boxed import Band, boxed, refined, tileable
from shorthaul.affine.orders.boxes.steps import BoxStep, WholeStep, whole
from shorthaul.affine.orders.placement import Placement, Row, loops, placements, reads_of
from shorthaul.affine.orders.tile_policy import Counts, make_phase
from shorthaul.affine.orders.tile_steps import Step
from shorthaul.affine.orders.upper_bound import AnyStep, UpperBound, closed, in_order
from shorthaul.affine.tuning import (
    MOST_BOX_FUSIONS,
    MOST_BOX_PLACEMENTS,
    MOST_COMPARED_PLACEMENTS,
    PLACEMENT_OPERATIONS,
)
from shorthaul.core.search import Search


def at_sizes(
    upper: UpperBound,
    flow: DataFlow,
    sizes: Mapping[str, int],
    search: Search | None = None,
    slack: float = 0.0,
) -> UpperBound:
    """Return the order with the fewest loads known at ``sizes`` (every parameter, and S); its formula holds there.

    ``search`` limits the work; where it ends early, the best found until then is taken. Boxes, in which instances stay
    in program order, and long rows in them may cost a share of ``slack`` more.

    Phases are executed in boxes where these load less, and joined where one in boxes loads less than several.
    """
    steps: list[AnyStep] = list(upper.steps)
    with nullcontext() if search is None else effort.charged_to(search), suppress(effort.OutOfEffortError):
        boxes = Boxes(flow, sizes, upper.small, slack=slack)
        kept = boxes.whole()
        if kept is not None:
            return replace(upper, steps=(kept,))
        steps = [boxes.better(item) for item in upper.steps]
        steps = _joined(flow, steps, boxes)
        steps = [boxes.better(item, refined) for item in steps]
    return replace(upper, steps=tuple(in_order(flow, steps)))


class Boxes:
    """The boxes of sets of statements at given sizes.

    ``weights`` say what a load counts into each memory, by its words, the largest first; without them there is S only.
    ``slack`` is the share of loads that boxes may cost more, and that they may cost for longer rows.
    """

    def __init__(
        self,
        flow: DataFlow,
        sizes: Mapping[str, int],
        small: Sequence[str],
        weights: Mapping[int, float] | None = None,
        slack: float = 0.0,
    ) -> None:
        self.flow, self.sizes, self.slack = flow, sizes, slack
        self.parameters = {name: sizes[name] for name in flow.program.parameters}
        self.counts = Counts(flow, small)
        self.conflicts = Conflicts(flow.program, accesses_of(flow.program))
        self.reads = {item.name: reads_of(flow, item.name) for item in flow.program.statements}
        self.weights = weights or {sizes["S"]: 1.0}

    def cost(self, step: AnyStep) -> float:
        """Return the loads of a phase into all memories, weighted."""
        return sum(weight * step.loads(self.parameters, words) for words, weight in self.weights.items())

    def whole(self) -> WholeStep | None:
        """Return everything in program order, if it fits."""
        names = tuple(self.reads)
        mine = tuple(read for name in names for read in self.reads[name])
        return whole(self.flow, Step(names, None, None, 0.0, self.counts, mine), self.sizes)

    def better(self, step: AnyStep, improve: Callable[[BoxStep], BoxStep] | None = None) -> AnyStep:
        """Return a phase in boxes, after ``improve``, where that loads less."""
        found = step if isinstance(step, BoxStep) else self.of(step.names)
        if found is not None and improve is not None:
            found = improve(found)
        return step if found is None or self.cost(found) >= self.cost(step) else found

    def of(self, names: Iterable[str]) -> BoxStep | None:
        """Return the statements ``names`` in the best boxes found."""
        chosen = set(names)
        ordered = [item.name for item in self.flow.program.statements if item.name in chosen]
        best: BoxStep | None = None
        mine = tuple(read for name in ordered for read in self.reads[name])
        for placement, bands in self._freest(ordered):
            with suppress(isl.Error), effort.limited(PLACEMENT_OPERATIONS):
                phase = make_phase(self.flow, ordered, placement, self.reads, self.counts)
                step = Step(tuple(ordered), phase, None, 0.0, self.counts, mine)
                found = boxed(self.flow, step, bands, self.sizes, tuple(self.weights), self.slack)
                if found is not None and (best is None or self.cost(found) < self.cost(best)):
                    best = found
        return best

    def _freest(self, names: Sequence[str]) -> list[tuple[Placement, list[Band]]]:
        """Return the placements in which most loops may be cut, and these."""
        found = []
        further = islice(placements(self.counts.distances, names, self.reads), MOST_COMPARED_PLACEMENTS)
        for placement in (self._as_written(names), *further):
            with suppress(isl.Error), effort.limited(PLACEMENT_OPERATIONS):
                found.append((placement, list(tileable(self.conflicts, placement))))
        found.sort(key=lambda item: -max((len(tiled) for _, tiled in item[1]), default=0))
        return found[:MOST_BOX_PLACEMENTS]

    def _as_written(self, names: Sequence[str]) -> Placement:
        """Return the placement of every statement by its own loops, from the outermost on."""
        program = self.flow.program
        width = max(len(program.by_name[name].iterators) for name in names)
        result = {}
        for name in names:
            own = loops(program.by_name[name])
            result[name] = (*own, *(Row((0,) * len(own)) for _ in range(width - len(own))))
        return result


def _joined(flow: DataFlow, steps: list[AnyStep], search: Boxes) -> list[AnyStep]:
    """Join phases as long as one in boxes loads less than several, those first that save most."""
    known: dict[frozenset[str], BoxStep | None] = {}
    while True:
        best: tuple[float, list[AnyStep]] = 0.0, steps
        for first, second in combinations(steps, 2):
            if not _share(flow, first, second):
                continue
            names = closed(flow, steps, first, second)
            if names not in known and len(known) < MOST_BOX_FUSIONS:
                known[names] = search.of(names)
            found = known.get(names)
            if found is not None:
                parts = [item for item in steps if set(item.names) <= names]
                saved = sum(map(search.cost, parts)) - search.cost(found)
                if saved > best[0]:
                    best = saved, [*(item for item in steps if item not in parts), found]
        if not best[0]:
            return steps
        steps = best[1]


def _share(flow: DataFlow, first: AnyStep, second: AnyStep) -> bool:
    """True if values of one are read by the other, or both read one input."""
    names = {*first.names}, {*second.names}
    inputs: list[set[str]] = [set(), set()]
    for item in flow.flows:
        for at in (0, 1):
            if item.sink in names[at]:
                if item.source in names[1 - at]:
                    return True
                if item.source is None:
                    inputs[at].add(item.reference.array)
    return bool(inputs[0] & inputs[1])
