from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tests.pebble.exact.test_exact import sample
from tests.reference.pebble_game_kernels import least_traffic
from tests.reference.pebble_partial import least_paid as accumulated_for
from tests.reference.pebble_prices import least_paid
from tests.samples import samples

from shorthaul import pebble
from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.exact import least_memory
from shorthaul.pebble.model import Terms
from shorthaul.pebble.orders import belady
from shorthaul.pebble.workloads import kernels_as_graphs


def test_what_is_found_and_proven_is_what_the_game_says() -> None:
    for seed in samples(60):
        cdag, _ = sample(seed, 8)
        goal = cdag.algorithmic_bound()
        start = belady.plan(cdag, int(cdag.weights.sum()))
        found = least_memory.search_least(cdag, start, search=Search())
        report = replay(cdag, found.plan, found.budget, recompute=False)
        assert report.ok
        assert report.cost is not None
        assert report.cost["traffic"] == goal
        assert report.cost["peak"] == found.budget
        assert found.least == found.budget, seed
        if found.budget > cdag.least_budget():
            assert least_traffic(cdag, found.budget - 1, recompute=False) != goal


def test_with_recomputation_it_is_what_the_game_says() -> None:
    for seed in samples(12):
        cdag, _ = sample(seed, 7)
        result = pebble.memory(cdag, recompute=True, effort=0.3)
        assert result.status == "optimal", seed
        budget, goal = int(result.cost["budget"]), cdag.algorithmic_bound()
        assert result.cost["traffic"] == goal
        if budget > cdag.least_budget():
            assert least_traffic(cdag, budget - 1, recompute=True) != goal


def test_accumulated_it_is_what_the_game_says() -> None:
    terms, less = Terms(partial=True), 0
    for seed in samples(8):
        cdag, _ = sample(seed, 5)
        result = pebble.memory(cdag, partial=True, effort=0.1)
        assert result.status == "optimal", seed
        budget, goal = int(result.cost["budget"]), cdag.algorithmic_bound()
        assert accumulated_for(cdag, budget, terms) == goal == result.cost["traffic"]
        if budget > terms.needs(cdag).max():
            assert accumulated_for(cdag, budget - 1, terms) != goal, seed
        less += budget < cdag.least_budget()
    assert less
    with pytest.raises(InputError, match="recompute: cannot be combined with partial"):
        pebble.memory("fft:n=4", partial=True, recompute=True)
    with pytest.raises(InputError, match="method: cannot be combined with partial"):
        pebble.memory("fft:n=4", partial=True, method="liu")


def test_accumulated_larger_graphs_are_bounded_by_paths() -> None:
    result = pebble.memory("fft:n=16,word=1", partial=True, effort=0.3)
    assert "crossings" in result.bound.method
    assert 4 < result.bound.value <= result.cost["budget"] == result.cost["peak"]


def test_in_the_order_of_the_nodes_it_is_what_the_game_says() -> None:
    terms = Terms(in_order=True)
    for seed in samples(40):
        cdag, _ = sample(seed, 6)
        result = pebble.memory(cdag, order="given")
        assert result.status == "optimal"
        budget, goal = int(result.cost["budget"]), cdag.algorithmic_bound()
        assert least_paid(cdag, budget, terms, recompute=False) == goal == result.cost["traffic"]
        assert least_paid(cdag, budget - 1, terms, recompute=False) != goal
    with pytest.raises(InputError, match="method: cannot be combined with order given"):
        pebble.memory("fft:n=4", order="given", method="liu")


@pytest.mark.parametrize("in_place", [False, True])
def test_recomputation_in_the_order_of_the_nodes_is_what_the_game_says(in_place: bool) -> None:
    terms, less = Terms(in_order=True, in_place=in_place), 0
    for seed in (*samples(8), 19):
        cdag, _ = sample(seed, 6)
        asked = {"order": "given", "in_place": in_place, "effort": 0.2}
        result = pebble.memory(cdag, recompute=True, **asked)
        budget, goal = int(result.cost["budget"]), cdag.algorithmic_bound()
        assert result.status == "optimal"
        assert least_paid(cdag, budget, terms, recompute=True) == goal == result.cost["traffic"]
        assert least_paid(cdag, budget - 1, terms, recompute=True) != goal
        less += budget < pebble.memory(cdag, **asked).cost["budget"]
    assert less


def test_memory_of_general_graphs_is_proven() -> None:
    cdag = kernels_as_graphs.fft(n=8, word=2)
    result = pebble.memory(cdag, effort=0.3)
    assert result.status == "optimal"
    assert result.bound.method == "exhausted search"
    assert result.cost["budget"] == result.bound.value == 20  # at 18 the optimum is 36, not 32


@pytest.mark.parametrize("recompute", [False, True])
def test_the_curve_never_rises(recompute: bool) -> None:
    cdag = kernels_as_graphs.random_cdag(n=40, degree=3, window=15, most=4, seed=2)
    found = pebble.sweep(cdag, points=4, recompute=recompute, method="belady", effort=0.2, workers=1).extra["points"]
    assert len(found) > 2
    for before, after in pairwise(found):
        assert before["budget"] < after["budget"]
        assert before["traffic"] >= after["traffic"]
        assert before["bound"]["value"] >= after["bound"]["value"]
    assert all(point["traffic"] >= point["bound"]["value"] for point in found)


def test_layers_of_weights_need_less_than_orders_annealed_for_traffic() -> None:
    rng = np.random.default_rng(3)
    edges = [(int(rng.integers(12)), v) for v in range(12, 24)]
    for v in range(24, 240):
        edges += [(int(rng.integers(0 if rng.random() < 0.2 else v - 24, v - v % 12)), v) for _ in range(3)]
    used, ends = np.unique(edges, return_inverse=True)
    cdag = pebble.build(rng.integers(1, 1000, len(used)), *ends.reshape(-1, 2).T)
    start = belady.plan(cdag, int(cdag.weights.sum()))
    usual = least_memory.search_least(cdag, start, search=Search(effort=0.2)).budget
    result = pebble.memory(cdag, effort=0.2)
    assert result.cost["budget"] < 0.97 * usual
    assert replay(cdag, result.plan, int(result.cost["budget"])).cost["traffic"] == cdag.algorithmic_bound()


def test_in_place_it_is_what_the_game_says() -> None:
    gained = 0
    for seed in samples(16):
        cdag, _ = sample(seed, 6)
        cdag = replace(cdag, compute=np.arange(cdag.n))
        order, recompute = ("free", "given")[seed % 2], seed % 4 == 0
        terms = Terms(in_order=order == "given", in_place=True)
        result = pebble.memory(cdag, order=order, in_place=True, recompute=recompute, effort=0.5)
        assert result.status == "optimal", seed
        budget, bare = int(result.cost["budget"]), replace(cdag, compute=np.zeros(cdag.n, dtype=np.int64))
        assert least_paid(bare, budget, terms, recompute=recompute) == cdag.algorithmic_bound(), seed
        assert least_paid(bare, budget - 1, terms, recompute=recompute) != cdag.algorithmic_bound(), seed
        gained += budget < pebble.memory(cdag, order=order, recompute=recompute, effort=0.5).cost["budget"]
    assert gained


def test_in_place_larger_graphs_are_bounded_by_the_usual_game() -> None:
    usual, result = (pebble.memory("kary:k=2,depth=6,word=1", in_place=way, effort=0.5) for way in (False, True))
    assert (usual.cost["budget"], result.cost["budget"], result.status) == (8, 7, "optimal")
    with pytest.raises(InputError, match="method: cannot be combined with in_place"):
        pebble.memory("fft:n=4", in_place=True, method="belady")


def test_capacities_are_read_before_anything_is_searched() -> None:
    with pytest.raises(InputError, match="is no list of budgets"):
        pebble.memory("fft:n=4", method="dwt", capacities="3,x")  # the method does not apply either
