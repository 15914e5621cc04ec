"""Executes a mapped network for real: actors as Python callables that exchange arrays through multi-reader buffers.

The schedule decides when a place of a buffer is taken, when its token is there and when the place is free again; a
token that is read before it is there, or written where no place is free, ends the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InputError
from shorthaul.dataflow.graphs.multi_reader_buffers import Buffer, MultiReaderBuffer, Network, substitute_mrbs
from shorthaul.dataflow.model import NOC, Application, Platform, crossbar, ticks_for
from shorthaul.dataflow.plan import Point

Frame = npt.NDArray[np.float64]
#: An actor's work in one firing: the frames it read (by channel), the number of the firing -> the frame it writes.
Function = Callable[[Mapping[str, Frame], int], Frame]

_RELEASE: Final = 0
_RESERVE: Final = 1
_EXECUTE: Final = 2


@dataclass(slots=True)
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
    buffer: str = ""


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
    network = substitute_mrbs(application, point.xi)
    run = _Run(application, platform, point, network, functions, initial)
    run.play(run.events(iterations))
    frames = {actor: tuple(run.made[actor, k] for k in range(iterations)) for actor in network.actors}
    return Execution(frames, run.fullest)


class _Run:
    def __init__(
        self,
        application: Application,
        platform: Platform,
        point: Point,
        network: Network,
        functions: Mapping[str, Function],
        initial: Frame,
    ) -> None:
        self.point = point
        self.functions = functions
        self.writes: dict[str, list[Buffer]] = {actor: [] for actor in network.actors}
        self.reads: dict[str, list[tuple[Buffer, str]]] = {actor: [] for actor in network.actors}
        for buffer in network.buffers:
            self.writes[buffer.writer].append(buffer)
            for reader, edge in zip(buffer.readers, buffer.edges, strict=True):
                self.reads[reader].append((buffer, edge))
        self.tokens: dict[str, list[_Token]] = {
            buffer.id: [_Token(initial, -1) for _ in range(buffer.delay)] for buffer in network.buffers
        }
        self.rings = {
            buffer.id: MultiReaderBuffer[_Token](point.capacities[buffer.id], buffer.edges, self.tokens[buffer.id])
            for buffer in network.buffers
        }
        self.made: dict[tuple[str, int], Frame] = {}
        self.fullest = {buffer.id: buffer.delay for buffer in network.buffers}
        self._bandwidth = {crossbar(tile.id): tile.crossbar_bytes_per_s for tile in platform.tiles}
        self._bandwidth[NOC] = platform.noc_bytes_per_s
        self._ticks_per_second = application.ticks_per_second
        types = {core.id: core.type for core in platform.cores}
        self._tau = {
            actor.id: actor.ticks[types[point.binding[actor.id]]]
            for actor in application.actors
            if actor.id in network.actors
        }

    def duration(self, access: str, token_bytes: int) -> int:
        """Return the ticks of an access: 0 if it crosses no interconnect, else what its slowest one takes."""
        route = (self.point.routes or {}).get(access, ())
        bandwidths = [self._bandwidth[name] for name in route]
        return max((ticks_for(token_bytes, rate, self._ticks_per_second) for rate in bandwidths), default=0)

    def window(self, access: str, actor: str, token_bytes: int, firing: int) -> tuple[int, int]:
        """Return first and last tick of an access; one without a route lasts as long as its actor executes."""
        shift = firing * self.point.period
        length = self.duration(access, token_bytes)
        if length:
            start = self.point.starts[access]
            return start + shift, start + length + shift
        start = self.point.starts[actor]
        return start + shift, start + self._tau[actor] + shift

    def events(self, iterations: int) -> list[_Event]:
        """Return what happens in ``iterations`` of every actor, by time."""
        events = []
        for actor, writes in self.writes.items():
            for firing in range(iterations):
                events.append(_Event(self.point.starts[actor] + firing * self.point.period, _EXECUTE, actor, firing))
                for buffer in writes:
                    start, _ = self.window(f"({actor},{buffer.id})", actor, buffer.token_bytes, firing)
                    events.append(_Event(start, _RESERVE, actor, firing, buffer.id))
                for buffer, edge in self.reads[actor]:
                    _, stop = self.window(self._read_name(buffer, edge, actor), actor, buffer.token_bytes, firing)
                    events.append(_Event(stop, _RELEASE, actor, firing, edge))
        return sorted(events, key=lambda event: (event.time, event.kind))

    def _read_name(self, buffer: Buffer, edge: str, actor: str) -> str:
        by_edge = f"({edge},{actor})"
        return by_edge if by_edge in self.point.starts else f"({buffer.id},{actor})"

    def play(self, events: Sequence[_Event]) -> None:
        """Let every event happen at its tick; those of one tick in whatever order works."""
        position = 0
        while position < len(events):
            stop = position
            while stop < len(events) and events[stop].time == events[position].time:
                stop += 1
            waiting = list(events[position:stop])
            while waiting:
                left = [event for event in waiting if not self._happen(event)]
                if len(left) == len(waiting):
                    raise self._stuck(left[0])
                waiting = left
            position = stop

    def _happen(self, event: _Event) -> bool:
        """Let ``event`` happen; False if something that it needs has not happened yet."""
        if event.kind == _EXECUTE:
            return self._execute(event)
        if event.kind == _RESERVE:
            ring = self.rings[event.buffer]
            if not ring.free:
                return False
            _, there_at = self.window(
                f"({event.actor},{event.buffer})", event.actor, self._size(event.buffer), event.firing
            )
            token = _Token(self.made.get((event.actor, event.firing)), there_at)
            ring.write([token])
            self.tokens[event.buffer].append(token)
            self.fullest[event.buffer] = max(self.fullest[event.buffer], ring.capacity - ring.free)
            return True
        buffer = next(buffer for buffer, edge in self.reads[event.actor] if edge == event.buffer)
        if (event.actor, event.firing) not in self.made and not self._has_read(event, buffer):
            return False
        if not self.rings[buffer.id].available(event.buffer):
            return False
        (token,) = self.rings[buffer.id].read(event.buffer)
        return token is self.tokens[buffer.id][event.firing]

    def _has_read(self, event: _Event, buffer: Buffer) -> bool:
        # A read over an interconnect ends before its actor executes; then the token only has to be there.
        tokens = self.tokens[buffer.id]
        return len(tokens) > event.firing and tokens[event.firing].frame is not None

    def _size(self, name: str) -> int:
        return next(b.token_bytes for buffers in self.writes.values() for b in buffers if b.id == name)

    def _execute(self, event: _Event) -> bool:
        frames: dict[str, Frame] = {}
        for buffer, edge in self.reads[event.actor]:
            access = self._read_name(buffer, edge, event.actor)
            taken_at, _ = self.window(access, event.actor, buffer.token_bytes, event.firing)
            tokens = self.tokens[buffer.id]
            if len(tokens) <= event.firing:
                return False
            token = tokens[event.firing]
            if token.frame is None or token.there_at > taken_at:
                return False
            frames[edge] = token.frame
        made = self.functions[event.actor](frames, event.firing)
        self.made[event.actor, event.firing] = made
        for buffer in self.writes[event.actor]:
            index = buffer.delay + event.firing
            if len(self.tokens[buffer.id]) > index:  # its place was taken at this very tick
                self.tokens[buffer.id][index].frame = made
        return True

    def _stuck(self, event: _Event) -> InputError:
        what = {
            _EXECUTE: "executes before its tokens are there",
            _RESERVE: f"writes to {event.buffer}, which is full",
            _RELEASE: f"reads from {event.buffer} a token that is not there",
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
    reads: dict[str, list[tuple[Buffer, str]]] = {actor: [] for actor in network.actors}
    for buffer in network.buffers:
        for reader, edge in zip(buffer.readers, buffer.edges, strict=True):
            reads[reader].append((buffer, edge))
    made: dict[tuple[str, int], Frame] = {}
    for firing in range(iterations):
        waiting = list(network.actors)
        while waiting:  # every cycle has an initial token, so each round lets some actor fire
            left = []
            for actor in waiting:
                sources = {edge: (buffer.writer, firing - buffer.delay) for buffer, edge in reads[actor]}
                if all(source[1] < 0 or source in made for source in sources.values()):
                    frames = {edge: made[source] if source[1] >= 0 else initial for edge, source in sources.items()}
                    made[actor, firing] = functions[actor](frames, firing)
                else:
                    left.append(actor)
            waiting = left
    return {actor: tuple(made[actor, k] for k in range(iterations)) for actor in network.actors}


def stand_in_functions(application: Application) -> dict[str, Function]:
    """Return a fixed nonlinear function for every actor, which tells apart whose frame, from where and of which firing.

    Multicasts hand on what they read.
    """
    functions: dict[str, Function] = {}
    for number, actor in enumerate(application.actors):
        functions[actor.id] = _stand_in(number) if actor.kind == "actor" else _pass_on
    return functions


def _pass_on(frames: Mapping[str, Frame], _firing: int) -> Frame:
    (frame,) = frames.values()
    return frame


def _stand_in(number: int) -> Function:
    def function(frames: Mapping[str, Frame], firing: int) -> Frame:
        total: Any = np.sin(np.arange(4.0) + number) if frames else np.sin(np.arange(4.0) + number + 0.37 * firing)
        for place, edge in enumerate(sorted(frames)):
            total = total + (place + 1.3) * frames[edge]
        return np.asarray(np.sin(total) + 0.1 * total)

    return function
