"""Kernels of layouts with little traffic on the busiest link: swaps, priced by what they do to every link."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.shorthaul.core.compiled.random_kernels import Random

Index = npt.NDArray[np.int32]

#: What a move costs in reads, but for the links it looks at.
MOVE = cython.declare(cython.longlong, 8)
#: What a link costs: so counted, 190 million reads a second of one core.
CROSSING = cython.declare(cython.longlong, 2)
#: A vertex with more neighbours stays where it is.
MOST_NEAR = cython.declare(cython.longlong, 64)


@cython.final
@cython.cclass
class Streets:
    """Vertices on a grid, and the messages on its links: one from every parent to each child, row first.

    Vertex v, next to near[starts[v]:starts[v + 1]] in the tree, has a smaller number than its children. ``holder`` is
    the vertex on every cell, -1 where there is none. ``loads`` are the messages east, west, south and north from every
    cell. A message beyond ``limit`` on a link counts as ``steep`` hops.
    """

    starts: cython.const_int[::1]
    near: cython.const_int[::1]
    x: cython.int[::1]
    y: cython.int[::1]
    holder: cython.int[::1]
    loads: cython.int[:, ::1]
    width: cython.longlong
    height: cython.longlong
    limit = cython.declare(cython.longlong, visibility="public")
    steep: cython.longlong
    reads: cython.longlong

    def __init__(
        self,
        starts: cython.const_int[::1],
        near: cython.const_int[::1],
        place: tuple[Index, Index],
        holder: cython.int[::1],
        width: cython.longlong,
        steep: cython.longlong,
    ) -> None:
        self.starts = starts
        self.near = near
        self.x, self.y = place
        self.holder = holder
        self.width = width
        self.height = holder.shape[0] // width
        self.loads = np.zeros((4, holder.shape[0]), np.int32)
        self.limit = 0
        self.steep = steep
        self.reads = 0
        with cython.nogil:
            _fill(self)

    def places(self) -> tuple[Index, Index]:
        """Return x and y of every vertex."""
        return np.array(self.x), np.array(self.y)

    def busiest(self) -> int:
        """Return the most messages on a link."""
        return int(np.asarray(self.loads).max())


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill(streets: Streets) -> cython.void:
    v: cython.Py_ssize_t
    k: cython.Py_ssize_t
    for v in range(streets.x.shape[0]):
        for k in range(streets.starts[v], streets.starts[v + 1]):
            if streets.near[k] > v:
                _send(streets, v, streets.near[k], 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cross(streets: Streets, way: cython.Py_ssize_t, cell: cython.longlong, count: cython.int) -> cython.longlong:
    """Put a message on a link (1), or take it away (-1); return by how much the price grows."""
    before: cython.longlong = streets.loads[way, cell]
    after: cython.longlong = before + count
    streets.loads[way, cell] += count
    streets.reads += CROSSING
    return count + streets.steep * (max(after - streets.limit, 0) - max(before - streets.limit, 0))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _send(streets: Streets, v: cython.Py_ssize_t, u: cython.Py_ssize_t, count: cython.int) -> cython.longlong:
    """Put the message from v to its child u on its links, or take it away; return by how much the price grows."""
    price: cython.longlong = 0
    x: cython.longlong = streets.x[v]
    y: cython.longlong = streets.y[v]
    cell: cython.longlong = y * streets.width + x
    while x < streets.x[u]:
        price += _cross(streets, 0, cell, count)
        cell += 1
        x += 1
    while x > streets.x[u]:
        price += _cross(streets, 1, cell, count)
        cell -= 1
        x -= 1
    while y < streets.y[u]:
        price += _cross(streets, 2, cell, count)
        cell += streets.width
        y += 1
    while y > streets.y[u]:
        price += _cross(streets, 3, cell, count)
        cell -= streets.width
        y -= 1
    return price


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _send_all(streets: Streets, v: cython.Py_ssize_t, other: cython.Py_ssize_t, count: cython.int) -> cython.longlong:
    """Do so with all messages from and to v, but for those from and to ``other``."""
    price: cython.longlong = 0
    k: cython.Py_ssize_t
    u: cython.Py_ssize_t
    for k in range(streets.starts[v], streets.starts[v + 1]):
        u = streets.near[k]
        if u != other:
            price += _send(streets, min(u, v), max(u, v), count)
    return price


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _swap(streets: Streets, v: cython.Py_ssize_t, w: cython.Py_ssize_t, cell: cython.longlong) -> cython.longlong:
    """Let v move to a cell, and w, who is there (-1: nobody), to where v was; return by how much the price grows."""
    here: cython.longlong = streets.y[v] * streets.width + streets.x[v]
    price: cython.longlong = _send_all(streets, v, -1, -1)
    if w >= 0:
        price += _send_all(streets, w, v, -1)
        streets.x[w] = streets.x[v]
        streets.y[w] = streets.y[v]
    streets.x[v] = cell % streets.width
    streets.y[v] = cell // streets.width
    streets.holder[here] = w
    streets.holder[cell] = v
    price += _send_all(streets, v, -1, 1)
    if w >= 0:
        price += _send_all(streets, w, v, 1)
    return price


def relieve(
    streets: Streets,
    random: Random,
    accepted: cython.const_ulonglong[::1],
    begin: cython.longlong,
    end: cython.longlong,
    work: cython.longlong,
) -> int:
    """Try swaps of the vertices from ``begin`` to ``end``, with so many reads; return how many these were.

    A random vertex moves beside one of its neighbours in the tree; whoever sat there takes its place. A swap that adds
    d to the price is done if a random word is below ``accepted[d]``.
    """
    streets.reads = 0
    with cython.nogil:
        _relieve(streets, random, accepted, begin, end, work)
    return int(streets.reads)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _relieve(
    streets: Streets,
    random: Random,
    accepted: cython.const_ulonglong[::1],
    begin: cython.longlong,
    end: cython.longlong,
    work: cython.longlong,
) -> cython.void:
    v: cython.Py_ssize_t
    u: cython.Py_ssize_t
    w: cython.Py_ssize_t
    x: cython.longlong
    y: cython.longlong
    step: cython.longlong
    while streets.reads < work:
        streets.reads += MOVE
        bits = random.word()
        v = begin + ((bits >> 40) * (end - begin) >> 24)
        degree = streets.starts[v + 1] - streets.starts[v]
        if degree == 0 or degree > MOST_NEAR:
            continue
        u = streets.near[streets.starts[v] + ((bits >> 24 & 0xFFFF) * degree >> 16)]
        step = 2 if bits & 12 == 0 else 1
        step = step if bits & 1 else -step
        x = streets.x[u] + (0 if bits & 2 else step)
        y = streets.y[u] + (step if bits & 2 else 0)
        if x < 0 or y < 0 or x >= streets.width or y >= streets.height:
            continue
        w = streets.holder[y * streets.width + x]
        if w == v or (w >= 0 and streets.starts[w + 1] - streets.starts[w] > MOST_NEAR):
            continue
        here = streets.y[v] * streets.width + streets.x[v]
        worse = _swap(streets, v, w, y * streets.width + x)
        if worse > 0 and (worse >= accepted.shape[0] or random.word() >= accepted[worse]):
            _swap(streets, v, w, here)
