"""A phase in the order that was chosen for one capacity, whatever memory it runs in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy

from shorthaul.affine.orders.borders.held import BorderedStep
from shorthaul.affine.orders.boxes.steps import BoxStep, WholeStep
from shorthaul.affine.orders.memories.nested import NestedStep
from shorthaul.affine.orders.panel_policy import PanelStep
from shorthaul.affine.orders.pieces.passed import PassedStep
from shorthaul.affine.orders.tile_policy import Counts
from shorthaul.affine.orders.tile_steps import Edge, Step
from shorthaul.affine.orders.turns import TurnsStep


@dataclass(frozen=True)
class FixedStep:
    """The order of ``step`` for ``capacity`` words: a smaller memory keeps nothing, a larger one no more."""

    step: Step | PanelStep | TurnsStep | BoxStep | PassedStep | WholeStep | BorderedStep | NestedStep
    capacity: int
    phase: None = None
    edges: tuple[Edge, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The statements."""
        return self.step.names

    @property
    def plain(self) -> Step:
        """The phase for all sizes."""
        return self.step if isinstance(self.step, Step) else self.step.plain

    @property
    def counts(self) -> Counts:
        """What counts its instances."""
        return self.step.counts

    @property
    def rate(self) -> float:
        """The loads where sizes are large."""
        return self.step.rate

    @property
    def uses_of(self) -> dict[str, float]:
        """How often values are used (see :class:`Step`)."""
        return self.step.uses_of

    def formula(self, names: Mapping[Edge, sympy.Symbol]) -> sympy.Expr:
        """Return the loads into a memory of this capacity."""
        return self.step.formula(names)

    def loads(self, sizes: Mapping[str, int], capacity: int) -> float:
        """Return the loads into a memory of ``capacity`` words at ``sizes``."""
        if capacity >= self.capacity:
            return self.step.loads(sizes, self.capacity)
        return float(self.plain.counts.at(sizes)(self.plain.every_use))

    def loads_bytes(self, sizes: Mapping[str, int], capacity: int, widths: Mapping[str, int]) -> float:
        """Return the bytes loaded at ``sizes``; ``widths`` are those of one element by array."""
        if capacity >= self.capacity:
            return self.step.loads_bytes(sizes, self.capacity, widths)
        count = self.plain.counts.at(sizes)
        return float(sum(widths[item.array] * count((item.domain,)) for item in self.plain.reads))
