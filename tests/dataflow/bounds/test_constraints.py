"""Limits on a front and actors bound to cores: kept by every point, refused only where no mapping keeps them."""

from __future__ import annotations

import pickle
import random

import pytest
from tests.dataflow.small import small_problem
from tests.samples import samples

from shorthaul.core.errors import InfeasibleError, InputError, NoPlanError
from shorthaul.core.search import Search
from shorthaul.dataflow.bounds.constraints import constrained, constraints_of, refuse_infeasible
from shorthaul.dataflow.bounds.period import bounds_on_all
from shorthaul.dataflow.formats.schedules import front_table
from shorthaul.dataflow.mapping.arrays import build
from shorthaul.dataflow.model import Actor, Application, Channel, Core, CoreType, Platform, Tile
from shorthaul.dataflow.modulo.solver import solve_mapping
from shorthaul.dataflow.options import Decoding, PlanOptions
from shorthaul.dataflow.verbs.planning import plan
from shorthaul.dataflow.workloads import generators


def test_every_point_keeps_to_the_limits() -> None:
    limits = {"deadline": 16_000, "max_cost": 4, "max_footprint": 70_000_000, "bind": {"gray": "p1", "sink": "p6"}}
    result = plan(generators.sobel(), generations=12, search=Search(effort=0.3), **limits)
    assert result.check.ok
    for point in result.plan.front:
        assert point.period <= 16_000
        assert point.core_cost <= 4
        assert point.footprint_bytes <= 70_000_000
        assert (point.binding["gray"], point.binding["sink"]) == ("p1", "p6")


def test_what_some_mapping_keeps_is_not_refused() -> None:
    for seed in samples(160):
        problem = small_problem(500 + seed)
        application, platform = problem.application, problem.platform
        try:
            point = solve_mapping(build(application, platform), problem.mapping, Decoding(decoder="modulo"), None).point
        except (InputError, InfeasibleError):
            continue
        draw = random.Random(seed)
        bind = ",".join(f"{actor}={core}" for actor, core in point.binding.items() if draw.random() < 0.5)
        options = PlanOptions(
            deadline=point.period, max_cost=point.core_cost, max_footprint=point.footprint_bytes, bind=bind
        )
        constraints = constraints_of(application, platform, options)
        assert constraints.allow(point)
        limited = constrained(application, platform, constraints)
        refuse_infeasible(
            limited, platform, constraints, bounds_on_all(limited, platform, "mrb-explore"), options, Search()
        )


@pytest.mark.costly
@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"deadline": 5000}, "wherever gray is, its core or the crossbar of its tile is busy for 7896 ticks"),
        ({"max_cost": 0.3}, "cheapest choice of core types"),
        ({"max_footprint": 1000}, "58024812"),
        ({"deadline": 9000, "max_cost": 3}, "period on cores of cost 3"),
        ({"deadline": 20_000, "bind": "gray=p5,gx=p5,gy=p5"}, "core p5, with what --bind puts on it"),
        ({"max_cost": 1.6, "bind": "gray=p1,sink=p2"}, "the cores that --bind names"),
        ({"max_cost": 0.3, "bind": "gray=p17"}, "every mapping that keeps to --bind (the cheapest"),
    ],
)
def test_limits_that_no_mapping_keeps_are_refused_with_the_reason(limits, reason: str) -> None:
    with pytest.raises(InfeasibleError) as caught:
        plan(generators.sobel(), **limits)
    assert reason in str(caught.value)


def test_every_limit_that_no_mapping_keeps_is_named() -> None:
    with pytest.raises(InfeasibleError) as caught:
        plan(generators.sobel(), deadline=5, max_footprint=58_024_811, max_cost=0.25, max_latency=10)
    error = pickle.loads(pickle.dumps(caught.value))
    assert [each.place for each in (error, *error.further)] == [
        "--deadline", "--max-footprint", "--max-cost", "--max-latency",
    ]  # fmt: skip
    assert "58024812 needed, the limit is 58024811" in str(error)


def test_the_nearest_point_is_named_where_none_is_found() -> None:
    with pytest.raises(NoPlanError, match="nearest has a period of"):
        plan(generators.sobel(), generations=5, polish_effort=0, deadline=12_287, max_cost=3)
    with pytest.raises(InfeasibleError, match="all were tried; the nearest has a period of 7896") as caught:
        plan(generators.sobel(), generations=5, polish_effort=0.05, deadline=7800, max_cost=6)
    assert caught.value.demand == 7896


@pytest.mark.parametrize(("limits", "least"), [({"max_cost": 5}, 9034), ({"max_footprint": 58_024_812}, 7896)])
def test_how_far_a_deadline_is_from_enough(limits, least: int) -> None:
    with pytest.raises(InfeasibleError) as caught:
        plan(generators.sobel(), deadline=7896 - 1, search=Search(effort=1, workers=1), **limits)
    assert (caught.value.place, caught.value.demand) == ("--deadline", least)


def test_limits_are_infeasible_where_all_mappings_were_tried() -> None:
    # A core that does z alone leaves its two tokens no room beside it; the bounds do not see that.
    actors = (Actor("x", {"t": 1}), Actor("y", {"t": 4}), Actor("z", {"t": 5}))
    network = Application("triangle", actors, tuple(Channel(s + d, s, d, 3) for s, d in ("xy", "yz", "xz")))
    cores = tuple(Core(f"p{size}", "t", size) for size in (4, 100, 0))
    platform = Platform("three", {"t": CoreType(1)}, (Tile("T", cores, 0, 4e6),), 1e6, None)
    how = {"platform": platform, "search": Search(effort=1, workers=1)}
    assert min(point.period for point in plan(network, **how).plan.front) == 6
    with pytest.raises(InfeasibleError, match="all were tried; the nearest has a period of 6"):
        plan(network, deadline=5, **how)
    with pytest.raises(InfeasibleError, match="every mapping within --max-cost 2"):
        plan(network, deadline=5, max_cost=2, **how)


@pytest.mark.parametrize("text", ["gray=p99", "gra=p1", "gray", "gray=p1,gray=p2"])
def test_bindings_that_make_no_sense_are_bad_input(text: str) -> None:
    with pytest.raises(InputError, match=r"^bind"):
        plan(generators.sobel(), bind=text)


def test_a_front_as_a_table_and_one_point_of_it() -> None:
    how = {"generations": 3, "population": 10, "polish_effort": 0.0, "workers": 1}
    whole = plan(generators.sobel(), **how)
    columns, lines = front_table(whole.plan.front, whole.extra["front_bound"])
    rows = [dict(zip(columns, line, strict=True)) for line in lines]
    assert [(int(r["period"]), int(r["footprint_bytes"]), float(r["core_cost"])) for r in rows] == [
        point.objectives for point in whole.plan.front
    ]
    curve = whole.extra["front_bound"]["period_at_core_cost"]
    for row in rows:
        assert (float(row["core_cost"]), int(row["front_bound"])) in map(tuple, curve)
        assert int(row["bound"]) >= int(row["front_bound"]) > 0
        assert float(row["front_gap"]) == pytest.approx(int(row["period"]) / int(row["front_bound"]) - 1, abs=1e-6)
    for place, pick in enumerate(("period", "footprint", "cost")):
        (point,) = plan(generators.sobel(), pick=pick, **how).plan.front
        assert point in whole.plan.front
        assert point.objectives[place] == min(other.objectives[place] for other in whole.plan.front)
