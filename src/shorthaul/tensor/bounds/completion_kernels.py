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

    ``potential[box, node, step, room, weight]`` is the most that a group may gain from a node on, less what that
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
    potential: cython.double[:, :, :, :, ::1]
    net: cython.double[::1]
    capacity: cython.double
    rooms: cython.longlong
    boxes: cython.const_longlong[::1]

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
        self.potential = np.zeros((boxes, nodes, 2, rooms + 1, weights.shape[0]))
        self.net = np.zeros(weights.shape[0])
        self.capacity = capacity
        self.rooms = rooms
        self.boxes = np.arange(0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _follow(made: Completions, arc: cython.Py_ssize_t, box: cython.Py_ssize_t) -> cython.void:
    """Raise the potentials of an arc's source to what is gained along the arc."""
    table = made.table[arc]
    number: cython.Py_ssize_t = made.boxes[box]
    time: cython.double = made.tables[table, TIME, number]
    if time == INF:
        return
    source: cython.Py_ssize_t = made.source[arc]
    target: cython.Py_ssize_t = made.target[arc]
    weight: cython.Py_ssize_t
    for weight in range(made.weights.shape[0]):
        made.net[weight] = made.gains[arc]
        row: cython.Py_ssize_t
        for row in range(HELD):
            made.net[weight] -= made.weights[weight, row] * made.tables[table, row, number]
    step: cython.Py_ssize_t
    for step in range(2):
        held: cython.double = made.tables[table, HELD + step, number]
        if held > made.capacity:
            continue
        parts: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, floor(held / made.capacity * made.rooms))
        room: cython.Py_ssize_t
        for room in range(parts, made.rooms + 1):
            for weight in range(made.weights.shape[0]):
                made.potential[box, source, step, room, weight] = max(
                    made.potential[box, source, step, room, weight],
                    made.net[weight] + made.potential[box, target, step, room - parts, weight],
                )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill(made: Completions) -> cython.void:
    box: cython.Py_ssize_t
    for box in range(made.boxes.shape[0]):
        layer: cython.Py_ssize_t
        for layer in range(made.begin.shape[0] - 1, -1, -1):
            arc: cython.Py_ssize_t
            for arc in range(made.begin[layer], made.stop[layer]):
                _follow(made, arc, box)


def prepare(
    made: Completions, gains: cython.double[::1], end: cython.longlong, boxes: cython.const_longlong[::1]
) -> None:
    """Work out the potentials of some boxes, given by number, at these gains of the arcs."""
    made.gains = gains
    made.boxes = boxes
    potential = np.asarray(made.potential)[: boxes.shape[0]]
    potential[...] = -INF
    potential[:, end] = 0.0
    with cython.nogil:
        _fill(made)


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
            hope: cython.double = worth + made.potential[box, node, step, room, weight]
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
    for box in range(made.boxes.shape[0]):
        column: cython.Py_ssize_t = made.boxes[box]
        states[group, TIME, box] = states[row, TIME, box] + made.tables[number, TIME, column]
        if states[group, TIME, box] == INF:
            continue
        for kind in range(TIME + 1, ROWS):
            states[group, kind, box] = states[row, kind, box] + made.tables[number, kind, column]
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
