from __future__ import annotations

import numpy as np
import pytest
from tests.pebble.check.test_certificate import proven
from tests.pebble.exact.test_exact import random_cdag
from tests.pebble.families import Graph, shuffled, stays_below_optima

from shorthaul.core.search import Search
from shorthaul.pebble.bounds import successors
from shorthaul.pebble.model import Cdag, build
from shorthaul.pebble.orders import belady


def product(rng: np.random.Generator, sizes: tuple[int, int, int], *, from_nothing: bool, most: int) -> Cdag:
    """Return a product of matrices by fused multiply-adds, its sums begun from inputs or from nothing."""
    graph = Graph()
    rows, columns, length = sizes
    left = [[graph.node() for _ in range(length)] for _ in range(rows)]
    right = [[graph.node() for _ in range(columns)] for _ in range(length)]
    begun = []
    for row in left:
        for j in range(columns):
            begun.append(total := graph.node())
            for term, other in zip(row, right, strict=True):
                total = graph.node(term, other[j], total)
    cdag = graph.done()
    given = cdag.given.copy()
    given[begun] = not from_nothing
    cdag = build(rng.integers(1, most + 1, cdag.n), *cdag.edge_arrays(), given=given)
    return shuffled(cdag, rng)


def stays_below(seeds: range) -> tuple[int, int]:
    games = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        if seed % 2:
            sizes = (2, int(rng.integers(2, 4)), 2)
            cdag = product(rng, sizes, from_nothing=bool(seed & 2), most=int(rng.choice([1, 1, 3])))
        else:
            cdag = random_cdag(rng, int(rng.integers(8, 15)), int(rng.choice([1, 3])))
        games.append((cdag, cdag.least_budget() + int(rng.integers(0, 2))))
    return stays_below_optima(games, lambda cdag, budget: successors.excess(cdag, budget, search=Search()).excess)


def test_no_bound_exceeds_an_optimum() -> None:
    lifted, tight = stays_below(range(15))
    assert lifted > 2
    assert tight > 0


@pytest.mark.slow
def test_no_bound_exceeds_an_optimum_on_thousands() -> None:
    assert stays_below(range(100, 2000))[0] > 100


def test_products_in_the_least_memory_are_bounded_almost_by_what_they_take() -> None:
    cdag = product(np.random.default_rng(0), (6, 6, 6), from_nothing=False, most=1)
    found = successors.excess(cdag, 4, search=Search()).excess
    taken = belady.plan(cdag, 4).traffic(cdag.weights) - cdag.algorithmic_bound()
    assert found <= taken < 1.3 * found
    assert successors.excess(cdag, 40, search=Search()).excess == 0
    assert successors.excess(cdag, 4, search=Search(effort=1e-9)).excess == 0


def test_nodes_that_leave_much_room_do_not_lower_the_bound_of_others() -> None:
    dense = product(np.random.default_rng(0), (4, 4, 4), from_nothing=False, most=1)
    sources, targets = dense.edge_arrays()
    n, long = dense.n, 100
    chains = np.arange(n, n + 2 * long, 2)  # nodes of one operand each
    cdag = build(np.ones(n + 2 * long, dtype=np.int64), np.append(sources, chains), np.append(targets, chains + 1))
    found = successors.excess(cdag, 4, search=Search())
    assert found.excess == successors.excess(dense, 4, search=Search()).excess > 0
    assert len(found.pieces[0].nodes) < cdag.n
    for piece in found.pieces:
        assert piece.shown is not None
        assert proven(cdag, piece.shown(cdag), 4) == cdag.algorithmic_bound() + piece.excess


def glued(rng: np.random.Generator) -> Cdag:
    """Return products and random nodes, half of what each of them reads made by those before it."""
    graph, known = Graph(), list[int]()

    def wanted(count: int) -> list[int]:
        old = rng.permutation(known)[: int(rng.integers(count // 2 + 1))].tolist()
        return [*old, *(graph.node() for _ in range(count - len(old)))]

    for _ in range(3):
        left, right = wanted(12), wanted(12)
        for i, j in np.ndindex(4, 4):
            total = graph.node(left[3 * i], right[3 * j])
            for k in (1, 2):
                total = graph.node(total, left[3 * i + k], right[3 * j + k])
            known.append(total)
        for _ in range(10):
            known.append(graph.node(*set(rng.choice(known[-12:], 3).tolist())))
    return shuffled(graph.done(), rng)


def test_certificates_of_sets_of_nodes_prove_what_is_claimed_and_add_up() -> None:
    rng = np.random.default_rng(11)
    pieces = besides = 0
    for _ in range(6):
        cdag = glued(rng)
        budget, least = cdag.least_budget() + int(rng.integers(0, 2)), cdag.algorithmic_bound()
        taken = rng.permutation(cdag.n)[: int(rng.integers(1, 8))]
        found = successors.excess(cdag, budget, search=Search(), taken=taken)
        pieces += len(found.pieces)
        for piece in found.pieces:
            assert piece.shown is not None
            (part,) = piece.shown(cdag)
            assert proven(cdag, [part], budget) == least + piece.excess > least
            assert proven(cdag, [part, part], budget) == -1
            others = np.setdiff1d([*part["nodes"], *np.flatnonzero(cdag.given)], piece.nodes)
            both = [part, {**part, "values": others.tolist()}]  # what else they read, of other nodes' moves
            assert proven(cdag, both, budget) >= least + piece.excess
        besides += not np.isin(found.pieces[-1].nodes, taken).any()
    assert pieces > 12
    assert besides > 3


def test_values_are_inputs_or_among_the_nodes() -> None:
    cdag = product(np.random.default_rng(0), (3, 3, 3), from_nothing=False, most=1)
    computed, inputs = np.flatnonzero(~cdag.given).tolist(), np.flatnonzero(cdag.given).tolist()
    part = {"kind": "successor", "nodes": computed, "prices": [0] * len(computed), "values": [*computed, *inputs]}
    assert proven(cdag, [part], 4) > cdag.algorithmic_bound()
    fewer = {**part, "nodes": computed[1:], "prices": [0] * (len(computed) - 1)}
    assert proven(cdag, [fewer], 4) == -1
    assert proven(cdag, [{**fewer, "values": [*computed[1:], *inputs]}], 4) >= cdag.algorithmic_bound()
    assert proven(cdag, [{**part, "nodes": [*computed[1:], inputs[0]]}], 4) == -1
    wrong: list[list[int]] = [inputs * 2, [], [cdag.n]]
    for values in wrong:
        assert proven(cdag, [{**part, "values": values}], 4) == -1
