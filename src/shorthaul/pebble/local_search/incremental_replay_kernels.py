"""Compiled replay for :mod:`annealing`: a schedule in which orders are changed here and there, and replayed only there.

A schedule is an order of computation and, for every step, the values that give way before it; values are loaded when
they are read, stored when they give way for the first time, and dropped when they are dead. After a change of the order
in a stretch, the replay starts at the stretch with what is in fast memory there, and ends where the memories are the
same again as in the schedule before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel, subroutine

IntArray = npt.NDArray[np.int64]

#: The next use of a value that is not used again; the step at which a value is stored that never is.
NEVER = 1 << 62


class State(NamedTuple):
    """A CDAG, a schedule of it, and the trial of a changed one beside it. Few arrays, for calls cost by the array."""

    starts: IntArray
    parents: IntArray
    child_starts: IntArray
    children: IntArray
    node: IntArray  # a row for every node, see below
    order: IntArray
    changed: IntArray  # the order in trial
    head: IntArray  # for each step, the first entry of its list of values that give way, -1 if there is none
    entries: IntArray  # (value, next entry of the same list or of the list of free entries)
    victims: IntArray  # values that give way in the trial, step by step
    until: IntArray  # for each step, the end of its part of victims
    red: IntArray  # what is in fast memory, in the schedule and in the trial
    touched: IntArray  # values stored in either since the stretch began
    points: IntArray  # what is in fast memory before every so many steps, in the schedule and in the trial
    sizes: IntArray
    counters: IntArray


#: Columns of State.node: weight, step in the order and in the changed one (-1 for inputs), place in the lists of what
#: is in fast memory (-1: it is not), next use in the trial, clock of the last pin.
WEIGHT, POSITION, CHANGED, PLACE, NEW_PLACE, UPCOMING, PINNED = range(7)
#: The trial in which the schedule stored the value, that in which the changed one did, and the step; the trial in which
#: it died; the step before which the schedule stores it (-1 for inputs).
STORED_OLD, STORED_NEW, STEP_NEW, DEAD, STORED = range(7, 12)
COLUMNS = 12
#: Columns of State.entries, red, points and sizes.
VALUE, FOLLOWING = 0, 1
OLD, NEW = 0, 1
#: Places in State.counters: number of the trial, where its stretch begins, victims and touched values so far, a clock
#: for pins, weights in fast memory in the trial only and in the schedule only, weights stored in one only, the first
#: free entry, steps from one row of points to the next, length of the lists of red values, room in the trial.
NUMBER, BEGIN, VICTIMS, TOUCHED, CLOCK, MORE, LESS, AHEAD, BEHIND, FREE, SPACING, SIZE, NEW_SIZE, ROOM = range(14)
COUNTERS = 14


@subroutine
def put_old(node: IntArray, red: IntArray, counters: IntArray, value: int) -> None:
    """Put ``value`` into the fast memory of the schedule."""
    size = counters[SIZE]
    red[size, OLD] = value
    node[value, PLACE] = size
    counters[SIZE] = size + 1
    if node[value, NEW_PLACE] >= 0:
        counters[MORE] -= node[value, WEIGHT]
    else:
        counters[LESS] += node[value, WEIGHT]


@subroutine
def drop_old(node: IntArray, red: IntArray, counters: IntArray, value: int) -> None:
    """Take ``value`` out of the fast memory of the schedule."""
    size = counters[SIZE] - 1
    last = red[size, OLD]
    place = node[value, PLACE]
    red[place, OLD] = last
    node[last, PLACE] = place
    node[value, PLACE] = -1
    counters[SIZE] = size
    if node[value, NEW_PLACE] >= 0:
        counters[MORE] += node[value, WEIGHT]
    else:
        counters[LESS] -= node[value, WEIGHT]


@subroutine
def put_new(node: IntArray, red: IntArray, counters: IntArray, value: int) -> None:
    """Put ``value`` into the fast memory of the trial."""
    size = counters[NEW_SIZE]
    red[size, NEW] = value
    node[value, NEW_PLACE] = size
    counters[NEW_SIZE] = size + 1
    counters[ROOM] -= node[value, WEIGHT]
    if node[value, PLACE] >= 0:
        counters[LESS] -= node[value, WEIGHT]
    else:
        counters[MORE] += node[value, WEIGHT]


@subroutine
def drop_new(node: IntArray, red: IntArray, counters: IntArray, value: int) -> None:
    """Take ``value`` out of the fast memory of the trial."""
    size = counters[NEW_SIZE] - 1
    last = red[size, NEW]
    place = node[value, NEW_PLACE]
    red[place, NEW] = last
    node[last, NEW_PLACE] = place
    node[value, NEW_PLACE] = -1
    counters[NEW_SIZE] = size
    counters[ROOM] += node[value, WEIGHT]
    if node[value, PLACE] >= 0:
        counters[LESS] += node[value, WEIGHT]
    else:
        counters[MORE] -= node[value, WEIGHT]


@subroutine
def is_saved(node: IntArray, counters: IntArray, value: int, which: int) -> bool:
    """True if ``value`` is in slow memory by now, in the schedule (STORED_OLD) or in the trial (STORED_NEW)."""
    saved: bool = node[value, STORED] < counters[BEGIN] or node[value, which] == counters[NUMBER]
    return saved


@subroutine
def next_use(
    child_starts: IntArray, children: IntArray, node: IntArray, value: int, time: int
) -> int:  # fmt: skip
    """Return the first step of the trial after ``time`` that reads ``value``."""
    nearest = NEVER
    for edge in range(child_starts[value], child_starts[value + 1]):
        use = node[children[edge], CHANGED]
        if time < use < nearest:
            nearest = use
    return nearest


@subroutine
def is_read_after(child_starts: IntArray, children: IntArray, node: IntArray, value: int, time: int) -> bool:
    """True if some step of the schedule after ``time`` reads ``value``."""
    for edge in range(child_starts[value + 1] - 1, child_starts[value] - 1, -1):
        if node[children[edge], POSITION] > time:
            return True
    return False


@subroutine
def old_step(state: State, time: int) -> int:
    """Take one step of the schedule; return the weight loaded and stored."""
    starts, parents, child_starts, children = state.starts, state.parents, state.child_starts, state.children
    node, red, counters = state.node, state.red, state.counters
    cost = 0
    number = counters[NUMBER]
    entry = state.head[time]
    while entry >= 0:
        value = state.entries[entry, VALUE]
        if node[value, PLACE] >= 0:
            drop_old(node, red, counters, value)
            if not is_saved(node, counters, value, STORED_OLD):
                node[value, STORED_OLD] = number
                cost += node[value, WEIGHT]
                state.touched[counters[TOUCHED]] = value
                counters[TOUCHED] += 1
                if node[value, DEAD] != number:
                    if node[value, STORED_NEW] == number:
                        counters[AHEAD] -= node[value, WEIGHT]
                    else:
                        counters[BEHIND] += node[value, WEIGHT]
        entry = state.entries[entry, FOLLOWING]
    here = state.order[time]
    for edge in range(starts[here], starts[here + 1]):
        parent = parents[edge]
        if node[parent, PLACE] < 0:
            cost += node[parent, WEIGHT]
            put_old(node, red, counters, parent)
    for edge in range(starts[here], starts[here + 1]):
        parent = parents[edge]
        if not is_read_after(child_starts, children, node, parent, time):
            drop_old(node, red, counters, parent)
    if child_starts[here] < child_starts[here + 1]:
        put_old(node, red, counters, here)
    return cost


@subroutine
def farthest_used(state: State, penalty: float, time: int) -> int:
    """Return the value in the trial's fast memory whose next use is farthest; not saved ones count as nearer."""
    node, red, counters = state.node, state.red, state.counters
    child_starts, children = state.child_starts, state.children
    victim = -1
    is_dirty = False
    farthest = -1.0
    for place in range(counters[NEW_SIZE]):
        other = red[place, NEW]
        if node[other, PINNED] == counters[CLOCK]:
            continue
        upcoming = node[other, UPCOMING]
        if upcoming < time:
            upcoming = next_use(child_starts, children, node, other, time)
            node[other, UPCOMING] = upcoming
        far = float(upcoming - time)
        if far < farthest:
            continue
        dirty = not is_saved(node, counters, other, STORED_NEW)
        if dirty:
            far /= penalty
        # of equals those in slow memory first, then by index
        if far > farthest or (far == farthest and (dirty, other) < (is_dirty, victim)):
            farthest = far
            victim = other
            is_dirty = dirty
    return victim


@subroutine
def make_room(state: State, need: int, penalty: float, time: int) -> int:
    """Let values give way in the trial until ``need`` fits; return the weight stored."""
    node, red, counters = state.node, state.red, state.counters
    victims = state.victims
    first = counters[VICTIMS]
    count = first
    while counters[ROOM] < need:
        victim = farthest_used(state, penalty, time)
        drop_new(node, red, counters, victim)
        victims[count] = victim
        count += 1
    # those used soonest stay after all, if the others make enough room
    for place in range(count - 1, first - 1, -1):
        victim = victims[place]
        if counters[ROOM] - node[victim, WEIGHT] >= need:
            put_new(node, red, counters, victim)
            victims[place] = -1
    cost = 0
    kept = first
    for place in range(first, count):
        victim = victims[place]
        if victim < 0:
            continue
        victims[kept] = victim
        kept += 1
        if not is_saved(node, counters, victim, STORED_NEW):
            node[victim, STORED_NEW] = counters[NUMBER]
            node[victim, STEP_NEW] = time
            cost += node[victim, WEIGHT]
            state.touched[counters[TOUCHED]] = victim
            counters[TOUCHED] += 1
            if node[victim, STORED_OLD] == counters[NUMBER]:
                counters[BEHIND] -= node[victim, WEIGHT]
            else:
                counters[AHEAD] += node[victim, WEIGHT]
    counters[VICTIMS] = kept
    return cost


@subroutine
def new_step(state: State, penalty: float, time: int) -> int:
    """Take one step of the trial; return the weight loaded and stored."""
    starts, parents, child_starts, children = state.starts, state.parents, state.child_starts, state.children
    node, red, counters = state.node, state.red, state.counters
    here = state.changed[time]
    counters[CLOCK] += 1
    cost = 0
    for edge in range(starts[here], starts[here + 1]):
        parent = parents[edge]
        node[parent, PINNED] = counters[CLOCK]
        if node[parent, NEW_PLACE] < 0:
            cost += node[parent, WEIGHT]
    need = cost + node[here, WEIGHT]
    if counters[ROOM] < need:
        cost += make_room(state, need, penalty, time)
    state.until[time] = counters[VICTIMS]
    for edge in range(starts[here], starts[here + 1]):
        parent = parents[edge]
        upcoming = next_use(child_starts, children, node, parent, time)
        node[parent, UPCOMING] = upcoming
        is_red = node[parent, NEW_PLACE] >= 0
        if upcoming < NEVER:
            if not is_red:
                put_new(node, red, counters, parent)
            continue
        if is_red:
            drop_new(node, red, counters, parent)
        before = is_saved(node, counters, parent, STORED_OLD)
        after = is_saved(node, counters, parent, STORED_NEW)
        if after and not before:
            counters[AHEAD] -= node[parent, WEIGHT]
        if before and not after:
            counters[BEHIND] -= node[parent, WEIGHT]
        node[parent, DEAD] = counters[NUMBER]
    if child_starts[here] < child_starts[here + 1]:
        node[here, UPCOMING] = -1
        put_new(node, red, counters, here)
    return cost


@subroutine
def begin(state: State, first: int, budget: int) -> None:
    """Bring schedule and trial to where step ``first`` begins."""
    node, red, counters = state.node, state.red, state.counters
    for place in range(counters[SIZE]):
        node[red[place, OLD], PLACE] = -1
    for place in range(counters[NEW_SIZE]):
        node[red[place, NEW], NEW_PLACE] = -1
    counters[SIZE] = 0
    counters[NEW_SIZE] = 0
    counters[ROOM] = budget
    counters[NUMBER] += 1
    counters[BEGIN] = first
    row = first // counters[SPACING]
    for place in range(state.sizes[row, OLD]):
        put_old(node, red, counters, state.points[row, place, OLD])
    for time in range(row * counters[SPACING], first):
        old_step(state, time)
    for place in range(counters[SIZE]):
        value = red[place, OLD]
        put_new(node, red, counters, value)
        node[value, UPCOMING] = -1
    counters[VICTIMS] = 0
    counters[TOUCHED] = 0
    counters[MORE] = 0
    counters[LESS] = 0
    counters[AHEAD] = 0
    counters[BEHIND] = 0


@subroutine
def attempt(state: State, first: int, stop: int, budget: int, penalty: float, limit: int) -> tuple[int, int]:
    """Return (weight moved more by the changed order, the step from which the schedules are one again).

    The orders differ from ``first`` to ``stop`` - 1 at most. The step is -1 if more than ``limit`` seems sure.
    """
    begin(state, first, budget)
    counters = state.counters
    change = 0
    for time in range(first, stop):
        change -= old_step(state, time)
    spacing = counters[SPACING]
    for time in range(first, len(state.order)):
        if time % spacing == 0 and time > first:
            row = time // spacing
            state.sizes[row, NEW] = counters[NEW_SIZE]
            for place in range(counters[NEW_SIZE]):
                state.points[row, place, NEW] = state.red[place, NEW]
        change += new_step(state, penalty, time)
        if time >= stop:
            change -= old_step(state, time)
        if time + 1 >= stop:
            if counters[MORE] == 0 and counters[LESS] == 0 and counters[AHEAD] == 0 and counters[BEHIND] == 0:
                return change, time + 1
            if change - counters[MORE] - counters[AHEAD] > limit:
                return change, -1
    return change, len(state.order)


@subroutine
def accept(state: State, stop: int, end: int) -> None:
    """Let the trial be the schedule: orders differ up to ``stop`` - 1, what gives way up to ``end`` - 1."""
    node, entries, counters = state.node, state.entries, state.counters
    first = counters[BEGIN]
    for time in range(first, stop):
        state.order[time] = state.changed[time]
        node[state.changed[time], POSITION] = time
    place = 0
    for time in range(first, end):
        entry = state.head[time]
        while entry >= 0:
            following = entries[entry, FOLLOWING]
            entries[entry, FOLLOWING] = counters[FREE]
            counters[FREE] = entry
            entry = following
        state.head[time] = -1
        while place < state.until[time]:
            entry = counters[FREE]
            counters[FREE] = entries[entry, FOLLOWING]
            entries[entry, VALUE] = state.victims[place]
            entries[entry, FOLLOWING] = state.head[time]
            state.head[time] = entry
            place += 1
    for place in range(counters[TOUCHED]):
        value = state.touched[place]
        is_stored = node[value, STORED_NEW] == counters[NUMBER]
        node[value, STORED] = node[value, STEP_NEW] if is_stored else NEVER
    spacing = counters[SPACING]
    for row in range(first // spacing + 1, (end - 1) // spacing + 1):
        state.sizes[row, OLD] = state.sizes[row, NEW]
        for place in range(state.sizes[row, OLD]):
            state.points[row, place, OLD] = state.points[row, place, NEW]


@kernel
def set_up(state: State, budget: int) -> int:
    """Note what the order and the lists of the schedule imply; return what it moves beside its outputs."""
    counters = state.counters
    state.sizes[0, OLD] = 0
    begin(state, 0, budget)
    cost = 0
    known = 0
    for time in range(len(state.order)):
        if time % counters[SPACING] == 0:
            row = time // counters[SPACING]
            state.sizes[row, OLD] = counters[SIZE]
            for place in range(counters[SIZE]):
                state.points[row, place, OLD] = state.red[place, OLD]
        cost += old_step(state, time)
        for place in range(known, counters[TOUCHED]):
            state.node[state.touched[place], STORED] = time
        known = counters[TOUCHED]
    return cost


@kernel
def moves_of(state: State, budget: int) -> tuple[npt.NDArray[np.uint8], IntArray]:
    """Return the moves (kinds, nodes) of the schedule."""
    node, red, counters = state.node, state.red, state.counters
    most = 4 * len(state.order) + 3 * len(state.parents) + 2 * len(state.entries)
    kinds = np.empty(most, np.uint8)
    nodes = np.empty(most, np.int64)
    count = 0
    begin(state, 0, budget)
    for time in range(len(state.order)):
        here = state.order[time]
        entry = state.head[time]
        while entry >= 0:
            value = state.entries[entry, VALUE]
            if node[value, PLACE] >= 0:
                if node[value, STORED] == time:
                    kinds[count], nodes[count] = 1, value
                    count += 1
                kinds[count], nodes[count] = 3, value
                count += 1
                drop_old(node, red, counters, value)
            entry = state.entries[entry, FOLLOWING]
        for edge in range(state.starts[here], state.starts[here + 1]):
            parent = state.parents[edge]
            if node[parent, PLACE] < 0:
                kinds[count], nodes[count] = 0, parent
                count += 1
                put_old(node, red, counters, parent)
        kinds[count], nodes[count] = 2, here
        count += 1
        for edge in range(state.starts[here], state.starts[here + 1]):
            parent = state.parents[edge]
            if not is_read_after(state.child_starts, state.children, node, parent, time):
                kinds[count], nodes[count] = 3, parent
                count += 1
                drop_old(node, red, counters, parent)
        if state.child_starts[here] < state.child_starts[here + 1]:
            put_old(node, red, counters, here)
        else:
            kinds[count], nodes[count], kinds[count + 1], nodes[count + 1] = 1, here, 3, here
            count += 2
    return kinds[:count], nodes[:count]
