from __future__ import annotations

import numpy as np
import pytest
from tests.reference.pebble_game import least_traffic

from shorthaul.core.search import Budget
from shorthaul.pebble import exact
from shorthaul.pebble.check import replay
from shorthaul.pebble.downsets import layered
from shorthaul.pebble.model import Cdag, build


def random_cdag(rng: np.random.Generator, n: int, most: int) -> Cdag:
    edges = {
        (int(p), v) for v in range(1, n) for p in rng.choice(v, size=min(v, int(rng.integers(1, 4))), replace=False)
    }
    sources, targets = zip(*sorted(edges), strict=True)
    return build(rng.integers(1, most + 1, n), list(sources), list(targets))


def sample(seed: int, largest: int) -> tuple[Cdag, int]:
    rng = np.random.default_rng(seed)
    cdag = random_cdag(rng, int(rng.integers(3, largest + 1)), int(rng.choice([1, 2, 5, 9])))
    return cdag, cdag.least_budget() + int(rng.integers(0, 5))


def agree(seeds: range, largest: int) -> None:
    for seed in seeds:
        cdag, budget = sample(seed, largest)
        optimum = least_traffic(cdag, budget, recompute=False)
        least = cdag.algorithmic_bound()
        found = layered(cdag, budget, limit=10**9, search=Budget())
        assert found.complete
        assert found.plan is not None
        assert found.excess == optimum - least, seed
        report = replay(cdag, found.plan, budget, recompute=False)
        assert report.ok, (seed, report.violations[:2])
        assert report.cost is not None
        assert report.cost["traffic"] == optimum
        if optimum > least:  # a pass whose limit is the optimum finds nothing, and says so for certain
            empty = layered(cdag, budget, limit=optimum - least, search=Budget())
            assert empty.plan is None
            assert empty.complete


def test_the_search_agrees_with_the_game() -> None:
    agree(range(250), 8)


@pytest.mark.slow
def test_the_search_agrees_with_the_game_on_thousands() -> None:
    agree(range(1000, 4000), 10)


def test_solve_proves_what_the_game_says() -> None:
    for seed in range(40):
        cdag, budget = sample(seed, 8)
        plan, bound, proven = exact.solve(cdag, budget, search=Budget(time_limit_s=20))
        assert proven
        assert plan.traffic(cdag.weights) == bound == least_traffic(cdag, budget, recompute=False)
