"""Proofs of least periods by prices of what tiles hold, verified: no set of actors in a tile costs less than nothing.

Shares no code with bounds. In a mapping of a period every tile holds a set of actors and some buffers, and its crossbar
carries their accesses. A set earns the prices of its actors and pays for its buffers, their bytes, what it sends over
the network, what crossbars carry for it, and its work at the costs of cores. All sets together earn the prices of all
actors, and pay no more than there is of buffers, bytes, ticks of the network and of all crossbars, and work of cores.
The cheapest set is found actor by actor along a path: a table holds the least cost by which actors that still matter
are in the tile, and by parts of the period in which the crossbar is busy, or of the tile's memory, rounded down.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from shorthaul.core.check import Violation
from shorthaul.core.errors import InputError
from shorthaul.dataflow.check.core_prices import SharedBuffer, shared_buffers
from shorthaul.dataflow.model import Application, Platform, ticks_for

IntArray = npt.NDArray[np.int64]
#: Ticks of the crossbar and of the network, work, and whether the buffer is in the tile, and in a core.
Way: TypeAlias = tuple[int, int, int, bool, bool]
#: Parts that a choice takes, and its cost.
Choice: TypeAlias = tuple[int, int]
KEYS: Final = {
    "core_cost", "period", "parts", "parts_of", "apart", "actors", "buffers", "core_memory", "memory", "network",
    "crossbar", "work",
}  # fmt: skip
_RULE: Final = "tile-prices"
#: Prices of ticks and work are in such parts, all memories in so many units, the dearest core costs so much.
_FINER: Final = 2**20
_MEMORY_UNITS: Final = 2**14
_COST_UNITS: Final = 1000
_MARGIN: Final = Fraction(1, 10**9)
#: Sums of prices, what one item costs at most, more than all, and the most entries of a table.
_MOST_SUM: Final = 2**54
_DEAR: Final = 2**50
_NEVER: Final = 2**60
_MOST_ENTRIES: Final = 2**25


@dataclass(frozen=True, slots=True)
class _Item:
    """What two actors share: by how many of them are in the tile, the ways to carry it, each with its cost."""

    ends: tuple[int, int]
    ways: Mapping[int, list[Choice]]


class _Asked:
    """What actors of a tile ask for at the prices of a proof: items that two share, and what each chooses alone."""

    def __init__(self, application: Application, platform: Platform, prices: Mapping[str, Any]) -> None:
        self.prices, self.period, self.units = prices, prices["period"] - 1, prices["parts"]
        costs = {core.type: Fraction(platform.core_types[core.type].cost) for core in platform.cores}
        self.scale = Fraction(_COST_UNITS) / max(costs.values()) if max(costs.values()) > 0 else Fraction(0)
        rates = {kind: math.floor(cost * self.scale) for kind, cost in costs.items()}
        self.rate = min(rates.values())
        all_bytes = sum(core.local_bytes for core in platform.cores) + sum(t.tile_memory_bytes for t in platform.tiles)
        self.unit = max(1, all_bytes // _MEMORY_UNITS)
        self.tiles, core_bytes, all_held, largest = _room(platform, Fraction(prices["core_cost"]) * (1 + _MARGIN))
        self.core_bytes, self.bytes = core_bytes // self.unit, all_held // self.unit
        of_memory = prices["parts_of"] == "memory"
        self.whole = max(1, largest // self.unit) if of_memory else self.period
        self.of_memory, self.platform, self.paid = of_memory, platform, 0
        multicasts = set(application.multicasts)
        actors = [actor for actor in application.actors if actor.id not in multicasts]
        number = {actor.id: i for i, actor in enumerate(actors)}
        least = [min((rates[kind] * t for kind, t in a.ticks.items() if kind in rates), default=0) for a in actors]
        self.earned = [prices["actors"].get(actor.id, 0) for actor in actors]
        self.items: list[_Item] = []
        self.alone: list[list[list[Choice]]] = [[] for _ in actors]
        own = [0] * len(actors)
        for buffer in shared_buffers(application, multicasts, separate=False):
            self._share(buffer, number, own, application.ticks_per_second)
        for i, (work, ticks) in enumerate(zip(least, own, strict=True)):
            cost = self._cost(ticks, 0, work + self.rate * ticks) - self.earned[i]
            self.alone[i].append([(0 if of_memory else ticks * (self.units + 1) // (self.period + 1), cost)])

    def _share(self, buffer: SharedBuffer, number: Mapping[str, int], own: list[int], ticks_per_second: int) -> None:
        """Add what the actors of a buffer ask for, or of several that become one."""
        platform, rate, prices = self.platform, self.rate, self.prices
        fastest = max(tile.crossbar_bytes_per_s for tile in platform.tiles)
        near, far = (
            ticks_for(buffer.token_bytes, speed, ticks_per_second)
            for speed in (fastest, min(fastest, platform.noc_bytes_per_s))
        )
        fits_core = buffer.size <= max(core.local_bytes for core in platform.cores)
        ends = [number[end] for end in buffer.of_actors]
        others = [end for end in dict.fromkeys(ends) if end != ends[0]]
        is_apart, size = buffer.name in prices["apart"], buffer.size // self.unit
        if not buffer.size:
            return
        if others and buffer.channels == 1 and len(ends) == 2:
            price = 0 if is_apart else prices["buffers"].get(buffer.name, 0)
            self.paid += price
            ways: dict[int, list[Choice]] = {}
            for inside, beside in ((1, far), (2, 0)):
                choices: list[Way] = [
                    (inside * far, inside * far, rate * inside * far, False, False),
                    (inside * near + beside, 0, rate * inside * near, True, False),
                ]
                choices += [(beside, 0, 0, True, True)] if fits_core else []
                ways[inside] = self._priced(choices, price, size)
            if not is_apart:
                self.items.append(_Item((ends[0], others[0]), ways))
                return
            single: list[Way] = [(far, far, rate * far, False, False), (near, 0, rate * near, True, False)]
            single += [(0, 0, 0, True, True)] if fits_core else []
            for end in ends:
                self.alone[end].append(self._priced(single, 0, size // 2))
            return
        for end in () if is_apart else others:
            ticks = far // (2 * len(others))
            self.items.append(
                _Item((ends[0], end), {1: self._priced([(0, ticks, 0, False, False)], 0, 0), 2: [(0, 0)]})
            )
        for end in () if fits_core else ends:
            own[end] += near

    def _priced(self, ways: Sequence[Way], price: int, size: int) -> list[Choice]:
        """Return the parts and costs of ways."""
        found = []
        for crossbar, network, work, in_tile, in_core in ways:
            cost = self._cost(crossbar, network, work) + in_tile * (price + size * self.prices["memory"])
            asked = in_tile * size if self.of_memory else crossbar
            # amounts up to the whole together make less than one part more than there are
            parts = asked * (self.units + 1) // (self.whole + 1)
            found.append((parts, min(_DEAR, cost + in_core * size * self.prices["core_memory"])))
        return found

    def _cost(self, crossbar: int, network: int, work: int) -> int:
        """Return what ticks of crossbars and of the network, and work, cost, each rounded down."""
        asked = (("crossbar", crossbar), ("network", network), ("work", work))
        return min(_DEAR, sum(int(self.prices[name]) * amount // _FINER for name, amount in asked))


def verify_tile_prices(application: Application, platform: Platform, proof: object, place: str) -> list[Violation]:
    """Return what is wrong with one proof of a least period at a core cost; :class:`InputError` if it is none."""
    prices = _parsed(proof, place)
    multicasts = set(application.multicasts)
    channels = {channel.id for channel in application.channels}
    for name, known in (
        ("actors", {actor.id for actor in application.actors} - multicasts), ("buffers", channels), ("apart", channels)
    ):  # fmt: skip
        for one in prices[name]:
            if one not in known:
                raise InputError("is not of this application", place=f"{place}.{name}", value=one)
    asked, period = _Asked(application, platform, prices), prices["period"] - 1
    least = _least(asked.items, asked.alone, asked.units)
    if least is None:
        return [Violation(_RULE, place, "that no set of actors costs less was not decided: too many matter at once")]
    budget = math.floor(Fraction(prices["core_cost"]) * asked.scale * period * (1 + _MARGIN))
    ticks = (prices["network"] + asked.tiles * prices["crossbar"]) * period
    spent = (ticks + prices["work"] * budget) // _FINER
    held = asked.paid + prices["core_memory"] * asked.core_bytes + prices["memory"] * asked.bytes
    excess = sum(asked.earned) - held + asked.tiles * min(0, least) - spent
    if excess > 0:
        return []
    message = f"sets of actors in tiles may have a period of {period} at a core cost of {prices['core_cost']:g}"
    return [Violation(_RULE, place, message, 0.0, float(excess))]


def _room(platform: Platform, budget: Fraction) -> tuple[int, int, int, int]:
    """Return how many tiles cores of a cost are in, the most bytes in their memories, with tiles', and of one tile."""
    price = {core.id: Fraction(platform.core_types[core.type].cost) for core in platform.cores}
    tiles, left = 0, budget
    for cheapest in sorted(min(price[core.id] for core in tile.cores) for tile in platform.tiles if tile.cores):
        left -= cheapest
        tiles += left >= 0
    held, left = Fraction(0), budget
    holding = [core for core in platform.cores if core.local_bytes]
    for core in sorted(holding, key=lambda core: price[core.id] / core.local_bytes):
        part = Fraction(1) if price[core.id] <= left else left / price[core.id]
        held += part * core.local_bytes
        left -= part * price[core.id]
    memories = sorted((tile.tile_memory_bytes for tile in platform.tiles), reverse=True)[: max(1, tiles)]
    most = math.floor(held)
    largest = max(t.tile_memory_bytes + min(most, sum(core.local_bytes for core in t.cores)) for t in platform.tiles)
    return max(1, tiles), most, most + sum(memories), largest


def _least(items: Sequence[_Item], alone: Sequence[Sequence[Sequence[Choice]]], units: int) -> int | None:
    """Return the least cost of a set of actors; None where too many matter at once."""
    near: list[set[int]] = [set() for _ in alone]
    for item in items:
        near[item.ends[0]].add(item.ends[1])
        near[item.ends[1]].add(item.ends[0])
    order = min((_path(near, first) for first in range(len(near))), key=lambda found: found[0])[1]
    place = {actor: i for i, actor in enumerate(order)}
    front: list[int] = []
    table = np.zeros(units + 1, np.int64)
    for i, actor in enumerate(order):
        if 2 * table.size > _MOST_ENTRIES:
            return None
        here = table
        for choices in alone[actor]:
            here = _chosen(here, choices, units)
        table = np.stack((table, here), axis=-2)
        front.append(actor)
        for item in items:
            if max(place[end] for end in item.ends) == i:
                _carry(np.moveaxis(table, [front.index(end) for end in item.ends], (0, 1)), item, units)
        for old in [old for old in front if all(place[other] <= i for other in near[old])]:
            table = table.min(axis=front.index(old))
            front.remove(old)
    return int(table.min())


def _carry(view: IntArray, item: _Item, units: int) -> None:
    """Add the cheapest way to carry an item to the costs of all sets that hold one of its actors, or both."""
    for one, other in ((0, 1), (1, 0), (1, 1)):
        view[one, other] = _chosen(view[one, other], item.ways[one + other], units)


def _chosen(table: IntArray, choices: Sequence[Choice], units: int) -> IntArray:
    """Return the least costs with one of the choices."""
    best = np.full_like(table, _NEVER)
    for parts, cost in choices:
        if parts <= units:
            rest = best[..., parts:]
            np.minimum(rest, table[..., : units + 1 - parts] + cost, out=rest)
    return best


def _path(near: Sequence[set[int]], first: int) -> tuple[int, list[int]]:
    """Return how many entries tables have, and the actors from a first one on, each next such that fewest matter."""
    order: list[int] = []
    left, entries = set(range(len(near))), 0
    ahead: dict[int, set[int]] = {}  # per actor that matters, its neighbours that are left
    actor = first
    while True:
        order.append(actor)
        left.remove(actor)
        ahead[actor] = near[actor] - {actor}
        entries += 1 << len(ahead)
        ahead = {one: rest for one, others in ahead.items() if (rest := others & left)}
        if not left:
            return entries, order
        closing = Counter(other for rest in ahead.values() if len(rest) == 1 for other in rest)
        more = {one: bool(near[one] & left - {one}) - closing[one] for one in set().union(*ahead.values()) or left}
        actor = min(more, key=lambda one: (more[one], one))


def _parsed(proof: object, place: str) -> Mapping[str, Any]:
    if not isinstance(proof, Mapping) or set(proof) != KEYS:
        raise InputError("is no proof by prices of tiles", place=place, allowed=", ".join(sorted(KEYS)))
    cost = proof["core_cost"]
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost <= 1e18:
        raise InputError("is no core cost", place=f"{place}.core_cost", value=cost)
    for name, low, high in (
        ("period", 2, 2**40), ("parts", 1, 1024), ("core_memory", 0, 2**40), ("memory", 0, 2**40),
        ("network", 0, 2**60), ("crossbar", 0, 2**60), ("work", 0, 2**60),
    ):  # fmt: skip
        if type(proof[name]) is not int or not low <= proof[name] <= high:
            raise InputError("is no such number", place=f"{place}.{name}", allowed=f"{low} to {high}")
    if proof["parts_of"] not in ("crossbar", "memory"):
        raise InputError("has no parts", place=f"{place}.parts_of", value=proof["parts_of"], allowed="crossbar, memory")
    if not isinstance(proof["apart"], list) or not all(isinstance(name, str) for name in proof["apart"]):
        raise InputError("are no channels", place=f"{place}.apart", allowed="a list of names")
    for name, least in (("actors", -_MOST_SUM), ("buffers", 0)):
        numbers = proof[name].values() if isinstance(proof[name], Mapping) else [None]
        if not all(type(number) is int and number >= least for number in numbers):
            raise InputError("are not prices by name", place=f"{place}.{name}", allowed="whole numbers")
        if sum(map(abs, numbers)) > _MOST_SUM:
            raise InputError("are too large together", place=f"{place}.{name}", allowed=f"up to {_MOST_SUM}")
    return proof
