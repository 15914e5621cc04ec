"""Multi-reader buffers: the ring buffer itself, and the graph transformation that puts them in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from shorthaul.core.arguments import public
from shorthaul.core.errors import InputError, unknown_name
from shorthaul.dataflow.model import MOST_TOKENS, Application, check_deadlock

T = TypeVar("T")
_EMPTY = -1


class MultiReaderBuffer(Generic[T]):
    """A ring buffer of ``capacity`` places with one writer and several readers; each token is stored once.

    Every reader sees every token, in order, as if it had a FIFO of its own; a place is free again when the last
    reader has consumed it. Tokens come and go one or several at a time. (Letras et al., Section II-C; a reader's index
    is -1 while it has nothing to read.)

    Examples
    --------
    >>> buffer = MultiReaderBuffer[str](4, ["a3", "a4"])
    >>> buffer.write(["x", "y"])
    >>> buffer.read("a3"), buffer.available("a3"), buffer.available("a4"), buffer.free
    (['x'], 1, 2, 2)
    """

    @public
    def __init__(self, capacity: int, readers: Sequence[str], initial: Sequence[T] = ()) -> None:
        if not 1 <= capacity <= MOST_TOKENS:
            allowed = f"integers from 1 to {MOST_TOKENS}"
            raise InputError("is not a capacity", place="capacity", value=capacity, allowed=allowed)
        if not readers or len(set(readers)) != len(readers):
            raise InputError("are not readers", place="readers", value=list(readers), allowed="one or more, each once")
        if len(initial) > capacity:
            raise InputError(
                "are more initial tokens than places", place="initial", value=len(initial), allowed=f"up to {capacity}"
            )
        self.capacity = capacity
        self._places: list[T | None] = [None] * capacity
        self.write_index = 0
        self.read_index = dict.fromkeys(readers, _EMPTY)
        if initial:
            self.write(initial)

    def available(self, reader: str) -> int:
        """Return T(c, reader), the tokens that ``reader`` can consume."""
        index = self._index(reader)
        return 0 if index == _EMPTY else (self.write_index - index - 1) % self.capacity + 1

    @property
    def free(self) -> int:
        """F(c), the places that the writer can fill."""
        return self.capacity - max(self.available(reader) for reader in self.read_index)

    def write(self, tokens: Sequence[T]) -> None:
        """Append ``tokens``; raises :class:`InputError` and changes nothing if there are not enough free places."""
        if len(tokens) > self.free:
            raise InputError("the buffer overflows", value=f"{len(tokens)} tokens", allowed=f"{self.free} free places")
        if not tokens:
            return
        for offset, token in enumerate(tokens):
            self._places[(self.write_index + offset) % self.capacity] = token
        for reader, index in self.read_index.items():  # Eq. (4) before Eq. (5)
            if index == _EMPTY:
                self.read_index[reader] = self.write_index
        self.write_index = (self.write_index + len(tokens)) % self.capacity

    def read(self, reader: str, count: int = 1) -> list[T]:
        """Consume ``count`` tokens as ``reader``; raises :class:`InputError` if fewer are there."""
        available = self.available(reader)
        if count > available:
            raise InputError(
                f"{reader} reads an absent token", value=f"{count} tokens", allowed=f"{available} available"
            )
        index = self.read_index[reader]
        tokens = [self._places[(index + offset) % self.capacity] for offset in range(count)]
        if count:
            self.read_index[reader] = _EMPTY if count == available else (index + count) % self.capacity
        return tokens  # type: ignore[return-value]

    def _index(self, reader: str) -> int:
        if reader not in self.read_index:
            raise unknown_name("reader", reader, self.read_index)
        return self.read_index[reader]


@dataclass(frozen=True, slots=True)
class Buffer:
    """A channel after the transformation: one writer, one or more readers, named after its first channel.

    ``edges`` are the original channels through which the readers were reached, one per reader.
    """

    id: str
    writer: str
    readers: tuple[str, ...]
    edges: tuple[str, ...]
    token_bytes: int
    delay: int
    capacity: int


@dataclass(frozen=True, slots=True)
class Network:
    """The transformed application graph: remaining actors, and buffers in declaration order."""

    actors: tuple[str, ...]
    buffers: tuple[Buffer, ...]


@public
def substitute_mrbs(application: Application, xi: Mapping[str, int]) -> Network:
    """Return the graph with every multicast of ``xi[a] = 1`` replaced by a multi-reader buffer.

    The buffer keeps the name, place in the order and initial tokens of the multicast's input channel; its capacity is
    the sum of the capacities of input and output (Letras et al., Algorithm 1; chains of multicasts merge into one
    buffer).

    Parameters
    ----------
    application : Application
        The network.
    xi : Mapping[str, int]
        For every multicast 1 to replace it, 0 to keep it.

    Returns
    -------
    Network
        The network with its buffers.

    Raises
    ------
    InputError
        If the initial tokens lost with the output channels leave a cycle without any.

    Examples
    --------
    >>> from shorthaul.dataflow.model import Actor, Channel
    >>> actors = (Actor("a", {"t": 1}), Actor("m", {"t": 1}, "multicast"), Actor("b", {"t": 1}), Actor("d", {"t": 1}))
    >>> ends = (("a", "m"), ("m", "b"), ("m", "d"))
    >>> channels = tuple(Channel(f"c{i}", s, d, 38, 0, 2) for i, (s, d) in enumerate(ends, 1))
    >>> buffer = substitute_mrbs(Application("fig2", actors, channels), {"m": 1}).buffers[0]
    >>> buffer.id, buffer.readers, buffer.capacity
    ('c1', ('b', 'd'), 4)
    """
    buffers = [
        Buffer(c.id, c.src, (c.dst,), (c.id,), c.token_bytes, c.delay, c.capacity or 1) for c in application.channels
    ]
    for multicast in application.multicasts:
        if not xi.get(multicast, 0):
            continue
        source = next(i for i, buffer in enumerate(buffers) if multicast in buffer.readers)
        outputs = [buffer for buffer in buffers if buffer.writer == multicast]
        into = buffers[source]
        kept = [i for i, reader in enumerate(into.readers) if reader != multicast]
        buffers[source] = Buffer(
            into.id,
            into.writer,
            (*(into.readers[i] for i in kept), *(reader for buffer in outputs for reader in buffer.readers)),
            (*(into.edges[i] for i in kept), *(edge for buffer in outputs for edge in buffer.edges)),
            into.token_bytes,
            into.delay,
            into.capacity + outputs[0].capacity,
        )
        buffers = [buffer for buffer in buffers if buffer.writer != multicast]
    actors = tuple(actor.id for actor in application.actors if not xi.get(actor.id, 0))
    check_deadlock(list(actors), [(b.writer, reader, b.id) for b in buffers if b.delay == 0 for reader in b.readers])
    order = {channel.id: number for number, channel in enumerate(application.channels)}
    return Network(actors, tuple(_in_declaration_order(buffer, order) for buffer in buffers))


def _in_declaration_order(buffer: Buffer, order: Mapping[str, int]) -> Buffer:
    if len(buffer.edges) == 1:
        return buffer
    edges, readers = zip(
        *sorted(zip(buffer.edges, buffer.readers, strict=True), key=lambda pair: order[pair[0]]), strict=True
    )
    return replace(buffer, edges=edges, readers=readers)
