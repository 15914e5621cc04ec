"""Maximum flow in compiled code: augmenting along shortest paths (Edmonds and Karp)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel

IntArray = npt.NDArray[np.int64]


@kernel
def arcs_by_node(n: int, tails: IntArray) -> tuple[IntArray, IntArray]:
    """Return CSR (starts, arcs) of the arc numbers that leave each node, shapes (n + 1,) and (arcs,)."""
    starts = np.zeros(n + 1, dtype=np.int64)
    for tail in tails:
        starts[tail + 1] += 1
    for v in range(n):
        starts[v + 1] += starts[v]
    cursor = starts[:-1].copy()
    arcs = np.empty(len(tails), dtype=np.int64)
    for arc in range(len(tails)):
        arcs[cursor[tails[arc]]] = arc
        cursor[tails[arc]] += 1
    return starts, arcs


@kernel
def max_flow(
    n: int, tails: IntArray, heads: IntArray, capacities: IntArray, source: int, sink: int, enough: int
) -> int:
    """Return the maximum flow from ``source`` to ``sink``, or some value of at least ``enough`` once that is reached.

    Arc 2 i + 1 is the reverse of arc 2 i. ``capacities`` hold the residual capacities afterwards.
    """
    starts, arcs = arcs_by_node(n, tails)
    reached_by = np.empty(n, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    flow = 0
    while flow < enough:
        reached_by[:] = -1
        reached_by[source] = -2
        queue[0] = source
        first, last = 0, 1
        while first < last and reached_by[sink] == -1:
            node = queue[first]
            first += 1
            for i in range(starts[node], starts[node + 1]):
                arc = arcs[i]
                if capacities[arc] > 0 and reached_by[heads[arc]] == -1:
                    reached_by[heads[arc]] = arc
                    queue[last] = heads[arc]
                    last += 1
        if reached_by[sink] == -1:
            break
        least = capacities[reached_by[sink]]
        node = sink
        while node != source:
            arc = reached_by[node]
            least = min(least, capacities[arc])
            node = tails[arc]
        node = sink
        while node != source:
            arc = reached_by[node]
            capacities[arc] -= least
            capacities[arc ^ 1] += least
            node = tails[arc]
        flow += least
    return flow
