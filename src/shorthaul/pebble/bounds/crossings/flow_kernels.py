"""Compiled loops of :mod:`packing`: disjoint paths past a node that are worth most beyond the prices of their nodes."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.pebble.bounds.crossings.laid_kernels import forget, lay, walk

_LAST = cython.declare(cython.longlong, -2)  # what follows the last node of a path
_MOST = cython.declare(cython.longlong, 5_000_000)  # work after which the search for one more path ends


@cython.final
@cython.cclass
class Flow:
    """A graph with a price for each node, and the paths past the node that is looked at.

    Paths start at nodes that this one needs, and end before nodes that need it, ``partial`` ones at these. States are
    2 v before node v and 2 v + 1 behind it; ``distance`` and ``back`` are what the cheapest way to each costs, and the
    state before it there.
    """

    weights: cython.const_longlong[::1]
    given: cython.const_uchar[::1]
    parent_starts: cython.const_longlong[::1]
    parents: cython.const_longlong[::1]
    child_starts: cython.const_longlong[::1]
    children: cython.const_longlong[::1]
    prices: cython.double[::1]
    partial: cython.bint
    starts: cython.longlong[::1]
    start_count: cython.Py_ssize_t
    is_start: cython.longlong[::1]  # stamps of starts, of later nodes, and of nodes that no path may use
    is_later: cython.longlong[::1]
    barred: cython.longlong[::1]
    after: cython.longlong[::1]  # the next node on a path, -1 elsewhere
    before: cython.longlong[::1]
    met: cython.longlong[::1]
    waits: cython.longlong[::1]
    back: cython.longlong[::1]
    distance: cython.double[::1]
    queue: cython.longlong[::1]  # a ring
    head: cython.Py_ssize_t
    tail: cython.Py_ssize_t
    stamp: cython.longlong
    work = cython.declare(cython.longlong, visibility="readonly")
    nodes: cython.longlong[::1]  # of the paths that are returned, and what follows each
    then: cython.longlong[::1]
    count = cython.declare(cython.Py_ssize_t, visibility="readonly")
    price = cython.declare(cython.double, visibility="readonly")

    def __init__(
        self, weights: cython.const_longlong[::1], given: cython.const_uchar[::1],
        parent_starts: cython.const_longlong[::1], parents: cython.const_longlong[::1],
        child_starts: cython.const_longlong[::1], children: cython.const_longlong[::1],
        prices: cython.double[::1], nodes: cython.longlong[::1], then: cython.longlong[::1], partial: cython.bint,
    ) -> None:  # fmt: skip
        n = weights.shape[0]
        self.weights = weights
        self.given = given
        self.parent_starts = parent_starts
        self.parents = parents
        self.child_starts = child_starts
        self.children = children
        self.prices = prices
        self.nodes = nodes
        self.then = then
        self.partial = partial
        self.starts = np.empty(n, np.int64)
        self.start_count = 0
        self.is_start = np.zeros(n, np.int64)
        self.is_later = np.zeros(n, np.int64)
        self.barred = np.zeros(n, np.int64)
        self.after = np.full(n, -1, np.int64)
        self.before = np.full(n, -1, np.int64)
        self.met = np.zeros(2 * n, np.int64)
        self.waits = np.zeros(2 * n, np.int64)
        self.back = np.empty(2 * n, np.int64)
        self.distance = np.empty(2 * n, np.float64)
        self.queue = np.empty(2 * n + 1, np.int64)
        self.head = 0
        self.tail = 0
        self.stamp = 0
        self.work = 0
        self.count = 0
        self.price = 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _reach(
    flow: Flow, state: cython.longlong, distance: cython.double, back: cython.longlong, most: cython.double
) -> cython.void:
    """Note a way to a state if it is cheaper than the one known, and than ``most``."""
    if distance >= most - 1e-9:
        return
    if flow.met[state] == flow.stamp and flow.distance[state] <= distance + 1e-9:
        return
    if flow.met[state] != flow.stamp:
        flow.met[state] = flow.stamp
        flow.waits[state] = 0
    flow.distance[state] = distance
    flow.back[state] = back
    if flow.waits[state] == 0:
        flow.waits[state] = 1
        flow.queue[flow.tail] = state
        flow.tail = flow.tail + 1 if flow.tail + 1 < flow.queue.shape[0] else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find(flow: Flow, part: cython.longlong, gain: cython.double, least: cython.longlong) -> cython.longlong:
    """Return the node at the end of the cheapest further path to later nodes; -1 if none costs less than its gain."""
    best: cython.double = 2 * gain
    found: cython.longlong = -1
    distance: cython.double
    i: cython.Py_ssize_t
    v: cython.longlong
    c: cython.longlong
    state: cython.longlong
    end: cython.longlong = flow.work + _MOST
    flow.stamp += 1
    flow.head = 0
    flow.tail = 0
    for i in range(flow.start_count):
        v = flow.starts[i]
        if flow.after[v] == -1 or flow.before[v] >= 0:
            _reach(flow, 2 * v, gain if flow.given[v] else 0.0, -1, best)
    while flow.head != flow.tail and flow.work < end:
        state = flow.queue[flow.head]
        flow.head = flow.head + 1 if flow.head + 1 < flow.queue.shape[0] else 0
        flow.waits[state] = 0
        flow.work += 1
        v = state >> 1
        distance = flow.distance[state]
        if distance >= best:
            continue
        if state & 1 == 0:
            if flow.after[v] == -1:
                _reach(flow, state + 1, distance + flow.prices[v], state, best)
            elif flow.before[v] >= 0:
                _reach(flow, 2 * flow.before[v] + 1, distance, state, best)
            continue
        if flow.partial and flow.is_later[v] == part and flow.after[v] != _LAST:
            best = distance
            found = v
        for i in range(flow.child_starts[v], flow.child_starts[v + 1]):
            c = flow.children[i]
            flow.work += 1
            if not flow.partial and flow.is_later[c] == part:
                if distance < best and flow.after[v] != _LAST:
                    best = distance
                    found = v
            elif flow.barred[c] != part and flow.after[v] != c and flow.weights[c] >= least:
                _reach(flow, 2 * c, distance, state, best)
        if flow.after[v] != -1:
            _reach(flow, state - 1, distance - flow.prices[v], state, best)
    return found if flow.work < end else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _listed(flow: Flow, part: cython.longlong, room: cython.longlong, is_beside: cython.bint) -> cython.longlong:
    """List the paths, each from its last start on; return what they charge, with ``is_beside`` beside an end of one."""
    twice: cython.longlong = 0
    once: cython.longlong = 0
    least: cython.longlong
    lightest: cython.longlong = room
    first: cython.longlong
    v: cython.longlong
    i: cython.Py_ssize_t
    e: cython.Py_ssize_t
    flow.count = 0
    flow.price = 0.0
    for i in range(flow.start_count):
        first = flow.starts[i]
        if flow.after[first] == -1 or flow.before[first] >= 0:
            continue
        v = first
        while v != _LAST:
            if flow.is_start[v] == part:
                first = v
            v = flow.after[v]
        least = flow.weights[first]
        v = first
        while v != _LAST:
            least = min(least, flow.weights[v])
            flow.price += flow.prices[v]
            flow.nodes[flow.count] = v
            if flow.after[v] == _LAST and flow.partial:
                flow.then[flow.count] = -1
            elif flow.after[v] == _LAST:
                e = flow.child_starts[v]
                while flow.is_later[flow.children[e]] != part:
                    e += 1
                flow.then[flow.count] = flow.children[e]
                lightest = min(lightest, flow.weights[flow.children[e]])
            else:
                flow.then[flow.count] = flow.after[v]
            flow.count += 1
            v = flow.after[v]
        if flow.given[first]:
            once += least
        else:
            twice += least
    if is_beside:
        room -= lightest
    return 2 * max(0, twice - room) + max(0, once - max(0, room - twice))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mark_common(flow: Flow, node: cython.longlong, most: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Mark as starts what all readers of a node need, of the nearest to each; return how many the last has."""
    head: cython.Py_ssize_t
    tail: cython.Py_ssize_t = 1
    i: cython.Py_ssize_t
    e: cython.Py_ssize_t
    w: cython.longlong
    first: cython.Py_ssize_t = flow.child_starts[node]
    for i in range(first, flow.child_starts[node + 1]):
        flow.stamp += 1
        flow.queue[0] = flow.children[i]
        head, tail = 0, 1
        while head < tail < most:
            for e in range(flow.parent_starts[flow.queue[head]], flow.parent_starts[flow.queue[head] + 1]):
                w = flow.parents[e]
                if flow.met[2 * w] != flow.stamp:
                    flow.met[2 * w] = flow.stamp
                    if i == first or flow.is_start[w] == flow.stamp - 1:
                        flow.is_start[w] = flow.stamp
                    flow.queue[tail] = w
                    tail += 1
            head += 1
        flow.work += tail
    return tail


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _listed_starts(flow: Flow, tail: cython.Py_ssize_t, least: cython.longlong) -> cython.longlong:
    """List the starts of a weight of ``least`` or more in the queue, but for barred ones; return their weight."""
    part: cython.longlong = flow.stamp
    weight: cython.longlong = 0
    i: cython.Py_ssize_t
    w: cython.longlong
    flow.start_count = 0
    for i in range(1, tail):
        w = flow.queue[i]
        if flow.is_start[w] == part and flow.barred[w] != part and flow.weights[w] >= least:
            flow.starts[flow.start_count] = w
            flow.start_count += 1
            weight += flow.weights[w]
    return weight


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _laid(
    flow: Flow, part: cython.longlong, least: cython.longlong, room: cython.longlong, is_beside: cython.bint
) -> cython.longlong:  # fmt: skip
    """Lay the paths from starts to later nodes that are worth most; return what they charge."""
    moved: cython.longlong
    v: cython.longlong = _find(flow, part, least, least)
    while v >= 0:
        if not lay(flow.back, flow.queue, flow.after, flow.before, v):
            break
        v = _find(flow, part, least, least)
    moved = _listed(flow, part, room, is_beside)
    forget(flow.starts, flow.start_count, flow.after, flow.before)
    return moved


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _before_readers(
    flow: Flow, node: cython.longlong, budget: cython.longlong, least: cython.longlong, most: cython.Py_ssize_t
) -> cython.longlong:
    """Find the paths that are worth most from what all readers of a node need to these and what needs them."""
    part: cython.longlong
    tail: cython.Py_ssize_t
    i: cython.Py_ssize_t
    weight: cython.longlong
    lightest: cython.longlong = budget
    flow.count = 0
    tail = _mark_common(flow, node, most)
    part = flow.stamp
    weight = _listed_starts(flow, tail, least)
    tail = walk(flow.queue, node, flow.child_starts, flow.children, flow.is_later, part, flow.weights, 0, most)
    flow.work += tail
    for i in range(1, tail):
        lightest = min(lightest, flow.weights[flow.queue[i]])
    if weight <= budget - lightest:
        return 0
    return _laid(flow, part, least, budget, True)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _past(
    flow: Flow, node: cython.longlong, budget: cython.longlong, least: cython.longlong, most: cython.Py_ssize_t
) -> cython.longlong:
    """Find the paths past a node that are worth most, through nodes of a weight of ``least`` or more."""
    room: cython.longlong = budget - flow.weights[node]
    part: cython.longlong
    tail: cython.Py_ssize_t
    i: cython.Py_ssize_t
    w: cython.longlong
    flow.stamp += 1
    part = flow.stamp
    flow.count = 0
    flow.barred[node] = part
    for i in range(flow.parent_starts[node], flow.parent_starts[node + 1]):
        if not flow.partial:  # operands are there together
            w = flow.parents[i]
            flow.barred[w] = part
            room -= flow.weights[w]
    tail = walk(flow.queue, node, flow.parent_starts, flow.parents, flow.is_start, part, flow.weights, 0, most)
    flow.work += tail
    if _listed_starts(flow, tail, least) <= room:
        return 0
    flow.work += walk(flow.queue, node, flow.child_starts, flow.children, flow.is_later, part, flow.weights, 0, most)
    flow.is_later[node] = part
    return _laid(flow, part, least, room, False)


def past(
    flow: Flow, node: cython.longlong, budget: cython.longlong, least: cython.longlong, most: cython.Py_ssize_t,
    is_common: cython.bint,
) -> int:  # fmt: skip
    """Find the paths past a node that charge most beyond the prices of their nodes; return what they charge.

    With ``is_common`` they end at what reads the node, and begin at what all its readers need. ``nodes`` and ``then``
    list them, ``count`` nodes of a ``price`` in all.
    """
    moved: cython.longlong
    with cython.nogil:
        if is_common:
            moved = _before_readers(flow, node, budget, least, most)
        else:
            moved = _past(flow, node, budget, least, most)
    return int(moved)
