from __future__ import annotations

import pytest
from tests.pebble.exact.test_exact import sample
from tests.reference.pebble_game_kernels import least_traffic

from shorthaul.core.search import Search
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.model import build
from shorthaul.pebble.orders import belady
from shorthaul.pebble.plan import plan_of
from shorthaul.pebble.states import recomputation


def agree(seeds: range, largest: int) -> int:
    helped = 0
    for seed in seeds:
        cdag, budget = sample(seed, largest)
        optimum = least_traffic(cdag, budget, recompute=True)
        start = belady.plan(cdag, budget)
        plan, bound, proven = recomputation.solve(cdag, budget, search=Search(), incumbent=start)
        assert proven
        report = replay(cdag, plan, budget)
        assert report.ok, (seed, report.violations[:2])
        assert bound == plan.traffic(cdag.weights) == optimum, seed
        once = least_traffic(cdag, budget, recompute=False)
        assert once is not None
        assert bound <= once
        helped += bound < once
    return helped


def test_the_search_agrees_with_the_game() -> None:
    assert agree(range(60, 80), 8) > 0


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_the_search_agrees_with_the_game_on_thousands() -> None:
    agree(range(5000, 7000), 9)


def test_a_large_graph_keeps_its_plan() -> None:
    n = 80
    cdag = build([1] * n, list(range(n - 1)), list(range(1, n)))
    plan, bound, proven = recomputation.solve(cdag, 2, search=Search(), incumbent=belady.plan(cdag, 2))
    assert (bound, proven) == (2, True)
    wasteful = plan_of([*plan, (0, 0)])
    assert recomputation.solve(cdag, 2, search=Search(), incumbent=wasteful)[1:] == (2, False)
