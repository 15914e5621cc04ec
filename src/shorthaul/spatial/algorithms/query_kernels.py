"""Kernels over batches of queries: splitting them, and packing balls around their ends."""

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


@cython.final
@cython.cclass
class Packing:
    """Chosen centres: ``kept`` holds up to two in every square of side ``apart``, -1 where there is none."""

    x: cython.const_int[::1]
    y: cython.const_int[::1]
    apart: cython.Py_ssize_t
    kept: cython.int[:, :, ::1]

    def __init__(
        self,
        x: cython.const_int[::1],
        y: cython.const_int[::1],
        apart: cython.Py_ssize_t,
        kept: cython.int[:, :, ::1],
    ) -> None:
        self.x = x
        self.y = y
        self.apart = apart
        self.kept = kept


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_crowded(packing: Packing, center: cython.Py_ssize_t) -> cython.bint:
    """True if a kept centre lies too close to this one, or its square has no room left."""
    column: cython.Py_ssize_t = packing.x[center] // packing.apart
    row: cython.Py_ssize_t = packing.y[center] // packing.apart
    k: cython.Py_ssize_t
    other: cython.Py_ssize_t
    if packing.kept[row, column, 1] >= 0:
        return True
    for j in range(max(row - 1, 0), min(row + 2, packing.kept.shape[0])):
        for i in range(max(column - 1, 0), min(column + 2, packing.kept.shape[1])):
            for k in range(2):
                other = packing.kept[j, i, k]
                if other < 0:
                    break
                if (
                    abs(packing.x[center] - packing.x[other]) + abs(packing.y[center] - packing.y[other])
                    < packing.apart
                ):
                    return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _keep(packing: Packing, center: cython.Py_ssize_t) -> cython.void:
    row: cython.Py_ssize_t = packing.y[center] // packing.apart
    column: cython.Py_ssize_t = packing.x[center] // packing.apart
    packing.kept[row, column, 1 if packing.kept[row, column, 0] >= 0 else 0] = center


def packed_queries(
    packing: Packing,
    first: cython.const_int[::1],
    second: cython.const_int[::1],
    reach: cython.const_int[::1],
    radius: cython.longlong,
) -> int:
    """Return how many queries of ``reach`` at least ``radius`` a greedy choice keeps ``apart``.

    Every end of a chosen query is that far from every end of another.
    """
    with cython.nogil:
        count = _pack(packing, first, second, reach, radius)
    return int(count)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pack(
    packing: Packing,
    first: cython.const_int[::1],
    second: cython.const_int[::1],
    reach: cython.const_int[::1],
    radius: cython.longlong,
) -> cython.longlong:
    count: cython.longlong = 0
    for q in range(first.shape[0]):
        if reach[q] < radius or _is_crowded(packing, first[q]) or _is_crowded(packing, second[q]):
            continue
        _keep(packing, first[q])
        _keep(packing, second[q])
        count += 1
    return count
