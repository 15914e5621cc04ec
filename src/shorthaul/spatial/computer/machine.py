"""The machine: a grid of processors with a few words of memory each, which exchange messages.

A program is a sequence of rounds: every processor computes with its own registers, then messages are sent, all at once.
What a processor does not hold it learns from messages only; the host program decides which round comes next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.amounts import Cost
from shorthaul.core.arguments import public
from shorthaul.core.errors import InfeasibleError, InputError
from shorthaul.core.search import Search
from shorthaul.spatial.computer.contents import (
    addresses,
    bytes_each,
    contents,
    expect_memory,
    hosts_of,
    nodes_of,
    nodes_on,
    numbers_of,
    received,
    register_of,
    selected,
    share_of,
    space_of,
)  # fmt: skip
from shorthaul.spatial.computer.elements import inputs
from shorthaul.spatial.computer.memory import WORD_BYTES, MachineError, Memory, made
from shorthaul.spatial.computer.network import Network, Output, integers
from shorthaul.spatial.computer.operators import Operator
from shorthaul.spatial.computer.registers import Nodes, Register, Selection, Values, as_values
from shorthaul.spatial.computer.waves import Turns, turns_by_children, turns_by_parent
from shorthaul.spatial.layout.curves import cells
from shorthaul.spatial.model import Grid, grid_from_text

Index = npt.NDArray[np.int32]
Array = npt.NDArray[Any]


class Machine:
    """A grid of processors that compute with their own registers and exchange messages; counts what these cost.

    A message from (x, y) to (x', y') goes along its row, then along its column. It takes its distance times its words
    in energy; a word has 64 bits. A link carries one word in one direction per cycle, and a processor sends and
    receives one word per cycle.

    Parameters
    ----------
    x, y : array of int32, shape (n,)
        Where processor p stands on the grid.
    grid : Grid
        Width and height.
    words : int, default 96
        Words of memory of a processor. Everything that a program keeps counts: registers, values, selections.
    message_words : int, optional
        Words of the longest message (default: what fits in the memory).
    count_links : bool, default True
        Also count link loads and messages per processor, and let messages wait for links. Without, cycles are those
        of a machine whose links carry any number of words.
    search : Search, optional
        Its deadline ends the program.

    Raises
    ------
    InputError
        If the processors do not stand on cells of the grid, one on each.

    Examples
    --------
    Every processor of a row learns what its left neighbour holds.

    >>> machine = Machine.on("4x1")
    >>> value = machine.load("value", [5, 1, 4, 2])
    >>> left = machine.register(0, name="left")
    >>> senders = machine.all.where(machine.all.number < 3)
    >>> receivers, (received,) = machine.send(senders.number + 1, value[senders])
    >>> left[receivers] = received
    >>> machine.collect(left).tolist(), machine.cost()["energy_hops"]
    ([0, 5, 1, 4], 3)
    """

    @public
    def __init__(
        self,
        x: npt.ArrayLike,
        y: npt.ArrayLike,
        grid: Grid,
        *,
        words: int = 96,
        message_words: int | None = None,
        count_links: bool = True,
        search: Search | None = None,
    ) -> None:
        if min(words, message_words or 1) < 1:
            raise InputError("is too small", place="words", value=min(words, message_words or 1), allowed="from 1")
        columns, lines = integers(x, "x"), integers(y, "y")
        network = Network(columns, lines, grid, count_links=count_links, listener=None, search=search)
        self._begin(network, len(columns), words, message_words)

    def _begin(self, network: Network, count: int, words: int, message_words: int | None) -> None:
        self._network = network
        self._given: dict[str, float] = {}
        self._message_words = words if message_words is None else message_words
        self._memory = Memory(words)
        self._processors = nodes_on(self._memory, np.arange(count, dtype=np.int32), "processors")

    @classmethod
    @public
    def on(cls, grid: Grid | str, *, curve: str = "row-major", **options: Any) -> Machine:
        """Return a machine with a processor on every cell of ``grid``, numbered along ``curve``.

        Parameters
        ----------
        grid : Grid | str
            The grid, or its size as in ``"8x8"``.
        curve : str, default "row-major"
            A space-filling curve, as in ``plan --curve``.
        **options
            As those of :class:`Machine`.

        Returns
        -------
        Machine
            The machine.

        Raises
        ------
        InputError
            If the curve is not defined on the grid.

        Examples
        --------
        >>> Machine.on("2x2", curve="snake").all.number
        values of 'number' on processors
        """
        size = grid_from_text(grid) if isinstance(grid, str) else grid
        return cls(*cells(curve, size), size, **options)

    @classmethod
    def over(cls, network: Network, count: int, *, words: int = 96, message_words: int | None = None) -> Machine:
        """Return a machine of so many processors on a network of its own: see :class:`FabricNetwork`."""
        machine = cls.__new__(cls)
        machine._begin(network, count, words, message_words)
        return machine

    @property
    def grid(self) -> Grid:
        """Width and height."""
        return self._network.grid

    @property
    def count_links(self) -> bool:
        """Whether link loads are counted."""
        return self._network.count_links

    @property
    def processors(self) -> Nodes:
        """All processors, as nodes that have registers."""
        return self._processors

    @property
    def count(self) -> int:
        """The number of processors, which everybody knows."""
        return self._processors.count

    @property
    def all(self) -> Selection:
        """All processors."""
        return self._processors.all

    def nodes(self, host: npt.ArrayLike, name: str) -> Nodes:
        """Return nodes that are hosted by the processors ``host`` names; several nodes of a processor share its memory.

        Parameters
        ----------
        host : array of int32
            The processor of every node.
        name : str
            What the nodes are called in errors, and where the answer lists what was given.

        Returns
        -------
        Nodes
            The nodes: they have registers of their own.

        Raises
        ------
        InputError
            If there is no such processor.

        Examples
        --------
        >>> two_each = Machine.on("2x1").nodes([0, 0, 1, 1], "tasks")
        >>> two_each.all.processor
        values of 'processor' on tasks
        """
        hosts = integers(host, name)
        wrong = np.flatnonzero((hosts < 0) | (hosts >= self.count))
        if len(wrong):
            k = int(wrong[0])
            raise InputError("is no processor", place=f"{name}[{k}]", value=int(hosts[k]))
        place = f"{name}: processor"
        self._given[place] = self._given.get(place, 0.0) + hosts.itemsize / WORD_BYTES
        return nodes_on(self._memory, hosts, name)

    def register(self, fill: Any = 0, dtype: Any = np.int64, *, width: int = 1, name: str = "") -> Register:
        """Return a new register of every processor.

        Parameters
        ----------
        fill : number
            What every element is at first.
        dtype, width
            The type of a number, and how many an element has; 8 bytes are a word.
        name : str
            What errors call it.

        Returns
        -------
        Register
            The register.

        Raises
        ------
        InfeasibleError
            If a processor would hold more words than it has.

        Examples
        --------
        >>> Machine.on("2x1", words=1).register(0, name="sum")
        register 'sum' of the processors
        """
        return self.processors.register(fill, dtype, width=width, name=name)

    def load(self, name: str, values: npt.ArrayLike, nodes: Nodes | None = None) -> Register:
        """Return a register that holds ``values[k]`` at node k: the input of a program, listed as given.

        Parameters
        ----------
        name : str
            What errors and the answer call it.
        values : array, shape (n,) or (n, width)
            One value, or a row, per node.
        nodes : Nodes, optional
            The nodes (default: the processors).

        Returns
        -------
        Register
            The register.

        Raises
        ------
        InputError
            If there is not one value per node, or if values come from a register.
        InfeasibleError
            If a processor would hold more words than it has.

        Examples
        --------
        >>> machine = Machine.on("2x1")
        >>> _ = machine.load("value", [3, 4])
        >>> machine.figures()["given"]
        {'value': 1.0}
        """
        space = self._processors if nodes is None else nodes
        expect_memory(space, self._memory)
        if not isinstance(name, str):
            raise InputError("is no name", place="load", value=name, allowed="text")
        data = inputs(values, space.count, name)
        register = register_of(space, data, name)
        self._given[name] = self._given.get(name, 0.0) + bytes_each(register) / WORD_BYTES
        return register

    def send(self, to: Values, *payload: Values) -> tuple[Selection, tuple[Values, ...]]:
        """Send one message from every node that holds an address in ``to``, all at once.

        Parameters
        ----------
        to : Values
            The number of the node that each message goes to.
        *payload : Values
            What the messages carry, of the same nodes. A message without payload is a signal of one word.

        Returns
        -------
        receivers : Selection
            The nodes that got a message.
        received : tuple of Values
            What they got.

        Raises
        ------
        MachineError
            If a node is addressed that does not exist, or two messages go to one node: send them in two rounds.
        InfeasibleError
            If a message is too long, or if a processor sends or receives more than 8 at once.
        NoPlanError
            If the time limit of the search passes.

        Examples
        --------
        >>> machine = Machine.on("3x1")
        >>> receivers, _ = machine.send(2 - machine.all.number)
        >>> machine.cost()["energy_hops"]
        4
        """
        for held in (to, *payload):
            if not isinstance(held, Values):
                raise MachineError("is no value that processors hold", place="send", value=type(held).__name__)
        nodes = nodes_of(to)
        space = space_of(nodes)
        expect_memory(space, self._memory)
        self._memory.expect_running()
        sender, receiver = numbers_of(nodes), addresses(to)
        sent = [as_values(values, nodes) for values in payload]
        receivers = selected(space, receiver)
        if len(sender):
            words = self._words(sum(map(bytes_each, sent)))
            with self._memory.ended_by(InfeasibleError):  # which tells where messages go
                self._network.deliver(sender, receiver, hosts_of(space), words, crowd=share_of(space))
        return receivers, tuple(received(values, receivers) for values in sent)

    def converge(self, held: Register, target: Register, awaited: Register, operator: Operator) -> None:
        """Let every node send ``held`` to the node in ``target`` once it has got ``awaited`` messages: a wave.

        What arrives is put before what the receiver holds, by ``operator``. A node whose target is negative sends
        nothing.

        Parameters
        ----------
        held : Register
            The values; at the end every node has combined all that came to it.
        target : Register
            The node to send to.
        awaited : Register
            How many messages come.
        operator : Operator
            How values are combined.

        Raises
        ------
        MachineError
            If a node waits for a message that does not come, or for too few.

        Examples
        --------
        >>> from shorthaul.spatial.computer.operators import operator_named
        >>> machine = Machine.on("3x1")
        >>> held, target = machine.load("value", [1, 2, 3]), machine.load("target", [-1, 0, 1])
        >>> machine.converge(held, target, machine.load("awaited", [1, 1, 0]), operator_named("sum"))
        >>> machine.collect(held).tolist()
        [6, 5, 3]
        """
        self._wave(held, turns_by_parent(target, awaited), operator)

    def flood(self, held: Register, kids: Sequence[Register], operator: Operator) -> None:
        """Let every node, once it has got a message, send ``held`` to the nodes in ``kids``: a wave.

        What arrives is put before what the receiver holds. A node that is in no other's ``kids`` begins; negative
        entries are none.

        Parameters
        ----------
        held : Register
            The values.
        kids : sequence of Register
            The nodes to send to.
        operator : Operator
            How values are combined.

        Raises
        ------
        MachineError
            If a node would get two messages.

        Examples
        --------
        >>> from shorthaul.spatial.computer.operators import operator_named
        >>> machine = Machine.on("3x1")
        >>> held, following = machine.load("value", [1, 2, 3]), machine.load("following", [1, 2, -1])
        >>> machine.flood(held, [following], operator_named("sum"))
        >>> machine.collect(held).tolist()
        [1, 3, 6]
        """
        self._wave(held, turns_by_children(kids), operator)

    def _wave(self, held: Register, turns: Turns, operator: Operator) -> None:
        expect_memory(space_of(held), self._memory)
        self._memory.expect_running()
        turns.expect_of(held)
        words = self._words(bytes_each(held))
        self._network.rounds += turns.height
        if len(turns.sender):
            sender, receiver = turns.sender.astype(np.intp), turns.receiver.astype(np.intp)
            self._network.deliver(sender, receiver, hosts_of(space_of(held)), words, wave=True)
        turns.fold(held, operator)

    def _words(self, size: int) -> int:
        words = max(1, -(-size // WORD_BYTES))
        if words > self._message_words:
            raise InfeasibleError("words of a message", demand=words, limit=self._message_words)
        return words

    def emit(self, register: Register) -> Output:
        """Write a result out of the machine; the host may read it when the program has ended.

        Parameters
        ----------
        register : Register
            A result; it may be dropped then.

        Returns
        -------
        Output
            What :meth:`collect` takes.
        """
        expect_memory(space_of(register), self._memory)
        self._memory.expect_running()
        return made(Output)._of(contents(register).copy(), self._memory)

    def collect(self, result: Register | Output) -> Array:
        """End the program, and return what all nodes hold.

        Parameters
        ----------
        result : Register | Output
            A register, or what was written out before.

        Returns
        -------
        array
            One value, or a row, per node, for the host to read.

        Examples
        --------
        >>> machine = Machine.on("2x1")
        >>> machine.collect(machine.register(7)).tolist()
        [7, 7]
        """
        if isinstance(result, Output):
            return result.read_by(self._memory)
        expect_memory(space_of(result), self._memory)
        self._memory.end()
        return contents(result).copy()

    def link_loads(self) -> Index:
        """End the program; return the words over every link, shape (4, height, width) as in :func:`cost.link_loads`."""
        self._memory.end()
        return self._network.link_loads()

    def cost(self) -> Cost:
        """End the program; return energy, depth, critical-path distance and, if counted, the largest link load.

        Returns
        -------
        Cost
            ``energy_hops``, ``depth``, ``distance_hops`` and ``link_load``.
        """
        self._memory.end()
        return self._network.cost()

    def figures(self) -> dict[str, Any]:
        """End the program; return what else was counted.

        ``cycles`` is when the last word has arrived: 2 cycles from a processor to its router and back, one per link, as
        many for the words of a message as it has, and what a message waits where links are taken. ``given`` names
        what was loaded, in words per node; ``looks`` is how often the host asked whether any node is left,
        ``constants`` how many numbers it wrote into computations and registers.

        Returns
        -------
        dict
            Messages, rounds, longest message, words and messages per processor, cycles, and what the host did.

        Examples
        --------
        >>> machine = Machine.on("2x1")
        >>> _ = machine.send(1 - machine.all.number)
        >>> machine.figures()["cycles"]
        6
        """
        self._memory.end()
        return {
            **self._network.figures(),
            "words_per_processor": self._memory.most_words(),
            "looks": self._memory.looks,
            "constants": self._memory.constants,
            "given": dict(self._given),
        }
