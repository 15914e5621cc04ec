"""Orders on all resources (a selection of the cyclic disjunctive graph), and their least period.

Any times induce a selection: on every resource, tasks follow each other as their times do modulo the period. Its
least period is the maximum cycle ratio of the arcs between successors, found with longest paths that start at the
times of the last selection.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

#: The period of a selection that no period suffices for, or that was given up.
NEVER = cython.declare(cython.longlong, 1 << 60)
#: How often all arcs are looked at before those of late nodes alone (moves of sobel4, multicamera, 45, 60, 100 random
#: actors with 2, 4, 6: 4.2, 18, 28, 27, 56 us; 2.9, 15, 24, 25, 56; 3.4, 15, 27, 29, 58).
PASSES = cython.declare(cython.Py_ssize_t, 4)


@cython.final
@cython.cclass
class Graph:
    """The arrays of a :class:`~shorthaul.dataflow.modulo.disjunctive_graph.DisjunctiveGraph`."""

    def __init__(self, graph: Any) -> None:
        self.duration = graph.duration
        self.kind = graph.kind
        self.firing = graph.firing
        self.first = graph.first
        self.stop = graph.stop
        self.execution = graph.execution
        self.on_at = graph.on_at
        self.on = graph.on
        self.core_at = graph.core_at
        self.at_core = graph.at_core
        self.tokens = graph.tokens
        self.accesses = np.flatnonzero((graph.kind == 1) | (graph.kind == 3))
        _, first, unit = np.unique(graph.unit, return_index=True, return_inverse=True)
        self.leader = first[unit]


@cython.final
@cython.cclass
class Selection:
    """Times of all nodes, the arcs of the selection that they induce, and room to work in.

    Arc k says: time[arc_to[k]] >= time[arc_from[k]] + arc_ticks[k] - arc_periods[k] * P.
    """

    def __init__(self, graph: Graph) -> None:
        nodes = graph.duration.shape[0]
        arcs = 2 * nodes + graph.on.shape[0] + graph.at_core.shape[0] + graph.tokens.shape[0]
        self.time = np.empty(nodes, np.int64)
        self.moved = np.empty(nodes, np.int64)
        self.tried = np.empty(nodes, np.int64)
        self.turn = np.empty(nodes, np.int64)
        self.residue = np.empty(nodes, np.int64)
        self.order = np.empty(nodes, np.int64)
        self.near = np.concatenate([graph.on, np.asarray(graph.first)[np.asarray(graph.at_core)]])
        self.steps = 0
        self.arcs = 0
        self.arc_from = np.empty(arcs, np.int64)
        self.arc_to = np.empty(arcs, np.int64)
        self.arc_ticks = np.empty(arcs, np.int64)
        self.arc_periods = np.empty(arcs, np.int64)
        self.arc_least = np.empty(arcs, np.int64)
        self.into = np.empty(nodes, np.int64)
        self.seen = np.empty(nodes, np.int64)
        self.first_out = np.empty(nodes, np.int64)
        self.next_out = np.empty(arcs, np.int64)
        self.depth, self.following, self.leading = (np.empty(nodes + 1, np.int64) for _ in range(3))
        self.queue = np.empty(nodes, np.int64)
        self.is_waiting = np.empty(nodes, np.uint8)
        self.cycle = np.empty(nodes + 1, np.int64)
        self.critical = np.empty(nodes + 1, np.int64)
        self.criticals = 0
        self.tight_from = np.empty(nodes + 1, np.int64)
        self.tight_to = np.empty(nodes + 1, np.int64)
        self.tight_lag = np.empty(nodes + 1, np.int64)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_arc(
    room: Selection,
    source: cython.longlong,
    target: cython.longlong,
    ticks: cython.longlong,
    periods: cython.longlong,
) -> cython.void:
    room.arc_from[room.arcs] = source
    room.arc_to[room.arcs] = target
    room.arc_ticks[room.arcs] = ticks
    room.arc_periods[room.arcs] = periods
    room.arcs += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def select(graph: Graph, room: Selection, period: cython.longlong) -> cython.void:
    """Fill the arcs of the selection that ``moved`` induces."""
    room.steps += 4 * room.arcs
    room.arcs = 0
    accesses: cython.Py_ssize_t = graph.on.shape[0]
    inverse: cython.double = 1.0 / period
    for k in range(room.moved.shape[0]):
        turn = cython.cast(cython.longlong, room.moved[k] * inverse)  # off by little
        rest = room.moved[k] - turn * period
        while rest < 0:
            turn -= 1
            rest += period
        while rest >= period:
            turn += 1
            rest -= period
        room.turn[k] = turn
    for f in range(graph.first.shape[0]):
        last = _chain(graph, room, graph.first[f], graph.execution[f])
        _chain(graph, room, last, graph.stop[f] - 1)
    for k in range(graph.on_at.shape[0] - 1):
        _in_order(room, period, graph.on_at[k], graph.on_at[k + 1])
        _cycle_of_accesses(graph, room, graph.on_at[k + 1] - graph.on_at[k])
    for k in range(graph.core_at.shape[0] - 1):
        _in_order(room, period, accesses + graph.core_at[k], accesses + graph.core_at[k + 1])
        _cycle_of_firings(graph, room, graph.core_at[k + 1] - graph.core_at[k])
    for k in range(graph.tokens.shape[0]):
        _add_arc(room, graph.tokens[k, 0], graph.tokens[k, 1], graph.tokens[k, 2], graph.tokens[k, 3])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _chain(graph: Graph, room: Selection, last: cython.longlong, target: cython.longlong) -> cython.longlong:
    """Add arcs from ``last`` to the accesses between, one after the other, and to ``target``; return that."""
    count: cython.Py_ssize_t = 0
    for node in range(last + 1, target):
        place = count
        while place > 0 and room.moved[node] < room.moved[room.order[place - 1]]:
            room.order[place] = room.order[place - 1]
            place -= 1
        room.order[place] = node
        count += 1
    for place in range(count):
        _add_arc(room, last, room.order[place], graph.duration[last], 0)
        last = room.order[place]
    _add_arc(room, last, target, graph.duration[last], 0)
    return target


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _insert(room: Selection, count: cython.Py_ssize_t, node: cython.longlong, period: cython.longlong) -> cython.void:
    """Insert a node into ``count`` others, in the order of their residues."""
    residue: cython.longlong = room.moved[node] - room.turn[node] * period
    place: cython.Py_ssize_t = count
    while place > 0 and (
        room.residue[place - 1] > residue or (room.residue[place - 1] == residue and room.order[place - 1] > node)
    ):
        room.residue[place] = room.residue[place - 1]
        room.order[place] = room.order[place - 1]
        place -= 1
    room.residue[place] = residue
    room.order[place] = node


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _in_order(
    room: Selection, period: cython.longlong, first: cython.Py_ssize_t, stop: cython.Py_ssize_t
) -> cython.void:  # fmt: skip
    """Fill ``order`` with the tasks of a resource by their residues, from the order that they had last."""
    for k in range(stop - first):
        _insert(room, k, room.near[first + k], period)
    for k in range(stop - first):
        room.near[first + k] = room.order[k]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cycle_of_accesses(graph: Graph, room: Selection, count: cython.Py_ssize_t) -> cython.void:
    """Add the arcs between successors on an interconnect, the last before the first a period on."""
    for k in range(count):
        i = room.order[k]
        j = room.order[k + 1 if k + 1 < count else 0]
        _add_arc(room, i, j, graph.duration[i], room.turn[i] - room.turn[j] + (k == count - 1))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cycle_of_firings(graph: Graph, room: Selection, count: cython.Py_ssize_t) -> cython.void:
    """Add the arcs between successors on a core, which firings hold from begin to end."""
    for k in range(count):
        i = room.order[k]
        j = room.order[k + 1 if k + 1 < count else 0]
        _add_arc(room, graph.stop[graph.firing[i]] - 1, j, 0, room.turn[i] - room.turn[j] + (k == count - 1))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _raise_times(room: Selection, period: cython.longlong) -> cython.Py_ssize_t:
    """Raise ``tried`` until all arcs hold; return 0, or the length of a cycle (filled with arcs) that never will.

    First all arcs are looked at in turns, as most do not take many; then those of nodes that were made late.
    """
    changed: cython.bint
    for k in range(room.into.shape[0]):
        room.into[k] = -1
    for k in range(room.arcs):
        room.arc_least[k] = room.arc_ticks[k] - room.arc_periods[k] * period
    for passes in range(PASSES):
        changed = False
        for k in range(room.arcs):
            least = room.tried[room.arc_from[k]] + room.arc_least[k]
            target = room.arc_to[k]
            if least > room.tried[target]:
                room.tried[target] = least
                room.into[target] = k
                changed = True
        room.steps += room.arcs
        if not changed:
            return 0
        if passes % 2 == 1:
            k = _find_cycle(room)
            if k > 0:
                return k
    return _raise_late(room)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_cycle(room: Selection) -> cython.Py_ssize_t:
    """Fill ``cycle`` with arcs that made one another's ends late; return how many, 0 if there is no such cycle."""
    length: cython.Py_ssize_t = 0
    for root in range(room.seen.shape[0]):
        room.seen[root] = -1
    for root in range(room.seen.shape[0]):
        v = root
        while room.seen[v] < 0 and room.into[v] >= 0:
            room.seen[v] = root
            v = room.arc_from[room.into[v]]
        if room.seen[v] == root:
            u = v
            while length == 0 or u != v:
                room.cycle[length] = room.into[u]
                length += 1
                u = room.arc_from[room.into[u]]
            return length
        if room.seen[v] < 0:
            room.seen[v] = root
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _raise_late(room: Selection) -> cython.Py_ssize_t:
    """Do as :func:`_raise_times` from the nodes whose arcs do not hold.

    What arcs made late is a forest. Where a node gets later, what hangs on it is cut off, as it will get later, too: so
    a cycle shows as soon as it closes (Tarjan 1981; Cherkassky and Goldberg, *Negative-cycle detection algorithms*).
    """
    tried: cython.longlong[::1] = room.tried
    depth: cython.longlong[::1] = room.depth
    following: cython.longlong[::1] = room.following
    leading: cython.longlong[::1] = room.leading
    queue: cython.longlong[::1] = room.queue
    arc_to: cython.longlong[::1] = room.arc_to
    arc_least: cython.longlong[::1] = room.arc_least
    next_out: cython.longlong[::1] = room.next_out
    nodes: cython.Py_ssize_t = tried.shape[0]
    first: cython.Py_ssize_t = 0
    steps: cython.longlong = 2 * room.arcs
    k: cython.longlong
    u: cython.longlong
    v: cython.longlong
    w: cython.longlong
    waiting: cython.Py_ssize_t = _begin_forest(room)
    last: cython.Py_ssize_t = waiting if waiting < nodes else 0
    while waiting:
        u = queue[first]
        first = first + 1 if first + 1 < nodes else 0
        waiting -= 1
        room.is_waiting[u] = False
        if depth[u] < 0:
            continue
        k = room.first_out[u]
        while k >= 0:
            steps += 2
            v = arc_to[k]
            if tried[u] + arc_least[k] > tried[v]:
                w = following[v]
                if depth[v] >= 0:
                    while depth[w] > depth[v] and w != u:
                        steps += 2
                        depth[w] = -1
                        w = following[w]
                    following[leading[v]], leading[w] = w, leading[v]
                if (w == u and depth[v] >= 0 and depth[u] > depth[v]) or u == v:
                    room.steps += steps
                    return _cycle_through(room, k)
                tried[v] = tried[u] + arc_least[k]
                room.into[v] = k
                w = following[u]
                following[u], leading[v], following[v], leading[w] = v, u, w, v
                depth[v] = depth[u] + 1
                steps += 5
                if not room.is_waiting[v]:
                    room.is_waiting[v] = True
                    queue[last] = v
                    last = last + 1 if last + 1 < nodes else 0
                    waiting += 1
            k = next_out[k]
    room.steps += steps
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin_forest(room: Selection) -> cython.Py_ssize_t:
    """Let nodes wait that an arc leaves which does not hold, the only ones in the forest; return how many do."""
    nodes: cython.Py_ssize_t = room.tried.shape[0]
    waiting: cython.Py_ssize_t = 0
    for u in range(nodes):
        room.first_out[u] = -1
        room.depth[u] = -1
        room.is_waiting[u] = False
    room.following[nodes], room.leading[nodes], room.depth[nodes] = nodes, nodes, 0
    for k in range(room.arcs):
        u = room.arc_from[k]
        room.next_out[k] = room.first_out[u]
        room.first_out[u] = k
        if not room.is_waiting[u] and room.tried[u] + room.arc_least[k] > room.tried[room.arc_to[k]]:
            room.is_waiting[u] = True
            room.queue[waiting] = u
            waiting += 1
            w = room.following[nodes]
            room.following[nodes], room.leading[u], room.following[u], room.leading[w] = u, nodes, w, u
            room.depth[u] = 1
    return waiting


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cycle_through(room: Selection, arc: cython.longlong) -> cython.Py_ssize_t:
    """Fill ``cycle`` with the arcs from the begin of an arc back to its end; return how many."""
    length: cython.Py_ssize_t = 1
    room.cycle[0] = arc
    node: cython.longlong = room.arc_from[arc]
    while node != room.arc_to[arc]:
        room.cycle[length] = room.into[node]
        length += 1
        node = room.arc_from[room.into[node]]
    return length


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def least_period(
    room: Selection, low: cython.longlong, most: cython.longlong, near: cython.longlong
) -> cython.longlong:  # fmt: skip
    """Return the least period from ``low`` to ``most`` of the selection, else NEVER; it may be ``near``.

    Fills ``critical`` with the arcs that forbid less and ``moved`` with a schedule. From one cycle's ratio to the next
    larger one, first from one tick below ``near``.
    """
    period: cython.longlong = max(low, min(near - 1, most))
    is_first: cython.bint = period > low
    room.criticals = 0
    while True:
        _try_moved(room)
        length = _raise_times(room, period)
        if length == 0 and (not is_first or period == low):
            break
        if length == 0:
            period = low
        else:
            ticks = 0
            periods = 0
            for k in range(length):
                room.critical[k] = room.cycle[k]
                ticks += room.arc_ticks[room.cycle[k]]
                periods += room.arc_periods[room.cycle[k]]
            if periods <= 0 or (ticks + periods - 1) // periods > most:
                return NEVER
            room.criticals = length
            period = (ticks + periods - 1) // periods
        is_first = False
    for k in range(room.moved.shape[0]):
        room.moved[k] = room.tried[k]
    return period


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _try_moved(room: Selection) -> cython.void:
    for k in range(room.moved.shape[0]):
        room.tried[k] = room.moved[k]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def copy(source: cython.const_longlong[::1], target: cython.longlong[::1]) -> cython.void:
    """Fill ``target`` with the times in ``source``."""
    for k in range(source.shape[0]):
        target[k] = source[k]


def evaluate(
    graph: Graph,
    room: Selection,
    time: cython.longlong[::1],
    period: cython.longlong,
    low: cython.longlong,
    most: cython.longlong,
) -> int:
    """Return the least period from ``low`` to ``most`` of the selection that ``time`` induces at ``period``, or NEVER.

    Fills ``time`` with a schedule of it.
    """
    with cython.nogil:
        copy(time, room.moved)
        select(graph, room, period)
        least = least_period(room, low, most, low)
        if least != NEVER:
            copy(room.moved, time)
    return int(least)
