"""Latency as an objective and as a limit: counted twice, bounded, traded for period and cores."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.dataflow.small import small_problem

from shorthaul import dataflow
from shorthaul.core.errors import InfeasibleError, InputError, NoPlanError
from shorthaul.dataflow.bounds.latency import latency_bound
from shorthaul.dataflow.check.replay import check_point
from shorthaul.dataflow.formats.schedules import front_table
from shorthaul.dataflow.mapping.binding import mapped_point, needed_capacities
from shorthaul.dataflow.mapping.latency import latency_of
from shorthaul.dataflow.model import Actor, Application, Channel
from shorthaul.dataflow.plan import covers
from shorthaul.dataflow.workloads.generators import sobel

QUICK = {"generations": 2, "population": 6, "polish_effort": 0.02, "workers": 1}


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(3002, 3008))
def test_every_point_keeps_the_rules_and_the_bound(seed: int) -> None:
    problem = small_problem(seed)
    strategy = ("reference", "mrb-explore", "mrb-always")[seed % 3]
    try:
        result = dataflow.plan(problem, latency=True, strategy=strategy, effort=0.03, seed=seed, **QUICK)
    except InputError as error:
        if "latencies are not defined" in str(error) or "deadlock" in str(error):
            return
        raise
    assert result.check.ok
    least = latency_bound(problem.application, problem.platform, strategy).value
    front = result.plan.front
    assert min(point.latency for point in front) >= least
    assert not any(covers(one, other) for one in front for other in front if one is not other)
    for point in front:
        late = replace(point, latency=point.latency - 1)
        assert "latency" in [
            violation.rule for violation in check_point(problem.application, problem.platform, late).violations
        ]


@pytest.mark.parametrize("seed", [3050, 3110])
def test_buffers_hold_no_more_than_the_schedule_of_least_latency_needs(seed: int) -> None:
    problem = small_problem(seed)
    assert problem.platform is not None
    front = dataflow.plan(problem, latency=True, effort=0.03, seed=seed, **QUICK).plan.front
    for point in front:
        net = mapped_point(problem.application, problem.platform, point)
        assert point.capacities == needed_capacities(net, point.starts, point.period)


@pytest.mark.slow
def test_latency_is_traded_for_period_and_cores() -> None:
    front = dataflow.plan(sobel(), latency=True, effort=0.4, **QUICK).plan.front
    soonest, fastest = min(front, key=lambda point: point.latency), min(front, key=lambda point: point.period)
    assert soonest.latency < 30_855 < fastest.latency  # all executions in turn on one of the dearest cores
    assert soonest.core_cost > 1.5
    (point,) = dataflow.plan(sobel(), pick="latency", effort=0.4, **QUICK).plan.front
    assert point == soonest


def test_a_limit_on_latency_is_kept_or_refused_with_the_reason(tmp_path: Path) -> None:
    result = dataflow.plan(sobel(), max_latency=40_000, effort=0.1, **QUICK)
    assert all(point.latency <= 40_000 for point in result.plan.front)
    assert [row[-1] for row in front_table(result.plan.front, None)[1]] == [p.latency for p in result.plan.front]
    with pytest.raises(InfeasibleError, match="from src to sink, all firings on the fastest cores take 22731 ticks"):
        dataflow.plan(sobel(), max_latency=22_730)
    with pytest.raises(NoPlanError, match="within --max-latency 22731; the least latency found is"):
        dataflow.plan(sobel(), max_latency=22_731, effort=0.05, **QUICK)
    document = json.loads(json.dumps(result.plan.document()))
    (tmp_path / "front.json").write_text(json.dumps(document))
    assert dataflow.check(sobel(), tmp_path / "front.json").check.ok
    document["front"][0]["latency"] += 1
    (tmp_path / "front.json").write_text(json.dumps(document))
    assert dataflow.check(sobel(), tmp_path / "front.json").check.violations[0].rule == "latency"


def test_a_path_with_fewer_initial_tokens_arrives_first() -> None:
    actors = tuple(Actor(name, {"t1": ticks}) for name, ticks in (("a", 1), ("b", 50), ("c", 2)))
    channels = (Channel("ab", "a", "b", 1), Channel("bc", "b", "c", 1, 1), Channel("ac", "a", "c", 1))
    problem = Application("two paths", actors, channels)
    result = dataflow.plan(problem, latency=True, effort=0.03, **QUICK)
    assert result.check.ok
    assert result.cost["latency"] == 3  # a, then c, which reads what b made in the iteration before
    for point in result.plan.front:
        net = mapped_point(problem, dataflow.platform24(), point)
        assert latency_of(net, point.starts, point.period) == point.latency


@pytest.mark.parametrize("ends", ["", "sa", "bt", "sa dt"])
def test_rings_have_no_latency(ends: str) -> None:
    """Also where one ring follows from a source and another leads to a sink: "sa dt" has both, and no way between."""
    pairs = ["ab", "ba", "cd", "dc", *ends.split()]
    channels = [Channel(pair, *pair, 1, int(pair in {"ba", "dc"})) for pair in pairs]
    actors = [Actor(name, {"t1": 1}) for name in sorted(set("".join(pairs)))]
    with pytest.raises(InputError, match="latencies are not defined: no actor without inputs leads to one"):
        dataflow.plan(Application("rings", tuple(actors), tuple(channels)), max_latency=5)
