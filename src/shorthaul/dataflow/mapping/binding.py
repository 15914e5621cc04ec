"""A mapped network: every channel in a memory (Algorithm 2), every task with its duration, route and resources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shorthaul.dataflow.graphs.multi_reader_buffers import Buffer, Network, substitute_mrbs
from shorthaul.dataflow.model import (
    GLOBAL_MEMORY,
    NOC,
    Application,
    Decisions,
    Platform,
    Tile,
    crossbar,
    local_memory,
    ticks_for,
    tile_memory,
)
from shorthaul.dataflow.plan import Point


@dataclass(frozen=True, slots=True)
class Task:
    """A read or write of one buffer by one actor: ``edge`` is the original channel behind a read."""

    name: str
    actor: str
    buffer: str
    duration: int
    route: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MappedNetwork:
    """Actors on cores, buffers in memories: execution ticks, and the accesses of every actor."""

    network: Network
    binding: Mapping[str, str]
    memory: Mapping[str, str]
    execution: Mapping[str, int]
    reads: Mapping[str, tuple[Task, ...]]
    writes: Mapping[str, tuple[Task, ...]]

    def resource_loads(self) -> dict[str, dict[str, int]]:
        """Return, per core and interconnect, the ticks that each task asks of it in one period."""
        loads: dict[str, dict[str, int]] = {}
        for name in self.network.actors:
            core = loads.setdefault(self.binding[name], {})
            core[name] = self.execution[name]
            for task in (*self.reads[name], *self.writes[name]):
                core[task.name] = task.duration
                for interconnect in task.route:
                    loads.setdefault(interconnect, {})[task.name] = task.duration
        return loads

    def read_tasks(self) -> dict[str, list[Task]]:
        """Return the reads of every buffer, in the order of its readers."""
        tasks: dict[str, list[Task]] = {buffer.id: [] for buffer in self.network.buffers}
        for name in self.network.actors:
            for task in self.reads[name]:
                tasks[task.buffer].append(task)
        return tasks

    def write_tasks(self) -> dict[str, Task]:
        """Return the write of every buffer."""
        return {task.buffer: task for name in self.network.actors for task in self.writes[name]}


def determine_channel_bindings(
    network: Network,
    platform: Platform,
    decisions: Decisions,
    capacities: Mapping[str, int],
    *,
    common_tile: bool = False,
) -> dict[str, str] | None:
    """Return the memory of every buffer, first come, first served (Algorithm 2); None if the global one is too small.

    A buffer takes the decision of its first channel; for several readers CONS means the first one, or with
    ``common_tile`` the first one on the tile that most readers are on.
    """
    limits, tiles = platform.memories, platform.tile_of
    used = dict.fromkeys(limits, 0)
    memory: dict[str, str] = {}
    for buffer in network.buffers:
        decision = decisions.channel_decision.get(buffer.id, "PROD")
        actor = buffer.writer if "PROD" in decision else _consumer(buffer, tiles if common_tile else {}, decisions)
        core = decisions.binding[actor]
        chain = [local_memory(core), tile_memory(tiles[core].id), GLOBAL_MEMORY]
        chain = chain[2:] if decision == "GLOBAL" else chain[1:] if decision.startswith("TILE") else chain
        need = capacities[buffer.id] * buffer.token_bytes
        chosen = next((q for q in chain if (limit := limits[q]) is None or used[q] + need <= limit), None)
        if chosen is None:
            return None
        memory[buffer.id] = chosen
        used[chosen] += need
    return memory


def _consumer(buffer: Buffer, tile_of: Mapping[str, Tile], decisions: Decisions) -> str:
    """Return the first reader, or the first on the tile that most are on where ``tile_of`` tells the tiles."""
    if not tile_of:
        return buffer.readers[0]
    tiles = [tile_of[decisions.binding[reader]].id for reader in buffer.readers]
    return buffer.readers[max(range(len(tiles)), key=lambda i: (tiles.count(tiles[i]), -i))]


def _homes(platform: Platform) -> dict[str, Tile]:
    """Return the tile of every memory of a core or tile."""
    homes = {local_memory(core): tile for core, tile in platform.tile_of.items()}
    return homes | {tile_memory(tile.id): tile for tile in platform.tiles}


def _route(
    platform: Platform, here: Tile, homes: Mapping[str, Tile], core: str, memory: str
) -> tuple[tuple[str, ...], float]:  # fmt: skip
    """Return the interconnects between a core, on tile ``here``, and a memory; their least bandwidth (Section II-D)."""
    if memory == local_memory(core):
        return (), float("inf")
    if memory == GLOBAL_MEMORY:
        return (crossbar(here.id), NOC), min(here.crossbar_bytes_per_s, platform.noc_bytes_per_s)
    there = homes[memory]
    if there.id == here.id:
        return (crossbar(here.id),), here.crossbar_bytes_per_s
    least = min(here.crossbar_bytes_per_s, platform.noc_bytes_per_s, there.crossbar_bytes_per_s)
    return (crossbar(here.id), NOC, crossbar(there.id)), least


def mapped(
    application: Application,
    platform: Platform,
    network: Network,
    binding: Mapping[str, str],
    memory: Mapping[str, str],
) -> MappedNetwork:
    """Return the network with every task's duration and route (Eqs. (10) and (11))."""
    types = {core.id: core.type for core in platform.cores}
    tau = {actor.id: actor.ticks for actor in application.actors}
    reads: dict[str, list[Task]] = {name: [] for name in network.actors}
    writes: dict[str, list[Task]] = {name: [] for name in network.actors}
    routes: dict[tuple[str, str], tuple[tuple[str, ...], float]] = {}
    tile_of, homes = platform.tile_of, _homes(platform)

    def task(name: str, actor: str, buffer: Buffer) -> Task:
        key = (binding[actor], memory[buffer.id])
        if key not in routes:
            routes[key] = _route(platform, tile_of[key[0]], homes, *key)
        crossed, bandwidth = routes[key]
        duration = ticks_for(buffer.token_bytes, bandwidth, application.ticks_per_second) if crossed else 0
        return Task(name, actor, buffer.id, duration, crossed)

    for buffer in network.buffers:
        writes[buffer.writer].append(task(f"({buffer.writer},{buffer.id})", buffer.writer, buffer))
        seen: dict[str, int] = {}
        for reader in buffer.readers:
            seen[reader] = seen.get(reader, 0) + 1
            mark = "" if seen[reader] == 1 else f"#{seen[reader]}"
            reads[reader].append(task(f"({buffer.id},{reader}){mark}", reader, buffer))
    return MappedNetwork(
        network,
        {name: binding[name] for name in network.actors},
        memory,
        {name: tau[name][types[binding[name]]] for name in network.actors},
        {name: tuple(tasks) for name, tasks in reads.items()},
        {name: tuple(tasks) for name, tasks in writes.items()},
    )


def mapped_point(application: Application, platform: Platform, point: Point) -> MappedNetwork:
    """Return the mapped network of a point of a plan."""
    network = substitute_mrbs(application, point.xi)
    return mapped(application, platform, network, point.binding, point.channel_binding)


def needed_capacities(
    net: MappedNetwork, starts: Mapping[str, int], period: int, *, atomic_firing: bool = False
) -> dict[str, int]:
    """Return the tokens that every buffer must hold: max(1, delay, delay + ceil((last read - write) / period)).

    A place is held from the start of the write to the end of the read; where an access takes no time, from the start
    of the writer's execution and to the end of the reader's. With ``atomic_firing``, from the start of the writer's
    firing to the end of the reader's.
    """
    reads, writes = net.read_tasks(), net.write_tasks()
    need = {}
    for buffer in net.network.buffers:
        held_from = held_since(net, starts, writes[buffer.id], atomic=atomic_firing)
        tokens = max(1, buffer.delay)
        for task in reads[buffer.id]:
            end = held_until(net, starts, task, atomic=atomic_firing)
            tokens = max(tokens, buffer.delay - (held_from - end) // period)
        need[buffer.id] = tokens
    return need


def held_since(net: MappedNetwork, starts: Mapping[str, int], write: Task, *, atomic: bool) -> int:
    """Return when a writer takes its place; with ``atomic``, at the first start of its firing."""
    if atomic:
        return min([starts[write.actor], *(starts[task.name] for task in net.reads[write.actor])])
    return starts[write.name] if write.duration else starts[write.actor]


def held_until(net: MappedNetwork, starts: Mapping[str, int], task: Task, *, atomic: bool) -> int:
    """Return when a reader leaves its place; with ``atomic``, at the last end of its firing."""
    finish = starts[task.actor] + net.execution[task.actor]
    if atomic:
        return max([finish, *(starts[write.name] + write.duration for write in net.writes[task.actor])])
    return starts[task.name] + task.duration if task.duration else finish
