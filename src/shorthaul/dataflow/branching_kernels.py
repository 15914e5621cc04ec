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
def stage(least: Array, i: int, j: int, period: int, duration: Array) -> tuple[int, bool]:
    """Return k with i before j + k periods before i's next turn, and whether that is certain."""
    k = -((least[i, j] - duration[i]) // period)
    return k, least[j, i] >= duration[j] - (1 - k) * period


@kernel
def between(least: Array, at: Array, members: Array, duration: Array, period: int) -> int:
    """Keep tasks on one resource as far apart as what is certain to lie between them; return as ``decide_forced``."""
    changed = 0
    for r in range(len(at) - 1):
        for x in range(at[r], at[r + 1]):
            i = members[x]
            for y in range(at[r], at[r + 1]):
                j = members[y]
                if i == j:
                    continue
                k, certain = stage(least, i, j, period, duration)
                if not certain:
                    continue
                total = duration[i]
                for z in range(at[r], at[r + 1]):
                    o = members[z]
                    if o in (i, j):
                        continue
                    shift, known = stage(least, i, o, period, duration)
                    if known and least[o, j] >= duration[o] + (shift - k) * period:
                        total += duration[o]
                if total - k * period > least[i, j]:
                    if not tighten(least, i, j, total - k * period):
                        return -1
                    changed = 1
    return changed


@kernel
def overloaded(least: Array, at: Array, members: Array, duration: Array, period: int) -> bool:
    """True if, on some resource, the tasks confined to a window between two turns of a task do not fit in there."""
    early, late = np.empty(len(members), np.int64), np.empty(len(members), np.int64)
    length = np.empty(len(members), np.int64)
    for r in range(len(at) - 1):
        for x in range(at[r], at[r + 1]):
            i = members[x]
            n = 0
            for y in range(at[r], at[r + 1]):
                j = members[y]
                if i == j:
                    continue
                k, certain = stage(least, i, j, period, duration)
                if certain:
                    early[n] = least[i, j] + k * period
                    late[n] = k * period - least[j, i] + duration[j]
                    length[n] = duration[j]
                    n += 1
            for a in range(n):
                for b in range(n):
                    total = 0
                    for c in range(n):
                        if early[c] >= early[a] and late[c] <= late[b]:
                            total += length[c]
                    if total > 0 and total > late[b] - early[a]:
                        return True
    return False


@kernel
def settle(least: Array, turns: Array, period: int, decided: Array, at: Array, members: Array, duration: Array) -> bool:
    """Draw conclusions until there are none left; False on a contradiction."""
    while True:
        changed = 1
        while changed == 1:
            changed = decide_forced(least, turns, period, decided)
        if changed < 0:
            return False
        changed = between(least, at, members, duration, period)
        if changed < 0:
            return False
        if changed == 0:
            return not overloaded(least, at, members, duration, period)


@kernel
def tightest(least: Array, turns: Array, period: int, decided: Array, duration: Array) -> tuple[int, int, bool]:
    """Return the undecided row with the least slack (-1: none), where to split its k, and the side to try first."""
    best, split, upper = -1, 0, False
    score = 0
    for row in range(len(turns)):
        if decided[row]:
            continue
        turn = turns[row]
        low, high = options(least, turn, period)
        middle = (low + high) // 2
        below = middle * period - turn[2] - least[turn[1], turn[0]]  # slack of k <= middle
        above = -turn[5] - middle * period - least[turn[4], turn[3]]  # slack of k > middle
        value = below + above - duration[turn[0]] - duration[turn[1]]
        if best < 0 or value < score:
            best, split, upper, score = row, middle, above > below, value
    return best, split, upper


@kernel
def branch(
    matrices: Array, decisions: Array, asked: Array, top: int, nodes: int, turns: Array, period: int, at: Array,
    members: Array, duration: Array, time: Array,
) -> tuple[int, int, int]:  # fmt: skip
    """Go on with a depth-first search for up to ``nodes`` nodes; return the outcome, the new ``top``, the nodes used.

    The stack holds, per open branch, the matrix and decisions of its parent and the (from, to, ticks) that it asks for.
    Fills ``time`` with a schedule when one is FOUND.
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
        if not tighten(least, asked[top, 0], asked[top, 1], asked[top, 2]):
            continue
        if not settle(least, turns, period, decided, at, members, duration):
            continue
        row, split, upper = tightest(least, turns, period, decided, duration)
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
            top += 1
    return (PAUSED if top else EXHAUSTED), top, nodes
