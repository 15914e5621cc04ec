"""Prices of what cores, crossbars, the network and memories give: any of them bound the period of every mapping.

A mapping asks for work on cores (ticks times core cost), for ticks of cores of each type, of crossbars and of the
network, and for bytes in memories of cores and of tiles. Its price is no less than that of the cheapest way to run
every actor and to do every access on its own, and no more than the price of all that there is in a period (Lagrangian
relaxation).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from shorthaul.dataflow.bounds.firings import channels_together
from shorthaul.dataflow.model import Application, Channel, Platform, Tile, ticks_for

FloatArray = npt.NDArray[np.float64]

#: A price of a byte at which no buffer is kept.
_DEAR: Final = 1e30
#: Bytes are counted in this unit beside ticks, for the sake of the solver.
_BYTES: Final = 2.0**20
#: Most rounds in which prices for one core cost get better, and by what share at least to go on.
_MOST_ROUNDS, _LEAST_GAIN = 12, 2e-4


@dataclass(frozen=True, slots=True)
class Access:
    """A token that an actor writes or reads: its bytes, those of the buffer, and its share of these."""

    token_bytes: int
    size: int
    share: float


@dataclass(frozen=True, slots=True)
class Supply:
    """What there is at most on cores of a cost: core cost and tiles in use, bytes in memories, cores of each type."""

    cost: float
    tiles: int
    core_bytes: float
    tile_bytes: float
    cores: tuple[int, ...]

    @property
    def per_tick(self) -> FloatArray:
        """Return what a tick of the period adds: work, ticks of crossbars, network and cores, no bytes."""
        return np.array([self.cost, self.tiles, 1.0, 0.0, 0.0, *self.cores])

    @property
    def held(self) -> FloatArray:
        """Return what there is whatever the period: bytes."""
        return np.array([0.0, 0.0, 0.0, self.core_bytes / _BYTES, self.tile_bytes / _BYTES, *(0.0 for _ in self.cores)])

    def bounds(self, vectors: FloatArray, least: FloatArray) -> FloatArray:
        """Return the periods in which there is as much at every vector of prices as is asked for at least."""
        gained = vectors @ self.per_tick
        short = least - vectors @ self.held
        return np.divide(short, gained, out=np.full_like(short, -np.inf), where=gained > 0)


class Demands:
    """What every actor asks for in every kind of place where it can run.

    ``actor``, ``column`` and ``rate`` are the number of the actor, its core type's and the cost of that, row by row;
    ``first`` is the row of each actor's first place. The other arrays are per access of a row.
    """

    def __init__(
        self, application: Application, platform: Platform, actors: Collection[str], kinds: Sequence[str]
    ) -> None:  # fmt: skip
        accesses = accesses_of(application, actors)
        ticks_of = {actor.id: actor.ticks for actor in application.actors}
        places = sorted(
            {
                (core.type, core.local_bytes, tile.crossbar_bytes_per_s, _largest(tile), tile.tile_memory_bytes)
                for tile in platform.tiles
                for core in tile.cores
            }
        )
        rows: list[tuple[float, ...]] = []
        ways: list[tuple[float, ...]] = []
        for number, name in enumerate(actors):
            for kind, local, bandwidth, other, shared in places:
                if kind not in ticks_of[name]:
                    continue
                for access in accesses[name]:
                    near, far = (
                        ticks_for(access.token_bytes, speed, application.ticks_per_second)
                        for speed in (bandwidth, min(bandwidth, platform.noc_bytes_per_s))
                    )
                    share = access.share / _BYTES
                    fits = (share if access.size <= room else np.inf for room in (local, other, shared))
                    ways.append((len(rows), near, far, *fits))
                rows.append((number, kinds.index(kind), platform.core_types[kind].cost, ticks_of[name][kind]))
        self.shape = (len(actors), len(kinds))
        table = np.array(rows, np.float64)
        self.actor, self.column = table[:, 0].astype(np.intp), table[:, 1].astype(np.intp)
        self.rate, self.ticks = table[:, 2], table[:, 3]
        self.first = np.searchsorted(self.actor, np.arange(len(actors)))
        table = np.array(ways, np.float64).reshape(-1, 6)
        self.row = table[:, 0].astype(np.intp)
        _, self.near, self.far, self.own_bytes, self.other_bytes, self.tile_bytes = table.T

    def priced(self, prices: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the least price of every actor on every core type, and what the cheapest way for all asks for."""
        work, crossbar, network, core_byte, tile_byte = prices[:5].tolist()
        busy_core = work * self.rate + prices[5:][self.column]
        rate = busy_core[self.row] + crossbar
        near = rate * self.near
        own, other = _at(core_byte, self.own_bytes), near + _at(core_byte, self.other_bytes)
        ways = np.stack([own, other, near + _at(tile_byte, self.tile_bytes), (rate + network) * self.far])
        way = ways.argmin(axis=0)
        price = busy_core * self.ticks
        price += np.bincount(self.row, ways.min(axis=0), len(price)) if len(way) else 0.0
        table = np.full(self.shape, np.inf)
        np.minimum.at(table, (self.actor, self.column), price)
        order = np.lexsort((price, self.actor))
        chosen = np.zeros(len(price), bool)
        chosen[order[self.first]] = True
        busy = np.select([way == 0, way == 3], [0.0, self.far], self.near) * chosen[self.row]
        asked = chosen[self.row]
        on_cores = self.ticks * chosen + np.bincount(self.row, busy, len(price))
        totals = (
            (self.rate * on_cores).sum(),
            busy.sum(),
            busy[way == 3].sum(),
            self.own_bytes[asked & (way == 0)].sum() + self.other_bytes[asked & (way == 1)].sum(),
            self.tile_bytes[asked & (way == 2)].sum(),
            *np.bincount(self.column, on_cores, self.shape[1]),
        )
        return table, np.array(totals)


class PriceSearch:
    """Cutting planes: the price of the cheapest ways is concave in the prices, and every look bounds it from above."""

    def __init__(self, prices: int) -> None:
        from ortools.linear_solver import pywraplp  # SciPy's take several times as long to import

        self.solver = pywraplp.Solver.CreateSolver("GLOP")
        self.solver.SetSolverSpecificParametersAsString("use_preprocessing: false")  # which takes longer than solving
        self.optimal = pywraplp.Solver.OPTIMAL
        infinity = self.solver.infinity()
        self.value = self.solver.NumVar(0.0, infinity, "")
        self.prices = [self.solver.NumVar(0.0, infinity, "") for _ in range(prices)]
        self.scale = self.solver.Constraint(1.0, 1.0)
        self.solver.Objective().SetMaximization()
        self.solver.Objective().SetCoefficient(self.value, 1.0)

    def add(self, asked: FloatArray) -> None:
        """Take note of what one way to do everything asks for: its price is no less than that of the cheapest."""
        cut = self.solver.Constraint(-self.solver.infinity(), 0.0)
        cut.SetCoefficient(self.value, 1.0)
        for price, amount in zip(self.prices, asked.tolist(), strict=True):
            cut.SetCoefficient(price, -amount)

    def propose(self, supply: Supply) -> tuple[FloatArray, float] | None:
        """Return prices that look best for a supply, and the bound that they would give; None if there are none."""
        for price, rate, held in zip(self.prices, supply.per_tick.tolist(), supply.held.tolist(), strict=True):
            self.scale.SetCoefficient(price, rate)
            self.solver.Objective().SetCoefficient(price, -held)
        if self.solver.Solve() != self.optimal:
            return None
        found = np.array([max(0.0, price.solution_value()) for price in self.prices])
        return found, float(self.solver.Objective().Value())


class Prices:
    """All prices looked at, each with the least price of every actor on every core type."""

    def __init__(self, demands: Demands, alone: FloatArray, rates: FloatArray) -> None:
        self.demands, self.alone, self.rates = demands, alone, rates
        self.vectors: list[FloatArray] = []
        self.tables: list[FloatArray] = []
        self.least: list[float] = []
        self.search = PriceSearch(5 + len(rates))
        for byte in (0.0, _DEAR):  # without ways that ask for no bytes the linear program may have no end
            self._look(np.array([1.0, 0.0, 0.0, byte, byte, *np.zeros(len(rates))]))

    def _look(self, prices: FloatArray) -> None:
        """Remember the price of the cheapest ways, and what they ask for."""
        table, asked = self.demands.priced(prices)
        self.vectors.append(prices)
        self.tables.append(np.maximum(table, (prices[0] * self.rates + prices[5:]) * self.alone))
        self.search.add(asked)
        self.least.append(float(table.min(axis=1).sum()))

    def refine(self, supply: Supply) -> None:
        """Look for better prices for a supply."""
        best = float(supply.bounds(np.array(self.vectors), np.array(self.least)).max())
        for _ in range(_MOST_ROUNDS):
            proposed = self.search.propose(supply)
            if proposed is None or proposed[1] <= best * (1 + _LEAST_GAIN):
                return
            prices, _ = proposed
            self._look(prices)
            best = max(best, float(supply.bounds(prices, np.array(self.least[-1]))))


def accesses_of(application: Application, actors: Collection[str]) -> dict[str, list[Access]]:
    """Return the accesses of ``actors``; whatever multicasts are replaced, shares of one buffer add up to its bytes."""
    accesses: dict[str, list[Access]] = {name: [] for name in actors}
    for group in channels_together(application).values():
        size = least_bytes(group)
        ends = [(channel, end) for channel in group for end in (channel.src, channel.dst) if end in actors]
        for channel, end in ends:
            accesses[end].append(Access(channel.token_bytes, size, size / len(ends)))
    return accesses


def least_bytes(group: Sequence[Channel]) -> int:
    """Return the least bytes of a buffer, or of several, that channels share if their multicasts are replaced."""
    return min(channel.token_bytes for channel in group) * (max(1, group[0].delay) if len(group) == 1 else 1)


def _at(price: float, asked: FloatArray) -> FloatArray:
    """Return the price of bytes; infinite where there is no room for them."""
    return np.where(np.isfinite(asked), price * np.nan_to_num(asked, posinf=0.0), np.inf)


def _largest(tile: Tile) -> int:
    """Return the most bytes of a buffer in the memory of a core there."""
    return max([0, *(core.local_bytes for core in tile.cores)])
