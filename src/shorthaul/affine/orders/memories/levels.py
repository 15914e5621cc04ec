"""One order for several memories, each over the next: boxes or tiles within others, or the order for one of them.

Memories are inclusive: one of S words sees the loads that a fast memory of S words would see alone. So the bound for S
holds for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.orders.boxes.fixed import FixedStep
from shorthaul.affine.orders.boxes.steps import WholeStep
from shorthaul.affine.orders.memories.nested import nested
from shorthaul.affine.orders.searching import at_sizes
from shorthaul.affine.orders.sized import Boxes
from shorthaul.affine.orders.upper_bound import AnyStep, UpperBound
from shorthaul.affine.tuning import NO_SLACK, Slack
from shorthaul.core.search import Search


@dataclass(frozen=True)
class LevelOrder:
    """An order for several memories; ``alone`` has the best order known for each by itself, the largest first."""

    order: UpperBound
    alone: Mapping[int, UpperBound]

    @property
    def steps(self) -> tuple[AnyStep, ...]:
        """The phases."""
        return self.order.steps

    def instead(self, steps: Mapping[str, AnyStep]) -> LevelOrder:
        """Return the order with other orders of some phases, by the first of their statements."""
        return replace(self, order=self.order.instead(steps))

    def value(self, sizes: Mapping[str, int]) -> float:
        """Return loads that suffice at ``sizes``, S being one of the memories; see :class:`UpperBound`."""
        return self._least(sizes, UpperBound.value)

    def value_bytes(self, sizes: Mapping[str, int]) -> float:
        """Return bytes that suffice at ``sizes``, S being one of the memories in words."""
        return self._least(sizes, UpperBound.value_bytes)

    def _least(self, sizes: Mapping[str, int], value: Callable[[UpperBound, Mapping[str, int]], float]) -> float:
        """Return the value of the order; a memory that holds everything loads the inputs in any order."""
        own, single = value(self.order, sizes), self.alone[sizes["S"]]
        return min(own, value(single, sizes)) if isinstance(single.steps[0], WholeStep) else own


def at_levels(
    upper: UpperBound,
    flow: DataFlow,
    sizes: Mapping[str, int],
    capacities: Sequence[int],
    search: Search | None = None,
    slack: Slack = NO_SLACK,
) -> LevelOrder:
    """Return the order whose loads are least, those of every memory beside the best order known for it alone.

    ``sizes`` has every parameter, ``capacities`` the memories in words, the largest first; ``slack`` is as in
    :func:`at_sizes`, and boxes within boxes may load this share more than what they replace.
    """
    share = 1 / (len(capacities) + 1)
    alone = {
        item: at_sizes(upper, flow, {**sizes, "S": item}, None if search is None else search.part(share), slack)
        for item in capacities
    }
    weights = {item: 1 / max(1.0, found.value({**sizes, "S": item})) for item, found in alone.items()}
    boxes = Boxes(flow, sizes, upper.small, weights, slack, counts=upper.steps[0].counts)
    found: dict[frozenset[str], list[AnyStep]] = {}

    def better(step: FixedStep) -> AnyStep:
        """Return the phase as it is, in boxes within boxes, or in tiles within tiles."""
        key = frozenset(step.names)
        if key not in found:
            found[key] = []
            with suppress(effort.OutOfEffortError):
                for make in (lambda: boxes.of(step.names), lambda: nested(step.plain, capacities, boxes.parameters)):
                    made = make()
                    found[key] += [] if made is None else [made]
        best = min(found[key], key=boxes.cost, default=None)
        return step if best is None or boxes.cost(best) >= boxes.cost(step) else best

    candidates: list[LevelOrder] = []
    with nullcontext() if search is None else effort.charged_to(search):
        for item, one in alone.items():
            fixed = [step if isinstance(step, FixedStep) else FixedStep(step.plain, step, item) for step in one.steps]
            variants = (tuple(fixed), tuple(better(step) for step in fixed))
            candidates += [LevelOrder(replace(upper, steps=steps), alone) for steps in variants]
    return min(
        candidates,
        key=lambda made: sum(weight * made.value({**sizes, "S": item}) for item, weight in weights.items()),
    )
