"""What the scheduler of :mod:`list_scheduling` knows of the memories: what is where, and what each node waits for."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.core.compiled.queue_kernels import Heap, Stack
from cython.cimports.shorthaul.core.compiled.random_kernels import Random
from cython.dataclasses import dataclass

#: Values looked at when one has to give way, if there are more.
SAMPLE = cython.declare(cython.longlong, 48)
#: Children of a value looked at to tell when it is used next.
LOOK = cython.declare(cython.longlong, 12)
#: More than any rank.
FAR = cython.declare(cython.longlong, 1 << 40)


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
@cython.final
@cython.cclass
class Rules:
    """What the scheduler prefers: see :class:`shorthaul.pebble.orders.list_scheduling.Rules`."""

    growth: cython.double
    overflow: cython.double
    dirty: cython.double
    by_score: cython.longlong
    longest: cython.longlong


@cython.final
@cython.cclass
class State:
    """The scheduler's model of the memories, and what each node still waits for.

    At first all inputs are in slow memory. ``order`` is topological and lists what is computed.
    """

    def __init__(
        self,
        starts: cython.const_longlong[::1],
        parents: cython.const_longlong[::1],
        child_starts: cython.const_longlong[::1],
        children: cython.const_longlong[::1],
        weights: cython.const_longlong[::1],
        given: cython.const_uchar[::1],
        order: cython.const_longlong[::1],
        rules: Rules,
        capacity: cython.longlong,
        random: Random,
    ) -> None:
        n = weights.shape[0]
        self.starts = starts
        self.parents = parents
        self.child_starts = child_starts
        self.children = children
        self.weights = weights
        self.given = given
        self.order = order
        self.rules = rules
        self.random = random
        self.rank = np.zeros(n, np.int64)
        self.done = np.zeros(n, np.uint8)
        self.red = np.zeros(n, np.uint8)
        self.saved = np.zeros(n, np.uint8)
        self.absent = np.empty(n, np.int64)
        self.which = np.zeros(n, np.int64)
        self.left = np.empty(n, np.int64)
        self.final = np.zeros(n, np.int64)
        self.net = np.empty(n, np.int64)
        self.solo = np.zeros(n, np.int64)
        self.cursor = np.empty(n, np.int64)
        self.residents = np.empty(n, np.int64)
        self.place = np.zeros(n, np.int64)
        self.resident = 0
        self.room = capacity
        self.dirty = 0
        self.pinned = np.zeros(n, np.int64)
        self.clock = 0
        self.seen = np.zeros(n, np.int64)
        self.absent_seen = np.zeros(n, np.int64)
        self.absent_less = np.zeros(n, np.int64)
        self.left_seen = np.zeros(n, np.int64)
        self.left_less = np.zeros(n, np.int64)
        self.stamp = 0
        self.queue = np.empty(n, np.int64)
        self.stack = np.empty(n, np.int64)
        self.work = 0
        self.wanted = Heap()
        self.recent = Stack()
        self.shrinking = Stack()
        self.growing = Stack()
        with cython.nogil:
            _count(self)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count(state: State) -> cython.void:
    """Set what each node waits for at the start."""
    node: cython.longlong
    edge: cython.Py_ssize_t
    for node in range(state.weights.shape[0]):
        state.cursor[node] = state.child_starts[node]
        state.absent[node] = state.starts[node + 1] - state.starts[node]
        state.left[node] = state.child_starts[node + 1] - state.child_starts[node]
        state.net[node] = state.weights[node] if state.left[node] > 0 else 0
        state.done[node] = state.given[node]
        state.saved[node] = state.given[node]
    for node in range(state.order.shape[0]):
        state.rank[state.order[node]] = node
    for node in range(state.weights.shape[0]):
        for edge in range(state.starts[node], state.starts[node + 1]):
            parent = state.parents[edge]
            state.which[node] ^= parent
            state.final[parent] ^= node
            if state.left[parent] == 1:
                state.net[node] -= state.weights[parent]
        if state.absent[node] == 1:
            state.solo[state.which[node]] += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def want(state: State, node: cython.longlong) -> cython.void:
    """Note for how many nodes, per weight, ``node`` alone is absent."""
    ratio: cython.double = -state.solo[node] / cython.cast(cython.double, state.weights[node])
    state.wanted.push(ratio, state.rank[node] * state.weights.shape[0] + node)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enter(state: State, node: cython.longlong) -> cython.void:
    """Put ``node`` into fast memory: its children wait for one parent less."""
    edge: cython.Py_ssize_t
    state.red[node] = True
    state.residents[state.resident] = node
    state.place[node] = state.resident
    state.resident += 1
    state.room -= state.weights[node]
    if not state.saved[node]:
        state.dirty += state.weights[node]
    state.work += state.child_starts[node + 1] - state.cursor[node]
    for edge in range(state.cursor[node], state.child_starts[node + 1]):
        child = state.children[edge]
        if state.done[child]:
            continue
        state.absent[child] -= 1
        state.which[child] ^= node
        if state.absent[child] == 0:
            state.solo[node] -= 1
            if state.net[child] <= 0:
                state.shrinking.push(child)
            else:
                state.growing.push(child)
        elif state.absent[child] == 1:
            other = state.which[child]
            state.solo[other] += 1
            want(state, other)
            state.recent.push(other)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def leave(state: State, node: cython.longlong) -> cython.void:
    """Take ``node`` out of fast memory without telling its children."""
    state.red[node] = False
    state.resident -= 1
    other = state.residents[state.resident]
    state.residents[state.place[node]] = other
    state.place[other] = state.place[node]
    state.room += state.weights[node]
    if not state.saved[node]:
        state.dirty -= state.weights[node]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def evict(state: State, node: cython.longlong) -> cython.void:
    """Drop ``node``, storing it if need be: its children wait for one parent more."""
    edge: cython.Py_ssize_t
    leave(state, node)
    state.saved[node] = True
    state.work += state.child_starts[node + 1] - state.cursor[node]
    for edge in range(state.cursor[node], state.child_starts[node + 1]):
        child = state.children[edge]
        if state.done[child]:
            continue
        if state.absent[child] == 0:
            state.solo[node] += 1
        elif state.absent[child] == 1:
            state.solo[state.which[child]] -= 1
        state.absent[child] += 1
        state.which[child] ^= node
    if state.solo[node] > 0:
        want(state, node)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def use_distance(state: State, node: cython.longlong) -> cython.double:
    """Return the absent parents, and as a fraction the rank, of the child that is nearest, of the first few."""
    edge: cython.Py_ssize_t = state.cursor[node]
    last: cython.Py_ssize_t = state.child_starts[node + 1]
    look: cython.Py_ssize_t
    least: cython.longlong = FAR
    rank: cython.longlong = FAR
    while edge < last and state.done[state.children[edge]]:
        edge += 1
    state.cursor[node] = edge
    for look in range(edge, min(last, edge + LOOK)):
        child = state.children[look]
        if state.done[child]:
            continue
        if state.absent[child] < least or (state.absent[child] == least and state.rank[child] < rank):
            least = state.absent[child]
            rank = state.rank[child]
    return least + rank / cython.cast(cython.double, state.rank.shape[0])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def victim_of(state: State) -> cython.longlong:
    """Return the value whose next use seems farthest, of all or of some drawn at random; -1 if all are pinned."""
    best: cython.longlong = -1
    best_score: cython.double = -1.0
    for number in range(min(SAMPLE, state.resident)):
        other = state.residents[number if state.resident <= SAMPLE else state.random.below(state.resident)]
        if state.pinned[other] == state.clock:
            continue
        score = use_distance(state, other)
        if not state.saved[other]:
            score /= state.rules.dirty
        if score > best_score:
            best_score = score
            best = other
    number = 0
    while best < 0 and number < state.resident:  # those drawn are all pinned
        if state.pinned[state.residents[number]] != state.clock:
            best = state.residents[number]
        number += 1
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def compute(state: State, node: cython.longlong) -> cython.void:
    """Compute ``node``, all of whose parents are computed: load those absent, evict what has to give way."""
    need: cython.longlong = state.weights[node]
    edge: cython.Py_ssize_t
    state.clock += 1
    for edge in range(state.starts[node], state.starts[node + 1]):
        parent = state.parents[edge]
        state.pinned[parent] = state.clock
        if not state.red[parent]:
            need += state.weights[parent]
    while state.room < need:
        parent = victim_of(state)
        if parent < 0:
            break
        evict(state, parent)
    for edge in range(state.starts[node], state.starts[node + 1]):
        if not state.red[state.parents[edge]]:
            enter(state, state.parents[edge])
    state.done[node] = True
    for edge in range(state.starts[node], state.starts[node + 1]):
        parent = state.parents[edge]
        state.left[parent] -= 1
        state.final[parent] ^= node
        if state.left[parent] == 0:
            leave(state, parent)
        elif state.left[parent] == 1:
            child = state.final[parent]
            before = state.net[child]
            state.net[child] -= state.weights[parent]
            if before > 0 and state.net[child] <= 0 and state.absent[child] == 0:
                state.shrinking.push(child)
    if state.left[node] > 0:
        enter(state, node)
