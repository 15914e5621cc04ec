"""Tokens through one buffer: every place, every token, iteration after iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

Fault = tuple[str, str, str, float | None, float | None]
_END, _BEGIN = 0, 1


@dataclass(frozen=True, slots=True)
class Access:
    """One write or read of iteration 0: when the token must be (or becomes) there, when its place is held.

    ``start`` to ``end`` is the transfer; ``held_from`` to ``held_to`` how long it needs the place in the buffer.
    """

    task: str
    start: int
    end: int
    held_from: int
    held_to: int


def replay_buffer(write: Access, reads: Sequence[Access], *, period: int, delay: int, capacity: int) -> list[Fault]:
    """Return the first fault of every kind per access: tokens read early, places overwritten, too many at the start.

    The buffer starts with ``delay`` tokens; iteration k writes token ``delay + k`` and reads token k. Where some come
    too late, as many iterations are replayed as it takes for that to show.

    >>> late = Access("(a,c)", 5, 6, 5, 6)
    >>> [fault[0] for fault in replay_buffer(late, [Access("(c,b)", 0, 1, 0, 1)], period=10, delay=0, capacity=1)]
    ['token-absent']
    """
    if delay > capacity:
        return [("buffer-too-small", write.task, "the initial tokens do not fit", delay, capacity)]
    for access in (write, *reads):
        if access.end < access.held_from or access.held_to < access.start:
            return [("firing-order", access.task, "is not where its execution takes or leaves the place", None, None)]
    if all(
        write.end - delay * period <= read.start and read.held_to + (delay - capacity) * period <= write.held_from
        for read in reads
    ):
        return []  # every token is there when it is read, and read when its place is taken
    return played(write, reads, period=period, delay=delay, capacity=capacity)


def played(write: Access, reads: Sequence[Access], *, period: int, delay: int, capacity: int) -> list[Fault]:
    """Return the faults that moving the tokens shows."""
    times = [write.held_from, write.end, *(time for read in reads for time in (read.start, read.held_to))]
    spread = (max(times) - min(times)) // period + 1
    iterations = min(spread, capacity + delay) + delay + 3
    events: list[tuple[int, int, int, int]] = []  # time, end before begin, access (-1: the write), iteration
    for k in range(iterations):
        shift = k * period
        events += [(write.held_from + shift, _BEGIN, -1, k), (write.end + shift, _END, -1, k)]
        for number, read in enumerate(reads):
            events += [(read.start + shift, _BEGIN, number, k), (read.held_to + shift, _END, number, k)]
    events.sort()
    return _play(events, _Ring(write, reads, delay, capacity))


class _Ring:
    """The places of the buffer: the token in each (-1: none yet), and how many readers still need it."""

    def __init__(self, write: Access, reads: Sequence[Access], delay: int, capacity: int) -> None:
        self.write, self.reads, self.delay = write, reads, delay
        self.places = [number if number < delay else -1 for number in range(capacity)]
        self.unread = [len(reads) if number < delay else 0 for number in range(capacity)]
        self.started: set[tuple[int, int]] = set()
        self.early: set[tuple[int, int]] = set()
        self.faults: dict[tuple[str, str], Fault] = {}

    def enabled(self, edge: int, access: int, k: int) -> bool:
        """True if the event can happen now: ends once started, writes into a free place, reads of a token there."""
        if edge == _END:
            return (access, k) in self.started
        token = k if access >= 0 else self.delay + k
        place = token % len(self.places)
        return self.places[place] == token if access >= 0 else not self.unread[place]

    def apply(self, edge: int, access: int, k: int) -> None:
        """Let the event happen, possible or not."""
        token = k if access >= 0 else self.delay + k
        place = token % len(self.places)
        if edge == _BEGIN:
            self.started.add((access, k))
            if access < 0:
                self.places[place] = -1
                # readers that took something else for this token will not come back for it
                self.unread[place] = sum((reader, token) not in self.early for reader in range(len(self.reads)))
        elif access < 0:
            self.places[place] = token
        elif (access, k) not in self.early:
            self.unread[place] -= 1

    def fault(self, time: int, access: int, k: int) -> None:
        """Note that a begin happens although it cannot."""
        if access < 0:
            message = f"writes at tick {time} over a token that is still needed"
            capacity = len(self.places)
            found: Fault = ("buffer-too-small", self.write.task, message, capacity + 1, capacity)
        else:
            self.early.add((access, k))
            message = f"reads at tick {time} the token of iteration {k - self.delay}, which is not there"
            found = ("token-absent", self.reads[access].task, message, None, None)
        self.faults.setdefault(found[:2], found)


def _play(events: Sequence[tuple[int, int, int, int]], ring: _Ring) -> list[Fault]:
    """Play the events; those of one tick in whatever order is possible, since a token may pass at the tick it comes."""
    for time, together in groupby(events, key=itemgetter(0)):
        pending = [event[1:] for event in together]
        while pending:
            for possible in pending:
                if ring.enabled(*possible):
                    break
            else:
                possible = next(event for event in pending if event[0] == _BEGIN)
                ring.fault(time, *possible[1:])
            pending.remove(possible)
            ring.apply(*possible)
    return list(ring.faults.values())
