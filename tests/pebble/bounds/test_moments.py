from __future__ import annotations

import numpy as np
import pytest
from tests.pebble.families import Graph, shuffled, stays_below_optima
from tests.reference.pebble_game import least_traffic

from shorthaul.core.search import Search
from shorthaul.pebble import case
from shorthaul.pebble.bounds import moments
from shorthaul.pebble.bounds.best import best_bound
from shorthaul.pebble.model import Cdag, build
from shorthaul.pebble.orders import belady


def iterated(rng: np.random.Generator, entries: int, steps: int) -> Cdag:
    """Return steps that all read most of the same inputs, and each the sum of the step before."""
    graph = Graph()
    inputs, total = [graph.node() for _ in range(entries)], graph.node()
    sums: list[int] = []
    for _ in range(steps):
        products = [graph.node(entry, total) for entry in inputs if not sums or rng.random() < 0.85]
        products += [graph.node(total, *rng.choice(sums, 1).tolist())] if sums and rng.random() < 0.4 else []
        sums.append(total)
        while len(products) > 1:
            width = int(rng.integers(2, 4))
            products = [*products[width:], graph.node(*products[:width])]
        total = products[0] if products else total
    cdag = graph.done()
    heavy = rng.integers(1, int(rng.choice([2, 2, 4])), cdag.n)
    return shuffled(build(heavy, *cdag.edge_arrays()), rng)


def stays_below(seeds: range) -> tuple[int, int]:
    games = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        cdag = iterated(rng, int(rng.integers(3, 7)), int(rng.integers(2, 4)))
        games.append((cdag, cdag.least_budget() + int(rng.integers(0, 3))))
    return stays_below_optima(
        games, lambda cdag, budget: moments.excess(cdag, budget, recompute=False, search=Search()).excess
    )


def test_no_bound_exceeds_an_optimum() -> None:
    lifted, tight = stays_below(range(40))
    assert lifted > 20
    assert tight > 2


@pytest.mark.slow
def test_no_bound_exceeds_an_optimum_on_thousands() -> None:
    assert stays_below(range(100, 2000))[0] > 1000


@pytest.mark.slow
def test_no_bound_exceeds_an_optimum_that_computes_again() -> None:
    lifted = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        cdag = iterated(rng, 3, 2)
        budget = cdag.least_budget()
        found = moments.excess(cdag, budget, recompute=True, search=Search()).excess
        if found and cdag.n <= 12:
            least = least_traffic(cdag, budget, recompute=True)
            assert least is not None
            assert found <= least - cdag.algorithmic_bound(), seed
            lifted += 1
    assert lifted > 2


def test_every_iteration_reads_the_matrix_again() -> None:
    cdag = case("cg:n=16,percent=30,k=8").workload
    budget = cdag.least_budget()
    cost, least = belady.plan(cdag, budget).traffic(cdag.weights), cdag.algorithmic_bound()
    bound = least + moments.excess(cdag, budget, recompute=False, search=Search()).excess
    assert bound > 10 * least
    assert cost < 1.5 * bound
    assert best_bound(cdag, budget, search=Search(effort=0.4), goal=bound).method == "moments"


def test_a_search_that_is_over_claims_nothing() -> None:
    cdag = case("cg:n=16,percent=30,k=8").workload
    assert moments.excess(cdag, cdag.least_budget(), recompute=False, search=Search(effort=1e-6)).excess == 0
