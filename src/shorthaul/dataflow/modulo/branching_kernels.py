"""Branch and bound over the turns that tasks take at one period, on the matrix of least differences between times.

``least[i, j]`` is what time[j] - time[i] is at least (a difference bound matrix, kept closed). Turn t asks for a whole
number k with time[after[t, 0]] - time[before[t, 0]] >= ticks[t, 0] - k * P, and on side 1 likewise with 1 - k for k.
Once every k is decided the matrix is a schedule; a branch that contradicts itself has none.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.dataflow.mapping.mapping_kernels import floor_division

FOUND, EXHAUSTED, PAUSED, TOO_DEEP = 1, 0, -1, -2
_FOUND = cython.declare(cython.longlong, 1)
_EXHAUSTED = cython.declare(cython.longlong, 0)
_PAUSED = cython.declare(cython.longlong, -1)
_TOO_DEEP = cython.declare(cython.longlong, -2)
CONTRADICTION = cython.declare(cython.longlong, -1)
#: Differences from here down are no constraint.
FAR = cython.declare(cython.longlong, -(1 << 59))
NEVER = cython.declare(cython.longlong, 1 << 60)


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


@cython.final
@cython.cclass
class Tree:
    """A depth-first search at one period that can be interrupted.

    The stack holds, per open branch, the matrix and the decisions of its parent, what it asks for, and the turn that
    this decides.
    """

    period: cython.longlong
    duration: cython.const_longlong[::1]
    before: cython.const_longlong[:, ::1]
    after: cython.const_longlong[:, ::1]
    ticks: cython.const_longlong[:, ::1]
    weight: cython.double[::1]  # how often a branch on the turn failed, plus one
    matrices: cython.longlong[:, :, ::1]
    decisions: cython.uchar[:, ::1]
    ask_from: cython.longlong[::1]
    ask_to: cython.longlong[::1]
    ask_ticks: cython.longlong[::1]
    ask_turn: cython.longlong[::1]
    top: cython.Py_ssize_t
    least: cython.longlong[:, ::1]
    decided: cython.uchar[::1]
    reached: cython.longlong[::1]  # nodes, and how much further on they are at least
    further: cython.longlong[::1]
    low: cython.longlong  # the k that a turn leaves possible
    high: cython.longlong

    def __init__(
        self,
        period: cython.longlong,
        duration: cython.const_longlong[::1],
        before: cython.const_longlong[:, ::1],
        after: cython.const_longlong[:, ::1],
        ticks: cython.const_longlong[:, ::1],
        depth: cython.Py_ssize_t,
        root: cython.longlong[:, ::1],
    ) -> None:
        turns = before.shape[0]
        nodes = duration.shape[0]
        matrices = np.empty((depth, nodes, nodes), np.int64)
        matrices[0] = root
        self.period = period
        self.duration = duration
        self.before = before
        self.after = after
        self.ticks = ticks
        self.weight = np.ones(turns + 1)
        self.matrices = matrices
        self.decisions = np.zeros((depth, turns), np.uint8)
        self.ask_from = np.zeros(depth, np.int64)
        self.ask_to = np.zeros(depth, np.int64)
        self.ask_ticks = np.zeros(depth, np.int64)
        self.ask_turn = np.full(depth, turns, np.int64)
        self.top = 1
        self.least = np.empty((nodes, nodes), np.int64)
        self.decided = np.empty(turns, np.uint8)
        self.reached = np.empty(nodes, np.int64)
        self.further = np.empty(nodes, np.int64)
        self.low = 0
        self.high = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _tighten(tree: Tree, i: cython.longlong, j: cython.longlong, ticks: cython.longlong) -> cython.bint:
    """Ask for time[j] - time[i] >= ticks and close the matrix again; False if that contradicts it."""
    u: cython.Py_ssize_t
    v: cython.Py_ssize_t
    k: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    start: cython.longlong
    if tree.least[i, j] >= ticks:
        return True
    if ticks + tree.least[j, i] > 0:
        return False
    for v in range(tree.least.shape[0]):  # no path to another node gets longer by way of j
        if tree.least[j, v] > FAR and ticks + tree.least[j, v] > tree.least[i, v]:
            tree.reached[count] = v
            tree.further[count] = tree.least[j, v]
            count += 1
    for u in range(tree.least.shape[0]):
        start = tree.least[u, i] + ticks
        if tree.least[u, i] > FAR and start > tree.least[u, j]:
            for k in range(count):
                v = tree.reached[k]
                if start + tree.further[k] > tree.least[u, v]:
                    tree.least[u, v] = start + tree.further[k]
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_options(tree: Tree, t: cython.Py_ssize_t) -> cython.void:
    """Set ``low`` and ``high`` to the least and the largest k that turn t leaves possible."""
    tree.low = -floor_division(-tree.ticks[t, 0] - tree.least[tree.after[t, 0], tree.before[t, 0]], tree.period)
    tree.high = 1 + floor_division(-tree.ticks[t, 1] - tree.least[tree.after[t, 1], tree.before[t, 1]], tree.period)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _decide_forced(tree: Tree) -> cython.longlong:
    """Decide every k with one value left; return CONTRADICTION, else 1 if the matrix changed and 0 if not."""
    changed: cython.longlong = 0
    t: cython.Py_ssize_t
    first: cython.longlong
    second: cython.longlong
    for t in range(tree.decided.shape[0]):
        if tree.decided[t]:
            continue
        _find_options(tree, t)
        if tree.low > tree.high:
            return CONTRADICTION
        if tree.low < tree.high:
            continue
        tree.decided[t] = True
        first = tree.ticks[t, 0] - tree.low * tree.period
        second = tree.ticks[t, 1] - (1 - tree.low) * tree.period
        if (
            tree.least[tree.before[t, 0], tree.after[t, 0]] < first
            or tree.least[tree.before[t, 1], tree.after[t, 1]] < second
        ):
            if not _tighten(tree, tree.before[t, 0], tree.after[t, 0], first):
                return CONTRADICTION
            if not _tighten(tree, tree.before[t, 1], tree.after[t, 1], second):
                return CONTRADICTION
            changed = 1
    return changed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lay_out(tree: Tree, on: Resources, r: cython.Py_ssize_t) -> cython.void:
    """Fill where the tasks on a resource lie relative to one another."""
    count: cython.Py_ssize_t = on.starts[r + 1] - on.starts[r]
    x: cython.Py_ssize_t
    y: cython.Py_ssize_t
    i: cython.longlong
    j: cython.longlong
    turn: cython.longlong
    for x in range(count):
        i = on.members[on.starts[r] + x]
        on.length[x] = tree.duration[i]
        for y in range(count):
            if x != y:
                j = on.members[on.starts[r] + y]
                turn = -floor_division(tree.least[i, j] - tree.duration[i], tree.period)
                on.turn[x, y] = turn
                on.early[x, y] = tree.least[i, j] + turn * tree.period
                on.late[x, y] = turn * tree.period - tree.least[j, i]
                on.sure[x, y] = on.late[x, y] <= tree.period - tree.duration[j]
                on.shift[x, y] = turn * tree.period if on.sure[x, y] else NEVER
                on.lead[y, x] = tree.least[i, j] - tree.duration[i]


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
    best: cython.longlong
    value: cython.longlong
    n: cython.Py_ssize_t = 1
    kept: cython.Py_ssize_t
    c: cython.Py_ssize_t
    k: cython.Py_ssize_t
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
    c: cython.Py_ssize_t
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
    start: cython.longlong
    z: cython.Py_ssize_t
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
def _keep_apart(tree: Tree, on: Resources, r: cython.Py_ssize_t, idle: cython.longlong) -> cython.longlong:
    """Keep tasks on one resource as far apart as what can lie between them allows; return as ``_decide_forced``."""
    changed: cython.longlong = 0
    count: cython.Py_ssize_t = on.starts[r + 1] - on.starts[r]
    x: cython.Py_ssize_t
    y: cython.Py_ssize_t
    start: cython.longlong
    i: cython.longlong
    j: cython.longlong
    for x in range(count):  # idle time is little where it is less than a quarter of any task
        if idle * 4 >= tree.duration[on.members[on.starts[r] + x]]:
            idle = -1
            break
    for x in range(count):
        i = on.members[on.starts[r] + x]
        for y in range(count):
            if x == y or not on.sure[x, y]:
                continue
            j = on.members[on.starts[r] + y]
            start = _least_start(on, r, x, y, idle)
            if idle >= 0 and start > tree.period:
                return CONTRADICTION
            start -= on.turn[x, y] * tree.period
            if start > tree.least[i, j]:
                if not _tighten(tree, i, j, start):
                    return CONTRADICTION
                changed = 1
    return changed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_overloaded(tree: Tree, on: Resources, r: cython.Py_ssize_t) -> cython.bint:
    """True if the tasks confined to a window between two turns of some task do not fit in there."""
    count: cython.Py_ssize_t = on.starts[r + 1] - on.starts[r]
    n: cython.Py_ssize_t
    x: cython.Py_ssize_t
    y: cython.Py_ssize_t
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    place: cython.Py_ssize_t
    length: cython.longlong
    end: cython.longlong
    total: cython.longlong
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
            end = on.late[x, on.order[b]] + tree.duration[on.members[on.starts[r] + on.order[b]]]
            total = 0
            for a in range(n):
                y = on.order[a]
                length = tree.duration[on.members[on.starts[r] + y]]
                if on.late[x, y] + length <= end:
                    total += length
                    if total > end - on.early[x, y]:
                        return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _propagate_resources(tree: Tree, on: Resources) -> cython.longlong:
    """Draw conclusions from what lies between the tasks on every resource; return as ``_decide_forced``."""
    changed: cython.longlong = 0
    result: cython.longlong
    idle: cython.longlong
    r: cython.Py_ssize_t
    k: cython.Py_ssize_t
    for r in range(on.starts.shape[0] - 1):
        idle = tree.period
        for k in range(on.starts[r], on.starts[r + 1]):
            idle -= tree.duration[on.members[k]]
        if idle < 0:
            return CONTRADICTION
        _lay_out(tree, on, r)
        if _is_overloaded(tree, on, r):
            return CONTRADICTION
        result = _keep_apart(tree, on, r, idle)
        if result < 0:
            return CONTRADICTION
        changed = max(changed, result)
    return changed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _propagate(tree: Tree, on: Resources) -> cython.bint:
    """Draw conclusions until there are none left; False on a contradiction."""
    changed: cython.longlong = 1
    while changed == 1:
        while changed == 1:
            changed = _decide_forced(tree)
        if changed == 0:
            changed = _propagate_resources(tree, on)
    return changed == 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _push(
    tree: Tree, t: cython.Py_ssize_t, side: cython.Py_ssize_t, ticks: cython.longlong
) -> cython.void:  # fmt: skip
    """Put a branch on the stack that asks for ``ticks`` on one side of turn t."""
    u: cython.Py_ssize_t
    v: cython.Py_ssize_t
    for u in range(tree.least.shape[0]):
        for v in range(tree.least.shape[0]):
            tree.matrices[tree.top, u, v] = tree.least[u, v]
    for u in range(tree.decided.shape[0]):
        tree.decisions[tree.top, u] = tree.decided[u]
    tree.ask_from[tree.top] = tree.before[t, side]
    tree.ask_to[tree.top] = tree.after[t, side]
    tree.ask_ticks[tree.top] = ticks
    tree.ask_turn[tree.top] = t
    tree.top += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pop(tree: Tree) -> cython.bint:
    """Take a branch off the stack and ask for what it does; False if that contradicts the matrix of its parent."""
    u: cython.Py_ssize_t
    v: cython.Py_ssize_t
    tree.top -= 1
    for u in range(tree.least.shape[0]):
        for v in range(tree.least.shape[0]):
            tree.least[u, v] = tree.matrices[tree.top, u, v]
    for u in range(tree.decided.shape[0]):
        tree.decided[u] = tree.decisions[tree.top, u]
    return _tighten(tree, tree.ask_from[tree.top], tree.ask_to[tree.top], tree.ask_ticks[tree.top])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _split(tree: Tree) -> cython.bint:
    """Branch on the undecided turn of least slack for its weight; False if there is none."""
    best: cython.Py_ssize_t = -1
    split: cython.longlong = 0
    upper: cython.bint = False
    score: cython.double = 0.0
    value: cython.double
    middle: cython.longlong
    below: cython.longlong
    above: cython.longlong
    t: cython.Py_ssize_t
    for t in range(tree.decided.shape[0]):
        if tree.decided[t]:
            continue
        _find_options(tree, t)
        middle = (tree.low + tree.high) >> 1
        # slack of k <= middle, and of k > middle
        below = middle * tree.period - tree.ticks[t, 0] - tree.least[tree.after[t, 0], tree.before[t, 0]]
        above = -tree.ticks[t, 1] - middle * tree.period - tree.least[tree.after[t, 1], tree.before[t, 1]]
        value = (below + above) / tree.weight[t]
        if best < 0 or value < score:
            best = t
            split = middle
            upper = above > below
            score = value
    if best < 0:
        return False
    if upper:  # what lies on top is tried first
        _push(tree, best, 0, tree.ticks[best, 0] - split * tree.period)
        _push(tree, best, 1, tree.ticks[best, 1] + split * tree.period)
    else:
        _push(tree, best, 1, tree.ticks[best, 1] + split * tree.period)
        _push(tree, best, 0, tree.ticks[best, 0] - split * tree.period)
    return True


def branch(tree: Tree, on: Resources, nodes: cython.longlong, time: cython.longlong[::1]) -> tuple[int, int]:
    """Go on with a depth-first search for up to ``nodes`` nodes; return the outcome and how many nodes were visited.

    A turn gains weight when a branch on it fails: turns that mattered before are taken first (Boussemart et al.,
    *Boosting systematic search by weighting constraints*, ECAI 2004). Fills ``time`` with a schedule when one is FOUND.
    """
    visited: cython.longlong = 0
    outcome: cython.longlong = _PAUSED
    with cython.nogil:
        while visited < nodes and outcome == _PAUSED:
            outcome = _visit(tree, on, time)
            visited += 1
    return int(outcome), int(visited)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _visit(tree: Tree, on: Resources, time: cython.longlong[::1]) -> cython.longlong:
    """Take the branch on top; return what then holds for the search."""
    k: cython.Py_ssize_t
    if tree.top == 0:
        return _EXHAUSTED
    if tree.top + 1 >= tree.matrices.shape[0]:
        return _TOO_DEEP
    if not _pop(tree) or not _propagate(tree, on):
        tree.weight[tree.ask_turn[tree.top]] += 1.0
    elif not _split(tree):
        for k in range(time.shape[0]):
            time[k] = tree.least[0, k]
        return _FOUND
    return _PAUSED if tree.top else _EXHAUSTED
