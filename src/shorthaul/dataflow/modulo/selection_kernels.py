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
    """Raise ``tried`` until all arcs hold; return 0, or the length of a cycle (filled with arcs) that never will."""
    passes: cython.Py_ssize_t = 0
    changed: cython.bint
    for k in range(room.into.shape[0]):
        room.into[k] = -1
    for k in range(room.arcs):
        room.arc_least[k] = room.arc_ticks[k] - room.arc_periods[k] * period
    while True:
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
        passes += 1
        if passes % 2 == 0:
            k = _find_cycle(room)
            if k > 0:
                return k


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
