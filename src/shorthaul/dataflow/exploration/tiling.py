"""Mappings to start annealing on loads from: actors in tiles first, then on cores there, buffers by what they save.

Where memories are scarce, an actor that moves to another tile finds no room for its buffers there. Moved between tiles
alone, with memories filled anew every time, actors get where few bytes cross the network in much fewer moves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.exploration.tiles_kernels import Tiling, anneal_tiles
from shorthaul.dataflow.mapping.arrays import DECISION_CODE, Instance
from shorthaul.dataflow.mapping.mapping_kernels import Genotypes

IntArray = npt.NDArray[np.int64]


def tiled(
    instance: Instance, genotype: Genotypes, random: Random, moves: int, search: Search, cores: Sequence[int]
) -> Genotypes | None:
    """Return a mapping on the ``cores``, from moves between tiles alone; None if they are in one tile."""
    binding, xi = np.asarray(genotype.binding)[0], np.asarray(genotype.xi)[0]
    replaced = instance.multicast_of >= 0
    replaced[replaced] = xi[instance.multicast_of[replaced]] > 0
    live = np.flatnonzero(~replaced)
    used = np.unique(cores)
    if len(np.unique(instance.core_tile[used])) == 1:
        return None
    buffers = _buffers(instance, xi)
    tiles = instance.ticks.shape[1] - 1
    tokens = np.maximum(1, instance.delay)
    roots = np.array([*buffers], np.int64)
    size = (tokens * instance.token_bytes)[roots]
    starts = np.cumsum([0, *map(len, buffers.values())]).astype(np.int64)
    members = np.array([actor for actors in buffers.values() for actor in actors], np.int64)
    near, far = instance.ticks[roots, :tiles].min(axis=1), instance.ticks[roots].max(axis=1)
    saved = [
        (far[b] * count / max(1, size[b]), b, count)
        for b, actors in enumerate(buffers.values())
        for count in range(1, len(actors) + 1)
    ]
    saved.sort(reverse=True)
    room = instance.limits[len(instance.core_tile) : -1].copy()
    work = np.full((len(binding), tiles), -1.0)
    for tile in range(tiles):
        cores = used[instance.core_tile[used] == tile]
        if len(cores):
            room[tile] += int(tuning.FILLED * instance.limits[cores].sum())
            ticks = instance.tau[:, instance.core_type[cores]]
            runs = ticks >= 0
            mean = np.where(runs, ticks, 0).sum(axis=1) / np.maximum(1, runs.sum(axis=1))
            # in 1024ths of a tick, so that sums are exact in any order
            work[:, tile] = np.where(runs.any(axis=1), np.rint(mean / len(cores) * 1024) / 1024, -1.0)
    home, place = np.zeros(len(binding), np.int64), np.zeros(len(roots), np.int64)
    if (work[live] < 0).all(axis=1).any():
        return None  # an actor runs on none of the cores
    home[live] = instance.core_tile[binding[live]]
    astray = live[work[live, home[live]] < 0]
    home[astray] = np.where(work[astray] < 0, np.inf, work[astray]).argmin(axis=1)
    order = np.array([pair for _, *pair in saved], np.int64)
    at = Tiling(starts, members, size, near, far, order, work, room, live, home, place)
    steps = anneal_tiles(at, random, int(tuning.TILING_MOVES * moves), *tuning.TILING)
    search.spend(steps / tuning.TILING_STEPS)
    cores_of = _on_cores(instance, home, live, used, binding)
    decision = _decisions(instance, buffers, saved, place, cores_of, size)
    return Genotypes(np.ones(1, np.int8), xi[None].copy(), decision[None], cores_of[None])


def _buffers(instance: Instance, xi: npt.NDArray[np.int8]) -> dict[int, list[int]]:
    """Return the actors that access every buffer, its writer first, by the number of its first channel."""
    root = np.arange(len(instance.src))
    out: dict[int, list[int]] = {}
    for channel, actor in enumerate(instance.src.tolist()):
        out.setdefault(actor, []).append(channel)
    found: dict[int, list[int]] = {}
    gone = {int(a) for a in np.flatnonzero(instance.multicast_of >= 0) if xi[instance.multicast_of[a]]}
    for channel in range(len(root)):
        if int(instance.src[channel]) in gone:
            continue
        readers, todo = [], [channel]
        while todo:
            one = todo.pop()
            actor = int(instance.dst[one])
            if actor in gone:
                todo += out.get(actor, [])
            else:
                readers.append((one, actor))
        found[channel] = [int(instance.src[channel]), *(actor for _, actor in sorted(readers))]
    return found


def _on_cores(
    instance: Instance, tile: IntArray, live: IntArray, used: IntArray, binding: IntArray
) -> IntArray:  # fmt: skip
    """Return the core of every actor: of those in use in its tile, the one that is done first, longest actors first."""
    cores_of, load = binding.copy(), dict.fromkeys(used.tolist(), 0)
    fastest = np.where(instance.tau < 0, np.iinfo(np.int64).max, instance.tau).min(axis=1)
    for actor in sorted(live.tolist(), key=lambda actor: -fastest[actor]):
        able = [core for core in load if instance.core_tile[core] == tile[actor] and _ticks(instance, actor, core) >= 0]
        core = min(able, key=lambda core: load[core] + _ticks(instance, actor, core))
        load[core] += _ticks(instance, actor, core)
        cores_of[actor] = core
    return cores_of


def _ticks(instance: Instance, actor: int, core: int) -> int:
    return int(instance.tau[actor, instance.core_type[core]])


def _decisions(
    instance: Instance, buffers: dict[int, list[int]], saved: list[tuple[float, int, int]], place: IntArray,
    cores_of: IntArray, size: IntArray,
) -> npt.NDArray[np.int8]:  # fmt: skip
    """Return decisions by which buffers are in their tiles: in a core's memory where one has room, the fullest one."""
    left = instance.limits.copy()
    decision = np.full(len(instance.src), DECISION_CODE["GLOBAL"], np.int8)
    actors, roots = [*buffers.values()], [*buffers]
    for b in dict.fromkeys(b for _, b, _ in saved):
        ends = [(core, name) for core, name in zip(cores_of[actors[b][:2]].tolist(), ("PROD", "CONS"), strict=False)
                if instance.core_tile[core] == place[b]]  # fmt: skip
        near = [(int(left[core]), core, name) for core, name in ends if left[core] >= size[b]]
        tile = len(instance.core_tile) + int(place[b])
        if near:
            _, memory, name = min(near)
        elif ends and left[tile] >= size[b]:
            memory, name = tile, f"TILE-{ends[0][1]}"
        else:
            continue
        left[memory] -= size[b]
        decision[roots[b]] = DECISION_CODE[name]
    return decision
