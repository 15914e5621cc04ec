"""The best plan of a search on file, so that no fault loses it and a later search goes on from it.

A journal is a text file. Its first line says what was asked; every further line holds a plan that is better than the
one before.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shorthaul.core.errors import InputError
from shorthaul.core.searching.journal_file import OF_PLANS, JournalFile, read_lines

if TYPE_CHECKING:
    from shorthaul.core.check import CheckReport
    from shorthaul.core.search import Search

#: Seconds between two records, at least.
_INTERVAL_S: Final = 0.3
#: Writing takes at most one part in so many of a search: packing a plan of a million entries takes half a second.
_SHARE: Final = 20
#: After a failure, seconds to the next try.
_RETRY_S: Final = 5.0


class Journal:
    """The journal of a running search, open to append.

    ``asked`` says what the plans are of, as JSON: a file of anything else is refused by :class:`InputError`. ``pack``
    makes the bytes of a plan. What cannot be written is told once, and tried again later; it never ends a search.
    """

    def __init__(self, path: Path, asked: Mapping[str, Any], pack: Callable[[Any], bytes]) -> None:
        self._pack = pack
        self._file = JournalFile(path, OF_PLANS, asked)
        #: The best cost on file.
        self.written: float | None = None
        self._pending: tuple[float, Any] | None = None
        self._next = 0.0

    @property
    def has_failed(self) -> bool:
        """True if the last try to write failed."""
        return self._file.has_failed

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
        is_done = self._file.append(
            {"cost": cost}, lambda: self._pack(plan() if callable(plan) else plan), supersedes=True
        )
        took_s = time.monotonic() - began
        self._next = began + took_s + max(_INTERVAL_S if is_done else _RETRY_S, _SHARE * took_s)
        if is_done:
            self.written, self._pending = cost, None
        return is_done

    def close(self) -> None:
        """Write what is left, and close the file."""
        self.write(now=True)
        self._file.close()


def read_journal(path: Path, asked: Mapping[str, Any]) -> tuple[float, bytes] | None:
    """Return the best cost in a journal and the bytes of its plan, None if it holds none yet.

    Raises :class:`InputError` if the file is no journal, or one of something else than ``asked``.
    """
    best: tuple[float, bytes] | None = None
    for entry, data in read_lines(path, OF_PLANS, asked):
        cost = entry.get("cost")
        if isinstance(cost, int | float) and not isinstance(cost, bool) and (best is None or cost <= best[0]):
            best = float(cost), data
    return best


def _saved(search: Search, journal: Journal) -> bool:
    """Write the best of a search; False if there is none, or it cannot be written."""
    if search.kept is not None:
        journal.note(*search.kept)
    journal.close()
    return journal.written is not None


@contextlib.contextmanager
def journaled(
    search: Search,
    asked: Mapping[str, Any],
    pack: Callable[[Any], bytes],
    unpack: Callable[[bytes], Any],
    check: Callable[[Any], CheckReport | None],
) -> Iterator[None]:
    """Keep the best plan or bound of ``search`` in the journal that it names, and go on from the one it resumes.

    ``asked`` is what both have to be of, ``unpack`` the reverse of ``pack``, ``check`` the engine's replay; None where
    it cannot tell: then the search begins anew. Raises :class:`InputError` for a journal of something else, and for a
    plan that breaks a rule or a bound that is not proven.
    """
    source, target = search.resumed_file, search.journal_file or search.resumed_file
    search.save = lambda path: _saved(search, Journal(path, asked, pack))
    if target is None or search.journal is not None:
        yield
        return
    record = None if source is None else read_journal(source, asked)
    if source is not None and record is not None:
        try:
            plan = unpack(record[1])
            report = check(plan)
        except InputError as error:
            raise error.in_file(source) from None
        except OSError as error:  # plans are unpacked in a folder for temporary files
            raise InputError(f"cannot be unpacked: {error.strerror or error}", file=source) from None
        if report is None:
            print(f"{source}: what it holds cannot be verified: the search begins anew", file=sys.stderr)
        elif not report.ok:
            what = "a bound that is not proven" if search.proves else "a plan that breaks the rules"
            raise InputError(f"holds {what}: {report.violations[0]}", file=source)
        else:
            cost = record[0] if report.cost is None else float(next(iter(report.cost.values())))
            search.resumed = plan
            search.keep(cost, plan, proves=search.proves)
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
