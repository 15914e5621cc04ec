"""Bounds on the period at a core cost that count whole actors and buffers: no mapping is below, and some meet them."""

from __future__ import annotations

import dataclasses
import math
import random
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from tests.commands import shorthaul_json
from tests.dataflow.load_model import least_load
from tests.dataflow.small import small_problem
from tests.samples import ALL

from shorthaul import dataflow
from shorthaul.core.errors import ShorthaulError
from shorthaul.core.search import Search
from shorthaul.dataflow.bounds.firings import busiest_crossbar
from shorthaul.dataflow.bounds.period import FrontBound, bounds_on_all
from shorthaul.dataflow.bounds.period_at_cost import supply_at
from shorthaul.dataflow.bounds.prices import Demands
from shorthaul.dataflow.bounds.raising import raised
from shorthaul.dataflow.exploration.decoders import decoder_for
from shorthaul.dataflow.formats.schedules import front_table
from shorthaul.dataflow.mapping.arrays import build, genes
from shorthaul.dataflow.mapping.binding import mapped_point
from shorthaul.dataflow.model import (
    DECISIONS,
    Actor,
    Application,
    Channel,
    Core,
    CoreType,
    Decisions,
    Platform,
    Problem,
    Tile,
    crossbar,
)
from shorthaul.dataflow.options import ScheduleOptions
from shorthaul.dataflow.workloads import generators


def drawn_points(problem: Problem, strategy: str, count: int):
    """Schedules of mappings drawn at random, with few cores more often than not."""
    application, platform, draw = problem.application, problem.platform, random.Random(count)
    instance = build(application, platform)
    decoder = decoder_for(instance, ScheduleOptions(decoder="caps"))
    choices = {"reference": (0,), "mrb-always": (1,), "mrb-explore": (0, 1)}[strategy]
    for _ in range(count):
        cores = draw.sample([core.id for core in platform.cores], draw.randint(1, len(platform.cores)))
        decisions = Decisions(
            {actor.id: draw.choice(cores) for actor in application.actors},
            {name: draw.choice(choices) for name in application.multicasts},
            {channel.id: draw.choice(DECISIONS) for channel in application.channels},
        )
        try:
            yield decoder.point_of(genes(instance, decisions), 0)
        except ShorthaulError:  # a deadlock, or a memory that is too small
            continue


def least_at(curve: tuple[tuple[float, int], ...], cost: float) -> int:
    return next((least for budget, least in curve if budget >= cost), 0)


def crowded_platform(seed: int) -> Platform:
    """One to four tiles whose memories, crossbars and network are scarce; tiles and cores differ."""
    draw = random.Random(seed)
    types = {"x": CoreType(draw.choice((1.0, 1.5, 3.0))), "y": CoreType(draw.choice((0.0, 0.5, 1.0)))}
    tiles = []
    for tile in range(draw.randint(1, 4)):
        count = draw.randint(1, 3)
        cores = tuple(Core(f"p{tile}{i}", draw.choice("xy"), draw.choice((0, 2, 4, 8))) for i in range(count))
        tiles.append(Tile(f"T{tile}", cores, draw.choice((0, 3, 6, 12)), draw.choice((1.0, 2.0, 4.0))))
    return Platform("crowded", types, tuple(tiles), draw.choice((0.5, 1.0, 2.0)))


def bounded(seeds: range, most_actors: int) -> Iterator[tuple[int, Problem, str, FrontBound]]:
    """Yield seed, problem, strategy and bounds on all points, where there are points."""
    for seed in seeds:
        problem = small_problem(seed, most_actors=most_actors)
        if seed % 2:
            problem = dataclasses.replace(problem, platform=crowded_platform(seed))
        strategy = ("mrb-explore", "reference", "mrb-always")[seed % 3]
        try:
            bounds = bounds_on_all(problem.application, problem.platform, strategy)
        except ShorthaulError:
            continue
        yield seed, problem, strategy, bounds


def hunt(seeds: range, count: int) -> tuple[int, int]:
    """Assert that no point is below; return points, and how many bounds were raised."""
    points, higher = 0, 0
    for seed, problem, strategy, simple in bounded(seeds, 4):
        curve = raised(problem.application, problem.platform, strategy, simple, Search(effort=1)).period_at_cost
        higher += sum(new > old for (_, new), (_, old) in zip(curve, simple.period_at_cost, strict=True))
        assert all(new >= old for (_, new), (_, old) in zip(curve, simple.period_at_cost, strict=True))
        for point in drawn_points(problem, strategy, count):
            assert point.period >= least_at(curve, point.core_cost), (seed, point)
            points += 1
    return points, higher


def test_no_mapping_is_below() -> None:
    points, higher = hunt(range(8) if ALL else range(4, 6), 20)
    assert points > 25
    assert higher > 2


@pytest.mark.slow
def test_no_mapping_is_below_at_length() -> None:
    points, higher = hunt(range(1000, 1150), 400)
    assert points > 10_000
    assert higher > 100


def least_carried(problem: Problem, strategy: str, count: int) -> tuple[int, int, int]:
    """Assert that no crossbar carries less than what is said; return that, the least found, and in how many points."""
    application, platform = problem.application, problem.platform
    actors = [actor.id for actor in application.actors if actor.kind == "actor" or strategy == "reference"]
    busiest, least = busiest_crossbar(application, platform, actors)
    found = []
    for point in drawn_points(problem, strategy, count if least else 0):
        tile = platform.tile_of[point.binding[busiest]]
        loads = mapped_point(application, platform, point).resource_loads()
        found.append(sum(loads.get(crossbar(tile.id), {}).values()))
        assert found[-1] >= least, point
    return least, min(found, default=0), len(found)


def test_crossbars_carry_no_less() -> None:
    assert least_carried(Problem(generators.sobel(), generators.platform24()), "mrb-explore", 300)[:2] == (7726, 7726)
    crowded = Problem(generators.random_graph(15, 1.0, 2, 2000, 3), generators.platform24(tiles=2))
    assert least_carried(crowded, "mrb-explore", 60)[2] > 20
    assert (
        sum(least_carried(problem, strategy, 20)[2] for _, problem, strategy, _ in bounded(range(40 if ALL else 12), 4))
        > 30
    )


@pytest.mark.slow
def test_crossbars_carry_no_less_at_length() -> None:
    found = [least_carried(problem, strategy, 100) for _, problem, strategy, _ in bounded(range(3000, 6000), 4)]
    assert sum(count for _, _, count in found) > 10_000
    assert sum(least == carried > 0 for least, carried, _ in found) > 5


def compare_with_least_loads(seeds: range, budgets: int) -> tuple[int, int]:
    """Assert that no bound is above the least load at its core cost; return how many were compared, and are equal."""
    compared = equal = 0
    for seed, problem, strategy, simple in bounded(seeds, 5):
        cycle = int(simple.period.value) if simple.period.method == "maximum cycle ratio" else 0  # which no load shows
        for budget, bound in simple.period_at_cost[:budgets]:
            found, cost = least_load(problem.application, problem.platform, strategy, (budget, 0), Search(effort=5))
            if cost < math.inf:
                assert bound <= max(found, cycle), (seed, budget)
                compared += 1
                equal += bound == found
    return compared, equal


def test_bounds_are_not_above_least_loads() -> None:
    compared, equal = compare_with_least_loads(range(5), 2)
    assert compared > equal > 0


@pytest.mark.slow
def test_bounds_are_not_above_least_loads_at_length() -> None:
    compared, equal = compare_with_least_loads(range(2000, 2150), 6)
    assert compared > 500
    assert equal > 50


def test_a_core_holds_few_buffers() -> None:
    """One core holds one frame at a time, not one of every actor's."""
    application, platform = generators.sobel4(), generators.platform24()
    (budget, bound), *_ = bounds_on_all(application, platform, "mrb-explore").period_at_cost
    found, _ = least_load(application, platform, "mrb-explore", (budget, 0), Search(effort=5))
    assert (bound, found) == (57_624, 58_075)


def test_cores_without_memory_do_not_hide_others() -> None:
    """The cheapest core holds nothing, so that what is paid holds all that the dearer one has."""
    problem = small_problem(3003, most_actors=4)
    tile = Tile("T0", (Core("p00", "x", 2), Core("p01", "y", 0)), 6, 4.0)
    machine = Platform("one tile", {"x": CoreType(3.0), "y": CoreType(1.0)}, (tile,), 0.5)
    assert supply_at(machine, 3.0).core_bytes == 2
    assert least_carried(dataclasses.replace(problem, platform=machine), "mrb-explore", 50)[2] > 20


def test_a_buffer_in_the_memory_of_another_core_asks_for_bytes_there() -> None:
    """Nothing is in the tile's own memory, whatever its bytes cost: the reader has no memory, the writer has."""
    pair = Application(
        "pair", (Actor("a", {"x": 1}), Actor("b", {"y": 1})), (Channel("c", "a", "b", 8, delay=1),), time_unit="s"
    )
    tile = Tile("T0", (Core("p0", "x", 8), Core("p1", "y", 0)), 8, 4.0)
    machine = Platform("one tile", {"x": CoreType(1.0), "y": CoreType(1.0)}, (tile,), 0.5)
    least, _ = Demands(pair, machine, ("a", "b"), ("x", "y")).priced(np.array([1.0, 0.0, 0.0, 0.0, 1e9, 0.0, 0.0]))
    assert least.tolist() == [[1, math.inf], [math.inf, 1 + 2]]


def test_what_fits_no_memory_crosses_the_network() -> None:
    """Tokens that no tile has room for cross the network twice: one actor's tile is enough for some, four for more."""
    application, platform = generators.random_graph(100, 0.3, 2, 2000, 4), generators.platform24()
    bounds = bounds_on_all(application, platform, "mrb-explore")
    curve = dict(bounds.period_at_cost)
    assert (curve[0.5], curve[2.0], bounds.period.value) == (276_468, 89_481, 65_055)


def test_least_periods_are_those_of_costs_that_cores_have() -> None:
    """Not of multiples of the least one; a free core, on which some actor cannot be, is none."""
    actors = tuple(Actor(f"a{number}", {"x": 10, "y": 6}) for number in range(6))
    chain = tuple(Channel(f"c{i}", f"a{i}", f"a{i + 1}", 4, delay=1) for i in range(5))
    cores = tuple(Core(f"p{number}", "xyxyz"[number], 1000) for number in range(5))
    kinds = {"x": CoreType(1.0), "y": CoreType(1.5), "z": CoreType(0.0)}
    machine = Platform("costs", kinds, (Tile("T", cores, 1000, 4e6),), 4e6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bounds = bounds_on_all(Application("chain", actors, chain), machine, "mrb-explore")
    assert [cost for cost, _ in bounds.period_at_cost] == [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0]
    assert dict(bounds.period_at_cost)[1.5] == 36 == 6 * 6
    assert bounds.period_at_cost[-1][1] == bounds.period.value == 12


def test_sobel_meets_its_bounds() -> None:
    """They are the least periods found by enumeration of all mappings."""
    application, platform = generators.sobel(), generators.platform24()
    simple = bounds_on_all(application, platform, "mrb-explore")
    few = dataclasses.replace(simple, period_at_cost=tuple(p for p in simple.period_at_cost if p[0] in {0.5, 1, 2, 6}))
    found = raised(application, platform, "mrb-explore", few, Search(effort=2)).period_at_cost
    assert found == ((0.5, 59_743), (1, 30_287), (2, 17_492), (6, 7_896))


@pytest.mark.slow
def test_on_the_command_line() -> None:
    command = ("dataflow", "bound", "random:actors=3,multicasts=1,seed=1")
    quick = shorthaul_json(*command)["front_bound"]["period_at_core_cost"]
    found = shorthaul_json(*command, "--effort", "4")["front_bound"]["period_at_core_cost"]
    assert [cost for cost, _ in found] == [cost for cost, _ in quick]
    assert all(new >= old for (_, new), (_, old) in zip(found, quick, strict=True))
    assert found != quick


def test_a_network_that_takes_no_time_has_a_period_of_one_tick() -> None:
    actors = (Actor("p", {"x": 0}), Actor("q", {"x": 0}))
    problem = Problem(Application("idle", actors, (Channel("c", "p", "q", 4, 0),)), small_problem(3).platform, None)
    result = dataflow.plan(problem, effort=0.01)
    assert [point.period for point in result.plan.front] == [1]
    assert {period for _, period in result.extra["front_bound"]["period_at_core_cost"]} == {1}
    assert front_table(result.plan.front, result.extra["front_bound"])[1][0][7] == 0.0  # its gap to the front's bound
