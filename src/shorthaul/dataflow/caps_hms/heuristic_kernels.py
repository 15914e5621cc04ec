"""CAPS-HMS, compiled: Algorithm 5 of Letras et al. at one period, the least period for it, and Algorithm 4 around it.

Resources, memories and tasks have the numbers that ``mapping_kernels`` explains.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shorthaul.core.jit import kernel
from shorthaul.dataflow.mapping.mapping_kernels import (
    adjacency,
    bind_channels,
    consumers,
    lay_out,
    list_order,
    merge_channels,
    needed_capacities,
)

Array = Any
NEVER = 1 << 60


@kernel
def wait(starts: Array, ends: Array, count: int, at: int, length: int, period: int) -> int:
    """Return the least d for which [at + d, at + d + length) modulo the period is free; the period if none is."""
    if length == 0 or count == 0:
        return 0
    at %= period
    low, high = 0, count
    while low < high:  # the first interval that ends after ``at``
        middle = (low + high) >> 1
        if ends[middle] > at:
            high = middle
        else:
            low = middle + 1
    place, turned = at, 0
    while place < at + period:
        if low == count:
            low, turned = 0, turned + period
        if starts[low] + turned >= place + length:
            return place - at
        place = ends[low] + turned
        low += 1
    return period


@kernel
def occupy(starts: Array, ends: Array, count: int, low: int, high: int) -> int:
    """Insert [low, high), which is free, into sorted intervals, merging neighbours; return the new count."""
    place, above = 0, count
    while place < above:  # the first interval that starts at ``low`` or later
        middle = (place + above) >> 1
        if starts[middle] < low:
            place = middle + 1
        else:
            above = middle
    joins_before = place > 0 and ends[place - 1] == low
    joins_after = place < count and starts[place] == high
    if joins_before and joins_after:
        ends[place - 1] = ends[place]
        for i in range(place, count - 1):
            starts[i] = starts[i + 1]
            ends[i] = ends[i + 1]
        return count - 1
    if joins_before:
        ends[place - 1] = high
        return count
    if joins_after:
        starts[place] = low
        return count
    for i in range(count, place, -1):
        starts[i] = starts[i - 1]
        ends[i] = ends[i - 1]
    starts[place] = low
    ends[place] = high
    return count + 1


@kernel
def occupy_wrapped(starts: Array, ends: Array, count: int, at: int, length: int, period: int) -> int:
    """Insert [at, at + length) modulo the period; return the new count."""
    if length == 0:
        return count
    at %= period
    if at + length <= period:
        return occupy(starts, ends, count, at, at + length)
    count = occupy(starts, ends, count, at, period)
    return occupy(starts, ends, count, 0, at + length - period)


@kernel
def try_period(
    period: int,
    sequence: Array,
    live_count: int,
    compact: bool,
    atomic: bool,
    tau_on: Array,
    binding: Array,
    root: Array,
    src: Array,
    dst: Array,
    delay: Array,
    into: Array,
    into_at: Array,
    outof: Array,
    outof_at: Array,
    readers: Array,
    readers_at: Array,
    duration: Array,
    offset: Array,
    execution: Array,
    total: Array,
    block: Array,
    block_at: Array,
    busy_from: Array,
    busy_to: Array,
    busy: Array,
    start: Array,
) -> bool:
    """Algorithm 5: fill the start of every firing (its first read), False if some firing has no place at this period.

    Beyond the printed algorithm the tokens of channels with a delay are respected too, and with ``compact`` a writer
    waits for readers that are placed already, so that the buffer needs no more than its initial tokens.
    """
    channels = len(root)
    busy[:] = 0
    start[:] = -1
    for position in range(live_count):
        a = sequence[position]
        if total[a] > period:
            return False
        earliest = 0
        latest = NEVER
        for k in range(into_at[a], into_at[a + 1]):
            e = into[k]
            c = root[e]
            writer = src[c]
            if start[writer] < 0:
                continue
            if delay[c] == 0:
                earliest = max(earliest, start[writer] + total[writer])
            else:
                written = start[writer] + offset[c] + duration[c]
                earliest = max(earliest, written - delay[c] * period - offset[channels + e])
        wish = earliest
        for k in range(outof_at[a], outof_at[a + 1]):
            c = outof[k]
            for j in range(readers_at[c], readers_at[c + 1]):
                e = readers[j]
                reader = dst[e]
                if start[reader] < 0 or reader == a:
                    continue
                r = channels + e
                latest = min(latest, start[reader] + offset[r] + delay[c] * period - offset[c] - duration[c])
                if compact:
                    if atomic:
                        wish = max(wish, start[reader] + total[reader])
                    else:
                        if duration[r]:
                            end = start[reader] + offset[r] + duration[r]
                        else:
                            end = start[reader] + execution[reader] + tau_on[reader]
                        wish = max(wish, end - (offset[c] if duration[c] else execution[a]))
        # the core and the blocks in turn, until all have been free since the last move
        core = binding[a]
        first, stop = block_at[a], block_at[a + 1]
        at, free, k = wish, 0, first - 1
        while free <= stop - first:
            r = core if k < first else block[k, 0]
            after, length = (0, total[a]) if k < first else (block[k, 1], block[k, 2])
            step = wait(busy_from[r], busy_to[r], busy[r], at + after, length, period)
            if step:
                at += step
                if at >= wish + period or at > latest:
                    return False
                free = 0
            else:
                free += 1
                k = k + 1 if k + 1 < stop else first - 1
        if at > latest:
            return False
        start[a] = at
        busy[core] = occupy_wrapped(busy_from[core], busy_to[core], busy[core], at, total[a], period)
        for k in range(first, stop):
            r = block[k, 0]
            busy[r] = occupy_wrapped(busy_from[r], busy_to[r], busy[r], at + block[k, 1], block[k, 2], period)
    return True


@kernel
def decode(
    xi: Array,
    decision: Array,
    binding: Array,
    rank: Array,
    compact: bool,
    atomic: bool,
    common: bool,
    tolerance: float,
    tau: Array,
    multicast_of: Array,
    feeding: Array,
    src: Array,
    dst: Array,
    token_bytes: Array,
    delay: Array,
    ticks: Array,
    core_type: Array,
    core_tile: Array,
    limits: Array,
    root: Array,
    live: Array,
    capacity: Array,
    need: Array,
    memory: Array,
    duration: Array,
    offset: Array,
    execution: Array,
    total: Array,
    start: Array,
    crossings: Array,
    crossed: Array,
    best_start: Array,
    load: Array,
    into: Array,
    into_at: Array,
    outof: Array,
    outof_at: Array,
    readers: Array,
    readers_at: Array,
    sequence: Array,
    consumer: Array,
    used: Array,
    busy_from: Array,
    busy_to: Array,
    busy: Array,
    tau_on: Array,
    block: Array,
    block_at: Array,
) -> int:
    """Algorithm 4: return the period found, -1 if the mapping fits no memory, -2 if it deadlocks or has no schedule.

    Fills ``root``, ``live``, ``memory``, ``need`` (capacities), the layout of the firings and ``best_start``.
    """
    actors, channels = len(live), len(root)
    merge_channels(xi, multicast_of, feeding, src, root, live)
    adjacency(root, src, dst, live, into, into_at, outof, outof_at, readers, readers_at)
    live_count = list_order(rank, live, root, dst, delay, outof, outof_at, readers, readers_at, sequence)
    alive = 0
    for a in range(actors):
        if live[a]:
            alive += 1
            tau_on[a] = tau[a, core_type[binding[a]]]
    if live_count < alive:
        return -2
    consumers(binding, root, dst, live, core_tile, common, consumer)
    for c in range(channels):
        capacity[c] = max(1, delay[c])
    for _ in range(12):
        if not bind_channels(
            decision, capacity, binding, consumer, root, src, token_bytes, core_tile, limits, memory, used
        ):
            return -1
        lay_out(
            tau, binding, memory, root, live, core_type, core_tile, ticks, into, into_at, outof, outof_at,
            crossings, crossed, duration, offset, execution, total, load, block, block_at,
        )  # fmt: skip
        period = _least_period(
            tolerance, load, sequence, live_count, compact, atomic, tau_on, binding, root, src, dst, delay, live,
            into, into_at, outof, outof_at, readers, readers_at, duration, offset, execution, total, block, block_at,
            busy_from, busy_to, busy, start, best_start,
        )  # fmt: skip
        if period < 0:
            return -2
        needed_capacities(
            period, atomic, tau_on, root, src, dst, delay, live, duration, offset, execution, total, best_start, need
        )
        used[:] = 0
        for c in range(channels):
            if root[c] == c:
                used[memory[c]] += need[c] * token_bytes[c]
        fits = True
        for q in range(len(limits)):
            fits = fits and used[q] <= limits[q]
        if fits:
            return period
        for c in range(channels):
            if root[c] == c:
                capacity[c] = max(capacity[c], need[c])
    return -1


@kernel
def _least_period(
    tolerance: float,
    load: Array,
    sequence: Array,
    live_count: int,
    compact: bool,
    atomic: bool,
    tau_on: Array,
    binding: Array,
    root: Array,
    src: Array,
    dst: Array,
    delay: Array,
    live: Array,
    into: Array,
    into_at: Array,
    outof: Array,
    outof_at: Array,
    readers: Array,
    readers_at: Array,
    duration: Array,
    offset: Array,
    execution: Array,
    total: Array,
    block: Array,
    block_at: Array,
    busy_from: Array,
    busy_to: Array,
    busy: Array,
    start: Array,
    best_start: Array,
) -> int:
    """Return the least period that Algorithm 5 was seen to schedule (galloping, then bisection), -1 without one."""
    failed = max(1, load.max()) - 1
    ceiling = 1
    for a in range(len(live)):
        if live[a]:
            ceiling += total[a]
    ceiling = max(ceiling, failed + 1)
    step = 1
    tried = failed + 1
    found = -1
    while True:
        if found >= 0:
            if found - failed <= max(1, int(tolerance * failed)):
                return found
            tried = failed + (found - failed) // 2
        if try_period(
            tried, sequence, live_count, compact, atomic, tau_on, binding, root, src, dst, delay, into,
            into_at, outof, outof_at, readers, readers_at, duration, offset, execution, total, block, block_at,
            busy_from, busy_to, busy, start,
        ):  # fmt: skip
            found = tried
            best_start[:] = start
        else:
            failed = tried
            if found < 0:
                if tried >= 4 * ceiling:
                    return -1
                step = max(2 * step, tried // 64)
                tried += step


@kernel
def decode_batch(
    xi: Array,
    decision: Array,
    binding: Array,
    first: int,
    stop: int,
    rank: Array,
    compact: Array,
    atomic: bool,
    common: bool,
    tolerance: float,
    tau: Array,
    multicast_of: Array,
    feeding: Array,
    src: Array,
    dst: Array,
    token_bytes: Array,
    delay: Array,
    ticks: Array,
    core_type: Array,
    core_tile: Array,
    core_cost: Array,
    limits: Array,
    root: Array,
    live: Array,
    capacity: Array,
    need: Array,
    memory: Array,
    duration: Array,
    offset: Array,
    execution: Array,
    total: Array,
    crossings: Array,
    crossed: Array,
    best_start: Array,
    load: Array,
    objectives: Array,
) -> None:
    """Decode the individuals ``first`` to ``stop``: fill period, footprint and core cost (infinite without a plan).

    The arrays from ``root`` to ``load`` are left as the last individual's decoding made them.
    """
    actors, channels = tau.shape[0], len(src)
    cores, memories = len(core_tile), len(limits)
    resources = cores + ticks.shape[1]
    start = np.empty(actors, np.int64)
    into, outof, readers = (
        np.empty(channels + 1, np.int64),
        np.empty(channels + 1, np.int64),
        np.empty(channels + 1, np.int64),
    )
    into_at, outof_at = np.empty(actors + 1, np.int64), np.empty(actors + 1, np.int64)
    readers_at = np.empty(channels + 1, np.int64)
    sequence, consumer = np.empty(actors, np.int64), np.empty(channels, np.int64)
    used = np.empty(memories, np.int64)
    width = 2 * channels + actors + 4
    busy_from, busy_to = np.empty((resources, width), np.int64), np.empty((resources, width), np.int64)
    busy, tau_on = np.empty(resources, np.int64), np.zeros(actors, np.int64)
    allocated = np.empty(cores, np.bool_)
    # an access crosses up to three interconnects
    block, block_at = np.empty((6 * channels + 1, 3), np.int64), np.empty(actors + 1, np.int64)
    for i in range(first, stop):
        period = decode(
            xi[i], decision[i], binding[i], rank, compact[i] != 0, atomic, common, tolerance, tau, multicast_of,
            feeding, src, dst, token_bytes, delay, ticks, core_type, core_tile, limits, root, live, capacity, need,
            memory, duration, offset, execution, total, start, crossings, crossed, best_start, load, into, into_at,
            outof, outof_at, readers, readers_at, sequence, consumer, used, busy_from, busy_to, busy, tau_on, block,
            block_at,
        )  # fmt: skip
        if period < 0:
            objectives[i, :] = np.inf
            continue
        footprint = 0
        for c in range(channels):
            if root[c] == c:
                footprint += need[c] * token_bytes[c]
        allocated[:] = False
        for a in range(actors):
            if live[a]:
                allocated[binding[i, a]] = True
        cost = 0.0
        for p in range(cores):
            if allocated[p]:
                cost += core_cost[p]
        objectives[i, 0] = period
        objectives[i, 1] = footprint
        objectives[i, 2] = cost
