"""Compiled loops of :mod:`moments`: what is certainly read between the first nodes of two levels."""

from __future__ import annotations

import cython
import numpy as np


@cython.final
@cython.cclass
class Levels:
    """A graph whose nodes are numbered level by level, some levels of it, and the tables that their nodes fill.

    ``chosen`` are levels, the first ones first, ``later[d]`` how many of them are below level d. ``known[w]`` is the
    place of the first chosen level all of whose nodes need w, their number if there is none yet. ``least[i, j]`` is the
    least that is moved beyond first loads and outputs between the first nodes of the chosen levels i < j, once ``done``
    is past j.
    """

    weights: cython.const_longlong[::1]
    parent_starts: cython.const_longlong[::1]
    parents: cython.const_longlong[::1]
    level: cython.const_longlong[::1]
    starts: cython.const_longlong[::1]  # of each level: its first node
    chosen: cython.const_longlong[::1]
    later: cython.const_longlong[::1]
    rooms: cython.const_longlong[::1]  # of each level: what its first node leaves
    last_read: cython.const_longlong[::1]  # the deepest level that reads each value; -1 if its store does not count
    counts: cython.const_uchar[::1]  # which values' loads count
    known: cython.longlong[::1]
    hits: cython.longlong[::1]  # how many nodes of a level need each value, and which level
    hit_by: cython.longlong[::1]
    least = cython.declare(cython.longlong[:, ::1], visibility="readonly")
    read: cython.longlong[::1]  # by which node's ancestors a value was met as read
    loaded: cython.longlong[::1]  # differences, chosen level by chosen level, of the weights read
    stored: cython.longlong[::1]
    next: cython.Py_ssize_t
    done = cython.declare(cython.Py_ssize_t, visibility="readonly")
    work = cython.declare(cython.longlong, visibility="readonly")

    def __init__(
        self,
        weights: cython.const_longlong[::1],
        parent_starts: cython.const_longlong[::1],
        parents: cython.const_longlong[::1],
        level: cython.const_longlong[::1],
        starts: cython.const_longlong[::1],
        chosen: cython.const_longlong[::1],
        later: cython.const_longlong[::1],
        rooms: cython.const_longlong[::1],
        last_read: cython.const_longlong[::1],
        counts: cython.const_uchar[::1],
    ) -> None:
        n = weights.shape[0]
        count = chosen.shape[0]
        self.weights = weights
        self.parent_starts = parent_starts
        self.parents = parents
        self.level = level
        self.starts = starts
        self.chosen = chosen
        self.later = later
        self.rooms = rooms
        self.last_read = last_read
        self.counts = counts
        self.known = np.full(n, count, np.int64)
        self.hits = np.zeros(n, np.int64)
        self.hit_by = np.full(n, -1, np.int64)
        self.least = np.full((count, count), 1 << 60, np.int64)
        self.read = np.full(n, -1, np.int64)
        self.loaded = np.zeros(count + 1, np.int64)
        self.stored = np.zeros(count + 1, np.int64)
        self.done = 0
        self.next = starts[chosen[0]]
        self.work = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _look_back(levels: Levels, node: cython.longlong) -> cython.void:
    """Lower the least of what is moved before ``node`` if it is the first of its level, and count what it needs.

    What its ancestors below a level read, and what all nodes of that level need, is there after that level's first node
    or loaded before this one. A value is met at its deepest reader first.
    """
    own: cython.longlong = levels.level[node]
    size: cython.longlong = levels.starts[own + 1] - levels.starts[own]
    waiting: cython.longlong = 1
    v: cython.longlong = node
    e: cython.Py_ssize_t
    levels.read[node] = node
    for v in range(node, -1, -1):
        if waiting == 0:
            break
        if levels.read[v] != node:
            continue
        waiting -= 1
        deep = levels.later[levels.level[v]]
        for e in range(levels.parent_starts[v], levels.parent_starts[v + 1]):
            w = levels.parents[e]
            if levels.read[w] == node:
                continue
            levels.read[w] = node
            waiting += 1
            if levels.known[w] < deep:
                if levels.counts[w]:
                    levels.loaded[levels.known[w]] += levels.weights[w]
                    levels.loaded[deep] -= levels.weights[w]
                    if 0 <= levels.last_read[w] <= own:
                        levels.stored[levels.known[w]] += levels.weights[w]
                        levels.stored[deep] -= levels.weights[w]
            elif levels.known[w] == levels.chosen.shape[0]:
                if levels.hit_by[w] != own:
                    levels.hit_by[w] = own
                    levels.hits[w] = 0
                levels.hits[w] += 1
                if levels.hits[w] == size:
                    levels.known[w] = levels.done
        levels.work += levels.parent_starts[v + 1] - levels.parent_starts[v]
    levels.work += node - v + levels.done
    _lower(levels)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lower(levels: Levels) -> cython.void:
    """Lower the entries of the level looked at by what is read and stored, and forget that.

    The room holds values first whose store and load it saves, then those whose load alone.
    """
    loaded: cython.longlong = 0
    stored: cython.longlong = 0
    at: cython.Py_ssize_t = levels.done
    for i in range(at):
        loaded += levels.loaded[i]
        stored += levels.stored[i]
        levels.loaded[i] = 0
        levels.stored[i] = 0
        room = levels.rooms[levels.chosen[i]]
        moved = max(loaded - room, loaded + stored - 2 * room)
        if moved < 0:
            moved = 0
        levels.least[i, at] = min(levels.least[i, at], moved)
    levels.loaded[at] = 0
    levels.stored[at] = 0


def advance(levels: Levels, work: cython.longlong) -> bool:
    """Look back from further nodes of the chosen levels, so many steps; True when all were looked at."""
    work += levels.work
    with cython.nogil:
        while levels.done < levels.chosen.shape[0] and levels.work < work:
            _look_back(levels, levels.next)
            levels.next += 1
            levels.work += 1
            if levels.next == levels.starts[levels.chosen[levels.done] + 1]:
                levels.done += 1
                if levels.done < levels.chosen.shape[0]:
                    levels.next = levels.starts[levels.chosen[levels.done]]
    return bool(levels.done == levels.chosen.shape[0])
