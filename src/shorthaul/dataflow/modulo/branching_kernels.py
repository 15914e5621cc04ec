"""Branch and bound over the turns that tasks take at one period, on the matrix of least differences between times.

``least[i, j]`` is what time[j] - time[i] is at least (a difference bound matrix, kept closed). A row (a, b, ticks, c,
d, more) of ``turns`` asks for a whole number k with time[b] - time[a] >= ticks - k * P and time[d] - time[c] >= more -
(1 - k) * P. Once every k is decided the matrix is a schedule; a branch that contradicts itself has none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shorthaul.core.jit import kernel

Array = Any
FOUND, EXHAUSTED, PAUSED, TOO_DEEP = 1, 0, -1, -2
_FAR = -(1 << 59)
#: Most sums of durations that are looked at for one pair of tasks.
_SUMS = 256
NONE = 1 << 60


@kernel
def tighten(least: Array, i: int, j: int, ticks: int) -> bool:
    """Ask for time[j] - time[i] >= ticks and close the matrix again; False if that contradicts it."""
    if least[i, j] >= ticks:
        return True
    if ticks + least[j, i] > 0:
        return False
    n = len(least)
    for u in range(n):
        start = least[u, i] + ticks
        if least[u, i] > _FAR and start > least[u, j]:
            for v in range(n):
                if least[j, v] > _FAR and start + least[j, v] > least[u, v]:
                    least[u, v] = start + least[j, v]
    return True


@kernel
def options(least: Array, row: Array, period: int) -> tuple[int, int]:
    """Return the least and the largest k that a row of ``turns`` leaves possible."""
    low = -((-row[2] - least[row[1], row[0]]) // period)
    high = 1 + (-row[5] - least[row[4], row[3]]) // period
    return low, high


@kernel
def decide_forced(least: Array, turns: Array, period: int, decided: Array) -> int:
    """Decide every k with one value left; return -1 on a contradiction, else 1 if the matrix changed and 0 if not."""
    changed = 0
    for row in range(len(turns)):
        if decided[row]:
            continue
        turn = turns[row]
        low, high = options(least, turn, period)
        if low > high:
            return -1
        if low < high:
            continue
        decided[row] = True
        first, second = turn[2] - low * period, turn[5] - (1 - low) * period
        if least[turn[0], turn[1]] < first or least[turn[3], turn[4]] < second:
            if not tighten(least, turn[0], turn[1], first) or not tighten(least, turn[3], turn[4], second):
                return -1
            changed = 1
    return changed


@kernel
def lay_out(
    least: Array, members: Array, duration: Array, period: int, turn: Array, sure: Array, early: Array, late: Array
) -> None:
    """Fill, for tasks x and y of a resource, where y's first turn after x's start lies, in ticks from that start.

    ``turn`` is how many periods that turn is from y's own start, ``early`` and ``late`` when it starts at the least and
    at the most; both hold only where ``sure`` says that the turn is certain.
    """
    for x in range(len(members)):
        for y in range(len(members)):
            if x == y:
                continue
            i, j = members[x], members[y]
            k = -((least[i, j] - duration[i]) // period)
            turn[x, y] = k
            early[x, y] = least[i, j] + k * period
            late[x, y] = k * period - least[j, i]
            sure[x, y] = late[x, y] <= period - duration[j]


@kernel
def next_sum(wanted: int, idle: int, parts: Array, count: int, sums: Array) -> int:
    """Return the least d >= ``wanted`` that is a sum of some ``parts``, or more than one by up to ``idle``.

    Equal parts stand side by side. ``sums`` is room to work in; ``wanted`` where it is too small. Larger than anything
    where there is no such d.
    """
    left = parts[:count].sum()
    if wanted > left + idle:
        return NONE
    best, n, c = left, 1, 0
    sums[0] = 0
    while c < count:
        same = 1
        while c + same < count and parts[c + same] == parts[c]:
            same += 1
        left -= same * parts[c]
        kept = n
        for k in range(kept):
            value = sums[k]
            for _ in range(same):
                value += parts[c]
                if value >= wanted:
                    best = value if value < best else best
                    break
                if value + left + idle >= wanted:
                    if n == len(sums):
                        return wanted
                    sums[n] = value
                    n += 1
        c += same
    for k in range(n):
        if sums[k] + idle >= wanted:
            return wanted
    return best if best > wanted else wanted


@kernel
def between(
    least: Array, members: Array, duration: Array, period: int, turn: Array, sure: Array, early: Array, idle: int,
    parts: Array, sums: Array
) -> int:  # fmt: skip
    """Keep tasks on one resource as far apart as what can lie between them allows; return as ``decide_forced``.

    What is certain to lie there takes its time. Where the resource has little ``idle`` time, some of the other tasks
    fill the rest but for that.
    """
    changed = 0
    scarce = idle * 4 < duration[members].min()
    for x in range(len(members)):
        i = members[x]
        for y in range(len(members)):
            if x == y or not sure[x, y]:
                continue
            j, k = members[y], turn[x, y]
            total, free = duration[i], 0
            for z in range(len(members)):
                if z in (x, y):
                    continue
                o = members[z]
                if sure[x, z]:
                    shift = (k - turn[x, z]) * period
                    if least[o, j] + shift >= duration[o]:
                        total += duration[o]
                        continue
                    if least[j, o] - shift >= duration[j]:
                        continue
                parts[free] = duration[o]
                free += 1
            start = max(total, early[x, y])
            if scarce:
                start = total + next_sum(start - total, idle, parts, free, sums)
                if start > period:
                    return -1
            if start - k * period > least[i, j]:
                if not tighten(least, i, j, start - k * period):
                    return -1
                changed = 1
    return changed


@kernel
def overloaded(members: Array, duration: Array, sure: Array, early: Array, late: Array, order: Array) -> bool:
    """True if the tasks confined to a window between two turns of some task do not fit in there."""
    for x in range(len(members)):
        n = 0
        for y in range(len(members)):
            if x == y or not sure[x, y]:
                continue
            place = n
            while place > 0 and early[x, order[place - 1]] < early[x, y]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = y
            n += 1
        for b in range(n):
            end = late[x, order[b]] + duration[members[order[b]]]
            total = 0
            for a in range(n):
                y = order[a]
                if late[x, y] + duration[members[y]] <= end:
                    total += duration[members[y]]
                    if total > end - early[x, y]:
                        return True
    return False


@kernel
def apart(least: Array, at: Array, members: Array, duration: Array, period: int) -> int:
    """Draw conclusions from what lies between the tasks on every resource; return as ``decide_forced``."""
    most = 0
    for r in range(len(at) - 1):
        most = max(most, at[r + 1] - at[r])
    turn, sure = np.empty((most, most), np.int64), np.empty((most, most), np.bool_)
    early, late = np.empty((most, most), np.int64), np.empty((most, most), np.int64)
    parts, sums, order = np.empty(most, np.int64), np.empty(_SUMS, np.int64), np.empty(most, np.int64)
    changed = 0
    for r in range(len(at) - 1):
        here = members[at[r] : at[r + 1]]
        idle = period - duration[here].sum()
        if idle < 0:
            return -1
        lay_out(least, here, duration, period, turn, sure, early, late)
        if overloaded(here, duration, sure, early, late, order):
            return -1
        result = between(least, here, duration, period, turn, sure, early, idle, parts, sums)
        if result < 0:
            return -1
        changed = max(changed, result)
    return changed


@kernel
def settle(least: Array, turns: Array, period: int, decided: Array, at: Array, members: Array, duration: Array) -> bool:
    """Draw conclusions until there are none left; False on a contradiction."""
    while True:
        changed = 1
        while changed == 1:
            changed = decide_forced(least, turns, period, decided)
        if changed < 0:
            return False
        changed = apart(least, at, members, duration, period)
        if changed <= 0:
            return changed == 0


@kernel
def tightest(least: Array, turns: Array, period: int, decided: Array, weight: Array) -> tuple[int, int, bool]:
    """Return the undecided row of least slack for its weight (-1: none), where to split its k, which side is first."""
    best, split, upper = -1, 0, False
    score = 0.0
    for row in range(len(turns)):
        if decided[row]:
            continue
        turn = turns[row]
        low, high = options(least, turn, period)
        middle = (low + high) // 2
        below = middle * period - turn[2] - least[turn[1], turn[0]]  # slack of k <= middle
        above = -turn[5] - middle * period - least[turn[4], turn[3]]  # slack of k > middle
        value = float(below + above) / weight[row]
        if best < 0 or value < score:
            best, split, upper, score = row, middle, above > below, value
    return best, split, upper


@kernel
def branch(
    matrices: Array, decisions: Array, asked: Array, top: int, nodes: int, turns: Array, period: int, at: Array,
    members: Array, duration: Array, weight: Array, time: Array,
) -> tuple[int, int, int]:  # fmt: skip
    """Go on with a depth-first search for up to ``nodes`` nodes; return the outcome, the new ``top``, the nodes used.

    The stack holds, per open branch, the matrix and decisions of its parent, the (from, to, ticks) that it asks for and
    the row that this decides. A row gains ``weight`` when a branch on it fails: rows that mattered before are taken
    first (Boussemart et al., *Boosting systematic search by weighting constraints*, ECAI 2004). Fills ``time`` with a
    schedule when one is FOUND.
    """
    least, decided = np.empty_like(matrices[0]), np.empty_like(decisions[0])
    for used in range(nodes):
        if top == 0:
            return EXHAUSTED, 0, used
        if top + 1 >= len(matrices):
            return TOO_DEEP, top, used
        top -= 1
        least[:] = matrices[top]
        decided[:] = decisions[top]
        if not tighten(least, asked[top, 0], asked[top, 1], asked[top, 2]) or not settle(
            least, turns, period, decided, at, members, duration
        ):
            weight[asked[top, 3]] += 1.0
            continue
        row, split, upper = tightest(least, turns, period, decided, weight)
        if row < 0:
            time[:] = least[0]
            return FOUND, top, used + 1
        turn = turns[row]
        for second in range(2):  # what lies on top is tried first
            matrices[top] = least
            decisions[top] = decided
            if upper == (second == 1):
                asked[top, 0], asked[top, 1], asked[top, 2] = turn[3], turn[4], turn[5] + split * period
            else:
                asked[top, 0], asked[top, 1], asked[top, 2] = turn[0], turn[1], turn[2] - split * period
            asked[top, 3] = row
            top += 1
    return (PAUSED if top else EXHAUSTED), top, nodes
