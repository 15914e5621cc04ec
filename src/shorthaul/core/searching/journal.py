"""The best plan of a search on file, so that no fault loses it and a later search goes on from it.

A journal is a text file. Its first line says what was asked; every further line holds a plan that is better than the
one before. Each line begins with its own SHA-256: one that was cut off, or damaged, is skipped.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shorthaul.core.document import digest, read_bytes, write_bytes
from shorthaul.core.errors import InputError

if TYPE_CHECKING:
    from shorthaul.core.check import CheckReport
    from shorthaul.core.search import Search

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None  # type: ignore[assignment]

_KIND: Final = "shorthaul/journal"
_VERSION: Final = 1
#: Seconds between two records, at least.
_INTERVAL_S: Final = 0.3
#: Writing takes at most one part in so many of a search: packing a plan of a million entries takes half a second.
_SHARE: Final = 20
#: After a failure, seconds to the next try.
_RETRY_S: Final = 5.0
#: A journal that has grown by so many bytes, and by four times its last record, is written anew with the best alone.
_MOST_GROWTH: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class Record:
    """A plan of a journal: its cost, and the bytes that its engine made of it."""

    cost: float
    data: bytes


class Journal:
    """The journal of a running search, open to append.

    ``asked`` says what the plans are of, as JSON: a file of anything else is refused by :class:`InputError`. ``pack``
    makes the bytes of a plan. What cannot be written is told once, and tried again later; it never ends a search.
    """

    def __init__(self, path: Path, asked: Mapping[str, Any], pack: Callable[[Any], bytes]) -> None:
        self._path = path
        self._pack = pack
        self._head = _line({"kind": _KIND, "version": _VERSION, **asked})
        #: The best cost on file.
        self.written: float | None = None
        self._pending: tuple[float, Any] | None = None
        self._next = 0.0
        #: True if the last try to write failed.
        self.has_failed = False
        self._handle: int | None = None
        self._grown = 0
        self._is_torn = False
        _expect_journal(path, asked)
        try:
            self._open()
        except OSError as error:
            self._tell(error)

    def note(self, cost: float, plan: Any) -> None:
        """Take note of a better plan, or of a function that makes it."""
        self._pending = (cost, plan)
        self.write()

    def shown(self, best: float | None) -> float | None:
        """Return what may be shown as the best cost: none that is better than what is on file."""
        if self.has_failed or best is None:
            return best
        return None if self.written is None else max(best, self.written)

    def write(self, *, now: bool = False) -> bool:
        """Write what is noted, if it is time to (or ``now``); True if nothing is left to write."""
        if self._pending is None:
            return True
        began = time.monotonic()
        if not now and began < self._next:
            return False
        cost, plan = self._pending
        made = plan() if callable(plan) else plan
        is_done = self._attempt(lambda: self._append(_line({"cost": cost}, self._pack(made))))
        took_s = time.monotonic() - began
        self._next = began + took_s + max(_INTERVAL_S if is_done else _RETRY_S, _SHARE * took_s)
        if is_done:
            self.written, self._pending = cost, None
        return is_done

    def close(self) -> None:
        """Write what is left, and close the file."""
        self.write(now=True)
        if self._handle is not None:
            with contextlib.suppress(OSError):
                os.close(self._handle)
            self._handle = None

    def _attempt(self, work: Callable[[], None]) -> bool:
        try:
            work()
        except (OSError, InputError) as error:
            self._tell(error)
            return False
        self.has_failed = False
        return True

    def _tell(self, error: OSError | InputError) -> None:
        if not self.has_failed:
            reason = str(error) if isinstance(error, InputError) else error.strerror or str(error)
            print(f"{self._path}: the journal cannot be written: {reason}; the search goes on", file=sys.stderr)
        self.has_failed = True

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        handle = os.open(self._path, flags, 0o666)
        if fcntl is not None:
            try:  # a lock that ends with this process, and that its children do not inherit
                fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError):
                os.close(handle)
                raise InputError("is in use by another search", file=self._path, cure="name another file") from None
            except OSError:  # a file system without locks
                pass
        self._handle = handle
        self._is_torn = True  # as it may be: an empty line is skipped

    def _append(self, line: bytes) -> None:
        if self._handle is None:
            self._open()
        assert self._handle is not None
        if self._grown > max(_MOST_GROWTH, 4 * len(line)):
            self._begin_anew(line)
            return
        if os.fstat(self._handle).st_size == 0:
            line = self._head + line
        elif self._is_torn:
            line = b"\n" + line
        self._is_torn = True
        _write_all(self._handle, line)
        self._is_torn = False
        self._grown += len(line)

    def _begin_anew(self, line: bytes) -> None:
        """Put a journal with this record alone in place of the file."""
        write_bytes(self._path, self._head + line)
        assert self._handle is not None
        os.close(self._handle)
        self._handle, self._grown = None, 0
        self._open()


def read_journal(path: Path, asked: Mapping[str, Any]) -> Record | None:
    """Return the best plan in a journal, None if it holds none yet.

    Raises :class:`InputError` if the file is no journal, or one of something else than ``asked``.
    """
    data = _expect_journal(path, asked, must_exist=True)
    best: Record | None = None
    for line in data.split(b"\n")[1:]:
        found = _read_line(line)
        if found is None:
            continue
        cost = found[0].get("cost")
        if isinstance(cost, int | float) and not isinstance(cost, bool) and (best is None or cost <= best.cost):
            best = Record(float(cost), found[1])
    return best


def _expect_journal(path: Path, asked: Mapping[str, Any], *, must_exist: bool = False) -> bytes:
    """Return the content of a journal; raises :class:`InputError` for one of something else and for other files."""
    if not must_exist:
        if not path.parent.is_dir():
            raise InputError("its folder does not exist", file=path, cure=f"make {path.parent} first")
        if path.is_dir():
            raise InputError("is a directory", file=path, cure="name a file")
        if path.exists() and not path.is_file() and path.parent != Path("/dev"):
            raise InputError("is no regular file", file=path, cure="name a file")
        if not path.is_file():
            return b""
    data = read_bytes(path)
    head = _line({"kind": _KIND, "version": _VERSION, **asked})
    if head.startswith(data[: len(head)]):  # as it should be, or cut off in its first line
        return data
    found = _read_line(data.partition(b"\n")[0])
    if found is None or found[0].get("kind") != _KIND:
        raise InputError("is no journal", file=path, cure="name a file that --journal wrote, or a new one")
    if found[0].get("version") != _VERSION:
        raise InputError("is a journal of another version", file=path, value=found[0].get("version"))
    place, held, wanted = _difference(found[0], json.loads(head.split(b"\t")[1]))
    cure = "give the input and the options that it was made with, or name a new file"
    raise InputError(
        "is a journal of another search", file=path, place=place, value=held, allowed=repr(wanted), cure=cure
    )


def _difference(held: Mapping[str, Any], wanted: Mapping[str, Any]) -> tuple[str, Any, Any]:
    """Return where two documents differ first, and what stands there."""
    name = next((name for name in {**wanted, **held} if held.get(name) != wanted.get(name)), "")
    first, second = held.get(name), wanted.get(name)
    if isinstance(first, dict) and isinstance(second, dict):
        place, first, second = _difference(first, second)
        name = f"{name}.{place}"
    return name, first, second


def _line(entry: Mapping[str, Any], data: bytes = b"") -> bytes:
    text = json.dumps(entry, allow_nan=False, sort_keys=True).encode() + b"\t" + base64.b64encode(data)
    return digest(text).encode() + b"\t" + text + b"\n"


def _read_line(line: bytes) -> tuple[dict[str, Any], bytes] | None:
    """Return what a line holds, None for one that is cut off or damaged."""
    found, _, text = line.partition(b"\t")
    if not text or found != digest(text).encode():
        return None
    entry, _, data = text.partition(b"\t")
    try:
        document = json.loads(entry)
        return (document, base64.b64decode(data, validate=True)) if isinstance(document, dict) else None
    except (ValueError, RecursionError):
        return None


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
    with contextlib.suppress(OSError):  # pipes and devices cannot be synced
        os.fsync(handle)


@contextlib.contextmanager
def journaled(
    search: Search,
    asked: Mapping[str, Any],
    pack: Callable[[Any], bytes],
    unpack: Callable[[bytes], Any],
    check: Callable[[Any], CheckReport],
) -> Iterator[None]:
    """Keep the best plan of ``search`` in the journal that it names, and let it go on from the one it resumes.

    ``asked`` is what both have to be of, ``unpack`` the reverse of ``pack``, ``check`` the engine's replay. Raises
    :class:`InputError` for a journal of something else, and for a plan that breaks a rule.
    """
    source, target = search.resumed_file, search.journal_file or search.resumed_file
    if target is None or search.journal is not None:
        yield
        return
    record = None if source is None else read_journal(source, asked)
    if source is not None and record is not None:
        try:
            plan = unpack(record.data)
        except InputError as error:
            raise error.in_file(source) from None
        except OSError as error:  # plans are unpacked in a folder for temporary files
            raise InputError(f"cannot be unpacked: {error.strerror or error}", file=source) from None
        report = check(plan)
        if not report.ok:
            raise InputError(f"holds a plan that breaks the rules: {report.violations[0]}", file=source)
        cost = record.cost if report.cost is None else float(next(iter(report.cost.values())))
        search.resumed = plan
        search.keep(cost, plan)
    journal = Journal(target, asked, pack)
    if search.kept is not None and target == source:
        journal.written = search.kept[0]
    elif search.kept is not None:
        journal.note(*search.kept)
    search.journal = journal
    try:
        yield
    finally:
        search.journal = None
        journal.close()
