"""Kernels of layouts with several vertices per processor: filling processors in turn, and annealing."""

from __future__ import annotations

from typing import Any

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.shorthaul.core.compiled.random_kernels import Random

#: What a move costs in reads of the refinement in tiles, and each neighbour that it looks at: these are further apart.
MOVE = cython.declare(cython.longlong, 36)
LOOK = cython.declare(cython.longlong, 3)
#: So many vertices on a full processor are looked at for the one to change places with: all by default on wafers of up
#: to four each. On 162,500 vertices that is 0.7 to 5 % fewer hops than a random one.
MOST_PARTNERS = cython.declare(cython.longlong, 4)


def fill(
    size: cython.const_int[::1], room: cython.longlong, most: cython.longlong, processors: cython.Py_ssize_t
) -> tuple[npt.NDArray[np.int32], int]:
    """Put vertices of these sizes in turn on processors 0, 1, ...: the next one where the ``room`` or ``most`` ends.

    Returns the processor of every vertex and how many vertices have one: fewer than all if the processors end.
    """
    place: cython.int[::1] = np.zeros(size.shape[0], np.int32)
    with cython.nogil:
        placed = _fill(size, room, most, processors, place)
    return np.asarray(place), int(placed)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill(
    size: cython.const_int[::1],
    room: cython.longlong,
    most: cython.longlong,
    processors: cython.longlong,
    place: cython.int[::1],
) -> cython.longlong:
    at: cython.int = 0
    count: cython.longlong = 0
    used: cython.longlong = 0
    for v in range(size.shape[0]):
        if count == most or used + size[v] > room:
            at += 1
            count = 0
            used = 0
        if at >= processors or size[v] > room:
            return v
        place[v] = at
        count += 1
        used += size[v]
    return size.shape[0]


@cython.final
@cython.cclass
class Crowd:
    """Vertices on processors, up to ``most`` of them and ``room`` bytes on each one that is ``living``.

    Vertex v, of ``size[v]`` bytes, is next to near[starts[v]:starts[v + 1]] in the tree, over edges of these
    ``weight``. Those on a processor are a ring by ``after`` and ``before``, in which ``head`` is one of them. ``sides``
    are layers, height and width of the grid, ``at``, ``first`` and ``ring`` its lengths as in the routing.
    """

    starts: cython.const_int[::1]
    near: cython.const_int[::1]
    weight: cython.const_int[::1]
    size: cython.const_int[::1]
    living: cython.const_uchar[::1]
    sides: cython.const_longlong[::1]
    at: cython.const_longlong[::1]
    first: cython.const_longlong[::1]
    ring: cython.const_longlong[::1]
    room: cython.longlong
    most: cython.longlong
    place = cython.declare(cython.int[::1], visibility="readonly")
    where: cython.int[:, ::1]
    head: cython.int[::1]
    after: cython.int[::1]
    before: cython.int[::1]
    count: cython.int[::1]
    used: cython.longlong[::1]
    grown = cython.declare(cython.longlong, visibility="readonly")  # hops that all moves together have added

    def __init__(
        self,
        tree: tuple[Any, Any, Any, Any],
        living: cython.const_uchar[::1],
        lengths: tuple[Any, Any, Any],
        limits: tuple[int, int],
        place: cython.int[::1],
    ) -> None:
        n = place.shape[0]
        self.starts, self.near, self.weight, self.size = tree
        self.living = living
        self.sides, self.at, self.ring = lengths
        self.first = np.array([0, self.sides[0], self.sides[0] + self.sides[1]], np.int64)
        self.room, self.most = limits
        self.place = place
        self.where = np.zeros((n, 3), np.int32)
        self.head = np.full(living.shape[0], -1, np.int32)
        self.after = np.zeros(n, np.int32)
        self.before = np.zeros(n, np.int32)
        self.count = np.zeros(living.shape[0], np.int32)
        self.used = np.zeros(living.shape[0], np.int64)
        self.grown = 0
        with cython.nogil:
            for v in range(n):
                _enter(self, v, self.place[v])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _enter(crowd: Crowd, v: cython.Py_ssize_t, cell: cython.longlong) -> cython.void:
    """Put a vertex on a processor."""
    axis: cython.Py_ssize_t
    rest: cython.longlong = cell
    head: cython.Py_ssize_t = crowd.head[cell]
    if head < 0:
        crowd.after[v] = v
        crowd.before[v] = v
    else:
        crowd.after[v] = head
        crowd.before[v] = crowd.before[head]
        crowd.after[crowd.before[head]] = v
        crowd.before[head] = v
    crowd.head[cell] = v
    crowd.count[cell] += 1
    crowd.used[cell] += crowd.size[v]
    crowd.place[v] = cell
    for axis in range(2, -1, -1):
        crowd.where[v, axis] = crowd.at[crowd.first[axis] + rest % crowd.sides[axis]]
        rest = rest // crowd.sides[axis]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _leave(crowd: Crowd, v: cython.Py_ssize_t) -> cython.void:
    """Take a vertex from its processor."""
    cell: cython.Py_ssize_t = crowd.place[v]
    crowd.head[cell] = crowd.after[v] if crowd.after[v] != v else -1
    crowd.after[crowd.before[v]] = crowd.after[v]
    crowd.before[crowd.after[v]] = crowd.before[v]
    crowd.count[cell] -= 1
    crowd.used[cell] -= crowd.size[v]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hops(
    crowd: Crowd, z: cython.longlong, y: cython.longlong, x: cython.longlong, u: cython.Py_ssize_t
) -> cython.longlong:
    """Return the hops from a place to where u is, if nothing is dead."""
    up: cython.longlong = abs(z - crowd.where[u, 0])
    down: cython.longlong = abs(y - crowd.where[u, 1])
    across: cython.longlong = abs(x - crowd.where[u, 2])
    if crowd.ring[0] > 0:
        up = min(up, crowd.ring[0] - up)
    if crowd.ring[1] > 0:
        down = min(down, crowd.ring[1] - down)
    if crowd.ring[2] > 0:
        across = min(across, crowd.ring[2] - across)
    return up + down + across


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _change(crowd: Crowd, v: cython.Py_ssize_t, cell: cython.longlong, other: cython.Py_ssize_t) -> cython.longlong:
    """Return by how much the edges of v grow when it moves to ``cell``; its edge to ``other`` keeps its length."""
    total: cython.longlong = 0
    u: cython.Py_ssize_t
    k: cython.Py_ssize_t
    x: cython.longlong = crowd.at[crowd.first[2] + cell % crowd.sides[2]]
    cell = cell // crowd.sides[2]
    y: cython.longlong = crowd.at[crowd.first[1] + cell % crowd.sides[1]]
    z: cython.longlong = crowd.at[cell // crowd.sides[1]]
    for k in range(crowd.starts[v], crowd.starts[v + 1]):
        u = crowd.near[k]
        if u != other:
            total += crowd.weight[k] * (
                _hops(crowd, z, y, x, u) - _hops(crowd, crowd.where[v, 0], crowd.where[v, 1], crowd.where[v, 2], u)
            )
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _beside(crowd: Crowd, cell: cython.longlong, bits: cython.ulonglong) -> cython.longlong:
    """Return a random neighbour of a processor; -1 where the grid ends."""
    axis: cython.Py_ssize_t = 2 if bits & 1 else 1
    if crowd.sides[0] > 1 and bits & 6 == 6:
        axis = 0
    stride: cython.longlong = 1 if axis == 2 else crowd.sides[2] if axis == 1 else crowd.sides[2] * crowd.sides[1]
    place = cell // stride % crowd.sides[axis]
    if bits & 8:
        if place + 1 < crowd.sides[axis]:
            return cell + stride
        return cell - stride * place if crowd.ring[axis] > 0 else -1
    if place > 0:
        return cell - stride
    return cell + stride * (crowd.sides[axis] - 1) if crowd.ring[axis] > 0 else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _anneal(
    crowd: Crowd,
    random: Random,
    accepted: cython.const_ulonglong[::1],
    begin: cython.longlong,
    count: cython.longlong,
    work: cython.longlong,
) -> cython.longlong:
    v: cython.Py_ssize_t
    u: cython.Py_ssize_t
    w: cython.Py_ssize_t
    bits: cython.ulonglong
    degree: cython.longlong
    cell: cython.longlong
    here: cython.longlong
    other: cython.Py_ssize_t
    change: cython.longlong
    least: cython.longlong
    reads: cython.longlong = 0
    while reads < work:
        reads += MOVE
        bits = random.word()
        v = begin + ((bits >> 40) * count >> 24)
        degree = crowd.starts[v + 1] - crowd.starts[v]
        if degree == 0:
            continue
        u = crowd.near[crowd.starts[v] + ((bits >> 24 & 0xFFFF) * degree >> 16)]
        here = crowd.place[v]
        cell = crowd.place[u]
        if cell == here or bits & 16:
            cell = _beside(crowd, cell, bits)
        if cell < 0 or cell == here or crowd.living[cell] == 0:
            continue
        reads += LOOK * degree
        w = -1
        least = 0
        if crowd.count[cell] >= crowd.most or crowd.used[cell] + crowd.size[v] > crowd.room:
            for _ in range(min(crowd.count[cell], MOST_PARTNERS)):
                crowd.head[cell] = crowd.after[crowd.head[cell]]  # so that all have their turn
                other = crowd.head[cell]
                if (
                    (other == u and crowd.count[cell] > 1)  # v would come no nearer to it
                    or crowd.used[cell] - crowd.size[other] + crowd.size[v] > crowd.room
                    or crowd.used[here] - crowd.size[v] + crowd.size[other] > crowd.room
                ):
                    continue
                reads += LOOK * (crowd.starts[other + 1] - crowd.starts[other])
                change = _change(crowd, other, here, v)
                if w < 0 or change < least:
                    w = other
                    least = change
            if w < 0:
                continue
        worse = least + _change(crowd, v, cell, w)
        if worse > 0 and (worse >= accepted.shape[0] or random.word() >= accepted[worse]):
            continue
        crowd.grown += worse
        _leave(crowd, v)
        if w >= 0:
            _leave(crowd, w)
            _enter(crowd, w, here)
        _enter(crowd, v, cell)
    return reads


def anneal_crowd(
    crowd: Crowd,
    random: Random,
    accepted: cython.const_ulonglong[::1],
    window: tuple[int, int],
    reads_per_vertex: cython.double,
) -> int:
    """Try moves of the vertices from window[0] to window[1] - 1, so many reads for each; return the reads.

    A random vertex moves to the processor of a neighbour in the tree, or beside it; where that one is full, it changes
    places with the one there, of up to ``MOST_PARTNERS``, whose edges grow least. A move that adds d hops is done if a
    random word is below ``accepted[d]``.
    """
    begin: cython.longlong = window[0]
    count: cython.longlong = window[1] - window[0]
    with cython.nogil:
        reads = _anneal(crowd, random, accepted, begin, count, cython.cast(cython.longlong, reads_per_vertex * count))
    return int(reads)
