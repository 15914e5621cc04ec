"""Kernels of the checker: recounts and sequential twins of the tree algorithms, shared with no search."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel

Index = npt.NDArray[np.int32]
Values = npt.NDArray[np.int64]
Loads = npt.NDArray[np.int32]

#: Affine maps are composed modulo this prime.
PRIME = 2147483647


@kernel
def earlier_holders(x: Index, y: Index, width: int, cells: int) -> Index:
    """Return for every vertex the earlier vertex on the same processor, -1 if it is the first there."""
    holder = np.full(cells, -1, np.int32)
    earlier = np.full(x.size, -1, np.int32)
    for v in range(x.size):
        cell = y[v] * width + x[v]
        earlier[v] = holder[cell]
        if holder[cell] < 0:
            holder[cell] = v
    return earlier


@kernel
def tally(
    sender: Index, receiver: Index, x: Index, y: Index, loads: Loads, totals: Values, clock: Values, far: Values
) -> None:
    """Replay one round of messages from processor to processor, all sent before any arrives.

    ``totals`` gathers messages, hops and the longest distance; ``clock`` and ``far`` are the longest chains of
    messages, and of hops, that end at each processor. ``loads`` of shape (height, width, 2, 2) takes the begin and end
    marks of the routes, east and south counted apart from west and north.
    """
    count = sender.size
    when = np.empty(count, np.int64)
    travelled = np.empty(count, np.int64)
    for i in range(count):
        a, b = sender[i], receiver[i]
        hops = abs(x[a] - x[b]) + abs(y[a] - y[b])
        totals[0] += 1
        totals[1] += hops
        totals[2] = max(totals[2], hops)
        when[i] = clock[a] + 1
        travelled[i] = far[a] + hops
        if loads.size > 0:
            if x[a] != x[b]:
                way = 0 if x[b] > x[a] else 1
                loads[y[a], min(x[a], x[b]), 0, way] += 1
                loads[y[a], max(x[a], x[b]), 0, way] -= 1
            if y[a] != y[b]:
                way = 0 if y[b] > y[a] else 1
                loads[min(y[a], y[b]), x[b], 1, way] += 1
                loads[max(y[a], y[b]), x[b], 1, way] -= 1
    for i in range(count):
        b = receiver[i]
        clock[b] = max(clock[b], when[i])
        far[b] = max(far[b], travelled[i])


@kernel
def largest_load(loads: Loads) -> int:
    """Return the largest load that the marks of ``tally`` stand for."""
    height, width = loads.shape[0], loads.shape[1]
    most = 0
    for way in range(2):
        for row in range(height):
            run = 0
            for column in range(width):
                run += loads[row, column, 0, way]
                most = max(most, run)
        for column in range(width):
            run = 0
            for row in range(height):
                run += loads[row, column, 1, way]
                most = max(most, run)
    return most


@kernel
def combine(code: int, a: Values, b: Values, out: Values) -> None:
    """Write a o b to ``out`` for the operator of this code (0 sum, 1 max, 2 min, 3 product, 4 xor, 5 or, 6 and).

    Code 7 composes affine maps modulo 2^31 - 1: first (a0, a1), then (b0, b1), where (m, c) maps t to m t + c.
    """
    if code == 7:
        factor = a[0] * b[0] % PRIME
        shift = (a[1] * b[0] + b[1]) % PRIME
        out[0] = factor
        out[1] = shift
    elif code == 0:
        out[0] = a[0] + b[0]
    elif code == 1:
        out[0] = max(a[0], b[0])
    elif code == 2:
        out[0] = min(a[0], b[0])
    elif code == 3:
        out[0] = a[0] * b[0]
    elif code == 4:
        out[0] = a[0] ^ b[0]
    elif code == 5:
        out[0] = a[0] | b[0]
    else:
        out[0] = a[0] & b[0]


@kernel
def subtree_folds(parent: Index, parents_first: Index, values: Values, code: int) -> Values:
    """Return the fold of the values in every subtree, shape (n, words), for a commutative operator."""
    result = values.copy()
    for i in range(parent.size - 1, -1, -1):
        v = parents_first[i] if parents_first.size else i
        if parent[v] >= 0:
            combine(code, result[parent[v]], result[v], result[parent[v]])
    return result


@kernel
def path_folds(parent: Index, parents_first: Index, values: Values, code: int) -> Values:
    """Return the fold of the values from the root down to every vertex, shape (n, words)."""
    result = values.copy()
    for i in range(parent.size):
        v = parents_first[i] if parents_first.size else i
        if parent[v] >= 0:
            combine(code, result[parent[v]], values[v], result[v])
    return result


@kernel
def lowest_common_ancestors(parent: Index, parents_first: Index, first: Index, second: Index) -> Index:
    """Return the lowest common ancestor of every pair, -1 where they are in different trees: climbs heavy paths."""
    n = parent.size
    size = np.ones(n, np.int32)
    depth = np.zeros(n, np.int32)
    heavy = np.full(n, -1, np.int32)
    head = np.empty(n, np.int32)
    for i in range(n - 1, -1, -1):
        v = parents_first[i] if parents_first.size else i
        p = parent[v]
        if p >= 0:
            size[p] += size[v]
            if heavy[p] < 0 or size[v] > size[heavy[p]]:
                heavy[p] = v
    for i in range(n):
        v = parents_first[i] if parents_first.size else i
        p = parent[v]
        head[v] = head[p] if p >= 0 and heavy[p] == v else v
        depth[v] = depth[p] + 1 if p >= 0 else 0
    answer = np.empty(first.size, np.int32)
    for i in range(first.size):
        u, v = first[i], second[i]
        while u >= 0 and v >= 0 and head[u] != head[v]:
            if depth[head[u]] < depth[head[v]]:
                v = parent[head[v]]
            else:
                u = parent[head[u]]
        answer[i] = -1 if u < 0 or v < 0 else (u if depth[u] < depth[v] else v)
    return answer
