"""Every worked strategy of the MLSys 2026 contest's problem statement, to the digit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.formats.documents import plan_from_document
from shorthaul.tensor.model import CONTEST, SPEC
from shorthaul.tensor.workloads.cases import example_1, example_2, example_3, example_4, example_5

STRATEGIES = {
    "1A": (example_1, [[0], [1]], [[128, 128, 1]] * 2, [[], []], None, [3276.8, 3276.8]),
    "1B": (example_1, [[0, 1]], [[128, 128, 1]], [[]], None, [3276.8]),
    "1C": (example_1, [[0, 1]], [[64, 64, 1]], [[]], None, [4400]),
    "2A": (example_2, [[0], [1]], [[128, 128, 1]] * 2, [[], []], None, [13107.2, 13107.2]),
    "2B": (example_2, [[0, 1]], [[128, 128, 1]], [[]], None, [13107.2]),
    "3A": (example_3, [[0], [1], [2]], [[128, 128, 1]] * 3, [[], [], []], None, [3276.8, 3276.8, 4915.2]),
    "3B": (example_3, [[0, 1], [0, 2]], [[128, 128, 1]] * 2, [[2], []], None, [3000, 3276.8]),
    "3C": (example_3, [[0], [1, 2]], [[128, 128, 1]] * 2, [[1], []], None, [1638.4, 3000]),
    "4A": (example_4, [[0]], [[64, 64, 128]], [[]], [None], [8192]),
    "4B": (example_4, [[0]], [[64, 64, 128]], [[]], [[0, 1, 3, 2]], [6548]),
    "5B": (example_5, [[0, 1]], [[128, 128, 32]], [[]], None, [6915.2]),
}


def strategy(name):
    build, subgraphs, granularities, retained, orders, latencies = STRATEGIES[name]
    problem = build()
    document = {
        "subgraphs": subgraphs,
        "granularities": granularities,
        "tensors_to_retain": retained,
        "traversal_orders": orders,
        "subgraph_latencies": latencies,
    }
    return problem, plan_from_document(document, problem), latencies


@pytest.mark.parametrize("name", STRATEGIES)
def test_strategy_costs_what_the_paper_says(name):
    problem, plan, latencies = strategy(name)
    found = replay(problem, plan, SPEC)
    assert found.violations == ()
    assert found.remarks == ()
    assert [subgraph.latency for subgraph in found.subgraphs] == pytest.approx(latencies, rel=1e-12)
    assert found.cost["latency"] == pytest.approx(sum(latencies), rel=1e-12)


@pytest.mark.parametrize("name", sorted(set(STRATEGIES) - {"4A"}))
def test_contest_rules_agree_with_the_paper(name):
    problem, plan, latencies = strategy(name)
    found = replay(problem, plan, CONTEST)
    assert found.violations == ()
    assert found.cost["latency"] == pytest.approx(sum(latencies), rel=1e-12)


def test_raster_order_reuses_under_contest_rules_or_when_written_out():
    problem, plan, _ = strategy("4A")
    assert replay(problem, plan, CONTEST).cost["latency"] == pytest.approx(7096, rel=1e-12)
    written = replace(plan, subgraphs=(replace(plan.subgraphs[0], traversal=(0, 1, 2, 3)),))
    assert replay(problem, written, SPEC).cost["latency"] == pytest.approx(7096, rel=1e-12)


def test_example_2_does_not_fit_the_capacity_printed_in_the_paper():
    problem, plan, _ = strategy("2B")
    small = replace(problem, machine=replace(problem.machine, capacity=25_000))
    (violation,) = replay(small, plan, SPEC).violations
    assert (violation.rule, violation.required, violation.available) == ("over-capacity", 32768, 25_000)


def test_example_5a_runs_out_of_memory():
    problem, plan, _ = strategy("5B")
    whole = replace(plan.subgraphs[0], granularity=replace(plan.subgraphs[0].granularity, k=128))
    (violation,) = replay(problem, replace(plan, subgraphs=(whole,)), SPEC).violations
    assert (violation.rule, violation.required, violation.available) == ("over-capacity", 65536, 45_000)


def test_example_5b_step_by_step():
    problem, plan, _ = strategy("5B")
    trace = replay(problem, plan, SPEC).subgraphs[0].trace
    assert trace.compute.tolist() == [1000] * 4
    assert trace.loads.tolist() == [16384 + 4096 + 4096, 8192, 8192, 8192]
    assert trace.stores.tolist() == [0, 0, 0, 16384]
    assert trace.working_set.tolist() == [40_960] * 4
    assert trace.latency.tolist() == pytest.approx([2457.6, 1000, 1000, 2457.6])
