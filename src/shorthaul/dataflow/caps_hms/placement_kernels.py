"""Algorithm 5 of Letras et al., compiled: place all firings of a mapping at one period.

Resources, memories and tasks have the numbers that ``mapping_kernels`` explains.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.dataflow.mapping.mapping_kernels import Mapping, Problem, Rules

NEVER = cython.declare(cython.longlong, 1 << 60)


@cython.final
@cython.cclass
class Schedule:
    """The starts of all firings of a mapping, the tokens that its buffers need, and the resources' busy intervals."""

    def __init__(self, problem: Problem) -> None:
        actors = problem.tau.shape[0]
        channels = problem.src.shape[0]
        resources = problem.core_tile.shape[0] + problem.ticks.shape[1]
        width = 2 * channels + actors + 4
        self.start = np.zeros(actors, np.int64)
        self.need = np.zeros(channels, np.int64)
        self.failed = 0
        self.steps = 0
        self.tried = np.zeros(actors, np.int64)
        self.busy = np.zeros(resources, np.int64)
        self.busy_from = np.empty((resources, width), np.int64)
        self.busy_to = np.empty((resources, width), np.int64)
        most = 6 * channels + 2  # as many blocks as a mapping has, and a core
        self.held = np.zeros(most, np.int64)
        self.held_from = np.zeros(most, np.int64)
        self.held_ticks = np.zeros(most, np.int64)
        self.interval = np.zeros(most, np.int64)
        self.turned = np.zeros(most, np.int64)
        self.sequence = np.zeros(actors, np.int64)
        self.actors = 0
        self.actor_of = np.zeros(actors, np.int64)
        self.waiting = np.zeros(actors, np.int64)
        self.heap = np.zeros(actors, np.int64)
        self.allocated = np.zeros(problem.core_tile.shape[0], np.uint8)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def schedules(
    problem: Problem, rules: Rules, mapping: Mapping, schedule: Schedule, period: cython.longlong
) -> cython.bint:
    """Algorithm 5: try the start of every firing (its first read), False if some firing has no place at this period.

    Beyond the printed algorithm the tokens of channels with a delay are respected too, and with ``compact`` a writer
    waits for readers that are placed already, so that the buffer needs no more than its initial tokens.
    """
    for i in range(schedule.busy.shape[0]):
        schedule.busy[i] = 0
    for i in range(schedule.tried.shape[0]):
        schedule.tried[i] = -1
    for i in range(schedule.actors):
        a = schedule.sequence[i]
        if mapping.total[a] > period:
            return False
        earliest = _earliest_by_reads(problem, mapping, schedule, a, period)
        if mapping.compact:
            earliest = _earliest_by_places(problem, rules, mapping, schedule, a, earliest)
        latest = _latest_by_writes(problem, mapping, schedule, a, period)
        if not _place(mapping, schedule, a, period, earliest, latest):
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _earliest_by_reads(
    problem: Problem, mapping: Mapping, schedule: Schedule, a: cython.longlong, period: cython.longlong
) -> cython.longlong:
    """Return when actor ``a`` may start at the earliest: the tokens that it reads must be there."""
    channels: cython.Py_ssize_t = mapping.root.shape[0]
    earliest: cython.longlong = 0
    k: cython.Py_ssize_t
    for k in range(mapping.reads.starts[a], mapping.reads.starts[a + 1]):
        e = mapping.reads.members[k]
        c = mapping.root[e]
        begin = schedule.tried[problem.src[c]]
        if begin < 0:
            continue
        if problem.delay[c] == 0:
            begin += mapping.total[problem.src[c]]
        else:
            begin += mapping.offset[c] + mapping.duration[c] - problem.delay[c] * period - mapping.offset[channels + e]
        earliest = max(earliest, begin)
    return earliest


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _latest_by_writes(
    problem: Problem, mapping: Mapping, schedule: Schedule, a: cython.longlong, period: cython.longlong
) -> cython.longlong:
    """Return when actor ``a`` may start at the latest: readers that are placed already must find its tokens."""
    channels: cython.Py_ssize_t = mapping.root.shape[0]
    latest: cython.longlong = NEVER
    k: cython.Py_ssize_t
    j: cython.Py_ssize_t
    for k in range(mapping.writes.starts[a], mapping.writes.starts[a + 1]):
        c = mapping.writes.members[k]
        for j in range(mapping.readers.starts[c], mapping.readers.starts[c + 1]):
            e = mapping.readers.members[j]
            begin = schedule.tried[problem.dst[e]]
            if begin >= 0 and problem.dst[e] != a:
                begin += mapping.offset[channels + e] + problem.delay[c] * period
                latest = min(latest, begin - mapping.offset[c] - mapping.duration[c])
    return latest


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _earliest_by_places(
    problem: Problem,
    rules: Rules,
    mapping: Mapping,
    schedule: Schedule,
    a: cython.longlong,
    earliest: cython.longlong,
) -> cython.longlong:
    """Return from when on actor ``a`` finds the places that readers placed already leave."""
    k: cython.Py_ssize_t
    j: cython.Py_ssize_t
    for k in range(mapping.writes.starts[a], mapping.writes.starts[a + 1]):
        c = mapping.writes.members[k]
        for j in range(mapping.readers.starts[c], mapping.readers.starts[c + 1]):
            e = mapping.readers.members[j]
            if schedule.tried[problem.dst[e]] >= 0 and problem.dst[e] != a:
                earliest = max(
                    earliest,
                    schedule.tried[problem.dst[e]]
                    + held_until(problem, rules, mapping, e)
                    - held_since(rules, mapping, a, c),
                )
    return earliest


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def held_since(
    rules: Rules, mapping: Mapping, writer: cython.longlong, buffer: cython.longlong
) -> cython.longlong:  # fmt: skip
    """Return when in its firing a writer takes its place in a buffer."""
    if rules.atomic:
        return 0
    return mapping.offset[buffer] if mapping.duration[buffer] else mapping.execution[writer]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def held_until(problem: Problem, rules: Rules, mapping: Mapping, edge: cython.longlong) -> cython.longlong:
    """Return when in its firing the reader behind an edge leaves its place in the buffer."""
    reader: cython.longlong = problem.dst[edge]
    task: cython.longlong = mapping.root.shape[0] + edge
    if rules.atomic:
        return mapping.total[reader]
    if mapping.duration[task]:
        return mapping.offset[task] + mapping.duration[task]
    return mapping.execution[reader] + mapping.execution_ticks[reader]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _place(
    mapping: Mapping,
    schedule: Schedule,
    a: cython.longlong,
    period: cython.longlong,
    earliest: cython.longlong,
    latest: cython.longlong,
) -> cython.bint:
    """Start actor ``a`` where its core and its blocks are free; False if there is no such place up to ``latest``."""
    at: cython.longlong = earliest
    count: cython.Py_ssize_t = 0
    last: cython.Py_ssize_t = -1
    i: cython.Py_ssize_t = 0
    k: cython.longlong
    if mapping.total[a]:
        count = _hold(schedule, mapping.binding[a], 0, mapping.total[a], count)
    for k in range(mapping.blocks[a], mapping.blocks[a + 1]):
        if mapping.block_ticks[k]:
            count = _hold(schedule, mapping.block_resource[k], mapping.block_offset[k], mapping.block_ticks[k], count)
    for i in range(count):
        _seek(schedule, i, earliest, period)
    # from the busiest resource down, and from there again after every move: the start in the end is the same
    i = 0
    while i < count:
        if i != last:
            step = _wait(schedule, i, at, period, earliest)
            schedule.steps += 1
            if step:
                at += step
                if at >= earliest + period or at > latest:
                    return False
                last = i
                i = 0
                continue
        i += 1
    if at > latest:
        return False
    schedule.tried[a] = at
    for i in range(count):
        _occupy_wrapped(schedule, schedule.held[i], at + schedule.held_from[i], schedule.held_ticks[i], period)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hold(
    schedule: Schedule,
    r: cython.longlong,
    begin: cython.longlong,
    ticks: cython.longlong,
    count: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Add what a firing holds of a resource to ``count`` others, those with more busy intervals first."""
    place: cython.Py_ssize_t = count
    while place and schedule.busy[schedule.held[place - 1]] < schedule.busy[r]:
        schedule.held[place] = schedule.held[place - 1]
        schedule.held_from[place] = schedule.held_from[place - 1]
        schedule.held_ticks[place] = schedule.held_ticks[place - 1]
        place -= 1
    schedule.held[place] = r
    schedule.held_from[place] = begin
    schedule.held_ticks[place] = ticks
    return count + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _seek(
    schedule: Schedule, i: cython.Py_ssize_t, at: cython.longlong, period: cython.longlong
) -> cython.void:  # fmt: skip
    """Find the first busy interval that ends after what the firing holds as number ``i`` would begin."""
    r: cython.longlong = schedule.held[i]
    begin: cython.longlong = at + schedule.held_from[i]
    within: cython.longlong = begin % period
    low: cython.longlong = 0
    left: cython.longlong = schedule.busy[r]
    half: cython.longlong
    while left:  # without a branch on what is found, which no processor foresees
        half = (left + 1) >> 1
        low += half * (schedule.busy_to[r, low + half - 1] <= within)
        left -= half
    schedule.interval[i] = low
    schedule.turned[i] = begin - within


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _wait(
    schedule: Schedule, i: cython.Py_ssize_t, at: cython.longlong, period: cython.longlong, earliest: cython.longlong
) -> cython.longlong:
    """Return the least d for which number ``i`` of what a firing holds is free from its start at ``at`` + d on.

    A whole period or more if there is none. The search goes on where the last one for this number ended.
    """
    r: cython.longlong = schedule.held[i]
    count: cython.longlong = schedule.busy[r]
    low: cython.longlong = schedule.interval[i]
    turned: cython.longlong = schedule.turned[i]
    begin: cython.longlong = at + schedule.held_from[i]
    length: cython.longlong = schedule.held_ticks[i]
    place: cython.longlong = begin
    end: cython.longlong = earliest + schedule.held_from[i] + period
    if count == 0:
        return 0
    while place < end:
        if low == count:
            low = 0
            turned += period
        if schedule.busy_from[r, low] + turned >= place + length:
            schedule.interval[i] = low
            schedule.turned[i] = turned
            return place - begin
        place = max(place, schedule.busy_to[r, low] + turned)
        low += 1
    return period


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _occupy_wrapped(
    schedule: Schedule, r: cython.longlong, at: cython.longlong, length: cython.longlong, period: cython.longlong
) -> cython.void:
    """Insert [at, at + length) modulo the period."""
    at %= period
    if at + length <= period:
        _occupy(schedule, r, at, at + length)
    else:
        _occupy(schedule, r, at, period)
        _occupy(schedule, r, 0, at + length - period)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _occupy(schedule: Schedule, r: cython.longlong, low: cython.longlong, high: cython.longlong) -> cython.void:
    """Insert [low, high), which is free, into the sorted intervals of a resource, merging neighbours."""
    count: cython.longlong = schedule.busy[r]
    place: cython.longlong = 0
    left: cython.longlong = count
    half: cython.longlong
    joins_before: cython.bint
    joins_after: cython.bint
    while left:  # the first interval that starts at ``low`` or later
        half = (left + 1) >> 1
        place += half * (schedule.busy_from[r, place + half - 1] < low)
        left -= half
    joins_before = place > 0 and schedule.busy_to[r, place - 1] == low
    joins_after = place < count and schedule.busy_from[r, place] == high
    if joins_before and joins_after:
        schedule.busy_to[r, place - 1] = schedule.busy_to[r, place]
        for i in range(place, count - 1):
            schedule.busy_from[r, i] = schedule.busy_from[r, i + 1]
            schedule.busy_to[r, i] = schedule.busy_to[r, i + 1]
        schedule.busy[r] = count - 1
    elif joins_before:
        schedule.busy_to[r, place - 1] = high
    elif joins_after:
        schedule.busy_from[r, place] = low
    else:
        for i in range(count, place, -1):
            schedule.busy_from[r, i] = schedule.busy_from[r, i - 1]
            schedule.busy_to[r, i] = schedule.busy_to[r, i - 1]
        schedule.busy_from[r, place] = low
        schedule.busy_to[r, place] = high
        schedule.busy[r] = count + 1
