"""CAPS-HMS and everything around it that runs once per mapping: Algorithms 2, 4 and 5 of Letras et al., compiled.

Numbers: cores come first among the resources, then the crossbars, then the NoC; core-local memories first among the
memories, then the tiles', then the global one. The write of channel c is task c, the read through channel e is task
C + e; channels merged into a buffer are represented by its first channel (``root``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shorthaul.core.jit import kernel

Array = Any
NEVER = 1 << 60


@kernel
def conflict(starts: Array, ends: Array, count: int, at: int, length: int, period: int) -> int:
    """Return 0 if [at, at + length) modulo the period is free, else the ticks to the end of what is in the way."""
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
    stop = at + length
    if low < count and starts[low] < stop:
        return int(ends[low] - at)
    if stop > period and starts[0] < stop - period:
        return int(period - at + ends[0])
    return 0


@kernel
def occupy(starts: Array, ends: Array, count: int, low: int, high: int) -> int:
    """Insert [low, high), which is free, into sorted intervals, merging neighbours; return the new count."""
    place = 0
    while place < count and starts[place] < low:
        place += 1
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
def merge_channels(xi: Array, multicast_of: Array, feeding: Array, src: Array, root: Array, live: Array) -> None:
    """Fill ``root`` (the first channel of every channel's buffer) and ``live`` (actors that remain)."""
    for a in range(len(live)):
        live[a] = multicast_of[a] < 0 or xi[multicast_of[a]] == 0
    for c in range(len(root)):
        r = c
        while not live[src[r]]:
            r = feeding[multicast_of[src[r]]]
        root[c] = r


@kernel
def list_order(rank: Array, live: Array, root: Array, src: Array, dst: Array, delay: Array, sequence: Array) -> int:
    """Fill ``sequence`` with the live actors: among the ready ones the least rank first; return how many got ready."""
    actors = len(live)
    waiting = np.zeros(actors, np.int64)
    for e in range(len(root)):
        if live[dst[e]] and delay[root[e]] == 0:
            waiting[dst[e]] += 1
    done = np.zeros(actors, np.bool_)
    count = 0
    while True:
        best = -1
        for a in range(actors):
            if live[a] and not done[a] and waiting[a] == 0 and (best < 0 or rank[a] < rank[best]):
                best = a
        if best < 0:
            return count
        done[best] = True
        sequence[count] = best
        count += 1
        for e in range(len(root)):
            if live[dst[e]] and delay[root[e]] == 0 and src[root[e]] == best:
                waiting[dst[e]] -= 1


@kernel
def bind_channels(
    decision: Array,
    capacity: Array,
    binding: Array,
    consumer: Array,
    root: Array,
    src: Array,
    token_bytes: Array,
    core_tile: Array,
    limits: Array,
    memory: Array,
    used: Array,
) -> bool:
    """Algorithm 2: fill ``memory`` for every buffer, first come, first served; False if the global memory is full."""
    cores = len(core_tile)
    last = len(limits) - 1
    used[:] = 0
    for c in range(len(root)):
        if root[c] != c:
            continue
        need = capacity[c] * token_bytes[c]
        d = decision[c]
        chosen = last
        if d != 4:
            core = binding[src[c]] if d < 2 else consumer[c]
            local, tile = core, cores + core_tile[core]
            if d % 2 == 0 and used[local] + need <= limits[local]:
                chosen = local
            elif used[tile] + need <= limits[tile]:
                chosen = tile
        if used[chosen] + need > limits[chosen]:
            return False
        memory[c] = chosen
        used[chosen] += need
    return True


@kernel
def consumers(
    binding: Array, root: Array, dst: Array, live: Array, core_tile: Array, common: bool, consumer: Array
) -> None:
    """Fill the core that CONS means for each buffer: its first reader's, or the first on the most common tile."""
    n = len(root)
    consumer[:] = -1
    for e in range(n):
        if live[dst[e]] and consumer[root[e]] < 0:
            consumer[root[e]] = binding[dst[e]]
    if not common:
        return
    votes = np.zeros((n, core_tile.max() + 1), np.int64)
    for e in range(n):
        if live[dst[e]]:
            votes[root[e], core_tile[binding[dst[e]]]] += 1
    best = np.zeros(n, np.int64)
    for e in range(n):
        r = root[e]
        if live[dst[e]] and votes[r, core_tile[binding[dst[e]]]] > best[r]:
            best[r] = votes[r, core_tile[binding[dst[e]]]]
            consumer[r] = binding[dst[e]]


@kernel
def route(core: int, memory: int, core_tile: Array, tiles: int, crossed: Array) -> int:
    """Fill the interconnects (crossbars, then the NoC) between core and memory; return how many."""
    cores = len(core_tile)
    if memory == core:
        return 0
    here = core_tile[core]
    crossed[0] = here
    if memory == cores + tiles:
        crossed[1] = tiles
        return 2
    there = core_tile[memory] if memory < cores else memory - cores
    if there == here:
        return 1
    crossed[1] = tiles
    crossed[2] = there
    return 3


@kernel
def lay_out(
    tau: Array,
    binding: Array,
    memory: Array,
    root: Array,
    live: Array,
    core_type: Array,
    core_tile: Array,
    ticks: Array,
    into: Array,
    into_at: Array,
    outof: Array,
    outof_at: Array,
    crossings: Array,
    crossed: Array,
    duration: Array,
    offset: Array,
    execution: Array,
    total: Array,
    load: Array,
) -> None:
    """Fill routes and durations of all accesses, the offset of every task in its firing, and every resource's load."""
    channels = len(root)
    tiles = ticks.shape[1] - 1
    cores = len(core_tile)
    load[:] = 0
    for a in range(len(live)):
        if not live[a]:
            continue
        core = binding[a]
        now = 0
        for phase in range(2):
            if phase == 1:
                execution[a] = now
                now += tau[a, core_type[core]]
            first, stop = (into_at[a], into_at[a + 1]) if phase == 0 else (outof_at[a], outof_at[a + 1])
            for k in range(first, stop):
                e = into[k] if phase == 0 else outof[k]
                task = channels + e if phase == 0 else e
                crossings[task] = route(core, memory[root[e]], core_tile, tiles, crossed[task])
                duration[task] = 0
                for i in range(crossings[task]):
                    duration[task] = max(duration[task], ticks[e, crossed[task, i]])
                for i in range(crossings[task]):
                    load[cores + crossed[task, i]] += duration[task]
            for wanted in range(3, -1, -1):  # most interconnects first
                for k in range(first, stop):
                    e = into[k] if phase == 0 else outof[k]
                    task = channels + e if phase == 0 else e
                    if crossings[task] == wanted:
                        # an access without duration belongs to the execution itself
                        offset[task] = now if wanted or phase == 0 else execution[a] + tau[a, core_type[core]]
                        now += duration[task]
        total[a] = now
        load[core] += now


@kernel
def try_period(
    period: int,
    sequence: Array,
    live_count: int,
    compact: bool,
    atomic: bool,
    tau_on: Array,
    binding: Array,
    cores: int,
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
    crossings: Array,
    crossed: Array,
    duration: Array,
    offset: Array,
    execution: Array,
    total: Array,
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
        core = binding[a]
        at = wish
        while True:
            step = conflict(busy_from[core], busy_to[core], busy[core], at, total[a], period)
            if step == 0:
                for phase in range(2):
                    first, stop = (into_at[a], into_at[a + 1]) if phase == 0 else (outof_at[a], outof_at[a + 1])
                    for k in range(first, stop):
                        task = channels + into[k] if phase == 0 else outof[k]
                        for i in range(crossings[task]):
                            r = cores + crossed[task, i]
                            step = conflict(
                                busy_from[r], busy_to[r], busy[r], at + offset[task], duration[task], period
                            )
                            if step:
                                break
                        if step:
                            break
                    if step:
                        break
            if step == 0:
                break
            at += step
            if at >= wish + period or at > latest:
                return False
        if at > latest:
            return False
        start[a] = at
        busy[core] = occupy_wrapped(busy_from[core], busy_to[core], busy[core], at, total[a], period)
        for phase in range(2):
            first, stop = (into_at[a], into_at[a + 1]) if phase == 0 else (outof_at[a], outof_at[a + 1])
            for k in range(first, stop):
                task = channels + into[k] if phase == 0 else outof[k]
                for i in range(crossings[task]):
                    r = cores + crossed[task, i]
                    busy[r] = occupy_wrapped(
                        busy_from[r], busy_to[r], busy[r], at + offset[task], duration[task], period
                    )
    return True


@kernel
def needed_capacities(
    period: int,
    atomic: bool,
    tau_on: Array,
    root: Array,
    src: Array,
    dst: Array,
    delay: Array,
    live: Array,
    duration: Array,
    offset: Array,
    execution: Array,
    total: Array,
    start: Array,
    need: Array,
) -> None:
    """Fill the tokens that every buffer must hold: from the start of a write to the end of the last read of it."""
    channels = len(root)
    for c in range(channels):
        need[c] = max(1, delay[c]) if root[c] == c else 0
    for e in range(channels):
        c = root[e]
        reader, writer = dst[e], src[c]
        if not live[reader]:
            continue
        r = channels + e
        if atomic:
            held_from, held_to = start[writer], start[reader] + total[reader]
        else:
            held_from = start[writer] + (offset[c] if duration[c] else execution[writer])
            held_to = start[reader] + (offset[r] + duration[r] if duration[r] else execution[reader] + tau_on[reader])
        need[c] = max(need[c], delay[c] - (held_from - held_to) // period)


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
) -> int:
    """Algorithm 4: return the period found, -1 if the mapping fits no memory, -2 if it deadlocks or has no schedule.

    Fills ``root``, ``live``, ``memory``, ``need`` (capacities), the layout of the firings and ``best_start``.
    """
    actors, channels = len(live), len(root)
    cores = len(core_tile)
    merge_channels(xi, multicast_of, feeding, src, root, live)
    live_count = list_order(rank, live, root, src, dst, delay, sequence)
    alive = 0
    for a in range(actors):
        if live[a]:
            alive += 1
            tau_on[a] = tau[a, core_type[binding[a]]]
    if live_count < alive:
        return -2
    _adjacency(root, src, dst, live, into, into_at, outof, outof_at, readers, readers_at)
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
            crossings, crossed, duration, offset, execution, total, load,
        )  # fmt: skip
        period = _least_period(
            tolerance, load, sequence, live_count, compact, atomic, tau_on, binding, cores, root, src, dst, delay,
            live, into, into_at, outof, outof_at, readers, readers_at, crossings, crossed, duration, offset,
            execution, total, busy_from, busy_to, busy, start, best_start,
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
def _adjacency(
    root: Array,
    src: Array,
    dst: Array,
    live: Array,
    into: Array,
    into_at: Array,
    outof: Array,
    outof_at: Array,
    readers: Array,
    readers_at: Array,
) -> None:
    """Fill, per actor, the edges it reads through and the buffers it writes, and per buffer its edges."""
    actors, channels = len(live), len(root)
    i, o = 0, 0
    for a in range(actors):
        into_at[a], outof_at[a] = i, o
        if live[a]:
            for e in range(channels):
                if dst[e] == a:
                    into[i] = e
                    i += 1
                if root[e] == e and src[e] == a:
                    outof[o] = e
                    o += 1
    into_at[actors], outof_at[actors] = i, o
    readers_at[:] = 0
    for e in range(channels):
        if live[dst[e]]:
            readers_at[root[e] + 1] += 1
    for c in range(channels):
        readers_at[c + 1] += readers_at[c]
    for e in range(channels - 1, -1, -1):
        if live[dst[e]]:
            readers_at[root[e] + 1] -= 1
            readers[readers_at[root[e] + 1]] = e
    for c in range(channels):  # every entry was moved down by its own count
        readers_at[c] = readers_at[c + 1]
    filled = 0
    for e in range(channels):
        if live[dst[e]]:
            filled += 1
    readers_at[channels] = filled


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
    cores: int,
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
    crossings: Array,
    crossed: Array,
    duration: Array,
    offset: Array,
    execution: Array,
    total: Array,
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
            tried, sequence, live_count, compact, atomic, tau_on, binding, cores, root, src, dst, delay,
            into, into_at, outof, outof_at, readers, readers_at, crossings, crossed, duration, offset, execution,
            total, busy_from, busy_to, busy, start,
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
    for i in range(first, stop):
        period = decode(
            xi[i], decision[i], binding[i], rank, compact[i] != 0, atomic, common, tolerance, tau, multicast_of,
            feeding, src, dst, token_bytes, delay, ticks, core_type, core_tile, limits, root, live, capacity, need,
            memory, duration, offset, execution, total, start, crossings, crossed, best_start, load, into, into_at,
            outof, outof_at, readers, readers_at, sequence, consumer, used, busy_from, busy_to, busy, tau_on,
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
