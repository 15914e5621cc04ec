"""Compiled replay of an order with Belady's replacement."""

from __future__ import annotations

import cython
import numpy as np


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def push(
    heap: cython.longlong[:, ::1], size: cython.Py_ssize_t, key: cython.longlong, node: cython.longlong
) -> cython.Py_ssize_t:
    """Add (key, node) to the binary max-heap of ``size`` rows; return the new size."""
    at: cython.Py_ssize_t = size
    while at > 0:
        above = (at - 1) >> 1
        if heap[above, 0] >= key:
            break
        heap[at, 0] = heap[above, 0]
        heap[at, 1] = heap[above, 1]
        at = above
    heap[at, 0] = key
    heap[at, 1] = node
    return size + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pop(heap: cython.longlong[:, ::1], size: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Remove the row of the largest key; return the new size."""
    at: cython.Py_ssize_t = 0
    size -= 1
    key = heap[size, 0]
    node = heap[size, 1]
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and heap[below + 1, 0] > heap[below, 0]:
            below += 1
        if key >= heap[below, 0]:
            break
        heap[at, 0] = heap[below, 0]
        heap[at, 1] = heap[below, 1]
        at = below
    heap[at, 0] = key
    heap[at, 1] = node
    return size


@cython.final
@cython.cclass
class Replay:
    """Room for one replay."""

    next_use: cython.longlong[::1]  # for each access slot, when its operand is read again after its operation
    coming: cython.longlong[::1]
    after: cython.longlong[::1]  # first use of a value after it is computed
    inside: cython.uchar[::1]
    key: cython.longlong[::1]  # when a value that is inside is read next
    heap: cython.longlong[:, ::1]

    def __init__(self, nodes: cython.Py_ssize_t, accesses: cython.Py_ssize_t, operations: cython.Py_ssize_t) -> None:
        never = operations + 1
        self.next_use = np.full(accesses, never, np.int64)
        self.coming = np.full(nodes, never, np.int64)
        self.after = np.full(nodes, never, np.int64)
        self.inside = np.zeros(nodes, np.uint8)
        self.key = np.full(nodes, never, np.int64)
        self.heap = np.empty((accesses + operations + 1, 2), np.int64)


def belady(
    order: cython.const_longlong[::1],
    starts: cython.const_longlong[::1],
    operands: cython.const_longlong[::1],
    capacity: cython.longlong,
    loads: cython.longlong[::1],
) -> int:
    """Replay ``order``; ``loads`` receives those of each operation, shape (number of operations,).

    ``operands[starts[v]:starts[v + 1]]`` are the distinct operands of v. Returns -1 if all went well, -2 - v if
    operation v does not fit into ``capacity``.
    """
    room = Replay(starts.shape[0] - 1, operands.shape[0], order.shape[0])
    with cython.nogil:
        outcome = _belady(room, order, starts, operands, capacity, loads)
    return int(outcome)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _belady(
    room: Replay,
    order: cython.const_longlong[::1],
    starts: cython.const_longlong[::1],
    operands: cython.const_longlong[::1],
    capacity: cython.longlong,
    loads: cython.longlong[::1],
) -> cython.longlong:
    operations: cython.Py_ssize_t = order.shape[0]
    never: cython.longlong = operations + 1
    slot: cython.Py_ssize_t
    size: cython.Py_ssize_t = 0
    used: cython.longlong = 0
    for time in range(operations - 1, -1, -1):
        v = order[time]
        room.after[v] = room.coming[v]
        for slot in range(starts[v], starts[v + 1]):
            room.next_use[slot] = room.coming[operands[slot]]
            room.coming[operands[slot]] = time
    for time in range(operations):
        v = order[time]
        if starts[v + 1] - starts[v] + 1 > capacity:
            return -2 - v
        for slot in range(starts[v], starts[v + 1]):
            u = operands[slot]
            if room.inside[u]:
                continue
            loads[time] += 1
            room.inside[u] = True
            room.key[u] = time
            used += 1
        while used + 1 > capacity:
            top = room.heap[0, 0]
            u = room.heap[0, 1]
            size = pop(room.heap, size)
            if room.inside[u] and room.key[u] == top:
                room.inside[u] = False
                used -= 1
        for slot in range(starts[v], starts[v + 1]):
            u = operands[slot]
            room.key[u] = room.next_use[slot]
            if room.key[u] == never:
                room.inside[u] = False
                used -= 1
            else:
                size = push(room.heap, size, room.key[u], u)
        if room.after[v] != never:
            room.inside[v] = True
            room.key[v] = room.after[v]
            used += 1
            size = push(room.heap, size, room.key[v], v)
    return -1
