"""Storage against throughput: the least room in all channels for every period that room can buy.

A critical cycle through the room of some buffers says that no distribution is faster unless one of them grows
(Stuijk, Geilen, Basten: *Exploring trade-offs in buffer requirements and throughput constraints for synchronous
dataflow graphs*, DAC 2006, from the states of an execution). Such demands are kept, made as strong as they go, and the
smallest distribution that meets all of them is evaluated next: best first, so that the first one fast enough is the
smallest of all.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from math import gcd, lcm

from shorthaul.core.search import Search
from shorthaul.dataflow.graphs.periodic import Analysis, CriticalCycle
from shorthaul.dataflow.graphs.timing import ROOM
from shorthaul.dataflow.model import SdfChannel, SdfGraph, phases
from shorthaul.dataflow.plan import PeriodicSchedule

#: Effort of one distribution that is taken up.
_STEP_EFFORT = 1e-5


@dataclass(frozen=True, slots=True)
class SharedBuffer:
    """Channels that one firing of their source fills at once, and the room for their tokens, which they share.

    Capacities of use are ``least`` and multiples of ``step`` above; a token weighs ``weight``.
    """

    id: str
    channels: tuple[SdfChannel, ...]
    least: int
    step: int
    weight: int

    def room(self, capacity: int) -> tuple[SdfChannel, ...]:
        """Return the channels that give room back, one per reader."""
        return tuple(
            SdfChannel(f"{c.id}{ROOM}", c.target, c.consumption, c.source, c.production, capacity - c.tokens, 0)
            for c in self.channels
        )


@dataclass(frozen=True, slots=True)
class Demand:
    """Proven: the period is at least this (None: the graph deadlocks) unless a buffer has more room than here."""

    most: Mapping[str, int]
    period: Fraction | None


def period_of(cycle: CriticalCycle | None) -> Fraction:
    """Return the period that a cycle allows."""
    return Fraction(0) if cycle is None else cycle.ratio


@dataclass(frozen=True, slots=True)
class Distribution:
    """Capacities of buffers, their total weight, and the least period under them with its cycle and a schedule."""

    capacities: Mapping[str, int]
    size: int
    cycle: CriticalCycle | None
    schedule: PeriodicSchedule

    @property
    def period(self) -> Fraction:
        """The least period."""
        return period_of(self.cycle)


def merged(graph: SdfGraph) -> tuple[SdfGraph, dict[str, tuple[str, ...]]]:
    """Return the graph without multicasts, and the channels of each buffer by the name of the first multicast's input.

    The outputs of a multicast become channels from the writer of its input, with the initial tokens of that input.
    """
    channels = list(graph.channels)
    buffers: dict[str, tuple[str, ...]] = {channel.id: (channel.id,) for channel in channels}
    for name in graph.multicasts:
        into = next(channel for channel in channels if channel.target == name)
        outputs = [channel for channel in channels if channel.source == name]
        owner = next(owner for owner, members in buffers.items() if into.id in members)
        for output in outputs:
            del buffers[output.id]
            moved = replace(output, source=into.source, production=into.production, tokens=into.tokens)
            channels[channels.index(output)] = moved
        channels.remove(into)
        kept = tuple(member for member in buffers[owner] if member != into.id)
        buffers[owner] = (*kept, *(output.id for output in outputs))
    actors = tuple(actor for actor in graph.actors if actor.id not in graph.multicasts)
    return SdfGraph(graph.name, actors, tuple(channels)), buffers


def buffers_of(
    graph: SdfGraph, members: Mapping[str, Sequence[str]], *, in_bytes: bool = False
) -> list[SharedBuffer]:  # fmt: skip
    """Return the buffers of a graph by the names of their channels, with the least capacities that could be live."""
    by_name = {channel.id: channel for channel in graph.channels}
    found = []
    for name, ids in members.items():
        channels = tuple(by_name[channel] for channel in ids)
        step = gcd(*(rate for c in channels for rates in (c.production, c.consumption) for rate in phases(rates)))
        tokens = channels[0].tokens
        least = max(tokens, *(_least(channel) for channel in channels))
        least += (tokens - least) % step
        weight = channels[0].token_bytes if in_bytes else 1
        found.append(SharedBuffer(name, channels, least, step, weight))
    return found


def _least(channel: SdfChannel) -> int:
    """Return a capacity without which the channel's own two ends deadlock."""
    written, read = phases(channel.production), phases(channel.consumption)
    if channel.source == channel.target:
        # When a firing starts, it takes room for what it writes; what earlier firings read is free at most.
        turns = range(lcm(len(written), len(read)))
        changes = accumulate(written[k % len(written)] - read[k % len(read)] for k in turns)
        held = [channel.tokens, *(channel.tokens + change for change in changes)]
        return max(held[k] + written[k % len(written)] for k in turns)
    if len(written) > 1 or len(read) > 1:
        return max(*written, *read)
    step = gcd(written[0], read[0])
    return written[0] + read[0] - step + channel.tokens % step


@dataclass(frozen=True, slots=True)
class Range:
    """Periods below one, until one is at most another, or all; with demands that are known."""

    below: Fraction | None = None
    until: Fraction | None = None
    demands: tuple[Demand, ...] = ()


class StorageFront:
    """The search for the Pareto front of total size against period, or for the least size of one period.

    ``least_size`` is proven: no smaller distribution than that is faster than the points found. Once the search
    ``is_whole`` none is at all, down to the end of its ``periods``.
    """

    def __init__(
        self, graph: SdfGraph, buffers: Sequence[SharedBuffer], search: Search, deadline: Fraction | None = None,
        periods: Range = Range(),
    ) -> None:  # fmt: skip
        self.demands = [*periods.demands]
        self.is_whole = False
        self.least_size = 0
        self._graph, self._search, self._deadline = graph, search, deadline
        self._buffers = buffers
        self._place = {buffer.id: place for place, buffer in enumerate(buffers)}
        self._of_room = {f"{c.id}{ROOM}": buffer.id for buffer in buffers for c in buffer.channels}
        self._analysis = Analysis(graph)
        self._best, self._until = periods.below, periods.until  # the least period so far, and the one that is enough

    def points(self) -> Iterator[Distribution]:
        """Yield the points of the front by rising size; with a deadline, the first that keeps it.

        Ends early, without ``is_whole``, when the search has no effort left.
        """
        start = tuple(buffer.least for buffer in self._buffers)
        queue, seen = [(self._size(start), start)], {start}
        found: Distribution | None = None  # not yielded yet: another of its size may be faster
        while queue and not self._search.expired():
            self._search.spend(_STEP_EFFORT)
            self.least_size, state = heapq.heappop(queue)
            if found is not None and self.least_size > found.size:
                yield found
                if self._until is not None and found.period <= self._until:
                    self.is_whole = True
                    return
                found = None
            unmet = self._unmet(state)
            least = self._size(state) + self._still(state, unmet)
            if least > self.least_size:
                heapq.heappush(queue, (least, state))
            elif unmet:
                for grown in self._grown(state, min(unmet, key=lambda demand: len(demand.most))):
                    if grown not in seen:
                        seen.add(grown)
                        heapq.heappush(queue, (max(least, self._size(grown)), grown))
            else:
                heapq.heappush(queue, (least, state))
                capacities = {buffer.id: held for buffer, held in zip(self._buffers, state, strict=True)}
                cycle, schedule = self._evaluate(capacities)
                if schedule is not None and not self._is_too_long(period_of(cycle)):
                    found = Distribution(capacities, self._size(state), cycle, schedule)
                    self._best = found.period
                most = self._strengthened({name: capacities[name] for name in self._through(cycle)})
                if not most or (found is not None and self._deadline is not None):
                    self.is_whole = True  # no room makes it faster
                    break
                cycle, schedule = self._evaluate(most)
                self.demands.append(Demand(most, None if schedule is None else period_of(cycle)))
        if found is not None:
            yield found

    def _size(self, state: Sequence[int]) -> int:
        return sum(buffer.weight * held for buffer, held in zip(self._buffers, state, strict=True))

    def _unmet(self, state: Sequence[int]) -> list[Demand]:
        place = self._place
        return [d for d in self.demands if all(state[place[name]] <= most for name, most in d.most.items())]

    def _grown(self, state: tuple[int, ...], demand: Demand) -> Iterator[tuple[int, ...]]:
        """Yield the states that just meet a demand, each by another buffer."""
        for name, most in demand.most.items():
            place = self._place[name]
            yield (*state[:place], most + self._buffers[place].step, *state[place + 1 :])

    def _still(self, state: Sequence[int], unmet: Sequence[Demand]) -> int:
        """Return what must be added at least: for unmet demands that share no buffer, the dearest first."""

        def price(demand: Demand) -> int:
            buffers = ((self._buffers[self._place[name]], most) for name, most in demand.most.items())
            return min((most + b.step - state[self._place[b.id]]) * b.weight for b, most in buffers)

        total, used = 0, set[str]()
        for amount, demand in sorted(((price(d), d) for d in unmet), key=lambda pair: (-pair[0], len(pair[1].most))):
            if not used.intersection(demand.most):
                used.update(demand.most)
                total += amount
        return total

    def _evaluate(self, capacities: Mapping[str, int]) -> tuple[CriticalCycle | None, PeriodicSchedule | None]:
        """Return what limits the period with these capacities, buffers not named being unlimited."""
        room = (c for name, held in capacities.items() for c in self._buffers[self._place[name]].room(held))
        return self._analysis.evaluate(replace(self._graph, channels=(*self._graph.channels, *room)), self._search)

    def _through(self, cycle: CriticalCycle | None) -> list[str]:
        """Return the buffers whose room a cycle goes through."""
        channels = () if cycle is None else cycle.channels
        return [*dict.fromkeys(self._of_room[name] for name in channels if name in self._of_room)]

    def _is_too_long(self, period: Fraction) -> bool:
        if self._deadline is not None:
            return period > self._deadline
        return self._best is not None and period >= self._best

    def _strengthened(self, most: dict[str, int]) -> dict[str, int]:
        """Return the capacities, each left out, or raised, as long as the period stays too long."""
        if self._deadline is not None and not self._still_too_long(most):
            return most
        for name in [*most]:
            rest = {other: held for other, held in most.items() if other != name}
            if self._still_too_long(rest):
                most = rest
        for name in most:
            step = self._buffers[self._place[name]].step
            add, doubling = step, True
            while add >= step:
                if self._still_too_long({**most, name: most[name] + add}):
                    most[name] += add
                    add = 2 * add if doubling else add // 2
                else:
                    doubling, add = False, add // 2
                add = add // step * step
        return most

    def _still_too_long(self, capacities: Mapping[str, int]) -> bool:
        cycle, schedule = self._evaluate(capacities)
        return schedule is None or self._is_too_long(period_of(cycle))
