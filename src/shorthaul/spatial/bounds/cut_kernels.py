"""Kernel that cuts a tree into parts of limited weight."""

from __future__ import annotations

import cython
from cython.cimports.shorthaul.core.compiled.queue_kernels import Heap


def fewest_cuts(
    starts: cython.const_int[::1],
    kids: cython.const_int[::1],
    weight: cython.const_int[::1],
    most: cython.longlong,
    part: cython.longlong[::1],
) -> int:
    """Return the fewest edges without which no part of the tree weighs more than ``most``.

    Parents precede their children, of which vertex v has kids[starts[v]:starts[v + 1]]. From the leaves up, the
    heaviest parts below a vertex are cut off until the rest of them and it fit (Kundu and Misra, 1977).
    ``part`` becomes what the part of every vertex weighs.
    """
    cuts: cython.longlong = 0
    v: cython.Py_ssize_t
    j: cython.Py_ssize_t
    heap = Heap()
    with cython.nogil:
        for v in range(kids.shape[0] - 1, -1, -1):
            part[v] = weight[v]
            for j in range(starts[v], starts[v + 1]):
                part[v] += part[kids[j]]
            if part[v] > most:
                for j in range(starts[v], starts[v + 1]):
                    heap.push(-cython.cast(cython.double, part[kids[j]]), kids[j])
                while part[v] > most and heap.size > 0:
                    part[v] -= part[heap.items[0]]
                    heap.pop()
                    cuts += 1
                heap.size = 0
    return int(cuts)
