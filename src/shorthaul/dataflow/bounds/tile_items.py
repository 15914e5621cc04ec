"""What actors of a tile ask for, by ways to treat buffers, and orders in which the actors are eliminated.

Items take ticks of the crossbar and of the network, work, and bytes.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.firings import channels_together
from shorthaul.dataflow.bounds.prices import least_bytes
from shorthaul.dataflow.bounds.tile_sets_kernels import Elimination
from shorthaul.dataflow.model import Application, Channel, Platform, ticks_for

IntArray = npt.NDArray[np.int64]
#: All memories in whole units, and the dearest core's cost for sums of work.
_UNITS: Final = 2**14
_COST_UNITS: Final = 1000
#: Sums of ticks, and of work, up to which products with prices are no trouble.
_MOST_SUM: Final = 2**43
#: A period of the scale in parts; prices of a tick, and of work, are finer by so many bits.
PARTS: Final = 2.0**34
FINER: Final = 20
#: Ways to treat a buffer with one or both of its actors in the tile: elsewhere, in the tile, in the memory of a core.
AWAY, INSIDE, LOCAL = range(3)


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer that two actors share: ticks of an access in its tile and across the network, size, room in cores."""

    name: str
    ends: tuple[int, int]
    near: int
    far: int
    size: int
    fits_core: bool


@dataclass(frozen=True, slots=True)
class Tie:
    """Two actors of which a token crosses the network to the other, if they are in two tiles: ticks per tile."""

    name: str
    ends: tuple[int, int]
    ticks: int


@dataclass(frozen=True, slots=True)
class Ways:
    """What every item asks for by its actors in the tile less one, and way; ticks of the crossbar are -1 for no way."""

    crossbar: IntArray
    network: IntArray
    work: IntArray
    bytes: IntArray


@dataclass(frozen=True, slots=True)
class Room:
    """What there is at a core cost: tiles, units in cores, in all, and in the largest tile, and work per tick."""

    tiles: int
    core_bytes: int
    bytes: int
    tile_bytes: int
    work: float


@dataclass(frozen=True, slots=True)
class Prices:
    """What an actor earns; what a buffer in a tile, a unit in a core and in all, ticks and work cost.

    In parts; those of ticks (of the network, of all crossbars) and of work are finer. ``tile`` is what one tile more
    would save.
    """

    actor: IntArray
    buffer: IntArray
    core_byte: int
    byte: int
    network: int
    crossbar: int
    work: int
    tile: int


class Items:
    """The actors of an application, and what pairs of them share, on the tiles of a platform.

    The first items are ``buffers``. So that few actors matter at once in an order of them, the shortest accesses are
    ``apart``: each of the two to such a buffer chooses its way alone, with half of the bytes.
    """

    def __init__(self, application: Application, platform: Platform) -> None:
        multicasts = set(application.multicasts)
        actors = [actor for actor in application.actors if actor.id not in multicasts]
        self.actors = [actor.id for actor in actors]
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
        self.buffers: list[Buffer] = []
        self.ties: list[Tie] = []
        number = {name: i for i, name in enumerate(self.actors)}
        for root, group in channels_together(application).items():
            self._share(application, platform, sorted(group, key=lambda channel: channel.id != root), number)
        pairs = [(item.ends, 2 * item.far) for item in self.buffers]
        pairs += [(tie.ends, tie.ticks) for tie in self.ties]
        self.incident = np.zeros(len(actors), np.int64)
        for ends, ticks in pairs:
            self.incident[[*ends]] += ticks
        longest = int(self.incident.sum()) + sum(max(actor.ticks.values(), default=0) for actor in actors)
        sums = longest * (self.rate + 1) + int(self.work.sum() + self.own.sum()) + all_bytes // self.unit
        most = tuning.MOST_TILE_SET_ACTORS
        self.applies = len(self.buffers) > 1 and len(actors) <= most and sums < _MOST_SUM
        if self.applies:
            self._put_apart()

    def _share(
        self, application: Application, platform: Platform, group: Sequence[Channel], number: dict[str, int]
    ) -> None:
        """Add what the actors of channels that may share a buffer ask for."""
        token, size = group[0].token_bytes, least_bytes(group)
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
                Buffer(group[0].id, (ends[0], others[0]), near, far, size // self.unit, size <= largest)
            )
        elif size:  # a token goes once to every tile, whichever multicasts pass it on
            self.ties += [Tie(group[0].id, (ends[0], end), far // (2 * len(others))) for end in others]
            for end in ends if size > largest else ():
                self.own[end] += near
                self.work[end] += self.rate * near

    def _put_apart(self) -> None:
        """Choose an order of the actors, in how many parts sums are told, and which buffers are apart."""
        shared: list[Buffer | Tie] = sorted([*self.buffers, *self.ties], key=_ticks)
        pairs = [item.ends for item in shared]
        cells = best_order(len(self.actors), pairs).cells
        self.applies = cells <= tuning.MOST_TILE_SET_CELLS
        if not self.applies:
            return
        sizes = [(units, most // (units + 1)) for units, most in tuning.TILE_SET_UNITS]
        self.units, most_cells = next((size for size in sizes if cells <= size[1]), sizes[-1])
        out = left_out(len(pairs), pairs, most_cells) if cells > most_cells else 0
        apart = {item.name for item in shared[:out]}
        halves = [buffer for buffer in self.buffers if buffer.name in apart]
        self.apart = tuple(sorted(apart))
        self.buffers = [buffer for buffer in self.buffers if buffer.name not in apart]
        self.ties = [tie for tie in self.ties if tie.name not in apart]
        self.ends = [buffer.ends for buffer in self.buffers] + [tie.ends for tie in self.ties]
        self.order = best_order(len(self.actors), self.ends)
        self.ends += [(end, end) for buffer in halves for end in buffer.ends]
        self.ways = self._ways(halves)

    def _ways(self, halves: Sequence[Buffer]) -> Ways:
        """Return what items ask for: buffers, ties, and accesses to buffers that are apart."""
        shape = (len(self.ends), 2, 3)
        ways = Ways(np.full(shape, -1, np.int64), *(np.zeros(shape, np.int64) for _ in range(3)))
        for i, buffer in enumerate(self.buffers):
            for inside in (1, 2):
                near, far, others = inside * buffer.near, inside * buffer.far, (2 - inside) * buffer.far
                ways.crossbar[i, inside - 1] = far, near + others, others if buffer.fits_core else -1
                ways.network[i, inside - 1, AWAY] = far
                ways.work[i, inside - 1] = self.rate * far, self.rate * near, 0
            ways.bytes[i, :, INSIDE:] = buffer.size
        for i, tie in enumerate(self.ties, len(self.buffers)):
            ways.crossbar[i, :, AWAY] = 0
            ways.network[i, 0, AWAY] = tie.ticks
        first = len(self.buffers) + len(self.ties)
        for i, buffer in enumerate([half for half in halves for _ in half.ends], first):
            ways.crossbar[i, 1] = buffer.far, buffer.near, 0 if buffer.fits_core else -1
            ways.network[i, 1, AWAY] = buffer.far
            ways.work[i, 1, :LOCAL] = self.rate * buffer.far, self.rate * buffer.near
            ways.bytes[i, 1, INSIDE:] = buffer.size // 2
        return ways

    def first_prices(self, room: Room, scale: float) -> Prices:
        """Return the best prices where every item goes its cheapest way alone, half for each of its actors."""
        from ortools.linear_solver import pywraplp  # SciPy's take several times as long to import

        ways = self.ways
        ticks, held = np.array([1.0, room.tiles, room.work]) * scale, np.array([room.core_bytes, room.bytes])
        in_core = ways.bytes * (np.arange(3) == LOCAL)
        asked = np.stack([ways.network, ways.crossbar, ways.work, in_core, ways.bytes])[:, :, 1].astype(float)
        asked /= np.maximum([*ticks, *held], 1)[:, None, None]
        own = np.stack([0 * self.own, self.own, self.work]) / ticks[:, None]
        solver = pywraplp.Solver.CreateSolver("GLOP")
        infinity = solver.infinity()
        longest = solver.NumVar(0.0, infinity, "")
        solver.Minimize(longest)
        rows = [solver.Constraint(-infinity, most) for most in (*-own.sum(axis=1), *np.minimum(held, 1.0))]
        for row in rows[:3]:
            row.SetCoefficient(longest, -1.0)
        for item in range(len(self.ends)):
            once = solver.Constraint(1.0, 1.0)
            for way in np.flatnonzero(ways.crossbar[item, 1] >= 0).tolist():
                variable = solver.NumVar(0.0, infinity, "")
                once.SetCoefficient(variable, 1.0)
                for row, amount in zip(rows, asked[:, item, way].tolist(), strict=True):
                    row.SetCoefficient(variable, amount)
        is_solved = solver.Solve() == solver.OPTIMAL
        dual = PARTS * np.array([max(0.0, -row.dual_value()) if is_solved else 0.0 for row in rows])
        least = np.where(ways.crossbar[:, 1] >= 0, np.tensordot(dual, asked, 1), np.inf).min(axis=1)
        actor = dual[:3] @ own
        np.add.at(actor, np.array(self.ends), least[:, None] / 2)
        core_byte, byte = np.rint(dual[3:] / np.maximum(held, 1)).astype(int).tolist()
        network, crossbar, work = np.rint(dual[:3] / ticks * 2.0**FINER).astype(int).tolist()
        buffer = np.zeros(len(self.buffers), np.int64)
        return Prices(actor.astype(np.int64), buffer, core_byte, byte, network, crossbar, work, 0)


def _ticks(item: Buffer | Tie) -> int:
    """Return the ticks of the network that an item may take in a tile."""
    return item.far if isinstance(item, Buffer) else item.ticks


@dataclass(frozen=True, slots=True)
class Order:
    """The actors in the order of their elimination, and for each those that matter then, as they go later."""

    actors: tuple[int, ...]
    scopes: tuple[tuple[int, ...], ...]
    cells: int

    def tables(self, ends: Sequence[tuple[int, int]], units: int) -> tuple[Elimination, IntArray]:
        """Return the tables where items are shared by two actors each, and the items in the order of their ways."""
        place = {actor: i for i, actor in enumerate(self.actors)}
        items: list[list[tuple[int, int]]] = [[] for _ in self.actors]
        for number, pair in enumerate(ends):
            one, other = sorted(pair, key=lambda actor: place[actor])
            items[place[one]].append((number, 0 if one == other else 1 + self.scopes[place[one]].index(other)))
        last = len(self.actors) - 1
        children: list[list[int]] = [[] for _ in self.actors]
        for i, scope in enumerate(self.scopes[:last]):
            children[place[scope[0]] if scope else last].append(i)
        bits: list[list[int]] = []
        for parent, found in enumerate(children):
            found.sort(key=lambda i: -len(self.scopes[i]))
            bag = {self.actors[parent]: 0} | {actor: 1 + k for k, actor in enumerate(self.scopes[parent])}
            bits += [[bag[actor] for actor in self.scopes[i]] for i in found]
        listed = np.array([number for found in items for number, _ in found], np.int64)
        tables = Elimination(
            np.array([len(scope) for scope in self.scopes], np.int64), _ends(items), listed,
            np.array([bit for found in items for _, bit in found], np.int64), _ends(children),
            np.array([i for found in children for i in found], np.int64), _ends(bits),
            np.array([bit for found in bits for bit in found], np.int64), units,
        )  # fmt: skip
        return tables, listed


def _ends(parts: Sequence[Sequence[object]]) -> IntArray:
    return np.cumsum([0, *map(len, parts)]).astype(np.int64)


def best_order(
    count: int, pairs: Sequence[tuple[int, int]], tries: int = tuning.TILE_SET_ORDERS
) -> Order:  # fmt: skip
    """Return the best of some orders: next is an actor whose neighbours get the fewest new ties, any of them."""
    near: list[set[int]] = [set() for _ in range(count)]
    for one, other in pairs:
        if one != other:
            near[one].add(other)
            near[other].add(one)
    found = (_order([set(others) for others in near], random.Random(seed)) for seed in range(tries))
    return min(found, key=lambda order: order.cells)


def left_out(count: int, pairs: Sequence[tuple[int, int]], most_cells: int) -> int:
    """Return how many pairs must go, the first ones, for an order of the actors with so many cells; all if none has."""
    few, many = -1, len(pairs)
    while many - few > 1:
        middle = (few + many) // 2
        fits = best_order(count, pairs[middle:], 1).cells <= most_cells
        few, many = (few, middle) if fits else (middle, many)
    return many


def _order(near: list[set[int]], draw: random.Random) -> Order:
    """Return an order; ``near`` is used up."""

    def missing(actor: int) -> int:
        return sum(two not in near[one] for one, two in combinations(near[actor], 2))

    left = {actor: missing(actor) for actor in range(len(near))}
    actors: list[int] = []
    scopes: list[set[int]] = []
    while left:
        actor = min(left, key=lambda one: (left[one], len(near[one]), draw.random()))
        del left[actor]
        scope = near[actor]
        actors.append(actor)
        scopes.append(scope)
        for one in scope:
            near[one] |= scope
            near[one] -= {one, actor}
        for one in scope.union(*(near[other] for other in scope)):
            left[one] = missing(one)
    place = {actor: i for i, actor in enumerate(actors)}
    ordered = tuple(tuple(sorted(scope, key=lambda actor: place[actor])) for scope in scopes)
    return Order(tuple(actors), ordered, sum(1 << len(scope) for scope in ordered))
