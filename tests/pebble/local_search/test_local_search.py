from __future__ import annotations

import numpy as np
import pytest
from tests.pebble.exact.test_exact import random_cdag, sample
from tests.reference.pebble_game_kernels import least_traffic
from tests.reference.pebble_replacement import traffic_of_order

from shorthaul.core.search import Search
from shorthaul.pebble import case
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.local_search import driver
from shorthaul.pebble.local_search import recomputing_replay_kernels as kernels
from shorthaul.pebble.local_search.windows import whole, window
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.orders import belady
from shorthaul.pebble.plan import Move
from shorthaul.pebble.workloads import kernels_as_graphs

#: The excess of an order that reads a value before it is computed.
BROKEN = 1 << 61


def excess_of(cdag: Cdag, budget: int, order: IntArray, penalty: float, limit: int = BROKEN) -> int:
    part = whole(cdag, order)
    return kernels.excess(kernels.Replay(part.graph, part.frame, budget, order, len(order)), penalty, limit)


def with_repeats(cdag: Cdag, rng: np.random.Generator) -> IntArray:
    """An order that computes some values again, anywhere after the first time."""
    order = [v for v in cdag.order.tolist() if not cdag.given[v]]
    for _ in range(int(rng.integers(0, 5))):
        node = order[int(rng.integers(0, len(order)))]
        order.insert(int(rng.integers(order.index(node) + 1, len(order) + 1)), node)
    return np.array(order)


def test_both_replays_agree_with_their_plain_twin() -> None:
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
        traffic = plan.traffic(cdag.weights)
        assert traffic == traffic_of_order(cdag, budget, order.tolist(), penalty), seed
        excess = excess_of(cdag, budget, order, penalty)
        assert excess == traffic - cdag.algorithmic_bound(), seed
        if excess:
            assert excess_of(cdag, budget, order, penalty, limit=excess - 1) >= excess
        again += len(set(order.tolist())) < len(order)
    assert again > 50


def test_an_order_that_reads_too_early_is_told() -> None:
    cdag = kernels_as_graphs.pyramid(n=2, word=1)
    order = np.array([v for v in cdag.order.tolist() if cdag.parents.neighbours(v).size])
    assert excess_of(cdag, 4, order[::-1].copy(), 1.0) == BROKEN


@pytest.mark.costly
@pytest.mark.parametrize("recompute", [False, True])
def test_the_search_meets_the_game(recompute: bool) -> None:
    helped = 0
    for seed in range(60):
        cdag, budget = sample(seed, 8)
        start = belady.plan(cdag, budget)
        optimum = least_traffic(cdag, budget, recompute=recompute)
        assert optimum is not None
        search = Search(seed=seed)
        found = driver.improve(cdag, budget, start, search=search, recompute=recompute, goal=optimum, patience=None)
        assert replay(cdag, found, budget, recompute=recompute).ok
        traffic = found.traffic(cdag.weights)
        assert optimum <= traffic <= start.traffic(cdag.weights)
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
    found = driver.improve(cdag, budget, start, search=Search(), goal=traffic)
    assert replay(cdag, found, budget, recompute=False).ok
    assert found.traffic(cdag.weights) <= traffic < start.traffic(cdag.weights)


def test_computing_again_helps() -> None:
    cdag = kernels_as_graphs.random_cdag(n=24, degree=2, window=24, most=1, seed=3)
    budget = cdag.least_budget()
    start = belady.plan(cdag, budget)
    plain = driver.improve(cdag, budget, start, search=Search(seed=1), goal=17)
    again = driver.improve(cdag, budget, plain, search=Search(seed=1), recompute=True, goal=13)
    assert replay(cdag, again, budget).ok
    assert again.traffic(cdag.weights) < plain.traffic(cdag.weights)


def test_the_same_seed_gives_the_same_plan() -> None:
    cdag = kernels_as_graphs.pyramid(n=3, word=1)
    start = belady.plan(cdag, 3, "given")
    for recompute in (False, True):
        first, second = (
            driver.improve(cdag, 3, start, search=Search(effort=0.5, seed=1), recompute=recompute) for _ in range(2)
        )
        assert first.nodes.tolist() == second.nodes.tolist()
        assert first.traffic(cdag.weights) < start.traffic(cdag.weights)


def test_a_window_costs_what_it_costs_in_the_whole() -> None:
    for seed in range(80):
        rng = np.random.default_rng(seed)
        cdag = random_cdag(rng, int(rng.integers(20, 60)), int(rng.choice([1, 4])))
        budget = cdag.least_budget() + int(rng.integers(0, 5))
        penalty = belady.PENALTIES[seed % 3]
        order = with_repeats(cdag, rng)
        plan = belady.replay_order(cdag, budget, order, penalty=penalty)
        first = int(rng.integers(0, len(order) - 2))
        stop = int(rng.integers(first + 2, len(order) + 1))
        part = window(cdag, plan, first, stop)
        assert part.nodes[part.order].tolist() == order[first:stop].tolist()
        replay_of_part = kernels.Replay(part.graph, part.frame, budget, part.order, stop - first)
        excess = kernels.excess(replay_of_part, penalty, BROKEN)
        moves = np.flatnonzero(plan.kinds == Move.COMPUTE)
        begin, end = 0 if first == 0 else moves[first - 1] + 1, moves[stop - 1] + 1
        known = set(plan.nodes[:begin][plan.kinds[:begin] == Move.LOAD].tolist())
        expected = 0
        for kind, node in list(plan)[begin:end]:
            is_first = kind is Move.LOAD and node not in known and cdag.is_input()[node]
            is_last = kind is Move.STORE and cdag.is_output()[node]
            if kind in {Move.LOAD, Move.STORE} and not is_first and not is_last:
                expected += int(cdag.weights[node])
            known.add(node)
        assert excess == expected, seed


def test_long_orders_are_improved_in_windows() -> None:
    cdag = kernels_as_graphs.random_cdag(n=900, degree=3, window=40, most=3, seed=1)
    budget = 2 * cdag.least_budget()
    start = belady.plan(cdag, budget)
    for recompute in (False, True):
        goal = int(0.9 * start.traffic(cdag.weights))
        found = driver.improve(cdag, budget, start, search=Search(), recompute=recompute, goal=goal)
        assert replay(cdag, found, budget, recompute=recompute).ok
        assert found.traffic(cdag.weights) < start.traffic(cdag.weights)
