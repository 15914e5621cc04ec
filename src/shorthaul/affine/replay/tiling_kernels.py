"""Compiled parts of making an order: by tiles, and by list scheduling."""

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


@cython.final
@cython.cclass
class Listing:
    """A CDAG whose computed vertices are numbered in the order to be changed, and a fast memory.

    What reads a vertex is ascending.
    """

    edges: Edges
    waiting: cython.longlong[::1]  # operands of each vertex that are not computed yet
    absent: cython.longlong[::1]  # operands of each vertex that are not in fast memory
    left: cython.longlong[::1]  # users of each vertex that are not computed yet
    first: cython.longlong[::1]  # the slot of the first of them, or one before it
    done: cython.uchar[::1]
    after: cython.longlong[::1]  # the next vertex that is not computed, and the one before
    before: cython.longlong[::1]
    slot: cython.longlong[::1]  # where each vertex is in ``held``, -1: not in fast memory
    held: cython.longlong[::1]
    count: cython.Py_ssize_t

    def __init__(self, edges: Edges) -> None:
        n: cython.Py_ssize_t = edges.starts.shape[0] - 1
        self.edges = edges
        self.waiting = np.zeros(n, np.int64)
        self.absent = np.diff(edges.starts)
        self.left = np.diff(edges.user_starts)
        self.first = np.array(edges.user_starts[:n])
        self.done = np.zeros(n, np.uint8)
        self.after = np.arange(1, n + 2)
        self.before = np.arange(-1, n)
        self.slot = np.full(n, -1, np.int64)
        self.held = np.empty(n, np.int64)
        self.count = 0


def listed(
    room: Listing,
    capacity: cython.Py_ssize_t,
    window: cython.Py_ssize_t,
    weight: cython.longlong,
    order: cython.longlong[::1],
) -> None:
    """Fill ``order``: of the first ``window`` vertices left, next is one that is ready and asks for least room.

    It asks for ``weight`` words of every operand to be loaded, less one for every operand that it is the last to read.
    Every operation has to fit into ``capacity``.
    """
    with cython.nogil:
        _listed(room, capacity, window, weight, order)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _listed(
    room: Listing,
    capacity: cython.Py_ssize_t,
    window: cython.Py_ssize_t,
    weight: cython.longlong,
    order: cython.longlong[::1],
) -> cython.void:
    v: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    n: cython.Py_ssize_t = room.edges.starts.shape[0] - 1
    head: cython.Py_ssize_t = room.edges.inputs
    for v in range(room.edges.inputs):
        room.done[v] = True
    for v in range(room.edges.inputs, n):
        for slot in range(room.edges.starts[v], room.edges.starts[v + 1]):
            if room.edges.operands[slot] >= room.edges.inputs:
                room.waiting[v] += 1
    for at in range(order.shape[0]):
        v = _next(room, head, window, weight)
        if v == head:
            head = room.after[v]
        else:
            room.after[room.before[v]] = room.after[v]
        if room.after[v] < n:
            room.before[room.after[v]] = room.before[v]
        order[at] = v
        _compute(room, v, capacity)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _next(
    room: Listing, head: cython.Py_ssize_t, window: cython.Py_ssize_t, weight: cython.longlong
) -> cython.Py_ssize_t:
    """Return the vertex to be computed next; the first one left, as nothing but what comes before it is waited for."""
    best: cython.Py_ssize_t = head
    slot: cython.Py_ssize_t
    n: cython.Py_ssize_t = room.edges.starts.shape[0] - 1
    least: cython.longlong = 1 << 62
    v: cython.Py_ssize_t = head
    for _ in range(window):
        if v >= n:
            break
        if room.waiting[v] == 0:
            cost = weight * room.absent[v]
            for slot in range(room.edges.starts[v], room.edges.starts[v + 1]):
                if room.left[room.edges.operands[slot]] == 1:
                    cost -= 1
            if cost < least:
                least = cost
                best = v
        v = room.after[v]
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compute(room: Listing, v: cython.Py_ssize_t, capacity: cython.Py_ssize_t) -> cython.void:
    """Load what v reads, make room for its result, and let go of what nobody reads any more."""
    u: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    for slot in range(room.edges.starts[v], room.edges.starts[v + 1]):
        if room.slot[room.edges.operands[slot]] < 0:
            _enter(room, room.edges.operands[slot])
    while room.count + 1 > capacity:
        _leave(room, _farthest(room, v))
    room.done[v] = True
    for slot in range(room.edges.starts[v], room.edges.starts[v + 1]):
        u = room.edges.operands[slot]
        room.left[u] -= 1
        if room.left[u] == 0:
            _leave(room, u)
    for slot in range(room.edges.user_starts[v], room.edges.user_starts[v + 1]):
        room.waiting[room.edges.users[slot]] -= 1
    if room.left[v]:
        _enter(room, v)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _enter(room: Listing, u: cython.Py_ssize_t) -> cython.void:
    slot: cython.Py_ssize_t
    room.slot[u] = room.count
    room.held[room.count] = u
    room.count += 1
    for slot in range(room.edges.user_starts[u], room.edges.user_starts[u + 1]):
        room.absent[room.edges.users[slot]] -= 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _leave(room: Listing, u: cython.Py_ssize_t) -> cython.void:
    slot: cython.Py_ssize_t
    last = room.held[room.count - 1]
    room.held[room.slot[u]] = last
    room.slot[last] = room.slot[u]
    room.slot[u] = -1
    room.count -= 1
    for slot in range(room.edges.user_starts[u], room.edges.user_starts[u + 1]):
        room.absent[room.edges.users[slot]] += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _farthest(room: Listing, v: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return what is read last of all that is held, in the order to be changed; nothing that v reads."""
    far: cython.longlong = -1
    found: cython.Py_ssize_t = -1
    u: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    for at in range(room.count):
        u = room.held[at]
        while room.done[room.edges.users[room.first[u]]]:
            room.first[u] += 1
        if room.edges.users[room.first[u]] <= far:
            continue
        is_read: cython.bint = False
        for slot in range(room.edges.starts[v], room.edges.starts[v + 1]):
            is_read = is_read or room.edges.operands[slot] == u
        if not is_read:
            far = room.edges.users[room.first[u]]
            found = u
    return found
