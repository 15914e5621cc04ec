"""The latency of a subgraph in closed form, at any granularity and in any order of its tiles.

The checker (:mod:`shorthaul.tensor.check.replay`) replays every step instead and shares no code with this.

Between two tiles only slices that the last step of the first one used can be reused. A move along a row keeps what
does not depend on the column, a move along a column what does not depend on the row, any other move only what depends
on neither. A serpentine makes no other moves, and as many of the better kind as any order can: what remains to choose
is its direction and, where the last row or column is clipped, at which tiles it starts and turns. Where nothing is kept
at the turns, lines that do not turn are as good, and let the clipped tile of every line come first. Where slices
coincide by chance the side from which a tile is entered counts too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.cost_model import cost_kernels, order_kernels
from shorthaul.tensor.cost_model.profile import Profile
from shorthaul.tensor.model import Machine
from shorthaul.tensor.plan import Granularity

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Lines, and tiles within a line, are visited ascending, descending, or with the last one second, so that neither end
#: of the walk is clipped. The codes are those of the kernels.
ASCENDING: Final = 0
DESCENDING: Final = 1
INNER: Final = 2


class Traversal(NamedTuple):
    """The tiles row by row, or (``by_columns``) column by column, to and fro if it ``turns``."""

    by_columns: bool
    turns: bool = True
    lines: int = ASCENDING
    within: int = ASCENDING

    def order(self, rows: int, columns: int) -> Integers:
        """Return the permutation of the tiles, numbered row by row.

        >>> Traversal(by_columns=False).order(2, 3).tolist()
        [0, 1, 2, 5, 4, 3]
        """
        count, length = (columns, rows) if self.by_columns else (rows, columns)
        along = np.tile(_places(self.within, length), (count, 1))
        if self.turns:
            along[1::2] = along[1::2, ::-1]
        across = np.repeat(_places(self.lines, count), length)
        row, column = (along.ravel(), across) if self.by_columns else (across, along.ravel())
        tiles: Integers = row * columns + column
        return tiles


#: The plain serpentines, enough where no tile is clipped.
PLAIN: Final = (Traversal(by_columns=False), Traversal(by_columns=True))
#: All orders worth trying where tiles are clipped, or slices coincide by chance.
ALL: Final = tuple(
    Traversal(by_columns, turns, *kinds)
    for turns, by_columns, kinds in product(
        (True, False), (False, True), product((ASCENDING, DESCENDING, INNER), repeat=2)
    )
)


def _places(kind: int, length: int) -> Integers:
    numbers = np.arange(length, dtype=np.int64)
    if kind == DESCENDING:
        return numbers[::-1].copy()
    if kind == INNER and length > 2:
        return np.concatenate([numbers[:1], numbers[-1:], numbers[1:-1]])
    return numbers


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
