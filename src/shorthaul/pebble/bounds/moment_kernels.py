"""Compiled loops of :mod:`moments`: what is certainly read between the first nodes of two levels."""

from __future__ import annotations

import cython
import numpy as np


@cython.final
@cython.cclass
class Levels:
    """A graph whose nodes are numbered level by level, and the tables that its nodes fill one by one.

    ``known[w]`` is the first level all of whose nodes need w, the number of levels if there is none. ``least[d, e]`` is
    the least that is moved beyond first loads and outputs between the first nodes of the levels d < e.
    """

    weights: cython.const_longlong[::1]
    parent_starts: cython.const_longlong[::1]
    parents: cython.const_longlong[::1]
    child_starts: cython.const_longlong[::1]
    children: cython.const_longlong[::1]
    level: cython.const_longlong[::1]
    sizes: cython.const_longlong[::1]
    rooms: cython.const_longlong[::1]  # of each level: what its first node leaves
    last_read: cython.const_longlong[::1]  # the deepest level that reads each value; -1 if its store does not count
    counts: cython.const_uchar[::1]  # which values' loads count
    known: cython.longlong[::1]
    least = cython.declare(cython.longlong[:, ::1], visibility="readonly")
    mark: cython.longlong[::1]
    read: cython.longlong[::1]  # by which node's ancestors a value was met as read
    loaded: cython.longlong[::1]  # differences, level by level, of the weights read
    stored: cython.longlong[::1]
    next: cython.Py_ssize_t
    work = cython.declare(cython.longlong, visibility="readonly")

    def __init__(
        self,
        weights: cython.const_longlong[::1],
        parent_starts: cython.const_longlong[::1],
        parents: cython.const_longlong[::1],
        child_starts: cython.const_longlong[::1],
        children: cython.const_longlong[::1],
        level: cython.const_longlong[::1],
        sizes: cython.const_longlong[::1],
        rooms: cython.const_longlong[::1],
        last_read: cython.const_longlong[::1],
        counts: cython.const_uchar[::1],
    ) -> None:
        n = weights.shape[0]
        self.weights = weights
        self.parent_starts = parent_starts
        self.parents = parents
        self.child_starts = child_starts
        self.children = children
        self.level = level
        self.sizes = sizes
        self.rooms = rooms
        self.last_read = last_read
        self.counts = counts
        self.known = np.empty(n, np.int64)
        self.least = np.full((sizes.shape[0], sizes.shape[0]), 1 << 60, np.int64)
        self.mark = np.full(n, -1, np.int64)
        self.read = np.full(n, -1, np.int64)
        self.loaded = np.zeros(sizes.shape[0] + 1, np.int64)
        self.stored = np.zeros(sizes.shape[0] + 1, np.int64)
        self.next = 0
        self.work = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _know(levels: Levels, value: cython.longlong) -> cython.void:
    """Find the first level all of whose nodes need a value."""
    n: cython.longlong = levels.weights.shape[0]
    met: cython.longlong = 0
    waiting: cython.longlong = 1
    here: cython.longlong = levels.level[value]
    v: cython.longlong = value
    e: cython.Py_ssize_t
    levels.known[value] = levels.sizes.shape[0]
    levels.mark[value] = value
    for v in range(value, n):
        if waiting == 0:
            break
        if levels.level[v] != here:
            here = levels.level[v]
            met = 0
        if levels.mark[v] != value:
            continue
        waiting -= 1
        met += v != value
        if met == levels.sizes[here]:
            levels.known[value] = here
            break
        for e in range(levels.child_starts[v], levels.child_starts[v + 1]):
            if levels.mark[levels.children[e]] != value:
                levels.mark[levels.children[e]] = value
                waiting += 1
        levels.work += levels.child_starts[v + 1] - levels.child_starts[v]
    levels.work += v - value + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _look_back(levels: Levels, node: cython.longlong) -> cython.void:
    """Lower the least of what is moved before ``node`` if it is the first of its level.

    What its ancestors below a level read, and what all nodes of that level need, is there after that level's first node
    or loaded before this one. A value is met at its deepest reader first.
    """
    own: cython.longlong = levels.level[node]
    waiting: cython.longlong = 1
    v: cython.longlong = node
    e: cython.Py_ssize_t
    levels.mark[node] = -2 - node
    for v in range(node, -1, -1):
        if waiting == 0:
            break
        if levels.mark[v] != -2 - node:
            continue
        waiting -= 1
        deep = levels.level[v]
        for e in range(levels.parent_starts[v], levels.parent_starts[v + 1]):
            w = levels.parents[e]
            if levels.read[w] != node:
                levels.read[w] = node
                if levels.mark[w] != -2 - node:
                    levels.mark[w] = -2 - node
                    waiting += 1
                if levels.counts[w] and levels.known[w] < deep:
                    levels.loaded[levels.known[w]] += levels.weights[w]
                    levels.loaded[deep] -= levels.weights[w]
                    if 0 <= levels.last_read[w] <= own:
                        levels.stored[levels.known[w]] += levels.weights[w]
                        levels.stored[deep] -= levels.weights[w]
        levels.work += levels.parent_starts[v + 1] - levels.parent_starts[v]
    levels.work += node - v + own
    _lower(levels, own)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lower(levels: Levels, own: cython.longlong) -> cython.void:
    """Lower the entries of a level by what is read and stored, and forget that.

    The room holds values first whose store and load it saves, then those whose load alone.
    """
    loaded: cython.longlong = 0
    stored: cython.longlong = 0
    for d in range(own):
        loaded += levels.loaded[d]
        stored += levels.stored[d]
        levels.loaded[d] = 0
        levels.stored[d] = 0
        room = levels.rooms[d]
        moved = max(loaded - room, loaded + stored - 2 * room)
        if moved < 0:
            moved = 0
        levels.least[d, own] = min(levels.least[d, own], moved)
    levels.loaded[own] = 0
    levels.stored[own] = 0


def advance(levels: Levels, work: cython.longlong) -> bool:
    """Look at further nodes, so many steps; True when all were looked at, forwards and then backwards."""
    n: cython.longlong = levels.weights.shape[0]
    work += levels.work
    with cython.nogil:
        while levels.next < 2 * n and levels.work < work:
            if levels.next < n:
                _know(levels, levels.next)
            else:
                _look_back(levels, levels.next - n)
            levels.next += 1
            levels.work += 1
    return bool(levels.next == 2 * n)
