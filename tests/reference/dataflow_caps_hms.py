"""CAPS-HMS tick by tick: utilisation as sets of ticks, every start tried in turn. The slow twin of the kernels."""

from __future__ import annotations

from shorthaul.dataflow.graphs.multi_reader_buffers import substitute_mrbs
from shorthaul.dataflow.mapping.binding import MappedNetwork, determine_channel_bindings, mapped, needed_capacities
from shorthaul.dataflow.model import Application, Decisions, Platform


def ordered(tasks):
    """Most interconnects first, ties in declaration order."""
    return sorted(tasks, key=lambda task: -len(task.route))


def ticks(period: int, start: int, length: int) -> set[int]:
    return {t % period for t in range(start, start + length)}


def offsets(net: MappedNetwork, name: str):
    """Offset of the execution and of every access from the start of the firing, and the firing's length."""
    now, at = 0, {}
    for task in ordered(net.reads[name]):
        at[task.name] = now
        now += task.duration
    execution = now
    now += net.execution[name]
    for task in ordered(net.writes[name]):
        at[task.name] = now if task.duration else execution + net.execution[name]
        now += task.duration
    return execution, at, now


def caps_hms(net: MappedNetwork, rank: dict[str, int], period: int, *, compact: bool) -> dict[str, int] | None:
    """Algorithm 5 with the delays respected; start ticks of all tasks, or None."""
    used: dict[str, set[int]] = {}
    begin: dict[str, int] = {}
    starts: dict[str, int] = {}
    reads = net.read_tasks()
    layout = {name: offsets(net, name) for name in net.network.actors}

    def ready(name: str) -> bool:
        return all(b.writer in begin for b in net.network.buffers if b.delay == 0 and name in b.readers)

    while len(begin) < len(net.network.actors):
        name = min((a for a in net.network.actors if a not in begin and ready(a)), key=lambda a: rank[a])
        execution, at, total = layout[name]
        if total > period:
            return None
        low, high = 0, None
        for buffer in net.network.buffers:
            write = net.write_tasks()[buffer.id]
            for task in reads[buffer.id]:
                if task.actor == name and buffer.writer in begin:
                    if buffer.delay == 0:
                        low = max(low, begin[buffer.writer] + layout[buffer.writer][2])
                    else:
                        low = max(low, starts[write.name] + write.duration - buffer.delay * period - at[task.name])
        wish = low
        for buffer in net.network.buffers:
            if buffer.writer != name:
                continue
            write = net.write_tasks()[buffer.id]
            for task in reads[buffer.id]:
                if task.actor not in begin:
                    continue
                last = starts[task.name] + buffer.delay * period - at[write.name] - write.duration
                high = last if high is None else min(high, last)
                if compact:
                    end = starts[task.actor] + net.execution[task.actor]
                    end = starts[task.name] + task.duration if task.duration else end
                    wish = max(wish, end - (at[write.name] if write.duration else execution))
        for start in range(wish, wish + period):
            if high is not None and start > high:
                return None
            wanted = [(net.binding[name], start, total)]
            wanted += [
                (resource, start + at[task.name], task.duration)
                for task in (*net.reads[name], *net.writes[name])
                for resource in task.route
            ]
            if all(not used.get(r, set()) & ticks(period, s, length) for r, s, length in wanted):
                break
        else:
            return None
        for resource, s, length in wanted:
            used.setdefault(resource, set()).update(ticks(period, s, length))
        begin[name] = start
        starts[name] = start + execution
        starts.update({task: start + offset for task, offset in at.items()})
    return starts


def decode(
    application: Application, platform: Platform, decisions: Decisions, rank: dict[str, int], *, compact: bool
) -> tuple[int, int, dict[str, int]] | None:
    """Algorithm 4 with P + 1 at a time: period, footprint and start ticks; None if the memories are too small."""
    network = substitute_mrbs(application, decisions.xi)
    capacities = {buffer.id: max(1, buffer.delay) for buffer in network.buffers}
    for _ in range(12):
        memory = determine_channel_bindings(network, platform, decisions, capacities)
        if memory is None:
            return None
        net = mapped(application, platform, network, decisions.binding, memory)
        period = max(1, *(sum(tasks.values()) for tasks in net.resource_loads().values()))
        while (starts := caps_hms(net, rank, period, compact=compact)) is None:
            period += 1
        need = needed_capacities(net, starts, period)
        size = {buffer.id: buffer.token_bytes for buffer in network.buffers}
        used = dict.fromkeys(platform.memories, 0)
        for name, tokens in need.items():
            used[memory[name]] += tokens * size[name]
        if all(limit is None or used[q] <= limit for q, limit in platform.memories.items()):
            return period, sum(tokens * size[name] for name, tokens in need.items()), starts
        capacities = {name: max(capacities[name], need[name]) for name in capacities}
    return None
