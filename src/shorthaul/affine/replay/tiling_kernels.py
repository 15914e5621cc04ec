"""Compiled parts of making a tiled order."""

from __future__ import annotations

import numpy as np

from shorthaul.core.jit import kernel


@kernel
def spread_ranks(
    rank: np.ndarray,
    given: np.ndarray,
    starts: np.ndarray,
    operands: np.ndarray,
    user_starts: np.ndarray,
    users: np.ndarray,
    inputs: int,
) -> None:
    """Give every vertex whose rank is not ``given`` that of its first user, else of its last operand."""
    nodes = len(rank)
    for v in range(nodes - 1, inputs - 1, -1):
        if given[v]:
            continue
        first, last = user_starts[v], user_starts[v + 1]
        if first < last:
            best = rank[users[first]]
            for slot in range(first + 1, last):
                best = min(best, rank[users[slot]])
            rank[v] = best
            given[v] = True
    for v in range(inputs, nodes):
        if given[v]:
            continue
        best = np.int64(0)
        for slot in range(starts[v], starts[v + 1]):
            if operands[slot] >= inputs:
                best = max(best, rank[operands[slot]])
        rank[v] = best


@kernel
def ready_order(
    rank: np.ndarray, starts: np.ndarray, operands: np.ndarray, user_starts: np.ndarray, users: np.ndarray, inputs: int
) -> np.ndarray:
    """Return the computed vertices in an order that respects all edges: the ready vertex of least rank comes next."""
    nodes = len(rank)
    missing = np.zeros(nodes, np.int64)
    heap = np.empty(nodes, np.int64)
    size = 0
    order = np.empty(nodes - inputs, np.int64)
    # ranks are made distinct by the vertex, which is program order
    place = np.empty(nodes, np.int64)
    by_rank = np.argsort(rank * np.int64(nodes) + np.arange(nodes))
    for at in range(nodes):
        place[by_rank[at]] = at
    for v in range(inputs, nodes):
        for slot in range(starts[v], starts[v + 1]):
            if operands[slot] >= inputs:
                missing[v] += 1
        if missing[v] == 0:
            size = push_least(heap, size, place[v])
    for at in range(nodes - inputs):
        v = by_rank[heap[0]]
        size = pop_least(heap, size)
        order[at] = v
        for slot in range(user_starts[v], user_starts[v + 1]):
            u = users[slot]
            missing[u] -= 1
            if missing[u] == 0:
                size = push_least(heap, size, place[u])
    return order


@kernel
def push_least(heap: np.ndarray, size: int, key: int) -> int:
    """Add ``key`` to the binary min-heap of ``size`` entries; return the new size."""
    at = size
    heap[at] = key
    while at > 0:
        above = (at - 1) // 2
        if heap[above] <= heap[at]:
            break
        kept = heap[above]
        heap[above] = heap[at]
        heap[at] = kept
        at = above
    return size + 1


@kernel
def pop_least(heap: np.ndarray, size: int) -> int:
    """Remove the least entry; return the new size."""
    size -= 1
    heap[0] = heap[size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and heap[below + 1] < heap[below]:
            below += 1
        if heap[at] <= heap[below]:
            break
        kept = heap[below]
        heap[below] = heap[at]
        heap[at] = kept
        at = below
    return size
