"""Compiled replay of an order with Belady's replacement."""

from __future__ import annotations

import numpy as np

from shorthaul.core.jit import kernel


@kernel
def push(heap: np.ndarray, size: int, key: int, node: int) -> int:
    """Add (key, node) to the binary max-heap of ``size`` rows; return the new size."""
    at = size
    heap[at, 0] = key
    heap[at, 1] = node
    while at > 0:
        above = (at - 1) // 2
        if heap[above, 0] >= heap[at, 0]:
            break
        for column in range(2):
            kept = heap[above, column]
            heap[above, column] = heap[at, column]
            heap[at, column] = kept
        at = above
    return size + 1


@kernel
def pop(heap: np.ndarray, size: int) -> int:
    """Remove the row of the largest key; return the new size."""
    size -= 1
    heap[0, 0] = heap[size, 0]
    heap[0, 1] = heap[size, 1]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and heap[below + 1, 0] > heap[below, 0]:
            below += 1
        if heap[at, 0] >= heap[below, 0]:
            break
        for column in range(2):
            kept = heap[below, column]
            heap[below, column] = heap[at, column]
            heap[at, column] = kept
        at = below
    return size


@kernel
def belady(
    order: np.ndarray,
    starts: np.ndarray,
    operands: np.ndarray,
    capacity: int,
    weights: np.ndarray,
    loads: np.ndarray,
) -> int:
    """Replay ``order``; ``loads`` receives the weight loaded for each operation, shape (number of operations,).

    ``operands[starts[v]:starts[v + 1]]`` are the distinct operands of v. Returns -1 if all went well, -2 - v if
    operation v does not fit into ``capacity``.
    """
    nodes = len(starts) - 1
    operations = len(order)
    never = operations + 1
    # next_use[k]: when the operand of access slot k is read again after its operation
    next_use = np.full(len(operands), never, np.int64)
    coming = np.full(nodes, never, np.int64)
    after = np.full(nodes, never, np.int64)  # first use of a value after it is computed
    for time in range(operations - 1, -1, -1):
        v = order[time]
        after[v] = coming[v]
        for slot in range(starts[v], starts[v + 1]):
            next_use[slot] = coming[operands[slot]]
            coming[operands[slot]] = time
    inside = np.zeros(nodes, np.bool_)
    key = np.full(nodes, never, np.int64)  # when a value that is inside is read next
    heap = np.empty((len(operands) + operations + 1, 2), np.int64)
    size = 0
    used = 0
    for time in range(operations):
        v = order[time]
        first, last = starts[v], starts[v + 1]
        if last - first + 1 > capacity:
            return int(-2 - v)
        for slot in range(first, last):
            if inside[operands[slot]]:
                continue
            u = operands[slot]
            loads[time] += weights[u]
            inside[u] = True
            key[u] = time
            used += 1
        while used + 1 > capacity:
            top_key, u = heap[0, 0], heap[0, 1]
            size = pop(heap, size)
            if inside[u] and key[u] == top_key:
                inside[u] = False
                used -= 1
        for slot in range(first, last):
            u = operands[slot]
            key[u] = next_use[slot]
            if key[u] == never:
                inside[u] = False
                used -= 1
            else:
                size = push(heap, size, key[u], u)
        if after[v] != never:
            inside[v] = True
            key[v] = after[v]
            used += 1
            size = push(heap, size, key[v], v)
    return -1
