from __future__ import annotations

import numpy as np
import pytest
from benchmarks.pebble_structured import PROBLEMS, TILINGS, graph, tiled
from tests.pebble.orders.test_belady import is_topological, random_cdag
from tests.pebble.orders.test_kernels import groups
from tests.reference.pebble_tiles import grown

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.search import Search
from shorthaul.graphs.csr import Csr, from_edges
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.orders import belady, tile_kernels, tiles
from shorthaul.pebble.orders.tiles import drawn, first_shapes, tiler_of
from shorthaul.pebble.workloads import kernels_as_graphs


def test_every_shape_gives_a_topological_order_of_what_is_computed() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        cdag = random_cdag(rng, 3 + seed)
        tiler = tiler_of(cdag, Search())
        assert tiler is not None
        computed = np.flatnonzero(~cdag.is_input()).tolist()
        first = first_shapes(6)
        for shape in (*first[:16], *(drawn(first[0], rng) for _ in range(4))):
            order = tiler.order(shape, Search())
            assert sorted(order.tolist()) == computed
            assert is_topological(cdag, order)


def test_tiles_agree_with_their_plain_twin() -> None:
    several = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        groups, classes = int(rng.integers(2, 14)), int(rng.integers(1, 10))
        reads = {g: sorted(set(rng.integers(0, classes, int(rng.integers(0, 4))).tolist())) for g in range(groups)}
        made = rng.integers(-1, classes, groups)
        before = {g: set(rng.integers(0, g, int(rng.integers(0, 2))).tolist()) if g else set() for g in range(groups)}
        class_weights, weights = rng.integers(1, 4, classes), rng.integers(1, 4, groups)
        targets = {g for g in range(groups) if rng.random() < 0.8}
        before = {g: earlier & targets for g, earlier in before.items()}
        size = int(rng.integers(1, 12))
        expected = grown(
            list(range(groups)), targets, reads, made.tolist(), before, class_weights.tolist(), weights.tolist(), size
        )  # fmt: skip
        read = from_edges(max(groups, classes), [(g, v) for g in range(groups) for v in reads[g]])
        after = from_edges(groups, [(g, h) for h in range(groups) for g in sorted(before[h])])
        back = read.reversed()
        growth = tile_kernels.Growth(
            np.arange(groups), np.array([g in targets for g in range(groups)], dtype=np.uint8),
            tile_kernels.Reads(read.starts, read.targets, back.starts, back.targets, made, class_weights),
            after.starts, after.targets, np.array([len(before[g]) for g in range(groups)]), weights, size,
        )  # fmt: skip
        assert tile_kernels.advance(growth, 10**6)
        tile, turn = np.asarray(growth.tile), np.asarray(growth.turn)
        found = [sorted(np.flatnonzero(tile == t).tolist(), key=turn.__getitem__) for t in range(tile.max() + 1)]
        assert found == expected
        several += len(expected) > 1 and max(map(len, expected)) > 2
    assert several > 50  # cases in which something was chosen


def test_groups_change_tiles_for_fewer_reads_within_size_and_precedence() -> None:
    gained = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        read, after, class_weights, weights = groups(rng)
        back, before, count, size = read.reversed(), after.reversed(), len(weights), int(rng.integers(3, 12))
        reads = tile_kernels.Reads(
            read.starts, read.targets, back.starts, back.targets, np.full(count, -1), class_weights
        )
        growth = tile_kernels.Growth(
            np.arange(count), np.ones(count, np.uint8), reads, after.starts, after.targets, before.degrees(), weights,
            size,
        )  # fmt: skip
        assert tile_kernels.advance(growth, 10**6)

        def read_by_tiles(tile: np.ndarray, read: Csr = read, class_weights: np.ndarray = class_weights) -> int:
            owner = np.repeat(tile, read.degrees()[: len(tile)])
            pairs = np.unique(np.column_stack([owner, read.targets]), axis=0)
            return int(class_weights[pairs[:, 1]].sum())

        grown_reads = read_by_tiles(np.array(growth.tile))
        tile_kernels.Exchange(growth, before.starts, before.targets, Random(seed)).anneal(3000, 1.0, 0.02)
        tile = np.array(growth.tile)
        assert all(
            tile[p] <= tile[g] for g in range(count) for p in before.targets[before.starts[g] : before.starts[g + 1]]
        )
        assert np.bincount(tile, weights=weights).max() <= size
        gained += grown_reads - read_by_tiles(tile)
        assert read_by_tiles(tile) <= grown_reads + class_weights.max()
    assert gained > 60


@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "most"), [("matmul", 1.12), pytest.param("conv", 1.1, marks=pytest.mark.slow), ("attention", 1.22)]
)
def test_tiles_come_near_tilings_by_hand(name: str, most: float) -> None:
    _, parameters, budget = next(problem for problem in PROBLEMS if problem[0] == name)
    cdag = graph(name, parameters)
    goal = int(most * tiled(name, parameters, budget))
    start = belady.plan(cdag, budget, "given")
    found = tiles.plan(cdag, budget, search=Search(effort=10), incumbent=start, goal=goal)
    report = replay(cdag, found, budget, recompute=False)
    assert report.ok
    assert report.cost is not None
    assert report.cost["traffic"] <= goal < start.traffic(cdag.weights)


@pytest.mark.costly
@pytest.mark.parametrize("name", TILINGS)
def test_tilings_by_hand_are_topological_orders(name: str) -> None:
    _, parameters, budget = next(problem for problem in PROBLEMS if problem[0] == name)
    cdag = graph(name, parameters)
    computed = np.flatnonzero(~cdag.is_input())
    for _, order in zip(range(3), TILINGS[name](budget=budget, **parameters), strict=False):
        assert np.array_equal(np.sort(order), computed)
        assert is_topological(cdag, np.array(order))


def test_a_race_is_never_worse_than_its_start_and_repeats_itself() -> None:
    cdag = kernels_as_graphs.matmul(m=4, n=4, k=3, word=1)
    start = belady.plan(cdag, 8)
    found = tiles.plan(cdag, 8, search=Search(seed=3), incumbent=start)
    again = tiles.plan(cdag, 8, search=Search(seed=3), incumbent=start)
    assert found.traffic(cdag.weights) <= start.traffic(cdag.weights)
    assert found.nodes.tolist() == again.nodes.tolist()
