"""Files to which a search appends, line by line, and that survive any fault: those of journals.

Each line begins with its own SHA-256: one that was cut off, or damaged, is skipped. The first line says what was asked.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from shorthaul.core.document import digest, expect_no_output, read_bytes, write_bytes
from shorthaul.core.errors import InputError

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None  # type: ignore[assignment]

#: Kinds of journals: the best plan of a search, the points of a sweep.
OF_PLANS: Final = "shorthaul/journal"
OF_POINTS: Final = "shorthaul/points"
KINDS: Final = (OF_PLANS, OF_POINTS)
_VERSION: Final = 1
#: A journal that has grown by so many bytes, and by four times its last entry, is written anew if that supersedes all.
_MOST_GROWTH: Final = 256 << 20


class JournalFile:
    """A journal of some kind, open to append.

    ``asked`` says what it is of, as JSON: a file of anything else is refused by :class:`InputError`. What cannot be
    written is told once; it never ends a search.
    """

    def __init__(self, path: Path, kind: str, asked: Mapping[str, Any]) -> None:
        self._path = path
        self._head = _line({"kind": kind, "version": _VERSION, **asked})
        #: True if the last try to write failed.
        self.has_failed = False
        self._handle: int | None = None
        self._grown = 0
        self._is_torn = False
        expect_no_output(path)
        _expect_journal(path, kind, asked)
        try:
            self._open()
        except OSError as error:
            self._tell(error)

    def append(self, entry: Mapping[str, Any], make: Callable[[], bytes], *, supersedes: bool = False) -> bool:
        """Append an entry and the bytes that belong to it; False if they cannot be made or written.

        If it ``supersedes`` all entries before, the file may be written anew with it alone.
        """
        try:
            self._append(_line(entry, make()), supersedes=supersedes)
        except (OSError, InputError) as error:
            self._tell(error)
            return False
        self.has_failed = False
        return True

    def close(self) -> None:
        """Close the file."""
        if self._handle is not None:
            with contextlib.suppress(OSError):
                os.close(self._handle)
            self._handle = None

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

    def _append(self, line: bytes, *, supersedes: bool) -> None:
        if self._handle is None:
            self._open()
        assert self._handle is not None
        if supersedes and self._grown > max(_MOST_GROWTH, 4 * len(line)):
            write_bytes(self._path, self._head + line)
            self.close()
            self._grown = 0
            self._open()
            return
        if os.fstat(self._handle).st_size == 0:
            line = self._head + line
        elif self._is_torn:
            line = b"\n" + line
        self._is_torn = True
        view = memoryview(line)
        while view:
            view = view[os.write(self._handle, view) :]
        with contextlib.suppress(OSError):  # pipes and devices cannot be synced
            os.fsync(self._handle)
        self._is_torn = False
        self._grown += len(line)


def read_lines(path: Path, kind: str, asked: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield the entries of a journal, each with the bytes that belong to it.

    Raises :class:`InputError` if the file is no journal, or one of another kind or of something else than ``asked``.
    """
    for line in _expect_journal(path, kind, asked, must_exist=True).split(b"\n")[1:]:
        found = _read_line(line)
        if found is not None:
            yield found


def _expect_journal(path: Path, kind: str, asked: Mapping[str, Any], *, must_exist: bool = False) -> bytes:
    """Return the content of a journal; raises :class:`InputError` for one of something else and for other files."""
    if not must_exist:
        if not path.parent.is_dir():
            raise InputError("its folder does not exist", file=path, cure=f"make {path.parent} first")
        if path.is_dir():
            raise InputError("is a directory", file=path, cure="name a file")
        if path.exists() and not path.is_file() and path.parent != Path("/dev"):
            raise InputError("is not a regular file", file=path, cure="name a file")
        if not path.is_file():
            return b""
    data = read_bytes(path)
    head = _line({"kind": kind, "version": _VERSION, **asked})
    if head.startswith(data[: len(head)]):  # as it should be, or cut off in its first line
        return data
    found = _read_line(data.partition(b"\n")[0])
    if found is None or found[0].get("kind") not in KINDS:
        raise InputError("is not a journal", file=path, cure="name a file that --journal wrote, or a new one")
    if found[0].get("version") != _VERSION:
        raise InputError("is a journal of another version", file=path, value=found[0].get("version"))
    place, held, wanted = _difference(found[0], json.loads(head.split(b"\t")[1]))
    cure = "give the input and the options that it was made with, or name a new file"
    if place == "input":  # two sums would say nothing
        raise InputError("is a journal of another search: of another input", file=path, cure=cure)
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
