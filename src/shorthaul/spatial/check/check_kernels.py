"""Kernels of the checker: recounts and sequential twins of the tree algorithms, shared with no search."""

from __future__ import annotations

import cython
import numpy as np


def set_earlier(
    x: cython.const_int[::1],
    y: cython.const_int[::1],
    width: cython.Py_ssize_t,
    holder: cython.int[::1],
    earlier: cython.int[::1],
) -> None:
    """Find for every vertex the earlier one on the same processor, and for these the ``holder``; -1 for none."""
    with cython.nogil:
        for v in range(x.shape[0]):
            cell = y[v] * width + x[v]
            earlier[v] = holder[cell]
            if holder[cell] < 0:
                holder[cell] = v


@cython.final
@cython.cclass
class Log:
    """What messages between processors at (x, y) have cost so far.

    ``clock`` and ``far`` are the longest chains of messages, and of hops, that end at each processor; where they are
    empty, the messages make no chains, and ``longest`` is the longest way of one. ``loads`` of shape
    (height, width, 2, 2), or empty, takes the begin and end marks of the routes, east and south counted apart from west
    and north.
    """

    x: cython.const_int[::1]
    y: cython.const_int[::1]
    loads: cython.int[:, :, :, ::1]
    clock: cython.longlong[::1]
    far: cython.longlong[::1]
    energy = cython.declare(cython.longlong, visibility="readonly")
    longest = cython.declare(cython.longlong, visibility="readonly")

    def __init__(
        self,
        x: cython.const_int[::1],
        y: cython.const_int[::1],
        loads: cython.int[:, :, :, ::1],
        clock: cython.longlong[::1],
        far: cython.longlong[::1],
    ) -> None:
        self.x = x
        self.y = y
        self.loads = loads
        self.clock = clock
        self.far = far
        self.energy = 0
        self.longest = 0


def tally(
    log: Log,
    sender: cython.const_int[::1],
    receiver: cython.const_int[::1],
    words: cython.int,
    when: cython.longlong[::1],
    travelled: cython.longlong[::1],
) -> None:
    """Replay one round of messages of so many words from processor to processor, all sent before any arrives.

    Their routes lead along the sender's row, then along the receiver's column. ``when`` and ``travelled`` are of the
    messages, or empty where these make no chains.
    """
    way: cython.int
    is_marked: cython.bint = log.loads.shape[0] > 0
    with cython.nogil:
        for i in range(sender.shape[0]):
            a = log.x[sender[i]]
            b = log.x[receiver[i]]
            c = log.y[sender[i]]
            d = log.y[receiver[i]]
            hops = abs(a - b) + abs(c - d)
            log.energy += hops * words
            log.longest = max(log.longest, hops)
            if when.shape[0] > 0:
                when[i] = log.clock[sender[i]] + 1
                travelled[i] = log.far[sender[i]] + hops
            if is_marked and a != b:
                way = 0 if b > a else 1
                log.loads[c, min(a, b), 0, way] += words
                log.loads[c, max(a, b), 0, way] -= words
            if is_marked and c != d:
                way = 0 if d > c else 1
                log.loads[min(c, d), b, 1, way] += words
                log.loads[max(c, d), b, 1, way] -= words
        for i in range(when.shape[0]):
            b = receiver[i]
            log.clock[b] = max(log.clock[b], when[i])
            log.far[b] = max(log.far[b], travelled[i])


def largest_load(loads: cython.const_int[:, :, :, ::1]) -> int:
    """Return the largest load that the marks of ``tally`` stand for."""
    way: cython.Py_ssize_t
    run: cython.int
    with cython.nogil:
        most: cython.int = 0
        for way in range(2):
            for row in range(loads.shape[0]):
                run = 0
                for column in range(loads.shape[1]):
                    run += loads[row, column, 0, way]
                    most = max(most, run)
            for column in range(loads.shape[1]):
                run = 0
                for row in range(loads.shape[0]):
                    run += loads[row, column, 1, way]
                    most = max(most, run)
    return int(most)


def lowest_common_ancestors(
    parent: cython.const_int[::1],
    parents_first: cython.const_int[::1],
    first: cython.const_int[::1],
    second: cython.const_int[::1],
    answer: cython.int[::1],
) -> None:
    """Find the lowest common ancestor of every pair, -1 where they are in different trees: climbs heavy

    Of two heads of paths, the one with the smaller subtree is not above the other.
    """
    n: cython.Py_ssize_t = parent.shape[0]
    size: cython.int[::1] = np.ones(n, np.int32)
    heavy: cython.int[::1] = np.full(n, -1, np.int32)
    head: cython.int[::1] = np.empty(n, np.int32)  # the vertex that a vertex' heavy path begins with
    p: cython.Py_ssize_t
    u: cython.Py_ssize_t
    v: cython.Py_ssize_t
    with cython.nogil:
        for i in range(n - 1, -1, -1):
            v = parents_first[i] if parents_first.shape[0] > 0 else i
            p = parent[v]
            if p >= 0:
                size[p] += size[v]
                if heavy[p] < 0 or size[v] > size[heavy[p]]:
                    heavy[p] = v
        for i in range(n):
            v = parents_first[i] if parents_first.shape[0] > 0 else i
            p = parent[v]
            head[v] = head[p] if p >= 0 and heavy[p] == v else v
        for i in range(first.shape[0]):
            u = first[i]
            v = second[i]
            while u >= 0 and v >= 0 and head[u] != head[v]:
                if size[head[u]] > size[head[v]]:
                    v = parent[head[v]]
                else:
                    u = parent[head[u]]
            answer[i] = -1 if u < 0 or v < 0 else u if size[u] > size[v] else v
