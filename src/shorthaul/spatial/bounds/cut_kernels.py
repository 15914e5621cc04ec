"""Kernel that cuts a tree into parts of limited weight."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.core.compiled.queue_kernels import Heap


def fewest_cuts(
    starts: cython.const_int[::1], kids: cython.const_int[::1], weight: cython.const_int[::1], most: cython.longlong
) -> int:
    """Return the fewest edges without which no part of the tree weighs more than ``most``.

    Parents precede their children, of which vertex v has kids[starts[v]:starts[v + 1]]. From the leaves up, the
    heaviest parts below a vertex are cut off until the rest of them and it fit (Kundu and Misra, 1977).
    """
    part: cython.longlong[::1] = np.zeros(kids.shape[0], np.int64)
    heap = Heap()
    with cython.nogil:
        cuts = _cut(starts, kids, weight, most, part, heap)
    return int(cuts)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cut(
    starts: cython.const_int[::1],
    kids: cython.const_int[::1],
    weight: cython.const_int[::1],
    most: cython.longlong,
    part: cython.longlong[::1],
    heap: Heap,
) -> cython.longlong:
    cuts: cython.longlong = 0
    v: cython.Py_ssize_t
    j: cython.Py_ssize_t
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
    return cuts
