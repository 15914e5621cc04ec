"""Least loads of all mappings: those of CP-SAT's model, and of all mappings to tiles never more."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.dataflow.bounds.test_tile_sets import drawn
from tests.dataflow.load_model import least_load
from tests.dataflow.small import small_problem
from tests.reference.dataflow_every_mapping import every_mapping

from shorthaul.core.search import Search
from shorthaul.dataflow.bounds.every_mapping import _Mappings, with_every_mapping
from shorthaul.dataflow.bounds.period import bounds_on_all
from shorthaul.dataflow.bounds.raising import raised
from shorthaul.dataflow.mapping.arrays import build
from shorthaul.dataflow.workloads.generators import platform24, random_graph


def compared(seed: int, effort: float) -> tuple[int, int]:
    """Assert that least loads are those of CP-SAT's model; return how many were compared, and how many tiles meet."""
    application, platform, strategy = drawn(seed, 6)
    instance, met, count = build(application, platform), 0, 0
    costs = [cost for cost, _ in bounds_on_all(application, platform, strategy).period_at_cost]
    for cost in (costs[0], costs[len(costs) // 2], costs[-1]):
        load, of_load = least_load(application, platform, strategy, (cost, 0), Search(effort=1.0))
        if of_load == math.inf:
            continue
        found = [
            _Mappings(instance, strategy, of_tiles=of_tiles).least_load(cost, 1, math.inf, Search(effort=effort))
            for of_tiles in (False, True)
        ]
        assert found[0] == load, (seed, cost)
        assert found[1] <= load, (seed, cost)
        met += found[1] == load
        count += 1
    return count, met


@pytest.mark.parametrize("seeds", [range(2, 5), pytest.param(range(40, 90), marks=pytest.mark.slow)])
def test_least_loads_are_those_of_an_integer_program(seeds: range) -> None:
    counts = np.array([compared(seed, 20.0) for seed in seeds]).sum(axis=0)
    assert counts[0] >= len(seeds)
    assert counts[1] > 0


@pytest.mark.parametrize("seed", [20, 24, 35, 37])
def test_no_mapping_of_a_tiny_problem_is_below(seed: int) -> None:
    problem = small_problem(seed, most_actors=3)
    loads: dict[float, int] = {}
    for cost, net in every_mapping(problem, (0, 1), common=False):
        load = max(sum(tasks.values()) for tasks in net.resource_loads().values())
        loads[cost] = min(load, loads.get(cost, load))
    bounds = bounds_on_all(problem.application, problem.platform, "mrb-explore")
    found = with_every_mapping(problem.application, problem.platform, "mrb-explore", bounds, Search(effort=5.0))
    for cost, least in found.period_at_cost:
        assert least <= min((load for other, load in loads.items() if other <= cost), default=least)


@pytest.mark.parametrize(
    ("actors", "seed", "least", "effort"), [(10, 2, 4183, 1.0), pytest.param(12, 3, 4639, 4.0, marks=pytest.mark.slow)]
)
def test_mappings_to_tiles_say_more_than_sets_of_actors(actors: int, seed: int, least: int, effort: float) -> None:
    """Another program, a depth-first search over tiles and memories, says 4,183 and 4,639, too."""
    application, platform = random_graph(actors, 0.3, 2, 2000, seed), platform24()
    bounds = bounds_on_all(application, platform, "mrb-explore")
    tiles = _Mappings(build(application, platform), "mrb-explore", of_tiles=True)
    assert tiles.least_load(24.0, 1, math.inf, Search(effort=2.0)) == least
    found = raised(application, platform, "mrb-explore", bounds, Search(effort=effort))
    assert found.period.value >= least
    assert found.period.value == found.period_at_cost[-1][1]
