"""Compiled parts of making a tiled order."""

from __future__ import annotations

import cython
import numpy as np


@cython.final
@cython.cclass
class Edges:
    """A CDAG: vertex v reads operands[starts[v]:starts[v + 1]], users[user_starts[v]:user_starts[v + 1]] read it.

    The first ``inputs`` vertices are inputs.
    """

    starts: cython.const_longlong[::1]
    operands: cython.const_longlong[::1]
    user_starts: cython.const_longlong[::1]
    users: cython.const_longlong[::1]
    inputs: cython.Py_ssize_t

    def __init__(
        self,
        starts: cython.const_longlong[::1],
        operands: cython.const_longlong[::1],
        user_starts: cython.const_longlong[::1],
        users: cython.const_longlong[::1],
        inputs: cython.Py_ssize_t,
    ) -> None:
        self.starts = starts
        self.operands = operands
        self.user_starts = user_starts
        self.users = users
        self.inputs = inputs


def spread_ranks(edges: Edges, rank: cython.longlong[::1], given: cython.uchar[::1]) -> None:
    """Give every vertex whose rank is not ``given`` that of its first user, else of its last operand."""
    with cython.nogil:
        _spread(edges, rank, given)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _spread(edges: Edges, rank: cython.longlong[::1], given: cython.uchar[::1]) -> cython.void:
    slot: cython.Py_ssize_t
    for v in range(rank.shape[0] - 1, edges.inputs - 1, -1):
        if given[v] or edges.user_starts[v] == edges.user_starts[v + 1]:
            continue
        best = rank[edges.users[edges.user_starts[v]]]
        for slot in range(edges.user_starts[v] + 1, edges.user_starts[v + 1]):
            best = min(best, rank[edges.users[slot]])
        rank[v] = best
        given[v] = True
    for v in range(edges.inputs, rank.shape[0]):
        if given[v]:
            continue
        best = 0
        for slot in range(edges.starts[v], edges.starts[v + 1]):
            if edges.operands[slot] >= edges.inputs:
                best = max(best, rank[edges.operands[slot]])
        rank[v] = best


@cython.final
@cython.cclass
class Ready:
    """The vertices that can be computed: a heap of their places in the order of ranks, program order among equals."""

    by_rank: cython.const_longlong[::1]
    place: cython.longlong[::1]
    missing: cython.longlong[::1]  # operands of each vertex not computed yet
    heap: cython.longlong[::1]
    size: cython.Py_ssize_t

    def __init__(self, by_rank: cython.const_longlong[::1]) -> None:
        self.by_rank = by_rank
        self.place = np.empty(by_rank.shape[0], np.int64)
        self.missing = np.zeros(by_rank.shape[0], np.int64)
        self.heap = np.empty(by_rank.shape[0], np.int64)
        self.size = 0


def ready_order(edges: Edges, by_rank: cython.const_longlong[::1], order: cython.longlong[::1]) -> None:
    """Fill ``order`` with the computed vertices so that it respects all edges: the ready one of least rank comes next.

    ``by_rank`` are the vertices in the order of their ranks.
    """
    ready = Ready(by_rank)
    with cython.nogil:
        _order(edges, ready, order)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _order(edges: Edges, ready: Ready, order: cython.longlong[::1]) -> cython.void:
    v: cython.Py_ssize_t
    u: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    for at in range(ready.by_rank.shape[0]):
        ready.place[ready.by_rank[at]] = at
    for v in range(edges.inputs, ready.by_rank.shape[0]):
        for slot in range(edges.starts[v], edges.starts[v + 1]):
            if edges.operands[slot] >= edges.inputs:
                ready.missing[v] += 1
        if ready.missing[v] == 0:
            _push(ready, ready.place[v])
    for at in range(order.shape[0]):
        v = ready.by_rank[_pop(ready)]
        order[at] = v
        for slot in range(edges.user_starts[v], edges.user_starts[v + 1]):
            u = edges.users[slot]
            ready.missing[u] -= 1
            if ready.missing[u] == 0:
                _push(ready, ready.place[u])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _push(ready: Ready, key: cython.longlong) -> cython.void:
    """Add ``key`` to the binary min-heap."""
    at: cython.Py_ssize_t = ready.size
    ready.size += 1
    while at > 0:
        above = (at - 1) >> 1
        if ready.heap[above] <= key:
            break
        ready.heap[at] = ready.heap[above]
        at = above
    ready.heap[at] = key


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pop(ready: Ready) -> cython.longlong:
    """Remove the least entry of the heap and return it."""
    least: cython.longlong = ready.heap[0]
    at: cython.Py_ssize_t = 0
    below: cython.Py_ssize_t = 1
    ready.size -= 1
    key = ready.heap[ready.size]
    while below < ready.size:
        if below + 1 < ready.size and ready.heap[below + 1] < ready.heap[below]:
            below += 1
        if key <= ready.heap[below]:
            break
        ready.heap[at] = ready.heap[below]
        at = below
        below = 2 * at + 1
    ready.heap[at] = key
    return least
