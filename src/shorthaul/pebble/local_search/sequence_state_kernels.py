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

    starts: cython.const_longlong[::1]
    parents: cython.const_longlong[::1]
    weights: cython.const_longlong[::1]
    compute: cython.const_longlong[::1]
    given: cython.const_uchar[::1]
    outputs: cython.const_uchar[::1]
    budget: cython.longlong
    load: cython.longlong
    store: cython.longlong
    recompute: cython.bint
    in_order: cython.bint

    def __init__(
        self,
        starts: cython.const_longlong[::1],
        parents: cython.const_longlong[::1],
        weights: cython.const_longlong[::1],
        compute: cython.const_longlong[::1],
        given: cython.const_uchar[::1],
        outputs: cython.const_uchar[::1],
        budget: cython.longlong,
        load: cython.longlong,
        store: cython.longlong,
        recompute: cython.bint,
        in_order: cython.bint,
    ) -> None:
        self.starts = starts
        self.parents = parents
        self.weights = weights
        self.compute = compute
        self.given = given
        self.outputs = outputs
        self.budget = budget
        self.load = load
        self.store = store
        self.recompute = recompute
        self.in_order = in_order


@cython.final
@cython.cclass
class Sequence:
    """Events in order: the value of each, and whether it is loaded. With room for more."""

    nodes: cython.longlong[::1]
    loads: cython.uchar[::1]
    last_use: cython.longlong[::1]
    held: cython.longlong[::1]
    firsts: cython.uchar[::1]
    size: cython.longlong
    price: cython.longlong
    excess: cython.double
    peak: cython.longlong

    def __init__(
        self, nodes: cython.const_longlong[::1], loads: cython.const_uchar[::1], room: cython.longlong
    ) -> None:
        self.nodes = np.zeros(room, np.int64)
        self.loads = np.zeros(room, np.uint8)
        self.last_use = np.zeros(room, np.int64)
        self.held = np.zeros(room, np.int64)
        self.firsts = np.zeros(room, np.uint8)
        self.size = nodes.shape[0]
        self.price = 0
        self.excess = 0
        self.peak = 0
        for at in range(nodes.shape[0]):
            self.nodes[at] = nodes[at]
            self.loads[at] = loads[at]


@cython.final
@cython.cclass
class Annealer:
    """The sequence as it stands, one move further, and the best that fits; ``work`` counts events and operands.

    ``in_place`` says that results may take the room of operands.
    """

    board: Board
    in_place: cython.bint
    random: Random
    now: Sequence
    other: Sequence
    best: Sequence
    has_best: cython.bint
    work: cython.longlong
    latest: cython.longlong[::1]
    stored: cython.uchar[::1]
    leaves: cython.longlong[::1]
    widest: cython.longlong[::1]
    mark: cython.longlong[::1]
    stamp: cython.longlong
    inserted: cython.longlong[::1]
    kinds: cython.uchar[::1]
    held_back: cython.longlong[::1]
    held_loads: cython.uchar[::1]

    def __init__(
        self,
        board: Board,
        random: Random,
        start: Sequence,
        other: Sequence,
        best: Sequence,
        in_place: cython.bint,
    ) -> None:
        n = board.weights.shape[0]
        room = start.nodes.shape[0]
        self.board = board
        self.in_place = in_place
        self.random = random
        self.now = start
        self.other = other
        self.best = best
        self.has_best = False
        self.work = 0
        self.latest = np.zeros(n, np.int64)
        self.stored = np.zeros(n, np.uint8)
        self.leaves = np.zeros(room + 1, np.int64)
        self.widest = np.zeros(room + 1, np.int64)
        self.mark = np.zeros(n, np.int64)
        self.stamp = 0
        self.inserted = np.zeros(_MOST_INSERTED, np.int64)
        self.kinds = np.zeros(_MOST_INSERTED, np.uint8)
        self.held_back = np.zeros(room, np.int64)
        self.held_loads = np.zeros(room, np.uint8)


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
        a.stored[at] = 0
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
                if not a.stored[node] and not b.outputs[node]:
                    price += b.store * b.weights[node]
                a.stored[node] = 1
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
    excess: cython.double = 0.0
    s.peak = 0
    for at in range(s.size):
        last = s.last_use[at]
        a.leaves[last] += b.weights[s.nodes[at]]
        if last != at and b.weights[s.nodes[at]] > a.widest[last]:
            a.widest[last] = b.weights[s.nodes[at]]
    for at in range(s.size):
        own = b.weights[s.nodes[at]]
        needed = held if a.in_place and a.widest[at] >= own else held + own
        s.held[at] = needed
        if needed > s.peak:
            s.peak = needed
        if needed > b.budget:
            excess += needed - b.budget
        held += own - a.leaves[at]
    s.excess = excess


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def copy(source: Sequence, target: Sequence) -> cython.void:
    """Copy a sequence and what was found of it."""
    at: cython.Py_ssize_t
    for at in range(source.size):
        target.nodes[at] = source.nodes[at]
        target.loads[at] = source.loads[at]
        target.last_use[at] = source.last_use[at]
        target.held[at] = source.held[at]
        target.firsts[at] = source.firsts[at]
    target.size = source.size
    target.price = source.price
    target.excess = source.excess
    target.peak = source.peak
