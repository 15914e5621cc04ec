"""Orders block by block of tables and grids, whatever their nodes are numbered."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.pebble.bounds.test_tables import gaps, table
from tests.pebble.families import grid, shuffled

from shorthaul.core.search import Search
from shorthaul.pebble.bounds.tables.places import pieces
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.model import Cdag
from shorthaul.pebble.orders.blocks import block_orders
from shorthaul.pebble.workloads.kernels_as_graphs import fft


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
            order = blocks.order(block_orders.Shape(axes, sides, when), Search())
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


def test_a_graph_without_tables_has_no_blocks() -> None:
    assert not pieces(fft(n=16, word=1), search=Search())
