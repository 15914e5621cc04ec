"""The compiled loop that exchanges groups between the tiles of :mod:`tiles`."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel, subroutine
from shorthaul.pebble.orders.tile_kernels import Reads

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


@subroutine
def moved(reads: Reads, count: npt.NDArray[np.int32], group: int, source: int, target: int) -> int:
    """Move ``group`` in the counts of readers by tile and class; return by how much more weight the tiles read."""
    more = 0
    for place in range(reads.starts[group], reads.starts[group + 1]):
        value = reads.classes[place]
        if count[target, value] == 0:
            more += reads.weights[value]
        count[target, value] += 1
        count[source, value] -= 1
        if count[source, value] == 0:
            more -= reads.weights[value]
    return more


@subroutine
def may_stand(
    tile: IntArray, group: int, target: int, starts: IntArray, parents: IntArray, child_starts: IntArray,
    children: IntArray,
) -> bool:  # fmt: skip
    """True if ``group`` in tile ``target`` comes after what it needs and before what needs it; tile -1 is anywhere."""
    for edge in range(starts[group], starts[group + 1]):
        if tile[parents[edge]] > target:
            return False
    for edge in range(child_starts[group], child_starts[group + 1]):
        if -1 < tile[children[edge]] < target:
            return False
    return True


@kernel
def exchanged(
    tile: IntArray, reads: Reads, starts: IntArray, parents: IntArray, child_starts: IntArray, children: IntArray,
    weights: IntArray, size: int, steps: int, hot: float, cold: float, seed: int,
) -> tuple[IntArray, int]:  # fmt: skip
    """Return (tile, weight read less) of the best assignment met when groups move between tiles that read the same.

    ``tile`` is -1 for what is in no tile. Groups in a tile weigh at most ``size`` together, or what they weighed. The
    temperature falls from ``hot`` to ``cold``, in the unit of the classes' weights.
    """
    np.random.seed(seed)
    tile = tile.copy()
    tiles = int(tile.max()) + 1
    count = np.zeros((tiles, len(reads.weights)), np.int32)
    held = np.zeros(tiles, np.int64)
    members = np.flatnonzero(tile >= 0)
    for group in members:
        held[tile[group]] += weights[group]
        for place in range(reads.starts[group], reads.starts[group + 1]):
            count[tile[group], reads.classes[place]] += 1
    best = tile.copy()
    least = 0
    cost = 0
    for step in range(steps):
        heat = hot * (cold / hot) ** (step / steps)
        group = members[np.random.randint(0, len(members))]
        if reads.starts[group] == reads.starts[group + 1]:
            continue
        value = reads.classes[np.random.randint(reads.starts[group], reads.starts[group + 1])]
        other = reads.readers[np.random.randint(reads.reader_starts[value], reads.reader_starts[value + 1])]
        source = tile[group]
        target = tile[other]
        if target < 0 or target == source:
            continue
        swap = held[target] + weights[group] > size or np.random.random() < 0.3
        more = weights[group] - (weights[other] if swap else 0)
        if (more > 0 and held[target] + more > size) or (more < 0 and held[source] - more > size):
            continue
        tile[group] = target
        if swap:
            tile[other] = source
        fits = may_stand(tile, group, target, starts, parents, child_starts, children)
        if fits and swap:
            fits = may_stand(tile, other, source, starts, parents, child_starts, children)
        if fits:
            change = moved(reads, count, group, source, target)
            if swap:
                change += moved(reads, count, other, target, source)
            if change <= 0 or np.random.random() < math.exp(-change / heat):
                cost += change
                held[target] += more
                held[source] -= more
                if cost < least:
                    least = cost
                    for place in range(len(tile)):
                        best[place] = tile[place]
                continue
            moved(reads, count, group, target, source)
            if swap:
                moved(reads, count, other, source, target)
        tile[group] = source
        if swap:
            tile[other] = target
    return best, -least
