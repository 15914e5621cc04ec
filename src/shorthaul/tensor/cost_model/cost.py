"""The latency of a subgraph in closed form, at any granularity.

The checker (:mod:`shorthaul.tensor.check.replay`) replays every step instead and shares no code with this.

Where slices of one tensor follow the tile and the reduction step along one axis (:attr:`Profile.is_mixed`), they
coincide by chance in some steps; the classes take them as distinct, which is never cheaper than the replay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.cost_model import cost_kernels, price_kernels
from shorthaul.tensor.cost_model.profile import Profile
from shorthaul.tensor.model import Machine
from shorthaul.tensor.plan import Granularity

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class StepCosts:
    """Latencies of the tiles of one profile at one granularity.

    ``first[m, i, j]`` is the time of the first step of a tile entered by move ``m`` (first of all, from a tile of
    another row and column, along its row, along its column), in an interior row (i = 0) or the last one (i = 1), an
    interior column (j = 0) or the last one (j = 1); ``rest[i, j]`` the time of all its other steps; ``peak`` the
    largest working set, in elements; ``rows`` and ``columns`` the number of tiles along the axes, ``steps`` the steps
    of one tile. No order of the tiles takes less than ``floor``.
    """

    first: Floats
    rest: Floats
    peak: float
    rows: int
    columns: int
    steps: int
    floor: float

    def total(self, moves: Floats) -> float:
        """Return the latency of the subgraph; ``moves[m, i, j]`` counts the tiles of each class and move."""
        return float((self.first * moves).sum() + (self.rest * moves.sum(axis=0)).sum())

    def isolated(self) -> float:
        """Return the latency of an order that reuses nothing between tiles."""
        down, across = np.array([self.rows - 1, 1]), np.array([self.columns - 1, 1])
        return float(((self.first[0] + self.rest) * np.multiply.outer(down, across)).sum())


class Costs:
    """The costs of one profile on one machine."""

    def __init__(self, profile: Profile, machine: Machine) -> None:
        self._kernel = cost_kernels.Costs(*kernel_arguments(profile, machine))

    def peaks(self, w: Integers, h: Integers, k: Integers) -> Floats:
        """Return the largest working set of each granularity ``(w[g], h[g], k[g])``."""
        peak = np.empty(len(w))
        price_kernels.peaks(self._kernel, w, h, k, peak)
        return peak

    def prices(self, w: Integers, h: Integers, k: Integers) -> tuple[Floats, Floats]:
        """Return the latency of the better plain serpentine (infinite if it does not fit) and the steps, by size."""
        latency, steps = np.empty(len(w)), np.empty(len(w))
        price_kernels.prices(self._kernel, w, h, k, latency, steps)
        return latency, steps

    def at(self, size: Granularity) -> StepCosts:
        """Return the costs at one granularity, whether it fits or not."""
        values = np.empty(25)
        price_kernels.classes(self._kernel, size.w, size.h, size.k, values)
        rows, columns, steps = (int(value) for value in values[21:24])
        first, rest = values[:16].reshape(4, 2, 2), values[16:20].reshape(2, 2)
        return StepCosts(first, rest, float(values[20]), rows, columns, steps, float(values[24]))


def kernel_arguments(
    profile: Profile, machine: Machine
) -> tuple[Integers, Floats, Integers, Integers, Integers, Floats]:
    """Return what :class:`cost_kernels.Costs` takes."""
    sizes = (profile.height, profile.width, profile.stored, profile.held)
    loads: list[tuple[int, ...]] = []
    for group, number in [((load,), number) for load, number in profile.loads] + [
        (group, 1) for group in profile.shared_loads
    ]:
        begin = len(loads)
        loads += [(*load, number, begin, begin + len(group)) for load in group]
    charges: list[tuple[int, ...]] = []
    base: list[float] = []
    for cost, work in [(cost, (charge,)) for charge, cost in profile.charges] + list(profile.shared_charges):
        begin = len(charges)
        charges += [(*charge, begin) for charge in work]
        base += [cost] * len(work)
    return (
        np.array(sizes, dtype=np.int64),
        np.array((machine.capacity, machine.bandwidth, machine.native_width, machine.native_height), dtype=float),
        np.array(profile.reductions, dtype=np.int64),
        _columns(loads, 9),
        _columns(charges, 8),
        np.array(base, dtype=float),
    )


def _columns(rows: Sequence[tuple[int, ...]], length: int) -> Integers:
    table = np.array(rows, dtype=np.int64).reshape(len(rows), length)
    return np.ascontiguousarray(table.T)
