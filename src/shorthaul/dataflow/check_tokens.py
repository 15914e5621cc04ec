"""Tokens through one buffer: every place, every token, iteration after iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


def replay_buffer(
    write: Access, reads: Sequence[Access], *, period: int, delay: int, capacity: int
) -> list[Fault]:
    """Return the first fault of every kind per access: tokens read early, places overwritten, too many at the start.

    The buffer starts with ``delay`` tokens; iteration k writes token ``delay + k`` and reads token k. As many
    iterations are replayed as it takes for a too full or too empty buffer to show.

    >>> late = Access("(a,c)", 5, 6, 5, 6)
    >>> [fault[0] for fault in replay_buffer(late, [Access("(c,b)", 0, 1, 0, 1)], period=10, delay=0, capacity=1)]
    ['token-absent']
    """
    if delay > capacity:
        return [("buffer-too-small", write.task, "the initial tokens do not fit", delay, capacity)]
    times = [write.held_from, write.end, *(time for read in reads for time in (read.start, read.held_to))]
    spread = (max(times) - min(times)) // period + 1
    iterations = min(spread, capacity + delay) + delay + 3
    places = [number if number < delay else -1 for number in range(capacity)]  # the token in every place
    unread = [len(reads) if number < delay else 0 for number in range(capacity)]
    events: list[tuple[int, int, int, int]] = []  # time, end before begin, access (-1: the write), iteration
    for k in range(iterations):
        shift = k * period
        events += [(write.held_from + shift, _BEGIN, -1, k), (write.end + shift, _END, -1, k)]
        for number, read in enumerate(reads):
            events += [(read.start + shift, _BEGIN, number, k), (read.held_to + shift, _END, number, k)]
    events.sort()  # at one tick, ends come before begins
    return _play(events, write, reads, places, unread, delay, capacity)


def _play(
    events: Sequence[tuple[int, int, int, int]],
    write: Access,
    reads: Sequence[Access],
    places: list[int],
    unread: list[int],
    delay: int,
    capacity: int,
) -> list[Fault]:
    faults: dict[tuple[str, str], Fault] = {}
    early: set[tuple[int, int]] = set()
    for time, edge, access, k in events:
        token = k if access >= 0 else delay + k
        place = token % capacity
        if access < 0 and edge == _BEGIN:
            if unread[place]:
                message = f"writes at tick {time} over a token that is still needed"
                faults.setdefault(
                    ("buffer-too-small", write.task), ("buffer-too-small", write.task, message, capacity + 1, capacity)
                )
            places[place] = -1
            unread[place] = len(reads)
        elif access < 0:
            places[place] = token
        elif edge == _BEGIN:
            if places[place] != token:
                task = reads[access].task
                early.add((access, k))
                message = f"reads at tick {time} the token of iteration {k - delay}, which is not there"
                faults.setdefault(("token-absent", task), ("token-absent", task, message, None, None))
        elif (access, k) not in early:
            unread[place] -= 1
    return list(faults.values())
