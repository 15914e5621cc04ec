"""Values computed from nothing: no parents, no input, no load."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.pebble.exact.test_exact import random_cdag
from tests.reference.pebble_game_kernels import least_traffic

from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.pebble import check, memory, plan, run
from shorthaul.pebble.bounds.best import best_bound
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.exact import solver
from shorthaul.pebble.formats.documents import cdag_document, cdag_from_document, load_cdag
from shorthaul.pebble.formats.graphs import from_dependencies
from shorthaul.pebble.model import Cdag, build
from shorthaul.pebble.options import METHODS
from shorthaul.pebble.orders import belady
from shorthaul.pebble.plan import Move, plan_of
from shorthaul.pebble.request import Request
from shorthaul.pebble.states import recomputation
from shorthaul.pebble.strategy.traffic import find_plan

#: These plan trees and matrix-vector products of inputs only.
SPECIAL = {"dwt", "tree", "tree-cuts", "memory-states", "liu", "mvm-tiling"}


def sample(seed: int, largest: int = 9) -> tuple[Cdag, int]:
    """A random CDAG, some of whose nodes without parents are constants, numbered at random, and a budget."""
    rng = np.random.default_rng(seed)
    plain = random_cdag(rng, int(rng.integers(2, largest + 1)), int(rng.choice([1, 3, 9])))
    name = rng.permutation(plain.n)
    sources, targets = plain.edge_arrays()
    back = np.argsort(name)
    cdag = build(plain.weights[back], name[sources], name[targets], given=plain.given[back])
    return cdag, cdag.least_budget() + int(rng.integers(0, 4))


def bounded(cdag: Cdag, budget: int, optimum: int, *, recompute: bool) -> None:
    search = Search(effort=0.5)
    assert best_bound(cdag, budget, recompute=recompute, search=search).value <= optimum


def agree(seeds: range, largest: int = 9) -> None:
    """The exact search finds the optimum of the game, and no bound exceeds it, with and without recomputation."""
    for seed in seeds:
        cdag, budget = sample(seed, largest)
        start = belady.plan(cdag, budget)
        assert replay(cdag, start, budget, recompute=False).ok
        once, often = (least_traffic(cdag, budget, recompute=recompute) for recompute in (False, True))
        found, bound, proven = solver.solve(cdag, budget, search=Search(), incumbent=start)
        assert replay(cdag, found, budget, recompute=False).ok
        assert (found.traffic(cdag.weights), bound, proven) == (once, once, True), seed
        found, bound, proven = recomputation.solve(cdag, budget, search=Search(), incumbent=start)
        assert replay(cdag, found, budget).ok
        assert (found.traffic(cdag.weights), bound, proven) == (often, often, True), seed
        bounded(cdag, budget, once, recompute=False)
        bounded(cdag, budget, often, recompute=True)


def test_the_exact_searches_and_the_bounds_agree_with_the_game() -> None:
    agree(range(5), 8)


@pytest.mark.slow
def test_they_agree_with_the_game_on_many_more() -> None:
    agree(range(1000, 3000), 10)


@pytest.mark.costly
@pytest.mark.parametrize("method", [method for method in METHODS if method not in SPECIAL])
def test_plans_of_every_method_pass_the_check_and_never_beat_the_game(method: str) -> None:
    for seed in range(8):
        cdag, budget = sample(seed + 100)
        for recompute in (False, True):
            found = find_plan(Request(cdag, budget, recompute, Search(effort=0.05)), method)
            report = replay(cdag, found.plan, budget, recompute=recompute)
            assert report.ok, (seed, report.violations[:2])
            optimum = least_traffic(cdag, budget, recompute=recompute)
            assert found.bound.value <= optimum <= report.cost["traffic"], (seed, recompute)


@pytest.mark.parametrize("method", sorted(SPECIAL - {"mvm-tiling", "dwt"}))
def test_methods_for_trees_of_inputs_say_so(method: str) -> None:
    cdag = build([1, 1, 1], [0, 1], [2, 2], given=np.array([True, False, False]))
    with pytest.raises(InputError, match="computed from nothing"):
        plan(cdag, budget=3, method=method)


@pytest.mark.slow
@pytest.mark.parametrize("recompute", [pytest.param(False, marks=pytest.mark.slow), True])
def test_larger_graphs_are_planned_and_bounded(recompute: bool) -> None:
    rng = np.random.default_rng(5)
    n = 3000
    sources, targets = np.array([(int(rng.integers(max(0, v - 40), v)), v) for v in range(800, n) for _ in range(2)]).T
    given = np.zeros(n, dtype=bool)
    given[np.unique(sources[sources < 800])[::2]] = True
    cdag = build(rng.integers(1, 4, n), sources, targets, given=given)
    result = plan(cdag, budget=30, effort=0.2, recompute=recompute)
    assert result.check.ok
    assert result.bound.value <= result.cost["traffic"]


def test_a_constant_costs_nothing_until_it_leaves() -> None:
    chain = build([5, 1, 1], [0, 1], [1, 2], given=np.zeros(3, dtype=bool))
    result = plan(chain)
    assert (result.cost["traffic"], result.status.value) == (1, "optimal")
    alone = build([2], [], [], given=np.zeros(1, dtype=bool))
    assert plan(alone).cost["traffic"] == plan(alone, recompute=True).cost["traffic"] == 2
    assert memory(chain).cost["budget"] == 6
    assert run(chain, budget=6).extra["run"]["agrees"]


def test_the_check_lets_constants_be_computed_but_not_loaded() -> None:
    pair = build([1, 1], [0], [1], given=np.zeros(2, dtype=bool))
    good = plan_of([(Move.COMPUTE, 0), (Move.COMPUTE, 1), (Move.STORE, 1)])
    assert check(pair, good).check.ok
    bad = plan_of([(Move.LOAD, 0), (Move.COMPUTE, 1), (Move.STORE, 1)])
    assert [one.rule for one in check(pair, bad).check.violations] == ["load-of-absent"]


def test_every_format_tells_constants_from_inputs(tmp_path: Path) -> None:
    path = tmp_path / "graph.dot"
    path.write_text("digraph { zero [input=false]; zero -> sum; x -> sum }")
    document = {
        "kind": "shorthaul/cdag",
        "version": 1,
        "nodes": [{"id": "zero", "input": False}, {"id": "x", "input": True}, {"id": "sum"}],
        "edges": [["zero", "sum"], ["x", "sum"]],
    }
    read = [
        load_cdag(path),
        cdag_from_document(document),
        from_dependencies({"zero": (float,), "x": 3, "sum": (sum, "zero", "x")}),
    ]
    for cdag in [*read, cdag_from_document(cdag_document(read[0]))]:
        assert [cdag.id_of(v) for v in cdag.constants().tolist()] == ["zero"]
        assert [cdag.id_of(v) for v in cdag.inputs().tolist()] == ["x"]


def test_an_input_has_no_operands_and_is_read() -> None:
    with pytest.raises(InputError, match="an input is computed from other nodes"):
        build([1, 1], [0], [1], given=np.ones(2, dtype=bool))
    with pytest.raises(InputError, match="has no edge"):
        build([1, 1, 1], [0], [1], given=np.array([False, False, True]))
    node = {"id": 0, "input": 1}
    with pytest.raises(InputError, match=r"nodes\[0\]\.input"):
        cdag_from_document({"kind": "shorthaul/cdag", "version": 1, "nodes": [node], "edges": []})
