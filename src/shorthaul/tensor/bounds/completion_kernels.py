"""What groups in the making may still gain, for each box of granularities and each level of room left in fast memory.

A *room* counts how many parts of fast memory are left. Whatever is held takes as many parts as fit into it, so rooms
are never too small.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import floor

INF = cython.declare(cython.double, float("inf"))
#: Rows of a table: time and traffic (as time), three each, elements held in first steps of tiles, and last ones.
TIME = cython.declare(cython.Py_ssize_t, 0)
HELD = cython.declare(cython.Py_ssize_t, 6)
ROWS = cython.declare(cython.Py_ssize_t, 8)


@cython.final
@cython.cclass
class Completions:
    """The diagram with a table for each arc, and the potentials of some boxes.

    ``potential[node, box, 2 * room + step, weight]`` is the most that a group may gain from a node on, less what that
    costs at this weight of time against traffic, if what it holds in the first (last) step fits into the room.
    """

    source: cython.const_longlong[::1]
    target: cython.const_longlong[::1]
    table: cython.const_longlong[::1]
    begin: cython.const_longlong[::1]
    stop: cython.const_longlong[::1]
    tables: cython.const_double[:, :, ::1]
    weights: cython.const_double[:, ::1]
    gains: cython.double[::1]
    potential: cython.double[:, :, :, ::1]
    capacity: cython.double
    rooms: cython.longlong
    first: cython.Py_ssize_t
    boxes: cython.Py_ssize_t

    def __init__(
        self,
        source: cython.const_longlong[::1],
        target: cython.const_longlong[::1],
        table: cython.const_longlong[::1],
        begin: cython.const_longlong[::1],
        stop: cython.const_longlong[::1],
        tables: cython.const_double[:, :, ::1],
        weights: cython.const_double[:, ::1],
        capacity: cython.double,
        rooms: cython.longlong,
        nodes: cython.longlong,
        boxes: cython.longlong,
    ) -> None:
        self.source = source
        self.target = target
        self.table = table
        self.begin = begin
        self.stop = stop
        self.tables = tables
        self.weights = weights
        self.gains = np.zeros(source.shape[0])
        self.potential = np.zeros((nodes, boxes, 2 * (rooms + 1), weights.shape[0]))
        self.capacity = capacity
        self.rooms = rooms
        self.first = 0
        self.boxes = boxes


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _follow(made: Completions, arc: cython.Py_ssize_t, box: cython.Py_ssize_t) -> cython.void:
    """Raise the potentials of an arc's source to what is gained along the arc."""
    table = made.table[arc]
    time: cython.double = made.tables[table, TIME, made.first + box]
    if time == INF:
        return
    source: cython.Py_ssize_t = made.source[arc]
    target: cython.Py_ssize_t = made.target[arc]
    step: cython.Py_ssize_t
    for step in range(2):
        held: cython.double = made.tables[table, HELD + step, made.first + box]
        if held > made.capacity:
            continue
        parts: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, floor(held / made.capacity * made.rooms))
        weight: cython.Py_ssize_t
        for weight in range(made.weights.shape[0]):
            net: cython.double = made.gains[arc]
            row: cython.Py_ssize_t
            for row in range(HELD):
                net -= made.weights[weight, row] * made.tables[table, row, made.first + box]
            room: cython.Py_ssize_t
            for room in range(parts, made.rooms + 1):
                value: cython.double = net + made.potential[target, box, 2 * (room - parts) + step, weight]
                if value > made.potential[source, box, 2 * room + step, weight]:
                    made.potential[source, box, 2 * room + step, weight] = value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill(made: Completions, end: cython.Py_ssize_t) -> cython.void:
    node: cython.Py_ssize_t
    box: cython.Py_ssize_t
    room: cython.Py_ssize_t
    weight: cython.Py_ssize_t
    for node in range(made.potential.shape[0]):
        value: cython.double = 0.0 if node == end else -INF
        for box in range(made.boxes):
            for room in range(made.potential.shape[2]):
                for weight in range(made.weights.shape[0]):
                    made.potential[node, box, room, weight] = value
    layer: cython.Py_ssize_t
    for layer in range(made.begin.shape[0] - 1, -1, -1):
        arc: cython.Py_ssize_t
        for arc in range(made.begin[layer], made.stop[layer]):
            for box in range(made.boxes):
                _follow(made, arc, box)


def prepare(made: Completions, gains: cython.double[::1], end: cython.longlong, first: int, boxes: int) -> None:
    """Work out the potentials of ``boxes`` boxes from ``first`` on, at these gains of the arcs."""
    made.gains = gains
    made.first = first
    made.boxes = boxes
    with cython.nogil:
        _fill(made, end)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hope(
    made: Completions,
    node: cython.Py_ssize_t,
    box: cython.Py_ssize_t,
    table: cython.double[:, :, ::1],
    group: cython.Py_ssize_t,
    worth: cython.double,
) -> cython.double:
    """Return what a group gains at most from a node on in a box, at the weight that shows the least."""
    least: cython.double = INF
    step: cython.Py_ssize_t
    for step in range(2):
        left: cython.double = made.capacity - table[group, HELD + step, box]
        if left < 0:
            return -INF
        room: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, floor(left / made.capacity * made.rooms))
        weight: cython.Py_ssize_t
        for weight in range(made.weights.shape[0]):
            hope: cython.double = worth + made.potential[node, box, 2 * room + step, weight]
            kind: cython.Py_ssize_t
            for kind in range(HELD):
                hope -= made.weights[weight, kind] * table[group, kind, box]
            least = min(least, hope)
            if least <= 0:
                return least
    return least


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add(
    made: Completions,
    row: cython.Py_ssize_t,
    group: cython.Py_ssize_t,
    arc: cython.Py_ssize_t,
    worth: cython.double,
    states: cython.double[:, :, ::1],
) -> cython.double:
    """Return what the group may gain in the best box, 0 if nothing."""
    number = made.table[arc]
    most: cython.double = 0.0
    box: cython.Py_ssize_t
    kind: cython.Py_ssize_t
    for box in range(made.boxes):
        states[group, TIME, box] = states[row, TIME, box] + made.tables[number, TIME, made.first + box]
        if states[group, TIME, box] == INF:
            continue
        for kind in range(TIME + 1, ROWS):
            states[group, kind, box] = states[row, kind, box] + made.tables[number, kind, made.first + box]
        hope: cython.double = _hope(made, made.target[arc], box, states, group, worth)
        most = max(most, hope)
        if hope <= 0:
            states[group, TIME, box] = INF
    return most


def add(
    made: Completions,
    states: cython.double[:, :, ::1],
    row: cython.const_longlong[::1],
    arc: cython.const_longlong[::1],
    worth: cython.const_double[::1],
    free: cython.const_longlong[::1],
    hope: cython.double[::1],
) -> int:
    """Write the tables of groups, given by row, with an arc added each, into rows that are free; return how many.

    Boxes without hope get an infinite time; ``hope`` gets 0 for groups without any left, which take no row.
    """
    group: cython.Py_ssize_t
    used: cython.Py_ssize_t = 0
    with cython.nogil:
        for group in range(arc.shape[0]):
            hope[group] = _add(made, row[group], free[used], arc[group], worth[group], states)
            if hope[group] > 0:
                used += 1
    return int(used)
