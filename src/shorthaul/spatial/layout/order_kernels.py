"""Kernels of the centred order, of the shapes of subtrees, and of processors filled with several vertices in order."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.math import sqrt

Index = npt.NDArray[np.int32]

#: Vertices, at most, of a subtree with a shape, which takes two bits for each.
MOST_BELOW = cython.declare(cython.longlong, 31)


@cython.final
@cython.cclass
class Centring:
    """A tree whose parents precede their children, these sorted by size; and how its order is chosen.

    ``pairs`` is how many pairs of the lightest children a vertex stands between, ``before`` how many vertices that puts
    in front of it, within its subtree.
    """

    starts: cython.const_int[::1]
    kids: cython.const_int[::1]
    sizes: cython.const_int[::1]
    pairs: cython.int[::1]
    before: cython.int[::1]
    position: cython.int[::1]
    mirrored: cython.uchar[::1]

    def __init__(
        self, starts: cython.const_int[::1], kids: cython.const_int[::1], sizes: cython.const_int[::1]
    ) -> None:
        n = kids.shape[0]
        self.starts = starts
        self.kids = kids
        self.sizes = sizes
        self.pairs = np.zeros(n, np.int32)
        self.before = np.zeros(n, np.int32)
        self.position = np.zeros(n, np.int32)
        self.mirrored = np.zeros(n, np.uint8)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _length(centring: Centring, v: cython.Py_ssize_t, pairs: cython.longlong) -> cython.double:
    """Return what the edges of v take about, if so many pairs of children stand on both sides of it.

    Two places that are g apart on the curve are about sqrt(g) apart on the grid. ``before`` of v is set to the sum.
    """
    first: cython.Py_ssize_t = centring.starts[v]
    front: cython.longlong = 0
    behind: cython.longlong = 0
    total: cython.double = 0.0
    k: cython.Py_ssize_t
    for j in range(first, centring.starts[v + 1]):
        k = centring.kids[j]
        if j - first < 2 * pairs and (j - first) & 1 == 0:
            total += sqrt(front + centring.before[k] + 1)
            front += centring.sizes[k]
        else:
            total += sqrt(behind + centring.before[k] + 1)
            behind += centring.sizes[k]
    centring.before[v] = front
    return total + sqrt(cython.cast(cython.double, front))


def centred_positions(centring: Centring) -> Index:
    """Return the position of every vertex in the centred order.

    The pairs of every vertex are chosen, children first: none, or half of them, a quarter, ... Then every vertex gets
    its range, parents first, and in it its place; what lies before its parent is mirrored.
    """
    n: cython.Py_ssize_t = centring.kids.shape[0]
    pairs: cython.longlong
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    low: cython.longlong
    front: cython.longlong
    behind: cython.longlong
    at: cython.longlong
    with cython.nogil:
        for v in range(n - 1, -1, -1):
            pairs = (centring.starts[v + 1] - centring.starts[v]) >> 1
            best = _length(centring, v, 0)
            while pairs > 0:
                length = _length(centring, v, pairs)
                if length < best:
                    best = length
                    centring.pairs[v] = pairs
                pairs >>= 1
            _length(centring, v, centring.pairs[v])
        low = 0
        for j in range(centring.starts[n], centring.starts[n + 1]):
            centring.position[centring.kids[j]] = low
            low += centring.sizes[centring.kids[j]]
        for v in range(n):  # the position of v is still where its range begins
            low = centring.position[v]
            front = centring.before[v]
            behind = front + 1
            for j in range(centring.starts[v], centring.starts[v + 1]):
                k = centring.kids[j]
                centring.mirrored[k] = centring.mirrored[v]
                if j - centring.starts[v] < 2 * centring.pairs[v] and (j - centring.starts[v]) & 1 == 0:
                    front -= centring.sizes[k]
                    at = front
                    centring.mirrored[k] ^= 1
                else:
                    at = behind
                    behind += centring.sizes[k]
                if centring.mirrored[v]:
                    at = centring.sizes[v] - at - centring.sizes[k]
                centring.position[k] = low + at
            at = centring.before[v]
            if centring.mirrored[v]:
                at = centring.sizes[v] - 1 - at
            centring.position[v] = low + at
    return np.asarray(centring.position)


def shapes(parent: cython.const_int[::1], shape: cython.ulonglong[::1], size: cython.int[::1]) -> None:
    """Find shape and size of every subtree of 2 to 31 vertices below a parent, as at first 0 for the others.

    The shape is a bracket for every vertex, with its children's between the two.
    """
    one: cython.ulonglong = 1
    v: cython.Py_ssize_t
    p: cython.Py_ssize_t
    with cython.nogil:
        for v in range(parent.shape[0] - 1, -1, -1):
            # Until here ``size`` counts what is below v.
            p = parent[v]
            size[v] = min(size[v] + 1, MOST_BELOW + 1)
            if size[v] <= MOST_BELOW:
                shape[v] = one << (2 * size[v] - 1) | shape[v] << 1
            if p >= 0:
                if size[p] + size[v] <= MOST_BELOW:
                    shape[p] |= shape[v] << 2 * size[p]
                size[p] = min(size[p] + size[v], MOST_BELOW + 1)
        for v in range(parent.shape[0]):
            if parent[v] < 0 or size[v] == 1 or size[v] > MOST_BELOW:
                shape[v] = 0
                size[v] = 0


def fill(
    size: cython.const_int[::1],
    room: cython.longlong,
    most: cython.longlong,
    processors: cython.Py_ssize_t,
    back: cython.bint,
) -> tuple[npt.NDArray[np.int32], int]:
    """Put vertices of these sizes in turn on processors 0, 1, ...: the next one where the ``room`` or ``most`` ends.

    If one may go ``back``, a vertex for which the last one has too little left goes to the last that has enough.
    Returns the processor of every vertex and how many vertices have one: fewer than all if the processors end.
    """
    place: cython.int[::1] = np.zeros(size.shape[0], np.int32)
    count: cython.int[::1] = np.zeros(max(processors, 1), np.int32)
    leaves: cython.Py_ssize_t = 1 << max(processors - 1, 1).bit_length()
    # A tree over the processors before the last one: the most room below every node.
    left: cython.longlong[::1] = np.zeros(2 * leaves, np.int64)
    least: cython.longlong = np.asarray(size).min(initial=2**31 - 1) if back else room + 1
    last: cython.int = 0
    at: cython.int
    used: cython.longlong = 0
    v: cython.Py_ssize_t = 0
    with cython.nogil:
        while v < size.shape[0] and size[v] <= room:
            at = last
            if count[last] == most or used + size[v] > room:
                if left[1] >= size[v]:
                    at = _last_with(left, size[v])
                else:
                    if room - used >= least and count[last] < most:
                        _record(left, last, room - used)
                    last += 1
                    used = 0
                    at = last
            if at >= processors:
                break
            place[v] = at
            count[at] += 1
            if at == last:
                used += size[v]
            else:
                _record(left, at, 0 if count[at] == most else left[leaves + at] - size[v])
            v += 1
    return np.asarray(place), int(v)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _last_with(left: cython.longlong[::1], size: cython.longlong) -> cython.int:
    """Return the last processor that has so much room left; there is one."""
    node: cython.Py_ssize_t = 1
    while 2 * node < left.shape[0]:
        node = 2 * node + (left[2 * node + 1] >= size)
    return cython.cast(cython.int, node - (left.shape[0] >> 1))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _record(left: cython.longlong[::1], at: cython.Py_ssize_t, room: cython.longlong) -> cython.void:
    node: cython.Py_ssize_t = (left.shape[0] >> 1) + at
    left[node] = room
    while node > 1:
        node >>= 1
        left[node] = max(left[2 * node], left[2 * node + 1])
