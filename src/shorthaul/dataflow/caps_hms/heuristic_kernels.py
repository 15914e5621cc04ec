"""CAPS-HMS, compiled: the least period of Algorithm 5 of Letras et al. by galloping and bisection, and Algorithm 4."""

from __future__ import annotations

import cython
from cython.cimports.shorthaul.dataflow.caps_hms.placement_kernels import (
    Schedule,
    held_since,
    held_until,
    schedules,
)
from cython.cimports.shorthaul.dataflow.mapping.mapping_kernels import (
    Genotypes,
    Mapping,
    Problem,
    Rules,
    bind_channels,
    find_consumers,
    floor_division,
    lay_out,
    take_genotype,
)

INF = cython.declare(cython.double, float("inf"))
#: Rounds of Algorithm 4: buffers that grow may move channels to other memories.
ROUNDS = cython.declare(cython.longlong, 12)
#: The first step up from the bound is this part of it.
FIRST_STEP = cython.declare(cython.longlong, 16)
#: Steps up where buffers have room for the fewest tokens alone.
LONGER_STEP = cython.declare(cython.longlong, 6)
NO_MEMORY = cython.declare(cython.longlong, -1)
NO_SCHEDULE = cython.declare(cython.longlong, -2)


def decode(
    problem: Problem,
    rules: Rules,
    genotypes: Genotypes,
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    steps: cython.longlong,
    mapping: Mapping,
    schedule: Schedule,
    objectives: cython.double[:, ::1],
) -> int:
    """Decode individuals from ``first`` on, until ``stop`` or for about ``steps`` steps; return the next one.

    Fills period, footprint and core cost (infinite without a plan). ``mapping`` and ``schedule`` are left as the last
    individual's decoding made them.
    """
    number: cython.Py_ssize_t = first
    with cython.nogil:
        schedule.steps = 0
        while number < stop and (number == first or schedule.steps < steps):
            take_genotype(problem, mapping, genotypes, number)
            _evaluate(problem, mapping, schedule, _decode(problem, rules, mapping, schedule), number, objectives)
            number += 1
    return int(number)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _evaluate(
    problem: Problem,
    mapping: Mapping,
    schedule: Schedule,
    period: cython.longlong,
    number: cython.Py_ssize_t,
    objectives: cython.double[:, ::1],
) -> cython.void:
    """Fill the objectives of an individual that was decoded."""
    footprint: cython.longlong = 0
    cost: cython.double = 0.0
    if period < 0:
        objectives[number, 0] = INF
        objectives[number, 1] = INF
        objectives[number, 2] = INF
        return
    for c in range(mapping.root.shape[0]):
        if mapping.root[c] == c:
            footprint += schedule.need[c] * problem.token_bytes[c]
    for c in range(schedule.allocated.shape[0]):
        schedule.allocated[c] = False
    for a in range(mapping.live.shape[0]):
        if mapping.live[a]:
            schedule.allocated[mapping.binding[a]] = True
    for c in range(schedule.allocated.shape[0]):
        if schedule.allocated[c]:
            cost += problem.core_cost[c]
    objectives[number, 0] = period
    objectives[number, 1] = footprint
    objectives[number, 2] = cost


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _decode(problem: Problem, rules: Rules, mapping: Mapping, schedule: Schedule) -> cython.longlong:
    """Algorithm 4: return the period found, or NO_MEMORY or NO_SCHEDULE (a deadlock, or no period suffices)."""
    _: cython.Py_ssize_t
    if not _list_actors(problem, rules, mapping, schedule):
        return NO_SCHEDULE
    find_consumers(problem, rules, mapping)
    for c in range(mapping.root.shape[0]):
        mapping.capacity[c] = max(1, problem.delay[c])
    period: cython.longlong = 0
    schedule.failed = 0
    for _ in range(ROUNDS):
        if not bind_channels(problem, mapping):
            break
        lay_out(problem, mapping)
        period = _some_period(problem, rules, mapping, schedule, period)
        if period < 0:
            return NO_SCHEDULE
        _fill_needs(problem, rules, mapping, schedule, period)
        if _fits(problem, mapping, schedule):
            period = _bisected(problem, rules, mapping, schedule, period)
            _fill_needs(problem, rules, mapping, schedule, period)
            if _fits(problem, mapping, schedule):
                return period
        for c in range(mapping.root.shape[0]):
            if mapping.root[c] == c:
                mapping.capacity[c] = max(mapping.capacity[c], schedule.need[c])
    return NO_MEMORY if period == 0 else _slower(problem, rules, mapping, schedule)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _slower(problem: Problem, rules: Rules, mapping: Mapping, schedule: Schedule) -> cython.longlong:
    """Return a period in which buffers with the fewest tokens are written and read, NO_MEMORY if none was found.

    Where tokens that overlap find no room, iterations overlap less in a longer period: not at all in the longest one.
    """
    ceiling: cython.longlong = 1
    for c in range(mapping.root.shape[0]):
        mapping.capacity[c] = max(1, problem.delay[c])
    bind_channels(problem, mapping)  # as it did at first
    lay_out(problem, mapping)
    for i in range(mapping.live.shape[0]):
        if mapping.live[i]:
            ceiling += mapping.total[i]
    period: cython.longlong = 1
    for i in range(mapping.load.shape[0]):
        period = max(period, mapping.load[i])
    while period < 2 * ceiling:
        if _tries(problem, rules, mapping, schedule, period):
            _fill_needs(problem, rules, mapping, schedule, period)
            if _fits(problem, mapping, schedule):
                return period
        period += max(1, period // LONGER_STEP)
    return NO_MEMORY


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _list_actors(problem: Problem, rules: Rules, mapping: Mapping, schedule: Schedule) -> cython.bint:
    """Fill ``sequence`` with the live actors: among the ready ones the least rank first; False if some never are."""
    live: cython.Py_ssize_t = 0
    ready: cython.Py_ssize_t = 0
    k: cython.Py_ssize_t
    j: cython.Py_ssize_t
    for a in range(mapping.live.shape[0]):
        schedule.waiting[a] = 0
        schedule.actor_of[rules.rank[a]] = a
        live += mapping.live[a]
    for c in range(mapping.root.shape[0]):
        if mapping.live[problem.dst[c]] and problem.delay[mapping.root[c]] == 0:
            schedule.waiting[problem.dst[c]] += 1
    for a in range(mapping.live.shape[0]):
        if mapping.live[a] and schedule.waiting[a] == 0:
            ready = _push(schedule, ready, rules.rank[a])
    schedule.actors = 0
    while ready:
        a = schedule.actor_of[schedule.heap[0]]
        ready = _drop_least(schedule, ready)
        schedule.sequence[schedule.actors] = a
        schedule.actors += 1
        for k in range(mapping.writes.starts[a], mapping.writes.starts[a + 1]):
            c = mapping.writes.members[k]
            if problem.delay[c]:
                continue
            for j in range(mapping.readers.starts[c], mapping.readers.starts[c + 1]):
                reader = problem.dst[mapping.readers.members[j]]
                schedule.waiting[reader] -= 1
                if schedule.waiting[reader] == 0:
                    ready = _push(schedule, ready, rules.rank[reader])
    return schedule.actors == live


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _push(schedule: Schedule, count: cython.Py_ssize_t, value: cython.longlong) -> cython.Py_ssize_t:
    """Add ``value`` to the heap of ``count`` numbers, the least first; return the new count."""
    place: cython.Py_ssize_t = count
    while place and schedule.heap[(place - 1) >> 1] > value:
        schedule.heap[place] = schedule.heap[(place - 1) >> 1]
        place = (place - 1) >> 1
    schedule.heap[place] = value
    return count + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _drop_least(schedule: Schedule, count: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Take the first number off the heap of ``count``; return the new count."""
    place: cython.Py_ssize_t = 0
    count -= 1
    value = schedule.heap[count]
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and schedule.heap[child + 1] < schedule.heap[child]:
            child += 1
        if schedule.heap[child] >= value:
            break
        schedule.heap[place] = schedule.heap[child]
        place = child
    schedule.heap[place] = value
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _some_period(
    problem: Problem, rules: Rules, mapping: Mapping, schedule: Schedule, guess: cython.longlong
) -> cython.longlong:
    """Return a period that Algorithm 5 was seen to schedule, -1 if none was found.

    Galloping up from the bound, or from ``guess`` where that is more; ``failed`` is the last that failed.
    """
    ceiling: cython.longlong = 1
    step: cython.longlong = 0
    tried: cython.longlong
    for i in range(mapping.load.shape[0]):
        schedule.failed = max(schedule.failed, mapping.load[i] - 1)
    for i in range(mapping.live.shape[0]):
        if mapping.live[i]:
            ceiling += mapping.total[i]
    tried = max(guess, schedule.failed + 1)
    ceiling = max(ceiling, tried)
    while not _tries(problem, rules, mapping, schedule, tried):
        if tried >= 4 * ceiling:
            return -1
        step = max(2 * step, 1, tried // FIRST_STEP)
        tried += step
    return tried


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _tries(
    problem: Problem, rules: Rules, mapping: Mapping, schedule: Schedule, period: cython.longlong
) -> cython.bint:
    """Try to schedule at a period: keep the starts, or take the period for one that failed."""
    if not schedules(problem, rules, mapping, schedule, period):
        schedule.failed = period
        return False
    for i in range(schedule.start.shape[0]):
        schedule.start[i] = schedule.tried[i]
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _bisected(
    problem: Problem, rules: Rules, mapping: Mapping, schedule: Schedule, found: cython.longlong
) -> cython.longlong:
    """Return a period that was seen to be schedulable between the one that failed and ``found``, which is."""
    while found - schedule.failed > max(1, cython.cast(cython.longlong, rules.tolerance * schedule.failed)):
        tried = schedule.failed + (found - schedule.failed) // 2
        if _tries(problem, rules, mapping, schedule, tried):
            found = tried
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill_needs(
    problem: Problem, rules: Rules, mapping: Mapping, schedule: Schedule, period: cython.longlong
) -> cython.void:
    """Fill the tokens that every buffer must hold: from the start of a write to the end of the last read of it."""
    e: cython.longlong
    for c in range(mapping.root.shape[0]):
        schedule.need[c] = max(1, problem.delay[c]) if mapping.root[c] == c else 0
    for e in range(mapping.root.shape[0]):
        c = mapping.root[e]
        reader = problem.dst[e]
        writer = problem.src[c]
        if mapping.live[reader]:
            held = schedule.start[reader] + held_until(problem, rules, mapping, e)
            held -= schedule.start[writer] + held_since(rules, mapping, writer, c)
            schedule.need[c] = max(schedule.need[c], problem.delay[c] - floor_division(-held, period))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fits(problem: Problem, mapping: Mapping, schedule: Schedule) -> cython.bint:
    """True if the buffers fit their memories."""
    for c in range(mapping.used.shape[0]):
        mapping.used[c] = 0
    for c in range(mapping.root.shape[0]):
        if mapping.root[c] == c:
            mapping.used[mapping.memory[c]] += schedule.need[c] * problem.token_bytes[c]
    for c in range(mapping.used.shape[0]):
        if mapping.used[c] > problem.limits[c]:
            return False
    return True
