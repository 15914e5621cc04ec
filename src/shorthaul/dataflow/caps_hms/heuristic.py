"""CAPS-HMS: periodic schedules of one mapping or many, and what they need (Letras et al., Section V-B)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.core.searching.threads import Threads
from shorthaul.dataflow import tuning
from shorthaul.dataflow.caps_hms.heuristic_kernels import decode
from shorthaul.dataflow.caps_hms.placement_kernels import Schedule
from shorthaul.dataflow.mapping.arrays import Instance, decisions_of, exact_cost, genes, memory_shortage
from shorthaul.dataflow.mapping.mapping_kernels import Genotypes, Mapping, Problem, Rules
from shorthaul.dataflow.model import NOC as NOC_NAME
from shorthaul.dataflow.model import Application, Decisions, crossbar
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
class Decoder:
    """Decodes genotypes with CAPS-HMS on up to ``threads`` threads; the answer does not depend on how many."""

    instance: Instance
    problem: Problem
    rules: Rules
    compact: bool = True
    threads: int = 1
    _pool: Executor | None = field(default=None, repr=False)
    _space: tuple[Mapping, Schedule] | None = field(default=None, repr=False)

    def objectives(self, genotypes: Genotypes, search: Search) -> FloatArray:
        """Return period, footprint and core cost of every individual, shape (n, 3).

        They are infinite where there is no schedule, and for those that the deadline left over.
        """
        n = len(genotypes.compact)
        answer = np.full((n, 3), np.inf)
        edges = [n * piece // self.threads for piece in range(self.threads + 1)]
        pieces = [(genotypes, low, high, answer, search) for low, high in pairwise(edges) if low < high]
        if len(pieces) == 1:
            self._space = self._space or (Mapping(self.problem), Schedule(self.problem))
            steps = [self._decode(*pieces[0], self._space)]
        else:
            self._pool = self._pool or Threads(self.threads)
            steps = [job.result() for job in [self._pool.submit(self._decode, *piece) for piece in pieces]]
        search.spend(sum(steps) / tuning.PLACEMENT_STEPS)
        return answer

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _decode(
        self, genotypes: Genotypes, first: int, stop: int, answer: FloatArray, search: Search,
        space: tuple[Mapping, Schedule] | None = None,
    ) -> int:  # fmt: skip
        """Fill the objectives of some individuals, in ``space`` or in new arrays; return how many steps that took."""
        mapping, schedule = space or (Mapping(self.problem), Schedule(self.problem))
        most, steps = tuning.DECODING_STEPS_AT_ONCE, 0
        while first < stop:
            first = decode(self.problem, self.rules, genotypes, first, stop, most, mapping, schedule, answer)
            steps += schedule.steps
            if search.expired():
                break
        return steps

    def point(self, decisions: Decisions) -> Point:
        """Return the complete implementation of one mapping.

        Raises :class:`InfeasibleError` if its buffers fit no memory, :class:`InputError` if no schedule was found.
        """
        return self.point_of(genes(self.instance, decisions, compact=self.compact), 0)

    def point_of(self, genotypes: Genotypes, number: int) -> Point:
        """Return the complete implementation of one genotype; raises as :meth:`point` does."""
        answer = np.empty((number + 1, 3), np.float64)
        mapping, schedule = Mapping(self.problem), Schedule(self.problem)
        decode(self.problem, self.rules, genotypes, number, number + 1, 1, mapping, schedule, answer)
        decisions = decisions_of(self.instance, genotypes, number)
        if not np.isfinite(answer[number, 0]):
            raise unschedulable(self.instance, decisions)
        return phenotype(self.instance, decisions, mapping, schedule, int(answer[number, 0]))


def unschedulable(instance: Instance, decisions: Decisions) -> Exception:
    """Return the error for a mapping that could not be decoded: a deadlock, or too little memory."""
    from shorthaul.dataflow.graphs.multi_reader_buffers import substitute_mrbs

    try:
        substitute_mrbs(instance.application, decisions.xi)
    except InputError as error:
        return error
    return memory_shortage(instance, decisions)


def make_decoder(instance: Instance, decoding: Decoding, *, threads: int = 1) -> Decoder:
    """Return the decoder for CAPS-HMS with one order."""
    rank = topological_rank(instance.application, inverse=decoding.order == "inverse")
    return Decoder(instance, Problem(instance), rules(decoding, rank), decoding.start != "earliest", threads)


def rules(decoding: Decoding, rank: IntArray) -> Rules:
    """Return what the kernels need to know of the options, for actors taken in the order of ``rank``."""
    atomic, common = decoding.capacity_rule == "atomic-firing", decoding.mrb_consumer == "common-tile"
    return Rules(rank, atomic, common, float(decoding.tolerance))


def phenotype(
    instance: Instance, decisions: Decisions, mapping: Mapping, schedule: Schedule, period: int
) -> Point:  # fmt: skip
    """Return the implementation of a mapping that the kernels' objects describe, by names.

    Channel decisions are the effective ones: where Algorithm 2 fell through to another memory, that memory's.
    """
    cores, memories = instance.platform.cores, instance.memories
    names = [channel.id for channel in instance.application.channels]
    root, memory, need = (np.asarray(array).tolist() for array in (mapping.root, mapping.memory, schedule.need))
    buffers = [c for c in range(len(names)) if root[c] == c]
    effective = {
        name: effective_decision(
            decisions.channel_decision[names[r]], memory[r], len(cores), len(instance.limits)
        )
        for name, r in zip(names, root, strict=True)
    }  # fmt: skip
    starts, routes = _starts_and_routes(instance, mapping, schedule)
    used = {decisions.binding[instance.application.actors[a].id] for a in np.flatnonzero(mapping.live)}
    return Point(
        period=period,
        footprint_bytes=int(sum(need[c] * instance.token_bytes[c] for c in buffers)),
        core_cost=exact_cost([instance.platform.core_types[core.type].cost for core in cores if core.id in used]),
        binding=decisions.binding,
        xi=decisions.xi,
        channel_decision=effective,
        channel_binding={names[c]: memories[memory[c]] for c in buffers},
        capacities={names[c]: need[c] for c in buffers},
        starts=starts,
        routes=routes,
    )


def _starts_and_routes(
    instance: Instance, mapping: Mapping, schedule: Schedule
) -> tuple[dict[str, int], dict[str, tuple[str, ...]]]:
    actors = [actor.id for actor in instance.application.actors]
    interconnects = [*(crossbar(tile.id) for tile in instance.platform.tiles), NOC_NAME]
    start, crossed = np.asarray(schedule.start), np.asarray(mapping.crossed)
    executed = (start + mapping.execution).tolist()
    offset, crossings = (np.asarray(array).tolist() for array in (mapping.offset, mapping.crossings))
    starts = {actors[a]: executed[a] for a in np.flatnonzero(mapping.live)}
    routes = {}
    for name, task, actor in _accesses(instance, mapping):
        starts[name] = int(start[actor]) + offset[task]
        if crossings[task]:
            routes[name] = tuple(interconnects[h] for h in crossed[task, : crossings[task]])
    return starts, routes


def effective_decision(decision: str, memory: int, cores: int, memories: int) -> str:
    """Return the channel decision that names ``memory`` directly."""
    if memory == memories - 1:
        return "GLOBAL"
    side = "CONS" if "CONS" in decision else "PROD"
    return side if memory < cores else f"TILE-{side}"


def _accesses(instance: Instance, mapping: Mapping) -> Iterator[tuple[str, int, int]]:
    """Yield name, task number and actor number of every write and read of the last decoded mapping.

    A second read of one buffer by one actor (two outputs of a multicast that led to it) is marked ``#2``.
    """
    channels = [channel.id for channel in instance.application.channels]
    actors = [actor.id for actor in instance.application.actors]
    live, roots = np.asarray(mapping.live), np.asarray(mapping.root).tolist()
    counts: dict[str, int] = {}
    for e, (root, writer, reader) in enumerate(zip(roots, instance.src.tolist(), instance.dst.tolist(), strict=True)):
        if root == e:
            yield f"({actors[writer]},{channels[e]})", e, writer
        if live[reader]:
            name = f"({channels[root]},{actors[reader]})"
            counts[name] = counts.get(name, 0) + 1
            yield name if counts[name] == 1 else f"{name}#{counts[name]}", len(channels) + e, reader
