"""Tasks on a Dask cluster, for searches that outgrow one machine (extra ``[cluster]``)."""

from __future__ import annotations

import signal
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import resource_tracker
from typing import Any, Final, TypeVar

from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.core.searching.signals import CURRENT
from shorthaul.core.version import VERSION

TaskT = TypeVar("TaskT")
AnswerT = TypeVar("AnswerT")

#: The address that stands for a cluster of this machine's processes, started for the search.
LOCAL: Final = "local"
#: A task asks the scheduler whether to stop, and tells its best, at most this often, in seconds.
_POLL_S: Final = 0.5
#: How often the search looks for answers, in seconds.
_LOOK_S: Final = 0.1
#: How long the scheduler may take to answer at first, in seconds.
_CONNECT_S: Final = 10


@dataclass(slots=True)
class _Remote:
    """The signals of a task on a worker of a cluster, its deadline on the worker's own clock."""

    name: str
    deadline: float
    event: Any
    stopped: bool = False
    next_poll: float = 0.0
    next_tell: float = 0.0
    told: float = field(default=float("inf"))

    def is_stopped(self) -> bool:
        now = time.monotonic()
        if now >= self.next_poll and not self.stopped:
            self.stopped = now >= self.deadline or bool(self.event.is_set())
            self.next_poll = min(time.monotonic() + _POLL_S, self.deadline)
        return self.stopped

    def remaining_s(self) -> float | None:
        return None if self.deadline == float("inf") else max(0.0, self.deadline - time.monotonic())

    def tell(self, best: float) -> None:
        now = time.monotonic()
        if best < self.told and now >= self.next_tell:
            from distributed import get_worker

            self.told, self.next_tell = best, now + _POLL_S
            get_worker().log_event(self.name, best)


def run_on_cluster(
    function: Callable[[TaskT], AnswerT],
    tasks: Sequence[TaskT],
    *,
    search: Search,
    watch: Callable[[float], None] | None = None,
) -> Iterator[tuple[int, AnswerT]]:
    """Yield ``(index, function(task))`` as tasks finish on the workers of the cluster ``search.cluster``.

    The cluster is the address of a Dask scheduler, or ``local``. Only as many tasks as there are threads are handed
    out at a time, so that each knows how long it may take. Raises :class:`InputError` if the cluster cannot be used,
    or is lost before any task has finished.
    """
    assert search.cluster is not None
    client = connected(search.cluster, search.workers)
    from distributed import Event

    name = f"shorthaul-{uuid.uuid4().hex}"
    stop = Event(name, client=client)
    queue = list(enumerate(tasks))[::-1]
    waiting: dict[Any, int] = {}
    has_answer = False
    try:
        while queue or waiting:
            is_over = search.expired()
            if is_over:
                stop.set()
                queue = queue[-1:] if not waiting and not has_answer else []
            free = max(1, sum(client.nthreads().values())) - len(waiting)
            limit_s = None if search.time_limit_s is None else search.remaining_s()
            for _ in range(min(free, len(queue))):
                index, task = queue.pop()
                waiting[client.submit(_run, function, task, name, limit_s, pure=False)] = index
            for future in _finished(waiting):
                index, answer = waiting.pop(future), _answer(future, search.cluster)
                has_answer = True
                yield index, answer
            if watch is not None:
                watch(min((best for _, best in client.get_events(name)), default=float("inf")))
    finally:
        stop.set()
        client.cancel(list(waiting))
        stop.clear()


def _run(function: Callable[[TaskT], AnswerT], task: TaskT, name: str, limit_s: float | None) -> AnswerT:
    """Run one task on a worker."""
    from distributed import Event

    deadline = float("inf") if limit_s is None else time.monotonic() + limit_s
    before = CURRENT.set(_Remote(name, deadline, Event(name)))
    try:
        return function(task)
    finally:
        CURRENT.reset(before)


def _finished(waiting: dict[Any, int]) -> list[Any]:
    """Return the futures that are done, after a moment if none is, in the order of their tasks."""
    done = [future for future in waiting if future.done()]
    if not done:
        time.sleep(_LOOK_S)
    return sorted(done, key=lambda future: waiting[future])


def _answer(future: Any, address: str) -> Any:
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError

    try:
        return future.result()
    except (KilledWorker, FutureCancelledError, OSError) as error:
        raise InputError(
            f"the cluster lost a task: {error}", place="--cluster", value=address, cure="look at the workers' logs"
        ) from None


@cache
def connected(address: str, workers: int) -> Any:
    """Return a client of the Dask scheduler at ``address``, or of a fresh cluster of ``workers`` local processes.

    Raises :class:`InputError` if Dask is not installed, the address is wrong, nobody answers, or the workers have no
    shorthaul of this version.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        cure = "pip install 'shorthaul[cluster]'"
        raise InputError("needs Dask, which is not installed", place="--cluster", value=address, cure=cure) from None
    import logging

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if address == LOCAL:
        settings = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": logging.CRITICAL}
        with _children_deaf_to_interrupts():
            return Client(LocalCluster(n_workers=workers, **settings), set_as_default=False)
    try:
        client = Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = str(error) or "nobody answers"
        raise InputError(
            f"cannot be reached: {reason}",
            place="--cluster",
            value=address,
            allowed="the address of a Dask scheduler, such as tcp://host:8786, or local",
        ) from None
    _expect_same_version(client, address)
    return client


@contextmanager
def _children_deaf_to_interrupts() -> Iterator[None]:
    """Start threads and processes that never see Ctrl-C, which a terminal sends to all of them: the search tells them.

    One that is pressed meanwhile reaches this thread afterwards.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it unblocks the signal in the thread that starts it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _expect_same_version(client: Any, address: str) -> None:
    try:
        found = set(client.run(_version).values())
    except ImportError:
        found = {"none"}
    if not found:
        raise InputError("has no workers", place="--cluster", value=address, cure="start some with 'dask worker'")
    if found != {VERSION}:
        raise InputError(
            f"the workers have shorthaul {', '.join(sorted(found))}",
            place="--cluster",
            value=address,
            cure=f"install shorthaul {VERSION} on all of them",
        )


def _version() -> str:
    return VERSION
