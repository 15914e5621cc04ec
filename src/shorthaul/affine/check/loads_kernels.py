"""The least loads of an order, counted by the values that can stay: not by a replacement, as searches count them.

Between two accesses a value stays or is loaded again. What stays over an operation takes a place beside its operands
and its result. The most values stay if they are taken in the order in which they are accessed next, each where a place
is free all the while: of two that compete, the one that ends sooner never blocks more (exchange argument).
"""

from __future__ import annotations

import cython
import numpy as np


@cython.final
@cython.cclass
class Room:
    """The places free over each operation so far, of which only the lowest since some operation are asked for.

    A *mark* is the last operation with so few free places, among those after the mark before it; the first mark of all
    stands for the last operation without any.
    """

    into: cython.longlong[::1]  # the mark that took an operation in, or the operation itself if it is one
    more: cython.longlong[::1]  # the free places of a mark beyond those of the mark before it
    before: cython.longlong[::1]
    full: cython.longlong
    last: cython.longlong
    free: cython.longlong  # the free places of the last mark

    def __init__(self, operations: cython.Py_ssize_t) -> None:
        self.into = np.arange(operations + 1)
        self.more = np.zeros(operations + 1, np.int64)
        self.before = np.zeros(operations + 1, np.int64)
        self.full = 0
        self.last = 0
        self.free = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def mark_of(room: Room, operation: cython.longlong) -> cython.longlong:
    """Return the first mark at or after an operation."""
    mark = operation
    while room.into[mark] != mark:
        room.into[mark] = room.into[room.into[mark]]
        mark = room.into[mark]
    return mark


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def stays(room: Room, access: cython.longlong) -> cython.bint:
    """Let a value stay from its last access until now, if a place is free; return whether it does."""
    if access < room.full:
        return False
    mark = mark_of(room, access + 1)
    room.more[mark] -= 1
    room.free -= 1
    if room.more[mark] == 0:
        before = room.before[mark]
        if before == room.full:
            room.full = mark
        else:
            room.into[before] = mark
            room.more[mark] = room.more[before]
            room.before[mark] = room.before[before]
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enter(room: Room, operation: cython.longlong, free: cython.longlong) -> cython.void:
    """Add the operation that comes next, with so many free places."""
    last: cython.longlong = room.last
    least: cython.longlong = room.free
    while last != room.full and least >= free:
        least -= room.more[last]
        room.into[last] = operation
        last = room.before[last]
    if free == 0:
        room.full = operation
    else:
        room.more[operation] = free - least
        room.before[operation] = last
    room.last = operation
    room.free = free


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count(
    room: Room,
    order: cython.const_longlong[::1],
    starts: cython.const_longlong[::1],
    operands: cython.const_longlong[::1],
    capacity: cython.longlong,
    weights: cython.const_longlong[::1],
    accessed: cython.longlong[::1],
    totals: cython.longlong[::1],
) -> cython.longlong:
    """Add up loads and their weights in ``totals``; return the first operation that does not fit, -1 for none."""
    for at in range(order.shape[0]):
        vertex = order[at]
        now: cython.longlong = at + 1
        free = capacity - 1 - (starts[vertex + 1] - starts[vertex])
        if free < 0:
            return at
        for slot in range(starts[vertex], starts[vertex + 1]):
            operand = operands[slot]
            access = accessed[operand]
            accessed[operand] = now
            if access == now - 1 and access > 0:
                continue
            if access == 0 or not stays(room, access):
                totals[0] += 1
                totals[1] += weights[operand]
        accessed[vertex] = now
        enter(room, now, free)
    return -1


def least_loads(
    order: cython.const_longlong[::1],
    starts: cython.const_longlong[::1],
    operands: cython.const_longlong[::1],
    capacity: cython.longlong,
    weights: cython.const_longlong[::1],
    totals: cython.longlong[::1],
) -> int:
    """Put the loads of ``order`` and their weights into ``totals``; return the first operation too large, or -1.

    Operands of a vertex are distinct; inputs are the vertices that are not in ``order``.
    """
    room = Room(order.shape[0])
    accessed = np.zeros(starts.shape[0] - 1, np.int64)
    return int(count(room, order, starts, operands, capacity, weights, accessed, totals))
