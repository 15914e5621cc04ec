"""Maximum flow in compiled code: blocking flows in the graph of shortest paths (Dinitz)."""

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
    level = np.empty(n, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    path = np.empty(n, dtype=np.int64)
    flow = 0
    while flow < enough and _levels(starts, arcs, heads, capacities, source, sink, level, queue):
        cursor = starts[:-1].copy()
        node, length = source, 0
        while flow < enough:
            if node == sink:
                least = capacities[path[0]]
                for i in range(1, length):
                    least = min(least, capacities[path[i]])
                first = length
                for i in range(length - 1, -1, -1):
                    capacities[path[i]] -= least
                    capacities[path[i] ^ 1] += least
                    if capacities[path[i]] == 0:
                        first = i
                flow += least
                length = first  # go on from the first arc that is full
                node = tails[path[first]]
                continue
            found = np.int64(-1)
            while cursor[node] < starts[node + 1]:
                arc = arcs[cursor[node]]
                if capacities[arc] > 0 and level[heads[arc]] == level[node] + 1:
                    found = arc
                    break
                cursor[node] += 1
            if found >= 0:
                path[length] = found
                length += 1
                node = heads[found]
            elif length == 0:
                break
            else:
                level[node] = -1  # nothing leads on from here
                length -= 1
                node = tails[path[length]]
    return flow


@kernel
def _levels(
    starts: IntArray,
    arcs: IntArray,
    heads: IntArray,
    capacities: IntArray,
    source: int,
    sink: int,
    level: IntArray,
    queue: IntArray,
) -> bool:
    """Write the distances from ``source`` into ``level`` (-1: not reached before the sink); True if the sink is."""
    level[:] = -1
    level[source] = 0
    queue[0] = source
    first, last = 0, 1
    while first < last and level[sink] < 0:
        node = queue[first]
        first += 1
        for i in range(starts[node], starts[node + 1]):
            arc = arcs[i]
            if capacities[arc] > 0 and level[heads[arc]] < 0:
                level[heads[arc]] = level[node] + 1
                queue[last] = heads[arc]
                last += 1
    return bool(level[sink] >= 0)
