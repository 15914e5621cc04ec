from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import maximum_flow
from tests.samples import samples

from shorthaul.graphs.mincut_kernels import max_flow


def test_flows_are_the_largest() -> None:
    rng = np.random.default_rng(0)
    for _ in samples(200):
        n = int(rng.integers(2, 12))
        tails, heads = rng.integers(0, n, (2, int(rng.integers(1, 40))))
        kept = tails != heads
        tails, heads = tails[kept], heads[kept]
        capacities = rng.integers(0, 9, len(tails))
        both = np.empty((3, 2 * len(tails)), dtype=np.int64)
        both[:, 0::2] = tails, heads, capacities
        both[:, 1::2] = heads, tails, np.zeros_like(capacities)
        graph = coo_matrix((capacities.astype(np.int32), (tails, heads)), shape=(n, n)).tocsr()
        largest = int(maximum_flow(graph, 0, n - 1).flow_value)
        assert max_flow(n, both[0], both[1], both[2].copy(), 0, n - 1, 2**40) == largest
        enough = int(rng.integers(0, largest + 1))
        assert enough <= max_flow(n, both[0], both[1], both[2].copy(), 0, n - 1, enough) <= largest
