"""The spatial computer: a grid of processors with a few words of memory each, which exchange messages.

A program is a sequence of rounds. In a round every processor works on its own registers, then messages are sent, all at
once. The arrays of a program are indexed by node; an element is held by the processor that hosts the node, and one
node's elements meet another's only as the payload of :meth:`SpatialComputer.send`. The host program decides no more
than which round comes next and when all is done.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from shorthaul.core.amounts import Cost
from shorthaul.core.errors import InfeasibleError
from shorthaul.core.search import Search
from shorthaul.spatial.computer.machine_kernels import Traffic, count_ports, deliver
from shorthaul.spatial.deadline import expect_time
from shorthaul.spatial.layout.cost_kernels import Routes, add_node_routes, sum_routes
from shorthaul.spatial.model import Grid

Index = npt.NDArray[np.int32]
Array = npt.NDArray[Any]

#: Messages that a processor may send, and receive, in one round.
MOST_MESSAGES = 8
#: Cycles that a message takes between a processor and its router (Luczynski et al.).
ROUTER_CYCLES = 2


class Listener(Protocol):
    """Hears every round of messages (processors), for instance to replay them."""

    def round(self, sender: Index, receiver: Index) -> None:
        """Take one round: messages sender[i] -> receiver[i], all sent at once."""


class SpatialComputer:
    """Processors at (x, y) of ``grid`` that host nodes; counts what a program's messages cost.

    ``host[k]`` is the processor of node k (default: node k on processor k). ``words`` limits the memory of a processor:
    registers, each one word per node hosted, and the words of one round's messages; ``message_words`` that of a single
    message (default: what fits in the memory). With ``count_links`` false, link loads, words and messages per processor
    are not counted, which is faster. A program ends at the deadline of ``search``.
    """

    def __init__(
        self,
        x: Index,
        y: Index,
        grid: Grid,
        *,
        words: int = 96,
        message_words: int | None = None,
        count_links: bool = True,
        host: Index | None = None,
        listener: Listener | None = None,
        search: Search | None = None,
    ) -> None:
        self.grid = grid
        self.processors = len(x)
        self.rounds = 0
        self.words_held = 0
        self.words_limit = words
        self.message_words_limit = words if message_words is None else message_words
        self.count_links = count_links
        self._clock = np.zeros(len(x), np.int32)
        self._far = np.zeros(len(x), np.int64)
        self._registers = self._carried = 0
        self._links = np.zeros((4, grid.cells if count_links else 0), np.int32)
        self._ports = np.zeros((2, len(x) if count_links else 0), np.int32)
        self._traffic = Traffic(x, y, self._clock, self._far, *self._ports)
        self._routes = Routes(x, y, grid.width, self._links)
        self._listener = listener
        self._search = search
        self._host = host_of = np.arange(len(x), dtype=np.int32) if host is None else host
        self._share = 1 if host is None else int(np.bincount(host_of, minlength=1).max(initial=1))

    def hosting(self, host: Index | None) -> None:
        """Begin a phase: nodes are hosted by these processors from now on; all registers but the carried are free."""
        self._registers = self._carried
        self._host = np.arange(self.processors, dtype=np.int32) if host is None else host
        self._share = 1 if host is None else int(np.bincount(host, minlength=1).max(initial=1))

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self._host)

    def register(self, fill: Any, dtype: Any = np.int32, *, words: int = 1) -> Array:
        """Return a new register of every node: ``fill`` is its value, or an array of them; counted as memory.

        Raises :class:`InfeasibleError` if a processor would hold more words than it has.
        """
        self.keep(words)
        shape = (self.nodes,) if words == 1 else (self.nodes, words)
        array = np.empty(shape, dtype)
        array[:] = fill
        return array

    def carry(self, words: int) -> None:
        """Count ``words`` more words held on every processor from now on, through all phases (fewer, if negative)."""
        self._carried += words
        self._registers += words
        self._hold(self._registers)

    def keep(self, words: int) -> None:
        """Count ``words`` more words held for every node (fewer, if negative)."""
        self._registers += words * self._share
        self._hold(self._registers)

    def _hold(self, words: int) -> None:
        self.words_held = max(self.words_held, words)
        if words > self.words_limit:
            raise InfeasibleError(
                "memory of a processor", demand=words, limit=self.words_limit, cure="give more --words"
            )

    def send(self, sender: Index, receiver: Index, *payload: Array, in_order: bool = False) -> None:
        """Send one message from node ``sender[i]`` to node ``receiver[i]``, all at once.

        ``payload`` are the arrays sent, element i with message i: the caller stores them at the receivers. With
        ``in_order`` the messages are not simultaneous: each is sent after those before it have arrived (a wave).
        Raises :class:`InfeasibleError` if a message is too long, or if a processor sends or receives more than
        :data:`MOST_MESSAGES` at once; :class:`NoPlanError` when the search that the program is a part of has to end.
        """
        if len(sender) == 0:
            return
        expect_time(self._search)
        self.rounds += 1
        words = sum(1 if array.ndim == 1 else array.shape[1] for array in payload)
        if words > self.message_words_limit:
            raise InfeasibleError("words of a message", demand=words, limit=self.message_words_limit)
        deliver(self._traffic, sender, receiver, self._host, in_order)
        if self.count_links:
            self._count(sender, receiver, words, in_order=in_order)
        if self._listener is not None:
            self._tell(self._listener, sender, receiver, in_order=in_order)

    def _count(self, sender: Index, receiver: Index, words: int, *, in_order: bool) -> None:
        add_node_routes(self._routes, sender, receiver, self._host)
        most = count_ports(self._traffic, sender, receiver, self._host)
        if in_order:  # a wave reaches a processor message by message
            self._hold(self._registers + words)
            return
        if most > MOST_MESSAGES:
            raise InfeasibleError("messages of a processor in one round", demand=most, limit=MOST_MESSAGES)
        self._hold(self._registers + words * most)

    def _tell(self, listener: Listener, sender: Index, receiver: Index, *, in_order: bool) -> None:
        a, b = self._host[sender], self._host[receiver]
        away = a != b
        if not in_order:
            listener.round(a[away], b[away])
            return
        for i in np.flatnonzero(away).tolist():
            expect_time(self._search)
            listener.round(a[i : i + 1], b[i : i + 1])

    def link_loads(self) -> Index:
        """Return the load of every link so far, shape (4, height, width) as in :func:`cost.link_loads`."""
        loads = self._links.copy()
        sum_routes(self.grid.width, self.grid.height, loads)
        return loads.reshape(4, self.grid.height, self.grid.width)

    def cost(self) -> Cost:
        """Return energy, depth, critical-path distance and, if counted, the largest link load."""
        amounts = {
            "energy_hops": self._traffic.hops,
            "depth": int(self._clock.max(initial=0)),
            "distance_hops": int(self._far.max(initial=0)),
        }
        if self.count_links:
            amounts["link_load"] = int(self.link_loads().max(initial=0))
        return Cost(**amounts)

    def figures(self) -> dict[str, float]:
        """Return what else was counted: messages, rounds, longest message, words held, messages per processor, cycles.

        ``cycles`` is the wafer-scale clock of Luczynski et al.: the larger of contention and energy / links + longest
        chain in hops, plus 2 t_r + 1 cycles for each link of the longest chain of messages.
        """
        contention = int(self._ports.max(initial=0))
        spread = self._traffic.hops / max(1, self.grid.links) + int(self._far.max(initial=0))
        counted = {"words_per_processor": self.words_held, "messages_per_processor": contention}
        return {
            "messages": self._traffic.messages,
            "rounds": self.rounds,
            "longest_message_hops": self._traffic.longest,
            **(counted if self.count_links else {}),
            "cycles": max(contention, spread) + (2 * ROUTER_CYCLES + 1) * int(self._clock.max(initial=0)),
        }
