from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.twins import Case, assert_agree

from shorthaul.graphs.csr import from_arrays


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


CASES: list[tuple[str, Case]] = [("shorthaul.affine.replay.tiling_kernels", tiled)]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_compiled_kernels_agree_with_their_twins(name: str, case: Case) -> None:
    assert_agree(name, case)
