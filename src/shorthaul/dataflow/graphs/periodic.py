"""The least period of an iteration of a multirate graph: rounds grow on the critical cycle until it is the graph's own.

After Bodin, Munier-Kordon and Dupont de Dinechin: *Optimal and fast throughput evaluation of CSDF* (DAC 2016). A
schedule that repeats every round of each actor is found for short rounds first. Its critical cycle bounds the period
of every schedule once the rounds of its actors are as long as in an iteration of the cycle alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, lcm

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.dataflow.graphs.events import Arcs, Events, FloatArray, event_graph
from shorthaul.dataflow.graphs.multirate import deadlock, repetition_vector
from shorthaul.dataflow.graphs.ratio_kernels import EventGraph, Weights, critical, settle
from shorthaul.dataflow.model import SdfActor, SdfGraph, phases
from shorthaul.dataflow.plan import PeriodicSchedule
from shorthaul.graphs.csr import IntArray, from_arrays, strong_components

#: An event graph of more nodes is refused.
MOST_NODES = 2_000_000
_MOST_ROUNDS = 1000
#: Exact sums up to here are safe in 64 bits.
_SAFE = 2.0**62
#: Effort per arc of an event graph, and per graph.
_ARC_EFFORT, _GRAPH_EFFORT = 1e-6, 1e-3


@dataclass(frozen=True, slots=True)
class CriticalCycle:
    """A cycle of dependences: ``ticks`` of work in ``iterations``. No schedule has a shorter period than their ratio.

    ``firings`` counts its firings, of ``actors`` that depend on one another through ``channels``.
    """

    ticks: int
    iterations: Fraction
    firings: int
    actors: tuple[str, ...]
    channels: tuple[str, ...]

    @property
    def ratio(self) -> Fraction:
        """The ticks per iteration."""
        return self.ticks / self.iterations

    @property
    def is_hopeless(self) -> bool:
        """True if no period is long enough."""
        return self.iterations < 0 or (self.iterations == 0 and self.ticks > 0)


class Analysis:
    """A graph under analysis, with others of the same actors and rates: one evaluation leaves something to the next."""

    def __init__(self, graph: SdfGraph) -> None:
        self.repetitions = repetition_vector(graph)
        self.phase_counts = graph.phase_counts()
        self.rounds = self.phase_counts
        self.arcs: Arcs = {}
        self.is_timeless = not all(all(phases(time)) for actor in graph.actors for time in actor.times.values())

    def evaluate(self, graph: SdfGraph, search: Search) -> tuple[CriticalCycle | None, PeriodicSchedule | None]:
        """Return the cycle that limits the period (None: nothing does), and a schedule of that period.

        There is no schedule where the cycle is hopeless: the graph deadlocks.
        """
        if self.is_timeless:  # cycles that take no time may lack tokens all the same
            busy = replace(graph, actors=tuple(SdfActor(actor.id, {"": 1}) for actor in graph.actors))
            cycle, _ = self._evaluated(busy, search, {})
            if cycle is not None and cycle.is_hopeless:
                return cycle, None
        return self._evaluated(graph, search, self.arcs)

    def _evaluated(
        self, graph: SdfGraph, search: Search, arcs: Arcs
    ) -> tuple[CriticalCycle | None, PeriodicSchedule | None]:  # fmt: skip
        rounds = dict(self.rounds)
        while True:
            _refuse_large(rounds)
            events = event_graph(graph, rounds, self.repetitions, arcs)
            search.spend(_GRAPH_EFFORT + len(events.source) * _ARC_EFFORT)
            cycle, distance = _likely_cycle(graph, events)
            while cycle is None or not _grow(rounds, cycle, self.repetitions, self.phase_counts):
                self.rounds = rounds
                if cycle is not None and cycle.is_hopeless:
                    return cycle, None
                period = Fraction(0) if cycle is None else cycle.ratio
                unit = period.denominator * events.common
                settled = _longest_distances(events, period, distance)
                if isinstance(settled, tuple):
                    cycle = _cycle(graph, events, *settled)
                    continue
                starts = settled - settled.min(initial=0)
                parts = {name: starts[first : first + rounds[name]] for name, first in events.offset.items()}
                plan = {name: tuple(part.tolist()) for name, part in parts.items()}
                return cycle, PeriodicSchedule(period.numerator * events.common, unit, self.repetitions, plan)


def least_period(graph: SdfGraph, search: Search) -> tuple[CriticalCycle | None, PeriodicSchedule]:
    """Return the cycle that limits the period (None: nothing does), and a schedule of that period.

    ``graph`` has one execution time per actor and phase. Raises :class:`InputError` if it is inconsistent, deadlocks,
    or takes too many firings.
    """
    cycle, schedule = Analysis(graph).evaluate(graph, search)
    if schedule is None:
        assert cycle is not None
        raise deadlock(cycle.actors, cycle.channels)
    return cycle, schedule


def _refuse_large(rounds: Mapping[str, int]) -> None:
    if sum(rounds.values()) > MOST_NODES:
        most = max(rounds, key=lambda actor: rounds[actor])
        raise InputError(
            "the schedule takes too many firings", place=f"actor {most}", value=sum(rounds.values()),
            allowed=f"up to {MOST_NODES} that depend on one another",
            cure="choose rates of the channels with larger common divisors",
        )  # fmt: skip


def _grow(
    rounds: dict[str, int], cycle: CriticalCycle, repetitions: Mapping[str, int], phase_counts: Mapping[str, int]
) -> bool:
    """Let the rounds of the cycle's actors be those of its own iteration; return whether they were not yet."""
    common = gcd(*(repetitions[actor] // phase_counts[actor] for actor in cycle.actors))
    grown = False
    for actor in cycle.actors:
        needed = lcm(rounds[actor], repetitions[actor] // common)
        grown = grown or needed > rounds[actor]
        rounds[actor] = needed
    return grown


def _likely_cycle(graph: SdfGraph, events: Events) -> tuple[CriticalCycle | None, FloatArray]:
    """Return the cycle of the highest ratio, as far as floating-point numbers tell, and the distances under it."""
    n = len(events.starts) - 1
    inner = np.flatnonzero(_on_cycles(graph)[events.channel])
    starts = np.searchsorted(events.target[inner], np.arange(n + 1))
    distance, into = np.zeros(n), np.full(n, -1, np.int64)
    delay = events.shift[inner] / events.per_iteration[inner]
    state = EventGraph(starts, events.source[inner], events.ticks[inner], delay, distance, into)
    node = critical(state, _MOST_ROUNDS)
    return None if node < 0 else _cycle(graph, events, inner[into], node), distance


def _on_cycles(graph: SdfGraph) -> npt.NDArray[np.bool_]:
    """Return which channels lie on some cycle of channels."""
    number = {actor.id: i for i, actor in enumerate(graph.actors)}
    source, target = (
        np.array([number[name] for name in names], np.int64)
        for names in ([c.source for c in graph.channels], [c.target for c in graph.channels])
    )
    label = strong_components(from_arrays(len(number), source, target))
    return np.asarray(label[source] == label[target])


def _longest_distances(
    events: Events, period: Fraction, distance: FloatArray
) -> IntArray | tuple[IntArray, int]:  # fmt: skip
    """Return starts that keep every dependence, in ``1 / (period.denominator * common)`` ticks, near ``distance``.

    Where there are none, a cycle that forbids them: the arc into every node, and a node on it. Exact.
    """
    unit = period.denominator * events.common
    delay = events.shift.astype(object) * events.common // events.per_iteration
    weight = events.ticks.astype(object) * unit - delay * period.numerator
    n = len(events.starts) - 1
    largest = np.zeros(n)
    np.maximum.at(largest, events.target, np.abs(weight.astype(np.float64)))
    if largest.sum() + np.abs(distance).max(initial=0) * unit >= _SAFE:
        return _settled(events, weight.tolist(), n)
    out = from_arrays(n, events.source, np.arange(len(events.source)))
    start = np.rint(distance * unit).astype(np.int64)
    into = np.full(n, -1, np.int64)
    state = Weights(
        events.starts, events.source, events.target, out.starts, out.targets, weight.astype(np.int64), start, into
    )
    node = settle(state)
    return start if node < 0 else (into, node)


def _settled(events: Events, weight: Sequence[int], n: int) -> IntArray | tuple[IntArray, int]:
    """Do what the kernel does with numbers of any size."""
    source, target = events.source.tolist(), events.target.tolist()
    distance, into = [0] * n, [-1] * n
    for step in range(n + 1):
        last = -1
        for arc, (u, v, more) in enumerate(zip(source, target, weight, strict=True)):
            if distance[u] + more > distance[v]:
                distance[v] = distance[u] + more
                into[v] = last = arc
        if last < 0:
            return np.array(distance, object)
        if step == n:
            node = target[last]
            for _ in range(n):
                node = source[into[node]]
            return np.array(into, np.int64), node
    return np.zeros(0, np.int64)


def _cycle(graph: SdfGraph, events: Events, into: IntArray, node: int) -> CriticalCycle:
    """Return the cycle that ``into`` leads to from ``node``, the way its tokens go."""
    above, into_of = np.where(into < 0, -1, events.source[into]).tolist(), into.tolist()
    seen: set[int] = set()
    while node not in seen:
        seen.add(node)
        node = above[node]
    arcs, here = [into_of[node]], above[node]
    while here != node:
        arcs.append(into_of[here])
        here = above[here]
    on = np.array(arcs[::-1])
    delay = events.shift[on].astype(object) * events.common // events.per_iteration[on]
    _, first = np.unique(events.channel[on], return_index=True)
    channels = [graph.channels[number] for number in events.channel[on][np.sort(first)]]
    return CriticalCycle(
        int(events.ticks[on].sum()),
        Fraction(delay.sum(), events.common),
        len(arcs),
        tuple(dict.fromkeys(channel.source for channel in channels)),
        tuple(channel.id for channel in channels),
    )
