"""A point executed in real parallel: a process per core, which fires its actors in the order of the plan.

A core has an inbox, to which others send tokens and the news that a place of a buffer is free again. Every reader gets
a copy of a token of its own. What passed every access is kept as digests, and compared with those of a process in
which all actors fire in turn.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import pickle
import signal
import sys
import time
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from multiprocessing.connection import Connection, wait
from typing import Any, Final

from shorthaul.core.check import Violation
from shorthaul.core.errors import InputError, NoPlanError
from shorthaul.core.search import Search
from shorthaul.core.searching.processes import end_with_parent
from shorthaul.core.searching.threads import start_thread
from shorthaul.dataflow.execution.functions import Functions
from shorthaul.dataflow.graphs.multi_reader_buffers import Buffer, Network
from shorthaul.dataflow.mapping.binding import MappedNetwork
from shorthaul.dataflow.mapping.steps import Access, Step, accesses, steps_of_cores
from shorthaul.dataflow.plan import Point

_LOOK_S: Final = 0.1
_UNLIMITED: Final = 2**62
#: By access, the digests of the tokens that passed it, in their order; by actor, those of what it returned.
Passed = dict[str, list[bytes]]
_Ring = tuple[str, int]


@dataclass(frozen=True, slots=True)
class ParallelRun:
    """What a run on all cores did: seconds beside those of all actors in turn, and where their tokens differ."""

    tokens: int
    seconds: float
    in_turn_s: float
    fullest: Mapping[str, int]
    differences: tuple[Violation, ...]


@dataclass(slots=True)
class _Done:
    """What a process reports."""

    passed: Passed
    fullest: dict[str, int]
    began: float
    ended: float
    initial: dict[str, list[bytes]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Shared:
    """What processes share: a queue each, and a barrier, so that nobody begins before all are there."""

    inboxes: Mapping[str, Any]
    start: Any


_Work = Callable[[str, _Shared], _Done]


def run_on_cores(
    net: MappedNetwork, point: Point, functions: Functions, *, iterations: int, search: Search
) -> ParallelRun:
    """Run ``iterations`` of a point; raises :class:`InputError` for a function that fails or returns wrong tokens."""
    found = accesses(net)
    steps = steps_of_cores(net, point, found)
    (turn,) = _processes(
        ["in turn"], lambda _name, _shared: _in_turn(net.network, found, functions, iterations), search
    )
    owner = {actor: core for core, mine in steps.items() for actor in {step.actor for step in mine}}

    def on_core(core: str, shared: _Shared) -> _Done:
        worker = _Core(net.network, found, functions, iterations, point.capacities, turn.initial)
        worker.connect(core, owner, shared.inboxes)
        shared.start.wait()
        return worker.run(steps[core])

    done = _processes(list(steps), on_core, search)
    passed = {name: digests for core in done for name, digests in core.passed.items()}
    return ParallelRun(
        tokens=sum(map(len, passed.values())),
        seconds=max(core.ended for core in done) - min(core.began for core in done),
        in_turn_s=turn.ended - turn.began,
        fullest={name: count for core in done for name, count in core.fullest.items()},
        differences=tuple(_differences(passed, turn.passed)),
    )


def _differences(passed: Passed, wanted: Passed) -> list[Violation]:
    found = []
    for name, digests in wanted.items():
        if passed.get(name, []) != digests:
            pairs = enumerate(zip(passed[name], digests, strict=True))
            number = next(number for number, (one, other) in pairs if one != other)
            message = f"token {number} differs from that of the actors in turn: is a state shared, or a number drawn?"
            found.append(Violation("other-token", name, message))
    return found


def _in_turn(
    network: Network, found: Mapping[str, tuple[list[Access], list[Access]]], functions: Functions, iterations: int
) -> _Done:
    """All actors on one core, each once an iteration, with as much room as they like."""
    initial = {
        buffer.id: [
            _packed(functions.initial(buffer.id, number), f"channel {buffer.id}, initial token {number}")
            for number in range(buffer.delay)
        ]
        for buffer in network.buffers
    }
    order: TopologicalSorter[str] = TopologicalSorter({name: [] for name in network.actors})
    for buffer in network.buffers:
        for reader in buffer.readers if not buffer.delay else ():
            order.add(reader, buffer.writer)
    room = {buffer.id: _UNLIMITED for buffer in network.buffers}
    core = _Core(network, found, functions, iterations, room, initial)
    core.connect("", dict.fromkeys(network.actors, ""), {})
    done = core.run([Step(actor, None, 0) for actor in order.static_order()], copies=False)
    done.initial = initial
    return done


def _packed(token: Any, place: str) -> bytes:
    try:
        return pickle.dumps(token, 5)
    except Exception as error:
        raise _unsent(error, place) from None


def _unsent(error: Exception, place: str) -> InputError:
    return InputError(
        f"a token cannot be sent to another core: {type(error).__name__}: {error}", place=place,
        cure="return data: numbers, arrays, lists",
    )  # fmt: skip


class _Core:
    """The actors of one core, its inbox, and the state of the buffers around them."""

    def __init__(
        self,
        network: Network,
        found: Mapping[str, tuple[list[Access], list[Access]]],
        functions: Functions,
        iterations: int,
        capacities: Mapping[str, int],
        initial: Mapping[str, list[bytes]],
    ) -> None:
        self.found, self.functions, self.iterations = found, functions, iterations
        self.capacities = capacities
        self.buffers = {buffer.id: buffer for buffer in network.buffers}
        self.arrived: dict[_Ring, deque[bytes]] = {}
        self.unread: dict[str, list[int]] = {}
        for buffer in network.buffers:
            self.unread[buffer.id] = [buffer.delay] * len(buffer.readers)
            for number in range(len(buffer.readers)):
                self.arrived[buffer.id, number] = deque(initial[buffer.id])
        self.made: defaultdict[str, deque[Mapping[str, Any]]] = defaultdict(deque)
        self.held: defaultdict[str, deque[Any]] = defaultdict(deque)
        self.passed: defaultdict[str, list[bytes]] = defaultdict(list)
        self.fullest = {buffer.id: buffer.delay for buffer in network.buffers}
        self.fired = dict.fromkeys(network.actors, 0)

    def connect(self, core: str, owner: Mapping[str, str], inboxes: Mapping[str, Any]) -> None:
        """Say which core this is, on which the others' actors are, and how messages reach them."""
        self.core, self.owner, self.inboxes = core, owner, inboxes
        self.expected = 0
        for buffer in self.buffers.values():
            for reader in buffer.readers:
                if (owner[buffer.writer] == core) != (owner[reader] == core):
                    self.expected += self.iterations

    def run(self, steps: Sequence[Step], *, copies: bool = True) -> _Done:
        """Take the steps, one period after another; then hear what is still to come, so that nobody waits for us."""
        began = time.monotonic()
        latest = max(step.age for step in steps)
        for period in range(self.iterations + latest):
            for step in steps:
                if not 0 <= period - step.age < self.iterations:
                    continue
                if step.access is None:
                    self._execute(step.actor, copies=copies)
                elif step.access.reader < 0:
                    self._write(step.access, self.made[step.access.task.name].popleft())
                else:
                    self.held[step.access.task.name].append(self._read(step.access))
                    self._leave(step.access)
        ended = time.monotonic()
        while self.expected:
            self._hear()
        mine = {
            name: count for name, count in self.fullest.items() if self.owner[self.buffers[name].writer] == self.core
        }
        return _Done(dict(self.passed), mine, began, ended)

    def _execute(self, actor: str, *, copies: bool) -> None:
        reads, writes = self.found[actor]
        here = {access.task.name for access in (*reads, *writes) if not (copies and access.is_copy)}
        for access in writes:
            if access.task.name in here:
                self._wait_for_place(access.buffer)
        tokens = {
            access.edge: self._read(access) if access.task.name in here else self.held[access.task.name].popleft()
            for access in reads
        }
        made = self.functions.fire(actor, self.fired[actor], tokens)
        self.fired[actor] += 1
        if "" in made:
            self._note(actor, _packed(made[""], f"what {actor} returns"))
        for access in writes:
            if access.task.name in here:
                self._write(access, made)
            else:
                self.made[access.task.name].append(made)
        for access in reads:
            if access.task.name in here:
                self._leave(access)

    def _note(self, access: str, token: bytes) -> None:
        self.passed[access].append(hashlib.blake2b(token, digest_size=16).digest())

    def _wait_for_place(self, buffer: Buffer) -> None:
        self._until(lambda: max(self.unread[buffer.id]) < self.capacities[buffer.id], f"{buffer.id} is full")

    def _write(self, access: Access, made: Mapping[str, Any]) -> None:
        buffer = access.buffer
        self._wait_for_place(buffer)
        token = _packed(made[access.edge], f"channel {access.edge}, written by {buffer.writer}")
        self._note(access.task.name, token)
        for number, reader in enumerate(buffer.readers):
            self.unread[buffer.id][number] += 1
            if self.owner[reader] == self.core:
                self.arrived[buffer.id, number].append(token)
            else:
                self.inboxes[self.owner[reader]].put((buffer.id, number, token))
        self.fullest[buffer.id] = max(self.fullest[buffer.id], *self.unread[buffer.id])

    def _read(self, access: Access) -> Any:
        ring = access.buffer.id, access.reader
        self._until(lambda: self.arrived[ring], f"{access.buffer.id} is empty")
        token = self.arrived[ring].popleft()
        self._note(access.task.name, token)
        try:
            return pickle.loads(token)
        except Exception as error:
            raise _unsent(error, f"channel {access.edge}") from None

    def _leave(self, access: Access) -> None:
        buffer = access.buffer
        owner = self.owner[buffer.writer]
        if owner == self.core:
            self.unread[buffer.id][access.reader] -= 1
        else:
            self.inboxes[owner].put((buffer.id, access.reader, None))

    def _until(self, happened: Callable[[], object], problem: str) -> None:
        while not happened():
            if not self.expected:
                raise InputError(f"the actors wait for one another: {problem}", place=f"core {self.core}")
            self._hear()

    def _hear(self) -> None:
        name, number, token = self.inboxes[self.core].get()
        self.expected -= 1
        if token is None:
            self.unread[name][number] -= 1
        else:
            self.arrived[name, number].append(token)


def _processes(names: Sequence[str], work: _Work, search: Search) -> list[_Done]:
    """Return what ``work`` returns for every name, each in a process of its own; none outlives this call."""
    if "fork" not in multiprocessing.get_all_start_methods():
        raise InputError("runs on systems that can fork processes", place="--functions", cure="use Linux or macOS")
    context = multiprocessing.get_context("fork")
    shared = _Shared({name: context.Queue() for name in names}, context.Barrier(len(names)))
    ours, processes = [], []
    try:
        for name in names:
            mine, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_serve, args=(work, name, shared, theirs))
            with warnings.catch_warnings():  # no thread of ours holds a lock that they need
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            theirs.close()
            ours.append(mine)
            processes.append(process)
        return _answers(names, ours, processes, search)
    finally:
        for process in processes:
            process.kill()
            process.join()


def _answers(names: Sequence[str], ours: Sequence[Connection], processes: Sequence[Any], search: Search) -> list[_Done]:
    found: dict[str, _Done] = {}
    while len(found) < len(names):
        if search.expired():
            raise NoPlanError("the run did not end before the search was stopped")
        waiting = [connection for name, connection in zip(names, ours, strict=True) if name not in found]
        for connection in wait(waiting, _LOOK_S):
            number = ours.index(connection)
            try:
                answer = ours[number].recv()
            except EOFError:
                processes[number].join()
                raise InputError(
                    "the process ended before it was done", place=f"core {names[number]}",
                    value=f"exit status {processes[number].exitcode}", cure="correct the functions of its actors",
                ) from None  # fmt: skip
            if isinstance(answer, BaseException):
                raise answer
            found[names[number]] = answer
    return [found[name] for name in names]


def _serve(work: _Work, name: str, shared: _Shared, connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    start_thread(end_with_parent, "parent")
    sys.stdout = sys.stderr  # what functions print is no part of the answer
    try:
        connection.send(work(name, shared))
    except Exception as error:
        connection.send(error)
    connection.close()
