"""The tasks of one search, run in this process, on processes of this machine, or on a cluster.

A task is a function of what it works on and of a search of its own, whose effort does not depend on how many run at
once. So the answers do not either: searches that exchange what they found do so between two calls of
:func:`run_tasks`. A worker that dies costs the time of its task, which starts again.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from shorthaul.core.search import LEAST_PART, Search
from shorthaul.core.searching.signals import Allowance, Here, TaskSearch, Told

TaskT = TypeVar("TaskT")
AnswerT = TypeVar("AnswerT")

#: Starting the first process takes about this long (Python and the imports of an engine), in seconds.
START_S: Final = 1.0
#: The same where a process is a copy of this one.
_FORK_S: Final = 0.03
#: What is left must take this many times as long here before processes are started.
_WORTH: Final = 3.0


@dataclass(slots=True)
class Work(Generic[TaskT, AnswerT]):
    """What is to be done: a function, its tasks, and which of them are still to be handed out."""

    function: Callable[[TaskT, Search], AnswerT]
    tasks: Sequence[TaskT]
    search: Search
    effort: float | None
    enough: Callable[[AnswerT], bool]
    watch: Callable[[float], None]
    #: True if tasks go on until their effort or time is spent, rather than until they are done.
    is_counted: bool
    #: True if a task has its share of the time only, False if it may take all that is left.
    shares_time: bool
    #: The work of each task, in parts of an equal share.
    weights: Sequence[float]
    #: True once nothing more is wanted: tasks that run return what they have.
    closed: Callable[[], bool] = lambda: False
    waiting: list[int] = field(init=False)
    #: The first task whose answer is enough: those behind it need not be run.
    needed: int = field(init=False)
    #: The effort that each answer took.
    spent: list[float] = field(default_factory=list)
    has_answer: bool = False
    #: The best that tasks told with its plan, and whether one of them was lost.
    told: Told | None = None
    has_lost: bool = False
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.waiting, self.needed = list(range(len(self.tasks))), len(self.tasks)

    def take(self, slots: int, running: int) -> tuple[int, Allowance] | None:
        """Return the next task and what it may do, where so many run at once; None if there is none.

        When the time is up only the first task is handed out, so that
        there is an answer.
        """
        if self.is_over():
            self.waiting = self.waiting[:1] if not self.has_answer and not running else []
        self.waiting = [index for index in self.waiting if index < self.needed]
        if not self.waiting:
            return None
        limit_s = None
        if self.search.deadline < float("inf"):
            turns = -(-(len(self.waiting) + running) // slots) if self.shares_time else 1
            limit_s = max(LEAST_PART, self.search.remaining_s() / turns)
        index = self.waiting.pop(0)
        effort = None if self.effort is None else self.effort * self.weights[index]
        keeps, proves = self.search.keeps, self.search.proves
        return index, Allowance(effort, limit_s, self.search.seed, keeps or proves, proves)

    def put_back(self, index: int) -> None:
        """Take back a task that was lost."""
        self.waiting.insert(0, index)
        self.has_lost = True

    def hear(self, told: Told) -> None:
        """Take in what a task found on its way."""
        if told.plan is None:
            self.watch(told.best)
        else:
            self.search.keep(told.best, told.plan, proves=self.search.proves)
            self.told = min(self.told or told, told, key=lambda one: one.best)

    def note(self, index: int, answer: AnswerT, spent: float) -> None:
        """Take in an answer, and the effort that it took."""
        self.has_answer = self.search.has_part = True
        self.spent.append(spent)
        if self.enough(answer):
            self.needed = min(self.needed, index)

    def is_over(self) -> bool:
        """True when the time is up, after Ctrl-C, or once closed. Effort does not count: each task has its own."""
        return self.search.interrupted or time.monotonic() >= self.search.deadline or self.closed()


def run_tasks(
    function: Callable[[TaskT, Search], AnswerT],
    tasks: Sequence[TaskT],
    *,
    search: Search,
    unlimited: float | None = None,
    shares_time: bool = True,
    enough: Callable[[AnswerT], bool] = lambda _: False,
    watch: Callable[[float], None] | None = None,
    turns: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
    closed: Callable[[], bool] = lambda: False,
    kept: Callable[[Any], AnswerT] | None = None,
) -> Iterator[tuple[int, AnswerT]]:
    """Yield ``(index, function(task, its search))`` as tasks finish, on ``search.workers`` processes or its cluster.

    ``function`` must be a module-level function, and its tasks and answers must pickle. Each task has an equal part of
    the effort that ``search`` has left: ``unlimited`` where nothing limits it, None for tasks that count no effort. It
    has its share of the time unless ``shares_time`` is False. Processes are started where they pay: with one worker,
    one task or little work everything runs here. When the time is up, tasks not yet started are dropped, all but the
    first; running ones return what they have. After an answer that is ``enough`` (optimal, say) the tasks behind it in
    ``tasks`` are dropped. ``watch`` is called with the best cost that a task reported (infinite before the first).
    ``turns`` are the numbers of all tasks in the order in which they are handed out, ``weights`` their work in parts
    of an equal share. The points of ``search`` are answers that are there already. Once ``closed`` is true, no task is
    begun any more and those on other processes return what they have. ``kept`` makes an answer of a plan that a task
    told on its way: where a task was lost whose work the clock cuts off, the best of them comes last.

    >>> def double(number: int, search: Search) -> int:
    ...     return 2 * number
    >>> sorted(run_tasks(double, [1, 2], search=Search(workers=1)))
    [(0, 2), (1, 4)]
    """
    effort = unlimited if search.is_unlimited else None
    if search.effort is not None:
        effort = max(LEAST_PART, search.left() / max(1, len(tasks)))
    seen = [float("inf")]

    def tell(best: float) -> None:
        seen[0] = min(seen[0], best)
        if watch is not None:
            watch(seen[0])

    work = Work(
        function,
        tasks,
        search,
        effort,
        enough,
        tell,
        unlimited is not None,
        shares_time,
        weights or [1.0] * len(tasks),
        closed,
    )
    if turns is not None:
        work.waiting = list(turns)
    held = {} if search.points is None else dict(search.points.held)
    for index in [at for at in work.waiting if at in held]:
        work.waiting.remove(index)
        work.note(index, held[index], 0)
        yield index, held[index]
    for index, answer in _run(work):
        if search.points is not None and not work.is_over():  # else it may be but a part of what it would be
            search.points.note(index, answer)
        yield index, answer
    if kept is not None and work.told is not None and work.has_lost and (search.is_by_clock or work.is_over()):
        yield len(tasks), kept(work.told.plan)


def _run(work: Work[TaskT, AnswerT]) -> Iterator[tuple[int, AnswerT]]:
    """Yield the answers of tasks as they finish: from the cluster, then from processes, then from here."""
    search = work.search
    try:
        if search.cluster is not None and len(work.waiting) > 1:
            from shorthaul.core.searching.cluster import ClusterLostError, run_on_cluster

            try:
                yield from run_on_cluster(work)
            except ClusterLostError as error:
                search.leave_cluster()
                print(f"{error}: what is left to do is done on this machine", file=sys.stderr)
        workers = min(search.workers, len(work.waiting))
        if workers > 1:
            yield from _run_here(work, workers, lambda: _is_worth_a_start(work))
            if work.waiting and not work.is_over():
                from shorthaul.core.searching.processes import run_on_processes

                yield from run_on_processes(work, workers)
        yield from _run_here(work)
    finally:
        search.spend(math.fsum(work.spent))  # exact: the same in whatever order tasks have ended


@contextmanager
def on_its_cluster(search: Search) -> Iterator[None]:
    """Connect the cluster that the search names, if any, for what happens inside; at its end, say if it was lost.

    Raises :class:`InputError` if nobody answers.
    """
    if search.cluster is None:
        yield
        return
    from shorthaul.core.searching.cluster import connected

    client = connected(search.cluster, search.workers)
    yield
    if search.cluster is not None and client.status != "running":
        print(f"the scheduler at {search.cluster} is gone: nothing was left to do there", file=sys.stderr)


def restarts(search: Search, asked: int | None, *, is_threaded: bool = False) -> int:
    """Return how many searches from seeds of their own to run: as asked, else one where the work is counted.

    Where only the clock limits the search they are as many as run at once; a search that uses all cores of a machine
    by itself (``is_threaded``) is repeated on a cluster only.
    """
    if asked is not None:
        return asked
    by_clock = search.effort is None and _WORTH * START_S <= search.remaining_s() < float("inf")
    return slots(search) if by_clock and (search.cluster is not None or not is_threaded) else 1


def slots(search: Search) -> int:
    """Return how many tasks of ``search`` run at once."""
    if search.cluster is None:
        return search.workers
    from shorthaul.core.searching.cluster import threads

    return threads(search)


def runs_beside(search: Search) -> bool:
    """True if tasks that take all the time that ``search`` has would run beside one another, not one by one."""
    from shorthaul.core.searching.processes import can_fork

    return slots(search) > 1 and search.remaining_s() >= _WORTH * (_FORK_S if can_fork() else START_S)


def _is_worth_a_start(work: Work[TaskT, AnswerT]) -> bool:
    """True if starting processes takes little beside what is left to do: by its limits, and by what was done here."""
    from shorthaul.core.searching.processes import can_fork

    is_copy = can_fork()
    least_s = _WORTH * (_FORK_S if is_copy else START_S)
    waiting = math.fsum(work.weights[at] for at in work.waiting)
    left_s = min(work.search.deadline - time.monotonic(), waiting * (work.effort or float("inf")))
    is_short = not work.is_counted or (work.effort is not None and work.effort < START_S)
    if is_short and not is_copy and not work.has_answer:
        return False  # the first task shows how long they take
    if work.has_answer:
        done = math.fsum(work.weights) - waiting
        left_s = min(left_s, waiting * (time.monotonic() - work.began) / done)
    return left_s >= least_s


def _run_here(
    work: Work[TaskT, AnswerT], slots: int = 1, is_enough: Callable[[], bool] = lambda: False
) -> Iterator[tuple[int, AnswerT]]:
    signals = Here(work.search, work.watch)
    while not is_enough() and (taken := work.take(slots, 0)) is not None:
        index, allowed = taken
        search = TaskSearch(allowed, signals)
        if len(work.tasks) == 1:  # then its own tasks may run beside each other
            search.workers, search.cluster = work.search.workers, work.search.cluster
        answer = work.function(work.tasks[index], search)
        work.note(index, answer, search.work())
        yield index, answer
