"""The cost of panels: square or triangular blocks of independent lines, and boxes for the rest.

Late instances (:mod:`panels`) run in blocks of lines: boxes, in which a line keeps its own values for the panel, or
triangular blocks (:mod:`triangles`). Of these, pairs of rows in one zone are left over: |a - b| < c, in boxes too.
Instances that are not late have |x - k| < B for an x that has to be apart.

Loads are counted as in :mod:`value_classes`, one for each group that uses a value and does not compute it. A late line
computes its own values in its own group; all other values come from instances that are not late or from earlier panels
and are never taken as computed in the group. Within a panel, what is not late has its operands from what is not late.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import islpy as isl
import sympy

from shorthaul.affine.integer_sets.quasi_polynomial import symbol
from shorthaul.affine.integer_sets.signs import Signs
from shorthaul.affine.integer_sets.triangle_blocks import zone_size
from shorthaul.affine.orders.panels import Panels, is_private, line_signs, panels, restricted
from shorthaul.affine.orders.placement import Loops, Read
from shorthaul.affine.orders.tile_policy import Counts, Phase, best_policy
from shorthaul.affine.orders.tile_steps import Edge, OfPhase, Step
from shorthaul.affine.orders.triangles import Triangles, mirrored, triangles
from shorthaul.affine.orders.value_classes import value_classes
from shorthaul.affine.tuning import COMPARED_ORDERS, COMPARED_PANEL, MOST_PANELS, POOR


@dataclass(frozen=True, slots=True)
class Cut:
    """The size of ``panel``, and the ``width``: the number of successive rows in the same triangular blocks."""

    panel: int
    width: int = 1


@dataclass(frozen=True)
class PanelPlan:
    """Panels: ``near`` is not late, ``late`` are lines in boxes; where there are ``blocks``, those within zones."""

    phase: Phase
    chosen: Panels
    near: tuple[Step, ...]
    late: Step
    blocks: Triangles | None

    @property
    def counts(self) -> Counts:
        """What counts its instances."""
        return self.phase.counts

    @property
    def steps(self) -> tuple[Step, ...]:
        """All parts but triangular blocks."""
        return (*self.near, self.late)

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """The edges of boxes and blocks as functions of S."""
        found = [item.edge for item in self.steps if item.edge is not None and item.edge.degree]
        return (*found, self.blocks.edge) if self.blocks else tuple(found)

    def formula(self, names: Mapping[Edge, sympy.Symbol]) -> sympy.Expr:
        """Return the loads with edges called ``names``, for any B, and g as :mod:`triangles` says."""
        panel, gap = symbol(self.counts.panel), symbol(self.counts.gap)
        context = None if self.blocks is None else self.blocks.within_rows(self.counts.zone)
        total = sympy.Add(*(_cut(item, self.chosen, panel).formula(names, context) for item in self.steps))
        if self.blocks is not None:
            edge = names[self.blocks.edge]
            count = partial(self.counts.formula, context=context)
            total += self.blocks.loads(edge, panel, gap, count)
            zone = count(self.blocks.extent) / edge + gap
            total = total.subs(symbol(self.counts.zone), zone)
        return sympy.expand(total)

    def rate(self) -> float:
        """Return the loads where candidates are compared."""
        total = sum(item.rate for item in self.steps)
        if self.blocks is not None:
            edge = self.blocks.largest(COMPARED_ORDERS.fast_memory)
            total += float(self.blocks.loads(edge, COMPARED_PANEL, COMPARED_ORDERS.fast_memory, self.counts.number))
        return total

    def loads(self, sizes: Mapping[str, int], capacity: int) -> tuple[float, Cut]:
        """Return (loads, cut) at ``sizes`` for the best cut; infinite if nothing fits."""
        most = max(sizes.values(), default=1)
        panels = sorted({round(2 ** (at / 2)) for at in range(MOST_PANELS) if 2 ** (at / 2) <= most})
        widths = [1]
        if self.blocks is not None:
            edge = self.blocks.largest(capacity)
            widths = [2**at for at in range(edge.bit_length()) if 2 ** (at + 1) <= edge] or [1]
        # blocks of as many zones as zones have rows are neither cut off nor widened much
        middle = min(widths, key=lambda width: abs(capacity / width - most))
        tried = [Cut(size, middle) for size in panels] if self.chosen.along is not None else [Cut(1, middle)]
        best = min((self.at(sizes, capacity, cut), cut.panel, cut.width) for cut in tried)
        best = min(best, *((self.at(sizes, capacity, Cut(best[1], width)), best[1], width) for width in widths))
        return best[0], Cut(*best[1:])

    def at(self, sizes: Mapping[str, int], capacity: int, cut: Cut) -> float:
        """Return the loads at ``sizes`` with a given cut; infinite if blocks do not fit."""
        panel = cut.panel
        given = {**sizes, self.counts.panel: panel, self.counts.zone: 1}
        total: float = 0
        if self.blocks is not None:
            edge = self.blocks.largest(capacity)
            if not edge:
                return float("inf")
            count = self.counts.at(given)
            rows = max(1, count(self.blocks.extent))
            total += self.blocks.least_loads(edge, panel, rows, cut.width, count)
            if total == float("inf"):
                return total
            given[self.counts.zone] = int(min(rows, cut.width * zone_size(rows, edge, cut.width)))
        return total + sum(_cut(item, self.chosen, panel).loads(given, capacity) for item in self.steps)


def _cut(step: Step, chosen: Panels, size: Any) -> Step:
    """Return the step with panels of ``size``."""
    if step.phase is None or chosen.along is None:
        return step
    return replace(step, phase=replace(step.phase, fixed={chosen.along: size}))


def panel_plans(phase: Phase, everything: Sequence[Read], rate: float) -> Iterator[PanelPlan]:
    """Return ways to run the statements of ``phase`` in panels, with triangular blocks where rows are shared.

    ``everything`` is what they read, ``rate`` the loads where candidates are compared of the best order known.
    """
    counts = phase.counts
    poor = rate > POOR * counts.number(tuple(item.domain for item in everything))
    width = len(phase.placement[phase.names[0]])
    planes = [
        plane
        for plane in combinations(range(width), 2)
        if (poor and width > 2) or mirrored(everything, phase.placement, plane)
    ]
    signs = counts.distances.signs(phase.placement)
    for chosen in panels(counts.flow, phase.placement, planes):
        apart = " and ".join(f"y{at} != {chosen.position}" for at in chosen.apart) or "true"
        late = _those(everything, phase, apart)
        if not late:
            continue
        a, b = chosen.plane
        boxes = len(chosen.apart) == 1  # otherwise a box may lie in several parts of a panel
        near = tuple(
            _part(
                phase,
                _those(everything, phase, _close(at, chosen.position, counts.panel)),
                chosen,
                signs,
                lines=False,
                boxes=boxes,
            )
            for at in chosen.apart
        )
        lines = line_signs(signs, chosen.plane)
        blocks = triangles(
            counts.flow, phase.placement, phase.names, _those(late, phase, f"y{a} != y{b}"), chosen, counts
        )
        if blocks is not None:
            zone = _those(late, phase, _close(a, f"y{b}", counts.zone))
            yield PanelPlan(phase, chosen, near, _part(phase, zone, chosen, lines, lines=True), blocks)
            if chosen.along is None:
                return  # panels cost more
        elif chosen.along is not None:
            yield PanelPlan(phase, chosen, near, _part(phase, late, chosen, lines, lines=True), None)


def _close(first: int, second: str, size: str) -> str:
    return f"y{first} - {second} < {size} and {second} - y{first} < {size}"


def _those(reads: Sequence[Read], phase: Phase, condition: str) -> list[Read]:
    """Return the reads where coordinates y0, y1, ... are as said."""
    width = len(phase.placement[reads[0].sink]) if reads else 0
    names = ", ".join(f"y{at}" for at in range(width))
    text = f"[{phase.counts.panel}, {phase.counts.zone}] -> {{ [{names}] : {condition} }}"
    where = isl.Set(text)
    found = (restricted(item, phase.counts.flow, phase.placement, where) for item in reads)
    return [item for item in found if item is not None]


def _part(
    phase: Phase, reads: Sequence[Read], chosen: Panels, signs: frozenset[Signs], *, lines: bool, boxes: bool = True
) -> Step:
    """Return a part of every panel in boxes, if they are wanted; ``lines`` do not depend on each other."""
    counts, placement = phase.counts, phase.placement
    domains = tuple(item.domain for item in reads)
    plain = Step(phase.names, None, None, counts.number(domains), counts, tuple(reads))
    if not boxes or not reads:
        return plain
    inside = frozenset(phase.names)
    own = [item for item in reads if not lines or is_private(item, counts.flow, placement, chosen.plane)]
    others = [item for item in reads if item not in own]
    parameters = counts.flow.program.parameters
    classes = (
        *value_classes(own, placement, inside, parameters),
        *value_classes(others, placement, frozenset(), parameters),
    )
    fixed = {} if chosen.along is None else {chosen.along: COMPARED_PANEL}
    made = Phase(phase.names, placement, classes, counts, fixed)

    def legal(order: Loops) -> bool:
        return not order.outer and chosen.along not in order.tiled and order.legal(signs)

    found = best_policy(made, legal)
    if found is None or found[1] >= plain.rate:
        return plain
    return Step(phase.names, made, found[0], found[1], counts, tuple(reads))


@dataclass(frozen=True)
class PanelStep(OfPhase):
    """One phase in panels, or as ``plain`` where that needs fewer loads."""

    plan: PanelPlan

    @cached_property
    def rate(self) -> float:
        """The loads where candidates are compared."""
        return self.plan.rate()

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The edges in the formula."""
        return self.plan.edges

    def formula(self, names: Mapping[Edge, sympy.Symbol]) -> sympy.Expr:
        """Return the loads with edges called ``names``."""
        return self.plan.formula(names)

    def cut(self, sizes: Mapping[str, int], capacity: int) -> Cut | None:
        """Return the panels that are best at ``sizes``, None where it is better to have none."""
        loads, cut = self.plan.loads(sizes, capacity)
        return cut if loads < self.plain.loads(sizes, capacity) else None

    def loads_bytes(self, sizes: Mapping[str, int], capacity: int, widths: Mapping[str, int]) -> float:
        """Return bytes that suffice at ``sizes``: in panels every word counts as one of the widest array."""
        widest = max(widths[item.array] for item in self.plain.reads)
        return min(widest * self.plan.loads(sizes, capacity)[0], self.plain.loads_bytes(sizes, capacity, widths))
