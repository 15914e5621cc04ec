"""Kernel that tells the reaches and weights of parts of a tree which outgrow the cells in their reach."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.shorthaul.spatial.bounds.volume_kernels import Volume, is_larger, overlapping, weigh_all

Levels = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]
Flags = npt.NDArray[np.uint8]


def reaches_of_volume(
    parent: cython.const_int[::1],
    room: cython.const_longlong[::1],
    star: cython.const_longlong[::1],
    above: cython.const_uchar[::1],
    each: cython.longlong,
    fan: cython.const_longlong[::1],
    widest: cython.longlong,
) -> tuple[Levels, Weights, Flags]:
    """Return the reaches and weights behind :func:`gains_of_volume`, -1 for those in no part, and what is irregular.

    The regular reach is one less than the parent's, at most the levels below, and none where the parent has none or 0:
    0 of those that have it, 2 of the tops of parts, 1 of others. Takes some 4,000 bytes for each vertex weighed.
    """
    first = Volume(parent, room, star, above, each, fan, widest)
    with cython.nogil:
        weigh_all(first)
    volume = Volume(parent, room, star, above, each, fan, widest, first.weighed)
    reach: cython.longlong[::1] = np.full(parent.shape[0], -1, np.int64)
    weight: cython.double[::1] = np.zeros(parent.shape[0])
    irregular: cython.uchar[::1] = np.zeros(parent.shape[0], np.uint8)
    column: cython.longlong[::1] = np.zeros(parent.shape[0], np.int64)  # of the load below a vertex
    v: cython.Py_ssize_t
    w: cython.Py_ssize_t
    up: cython.Py_ssize_t
    load: cython.Py_ssize_t
    step: cython.longlong
    regular: cython.longlong
    with cython.nogil:
        weigh_all(volume)
        for v in range(parent.shape[0]):  # what was chosen, from the roots down
            up = parent[v]
            w = volume.row[v]
            load = volume.most + 1
            regular = -1
            if up >= 0 and reach[up] >= 0:
                if reach[up] > 0:
                    regular = min(reach[up] - 1, volume.below[v])
                step = 1 if w < 0 else _step(volume, v, up, reach[up], column[up])
                reach[v] = -1 if step == 0 else regular if step == 1 else reach[up] + step - 2
                if reach[v] >= 0:
                    load = column[up]
            irregular[v] = reach[v] != regular
            if reach[v] < 0 and w >= 0 and volume.ball[v] > 0:
                reach[v] = volume.ball[v] - 1
                irregular[v] = 2
            column[v] = load
            if reach[v] >= 0 and w >= 0:
                column[v] = volume.chosen[w, reach[v], load]
                weight[v] = volume.load[column[v]] - volume.load[load]
    return np.asarray(reach), np.asarray(weight), np.asarray(irregular)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _step(
    volume: Volume, v: cython.Py_ssize_t, above: cython.Py_ssize_t, a: cython.longlong, i: cython.Py_ssize_t
) -> cython.longlong:
    """Return what becomes of v below a parent of reach a and the load of column i: 0 where it is left out.

    With 1, 2 and 3 its reach is smaller than the parent's, the same and larger: what is best, as :func:`_add_reach`
    has it.
    """
    w: cython.longlong = volume.row[v]
    levels: cython.longlong = volume.below[v]
    best: cython.double = volume.alone[v]
    found: cython.double
    same: cython.longlong
    step: cython.longlong = 0
    if a > 0:
        found = volume.kept[w, min(a - 1, levels), i]
        if found > best:
            best = found
            step = 1
    if 0 < a <= levels:
        same = 4 * a if i < a and overlapping(volume, above, a) > 0 else 2 * a + 1
        found = volume.kept[w, a, i] - volume.load[i] * cython.cast(cython.double, same)
        if found > best:
            best = found
            step = 2
    if i >= a and is_larger(volume, above, a, levels):
        found = volume.kept[w, a + 1, i] - volume.load[i] * cython.cast(cython.double, 4 * (a + 1))
        if found > best:
            step = 3
    return step
