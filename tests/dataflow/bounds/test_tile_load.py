"""The least load of the tile of one actor: no mapping is below, and some meet it."""

from __future__ import annotations

import math

import pytest
from tests.dataflow.bounds.test_load_bounds import bounded, drawn_points
from tests.dataflow.load_model import least_load
from tests.samples import ALL

from shorthaul.core.search import Search
from shorthaul.dataflow.bounds.period import bounds_on_all
from shorthaul.dataflow.bounds.tile_load import least_tile_load, with_tile_loads
from shorthaul.dataflow.workloads import generators


def hunt(seeds: range, most_actors: int, count: int) -> tuple[int, int, int]:
    """Assert that no actor's tile needs more than the least load; return how many were compared, met, and higher."""
    compared = met = higher = 0
    for seed, problem, strategy, simple in bounded(seeds, most_actors):
        application, platform = problem.application, problem.platform
        kept = [actor.id for actor in application.actors if actor.kind == "actor" or strategy == "reference"]
        least = max(least_tile_load(application, platform, strategy, name, Search(effort=2)) for name in kept)
        budget = max((cost for cost, _ in simple.period_at_cost), default=0.0)
        load, cost = least_load(application, platform, strategy, (budget, 0), Search(effort=5))
        if budget and cost < math.inf:
            assert least <= load, seed
            compared += 1
            met += least == load
            higher += least > simple.period.value
        for point in drawn_points(problem, strategy, count):
            assert point.period >= least, (seed, point)
    return compared, met, higher


def test_no_mapping_is_below() -> None:
    compared, met, higher = hunt(range(20) if ALL else range(13, 19), 4, 10)
    assert compared > met > 0
    assert higher > 0


@pytest.mark.slow
def test_no_mapping_is_below_at_length() -> None:
    compared, met, higher = hunt(range(50_000, 50_400), 6, 100)
    assert compared > 200
    assert met > 10
    assert higher > 20


@pytest.mark.parametrize(("name", "least"), [("sobel", 7_896), ("sobel4", 6_769)])
def test_the_sources_tile_limits_the_period(name: str, least: int) -> None:
    """Both periods are those of the best mappings known."""
    application, platform = getattr(generators, name)(), generators.platform24()
    bounds = bounds_on_all(application, platform, "mrb-explore")
    found = with_tile_loads(application, platform, "mrb-explore", bounds, Search(effort=2))
    assert bounds.period.value < found.period.value == found.period_at_cost[-1][1] == least
