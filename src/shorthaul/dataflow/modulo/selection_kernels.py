"""Orders on all resources (a selection of the cyclic disjunctive graph), their least period, and a local search.

Any times induce a selection: on every resource, tasks follow each other as their times do modulo the period. Its
least period is the maximum cycle ratio of the arcs between successors, found with longest paths that start at the
times of the last selection. Arcs are rows (from, to, ticks, periods): time[to] >= time[from] + ticks - periods * P.
Nodes and their arrays are those of ``disjunctive.DisjunctiveGraph``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shorthaul.core.jit import kernel

Array = Any
READ, WRITE, END = 1, 3, 4
#: The period of a selection that no period suffices for, or that was given up.
NEVER = 1 << 60


@kernel
def chains(time: Array, duration: Array, first: Array, stop: Array, execution: Array, arc: Array) -> int:
    """Fill the arcs within firings: reads, execution, writes, one after the other; return how many."""
    count = 0
    order = np.empty(len(time), np.int64)
    for f in range(len(first)):
        last = first[f]
        for phase in range(2):
            low = first[f] + 1 if phase == 0 else execution[f] + 1
            target = execution[f] if phase == 0 else stop[f] - 1
            members = 0
            for i in range(low, target):
                place = members
                while place > 0 and time[i] < time[order[place - 1]]:
                    order[place] = order[place - 1]
                    place -= 1
                order[place] = i
                members += 1
            order[members] = target
            for k in range(members + 1):
                arc[count, 0], arc[count, 1], arc[count, 2], arc[count, 3] = last, order[k], duration[last], 0
                count += 1
                last = order[k]
    return count


@kernel
def cycles(
    time: Array, period: int, duration: Array, stop: Array, at: Array, members: Array, first: Array, firings: bool,
    arc: Array, count: int,
) -> int:  # fmt: skip
    """Fill the arcs between successors on every resource, the last before the first a period on; return the count.

    ``members`` are nodes, or firings (``firings``), which hold their core from begin to end.
    """
    key = np.empty(len(members), np.int64)
    order = np.empty(len(members), np.int64)
    for r in range(len(at) - 1):
        n = 0
        for q in range(at[r], at[r + 1]):
            node = first[members[q]] if firings else members[q]
            residue = time[node] % period
            place = n
            while place > 0 and (
                key[place - 1] > residue
                or (key[place - 1] == residue and (first[order[place - 1]] if firings else order[place - 1]) > node)
            ):
                key[place], order[place] = key[place - 1], order[place - 1]
                place -= 1
            key[place], order[place] = residue, members[q]
            n += 1
        for k in range(n):
            i, j = order[k], order[(k + 1) % n]
            source, target = (first[i], first[j]) if firings else (i, j)
            arc[count, 3] = time[source] // period - time[target] // period + (k == n - 1)
            arc[count, 0] = stop[i] - 1 if firings else i
            arc[count, 1] = target
            arc[count, 2] = duration[arc[count, 0]]
            count += 1
    return count


@kernel
def select(
    time: Array, period: int, duration: Array, first: Array, stop: Array, execution: Array, on_at: Array, on: Array,
    core_at: Array, at_core: Array, tokens: Array, arc: Array,
) -> int:  # fmt: skip
    """Fill ``arc`` with the selection that ``time`` induces; return the number of arcs."""
    count = chains(time, duration, first, stop, execution, arc)
    count = cycles(time, period, duration, stop, on_at, on, first, False, arc, count)
    count = cycles(time, period, duration, stop, core_at, at_core, first, True, arc, count)
    for q in range(len(tokens)):
        arc[count] = tokens[q]
        count += 1
    return count


@kernel
def longest_paths(arc: Array, count: int, period: int, time: Array, into: Array, seen: Array, cycle: Array) -> int:
    """Raise ``time`` until all arcs hold; return 0, or the length of a cycle (filled with arcs) that never will."""
    n = len(time)
    into[:] = -1
    passes = 0
    while True:
        changed = False
        for a in range(count):
            least = time[arc[a, 0]] + arc[a, 2] - arc[a, 3] * period
            if least > time[arc[a, 1]]:
                time[arc[a, 1]] = least
                into[arc[a, 1]] = a
                changed = True
        if not changed:
            return 0
        passes += 1
        if passes % 2:
            continue
        seen[:] = -1
        for root in range(n):
            v = root
            while seen[v] < 0 and into[v] >= 0:
                seen[v] = root
                v = arc[into[v], 0]
            if seen[v] == root:
                length = 0
                u = v
                while length == 0 or u != v:
                    cycle[length] = into[u]
                    length += 1
                    u = arc[into[u], 0]
                return length
            if seen[v] < 0:
                seen[v] = root


@kernel
def least_period(
    arc: Array, count: int, low: int, most: int, time: Array, into: Array, seen: Array, cycle: Array, critical: Array
) -> tuple[int, int]:
    """Return the least period from ``low`` to ``most`` of a selection (else NEVER), and the arcs that forbid less.

    Fills ``critical`` with those and ``time`` with a schedule. From one cycle's ratio to the next larger one.
    """
    found = 0
    tried = time.copy()
    if longest_paths(arc, count, most, tried, into, seen, cycle):
        return NEVER, 0
    period = low
    while period < most:
        tried[:] = time
        length = longest_paths(arc, count, period, tried, into, seen, cycle)
        if length == 0:
            break
        ticks, periods = 0, 0
        for k in range(length):
            critical[k] = cycle[k]
            ticks += arc[cycle[k], 2]
            periods += arc[cycle[k], 3]
        found = length
        period = -(-ticks // periods)
    else:
        tried[:] = time
        longest_paths(arc, count, period, tried, into, seen, cycle)
    time[:] = tried
    return period, found


@kernel
def draw(random: Array) -> float:
    """Return the next random number in [0, 1) (a linear congruential generator of 48 bits)."""
    random[0] = (int(random[0]) * 25214903917 + 11) & ((1 << 48) - 1)
    return float(random[0]) / float(1 << 48)


@kernel
def place(
    time: Array, node: int, at: int, kind: Array, firing: Array, first: Array, stop: Array, execution: Array
) -> None:
    """Put an access at a time; what comes before or after it in its firing gives way, as little as possible."""
    f = firing[node]
    begin, middle, end = first[f], execution[f], stop[f] - 1
    time[node] = at
    if kind[node] == READ:
        time[begin] = min(time[begin], at)
        time[middle] = max(time[middle], at)
        for write in range(middle + 1, end):
            time[write] = max(time[write], time[middle])
            time[end] = max(time[end], time[write])
    else:
        time[end] = max(time[end], at)
        time[middle] = min(time[middle], at)
        for read in range(begin + 1, middle):
            time[read] = min(time[read], time[middle])
            time[begin] = min(time[begin], time[read])
    time[end] = max(time[end], time[middle])
    time[begin] = min(time[begin], time[middle])


@kernel
def exchange(
    time: Array, i: int, j: int, lag: int, random: Array, period: int, kind: Array, firing: Array, first: Array,
    stop: Array, execution: Array,
) -> None:  # fmt: skip
    """Undo a critical arc from ``i`` to ``j``, ``lag`` ticks of periods apart: let them swap, or move a firing away."""
    if (kind[i] == READ or kind[i] == WRITE) and (kind[j] == READ or kind[j] == WRITE):
        before, after = time[i] - lag, time[j] + lag
        how = draw(random)
        if how < 0.6:
            place(time, j, before - (how < 0.4), kind, firing, first, stop, execution)
        if how >= 0.4:
            place(time, i, after + (how >= 0.6), kind, firing, first, stop, execution)
        return
    f = firing[i] if draw(random) < 0.5 else firing[j]
    by = int((draw(random) - 0.5) * 0.5 * period)
    time[first[f] : stop[f]] += by


@kernel
def scatter(
    time: Array, random: Array, period: int, accesses: Array, duration: Array, kind: Array, firing: Array,
    first: Array, stop: Array, execution: Array,
) -> None:  # fmt: skip
    """Move a random access within its firing, or a random firing, with its pauses or without."""
    how = draw(random)
    if how < 0.5 and len(accesses):
        node = accesses[int(draw(random) * len(accesses))]
        begin, end = time[first[firing[node]]], time[stop[firing[node]] - 1]
        at = begin - (period - (end - begin)) // 2 + int(draw(random) * period)
        place(time, node, at, kind, firing, first, stop, execution)
        return
    f = int(draw(random) * len(first))
    at = int(draw(random) * period)
    if how < 0.75:
        time[first[f] : stop[f]] += at - time[first[f]]
        return
    for node in range(first[f], stop[f]):
        time[node] = at
        at += duration[node]


@kernel
def rebase(time: Array, period: int, first: Array, stop: Array, unit: Array) -> None:
    """Take whole periods off units of firings, so that their first one begins in the first period."""
    off = np.zeros(len(first), np.int64)
    for f in range(len(first)):
        leader = f
        for g in range(f):
            if unit[g] == unit[f]:
                leader = g
                break
        off[f] = time[first[f]] // period * period if leader == f else off[leader]
        time[first[f] : stop[f]] -= off[f]


@kernel
def improve(
    time: Array, best: Array, period: int, low: int, rounds: int, hot: float, cold: float, random: Array,
    duration: Array, kind: Array, firing: Array, first: Array, stop: Array, execution: Array, on_at: Array, on: Array,
    core_at: Array, at_core: Array, tokens: Array, unit: Array,
) -> int:  # fmt: skip
    """Simulated annealing over selections from the schedule ``time``; return the least period seen (at best ``low``).

    Fills ``best`` with a schedule of that period and leaves ``time`` at the last one. The temperature falls from
    ``hot`` to ``cold`` ticks; every other move or so undoes an arc of the critical cycle.
    """
    n = len(time)
    arc = np.empty((2 * n + len(on) + len(at_core) + len(tokens), 4), np.int64)
    into, seen, moved = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    cycle, critical = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    tight = np.empty((n + 1, 3), np.int64)
    accesses = np.flatnonzero((kind == READ) | (kind == WRITE))
    least = period
    best[:] = time
    length = 0
    for number in range(-1, rounds):
        moved[:] = time
        limit = period
        if number >= 0:  # the first turn evaluates the selection at hand
            if length and draw(random) < 0.6:
                k = int(draw(random) * length)
                exchange(
                    moved, tight[k, 0], tight[k, 1], tight[k, 2] * period, random, period, kind, firing, first, stop,
                    execution,
                )  # fmt: skip
            else:
                scatter(moved, random, period, accesses, duration, kind, firing, first, stop, execution)
            heat = hot * (cold / hot) ** (number / rounds)
            limit += int(-heat * np.log(1.0 - draw(random)))
        count = select(
            moved, period, duration, first, stop, execution, on_at, on, core_at, at_core, tokens, arc
        )  # fmt: skip
        found, arcs = least_period(arc, count, low, limit, moved, into, seen, cycle, critical)
        if found > limit:
            continue
        period, length = found, arcs
        rebase(moved, period, first, stop, unit)
        time[:] = moved
        for k in range(arcs):
            tight[k, 0], tight[k, 1] = arc[critical[k], 0], arc[critical[k], 1]
            tight[k, 2] = (time[tight[k, 0]] + arc[critical[k], 2] - time[tight[k, 1]] + period - 1) // period
        if period < least:
            least = period
            best[:] = time
            if least == low:
                break
    return least
