"""Kernel that shares a tree's edges out among stars, so that these together need the most."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.shorthaul.core.compiled.queue_kernels import Heap

Sums = npt.NDArray[np.int64]
Flags = npt.NDArray[np.uint8]


def best_stars(
    starts: cython.const_int[::1], kids: cython.const_int[::1], sums: cython.const_longlong[::1]
) -> tuple[Sums, Flags]:
    """Return ``sums[k]`` of every vertex where these are largest together, and whether it has the edge above it.

    Each vertex has k of its edges, and every edge is that of one end. Parents precede their children, of which vertex v
    has kids[starts[v]:starts[v + 1]]; the roots are those of n. From the leaves up: what is best below a vertex, with
    and without the edge above it. Of the edges below, it takes those that their other ends need least.
    """
    n: cython.Py_ssize_t = kids.shape[0]
    best: cython.longlong[:, ::1] = np.zeros((2, n + 1), np.int64)
    few: cython.longlong[:, ::1] = np.zeros((2, n + 1), np.int64)
    own: cython.longlong[::1] = np.zeros(n, np.int64)
    above: cython.uchar[::1] = np.zeros(n, np.uint8)
    heap = Heap()
    v: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    taken: cython.Py_ssize_t
    total: cython.longlong
    with cython.nogil:
        for v in range(n - 1, -1, -1):
            total = 0
            for j in range(starts[v], starts[v + 1]):
                i = kids[j]
                total += best[1, i]
                heap.push(cython.cast(cython.double, best[1, i] - best[0, i]), i)
            taken = 0
            best[0, v] = total
            best[1, v] = total + sums[1]
            while heap.size > 0:
                i = heap.items[0]
                heap.pop()
                total += best[0, i] - best[1, i]
                taken += 1
                for j in range(2):
                    if total + sums[taken + j] > best[j, v]:
                        best[j, v] = total + sums[taken + j]
                        few[j, v] = taken
        for v in range(n):
            taken = few[above[v], v]
            own[v] = sums[taken + above[v]]
            for j in range(starts[v], starts[v + 1]):
                i = kids[j]
                above[i] = 1
                heap.push(cython.cast(cython.double, best[1, i] - best[0, i]), i)
            while heap.size > 0:
                if taken > 0:
                    above[heap.items[0]] = 0
                    taken -= 1
                heap.pop()
    return np.asarray(own), np.asarray(above)
