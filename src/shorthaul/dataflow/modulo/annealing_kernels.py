"""A local search over selections: simulated annealing with moves on the critical cycle.

A move gives nodes of one firing or two other times, and these other places on their resources. Whether the period at
hand still suffices is found from these nodes on; what they do not make late is not looked at.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log, pow  # noqa: A004 -- the function of C
from cython.cimports.shorthaul.core.compiled.random_kernels import Random
from cython.cimports.shorthaul.dataflow.mapping.mapping_kernels import floor_division
from cython.cimports.shorthaul.dataflow.modulo.selection_kernels import (
    Graph,
    Selection,
    begin,
    is_critical,
    keep,
    least_period,
    note_critical,
    raise_times,
    ratio,
    rescale,
    restore,
    set_time,
    take_back,
    wait_around,
    wait_if_late,
)

READ = cython.declare(cython.longlong, 1)
WRITE = cython.declare(cython.longlong, 3)
#: The period of a selection that no period suffices for, or that was given up.
NEVER = cython.declare(cython.longlong, 1 << 60)
#: How often a move undoes an arc of the critical cycle (30 to 92 random actors: 0.9 and 0.4 end 1 % higher).
CRITICAL = cython.declare(cython.double, 0.6)
#: How often it goes on to the next arc between accesses (0.5 and 0.96 end 1 % higher), and how often the later end is
#: the one that moves.
FAR, LATER = cython.declare(cython.double, 0.9), cython.declare(cython.double, 0.6)
#: How often a move by chance is of an access, not of a firing (0.5: 1 % higher).
OF_ACCESS = cython.declare(cython.double, 0.9)


@cython.final
@cython.cclass
class Move:
    """Nodes that change times, and what changes places for it, with what was before each and how many periods away."""

    def __init__(self, graph: Graph, room: Selection) -> None:
        nodes = len(graph.duration)
        self.node, self.at = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
        arcs = np.asarray(room.source).shape[0]
        self.arc, self.leader, self.lag = (np.zeros(arcs, np.int64) for _ in range(3))
        self.nodes = self.arcs = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_access(graph: Graph, node: cython.longlong) -> cython.bint:
    return graph.kind[node] == READ or graph.kind[node] == WRITE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _place(graph: Graph, room: Selection, node: cython.longlong, at: cython.longlong) -> cython.void:
    """Put an access at a time; what comes before or after it in its firing gives way, as little as possible."""
    f: cython.longlong = graph.firing[node]
    first: cython.longlong = graph.first[f]
    middle: cython.longlong = graph.execution[f]
    end: cython.longlong = graph.stop[f] - 1
    room.moved[node] = at
    if graph.kind[node] == READ:
        room.moved[first] = min(room.moved[first], at)
        room.moved[middle] = max(room.moved[middle], at)
        for k in range(middle + 1, end):
            room.moved[k] = max(room.moved[k], room.moved[middle])
            room.moved[end] = max(room.moved[end], room.moved[k])
    else:
        room.moved[end] = max(room.moved[end], at)
        room.moved[middle] = min(room.moved[middle], at)
        for k in range(first + 1, middle):
            room.moved[k] = min(room.moved[k], room.moved[middle])
            room.moved[first] = min(room.moved[first], room.moved[k])
    room.moved[end] = max(room.moved[end], room.moved[middle])
    room.moved[first] = min(room.moved[first], room.moved[middle])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin_with(graph: Graph, room: Selection, f: cython.longlong) -> cython.void:
    for k in range(graph.first[f], graph.stop[f]):
        room.moved[k] = room.time[k]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _note_moved(graph: Graph, room: Selection, move: Move, f: cython.longlong) -> cython.void:
    for k in range(graph.first[f], graph.stop[f]):
        if room.moved[k] != room.time[k]:
            move.node[move.nodes] = k
            move.at[move.nodes] = room.moved[k]
            move.nodes += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _shift(graph: Graph, room: Selection, f: cython.longlong, by: cython.longlong) -> cython.void:
    for k in range(graph.first[f], graph.stop[f]):
        room.moved[k] += by


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _exchange(graph: Graph, room: Selection, move: Move, random: Random, period: cython.longlong) -> cython.void:
    """Undo a critical arc, or several in a row: put an end of it beyond the other, or shift a firing."""
    count: cython.Py_ssize_t = room.criticals
    first: cython.Py_ssize_t = random.below(count)
    last: cython.Py_ssize_t = first
    lag: cython.longlong = room.critical_periods[first]
    how: cython.double = random.real()
    if _is_access(graph, room.source[room.critical[first]]) and _is_access(graph, room.critical_target[first]):
        # arcs of a cycle are listed from the last to the first
        while first + 1 < count and random.real() < FAR and _is_access(graph, room.source[room.critical[first + 1]]):
            first += 1
            lag += room.critical_periods[first]
        while last > 0 and random.real() < FAR and _is_access(graph, room.critical_target[last - 1]):
            last -= 1
            lag += room.critical_periods[last]
    i: cython.longlong = room.source[room.critical[first]]
    j: cython.longlong = room.critical_target[last]
    f: cython.longlong = graph.firing[i]
    g: cython.longlong = graph.firing[j]
    lag *= period
    if _is_access(graph, i) and _is_access(graph, j):
        if how < LATER:
            f = g
        _begin_with(graph, room, f)
        if how < LATER:
            _place(graph, room, j, room.time[i] - lag - 1)
        else:
            _place(graph, room, i, room.time[j] + lag + 1)
    else:
        by = room.time[graph.stop[g] - 1] + lag - room.time[graph.first[f]]
        if how >= 0.5 or f == g:
            by = cython.cast(cython.longlong, (random.real() - 0.5) * 0.5 * period)
        elif how >= 0.25:
            by = room.time[graph.first[f]] - lag - room.time[graph.stop[g] - 1]
        if random.real() < 0.5 if how >= 0.5 else how >= 0.25:
            f = g
        _begin_with(graph, room, f)
        _shift(graph, room, f, by)
    _note_moved(graph, room, move, f)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _scatter(graph: Graph, room: Selection, move: Move, random: Random, period: cython.longlong) -> cython.void:
    """Move a random access within its firing, or a random firing, with its pauses or without."""
    how: cython.double = random.real()
    at: cython.longlong = cython.cast(cython.longlong, random.real() * period)
    k: cython.Py_ssize_t
    if how < OF_ACCESS and graph.accesses.shape[0] > 0:
        node = graph.accesses[random.below(graph.accesses.shape[0])]
        f = graph.firing[node]
        _begin_with(graph, room, f)
        span = room.moved[graph.stop[f] - 1] - room.moved[graph.first[f]]
        _place(graph, room, node, room.moved[graph.first[f]] - ((period - span) >> 1) + at)
    else:
        f = random.below(graph.first.shape[0])
        _begin_with(graph, room, f)
        at += floor_division(room.time[graph.first[graph.leader[f]]], period) * period
        if how < (1 + OF_ACCESS) / 2:
            _shift(graph, room, f, at - room.moved[graph.first[f]])
        else:
            for k in range(graph.first[f], graph.stop[f]):
                room.moved[k] = at
                at += graph.duration[k]
    _note_moved(graph, room, move, f)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cut(room: Selection, move: Move, arc: cython.longlong) -> cython.void:
    """Take the task of an arc out of its row, unless it is alone there."""
    before: cython.longlong = room.leading[arc]
    if before == arc:
        return
    move.arc[move.arcs] = arc
    move.leader[move.arcs] = before
    move.lag[move.arcs] = room.periods[before]
    move.arcs += 1
    _unlink(room, arc)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _unlink(room: Selection, arc: cython.longlong) -> cython.void:
    before: cython.longlong = room.leading[arc]
    after: cython.longlong = room.following[arc]
    room.following[before] = after
    room.leading[after] = before
    room.target[before] = room.target[arc]
    room.periods[before] += room.periods[arc]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _link(room: Selection, arc: cython.longlong, before: cython.longlong, lag: cython.longlong) -> cython.void:
    """Put the task of an arc behind another, so many periods away."""
    after: cython.longlong = room.following[before]
    room.following[before], room.leading[arc], room.following[arc], room.leading[after] = arc, before, after, arc
    room.target[arc] = room.target[before]
    room.target[before] = room.entry[arc]
    room.periods[arc] = room.periods[before] - lag
    room.periods[before] = lag


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _insert(
    room: Selection, arc: cython.longlong, before: cython.longlong, lag: cython.longlong, period: cython.longlong
) -> cython.void:
    """Put the task of an arc, ``lag`` periods behind another one's turn, where its time says."""
    start: cython.longlong = room.time[room.entry[before]]
    at: cython.longlong = room.time[room.entry[arc]] + lag * period
    turns: cython.longlong = floor_division(at - start, period)
    at -= turns * period
    lag -= turns
    passed: cython.longlong = 0
    if at - start <= period >> 1:
        while True:
            after = room.following[before]
            on = passed + room.periods[before]
            room.steps += 1
            if room.time[room.entry[after]] + on * period > at:
                break
            before = after
            passed = on
    else:
        passed = 1
        while room.time[room.entry[before]] + passed * period > at:
            before = room.leading[before]
            passed -= room.periods[before]
            room.steps += 1
    _link(room, arc, before, lag - passed)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _insert_in_firing(graph: Graph, room: Selection, arc: cython.longlong) -> cython.void:
    """Put an access among those of its firing where its time says."""
    node: cython.longlong = room.entry[arc]
    f: cython.longlong = graph.firing[node]
    before: cython.longlong = room.slots + (graph.first[f] if graph.kind[node] == READ else graph.execution[f])
    while True:
        after = room.target[before]
        if graph.kind[after] != graph.kind[node] or room.time[after] > room.time[node]:
            break
        before = room.following[before]
    _link(room, arc, before, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _reorder(graph: Graph, room: Selection, move: Move, period: cython.longlong) -> cython.void:
    """Give the nodes of a move their times, and the places that these say."""
    k: cython.Py_ssize_t
    move.arcs = 0
    for k in range(move.nodes):
        for e in range(room.entry_at[move.node[k]], room.entry_at[move.node[k] + 1]):
            if room.entries[e] < room.slots or _is_access(graph, move.node[k]):
                _cut(room, move, room.entries[e])
    begin(room)
    for k in range(move.nodes):
        set_time(room, move.node[k], move.at[k])
    for k in range(move.arcs - 1, -1, -1):
        if move.arc[k] < room.slots:
            _insert(room, move.arc[k], move.leader[k], move.lag[k], period)
        else:
            _insert_in_firing(graph, room, move.arc[k])
    room.steps += 8 * move.arcs


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _undo(room: Selection, move: Move) -> cython.void:
    """Let all tasks have the places of before."""
    k: cython.Py_ssize_t
    for k in range(move.arcs):
        _unlink(room, move.arc[k])
    for k in range(move.arcs - 1, -1, -1):
        _link(room, move.arc[k], move.leader[k], move.lag[k])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _period_after(
    graph: Graph, room: Selection, move: Move, period: cython.longlong, low: cython.longlong, most: cython.longlong
) -> cython.longlong:
    """Make a move from a schedule of ``period``; return the least period from ``low`` to ``most`` then.

    If there is none, NEVER, and all is as before.
    """
    k: cython.Py_ssize_t
    at: cython.longlong = period
    cycle: cython.Py_ssize_t = 0
    is_scaled: cython.bint = False
    _reorder(graph, room, move, period)
    while True:
        for k in range(move.nodes):
            wait_around(room, move.node[k], at)
        for k in range(move.arcs):
            wait_if_late(room, room.source[move.arc[k]], at)
        length = raise_times(room, at)
        if length == 0:
            break
        longer = ratio(room, length)
        cycle = length
        take_back(room)
        if longer > most:
            if is_scaled:
                restore(room)
            _undo(room, move)
            return NEVER
        if not is_scaled:
            keep(room)
        is_scaled = True
        at = longer
        rescale(room, period, at)
        begin(room)
        for k in range(move.nodes):
            turns = floor_division(move.at[k], period)
            set_time(room, move.node[k], move.at[k] + turns * (at - period))
    if is_scaled:
        note_critical(room, cycle)
    return at if at == low or is_critical(room) else _least(room, at, low)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _least(room: Selection, period: cython.longlong, low: cython.longlong) -> cython.longlong:
    """Return the least period from ``low`` on of a selection whose times are good for ``period``."""
    step: cython.longlong = 1
    while period > low:
        keep(room)
        found = least_period(room, max(low, period - step), period - 1, period)
        if found == NEVER:
            restore(room)
            return period
        period = found
        if room.criticals:
            break
        step = 4 * step + (period >> 10)
    return period


def improve(
    graph: Graph,
    room: Selection,
    random: Random,
    best: cython.longlong[::1],
    period: cython.longlong,
    low: cython.longlong,
    moves: cython.longlong,
    hot: cython.double,
    cold: cython.double,
) -> int:
    """Simulated annealing over selections from the schedule ``best``; return the least period seen, at best ``low``.

    Fills ``best`` with a schedule of that period. The temperature falls from ``hot`` to ``cold`` ticks; every other
    move or so undoes an arc of the critical cycle.
    """
    move = Move(graph, room)
    room.arrange(graph, best, period)
    with cython.nogil:
        period = _anneal(graph, room, move, random, best, period, low, moves, hot, cold)
    return int(period)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _anneal(
    graph: Graph,
    room: Selection,
    move: Move,
    random: Random,
    best: cython.longlong[::1],
    period: cython.longlong,
    low: cython.longlong,
    moves: cython.longlong,
    hot: cython.double,
    cold: cython.double,
) -> cython.longlong:
    least: cython.longlong = period + 1
    keep(room)
    found: cython.longlong = least_period(room, period, period, period)
    if found != NEVER and period > low:
        found = _least(room, period, low)
    for number in range(moves + 1):
        if found != NEVER:
            period = found
            if period < least:
                least = period
                for k in range(best.shape[0]):
                    best[k] = room.time[k]
        if least <= low or number == moves:
            break
        move.nodes = 0
        if room.criticals and random.real() < CRITICAL:
            _exchange(graph, room, move, random, period)
        else:
            _scatter(graph, room, move, random, period)
        heat = hot * pow(cold / hot, cython.cast(cython.double, number) / moves)
        limit = period + cython.cast(cython.longlong, -heat * log(1.0 - random.real()))
        found = _period_after(graph, room, move, period, low, limit)
    return min(least, period)
