from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.pebble.exact.test_exact import random_cdag
from tests.pebble.families import grid, shuffled, stays_below_optima
from tests.samples import samples

from shorthaul.core.search import Search
from shorthaul.graphs.csr import layers
from shorthaul.pebble.bounds.best import best_bound
from shorthaul.pebble.bounds.crossings import crossing, packing, part_kernels, path_kernels
from shorthaul.pebble.check.certificates import crossing as argument
from shorthaul.pebble.check.certificates.part import Game
from shorthaul.pebble.model import Cdag, build
from shorthaul.pebble.orders import belady
from shorthaul.pebble.workloads import kernels_as_graphs


def small(rng: np.random.Generator) -> Cdag:
    """Return a small stencil, butterfly, random layers or a random graph, of any weights, some inputs constants."""
    kind = int(rng.integers(4))
    if kind == 0:
        cdag = kernels_as_graphs.stencil(n=int(rng.integers(3, 6)), t=int(rng.integers(2, 5)), word=1)
    elif kind == 1:
        cdag = kernels_as_graphs.fft(n=int(rng.choice([4, 8])), word=1)
    elif kind == 2:
        width, steps = int(rng.integers(2, 5)), int(rng.integers(2, 6))
        reads = [
            (step * width + int(one), (step + 1) * width + cell)
            for step in range(steps)
            for cell in range(width)
            for one in rng.choice(width, int(rng.integers(1, min(3, width) + 1)), replace=False)
        ]
        used = sorted({end for pair in reads for end in pair})
        sources, targets = np.searchsorted(used, np.array(reads).T)
        cdag = build(np.ones(len(used), dtype=np.int64), sources, targets)
    else:
        cdag = random_cdag(rng, int(rng.integers(8, 15)), 1)
    weights = rng.integers(1, int(rng.choice([2, 2, 5])), cdag.n)
    inputs = cdag.given & (rng.random(cdag.n) < rng.choice([1.0, 0.6]))
    return shuffled(build(weights, *cdag.edge_arrays(), given=inputs), rng)


def in_any_order(cdag: Cdag, budget: int, rng: np.random.Generator) -> int:
    """Return what parts come to that are looked for at nodes in any order, of any price."""
    depth, taken = layers(cdag.children, cdag.order), np.full((4, cdag.n), -1, dtype=np.int64)
    paths = path_kernels.Paths(
        cdag.weights, cdag.given.view(np.uint8), cdag.parents.starts, cdag.parents.targets,
        cdag.children.starts, cdag.children.targets, depth, taken, False,
    )  # fmt: skip
    for price in (*sorted(rng.uniform(0.1, 3.0, 2), reverse=True), 0.05):
        for is_common in rng.permutation([False, True]).tolist():
            order = rng.permutation(cdag.n).astype(np.int64)
            assert part_kernels.advance(paths, order, budget, price, int(2 / price) + 1, is_common, 10**9)
    return int(paths.excess)


def at_any_prices(cdag: Cdag, budget: int, rng: np.random.Generator) -> int:
    """Return what shares of parts come to that flows find at random prices; each part charges what it says."""
    prices = rng.uniform(0.0, float(rng.choice([0.05, 1.0])), cdag.n)
    flows = packing._Flows(cdag, budget, prices)
    parts = []
    for turn in range(3):
        parts += flows.past(rng.permutation(np.flatnonzero(cdag.parents.degrees())), turn, 0.3, Search())
    game = Game(cdag, budget)
    for part in parts:
        assert argument.proven(game, part.shown(cdag)[0]).moved == part.moved
    found = packing.shared(cdag, budget, parts, search=Search(effort=0.1))
    given: list[Fraction] = [Fraction(0)] * cdag.n
    for part, share in found:
        for node in part.nodes.tolist():
            given[node] += share
    assert max(given, default=0) <= 1
    return math.ceil(sum(share * part.moved for part, share in found))


def stays_below(seeds: range) -> tuple[int, int]:
    games = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        cdag = small(rng)
        games.append((cdag, cdag.least_budget() + int(rng.integers(0, 3))))
    rng = np.random.default_rng(seeds.start)
    return stays_below_optima(
        games,
        lambda cdag, budget: max(
            crossing.excess(cdag, budget, search=Search(effort=1)).excess,
            in_any_order(cdag, budget, rng),
            at_any_prices(cdag, budget, rng),
        ),
    )


def columns(rows: int, count: int) -> Cdag:
    """Return values in columns, the sum of each column, and sums along rows that read both."""
    edges, values = list[tuple[int, int]](), 2 * rows * count
    for column in range(count):
        for row in range(rows):
            at, later = column * rows + row, values + count + column * rows + row
            computed = rows * count + at
            edges += [(at, computed), (computed, values + column), (computed, later), (values + column, later)]
            edges += [(later - rows, later)] if column else []
    return build(np.ones(values + count + rows * count, np.int64), *np.array(edges).T)


def test_paths_go_to_readers_of_a_node_from_what_all_of_them_need() -> None:
    cdag = shuffled(columns(6, 2), np.random.default_rng(4))
    flows = packing._Flows(cdag, cdag.least_budget(), np.full(cdag.n, 0.01))
    found = flows.past(np.flatnonzero(cdag.parents.degrees()), 0, 0.0, Search())
    # As the second column is read, of each row both values are needed or what was made of the first, and its sum.
    wanted = 2 * (2 * 6 + 1 - (cdag.least_budget() - 1))
    assert max(part.moved for part in found if part.around < 0) == wanted
    assert max((part.moved for part in found if part.around >= 0), default=0) < wanted


def test_a_sum_of_all_that_all_wait_for_is_found_with_little_effort() -> None:
    count, edges = 256, list[tuple[int, int]]()
    level = [*range(count, 2 * count)]
    edges += [(node - count, node) for node in level]
    n = 2 * count
    while len(level) > 1:
        edges += [(operand, n + at // 2) for at, operand in enumerate(level)]
        level = [*range(n, n + len(level) // 2)]
        n += len(level)
    edges += [(operand, n + at) for at in range(count) for operand in (count + at, n - 1)]
    cdag = shuffled(build(np.ones(n + count, np.int64), *np.array(edges).T), np.random.default_rng(3))
    assert crossing.excess(cdag, 8, search=Search(effort=0.05)).excess >= 2 * (count - (8 - 3))


def test_no_bound_exceeds_an_optimum() -> None:
    lifted, tight = stays_below(range(60))
    assert lifted > 1
    assert tight > 0


@pytest.mark.slow
def test_no_bound_exceeds_an_optimum_on_thousands() -> None:
    assert stays_below(range(1000, 6000))[0] > 500


@settings(max_examples=len(samples(48)), deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(1.0, 3.0))
def test_no_bound_exceeds_a_plan(seed: int, room: float) -> None:
    rng = np.random.default_rng(seed)
    if rng.integers(2):
        cdag = grid(*rng.integers(2, 8, 3).tolist())
    else:
        cdag = kernels_as_graphs.fft(n=int(2 ** rng.integers(3, 7)), word=1)
    cdag = shuffled(build(rng.integers(1, int(rng.choice([2, 4])), cdag.n), *cdag.edge_arrays()), rng)
    budget = int(cdag.least_budget() * room)
    paid = belady.plan(cdag, budget).traffic(cdag.weights) - cdag.algorithmic_bound()
    assert crossing.excess(cdag, budget, search=Search(effort=0.2)).excess <= paid
    assert in_any_order(cdag, budget, rng) <= paid
    assert at_any_prices(cdag, budget, rng) <= paid


@pytest.mark.costly
@pytest.mark.parametrize(
    ("cdag", "budget", "least"),
    [(grid(9, 9, 8), 10, 90), (kernels_as_graphs.fft(n=128, word=1), 8, 130)],
    ids=["grid", "butterfly"],
)
def test_stencils_and_butterflies_in_any_order_are_bounded(cdag: Cdag, budget: int, least: int) -> None:
    cdag = shuffled(cdag, np.random.default_rng(1))
    found = crossing.excess(cdag, budget, search=Search(effort=2))
    assert least <= found.excess <= belady.plan(cdag, budget).traffic(cdag.weights) - cdag.algorithmic_bound()
    nodes = np.unique(np.concatenate([piece.nodes for piece, _ in found.pieces]))
    assert found.excess <= 2 * int(cdag.weights[nodes].sum())
    bound = best_bound(cdag, budget, search=Search(effort=2), goal=cdag.algorithmic_bound() + found.excess)
    assert bound.value >= cdag.algorithmic_bound() + 0.9 * found.excess
    assert crossing.excess(cdag, cdag.n, search=Search(effort=2)).excess == 0
    assert crossing.excess(cdag, budget, search=Search(effort=1e-6)).excess == 0
