"""The verbs from Python: plans are checked and bounded, sweeps, runs, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.reference.tensor_alone import one_operator_per_subgraph
from tests.tensor.contest_family import contest_problem
from tests.tensor.random_plans import random_problem

import shorthaul
from shorthaul.core.errors import InfeasibleError, InputError, NoPlanError
from shorthaul.core.result import Status
from shorthaul.core.search import Search
from shorthaul.tensor.bounds.best import lower_bound, prove
from shorthaul.tensor.check.certificate import certificate_of, verify
from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.formats.documents import load_problem
from shorthaul.tensor.model import CONTEST, RULES
from shorthaul.tensor.plan import Granularity, Plan, Subgraph
from shorthaul.tensor.search import driver
from shorthaul.tensor.workloads.cases import CASES, GraphBuilder, example_1, example_3, example_4, example_5

DATA = Path(__file__).parents[4] / "shared" / "data" / "tensor"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the contest's instances are not there")
BASELINE = {1: 419_430, 5: 990_686, 9: 48_318_382, 13: 22_165_914, 17: 5_081_851}


def instance(number):
    path = DATA / f"mlsys-2026-{number}.json"
    return load_problem(path)


def serial():
    return Search(effort=0.2, workers=1)


@needs_data
@pytest.mark.parametrize("number", BASELINE)
def test_one_operator_per_subgraph_as_published(number):
    problem = instance(number)
    found = replay(problem, one_operator_per_subgraph(problem, CONTEST), CONTEST)
    assert found.violations == ()
    assert round(found.cost["latency"]) == BASELINE[number]


@pytest.mark.costly
@needs_data
@pytest.mark.parametrize("number", BASELINE)
def test_an_effort_of_one_beats_one_operator_per_subgraph(number):
    found = shorthaul.tensor.plan(instance(number), rules="contest", search=Search(effort=1, workers=1))
    assert found.check.ok
    assert found.cost["latency"] < BASELINE[number]


@pytest.mark.costly
@pytest.mark.parametrize("rules", RULES)
def test_plans_are_checked_bounded_and_never_above_one_operator_per_subgraph(rules):
    planned = 0
    for seed in range(12):
        problem = random_problem(np.random.default_rng(seed), operators=4)
        try:
            alone = replay(problem, one_operator_per_subgraph(problem, RULES[rules]), RULES[rules])
        except (InfeasibleError, NoPlanError):
            continue
        found = shorthaul.tensor.plan(problem, rules=rules, search=serial())
        assert found.cost["latency"] <= alone.cost["latency"] * (1 + 1e-12)
        assert found.bound.value <= found.cost["latency"] * (1 + 1e-12)
        assert [subgraph.latency for subgraph in found.plan.subgraphs] == found.check.details["subgraph_latencies"]
        planned += 1
    assert planned >= 8


@pytest.mark.parametrize(
    ("build", "paper"), [(example_1, 3276.8), (example_3, 4638.4), (example_4, 6548), (example_5, 6915.2)]
)
def test_plans_are_no_worse_than_the_paper_s_best_strategies(build, paper):
    assert shorthaul.tensor.plan(build(), search=serial()).cost["latency"] <= paper * (1 + 1e-12)


@pytest.mark.costly
@pytest.mark.parametrize("rules", RULES)
def test_the_same_seed_gives_the_same_plan(rules):
    (mlp,) = (case for case in CASES if case.name == "mlp-chain")
    problem = mlp.build(batch=256, width=128, hidden=256, layers=2, capacity=60_000, bandwidth=20)
    first, second = (
        shorthaul.tensor.plan(problem, rules=rules, search=Search(effort=0.4, seed=4, workers=1)) for _ in range(2)
    )
    assert first.plan == second.plan


def test_check_returns_violations_and_remarks():
    plan = Plan((Subgraph((0,), Granularity(128, 128, 1), latency=5.0),))
    found = shorthaul.tensor.check(example_1(), plan)
    assert found.status is Status.INVALID
    assert [violation.rule for violation in found.check.violations] == ["operator-missing"]
    assert len(found.check.remarks) == 1


def test_check_proves_optimality_where_the_bound_is_met():
    plan = Plan((Subgraph((0, 1), Granularity(128, 128, 1)),))
    assert shorthaul.tensor.check(example_1(), plan).status is Status.OPTIMAL


def test_bound_has_a_proof_and_no_plan():
    found = shorthaul.tensor.bound(example_5(), rules="contest")
    assert (found.status, found.plan, found.cost) == (None, None, None)
    assert found.bound.value >= 6553.6
    assert found.bound.proof


def test_run_executes_legal_plans_only():
    plan = Plan((Subgraph((0, 1), Granularity(128, 128, 32)),))
    assert shorthaul.tensor.run(example_5(), plan).extra["run"]["loads"] == 49152
    broken = shorthaul.tensor.run(example_5(), Plan((Subgraph((0, 1), Granularity(128, 128, 128)),)))
    assert (broken.status, broken.extra["run"]) == (Status.INVALID, None)


class TestShares:
    """Of the effort or the time: what the plan leaves is for the bound, and they run beside each other by the clock."""

    problem = contest_problem(4046)  # 7 operators; its program is proven with an effort of 0.015
    latency = 7_969_177.6

    def test_the_bound_has_what_the_plan_leaves(self, monkeypatch):
        monkeypatch.setattr(driver, "improved", lambda begun, *_: begun)
        half = shorthaul.tensor.bound(self.problem, rules="contest", effort=0.01).bound
        found = shorthaul.tensor.plan(self.problem, rules="contest", effort=0.034, workers=1)  # to begin takes 0.018
        assert half.value < 0.98 * self.latency
        assert found.cost["latency"] == pytest.approx(self.latency)
        assert found.bound.value == pytest.approx(self.latency)

    @pytest.mark.slow
    def test_a_proof_that_goes_on_is_the_one_of_both_efforts(self):
        plan = one_operator_per_subgraph(self.problem, CONTEST)
        first = prove(self.problem, CONTEST, Search(effort=0.01), plan)
        second = prove(self.problem, CONTEST, Search(effort=0.3), plan, earlier=first)
        assert first.bound.value < second.bound.value
        assert second.bound.value == pytest.approx(self.latency)
        certificate = certificate_of(self.problem, {**second.bound.details, "value": second.bound.value}, "bound")
        assert not verify(self.problem, CONTEST, certificate)

    def test_tasks_beside_each_other_end_when_they_meet(self):
        search = Search(effort=2, workers=2)
        begun = driver.begin(self.problem, CONTEST, search)
        assert begun is not None
        plan, bound = driver._beside(begun, search, restarts=1)
        checked = shorthaul.tensor.check(self.problem, plan, rules="contest")
        assert checked.cost["latency"] == pytest.approx(self.latency)
        assert bound.value == pytest.approx(self.latency)

    def test_they_run_beside_each_other_by_the_clock(self, monkeypatch):
        seen = []

        def beside(begun, search, restarts):
            seen.append(restarts)
            return begun.kept(search), driver.lower_bound(self.problem, CONTEST, search)

        monkeypatch.setattr(driver, "_beside", beside)
        assert shorthaul.tensor.plan(self.problem, rules="contest", time_limit=600, workers=2).cost
        assert shorthaul.tensor.plan(self.problem, rules="contest", effort=0.02, workers=2).cost
        assert len(seen) == 1


class TestSweep:
    def test_more_capacity_never_costs_more(self):
        found = shorthaul.tensor.sweep(example_5(), points=4, search=serial())
        points = found.extra["points"]
        assert [point["capacity"] for point in points] == [11250, 28348, 71433, 180000]
        latencies = [point["latency"] for point in points]
        assert latencies == sorted(latencies, reverse=True)
        assert all(point["bound"] <= point["latency"] * (1 + 1e-9) for point in points)
        assert found.figures[0].lines[0].y == tuple(latencies)

    def test_over_bandwidth(self):
        found = shorthaul.tensor.sweep(example_3(), over="bandwidth", least=5, most=20, points=3, search=serial())
        assert [point["bandwidth"] for point in found.extra["points"]] == pytest.approx([5, 10, 20])

    def test_a_plan_better_on_the_machine_beside_is_taken_over(self, monkeypatch):
        from shorthaul.tensor.verbs import planning

        plan_and_bound = planning.plan_and_bound

        def lazy(problem, rules, search, **others):
            if problem.machine.capacity < 12_000:
                return plan_and_bound(problem, rules, search, **others)
            return one_operator_per_subgraph(problem, rules), lower_bound(problem, rules)

        monkeypatch.setattr(planning, "plan_and_bound", lazy)
        found = shorthaul.tensor.sweep(example_1(), least=10_000, most=40_000, points=3, search=serial())
        assert [point["latency"] for point in found.extra["points"]] == pytest.approx([4400] * 3)

    def test_a_capacity_that_holds_nothing(self):
        found = shorthaul.tensor.sweep(example_1(), least=1, most=1, points=1, search=serial())
        (point,) = found.extra["points"]
        assert (point["capacity"], point["latency"], point["status"]) == (1, None, "infeasible")

    def test_a_range_upside_down(self):
        with pytest.raises(InputError, match="least: is above most"):
            shorthaul.tensor.sweep(example_1(), least=10, most=5)


class TestRefusals:
    def test_a_machine_too_small_for_any_plan(self):
        graph = GraphBuilder()
        graph.pointwise((graph.tensor(8, 8), graph.tensor(8, 8)), 1)
        with pytest.raises(InfeasibleError) as caught:
            shorthaul.tensor.plan(graph.problem(2, 1))
        assert str(caught.value).startswith("infeasible at operator 0: fast memory: 3 needed, the limit is 2")

    def test_an_option_that_is_not_there(self):
        with pytest.raises(InputError, match="did you mean 'rules'"):
            shorthaul.tensor.plan(example_1(), rule="contest")

    def test_rules_that_are_not_there(self):
        with pytest.raises(InputError, match="did you mean 'contest'"):
            shorthaul.tensor.plan(example_1(), rules="contst")

    def test_keywords_replace_options(self):
        options = shorthaul.tensor.PlanOptions(rules="spec")
        assert shorthaul.tensor.bound(example_1(), options=options, rules="contest").extra["rules"] == "contest"


class TestCases:
    def test_sizes_are_parameters(self):
        (mlp,) = (case for case in CASES if case.name == "mlp-chain")
        problem = mlp.build(batch=64, width=32, hidden=96, layers=3, capacity=9999, bandwidth=3)
        shapes = [(t.height, t.width) for t in problem.tensors]
        assert shapes == [
            (64, 32),
            (32, 96),
            (64, 96),
            (64, 96),
            (96, 32),
            (64, 32),
            (64, 32),
            (32, 96),
            (64, 96),
            (64, 96),
        ]
        assert len(problem.operators) == 6

    @pytest.mark.parametrize(("name", "wrong"), [("transformer-block", {"heads": 3}), ("resnet", {"channels": 6})])
    def test_sizes_that_do_not_divide(self, name, wrong):
        (case,) = (case for case in CASES if case.name == name)
        values = {key: parameter.default for key, parameter in case.parameters.items()}
        with pytest.raises(InputError, match="must be a"):
            case.build(**{**values, **wrong})

    def test_a_transformer_block_has_attention_and_residuals(self):
        (case,) = (case for case in CASES if case.name == "transformer-block")
        problem = case.build(tokens=64, width=32, heads=2, hidden=64, layers=2, capacity=9999, bandwidth=3)
        assert len(problem.graph_outputs) == 1
        assert len(problem.operators) == 2 * (2 * 7 + 6)
