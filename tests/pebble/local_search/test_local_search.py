from __future__ import annotations

import numpy as np
import pytest
from tests.pebble.exact.test_exact import random_cdag, sample
from tests.reference.pebble_game_kernels import least_traffic
from tests.reference.pebble_replacement import traffic_of_order
from tests.samples import samples

from shorthaul.core.search import Search
from shorthaul.pebble import case, plan
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.local_search import annealing
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.orders import belady
from shorthaul.pebble.plan import Move
from shorthaul.pebble.workloads import kernels_as_graphs


def with_repeats(cdag: Cdag, rng: np.random.Generator) -> IntArray:
    """An order that computes some values again, anywhere after the first time."""
    order = [v for v in cdag.order.tolist() if not cdag.given[v]]
    for _ in range(int(rng.integers(0, 5))):
        node = order[int(rng.integers(0, len(order)))]
        order.insert(int(rng.integers(order.index(node) + 1, len(order) + 1)), node)
    return np.array(order)


def test_the_replay_agrees_with_its_plain_twin() -> None:
    again = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        cdag = random_cdag(rng, int(rng.integers(4, 25)), int(rng.choice([1, 3, 9])))
        budget = cdag.least_budget() + int(rng.integers(0, 5))
        order = with_repeats(cdag, rng)
        penalty = belady.PENALTIES[seed % 3]
        plan = belady.replay_order(cdag, budget, order, penalty=penalty)
        report = replay(cdag, plan, budget)
        assert report.ok, (seed, report.violations[:2])
        assert plan.nodes[plan.kinds == Move.COMPUTE].tolist() == order.tolist()
        assert plan.traffic(cdag.weights) == traffic_of_order(cdag, budget, order.tolist(), penalty), seed
        again += len(set(order.tolist())) < len(order)
    assert again > 50


@pytest.mark.costly
@pytest.mark.parametrize("recompute", [False, True])
def test_the_search_meets_the_game(recompute: bool) -> None:
    helped = 0
    for seed in (*samples(80), 53):  # the one of the first 60 that computing again helps
        cdag, budget = sample(seed, 8)
        start = belady.plan(cdag, budget)
        optimum = least_traffic(cdag, budget, recompute=recompute)
        assert optimum is not None
        if recompute:
            found = plan(cdag, budget=budget, method="local-search", recompute=True, effort=0.1).plan
        else:
            search = Search(seed=seed)
            found = annealing.improve(cdag, budget, start, search=search, goal=optimum, patience=None)
        assert found is not None
        assert replay(cdag, found, budget, recompute=recompute).ok
        traffic = found.traffic(cdag.weights)
        assert traffic == optimum, seed
        helped += traffic < start.traffic(cdag.weights)
    assert helped > 0


@pytest.mark.parametrize(
    ("text", "budget", "traffic"),
    [("matmul:m=3,n=3,k=3,word=1", 9, 33), ("fft:n=16,word=1", 6, 58), ("mvm:m=4,n=6,word=1", 3, 77)],
)
def test_graphs_that_no_search_closes(text: str, budget: int, traffic: int) -> None:
    cdag = case(text).workload
    start = belady.plan(cdag, budget)
    found = annealing.improve(cdag, budget, start, search=Search(), goal=traffic)
    assert replay(cdag, found, budget, recompute=False).ok
    assert found.traffic(cdag.weights) <= traffic < start.traffic(cdag.weights)


def test_computing_again_helps() -> None:
    cdag = kernels_as_graphs.random_cdag(n=24, degree=2, window=24, most=1, seed=3)
    plain, again = (plan(cdag, method="local-search", recompute=again, effort=0.1) for again in (False, True))
    assert again.cost["traffic"] < plain.cost["traffic"]


@pytest.mark.parametrize("recompute", [False, True])
def test_the_same_seed_gives_the_same_plan(recompute: bool) -> None:
    cdag = kernels_as_graphs.pyramid(n=6, word=1)
    asked = {"budget": 3, "method": "local-search", "recompute": recompute, "effort": 0.1, "seed": 1}
    first, second = (plan(cdag, **asked).plan for _ in range(2))
    assert first.nodes.tolist() == second.nodes.tolist()
    assert first.traffic(cdag.weights) < belady.plan(cdag, 3).traffic(cdag.weights)


def test_long_orders_are_improved() -> None:
    cdag = kernels_as_graphs.random_cdag(n=900, degree=3, window=40, most=3, seed=1)
    budget = 2 * cdag.least_budget()
    start = belady.plan(cdag, budget)
    goal = int(0.9 * start.traffic(cdag.weights))
    found = annealing.improve(cdag, budget, start, search=Search(), goal=goal)
    assert replay(cdag, found, budget, recompute=False).ok
    assert found.traffic(cdag.weights) < start.traffic(cdag.weights)
