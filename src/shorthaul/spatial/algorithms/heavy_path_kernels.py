"""Kernels of the path decomposition."""

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
