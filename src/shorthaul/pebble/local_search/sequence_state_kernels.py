"""Event sequences of the game with prices: what they cost, and what they hold in fast memory.

An *event* computes a value or loads it. The value is in fast memory from its event to its last reader before the next
event of the same value, and no longer: the sequence alone tells what the memory holds. It costs what its events cost.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.core.compiled.random_kernels import Random

#: How many values one move brings in at most, the operands of operands included.
_MOST_INSERTED = cython.declare(cython.longlong, 12)


@cython.final
@cython.cclass
class Board:
    """A graph, the prices and the rules; prices below 0 stand for moves that there are not."""

    def __init__(
        self,
        starts: cython.const_longlong[::1],
        parents: cython.const_longlong[::1],
        weights: cython.const_longlong[::1],
        compute: cython.const_longlong[::1],
        given: cython.const_uchar[::1],
        outputs: cython.const_uchar[::1],
        budget: cython.longlong,
        prices: tuple[int, int],
        recompute: cython.bint,
        in_order: cython.bint,
        in_place: cython.bint,
    ) -> None:
        readers = np.repeat(np.arange(weights.shape[0]), np.diff(np.asarray(starts)))
        by_parent = np.argsort(np.asarray(parents), kind="stable")
        counts = np.bincount(np.asarray(parents), minlength=weights.shape[0])
        self.child_starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        self.children = readers[by_parent]
        self.starts = starts
        self.parents = parents
        self.weights = weights
        self.compute = compute
        self.given = given
        self.outputs = outputs
        self.budget = budget
        self.load, self.store = prices
        self.recompute = recompute
        self.in_order = in_order
        self.in_place = in_place


@cython.final
@cython.cclass
class Sequence:
    """Events in order: the value of each, and whether it is loaded. With room for more.

    ``following`` leads from an event to the next one of its value (-1: none), ``head`` from a value to its first event.
    ``slides`` notes that a result takes the room of an operand, ``loaded`` counts the loads of a value.
    """

    def __init__(
        self,
        nodes: cython.const_longlong[::1],
        loads: cython.const_uchar[::1],
        room: cython.longlong,
        n: cython.longlong,
    ) -> None:
        self.nodes = np.zeros(room, np.int64)
        self.loads = np.zeros(room, np.uint8)
        self.last_use = np.zeros(room, np.int64)
        self.held = np.zeros(room, np.int64)
        self.firsts = np.zeros(room, np.uint8)
        self.slides = np.zeros(room, np.uint8)
        self.following = np.zeros(room, np.int64)
        self.head = np.zeros(n, np.int64)
        self.loaded = np.zeros(n, np.int64)
        self.size = nodes.shape[0]
        self.price = 0
        self.excess = 0
        for at in range(nodes.shape[0]):
            self.nodes[at] = nodes[at]
            self.loads[at] = loads[at]


@cython.final
@cython.cclass
class Change:
    """New events, ``size`` of them, in place of those from ``low`` to before ``high``, and what follows from them.

    Values that they bring or read are ``met``; of each: its last event ``before`` the change, until when that is read
    then (``until``), its newest event so far, and when that was read last (``carrier``, ``last``), until when a value
    is read behind the change (``tail``, -1: not), and its next event there (``after``). ``risen`` is by how much more
    is held from an event before the change on, ``slid`` lists events there whose results take an operand's room or
    do so no longer.
    """

    def __init__(self, room: cython.longlong, n: cython.longlong) -> None:
        self.nodes = np.zeros(room, np.int64)
        self.loads = np.zeros(room, np.uint8)
        self.last_use = np.zeros(room, np.int64)
        self.held = np.zeros(room, np.int64)
        self.firsts = np.zeros(room, np.uint8)
        self.leaves = np.zeros(room, np.int64)
        self.widest = np.zeros(room, np.int64)
        self.low = 0
        self.high = 0
        self.size = 0
        self.met = np.zeros(n, np.int64)
        self.count = 0
        self.mark = np.zeros(n, np.int64)
        self.stamp = 0
        self.before = np.zeros(n, np.int64)
        self.until = np.zeros(n, np.int64)
        self.carrier = np.zeros(n, np.int64)
        self.last = np.zeros(n, np.int64)
        self.tail = np.zeros(n, np.int64)
        self.after = np.zeros(n, np.int64)
        self.risen = np.zeros(room + 1, np.int64)
        self.first_risen = 0
        self.slid = np.zeros(2 * n, np.int64)
        self.slid_count = 0
        self.price = 0
        self.excess = 0


@cython.final
@cython.cclass
class Annealer:
    """The sequence as it stands, a change of it, and the best that fits; ``work`` counts events and operands."""

    def __init__(self, board: Board, random: Random, start: Sequence, best: Sequence) -> None:
        n = board.weights.shape[0]
        room = start.nodes.shape[0]
        self.board = board
        self.random = random
        self.now = start
        self.change = Change(room, n)
        self.best = best
        self.has_best = False
        self.work = 0
        self.latest = np.zeros(n, np.int64)
        self.leaves = np.zeros(room + 1, np.int64)
        self.widest = np.zeros(room + 1, np.int64)
        self.mark = np.zeros(n, np.int64)
        self.stamp = 0
        self.inserted = np.zeros(_MOST_INSERTED, np.int64)
        self.kinds = np.zeros(_MOST_INSERTED, np.uint8)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def evaluate(a: Annealer, b: Board, s: Sequence) -> cython.bint:
    """Find what a sequence costs, what it holds and for how long; False if it breaks a rule other than the budget."""
    at: cython.Py_ssize_t
    edge: cython.Py_ssize_t
    price: cython.longlong = 0
    highest: cython.longlong = -1
    for at in range(b.weights.shape[0]):
        a.latest[at] = -1
        s.loaded[at] = 0
    for at in range(s.size):
        node = s.nodes[at]
        a.leaves[at] = 0
        a.widest[at] = 0
        s.firsts[at] = a.latest[node] < 0
        if s.loads[at]:
            price += b.load * b.weights[node]
            if not b.given[node]:
                if a.latest[node] < 0:
                    return False
                if not s.loaded[node] and not b.outputs[node]:
                    price += b.store * b.weights[node]
                s.loaded[node] += 1
        else:
            if b.given[node]:
                return False
            price += b.compute[node]
            if a.latest[node] < 0:
                if b.outputs[node] and b.store > 0:
                    price += b.store * b.weights[node]
                if b.in_order:
                    if node < highest:
                        return False
                    highest = node
            elif not b.recompute:
                return False
            for edge in range(b.starts[node], b.starts[node + 1]):
                made = a.latest[b.parents[edge]]
                if made < 0:
                    return False
                s.last_use[made] = at
            a.work += b.starts[node + 1] - b.starts[node]
        if a.latest[node] < 0:
            s.head[node] = at
        else:
            s.following[a.latest[node]] = at
        s.following[at] = -1
        a.latest[node] = at
        s.last_use[at] = at
    a.work += 3 * s.size
    _fill(a, a.board, s)
    s.price = price
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill(a: Annealer, b: Board, s: Sequence) -> cython.void:
    """Find what the fast memory holds at each event, and by how much that is too much, summed up.

    In place, a result takes the room of the widest operand that leaves with its event, if that is wide enough.
    """
    at: cython.Py_ssize_t
    held: cython.longlong = 0
    excess: cython.longlong = 0
    for at in range(s.size):
        last = s.last_use[at]
        a.leaves[last] += b.weights[s.nodes[at]]
        if last != at and b.weights[s.nodes[at]] > a.widest[last]:
            a.widest[last] = b.weights[s.nodes[at]]
    for at in range(s.size):
        own = b.weights[s.nodes[at]]
        s.slides[at] = b.in_place and a.widest[at] >= own
        s.held[at] = held if s.slides[at] else held + own
        if s.held[at] > b.budget:
            excess += s.held[at] - b.budget
        held += own - a.leaves[at]
    s.excess = excess


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def copy(source: Sequence, target: Sequence) -> cython.void:
    """Copy the events of a sequence and their price."""
    at: cython.Py_ssize_t
    for at in range(source.size):
        target.nodes[at] = source.nodes[at]
        target.loads[at] = source.loads[at]
    target.size = source.size
    target.price = source.price
    target.excess = source.excess
