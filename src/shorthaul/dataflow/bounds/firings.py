"""The least time that a firing takes on a core of each type: its execution, and accesses that cannot all be local."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from shorthaul.dataflow.model import Application, Channel, Core, Platform, Tile, ticks_for


@dataclass(slots=True)
class _Buffer:
    """What an actor accesses in one buffer: the accesses' channels, and the least bytes that the buffer takes."""

    size: int
    channels: list[Channel]


def least_firings(
    application: Application, platform: Platform, actors: Collection[str]
) -> dict[str, dict[str, int]]:  # fmt: skip
    """Return, per actor of ``actors`` and core type that can run it, the least ticks of its firing in any mapping.

    Whatever multicasts are replaced, such an actor writes and reads the same tokens. An access takes no time only if
    its buffer is in the core's own memory; the buffers of one actor that do not fit there together are accessed through
    the crossbar of the tile, at least. Which ones stay outside is relaxed: parts of buffers may.
    """
    roots = roots_of(application)
    seen: dict[str, dict[str, _Buffer]] = {name: {} for name in actors}
    for channel in application.channels:
        root = roots[channel.id]
        # a channel out of a multicast may be a buffer of its own, or part of its root
        own = max(1, root.delay) if root is channel else 1
        for end in (channel.src, channel.dst):
            if end in seen:
                buffer = seen[end].setdefault(root.id, _Buffer(own * channel.token_bytes, []))
                buffer.size = min(buffer.size, own * channel.token_bytes)
                buffer.channels.append(channel)
    kinds: dict[tuple[str, int, float], tuple[Core, Tile]] = {}
    for tile in platform.tiles:
        for core in tile.cores:
            kinds.setdefault((core.type, core.local_bytes, tile.crossbar_bytes_per_s), (core, tile))
    least: dict[str, dict[str, int]] = {}
    for actor in application.actors:
        if actor.id not in seen:
            continue
        times: dict[str, int] = {}
        for core, tile in kinds.values():
            tau = actor.ticks.get(core.type)
            if tau is not None:
                ticks = tau + _outside(application, seen[actor.id], core, tile)
                times[core.type] = min(times.get(core.type, ticks), ticks)
        least[actor.id] = times
    return least


def least_executions(application: Application, platform: Platform, actors: Collection[str]) -> dict[str, int]:
    """Return the ticks of an execution on the fastest core, per actor of ``actors``."""
    types = {core.type for core in platform.cores}
    return {
        actor.id: min(tau for kind, tau in actor.ticks.items() if kind in types)
        for actor in application.actors
        if actor.id in actors
    }


def least_accesses(application: Application, platform: Platform, actors: Collection[str]) -> dict[str, int]:
    """Return the least ticks of the write to and the read from every channel, as far as ``actors`` do them."""
    runs_on = {actor.id: set(actor.ticks) for actor in application.actors}
    places = {
        (core.type, core.local_bytes, tile.crossbar_bytes_per_s) for tile in platform.tiles for core in tile.cores
    }
    return {
        channel.id: sum(
            min(
                0
                if channel.token_bytes <= local
                else ticks_for(channel.token_bytes, bandwidth, application.ticks_per_second)
                for kind, local, bandwidth in places
                if kind in runs_on[end]
            )
            for end in (channel.src, channel.dst)
            if end in actors
        )
        for channel in application.channels
    }


def _outside(application: Application, buffers: Mapping[str, _Buffer], core: Core, tile: Tile) -> int:
    """Return the least ticks of accesses to buffers that have no room in the core's memory (a fractional knapsack)."""
    items = []
    for buffer in buffers.values():
        ticks = sum(
            ticks_for(channel.token_bytes, tile.crossbar_bytes_per_s, application.ticks_per_second)
            for channel in buffer.channels
        )
        items.append((ticks, buffer.size))
    total = sum(ticks for ticks, _ in items)
    room = core.local_bytes
    saved = 0
    for ticks, size in sorted(items, key=lambda item: (item[1] / item[0], item[1])):
        if size > core.local_bytes:
            continue
        if size > room:
            saved += -(-ticks * room // size)
            break
        saved += ticks
        room -= size
    return total - saved


def busiest_crossbar(
    application: Application, platform: Platform, actors: Collection[str]
) -> tuple[str, int]:  # fmt: skip
    """Return the actor of ``actors`` whose tile's crossbar has most to carry in any mapping, and for how many ticks."""
    return max(carried_near(application, platform, actors).items(), key=lambda item: item[1])


def carried_near(
    application: Application, platform: Platform, actors: Collection[str]
) -> dict[str, int]:  # fmt: skip
    """Return for how many ticks, at least, the crossbar of each actor's tile carries tokens in any mapping.

    A buffer that fits no core's memory is accessed over crossbars. In the tile of one of its actors, that actor's
    accesses and at least one of another actor cross the same crossbar; anywhere else, its own cross the network too.
    """
    largest = max(core.local_bytes for core in platform.cores)
    carried: dict[str, list[tuple[int, int, int]]] = {name: [] for name in actors}  # bytes, accesses near, and far
    for root, group in channels_together(application).items():
        ends = [(channel, end) for channel in group for end in (channel.src, channel.dst) if end in carried]
        own: dict[str, int] = {}
        for channel, end in ends:
            tokens = max(1, channel.delay) if channel.id == root else 1
            own[end] = own.get(end, 0) + (tokens * channel.token_bytes > largest)
        for name, accesses in own.items():
            near = accesses + any(end != name for _, end in ends)
            if accesses:
                carried[name].append((group[0].token_bytes, near, accesses))
    places = {(core.type, tile.crossbar_bytes_per_s) for tile in platform.tiles for core in tile.cores}
    kinds = {actor.id: set(actor.ticks) for actor in application.actors}
    return {
        name: min(
            sum(_carried(application, platform, bandwidth, *buffer) for buffer in buffers)
            for kind, bandwidth in places
            if kind in kinds[name]
        )
        for name, buffers in carried.items()
    }


def _carried(
    application: Application, platform: Platform, bandwidth: float, size: int, near: int, far: int
) -> int:  # fmt: skip
    """Return the least ticks that a crossbar carries accesses to one buffer: the near ones, or those far away."""
    per_second = application.ticks_per_second
    slower = min(bandwidth, platform.noc_bytes_per_s)
    return min(near * ticks_for(size, bandwidth, per_second), far * ticks_for(size, slower, per_second))


def roots_of(application: Application) -> dict[str, Channel]:
    """Return, per channel, the channel whose buffer it shares once all multicasts are replaced."""
    multicasts = set(application.multicasts)
    feeding = {channel.dst: channel for channel in application.channels if channel.dst in multicasts}
    roots = {}
    for channel in application.channels:
        root = channel
        while root.src in feeding:
            root = feeding[root.src]
        roots[channel.id] = root
    return roots


def channels_together(application: Application) -> dict[str, list[Channel]]:
    """Return the channels by the one whose buffer they share once all multicasts are replaced."""
    roots = roots_of(application)
    groups: dict[str, list[Channel]] = {}
    for channel in application.channels:
        groups.setdefault(roots[channel.id].id, []).append(channel)
    return groups
