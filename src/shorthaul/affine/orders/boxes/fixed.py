"""A phase in the order that was chosen for one capacity, whatever memory it runs in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import sympy

from shorthaul.affine.orders.borders.held import BorderedStep
from shorthaul.affine.orders.boxes.steps import Between, BoxStep, WholeStep
from shorthaul.affine.orders.memories.nested import NestedStep
from shorthaul.affine.orders.panel_policy import PanelStep
from shorthaul.affine.orders.pieces.passed import PassedStep
from shorthaul.affine.orders.tile_steps import Edge, OfPhase, Step
from shorthaul.affine.orders.turns import TurnsStep

#: An order of a phase, whatever its loads are a function of.
_Step = Step | PanelStep | TurnsStep | BoxStep | PassedStep | WholeStep | BorderedStep | NestedStep


@dataclass(frozen=True)
class FixedStep(OfPhase):
    """The order of ``step`` for ``capacity`` words: a smaller memory keeps nothing, a larger one no more."""

    step: _Step
    capacity: int
    phase: None = None
    edges: tuple[Edge, ...] = ()

    @property
    def rate(self) -> float:
        """The loads where sizes are large."""
        return self.step.rate

    def formula(self, names: Mapping[Edge, sympy.Symbol]) -> sympy.Expr:
        """Return the loads into a memory of this capacity."""
        return self.step.formula(names)

    def loads(self, sizes: Mapping[str, int], capacity: int) -> float:
        """Return the loads into a memory of ``capacity`` words at ``sizes``."""
        if capacity >= self.capacity:
            return self.step.loads(sizes, self.capacity)
        return self.plain.counts.at(sizes)(self.plain.every_use)

    def loads_bytes(self, sizes: Mapping[str, int], capacity: int, widths: Mapping[str, int]) -> float:
        """Return the bytes loaded at ``sizes``; ``widths`` are those of one element by array."""
        if capacity >= self.capacity:
            return self.step.loads_bytes(sizes, self.capacity, widths)
        count = self.plain.counts.at(sizes)
        return sum(widths[item.array] * count((item.domain,)) for item in self.plain.reads)


def refitted(item: _Step | FixedStep, found_at: int, sizes: Mapping[str, int]) -> _Step | FixedStep:
    """Return a phase in boxes for another S than that which it was ``found_at``, or as it was if that loads less.

    Then a smaller memory keeps nothing.
    """
    if isinstance(item, Step | PanelStep | FixedStep):
        return item
    boxes = item.boxes if isinstance(item, PassedStep) else (item,) if isinstance(item, BoxStep) else ()
    again = [box.again for box in boxes if box.between == Between() and {**box.sizes, "S": sizes["S"]} == sizes]
    found = [box for search in again if search is not None and (box := search(sizes, (sizes["S"],))) is not None]
    tried: list[_Step | FixedStep] = [FixedStep(item.plain, item, found_at)]
    if boxes and len(found) == len(boxes):
        tried.append(replace(item, boxes=tuple(found)) if isinstance(item, PassedStep) else found[0])
    parameters = {name: sizes[name] for name in item.counts.flow.program.parameters}
    return min(tried, key=lambda step: step.loads(parameters, sizes["S"]))
