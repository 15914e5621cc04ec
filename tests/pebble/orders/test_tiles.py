from __future__ import annotations

import numpy as np
import pytest
from benchmarks.pebble_structured import PROBLEMS, TILINGS, graph, tiled
from tests.pebble.orders.test_belady import is_topological, random_cdag
from tests.reference.pebble_tiles import grown

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.search import Search
from shorthaul.graphs.csr import from_edges
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.orders import belady, tile_exchange_kernels, tile_kernels, tiles
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
        size, singly = int(rng.integers(1, 12)), bool(rng.random() < 0.5)
        expected = grown(
            list(range(groups)), targets, reads, made.tolist(), before, class_weights.tolist(), weights.tolist(), size,
            singly=singly,
        )  # fmt: skip
        read = from_edges(max(groups, classes), [(g, v) for g in range(groups) for v in reads[g]])
        after = from_edges(groups, [(g, h) for h in range(groups) for g in sorted(before[h])])
        back = read.reversed()
        growth = tile_kernels.Growth(
            np.arange(groups), np.array([g in targets for g in range(groups)], dtype=np.uint8),
            tile_kernels.Reads(read.starts, read.targets, back.starts, back.targets, made, class_weights),
            after.starts, after.targets, np.array([len(before[g]) for g in range(groups)]), weights, size, singly,
        )  # fmt: skip
        assert tile_kernels.advance(growth, 10**6)
        tile, turn = np.asarray(growth.tile), np.asarray(growth.turn)
        found = [sorted(np.flatnonzero(tile == t).tolist(), key=turn.__getitem__) for t in range(tile.max() + 1)]
        assert found == expected
        several += len(expected) > 1 and max(map(len, expected)) > 2
    assert several > 50  # cases in which something was chosen


def test_exchanges_save_what_they_say_within_size_and_order() -> None:
    saved = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        groups, classes, count = int(rng.integers(4, 30)), int(rng.integers(2, 12)), int(rng.integers(2, 6))
        reads = {g: set(rng.integers(0, classes, int(rng.integers(1, 4))).tolist()) for g in range(groups)}
        tile = np.sort(rng.integers(0, count, groups))
        edges = [(p, g) for g in range(1, groups) for p in set(rng.integers(0, g, int(rng.integers(0, 2))).tolist())]
        tile[rng.random(groups) < 0.1] = -1
        class_weights, weights = rng.integers(1, 5, classes), rng.integers(1, 3, groups)
        held = np.bincount(tile[tile >= 0], weights=weights[tile >= 0], minlength=count)
        size = int(held.max()) + int(rng.integers(0, 4))
        read = from_edges(max(groups, classes), [(g, v) for g in range(groups) for v in sorted(reads[g])])
        back, after = read.reversed(), from_edges(groups, edges)
        before = after.reversed()

        def weight_read(tile: np.ndarray, reads: dict[int, set[int]] = reads, heavy: np.ndarray = class_weights) -> int:
            pairs = {(int(tile[g]), v) for g in reads for v in reads[g] if tile[g] >= 0}
            return sum(int(heavy[v]) for _, v in pairs)

        exchange = tile_exchange_kernels.Exchange(
            tile, tile_kernels.Reads(read.starts, read.targets, back.starts, back.targets, tile, class_weights),
            before.starts, before.targets, after.starts, after.targets, weights, size,
        )  # fmt: skip
        exchange.schedule(3000, 1.0, 0.1, Random(seed))
        assert tile_exchange_kernels.advance(exchange, 3000)
        found, less = np.asarray(exchange.best), -exchange.least
        assert weight_read(tile) - weight_read(found) == less >= 0
        assert ((found >= 0) == (tile >= 0)).all()
        assert np.bincount(found[found >= 0], weights=weights[found >= 0]).max() <= size
        assert all(found[p] <= found[g] for p, g in edges if min(tile[p], tile[g]) >= 0)
        saved += less > 0
    assert saved > 100


@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "most"), [("matmul", 1.12), pytest.param("conv", 1.1, marks=pytest.mark.slow), ("attention", 1.15)]
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
