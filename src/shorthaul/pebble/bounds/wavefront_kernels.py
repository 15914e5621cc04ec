"""Wavefronts: the least charge of what is live while one node is computed."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.graphs.mincut_kernels import Network, group_arcs, push_phase

_ENDLESS = cython.declare(cython.longlong, 1 << 60)


@cython.final
@cython.cclass
class Wavefront:
    """The least charge of values computed before a node, read after it and no operands of it: a minimum cut.

    The least is over all closed sets that hold the ancestors of the node and none of its descendants.
    """

    weights: cython.const_longlong[::1]
    given: cython.const_uchar[::1]
    starts: cython.const_longlong[::1]
    parents: cython.const_longlong[::1]
    tails: cython.longlong[::1]
    heads: cython.longlong[::1]
    arcs = cython.declare(cython.longlong, visibility="readonly")
    net: Network
    flow = cython.declare(cython.longlong, visibility="readonly")

    def __init__(
        self,
        weights: cython.const_longlong[::1],
        given: cython.const_uchar[::1],
        starts: cython.const_longlong[::1],
        parents: cython.const_longlong[::1],
    ) -> None:
        self.weights = weights
        self.given = given
        self.starts = starts
        self.parents = parents
        self.arcs = 4 * parents.shape[0] + 6 * weights.shape[0]
        self.tails = np.empty(self.arcs, np.int64)
        self.heads = np.empty(self.arcs, np.int64)
        self.flow = 0
        _link(self)
        self.net = Network(2 * weights.shape[0] + 2, self.tails, self.heads, np.empty(self.arcs, np.int64))
        group_arcs(self.net)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _connect(cut: Wavefront, arc: cython.longlong, tail: cython.longlong, head: cython.longlong) -> cython.void:
    cut.tails[arc] = tail
    cut.heads[arc] = head
    cut.tails[arc + 1] = head
    cut.heads[arc + 1] = tail


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _link(cut: Wavefront) -> cython.void:
    """Connect every node i, whose value is node ``size`` + i, the source, and the sink."""
    size: cython.longlong = cut.weights.shape[0]
    arc: cython.longlong = 0
    i: cython.Py_ssize_t
    e: cython.Py_ssize_t
    for i in range(size):
        for e in range(cut.starts[i], cut.starts[i + 1]):  # a computed child has computed parents
            p = cut.parents[e]
            _connect(cut, arc, i, p)
            _connect(cut, arc + 2, size + p, i)  # a value with a child to come is live
            arc += 4
    for i in range(size):
        _connect(cut, arc, i, size + i)
        _connect(cut, arc + 2, 2 * size, i)
        _connect(cut, arc + 4, i, 2 * size + 1)
        arc += 6


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin(
    cut: Wavefront,
    node: cython.longlong,
    times: cython.longlong,
    late: cython.const_longlong[::1],
    early: cython.const_longlong[::1],
) -> cython.void:
    size: cython.longlong = cut.weights.shape[0]
    nodes: cython.longlong = 4 * cut.parents.shape[0]  # where the arcs of the nodes begin
    arc: cython.Py_ssize_t
    i: cython.Py_ssize_t
    e: cython.Py_ssize_t
    cut.flow = 0
    for arc in range(cut.tails.shape[0]):
        cut.net.capacities[arc] = 0
    for arc in range(0, nodes, 4):
        cut.net.capacities[arc] = _ENDLESS
        if cut.heads[arc + 2] != node:
            cut.net.capacities[arc + 2] = _ENDLESS
    for i in range(size):
        if i != node:
            cut.net.capacities[nodes + 6 * i] = cut.weights[i]
            if times == 2 and not cut.given[i]:
                cut.net.capacities[nodes + 6 * i] += cut.weights[i]
    for e in range(cut.starts[node], cut.starts[node + 1]):  # in fast memory, whatever follows
        cut.net.capacities[nodes + 6 * cut.parents[e]] = 0
        cut.net.capacities[nodes + 6 * cut.parents[e] + 2] = _ENDLESS
    cut.net.capacities[nodes + 6 * node + 4] = _ENDLESS
    for i in range(late.shape[0]):
        cut.net.capacities[nodes + 6 * late[i] + 4] = _ENDLESS
    for i in range(early.shape[0]):
        if early[i] != node:
            cut.net.capacities[nodes + 6 * early[i] + 2] = _ENDLESS


def begin(
    cut: Wavefront,
    node: cython.longlong,
    times: cython.longlong,
    late: cython.const_longlong[::1],
    early: cython.const_longlong[::1],
) -> None:
    """Begin with ``node``. None of the nodes ``late`` is computed before it, but all of the nodes ``early`` are.

    A live value is charged its weight, or, with ``times`` 2, twice that if it is no input.
    """
    with cython.nogil:
        _begin(cut, node, times, late, early)


def grow(cut: Wavefront, enough: cython.longlong) -> bool:
    """Let the flow grow by a phase; False if it has reached ``enough`` or its maximum, the charge."""
    pushed: cython.longlong = 0
    size: cython.longlong = cut.weights.shape[0]
    with cython.nogil:
        if cut.flow < enough:
            pushed = push_phase(cut.net, 2 * size, 2 * size + 1, enough - cut.flow)
            cut.flow += pushed
    return bool(pushed > 0)
