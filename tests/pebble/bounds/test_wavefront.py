from __future__ import annotations

import numpy as np
import pytest
from tests.pebble.exact.test_exact import random_cdag

from shorthaul.core.search import Search
from shorthaul.pebble import case
from shorthaul.pebble.bounds import wavefront
from shorthaul.pebble.states.layered_search import layered


def moments_stay_below(seeds: range, largest: int) -> int:
    """Check the bounds of single moments against optima; return how often they say anything."""
    lifted = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        cdag = random_cdag(rng, int(rng.integers(6, largest + 1)), int(rng.choice([1, 1, 3, 7])))
        budget = cdag.least_budget() + int(rng.integers(0, 3))
        outcome = layered(cdag, budget, limit=10**9, search=Search())
        assert outcome.excess is not None
        found = wavefront.turning(cdag, budget, search=Search()).excess
        assert found <= outcome.excess, seed
        cuts = wavefront.excess(cdag, budget, search=Search())
        assert max([cuts.excess, *(piece.excess for piece in cuts.pieces)]) <= outcome.excess, seed
        lifted += found > 0
    return lifted


def test_moments_never_exceed_an_optimum() -> None:
    assert moments_stay_below(range(60), 14) > 10


@pytest.mark.slow
def test_moments_never_exceed_an_optimum_on_thousands() -> None:
    assert moments_stay_below(range(2000, 5000), 16) > 500


@pytest.mark.parametrize(
    ("text", "budget", "excess", "optimum"),
    [
        ("fft:n=16,word=1", 6, 22, 25),
        ("fft:n=16,word=2", 12, 44, 50),
        ("pyramid:n=10,word=1", 9, 6, 6),
        ("fft:n=64,word=1", 16, 98, 400),
    ],
)
def test_the_first_output_of_a_butterfly(text: str, budget: int, excess: int, optimum: int) -> None:
    assert excess <= wavefront.turning(case(text).workload, budget, search=Search()).excess <= optimum


def test_no_time_says_nothing() -> None:
    search = Search(effort=1e-6)
    assert wavefront.turning(case("fft:n=64,word=1").workload, 16, search=search).excess == 0
