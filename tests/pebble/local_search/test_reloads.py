from __future__ import annotations

import numpy as np
import pytest
from tests.pebble.exact.test_exact import random_cdag
from tests.reference import pebble_reloads
from tests.samples import samples

from shorthaul import pebble
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.local_search import rematerialisation
from shorthaul.pebble.orders import belady


def test_plans_stay_valid_and_get_no_dearer() -> None:
    saved = 0
    for seed in samples(150):
        rng = np.random.default_rng(seed)
        cdag = random_cdag(rng, int(rng.integers(6, 40)), int(rng.choice([1, 2, 9])))
        budget = cdag.least_budget() + int(rng.integers(0, 6))
        start = belady.plan(cdag, budget)
        found = rematerialisation.computed_again(cdag, start, budget)
        report = replay(cdag, found, budget)
        assert report.ok, (seed, report.violations[:2])
        before, after = start.traffic(cdag.weights), found.traffic(cdag.weights)
        assert after <= before
        saved += after < before
        assert list(found) == list(pebble_reloads.computed_again(cdag, start, budget)), seed
    assert saved > 10


@pytest.mark.costly
@pytest.mark.parametrize("method", ["belady", "list-scheduling"])
def test_plans_of_any_method_are_looked_over(method: str) -> None:
    helped = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        cdag = random_cdag(rng, 60, 9)
        budget = cdag.least_budget() + 5
        results = [pebble.plan(cdag, budget=budget, method=method, recompute=recompute) for recompute in (False, True)]
        traffics = [result.cost["traffic"] for result in results]
        helped += traffics[1] < traffics[0]
    assert helped > 2
