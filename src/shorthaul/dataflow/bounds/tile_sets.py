"""The least period with which the network and the crossbars of all tiles carry what actors share.

A column is a set of actors in a tile, and of buffers in its memories, whose accesses its crossbar carries in a period.
Every actor is in one column, every buffer in one at most, and the buffers that cores hold fit the memories of all
cores; what crosses the network takes no longer than the period (Gilmore and Gomory's program for cutting stock). Any
prices of actors, buffers and bytes bound that from below, as soon as the cheapest column is known. That is found by
dynamic programming along an order of the actors: only of those with neighbours on both sides it matters whether they
are in the tile (Bodlaender, *A tourist guide through treewidth*, 1993).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.firings import channels_together
from shorthaul.dataflow.bounds.prices import least_bytes
from shorthaul.dataflow.model import Application, Platform, ticks_for

IntArray = npt.NDArray[np.int64]
#: Prices are in parts of a tick, and of so many units of all memories, so that sums of them are exact.
_PARTS: Final = 16
_UNITS: Final = 2**14
#: More than any sum of prices that is looked at, and twice that in 64 bits.
_NEVER: Final = 2**60
#: Ways to treat a buffer with one or both of its actors in the tile: elsewhere, in the tile, in the memory of a core.
_AWAY, _INSIDE, _LOCAL = range(3)


@dataclass(frozen=True, slots=True)
class _Buffer:
    """A buffer that two actors share: ticks of an access in its tile and across the network, size, room in cores."""

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
class _Step:
    """An actor comes in (``item`` is its number), one goes out, or a buffer or tie is looked at.

    ``front`` holds the actors that matter then, and ``at`` the places in it of those concerned.
    """

    kind: str
    item: int
    front: tuple[int, ...]
    at: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Prices:
    """What an actor earns, a buffer in a tile, a unit in a core and a unit in a tile cost, in parts of a tick.

    ``tile`` is what one tile more would save.
    """

    actor: IntArray
    buffer: IntArray
    core_byte: int
    byte: int
    tile: int


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """Actors and buffers of a tile, ticks of the network, units in cores and in all, for a crossbar's period."""

    actors: tuple[int, ...]
    buffers: tuple[int, ...]
    network: int
    core_bytes: int
    bytes: int
    period: int


def least_of_tile_sets(application: Application, platform: Platform, low: int, search: Search) -> int:
    """Return a lower bound on the period of every mapping, ``low`` if none above that was found.

    It is raised in steps, which find columns for the next ones, then by bisection, while the effort lasts.
    """
    sets = TileSets(application, platform)
    if not sets.applies:
        return low
    high = sets.longest
    while low * (1 + tuning.TILE_SET_PRECISION) + 1 < high and not search.expired():
        period = int(min(low * (1 + tuning.TILE_SET_STEP) + 1, (low + high) // 2))
        if sets.excluded(period, search.part(tuning.TILE_SET_SHARE)):
            low = period + 1
        else:
            high = period
    return low


class TileSets:
    """What the tiles of a platform can hold of an application, for any period; all are as large as the largest."""

    def __init__(self, application: Application, platform: Platform) -> None:
        multicasts = set(application.multicasts)
        number = {name: i for i, name in enumerate(a.id for a in application.actors if a.id not in multicasts)}
        self.count, self.tiles = len(number), len(platform.tiles)
        core_bytes = sum(core.local_bytes for core in platform.cores)
        bytes_ = core_bytes + sum(tile.tile_memory_bytes for tile in platform.tiles)
        unit = max(1, bytes_ // _UNITS)  # buffers are rounded down to such units, and so are their sums
        self.core_bytes, self.bytes = core_bytes // unit, bytes_ // unit
        largest = max(core.local_bytes for core in platform.cores)
        fastest = max(tile.crossbar_bytes_per_s for tile in platform.tiles)
        self.buffers: list[_Buffer] = []
        self.ties: list[_Tie] = []
        for group in channels_together(application).values():
            token, size = group[0].token_bytes, least_bytes(group)
            near, far = (
                ticks_for(token, speed, application.ticks_per_second)
                for speed in (fastest, min(fastest, platform.noc_bytes_per_s))
            )
            ends = [number[end] for channel in group for end in (channel.src, channel.dst) if end in number]
            others = [end for end in dict.fromkeys(ends[1:]) if end != ends[0]]
            if len(group) == 1 and others and size:
                self.buffers.append(_Buffer((ends[0], others[0]), near, far, size // unit, size <= largest))
            elif size:  # a token goes once to every tile, whichever multicasts pass it on
                self.ties += [_Tie((ends[0], end), far // (2 * len(others))) for end in others]
        self.longest = sum(2 * buffer.far for buffer in self.buffers)
        self.steps = _steps(self.count, [*self.buffers, *self.ties], len(self.buffers))
        self.width = max((len(step.front) for step in self.steps), default=0)
        self.columns: list[_Column] = []
        self.best = self._first()
        sums = self.longest + 2 * sum(tie.ticks for tie in self.ties) + self.bytes
        self.applies = len(self.buffers) > 1 and 0 < self.width <= tuning.MOST_TILE_SET_WIDTH and sums < 2**40

    def _first(self) -> _Prices:
        """Return prices to start from: with all actors in one tile, a buffer saves a little."""
        far = np.array([_PARTS * buffer.far for buffer in self.buffers], np.int64)
        actor = np.zeros(self.count, np.int64)
        for buffer, ticks in zip(self.buffers, far.tolist(), strict=True):
            actor[[*buffer.ends]] += ticks // 2
        return _Prices(actor, far * 9 // 10, 0, 0, 0)

    def excluded(self, period: int, search: Search) -> bool:
        """Return whether it is proven that no mapping has this period or a shorter one."""
        program = _Program(self)
        self.columns = [column for column in self.columns if column.period <= period]
        for column in self.columns:
            program.add(column)
        best = -_NEVER
        for _ in range(tuning.MOST_TILE_SET_ROUNDS):
            search.spend(program.entries / tuning.PROGRAM_ENTRIES)
            if search.expired() or not program.solve() or program.cost <= period:
                return False
            found = program.prices()
            for share in (tuning.TILE_SET_SMOOTHING, 0.0):
                prices = _between(self.best, found, share)
                search.spend(self.cells / tuning.TILE_SET_CELLS)
                value, column = self.cheapest(period, prices)
                bound = self.bound(value, prices)
                if bound > period * _PARTS:
                    return True
                if bound > best:
                    best, self.best = bound, prices
                program.add(column)
                self.columns.append(column)
                if self.worth(column, found) < -found.tile:
                    break
        return False

    @property
    def units(self) -> int:
        """In how many parts of a period ticks of a crossbar are counted, rounded down."""
        return tuning.TILE_SET_UNITS[self.width > tuning.MOST_TILE_SET_WIDTH - 4]

    @property
    def cells(self) -> int:
        """Entries of the tables that are filled for one column."""
        return sum((self.units + 1) << len(step.front) for step in self.steps)

    def bound(self, value: int, prices: _Prices) -> int:
        """Return what prices prove that the network carries, in parts of a tick, where no column costs less."""
        held = int(prices.buffer.sum()) + prices.core_byte * self.core_bytes + prices.byte * self.bytes
        return int(prices.actor.sum()) - held + self.tiles * min(0, value)

    def worth(self, column: _Column, prices: _Prices) -> int:
        """Return what a column costs at prices, in parts of a tick."""
        cost = _PARTS * column.network + prices.core_byte * column.core_bytes + prices.byte * column.bytes
        return cost + int(prices.buffer[[*column.buffers]].sum()) - int(prices.actor[[*column.actors]].sum())

    def ways(self, buffer: _Buffer, inside: int) -> list[tuple[int, int, int]]:
        """Return ways to treat a buffer, with one or two actors in the tile: ticks of crossbar and network, which."""
        others = (2 - inside) * buffer.far
        ways = [(inside * buffer.far, inside * buffer.far, _AWAY), (inside * buffer.near + others, 0, _INSIDE)]
        return [*ways, (others, 0, _LOCAL)] if buffer.fits_core else ways

    def cheapest(self, period: int, prices: _Prices) -> tuple[int, _Column]:
        """Return the least that a column costs, in parts of a tick, and the column (the empty one costs nothing)."""
        table = np.zeros(self.units + 1, np.int64)
        kept: list[npt.NDArray[Any]] = []
        for step in self.steps:
            if step.kind == "in":
                table = np.stack((table, table - prices.actor[step.item]), axis=-2)
            elif step.kind == "out":
                without, within = np.take(table, 0, step.at[0]), np.take(table, 1, step.at[0])
                kept.append(within < without)
                table = np.minimum(without, within)
            elif step.kind == "tie":
                view = np.moveaxis(table, step.at, (0, 1))
                view[0, 1] += _PARTS * self.ties[step.item].ticks
                view[1, 0] += _PARTS * self.ties[step.item].ticks
            else:
                kept.append(self._choose(np.moveaxis(table, step.at, (0, 1)), step.item, period, prices))
        return int(table.min()), self._column(kept, int(table.argmin()), period)

    def _choose(self, view: IntArray, number: int, period: int, prices: _Prices) -> npt.NDArray[np.uint8]:
        """Add what a buffer costs to a table, by whether its actors are in the tile; return the ways chosen."""
        chosen = np.zeros((3, *view.shape[2:]), np.uint8)
        buffer = self.buffers[number]
        for place, (one, other) in enumerate(((0, 1), (1, 0), (1, 1))):
            best = np.full(view.shape[2:], _NEVER, np.int64)
            for ticks, network, way in self.ways(buffer, one + other):
                units = ticks * self.units // period
                if units > self.units:
                    continue
                cost = _PARTS * network
                if way != _AWAY:
                    cost += int(prices.buffer[number]) + buffer.size * prices.byte
                if way == _LOCAL:
                    cost += buffer.size * prices.core_byte
                option = view[one, other][..., : self.units + 1 - units] + cost
                rest = best[..., units:]
                np.copyto(chosen[place][..., units:], way, where=option < rest)
                np.minimum(rest, option, out=rest)
            view[one, other] = np.minimum(best, _NEVER)
        return chosen

    def _column(self, kept: list[npt.NDArray[Any]], units: int, period: int) -> _Column:
        inside = np.zeros(self.count, np.int64)
        network = core_bytes = size = 0
        buffers: list[int] = []
        for step in reversed(self.steps):
            front = [int(inside[actor]) for actor in step.front]
            if step.kind == "out":
                inside[step.item] = kept.pop()[(*front, units)]
            elif step.kind == "tie":
                network += self.ties[step.item].ticks * (front[step.at[0]] != front[step.at[1]])
            elif step.kind == "buffer":
                chosen, buffer = kept.pop(), self.buffers[step.item]
                one, other = (front[place] for place in step.at)
                if not one + other:
                    continue
                rest = [bit for place, bit in enumerate(front) if place not in step.at]
                way = int(chosen[(2 * one + other - 1, *rest, units)])
                ticks, crossing, _ = next(found for found in self.ways(buffer, one + other) if found[2] == way)
                units -= ticks * self.units // period
                network += crossing
                buffers += [step.item] if way != _AWAY else []
                size += buffer.size * (way != _AWAY)
                core_bytes += buffer.size * (way == _LOCAL)
        return _Column(
            tuple(np.flatnonzero(inside).tolist()), tuple(sorted(buffers)), network, core_bytes, size, period
        )


def _between(one: _Prices, other: _Prices, share: float) -> _Prices:
    """Return prices between two: ``share`` of the first, the rest of the other (Wentges)."""

    def mixed(a: Any, b: Any) -> Any:
        return np.rint(share * a + (1 - share) * b).astype(np.int64)

    rest = (int(mixed(getattr(one, name), getattr(other, name))) for name in ("core_byte", "byte", "tile"))
    return _Prices(mixed(one.actor, other.actor), mixed(one.buffer, other.buffer), *rest)


class _Program:
    """The linear program: columns of least ticks of the network, and actors in no tile at a high price."""

    def __init__(self, sets: TileSets) -> None:
        from ortools.linear_solver import pywraplp  # SciPy's take several times as long to import

        self.solver = pywraplp.Solver.CreateSolver("GLOP")
        self.optimal = pywraplp.Solver.OPTIMAL
        infinity = self.solver.infinity()
        self.cover = [self.solver.Constraint(1.0, 1.0) for _ in range(sets.count)]
        self.once = [self.solver.Constraint(-infinity, 1.0) for _ in sets.buffers]
        self.some = self.solver.Constraint(-infinity, float(sets.tiles))
        self.core_bytes = self.solver.Constraint(-infinity, float(sets.core_bytes))
        self.bytes = self.solver.Constraint(-infinity, float(sets.bytes))
        self.objective = self.solver.Objective()
        self.added = 0
        dearest = [0] * sets.count
        shared = [(buffer.ends, buffer.far) for buffer in sets.buffers] + [(tie.ends, tie.ticks) for tie in sets.ties]
        for ends, ticks in shared:
            for end in ends:
                dearest[end] += 2 * ticks
        for row, cost in zip(self.cover, dearest, strict=True):
            row.SetCoefficient(self._variable(2.0 * cost + 1), 1.0)

    def _variable(self, cost: float) -> Any:
        variable = self.solver.NumVar(0.0, self.solver.infinity(), "")
        self.objective.SetCoefficient(variable, cost)
        self.added += 1
        return variable

    def add(self, column: _Column) -> None:
        """Let a tile hold a column."""
        variable = self._variable(float(column.network))
        for row, amount in ((self.some, 1), (self.core_bytes, column.core_bytes), (self.bytes, column.bytes)):
            row.SetCoefficient(variable, float(amount))
        for actor in column.actors:
            self.cover[actor].SetCoefficient(variable, 1.0)
        for buffer in column.buffers:
            self.once[buffer].SetCoefficient(variable, 1.0)

    @property
    def entries(self) -> int:
        """Rows times columns."""
        return self.added * (len(self.cover) + len(self.once) + 3)

    def solve(self) -> bool:
        """Return whether the program was solved."""
        return bool(self.solver.Solve() == self.optimal)

    @property
    def cost(self) -> float:
        """Ticks of the network."""
        return float(self.objective.Value())

    def prices(self) -> _Prices:
        """Return the prices of the rows."""
        actor = np.array([row.dual_value() for row in self.cover])
        buffer = np.array([max(0.0, -row.dual_value()) for row in self.once])
        rest = (max(0, round(-row.dual_value() * _PARTS)) for row in (self.core_bytes, self.bytes, self.some))
        return _Prices(np.rint(actor * _PARTS).astype(np.int64), np.rint(buffer * _PARTS).astype(np.int64), *rest)


def _steps(count: int, shared: Sequence[_Buffer | _Tie], buffers: int) -> list[_Step]:
    """Return the steps through all actors, in the best of some greedy orders; none where there are many actors."""
    near: list[set[int]] = [set() for _ in range(count)]
    for one, other in (item.ends for item in shared):
        near[one].add(other)
        near[other].add(one)
    if not 0 < count <= tuning.MOST_TILE_SET_ACTORS:
        return []
    firsts = range(0, count, -(-count // tuning.TILE_SET_ORDERS))
    order = min((_order(near, first) for first in firsts), key=lambda found: found[0])[1]
    place = {actor: number for number, actor in enumerate(order)}
    looked: list[list[int]] = [[] for _ in range(count)]
    for number, item in enumerate(shared):
        looked[max(place[end] for end in item.ends)].append(number)
    steps: list[_Step] = []
    front: list[int] = []
    for number, actor in enumerate(order):
        front.append(actor)
        steps.append(_Step("in", actor, tuple(front), ()))
        for which in looked[number]:
            at = tuple(front.index(end) for end in shared[which].ends)
            kind, own = ("buffer", which) if which < buffers else ("tie", which - buffers)
            steps.append(_Step(kind, own, tuple(front), at))
        for old in [old for old in front if all(place[other] <= number for other in near[old])]:
            at = (front.index(old),)
            front.remove(old)
            steps.append(_Step("out", old, tuple(front), at))
    return steps


def _order(near: Sequence[set[int]], first: int) -> tuple[int, list[int]]:
    """Return how many entries tables have, and the actors from a first one on, each next such that fewest matter."""
    order: list[int] = []
    left, cost = set(range(len(near))), 0
    ahead: dict[int, set[int]] = {}  # per actor that matters, its neighbours that are left
    actor = first
    while True:
        order.append(actor)
        left.remove(actor)
        ahead[actor] = near[actor] - {actor}
        cost += 1 << len(ahead)
        ahead = {one: rest for one, others in ahead.items() if (rest := others & left)}
        if not left:
            return cost, order
        closing = Counter(other for rest in ahead.values() if len(rest) == 1 for other in rest)
        more = {one: bool(near[one] & left - {one}) - closing[one] for one in set().union(*ahead.values()) or left}
        actor = min(more, key=lambda one: (more[one], one))
