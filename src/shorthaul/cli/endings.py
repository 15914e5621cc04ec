"""The ends of a command that nobody wanted: by a signal, or by a defect of ours."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from shorthaul.core.searching.ending import ENDING

if TYPE_CHECKING:
    from shorthaul.core.search import Search

#: The exit status of a defect in shorthaul itself (EX_SOFTWARE of sysexits.h).
DEFECT_STATUS = 70
#: Seconds after the deadline at which a command ends that has not ended by itself.
_LATE_S = 0.9
#: What watches over the time limit of the command.
_WATCHES: list[_Watch] = []
#: The search of the command, once there is one.
_SEARCHES: list[Search] = []
#: The variable that names, in a command that began anew, what it had kept before.
_KEPT = "SHORTHAUL_KEPT"
_NO_MEMORY = "memory ran out before there was an answer"


def end_by_signal(ended: KeyboardInterrupt) -> NoReturn:
    """End with the status of the signal that came before there was an answer."""
    from shorthaul.core.search import TerminatedError

    is_terminated = isinstance(ended, TerminatedError)
    with contextlib.suppress(OSError, ValueError):
        print("terminated" if is_terminated else "interrupted", file=sys.stderr)
    sys.exit(128 + (signal.SIGTERM if is_terminated else signal.SIGINT))


def end_at_once(number: int, _frame: FrameType | None = None) -> NoReturn:
    """End with the status of a signal that came where there is no answer to lose.

    An exception would not do: what is being imported may take it for a missing module, and go on.
    """
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        os.write(2, b"interrupted\n" if number == signal.SIGINT else b"terminated\n")
    _remove_temporary()
    _end_children()
    os._exit(128 + (signal.SIGINT if number == signal.SIGINT else signal.SIGTERM))


def end_at_second_signal() -> None:
    """End the command at once when a second signal comes, also while compiled code runs and no handler can.

    The system writes the numbers of signals into a pipe, which a thread reads. Raises ValueError outside of the main
    thread.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def watch() -> None:
        seen = 0
        while data := os.read(reader, 1):
            if data[0] in {signal.SIGINT, signal.SIGTERM}:
                seen += 1
                if seen > 1:
                    end_at_once(data[0])

    with contextlib.suppress(RuntimeError):  # the system allows no thread
        threading.Thread(target=watch, name="signals", daemon=True).start()


def end_by_error(error: Exception) -> NoReturn:
    """End by an error that nothing else answers: memory that ran out, a kernel that is missing, or a defect."""
    errors = sys.modules.get("shorthaul.core.errors")  # what failed may be an import
    if isinstance(error, MemoryError) or (errors is not None and errors.is_of_memory(error)):
        end_without_answer()
    if errors is not None and isinstance(error, errors.MissingKernelError):
        with contextlib.suppress(OSError, ValueError):
            print(error, file=sys.stderr)
        sys.exit(error.exit_status)
    end_by_defect(error)


def end_by_defect(error: BaseException) -> NoReturn:
    """Write what a developer needs into a file, say where it is, and end."""
    where = None
    with contextlib.suppress(OSError, ImportError):  # of a machine that has no room, or no files left to open
        where = _written(error)
    with contextlib.suppress(OSError, ValueError):
        print(f"defect in shorthaul: {type(error).__name__}: {error}", file=sys.stderr)
        if where is not None:
            print(f"  do:      report it, with the file {where} (it names the command and the place)", file=sys.stderr)
    sys.exit(DEFECT_STATUS)


def _written(error: BaseException) -> str:
    """Return the file that describes a defect."""
    import platform
    import tempfile
    import traceback

    from shorthaul.core.version import VERSION

    lines = [
        f"shorthaul {VERSION}, Python {platform.python_version()}, {platform.platform()}",
        f"command: {sys.argv!r}",
        "",
        *traceback.format_exception(error),
    ]
    handle, path = tempfile.mkstemp(prefix="shorthaul-defect-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write("\n".join(lines))
    return path


class _Watch:
    """Ends a command soon after its time limit, whatever it is busy with or waits for, unless it has an answer."""

    def __init__(self, limit_s: float) -> None:
        from shorthaul.core.searching.threads import start_thread

        self.is_over = threading.Event()
        self.search: Search | None = None  #: none while the input is read, as a rule
        self._until = max(process_start() + limit_s, time.monotonic()) + _LATE_S
        start_thread(self._run, "deadline")

    def _run(self) -> None:
        is_over = self.is_over.wait(max(0.0, self._until - time.monotonic()))
        if not is_over and not (self.search is not None and self.search.has_answer):
            end_without_answer("no answer within the time limit", "--time-limit")


@contextlib.contextmanager
def answering_by(limit_s: float | None) -> Iterator[None]:
    """End what runs inside soon after its time limit, if it has one, unless its search has something to answer."""
    if limit_s is None:
        yield
        return
    watch = _Watch(limit_s)
    _WATCHES.append(watch)
    try:
        yield
    finally:
        _WATCHES.remove(watch)
        watch.is_over.set()


def watch_answer(search: Search) -> None:
    """Let the search of the command say whether there is something to answer; one begun anew only answers."""
    for watch in _WATCHES:
        watch.search = search
    _SEARCHES.append(search)
    if kept := os.environ.get(_KEPT):
        from pathlib import Path

        search.journal_file, search.resumed_file = search.journal_file or search.resumed_file, Path(kept)
        search.workers, search.cluster = 1, None
        search.stop()


def _begin_anew() -> None:
    """Begin the command anew, once, in this process without all that it holds; what was kept is its answer then."""
    from pathlib import Path

    from shorthaul.core.document import standard_input

    with contextlib.suppress(OSError, ValueError, MemoryError, AttributeError):
        place = Path(f"/proc/self/fd/{os.memfd_create('kept', 0)}")  # memory that outlives what a process holds
        if _KEPT in os.environ or not any(search.save(place) for search in _SEARCHES):
            return
        if read := standard_input.cache_info().currsize and standard_input():
            piped = os.memfd_create("input")
            Path(f"/proc/self/fd/{piped}").write_bytes(read)
            os.dup2(piped, 0)
        print("memory ran out: the answer is the best that was kept", file=sys.stderr, flush=True)
        os.environ[_KEPT] = str(place)
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # until the command can answer them
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def end_without_answer(text: str = _NO_MEMORY, limit: str = "--memory-limit") -> NoReturn:
    """End at once, whatever is under way, as ``limit`` leaves no more: with what was kept, if there is anything."""
    from shorthaul.core.errors import NoPlanError

    _end_children()
    _remove_temporary()
    _begin_anew()
    with contextlib.suppress(OSError, ValueError, MemoryError):
        print(f"{text}\n  do:      give a larger {limit}, or a smaller input", file=sys.stderr, flush=True)
    os._exit(NoPlanError.exit_status)


def _remove_temporary() -> None:
    """Remove files that are half written."""
    document = sys.modules.get("shorthaul.core.document")
    for path in getattr(document, "TEMPORARY", ()):
        with contextlib.suppress(OSError):
            os.unlink(path)  # noqa: PTH108 -- Path would import more


def _end_children() -> None:
    """Kill worker processes: at once, so that their memory is free."""
    for child in getattr(sys.modules.get("multiprocessing.process"), "_children", ()):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            child.kill()


def process_start() -> float:
    """Return when this process started, on :func:`time.monotonic`'s clock; now, where the system does not tell.

    A time limit on the command line includes the time that Python took to start.
    """
    now = time.monotonic()
    try:
        with open("/proc/self/stat", encoding="ascii") as file:  # noqa: PTH123 -- Path would import more
            ticks = int(file.read().rpartition(")")[2].split()[19])
        age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        return now
    return now - age_s if 0 <= age_s < 1e6 else now
