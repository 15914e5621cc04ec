"""The least period with which cores, crossbars and the network together execute actors and carry what these share.

A column is a set of actors in a tile, and of buffers in its memories, whose accesses its crossbar carries in a period.
Every actor is in one column, every buffer in one at most; buffers fit the memories, of which cores of a core cost have
some. Accesses cross the network in no more than the period, and work at the costs of cores is no more than cores of
that cost do (Gilmore and Gomory's program for cutting stock). Any prices of all that bound the period from below, as
soon as the cheapest column is known, which :mod:`tile_sets_kernels` finds along an elimination order of the actors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.eliminations import best_order
from shorthaul.dataflow.bounds.firings import channels_together
from shorthaul.dataflow.bounds.period_at_cost import supply_at
from shorthaul.dataflow.bounds.prices import least_bytes
from shorthaul.dataflow.bounds.tile_sets_kernels import cheapest, fill, force, prepare
from shorthaul.dataflow.model import Application, Channel, Platform, ticks_for
from shorthaul.dataflow.plan import TilePrices

IntArray = npt.NDArray[np.int64]
#: The longest of what a period is compared with, in parts; prices of a tick are finer by so many bits.
_PARTS: Final = 2.0**34
_FINER: Final = 20
#: All memories in whole units, the dearest core's cost for sums of work, and more than one item needs to cost.
_UNITS: Final = 2**14
_COST_UNITS: Final = 1000
_DEAR: Final = 2**48
#: Sums of ticks, and of work, up to which products with prices are no trouble.
_MOST_SUM: Final = 2**43
#: By how much there is more than floating-point numbers say; the check of a proof takes half as much.
_MARGIN: Final = Fraction(2, 10**9)
#: Ways to treat a buffer with one or both of its actors in the tile: elsewhere, in the tile, in the memory of a core.
_AWAY, _INSIDE, _LOCAL = range(3)


@dataclass(frozen=True, slots=True)
class _Buffer:
    """A buffer that two actors share: ticks of an access in its tile and across the network, size, room in cores."""

    name: str
    ends: tuple[int, int]
    near: int
    far: int
    size: int
    fits_core: bool


@dataclass(frozen=True, slots=True)
class _Tie:
    """Two actors of which a token crosses the network to the other, if they are in two tiles: ticks per tile."""

    ends: tuple[int, int]
    ticks: int


@dataclass(frozen=True, slots=True)
class _Room:
    """What there is at a core cost: tiles, units in memories of cores and in all, and work in a period."""

    tiles: int
    core_bytes: int
    bytes: int
    work: int


@dataclass(frozen=True, slots=True)
class _Prices:
    """What an actor earns; what a buffer in a tile, a unit in a core and in all, a tick of the network, and work cost.

    In parts; those of a tick and of work are finer. ``tile`` is what one tile more would save.
    """

    actor: IntArray
    buffer: IntArray
    core_byte: int
    byte: int
    network: int
    work: int
    tile: int


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """Actors and buffers of a tile, ticks of the network, work, units in cores and in all, for a crossbar's period."""

    actors: tuple[int, ...]
    buffers: tuple[int, ...]
    network: int
    work: int
    core_bytes: int
    bytes: int
    period: int


@dataclass(slots=True)
class _Ways:
    """Ticks of the crossbar and of the network, and work, of every item by its actors in the tile less one, and way."""

    crossbar: IntArray
    network: IntArray
    work: IntArray
    units: IntArray = field(default_factory=lambda: np.zeros((0, 2, 3), np.int64))


class TileSets:
    """What the tiles of a platform can hold of an application, for any period; all are as large as the largest."""

    def __init__(self, application: Application, platform: Platform) -> None:
        multicasts = set(application.multicasts)
        actors = [actor for actor in application.actors if actor.id not in multicasts]
        self.actors = [actor.id for actor in actors]
        self.platform = platform
        self.all_core_bytes = sum(core.local_bytes for core in platform.cores)
        all_bytes = self.all_core_bytes + sum(tile.tile_memory_bytes for tile in platform.tiles)
        self.unit = max(1, all_bytes // _UNITS)  # buffers are rounded down to such units, and so are their sums
        costs = {core.type: Fraction(platform.core_types[core.type].cost) for core in platform.cores}
        dearest = max(costs.values())
        self.scale = Fraction(_COST_UNITS) / dearest if dearest > 0 else Fraction(0)
        rates = {kind: math.floor(cost * self.scale) for kind, cost in costs.items()}
        self.rate = min(rates.values())
        least = [min((rates[k] * t for k, t in actor.ticks.items() if k in rates), default=0) for actor in actors]
        self.work = np.array(least, np.int64)
        self.own = np.zeros(len(actors), np.int64)
        self.buffers: list[_Buffer] = []
        self.ties: list[_Tie] = []
        number = {name: i for i, name in enumerate(self.actors)}
        for root, group in channels_together(application).items():
            self._share(application, sorted(group, key=lambda channel: channel.id != root), number)
        pairs = [(item.ends, 2 * item.far) for item in self.buffers]
        pairs += [(tie.ends, tie.ticks) for tie in self.ties]
        self.ends = [ends for ends, _ in pairs]
        self.incident = np.zeros(len(actors), np.int64)
        for ends, ticks in pairs:
            self.incident[[*ends]] += ticks
        self.ways = self._ways()
        self.columns: list[_Column] = []
        self.best: _Prices | None = None
        self.longest = int(self.incident.sum()) + sum(max(actor.ticks.values(), default=0) for actor in actors)
        sums = self.longest * (self.rate + 1) + int(self.work.sum() + self.own.sum()) + all_bytes // self.unit
        #: Longer steps from a bound to the next one find no columns for it.
        self.most_step = tuning.TILE_SET_STEP
        self.applies = len(self.buffers) > 1 and len(actors) <= tuning.MOST_TILE_SET_ACTORS and sums < _MOST_SUM
        if self.applies:
            order = best_order(len(actors), self.ends)
            choices = (n for n, most in tuning.TILE_SET_UNITS if order.cells * (n + 1) <= most)
            self.units = next(choices, 0)
            self.applies = self.units > 0
        if self.applies:
            self.order = order
            self.tables, self.listed = order.tables(self.ends, self.units)

    def _share(self, application: Application, group: Sequence[Channel], number: dict[str, int]) -> None:
        """Add what the actors of channels that may share a buffer ask for."""
        token, size, platform = group[0].token_bytes, least_bytes(group), self.platform
        largest = max(core.local_bytes for core in platform.cores)
        fastest = max(tile.crossbar_bytes_per_s for tile in platform.tiles)
        near, far = (
            ticks_for(token, speed, application.ticks_per_second)
            for speed in (fastest, min(fastest, platform.noc_bytes_per_s))
        )
        ends = [number[end] for channel in group for end in (channel.src, channel.dst) if end in number]
        others = [end for end in dict.fromkeys(ends[1:]) if end != ends[0]]
        if len(group) == 1 and others and size:
            self.buffers.append(
                _Buffer(group[0].id, (ends[0], others[0]), near, far, size // self.unit, size <= largest)
            )
        elif size:  # a token goes once to every tile, whichever multicasts pass it on
            self.ties += [_Tie((ends[0], end), far // (2 * len(others))) for end in others]
            for end in ends if size > largest else ():
                self.own[end] += near
                self.work[end] += self.rate * near

    def _ways(self) -> _Ways:
        """Return what items ask for: buffers first; ticks of the crossbar below 0 where there is no such way."""
        shape = (len(self.ends), 2, 3)
        ways = _Ways(np.full(shape, -1, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64))
        for i, buffer in enumerate(self.buffers):
            for inside in (1, 2):
                near, far, others = inside * buffer.near, inside * buffer.far, (2 - inside) * buffer.far
                ways.crossbar[i, inside - 1] = far, near + others, others if buffer.fits_core else -1
                ways.network[i, inside - 1, _AWAY] = far
                ways.work[i, inside - 1] = self.rate * far, self.rate * near, 0
        for i, tie in enumerate(self.ties, len(self.buffers)):
            ways.crossbar[i, :, _AWAY] = 0
            ways.network[i, 0, _AWAY] = tie.ticks
        return ways

    def room(self, period: int, core_cost: float) -> _Room:
        """Return what there is at a core cost in a period."""
        supply = supply_at(self.platform, core_cost)
        held = min(self.all_core_bytes, math.floor(Fraction(supply.core_bytes) * (1 + _MARGIN)))
        work = Fraction(core_cost) * self.scale * period * (1 + _MARGIN)
        return _Room(
            supply.tiles, held // self.unit, (held + int(supply.tile_bytes)) // self.unit, max(1, math.floor(work))
        )

    def excluded(self, period: int, core_cost: float, search: Search) -> TilePrices | None:
        """Return the proof that mappings of ``core_cost`` have a longer period; None if none was found."""
        room, search = self.room(period, core_cost), search.part(tuning.TILE_SET_PERIOD_SHARE)
        self.columns = [column for column in self.columns if column.period <= period]
        program, best = self._program(period, room), -math.inf
        found: _Prices | None = None
        for _ in range(tuning.MOST_TILE_SET_ROUNDS):
            if found is not None and program.added > tuning.MOST_TILE_SET_COLUMNS * len(self.actors):
                self._forget(found)
                program = self._program(period, room)
            search.spend(program.entries / tuning.PROGRAM_ENTRIES)
            if search.expired():
                return None
            if not program.solve():  # numerical trouble, which another start may avoid
                program = self._program(period, room)
                if not program.solve():
                    return None
            if program.cost <= 1:
                return None
            found = program.prices()
            for share in (tuning.TILE_SET_SMOOTHING, 0.0):
                prices = found if self.best is None else _between(self.best, found, share)
                answer = self.cheapest(period, prices, search)
                if answer is None:
                    return None
                value, columns = answer
                excess = self.excess(value, prices, room, period)
                if excess > 0:
                    return self._document(period, core_cost, prices)
                if excess > best:
                    best, self.best = excess, prices
                worth = [self.worth(column, found) for column in columns]
                for column, cost in zip(columns, worth, strict=True):
                    if column is columns[0] or cost < -found.tile:
                        program.add(column)
                        self.columns.append(column)
                if self.best is found or min(worth) < -found.tile:
                    break
        return None

    def _forget(self, prices: _Prices) -> None:
        """Keep half of the columns, the cheapest ones."""
        self.columns.sort(key=lambda column: self.worth(column, prices))
        del self.columns[tuning.MOST_TILE_SET_COLUMNS * len(self.actors) // 2 :]

    def _program(self, period: int, room: _Room) -> _Program:
        program = _Program(self, period, room)
        for column in self.columns:
            program.add(column)
        return program

    def excess(self, value: int, prices: _Prices, room: _Room, period: int) -> int:
        """Return by how much the least that columns cost is above what there is, where none costs less than this."""
        held = int(prices.buffer.sum()) + prices.core_byte * room.core_bytes + prices.byte * room.bytes
        spent = (prices.network * period + prices.work * room.work) >> _FINER
        return int(prices.actor.sum()) - held + room.tiles * min(0, value) - spent

    def worth(self, column: _Column, prices: _Prices) -> float:
        """Return what a column costs at prices, in parts, to rounding."""
        cost = (prices.network * column.network + prices.work * column.work) / 2**_FINER
        cost += prices.core_byte * column.core_bytes + prices.byte * column.bytes
        return cost + int(prices.buffer[[*column.buffers]].sum()) - int(prices.actor[[*column.actors]].sum())

    def cheapest(self, period: int, prices: _Prices, search: Search) -> tuple[int, list[_Column]] | None:
        """Return the least that a column costs, in parts, that column first, and others that are cheap.

        These have, of the actors that are eliminated last, one more or less. None if the search ends before.
        """
        ways, tables, count = self.ways, self.tables, len(self.buffers)
        cost = _finer(prices.network, ways.network, prices.work, ways.work)
        cost[:count, :, _INSIDE:] += prices.buffer[:, None, None]
        size = np.array([buffer.size for buffer in self.buffers], np.int64)[:, None]
        cost[:count, :, _INSIDE] += size * prices.byte
        cost[:count, :, _LOCAL] += size * (prices.byte + prices.core_byte)
        none = ways.crossbar < 0
        units = np.where(none, self.units + 1, np.minimum(ways.crossbar * self.units // period, self.units + 1))
        _leave_out_dominated(units, cost, self.units)
        own = np.minimum(self.own * self.units // period, self.units + 1)
        earned = _finer(0, self.work, prices.work, self.work) - prices.actor
        order = np.array(self.order.actors)
        prepare(tables, units, cost, own[order], earned[order])
        done, at = tables.steps, 0
        while at < len(order) and not search.expired():
            at = fill(tables, at, tuning.TILE_SET_STEPS)
            search.spend((tables.steps - done) / tuning.TILE_SET_CELLS)
            done = tables.steps
        if at < len(order):
            return None
        value = cheapest(tables, self.units)
        columns, chosen = [self._column(period)], np.array(tables.inside)
        for i in range(len(order) - 1, max(0, len(order) - tuning.TILE_SET_LAST) - 1, -1):
            force(tables, i, 1 + int(chosen[i]))
            fill(tables, i, 2**62)
            if cheapest(tables, self.units) < 2**50:
                columns.append(self._column(period))
            force(tables, i, 0)
        search.spend((tables.steps - done) / tuning.TILE_SET_CELLS)
        return value, columns

    def _column(self, period: int) -> _Column:
        inside = np.zeros(len(self.actors), np.int64)
        inside[[*self.order.actors]] = self.tables.inside
        way = np.full(len(self.ends), -1, np.int64)
        way[self.listed] = self.tables.way
        items = np.flatnonzero(way >= 0)
        among = inside[np.array(self.ends)[items]].sum(axis=1) - 1
        network, work = (int(a[items, among, way[items]].sum()) for a in (self.ways.network, self.ways.work))
        held = [i for i, buffer in enumerate(self.buffers) if way[i] > _AWAY]
        return _Column(
            tuple(np.flatnonzero(inside).tolist()),
            tuple(held),
            network,
            work + int(self.work[inside > 0].sum()),
            sum(self.buffers[i].size for i in held if way[i] == _LOCAL),
            sum(self.buffers[i].size for i in held),
            period,
        )

    def _document(self, period: int, core_cost: float, prices: _Prices) -> TilePrices:
        return {
            "core_cost": core_cost,
            "period": period + 1,
            "crossbar_units": self.units,
            "actors": {name: int(n) for name, n in zip(self.actors, prices.actor, strict=True) if n},
            "buffers": {b.name: int(n) for b, n in zip(self.buffers, prices.buffer, strict=True) if n},
            "core_memory": prices.core_byte,
            "memory": prices.byte,
            "network": prices.network,
            "work": prices.work,
        }


def _finer(network: int, ticks: IntArray, per_work: int, work: IntArray) -> IntArray:
    """Return what ticks of the network and work cost, rounded down; no more than enough."""
    exact = (ticks.astype(object) * network >> _FINER) + (work.astype(object) * per_work >> _FINER)
    return np.asarray(np.minimum(exact, _DEAR), np.int64)


def _leave_out_dominated(units: IntArray, cost: IntArray, most: int) -> None:
    """Let ways that take no fewer ticks than another, and cost no less, take more than there are."""
    for way, other in ((0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)):
        is_worse = (units[..., other] <= units[..., way]) & (cost[..., other] <= cost[..., way])
        units[..., way][is_worse & (units[..., other] <= most)] = most + 1


def _between(one: _Prices, other: _Prices, share: float) -> _Prices:
    """Return prices between two: ``share`` of the first, the rest of the other (Wentges)."""

    def mixed(name: str) -> Any:
        return np.rint(share * getattr(one, name) + (1 - share) * getattr(other, name)).astype(np.int64)

    rest = (int(mixed(name)) for name in ("core_byte", "byte", "network", "work", "tile"))
    return _Prices(mixed("actor"), mixed("buffer"), *rest)


class _Program:
    """The linear program: columns of the least share of a period that the network or all work takes."""

    def __init__(self, sets: TileSets, period: int, room: _Room) -> None:
        from ortools.linear_solver import pywraplp  # SciPy's take several times as long to import

        self.solver = pywraplp.Solver.CreateSolver("GLOP")
        self.optimal = pywraplp.Solver.OPTIMAL
        self.period, self.room = period, room
        infinity = self.solver.infinity()
        self.cover = [self.solver.Constraint(1.0, 1.0) for _ in sets.actors]
        self.once = [self.solver.Constraint(-infinity, 1.0) for _ in sets.buffers]
        self.some = self.solver.Constraint(-infinity, float(room.tiles))
        self.core_bytes, self.bytes = (
            self.solver.Constraint(-infinity, 1.0 if units else 0.0) for units in (room.core_bytes, room.bytes)
        )
        self.network, self.work = (self.solver.Constraint(-infinity, 0.0) for _ in range(2))
        self.objective = self.solver.Objective()
        self.added = 0
        longest = self._variable(1.0)
        self.network.SetCoefficient(longest, -1.0)
        self.work.SetCoefficient(longest, -1.0)
        dearest = tuning.TILE_SET_UNCOVERED * (sets.incident / period + sets.work / room.work) + 1 / len(sets.actors)
        for row, cost in zip(self.cover, dearest.tolist(), strict=True):
            row.SetCoefficient(self._variable(cost), 1.0)

    def _variable(self, cost: float) -> Any:
        variable = self.solver.NumVar(0.0, self.solver.infinity(), "")
        self.objective.SetCoefficient(variable, cost)
        self.added += 1
        return variable

    def add(self, column: _Column) -> None:
        """Let a tile hold a column."""
        variable = self._variable(0.0)
        for row, amount in (
            (self.some, 1.0),
            (self.core_bytes, column.core_bytes / max(1, self.room.core_bytes)),
            (self.bytes, column.bytes / max(1, self.room.bytes)),
            (self.network, column.network / self.period),
            (self.work, column.work / self.room.work),
        ):
            row.SetCoefficient(variable, amount)
        for actor in column.actors:
            self.cover[actor].SetCoefficient(variable, 1.0)
        for buffer in column.buffers:
            self.once[buffer].SetCoefficient(variable, 1.0)

    @property
    def entries(self) -> int:
        """Rows times columns."""
        return self.added * (len(self.cover) + len(self.once) + 5)

    def solve(self) -> bool:
        """Return whether the program was solved."""
        return bool(self.solver.Solve() == self.optimal)

    @property
    def cost(self) -> float:
        """The share of the period that the network or all work takes, and what actors in no tile cost."""
        return float(self.objective.Value())

    def prices(self) -> _Prices:
        """Return the prices of the rows."""

        def paid(row: Any, per: float = 1.0) -> int:
            return max(0, round(-float(row.dual_value()) * _PARTS / per))

        fine = 2.0**-_FINER
        return _Prices(
            np.rint(np.array([row.dual_value() for row in self.cover]) * _PARTS).astype(np.int64),
            np.array([paid(row) for row in self.once], np.int64),
            paid(self.core_bytes, max(1, self.room.core_bytes)),
            paid(self.bytes, max(1, self.room.bytes)),
            paid(self.network, fine * self.period),
            paid(self.work, fine * self.room.work),
            paid(self.some),
        )
