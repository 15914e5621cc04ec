from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.samples import samples
from tests.twins import Case, assert_agree

from shorthaul.affine.check.loads_kernels import least_loads
from shorthaul.affine.replay.cdag import ConcreteCdag
from shorthaul.affine.replay.listing import listed_order
from shorthaul.graphs.csr import from_arrays
from shorthaul.graphs.replay import belady_loads

IntArray = npt.NDArray[np.int64]


def tiled(kernels: ModuleType, rng: np.random.Generator) -> Any:
    inputs, operations = int(rng.integers(1, 5)), int(rng.integers(1, 40))
    nodes = inputs + operations
    reads = [rng.choice(v, min(v, int(rng.integers(0, 4))), replace=False) for v in range(inputs, nodes)]
    starts = np.concatenate([np.zeros(inputs + 1, np.int64), np.cumsum([len(item) for item in reads])])
    operands = np.concatenate(reads).astype(np.int64)
    users = from_arrays(nodes, operands, np.repeat(np.arange(nodes), np.diff(starts)))
    edges = kernels.Edges(starts, operands, users.starts, users.targets, inputs)
    rank, given = rng.integers(0, 9, nodes), rng.integers(0, 2, nodes).astype(np.uint8)
    kernels.spread_ranks(edges, rank, given)
    order = np.empty(operations, np.int64)
    kernels.ready_order(edges, np.argsort(rank, kind="stable"), order)
    return rank, given, order


def graph(rng: np.random.Generator, most: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return order, starts, operands and weights of a random graph, an order that is as random."""
    inputs, operations = int(rng.integers(1, 6)), int(rng.integers(1, most))
    reach = int(rng.choice([4, 10, 1000]))
    reads = []
    for v in range(inputs, inputs + operations):
        near = np.arange(max(0, v - reach), v)
        reads.append(rng.choice(near, min(len(near), int(rng.integers(0, 5))), replace=False))
    starts = np.concatenate([np.zeros(inputs + 1, np.int64), np.cumsum([len(item) for item in reads])])
    order = np.arange(inputs, inputs + operations)
    return order, starts, np.concatenate(reads).astype(np.int64), rng.integers(1, 9, inputs + operations)


def counted(kernels: ModuleType, rng: np.random.Generator) -> Any:
    order, starts, operands, weights = graph(rng, 60)
    totals = np.zeros(2, np.int64)
    capacity = int(np.diff(starts).max()) + int(rng.integers(0, 6))
    return kernels.least_loads(order, starts, operands, capacity, weights, totals), totals


def listed(kernels: ModuleType, rng: np.random.Generator) -> Any:
    order, starts, operands, _ = graph(rng, 40)
    inputs, nodes = int(order[0]), len(starts) - 1
    users = from_arrays(nodes, operands, np.repeat(np.arange(nodes), np.diff(starts)))
    edges = kernels.Edges(starts, operands, users.starts, users.targets, inputs)
    capacity, found = int(np.diff(starts).max()) + int(rng.integers(1, 6)), np.empty_like(order)
    kernels.listed(kernels.Listing(edges), capacity, int(rng.integers(1, 50)), int(rng.integers(0, 3)), found)
    return found


def narrowed(kernels: ModuleType, rng: np.random.Generator) -> Any:
    boxes, width, lines = int(rng.integers(1, 9)), int(rng.integers(1, 4)), int(rng.integers(1, 5))
    given = np.hstack([rng.integers(-3, 4, (lines, width)), rng.integers(-5, 60, (lines, 1))])
    low = rng.integers(-9, 9, (boxes, width))
    high = low + rng.integers(0, 30, (boxes, width))
    kernels.narrow(given, low, high)
    return low, high


CASES: list[tuple[str, Case]] = [
    ("shorthaul.affine.replay.tiling_kernels", listed),
    ("shorthaul.affine.replay.tiling_kernels", tiled),
    ("shorthaul.affine.check.loads_kernels", counted),
    ("shorthaul.affine.integer_sets.narrowing_kernels", narrowed),
]


def obvious_list(
    order: IntArray, starts: IntArray, operands: IntArray, capacity: int, window: int, weight: int
) -> list[int]:
    """List scheduling by definition: everything is looked up anew for every operation."""
    reads = {v: set(operands[starts[v] : starts[v + 1]].tolist()) for v in order.tolist()}
    waiting, held, found = order.tolist(), set[int](), []
    while waiting:
        ready = [v for v in waiting[:window] if not reads[v] & {*waiting}]

        def asks(v: int, held: set[int] = held) -> int:
            ends = sum(not any(u in reads[w] for w in waiting if w != v) for u in reads[v])
            return weight * len(reads[v] - held) - ends

        v = min(ready, key=asks)
        found.append(v)
        held |= reads[v]
        while len(held) >= capacity:
            held.remove(
                max(
                    held - reads[v],
                    key=lambda u: next(at for at, w in enumerate(order) if w in waiting and u in reads[w]),
                )
            )
        waiting.remove(v)
        held = {u for u in held | {v} if any(u in reads[w] for w in waiting)}
    return found


def test_list_scheduling_takes_what_asks_for_least_room() -> None:
    rng = np.random.default_rng(5)
    for _ in samples(60):
        order, starts, operands, _ = graph(rng, 30)
        inputs, nodes = int(order[0]), len(starts) - 1
        cdag = ConcreteCdag(
            inputs, starts, operands, ("S",), (1,), np.zeros(nodes, np.int64), starts[1:, None], starts[1:]
        )
        capacity, window, weight = (
            int(np.diff(starts).max()) + int(rng.integers(1, 6)),
            int(rng.integers(1, 9)),
            int(rng.integers(1, 3)),
        )
        found = listed_order(cdag, order, capacity, window, weight).tolist()
        assert found == obvious_list(order, starts, operands, capacity, window, weight)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_compiled_kernels_agree_with_their_twins(name: str, case: Case) -> None:
    assert_agree(name, case)


def test_the_check_counts_the_loads_that_the_best_replacement_needs() -> None:
    """Two ways to count: the check's, by values that stay, and Belady's replacement, which searches count with."""
    rng = np.random.default_rng(3)
    for _ in samples(1500):
        order, starts, operands, _ = graph(rng, 50)
        capacity, totals = int(np.diff(starts).max()) + 1 + int(rng.integers(0, 6)), np.zeros(2, np.int64)
        weights = np.full(len(starts) - 1, 4)
        assert least_loads(order, starts, operands, capacity, weights, totals) == -1
        loads = int(belady_loads(order, starts, operands, capacity).sum())
        assert totals.tolist() == [loads, 4 * loads]


def test_the_check_names_the_first_operation_that_does_not_fit() -> None:
    starts, operands, totals = np.array([0, 0, 0, 1, 3]), np.array([0, 0, 1]), np.zeros(2, np.int64)
    assert least_loads(np.array([2, 3]), starts, operands, 2, np.ones(4, np.int64), totals) == 1
    assert least_loads(np.array([2, 3]), starts, operands, 3, np.ones(4, np.int64), totals) == -1
