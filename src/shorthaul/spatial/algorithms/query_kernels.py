"""Kernel that splits queries into batches."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt

Index = npt.NDArray[np.int32]


def batches(
    first: cython.const_int[::1], second: cython.const_int[::1], n: cython.Py_ssize_t, most: cython.int
) -> Index:
    """Return a batch number per query so that no vertex is in more than ``most`` queries of one batch (greedy)."""
    batch: cython.int[::1] = np.full(first.shape[0], -1, np.int32)
    load: cython.int[::1] = np.empty(n, np.int32)
    with cython.nogil:
        _split(first, second, most, batch, load)
    return np.asarray(batch)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _split(
    first: cython.const_int[::1],
    second: cython.const_int[::1],
    most: cython.int,
    batch: cython.int[::1],
    load: cython.int[::1],
) -> cython.void:
    left: cython.Py_ssize_t = first.shape[0]
    turn: cython.int = 0
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
