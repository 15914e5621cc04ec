"""Compiled replay for :mod:`annealing`: a schedule in which orders are changed here and there, and replayed only there.

A schedule is an order of computation and, for every step, the values that give way before it; values are loaded when
they are read, stored when they give way for the first time, and dropped when they are dead. After a change of the order
in a stretch, the replay starts at the stretch with what is in fast memory there, and ends where the memories are the
same again as in the schedule before.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.pebble.local_search.order_moves_kernels import Graph

#: The next use of a value that is not used again; the step at which a value is stored that never is.
NEVER = cython.declare(cython.longlong, 1 << 62)


@cython.final
@cython.cclass
class State:
    """A CDAG, a schedule of it (old), and the trial of a changed one (new)."""

    def __init__(
        self,
        graph: Graph,
        budget: cython.longlong,
        order: cython.longlong[::1],
        position: cython.longlong[::1],
        head: cython.longlong[::1],
        entry_value: cython.longlong[::1],
        entry_next: cython.longlong[::1],
        free: cython.longlong,
        width: cython.longlong,
    ) -> None:
        """Take a schedule; ``width`` is the most values in fast memory at once."""
        n = graph.weights.shape[0]
        steps = order.shape[0]
        self.starts = graph.starts
        self.parents = graph.parents
        self.child_starts = graph.child_starts
        self.children = graph.children
        self.weights = graph.weights
        self.budget = budget
        self.order = order
        self.changed = np.array(order)
        self.position = position
        self.changed_position = np.array(position)
        self.head = head
        self.entry_value = entry_value
        self.entry_next = entry_next
        self.free = free
        self.stored = np.where(np.asarray(position) >= 0, NEVER, -1)
        self.victims = np.empty(entry_value.shape[0], np.int64)
        self.until = np.empty(steps, np.int64)
        self.victim_count = 0
        self.red_old = np.empty(n, np.int64)
        self.red_new = np.empty(n, np.int64)
        self.place_old = np.full(n, -1, np.int64)
        self.place_new = np.full(n, -1, np.int64)
        self.size_old = self.size_new = 0
        self.room = budget
        self.upcoming = np.full(n, -1, np.int64)
        self.pinned = np.full(n, -1, np.int64)
        self.clock = 0
        self.stored_old = np.full(n, -1, np.int64)
        self.stored_new = np.full(n, -1, np.int64)
        self.step_new = np.full(n, -1, np.int64)
        self.dead = np.full(n, -1, np.int64)
        self.touched = np.empty(2 * n, np.int64)
        self.touched_count = 0
        self.spacing = max(16, width // 4)
        rows = steps // self.spacing + 1
        self.points_old = np.empty((rows, width), np.int64)
        self.points_new = np.empty((rows, width), np.int64)
        self.point_size_old = np.zeros(rows, np.int64)
        self.point_size_new = np.zeros(rows, np.int64)
        self.number = self.begin = self.work = 0
        self.more = self.less = self.ahead = self.behind = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_old(state: State, value: cython.longlong) -> cython.void:
    """Put ``value`` into the fast memory of the schedule."""
    state.red_old[state.size_old] = value
    state.place_old[value] = state.size_old
    state.size_old += 1
    if state.place_new[value] >= 0:
        state.more -= state.weights[value]
    else:
        state.less += state.weights[value]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def drop_old(state: State, value: cython.longlong) -> cython.void:
    """Take ``value`` out of the fast memory of the schedule."""
    place: cython.longlong = state.place_old[value]
    state.size_old -= 1
    last = state.red_old[state.size_old]
    state.red_old[place] = last
    state.place_old[last] = place
    state.place_old[value] = -1
    if state.place_new[value] >= 0:
        state.more += state.weights[value]
    else:
        state.less -= state.weights[value]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_new(state: State, value: cython.longlong) -> cython.void:
    """Put ``value`` into the fast memory of the trial."""
    state.red_new[state.size_new] = value
    state.place_new[value] = state.size_new
    state.size_new += 1
    state.room -= state.weights[value]
    if state.place_old[value] >= 0:
        state.less -= state.weights[value]
    else:
        state.more += state.weights[value]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def drop_new(state: State, value: cython.longlong) -> cython.void:
    """Take ``value`` out of the fast memory of the trial."""
    place: cython.longlong = state.place_new[value]
    state.size_new -= 1
    last = state.red_new[state.size_new]
    state.red_new[place] = last
    state.place_new[last] = place
    state.place_new[value] = -1
    state.room += state.weights[value]
    if state.place_old[value] >= 0:
        state.less += state.weights[value]
    else:
        state.more -= state.weights[value]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_saved_old(state: State, value: cython.longlong) -> cython.bint:
    """True if the schedule has ``value`` in slow memory by now."""
    return state.stored[value] < state.begin or state.stored_old[value] == state.number


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_saved_new(state: State, value: cython.longlong) -> cython.bint:
    """True if the trial has ``value`` in slow memory by now."""
    return state.stored[value] < state.begin or state.stored_new[value] == state.number


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def next_use(state: State, value: cython.longlong, time: cython.longlong) -> cython.longlong:
    """Return the first step of the trial after ``time`` that reads ``value``."""
    nearest: cython.longlong = NEVER
    edge: cython.Py_ssize_t
    state.work += state.child_starts[value + 1] - state.child_starts[value]
    for edge in range(state.child_starts[value], state.child_starts[value + 1]):
        use = state.changed_position[state.children[edge]]
        if time < use < nearest:
            nearest = use
    return nearest


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_read_after(state: State, value: cython.longlong, time: cython.longlong) -> cython.bint:
    """True if some step of the schedule after ``time`` reads ``value``."""
    edge: cython.Py_ssize_t
    last: cython.Py_ssize_t = state.child_starts[value + 1] - 1
    for edge in range(last, state.child_starts[value] - 1, -1):
        if state.position[state.children[edge]] > time:
            state.work += last - edge
            return True
    state.work += last - state.child_starts[value]
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def old_step(state: State, time: cython.longlong) -> cython.longlong:
    """Take one step of the schedule; return the weight loaded and stored."""
    cost: cython.longlong = 0
    entry: cython.longlong = state.head[time]
    here: cython.longlong = state.order[time]
    edge: cython.Py_ssize_t
    state.work += 4 + state.starts[here + 1] - state.starts[here]
    while entry >= 0:
        value = state.entry_value[entry]
        if state.place_old[value] >= 0:
            drop_old(state, value)
            if not is_saved_old(state, value):
                state.stored_old[value] = state.number
                cost += state.weights[value]
                state.touched[state.touched_count] = value
                state.touched_count += 1
                if state.dead[value] != state.number:
                    if state.stored_new[value] == state.number:
                        state.ahead -= state.weights[value]
                    else:
                        state.behind += state.weights[value]
        entry = state.entry_next[entry]
    for edge in range(state.starts[here], state.starts[here + 1]):
        value = state.parents[edge]
        if state.place_old[value] < 0:
            cost += state.weights[value]
            put_old(state, value)
    for edge in range(state.starts[here], state.starts[here + 1]):
        value = state.parents[edge]
        if not is_read_after(state, value, time):
            drop_old(state, value)
    if state.child_starts[here] < state.child_starts[here + 1]:
        put_old(state, here)
    return cost


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def farthest_used(state: State, penalty: cython.double, time: cython.longlong) -> cython.longlong:
    """Return the value in the trial's fast memory whose next use is farthest; not saved ones count as nearer."""
    victim: cython.longlong = -1
    farthest: cython.double = -1.0
    is_dirty: cython.bint = False
    dirty: cython.bint
    place: cython.Py_ssize_t
    state.work += state.size_new
    for place in range(state.size_new):
        other = state.red_new[place]
        if state.pinned[other] == state.clock:
            continue
        upcoming = state.upcoming[other]
        if upcoming < time:
            upcoming = next_use(state, other, time)
            state.upcoming[other] = upcoming
        far = cython.cast(cython.double, upcoming - time)
        if far < farthest:
            continue
        dirty = not is_saved_new(state, other)
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
def make_room(
    state: State, need: cython.longlong, penalty: cython.double, time: cython.longlong
) -> cython.longlong:  # fmt: skip
    """Let values give way in the trial until ``need`` fits; return the weight stored."""
    cost: cython.longlong = 0
    first: cython.longlong = state.victim_count
    count: cython.longlong = first
    kept: cython.longlong = first
    place: cython.Py_ssize_t
    while state.room < need:
        victim = farthest_used(state, penalty, time)
        drop_new(state, victim)
        state.victims[count] = victim
        count += 1
    # those used soonest stay after all, if the others make enough room
    for place in range(count - 1, first - 1, -1):
        victim = state.victims[place]
        if state.room - state.weights[victim] >= need:
            put_new(state, victim)
            state.victims[place] = -1
    for place in range(first, count):
        victim = state.victims[place]
        if victim < 0:
            continue
        state.victims[kept] = victim
        kept += 1
        if not is_saved_new(state, victim):
            state.stored_new[victim] = state.number
            state.step_new[victim] = time
            cost += state.weights[victim]
            state.touched[state.touched_count] = victim
            state.touched_count += 1
            if state.stored_old[victim] == state.number:
                state.behind -= state.weights[victim]
            else:
                state.ahead += state.weights[victim]
    state.victim_count = kept
    return cost


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def new_step(state: State, penalty: cython.double, time: cython.longlong) -> cython.longlong:
    """Take one step of the trial; return the weight loaded and stored."""
    here: cython.longlong = state.changed[time]
    cost: cython.longlong = 0
    before: cython.bint
    after: cython.bint
    edge: cython.Py_ssize_t
    state.work += 4 + state.starts[here + 1] - state.starts[here]
    state.clock += 1
    for edge in range(state.starts[here], state.starts[here + 1]):
        parent = state.parents[edge]
        state.pinned[parent] = state.clock
        if state.place_new[parent] < 0:
            cost += state.weights[parent]
    need = cost + state.weights[here]
    if state.room < need:
        cost += make_room(state, need, penalty, time)
    state.until[time] = state.victim_count
    for edge in range(state.starts[here], state.starts[here + 1]):
        parent = state.parents[edge]
        upcoming = next_use(state, parent, time)
        state.upcoming[parent] = upcoming
        if upcoming < NEVER:
            if state.place_new[parent] < 0:
                put_new(state, parent)
            continue
        if state.place_new[parent] >= 0:
            drop_new(state, parent)
        before = is_saved_old(state, parent)
        after = is_saved_new(state, parent)
        if after and not before:
            state.ahead -= state.weights[parent]
        if before and not after:
            state.behind -= state.weights[parent]
        state.dead[parent] = state.number
    if state.child_starts[here] < state.child_starts[here + 1]:
        state.upcoming[here] = -1
        put_new(state, here)
    return cost


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def begin_trial(state: State, first: cython.longlong) -> cython.void:
    """Bring schedule and trial to where step ``first`` begins."""
    place: cython.Py_ssize_t
    time: cython.Py_ssize_t
    row: cython.longlong = first // state.spacing
    for place in range(state.size_old):
        state.place_old[state.red_old[place]] = -1
    for place in range(state.size_new):
        state.place_new[state.red_new[place]] = -1
    state.work += state.size_old + state.point_size_old[row] + 8
    state.size_old = state.size_new = 0
    state.room = state.budget
    state.number += 1
    state.begin = first
    for place in range(state.point_size_old[row]):
        put_old(state, state.points_old[row, place])
    for time in range(row * state.spacing, first):
        old_step(state, time)
    for place in range(state.size_old):
        put_new(state, state.red_old[place])
        state.upcoming[state.red_old[place]] = -1
    state.victim_count = state.touched_count = 0
    state.more = state.less = state.ahead = state.behind = 0


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def attempt(
    state: State, first: cython.longlong, stop: cython.longlong, penalty: cython.double, limit: cython.longlong
) -> tuple[cython.longlong, cython.longlong]:
    """Return (weight moved more by the changed order, the step from which the schedules are one again).

    The orders differ from ``first`` to ``stop`` - 1 at most. The step is -1 if more than ``limit`` seems sure.
    """
    change: cython.longlong = 0
    time: cython.Py_ssize_t
    row: cython.Py_ssize_t
    place: cython.Py_ssize_t
    steps: cython.Py_ssize_t = state.order.shape[0]
    begin_trial(state, first)
    for time in range(first, stop):
        change -= old_step(state, time)
    for time in range(first, steps):
        if time % state.spacing == 0 and time > first:
            row = time // state.spacing
            state.point_size_new[row] = state.size_new
            for place in range(state.size_new):
                state.points_new[row, place] = state.red_new[place]
        change += new_step(state, penalty, time)
        if time >= stop:
            change -= old_step(state, time)
        if time + 1 >= stop:
            if state.more == 0 and state.less == 0 and state.ahead == 0 and state.behind == 0:
                return change, time + 1
            if change - state.more - state.ahead > limit:
                return change, -1
    return change, steps


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def accept(state: State, stop: cython.longlong, end: cython.longlong) -> cython.void:
    """Let the trial be the schedule: orders differ up to ``stop`` - 1, what gives way up to ``end`` - 1."""
    time: cython.Py_ssize_t
    place: cython.Py_ssize_t
    row: cython.Py_ssize_t
    victim: cython.Py_ssize_t = 0
    for time in range(state.begin, stop):
        state.order[time] = state.changed[time]
        state.position[state.changed[time]] = time
    for time in range(state.begin, end):
        entry = state.head[time]
        while entry >= 0:
            following = state.entry_next[entry]
            state.entry_next[entry] = state.free
            state.free = entry
            entry = following
        state.head[time] = -1
        while victim < state.until[time]:
            entry = state.free
            state.free = state.entry_next[entry]
            state.entry_value[entry] = state.victims[victim]
            state.entry_next[entry] = state.head[time]
            state.head[time] = entry
            victim += 1
    for place in range(state.touched_count):
        value = state.touched[place]
        state.stored[value] = state.step_new[value] if state.stored_new[value] == state.number else NEVER
    for row in range(state.begin // state.spacing + 1, (end - 1) // state.spacing + 1):
        state.point_size_old[row] = state.point_size_new[row]
        for place in range(state.point_size_old[row]):
            state.points_old[row, place] = state.points_new[row, place]
