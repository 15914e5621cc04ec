"""Least periods of small problems by all mappings: below them, some core or interconnect is too busy in each.

Trees of mappings (:mod:`mappings_kernels`) are searched for one of less load than a period to exclude, a little longer
every time. Where there is none, no mapping has that period; where there is one, nothing above its load can be excluded.
Buffers may be in the memory of any actor that accesses them, and hold their initial tokens, or one.

First the cores of every tile are one: its memory holds what those of all could, each buffer no larger than one of them
holds, and all tiles together no more than cores of a core cost do. It executes an actor in the time in which the
cheapest core does the work that is least for any, counted at the costs of cores. Its load bounds nothing but work: all
together do no more in a period than the core cost pays for. So a mapping to cores is one to tiles, of no more load, and
mappings to tiles are far fewer. Those to cores come second, up from the lowest core costs.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

import numpy as np

from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.period import FrontBound
from shorthaul.dataflow.bounds.period_at_cost import supply_at
from shorthaul.dataflow.mapping.arrays import Instance, build
from shorthaul.dataflow.mapping.mapping_kernels import Genotypes, Problem
from shorthaul.dataflow.mapping.mappings_kernels import begin_again, mapping_of, next_mapping
from shorthaul.dataflow.mapping.trees import ANY_READER, MILLION, IntArray, is_small, trees, units_of
from shorthaul.dataflow.model import Application, Platform


def with_every_mapping(
    application: Application, platform: Platform, strategy: str, bounds: FrontBound, search: Search,
    known: Mapping[float, float] | None = None,
) -> FrontBound:  # fmt: skip
    """Return the bounds with least periods per core cost that no mapping falls below.

    Where periods are ``known``, nothing is looked for at other core costs, nor above them.
    """
    instance = build(application, platform)
    if (
        not is_small(instance, instance.never, tuning.EVERY_MAPPING_TASKS[-1][0])
        or not bounds.period_at_cost
        or search.expired()
    ):
        return bounds
    least = dict(bounds.period_at_cost)
    rising = sorted(cost for cost in least if known is None or cost in known)
    for of_tiles, costs in ((True, rising[::-1]), (False, rising)):
        mappings = _Mappings(instance, strategy, of_tiles=of_tiles)
        part = search.part(tuning.LEAST_LOAD_SHARE if of_tiles else 1.0)
        for number, cost in enumerate(costs):
            most = math.inf if known is None else known[cost]
            share = part.part(max(tuning.LEAST_LOAD_SHARE, 1 / (len(costs) - number)))
            if share.expired() or least[cost] >= most:
                continue
            proven = mappings.least_load(cost, least[cost], most, share)
            least |= {below: max(low, proven) for below, low in least.items() if below <= cost}
    return dataclasses.replace(bounds, period_at_cost=tuple(least.items()))


class _Mappings:
    """The trees of all mappings of a problem to its cores, or to its tiles."""

    def __init__(self, instance: Instance, strategy: str, *, of_tiles: bool) -> None:
        self.platform, self.never, self.of_tiles = instance.platform, instance.never, of_tiles
        price, self.unit = units_of(instance)
        largest = instance.limits[: len(price)]
        if of_tiles:
            instance, price, largest = _merged(instance, price)
        self.trees = list(trees(Problem(instance), instance, price, strategy, ANY_READER, largest))

    def least_load(self, core_cost: float, low: int, high: float, search: Search) -> int:
        """Return a period up to ``high`` below which no mapping of a core cost has all its loads; ``low`` or more."""
        most = math.floor(core_cost * MILLION / self.unit + 1e-6)
        if self.of_tiles:
            for tree in self.trees:
                tree.at.loosen(math.floor(supply_at(self.platform, core_cost).core_bytes))
        high, step = min(high, self.never), tuning.LEAST_LOAD_STEP
        while low < high:
            spent = search.spent()
            rival = int(min(low * (1 + step) + 1, high))
            found = self._found(most, rival, search)
            if found is None:
                return low
            low, high = found, (high if found == rival else found)
            step *= 2 if search.spent() - spent < tuning.LEAST_LOAD_CHEAP * search.left() else 1
        return low

    def _found(self, most: int, rival: int, search: Search) -> int | None:
        """Return the least load of mappings below a rival's, the rival's if there is none; None if not known."""
        for tree in self.trees:
            is_over = False
            begin_again(tree.at)
            while not (is_over or search.expired()):
                tree.at.compete(np.array([most], np.int64), np.array([rival], np.int64))
                done = tree.at.steps
                found = next_mapping(tree.at, int(min(tuning.CALL_EFFORT, search.left()) * tuning.TREE_STEPS) + 1)
                search.spend((tree.at.steps - done) / tuning.TREE_STEPS)
                rival = mapping_of(tree.at, Genotypes(*tree.one)) if found > 0 else rival
                is_over = found == 0
            if not is_over:
                return None
        return rival


def _merged(instance: Instance, price: IntArray) -> tuple[Instance, IntArray, IntArray]:
    """Return an instance with one core per tile, the price of each, and the largest buffer of its memory."""
    homes = np.unique(instance.core_tile)
    tiles = [np.flatnonzero(instance.core_tile == home) for home in homes]
    rate = np.array([price[members].min() for members in tiles], np.int64)
    tau = np.full((len(instance.tau), len(tiles)), -1, np.int64)
    for actor, able in enumerate(instance.able):
        for number, members in enumerate(tiles):
            cores = np.intersect1d(members, able)
            work = price[cores] * instance.tau[actor, instance.core_type[cores]]
            if len(cores):
                tau[actor, number] = work.min() // max(1, rate[number])
    held, largest = ([each(instance.limits[members]) for members in tiles] for each in (np.sum, np.max))
    merged = dataclasses.replace(
        instance,
        tau=tau,
        core_type=np.arange(len(tiles)),
        core_tile=homes,
        core_cost=np.array([instance.core_cost[members].min() for members in tiles]),
        limits=np.concatenate([np.array(held, np.int64), instance.limits[len(price) :]]),
        able=tuple(np.flatnonzero(times >= 0) for times in tau),
    )
    return merged, rate, np.array(largest, np.int64)
