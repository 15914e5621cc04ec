"""Compiled loops of :mod:`part_kernels`: disjoint paths from nodes that others all need to those others."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.pebble.bounds.crossings.laid_kernels import lay

_LAST = cython.declare(cython.longlong, -2)  # what follows the last node of a path
_MOST = cython.declare(cython.longlong, 20_000_000)  # work after which a part is left as it is


@cython.final
@cython.cclass
class Paths:
    """A graph, the nodes of it that no part has taken, and the paths of the part that is looked at.

    ``key`` grows along every edge. ``taken`` (shape (4, n)) says by node the part that took it, -1 for none, and what
    follows it; and by part the node that its paths go around, -1 for none, and what it comes to.
    """

    def __init__(
        self, weights: cython.const_longlong[::1], given: cython.const_uchar[::1],
        parent_starts: cython.const_longlong[::1], parents: cython.const_longlong[::1],
        child_starts: cython.const_longlong[::1], children: cython.const_longlong[::1],
        key: cython.const_longlong[::1], taken: cython.longlong[:, ::1], partial: cython.bint,
    ) -> None:  # fmt: skip
        n = weights.shape[0]
        self.weights = weights
        self.given = given
        self.parent_starts = parent_starts
        self.parents = parents
        self.child_starts = child_starts
        self.children = children
        self.key = key
        self.taken = taken
        self.partial = partial
        self.part_count = 0
        self.starts = np.empty(n, np.int64)
        self.start_count = 0
        self.is_start = np.zeros(n, np.int64)
        self.is_later = np.zeros(n, np.int64)
        self.barred = np.zeros(n, np.int64)
        self.counted = np.zeros(n, np.int64)
        self.hits = np.zeros(n, np.int64)
        self.after = np.full(n, -1, np.int64)
        self.before = np.full(n, -1, np.int64)
        self.met = np.zeros(2 * n, np.int64)
        self.back = np.empty(2 * n, np.int64)
        self.hops = np.empty(2 * n, np.int64)
        self.queue = np.empty(2 * n, np.int64)
        self.seen = np.zeros(n, np.int64)
        self.ends = np.empty(n, np.int64)
        self.first = np.full(n, -1, np.int64)
        self.needs = np.empty(n, np.uint64)
        self.names = np.random.default_rng(0).integers(2**20, 2**48, n)
        self.tried = np.zeros(n, np.int64)
        self.frontier = np.empty(n, np.int64)
        self.frontier_count = 0
        self.stamp = self.next = self.passes = 0
        self.work = self.excess = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _push(paths: Paths, tail: cython.Py_ssize_t, state: cython.longlong, back: cython.longlong) -> cython.Py_ssize_t:
    """Note how a state is reached first; return where the queue ends then."""
    if paths.met[state] == paths.stamp:
        return tail
    paths.met[state] = paths.stamp
    paths.back[state] = back
    paths.hops[state] = 0 if back < 0 else paths.hops[back] + (back & 1)
    paths.queue[tail] = state
    return tail + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _reach(paths: Paths, part: cython.longlong, longest: cython.longlong) -> cython.Py_ssize_t:
    """List in ``ends`` the nodes from which further paths go on to later nodes, the nearest first; return how many."""
    head: cython.Py_ssize_t = 0
    tail: cython.Py_ssize_t = 0
    count: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    v: cython.longlong
    c: cython.longlong
    state: cython.longlong
    is_end: cython.bint
    paths.stamp += 1
    for i in range(paths.start_count):
        v = paths.starts[i]
        if paths.after[v] == -1 or paths.before[v] >= 0:
            tail = _push(paths, tail, 2 * v, -1)
    while head < tail:
        state = paths.queue[head]
        head += 1
        v = state >> 1
        if state & 1 == 0:
            if paths.after[v] == -1:
                tail = _push(paths, tail, state + 1, state)
            elif paths.before[v] >= 0:
                tail = _push(paths, tail, 2 * paths.before[v] + 1, state)
            continue
        is_end = paths.partial and paths.is_later[v] == part and paths.after[v] != _LAST
        if not is_end and paths.hops[state] < longest:
            for i in range(paths.child_starts[v], paths.child_starts[v + 1]):
                c = paths.children[i]
                if not paths.partial and paths.is_later[c] == part:
                    is_end = True
                    break
                if paths.taken[0, c] < 0 and paths.barred[c] != part and paths.after[v] != c:
                    tail = _push(paths, tail, 2 * c, state)
            if not is_end and paths.after[v] != -1:
                tail = _push(paths, tail, state - 1, state)
        if is_end:
            paths.ends[count] = v
            count += 1
    paths.work += tail
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lay_all(paths: Paths, part: cython.longlong, longest: cython.longlong) -> cython.void:
    """Lay as many disjoint paths as there are from starts to later nodes, those of one node first.

    Of the ways found in one look those are laid together that have no state in common: what one changes, no other sees.
    """
    count: cython.Py_ssize_t
    i: cython.Py_ssize_t
    state: cython.longlong
    end: cython.longlong = paths.work + _MOST
    while paths.work < end:
        count = _reach(paths, part, longest)
        if count == 0:
            break
        for i in range(count):
            state = 2 * paths.ends[i] + 1
            while state >= 0 and paths.met[state] == paths.stamp:
                state = paths.back[state]
                paths.work += 4
            if state >= 0:
                continue
            state = 2 * paths.ends[i] + 1
            while state >= 0:
                paths.met[state] = 0
                state = paths.back[state]
            lay(paths.back, paths.queue, paths.after, paths.before, paths.ends[i])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _take(paths: Paths, part: cython.longlong, first: cython.longlong) -> cython.void:
    """Take the nodes of a path from its last start on."""
    v: cython.longlong = first
    last: cython.longlong = first
    i: cython.Py_ssize_t
    while v != _LAST:
        paths.taken[0, v] = paths.part_count
        last = v
        v = paths.after[v]
        paths.taken[1, last] = v
    if paths.partial:
        paths.taken[1, last] = -1
        return
    i = paths.child_starts[last]
    while paths.is_later[paths.children[i]] != part:
        i += 1
    paths.taken[1, last] = paths.children[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def settled(
    paths: Paths, part: cython.longlong, node: cython.longlong, room: cython.longlong, price: cython.double,
    longest: cython.longlong,
) -> cython.longlong:  # fmt: skip
    """Return what a part comes to, and take its nodes if that is worth their price; 0 if it is not."""
    twice: cython.longlong = 0
    once: cython.longlong = 0
    nodes: cython.longlong = 0
    least: cython.longlong
    found: cython.longlong
    v: cython.longlong
    first: cython.longlong
    taking: cython.longlong
    i: cython.Py_ssize_t
    _lay_all(paths, part, longest)
    found = 0
    for taking in range(2):
        for i in range(paths.start_count):
            first = paths.starts[i]
            if paths.after[first] == -1 or paths.before[first] >= 0:
                continue
            v = first
            while v != _LAST:
                if paths.is_start[v] == part:
                    first = v
                v = paths.after[v]
            if taking:
                _take(paths, part, first)
                continue
            least = paths.weights[first]
            v = first
            while v != _LAST:
                least = min(least, paths.weights[v])
                nodes += 1
                v = paths.after[v]
            if paths.given[first]:
                once += least
            else:
                twice += least
        if taking == 0:
            found = 2 * max(0, twice - room) + max(0, once - max(0, room - twice))
            if found == 0 or found < price * nodes:
                return 0
    paths.taken[2, paths.part_count] = node
    paths.taken[3, paths.part_count] = found
    paths.part_count += 1
    return found
