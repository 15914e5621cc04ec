"""The latency of a subgraph in closed form, at any granularity and in any order of its tiles.

The checker (:mod:`shorthaul.tensor.check.replay`) replays every step instead and shares no code with this.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.cost_model import cost_kernels, order_kernels
from shorthaul.tensor.cost_model.profile import Profile
from shorthaul.tensor.cost_model.traversal import Traversal
from shorthaul.tensor.model import Machine
from shorthaul.tensor.plan import Granularity

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class Costs:
    """The costs of one profile on one machine, as the replay finds them, at the granularity last set."""

    def __init__(self, profile: Profile, machine: Machine) -> None:
        self.kernel = cost_kernels.Costs(*kernel_arguments(profile, machine))
        rows, columns = profile.mixed_axes
        self._orders = order_kernels.Orders(self.kernel, rows, columns)

    def at(self, size: Granularity) -> None:
        """Take a granularity, whether it fits or not."""
        order_kernels.set_size(self._orders, size.w, size.h, size.k)

    def follow(self, order: Integers | None) -> float:
        """Return the latency of an order of the tiles, row by row if it is None."""
        return order_kernels.follow(self._orders, np.empty(0, np.int64) if order is None else order)

    def walk(self, order: Traversal) -> float:
        """Return the latency of a regular order."""
        return order_kernels.walk(self._orders, order.by_columns, order.turns, order.lines, order.within)

    def isolated(self) -> float:
        """Return the latency where nothing is reused between tiles."""
        return order_kernels.isolated(self._orders)

    @property
    def peak(self) -> float:
        """The largest working set; known once an order was followed."""
        return float(self._orders.peak)


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
