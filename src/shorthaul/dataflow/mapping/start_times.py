"""Starts of all iterations from starts modulo the period: whole periods per firing, and accesses that take no time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shorthaul.dataflow.graphs.multi_reader_buffers import Buffer
from shorthaul.dataflow.mapping.binding import MappedNetwork, Task, held_since, held_until


def written(net: MappedNetwork, start: Mapping[str, Any], buffer: Buffer, write: Task) -> Any:
    """Return when the token of a write is there, for starts that are numbers or variables of a model."""
    if write.duration:
        return start[write.name] + write.duration
    return start[buffer.writer] + net.execution[buffer.writer]


def read(start: Mapping[str, Any], task: Task) -> Any:
    """Return when a read needs its token, for starts that are numbers or variables of a model."""
    return start[task.name] if task.duration else start[task.actor]


def add_periods(
    net: MappedNetwork, starts: dict[str, int], period: int, capacities: Mapping[str, int], *, atomic: bool,
    limits: Mapping[str, int | None] | None = None, time_limit_s: float = float("inf"),
) -> dict[str, int] | None:  # fmt: skip
    """Add whole periods to every firing so that tokens are there when read and buffers hold as few bytes as possible.

    The buffers named in ``capacities`` hold no more tokens than that, and those in one memory no more bytes than its
    limit in ``limits``; with ``atomic``, places are held from firing to firing. None if there are no such stages. A
    linear program over the stages, integral without ``limits``: every constraint is a difference of two of them. With
    ``limits``, none is found either where ``time_limit_s`` does not suffice.
    """
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    names = {name: i for i, name in enumerate(net.network.actors)}
    reads, writes = net.read_tasks(), net.write_tasks()
    rows: list[tuple[list[tuple[int, int]], int]] = []
    buffers = net.network.buffers
    cost = np.zeros(len(names) + len(buffers))
    bounds: list[tuple[float, float | None]] = [(0.0, None)] * len(names)
    for number, buffer in enumerate(buffers):
        write = writes[buffer.id]
        tokens = len(names) + number
        cost[tokens] = buffer.token_bytes + 1
        own = tokens_to_itself(net, buffer, write, atomic=atomic)
        bounds.append((float(own), max(own, capacities[buffer.id]) if buffer.id in capacities else None))
        held_from = held_since(net, starts, write, atomic=atomic)
        for task in reads[buffer.id]:
            u, v = names[buffer.writer], names[task.actor]
            end, start = written(net, starts, buffer, write), read(starts, task)
            held_to = held_until(net, starts, task, atomic=atomic)
            # stage u - stage v <= delay + floor((read - written) / period)
            rows.append(([(u, 1), (v, -1)] if u != v else [], buffer.delay + (start - end) // period))
            # tokens >= delay + stage v - stage u + ceil((held to - held from) / period)
            pair = [(v, 1), (u, -1)] if u != v else []
            rows.append(([*pair, (tokens, -1)], -buffer.delay + (held_from - held_to) // period))
    for name, limit in (limits or {}).items():
        held = [(len(names) + number, b.token_bytes) for number, b in enumerate(buffers) if net.memory[b.id] == name]
        if limit is not None and held:
            rows.append((held, limit))
    entries = [(i, column, value) for i, (row, _) in enumerate(rows) for column, value in row]
    matrix = coo_array(
        ([e[2] for e in entries], ([e[0] for e in entries], [e[1] for e in entries])), shape=(len(rows), len(cost))
    )
    solved = linprog(
        cost, A_ub=matrix.tocsr(), b_ub=[limit for _, limit in rows], bounds=bounds,
        method="highs-ds" if limits is None else "highs", integrality=None if limits is None else 1,
        options={"time_limit": max(0.01, time_limit_s)} if limits is not None and time_limit_s < 1e7 else {},
    )  # fmt: skip
    if solved.x is None:
        return None
    stage = {name: round(float(solved.x[i])) for name, i in names.items()}
    owner = {task.name: name for name in names for task in (*net.reads[name], *net.writes[name])}
    return {name: at + period * stage[owner.get(name, name)] for name, at in starts.items()}


def place_timeless(net: MappedNetwork, starts: dict[str, int]) -> dict[str, int]:
    """Return the starts with accesses that take no time put at the ends of their execution."""
    placed = dict(starts)
    for name in net.network.actors:
        for task in net.reads[name]:
            if not task.duration:
                placed[task.name] = placed[name]
        for task in net.writes[name]:
            if not task.duration:
                placed[task.name] = placed[name] + net.execution[name]
    return placed


def tokens_to_itself(net: MappedNetwork, buffer: Buffer, write: Task, *, atomic: bool) -> int:
    """Return the least tokens that a buffer holds in any schedule: one more than the delay for some actors' own."""
    if buffer.writer not in buffer.readers:
        return max(1, buffer.delay)
    accesses = sum(task.duration for task in (*net.reads[buffer.writer], *net.writes[buffer.writer]))
    if atomic:
        return buffer.delay + (net.execution[buffer.writer] + accesses > 0)
    return buffer.delay + (net.execution[buffer.writer] > 0 and not write.duration)


def serial_schedule(
    net: MappedNetwork, capacities: Mapping[str, int] | None = None
) -> tuple[int, dict[str, int]] | None:
    """Return period and start ticks of one firing after the other: always a schedule.

    With ``capacities`` (tokens per buffer), readers come before the writer where a buffer has room for no more than
    its initial tokens; None if the network has no such order.
    """
    waiting = dict.fromkeys(net.network.actors, 0)
    out: dict[str, list[str]] = {name: [] for name in net.network.actors}
    for buffer in net.network.buffers:
        full = capacities is not None and 0 < buffer.delay == capacities.get(buffer.id)
        for reader in buffer.readers if full or buffer.delay == 0 else ():
            before, after = (reader, buffer.writer) if full else (buffer.writer, reader)
            if before != after:
                waiting[after] += 1
                out[before].append(after)
    ready = [name for name in net.network.actors if not waiting[name]]
    now = 0
    starts: dict[str, int] = {}
    while ready:
        name = ready.pop(0)
        for task in net.reads[name]:
            starts[task.name] = now
            now += task.duration
        starts[name] = now
        now += net.execution[name]
        for task in net.writes[name]:
            starts[task.name] = now
            now += task.duration
        for follower in out[name]:
            waiting[follower] -= 1
            if not waiting[follower]:
                ready.append(follower)
    return None if any(waiting.values()) else (max(1, now), place_timeless(net, starts))
