"""Storage against throughput: the least room in all channels for every period that room can buy.

A critical cycle through the room of some buffers says that no distribution is faster unless one of them grows
(Stuijk, Geilen, Basten: *Exploring trade-offs in buffer requirements and throughput constraints for synchronous
dataflow graphs*, DAC 2006, from the states of an execution). Such demands are kept, made as strong as they go, and the
smallest distribution that meets all of them is evaluated next, so that the first one fast enough is the smallest of
all (implicit hitting sets, after Moreno-Centeno and Karp).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from math import gcd, lcm

import numpy as np

from shorthaul.core.errors import InfeasibleError
from shorthaul.core.search import Search
from shorthaul.dataflow.graphs.periodic import Analysis, CriticalCycle, period_of
from shorthaul.dataflow.graphs.storage_kernels import ANY, unmet
from shorthaul.dataflow.graphs.timing import ROOM
from shorthaul.dataflow.model import SdfChannel, SdfGraph, phases
from shorthaul.dataflow.plan import PeriodicSchedule
from shorthaul.graphs.csr import IntArray

#: Effort of one distribution that is taken up.
_STEP_EFFORT = 4e-5
#: Tokens that a buffer may hold, so that sums of them stay whole numbers of 64 bits.
MOST_ROOM = 2**60
#: Some buffers, by number, and their capacities.
Part = tuple[tuple[int, int], ...]


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


class Group:
    """Buffers that demands join, and the search for their least size: best first, by what must be added at least.

    A demand has, by the number of its buffers, the most room that does not meet it.
    """

    def __init__(self, buffers: Mapping[int, SharedBuffer], demands: Iterable[Mapping[int, int]]) -> None:
        self.buffers, self.demands = buffers, list[Mapping[int, int]]()
        self._number = {place: number for number, place in enumerate(buffers)}
        self._step, self._weight = (
            np.array([getattr(b, name) for b in buffers.values()]) for name in ("step", "weight")
        )
        least = tuple(buffer.least for buffer in buffers.values())
        self.size = sum(buffer.weight * buffer.least for buffer in buffers.values())
        # Boxes by bound, of these the one to which most was added; with how many demands were looked at for it, the one
        # with the fewest ways left.
        self._queue = [(self.size, -self.size, 0, np.array([least, [ANY] * len(least)]), -1, 0)]
        self._count = 0
        self._most = np.zeros((0, len(buffers)), np.int64)
        self._rows, self._used = np.zeros((2, 0), np.int64), np.zeros(len(buffers), np.uint8)
        for demand in demands:
            self.add(demand)

    def add(self, demand: Mapping[int, int]) -> None:
        """Add a demand on some of the buffers."""
        self.demands.append(demand)
        row = np.full(len(self.buffers), ANY)
        row[[self._number[place] for place in demand]] = [*demand.values()]
        self._most = np.vstack([self._most, row])
        self._rows = np.zeros((2, len(self._most)), np.int64)

    def cheapest(self, search: Search) -> dict[int, int]:
        """Return capacities of the least ``size`` that meet all demands; before that where the search expires."""
        while True:
            self.size, less, number, box, known, shortest = self._queue[0]
            if known < len(self._most):
                shortest, more = unmet(
                    self._most, self._step, self._weight, box, self._rows[0], self._rows[1], self._used
                )
                if shortest < 0:
                    break
                entry = max(self.size, more - less), less, number, box, len(self._most), shortest
                heapq.heapreplace(self._queue, entry)
            elif search.expired():
                break
            else:
                search.spend(_STEP_EFFORT)
                heapq.heappop(self._queue)
                for grown, added in self._grown(box, shortest):
                    self._count += 1
                    entry = max(self.size, added - less), less - added, self._count, grown, -1, 0
                    heapq.heappush(self._queue, entry)
        return dict(zip(self.buffers, box[0].tolist(), strict=True))

    def _grown(self, box: IntArray, demand: int) -> Iterator[tuple[IntArray, int]]:
        """Yield the boxes that just meet a demand, each by another buffer, and what that adds to the size.

        No two share a distribution: one buffer after the other has less than that, first the one that may meet the
        most unmet demands (30 times fewer boxes than first the one that may meet the fewest).
        """
        unmet_ones = self._most[(self._most >= box[0]).all(axis=1)]
        most, box = self._most[demand], box.copy()
        places = np.flatnonzero(most < box[1])
        meets = (unmet_ones[:, places] < box[1, places]).sum(axis=0)
        for place in places[np.argsort(-meets, kind="stable")].tolist():
            grown = box.copy()
            grown[0, place] = most[place] + self._step[place]
            yield grown, int((grown[0, place] - box[0, place]) * self._weight[place])
            box[1, place] = most[place]


class StorageFront:
    """The search for the Pareto front of total size against period, or for the least size of one period.

    ``least_size`` is proven: no smaller distribution than that is faster than the points found. Once the search
    ``is_whole`` none is at all, down to the end of its ``periods``. Buffers go by their numbers here; room that a
    state or a part of one does not name is unlimited.
    """

    def __init__(
        self, graph: SdfGraph, buffers: Sequence[SharedBuffer], search: Search, deadline: Fraction | None = None,
        periods: Range = Range(),
    ) -> None:  # fmt: skip
        self.demands: list[Demand] = []
        self.is_whole = False
        self.least_size = 0
        self._search, self._deadline = search, deadline
        self._buffers = buffers
        self._place = {buffer.id: place for place, buffer in enumerate(buffers)}
        self._of_room = {f"{c.id}{ROOM}": place for place, b in enumerate(buffers) for c in b.channels}
        self._analysis = Analysis(graph)
        self._rooms: dict[tuple[int, int], tuple[SdfChannel, ...]] = {}
        self._limits: dict[Part, CriticalCycle | None] = {}
        self._groups = [Group({place: buffer}, ()) for place, buffer in enumerate(buffers)]
        self._best, self._until = periods.below, periods.until  # the least period so far, and the one that is enough
        for demand in periods.demands:
            self._join(demand)

    def points(self) -> Iterator[Distribution]:
        """Yield the points of the front by rising size; with a deadline, the first that keeps it.

        Ends early, without ``is_whole``, when the search has no effort left.
        """
        found: Distribution | None = None  # not yielded yet: another of its size may be faster
        while not self._search.expired():
            parts = [group.cheapest(self._search) for group in self._groups]
            self.least_size = sum(group.size for group in self._groups)
            if found is not None and self.least_size > found.size:
                yield found
                if self._until is not None and found.period <= self._until:
                    self.is_whole = True
                    return
                found = None
            if self._search.expired():
                break
            state = _part_of({place: held for part in parts for place, held in part.items()})
            cycle, schedule = self._analysis.evaluate(self._room(state), self._search)
            if schedule is not None and not self._is_too_long(cycle):
                capacities = {self._buffers[place].id: held for place, held in state}
                found = Distribution(capacities, self.least_size, cycle, schedule)
                self._best = found.period
            if not self._demand(state, cycle) or (found is not None and self._deadline is not None):
                self.is_whole = True  # no room makes it faster
                break
        if found is not None:
            yield found

    def _join(self, demand: Demand) -> None:
        """Add a demand: its buffers are in one group from now on."""
        self.demands.append(demand)
        most = {self._place[name]: held for name, held in demand.most.items()}
        joined = [group for group in self._groups if not most.keys().isdisjoint(group.buffers)]
        if len(joined) == 1:
            joined[0].add(most)
            return
        buffers = {place: buffer for group in joined for place, buffer in group.buffers.items()}
        demands = [other for group in joined for other in group.demands]
        self._groups = [*(group for group in self._groups if group not in joined), Group(buffers, [*demands, most])]

    def _demand(self, part: Part, cycle: CriticalCycle | None) -> bool:
        """Add demands that a state does not meet, one by one, until the buffers that they do not name are not to blame.

        Return whether there is any.
        """
        count = len(self.demands)
        while self._is_too_long(cycle):
            named = self._through(part, cycle)
            self._limits[named] = cycle
            named = self._strengthened(named)
            if not named:
                return False
            limit = self._limit(named)
            period = None if limit is None or limit.is_hopeless else limit.ratio
            self._join(Demand({self._buffers[place].id: most for place, most in named}, period))
            part = tuple((place, held) for place, held in part if all(place != other for other, _ in named))
            cycle = self._limit(part)
        return len(self.demands) > count

    def _room(self, part: Part) -> tuple[SdfChannel, ...]:
        for place, held in part:
            if held > MOST_ROOM:  # no finite room is enough, as for a period of 0
                cure = "allow a longer period"
                raise InfeasibleError("room in a buffer", demand=held, limit=MOST_ROOM, place="--deadline", cure=cure)
            if (place, held) not in self._rooms:
                self._rooms[place, held] = self._buffers[place].room(held)
        return tuple(channel for pair in part for channel in self._rooms[pair])

    def _through(self, part: Part, cycle: CriticalCycle | None) -> Part:
        """Return the room that a cycle goes through."""
        channels = () if cycle is None else cycle.channels
        places = {self._of_room[name] for name in channels if name in self._of_room}
        return tuple((place, held) for place, held in part if place in places)

    def _limit(self, part: Part) -> CriticalCycle | None:
        """Return what limits the period with this room."""
        if part not in self._limits:
            self._limits[part] = self._analysis.limit(self._room(part), self._search, self._is_too_long)
        return self._limits[part]

    def _is_too_long(self, cycle: CriticalCycle | None) -> bool:
        if cycle is not None and cycle.is_hopeless:
            return True
        if self._deadline is not None:
            return period_of(cycle) > self._deadline
        return self._best is not None and period_of(cycle) >= self._best

    def _strengthened(self, part: Part) -> Part:
        """Return the room of some buffers, each left out, or raised, as long as the period stays too long."""
        if self._deadline is not None and not self._is_too_long(self._limit(part)):
            return part
        for place, held in part:
            rest = tuple(other for other in part if other != (place, held))
            if self._is_too_long(self._limit(rest)):
                part = rest
        most = dict(part)
        for place, _ in part:
            add = step = self._buffers[place].step
            while self._is_too_long(self._limit(_part_of({**most, place: most[place] + add}))):
                most[place], add = most[place] + add, 2 * add
            while (add := add // 2) >= step:
                if self._is_too_long(self._limit(_part_of({**most, place: most[place] + add}))):
                    most[place] += add
        return _part_of(most)


def _part_of(most: Mapping[int, int]) -> Part:
    return tuple(sorted(most.items()))
