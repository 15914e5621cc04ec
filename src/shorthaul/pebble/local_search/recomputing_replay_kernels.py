"""Compiled replay of orders that may compute values again, or of stretches of them."""

from __future__ import annotations

from typing import Any

import cython
import numpy as np
from cython.cimports.shorthaul.pebble.local_search.order_moves_kernels import Graph

#: The next use of a value that is not used again, as in :mod:`belady_kernels`.
NEVER = cython.declare(cython.longlong, 1 << 62)
#: The excess of an order that reads a value before it is computed.
BROKEN = cython.declare(cython.longlong, 1 << 61)


@cython.final
@cython.cclass
class Frame:
    """What lies before and after a stretch of an order, per node."""

    first_state: cython.const_longlong[::1]  # 0: nowhere in slow memory, 1: there, 2: an input that was not loaded yet
    first_red: cython.const_longlong[::1]  # 1: in fast memory before
    after: cython.const_longlong[::1]  # steps after the end at which it is read next, or NEVER
    last_red: cython.const_longlong[::1]  # 1: to be in fast memory at the end
    last_saved: cython.const_longlong[::1]  # 1: to be in slow memory at the end

    def __init__(
        self,
        first_state: cython.const_longlong[::1],
        first_red: cython.const_longlong[::1],
        after: cython.const_longlong[::1],
        last_red: cython.const_longlong[::1],
        last_saved: cython.const_longlong[::1],
    ) -> None:
        self.first_state = first_state
        self.first_red = first_red
        self.after = after
        self.last_red = last_red
        self.last_saved = last_saved


@cython.final
@cython.cclass
class Replay:
    """Replays of the first ``count`` computations of ``order``, repeats allowed, at most as many as it has room for."""

    graph: Graph
    frame: Frame
    budget: cython.longlong
    order: cython.longlong[::1]
    count: cython.longlong
    upcoming: cython.longlong[::1]  # when each value is read next
    place: cython.longlong[::1]  # in the list of red values, -1: not red
    pinned: cython.longlong[::1]  # the step at which the value was an operand last
    state: cython.longlong[::1]  # as Frame.first_state, by now
    red: cython.longlong[::1]
    chosen: cython.longlong[::1]  # what gives way before a step
    read: cython.longlong[::1]  # for each operand of each step, when it is read again
    made: cython.longlong[::1]  # for each step, when its result is read first
    size: cython.longlong
    room: cython.longlong
    cost: cython.longlong
    work: cython.longlong  # nodes, edges and values looked at

    def __init__(
        self, graph: Graph, frame: Frame, budget: cython.longlong, order: cython.longlong[::1], count: cython.longlong
    ) -> None:
        n = graph.weights.shape[0]
        most = order.shape[0]
        degrees = np.diff(np.asarray(graph.starts))
        self.graph = graph
        self.frame = frame
        self.budget = budget
        self.order = order
        self.count = count
        self.upcoming = np.empty(n, np.int64)
        self.place = np.empty(n, np.int64)
        self.pinned = np.empty(n, np.int64)
        self.state = np.empty(n, np.int64)
        self.red = np.empty(n, np.int64)
        self.chosen = np.empty(n, np.int64)
        self.read = np.empty(graph.parents.shape[0] + most * int(degrees.max(initial=0)), np.int64)
        self.made = np.empty(most, np.int64)
        self.size = 0
        self.room = 0
        self.cost = 0
        self.work = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put(replay: Replay, value: cython.longlong) -> cython.void:
    """Let ``value`` be red."""
    replay.red[replay.size] = value
    replay.place[value] = replay.size
    replay.size += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _drop(replay: Replay, value: cython.longlong) -> cython.void:
    """Let ``value`` not be red any more."""
    replay.size -= 1
    last = replay.red[replay.size]
    replay.red[replay.place[value]] = last
    replay.place[last] = replay.place[value]
    replay.place[value] = -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _look_ahead(replay: Replay, graph: Graph, frame: Frame) -> cython.void:
    """Find when values are read next, and take what is in fast memory at first."""
    time: cython.Py_ssize_t
    edge: cython.Py_ssize_t
    total: cython.longlong = 0
    for node in range(graph.weights.shape[0]):
        replay.upcoming[node] = NEVER if frame.after[node] == NEVER else replay.count + frame.after[node]
        replay.place[node] = -1
        replay.pinned[node] = -1
        replay.state[node] = frame.first_state[node]
    for time in range(replay.count):
        total += graph.starts[replay.order[time] + 1] - graph.starts[replay.order[time]]
    replay.work += graph.weights.shape[0] + replay.count + total
    for time in range(replay.count - 1, -1, -1):
        node = replay.order[time]
        replay.made[time] = replay.upcoming[node]
        replay.upcoming[node] = NEVER
        for edge in range(graph.starts[node + 1] - 1, graph.starts[node] - 1, -1):
            total -= 1
            replay.read[total] = replay.upcoming[graph.parents[edge]]
            replay.upcoming[graph.parents[edge]] = time
    replay.room = replay.budget
    replay.size = 0
    for node in range(graph.weights.shape[0]):
        if frame.first_red[node] == 1 and replay.upcoming[node] < NEVER:
            _put(replay, node)
            replay.room -= graph.weights[node]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _farthest_used(replay: Replay, time: cython.longlong, penalty: cython.double) -> cython.longlong:
    """Return the red value whose next use is farthest, those not in slow memory count as nearer; -1 if all are read."""
    victim: cython.longlong = -1
    farthest: cython.double = -1.0
    is_dirty: cython.bint = False
    dirty: cython.bint
    place: cython.Py_ssize_t
    replay.work += replay.size
    for place in range(replay.size):
        other = replay.red[place]
        if replay.pinned[other] == time:
            continue
        far = cython.cast(cython.double, replay.upcoming[other] - time)
        if far < farthest:  # penalties are at least 1
            continue
        dirty = replay.state[other] == 0
        if dirty:
            far /= penalty
        # of equals those in slow memory first, then by index
        if far > farthest or (far == farthest and (is_dirty if dirty != is_dirty else other < victim)):
            farthest = far
            victim = other
            is_dirty = dirty
    return victim


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _makes_room(
    replay: Replay, graph: Graph, need: cython.longlong, time: cython.longlong, penalty: cython.double
) -> cython.bint:
    """Let values give way until ``need`` fits; False if that is impossible."""
    count: cython.longlong = 0
    place: cython.Py_ssize_t
    while replay.room < need:
        victim = _farthest_used(replay, time, penalty)
        if victim < 0:
            return False
        replay.room += graph.weights[victim]
        _drop(replay, victim)
        replay.chosen[count] = victim
        count += 1
    # those used soonest stay after all, if the others make enough room
    for place in range(count - 1, -1, -1):
        victim = replay.chosen[place]
        if replay.room - graph.weights[victim] >= need:
            replay.room -= graph.weights[victim]
            _put(replay, victim)
        elif replay.state[victim] == 0:
            replay.state[victim] = 1
            replay.cost += graph.weights[victim]
    return True


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def excess(replay: Replay, penalty: cython.double, limit: cython.longlong) -> cython.longlong:
    """Return what :func:`belady_kernels.replay` moves beyond inputs and outputs, or any number above ``limit``.

    The computations may be a stretch of a longer order: ``frame`` tells what lies around it, and what has to be loaded
    or stored after it to be as the frame asks counts too.
    """
    return _excess(replay, replay.graph, replay.frame, penalty, limit)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _excess(
    replay: Replay, graph: Graph, frame: Frame, penalty: cython.double, limit: cython.longlong
) -> cython.longlong:  # fmt: skip
    time: cython.Py_ssize_t
    edge: cython.Py_ssize_t
    reads: cython.longlong = 0
    replay.cost = 0
    _look_ahead(replay, graph, frame)
    for time in range(replay.count):
        node = replay.order[time]
        need = graph.weights[node]
        for edge in range(graph.starts[node], graph.starts[node + 1]):
            parent = graph.parents[edge]
            replay.pinned[parent] = time
            if replay.place[parent] < 0:
                need += graph.weights[parent]
                if replay.state[parent] == 1:
                    replay.cost += graph.weights[parent]
                elif replay.state[parent] == 0:
                    return BROKEN
        if replay.cost > limit:
            return replay.cost
        if replay.room < need and not _makes_room(replay, graph, need, time, penalty):
            return BROKEN
        for edge in range(graph.starts[node], graph.starts[node + 1]):
            parent = graph.parents[edge]
            replay.upcoming[parent] = replay.read[reads]
            if replay.place[parent] < 0:
                if replay.state[parent] == 2:
                    replay.state[parent] = 1
                if replay.read[reads] < NEVER:
                    _put(replay, parent)
                    replay.room -= graph.weights[parent]
            elif replay.read[reads] == NEVER:
                _drop(replay, parent)
                replay.room += graph.weights[parent]
            reads += 1
        if replay.made[time] < NEVER:
            replay.upcoming[node] = replay.made[time]
            _put(replay, node)
            replay.room -= graph.weights[node]
    for node in range(graph.weights.shape[0]):
        if frame.last_red[node] == 1 and replay.place[node] < 0 and replay.state[node] == 1:
            replay.cost += graph.weights[node]
        if frame.last_saved[node] == 1 and replay.state[node] == 0:
            replay.cost += graph.weights[node]
    return replay.cost


def upcoming_reads(
    order: cython.const_longlong[::1],
    first: cython.Py_ssize_t,
    starts: cython.const_longlong[::1],
    parents: cython.const_longlong[::1],
) -> Any:
    """Return in how many steps from ``first`` each value is read, ``NEVER`` if it is not, or computed before."""
    upcoming: cython.longlong[::1] = np.full(starts.shape[0] - 1, NEVER, np.int64)
    with cython.nogil:
        _find_reads(order, first, starts, parents, upcoming)
    return np.asarray(upcoming)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_reads(
    order: cython.const_longlong[::1],
    first: cython.Py_ssize_t,
    starts: cython.const_longlong[::1],
    parents: cython.const_longlong[::1],
    upcoming: cython.longlong[::1],
) -> cython.void:
    edge: cython.Py_ssize_t
    for time in range(order.shape[0] - 1, first - 1, -1):
        node = order[time]
        upcoming[node] = NEVER
        for edge in range(starts[node], starts[node + 1]):
            upcoming[parents[edge]] = time - first
