"""The least period at a core cost: work times price, with what the memories of the cores in use can hold."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from shorthaul.dataflow.bounds.firings import channels_together
from shorthaul.dataflow.model import Application, Channel, Platform, ticks_for

FloatArray = npt.NDArray[np.float64]

_MOST_BUDGETS: Final = 200
#: Room for the rounding of sums.
_MARGIN: Final = 1e-9
#: Prices of a byte that are tried: any of them gives a bound.
_BYTE_PRICES: Final = 16


@dataclass(frozen=True, slots=True)
class _Access:
    """A token that an actor writes or reads: its bytes, those of the buffer, and its share of these."""

    token_bytes: int
    size: int
    share: float


def period_at_cost(
    application: Application, platform: Platform, firing: Mapping[str, Mapping[str, int]], known: int
) -> tuple[tuple[float, int], ...]:
    """Return pairs of core cost and a lower bound on the period at that cost or below, ``known`` or more.

    In a tick, cores of total cost K do work of at most that cost, on cores that are fast enough: a firing, of at least
    ``firing`` ticks per core type, takes no longer than the period. Only buffers in memories of the cores in use are
    accessed in no time, and the accesses to one share its bytes. What these memories hold together is relaxed: a byte
    has a price (a Lagrange multiplier), and cores of cost K hold bytes of at most as much.
    """
    cost = {core.type: platform.core_types[core.type].cost for core in platform.cores}
    unit = min((price for price in cost.values() if price > 0), default=0.0)
    if unit == 0:
        return ()
    kinds = list(cost)
    ticks = np.array([[times.get(kind, np.inf) for kind in kinds] for times in firing.values()], np.float64)
    relaxed = _relaxed(application, platform, firing, kinds)
    slowest = max(known, int(ticks.min(axis=1).max()))
    longest = max(slowest, int(ticks[np.isfinite(ticks)].max()))

    def work(number: int, period: float, held: float) -> float:
        """Return what the cores do at the least, in ticks times cost, with memories of ``held`` bytes."""
        byte, price = relaxed[number]
        return float(np.where(ticks <= period, price, np.inf).min(axis=1).sum() - byte * held * (1 + _MARGIN))

    def least(number: int, budget: float, held: float, low: int) -> int:
        high = max(longest, int(relaxed[number][1].min(axis=1).sum() / budget) + 1)
        while high - low > 1:  # out at low, not at high
            middle = (low + high) // 2
            if work(number, middle, held) > budget * middle * (1 + _MARGIN):
                low = middle
            else:
                high = middle
        return high

    total = sum(cost[core.type] for core in platform.cores)
    curve = []
    for step in range(1, min(_MOST_BUDGETS, int(total / unit)) + 1):
        budget = unit * step
        held = _most_bytes(platform, cost, budget)
        period = least(0, budget, held, slowest - 1)
        _, best = max((work(number, period, held), -number) for number in range(len(relaxed)))
        carried = crossbars_together(application, platform, firing, budget)
        curve.append((float(budget), max(carried, least(-best, budget, held, period - 1))))
    return tuple(curve)


def _relaxed(
    application: Application, platform: Platform, firing: Mapping[str, Mapping[str, int]], kinds: Sequence[str]
) -> list[tuple[float, FloatArray]]:
    """Return prices of a byte, each with the least price (actors, core types) of a firing and of the bytes it holds."""
    accesses = _accesses(application, firing)
    ticks_of = {actor.id: actor.ticks for actor in application.actors}
    places = {(core.type, core.local_bytes, t.crossbar_bytes_per_s) for t in platform.tiles for core in t.cores}
    # per place where an actor can run: its number, its type's, the price of what takes time for sure, that of every
    # access that need not, and its share of bytes
    rows: list[tuple[int, int, float, FloatArray, FloatArray]] = []
    for number, name in enumerate(firing):
        for kind, local, bandwidth in sorted(places):
            if kind not in ticks_of[name]:
                continue
            sure, moved, shares = ticks_of[name][kind], [], []
            for access in accesses[name]:
                ticks = ticks_for(access.token_bytes, bandwidth, application.ticks_per_second)
                if access.size > local:
                    sure += ticks
                else:
                    moved.append(ticks)
                    shares.append(access.share)
            rate = platform.core_types[kind].cost
            rows.append((number, kinds.index(kind), rate * sure, rate * np.array(moved, float), np.array(shares)))
    ratios = np.concatenate([moved[shares > 0] / shares[shares > 0] for *_, moved, shares in rows])
    ratios = ratios[ratios > 0]
    prices = [0.0, *np.geomspace(ratios.min(), ratios.max(), _BYTE_PRICES)] if len(ratios) else [0.0]
    rates = np.array([platform.core_types[kind].cost for kind in kinds])
    alone = rates * np.array([[times.get(kind, np.inf) for kind in kinds] for times in firing.values()], np.float64)
    relaxed = []
    for byte in prices:
        price = np.full(alone.shape, np.inf)
        for number, column, sure_price, moved_price, shares_held in rows:
            least = sure_price + np.minimum(moved_price, byte * shares_held).sum()
            price[number, column] = min(price[number, column], least)
        relaxed.append((float(byte), np.maximum(price, np.nan_to_num(alone, posinf=0.0))))
    return relaxed


def _accesses(application: Application, actors: Mapping[str, object]) -> dict[str, list[_Access]]:
    """Return the accesses of ``actors``; whatever multicasts are replaced, shares of one buffer add up to its bytes."""
    accesses: dict[str, list[_Access]] = {name: [] for name in actors}
    for group in channels_together(application).values():
        size = _least_bytes(group)
        ends = [(channel, end) for channel in group for end in (channel.src, channel.dst) if end in actors]
        for channel, end in ends:
            accesses[end].append(_Access(channel.token_bytes, size, size / len(ends)))
    return accesses


def _least_bytes(group: Sequence[Channel]) -> int:
    """Return the least bytes of a buffer, or of several, that channels share if their multicasts are replaced."""
    return min(channel.token_bytes for channel in group) * (max(1, group[0].delay) if len(group) == 1 else 1)


def crossbars_together(
    application: Application, platform: Platform, actors: Collection[str], budget: float
) -> int:  # fmt: skip
    """Return the least period with which the crossbars of all tiles where cores are in use carry all accesses.

    Those to buffers in the memories of cores in use that cost ``budget`` take no time, at most: a fractional knapsack.
    """
    cost = {core.type: platform.core_types[core.type].cost for core in platform.cores}
    fastest = max(tile.crossbar_bytes_per_s for tile in platform.tiles)
    largest = max(core.local_bytes for core in platform.cores)
    total, items = 0, []
    for group in channels_together(application).values():
        accesses = sum(end in actors for channel in group for end in (channel.src, channel.dst))
        ticks = accesses * ticks_for(group[0].token_bytes, fastest, application.ticks_per_second)
        size = _least_bytes(group)
        total += ticks if size else 0  # a buffer of no bytes fits every memory
        if 0 < size <= largest:
            items.append((ticks / size, size))
    held, saved = _most_bytes(platform, cost, budget), 0.0
    for rate, size in sorted(items, reverse=True):
        saved += rate * min(size, held)
        held -= min(size, held)
    tiles, left = 0, budget * (1 + _MARGIN)
    for price in sorted(min(cost[core.type] for core in tile.cores) for tile in platform.tiles if tile.cores):
        left -= price
        tiles += left >= 0
    return math.ceil((total - saved * (1 + _MARGIN)) / max(1, tiles))


def _most_bytes(platform: Platform, cost: Mapping[str, float], budget: float) -> float:
    """Return the most bytes that memories of cores hold which cost ``budget`` together (parts of cores count too)."""
    room = 0.0
    for core in sorted(platform.cores, key=lambda core: cost[core.type] / max(core.local_bytes, 1)):
        price = cost[core.type]
        part = 1.0 if price <= budget else budget / price
        room += part * core.local_bytes
        budget -= part * price
    return room
