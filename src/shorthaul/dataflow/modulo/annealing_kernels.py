"""A local search over selections: simulated annealing with moves on the critical cycle."""

from __future__ import annotations

import cython
from cython.cimports.libc.math import log, pow  # noqa: A004 -- the function of C
from cython.cimports.shorthaul.core.compiled.random_kernels import Random
from cython.cimports.shorthaul.dataflow.mapping.mapping_kernels import floor_division
from cython.cimports.shorthaul.dataflow.modulo.selection_kernels import Graph, Selection, copy, least_period, select

READ = cython.declare(cython.longlong, 1)
WRITE = cython.declare(cython.longlong, 3)
#: How often a move undoes an arc of the critical cycle. Not measured.
CRITICAL = cython.declare(cython.double, 0.6)
#: How often it goes on to the next arc between accesses.
FAR = cython.declare(cython.double, 0.5)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _place(graph: Graph, room: Selection, node: cython.longlong, at: cython.longlong) -> cython.void:
    """Put an access at a time; what comes before or after it in its firing gives way, as little as possible."""
    f: cython.longlong = graph.firing[node]
    begin: cython.longlong = graph.first[f]
    middle: cython.longlong = graph.execution[f]
    end: cython.longlong = graph.stop[f] - 1
    room.moved[node] = at
    if graph.kind[node] == READ:
        room.moved[begin] = min(room.moved[begin], at)
        room.moved[middle] = max(room.moved[middle], at)
        for k in range(middle + 1, end):
            room.moved[k] = max(room.moved[k], room.moved[middle])
            room.moved[end] = max(room.moved[end], room.moved[k])
    else:
        room.moved[end] = max(room.moved[end], at)
        room.moved[middle] = min(room.moved[middle], at)
        for k in range(begin + 1, middle):
            room.moved[k] = min(room.moved[k], room.moved[middle])
            room.moved[begin] = min(room.moved[begin], room.moved[k])
    room.moved[end] = max(room.moved[end], room.moved[middle])
    room.moved[begin] = min(room.moved[begin], room.moved[middle])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_access(graph: Graph, node: cython.longlong) -> cython.bint:
    return graph.kind[node] == READ or graph.kind[node] == WRITE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _shift(graph: Graph, room: Selection, f: cython.longlong, by: cython.longlong) -> cython.void:
    for k in range(graph.first[f], graph.stop[f]):
        room.moved[k] += by


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _exchange(
    graph: Graph, room: Selection, random: Random, count: cython.Py_ssize_t, period: cython.longlong
) -> cython.void:
    """Undo one of ``count`` critical arcs, or several in a row: let accesses at their ends swap, or firings."""
    first: cython.Py_ssize_t = random.below(count)
    last: cython.Py_ssize_t = first
    lag: cython.longlong = room.tight_lag[first]
    how: cython.double = random.real()
    if _is_access(graph, room.tight_from[first]) and _is_access(graph, room.tight_to[first]):
        # arcs of a cycle are listed from the last to the first
        while first + 1 < count and random.real() < FAR and _is_access(graph, room.tight_from[first + 1]):
            first += 1
            lag += room.tight_lag[first]
        while last > 0 and random.real() < FAR and _is_access(graph, room.tight_to[last - 1]):
            last -= 1
            lag += room.tight_lag[last]
    i: cython.longlong = room.tight_from[first]
    j: cython.longlong = room.tight_to[last]
    lag *= period
    before: cython.longlong = room.moved[i] - lag
    after: cython.longlong = room.moved[j] + lag
    if _is_access(graph, i) and _is_access(graph, j):
        if how < 0.6:
            _place(graph, room, j, before - (how < 0.4))
        if how >= 0.4:
            _place(graph, room, i, after + (how >= 0.6))
        return
    i = graph.firing[i]
    j = graph.firing[j]
    by = room.moved[graph.stop[j] - 1] + lag - room.moved[graph.first[i]]
    if how >= 0.5 or i == j:
        by = cython.cast(cython.longlong, (random.real() - 0.5) * 0.5 * period)
    elif how >= 0.25:
        by = room.moved[graph.first[i]] - lag - room.moved[graph.stop[j] - 1]
    if random.real() < 0.5 if how >= 0.5 else how >= 0.25:
        i = j
    _shift(graph, room, i, by)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _scatter(graph: Graph, room: Selection, random: Random, period: cython.longlong) -> cython.void:
    """Move a random access within its firing, or a random firing, with its pauses or without."""
    how: cython.double = random.real()
    at: cython.longlong = cython.cast(cython.longlong, random.real() * period)
    k: cython.Py_ssize_t
    if how < 0.5 and graph.accesses.shape[0] > 0:
        node = graph.accesses[random.below(graph.accesses.shape[0])]
        f = graph.firing[node]
        span = room.moved[graph.stop[f] - 1] - room.moved[graph.first[f]]
        _place(graph, room, node, room.moved[graph.first[f]] - ((period - span) >> 1) + at)
        return
    f = random.below(graph.first.shape[0])
    if how < 0.75:
        _shift(graph, room, f, at - room.moved[graph.first[f]])
        return
    for k in range(graph.first[f], graph.stop[f]):
        room.moved[k] = at
        at += graph.duration[k]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rebase(graph: Graph, room: Selection, period: cython.longlong) -> cython.void:
    """Take whole periods off units of firings, so that their first one begins in the first period."""
    k: cython.Py_ssize_t
    for f in range(graph.first.shape[0] - 1, -1, -1):  # the leaders last: the others look at them
        by = floor_division(room.moved[graph.first[graph.leader[f]]], period) * period
        for k in range(graph.first[f], graph.stop[f]):
            room.moved[k] -= by


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _accept(graph: Graph, room: Selection, period: cython.longlong) -> cython.void:
    """Make ``moved`` the schedule at hand, and note its critical arcs."""
    _rebase(graph, room, period)
    for k in range(room.moved.shape[0]):
        room.time[k] = room.moved[k]
    for k in range(room.criticals):
        i = room.arc_from[room.critical[k]]
        j = room.arc_to[room.critical[k]]
        room.tight_from[k] = i
        room.tight_to[k] = j
        room.tight_lag[k] = floor_division(
            room.time[i] + room.arc_ticks[room.critical[k]] - room.time[j] + period - 1, period
        )


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
    with cython.nogil:
        period = _anneal(graph, room, random, best, period, low, moves, hot, cold)
    return int(period)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _anneal(
    graph: Graph,
    room: Selection,
    random: Random,
    best: cython.longlong[::1],
    period: cython.longlong,
    low: cython.longlong,
    moves: cython.longlong,
    hot: cython.double,
    cold: cython.double,
) -> cython.longlong:
    least: cython.longlong = period
    tight: cython.Py_ssize_t = 0
    copy(best, room.time)
    for number in range(-1, moves):
        copy(room.time, room.moved)
        limit = period
        if number >= 0:  # the first turn evaluates the selection at hand
            if tight and random.real() < CRITICAL:
                _exchange(graph, room, random, tight, period)
            else:
                _scatter(graph, room, random, period)
            heat = hot * pow(cold / hot, cython.cast(cython.double, number) / moves)
            limit += cython.cast(cython.longlong, -heat * log(1.0 - random.real()))
        select(graph, room, period)
        found = least_period(room, low, limit, period)
        if found > limit:
            continue
        period = found
        tight = room.criticals
        _accept(graph, room, period)
        if period < least:
            least = period
            copy(room.time, best)
            if least == low:
                break
    return least
