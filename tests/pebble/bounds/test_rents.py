from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from tests.pebble.families import Graph, doubled, fused_product, shuffled, stays_below_optima, symmetric_product
from tests.samples import samples

from shorthaul.core.search import Search
from shorthaul.pebble.bounds import rents, segments
from shorthaul.pebble.bounds.sums_of_products import contractions
from shorthaul.pebble.check.certificates import rent as checked
from shorthaul.pebble.check.certificates.part import Game, WrongError
from shorthaul.pebble.check.certificates.product import proven
from shorthaul.pebble.model import Cdag, build
from shorthaul.pebble.orders import belady


def least_paid(edges: tuple[tuple[int, int], ...], rent: float) -> float:
    """Return the vertices of edges in an order and the rent of each from its first edge to its last."""
    ends: dict[int, list[int]] = {}
    for at, edge in enumerate(edges):
        for vertex in edge:
            ends.setdefault(vertex, []).append(at)
    return len(ends) + rent * sum(times[-1] - times[0] + 1 for times in ends.values())


@pytest.mark.parametrize("is_symmetric", [False, True])
def test_no_graph_pays_less_than_graphs_do_at_least(is_symmetric: bool) -> None:
    four = range(4)
    sides = [(a, b) for a in four for b in four if a < b] if is_symmetric else [*product(range(2), range(2, 5))]
    largest, best = 5, dict[tuple[int, float], float]()
    for size, rent in product(range(1, largest + 1), (0.05, 0.2, 0.8)):
        best[size, rent] = min(least_paid(edges, rent) for edges in permutations(sides, size))
    vertices, beside = rents._graphs(largest, is_symmetric=is_symmetric)
    slices = checked.Slices(1, 1, 1, 1, 1, largest, 0.0, is_symmetric)
    for (size, rent), least in best.items():
        said = float((vertices[:, 0] + rent * beside[:, size - 1]).min())
        assert said <= least + 1e-9
        assert said > (0.7 if is_symmetric else 0.95) * least
        assert said == pytest.approx(checked._least_graphs(largest, rent, slices)[size - 1])


def test_no_gap_lacks_more_than_is_said() -> None:
    rng, most = np.random.default_rng(1), 0.0
    for _ in samples(4000):
        near, rent = int(rng.integers(1, 6)), float(rng.uniform(0.02, 0.5))
        slices, runs = int(rng.integers(1, 8)), float(rng.uniform(0, 1))
        after = np.repeat(np.arange(slices), near)
        if rng.random() < runs:
            rng.shuffle(after)
        before = rng.integers(0, slices, int(rng.integers(0, 3)))  # further terms of slices that have met the sum
        times = [*rng.permutation(slices).tolist(), *before.tolist(), *after.tolist()]
        lacking = 0.0
        for one in range(slices):
            own = [at for at, of in enumerate(times) if of == one]
            for place, at in enumerate(own[1 : near + 1], start=1):
                if at >= slices + len(before):
                    lacking += rent * max(0.0, 1 - rent * (at - own[0] - place))
        assert lacking <= rents.missing_at_once(near, rent, 1.0) + 1e-9
        most = max(most, lacking / rents.missing_at_once(near, rent, 1.0))
        assert rents.missing_at_once(near, rent, 1.0) == pytest.approx(checked._lacking(near, rent))
    assert most > 0.9


def with_factor(m: int, n: int, k: int) -> Cdag:
    """Return a product whose terms all read one factor more."""
    graph = Graph()
    factor, total = graph.node(), -1
    left, right = ([[graph.node() for _ in range(k)] for _ in range(size)] for size in (m, n))
    for row, column, step in product(range(m), range(n), range(k)):
        operands = (left[row][step], right[column][step], factor)
        total = graph.node(*operands) if step == 0 else graph.node(total, *operands)
    return graph.done()


def games(rng: np.random.Generator) -> tuple[Cdag, int]:
    m, n, k = rng.integers(3, 8, 3).tolist()
    kind = int(rng.integers(5))
    cdag = with_factor(m, n, k) if kind == 1 else fused_product(m, n, k)
    if kind == 2:
        cdag = symmetric_product(m + 2, k)
    if kind == 3:
        cdag = doubled(cdag, np.flatnonzero(cdag.given))
    if kind == 4:
        weights = np.where(cdag.given, *rng.integers(1, 4, 2))
        cdag = build(weights, *cdag.edge_arrays())
    return shuffled(cdag, rng), cdag.least_budget() + int(rng.integers(0, 9))


def test_no_rent_proves_more_than_tiles_move() -> None:
    # Every rent and number of terms nearby gives a bound, not only the best ones.
    rng, lifted, best = np.random.default_rng(5), 0, 0.0
    for _ in samples(120):
        cdag, budget = games(rng)
        [found] = contractions(cdag, search=Search())
        sides = rng.integers(1, 6, 3)
        position = np.empty(cdag.n, np.int64)
        position[cdag.order] = np.arange(cdag.n)
        blocks = (found.places // sides)[:, rng.permutation(3)].T
        rank = np.full(cdag.n, -1)
        rank[found.terms[np.lexsort((position[found.terms], *blocks))]] = np.arange(len(found.terms))
        for node in cdag.order.tolist():
            rank[node] = max([int(rank[node]), *rank[cdag.parents.neighbours(node)].tolist()])
        moved = belady.plan(cdag, budget, cdag.order[np.argsort(rank[cdag.order], kind="stable")])
        beyond = moved.traffic(cdag.weights) - cdag.algorithmic_bound()
        game = Game(cdag, budget)
        for rent, near in ((0.7, 1), (0.3, 2), (0.1, 4), (0.05, 7)):
            part = segments.Cut(0, rent=rent, near=near).shown(found, cdag)[0]
            said = proven(game, part).moved
            assert said <= beyond
            lifted += said > 0
            best = max(best, said / max(1, beyond))
    assert lifted > 20
    assert best > 0.3


def test_small_products_stay_below_optima() -> None:
    def excess(cdag: Cdag, budget: int) -> int:
        [found] = contractions(cdag, search=Search())
        rooms = segments._rooms(cdag, found, budget, is_late=False)[1]
        return max(0, math.ceil(rents.most(found, rooms, search=Search()).moved - 1e-9))

    sizes = ((2, 2, 3), (2, 3, 3), (3, 2, 2), (2, 2, 5))
    lifted, _ = stays_below_optima(((fused_product(*size), budget) for size in sizes for budget in (4, 5)), excess)
    assert lifted > 2


@pytest.mark.parametrize(("budget", "least"), [(8, 2000), pytest.param(16, 950, marks=pytest.mark.slow)])
def test_products_in_small_memories_and_their_certificates(budget: int, least: int) -> None:
    cdag = fused_product(12, 12, 20)
    [found] = contractions(cdag, search=Search())
    cut = segments.contraction_excess(cdag, found, budget, recompute=False, search=Search())
    assert cut.rent > 0
    assert cut.excess > least
    [part] = cut.shown(found, cdag)
    game = Game(cdag, budget)
    assert proven(game, part).moved == cut.excess
    for changed in ({"near": -1}, {"near": 2**21}, {"rent": 0}, {"rent": 1.5}, {"rent": "low"}, {"near": 0.5}):
        with pytest.raises(WrongError):
            proven(game, {**part, **changed})
    assert proven(game, {**part, "near": cut.near - 1}).moved < cut.excess
    with pytest.raises(WrongError, match="terms lack more"):
        proven(game, {**part, "near": 1000})
    twice = replace(found, places=found.places // np.array([1, 1, 2]))  # terms of one sum share a slice
    with pytest.raises(WrongError, match="coordinates"):
        proven(game, cut.shown(twice, cdag)[0])
