"""How much of a group's first loads and last stores passes beside the tiles of its first and last step: an estimate.

In the first step an operator takes its tiles for the next inner memory in their order, and a tile waits for what it
needs, not for what later tiles do; in the last step what tiles have finished is stored beside the next ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shorthaul.tensor.networks.boxes import Box, tiles, touched
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Access, Network
from shorthaul.tensor.networks.plan import Loop
from shorthaul.tensor.networks.tiling import Tiled

Floats = npt.NDArray[np.float64]
#: Tiles of an operator that are told apart.
_MOST_TILES = 1024


def spared_s(network: Network, machine: Machine, item: Tiled, near: frozenset[int], stored: frozenset[int]) -> float:
    """Return the seconds that a group takes less as its first loads and last stores pass beside its tiles."""
    group = item.group
    if not machine.levels[1].double_buffered or network.operators[group.operators[-1]].barrier:
        return 0.0
    sizes = {(loop.operator, loop.dim): network.operators[loop.operator].dims[loop.dim] for loop in group.loops}
    first = {}
    for loop in group.loops:
        key = (loop.operator, loop.dim)
        whole = tiles(sizes[key], loop.tile, key)
        first[key] = type(whole)(whole.low[:1], whole.high[:1], whole.of)
    found = touched(network, group.operators, first)
    steps = math.prod(-(-sizes[loop.operator, loop.dim] // loop.tile) for loop in group.loops)
    byte_s = 1 / machine.levels[0].bandwidth_bytes_per_s
    cuts = {tiled.operator: tiled.loops for tiled in group.inner if tiled.level == 2}
    read = iter(found.read)
    boxes: dict[int, list[tuple[int, Box]]] = {}
    for number, tensor, box in read:
        boxes.setdefault(number, []).append((tensor, box))
    work, loads, stores = [], [], []
    for number in group.operators:
        operator = network.operators[number]
        region = [int(span.lengths().max()) for span in found.regions[number]]
        at, trips, loops = _places(region, cuts.get(number, ()))
        count = math.prod(trips)
        seconds = operator.work * math.prod(region)
        seconds *= machine.seconds_per_operation(operator.unit, network.bits(number))
        work.append(np.full(count, seconds / count))
        loaded, made = np.zeros(count), np.zeros(count)
        outside = [access for access in operator.reads if network.producer.get(access.tensor) not in group.operators]
        for access, (tensor, box) in zip(outside, boxes.get(number, []), strict=True):
            if tensor not in near:
                loaded += _visits(access, at, trips, loops, last=False) * _bytes(network, tensor, box) * byte_s
        target = operator.writes[0]
        if number == group.operators[-1] or target.tensor in stored:
            own = _bytes(network, target.tensor, found.made[target.tensor]) * byte_s
            made += _visits(target, at, trips, loops, last=True) * own
        loads.append(loaded)
        stores.append(made)
    all_work, all_loads, all_stores = (np.concatenate(parts) for parts in (work, loads, stores))
    all_work *= item.steps_s / steps / max(float(all_work.sum()), 1e-300)
    whole_s, idle_s = float(all_work.sum()), math.inf
    if steps > 1:
        passing = (item.loads + item.stores - item.ends) * byte_s / (steps - 1)
        idle_s = max(0.0, whole_s - passing)
    begun = (all_loads.cumsum() + all_work[::-1].cumsum()[::-1]).max()
    ended = (all_work.cumsum() + all_stores[::-1].cumsum()[::-1]).max()
    gains = whole_s + all_loads.sum() - begun, whole_s + all_stores.sum() - ended
    if steps == 1:
        return float(min(sum(gains), whole_s))
    return float(sum(min(gain, idle_s) for gain in gains))


def _places(
    region: Sequence[int], loops: Sequence[Loop]
) -> tuple[Sequence[npt.NDArray[np.int64]], list[int], Sequence[Loop]]:
    """Return where the tiles of a region are along the loops that tell them apart."""
    trips: list[int] = []
    for loop in loops:
        trips.append(max(1, -(-region[loop.dim] // loop.tile)))  # nothing of it, where the first step needs none
        if math.prod(trips) > _MOST_TILES:
            trips.pop()
            break
    at = np.unravel_index(np.arange(math.prod(trips)), trips) if trips else ()
    return at, trips, loops[: len(trips)]


def _visits(
    access: Access, at: Sequence[npt.NDArray[np.int64]], trips: Sequence[int], loops: Sequence[Loop], *, last: bool
) -> Floats:
    """Return the share of an access that each tile is the first, or the last, to take."""
    count = math.prod(trips)
    followed = {dim for index in access.axes for dim, _ in index.terms}
    found = np.ones(count)
    for place, number, loop in zip(at, trips, loops, strict=True):
        found *= 1 / number if loop.dim in followed else place == (number - 1 if last else 0)
    return found


def _bytes(network: Network, tensor: int, box: Box) -> float:
    return math.prod(int(span.lengths().max()) for span in box) * network.tensors[tensor].bits / 8
