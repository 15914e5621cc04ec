"""Kernels of the path decomposition and of batching queries."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel

Index = npt.NDArray[np.int32]


@kernel
def ranks_and_layers(parent: Index, parents_first: Index, heavy: Index) -> tuple[Index, Index]:
    """Return each node's rank on its heavy path (0 at the top) and the number of paths above it."""
    rank = np.zeros(parent.size, np.int32)
    layer = np.zeros(parent.size, np.int32)
    for i in range(parent.size):
        v = parents_first[i]
        p = parent[v]
        if p >= 0:
            if heavy[p] == v:
                rank[v] = rank[p] + 1
                layer[v] = layer[p]
            else:
                layer[v] = layer[p] + 1
    return rank, layer


@kernel
def batches(first: Index, second: Index, n: int, most: int) -> Index:
    """Return a batch number per query so that no vertex is in more than ``most`` queries of one batch (greedy)."""
    batch = np.full(first.size, -1, np.int32)
    load = np.zeros(n, np.int32)
    left = first.size
    turn = 0
    while left > 0:
        load[:] = 0
        for q in range(first.size):
            if batch[q] < 0 and load[first[q]] < most and load[second[q]] < most:
                batch[q] = turn
                load[first[q]] += 1
                if second[q] != first[q]:
                    load[second[q]] += 1
                left -= 1
        turn += 1
    return batch
