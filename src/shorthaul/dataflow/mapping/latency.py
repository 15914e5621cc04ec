"""Latency: from an actor without inputs to what follows from it at the actors without outputs; schedules of little."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from shorthaul.dataflow.graphs.multi_reader_buffers import Network
from shorthaul.dataflow.mapping.binding import MappedNetwork
from shorthaul.dataflow.mapping.start_times import place_timeless, read, written


def actor_of(firing: str) -> str:
    """Return the actor of a firing: that of ``a#3`` is ``a``."""
    return firing.partition("#")[0]


def ends_of(network: Network) -> tuple[list[str], list[str]]:
    """Return the firings of actors that read from no other actor, and of those that no other actor reads from."""
    pairs = {(actor_of(b.writer), actor_of(reader)) for b in network.buffers for reader in b.readers}
    fed = {target for source, target in pairs if source != target}
    feeding = {source for source, target in pairs if source != target}
    first = [name for name in network.actors if actor_of(name) not in fed]
    return first, [name for name in network.actors if actor_of(name) not in feeding]


def least_delays(network: Network, roots: Sequence[str]) -> dict[str, int]:
    """Return, per firing that follows from one of ``roots``, after how many iterations it does so at first."""
    out: dict[str, list[tuple[str, int]]] = {name: [] for name in network.actors}
    for buffer in network.buffers:
        out[buffer.writer] += [(reader, buffer.delay) for reader in buffer.readers]
    least = dict.fromkeys(roots, 0)
    queue = [(0, name) for name in roots]
    while queue:
        delay, name = heapq.heappop(queue)
        if delay > least[name]:
            continue
        for target, more in out[name]:
            if delay + more < least.get(target, 1 << 60):
                least[target] = delay + more
                heapq.heappush(queue, (delay + more, target))
    return least


def latency_of(net: MappedNetwork, starts: Mapping[str, int], period: int) -> int | None:
    """Return the longest time from the start of a first firing to the end of the first firing at an end that follows.

    The longest of all first firings and all actors at an end; None if there are none, as in a ring.
    """
    waits: dict[tuple[str, str], int] = {}
    for name, end, delay in arrivals(net.network):
        begin = min([starts[name], *(starts[task.name] for task in net.reads[name])])
        done = max([starts[end] + net.execution[end], *(starts[t.name] + t.duration for t in net.writes[end])])
        pair = name, actor_of(end)
        waits[pair] = min(waits.get(pair, 1 << 60), done + delay * period - begin)
    return max(waits.values(), default=None)


@lru_cache(maxsize=16)  # mappings differ more often than what multicasts they replace
def arrivals(network: Network) -> list[tuple[str, str, int]]:
    """Return all pairs of a first firing and one at an end that follows, after how many iterations at first."""
    first, last = ends_of(network)
    delays = {name: least_delays(network, [name]) for name in first}
    return [(name, end, delays[name][end]) for name in first for end in last if end in delays[name]]


def soonest_schedule(net: MappedNetwork) -> tuple[int, dict[str, int]]:
    """Return period and starts of a schedule of little latency: all that follows from a first firing comes at once.

    A list schedule of what follows without waiting for another iteration, the firings with most to come first; then
    the least period at which all these times can be repeated.
    """
    ahead = _ahead(net.network)
    reads, writes = net.read_tasks(), net.write_tasks()
    waits: dict[str, dict[str, str]] = {name: {} for name in net.network.actors}  # the writer of every token of now
    for buffer in net.network.buffers:
        for task in reads[buffer.id]:
            if buffer.delay + ahead[buffer.writer] == ahead[task.actor]:
                waits[task.actor][task.name] = buffer.writer
    tail = _tails(net, waits)
    free = dict.fromkeys(net.resource_loads(), 0)
    there: dict[str, int] = {}
    starts: dict[str, int] = {}
    missing = {name: len(set(writers.values())) for name, writers in waits.items()}
    after = _followers(waits)
    ready = [name for name, count in missing.items() if not count]
    buffers = {buffer.id: buffer for buffer in net.network.buffers}

    def token(name: str, task_name: str, buffer: str) -> int:
        return there[buffer] if task_name in waits[name] else 0

    while ready:
        times = {
            name: max([free[net.binding[name]], *(token(name, t.name, t.buffer) for t in net.reads[name])])
            for name in ready
        }
        name = min(ready, key=lambda name: (times[name], -tail[name]))
        ready.remove(name)
        for follower in after[name]:
            missing[follower] -= 1
            if not missing[follower]:
                ready.append(follower)
        now = free[net.binding[name]]
        for task in sorted(net.reads[name], key=lambda task: token(name, task.name, task.buffer)):
            now = max([now, token(name, task.name, task.buffer), *(free[resource] for resource in task.route)])
            if task.duration:
                starts[task.name] = now
                now += task.duration
                free |= dict.fromkeys(task.route, now)
        starts[name] = now
        now += net.execution[name]
        for task in net.writes[name]:
            if task.duration:
                now = max([now, *(free[resource] for resource in task.route)])
                starts[task.name] = now
                now += task.duration
                free |= dict.fromkeys(task.route, now)
            there[task.buffer] = written(net, starts, buffers[task.buffer], writes[task.buffer])
        free[net.binding[name]] = now
    starts = place_timeless(net, starts)
    period = _least_period(net, starts, ahead, max(1, *free.values()))
    last = max(ahead.values())
    owner = {task.name: name for name in net.network.actors for task in (*net.reads[name], *net.writes[name])}
    return period, {name: at + period * (last - ahead[owner.get(name, name)]) for name, at in starts.items()}


def _ahead(network: Network) -> dict[str, int]:
    """Return by how many iterations every firing runs ahead of what it follows from, so that none waits needlessly."""
    roots = [*ends_of(network)[0]]
    ahead = least_delays(network, roots)
    while len(ahead) < len(network.actors):  # a ring that no actor without inputs feeds
        roots.append(next(name for name in network.actors if name not in ahead))
        ahead = least_delays(network, roots)
    return ahead


def _followers(waits: Mapping[str, Mapping[str, str]]) -> dict[str, list[str]]:
    """Return the firings that wait for each."""
    after: dict[str, list[str]] = {name: [] for name in waits}
    for name, writers in waits.items():
        for writer in dict.fromkeys(writers.values()):
            after[writer].append(name)
    return after


def _tails(net: MappedNetwork, waits: Mapping[str, Mapping[str, str]]) -> dict[str, int]:
    """Return how long the longest chain of firings takes that begins with each."""
    tail: dict[str, int] = {}
    after = _followers(waits)
    stack = [*net.network.actors]
    while stack:
        name = stack[-1]
        missing = [other for other in after[name] if other not in tail]
        if missing:
            stack += missing
            continue
        stack.pop()
        length = net.execution[name] + sum(task.duration for task in (*net.reads[name], *net.writes[name]))
        tail[name] = length + max((tail[other] for other in after[name]), default=0)
    return tail


def _least_period(net: MappedNetwork, starts: Mapping[str, int], ahead: Mapping[str, int], makespan: int) -> int:
    """Return the least period at which one iteration with these times can be repeated, all resources taken in turns."""
    low = 1
    reads, writes = net.read_tasks(), net.write_tasks()
    for buffer in net.network.buffers:
        end = written(net, starts, buffer, writes[buffer.id])
        for task in reads[buffer.id]:
            later = buffer.delay + ahead[buffer.writer] - ahead[task.actor]
            if later:
                low = max(low, -(-(end - read(starts, task)) // later))
    spans: dict[str, list[tuple[int, int]]] = {}
    for name in net.network.actors:
        tasks = [task for task in (*net.reads[name], *net.writes[name]) if task.duration]
        for task in tasks:
            for resource in task.route:
                spans.setdefault(resource, []).append((starts[task.name], starts[task.name] + task.duration))
        begin = min([starts[name], *(starts[task.name] for task in tasks)])
        end = max([starts[name] + net.execution[name], *(starts[task.name] + task.duration for task in tasks)])
        if end > begin:
            spans.setdefault(net.binding[name], []).append((begin, end))
    low = max([low, *(sum(end - begin for begin, end in found) for found in spans.values())])
    taken = [_overlapping(np.array(sorted(found), np.int64), low, makespan) for found in spans.values()]
    for least, most in sorted(pair for pairs in taken for pair in pairs):
        if least > low:
            break
        low = max(low, most + 1)
    return low


@lru_cache(maxsize=512)
def _pairs(count: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the first and second of all pairs of so many."""
    first, second = np.triu_indices(count, 1)
    return first, second


def _overlapping(spans: np.ndarray, low: int, makespan: int) -> list[tuple[int, int]]:
    """Return the ranges of periods, from ``low`` on, at which some two spans overlap that do not in one iteration."""
    begin, end = spans.T
    i, j = _pairs(len(begin))
    pairs: list[tuple[int, int]] = []
    for turn in range(1, makespan // low + 1):
        least = (begin[j] - end[i]) // turn + 1
        most = -(-(end[j] - begin[i]) // turn) - 1
        wrong = (most >= low) & (most >= least)
        pairs += zip(least[wrong].tolist(), most[wrong].tolist(), strict=True)
    return pairs
