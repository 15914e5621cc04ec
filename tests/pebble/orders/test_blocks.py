"""Orders block by block of tables, grids and products, whatever their nodes are numbered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.pebble.bounds.test_tables import gaps, table
from tests.pebble.families import grid, shuffled

from shorthaul.core.search import Search
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.model import Cdag, from_pairs
from shorthaul.pebble.orders.blocks import block_orders
from shorthaul.pebble.orders.blocks.places import pieces
from shorthaul.pebble.workloads.kernels_as_graphs import fft, matmul


def test_strips_of_an_alignment_with_affine_gaps() -> None:
    rows, columns, high = 24, 20, 4
    cdag = gaps((rows, columns), np.random.default_rng(5))
    found = block_orders.plan(cdag, 16, pieces(cdag, search=Search()), search=Search())
    assert found is not None
    report = replay(cdag, found, 16)
    assert report.ok
    # Strips of 4 rows: a gap and a value of each column cross a border, a letter of each column is read again.
    strips = rows // high
    beyond = (strips - 1) * columns * 5
    assert found.traffic(cdag.weights) <= cdag.algorithmic_bound() + beyond


@pytest.mark.parametrize("seed", range(4))
def test_any_shape_of_any_graph_is_an_order_of_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graphs: list[Cdag] = [
        gaps((8, 9), rng, helper=0.5, lacking=0.1),
        table((5, 4, 6), rng, link=0.5, corner=True, letters=0.8, helper=0.5, lacking=0.1),
        shuffled(grid(6, 5, 4), rng),
    ]
    for cdag in graphs:
        found = pieces(cdag, search=Search())
        if not found:
            continue
        blocks = block_orders.Blocks(cdag, found)
        for when, _ in product(block_orders.WHEN, range(3)):
            axes = tuple(rng.permutation(blocks.axes).tolist())
            sides = tuple(rng.integers(1, 5, blocks.axes).tolist())
            order = blocks.order((block_orders.Shape(axes, sides, when),) * len(found), Search())
            place = np.empty(cdag.n, np.int64)
            place[order] = np.arange(cdag.n)
            sources, targets = cdag.edge_arrays()
            computed = ~cdag.given[sources]
            assert (place[sources] < place[targets])[computed].all()


def test_other_numbers_make_no_other_blocks() -> None:
    cdag = grid(6, 5, 4)
    traffic = []
    for graph in (cdag, shuffled(cdag, np.random.default_rng(1))):
        found = block_orders.plan(graph, 14, pieces(graph, search=Search()), search=Search(seed=3))
        assert found is not None
        traffic.append(found.traffic(cdag.weights))
    assert max(traffic) <= 1.05 * min(traffic)


def test_tiles_of_a_product() -> None:
    cdag = shuffled(matmul(m=12, n=12, k=12, word=1), np.random.default_rng(2))
    found = block_orders.plan(cdag, 16, pieces(cdag, search=Search()), search=Search())
    assert found is not None
    assert replay(cdag, found, 16).ok
    # Tiles of 3 x 3 sums: every operand is read four times, every sum is stored once.
    assert found.traffic(cdag.weights) <= 2 * 4 * 144 + 144


def test_two_products_with_one_matrix() -> None:
    n, high = 12, 6
    cdag = shuffled(both_products(n), np.random.default_rng(3))
    found = block_orders.plan(cdag, 2 * high + 4, pieces(cdag, search=Search()), search=Search())
    assert found is not None
    assert replay(cdag, found, 2 * high + 4).ok
    # Strips of 6 rows, each element read once: an operand and a sum of each column go on from one to the next.
    assert found.traffic(cdag.weights) <= cdag.algorithmic_bound() + (n // high - 1) * n * 3


def test_squares_stand_at_the_diagonal() -> None:
    n, count = 6, 5
    cdag = pairs_of_rows(n, count)
    [(nodes, places)] = pieces(cdag, search=Search())
    assert len(nodes) == count * n * (n + 1) // 2
    assert np.count_nonzero(places[:, 0] == places[:, 1]) == count * n


def both_products(n: int) -> Cdag:
    """The products of one matrix and of its transpose with a vector each, all sums begun with an input."""
    return _sums(
        {("x", i): [("a", i, j, "v", j) for j in range(n)] for i in range(n)}
        | {("y", j): [("a", i, j, "w", i) for i in range(n)] for j in range(n)}
    )


def pairs_of_rows(n: int, count: int) -> Cdag:
    """The products of all rows of a matrix with one another, and with themselves."""
    return _sums({("c", i, j): [("a", i, k, "a", j, k) for k in range(count)] for j in range(n) for i in range(j + 1)})


def _sums(sums: Mapping[Any, Sequence[tuple[object, ...]]]) -> Cdag:
    """A chain of fused multiply-adds for each sum; an operand is a name and its indices, two of them one after another."""
    numbers: dict[object, int] = {}
    edges = set()
    for name, products in sums.items():
        last = numbers.setdefault(name, len(numbers))
        for at, term in enumerate(products):
            second = next(place for place in range(1, len(term)) if isinstance(term[place], str))
            operands = [numbers.setdefault(part, len(numbers)) for part in (term[:second], term[second:])]
            node = numbers.setdefault((name, at), len(numbers))
            edges |= {(last, node), *((operand, node) for operand in operands)}
            last = node
    return from_pairs([1] * len(numbers), sorted(edges))


def test_scores_that_a_table_reads_are_no_blocks_of_products() -> None:
    cdag = gaps((24, 20), np.random.default_rng(5), helper=1.0)
    places = [axes for _, axes in pieces(cdag, search=Search())]
    assert [sorted(axes.max(axis=0).tolist()) for axes in places] == [[19, 23]]
    assert len(places[0]) <= 24 * 20  # each place once: one value of it is in the table


def test_a_graph_without_tables_has_no_blocks() -> None:
    assert not pieces(fft(n=16, word=1), search=Search())
