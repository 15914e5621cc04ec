"""Conclusions about the times of tasks at one period, on the matrix of least differences between them.

``least[i, j]`` is what time[j] - time[i] is at least (a difference bound matrix, kept closed). Turn t asks for a whole
number k with time[after[t, 0]] - time[before[t, 0]] >= ticks[t, 0] - k * P, and on side 1 likewise with 1 - k for k.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.dataflow.mapping.mapping_kernels import floor_division

CONTRADICTION = cython.declare(cython.longlong, -1)
#: Differences from here down are no constraint.
FAR = cython.declare(cython.longlong, -(1 << 59))
NEVER = cython.declare(cython.longlong, 1 << 60)


@cython.final
@cython.cclass
class Differences:
    """The matrix at one node of a search, and which turns are decided there."""

    period: cython.longlong
    duration: cython.const_longlong[::1]
    before: cython.const_longlong[:, ::1]
    after: cython.const_longlong[:, ::1]
    ticks: cython.const_longlong[:, ::1]
    least: cython.longlong[:, ::1]
    decided: cython.uchar[::1]
    reached: cython.longlong[::1]  # nodes, and how much further on they are at least
    further: cython.longlong[::1]
    low: cython.longlong  # the k that a turn leaves possible
    high: cython.longlong
    steps: cython.longlong  # entries and pairs looked at so far: the work

    def __init__(
        self,
        period: cython.longlong,
        duration: cython.const_longlong[::1],
        before: cython.const_longlong[:, ::1],
        after: cython.const_longlong[:, ::1],
        ticks: cython.const_longlong[:, ::1],
        least: cython.longlong[:, ::1],
    ) -> None:
        self.period = period
        self.duration = duration
        self.before = before
        self.after = after
        self.ticks = ticks
        self.least = least
        self.decided = np.zeros(before.shape[0], np.uint8)
        self.reached = np.empty(duration.shape[0], np.int64)
        self.further = np.empty(duration.shape[0], np.int64)
        self.low = 0
        self.high = 0
        self.steps = 0


@cython.final
@cython.cclass
class Resources:
    """The accesses on every interconnect, those of resource r from ``starts[r]`` on, equal ones side by side.

    For tasks x and y of one resource: where y's first turn after x's start lies, in ticks from that start.
    """

    starts: cython.const_longlong[::1]
    members: cython.const_longlong[::1]
    turn: cython.longlong[:, ::1]  # how many periods that turn is from y's own start
    early: cython.longlong[:, ::1]  # when it starts at the least
    late: cython.longlong[:, ::1]  # when it starts at the most
    sure: cython.uchar[:, ::1]  # the turn is certain; the others hold only where it is
    shift: cython.longlong[:, ::1]  # ``turn`` in ticks, NEVER where it is not certain
    lead: cython.longlong[:, ::1]  # lead[y, x]: ticks from x's end to y's start at the least
    length: cython.longlong[::1]  # durations of the tasks
    parts: cython.longlong[::1]  # durations of tasks that may lie between two others
    sums: cython.longlong[::1]
    order: cython.longlong[::1]

    def __init__(
        self, starts: cython.const_longlong[::1], members: cython.const_longlong[::1], sums: cython.Py_ssize_t
    ) -> None:
        most = max(np.diff(starts), default=0)
        self.starts = starts
        self.members = members
        self.turn = np.empty((most, most), np.int64)
        self.early = np.empty((most, most), np.int64)
        self.late = np.empty((most, most), np.int64)
        self.sure = np.empty((most, most), np.uint8)
        self.shift = np.full((most, most), 1 << 60, np.int64)
        self.lead = np.full((most, most), -(1 << 60), np.int64)
        self.length = np.empty(most, np.int64)
        self.parts = np.empty(most, np.int64)
        self.sums = np.empty(sums, np.int64)
        self.order = np.empty(most, np.int64)


def close(least: cython.longlong[:, ::1]) -> bool:
    """Make every difference as large as the others ask for; False if they contradict one another."""
    fits: cython.bint
    with cython.nogil:
        fits = _close(least)
    return bool(fits)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _close(least: cython.longlong[:, ::1]) -> cython.bint:
    n: cython.Py_ssize_t = least.shape[0]
    for middle in range(n):
        for u in range(n):
            first = least[u, middle]
            if first <= FAR:
                continue
            for v in range(n):
                if least[middle, v] > FAR and first + least[middle, v] > least[u, v]:
                    least[u, v] = first + least[middle, v]
    for u in range(n):
        if least[u, u] > 0:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def tighten(differences: Differences, i: cython.longlong, j: cython.longlong, ticks: cython.longlong) -> cython.bint:
    """Ask for time[j] - time[i] >= ticks and close the matrix again; False if that contradicts it."""
    v: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    if differences.least[i, j] >= ticks:
        return True
    if ticks + differences.least[j, i] > 0:
        return False
    for v in range(differences.least.shape[0]):  # no path to another node gets longer by way of j
        if differences.least[j, v] > FAR and ticks + differences.least[j, v] > differences.least[i, v]:
            differences.reached[count] = v
            differences.further[count] = differences.least[j, v]
            count += 1
    differences.steps += 2 * differences.least.shape[0]
    for u in range(differences.least.shape[0]):
        start = differences.least[u, i] + ticks
        if differences.least[u, i] > FAR and start > differences.least[u, j]:
            differences.steps += count
            for k in range(count):
                v = differences.reached[k]
                if start + differences.further[k] > differences.least[u, v]:
                    differences.least[u, v] = start + differences.further[k]
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_options(differences: Differences, t: cython.Py_ssize_t) -> cython.void:
    """Set ``low`` and ``high`` to the least and the largest k that turn t leaves possible."""
    differences.low = -floor_division(
        -differences.ticks[t, 0] - differences.least[differences.after[t, 0], differences.before[t, 0]],
        differences.period,
    )
    differences.high = 1 + floor_division(
        -differences.ticks[t, 1] - differences.least[differences.after[t, 1], differences.before[t, 1]],
        differences.period,
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _decide_forced(differences: Differences) -> cython.longlong:
    """Decide every k with one value left; return CONTRADICTION, else 1 if the matrix changed and 0 if not."""
    changed: cython.longlong = 0
    differences.steps += 4 * differences.decided.shape[0]
    for t in range(differences.decided.shape[0]):
        if differences.decided[t]:
            continue
        find_options(differences, t)
        if differences.low > differences.high:
            return CONTRADICTION
        if differences.low < differences.high:
            continue
        differences.decided[t] = True
        first = differences.ticks[t, 0] - differences.low * differences.period
        second = differences.ticks[t, 1] - (1 - differences.low) * differences.period
        if (
            differences.least[differences.before[t, 0], differences.after[t, 0]] < first
            or differences.least[differences.before[t, 1], differences.after[t, 1]] < second
        ):
            if not tighten(differences, differences.before[t, 0], differences.after[t, 0], first):
                return CONTRADICTION
            if not tighten(differences, differences.before[t, 1], differences.after[t, 1], second):
                return CONTRADICTION
            changed = 1
    return changed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lay_out(differences: Differences, on: Resources, r: cython.Py_ssize_t) -> cython.void:
    """Fill where the tasks on a resource lie relative to one another."""
    count: cython.Py_ssize_t = on.starts[r + 1] - on.starts[r]
    differences.steps += 8 * count * count
    for x in range(count):
        i = on.members[on.starts[r] + x]
        on.length[x] = differences.duration[i]
        for y in range(count):
            if x != y:
                j = on.members[on.starts[r] + y]
                turn = -floor_division(differences.least[i, j] - differences.duration[i], differences.period)
                on.turn[x, y] = turn
                on.early[x, y] = differences.least[i, j] + turn * differences.period
                on.late[x, y] = turn * differences.period - differences.least[j, i]
                on.sure[x, y] = on.late[x, y] <= differences.period - differences.duration[j]
                on.shift[x, y] = turn * differences.period if on.sure[x, y] else NEVER
                on.lead[y, x] = differences.least[i, j] - differences.duration[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _next_sum(
    on: Resources, wanted: cython.longlong, idle: cython.longlong, count: cython.Py_ssize_t
) -> cython.longlong:  # fmt: skip
    """Return the least d >= ``wanted`` that is a sum of some of the ``parts``, or more than one by up to ``idle``.

    Equal parts stand side by side. Returns ``wanted`` where ``sums`` is too small, NEVER where there is no such d.
    """
    left: cython.longlong = 0
    n: cython.Py_ssize_t = 1
    same: cython.Py_ssize_t
    _: cython.Py_ssize_t
    for c in range(count):
        left += on.parts[c]
    if wanted > left + idle:
        return NEVER
    best = left
    on.sums[0] = 0
    c = 0
    while c < count:
        same = 1
        while c + same < count and on.parts[c + same] == on.parts[c]:
            same += 1
        left -= same * on.parts[c]
        kept = n
        for k in range(kept):
            value = on.sums[k]
            for _ in range(same):
                value += on.parts[c]
                if value >= wanted:
                    best = min(best, value)
                    break
                if value + left + idle >= wanted:
                    if n == on.sums.shape[0]:
                        return wanted
                    on.sums[n] = value
                    n += 1
        c += same
    for k in range(n):
        if on.sums[k] + idle >= wanted:
            return wanted
    return max(best, wanted)


def next_sum(
    parts: cython.const_longlong[::1], wanted: cython.longlong, idle: cython.longlong, room: cython.Py_ssize_t
) -> int:
    """Return the least d >= ``wanted`` that is a sum of some of the ``parts``, or more than one by up to ``idle``.

    Equal parts stand side by side. Returns ``wanted`` where ``room`` sums are too few, NEVER where there is no such d.
    """
    on = Resources(np.array([0, parts.shape[0]]), parts, room)
    for c in range(parts.shape[0]):
        on.parts[c] = parts[c]
    return int(_next_sum(on, wanted, idle, parts.shape[0]))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _least_start(
    on: Resources, r: cython.Py_ssize_t, x: cython.Py_ssize_t, y: cython.Py_ssize_t, idle: cython.longlong
) -> cython.longlong:
    """Return when task y starts at the least after x, for what lies between them; NEVER if there is no such time.

    What is certain to lie there takes its time. Where the resource has little ``idle`` time (-1: it has more), some of
    the other tasks fill the rest but for that.
    """
    count: cython.Py_ssize_t = on.starts[r + 1] - on.starts[r]
    total: cython.longlong = on.length[x]
    turn: cython.longlong = on.shift[x, y]
    free: cython.Py_ssize_t = 0
    if idle < 0:
        for z in range(count):
            if on.lead[y, z] >= on.shift[x, z] - turn:
                total += on.length[z]
        return max(total, on.early[x, y])
    for z in range(count):
        if on.lead[y, z] >= on.shift[x, z] - turn:
            total += on.length[z]
        elif z not in {x, y} and (not on.sure[x, z] or on.lead[z, y] < turn - on.shift[x, z]):
            on.parts[free] = on.length[z]
            free += 1
    start = _next_sum(on, max(0, on.early[x, y] - total), idle, free)
    return start if start == NEVER else start + total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _keep_apart(
    differences: Differences, on: Resources, r: cython.Py_ssize_t, idle: cython.longlong
) -> cython.longlong:
    """Keep tasks on one resource as far apart as what can lie between them allows; return as ``_decide_forced``."""
    changed: cython.longlong = 0
    count: cython.Py_ssize_t = on.starts[r + 1] - on.starts[r]
    start: cython.longlong
    for x in range(count):  # idle time is little where it is less than a quarter of any task
        if idle * 4 >= differences.duration[on.members[on.starts[r] + x]]:
            idle = -1
            break
    for x in range(count):
        i = on.members[on.starts[r] + x]
        for y in range(count):
            if x == y or not on.sure[x, y]:
                continue
            j = on.members[on.starts[r] + y]
            differences.steps += count
            start = _least_start(on, r, x, y, idle)
            if idle >= 0 and start > differences.period:
                return CONTRADICTION
            start -= on.turn[x, y] * differences.period
            if start > differences.least[i, j]:
                if not tighten(differences, i, j, start):
                    return CONTRADICTION
                changed = 1
    return changed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_overloaded(differences: Differences, on: Resources, r: cython.Py_ssize_t) -> cython.bint:
    """True if the tasks confined to a window between two turns of some task do not fit in there."""
    count: cython.Py_ssize_t = on.starts[r + 1] - on.starts[r]
    n: cython.Py_ssize_t
    y: cython.Py_ssize_t
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    place: cython.Py_ssize_t
    for x in range(count):
        n = 0
        for y in range(count):
            if x == y or not on.sure[x, y]:
                continue
            place = n
            while place > 0 and on.early[x, on.order[place - 1]] < on.early[x, y]:
                on.order[place] = on.order[place - 1]
                place -= 1
            on.order[place] = y
            n += 1
        for b in range(n):
            end = on.late[x, on.order[b]] + differences.duration[on.members[on.starts[r] + on.order[b]]]
            total = 0
            for a in range(n):
                y = on.order[a]
                length = differences.duration[on.members[on.starts[r] + y]]
                if on.late[x, y] + length <= end:
                    total += length
                    if total > end - on.early[x, y]:
                        return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _propagate_resources(differences: Differences, on: Resources) -> cython.longlong:
    """Draw conclusions from what lies between the tasks on every resource; return as ``_decide_forced``."""
    changed: cython.longlong = 0
    k: cython.Py_ssize_t
    for r in range(on.starts.shape[0] - 1):
        idle = differences.period
        for k in range(on.starts[r], on.starts[r + 1]):
            idle -= differences.duration[on.members[k]]
        if idle < 0:
            return CONTRADICTION
        _lay_out(differences, on, r)
        if _is_overloaded(differences, on, r):
            return CONTRADICTION
        result = _keep_apart(differences, on, r, idle)
        if result < 0:
            return CONTRADICTION
        changed = max(changed, result)
    return changed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def propagate(differences: Differences, on: Resources) -> cython.bint:
    """Draw conclusions until there are none left; False on a contradiction."""
    changed: cython.longlong = 1
    while changed == 1:
        while changed == 1:
            changed = _decide_forced(differences)
        if changed == 0:
            changed = _propagate_resources(differences, on)
    return changed == 0
