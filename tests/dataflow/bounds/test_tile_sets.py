"""What cores, crossbars and the network do together: the cheapest column beside all, bounds beside least loads, proofs."""

from __future__ import annotations

import dataclasses
import json
import math
import random
from itertools import product

import numpy as np
import pytest
from tests.dataflow.load_model import least_load

from shorthaul import dataflow
from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.period import bounds_on_all
from shorthaul.dataflow.bounds.raising import with_tile_sets
from shorthaul.dataflow.bounds.tile_items import Prices
from shorthaul.dataflow.bounds.tile_sets import Column, TileSets
from shorthaul.dataflow.check.tile_prices import verify_tile_prices
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


def cheapest_of_all(sets: TileSets, whole: int, of_memory: bool, prices: Prices) -> int:
    """Return the least cost of all columns, each written out; parts are of a period, or of a tile's memory."""
    found = []
    for inside in product((0, 1), repeat=len(sets.actors)):
        costs = {0: 0}
        for actor in (number for number, here in enumerate(inside) if here):
            parts = 0 if of_memory else int(sets.own[actor]) * (sets.units + 1) // (whole + 1)
            more = (prices.work * int(sets.work[actor]) >> 20) + (prices.crossbar * int(sets.own[actor]) >> 20)
            costs = {at + parts: cost + more - int(prices.actor[actor]) for at, cost in costs.items()}
        for number, ends in enumerate(sets.ends):
            here = sum(inside[end] for end in ends)
            if not here:
                continue
            after: dict[int, int] = {}
            for way in range(3):
                asked = (sets.ways.crossbar, sets.ways.network, sets.ways.work, sets.ways.bytes)
                crossbar, network, work, held = (int(array[number, here - 1, way]) for array in asked)
                if crossbar < 0:
                    continue
                more = (
                    (network * prices.network >> 20) + (work * prices.work >> 20) + (crossbar * prices.crossbar >> 20)
                )
                more += held * (prices.byte + (way == 2) * prices.core_byte)
                more += int(prices.buffer[number]) if way > 0 and number < len(sets.buffers) else 0
                for at, cost in costs.items():
                    place = at + (held if of_memory else crossbar) * (sets.units + 1) // (whole + 1)
                    after[place] = min(after.get(place, cost + more), cost + more)
            costs = after
        found += [cost for at, cost in costs.items() if at <= sets.units]
    return min(found)


@pytest.mark.parametrize("seed", range(6))
def test_the_cheapest_column_is_that_of_all(seed: int, monkeypatch) -> None:
    if seed > 3:  # some buffers are apart
        monkeypatch.setattr(tuning, "TILE_SET_UNITS", ((64, 8 * 65),))
    application, platform, _ = drawn(seed, 6)
    sets, draw = TileSets(application, platform), np.random.default_rng(seed)
    assert bool(sets.apart) == (seed > 3)
    room = sets.room(2.0)
    for period, of_memory in ((300, False), (2000, False), (2000, True)):
        prices = Prices(
            draw.integers(0, 2**34, len(sets.actors)),
            draw.integers(0, 2**32, len(sets.buffers)),
            *(int(price) for price in draw.integers(0, 2**18, 2)),
            *(int(price) for price in draw.integers(2**54 // period, size=2)),
            int(draw.integers(2**44 // period)),
            0,
        )
        answer = sets.cheapest(of_memory, period, room, prices, Search(effort=1))
        assert answer is not None
        value, column = answer
        exact = cheapest_of_all(sets, room.tile_bytes if of_memory else period, of_memory, prices)
        unit = 2 ** max(0, int(prices.actor.sum()).bit_length() - 23)  # tables round every cost down to such units
        assert exact - unit * (len(sets.ends) + len(sets.actors)) < value <= exact
        assert worth(column, prices) == pytest.approx(exact, abs=(unit + 4) * (len(sets.ends) + len(sets.actors)))


def worth(column: Column, prices: Prices) -> float:
    """Return what a column costs at prices, in parts, to rounding."""
    cost = prices.network * column.network + prices.crossbar * column.crossbar + prices.work * column.work
    held = prices.core_byte * column.core_bytes + prices.byte * column.bytes
    paid = int(prices.buffer[[*column.buffers]].sum()) - int(prices.actor[[*column.actors]].sum())
    return cost / 2**20 + held + paid


def hunt(seeds: range, effort: float) -> tuple[int, int, int]:
    """Assert that no bound is above the least load; return how many were compared, how many raised, and how many close.

    All proofs hold, and none of a period that is a tenth longer than the least load.
    """
    compared = higher = close = 0
    for seed in seeds:
        application, platform, strategy = drawn(seed, 6)
        bounds = bounds_on_all(application, platform, strategy)
        lowest = tuple((cost, 1) for cost, _ in bounds.period_at_cost)
        found = with_tile_sets(
            application, platform, dataclasses.replace(bounds, period_at_cost=lowest), Search(effort=effort)
        )
        for proof in found.proofs:
            assert not verify_tile_prices(application, platform, proof, "proof")
        for cost, least in (found.period_at_cost[0], *found.period_at_cost[-1:-8:-3]):
            load, of_load = least_load(application, platform, strategy, (cost, 0), Search(effort=0.7))
            if of_load == math.inf:
                continue
            assert least <= load, (seed, cost)
            compared += 1
            higher += least > dict(bounds.period_at_cost)[cost]
            close += least >= 0.9 * load
            for proof in found.proofs:
                if proof["core_cost"] >= cost and proof["period"] < load + 2:
                    assert verify_tile_prices(application, platform, {**proof, "period": load + 2}, "proof")
    return compared, higher, close


@pytest.mark.slow
def test_no_mapping_is_below_at_length() -> None:
    compared, higher, close = hunt(range(60), 0.3)
    assert compared > 80
    assert higher > 20
    assert close > 20


def test_what_tiles_hold_together_is_far_above_the_bounds_of_each() -> None:
    """The least load that annealing finds is 9,147. Proofs fail for a longer period, or at other prices."""
    application, platform = random_graph(30, 0.3, 2, 2000, 1), platform24()
    bounds = bounds_on_all(application, platform, "mrb-explore")
    found = with_tile_sets(application, platform, bounds, Search(effort=0.3))
    assert 1.5 * bounds.period.value < found.period.value <= 9147
    assert found.period.value == found.period_at_cost[-1][1]
    assert found.period.method == "sets of actors in tiles"
    proof = next(proof for proof in found.proofs if proof["period"] == found.period.value)
    assert not verify_tile_prices(application, platform, proof, "proof")
    for damaged in ({"period": 9149}, {"actors": {}}, {"network": 2**60}):
        assert verify_tile_prices(application, platform, {**proof, **damaged}, "proof")


def test_check_verifies_what_bound_has_written(tmp_path) -> None:
    problem = "random:actors=12,seed=1"
    result = dataflow.bound(problem, effort=0.1).document()
    assert any("parts" in proof for proof in result["front_bound"]["proofs"])
    file = tmp_path / "bound.json"
    file.write_text(json.dumps(result))
    assert dataflow.check(problem, bound=str(file)).check.ok
    for proof in result["front_bound"]["proofs"]:
        proof["period"] *= 10
    file.write_text(json.dumps(result))
    assert not dataflow.check(problem, bound=str(file)).check.ok
    for changes in (
        {"network": -1},
        {"actors": {"a1": 0.5}},
        {"core_cost": True},
        {"parts_of": "tile"},
        {"apart": ["?"]},
    ):
        with pytest.raises(InputError):
            verify_tile_prices(
                random_graph(12), platform24(), {**result["front_bound"]["proofs"][0], **changes}, "proof"
            )


@pytest.mark.parametrize("core_cost", [24.0, 4.5, 1.0])
def test_prices_to_start_from_nearly_reach_the_prices_of_each(core_cost: float) -> None:
    """They cannot reach further than prices per core type do, and no column is below nothing at them."""
    application, platform = random_graph(40, 0.3, 2, 2000, 3), platform24()
    low = dict(bounds_on_all(application, platform, "mrb-explore").period_at_cost)[core_cost]
    contents = TileSets(application, platform)
    room = contents.room(core_cost)
    prices = contents.first_prices(room, low)
    for of_memory in (False, True):
        answer = contents.cheapest(of_memory, low, room, prices, Search(effort=10.0))
        assert answer is not None
        assert 0.9 * low < contents.reached(answer[0], prices, room) <= low
