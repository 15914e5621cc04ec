"""Kernel that splits queries into batches."""

from __future__ import annotations

import cython


def split(
    first: cython.const_int[::1],
    second: cython.const_int[::1],
    most: cython.int,
    batch: cython.int[::1],
    load: cython.int[::1],
) -> None:
    """Find a batch per query, at first -1, so that no vertex is in more than ``most`` queries of one batch (greedy).

    ``load`` is of the vertices.
    """
    left: cython.Py_ssize_t = first.shape[0]
    turn: cython.int = 0
    with cython.nogil:
        while left > 0:
            for v in range(load.shape[0]):
                load[v] = 0
            for q in range(first.shape[0]):
                if batch[q] < 0 and load[first[q]] < most and load[second[q]] < most:
                    batch[q] = turn
                    load[first[q]] += 1
                    if second[q] != first[q]:
                        load[second[q]] += 1
                    left -= 1
            turn += 1
