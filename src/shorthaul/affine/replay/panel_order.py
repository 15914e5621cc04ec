"""The concrete order of panels: what is not late first, then blocks of independent lines."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from shorthaul.affine.integer_sets.triangle_blocks import blocks, zone_size
from shorthaul.affine.orders.panel_policy import Cut, PanelPlan
from shorthaul.affine.orders.placement import Loops
from shorthaul.affine.orders.tile_steps import Step

IntArray = npt.NDArray[np.int64]


def step_keys(step: Step, places: IntArray, capacity: int, shift: Mapping[int, int]) -> list[IntArray]:
    """Return what the instances at ``places``, shape (instances, coordinates), are sorted by; empty: program order.

    ``shift`` moves the tile grid, by coordinate.
    """
    if step.phase is None or step.policy is None:
        return []
    edge = step.phase.edge(step.policy, capacity)
    if not edge:
        return []
    return tile_keys(step.policy.order, step.policy.sizes(edge), places, shift)


def tile_keys(order: Loops, tiles: Mapping[int, int], places: IntArray, shift: Mapping[int, int]) -> list[IntArray]:
    """Return what the instances at ``places`` are sorted by in tiles of these sizes."""
    keys = [places[:, at] for at in order.outer]
    keys += [(places[:, at] + shift.get(at, 0)) // tiles[at] for at in order.tiled]
    return keys + [places[:, at] for at in order.inner]


def panel_keys(plan: PanelPlan, places: IntArray, cut: Cut, capacity: int, shift: Mapping[int, int]) -> list[IntArray]:
    """Return what the instances at ``places`` are sorted by, with the given ``cut``."""
    panel = cut.panel
    count = len(places)
    along, move = plan.chosen.along, shift.get(-1 if plan.chosen.along is None else plan.chosen.along, 0)
    number = (
        np.zeros(count, dtype=np.int64) if along is None else (places[:, along] + plan.chosen.shift + move) // panel
    )
    flags = [(places[:, at] + move) // panel != number for at in plan.chosen.apart]
    late = np.ones(count, dtype=np.bool_)
    part = np.zeros(count, dtype=np.int64)
    for at, flag in enumerate(flags):
        late &= flag
        part += flag * (count + (1 << at))  # by how many, then by which
    fine = np.zeros((count, 2 + 2 * places.shape[1]), dtype=np.int64)
    if len(plan.near) == 1:
        _fill(fine, ~late, step_keys(plan.near[0], places[~late], capacity, shift))
    _fill(fine, late, step_keys(plan.late, places[late], capacity, shift))
    fine[late, 0] = 1
    if plan.blocks is not None:
        block = np.full(count, -1, dtype=np.int64)
        for at in np.unique(number[late]).tolist():
            mine = late & (number == at)
            block[mine] = _blocks_of(plan, places[mine], capacity, cut.width)
        inside = block >= 0
        fine[inside] = 0
        _fill(fine, inside, [block[inside], *(places[inside, at] for at in plan.blocks.order.inner)])
    return [number, part, *fine.T]


def _fill(fine: IntArray, rows: npt.NDArray[np.bool_], keys: list[IntArray]) -> None:
    for at, key in enumerate(keys):
        fine[rows, at + 1] = key


def _blocks_of(plan: PanelPlan, places: IntArray, capacity: int, width: int) -> IntArray:
    """Return the block of every line of one panel, -1 for those within a zone."""
    a, b = plan.chosen.plane
    assert plan.blocks is not None
    edge = plan.blocks.largest(capacity)
    first = min(places[:, a].min(), places[:, b].min())
    rows = int(max(places[:, a].max(), places[:, b].max()) - first) + 1
    ends = [(places[:, at] - first) // width for at in (a, b)]
    return blocks(ends[0], ends[1], int(zone_size(rows, edge, width)))
