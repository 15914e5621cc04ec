"""The least period with which cores, crossbars and the network together execute actors and carry what these share.

A column is a set of actors in a tile, and of buffers in its memories: its crossbar carries their accesses in a period,
or its memories hold the buffers. Every actor is in one column, every buffer in one at most; all buffers fit all
memories, of which cores of a core cost have some. In no more than the period accesses cross the network, all crossbars
carry all accesses, and cores of that cost do the work at the costs of cores (Gilmore and Gomory's program for cutting
stock). Any prices of all that bound the period from below, as soon as the cheapest column is known, which
:mod:`tile_sets_kernels` finds along an elimination order of the actors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.period_at_cost import supply_at
from shorthaul.dataflow.bounds.tile_items import FINER, INSIDE, LOCAL, PARTS, Items, Prices, Room
from shorthaul.dataflow.bounds.tile_sets_kernels import cheapest, fill, prepare
from shorthaul.dataflow.model import Application, Platform
from shorthaul.dataflow.plan import TilePrices

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
#: More than one item needs to cost.
_DEAR: Final = 2**48
#: By how much there is more than floating-point numbers say; the check of a proof takes half as much.
_MARGIN: Final = Fraction(2, 10**9)
#: As far from other prices as any.
_FAR: Final = 1e6
#: By how much less than what prices reach, to rounding, is looked at next.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Actors and buffers of a tile, ticks of the network and of crossbars, work, units in cores and in all.

    ``limit`` is the period, or the units of a tile's memory, that it was found for.
    """

    actors: tuple[int, ...]
    buffers: tuple[int, ...]
    network: int
    crossbar: int
    work: int
    core_bytes: int
    bytes: int
    limit: int


class Program:
    """Columns of the least period in which the network, all crossbars, and all work end, in units of ``scale`` ticks.

    Every actor is in one column, every buffer in one at most. Prices of actors and buffers are within some width of a
    centre: artificial columns pay for what is beyond (du Merle and others, *Stabilized column generation*, 1999).
    """

    def __init__(self, weights: FloatArray, buffer_ticks: FloatArray, scale: float, room: Room) -> None:
        from ortools.linear_solver import pywraplp  # SciPy's take several times as long to import

        self.solver = pywraplp.Solver.CreateSolver("GLOP")
        self.optimal = pywraplp.Solver.OPTIMAL
        self.scale, self.room = scale, room
        self.weights, self.buffer_ticks = weights, buffer_ticks / scale
        infinity = self.solver.infinity()
        self.cover = [self.solver.Constraint(1.0, 1.0) for _ in weights]
        self.once = [self.solver.Constraint(-infinity, 1.0) for _ in buffer_ticks]
        self.some = self.solver.Constraint(-infinity, float(room.tiles))
        self.core_bytes, self.bytes = (
            self.solver.Constraint(-infinity, 1.0 if units else 0.0) for units in (room.core_bytes, room.bytes)
        )
        self.objective = self.solver.Objective()
        self.added = 0
        self.known: set[tuple[object, ...]] = set()
        self.network, self.crossbar, self.work = (self.solver.Constraint(-infinity, 0.0) for _ in range(3))
        longest = self._variable(1.0)
        for row in (self.network, self.crossbar, self.work):
            row.SetCoefficient(longest, -1.0)
        self.more, self.less = ([self._beyond(row, sign) for row in self.cover] for sign in (1.0, -1.0))
        self.dearer, self.cheaper = ([self._beyond(row, sign) for row in self.once] for sign in (-1.0, 1.0))

    def _variable(self, cost: float) -> Any:
        variable = self.solver.NumVar(0.0, self.solver.infinity(), "")
        self.objective.SetCoefficient(variable, cost)
        self.added += 1
        return variable

    def _beyond(self, row: Any, sign: float) -> Any:
        variable = self._variable(0.0)
        row.SetCoefficient(variable, sign)
        return variable

    def keep_close(self, actor: FloatArray, buffer: FloatArray, width: float) -> None:
        """Let prices of actors and buffers (in parts) be within a width of these."""
        for variables, sign, centre, step in (
            (self.more, 1.0, actor, self.weights),
            (self.less, -1.0, actor, self.weights),
            (self.dearer, 1.0, buffer, self.buffer_ticks),
            (self.cheaper, -1.0, buffer, self.buffer_ticks),
        ):
            bound = centre / PARTS + sign * width * step
            for variable, cost in zip(variables, (sign * bound).tolist(), strict=True):
                self.objective.SetCoefficient(variable, cost)

    def add(self, column: Column) -> bool:
        """Let a tile hold a column; False if it was known."""
        key = (column.actors, column.buffers, column.core_bytes, column.bytes, column.crossbar)
        if key in self.known:
            return False
        self.known.add(key)
        variable, room, scale = self._variable(0.0), self.room, self.scale
        for row, amount in (
            (self.some, 1.0),
            (self.core_bytes, column.core_bytes / max(1, room.core_bytes)),
            (self.bytes, column.bytes / max(1, room.bytes)),
            (self.network, column.network / scale),
            (self.crossbar, column.crossbar / (room.tiles * scale)),
            (self.work, column.work / (room.work * scale)),
        ):
            row.SetCoefficient(variable, amount)
        for actor in column.actors:
            self.cover[actor].SetCoefficient(variable, 1.0)
        for buffer in column.buffers:
            self.once[buffer].SetCoefficient(variable, 1.0)
        return True

    @property
    def entries(self) -> int:
        """Rows times columns."""
        return self.added * (len(self.cover) + len(self.once) + 6)

    def solve(self) -> bool:
        """Return whether the program was solved."""
        return bool(self.solver.Solve() == self.optimal)

    @property
    def promised(self) -> float:
        """The period that prices within the width would reach, if there were no other columns."""
        return float(self.objective.Value()) * self.scale

    def prices(self) -> Prices:
        """Return the prices of the rows."""

        def paid(row: Any, per: float = 1.0) -> int:
            return max(0, round(-float(row.dual_value()) * PARTS / per))

        fine, room = 2.0**-FINER * self.scale, self.room
        return Prices(
            np.rint(np.array([row.dual_value() for row in self.cover]) * PARTS).astype(np.int64),
            np.array([paid(row) for row in self.once], np.int64),
            paid(self.core_bytes, max(1, room.core_bytes)),
            paid(self.bytes, max(1, room.bytes)),
            paid(self.network, fine),
            paid(self.crossbar, fine * room.tiles),
            paid(self.work, fine * room.work),
            paid(self.some),
        )


@dataclass(slots=True)
class _Look:
    """How a search for prices stands: the period in question, the least one given up, and how far prices may go."""

    period: int
    first_width: float
    width: float
    failed: float = math.inf
    top: float = -math.inf
    nulls: int = 0
    looks: int = 0
    is_stuck: bool = False

    def note(self, reached: float, promised: float) -> bool:
        """Return whether prices reach further than any before, and let the next ones go further, or less far."""
        if reached > self.top:
            self.width *= 1.5 if -math.inf < 2 * (reached - self.top) > promised - self.top else 1.0
            self.top, self.nulls = reached, 0
            return True
        self.nulls += 1
        self.width *= tuning.TILE_SET_NARROWING if self.nulls % 8 == 0 else 1.0
        return False

    def go_on(self, reached: float) -> None:
        """Ask for a longer period, half of the way to what prices reach."""
        most = min(reached, self.period * (1 + tuning.TILE_SET_STEP), self.failed)
        self.period = max(self.period + 1, int((self.period + most) / 2))

    def is_over(self) -> bool:
        """Return whether no prices reach the period; where there is nothing new, they may go further."""
        if self.is_stuck:
            self.width *= 2
        return self.width > tuning.TILE_SET_WIDEST

    def fall_back(self, proven: int) -> None:
        """Ask for a period between the longest one proven and the one given up."""
        self.failed, self.period = self.period, (proven + self.period) // 2
        self.width, self.top, self.nulls = self.first_width, -math.inf, 0


class TileSets(Items):
    """What the tiles of a platform can hold of an application, for any period; all are as large as the largest."""

    def __init__(self, application: Application, platform: Platform) -> None:
        super().__init__(application, platform)
        self.platform = platform
        self.columns: dict[bool, list[Column]] = {False: [], True: []}
        self.best: dict[bool, Prices] = {}
        self.tops: dict[bool, float] = {}
        self.values = dict.fromkeys((False, True), 0)
        if self.applies:
            self.tables, self.listed = self.order.tables(self.ends, self.units)

    def room(self, core_cost: float) -> Room:
        """Return what there is at a core cost."""
        supply = supply_at(self.platform, core_cost)
        held = min(self.all_core_bytes, math.floor(Fraction(supply.core_bytes) * (1 + _MARGIN)))
        largest = max(
            tile.tile_memory_bytes + min(held, sum(core.local_bytes for core in tile.cores))
            for tile in self.platform.tiles
        )
        work = max(1e-9, float(Fraction(core_cost) * self.scale * (1 + _MARGIN)))
        units = held // self.unit, (held + int(supply.tile_bytes)) // self.unit, largest // self.unit
        return Room(supply.tiles, *units, work)

    def highest(self, core_cost: float, low: int, known: float, search: Search) -> TilePrices | None:
        """Return the proof of the highest bound found above ``low`` and below ``known``; None if there is none.

        Where buffers are more than all memories hold, these are tried first, then what crossbars carry, else the other
        way round; what reached furthest goes on.
        """
        best, room, self.tops = None, self.room(core_cost), dict.fromkeys((False, True), -math.inf)
        first_prices = self.first_prices(room, low)
        held = sum(buffer.size for buffer in self.buffers)
        first = held > tuning.TILE_SET_FULL * room.bytes
        modes = [first, not first] if held > room.tile_bytes else [False]
        for of_memory in (*modes, None):
            mode = max(modes, key=lambda mode: self.tops[mode]) if of_memory is None else of_memory
            part = search if of_memory is None else search.part(tuning.TILE_SET_TRIAL)
            found = self._climb(mode, core_cost, low, known, first_prices, part)
            if found is not None:
                best, low = found, found["period"]
        return best

    def _climb(
        self, of_memory: bool, core_cost: float, low: int, known: float, first: Prices, search: Search
    ) -> TilePrices | None:  # fmt: skip
        """Return the proof of the highest bound that prices reach from ``low`` on: each look at prices may raise it."""
        room, proof, proven = self.room(core_cost), None, low
        width = tuning.TILE_SET_WIDTH / len(self.actors)
        at = _Look(low, width, width)
        program = self._program(of_memory, room, at.period)
        self.best[of_memory] = self._start(of_memory, room, first)
        while proven * (1 + tuning.CORE_SET_PRECISION) + 1 < min(known, at.failed):
            search.spend(program.entries / tuning.PROGRAM_ENTRIES + 1 / tuning.LOOKS_AT_TILES)
            if search.expired():
                break
            proposed = self._proposed(program, of_memory, at)
            if proposed is None:  # numerical trouble, which another start may avoid
                program = self._program(of_memory, room, at.period)
                proposed = self._proposed(program, of_memory, at)
                if proposed is None:
                    break
            promised, prices = proposed
            answer = self.cheapest(of_memory, at.period, room, prices, search)
            if answer is None:
                break
            value, column = answer
            reached = self.reached(value, prices, room)
            is_better = at.note(reached, promised)
            if is_better:
                self.best[of_memory], self.values[of_memory] = prices, value
                self.tops[of_memory] = max(reached, proven)
            if self.excess(value, prices, room, at.period) > 0:
                if of_memory and reached < known:  # the same columns, whatever the period
                    longer = int(reached * (1 - _ROUNDING))
                    at.period = longer if self.excess(value, prices, room, longer) > 0 else at.period
                proof, proven = self._document(of_memory, at.period, core_cost, prices), at.period + 1
                at.go_on(min(reached, known))
            is_new = program.add(column)
            self.columns[of_memory] += [column] * is_new
            at.is_stuck = not (is_new or is_better)
            at.looks += 1
            if at.is_over():
                if of_memory:
                    break
                at.fall_back(proven)
                program = self._program(of_memory, room, at.period)
        return proof

    def _start(self, of_memory: bool, room: Room, first: Prices) -> Prices:
        """Return the best prices so far, or those that count all items alone where these reach further."""
        best = self.best.get(of_memory, first)
        return best if self.reached(self.values[of_memory], best, room) > self.reached(0, first, room) else first

    def _proposed(self, program: Program, of_memory: bool, at: _Look) -> tuple[float, Prices] | None:
        """Return what the next prices promise, and these: of a first look those to start from."""
        centre = self.best[of_memory]
        if at.looks == 0:
            return math.inf, centre
        program.keep_close(centre.actor.astype(float), centre.buffer.astype(float), min(at.width, _FAR))
        return (program.promised, program.prices()) if program.solve() else None

    def _program(self, of_memory: bool, room: Room, period: int) -> Program:
        weights = (self.incident + self.incident.mean() / 16 + 1).astype(float)
        ticks = np.array([buffer.far / 2 for buffer in self.buffers])
        program = Program(weights / weights.sum(), ticks, float(period), room)
        limit = room.tile_bytes if of_memory else period
        for column in self.columns[of_memory]:
            if column.limit <= limit:
                program.add(column)
        return program

    def excess(self, value: int, prices: Prices, room: Room, period: int) -> int:
        """Return by how much the least that columns cost is above what there is, where none costs less than this."""
        ticks = (prices.network + prices.crossbar * room.tiles) * period
        return self._least(value, prices, room) - ((ticks + prices.work * self._work(room, period)) >> FINER)

    def _work(self, room: Room, period: int) -> int:
        return max(1, math.floor(room.work * period))

    def _least(self, value: int, prices: Prices, room: Room) -> int:
        held = int(prices.buffer.sum()) + prices.core_byte * room.core_bytes + prices.byte * room.bytes
        return int(prices.actor.sum()) - held + room.tiles * min(0, value)

    def reached(self, value: int, prices: Prices, room: Room) -> float:
        """Return the period below which there is less than columns cost, to rounding."""
        per_tick = (prices.network + prices.crossbar * room.tiles + prices.work * room.work) / 2**FINER
        least = self._least(value, prices, room)
        return least / per_tick if per_tick > 0 else math.copysign(math.inf, least)

    def _parts(self, of_memory: bool, period: int, room: Room) -> tuple[IntArray, IntArray]:
        """Return the parts of a period, or of a tile's memory, that items and actors take, rounded down.

        A part more than there are make one tick, or unit, more than there are: so what fits has no more parts either.
        """
        ways, most = self.ways, self.units + 1
        asked, whole = (ways.bytes, room.tile_bytes) if of_memory else (ways.crossbar, period)
        whole = max(1, whole) + 1
        parts = np.where(ways.crossbar < 0, most, np.minimum(asked * most // whole, most))
        return parts, np.minimum(self.own * most // whole, most) * (not of_memory)

    def cheapest(
        self, of_memory: bool, period: int, room: Room, prices: Prices, search: Search
    ) -> tuple[int, Column] | None:
        """Return the least that a column costs, in parts, and that column; None if the search ends before."""
        ways, tables = self.ways, self.tables
        cost = _finer((prices.network, ways.network), (prices.work, ways.work), (prices.crossbar, ways.crossbar))
        cost[: len(self.buffers), :, INSIDE:] += prices.buffer[:, None, None]
        cost += ways.bytes * prices.byte
        cost[:, :, LOCAL] += ways.bytes[:, :, LOCAL] * prices.core_byte
        parts, own = self._parts(of_memory, period, room)
        _leave_out_dominated(parts, cost, self.units)
        earned = _finer((prices.work, self.work), (prices.crossbar, self.own)) - prices.actor
        order = np.array(self.order.actors)
        prepare(tables, parts, cost, own[order], earned[order])
        done, at = tables.steps, 0
        while at < len(order) and not search.expired():
            at = fill(tables, at, tuning.TILE_SET_STEPS)
            search.spend((tables.steps - done) / tuning.TILE_SET_CELLS)
            done = tables.steps
        if at < len(order):
            return None
        value = cheapest(tables, self.units)
        return value, self._column(room.tile_bytes if of_memory else period)

    def _column(self, limit: int) -> Column:
        inside = np.zeros(len(self.actors), np.int64)
        inside[[*self.order.actors]] = self.tables.inside
        way = np.full(len(self.ends), -1, np.int64)
        way[self.listed] = self.tables.way
        items = np.flatnonzero(way >= 0)
        among = inside[np.array(self.ends)[items]].sum(axis=1) - 1
        ways = self.ways
        network, crossbar, work, held = (
            array[items, among, way[items]] for array in (ways.network, ways.crossbar, ways.work, ways.bytes)
        )
        return Column(
            tuple(np.flatnonzero(inside).tolist()),
            tuple(i for i in range(len(self.buffers)) if way[i] >= INSIDE),
            int(network.sum()),
            int(crossbar.sum() + self.own[inside > 0].sum()),
            int(work.sum() + self.work[inside > 0].sum()),
            int(held[way[items] == LOCAL].sum()),
            int(held.sum()),
            limit,
        )

    def _document(self, of_memory: bool, period: int, core_cost: float, prices: Prices) -> TilePrices:
        return {
            "core_cost": core_cost,
            "period": period + 1,
            "parts": self.units,
            "parts_of": "memory" if of_memory else "crossbar",
            "apart": list(self.apart),
            "actors": {name: int(n) for name, n in zip(self.actors, prices.actor, strict=True) if n},
            "buffers": {b.name: int(n) for b, n in zip(self.buffers, prices.buffer, strict=True) if n},
            "core_memory": prices.core_byte,
            "memory": prices.byte,
            "network": prices.network,
            "crossbar": prices.crossbar,
            "work": prices.work,
        }


def _finer(*priced: tuple[int, IntArray]) -> IntArray:
    """Return what ticks and work at prices cost, each rounded down; no more than enough. There are none below 0."""
    exact = sum(np.maximum(amount, 0).astype(object) * price >> FINER for price, amount in priced)
    return np.asarray(np.minimum(exact, _DEAR), np.int64)


def _leave_out_dominated(parts: IntArray, cost: IntArray, most: int) -> None:
    """Let ways that take no fewer parts than another, and cost no less, take more than there are."""
    for way, other in ((0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)):
        is_worse = (parts[..., other] <= parts[..., way]) & (cost[..., other] <= cost[..., way])
        parts[..., way][is_worse & (parts[..., other] <= most)] = most + 1
