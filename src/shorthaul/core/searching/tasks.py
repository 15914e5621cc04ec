"""The tasks of one search, run in this process, on a pool of processes, or on a cluster."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, TypeVar

from shorthaul.core.search import Search
from shorthaul.core.searching.signals import CURRENT

TaskT = TypeVar("TaskT")
AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True)
class _Here:
    """The signals of tasks that run in the process of the search."""

    search: Search

    def is_stopped(self) -> bool:
        return self.search.expired()

    def remaining_s(self) -> float | None:
        return None if self.search.time_limit_s is None else self.search.remaining_s()

    def tell(self, best: float) -> None:
        self.search.report(best=best)


@dataclass(frozen=True, slots=True)
class _Shared:
    """The signals of tasks on a pool of processes; all processes of a machine share its monotonic clock."""

    deadline: float
    stopped: Any
    best: Any

    def is_stopped(self) -> bool:
        return bool(self.stopped.value) or time.monotonic() >= self.deadline

    def remaining_s(self) -> float | None:
        return None if self.deadline == float("inf") else max(0.0, self.deadline - time.monotonic())

    def tell(self, best: float) -> None:
        self.best.value = min(self.best.value, best)


def run_tasks(
    function: Callable[[TaskT], AnswerT],
    tasks: Sequence[TaskT],
    *,
    search: Search,
    watch: Callable[[float], None] | None = None,
) -> Iterator[tuple[int, AnswerT]]:
    """Yield ``(index, function(task))`` as tasks finish, on up to ``search.workers`` processes, or on its cluster.

    ``function`` must be a module-level function and its tasks must pickle. With one worker, or one task, everything
    runs in this process. When the search expires, tasks not yet started are dropped; running ones are waited for, so
    they must ask :func:`shorthaul.core.searching.signals.stop_requested`, or keep to
    :func:`shorthaul.core.searching.signals.time_left_s`. ``watch`` is called a few times a second with the best cost
    that the tasks told with :func:`shorthaul.core.searching.signals.tell_best` (infinite before the first).

    >>> sorted(run_tasks(abs, [-1, 2], search=Search(workers=1)))
    [(0, 1), (1, 2)]
    """
    if search.cluster is not None:
        from shorthaul.core.searching.cluster import run_on_cluster

        return run_on_cluster(function, tasks, search=search, watch=watch)
    if min(search.workers, len(tasks)) <= 1:
        return _run_here(function, tasks, search)
    return _run_on_pool(function, tasks, search, watch)


def _run_here(
    function: Callable[[TaskT], AnswerT], tasks: Sequence[TaskT], search: Search
) -> Iterator[tuple[int, AnswerT]]:
    for index, task in enumerate(tasks):
        if search.expired() and index > 0:
            return
        before = CURRENT.set(_Here(search))
        try:
            answer = function(task)
        finally:
            CURRENT.reset(before)
        yield index, answer


def _run_on_pool(
    function: Callable[[TaskT], AnswerT],
    tasks: Sequence[TaskT],
    search: Search,
    watch: Callable[[float], None] | None,
) -> Iterator[tuple[int, AnswerT]]:
    context = _context()
    shared = _Shared(search.deadline, context.RawValue("b", 0), context.RawValue("d", float("inf")))
    workers = min(search.workers, len(tasks))
    lost: list[int] = []
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker, initargs=(shared,)) as pool:
        waiting: dict[Future[AnswerT], int] = {pool.submit(function, task): index for index, task in enumerate(tasks)}
        try:
            while waiting:
                done, _ = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=lambda item: waiting[item]):
                    index = waiting.pop(future)
                    try:
                        answer = future.result()
                    except BrokenExecutor:
                        lost.append(index)
                        continue
                    yield index, answer
                if watch is not None:
                    watch(shared.best.value)
                if search.expired():
                    shared.stopped.value = 1
                    for future in [item for item in waiting if item.cancel()]:
                        del waiting[future]
        finally:
            shared.stopped.value = 1
    if lost:
        print(f"a worker process died; its {len(lost)} tasks are run again, in this process", file=sys.stderr)
        for at, answer in _run_here(function, [tasks[index] for index in lost], search):
            yield lost[at], answer


def _context() -> multiprocessing.context.BaseContext:
    # Forking keeps compiled kernels warm in the workers, but is unsafe beside running threads.
    can_fork = "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"
    return multiprocessing.get_context("fork" if can_fork and threading.active_count() == 1 else "spawn")


def _start_worker(shared: _Shared) -> None:
    CURRENT.set(shared)
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
