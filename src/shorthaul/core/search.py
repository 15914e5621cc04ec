"""The frame of every anytime search: clock, seed, Ctrl-C and progress."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, Final

from shorthaul.core.arguments import public
from shorthaul.core.options import Options, option
from shorthaul.core.searching.ending import ENDING, ENDING_COMMANDS, is_processor_time, use_processor_time
from shorthaul.core.searching.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np

    from shorthaul.core.searching.journal import Journal
    from shorthaul.core.searching.points import Points

#: The least effort (or seconds) of a part, so that each does something.
LEAST_PART = 0.02


class TerminatedError(KeyboardInterrupt):
    """SIGTERM came a second time, or where no search was under way."""


class Search:
    """How much a search may do: its effort and its deadline, its seed, on how many processes or which cluster.

    **Effort** is work, counted in moves, nodes, pivots and the like, each at a fixed price: an effort of 1 is about
    what one second of one core of the machine of our benchmarks does. The same input, options, seed and effort give
    the same answer on any machine, at any load. A **time limit** is the deadline of the whole command, in seconds.
    With a time limit alone, a search takes the clock for its effort: it shares out seconds, and goes on to the end.

    Used as a context manager it turns the first Ctrl-C or SIGTERM into :attr:`interrupted`, upon which :meth:`expired`
    is true and the search returns its best plan so far; a second one ends the program at once.

    >>> search = Search(effort=5, seed=1)
    >>> search.spend(3)
    >>> search.left(), search.expired()
    (2.0, False)
    """

    #: The searches that are under way in this process.
    under_way: ClassVar[list[Search]] = []

    @public
    def __init__(
        self,
        *,
        effort: float | None = None,
        time_limit: float | None = None,
        seed: int = 0,
        workers: int | None = None,
        cluster: str | None = None,
        progress: Progress | None = None,
        started: float | None = None,
        journal: Path | None = None,
        resume: Path | None = None,
        memory_limit: str | None = None,
        is_command: bool = False,
    ) -> None:
        TaskSearchOptions(effort=effort, time_limit=time_limit, seed=seed, workers=workers)  # refuses what is wrong
        self.effort = effort
        self.time_limit = time_limit
        self.seed = seed
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.workers = cores if workers is None else workers
        self.cluster = cluster
        self.started = time.monotonic() if started is None else started
        self._spent = 0.0
        self._stopped = False
        self._whole: Search | None = None
        self._kept_back_s = 0.0
        self._progress = progress
        self._reported: dict[str, Any] | None = None
        self._previous: dict[int, object] = {}
        #: True for the search of a command, which has its process to itself.
        self.is_command = is_command
        self._is_aside = self._is_beside = self._has_begun = self._proves = self._joins = False
        self._out: Callable[[Any], Any] | None = None
        self._price: float = 1
        self._fixed: float = 0
        #: Where the best plan is kept as it is found, and what the search goes on from: paths, then what was found.
        self.journal_file, self.resumed_file = journal, resume
        self.memory_limit = memory_limit
        self.journal: Journal | None = None
        #: Writes what is kept into a new journal; False if there is nothing.
        self.save: Callable[[Path], bool] = lambda _: False
        #: The points of a sweep.
        self.points: Points | None = None
        self.resumed: Any = None
        #: True once a task is done.
        self.has_part = False
        #: The best plan so far: its cost, and itself or a function that makes it.
        self.kept: tuple[float, Any] | None = None

    @property
    def interrupted(self) -> bool:
        """True after Ctrl-C or SIGTERM."""
        return self._stopped or (self._whole is not None and self._whole.interrupted)

    @property
    def is_unlimited(self) -> bool:
        """True if neither an effort nor a time limit was given: a search then ends by patience of its own."""
        return self.effort is None and self.time_limit is None

    def spend(self, effort: float) -> None:
        """Note work that was done, here and in the searches that this one is a part of; the progress line goes on."""
        self._spent += effort
        if self._whole is not None and not self._is_beside:
            self._whole.spend(effort)
        if self._reported is not None and self._progress is not None and self._progress.is_due(self.elapsed_s()):
            self.report(**self._reported)

    def spent(self) -> float:
        """Return what was spent so far: effort where work is counted, seconds where only the clock limits."""
        return self.elapsed_s() if self.is_by_clock else self._spent

    def left(self) -> float:
        """Return what is left: effort where work is counted, seconds where only the clock limits; 0 when expired."""
        if self.expired():
            return 0.0
        counted = float("inf") if self.effort is None else self.effort - self._spent
        return self.remaining_s() if self.is_by_clock else counted

    def affords(self, effort: float) -> bool:
        """Return whether so much effort (or so many seconds) is left, here and in all that this one is a part of.

        >>> search = Search(effort=5)
        >>> more = search.beside(9).part(1.0)
        >>> search.affords(9), more.affords(9)
        (False, True)
        """
        is_charged = True
        for search in self._wholes():
            if is_charged and search.effort is not None and search.effort - search._spent < effort:
                return False
            is_charged = is_charged and not search._is_beside
        return self.remaining_s() >= effort

    @property
    def is_by_clock(self) -> bool:
        """True if only a time limit was given."""
        return self.effort is None and self.time_limit is not None

    def part(self, share: float, *, unlimited: float | None = None) -> Search:
        """Return the search of a part: this share of what is left here, of the effort or of the seconds.

        Where nothing limits this one the part has the effort ``unlimited`` (None: no limit). It ends with Ctrl-C and at
        the deadline as this one does, and tells the same progress line.

        >>> Search(effort=10).part(0.5).effort
        5.0
        >>> Search(time_limit=10).part(0.5).time_limit <= 5
        True
        """
        part = Search(seed=self.seed, workers=self.workers, cluster=self.cluster)
        if self.is_by_clock:
            part.time_limit = max(share * self.remaining_s(), LEAST_PART)
        elif self.effort is not None:
            part.effort = max(share * self.left(), LEAST_PART)
        else:
            part.effort = unlimited
        part._whole = self
        return part

    def aside(self) -> Search:
        """Return this search as that of something else, such as a part of the problem: its best is not ours."""
        part = self.part(1.0)
        part._is_aside = True
        return part

    def translated(self, out: Callable[[Any], Any], into: Callable[[Any], Any], *, joins: bool = False) -> Search:
        """Return this search in other terms, to here by ``out``, back by ``into``; if it ``joins``, the longest wins.

        >>> search = Search()
        >>> search.begin()
        >>> search.translated(str.upper, str.lower).part(0.5).keep(3, "a plan")
        >>> search.best()
        'A PLAN'
        """
        start, other = self.start(), self.part(1.0)
        if self.keeps:
            other.begin()
            other.resumed, other._out, other._joins = None if start is None else into(start), out, joins
        return other

    def priced(self, price: float, fixed: float) -> Search:
        """Return this search as one in whose terms a cost is ``price`` times as much here, and ``fixed`` more.

        >>> search = Search()
        >>> search.begin()
        >>> search.priced(2, 5).keep(3, "a plan")
        >>> search.kept
        (11, 'a plan')
        """
        part = self.part(1.0)
        part._price, part._fixed = price, fixed
        return part

    def _paid(self, cost: float) -> float:
        """Return what a cost told here is for the search that this one is a part of."""
        return self._price * cost + self._fixed

    def keep(self, cost: float, plan: Any, *, proves: bool = False) -> None:
        """Keep a plan that is complete, if it is the best so far: in the journal, if there is one.

        A function makes it at once or when it is wanted; by then it may have become a better one. If it ``proves``, it
        is a bound on all plans, of so much below 0, that is kept where the search is for one.

        >>> search = Search()
        >>> search.begin()
        >>> search.keep(3, "a plan")
        >>> search.part(0.5).keep(4, lambda: "a worse one")
        >>> search.kept
        (3, 'a plan')
        """
        whole = self._answering(proves=proves)
        search: Search | None = self
        while search is not None and search is not whole:
            cost, search = search._paid(cost), search._whole
        if whole is None or (whole.kept is not None and whole.kept[0] <= cost and not whole._joins):
            return
        whole.kept = cost, plan
        whole._note(cost, plan)

    def _note(self, cost: float, plan: Any) -> None:
        """Take note of a plan that is the best so far."""
        if self._out is not None and self._whole is not None:
            out = self._out
            made: Any = (lambda: out(plan())) if callable(plan) else out(plan)
            self._whole.keep(-len(made) if self._joins else self._paid(cost), made)
        if self.journal is not None:
            self.journal.note(cost, plan)

    @property
    def keeps(self) -> bool:
        """True if :meth:`keep` keeps plans here."""
        return self._answering() is not None

    @property
    def proves(self) -> bool:
        """True if :meth:`keep` keeps bounds here."""
        return self._answering(proves=True) is not None

    @property
    def has_answer(self) -> bool:
        """True once there is something to answer: a plan, or a task that is done."""
        return self.has_part or self.kept is not None

    def start(self) -> Any:
        """Return the plan that the search goes on from, None if it begins anew."""
        whole = self._answering()
        return None if whole is None else whole.resumed

    def best(self, *, proves: bool = False) -> Any:
        """Return the best plan that was kept, or the best bound; None if there is none."""
        whole = self._answering(proves=proves)
        if whole is None or whole.kept is None:
            return None
        plan = whole.kept[1]
        return plan() if callable(plan) else plan

    def _answering(self, *, proves: bool = False) -> Search | None:
        """Return the search whose answer, plan or bound, this one is about: itself, one that it is part of, or None."""
        search: Search | None = self
        while search is not None and not search._has_begun:
            search = None if search._is_aside else search._whole
        return search if search is not None and search._proves == proves else None

    def begin(self, *, proves: bool = False) -> None:
        """Begin the search for one answer, a plan or a bound: from here on it is kept, here and in parts of this."""
        self._has_begun, self._proves, self.kept, self.resumed = True, proves, None, None

    def within(self, effort: float) -> Search:
        """Return a part that spends at most this effort, which is counted even where only the clock limits this one.

        >>> Search(effort=10).within(30).left(), Search(time_limit=10).within(30).left()
        (10.0, 30.0)
        """
        part = self.part(1.0)
        part.effort = effort if part.effort is None else min(effort, part.effort)
        return part

    def beside(self, effort: float) -> Search:
        """Return a search of so much effort that this one is not charged for; it ends at the deadline of this one.

        >>> search = Search(effort=1)
        >>> more = search.beside(5)
        >>> more.spend(3)
        >>> more.left(), search.left()
        (2.0, 1.0)
        """
        part = self.aside()
        part.effort, part._is_beside = effort, True
        return part

    def again(self) -> Search:
        """Return a part with as much effort as is left, not charged here; half of the time if the clock limits."""
        part = self.part(0.5 if self.is_by_clock else 1.0)
        part._is_beside = True
        return part

    @property
    def deadline(self) -> float:
        """The end on :func:`time.monotonic`'s clock (all processes share it); infinite without a limit."""
        own = float("inf") if self.time_limit is None else self.started + self.time_limit - self._kept_back_s
        return own if self._whole is None else min(own, self._whole.deadline)

    def keep_back(self, seconds: float) -> None:
        """End the search this long before the time limit, for what has to be done with its plan."""
        self._kept_back_s = seconds

    def elapsed_s(self) -> float:
        """Seconds since the search began (since the process started, on the command line)."""
        return time.monotonic() - self.started

    def remaining_s(self) -> float:
        """Seconds until the deadline, 0 when there are none or Ctrl-C was pressed."""
        return 0.0 if self.interrupted else max(0.0, self.deadline - time.monotonic())

    def is_late(self) -> bool:
        """True once the time limit is over, also what was kept back of it: only the answer itself is left to do."""
        limits = ((search.time_limit, search) for search in self._wholes())
        return any(limit is not None and search.elapsed_s() >= limit for limit, search in limits)

    def expired(self) -> bool:
        """True when the search has to return what it has."""
        search: Search | None = self
        is_charged, is_timed = True, False
        while search is not None:
            is_spent = is_charged and search.effort is not None and search._spent >= search.effort
            if search._stopped or is_spent:
                return True
            if search.journal is not None:
                search.journal.write()
            is_charged = is_charged and not search._is_beside
            is_timed = is_timed or search.time_limit is not None
            search = search._whole
        return is_timed and time.monotonic() >= self.deadline

    def generator(self) -> np.random.Generator:
        """Return the random generator of this seed (a fresh one at each call)."""
        import numpy as np

        return np.random.default_rng(self.seed)

    def report(self, *, best: float | None = None, bound: float | None = None, what: str = "") -> None:
        """Tell the progress line where the search stands; with a journal, it shows what is in there."""
        best, bound = (None if value is None or self._is_aside else self._paid(value) for value in (best, bound))
        if self._whole is not None:
            self._whole.report(best=best, bound=bound, what=what)
        self._reported = {"best": best, "bound": bound, "what": what}
        if self._progress is None or not self._progress.is_due(self.elapsed_s()):
            return
        if self.journal is not None:
            if not self.journal.write() and not self.journal.has_failed:
                return
            shown = self.journal.shown(best if not self._proves else None if bound is None else -bound)
            best, bound = (best, None if shown is None else -shown) if self._proves else (shown, bound)
        self._progress.show(self.elapsed_s(), best, bound, what)

    def __enter__(self) -> Search:
        Search.under_way.append(self)
        if threading.current_thread() is threading.main_thread() and not self._previous:
            asked = [number for number in ENDING_COMMANDS if signal.getsignal(number) is not signal.SIG_IGN]
            numbers = (*ENDING, *asked) if self.is_command else ENDING
            self._previous = {number: signal.signal(number, self._interrupt) for number in numbers}
        return self

    def __exit__(self, *_: object) -> None:
        Search.under_way.remove(self)
        if not self.is_command:  # there, what is left to do gives the answer: a signal must not cost it
            for number, previous in self._previous.items():
                signal.signal(number, previous)  # type: ignore[arg-type]
            self._previous = {}
        if self._progress is not None:
            self._progress.close()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if is_processor_time(number):
            use_processor_time()
        if self.interrupted and number in ENDING:
            previous = self._previous.get(number)
            if callable(previous):
                previous(number, frame)
            raise KeyboardInterrupt if number == signal.SIGINT else TerminatedError
        self.stop()

    def leave_cluster(self) -> None:
        """Do what is left on this machine, also of what this search is a part of: the cluster is lost."""
        for search in self._wholes():
            search.cluster = None

    def stop(self) -> None:
        """End the search, and what it is a part of, with the best plan so far."""
        for search in self._wholes():
            search._stopped = True

    def _wholes(self) -> Iterator[Search]:
        """Yield this search, and what it is a part of."""
        search: Search | None = self
        while search is not None:
            yield search
            search = search._whole


@dataclass(frozen=True, slots=True)
class SearchOptions(Options):
    """How long to search, from which seed."""

    effort: float | None = option(
        None, "Most work of a search, the same on every machine: 1 is about a second of one core.", above=0, most=1e9
    )
    time_limit: float | None = option(
        None, "End the whole command within this many seconds, with the best answer so far.", above=0, most=1e9
    )
    seed: int = option(0, "The seed of every random choice.", least=0, most=2**63 - 1)
    memory_limit: str | None = option(
        None,
        "Most memory of all processes, as in 800M or 4G; beyond it the search ends (commands: most of what is free).",
    )

    def make(self, progress: Progress | None = None, started: float | None = None) -> Search:
        """Return the search, its clock started now or when ``started`` says."""
        return Search(
            effort=self.effort,
            time_limit=self.time_limit,
            seed=self.seed,
            workers=getattr(self, "workers", 1),
            cluster=getattr(self, "cluster", None),
            progress=progress,
            started=started,
            memory_limit=self.memory_limit,
            is_command=progress is not None,
            journal=getattr(self, "journal", None),
            resume=getattr(self, "resume", None),
        )


@dataclass(frozen=True, slots=True)
class TaskSearchOptions(SearchOptions):
    """A search in tasks, which run on processes of this machine or on a cluster. Their number changes no answer."""

    workers: int | None = option(None, "Processes to use (default: one per core).", least=1, most=1024)
    cluster: str | None = option(
        None, "Run on a Dask cluster instead: the scheduler's address, or 'local' (extra [cluster])."
    )


#: The help of the option ``restarts``; what may follow depends on the engine.
RESTARTS: Final = "Searches, each from a seed of its own, that share the effort"
#: For engines whose search uses one core, and for those that use all by threads.
ONE_PER_WORKER: Final = " (default: 1; with a time limit alone, as many as run at once)."
ONE_PER_MACHINE: Final = " (default: 1; on a cluster with a time limit alone, as many as run at once)."
_JOURNAL: Final = "Keep the best answer so far in this file, as it is found."
_RESUME: Final = "Go on from the best answer in this journal, and keep better ones there too unless --journal is given."


@dataclass(frozen=True, slots=True)
class PlanSearchOptions(SearchOptions):
    """A search for a plan, which a journal keeps."""

    journal: Path | None = option(None, _JOURNAL)
    resume: Path | None = option(None, _RESUME)


@dataclass(frozen=True, slots=True)
class TaskPlanSearchOptions(TaskSearchOptions):
    """A search in tasks for a plan or a bound, which a journal keeps."""

    journal: Path | None = option(None, _JOURNAL)
    resume: Path | None = option(None, _RESUME)


@dataclass(frozen=True, slots=True)
class SweepSearchOptions(TaskSearchOptions):
    """A sweep in tasks, whose points a journal keeps."""

    journal: Path | None = option(None, "Keep every point in this file, as it is done.")
    resume: Path | None = option(
        None, "Take over the points in this journal, and keep the others there too unless --journal is given."
    )
