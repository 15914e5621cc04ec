"""The memory of a command, its worker processes included, kept within a limit."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.core.searching.threads import start_thread

try:
    import resource
except ImportError:  # not on this system
    resource = None  # type: ignore[assignment]

_UNITS: Final = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_UNITS_OF_1000: Final = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
#: Seconds between two looks at the least and at the most, and how many bytes can be touched in a second: the next look
#: comes before the limit could be reached.
_LEAST_S: Final = 0.005
_MOST_S: Final = 0.25
_PACE: Final = 4 << 30
#: How many times the processor time of a close look at other processes (1 ms or so each) it is to the next one.
_LOOK_OVER: Final = 10
#: Parts of the limit at which searches end, processes that did not are ended, work is given up for what is kept, and
#: the command ends. On a busy machine a look at processes takes a tenth of a second, in which they grow.
_SEARCHES, _PROCESSES, _WORK, _COMMAND = 0.9, 0.95, 1.0, 1.08
#: The part of what is free that a command takes without a limit of its own.
_MOST_OF_FREE: Final = 0.9
#: What may be reserved beyond the limit without being used, in bytes: stacks of threads, buffers of libraries.
_RESERVED: Final = 1 << 30
#: What NumPy reserves when it is imported, and the buffer of its linear algebra with what that takes beside, in bytes:
#: 81 and 33 MiB measured; a matrix that needs the buffer.
_NUMPY, _BUFFER, _ORDER = 84 << 20, 48 << 20, 64
#: Seconds until the memory of processes that were ended is free.
_ENDED_S: Final = 0.1
#: By how much of the limit memory grows after work was given up until it is again.
_GROWN: Final = 0.04


def bytes_of(text: str) -> int:
    """Return the bytes that ``text`` says; raises :class:`InputError`.

    >>> bytes_of("1.5G"), bytes_of("200 MB"), bytes_of("64KiB")
    (1610612736, 200000000, 65536)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]*)\s*", text)
    unit = "" if found is None else found.group(2).upper()
    factor = _UNITS_OF_1000.get(unit) or _UNITS.get(unit.removesuffix("IB") or "B")
    value = 0.0 if found is None or factor is None else float(found.group(1)) * factor
    if not 1 <= value < 2**62:
        raise InputError(
            "is no amount of memory", place="--memory-limit", value=text, allowed="bytes, or a unit as in 800M, 4G, 4GB"
        )
    return int(value)


def limit_of(text: str | None) -> int | None:
    """Return the limit that ``text`` says, in bytes; without one most of what is free, None where nothing tells.

    Raises :class:`InputError` for no amount, for one that is less than what is in use already, and where memory cannot
    be watched.
    """
    used = used_bytes()
    if text is None:
        free = free_bytes()
        return None if used is None or free is None else used + int(_MOST_OF_FREE * free)
    limit = bytes_of(text)
    if used is None:
        raise InputError("needs a system that tells what a process uses (/proc)", place="--memory-limit", value=text)
    if _SEARCHES * limit <= used:
        raise InputError(
            "is less than the command already uses",
            place="--memory-limit",
            value=text,
            allowed=f"more than {shown(int(used / _SEARCHES))}",
        )
    return limit


def shown(amount: int) -> str:
    """Return an amount for people.

    >>> shown(1_610_612_736)
    '1.5 GiB'
    """
    value, units = float(amount), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{value:.3g} {units[0]}"


def used_bytes() -> int | None:
    """Return what this process and those that it started use, shared pages once; None where nothing tells."""
    try:
        return _resident(os.getpid()) + _Others().used(0.0)
    except (OSError, ValueError, IndexError):
        return None


def free_bytes() -> int | None:
    """Return what could still be used here: free memory of the machine, within the limits of control groups."""
    return min(_free(), default=None)


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


class _Others:
    """The processes that this one started, looked at closely now and then; between that they use what they grow by.

    Of pages that a copy of this process has in common with it and writes to, only a close look tells.
    """

    def __init__(self) -> None:
        self._seen: dict[int, tuple[int, int]] = {}
        self._started: set[int] = set()
        self._next = 0.0
        self._shared = 0

    def used(self, now: float) -> int:
        """Return what they use beside this process; pages that they share with it belong to it."""
        children = tuple(getattr(sys.modules.get("multiprocessing.process"), "_children", ()))  # others start some
        started = {child.pid for child in children if child.pid is not None}
        if now < self._next and started <= self._started:
            return sum(self._grown(pid) for pid in self._seen) - self._shared
        began, own = time.thread_time(), os.getpid()  # by the clock, a busy machine would make close looks rare
        self._started = started
        self._seen = {pid: (_share(pid), _held(pid)) for pid in (_descendants(started) if started else ())}
        self._shared = _resident(own) - _share(own) if self._seen else 0
        self._next = now + _LOOK_OVER * (time.thread_time() - began)
        return sum(share for share, _ in self._seen.values()) - self._shared

    def _grown(self, pid: int) -> int:
        share, before = self._seen[pid]
        resident = _held(pid)
        return max(0, share + resident - before) if resident else 0


def _held(pid: int) -> int:
    """Return what a process holds, 0 for one that is gone."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return _resident(pid)
    return 0


def _share(pid: int) -> int:
    """Return what a process uses, of pages that others use too its part; 0 for one that is gone."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return _held(pid)


def _descendants(known: Iterable[int]) -> list[int]:
    """Return the processes that this one, or one of them, started: those ``known``, and where the system tells all."""
    found = [os.getpid(), *known]
    for pid in found:
        with contextlib.suppress(OSError, ValueError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                below = map(int, (task / "children").read_text(encoding="ascii").split())
                found += [child for child in below if child not in found]
    return found[1:]


def _free() -> Iterator[int]:
    """Yield what is free on the machine, and in each control group of this process and above it: of version 2 and 1."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                yield int(line.split()[1]) * 1024
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _, names, path = line.split(":", 2)
            if names == "":
                root, limit, usage, cache = Path("/sys/fs/cgroup"), "memory.max", "memory.current", "inactive_file"
            elif "memory" in names.split(","):
                root, limit = Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"
                usage, cache = "memory.usage_in_bytes", "total_inactive_file"
            else:
                continue
            group = root / path.strip("/")  # in a container the group may be the root itself
            for folder in (group, *group.parents):
                with contextlib.suppress(OSError, ValueError):
                    most = int((folder / limit).read_text(encoding="ascii"))  # "max" where there is no limit
                    given_back = re.search(rf"^{cache} (\d+)", (folder / "memory.stat").read_text(), re.MULTILINE)
                    used = int((folder / usage).read_text(encoding="ascii"))
                    yield max(0, most - used + (int(given_back.group(1)) if given_back else 0))
                if folder == root:
                    break


class Watch:
    """Keeps a command within a limit, from a thread of its own.

    At nine tenths of it the searches end with their best. Processes that still work on tasks as more is used are
    ended. Without any, at the limit itself :class:`MemoryError` is raised in the main thread, so that what it holds is
    freed and what was kept is the answer. Beyond that the command ends at once: ``end`` is called. A limit that nobody
    gave (``is_free``) is most of what was free at first: it is raised where more is free by then, so that no answer
    depends on what others held when the command began.
    """

    def __init__(self, limit: int, end: Callable[[str], None], *, is_free: bool = False) -> None:
        self.limit = limit
        self._is_free = is_free
        self._end = end
        self._over = threading.Event()
        self._main = threading.get_ident()
        self._next_raise = 0.0
        self._others = _Others()
        self._is_told = False

    def __enter__(self) -> Watch:
        self._thread = start_thread(self._run, "memory")
        if self._thread is None and not self._is_free:
            print("memory is not watched: the system allows no further thread", file=sys.stderr)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Watch no more."""
        # An error not raised yet is raised here. Taken back, it would have the interpreter look for it in every call
        # (3.11), and without an end where a profiler looks on.
        with contextlib.suppress(MemoryError):
            self._over.set()
            if self._thread is not None:
                self._thread.join()

    def _run(self) -> None:
        used = 0
        while not self._over.wait(min(max(_LEAST_S, (self.limit - used) / _PACE), _MOST_S)):
            try:
                used = self._look(time.monotonic())
            except (OSError, ValueError, IndexError):  # nothing tells any more
                return

    def _look(self, now: float) -> int:
        """Do what is due, and return what is used."""
        used = _resident(os.getpid()) + self._others.used(now)
        if used >= _SEARCHES * self.limit and self._is_free:
            self.limit = max(self.limit, used + int(_MOST_OF_FREE * (free_bytes() or 0)))
        if used < _SEARCHES * self.limit:
            return used
        if not self._is_told:
            self._is_told = True
            text = f"the memory limit of {shown(self.limit)} is reached: searches end with the best that they have"
            with contextlib.suppress(OSError, ValueError):
                print(text, file=sys.stderr, flush=True)
        for search in list(Search.under_way):
            search.stop()
        if used > _PROCESSES * self.limit and _end_workers():
            self._over.wait(_ENDED_S)
        elif used > _COMMAND * self.limit:
            self._end(f"the memory limit of {shown(self.limit)} was exceeded before there was an answer")
        elif used > max(_WORK * self.limit, self._next_raise):
            self._next_raise = used + _GROWN * self.limit
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._main), ctypes.py_object(MemoryError))
        return used


def _end_workers() -> bool:
    """End the processes of searches, whose best plans are told; False if there are none."""
    processes = sys.modules.get("shorthaul.core.searching.processes")
    workers: set[Any] = getattr(processes, "WORKERS", set())
    ended = tuple(workers)
    for worker in ended:
        workers.discard(worker)
        with contextlib.suppress(OSError, ValueError, AttributeError):
            worker.kill()
    return bool(ended)


@contextlib.contextmanager
def refusing_beyond(limit: int) -> Iterator[None]:
    """Let the system refuse what is asked for far beyond ``limit``, where it can: an array of terabytes, say."""
    before = None
    with contextlib.suppress(OSError, ValueError, AttributeError, IndexError):
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        reserved = int(status.partition("VmData:")[2].split()[0]) * 1024
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = reserved + int(_COMMAND * limit) + _RESERVED
        if hard == resource.RLIM_INFINITY or most < hard:
            resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
            before = soft, hard
    try:
        yield
    finally:
        if before is not None:
            resource.setrlimit(resource.RLIMIT_DATA, before)


def take_buffers() -> None:
    """Let linear algebra take its buffer now, where the system limits what a process may reserve (``ulimit -v``).

    It ends the process with a status of its own, or waits forever, where it gets none later. Raises OSError without
    room for it.
    """
    limits: list[int] = []
    with contextlib.suppress(AttributeError):  # systems without such limits
        limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    if any(limit != resource.RLIM_INFINITY for limit in limits):
        mmap.mmap(-1, _BUFFER if "numpy" in sys.modules else _NUMPY + _BUFFER).close()
        import numpy as np

        np.linalg.eigvalsh(np.eye(_ORDER))


#: Limits are not nested: the first one holds.
_ACTIVE: Final[list[Watch]] = []


def room(share: float = _SEARCHES) -> float:
    """Return how many bytes may still be used before searches end, or that share of the limit; infinite without one."""
    return share * _ACTIVE[0].limit - (used_bytes() or 0) if _ACTIVE else float("inf")


def stop_watching() -> None:
    """Let the answer out, which takes next to no memory, whatever is used by now."""
    for watch in _ACTIVE:
        watch.stop()


@contextlib.contextmanager
def limited(text: str | None, end: Callable[[str], None] | None = None) -> Iterator[None]:
    """Keep what happens inside within the limit that ``text`` says.

    For a command ``end`` ends it at once with its message; it has a limit even where ``text`` says none. Raises
    :class:`InputError` for a limit that cannot be kept.
    """
    if _ACTIVE or (text is None and end is None):
        yield
        return
    if end is not None:
        take_buffers()
    limit = limit_of(text)
    if limit is None:
        yield
        return
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        with (
            refusing_beyond(limit if text is not None else whole) if end is not None else contextlib.nullcontext(),
            Watch(limit, end or (lambda _: None), is_free=text is None) as watch,
        ):
            _ACTIVE.append(watch)
            yield
    finally:
        _ACTIVE.clear()
