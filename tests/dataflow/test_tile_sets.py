"""What crossbars and the network carry together: the cheapest column beside all columns, bounds beside least loads."""

from __future__ import annotations

import math
import random
from itertools import product

import numpy as np
import pytest

from shorthaul.core.search import Search
from shorthaul.dataflow.bounds.load_model import least_load
from shorthaul.dataflow.bounds.period import bounds_on_all
from shorthaul.dataflow.bounds.tile_load import with_tile_loads
from shorthaul.dataflow.bounds.tile_sets import TileSets, _Prices, least_of_tile_sets
from shorthaul.dataflow.workloads.generators import platform24, random_graph


def drawn(seed: int, most_actors: int):
    """Return a random graph of large tokens, a platform of small memories, and a strategy."""
    draw = random.Random(seed)
    actors, density, multicasts = draw.randint(3, most_actors), draw.choice((0.2, 0.5, 1.0)), draw.choice((0, 0, 1, 2))
    application = random_graph(actors, density, multicasts, draw.choice((5, 300)), seed)
    platform = platform24(
        tiles=draw.choice((2, 3)), per_type=1, local_bytes=draw.choice((0, 2**19, 2**21, 5 * 2**19)),
        tile_bytes=draw.choice((2**21, 2**23, 50 * 2**20)),
    )  # fmt: skip
    return application, platform, draw.choice(("reference", "mrb-always", "mrb-explore"))


def cheapest_of_all(sets: TileSets, period: int, prices: _Prices) -> int:
    """Return the least cost of all columns, each written out."""
    found = []
    for inside in product((0, 1), repeat=sets.count):
        rest = -sum(int(price) for price, here in zip(prices.actor, inside, strict=True) if here)
        for tie in sets.ties:
            rest += 16 * tie.ticks * (inside[tie.ends[0]] != inside[tie.ends[1]])
        costs = {0: rest}
        for number, buffer in enumerate(sets.buffers):
            here = sum(inside[end] for end in buffer.ends)
            far, price = (2 - here) * buffer.far, int(prices.buffer[number]) + buffer.size * prices.byte
            ways = [(0, 0)] if not here else [(here * buffer.far, 16 * here * buffer.far)]
            ways += [(here * buffer.near + far, price)] if here else []
            ways += [(far, price + buffer.size * prices.core_byte)] if here and buffer.fits_core else []
            after: dict[int, int] = {}
            for (units, cost), (ticks, more) in product(costs.items(), ways):
                at = units + ticks * sets.units // period
                if at <= sets.units:
                    after[at] = min(after.get(at, cost + more), cost + more)
            costs = after
        found += costs.values()
    return min(found)


@pytest.mark.parametrize("seed", range(6))
def test_the_cheapest_column_is_that_of_all(seed: int) -> None:
    application, platform, _ = drawn(seed, 6)
    sets, draw = TileSets(application, platform), np.random.default_rng(seed)
    for period in (300, 2000):
        most = 16 * max(buffer.far for buffer in sets.buffers)
        prices = _Prices(
            draw.integers(0, 2 * most, sets.count),
            draw.integers(0, most, len(sets.buffers)),
            *draw.integers(0, 4, 2),
            0,
        )
        value, column = sets.cheapest(period, prices)
        assert value == sets.worth(column, prices) == cheapest_of_all(sets, period, prices)


def hunt(seeds: range) -> tuple[int, int]:
    """Assert that no bound is above the least load; return how many were compared, and how many within a tenth."""
    compared = close = 0
    for seed in seeds:
        application, platform, strategy = drawn(seed, 6)
        least = least_of_tile_sets(application, platform, 0, Search(effort=0.15))
        load, cost = least_load(application, platform, strategy, (1e9, 0), Search(effort=0.7))
        if cost < math.inf:
            assert least <= load, seed
            compared += 1
            close += least >= 0.9 * load
    return compared, close


@pytest.mark.slow
def test_no_mapping_is_below_at_length() -> None:
    compared, close = hunt(range(100))
    assert compared > 40
    assert close > 10


def test_what_tiles_hold_together_is_far_above_the_bounds_of_each() -> None:
    """The least load that annealing finds is 9,147."""
    application, platform = random_graph(30, 0.3, 2, 2000, 1), platform24()
    bounds = bounds_on_all(application, platform, "mrb-explore")
    least = least_of_tile_sets(application, platform, int(bounds.period.value), Search(effort=0.2))
    assert 1.4 * bounds.period.value < least <= 9147


def test_the_bound_says_what_proves_it() -> None:
    application, platform = random_graph(18, 0.2, 0, 20, 1), platform24(tiles=2, local_bytes=0)
    bounds = bounds_on_all(application, platform, "mrb-explore")
    found = with_tile_loads(application, platform, "mrb-explore", bounds, Search(effort=0.2))
    assert found.period.value == found.period_at_cost[-1][1] > bounds.period.value
    assert found.period.method == "sets of actors in tiles"
