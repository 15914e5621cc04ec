"""Fronts proven complete, beside every mapping of tiny problems looked at by another program."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.dataflow.small import small_problem
from tests.reference.dataflow_every_mapping import front_of_all

from shorthaul.core.search import Search
from shorthaul.dataflow.bounds.constraints import Constraints, constrained_instance
from shorthaul.dataflow.check.replay import check_front
from shorthaul.dataflow.exploration.enumeration import Enumeration, Points
from shorthaul.dataflow.loading import ready
from shorthaul.dataflow.mapping.arrays import build
from shorthaul.dataflow.mapping.mappings_kernels import next_mapping
from shorthaul.dataflow.model import Actor, Application, Core, CoreType, Platform, Tile
from shorthaul.dataflow.options import PlanOptions
from shorthaul.dataflow.verbs.planning import plan
from shorthaul.dataflow.workloads import generators

#: Period, bytes and core cost of every point that sobel has on the paper's platform.
SOBEL = {
    (59_743, 58_024_812, 0.5), (30_287, 58_024_812, 1.0), (21_226, 74_613_612, 1.5), (21_858, 58_024_812, 1.5),
    (17_492, 58_024_812, 2.0), (13_063, 58_024_812, 2.5), (12_287, 58_024_812, 3.0), (11_695, 58_024_812, 3.5),
    (9_777, 58_024_812, 4.0), (9_429, 58_024_812, 4.5), (9_034, 58_024_812, 5.0), (8_097, 58_024_812, 5.5),
    (7_896, 58_024_812, 6.0),
}  # fmt: skip


def enumerated(problem, options=None, limits=None, effort=20.0):
    """Return all points by enumeration alone, and whether they are proven to be all."""
    limits = limits or Constraints()
    instance = constrained_instance(build(problem.application, problem.platform), limits)
    every, points = Enumeration(instance, options or PlanOptions(), limits), Points([])
    every.run(points, Search(effort=effort))
    return points.points, every.is_complete


def costs(points):
    return {point.objectives for point in points}


SEEDS = [20, 24, 35, 37, 39, 45]


@pytest.mark.costly
@pytest.mark.parametrize(
    ("seed", "atomic"), [*((seed, False) for seed in SEEDS), *((seed, True) for seed in (1009, 1010, 1037, 1040, 1042))]
)
def test_the_front_is_that_of_every_mapping(seed: int, atomic: bool) -> None:
    problem = small_problem(seed, most_actors=3)
    options = PlanOptions(capacity_rule="atomic-firing" if atomic else "access")
    points, is_complete = enumerated(problem, options)
    assert is_complete
    assert check_front(problem.application, problem.platform, points).ok
    assert costs(points) == front_of_all(problem, (0, 1), atomic=atomic)


@pytest.mark.costly
@pytest.mark.parametrize("seed", SEEDS[:4])
def test_limits_leave_the_points_within_them(seed: int) -> None:
    """The front within limits is what they leave of the whole front."""
    problem = small_problem(seed, most_actors=3)
    whole = costs(enumerated(problem)[0])
    for name, column in (("deadline", 0), ("max_footprint", 1), ("max_cost", 2)):
        for limit in {point[column] for point in whole}:
            points, is_complete = enumerated(problem, limits=dataclasses.replace(Constraints(), **{name: limit}))
            assert is_complete
            assert costs(points) == {point for point in whole if point[column] <= limit}


def test_an_actor_on_a_core_leaves_what_every_other_mapping_has() -> None:
    problem = small_problem(SEEDS[0], most_actors=3)
    actor = problem.application.actors[0]
    whole = costs(enumerated(problem)[0])
    bound = set()
    for core in problem.platform.cores:
        points, is_complete = enumerated(problem, limits=Constraints(binding={actor.id: core.id}))
        assert is_complete
        assert all(point.binding[actor.id] == core.id for point in points)
        bound |= costs(points)
    assert whole <= bound


def test_a_complete_front_within_limits_proves_its_periods() -> None:
    problem = small_problem(SEEDS[0], most_actors=3)
    whole = dict(plan(problem, generations=5, effort=1.0).extra["front_bound"]["period_at_core_cost"])
    dearest = max(whole)
    for limits in ({"deadline": min(whole.values())}, {"max_cost": dearest}):
        found = plan(problem, generations=5, effort=1.0, **limits)
        assert found.extra["complete"]
        curve = dict(found.extra["front_bound"]["period_at_core_cost"])
        assert curve[dearest] == whole[dearest]
        assert all(curve[cost] <= period for cost, period in whole.items())


@pytest.mark.parametrize("seed", [1, pytest.param(9, marks=pytest.mark.slow)])
def test_the_plan_of_sobel_is_complete(seed: int) -> None:
    """All points of the issue's enumeration, 9,034 at a core cost of 5 among them."""
    found = plan(generators.sobel(), generations=100, polish_effort=8.0, search=Search(seed=seed, workers=1))
    assert costs(found.plan.front) == SOBEL
    assert found.status == "optimal"
    assert found.extra["complete"]
    least = dict(found.extra["front_bound"]["period_at_core_cost"])
    assert all(least[cost] == min(p for p, _, c in SOBEL if c <= cost) for *_, cost in SOBEL)


def test_what_is_cut_short_is_not_complete() -> None:
    problem = ready(generators.sobel(), None)
    points, is_complete = enumerated(problem, effort=0.05)
    assert not is_complete
    assert costs(points) != SOBEL
    found = plan(generators.sobel(), generations=5, polish_effort=0.1)
    assert found.status == "feasible"
    assert not found.extra["complete"]


def test_a_look_at_actors_without_channels_ends_too() -> None:
    """Of 17 actors two have time on each of eight cores: that no mapping is of interest is seen in small goes."""
    actors = tuple(Actor(f"a{number}", {"t": 10}) for number in range(17))
    cores = tuple(Core(f"p{number}", "t", 0) for number in range(8))
    platform = Platform("one", {"t": CoreType(1.0)}, (Tile("T", cores, 0, 10**6),), 10**6)
    every = Enumeration(build(Application("apart", actors, ()), platform), PlanOptions(), Constraints())
    tree = next(every.trees).at
    tree.compete(np.array([8], np.int64), np.array([25], np.int64))
    assert next_mapping(tree, 1000) == -1
    assert 1000 <= tree.steps < 1100
