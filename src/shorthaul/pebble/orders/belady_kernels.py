"""The compiled replay of an order with Belady's replacement, for :mod:`belady`."""

from __future__ import annotations

import cython
import numpy as np

#: The next use of a value that is not used again.
NEVER = cython.declare(cython.longlong, 1 << 62)


@cython.final
@cython.cclass
class Heap:
    """A binary max-heap of integers."""

    keys: cython.longlong[::1]
    size: cython.Py_ssize_t

    def __init__(self, most: cython.Py_ssize_t) -> None:
        self.keys = np.empty(most, np.int64)
        self.size = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def push(heap: Heap, key: cython.longlong) -> cython.void:
    """Add ``key``."""
    at: cython.Py_ssize_t = heap.size
    heap.size = at + 1
    while at > 0:
        above = (at - 1) >> 1
        if heap.keys[above] >= key:
            break
        heap.keys[at] = heap.keys[above]
        at = above
    heap.keys[at] = key


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pop(heap: Heap) -> cython.void:
    """Remove the largest key."""
    size: cython.Py_ssize_t = heap.size - 1
    at: cython.Py_ssize_t = 0
    below: cython.Py_ssize_t = 1
    key: cython.longlong = heap.keys[size]
    heap.size = size
    while below < size:
        if below + 1 < size and heap.keys[below + 1] > heap.keys[below]:
            below += 1
        if heap.keys[below] <= key:
            break
        heap.keys[at] = heap.keys[below]
        at = below
        below = 2 * at + 1
    heap.keys[at] = key


@cython.final
@cython.cclass
class Replay:
    """The replay of an order with Belady's replacement, as far as it has come.

    Whenever room is short, the value whose next use is farthest gives way; one that would have to be stored counts as
    ``penalty`` times nearer. A value is stored only when it gives way. Every node must fit (with its operands). A node
    that ``order`` lists again is computed again.
    """

    order: cython.const_longlong[::1]
    starts: cython.const_longlong[::1]
    parents: cython.const_longlong[::1]
    weights: cython.const_longlong[::1]
    given: cython.const_uchar[::1]
    is_output: cython.const_uchar[::1]
    penalty: cython.double
    room: cython.longlong
    time: cython.Py_ssize_t
    reads: cython.Py_ssize_t  # operands read so far
    made: cython.longlong[::1]  # for each computation, when its value is read first
    read: cython.longlong[::1]  # for each operand read, when it is read next
    upcoming: cython.longlong[::1]  # of each node
    red: cython.uchar[::1]
    saved: cython.uchar[::1]
    pinned: cython.uchar[::1]
    # one heap for values that are in slow memory too, one for those that are not; the farthest next use is on top, of
    # equal ones the value of the lowest number
    clean: Heap
    dirty: Heap
    victims: cython.longlong[::1]
    kinds = cython.declare(cython.uchar[::1], visibility="readonly")  # the moves
    nodes = cython.declare(cython.longlong[::1], visibility="readonly")
    moves = cython.declare(cython.Py_ssize_t, visibility="readonly")

    def __init__(
        self,
        order: cython.const_longlong[::1],
        starts: cython.const_longlong[::1],
        parents: cython.const_longlong[::1],
        weights: cython.const_longlong[::1],
        given: cython.const_uchar[::1],
        is_output: cython.const_uchar[::1],
        budget: cython.longlong,
        penalty: cython.double,
    ) -> None:
        n = weights.shape[0]
        reads = _reads(order, starts)
        self.order = order
        self.starts = starts
        self.parents = parents
        self.weights = weights
        self.given = given
        self.is_output = is_output
        self.penalty = penalty
        self.room = budget
        self.time = 0
        self.reads = 0
        self.made = np.empty(order.shape[0], np.int64)
        self.read = np.empty(reads, np.int64)
        self.upcoming = np.full(n, NEVER, np.int64)
        self.red = np.zeros(n, np.uint8)
        self.saved = np.zeros(n, np.uint8)
        self.pinned = np.zeros(n, np.uint8)
        self.clean = Heap(reads + order.shape[0])
        self.dirty = Heap(reads + order.shape[0])
        self.victims = np.empty(n, np.int64)
        # what is read is loaded at most as often, and what is loaded or computed is deleted once, stored at most once
        most = 2 * reads + 3 * order.shape[0]
        self.kinds = np.empty(most, np.uint8)
        self.nodes = np.empty(most, np.int64)
        self.moves = 0
        with cython.nogil:
            _note_reads(self)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _reads(order: cython.const_longlong[::1], starts: cython.const_longlong[::1]) -> cython.Py_ssize_t:
    count: cython.Py_ssize_t = 0
    for place in range(order.shape[0]):
        count += starts[order[place] + 1] - starts[order[place]]
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _note_reads(replay: Replay) -> cython.void:
    """Fill ``made`` and ``read``: a value that is computed again before it is read again is not read, ``NEVER``."""
    edge: cython.Py_ssize_t
    place = replay.read.shape[0]
    for time in range(replay.order.shape[0] - 1, -1, -1):
        node = replay.order[time]
        replay.made[time] = replay.upcoming[node]
        replay.upcoming[node] = NEVER
        for edge in range(replay.starts[node + 1] - 1, replay.starts[node] - 1, -1):
            parent = replay.parents[edge]
            place -= 1
            replay.read[place] = replay.upcoming[parent]
            replay.upcoming[parent] = time
    for node in range(replay.weights.shape[0]):
        replay.upcoming[node] = NEVER
        replay.saved[node] = replay.given[node]


def advance(replay: Replay, operations: cython.longlong) -> bool:
    """Compute up to ``operations`` further nodes; True at the end of the order."""
    stop: cython.Py_ssize_t = min(replay.order.shape[0], replay.time + operations)
    with cython.nogil:
        while replay.time < stop:
            _compute(replay)
    return bool(stop == replay.order.shape[0])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move(replay: Replay, kind: cython.uchar, node: cython.longlong) -> cython.void:
    """Write a move: 0 load, 1 store, 2 compute, 3 delete."""
    replay.kinds[replay.moves] = kind
    replay.nodes[replay.moves] = node
    replay.moves += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _offer(replay: Replay, node: cython.longlong) -> cython.void:
    """Let a value that is in fast memory and read again give way."""
    n: cython.longlong = replay.weights.shape[0]
    key: cython.longlong = replay.upcoming[node] * n + n - 1 - node
    if replay.saved[node]:
        push(replay.clean, key)
    else:
        push(replay.dirty, key)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _farthest(replay: Replay, heap: Heap, is_saved: cython.uchar) -> cython.longlong:
    """Return when the value on top of the heap is read, -1 if there is none; what no longer counts is removed."""
    n: cython.longlong = replay.weights.shape[0]
    while heap.size > 0:
        use = heap.keys[0] // n
        node = n - 1 - heap.keys[0] % n
        if (
            replay.red[node]
            and replay.saved[node] == is_saved
            and not replay.pinned[node]
            and replay.upcoming[node] == use
        ):
            return use
        pop(heap)
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _make_room(replay: Replay, need: cython.longlong) -> cython.void:
    """Store and delete values until there is room for ``need``."""
    n: cython.longlong = replay.weights.shape[0]
    chosen: cython.Py_ssize_t = 0
    freed: cython.longlong = replay.room
    time: cython.longlong = replay.time
    while freed < need:
        clean = _farthest(replay, replay.clean, True)
        dirty = _farthest(replay, replay.dirty, False)
        if dirty < 0 or (clean >= 0 and clean - time >= (dirty - time) / replay.penalty):
            victim = n - 1 - replay.clean.keys[0] % n
            pop(replay.clean)
        else:
            victim = n - 1 - replay.dirty.keys[0] % n
            pop(replay.dirty)
        replay.red[victim] = False
        freed += replay.weights[victim]
        replay.victims[chosen] = victim
        chosen += 1
    # those used soonest stay after all, if the others make enough room
    for place in range(chosen - 1, -1, -1):
        victim = replay.victims[place]
        if freed - replay.weights[victim] >= need:
            freed -= replay.weights[victim]
            replay.red[victim] = True
            _offer(replay, victim)
            replay.victims[place] = -1
    for place in range(chosen):
        victim = replay.victims[place]
        if victim >= 0:
            if not replay.saved[victim]:
                replay.saved[victim] = True
                _move(replay, 1, victim)
            _move(replay, 3, victim)
    replay.room = freed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compute(replay: Replay) -> cython.void:
    """Compute the next node of the order."""
    node: cython.longlong = replay.order[replay.time]
    need: cython.longlong = replay.weights[node]
    edge: cython.Py_ssize_t
    for edge in range(replay.starts[node], replay.starts[node + 1]):
        parent = replay.parents[edge]
        replay.pinned[parent] = True
        if not replay.red[parent]:
            need += replay.weights[parent]
    if replay.room < need:
        _make_room(replay, need)
    for edge in range(replay.starts[node], replay.starts[node + 1]):
        parent = replay.parents[edge]
        if not replay.red[parent]:
            replay.red[parent] = True
            _move(replay, 0, parent)
    replay.room -= need
    replay.red[node] = True
    _move(replay, 2, node)
    for edge in range(replay.starts[node], replay.starts[node + 1]):
        parent = replay.parents[edge]
        replay.upcoming[parent] = replay.read[replay.reads]
        replay.reads += 1
        replay.pinned[parent] = False
        if replay.upcoming[parent] < NEVER:
            _offer(replay, parent)
        else:
            _drop(replay, parent)
    replay.upcoming[node] = replay.made[replay.time]
    replay.time += 1
    if replay.upcoming[node] < NEVER:
        _offer(replay, node)
        return
    if replay.is_output[node] and not replay.saved[node]:
        replay.saved[node] = True
        _move(replay, 1, node)
    _drop(replay, node)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _drop(replay: Replay, node: cython.longlong) -> cython.void:
    replay.red[node] = False
    replay.room += replay.weights[node]
    _move(replay, 3, node)
