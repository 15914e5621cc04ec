"""List scheduling of one iteration: schedules whose buffers hold no more than they are given.

The firings of an iteration are those of a period, none of them wrapped around it. A firing keeps its core from its
first access to its last. It starts only when its tokens are there, and the firings that have to make room for what it
writes have started: so none waits for a core that is kept waiting.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from shorthaul.core.search import Search
from shorthaul.dataflow.mapping.binding import MappedNetwork, Task, held_since, held_until
from shorthaul.dataflow.mapping.start_times import read, written

Route = tuple[str, ...]
#: The rank of a firing, which no other has, and its name.
_Ranked = tuple[tuple[int, int], str]


class _Access(NamedTuple):
    """A read or write, and what waits for it: firings for a write's token, writes for a read's place."""

    task: Task
    is_read: bool
    followers: list[str]


def list_schedule(
    net: MappedNetwork, capacities: Mapping[str, int], search: Search | None = None
) -> tuple[int, dict[str, int]] | None:
    """Return period and start ticks with buffers of these capacities (tokens), as short as the list makes them.

    Places are held from the start of a write to the end of the last read.

    Firings with the longest chain of firings after them come first. None where the firings have no order, since some
    buffer has room for its initial tokens only, and where the ``search`` ends before the schedule is complete.
    """
    firings = _Firings(net, capacities)
    if not firings.ranked():
        return None
    starts = firings.run(search or Search())
    return None if starts is None else (_least_period(net, starts, capacities), starts)


class _Firings:
    """What every firing still waits for, which tasks run, and when resources are free again."""

    def __init__(self, net: MappedNetwork, capacities: Mapping[str, int]) -> None:
        self.net = net
        self.waiting = dict.fromkeys(net.network.actors, 0)
        self.after: dict[str, list[str]] = {name: [] for name in net.network.actors}
        self.of_start: dict[str, list[str]] = {name: [] for name in net.network.actors}
        self.places: dict[str, int] = {}  # per write, the reads that it still waits for
        self.access: dict[str, _Access] = {}
        for name in net.network.actors:
            for task in (*net.reads[name], *net.writes[name]):
                self.access[task.name] = _Access(task, task in net.reads[name], [])
        reads, writes = net.read_tasks(), net.write_tasks()
        for buffer in net.network.buffers:
            write, full = writes[buffer.id], 0 < buffer.delay >= capacities[buffer.id]
            for task in reads[buffer.id]:
                if task.actor == buffer.writer:
                    continue
                if buffer.delay == 0:
                    self.access[write.name].followers.append(task.actor)
                    self._order(buffer.writer, task.actor)
                elif full:
                    self.of_start[task.actor].append(buffer.writer)
                    self.access[task.name].followers.append(write.name)
                    self.places[write.name] = self.places.get(write.name, 0) + 1
                    self._order(task.actor, buffer.writer)
        self.long_reads = {name: [t for t in net.reads[name] if t.duration] for name in net.network.actors}
        self.long_writes = {name: [t for t in net.writes[name] if t.duration] for name in net.network.actors}
        self.rank: dict[str, tuple[int, int]] = {}
        self.now = 0
        self.free_at: dict[str, int] = {}
        self.starts: dict[str, int] = {}
        self.active: dict[str, str] = {}  # by core
        self.runs: set[str] = set()  # active firings with a task under way
        self.executed: set[str] = set()
        #: Per core, by the routes of which one has to be free for them, the firings that wait for nothing else.
        self.ready: dict[str, dict[frozenset[Route], list[_Ranked]]] = {core: {} for core in net.binding.values()}
        self.routes = {name: frozenset(task.route for task in reads) for name, reads in self.long_reads.items()}
        self.events: list[tuple[int, int, str, str]] = []

    def _order(self, before: str, after: str) -> None:
        self.waiting[after] += 1
        self.after[before].append(after)

    def ranked(self) -> bool:
        """Rank all firings by what is to follow; False if they wait for one another in a circle."""
        left, order = dict(self.waiting), [name for name, count in self.waiting.items() if not count]
        for name in order:  # which grows meanwhile
            for follower in self.after[name]:
                left[follower] -= 1
                if not left[follower]:
                    order.append(follower)
        if len(order) < len(left):
            return False
        length: dict[str, int] = {}
        for name in reversed(order):
            own = self.net.execution[name]
            own += sum(task.duration for task in (*self.net.reads[name], *self.net.writes[name]))
            length[name] = own + max((length[follower] for follower in self.after[name]), default=0)
            self.rank[name] = (-length[name], len(self.rank))
        return True

    def run(self, search: Search) -> dict[str, int] | None:
        """Return the starts of all tasks; None if some firing never ends, or the search does."""
        for name, count in self.waiting.items():
            if not count:
                self._make_ready(name)
        left = len(self.waiting)
        while left:
            for name in sorted(self.active.values(), key=self.rank.__getitem__):
                self._go_on(name)
            for name in sorted(self._startable(), key=self.rank.__getitem__):
                if self._may_start(self.routes[name]):
                    self._start(name)
            if not self.events or search.expired():
                return None
            self.now = self.events[0][0]
            while self.events and self.events[0][0] == self.now:
                _, _, name, task = heapq.heappop(self.events)
                self._end(name, task)
                if name in self.executed and all(write.name in self.starts for write in self.net.writes[name]):
                    del self.active[self.net.binding[name]]
                    left -= 1
        return self.starts

    def _make_ready(self, name: str) -> None:
        waiting = self.ready[self.net.binding[name]].setdefault(self.routes[name], [])
        heapq.heappush(waiting, (self.rank[name], name))

    def _startable(self) -> Iterator[str]:
        """Yield, of every free core, the first firing that can begin at once."""
        for core, waiting in self.ready.items():
            if core not in self.active:
                able = [names[0] for routes, names in waiting.items() if names and self._may_start(routes)]
                if able:
                    yield min(able)[1]

    def _may_start(self, routes: frozenset[Route]) -> bool:
        return not routes or any(self._is_free(route) for route in routes)

    def _is_free(self, route: Route) -> bool:
        return all(self.free_at.get(resource, 0) <= self.now for resource in route)

    def _start(self, name: str) -> None:
        core = self.net.binding[name]
        self.active[core] = name
        waiting = self.ready[core][self.routes[name]]
        waiting.remove((self.rank[name], name))
        heapq.heapify(waiting)
        for follower in self.of_start[name]:
            self._arrive(follower)
        self._go_on(name)

    def _arrive(self, name: str) -> None:
        self.waiting[name] -= 1
        if not self.waiting[name]:
            self._make_ready(name)

    def _go_on(self, name: str) -> None:
        """Begin the next task of an active firing if it can."""
        if name in self.runs:
            return
        if name in self.executed:
            pending = [task for task in self.long_writes[name] if not self.places.get(task.name)]
        else:
            pending = self.long_reads[name]
        left = [task for task in pending if task.name not in self.starts]
        free = [task for task in left if self._is_free(task.route)]
        if free:
            task = max(free, key=lambda task: (len(task.route), task.duration))
            for resource in task.route:
                self.free_at[resource] = self.now + task.duration
            self._begin(name, task.name, task.duration)
        elif not left and name not in self.executed:
            timeless = [task for task in self.net.writes[name] if not task.duration]
            if not any(self.places.get(task.name) for task in timeless):
                self._begin(name, name, self.net.execution[name])

    def _begin(self, name: str, task: str, ticks: int) -> None:
        self.starts[task] = self.now
        self.runs.add(name)
        heapq.heappush(self.events, (self.now + ticks, len(self.starts), name, task))

    def _end(self, name: str, task: str) -> None:
        self.runs.discard(name)
        if task != name:
            self._ended(task)
            return
        self.executed.add(name)
        for access in (*self.net.reads[name], *self.net.writes[name]):
            if not access.duration:
                self.starts[access.name] = self.now if not self.access[access.name].is_read else self.starts[name]
                self._ended(access.name)

    def _ended(self, task: str) -> None:
        access = self.access[task]
        for follower in access.followers:
            if access.is_read:
                self.places[follower] -= 1
            else:
                self._arrive(follower)


def _least_period(net: MappedNetwork, starts: Mapping[str, int], capacities: Mapping[str, int]) -> int:
    """Return the least period at which the starts of one iteration, in this order on every resource, are a schedule."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}

    def occupy(resource: str, start: int, end: int) -> None:
        first[resource] = min(first.get(resource, start), start)
        last[resource] = max(last.get(resource, end), end)

    for name in net.network.actors:
        occupy(net.binding[name], starts[name], starts[name] + net.execution[name])
        for task in (*net.reads[name], *net.writes[name]):
            for resource in (net.binding[name], *task.route):
                occupy(resource, starts[task.name], starts[task.name] + task.duration)
    period = max(1, *(last[resource] - first[resource] for resource in last))
    reads, writes = net.read_tasks(), net.write_tasks()
    for buffer in net.network.buffers:
        write = writes[buffer.id]
        for task in reads[buffer.id]:
            held = held_until(net, starts, task, atomic=False) - held_since(net, starts, write, atomic=False)
            room = capacities[buffer.id] - buffer.delay
            period = max(period, -(-held // room) if room > 0 else 1)
            if buffer.delay:
                late = written(net, starts, buffer, write) - read(starts, task)
                period = max(period, -(-late // buffer.delay))
    return period
