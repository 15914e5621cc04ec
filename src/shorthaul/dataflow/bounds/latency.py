"""A lower bound on the latency of every mapping: firings of a chain one after the other, on the fastest cores."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from shorthaul.core.amounts import Bound
from shorthaul.dataflow.bounds.firings import least_accesses, least_executions
from shorthaul.dataflow.graphs.multi_reader_buffers import substitute_mrbs
from shorthaul.dataflow.mapping.latency import actor_of, ends_of, least_delays
from shorthaul.dataflow.model import Application, Platform

_Arcs = Mapping[str, list[tuple[str, int, int]]]


def latency_bound(application: Application, platform: Platform, strategy: str) -> Bound:
    """Return the bound, of the longest chain to each end that waits for no other iteration than the first to arrive.

    A replaced multicast takes no time, and its outputs lose their initial tokens: where that may change which chain
    arrives first, the shortest chain counts. Every actor at an end is reached by its first firing.
    """
    kept = {a.id for a in application.actors if a.kind != "multicast" or strategy == "reference"}
    execution = least_executions(application, platform, kept)
    access = least_accesses(application, platform, kept)
    multicasts = set(application.multicasts)
    is_certain = strategy == "reference" or not any(c.delay for c in application.channels if c.src in multicasts)
    arcs: dict[str, list[tuple[str, int, int]]] = {actor.id: [] for actor in application.actors}
    for c in application.channels:
        arcs[c.src].append((c.dst, execution.get(c.src, 0) + access[c.id], c.delay))
    network = substitute_mrbs(application, {})
    first, last = ends_of(network)
    best, proof = 0, "no firing follows from another"
    for name in first:
        delays = least_delays(network, [name])
        lengths = _longest(arcs, delays, name) if is_certain else _shortest(arcs, name)
        soonest: dict[str, tuple[int, str]] = {}
        for end in last:
            if end in lengths:
                found = lengths[end] + execution.get(end, 0), end
                soonest[actor_of(end)] = min(soonest.get(actor_of(end), found), found)
        for ticks, end in soonest.values():
            if ticks > best:
                best, proof = ticks, f"from {name} to {end}, all firings on the fastest cores take {ticks} ticks"
    return Bound("latency", best, "longest chain", proof)


def _longest(arcs: _Arcs, delays: Mapping[str, int], root: str) -> dict[str, int]:
    """Return the longest way to every firing among those that arrive in the first iteration possible."""
    into: dict[str, list[tuple[str, int]]] = {name: [] for name in delays}
    for name in delays:
        for target, ticks, delay in arcs[name]:
            if delays[name] + delay == delays[target]:
                into[target].append((name, ticks))
    longest: dict[str, int] = {root: 0}
    stack = [*delays]
    while stack:
        missing = [source for source, _ in into[stack[-1]] if source not in longest]
        if missing:
            stack += missing
            continue
        name = stack.pop()
        longest[name] = max((longest[source] + ticks for source, ticks in into[name]), default=0)
    return longest


def _shortest(arcs: _Arcs, root: str) -> dict[str, int]:
    shortest, queue = {root: 0}, [(0, root)]
    while queue:
        length, name = heapq.heappop(queue)
        for target, ticks, _ in arcs[name] if length == shortest[name] else ():
            if length + ticks < shortest.get(target, 1 << 60):
                shortest[target] = length + ticks
                heapq.heappush(queue, (length + ticks, target))
    return shortest
