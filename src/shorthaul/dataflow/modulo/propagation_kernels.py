"""Conclusions about the times of tasks at one period, from what lies between the tasks on every resource."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.dataflow.modulo.differences_kernels import (
    Differences,
    find_options,
    periods_in,
    tighten,
)

CONTRADICTION = cython.declare(cython.longlong, -1)
NEVER = cython.declare(cython.longlong, 1 << 60)


@cython.final
@cython.cclass
class Resources:
    """The accesses on every interconnect, those of resource r from ``starts[r]`` on, equal ones side by side.

    For tasks x and y of one resource: where y's first turn after x's start lies, in ticks from that start. Rows are
    those of ``members``, columns are counted from the first member of the resource.
    """

    def __init__(
        self, starts: cython.const_longlong[::1], members: cython.const_longlong[::1], sums: cython.Py_ssize_t
    ) -> None:
        most = max(np.diff(starts), default=0)
        rows = members.shape[0]
        self.starts = starts
        self.members = members
        self.seen = np.full((rows, most), 1 << 60, np.int64)
        self.changed = np.ones(rows, np.uint8)
        self.turn = np.empty((rows, most), np.int64)
        self.early = np.empty((rows, most), np.int64)
        self.late = np.empty((rows, most), np.int64)
        self.shift = np.full((rows, most), 1 << 60, np.int64)
        self.lead = np.full((rows, most), -(1 << 60), np.int64)
        self.length = np.empty(most, np.int64)
        self.parts = np.empty(most, np.int64)
        self.sums = np.empty(sums, np.int64)
        self.order = np.empty(most, np.int64)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _decide_forced(differences: Differences) -> cython.longlong:
    """Decide every k with one value left; return CONTRADICTION, else 1 if the matrix changed and 0 if not."""
    changed: cython.longlong = 0
    place: cython.Py_ssize_t = 0
    t: cython.Py_ssize_t
    differences.steps += 4 * differences.open
    while place < differences.open:
        t = differences.turns[place]
        find_options(differences, t)
        if differences.low > differences.high:
            return CONTRADICTION
        if differences.low < differences.high:
            place += 1
            continue
        differences.open -= 1
        differences.turns[place] = differences.turns[differences.open]
        differences.turns[differences.open] = t
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
def _lay_out(differences: Differences, on: Resources, r: cython.Py_ssize_t) -> cython.bint:
    """Work out where the tasks on a resource lie relative to one another; False if that has not changed."""
    first: cython.Py_ssize_t = on.starts[r]
    count: cython.Py_ssize_t = on.starts[r + 1] - first
    any_changed: cython.bint = False
    differences.steps += count * count
    for x in range(count):
        i = on.members[first + x]
        on.length[x] = differences.duration[i]
        for y in range(x):
            j = on.members[first + y]
            if differences.least[i, j] != on.seen[first + x, y] or differences.least[j, i] != on.seen[first + y, x]:
                on.changed[first + x] = on.changed[first + y] = True
                _lay_out_pair(differences, on, first, x, y)
                _lay_out_pair(differences, on, first, y, x)
    for x in range(count):
        any_changed |= on.changed[first + x]
    return any_changed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lay_out_pair(
    differences: Differences, on: Resources, first: cython.Py_ssize_t, x: cython.Py_ssize_t, y: cython.Py_ssize_t
) -> cython.void:  # fmt: skip
    i: cython.Py_ssize_t = on.members[first + x]
    j: cython.Py_ssize_t = on.members[first + y]
    least: cython.longlong = differences.least[i, j]
    turn: cython.longlong = -periods_in(differences, least - differences.duration[i])
    differences.steps += 8
    on.seen[first + x, y] = least
    on.turn[first + x, y] = turn
    on.early[first + x, y] = least + turn * differences.period
    on.late[first + x, y] = turn * differences.period - differences.least[j, i]
    on.shift[first + x, y] = turn * differences.period
    if on.late[first + x, y] > differences.period - differences.duration[j]:
        on.shift[first + x, y] = NEVER
    on.lead[first + y, x] = least - differences.duration[i]


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
    first: cython.Py_ssize_t = on.starts[r]
    count: cython.Py_ssize_t = on.starts[r + 1] - first
    total: cython.longlong = on.length[x]
    turn: cython.longlong = on.shift[first + x, y]
    free: cython.Py_ssize_t = 0
    if idle < 0:
        for z in range(count):
            if on.lead[first + y, z] >= on.shift[first + x, z] - turn:
                total += on.length[z]
        return max(total, on.early[first + x, y])
    for z in range(count):
        if on.lead[first + y, z] >= on.shift[first + x, z] - turn:
            total += on.length[z]
        elif z not in {x, y} and (
            on.shift[first + x, z] == NEVER or on.lead[first + z, y] < turn - on.shift[first + x, z]
        ):
            on.parts[free] = on.length[z]
            free += 1
    start = _next_sum(on, max(0, on.early[first + x, y] - total), idle, free)
    return start if start == NEVER else start + total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _keep_apart(
    differences: Differences, on: Resources, r: cython.Py_ssize_t, idle: cython.longlong
) -> cython.longlong:
    """Keep tasks on one resource as far apart as what can lie between them allows; return as ``_decide_forced``."""
    changed: cython.longlong = 0
    first: cython.Py_ssize_t = on.starts[r]
    count: cython.Py_ssize_t = on.starts[r + 1] - first
    start: cython.longlong
    for x in range(count):  # idle time is little where it is less than a quarter of any task
        if idle * 4 >= differences.duration[on.members[first + x]]:
            idle = -1
            break
    for x in range(count):
        i = on.members[first + x]
        for y in range(count):
            if x == y or on.shift[first + x, y] == NEVER or not (on.changed[first + x] or on.changed[first + y]):
                continue
            j = on.members[first + y]
            differences.steps += count
            start = _least_start(on, r, x, y, idle)
            if idle >= 0 and start > differences.period:
                return CONTRADICTION
            start -= on.shift[first + x, y]
            if start > differences.least[i, j]:
                on.seen[first + x, y] = NEVER  # whatever becomes of it, it is worked out again
                if not tighten(differences, i, j, start):
                    return CONTRADICTION
                changed = 1
    for x in range(count):
        on.changed[first + x] = False
    return changed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_overloaded(differences: Differences, on: Resources, r: cython.Py_ssize_t) -> cython.bint:
    """True if the tasks confined to a window between two turns of some task do not fit in there."""
    first: cython.Py_ssize_t = on.starts[r]
    count: cython.Py_ssize_t = on.starts[r + 1] - first
    n: cython.Py_ssize_t
    y: cython.Py_ssize_t
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    place: cython.Py_ssize_t
    for x in range(count):
        if not on.changed[first + x]:
            continue
        n = 0
        for y in range(count):
            if x == y or on.shift[first + x, y] == NEVER:
                continue
            place = n
            while place > 0 and on.early[first + x, on.order[place - 1]] < on.early[first + x, y]:
                on.order[place] = on.order[place - 1]
                place -= 1
            on.order[place] = y
            n += 1
        differences.steps += n * n
        for b in range(n):
            end = on.late[first + x, on.order[b]] + on.length[on.order[b]]
            total = 0
            for a in range(n):
                y = on.order[a]
                if on.late[first + x, y] + on.length[y] <= end:
                    total += on.length[y]
                    if total > end - on.early[first + x, y]:
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
        if not _lay_out(differences, on, r):
            continue
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
def propagate(differences: Differences, on: Resources, is_thorough: cython.bint) -> cython.bint:
    """Draw conclusions until there are none left, those about resources only if ``is_thorough``.

    False on a contradiction.
    """
    changed: cython.longlong = 1
    while changed == 1:
        while changed == 1:
            changed = _decide_forced(differences)
        if changed == 0 and is_thorough:
            changed = _propagate_resources(differences, on)
    return changed == 0
