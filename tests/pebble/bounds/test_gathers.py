from __future__ import annotations

import numpy as np
import pytest
from tests.pebble.families import Graph, shuffled, stays_below_optima
from tests.samples import samples

from shorthaul.core.search import Search
from shorthaul.pebble import case
from shorthaul.pebble.bounds import gathers
from shorthaul.pebble.bounds.best import best_bound
from shorthaul.pebble.local_search import annealing
from shorthaul.pebble.model import Cdag, build
from shorthaul.pebble.orders import belady
from shorthaul.pebble.workloads import sparse


def gathered(rng: np.random.Generator) -> Cdag:
    """Return a few sums, each of some products of inputs and of earlier sums, and of a value more now and then."""
    graph = Graph()
    inputs = [graph.node() for _ in range(int(rng.integers(2, 7)))]
    sides = (inputs[::2], inputs[1::2]) if rng.random() < 0.4 else (inputs[:], inputs[:])
    used: set[int] = set()
    for _ in range(int(rng.integers(2, 5))):
        pairs = {tuple(sorted({int(rng.choice(side)) for side in sides})) for _ in range(int(rng.integers(2, 5)))}
        direct = [int(rng.choice(inputs))] if rng.random() < 0.25 else []
        used.update(direct, *pairs)
        total = graph.node(*(graph.node(*pair) for pair in sorted(pairs)), *direct)
        if rng.random() < 0.6:
            sides[1].append(total)
    unused = set(inputs) - used
    if unused:
        graph.node(*sorted(unused))
    cdag = graph.done()
    return build(rng.integers(1, int(rng.choice([1, 1, 2, 3])) + 1, cdag.n), *cdag.edge_arrays())


def stays_below(seeds: range) -> tuple[int, int]:
    games = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        cdag = gathered(rng)
        if seed % 2 == 0:
            n, k, percent = int(rng.integers(2, 4)), int(rng.integers(1, 4)), float(rng.integers(40, 101))
            cdag = sparse.exp(n=n, percent=percent, k=k, most=int(rng.choice([1, 1, 2])), seed=seed)
        if cdag.n <= 22:
            games.append((shuffled(cdag, rng), cdag.least_budget() + int(rng.choice([0, 0, 1, 2]))))
    return stays_below_optima(games, lambda cdag, budget: gathers.excess(cdag, budget, search=Search()).excess)


def test_no_bound_exceeds_an_optimum() -> None:
    lifted, _ = stays_below(range(len(samples(100))))
    assert lifted > len(samples(100)) // 8


@pytest.mark.slow
def test_no_bound_exceeds_an_optimum_on_thousands() -> None:
    lifted, tight = stays_below(range(100, 3000))
    assert lifted > 400
    assert tight > 20


def blocks(rows: int, columns: int, times: int) -> Cdag:
    """Return the products of a dense matrix with vectors that are all there from the start."""
    graph = Graph()
    matrix = [[graph.node() for _ in range(columns)] for _ in range(rows)]
    vectors = [[graph.node() for _ in range(columns)] for _ in range(times)]
    for row in matrix:
        for vector in vectors:
            graph.node(*(graph.node(*pair) for pair in zip(row, vector, strict=True)))
    return graph.done()


def test_no_plan_beats_the_bound_where_sums_share_all_that_they_can() -> None:
    nearest = 9.0
    for beyond in range(0, 6, 2):
        cdag = blocks(3, 5, 4)
        budget = cdag.least_budget() + beyond
        found = gathers.excess(cdag, budget, search=Search()).excess
        plan = annealing.improve(cdag, budget, belady.plan(cdag, budget), search=Search(effort=0.1))
        taken = plan.traffic(cdag.weights) - cdag.algorithmic_bound()
        assert 0 < found <= taken
        nearest = min(nearest, taken / found)
    assert nearest < 1.6


@pytest.mark.slow
def test_repeated_sparse_products_load_the_matrix_again_and_again() -> None:
    cdag = case("exp:n=40,percent=15,k=8,most=1").workload
    for times, most in ((1, 2.5), (2, 7)):
        budget = times * cdag.least_budget()
        bound = cdag.algorithmic_bound() + gathers.excess(cdag, budget, search=Search()).excess
        assert belady.plan(cdag, budget).traffic(cdag.weights) < most * bound
    budget = cdag.least_budget()
    bound = cdag.algorithmic_bound() + gathers.excess(cdag, budget, search=Search()).excess
    assert best_bound(cdag, budget, search=Search(effort=0.3), goal=bound).method == "gathers"
    for room in (int(cdag.weights.sum()), 2**40):
        assert gathers.excess(cdag, room, search=Search()).excess == 0


def test_a_search_that_is_over_claims_nothing() -> None:
    cdag = case("exp:n=40,percent=15,k=8,most=1").workload
    assert gathers.excess(cdag, cdag.least_budget(), search=Search(effort=1e-6)).excess == 0
