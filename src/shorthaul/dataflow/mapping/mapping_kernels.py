"""What Letras et al. do per mapping before scheduling: multi-reader buffers, Algorithm 2, and the layout of firings.

Numbers: cores come first among the resources, then the crossbars, then the NoC; core-local memories first among the
memories, then the tiles', then the global one. The write of channel c is task c, the read through channel e is task
C + e; channels merged into a buffer are represented by its first channel (``root``).
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np


@cython.final
@cython.cclass
class Problem:
    """The arrays of an application on a platform; see :class:`~shorthaul.dataflow.mapping.arrays.Instance`."""

    def __init__(self, instance: Any) -> None:
        self.tau = instance.tau
        self.multicast_of = instance.multicast_of
        self.feeding = instance.feeding
        self.src = instance.src
        self.dst = instance.dst
        self.token_bytes = instance.token_bytes
        self.delay = instance.delay
        self.ticks = instance.ticks
        self.core_type = instance.core_type
        self.core_tile = instance.core_tile
        self.core_cost = instance.core_cost
        self.limits = instance.limits


@cython.final
@cython.cclass
class Rules:
    """How a mapping is decoded: the order of the actors, and what the options say."""

    def __init__(
        self, rank: cython.const_longlong[::1], atomic: cython.bint, common_tile: cython.bint, tolerance: cython.double
    ) -> None:
        self.rank = rank
        self.atomic = atomic
        self.common_tile = common_tile
        self.tolerance = tolerance


@cython.final
@cython.cclass
class Genotypes:
    """Genotypes of n individuals: (n,), (n, multicasts), (n, channels) and (n, actors)."""

    def __init__(
        self,
        compact: cython.schar[::1],
        xi: cython.schar[:, ::1],
        decision: cython.schar[:, ::1],
        binding: cython.longlong[:, ::1],
    ) -> None:
        self.compact = compact
        self.xi = xi
        self.decision = decision
        self.binding = binding

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to make it anew in another process."""
        parts = (np.array(self.compact), np.array(self.xi), np.array(self.decision), np.array(self.binding))
        return Genotypes, parts


@cython.final
@cython.cclass
class Groups:
    """Channels in groups: those of group g are ``members[starts[g]:starts[g + 1]]``, in their order."""

    def __init__(self, channels: cython.Py_ssize_t, groups: cython.Py_ssize_t) -> None:
        self.members = np.zeros(channels, np.int64)
        self.starts = np.zeros(groups + 1, np.int64)


@cython.final
@cython.cclass
class Mapping:
    """One individual: its genotype, its buffers in their memories, its firings on their cores.

    Firing a holds interconnects in the blocks from ``blocks[a]`` to ``blocks[a + 1]``: accesses over one interconnect
    that follow each other at once are one block.
    """

    def __init__(self, problem: Problem) -> None:
        actors = problem.tau.shape[0]
        channels = problem.src.shape[0]
        interconnects = problem.ticks.shape[1]
        self.xi = np.zeros(problem.feeding.shape[0], np.int8)
        self.decision = np.zeros(channels, np.int8)
        self.binding = np.zeros(actors, np.int64)
        self.compact = False
        self.live = np.zeros(actors, np.uint8)
        self.root = np.zeros(channels, np.int64)
        self.reads = Groups(channels, actors)
        self.writes = Groups(channels, actors)
        self.readers = Groups(channels, channels)
        self.capacity = np.zeros(channels, np.int64)
        self.memory = np.zeros(channels, np.int64)
        self.used = np.zeros(problem.limits.shape[0], np.int64)
        self.execution_ticks = np.zeros(actors, np.int64)
        self.execution = np.zeros(actors, np.int64)
        self.total = np.zeros(actors, np.int64)
        self.duration = np.zeros(2 * channels, np.int64)
        self.offset = np.zeros(2 * channels, np.int64)
        self.crossings = np.zeros(2 * channels, np.int64)
        self.crossed = np.zeros((2 * channels, 3), np.int64)
        self.load = np.zeros(problem.core_tile.shape[0] + interconnects, np.int64)
        self.blocks = np.zeros(actors + 1, np.int64)
        self.block_resource = np.zeros(6 * channels + 1, np.int64)  # an access crosses up to three interconnects
        self.block_offset = np.zeros(6 * channels + 1, np.int64)
        self.block_ticks = np.zeros(6 * channels + 1, np.int64)
        self.consumer = np.zeros(channels, np.int64)
        self.votes = np.zeros((channels, interconnects), np.int64)
        self.last_block = np.zeros(interconnects, np.int64)
        self.kept = np.zeros(channels, np.uint8)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def floor_division(number: cython.longlong, divisor: cython.longlong) -> cython.longlong:
    """Return the quotient rounded down, for a positive divisor."""
    if number >= 0:
        return number // divisor
    return -((divisor - 1 - number) // divisor)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_genotype(
    problem: Problem, mapping: Mapping, genotypes: Genotypes, number: cython.Py_ssize_t
) -> cython.void:  # fmt: skip
    """Copy an individual's genotype into ``mapping``, and merge its channels into buffers."""
    mapping.compact = genotypes.compact[number] != 0
    for m in range(mapping.xi.shape[0]):
        mapping.xi[m] = genotypes.xi[number, m]
    for c in range(mapping.decision.shape[0]):
        mapping.decision[c] = genotypes.decision[number, c]
    for a in range(mapping.binding.shape[0]):
        mapping.binding[a] = genotypes.binding[number, a]
    _merge_channels(problem, mapping)
    for c in range(mapping.root.shape[0]):
        mapping.kept[c] = mapping.live[problem.dst[c]]
    _group(mapping.reads, problem.dst, mapping.kept)
    _group(mapping.readers, mapping.root, mapping.kept)
    for c in range(mapping.root.shape[0]):
        mapping.kept[c] = mapping.root[c] == c
    _group(mapping.writes, problem.src, mapping.kept)
    for a in range(mapping.binding.shape[0]):
        mapping.execution_ticks[a] = 0
        if mapping.live[a]:
            mapping.execution_ticks[a] = problem.tau[a, problem.core_type[mapping.binding[a]]]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _merge_channels(problem: Problem, mapping: Mapping) -> cython.void:
    """Fill ``live`` and ``root``."""
    for a in range(mapping.live.shape[0]):
        mapping.live[a] = problem.multicast_of[a] < 0 or mapping.xi[problem.multicast_of[a]] == 0
    for c in range(mapping.root.shape[0]):
        root = c
        while not mapping.live[problem.src[root]]:
            root = problem.feeding[problem.multicast_of[problem.src[root]]]
        mapping.root[c] = root


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _group(groups: Groups, key: cython.const_longlong[::1], kept: cython.uchar[::1]) -> cython.void:
    """Group the ``kept`` channels by their keys."""
    total: cython.longlong = 0
    count: cython.Py_ssize_t = groups.starts.shape[0] - 1
    for g in range(count + 1):
        groups.starts[g] = 0
    for e in range(key.shape[0]):
        if kept[e]:
            groups.starts[key[e] + 1] += 1
            total += 1
    for g in range(count):
        groups.starts[g + 1] += groups.starts[g]
    for e in range(key.shape[0] - 1, -1, -1):
        if kept[e]:
            groups.starts[key[e] + 1] -= 1
            groups.members[groups.starts[key[e] + 1]] = e
    for g in range(count):  # every entry was moved down by its own count
        groups.starts[g] = groups.starts[g + 1]
    groups.starts[count] = total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_consumers(problem: Problem, rules: Rules, mapping: Mapping) -> cython.void:
    """Fill the core that CONS means for each buffer: its first reader's, or the first on the most common tile."""
    tile: cython.Py_ssize_t
    for e in range(mapping.root.shape[0]):
        mapping.consumer[e] = -1
    for e in range(mapping.root.shape[0]):
        if mapping.live[problem.dst[e]] and mapping.consumer[mapping.root[e]] < 0:
            mapping.consumer[mapping.root[e]] = mapping.binding[problem.dst[e]]
    if not rules.common_tile:
        return
    for e in range(mapping.root.shape[0]):
        for tile in range(mapping.votes.shape[1]):
            mapping.votes[e, tile] = 0
    for e in range(mapping.root.shape[0]):
        if mapping.live[problem.dst[e]]:
            mapping.votes[mapping.root[e], problem.core_tile[mapping.binding[problem.dst[e]]]] += 1
    for e in range(mapping.root.shape[0]):
        if mapping.live[problem.dst[e]]:
            root = mapping.root[e]
            core = mapping.binding[problem.dst[e]]
            tile = problem.core_tile[mapping.consumer[root]]
            if mapping.votes[root, problem.core_tile[core]] > mapping.votes[root, tile]:
                mapping.consumer[root] = core


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def bind_channels(problem: Problem, mapping: Mapping) -> cython.bint:
    """Algorithm 2: fill ``memory`` for every buffer, first come, first served; False if the global memory is full."""
    cores: cython.longlong = problem.core_tile.shape[0]
    last: cython.longlong = problem.limits.shape[0] - 1
    c: cython.Py_ssize_t
    decision: cython.longlong
    for c in range(last + 1):
        mapping.used[c] = 0
    for c in range(mapping.root.shape[0]):
        if mapping.root[c] != c:
            continue
        need = mapping.capacity[c] * problem.token_bytes[c]
        decision = mapping.decision[c]
        chosen = last
        if decision != 4:
            core = mapping.binding[problem.src[c]] if decision < 2 else mapping.consumer[c]
            tile = cores + problem.core_tile[core]
            if decision % 2 == 0 and mapping.used[core] + need <= problem.limits[core]:
                chosen = core
            elif mapping.used[tile] + need <= problem.limits[tile]:
                chosen = tile
        if mapping.used[chosen] + need > problem.limits[chosen]:
            return False
        mapping.memory[c] = chosen
        mapping.used[chosen] += need
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _tile_of_memory(problem: Problem, memory: cython.longlong) -> cython.longlong:
    """Return the tile that a memory is in; the global one is behind the network, whose number follows."""
    cores: cython.longlong = problem.core_tile.shape[0]
    return problem.core_tile[memory] if memory < cores else memory - cores


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def charge_access(
    problem: Problem, load: cython.longlong[::1], e: cython.Py_ssize_t, core: cython.longlong, memory: cython.longlong,
    sign: cython.longlong,
) -> cython.void:  # fmt: skip
    """Add or take away what an access through channel ``e`` asks of the core and the interconnects on its route."""
    cores: cython.Py_ssize_t = problem.core_tile.shape[0]
    tiles: cython.Py_ssize_t = problem.ticks.shape[1] - 1
    if memory == core:
        return
    here: cython.Py_ssize_t = problem.core_tile[core]
    there: cython.Py_ssize_t = _tile_of_memory(problem, memory)
    ticks: cython.longlong = problem.ticks[e, here]
    if there != here:
        ticks = max(ticks, problem.ticks[e, tiles], problem.ticks[e, there])
        load[cores + tiles] += sign * ticks
        if there < tiles:
            load[cores + there] += sign * ticks
    load[cores + here] += sign * ticks
    load[core] += sign * ticks


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _route(
    problem: Problem, mapping: Mapping, core: cython.longlong, memory: cython.longlong, task: cython.longlong
) -> cython.void:
    """Fill the interconnects (crossbars, then the NoC) that a task crosses between core and memory."""
    tiles: cython.longlong = problem.ticks.shape[1] - 1
    here: cython.longlong = problem.core_tile[core]
    there: cython.longlong = _tile_of_memory(problem, memory)
    mapping.crossings[task] = 0
    if memory == core:
        return
    mapping.crossed[task, 0] = here
    mapping.crossed[task, 1] = tiles
    mapping.crossed[task, 2] = there
    mapping.crossings[task] = 1 if there == here else 2 if there == tiles else 3


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def lay_out(problem: Problem, mapping: Mapping) -> cython.void:
    """Fill routes and durations of all accesses, the layout of every firing, and every resource's load."""
    blocks: cython.longlong = 0
    for h in range(mapping.load.shape[0]):
        mapping.load[h] = 0
    for h in range(mapping.last_block.shape[0]):
        mapping.last_block[h] = -1
    for a in range(mapping.live.shape[0]):
        mapping.blocks[a] = blocks
        if mapping.live[a]:
            blocks = _lay_out_firing(problem, mapping, a, blocks)
    mapping.blocks[mapping.live.shape[0]] = blocks


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lay_out_firing(
    problem: Problem, mapping: Mapping, a: cython.Py_ssize_t, blocks: cython.longlong
) -> cython.longlong:
    """Lay out the firing of one actor; return the number of blocks."""
    mapping.total[a] = 0
    blocks = _lay_out_accesses(problem, mapping, mapping.reads, a, mapping.root.shape[0], blocks)
    mapping.execution[a] = mapping.total[a]
    mapping.total[a] += mapping.execution_ticks[a]
    blocks = _lay_out_accesses(problem, mapping, mapping.writes, a, 0, blocks)
    mapping.load[mapping.binding[a]] += mapping.total[a]
    return blocks


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lay_out_accesses(
    problem: Problem,
    mapping: Mapping,
    groups: Groups,
    a: cython.Py_ssize_t,
    first_task: cython.longlong,
    blocks: cython.longlong,
) -> cython.longlong:
    """Append the reads of an actor to its firing, or the writes; return the number of blocks."""
    cores: cython.Py_ssize_t = problem.core_tile.shape[0]
    now: cython.longlong = mapping.total[a]
    crossings: cython.longlong
    k: cython.Py_ssize_t
    i: cython.Py_ssize_t
    for k in range(groups.starts[a], groups.starts[a + 1]):
        e = groups.members[k]
        task = first_task + e
        _route(problem, mapping, mapping.binding[a], mapping.memory[mapping.root[e]], task)
        mapping.duration[task] = 0
        for i in range(mapping.crossings[task]):
            mapping.duration[task] = max(mapping.duration[task], problem.ticks[e, mapping.crossed[task, i]])
        for i in range(mapping.crossings[task]):
            mapping.load[cores + mapping.crossed[task, i]] += mapping.duration[task]
    for crossings in range(3, -1, -1):  # most interconnects first; without any, the access takes no time
        for k in range(groups.starts[a], groups.starts[a + 1]):
            task = first_task + groups.members[k]
            if mapping.crossings[task] == crossings:
                # a write without duration belongs to the execution itself
                mapping.offset[task] = now if crossings or first_task else mapping.total[a]
                now += mapping.duration[task]
                blocks = _add_blocks(mapping, a, task, cores, blocks)
    mapping.total[a] = now
    return blocks


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_blocks(
    mapping: Mapping, a: cython.Py_ssize_t, task: cython.longlong, cores: cython.longlong, blocks: cython.longlong
) -> cython.longlong:
    """Add what a task of actor ``a`` holds of each interconnect to its blocks; return the number of blocks."""
    i: cython.Py_ssize_t
    for i in range(mapping.crossings[task]):
        h = mapping.crossed[task, i]
        last = mapping.last_block[h]
        if last >= mapping.blocks[a] and mapping.block_offset[last] + mapping.block_ticks[last] == mapping.offset[task]:
            mapping.block_ticks[last] += mapping.duration[task]
            continue
        mapping.block_resource[blocks] = cores + h
        mapping.block_offset[blocks] = mapping.offset[task]
        mapping.block_ticks[blocks] = mapping.duration[task]
        mapping.last_block[h] = blocks
        blocks += 1
    return blocks
