"""The network between the processors: delivers messages and counts what they cost."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from shorthaul.core.amounts import Cost
from shorthaul.core.errors import InfeasibleError, InputError
from shorthaul.core.search import Search
from shorthaul.core.searching.deadline import expect_time
from shorthaul.spatial.computer.machine_kernels import Messages, Traffic, arrive, first_waiting, travel
from shorthaul.spatial.computer.memory import MachineError, Memory, sealed
from shorthaul.spatial.model import Grid

Index = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.intp]
Array = npt.NDArray[Any]

#: Messages that a processor may send, and receive, in one round.
MOST_MESSAGES = 8
#: Hops between two looks at the clock: some tenths of a second.
_HOPS_AT_ONCE = 2**24


class Listener(Protocol):
    """Hears every round of messages (processors), for instance to replay them."""

    def round(self, sender: Index, receiver: Index, words: int) -> None:
        """Take one round: messages sender[i] -> receiver[i] of so many words each, all sent at once."""


@sealed
class Output:
    """A result that has left the machine; :meth:`Machine.collect` reads it when the program has ended."""

    __slots__ = ("_data", "_memory")

    def _of(self, data: Array, memory: Memory) -> Self:
        self._data = data
        self._memory = memory
        return self

    def read_by(self, memory: Memory) -> Array:
        """Return the result, and end the program of the machine with this memory, which has to be its own."""
        if memory is not self._memory:
            raise MachineError("is another machine's", place="collect")
        memory.end()
        return self._data.copy()


class Network:
    """Processors at (x, y) of a grid, each on a cell of its own, and the links between these.

    A message goes along its row, then along its column, word by word; a link carries one word in one direction per
    cycle, and so do the ways between a processor and its router.
    """

    def __init__(
        self, x: Index, y: Index, grid: Grid, *, count_links: bool, listener: Listener | None, search: Search | None
    ) -> None:
        _expect_cells(x, y, grid)
        self.grid = grid
        self.count_links = count_links
        self.rounds = 0
        self.most_messages = MOST_MESSAGES
        self._traffic = Traffic(x, y, grid.width, 4 * grid.cells, np.empty(0, np.int32), count_links)
        self._listener = listener
        self._search = search

    def deliver(
        self, sender: Numbers, receiver: Numbers, host: Index, words: int, *, crowd: int = 0, wave: bool = False
    ) -> None:
        """Send a message of so many words from every node ``sender[i]`` to ``receiver[i]``, placed by ``host``.

        All at once, at most ``crowd`` from and to a processor as there are no more nodes; or as a ``wave``: each after
        those before it have arrived, whose rounds the caller counts. Raises :class:`InfeasibleError` if a processor
        sends or receives more than :attr:`most_messages` at once, and :class:`NoPlanError` once the search has to end.
        """
        messages = self._routed(sender, receiver, host, words)
        self.rounds += not wave
        at = 0
        while at < len(sender):
            expect_time(self._search)
            at = travel(self._traffic, messages, at, _HOPS_AT_ONCE, wave)
        if not wave:
            arrive(self._traffic, messages)
        if self._listener is None and crowd <= self.most_messages:
            return
        a, b = host[sender], host[receiver]
        if not (apart := a != b).all():
            a, b = a[apart], b[apart]
        most = max(int(np.bincount(end).max(initial=0)) for end in (a, b)) if crowd > self.most_messages else 0
        if most > self.most_messages:
            raise InfeasibleError("messages of a processor in one round", demand=most, limit=self.most_messages)
        if self._listener is not None:
            begin, reached = 0, np.zeros(int(host.max()) + 1 if wave else 0, np.int32)
            while begin < len(a):
                end = first_waiting(a, b, reached, begin) if wave else len(a)
                self._listener.round(a[begin:end], b[begin:end], words)
                expect_time(self._search)
                begin = end

    def _routed(self, sender: Numbers, receiver: Numbers, host: Index, words: int) -> Messages:
        """Return the messages with the links that each takes, where these are not those of a mesh."""
        return Messages(sender, receiver, host, words, np.empty(0, np.int64), np.empty(0, np.int32))

    def link_loads(self) -> Index:
        """Return the words over every link so far, shape (4, height, width) as in :func:`cost.link_loads`."""
        loads = self._traffic.loads()
        return np.ascontiguousarray(loads.reshape(self.grid.height, self.grid.width, 4).transpose(2, 0, 1))

    def cost(self) -> Cost:
        """Return energy, depth, critical-path distance and, if counted, the largest link load."""
        depth, distance, _ = self._traffic.chains()
        amounts = {"energy_hops": self._traffic.hops, "depth": depth, "distance_hops": distance}
        if self.count_links:
            amounts["link_load"] = int(self._traffic.loads().max(initial=0))
        return Cost(**amounts)

    def figures(self) -> dict[str, Any]:
        """Return messages, rounds, longest message, messages per processor and cycles."""
        return {
            "messages": self._traffic.messages,
            "rounds": self.rounds,
            "longest_message_hops": self._traffic.longest,
            **({"messages_per_processor": self._traffic.busiest()} if self.count_links else {}),
            "cycles": self._traffic.chains()[2],
        }


def _expect_cells(x: Index, y: Index, grid: Grid) -> None:
    if x.ndim != 1 or x.shape != y.shape:
        raise InputError("are not one cell per processor", place="x, y", value=f"shapes {x.shape} and {y.shape}")
    outside = np.flatnonzero((x < 0) | (y < 0) | (x >= grid.width) | (y >= grid.height))
    if len(outside):
        p = int(outside[0])
        raise InputError(f"stands outside the grid {grid}", place=f"processor {p}", value=(int(x[p]), int(y[p])))
    cell = y.astype(np.int64) * grid.width + x
    taken = np.zeros(grid.cells, np.bool_)
    taken[cell] = True
    if np.count_nonzero(taken) < len(x):
        p = int(np.flatnonzero(np.bincount(cell)[cell] > 1)[0])
        raise InputError("shares its cell with another", place=f"processor {p}", value=(int(x[p]), int(y[p])))


def integers(given: npt.ArrayLike, place: str) -> Index:
    """Return a list of integers, a copy; raises :class:`InputError` for what is none."""
    try:
        listed = np.asarray(given)
        with np.errstate(invalid="ignore"):
            found = listed.astype(np.int32)  # a copy, whatever the object itself says of copies
    except (TypeError, ValueError, OverflowError):
        found = listed = np.empty((0, 0), np.int32)
    if found.ndim != 1 or not np.array_equal(found, listed):
        raise InputError("is not a list of integers", place=place, value=given, allowed="32-bit integers")
    return found
