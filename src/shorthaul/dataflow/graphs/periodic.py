"""The least period of an iteration of a multirate graph: rounds grow on the critical cycle until it is the graph's own.

After Bodin, Munier-Kordon and Dupont de Dinechin: *Optimal and fast throughput evaluation of CSDF* (DAC 2016). A
schedule that repeats every round of each actor is found for short rounds first. Its critical cycle bounds the period
of every schedule once the rounds of its actors are as long as in an iteration of the cycle alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import gcd, lcm

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.dataflow.graphs.events import SAFE, Events, FloatArray, Unfolding
from shorthaul.dataflow.graphs.multirate import deadlock, repetition_vector
from shorthaul.dataflow.graphs.ratio_kernels import EventGraph, Weights, critical, settle
from shorthaul.dataflow.model import SdfActor, SdfChannel, SdfGraph, phases
from shorthaul.dataflow.plan import PeriodicSchedule
from shorthaul.graphs.csr import IntArray, from_arrays, strong_components

#: An event graph of more nodes is refused.
MOST_NODES = 2_000_000
_MOST_ROUNDS = 1000
#: Effort per arc of an event graph, and per graph.
_ARC_EFFORT, _GRAPH_EFFORT = 1e-7, 3e-4


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


def period_of(cycle: CriticalCycle | None) -> Fraction:
    """Return the period that a cycle allows."""
    return Fraction(0) if cycle is None else cycle.ratio


class Analysis:
    """A graph, with these or those ``rooms`` beside its channels: one evaluation leaves something to the next."""

    def __init__(self, graph: SdfGraph) -> None:
        self._graph = graph
        self._repetitions = repetition_vector(graph)
        self._phase_counts = graph.phase_counts()
        self._unfolding = Unfolding(graph, self._phase_counts, self._repetitions)
        self._busy: Analysis | None = None
        if not all(all(phases(time)) for actor in graph.actors for time in actor.times.values()):
            self._busy = Analysis(replace(graph, actors=tuple(SdfActor(actor.id, {"": 1}) for actor in graph.actors)))

    @cached_property
    def _on_cycles(self) -> npt.NDArray[np.bool_]:
        """Which channels lie on some cycle of channels."""
        number = {actor.id: i for i, actor in enumerate(self._graph.actors)}
        ends = [(number[channel.source], number[channel.target]) for channel in self._graph.channels]
        source, target = np.array(ends, np.int64).reshape(-1, 2).T.copy()
        label = strong_components(from_arrays(len(number), source, target))
        return np.asarray(label[source] == label[target])

    def limit(
        self, rooms: Sequence[SdfChannel], search: Search, is_enough: Callable[[CriticalCycle | None], bool]
    ) -> CriticalCycle | None:  # fmt: skip
        """Return the cycle that limits the period (None: nothing does), or one that ``is_enough``."""
        if self._busy is not None:  # cycles that take no time may lack tokens all the same
            cycle, _ = self._busy._found(rooms, search)
            if cycle is not None and cycle.is_hopeless:
                return cycle
        return self._found(rooms, search, is_enough)[0]

    def evaluate(
        self, rooms: Sequence[SdfChannel], search: Search
    ) -> tuple[CriticalCycle | None, PeriodicSchedule | None]:  # fmt: skip
        """Return the cycle that limits the period (None: nothing does), and a schedule of that period.

        There is no schedule where the cycle is hopeless: the graph deadlocks.
        """
        if self._busy is not None:
            cycle, schedule = self._busy.evaluate(rooms, search)
            if schedule is None:
                return cycle, None
        cycle, starts = self._found(rooms, search)
        if starts is None:
            return cycle, None
        period, rounds = period_of(cycle), self._unfolding.rounds
        unit = period.denominator * self._unfolding.common
        starts -= starts.min(initial=0)
        begins = accumulate(rounds.values(), initial=0)
        plan = {a: tuple(starts[first : first + rounds[a]].tolist()) for a, first in zip(rounds, begins, strict=False)}
        return cycle, PeriodicSchedule(period.numerator * self._unfolding.common, unit, self._repetitions, plan)

    def _found(
        self, rooms: Sequence[SdfChannel], search: Search,
        is_enough: Callable[[CriticalCycle | None], bool] | None = None,
    ) -> tuple[CriticalCycle | None, IntArray | None]:  # fmt: skip
        """Return the cycle that limits the period, and starts that keep it; without where it is hopeless or enough."""
        while True:
            events = self._unfolding.events(rooms)
            search.spend(_GRAPH_EFFORT + len(events.source) * _ARC_EFFORT)
            cycle, distance = self._likely_cycle(rooms, events)
            while cycle is None or not self._grow(cycle):
                if cycle is not None and (cycle.is_hopeless or (is_enough is not None and is_enough(cycle))):
                    return cycle, None
                settled = longest_distances(events, period_of(cycle), distance)
                if not isinstance(settled, tuple):
                    return cycle, settled
                cycle = self._cycle(rooms, events, *settled)

    def _grow(self, cycle: CriticalCycle) -> bool:
        """Let the rounds of the cycle's actors be those of its own iteration; return whether they were not yet."""
        repetitions, rounds = self._repetitions, dict(self._unfolding.rounds)
        common = gcd(*(repetitions[actor] // self._phase_counts[actor] for actor in cycle.actors))
        rounds |= {actor: lcm(rounds[actor], repetitions[actor] // common) for actor in cycle.actors}
        if rounds == self._unfolding.rounds:
            return False
        if (firings := sum(rounds.values())) > MOST_NODES:
            raise InputError(
                "the schedule takes too many firings", place=f"actor {max(rounds, key=rounds.__getitem__)}",
                value=firings, allowed=f"up to {MOST_NODES} that depend on one another",
                cure="choose rates of the channels with larger common divisors",
            )  # fmt: skip
        self._unfolding = Unfolding(self._graph, rounds, repetitions, self._unfolding)
        return True

    def _likely_cycle(
        self, rooms: Sequence[SdfChannel], events: Events
    ) -> tuple[CriticalCycle | None, FloatArray]:  # fmt: skip
        """Return the cycle of the highest ratio, as far as floating-point numbers tell, and the distances under it."""
        n = len(events.starts) - 1
        distance, into = np.zeros(n), np.full(n, -1, np.int64)
        # Without rooms, channels on no cycle would have starts later than they must be.
        inner = np.arange(len(events.source)) if rooms else np.flatnonzero(self._on_cycles[events.channel])
        starts = np.searchsorted(events.target[inner], np.arange(n + 1))
        delay = events.delay[inner].astype(np.float64) / events.common
        state = EventGraph(starts, events.source[inner], events.ticks[inner], delay, distance, into)
        node = critical(state, _MOST_ROUNDS)
        return None if node < 0 else self._cycle(rooms, events, inner[into], node), distance

    def _cycle(self, rooms: Sequence[SdfChannel], events: Events, into: IntArray, node: int) -> CriticalCycle:
        """Return the cycle that ``into`` leads to from ``node``, the way its tokens go."""
        on = events.cycle(into, node)
        on = np.roll(on, -np.argmin(events.channel[on]))  # wherever it was found
        channels = (*self._graph.channels, *rooms)
        through = [channels[number] for number in dict.fromkeys(events.channel[on].tolist())]
        return CriticalCycle(
            sum(events.ticks[on].tolist()),
            Fraction(sum(events.delay[on].tolist()), events.common),
            len(on),
            tuple(dict.fromkeys(channel.source for channel in through)),
            tuple(channel.id for channel in through),
        )


def least_period(graph: SdfGraph, search: Search) -> tuple[CriticalCycle | None, PeriodicSchedule]:
    """Return the cycle that limits the period (None: nothing does), and a schedule of that period.

    ``graph`` has one execution time per actor and phase. Raises :class:`InputError` if it is inconsistent, deadlocks,
    or takes too many firings.
    """
    cycle, schedule = Analysis(graph).evaluate((), search)
    if schedule is None:
        assert cycle is not None
        raise deadlock(cycle.actors, cycle.channels)
    return cycle, schedule


def longest_distances(
    events: Events, period: Fraction, distance: FloatArray
) -> IntArray | tuple[IntArray, int]:  # fmt: skip
    """Return starts that keep every dependence, in ``1 / (period.denominator * common)`` ticks, near ``distance``.

    Where there are none, a cycle that forbids them: the arc into every node, and a node on it. Exact.
    """
    unit = period.denominator * events.common
    n = len(events.starts) - 1
    largest = np.zeros(n)
    sizes = events.ticks * float(unit) + np.abs(events.delay.astype(np.float64)) * period.numerator
    np.maximum.at(largest, events.target, sizes)
    if max(unit, period.numerator, largest.sum() + np.abs(distance).max(initial=0) * unit) >= SAFE:
        weight = events.ticks.astype(object) * unit - events.delay.astype(object) * period.numerator
        return _settled(events, weight.tolist(), n)
    weight = events.ticks * unit - events.delay.astype(np.int64) * period.numerator
    out = from_arrays(n, events.source, np.arange(len(events.source)))
    start = np.rint(distance * unit).astype(np.int64)
    into = np.full(n, -1, np.int64)
    state = Weights(events.starts, events.source, events.target, out.starts, out.targets, weight, start, into)
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
