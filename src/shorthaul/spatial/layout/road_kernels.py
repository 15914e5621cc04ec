"""Kernels of layouts on a machine that spare its busiest link, or its longest way: moves priced by all they cross."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.core.compiled.random_kernels import Random
from cython.cimports.shorthaul.spatial.layout.crowd_kernels import Crowd, beside, enter, is_accepted, leave
from cython.cimports.shorthaul.spatial.layout.fabric_kernels import (
    Net,
    beyond,
    is_direct,
    is_free,
    search,
    way_along,
    way_back,
)

#: What a move costs in reads, but for the links it looks at, and what a link costs.
MOVE = cython.declare(cython.longlong, 48)
CROSSING = cython.declare(cython.longlong, 12)
#: A vertex with more neighbours stays where it is.
MOST_NEAR = cython.declare(cython.longlong, 64)


@cython.final
@cython.cclass
class Roads:
    """Vertices on the processors of a machine, and the messages on its links: one from every parent to each child.

    A vertex has a smaller number than its children. ``loads`` of shape (6, cells) are the sizes over each link that
    leads up, down, south, north, east and west from every processor. What a link carries beyond ``limit`` counts as
    ``steep`` hops more, or with ``by_length`` what a way is longer.
    """

    crowd: Crowd
    net: Net
    loads = cython.declare(cython.longlong[:, ::1], visibility="readonly")
    wanted: cython.uchar[::1]
    by_length: cython.bint
    limit = cython.declare(cython.longlong, visibility="public")
    steep: cython.longlong
    reads: cython.longlong

    def __init__(self, crowd: Crowd, net: Net, by_length: cython.bint, steep: cython.longlong) -> None:
        self.crowd = crowd
        self.net = net
        self.loads = np.zeros((6, net.links.shape[1]), np.int64)
        self.wanted = np.zeros(net.links.shape[1], np.uint8)
        self.by_length = by_length
        self.limit = 0
        self.steep = steep
        self.reads = 0
        v: cython.Py_ssize_t
        k: cython.Py_ssize_t
        with cython.nogil:
            for v in range(crowd.place.shape[0]):
                for k in range(crowd.starts[v], crowd.starts[v + 1]):
                    if crowd.near[k] > v:
                        _send(self, v, k, 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _send(roads: Roads, v: cython.Py_ssize_t, k: cython.Py_ssize_t, count: cython.longlong) -> cython.longlong:
    """Put the message between v and its neighbour ``k`` on its links (1), or take it away (-1).

    Return by how much the price grows. Ways are followed from child to parent, as in the routing.
    """
    u: cython.Py_ssize_t = roads.crowd.near[k]
    cell: cython.longlong = roads.crowd.place[max(u, v)]
    source: cython.longlong = roads.crowd.place[min(u, v)]
    size: cython.longlong = roads.crowd.weight[k]
    way: cython.Py_ssize_t
    hops: cython.longlong = 0
    excess: cython.longlong = 0
    how: cython.int = 0
    if not is_free(roads.net, cell, source):
        how = 1
        if not is_direct(roads.net, cell, source):
            how = 2
            search(roads.net, source, roads.wanted, 1, cell)
        roads.reads += CROSSING * roads.net.count
    while cell != source:
        if how == 0:
            way = way_along(roads.net, cell, source)
        else:
            way = roads.net.turn[cell] - 1 if how == 1 else way_back(roads.net, cell)
        hops += roads.net.links[way, cell]
        cell = beyond(roads.net, cell, way)
        before: cython.longlong = roads.loads[way ^ 1, cell]
        roads.loads[way ^ 1, cell] += count * size
        excess += max(roads.loads[way ^ 1, cell] - roads.limit, 0) - max(before - roads.limit, 0)
        roads.reads += CROSSING
    if roads.by_length:
        excess = count * max(hops - roads.limit, 0)
    return count * size * hops + roads.steep * excess


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _send_all(roads: Roads, v: cython.Py_ssize_t, other: cython.Py_ssize_t, count: cython.longlong) -> cython.longlong:
    """Do so with all messages from and to v, but for those from and to ``other``."""
    price: cython.longlong = 0
    k: cython.Py_ssize_t
    for k in range(roads.crowd.starts[v], roads.crowd.starts[v + 1]):
        if roads.crowd.near[k] != other:
            price += _send(roads, v, k, count)
    return price


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move(roads: Roads, v: cython.Py_ssize_t, w: cython.Py_ssize_t, cell: cython.longlong) -> cython.longlong:
    """Let v move to a processor, and w (-1: nobody) from there to that of v; return by how much the price grows."""
    here: cython.longlong = roads.crowd.place[v]
    price: cython.longlong = _send_all(roads, v, -1, -1)
    if w >= 0:
        price += _send_all(roads, w, v, -1)
        leave(roads.crowd, w)
    leave(roads.crowd, v)
    enter(roads.crowd, v, cell)
    if w >= 0:
        enter(roads.crowd, w, here)
        price += _send_all(roads, w, v, 1)
    return price + _send_all(roads, v, -1, 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _partner(crowd: Crowd, v: cython.Py_ssize_t, cell: cython.longlong) -> cython.Py_ssize_t:
    """Return who leaves a processor to v: -1 for nobody, -2 if it has no room for v."""
    if crowd.count[cell] < crowd.most and crowd.used[cell] + crowd.size[v] <= crowd.room:
        return -1
    w: cython.Py_ssize_t = crowd.head[cell]
    if w < 0:
        return -2
    w = crowd.after[w]
    crowd.head[cell] = w  # so that all have their turn
    if (
        crowd.used[cell] - crowd.size[w] + crowd.size[v] > crowd.room
        or crowd.used[crowd.place[v]] - crowd.size[v] + crowd.size[w] > crowd.room
        or crowd.starts[w + 1] - crowd.starts[w] > MOST_NEAR
    ):
        return -2
    return w


def relieve(
    roads: Roads,
    random: Random,
    accepted: cython.const_ulonglong[::1],
    begin: cython.longlong,
    end: cython.longlong,
    work: cython.longlong,
) -> int:
    """Try moves of the vertices from ``begin`` to ``end``, with so many reads; return how many these were.

    A random vertex moves to the processor of one of its neighbours in the tree, or near it; where that is full, it
    changes places with one there.
    """
    crowd: Crowd = roads.crowd
    v: cython.Py_ssize_t
    w: cython.Py_ssize_t
    bits: cython.ulonglong
    degree: cython.longlong
    cell: cython.longlong
    here: cython.longlong
    with cython.nogil:
        roads.reads = 0
        while roads.reads < work:
            roads.reads += MOVE
            bits = random.word()
            v = begin + ((bits >> 40) * (end - begin) >> 24)
            degree = crowd.starts[v + 1] - crowd.starts[v]
            if degree == 0 or degree > MOST_NEAR:
                continue
            here = crowd.place[v]
            cell = crowd.place[crowd.near[crowd.starts[v] + ((bits >> 24 & 0xFFFF) * degree >> 16)]]
            if bits & 16 or cell == here:
                cell = beside(crowd, cell, bits)
                if cell >= 0 and bits & 0x60 == 0:
                    cell = beside(crowd, cell, bits >> 9)
            if cell < 0 or cell == here or crowd.living[cell] == 0:
                continue
            w = _partner(crowd, v, cell)
            if w == -2:
                continue
            worse = _move(roads, v, w, cell)
            if not is_accepted(crowd, random, accepted, worse):
                _move(roads, v, w, here)
    return int(roads.reads)
