"""Tasks on processes of this machine, which may be killed at any time."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, Final, TypeVar

from shorthaul.core.search import Search
from shorthaul.core.searching.ending import ENDING, ENDING_COMMANDS, end_by_processor_time, is_processor_time
from shorthaul.core.searching.signals import Allowance, TaskSearch, Told
from shorthaul.core.searching.threads import start_thread

if TYPE_CHECKING:
    from shorthaul.core.searching.tasks import Work

TaskT = TypeVar("TaskT")
AnswerT = TypeVar("AnswerT")

#: How long the search waits for messages before it looks at the clock, in seconds.
_LOOK_S: Final = 0.1
#: Threads of a command, by their names: they wait for signals, for the deadline, or look at memory.
HARMLESS_THREADS: Final = frozenset({"signals", "deadline", "memory"})
#: A task that has lost so many processes is run in the process of the search.
_MOST_LOST: Final = 3
_ALL: Final = (*ENDING, *ENDING_COMMANDS)
#: What ends a process whose code is at fault, in a library for example: as a number, the exit code.
_CRASHES: Final = {-number for number in (signal.SIGSEGV, signal.SIGILL, signal.SIGFPE)}
#: The processes that work on tasks.
WORKERS: Final[set[Any]] = set()
#: What reading from a process raises that died, also in the middle of a message.
_DEATHS: Final = (EOFError, OSError, pickle.UnpicklingError)


def can_fork() -> bool:
    """True if this process may be copied as it is: a command, whose threads are known to hold nothing that tasks need.

    A copy is there at once, with all that was imported, read and derived. In other programs nobody knows what their
    threads hold; on systems other than Linux libraries of the system do not bear it.
    """
    known = {threading.main_thread().name, *HARMLESS_THREADS}
    is_command = any(search.is_command for search in Search.under_way)
    return is_command and sys.platform == "linux" and {thread.name for thread in threading.enumerate()} <= known


@dataclass(slots=True)
class _Worker:
    """A process and the task that it works on, -1 for none."""

    process: Any
    connection: Connection
    task: int = -1


@dataclass(slots=True)
class _Crew:
    """The processes of one run of tasks."""

    work: Work[Any, Any]
    is_forked: bool
    workers: list[_Worker] = field(default_factory=list)
    lost: dict[int, int] = field(default_factory=dict)
    is_told: bool = False

    def start(self) -> bool:
        """Start one more process; False if the system refuses."""
        context = multiprocessing.get_context("fork") if self.is_forked else _context(self.work.function.__module__)
        here, there = context.Pipe()
        others = (here, *(worker.connection for worker in self.workers))
        served = (self.work, others) if self.is_forked else (None, ())
        process = context.Process(target=_serve, args=(there, *served), daemon=True)
        try:
            with deaf(_ALL) if self.is_forked else _unseen_main():
                process.start()
        except (OSError, EOFError):  # no memory, too many processes; the server of forks was killed
            here.close()
            return False
        finally:
            there.close()
        self.workers.append(_Worker(process, here))
        WORKERS.add(process)
        return True

    def send(self, worker: _Worker, index: int, allowed: Allowance) -> None:
        """Hand a task to a process; one that was forked has it. Raises OSError if the process is gone."""
        given = None if self.is_forked else (self.work.function, self.work.tasks[index])
        worker.connection.send((index, given, allowed))

    def bury(self, worker: _Worker) -> int:
        """Remove a process that died; return its task.

        Raises RuntimeError where a task crashed as often as it may: here it would end the command without a word.
        """
        worker.connection.close()
        worker.process.join(1)
        WORKERS.discard(worker.process)
        self.workers.remove(worker)
        is_over = is_processor_time(worker.process.exitcode)
        if not self.is_told:
            why = "has no processor time left; the search ends" if is_over else "died; its task starts again"
            if self.work.is_over() and not is_over:
                why = "died; what it had told so far counts"
            print(f"a worker process {why}", file=sys.stderr)
            self.is_told = True
        if is_over:  # another one would get no further
            self.work.search.stop()
        self.lost[worker.task] = _MOST_LOST if is_over else self.lost.get(worker.task, 0) + 1
        if worker.process.exitcode in _CRASHES and self.lost[worker.task] == _MOST_LOST:
            name = signal.Signals(-worker.process.exitcode).name
            raise RuntimeError(f"{_MOST_LOST} processes that worked on one task crashed, the last one by {name}")
        return worker.task

    def tell_stop(self, after: int = -1) -> None:
        """Tell the processes whose task comes after this one to return what they have."""
        for worker in self.workers:
            if worker.task > after:
                with suppress(OSError):
                    worker.connection.send(None)

    def end(self) -> None:
        """End all processes: idle ones when their pipe closes, others at once."""
        for worker in self.workers:
            worker.connection.close()
            if worker.task >= 0:
                worker.process.kill()
        for worker in self.workers:
            worker.process.join(1)
            worker.process.kill()
            WORKERS.discard(worker.process)


def run_on_processes(work: Work[TaskT, AnswerT], count: int) -> Iterator[tuple[int, AnswerT]]:
    """Yield answers of ``work`` from up to ``count`` processes, until no task is left that they can do.

    A process that dies is replaced, and its task starts again.
    """
    crew = _Crew(work, can_fork())
    set_aside: list[int] = []
    is_stopping = False
    try:
        while True:
            running = sum(worker.task >= 0 for worker in crew.workers)
            while len(crew.workers) < min(count, running + len(work.waiting)) and not work.is_over():
                if not crew.start():
                    count = len(crew.workers)
            for worker in [worker for worker in crew.workers if worker.task < 0]:
                _hand_out(work, crew, worker, count)
            if all(worker.task < 0 for worker in crew.workers):
                break
            for worker, message in _messages(crew):
                if message is None:
                    index = crew.bury(worker)
                    is_left = crew.lost[index] < _MOST_LOST
                    work.put_back(index) if is_left else set_aside.append(index)
                    continue
                if isinstance(message, Told):
                    work.hear(message)
                    continue
                index, worker.task = worker.task, -1
                answer, spent, error = message
                if error is not None:
                    raise error
                if index <= work.needed:
                    before = work.needed
                    work.note(index, answer, spent)
                    if work.needed < before:
                        crew.tell_stop(after=index)
                    yield index, answer
            if work.is_over() and not is_stopping:
                is_stopping = True
                crew.tell_stop()
            work.watch(float("inf"))
    finally:
        for index in sorted(set_aside, reverse=True):
            work.put_back(index)
        crew.end()


def _hand_out(work: Work[TaskT, AnswerT], crew: _Crew, worker: _Worker, count: int) -> None:
    """Give the next task to an idle process."""
    taken = work.take(count, sum(other.task >= 0 for other in crew.workers))
    if taken is None:
        return
    worker.task, allowed = taken
    try:
        crew.send(worker, worker.task, allowed)
    except OSError:
        work.put_back(crew.bury(worker))


def _messages(crew: _Crew) -> Iterator[tuple[_Worker, Any]]:
    """Yield what processes say, None from one that died; in the order of the processes."""
    ready = wait([worker.connection for worker in crew.workers if worker.task >= 0], _LOOK_S)
    for worker in [worker for worker in crew.workers if worker.connection in ready]:
        try:
            yield worker, worker.connection.recv()
        except _DEATHS:
            yield worker, None


@contextmanager
def deaf(numbers: Iterable[int]) -> Iterator[None]:
    """Keep signals from a process that is being made: a copy would answer them as the command does.

    One that comes meanwhile reaches this thread afterwards.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _context(module: str) -> Any:
    """Return how processes are started: from a clean one that has imported the module, where the system can."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([module])
    return context


@contextmanager
def _unseen_main() -> Iterator[None]:
    """Hide the program that runs: processes need not import it, and a script may have no guard against that."""
    program = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = program


@dataclass(slots=True)
class _Piped:
    """The signals of a task on a process: what the search says comes through the pipe, also that it is gone."""

    connection: Connection
    is_over: bool = False

    def is_stopped(self) -> bool:
        """True when the search said so, or is gone."""
        if not self.is_over and self.connection.poll():
            with suppress(*_DEATHS):
                self.connection.recv()
            self.is_over = True
        return self.is_over

    def stop(self) -> None:
        """Nothing: signals of the system reach the search."""

    def tell(self, best: float) -> None:
        """Send the best cost so far."""
        with suppress(OSError):
            self.connection.send(Told(best))

    def keep(self, cost: float, plan: Any) -> None:
        """Send a plan."""
        with suppress(OSError):
            self.connection.send(Told(cost, plan))


def _serve(connection: Connection, work: Work[Any, Any] | None, others: tuple[Connection, ...]) -> None:
    """Do tasks, those of ``work`` or such as are sent, until the search is gone.

    ``others`` are ends of pipes that a copy of the search's process has beside its own.
    """
    for number in ENDING:  # the search tells its tasks when to end
        with suppress(ValueError):
            signal.signal(number, signal.SIG_IGN)
    if work is not None:
        for number in ENDING_COMMANDS:
            signal.signal(number, end_by_processor_time if is_processor_time(number) else signal.SIG_IGN)
        signal.set_wakeup_fd(-1)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ALL)
    for other in others:
        other.close()
    start_thread(end_with_parent, "parent")  # without it, a task looks for the search now and then
    with suppress(*_DEATHS):
        while True:
            message = connection.recv()
            if message is not None:  # None came too late for the task before
                index, given, allowed = message
                function, task = given or (work.function, work.tasks[index])  # type: ignore[union-attr]
                connection.send(_done(function, task, TaskSearch(allowed, _Piped(connection))))


def end_with_parent() -> None:
    """End this process once the one that began it has ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _done(
    function: Callable[[Any, Search], Any], task: Any, search: TaskSearch
) -> tuple[Any, float, BaseException | None]:
    """Return the answer of a task, the effort it took, and its error."""
    try:
        return function(task, search), search.work(), None
    except Exception as error:
        return None, search.work(), _sendable(error)


def _sendable(error: Exception) -> Exception:
    """Return the error, or one with its words if it cannot be sent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
