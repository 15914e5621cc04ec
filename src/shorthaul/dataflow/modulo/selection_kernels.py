"""Orders on all resources (a selection of the cyclic disjunctive graph), and their least period.

Any times induce a selection: on every resource, tasks follow each other as their times do modulo the period. Its
least period is the maximum cycle ratio of the arcs between successors, found with longest paths that start at the
times at hand. Only nodes that get later are looked at.
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


def _rows(keys: Any, nodes: int) -> tuple[Any, Any]:
    """Return for each node where its rows begin in the second array, which has the rows of all nodes in turn."""
    return np.searchsorted(np.sort(keys), np.arange(nodes + 1)).astype(np.int64), np.argsort(keys, kind="stable")


@cython.final
@cython.cclass
class Selection:
    """Times of all nodes, the arcs of a selection, and room to work in.

    Arc k says: time[target[k]] >= time[source[k]] + ticks[k] - periods[k] * P. Every task of an interconnect and of a
    core has one, to its successor there, then every node, to the next one of its firing, then tokens.
    """

    def __init__(self, graph: Graph) -> None:
        on, at_core, tokens = np.asarray(graph.on), np.asarray(graph.at_core), np.asarray(graph.tokens)
        duration, first = np.asarray(graph.duration), np.asarray(graph.first)
        nodes = len(duration)
        everything = np.arange(nodes)
        begins = first[at_core]
        ends = np.asarray(graph.stop)[at_core] - 1
        sizes = np.concatenate([np.diff(graph.on_at), np.diff(graph.core_at)])
        starts = np.cumsum(sizes) - sizes
        self.slots = len(on) + len(at_core)
        #: The group of each slot, the place of the one after each, and whether that is the first of its group.
        group = np.repeat(np.arange(len(sizes)), sizes)
        succeeding = np.arange(1, self.slots + 1)
        succeeding[starts + sizes - 1] = starts
        self.grouped = group, succeeding, succeeding <= np.arange(self.slots)
        source = np.concatenate([on, ends, everything, tokens[:, 0]])
        entry = np.concatenate([on, begins, everything])
        arcs = len(source)
        self.source, self.entry = source, entry
        self.ticks = np.concatenate([duration[on], 0 * ends, duration, tokens[:, 2]])
        self.target = np.concatenate([entry, tokens[:, 1]])
        self.periods = np.concatenate([0 * entry, tokens[:, 3]])
        self.following, self.leading = np.full(arcs, -1), np.full(arcs, -1)
        leaves = source.copy()
        leaves[self.slots + np.asarray(graph.stop) - 1] = nodes  # nothing comes after the end of a firing
        self.out_at, self.out = _rows(leaves, nodes)
        arrives = entry.copy()
        arrives[self.slots + first] = nodes
        self.entry_at, self.entries = _rows(arrives, nodes)
        self.token_at, rows = _rows(tokens[:, 1], nodes)
        self.tokens_to = rows + self.slots + nodes
        self.time, self.moved, self.kept = (np.zeros(nodes, np.int64) for _ in range(3))
        self.visited, self.touch, self.before, self.into = (np.zeros(nodes, np.int64) for _ in range(4))
        self.depth, self.after, self.ahead = (np.zeros(nodes + 1, np.int64) for _ in range(3))
        self.queue = np.zeros(nodes, np.int64)
        self.is_waiting = np.zeros(nodes, np.uint8)
        self.cycle, self.critical, self.critical_target, self.critical_periods = (
            np.zeros(nodes + 1, np.int64) for _ in range(4)
        )
        self.visit = self.steps = self.touched = self.head = self.waiting = self.criticals = 0

    def arrange(self, graph: Graph, times: Any, period: int) -> None:
        """Take times, and the selection that they induce at a period."""
        slots: int = self.slots
        times = np.asarray(times)
        group, succeeding, is_last = self.grouped
        turn, residue = np.divmod(times, period)
        entry = np.asarray(self.entry)
        order = np.lexsort((entry[:slots], residue[entry[:slots]], group))
        after = order[succeeding]
        target, periods, following, leading = map(np.asarray, (self.target, self.periods, self.following, self.leading))
        following[order], leading[after] = after, order
        target[order], periods[order] = entry[after], turn[entry[order]] - turn[entry[after]] + is_last
        nodes = np.lexsort((np.arange(len(times)), times, np.asarray(graph.kind), np.asarray(graph.firing)))
        last, succeeding = slots + nodes[: len(nodes) - 1], slots + nodes[1:]
        following[last], leading[succeeding], target[last] = succeeding, last, nodes[1:]
        np.asarray(self.time)[:] = times
        self.criticals = 0
        self.steps += 4 * len(following)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def begin(room: Selection) -> cython.void:
    """Let no node wait, and none be touched."""
    root: cython.Py_ssize_t = room.time.shape[0]
    room.visit += 1
    room.touched = room.head = room.waiting = 0
    room.after[root] = room.ahead[root] = root
    room.depth[root] = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _touch(room: Selection, node: cython.longlong) -> cython.void:
    if room.visited[node] != room.visit:
        room.visited[node] = room.visit
        room.before[node] = room.time[node]
        room.touch[room.touched] = node
        room.touched += 1
        room.depth[node] = -1
        room.is_waiting[node] = False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def set_time(room: Selection, node: cython.longlong, at: cython.longlong) -> cython.void:
    """Let a node be at a time, until it is taken back."""
    _touch(room, node)
    room.time[node] = at


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_back(room: Selection) -> cython.void:
    """Give all touched nodes the times of before."""
    for k in range(room.touched):
        room.time[room.touch[k]] = room.before[room.touch[k]]
    room.steps += room.touched


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _wait(room: Selection, node: cython.longlong) -> cython.void:
    """Let a node wait, as a tree of its own."""
    root: cython.Py_ssize_t = room.time.shape[0]
    _touch(room, node)
    if not room.is_waiting[node]:
        room.is_waiting[node] = True
        room.queue[room.waiting] = node
        room.waiting += 1
        last = room.after[root]
        room.after[root], room.ahead[node], room.after[node], room.ahead[last] = node, root, last, node
        room.depth[node] = 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _holds(room: Selection, arc: cython.longlong, period: cython.longlong) -> cython.bint:
    least: cython.longlong = room.time[room.source[arc]] + room.ticks[arc] - room.periods[arc] * period
    return least <= room.time[room.target[arc]]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def wait_if_late(room: Selection, node: cython.longlong, period: cython.longlong) -> cython.void:
    """Let a node wait if an arc that leaves it does not hold."""
    for k in range(room.out_at[node], room.out_at[node + 1]):
        if not _holds(room, room.out[k], period):
            _wait(room, node)
            break
    room.steps += 2


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def wait_around(room: Selection, node: cython.longlong, period: cython.longlong) -> cython.void:
    """Let a node wait, or those before it, if arcs between them do not hold."""
    wait_if_late(room, node, period)
    for k in range(room.entry_at[node], room.entry_at[node + 1]):
        arc = room.leading[room.entries[k]]
        if not _holds(room, arc, period):
            _wait(room, room.source[arc])
    for k in range(room.token_at[node], room.token_at[node + 1]):
        if not _holds(room, room.tokens_to[k], period):
            _wait(room, room.source[room.tokens_to[k]])
    room.steps += 4


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def raise_times(room: Selection, period: cython.longlong) -> cython.Py_ssize_t:
    """Raise times until all arcs hold; return 0, or the length of a cycle (filled with arcs) that never will.

    What arcs made late is a forest. Where a node gets later, what hangs on it is cut off, as it will get later, too: so
    a cycle shows as soon as it closes (Tarjan 1981; Cherkassky and Goldberg, *Negative-cycle detection algorithms*).
    """
    time: cython.longlong[::1] = room.time
    depth: cython.longlong[::1] = room.depth
    after: cython.longlong[::1] = room.after
    ahead: cython.longlong[::1] = room.ahead
    queue: cython.longlong[::1] = room.queue
    nodes: cython.Py_ssize_t = time.shape[0]
    first: cython.Py_ssize_t = 0
    waiting: cython.Py_ssize_t = room.waiting
    last: cython.Py_ssize_t = waiting if waiting < nodes else 0
    steps: cython.longlong = 0
    e: cython.Py_ssize_t
    k: cython.longlong
    u: cython.longlong
    v: cython.longlong
    w: cython.longlong
    while waiting:
        u = queue[first]
        first = first + 1 if first + 1 < nodes else 0
        waiting -= 1
        room.is_waiting[u] = False
        if depth[u] < 0:
            continue
        for e in range(room.out_at[u], room.out_at[u + 1]):
            k = room.out[e]
            steps += 2
            v = room.target[k]
            least = time[u] + room.ticks[k] - room.periods[k] * period
            if least <= time[v]:
                continue
            _touch(room, v)
            w = after[v]
            if depth[v] >= 0:
                while depth[w] > depth[v] and w != u:
                    steps += 2
                    depth[w] = -1
                    w = after[w]
                after[ahead[v]], ahead[w] = w, ahead[v]
            if (w == u and depth[v] >= 0 and depth[u] > depth[v]) or u == v:
                room.steps += steps
                return _cycle_through(room, k)
            time[v] = least
            room.into[v] = k
            w = after[u]
            after[u], ahead[v], after[v], ahead[w] = v, u, w, v
            depth[v] = depth[u] + 1
            steps += 5
            if not room.is_waiting[v]:
                room.is_waiting[v] = True
                queue[last] = v
                last = last + 1 if last + 1 < nodes else 0
                waiting += 1
    room.steps += steps
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cycle_through(room: Selection, arc: cython.longlong) -> cython.Py_ssize_t:
    """Fill ``cycle`` with the arcs from the begin of an arc back to its end; return how many."""
    length: cython.Py_ssize_t = 1
    room.cycle[0] = arc
    node: cython.longlong = room.source[arc]
    while node != room.target[arc]:
        room.cycle[length] = room.into[node]
        length += 1
        node = room.source[room.into[node]]
    return length


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def ratio(room: Selection, length: cython.Py_ssize_t) -> cython.longlong:
    """Return the least period that the cycle found allows, or NEVER."""
    ticks: cython.longlong = 0
    periods: cython.longlong = 0
    for k in range(length):
        ticks += room.ticks[room.cycle[k]]
        periods += room.periods[room.cycle[k]]
    return (ticks + periods - 1) // periods if periods > 0 else NEVER


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_critical(room: Selection, length: cython.Py_ssize_t) -> cython.void:
    """Let the cycle found be the critical one."""
    room.criticals = length
    for k in range(length):
        arc = room.cycle[k]
        room.critical[k] = arc
        room.critical_target[k] = room.target[arc]
        room.critical_periods[k] = room.periods[arc]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_critical(room: Selection) -> cython.bint:
    """Return whether all arcs of the critical cycle are still there."""
    for k in range(room.criticals):
        arc = room.critical[k]
        if room.target[arc] != room.critical_target[k] or room.periods[arc] != room.critical_periods[k]:
            return False
    return room.criticals > 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep(room: Selection) -> cython.void:
    """Keep the times."""
    for k in range(room.time.shape[0]):
        room.kept[k] = room.time[k]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def restore(room: Selection) -> cython.void:
    """Take the times that were kept."""
    for k in range(room.time.shape[0]):
        room.time[k] = room.kept[k]
    room.steps += room.time.shape[0]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def rescale(room: Selection, period: cython.longlong, other: cython.longlong) -> cython.void:
    """Take the times kept with the same residues in the same turns of another period: a schedule if that is longer."""
    inverse: cython.double = 1.0 / period
    for k in range(room.time.shape[0]):
        turn = cython.cast(cython.longlong, room.kept[k] * inverse)  # off by little
        rest = room.kept[k] - turn * period
        while rest < 0:
            turn -= 1
            rest += period
        while rest >= period:
            turn += 1
            rest -= period
        room.time[k] = room.kept[k] + turn * (other - period)
    room.steps += room.time.shape[0]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def least_period(
    room: Selection, low: cython.longlong, most: cython.longlong, period: cython.longlong
) -> cython.longlong:  # fmt: skip
    """Return the least period from ``low`` to ``most`` of the selection, else NEVER.

    Starts from times kept that may be good for ``period``. Fills ``critical`` with the arcs that forbid less and
    ``time`` with a schedule. From one cycle's ratio to the next larger one.
    """
    at: cython.longlong = low
    room.criticals = 0
    while at <= most:
        rescale(room, period, at)
        begin(room)
        for node in range(room.time.shape[0]):
            wait_if_late(room, node, at)
        length = raise_times(room, at)
        if length == 0:
            return at
        at = ratio(room, length)
        note_critical(room, length)
    return NEVER


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
    room.arrange(graph, time, period)
    with cython.nogil:
        keep(room)
        least = least_period(room, low, most, period)
        if least != NEVER:
            for k in range(time.shape[0]):
                time[k] = room.time[k]
    return int(least)
