from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.twins import Case, assert_agree


def flows(kernels: ModuleType, rng: np.random.Generator) -> Any:
    n, arcs = int(rng.integers(2, 12)), int(rng.integers(1, 40))
    tails, heads = np.repeat(rng.integers(0, n, (2, arcs)), 2, axis=1)
    tails[1::2], heads[1::2] = heads[0::2], tails[0::2].copy()
    capacities = rng.integers(0, 9, 2 * arcs)
    enough = int(rng.choice([5, 2**40]))
    return kernels.max_flow(n, tails, heads, capacities, 0, n - 1, enough), capacities


def replays(kernels: ModuleType, rng: np.random.Generator) -> Any:
    inputs, operations = int(rng.integers(1, 6)), int(rng.integers(1, 40))
    nodes = inputs + operations
    reads = [rng.choice(v, min(v, int(rng.integers(0, 4))), replace=False) for v in range(inputs, nodes)]
    starts = np.concatenate([np.zeros(inputs + 1, np.int64), np.cumsum([len(item) for item in reads])])
    operands = np.concatenate(reads).astype(np.int64)
    loads = np.zeros(operations, np.int64)
    capacity = int(rng.integers(3, 8))  # 3: some operation may not fit
    order = np.arange(inputs, nodes)
    order.flags.writeable = False
    return kernels.belady(order, starts, operands, capacity, loads), loads


def components(kernels: ModuleType, rng: np.random.Generator) -> Any:
    n = int(rng.integers(1, 40))
    sources, targets = rng.integers(0, n, (2, int(rng.integers(0, n + 5))))
    labels = np.empty(n, np.int64)
    kernels.join(sources, targets, labels)
    return labels


def placed(kernels: ModuleType, rng: np.random.Generator) -> Any:
    n = int(rng.integers(1, 20))
    sources, targets = rng.integers(0, n, (2, int(rng.integers(0, 60))))
    free = np.cumsum(np.bincount(sources, minlength=n)) - np.bincount(sources, minlength=n)
    ends = np.empty_like(sources)
    kernels.place(sources, targets, free, ends)
    np.testing.assert_array_equal(ends, targets[np.argsort(sources, kind="stable")])
    return ends, free


CASES: list[tuple[str, Case]] = [
    ("shorthaul.graphs.component_kernels", components),
    ("shorthaul.graphs.csr_kernels", placed),
    ("shorthaul.graphs.mincut_kernels", flows),
    ("shorthaul.graphs.replay_kernels", replays),
]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_compiled_kernels_agree_with_their_twins(name: str, case: Case) -> None:
    assert_agree(name, case)
