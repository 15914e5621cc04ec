"""What Letras et al. do per mapping before and after scheduling, compiled: MRBs, Algorithm 2, firings, buffer needs.

Numbers: cores come first among the resources, then the crossbars, then the NoC; core-local memories first among the
memories, then the tiles', then the global one. The write of channel c is task c, the read through channel e is task
C + e; channels merged into a buffer are represented by its first channel (``root``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shorthaul.core.jit import kernel

Array = Any


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
def push(heap: Array, count: int, value: int) -> int:
    """Add ``value`` to a binary heap of ``count`` numbers, the least first; return the new count."""
    place = count
    while place and heap[(place - 1) >> 1] > value:
        heap[place] = heap[(place - 1) >> 1]
        place = (place - 1) >> 1
    heap[place] = value
    return count + 1


@kernel
def drop_least(heap: Array, count: int) -> int:
    """Take the first number off a binary heap of ``count``; return the new count."""
    count -= 1
    value = heap[count]
    place = 0
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = value
    return count


@kernel
def list_order(
    rank: Array, live: Array, root: Array, dst: Array, delay: Array, outof: Array, outof_at: Array, readers: Array,
    readers_at: Array, sequence: Array,
) -> int:  # fmt: skip
    """Fill ``sequence`` with the live actors: among the ready ones the least rank first; return how many got ready."""
    actors = len(live)
    waiting, actor_of, heap = np.zeros(actors, np.int64), np.empty(actors, np.int64), np.empty(actors, np.int64)
    for e in range(len(root)):
        if live[dst[e]] and delay[root[e]] == 0:
            waiting[dst[e]] += 1
    ready = 0
    for a in range(actors):
        actor_of[rank[a]] = a
        if live[a] and waiting[a] == 0:
            ready = push(heap, ready, rank[a])
    count = 0
    while ready:
        a = actor_of[heap[0]]
        ready = drop_least(heap, ready)
        sequence[count] = a
        count += 1
        for k in range(outof_at[a], outof_at[a + 1]):
            c = outof[k]
            if delay[c]:
                continue
            for j in range(readers_at[c], readers_at[c + 1]):
                reader = dst[readers[j]]
                waiting[reader] -= 1
                if waiting[reader] == 0:
                    ready = push(heap, ready, rank[reader])
    return count


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
    block: Array,
    block_at: Array,
) -> None:
    """Fill routes and durations of all accesses, the offset of every task in its firing, and every resource's load.

    Firing a holds interconnects in ``block[block_at[a]:block_at[a + 1]]``, rows (resource, offset, ticks): accesses
    over one interconnect that follow each other at once are one block.
    """
    channels = len(root)
    tiles = ticks.shape[1] - 1
    cores = len(core_tile)
    last = np.full(tiles + 1, -1, np.int64)
    blocks = 0
    load[:] = 0
    for a in range(len(live)):
        block_at[a] = blocks
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
                        for i in range(wanted):
                            h = crossed[task, i]
                            q = last[h]
                            if q >= block_at[a] and block[q, 1] + block[q, 2] == offset[task]:
                                block[q, 2] += duration[task]
                                continue
                            block[blocks, 0], block[blocks, 1] = cores + h, offset[task]
                            block[blocks, 2] = duration[task]
                            last[h] = blocks
                            blocks += 1
        total[a] = now
        load[core] += now
    block_at[len(live)] = blocks


@kernel
def group(key: Array, kept: Array, members: Array, at: Array) -> None:
    """Fill ``members[at[g]:at[g + 1]]`` with the numbers of the ``kept`` elements whose key is g, in their order."""
    at[:] = 0
    total = 0
    for e in range(len(key)):
        if kept[e]:
            at[key[e] + 1] += 1
            total += 1
    for g in range(len(at) - 1):
        at[g + 1] += at[g]
    for e in range(len(key) - 1, -1, -1):
        if kept[e]:
            at[key[e] + 1] -= 1
            members[at[key[e] + 1]] = e
    for g in range(len(at) - 1):  # every entry was moved down by its own count
        at[g] = at[g + 1]
    at[len(at) - 1] = total


@kernel
def adjacency(
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
    channels = len(root)
    read, first = np.empty(channels, np.bool_), np.empty(channels, np.bool_)
    for e in range(channels):
        read[e], first[e] = live[dst[e]], root[e] == e
    group(dst, read, into, into_at)
    group(src, first, outof, outof_at)
    group(root, read, readers, readers_at)


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
