"""The verbs: statuses, bounds, memory, sweeps, execution, SRAM estimates."""

from __future__ import annotations

import math
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.reference.pebble_game_kernels import least_traffic

from shorthaul import pebble
from shorthaul.core.amounts import Bound
from shorthaul.core.document import save_json
from shorthaul.core.errors import InfeasibleError, InputError
from shorthaul.core.result import Status
from shorthaul.core.search import Search
from shorthaul.pebble import sram
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.model import build
from shorthaul.pebble.orders import layer_by_layer
from shorthaul.pebble.plan import Move, Plan
from shorthaul.pebble.request import Request
from shorthaul.pebble.run import execute
from shorthaul.pebble.strategy import traffic
from shorthaul.pebble.structured import matrix_vector
from shorthaul.pebble.verbs import planning
from shorthaul.pebble.verbs.trade_off import parse_budgets
from shorthaul.pebble.workloads import kernels_as_graphs


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("recompute", [False, True])
def test_auto_on_small_graphs_is_what_the_game_allows(seed: int, recompute: bool) -> None:
    cdag = kernels_as_graphs.random_cdag(n=8, degree=3, window=5, most=4, seed=seed)
    budget = cdag.least_budget() + seed % 3
    result = pebble.plan(cdag, budget=budget, recompute=recompute)
    assert result.cost is not None
    assert result.bound is not None
    optimum = least_traffic(cdag, budget, recompute=recompute)
    assert result.status is Status.OPTIMAL
    assert result.cost["traffic"] == result.bound.value == optimum
    assert pebble.bound(cdag, budget=budget, recompute=recompute).bound.value <= optimum


@pytest.mark.parametrize(
    "method", ["tree", "tree-cuts", "dwt", "layer-by-layer", "layer-by-layer-freeing", "belady", "liu"]
)
def test_every_named_method_plans_a_wavelet(method: str) -> None:
    cdag = kernels_as_graphs.dwt(n=32, d=5, word=1)
    result = pebble.plan(cdag, budget=4, method=method)
    assert result.check is not None
    assert result.check.ok
    assert result.extra["method"] in {method, "tree-cuts"}
    assert result.cost["traffic"] >= pebble.plan(cdag, budget=4).cost["traffic"] >= result.bound.value


@pytest.mark.slow
@pytest.mark.parametrize("method", [pytest.param("auto", marks=pytest.mark.slow), "local-search", "beam"])
def test_computing_again_helps_beyond_what_is_searched_exhaustively(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cdag = kernels_as_graphs.random_cdag(n=90, degree=2, window=90, most=1, seed=3)
    budget = cdag.least_budget() + 1
    once = 66  # the least found without
    # The searches end as soon as they have less. Beams compute nothing twice: what helps is the annealing after them.
    goal = Bound("traffic", once - 1, "goal", "none")
    monkeypatch.setattr(traffic, "algorithmic_bound", lambda _: goal)
    monkeypatch.setattr(traffic, "_computed_bound", lambda *_: goal)
    monkeypatch.setattr(traffic.beam, "plan", lambda *_, incumbent, **__: incumbent)
    found = traffic.find_plan(Request(cdag, budget, True, Search()), method)
    assert replay(cdag, found.plan, budget).ok
    assert found.plan.traffic(cdag.weights) < once


def test_unknown_options_are_named() -> None:
    with pytest.raises(InputError, match="unknown keyword"):
        pebble.plan(kernels_as_graphs.pyramid(n=2), budgett=99)


@pytest.mark.parametrize(
    ("graph", "method"),
    [
        ("conv:h=5,w=7,k=2,word=1", "auto"),
        ("attention:n=3,d=2,word=1", "local-search"),
        pytest.param("conv:h=5,w=7,k=2,word=1", "local-search", marks=pytest.mark.slow),
        pytest.param("attention:n=3,d=2,word=1", "auto", marks=pytest.mark.slow),
        pytest.param("cg:n=4,percent=40,k=1,seed=1", "auto", marks=pytest.mark.slow),
        pytest.param("cg:n=4,percent=40,k=1,seed=1", "local-search", marks=pytest.mark.slow),
    ],
)
def test_recomputation_allowed_is_never_dearer(graph: str, method: str) -> None:
    cdag = pebble.case(graph).workload
    for effort in (0.05,):
        usual, again = (
            pebble.plan(cdag, budget=cdag.least_budget(), method=method, recompute=may, effort=effort, seed=3)
            for may in (False, True)
        )
        assert again.cost["traffic"] <= usual.cost["traffic"]
        assert again.bound.value <= again.cost["traffic"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("graph", "more"), [("random:n=203,degree=3,window=49,most=8,seed=4", 0), ("attention:n=4,d=2,word=1", 7)]
)
def test_games_with_more_freedom_are_never_dearer(graph: str, more: int) -> None:
    cdag = pebble.case(graph).workload
    prices = {"load_price": 1, "store_price": 2}

    def paid(plan: Plan, store: int) -> int:
        return plan.weight_of(Move.LOAD, cdag.weights) + store * plan.weight_of(Move.STORE, cdag.weights)

    usual, partial, in_place, both, priced, again = (
        pebble.plan(cdag, budget=cdag.least_budget() + more, effort=0.03, **game).plan
        for game in (
            {}, {"partial": True}, {"in_place": True}, {"in_place": True, "recompute": True}, prices,
            {**prices, "recompute": True},
        )
    )  # fmt: skip
    assert paid(partial, 1) <= paid(usual, 1)
    assert paid(both, 1) <= paid(in_place, 1) <= paid(usual, 1)
    assert paid(again, 2) <= paid(priced, 2) <= paid(usual, 2)


def test_the_usual_plan_is_the_same_inside_other_games() -> None:
    cdag = pebble.case("random:n=255,degree=2,window=61,most=1,seed=426").workload
    usual, partial, priced = (
        pebble.plan(cdag, budget=4, effort=0.1, **game).plan
        for game in ({}, {"partial": True}, {"load_price": 1, "store_price": 2})
    )
    loads, stores = (usual.weight_of(kind, cdag.weights) for kind in (Move.LOAD, Move.STORE))
    assert partial.traffic(cdag.weights) <= loads + stores
    paid = priced.weight_of(Move.LOAD, cdag.weights) + 2 * priced.weight_of(Move.STORE, cdag.weights)
    assert paid <= loads + 2 * stores


def test_the_bound_of_the_check_holds_for_plans_that_recompute() -> None:
    cdag = kernels_as_graphs.pyramid(n=3, word=1)
    given = pebble.plan(cdag, budget=4).plan
    result = pebble.check(cdag, given, budget=4, search=Search(effort=1))
    assert result.status in {Status.OPTIMAL, Status.FEASIBLE}
    unlimited = pebble.check(cdag, given, search=Search(effort=1))
    assert unlimited.check.remarks[0] == "no budget is given: the capacity is not checked"
    assert pebble.check(cdag, given, budget=3).status is Status.INVALID


@pytest.mark.parametrize("weights", ["equal", "double-accumulator"])
def test_every_tiling_costs_what_its_formula_says(weights: str) -> None:
    for m, n in ((2, 2), (3, 4), (5, 3)):
        cdag = kernels_as_graphs.mvm(m=m, n=n, weights=weights, word=1)
        mvm = matrix_vector.recognise(cdag)
        assert mvm is not None
        for tiling in matrix_vector.tilings(cdag, mvm):
            plan = matrix_vector.tiled(mvm, tiling)
            report = replay(cdag, plan, tiling.peak, recompute=False)
            assert report.ok, tiling
            assert report.cost is not None
            assert report.cost["traffic"] == tiling.traffic


def test_matrix_vector_products_are_recognised_however_they_are_numbered() -> None:
    cdag = kernels_as_graphs.mvm(m=3, n=4, word=1)
    shuffle = np.random.default_rng(1).permutation(cdag.n)
    sources, targets = cdag.edge_arrays()
    weights = np.empty_like(cdag.weights)
    weights[shuffle] = cdag.weights
    other = build(weights, shuffle[sources], shuffle[targets])
    assert matrix_vector.recognise(other) is not None
    assert (
        pebble.plan(other, budget=6, method="mvm-tiling").cost == pebble.plan(cdag, budget=6, method="mvm-tiling").cost
    )
    assert matrix_vector.recognise(kernels_as_graphs.matmul(m=2, n=2, k=2)) is None
    assert matrix_vector.recognise(kernels_as_graphs.pyramid(n=3)) is None


def test_products_whose_weights_differ_are_planned() -> None:
    cdag = kernels_as_graphs.mvm(m=4, n=5, word=1)
    for seed in range(2):
        weights = np.random.default_rng(seed).integers(1, 6, cdag.n)
        mixed = replace(cdag, weights=weights)
        assert matrix_vector.recognise(mixed) is None
        assert pebble.plan(mixed, budget=mixed.least_budget(), effort=0.1).check.ok


def test_the_memory_bound_of_products_is_true() -> None:
    for word, acc in ((1, 1), (1, 3), (2, 1)):
        shape = kernels_as_graphs.mvm(m=2, n=2, word=1)
        cdag = build(np.where(shape.is_input(), word, acc), *shape.edge_arrays())
        mvm = matrix_vector.recognise(cdag)
        assert mvm is not None
        bound = int(matrix_vector.memory_bound(cdag, mvm).value)
        assert least_traffic(cdag, bound - 1, recompute=True) != cdag.algorithmic_bound()


@pytest.mark.parametrize("freeing", [False, True])
def test_layer_by_layer_is_valid_everywhere(freeing: bool) -> None:
    for seed in range(20):
        cdag = kernels_as_graphs.random_cdag(n=40, degree=3, window=20, most=6, seed=seed)
        for extra in (0, 5, 50):
            budget = cdag.least_budget() + extra
            assert replay(cdag, layer_by_layer.plan(cdag, budget, freeing=freeing), budget, recompute=False).ok


def test_memory_of_a_named_baseline_and_of_auto() -> None:
    cdag = kernels_as_graphs.dwt(n=64, d=6, word=1)
    ours = pebble.memory(cdag)
    assert ours.status is Status.OPTIMAL
    assert ours.cost["budget"] == ours.bound.value == 8
    assert ours.cost["traffic"] == cdag.algorithmic_bound()
    baseline = pebble.memory(cdag, method="layer-by-layer")
    assert baseline.cost["budget"] == layer_by_layer.least_memory(cdag) > 8
    assert [estimate["capacity_bits"] for estimate in ours.extra["sram"]["estimates"]] == [8, 16]
    chosen = pebble.memory(cdag, capacities="256,512")
    assert [estimate["area_um2"] for estimate in chosen.extra["sram"]["estimates"]] == [2945, 3158]


def test_memory_of_a_small_graph_is_proven() -> None:
    cdag = kernels_as_graphs.pyramid(n=3, word=2)
    result = pebble.memory(cdag)
    assert result.cost["budget"] == result.bound.value == 10
    assert least_traffic(cdag, 8, recompute=False) > cdag.algorithmic_bound()


def test_sweeps_check_every_budget() -> None:
    cdag = kernels_as_graphs.dwt(n=16, d=4, word=1)
    points = pebble.sweep(cdag, points=4).extra["points"]
    assert [point["budget"] for point in points] == [3, 4, 5, 6]
    assert all(point["traffic"] == point["bound"]["value"] <= point["layer_by_layer"] for point in points)
    with pytest.raises(InfeasibleError):
        pebble.sweep(cdag, budgets="2,3")


@pytest.mark.parametrize("text", ["", "a", "3,,4", "0", "5:3", "1:2:0", "1:2:3:4", "1:99999", "-1"])
def test_broken_budget_lists(text: str) -> None:
    with pytest.raises(InputError, match="is no list of budgets"):
        parse_budgets(text, "--budgets")


def test_a_wavelet_transform_is_computed() -> None:
    cdag = kernels_as_graphs.dwt(n=4, d=2, word=1)
    plan = pebble.plan(cdag, budget=3).plan
    done = execute(cdag, plan, 3, np.array([1.0, 3.0, 5.0, 7.0]))
    half = math.sqrt(0.5)
    # outputs by node: two first coefficients, the last average, the last coefficient
    assert done.outputs == pytest.approx([-2 * half, -2 * half, 8.0, -4.0])
    assert done.agrees


def test_a_matrix_vector_product_is_computed() -> None:
    cdag = kernels_as_graphs.mvm(m=2, n=2, word=1)
    plan = pebble.plan(cdag, budget=4, method="mvm-tiling").plan
    # inputs: x_1, a_11, a_21, x_2, a_12, a_22
    done = execute(cdag, plan, 4, np.array([1.0, 2.0, 3.0, 10.0, 4.0, 5.0]))
    assert done.kernel == "matrix-vector product"
    assert done.outputs.tolist() == [42.0, 53.0]


def test_execution_refuses_what_is_not_there() -> None:
    cdag = kernels_as_graphs.dwt(n=4, d=2, word=1)
    plan = pebble.plan(cdag, budget=3).plan
    data = np.ones(4)
    with pytest.raises(InputError, match="does not fit in fast memory"):
        execute(cdag, plan, 2, data)
    with pytest.raises(InputError, match="is not in fast memory"):
        execute(cdag, Plan(plan.kinds[1:], plan.nodes[1:]), 3, data)
    with pytest.raises(InputError, match="leaves an output out"):
        execute(cdag, Plan(plan.kinds[:-2], plan.nodes[:-2]), 3, data)
    with pytest.raises(InputError, match="has the wrong size"):
        execute(cdag, plan, 3, np.ones(5))
    broken = pebble.run(cdag, plan=Plan(plan.kinds[1:], plan.nodes[1:]), budget=3)
    assert broken.status is Status.INVALID
    assert "run" not in broken.extra


def test_sram_estimates_follow_the_table() -> None:
    for bits, area in sram.AREAS_UM2:
        assert sram.estimate(bits).area_um2 == area
    between = sram.estimate(3000)
    assert 5489 < between.area_um2 < 9038
    assert between.interpolated
    assert not between.extrapolated
    assert sram.estimate(100).extrapolated
    assert sram.estimate(100_000).area_um2 > 27142


def test_a_cacti_program_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert sram.cacti(4096) is None
    program = tmp_path / "cacti"
    program.write_text('#!/bin/sh\necho "    Total dynamic read energy per access (nJ): 0.0021"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert sram.cacti(4096) == {"read_energy_nj": 0.0021}


def test_a_bound_that_is_taken_as_it_is_must_not_be_above_a_plan(tmp_path: Path) -> None:
    cdag, result = kernels_as_graphs.fft(n=4, word=1), tmp_path / "bound.json"
    document = pebble.bound(cdag, budget=4, effort=0.01).document()
    plan = pebble.plan(cdag, budget=4, effort=0.5)
    assert plan.status is Status.OPTIMAL
    assert plan.cost is not None
    parts = document["bound"]["certificate"]["parts"]
    parts.append({"kind": "formula", "method": "stages"})

    def violations(value: float, given: object = None) -> list[str]:
        document["bound"]["value"] = value
        save_json(result, document)
        report = pebble.check(cdag, given, budget=4, bound=result).check  # type: ignore[arg-type]
        assert report is not None
        return [item.message for item in report.violations]

    optimum = plan.cost["traffic"]
    assert violations(optimum) == []
    assert violations(optimum + 1) == ["a plan pays less than the bound: traffic"]
    assert violations(optimum + 1, plan) == ["the given plan pays less than the bound: traffic"]
    document["problem"]["budget"] = 3  # there the plan breaks a rule, and proves nothing
    assert violations(optimum, plan) == []


def test_a_bound_without_memory_is_that_of_inputs_and_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy(_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(planning, "lower_bound", greedy)
    found = pebble.bound("fft:n=8,word=1", budget=4).bound
    assert (found.value, found.method) == (16, "algorithmic")
