"""The least period at a core cost: work, accesses and bytes at prices, and what there is on cores of that cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from math import lcm
from typing import Final, TypeVar

import numpy as np

from shorthaul.dataflow.bounds.prices import Demands, FloatArray, Prices, Supply
from shorthaul.dataflow.model import Application, Platform

_MOST_BUDGETS: Final = 200
_MOST_SUMS: Final = 10_000
NumberT = TypeVar("NumberT", int, float)
#: Room for the rounding of sums.
_MARGIN: Final = 1e-9


def period_at_cost(
    application: Application, platform: Platform, firing: Mapping[str, Mapping[str, int]], known: int
) -> tuple[tuple[float, int], ...]:  # fmt: skip
    """Return pairs of core cost and a lower bound on the period at that cost or below, ``known`` or more.

    The last pair is that of all cores. In a tick, cores of total cost K do work of at most that cost, on cores that are
    fast enough: a firing, of at least ``firing`` ticks per core type, takes no longer than the period. What crossbars,
    the network and the memories of tiles in use give together is relaxed (:mod:`prices`).
    """
    cost = {core.type: platform.core_types[core.type].cost for core in platform.cores}
    budgets = _budgets(platform)
    kinds = list(cost)
    ticks = np.array([[times.get(kind, np.inf) for kind in kinds] for times in firing.values()], np.float64)
    rates = np.array([cost[kind] for kind in kinds])
    prices = Prices(Demands(application, platform, firing, kinds), np.where(np.isfinite(ticks), ticks, 0.0), rates)
    supplies = [supply_at(platform, budget) for budget in budgets]
    for supply in supplies:
        prices.refine(supply)
    curve: list[tuple[float, int]] = []
    low = max(1, known, int(ticks.min(axis=1).max()))  # no period is shorter than a tick
    for supply in reversed(supplies):  # what holds at a cost holds below
        low = _least(prices, ticks, supply, low)
        curve.append((float(supply.cost), low))
    return tuple(reversed(curve))


def _budgets(platform: Platform) -> list[float]:
    """Return what cores in use can cost together, rising, 0 where all are free alone; of many some, the last always."""
    count = Counter(Fraction(platform.core_types[core.type].cost) for core in platform.cores)
    unit = lcm(*(price.denominator for price in count))
    sums = sums_of({int(price * unit): cores for price, cores in count.items()})
    rising = sorted({float(Fraction(units, unit)) for units in sums if units})
    apart = [cost for cost, after in pairwise([*rising, math.inf]) if after > cost * (1 + _MARGIN)]
    return _some(apart, _MOST_BUDGETS) or [0.0]


def sums_of(count: Mapping[int, int]) -> list[int]:
    """Return what so many cores of every price can cost together, rising; of very many sums some."""
    sums = [0]
    for price, cores in count.items():
        more = sorted({known + price * used for known in sums for used in range(cores + 1)})
        sums = sorted({0, *_some(more, _MOST_SUMS)})
    return sums


def _some(costs: list[NumberT], most: int) -> list[NumberT]:
    """Return at most so many of the costs, evenly spread, the last one always."""
    step = max(1.0, len(costs) / most)
    return [costs[-1 - int(step * number)] for number in range(min(most, len(costs)))][::-1]


def _least(prices: Prices, ticks: FloatArray, supply: Supply, low: int) -> int:
    """Return the least period, ``low`` or more, that no prices exclude."""
    vectors = np.array(prices.vectors)
    tables = np.array(prices.tables)
    held, gained = vectors @ supply.held, vectors @ supply.per_tick

    def missing(period: float, number: int | slice) -> FloatArray:
        """Return what is asked above what there is, in the unit of the period."""
        least = np.where(ticks <= period, tables[number], np.inf).min(axis=-1).sum(axis=-1)
        return np.asarray(least - held[number] * (1 + _MARGIN) - gained[number] * period * (1 + _MARGIN))

    while True:
        excess = np.divide(missing(low, slice(None)), gained, out=np.zeros_like(gained), where=gained > 0)
        best = int(excess.argmax())
        if not excess[best] > 0:
            return low
        high = low + 1
        while missing(high, best) > 0:
            high += high - low
        while high - low > 1:  # out at low, not at high
            middle = (low + high) // 2
            low, high = (middle, high) if missing(middle, best) > 0 else (low, middle)
        low = high


def supply_at(platform: Platform, budget: float) -> Supply:
    """Return what there is at most on cores that cost ``budget`` together."""
    cost = {core.type: platform.core_types[core.type].cost for core in platform.cores}
    tiles = _most_tiles(platform, budget)
    largest = sorted((tile.tile_memory_bytes for tile in platform.tiles), reverse=True)
    count = Counter(core.type for core in platform.cores)
    most = budget * (1 + _MARGIN)
    cores = tuple(min(count[kind], int(most / price)) if price else count[kind] for kind, price in cost.items())
    return Supply(budget, tiles, _most_bytes(platform, cost, budget), sum(largest[:tiles]), cores)


def _most_tiles(platform: Platform, budget: float) -> int:
    """Return how many tiles cores that cost ``budget`` are in at most, at least one."""
    tiles, left = 0, budget * (1 + _MARGIN)
    for price in sorted(
        min(platform.core_types[core.type].cost for core in tile.cores) for tile in platform.tiles if tile.cores
    ):
        left -= price
        tiles += left >= 0
    return max(1, tiles)


def _most_bytes(platform: Platform, cost: Mapping[str, float], budget: float) -> float:
    """Return the most bytes that memories of cores hold which cost ``budget`` together (parts of cores count too)."""
    room = 0.0
    holding = (core for core in platform.cores if core.local_bytes)
    for core in sorted(holding, key=lambda core: cost[core.type] / core.local_bytes):
        price = cost[core.type]
        part = 1.0 if price <= budget else budget / price
        room += part * core.local_bytes
        budget -= part * price
    return room
