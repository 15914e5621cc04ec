from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.pebble.exact.test_exact import random_cdag, sample
from tests.reference.pebble_game_kernels import least_traffic
from tests.samples import samples

from shorthaul.core.errors import InfeasibleError
from shorthaul.core.search import Search
from shorthaul.pebble import plan
from shorthaul.pebble.bounds.best import best_bound, bound_of_program
from shorthaul.pebble.check.certificate import verify
from shorthaul.pebble.model import IntArray, Terms
from shorthaul.pebble.orders import belady
from shorthaul.pebble.states.layered_search import layered
from shorthaul.pebble.workloads import kernels_as_graphs


def test_no_bound_exceeds_an_optimum_of_the_game() -> None:
    lifted = 0
    for seed in samples(50):
        cdag, budget = sample(seed, 8)
        optimum = least_traffic(cdag, budget, recompute=False)
        found = best_bound(cdag, budget)
        assert optimum is not None
        assert max(found.details["bounds"].values()) <= optimum, (seed, found.details)
        assert found.value == max(found.details["bounds"].values())
        lifted += found.value > cdag.algorithmic_bound()
        again = least_traffic(cdag, budget, recompute=True)
        assert again is not None
        assert best_bound(cdag, budget, recompute=True).value <= again <= optimum
    assert lifted > 0


def test_no_bound_exceeds_an_optimum_of_larger_graphs() -> None:
    lifted = 0
    for seed in samples(80):
        rng = np.random.default_rng(seed)
        cdag = random_cdag(rng, int(rng.integers(10, 18)), int(rng.choice([1, 3])))
        budget = cdag.least_budget() + int(rng.integers(0, 2))
        outcome = layered(cdag, budget, limit=10**9, search=Search())
        assert outcome.excess is not None
        found = best_bound(cdag, budget)
        assert max(found.details["bounds"].values()) <= cdag.algorithmic_bound() + outcome.excess, seed
        lifted += found.value > cdag.algorithmic_bound()
    assert lifted > 1


@pytest.mark.parametrize(("budget", "optimum"), [(3, 40), (6, 24), (9, 18)])
def test_bounds_of_the_butterfly_stay_below_its_optima(budget: int, optimum: int) -> None:
    assert 16 <= best_bound(kernels_as_graphs.fft(n=8, word=1), budget).value <= optimum


def test_too_small_a_budget_has_no_bound() -> None:
    with pytest.raises(InfeasibleError, match="fast memory"):
        best_bound(kernels_as_graphs.fft(n=8, word=1), 2)


class Known:
    """A program that is known to load at least so many words of weight 16, and in which order it may be run."""

    def __init__(self, least: int, best: IntArray | None = None) -> None:
        self.least, self.best = least, best

    def least_loaded(self, budget: int, width: int, search: Search) -> tuple[int, str, dict[str, int]] | None:
        assert (budget % 64, width) == (0, 16)
        return None if search.expired() else (self.least, "Known.", {"known": self.least})

    def verified(self, certificate: dict[str, int], budget: int, width: int) -> tuple[int, list[str], list[str]]:
        assert (budget, width) == (64, 16)
        return certificate["known"], [], []

    def order(self, budget: int, width: int, search: Search) -> IntArray | None:
        assert (budget % 64, width, search.seed) == (0, 16, 0)
        return self.best


def test_the_bound_of_what_a_graph_was_made_from_counts_too() -> None:
    cdag = replace(kernels_as_graphs.matmul(m=5, n=5, k=5), origin=Known(500))
    known = bound_of_program(cdag, 64, search=Search(effort=0.05))
    assert known is not None
    found = best_bound(cdag, 64, search=Search(effort=0.05), goal=16 * 525, known=known)
    assert (found.method, found.value) == ("program", 16 * (500 + 25))
    assert found.proof.endswith("Known.")
    assert verify(cdag, found.document(), 64, recompute=False, terms=Terms())[0] == []


@pytest.mark.slow
def test_the_order_of_what_a_graph_was_made_from_is_a_start() -> None:
    cdag = kernels_as_graphs.matmul(m=7, n=7, k=7)
    order = belady.order_of(plan(cdag, budget=256, method="tiles", effort=0.2).plan)
    ordered = belady.plan(cdag, 256, order).traffic(cdag.weights)
    known, unknown = (
        plan(replace(cdag, origin=origin), budget=256, effort=0.05).cost["traffic"]
        for origin in (Known(0, order), None)
    )
    assert known <= ordered < unknown
