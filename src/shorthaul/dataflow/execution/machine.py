"""Executes a mapped network for real: actors as Python callables that exchange arrays through multi-reader buffers.

The schedule decides when a place of a buffer is taken, when its token is there and when the place is free again; a
token that is read before it is there, or written where no place is free, ends the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import groupby
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InputError
from shorthaul.dataflow.graphs.multi_reader_buffers import MultiReaderBuffer, substitute_mrbs
from shorthaul.dataflow.mapping.binding import MappedNetwork, mapped_point
from shorthaul.dataflow.mapping.steps import Access, accesses
from shorthaul.dataflow.model import Application, Platform
from shorthaul.dataflow.plan import Point

Frame = npt.NDArray[np.float64]
#: An actor's work in one firing: the frames it read (by channel), the number of the firing -> the frame it writes.
Function = Callable[[Mapping[str, Frame], int], Frame]

_RELEASE: Final = 0
_RESERVE: Final = 1
_EXECUTE: Final = 2


@dataclass(slots=True, eq=False)
class _Token:
    """A place in a buffer: its frame once the writer has computed it, and the tick at which readers may have it."""

    frame: Frame | None
    there_at: int


@dataclass(frozen=True, slots=True)
class _Event:
    time: int
    kind: int
    actor: str
    firing: int
    access: Access | None = None


@dataclass(frozen=True, slots=True)
class Execution:
    """What a run produced: the frame of every firing, by actor; and how full each buffer was at most, in tokens."""

    frames: Mapping[str, tuple[Frame, ...]]
    fullest: Mapping[str, int]


def execute(
    application: Application,
    platform: Platform,
    point: Point,
    functions: Mapping[str, Function],
    *,
    iterations: int,
    initial: Frame,
) -> Execution:
    """Run ``iterations`` of the network by the schedule of ``point``; ``initial`` is the frame of initial tokens.

    Raises :class:`InputError` naming buffer, firing and tick if a token is read too early or a buffer overflows.
    """
    run = _Run(mapped_point(application, platform, point), point, functions, initial)
    for _, together in groupby(run.events(iterations), key=lambda event: event.time):
        waiting = [*together]  # whatever order works
        while waiting:
            left = [event for event in waiting if not run.happen(event)]
            if len(left) == len(waiting):
                raise run.stuck(left[0])
            waiting = left
    frames = {actor: tuple(run.made[actor, k] for k in range(iterations)) for actor in run.accesses}
    return Execution(frames, run.fullest)


class _Run:
    def __init__(
        self, net: MappedNetwork, point: Point, functions: Mapping[str, Function], initial: Frame
    ) -> None:  # fmt: skip
        self.net, self.point, self.functions = net, point, functions
        self.accesses = accesses(net)
        buffers = net.network.buffers
        self.tokens = {buffer.id: [_Token(initial, -1) for _ in range(buffer.delay)] for buffer in buffers}
        self.rings = {
            buffer.id: MultiReaderBuffer[_Token](point.capacities[buffer.id], buffer.edges, self.tokens[buffer.id])
            for buffer in buffers
        }
        self.made: dict[tuple[str, int], Frame] = {}
        self.fullest = {buffer.id: buffer.delay for buffer in buffers}

    def window(self, access: Access, actor: str, firing: int) -> tuple[int, int]:
        """Return first and last tick of an access; one in place lasts as long as its actor executes."""
        name, length = (
            (access.task.name, access.task.duration) if access.is_copy else (actor, self.net.execution[actor])
        )
        start = self.point.starts[name] + firing * self.point.period
        return start, start + length

    def events(self, iterations: int) -> list[_Event]:
        """Return what happens in ``iterations`` of every actor, by time."""
        events = []
        for actor, (reads, writes) in self.accesses.items():
            for firing in range(iterations):
                events.append(_Event(self.point.starts[actor] + firing * self.point.period, _EXECUTE, actor, firing))
                events += [_Event(self.window(a, actor, firing)[0], _RESERVE, actor, firing, a) for a in writes]
                events += [_Event(self.window(a, actor, firing)[1], _RELEASE, actor, firing, a) for a in reads]
        return sorted(events, key=lambda event: (event.time, event.kind))

    def happen(self, event: _Event) -> bool:
        """Let ``event`` happen; False if something that it needs has not happened yet."""
        if event.access is None:
            return self._execute(event.actor, event.firing)
        buffer = event.access.buffer.id
        ring, tokens = self.rings[buffer], self.tokens[buffer]
        made = self.made.get((event.actor, event.firing))
        if event.kind == _RESERVE:
            if not ring.free:
                return False
            tokens.append(_Token(made, self.window(event.access, event.actor, event.firing)[1]))
            ring.write(tokens[-1:])
            self.fullest[buffer] = max(self.fullest[buffer], ring.capacity - ring.free)
            return True
        # A read over an interconnect ends before its actor executes; then the token only has to be there.
        if len(tokens) <= event.firing or (made is None and tokens[event.firing].frame is None):
            return False
        edge = event.access.edge
        return bool(ring.available(edge)) and ring.read(edge) == tokens[event.firing : event.firing + 1]

    def _execute(self, actor: str, firing: int) -> bool:
        reads, writes = self.accesses[actor]
        frames: dict[str, Frame] = {}
        for access in reads:
            token = next(iter(self.tokens[access.buffer.id][firing : firing + 1]), None)
            if token is None or token.frame is None or token.there_at > self.window(access, actor, firing)[0]:
                return False
            frames[access.edge] = token.frame
        made = self.made[actor, firing] = self.functions[actor](frames, firing)
        for access in writes:
            for token in self.tokens[access.buffer.id][access.buffer.delay + firing :][:1]:
                token.frame = made  # its place is taken already
        return True

    def stuck(self, event: _Event) -> InputError:
        """Return the error of an event that cannot happen."""
        buffer = "" if event.access is None else event.access.buffer.id
        what = {
            _EXECUTE: "executes before its tokens are there",
            _RESERVE: f"writes to {buffer}, which is full",
            _RELEASE: f"reads from {buffer} a token that is not there",
        }[event.kind]
        return InputError(f"{event.actor} {what}", place=f"tick {event.time}, iteration {event.firing}")


def direct(
    application: Application,
    xi: Mapping[str, int],
    functions: Mapping[str, Function],
    *,
    iterations: int,
    initial: Frame,
) -> dict[str, tuple[Frame, ...]]:
    """Return the frame of every firing as the network defines it, without any schedule, core or buffer."""
    network = substitute_mrbs(application, xi)
    reads: dict[str, dict[str, tuple[str, int]]] = {actor: {} for actor in network.actors}
    order = TopologicalSorter[str]({actor: [] for actor in network.actors})
    for buffer in network.buffers:
        for reader, edge in zip(buffer.readers, buffer.edges, strict=True):
            reads[reader][edge] = buffer.writer, buffer.delay
            if not buffer.delay:
                order.add(reader, buffer.writer)
    made: dict[tuple[str, int], Frame] = {}
    actors = [*order.static_order()]
    for firing in range(iterations):
        for actor in actors:
            frames = {
                edge: made.get((writer, firing - delay), initial) for edge, (writer, delay) in reads[actor].items()
            }
            made[actor, firing] = functions[actor](frames, firing)
    return {actor: tuple(made[actor, k] for k in range(iterations)) for actor in network.actors}


def stand_in_functions(application: Application) -> dict[str, Function]:
    """Return a fixed nonlinear function for every actor, which tells apart whose frame, from where and of which firing.

    Multicasts hand on what they read.
    """
    actors = enumerate(application.actors)
    return {
        a.id: _stand_in(n) if a.kind == "actor" else lambda frames, _: next(iter(frames.values())) for n, a in actors
    }


def _stand_in(number: int) -> Function:
    def function(frames: Mapping[str, Frame], firing: int) -> Frame:
        total: Any = np.sin(np.arange(4.0) + number) if frames else np.sin(np.arange(4.0) + number + 0.37 * firing)
        for place, edge in enumerate(sorted(frames)):
            total = total + (place + 1.3) * frames[edge]
        return np.asarray(np.sin(total) + 0.1 * total)

    return function
