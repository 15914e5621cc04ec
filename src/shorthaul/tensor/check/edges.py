"""The replay of how a group begins and ends: what is loaded and stored beside the tiles of its first and last step.

In the first step an operator takes its tiles for the next inner memory in their order, or all at once where it has
none, and loads what a tile needs before it computes it: nothing waits for what later tiles need. In the last step what
a tile finishes is stored while the next ones are computed. All of it passes the outermost memory one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.tensor.check.accesses import Ints, Range, reached_by
from shorthaul.tensor.networks.model import Access, Operator
from shorthaul.tensor.networks.plan import Loop

Floats = npt.NDArray[np.float64]
#: Tiles of an operator that are told apart: those of its outer loops, as far as they are no more.
_MOST_TILES = 4096


@dataclass(slots=True)
class Tiles:
    """The tiles of an operator in a step: where they lie, and their share of its work."""

    item: Operator
    dims: list[Range]
    at: Sequence[Ints]
    trips: Sequence[int]
    cut: Sequence[int]
    share: Floats

    def first_read(self, access: Access, region: Sequence[Range]) -> Floats:
        """Return the share of what an access reads in the step that each tile is the first to read."""
        if len(self.share) == 1:
            return np.ones(1)
        everything = reached_by(access, list(region))
        total = math.prod(float(max(0, int(high[0]) - int(low[0]) + 1)) for low, high in everything)
        count = len(self.share)
        found = np.ones(count)
        visited = np.ones(count, bool)
        for at, dim in zip(self.at, self.cut, strict=True):
            if all(term != dim for index in access.axes for term, _ in index.terms):
                visited &= at == 0
        for low, high in reached_by(access, self.dims):
            here = np.broadcast_to(high, (count,))
            found = found * np.maximum(0, here - np.maximum(np.broadcast_to(low, (count,)) - 1, self._before(here)))
        found = np.where(visited, found, 0.0)
        found[0] += max(0.0, total - float(found.sum()))
        return found / max(float(found.sum()), 1e-300)

    def _before(self, high: Ints) -> Ints:
        """Return how far the tiles before each one reach along an axis, of those at the same place of other loops."""
        grid = high.reshape(self.trips) if self.trips else high.reshape(())
        found = np.full(grid.shape, -1, np.int64)
        for axis in range(grid.ndim):
            reach = np.maximum.accumulate(grid, axis)
            later = [slice(None)] * grid.ndim
            sooner = [slice(None)] * grid.ndim
            later[axis], sooner[axis] = slice(1, None), slice(None, -1)
            changes = grid[tuple(later)] != grid[tuple(sooner)]
            found[tuple(later)] = np.maximum(found[tuple(later)], np.where(changes, reach[tuple(sooner)], -1))
        return found.reshape(-1)

    def last_made(self) -> Floats:
        """Return the share of what the operator makes in the step that each tile finishes."""
        kept = {dim for index in self.item.writes[0].axes for dim, _ in index.terms}
        found = np.ones(len(self.share))
        for at, trips, dim in zip(self.at, self.trips, self.cut, strict=True):
            if dim not in kept:
                found = found * (at == trips - 1)
        for dim in kept:
            low, high = self.dims[dim]
            found = found * np.broadcast_to(high - low + 1, found.shape)
        return found / max(float(found.sum()), 1e-300)


def tiles_of(item: Operator, region: Sequence[Range], loops: Sequence[Loop]) -> Tiles:
    """Return the tiles of an operator on a region of a step, by its loops for the next inner memory."""
    lows = [int(low[0]) for low, _ in region]
    sizes = [max(0, int(high[0]) - low + 1) for low, (_, high) in zip(lows, region, strict=True)]
    trips: list[int] = []
    for loop in loops:
        trips.append(max(1, -(-sizes[loop.dim] // loop.tile)))
        if math.prod(trips) > _MOST_TILES:
            trips.pop()
            break
    chosen = loops[: len(trips)]
    count = math.prod(trips)
    at: Any = np.unravel_index(np.arange(count), trips) if trips else ()
    dims = [(np.full(1, low), np.full(1, low + size - 1)) for low, size in zip(lows, sizes, strict=True)]
    share = np.full(count, 1.0)
    for loop, index in zip(chosen, at, strict=True):
        begin = index * loop.tile
        end = np.minimum(begin + loop.tile, sizes[loop.dim]) - 1
        dims[loop.dim] = (lows[loop.dim] + begin, lows[loop.dim] + end)
        share = share * (end - begin + 1)
    return Tiles(item, dims, at, trips, [loop.dim for loop in chosen], share / max(float(share.sum()), 1e-300))


def beginning_s(work: Floats, loads: Floats, ready: Floats, early: float) -> float:
    """Return the seconds of a first step of which each part waits for its loads.

    ``loads`` take their seconds in the order of the parts; of those of ``ready`` the first ``early`` seconds are over.
    """
    late = np.cumsum(loads - ready) + np.maximum(0.0, np.cumsum(ready) - early)
    return float((late + work[::-1].cumsum()[::-1]).max())


def ending_s(work: Floats, stores: Floats) -> float:
    """Return the seconds of a last step in which what a part finishes is stored beside the next ones."""
    return float((work.cumsum() + stores[::-1].cumsum()[::-1]).max())


def single_s(work: Floats, loads: Floats, ready: Floats, early: float, stores: Floats) -> float:
    """Return the seconds of a group of one step: its loads go first, then what is finished by then is stored."""
    late = np.cumsum(loads - ready) + np.maximum(0.0, np.cumsum(ready) - early)
    before = np.concatenate([[0.0], work.cumsum()[:-1]])
    done = np.maximum.accumulate(late - before) + work.cumsum()
    return float(max(done[-1], (np.maximum(done, late[-1]) + stores[::-1].cumsum()[::-1]).max()))
