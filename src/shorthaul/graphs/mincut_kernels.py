"""Maximum flow in compiled code: blocking flows in the graph of shortest paths (Dinitz)."""

from __future__ import annotations

import cython
import numpy as np


@cython.final
@cython.cclass
class Network:
    """Arcs with residual capacities; arc 2 i + 1 is the reverse of arc 2 i. They are grouped by tail first."""

    def __init__(
        self,
        n: cython.Py_ssize_t,
        tails: cython.const_longlong[::1],
        heads: cython.const_longlong[::1],
        capacities: cython.longlong[::1],
    ) -> None:
        self.tails = tails
        self.heads = heads
        self.capacities = capacities
        self.starts = np.zeros(n + 1, np.int64)
        self.arcs = np.empty(tails.shape[0], np.int64)
        self.level = np.empty(n, np.int64)
        self.queue = np.empty(n, np.int64)
        self.path = np.empty(n, np.int64)
        self.cursor = np.empty(n, np.int64)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def group_arcs(net: Network) -> cython.void:
    """Fill ``starts`` and ``arcs``."""
    n: cython.Py_ssize_t = net.level.shape[0]
    v: cython.Py_ssize_t
    for v in range(n + 1):
        net.starts[v] = 0
    for arc in range(net.tails.shape[0]):
        net.starts[net.tails[arc] + 1] += 1
    for v in range(n):
        net.starts[v + 1] += net.starts[v]
        net.cursor[v] = net.starts[v]
    for arc in range(net.tails.shape[0]):
        v = net.tails[arc]
        net.arcs[net.cursor[v]] = arc
        net.cursor[v] += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def push_phase(
    net: Network, source: cython.longlong, sink: cython.longlong, enough: cython.longlong
) -> cython.longlong:  # fmt: skip
    """Push a blocking flow, or at least ``enough``, along shortest paths; return how much, 0 if the flow is maximum."""
    flow: cython.longlong = 0
    node: cython.longlong = source
    length: cython.Py_ssize_t = 0
    if not _sets_levels(net, source, sink):
        return 0
    for i in range(net.level.shape[0]):
        net.cursor[i] = net.starts[i]
    while flow < enough:
        if node == sink:
            least = net.capacities[net.path[0]]
            for i in range(1, length):
                least = min(least, net.capacities[net.path[i]])
            first = length
            for i in range(length - 1, -1, -1):
                arc = net.path[i]
                net.capacities[arc] -= least
                net.capacities[arc ^ 1] += least
                if net.capacities[arc] == 0:
                    first = i
            flow += least
            length = first  # go on from the first arc that is full
            node = net.tails[net.path[first]]
            continue
        found = -1
        while net.cursor[node] < net.starts[node + 1]:
            arc = net.arcs[net.cursor[node]]
            if net.capacities[arc] > 0 and net.level[net.heads[arc]] == net.level[node] + 1:
                found = arc
                break
            net.cursor[node] += 1
        if found >= 0:
            net.path[length] = found
            length += 1
            node = net.heads[found]
        elif length == 0:
            break
        else:
            net.level[node] = -1
            length -= 1
            node = net.tails[net.path[length]]
    return flow


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sets_levels(net: Network, source: cython.longlong, sink: cython.longlong) -> cython.bint:
    """Set the levels, as far as the sink; True if it is reached."""
    i: cython.Py_ssize_t
    first: cython.Py_ssize_t = 0
    last: cython.Py_ssize_t = 1
    for i in range(net.level.shape[0]):
        net.level[i] = -1
    net.level[source] = 0
    net.queue[0] = source
    while first < last and net.level[sink] < 0:
        node = net.queue[first]
        first += 1
        for i in range(net.starts[node], net.starts[node + 1]):
            arc = net.arcs[i]
            if net.capacities[arc] > 0 and net.level[net.heads[arc]] < 0:
                net.level[net.heads[arc]] = net.level[node] + 1
                net.queue[last] = net.heads[arc]
                last += 1
    return net.level[sink] >= 0


def max_flow(
    n: cython.Py_ssize_t,
    tails: cython.const_longlong[::1],
    heads: cython.const_longlong[::1],
    capacities: cython.longlong[::1],
    source: cython.longlong,
    sink: cython.longlong,
    enough: cython.longlong,
) -> int:
    """Return the maximum flow from ``source`` to ``sink``, or some value of at least ``enough`` once that is reached.

    Arc 2 i + 1 is the reverse of arc 2 i. ``capacities`` hold the residual capacities afterwards.
    """
    net = Network(n, tails, heads, capacities)
    flow: cython.longlong = 0
    pushed: cython.longlong = 1
    with cython.nogil:
        group_arcs(net)
        while flow < enough and pushed > 0:
            pushed = push_phase(net, source, sink, enough - flow)
            flow += pushed
    return int(flow)
