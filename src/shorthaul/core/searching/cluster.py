"""Tasks on a Dask cluster, for searches that outgrow one machine (extra ``[cluster]``)."""

from __future__ import annotations

import pickle
import signal
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any, Final, TypeVar

from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.core.searching.processes import deaf
from shorthaul.core.searching.signals import Allowance, TaskSearch, Told
from shorthaul.core.version import VERSION

if TYPE_CHECKING:
    from shorthaul.core.searching.tasks import Work

TaskT = TypeVar("TaskT")
AnswerT = TypeVar("AnswerT")

#: The address that stands for a cluster of this machine's processes, started for the search.
LOCAL: Final = "local"
#: A task asks the scheduler whether to stop, and tells its best, at most this often, in seconds.
_POLL_S: Final = 0.5
#: How often the search looks for answers, in seconds.
_LOOK_S: Final = 0.1
#: How long the scheduler may take to answer, in seconds.
_CONNECT_S: Final = 5
#: How long its first worker may take to come, in seconds: those of a job start after their scheduler.
_FIRST_WORKER_S: Final = 30
#: How long a cluster may be without any worker while tasks are left, in seconds.
_ALONE_S: Final = 10.0


class ClusterLostError(Exception):
    """The cluster cannot do what is left; what it did so far counts."""


@dataclass(slots=True)
class _Remote:
    """The signals of a task on a worker of a cluster."""

    name: str
    index: int
    event: Any
    stopped: bool = False
    is_lost: bool = False
    next_poll: float = 0.0

    def is_stopped(self) -> bool:
        """True when the search said so, or the scheduler is gone."""
        now = time.monotonic()
        if now >= self.next_poll and not self.stopped:
            try:
                self.stopped = bool(self.event.is_set())
            except Exception:
                self.stopped = self.is_lost = True
            self.next_poll = time.monotonic() + _POLL_S
        return self.stopped

    def stop(self) -> None:
        """Nothing: signals of the system reach the search."""

    def tell(self, best: float) -> None:
        """Send the best cost so far."""
        self._send(best, has_plan=False)

    def keep(self, cost: float, plan: Any) -> None:
        """Leave a plan at the scheduler, in place of the one before, and say so."""
        from distributed import Variable

        with suppress(Exception):
            Variable(_shelf(self.name, self.index)).set(pickle.dumps((cost, plan)))
            self._send(cost, has_plan=True)

    def _send(self, cost: float, *, has_plan: bool) -> None:
        from distributed import get_worker

        with suppress(Exception):
            get_worker().log_event(self.name, (cost, self.index, has_plan))


def _shelf(name: str, index: int) -> str:
    """Return the name of the variable that holds the best plan of a task."""
    return f"{name}-{index}"


@dataclass(slots=True)
class _Run:
    """The tasks of one run on a cluster."""

    client: Any
    address: str
    name: str = field(default_factory=lambda: f"shorthaul-{uuid.uuid4().hex}")
    running: dict[Any, int] = field(default_factory=dict)
    #: The best cost that tasks told, and those that left a plan since it was asked for.
    told: float = float("inf")
    shelves: set[int] = field(default_factory=set)
    alone_since: float | None = None

    def threads(self) -> int:
        """Return how many tasks run at once; raises :class:`ClusterLostError`."""
        if self.client.status != "running":
            raise ClusterLostError(f"the scheduler at {self.address} is gone")
        count = int(sum(self.client.nthreads().values()))
        now = time.monotonic()
        self.alone_since = None if count else (self.alone_since or now)
        if self.alone_since is not None and now - self.alone_since > _ALONE_S:
            raise ClusterLostError(f"the cluster at {self.address} has no workers left")
        return count

    def hear(self, cost: float, index: int, has_plan: bool) -> None:
        """Take in what a task told, in the thread of the client."""
        self.told = min(self.told, cost)
        if has_plan:
            self.shelves.add(index)

    def plans(self) -> Iterator[Told]:
        """Yield the plans that tasks left."""
        from distributed import Variable

        while self.shelves:
            shelf = Variable(_shelf(self.name, self.shelves.pop()), client=self.client)
            with suppress(Exception):
                yield Told(*pickle.loads(shelf.get(timeout=_CONNECT_S)))

    def answers(self) -> Iterator[tuple[int, Any]]:
        """Yield what is done as (number, (answer, effort)), None for a task that was lost."""
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        done = [future for future in self.running if future.done()]
        if not done:
            time.sleep(_LOOK_S)
        for future in sorted(done, key=lambda future: self.running[future]):
            index = self.running.pop(future)
            try:
                yield index, future.result(timeout=_CONNECT_S)
            except (KilledWorker, FutureCancelledError, OSError, TimeoutError):
                yield index, None


def run_on_cluster(work: Work[TaskT, AnswerT]) -> Iterator[tuple[int, AnswerT]]:
    """Yield the answers of ``work`` as tasks finish on the workers of its search's cluster.

    Only as many tasks as there are threads are handed out at a time, so that each knows how long it may take. Raises
    :class:`InputError` if the cluster cannot be used, and :class:`ClusterLostError` if it is lost on the way: tasks
    that were not done are left in ``work`` then.
    """
    assert work.search.cluster is not None
    client = connected(work.search.cluster, work.search.workers)
    run = _Run(client, work.search.cluster)
    try:
        yield from _handed_out(work, run)
    except ClusterLostError:
        raise
    except Exception as error:
        if client.status == "running" and not isinstance(error, OSError):
            raise
        raise ClusterLostError(f"the cluster at {run.address} is lost") from None
    finally:
        for index in sorted(run.running.values(), reverse=True):
            work.put_back(index)
        if client.status == "running":
            with suppress(Exception):
                client.cancel(list(run.running))


def _handed_out(work: Work[TaskT, AnswerT], run: _Run) -> Iterator[tuple[int, AnswerT]]:
    from distributed import Event

    stop = Event(run.name, client=run.client)
    run.client.subscribe_topic(run.name, lambda event: run.hear(*event[1]))
    is_stopping = False
    try:
        while True:
            count = run.threads()
            while len(run.running) < count and (taken := work.take(count, len(run.running))) is not None:
                index, allowed = taken
                future = run.client.submit(_run, work.function, work.tasks[index], allowed, run.name, index, pure=False)
                run.running[future] = index
            if not run.running and not work.waiting:
                return
            for index, found in run.answers():
                if found is None:
                    work.put_back(index)
                    run.threads()
                elif index <= work.needed:
                    work.note(index, *found)
                    yield index, found[0]
            if work.is_over() and not is_stopping:
                is_stopping = True
                stop.set()
            for told in run.plans():
                work.hear(told)
            work.watch(run.told)
    finally:
        if run.client.status == "running":
            with suppress(Exception):
                run.client.unsubscribe_topic(run.name)
                stop.set()


def _run(
    function: Callable[[TaskT, Search], AnswerT], task: TaskT, allowed: Allowance, name: str, index: int
) -> tuple[AnswerT, float]:
    """Run one task on a worker; return its answer and the effort it took.

    Raises ConnectionError if it ended early since it did not reach the scheduler: it is but a part of an answer.
    """
    from distributed import Event

    remote = _Remote(name, index, Event(name))
    search = TaskSearch(allowed, remote)
    answer = function(task, search)
    if remote.is_lost:
        raise ConnectionError("the scheduler was not reached")
    return answer, search.work()


def threads(search: Search) -> int:
    """Return how many tasks run at once on the cluster of ``search``."""
    assert search.cluster is not None
    return max(1, int(sum(connected(search.cluster, search.workers).nthreads().values())))


@cache
def connected(address: str, workers: int) -> Any:
    """Return a client of the Dask scheduler at ``address``, or of a fresh cluster of ``workers`` local processes.

    Raises :class:`InputError` if Dask is not installed, the address is wrong, nobody answers, or the workers have no
    shorthaul of this version.
    """
    try:
        from distributed import Client, LocalCluster
        from distributed.comm.addressing import parse_address, parse_host_port
    except ImportError:
        cure = "pip install 'shorthaul[cluster]'"
        raise InputError("needs Dask, which is not installed", place="--cluster", value=address, cure=cure) from None
    import logging

    for name in (
        "asyncio",
        "distributed",
        *(name for name in logging.root.manager.loggerDict if name.startswith("distributed.")),
    ):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if address == LOCAL:
        settings = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": logging.CRITICAL}
        resource_tracker.ensure_running()  # it unblocks the signal in the thread that starts it
        with deaf({signal.SIGINT}):  # which a terminal sends to all of them: the search tells them
            return Client(LocalCluster(n_workers=workers, **settings), set_as_default=False)
    try:
        protocol, place = parse_address(address)
        if protocol in {"tcp", "tls"}:  # the client tries again and again where nobody listens, once for minutes
            socket.create_connection(parse_host_port(place), _CONNECT_S).close()
        client = Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = str(error) or "nobody answers"
        raise InputError(
            f"cannot be reached: {reason}",
            place="--cluster",
            value=address,
            allowed="the address of a Dask scheduler, such as tcp://host:8786, or local",
        ) from None
    with suppress(TimeoutError):
        client.wait_for_workers(1, timeout=_FIRST_WORKER_S)
    _expect_same_version(client, address)
    return client


def _expect_same_version(client: Any, address: str) -> None:
    try:
        found = set(client.run(_version).values())
    except ImportError:
        found = {"none"}
    if not found:
        waited = f"has no workers, and none came within {_FIRST_WORKER_S} s"
        raise InputError(waited, place="--cluster", value=address, cure="start some with 'dask worker'")
    if found != {VERSION}:
        raise InputError(
            f"the workers have shorthaul {', '.join(sorted(found))}",
            place="--cluster",
            value=address,
            cure=f"install shorthaul {VERSION} on all of them",
        )


def _version() -> str:
    return VERSION
