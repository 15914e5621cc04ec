"""Compiled loops of :mod:`list_scheduling`: a list scheduler that computes where most is done per weight moved."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.pebble.orders.list_scheduling_memory_kernels import State, compute

#: Children of a value that a look ahead follows.
MOST_CHILDREN = cython.declare(cython.longlong, 256)
#: Nodes that a look ahead computes, in multiples of those it may ask for.
MOST_AHEAD = cython.declare(cython.longlong, 8)
#: Values wanted last that are looked at.
RECENT = cython.declare(cython.longlong, 3)


@cython.final
@cython.cclass
class Run:
    """One run of the scheduler: the nodes computed so far, and what it is about to compute."""

    state: State
    capacity: cython.longlong  # of what is in fast memory alone
    most_work: cython.longlong
    order = cython.declare(cython.longlong[::1], visibility="readonly")  # what is computed, as found
    count: cython.Py_ssize_t
    first: cython.Py_ssize_t  # in the base order: nodes before it are computed
    goals: cython.longlong[::1]
    keys: cython.double[::1]  # entries of the heap put aside
    items: cython.longlong[::1]

    def __init__(self, state: State, capacity: cython.longlong, most_work: cython.longlong) -> None:
        self.state = state
        self.capacity = capacity
        self.most_work = most_work
        self.order = np.empty(state.order.shape[0], np.int64)
        self.count = 0
        self.first = 0
        self.goals = np.empty(state.rules.longest + 1, np.int64)
        self.keys = np.empty(state.rules.by_score, np.float64)
        self.items = np.empty(state.rules.by_score, np.int64)


def advance(run: Run, work: cython.longlong) -> bool:
    """Compute nodes for ``work`` further steps; True when the order is complete."""
    state: State = run.state
    least: cython.Py_ssize_t = run.count + work
    work += state.work
    with cython.nogil:
        while state.work < work and run.count < least:
            if state.work > run.most_work:
                _complete(run)
            if run.count == run.order.shape[0]:
                break
            _compute_next(run, state)
    return bool(run.count == run.order.shape[0])


def work_of(run: Run) -> int:
    """Return the steps so far."""
    return int(run.state.work + run.count)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _complete(run: Run) -> cython.void:
    """Append what is not computed, in the base order."""
    for place in range(run.first, run.order.shape[0]):
        if not run.state.done[run.state.order[place]]:
            run.order[run.count] = run.state.order[place]
            run.count += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put(run: Run, node: cython.longlong) -> cython.void:
    compute(run.state, node)
    run.order[run.count] = node
    run.count += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compute_next(run: Run, state: State) -> cython.void:
    """Compute what needs no load, or else the best goal with its ancestors."""
    while state.done[state.order[run.first]]:
        run.first += 1
    node = _free_node(run, state)
    if node >= 0:
        _put(run, node)
        return
    goal = state.order[run.first]
    if state.wanted.size > 0:
        goal = _next_goal(run, state, goal)
    count = demand(state, goal, state.rules.longest)
    for number in range(count):
        run.goals[number] = state.queue[number]
    for number in range(count):
        if not state.done[run.goals[number]]:
            _put(run, run.goals[number])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _free_node(run: Run, state: State) -> cython.longlong:
    """Return a node that can be computed without a load, -1 if there is none, or no room for it."""
    while state.shrinking.size > 0:
        state.shrinking.size -= 1
        node = state.shrinking.items[state.shrinking.size]
        if not state.done[node] and state.absent[node] == 0:
            return node
    while state.growing.size > 0:
        node = state.growing.items[state.growing.size - 1]
        if not state.done[node] and state.absent[node] == 0:
            if state.room < state.weights[node] or state.dirty + state.weights[node] > run.capacity:
                return -1
            state.growing.size -= 1
            return node
        state.growing.size -= 1
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _next_goal(run: Run, state: State, start: cython.longlong) -> cython.longlong:
    """Return the best node to compute next of some that use what is in fast memory, and of the first in order."""
    best: tuple[cython.double, cython.longlong] = (look_ahead(state, start), start)
    if state.growing.size > 0:  # those on top that are computed have just been removed
        best = _better(state, best, state.growing.items[state.growing.size - 1])
    best = _best_by_score(run, state, best)
    return _best_by_recency(state, best)[1]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _better(
    state: State, best: tuple[cython.double, cython.longlong], goal: cython.longlong
) -> tuple[cython.double, cython.longlong]:
    """Return the better of ``best`` (score, node) and ``goal``."""
    score = look_ahead(state, goal)
    if score > best[0]:
        return score, goal
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _best_by_score(
    run: Run, state: State, best: tuple[cython.double, cython.longlong]
) -> tuple[cython.double, cython.longlong]:
    """Return the best of ``best`` and of what the values that most nodes wait for alone lead to."""
    kept: cython.Py_ssize_t = 0
    while kept < state.rules.by_score and state.wanted.size > 0:
        key = state.wanted.keys[0]
        item = state.wanted.items[0]
        value = item % state.weights.shape[0]
        state.wanted.pop()
        if kept > 0 and run.items[kept - 1] == item:
            continue
        goal = goal_of(state, value)
        if goal < 0:
            continue
        if key != -state.solo[value] / cython.cast(cython.double, state.weights[value]):
            state.wanted.push(-state.solo[value] / cython.cast(cython.double, state.weights[value]), item)
            continue
        run.keys[kept] = key
        run.items[kept] = item
        kept += 1
        best = _better(state, best, goal)
    while kept > 0:
        kept -= 1
        state.wanted.push(run.keys[kept], run.items[kept])
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _best_by_recency(
    state: State, best: tuple[cython.double, cython.longlong]
) -> tuple[cython.double, cython.longlong]:
    """Return the best of ``best`` and of what the values wanted last lead to."""
    tried: cython.longlong = 0
    place: cython.Py_ssize_t = state.recent.size - 1
    while tried < RECENT and place >= 0:
        goal = goal_of(state, state.recent.items[place])
        if goal < 0 and place == state.recent.size - 1:
            state.recent.size -= 1
        else:
            tried += 1
            if goal >= 0:
                best = _better(state, best, goal)
        place -= 1
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def goal_of(state: State, wanted: cython.longlong) -> cython.longlong:
    """Return the node to compute so that ``wanted`` is in fast memory and used; -1 if nothing wants it any more."""
    edge: cython.Py_ssize_t
    if state.solo[wanted] <= 0 or state.red[wanted]:
        return -1
    if not state.done[wanted]:
        return wanted
    for edge in range(state.cursor[wanted], state.child_starts[wanted + 1]):
        child = state.children[edge]
        if not state.done[child] and state.absent[child] == 1:
            return child
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def demand(state: State, node: cython.longlong, most: cython.longlong) -> cython.longlong:
    """Write ``node`` and its ancestors not computed to ``queue``, operands first; return how many, or -1 above most."""
    top: cython.longlong = 0
    count: cython.longlong = 0
    edge: cython.Py_ssize_t
    is_ready: cython.bint
    state.stamp += 1
    state.stack[0] = node
    while top >= 0:
        here = state.stack[top]
        if state.seen[here] == state.stamp:
            top -= 1
            continue
        is_ready = True
        for edge in range(state.starts[here], state.starts[here + 1]):
            parent = state.parents[edge]
            if not state.done[parent] and state.seen[parent] != state.stamp:
                is_ready = False
                top += 1
                if top >= most + 64 or top >= state.stack.shape[0]:
                    return -1
                state.stack[top] = parent
        if is_ready:
            top -= 1
            state.seen[here] = state.stamp
            state.queue[count] = here
            count += 1
            if count >= most:
                return -1
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def look_ahead(state: State, node: cython.longlong) -> cython.double:
    """Return how much is computed per weight moved if ``node`` is made next, with all that is free thereafter."""
    longest: cython.longlong = state.rules.longest
    count: cython.longlong = demand(state, node, longest)
    wanted: cython.longlong = count
    stamp: cython.longlong = state.stamp
    most: cython.longlong = min(MOST_AHEAD * longest, state.queue.shape[0] - 1)
    first: cython.longlong = 0
    loads: cython.longlong = 0
    stop: cython.Py_ssize_t
    edge: cython.Py_ssize_t
    if count < 0:
        return -1.0
    for number in range(wanted):
        here = state.queue[number]
        for edge in range(state.starts[here], state.starts[here + 1]):
            node = state.parents[edge]
            if not state.red[node] and state.seen[node] != stamp:
                state.seen[node] = stamp
                loads += state.weights[node]
                state.queue[count] = node
                count += 1
    held = loads
    for number in range(wanted):
        held += _growth(state, state.queue[number], stamp)
    gain = wanted
    while first < count < most:
        here = state.queue[first]
        first += 1
        stop = min(state.child_starts[here + 1], state.cursor[here] + MOST_CHILDREN)
        state.work += stop - state.cursor[here]
        for edge in range(state.cursor[here], stop):
            node = state.children[edge]
            if state.done[node] or state.seen[node] == stamp:
                continue
            if state.absent_seen[node] != stamp:
                state.absent_seen[node] = stamp
                state.absent_less[node] = 0
            state.absent_less[node] += 1
            if state.absent[node] > state.absent_less[node]:
                continue
            if state.net[node] > 0 and held + state.net[node] > state.room:
                continue
            state.seen[node] = stamp
            held += _growth(state, node, stamp)
            gain += 1
            state.queue[count] = node
            count += 1
            if count >= state.queue.shape[0] - 1:
                break
    return gain / (loads + state.rules.growth * max(0, held) + state.rules.overflow * max(0, held - state.room) + 1e-3)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _growth(state: State, node: cython.longlong, stamp: cython.longlong) -> cython.longlong:
    """Return by how much the memory grows when the look-ahead computes ``node``."""
    held: cython.longlong = state.weights[node] if state.left[node] > 0 else 0
    edge: cython.Py_ssize_t
    state.work += state.starts[node + 1] - state.starts[node]
    for edge in range(state.starts[node], state.starts[node + 1]):
        parent = state.parents[edge]
        if state.left_seen[parent] != stamp:
            state.left_seen[parent] = stamp
            state.left_less[parent] = 0
        state.left_less[parent] += 1
        if state.left[parent] == state.left_less[parent]:
            held -= state.weights[parent]
    return held
