"""CAPS-HMS: periodic schedules of one mapping or many, and what they need (Letras et al., Section V-B)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InputError
from shorthaul.core.jit import announce
from shorthaul.dataflow.caps_hms import heuristic_kernels as kernels
from shorthaul.dataflow.mapping.arrays import Instance, exact_cost, genes, memory_shortage
from shorthaul.dataflow.model import DECISIONS, Application, Decisions, crossbar
from shorthaul.dataflow.model import NOC as NOC_NAME
from shorthaul.dataflow.options import Decoding
from shorthaul.dataflow.plan import Point

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


def topological_rank(application: Application, *, inverse: bool = False) -> IntArray:
    """Return the place of every actor in topological order, or in its reverse; shape (actors,).

    Channels with initial tokens count as edges too as long as the graph stays acyclic without the rest.
    """
    number = {actor.id: i for i, actor in enumerate(application.actors)}
    hard = [(number[c.src], number[c.dst]) for c in application.channels if c.delay == 0]
    soft = [(number[c.src], number[c.dst]) for c in application.channels if c.delay > 0 and c.src != c.dst]
    order = _order(len(number), hard, soft)
    rank = np.empty(len(number), np.int64)
    rank[order] = np.arange(len(number))
    return len(number) - 1 - rank if inverse else rank


def _order(n: int, hard: list[tuple[int, int]], soft: list[tuple[int, int]]) -> list[int]:
    waiting_hard, waiting_soft = [0] * n, [0] * n
    out_hard: list[list[int]] = [[] for _ in range(n)]
    out_soft: list[list[int]] = [[] for _ in range(n)]
    for source, target in hard:
        waiting_hard[target] += 1
        out_hard[source].append(target)
    for source, target in soft:
        waiting_soft[target] += 1
        out_soft[source].append(target)
    # the least actor with nothing before it; on a cycle, the one with fewest channels with initial tokens before it
    order: list[int] = []
    done = [False] * n
    left = [(waiting_hard[a] > 0, waiting_soft[a], a) for a in range(n)]
    heapify(left)
    while left:
        *_, node = heappop(left)
        if done[node]:  # an older entry
            continue
        done[node] = True
        order.append(node)
        for target in out_hard[node]:
            waiting_hard[target] -= 1
        for target in out_soft[node]:
            waiting_soft[target] -= 1
        for target in (*out_hard[node], *out_soft[node]):
            if not done[target]:
                heappush(left, (waiting_hard[target] > 0, waiting_soft[target], target))
    return order


@dataclass(slots=True)
class Scratch:
    """Arrays that one thread decodes in; after a decoding they describe the last mapping's schedule."""

    root: IntArray
    live: npt.NDArray[np.bool_]
    capacity: IntArray
    need: IntArray
    memory: IntArray
    duration: IntArray
    offset: IntArray
    execution: IntArray
    total: IntArray
    crossings: IntArray
    crossed: IntArray
    start: IntArray
    load: IntArray

    def arrays(self, objectives: FloatArray) -> tuple[Any, ...]:
        """Return the arrays in the order that the kernels take them."""
        return (
            self.root, self.live, self.capacity, self.need, self.memory, self.duration, self.offset, self.execution,
            self.total, self.crossings, self.crossed, self.start, self.load, objectives,
        )  # fmt: skip


def scratch(instance: Instance) -> Scratch:
    """Return fresh arrays for decodings of ``instance``."""
    channels, actors = len(instance.src), len(instance.tau)
    resources = len(instance.core_tile) + instance.ticks.shape[1]

    def ints(*shape: int) -> IntArray:
        return np.zeros(shape, np.int64)

    return Scratch(
        root=ints(channels), live=np.zeros(actors, np.bool_), capacity=ints(channels), need=ints(channels),
        memory=ints(channels), duration=ints(2 * channels), offset=ints(2 * channels), execution=ints(actors),
        total=ints(actors), crossings=ints(2 * channels), crossed=ints(2 * channels, 3), start=ints(actors),
        load=ints(resources),
    )  # fmt: skip


@dataclass(slots=True)
class Decoder:
    """Decodes genotypes with CAPS-HMS on up to ``threads`` threads; the answer does not depend on how many."""

    instance: Instance
    decoding: Decoding
    rank: IntArray
    threads: int = 1
    _pool: ThreadPoolExecutor | None = field(default=None, repr=False)

    def objectives(self, compact: Any, xi: Any, decision: Any, binding: Any) -> FloatArray:
        """Return period, footprint and core cost of every individual, shape (n, 3); infinite where there is none."""
        n = len(binding)
        answer = np.empty((n, 3), np.float64)
        pieces = min(self.threads, n)
        if pieces <= 1:
            self._run(compact, xi, decision, binding, 0, n, answer, scratch(self.instance))
            return answer
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads)
        edges = [n * piece // pieces for piece in range(pieces + 1)]
        jobs = [
            self._pool.submit(self._run, compact, xi, decision, binding, low, high, answer, scratch(self.instance))
            for low, high in pairwise(edges)
        ]
        for job in jobs:
            job.result()
        return answer

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _run(
        self,
        compact: Any,
        xi: Any,
        decision: Any,
        binding: Any,
        first: int,
        stop: int,
        answer: FloatArray,
        space: Scratch,
    ) -> None:
        i, d = self.instance, self.decoding
        kernels.decode_batch(
            xi, decision, binding, first, stop, self.rank, compact, d.capacity_rule == "atomic-firing",
            d.mrb_consumer == "common-tile", float(d.tolerance), i.tau, i.multicast_of, i.feeding, i.src, i.dst,
            i.token_bytes, i.delay, i.ticks, i.core_type, i.core_tile, i.core_cost, i.limits, *space.arrays(answer),
        )  # fmt: skip

    def point(self, decisions: Decisions) -> Point:
        """Return the complete implementation of one mapping.

        Raises :class:`InfeasibleError` if its buffers fit no memory, :class:`InputError` if no schedule was found.
        """
        xi, decision, binding = genes(self.instance, decisions)
        return self.point_of(self.decoding.start != "earliest", xi[0], decision[0], binding[0])

    def point_of(self, compact: bool, xi: Any, decision: Any, binding: Any) -> Point:
        """Return the complete implementation of one genotype; raises as :meth:`point` does."""
        answer = np.empty((1, 3), np.float64)
        space = scratch(self.instance)
        self._run(np.array([compact], np.int8), xi[None], decision[None], binding[None], 0, 1, answer, space)
        if not np.isfinite(answer[0, 0]):
            raise unschedulable(self.instance, decisions_of(self.instance, xi, decision, binding))
        return phenotype(self.instance, space, xi, decision, binding, int(answer[0, 0]))


def unschedulable(instance: Instance, decisions: Decisions) -> Exception:
    """Return the error for a mapping that could not be decoded: a deadlock, or too little memory."""
    from shorthaul.dataflow.graphs.multi_reader_buffers import substitute_mrbs

    try:
        substitute_mrbs(instance.application, decisions.xi)
    except InputError as error:
        return error
    return memory_shortage(instance, decisions)


def make_decoder(instance: Instance, decoding: Decoding, *, threads: int = 1) -> Decoder:
    """Return the decoder for CAPS-HMS with one order; announces the compilation of the kernels."""
    announce("shorthaul.dataflow.caps_hms.heuristic_kernels", 40)
    rank = topological_rank(instance.application, inverse=decoding.order == "inverse")
    return Decoder(instance, decoding, rank, threads)


def decisions_of(instance: Instance, xi: Any, decision: Any, binding: Any) -> Decisions:
    """Return a genotype as a mapping by names."""
    application, cores = instance.application, instance.platform.cores
    replaced = dict(zip(application.multicasts, map(int, xi), strict=True))
    return Decisions(
        {a.id: cores[p].id for a, p in zip(application.actors, binding, strict=True) if not replaced.get(a.id, 0)},
        replaced,
        {c.id: DECISIONS[d] for c, d in zip(application.channels, decision, strict=True)},
    )


def phenotype(instance: Instance, space: Scratch, xi: Any, decision: Any, binding: Any, period: int) -> Point:
    """Return the implementation that the arrays describe, by names.

    Channel decisions are the effective ones: where Algorithm 2 fell through to another memory, that memory's.
    """
    application, cores = instance.application, instance.platform.cores
    decisions = decisions_of(instance, xi, decision, binding)
    names = [channel.id for channel in application.channels]
    buffers = [c for c in range(len(names)) if space.root[c] == c]
    effective = dict(decisions.channel_decision)
    for c in range(len(names)):
        effective[names[c]] = effective_decision(
            DECISIONS[decision[space.root[c]]], int(space.memory[space.root[c]]), len(cores), len(instance.limits)
        )
    starts: dict[str, int] = {}
    for a in np.flatnonzero(space.live):
        starts[application.actors[a].id] = int(space.start[a] + space.execution[a])
    routes: dict[str, tuple[str, ...]] = {}
    interconnects = [*(crossbar(tile.id) for tile in instance.platform.tiles), NOC_NAME]
    for key, task, actor in accesses(instance, space):
        starts[key] = int(space.start[actor] + space.offset[task])
        if space.crossings[task]:
            crossed = space.crossed[task, : space.crossings[task]]
            routes[key] = tuple(interconnects[h] for h in crossed)
    memories = instance.memories
    used = {cores[binding[a]].id for a in np.flatnonzero(space.live)}
    return Point(
        period=period,
        footprint_bytes=int(sum(space.need[c] * instance.token_bytes[c] for c in buffers)),
        core_cost=exact_cost([instance.platform.core_types[core.type].cost for core in cores if core.id in used]),
        binding=decisions.binding,
        xi=decisions.xi,
        channel_decision=effective,
        channel_binding={names[c]: memories[space.memory[c]] for c in buffers},
        capacities={names[c]: int(space.need[c]) for c in buffers},
        starts=starts,
        routes=routes,
    )


def effective_decision(decision: str, memory: int, cores: int, memories: int) -> str:
    """Return the channel decision that names ``memory`` directly."""
    if memory == memories - 1:
        return "GLOBAL"
    side = "CONS" if "CONS" in decision else "PROD"
    return side if memory < cores else f"TILE-{side}"


def accesses(instance: Instance, space: Scratch) -> Iterator[tuple[str, int, int]]:
    """Yield name, task number and actor number of every write and read of the last decoded mapping.

    A second read of one buffer by one actor (two outputs of a multicast that led to it) is marked ``#2``.
    """
    application = instance.application
    channels = len(application.channels)
    actors = [actor.id for actor in application.actors]
    seen: dict[str, int] = {}
    for e in range(channels):
        root = int(space.root[e])
        name = application.channels[root].id
        if root == e:
            yield f"({actors[instance.src[e]]},{name})", e, int(instance.src[e])
        if space.live[instance.dst[e]]:
            key = f"({name},{actors[instance.dst[e]]})"
            seen[key] = seen.get(key, 0) + 1
            yield key if seen[key] == 1 else f"{key}#{seen[key]}", channels + e, int(instance.dst[e])
