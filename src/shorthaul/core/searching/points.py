"""The points of a sweep on file, so that no fault loses them and a later sweep goes on with those that are missing."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from shorthaul.core.document import convert, decode_text, parse_json
from shorthaul.core.errors import InputError
from shorthaul.core.searching.journal_file import OF_POINTS, JournalFile, read_lines

if TYPE_CHECKING:
    from shorthaul.core.search import Search


class Points:
    """The answers of the tasks of a sweep: those of a journal, and the journal that the others go to, if any."""

    def __init__(self, held: Mapping[int, Any], file: JournalFile | None, *, is_copy: bool) -> None:
        self._file = file
        self.held = dict(held)
        self._waiting = [*held] if is_copy else []
        self.write()

    def note(self, number: int, answer: Any) -> None:
        """Take note of the answer of a task, and write what could not be written before."""
        self.held[number] = answer
        self._waiting.append(number)
        self.write()

    def write(self) -> None:
        """Write what is not yet on file."""
        while self._file is not None and self._waiting:
            answer = self.held[self._waiting[0]]
            if not self._file.append({"point": self._waiting[0]}, functools.partial(msgspec.json.encode, answer)):
                return
            del self._waiting[0]

    def close(self) -> None:
        """Write what is left, and close the file."""
        if self._file is not None:
            self.write()
            self._file.close()


@contextlib.contextmanager
def journaled_points(search: Search, asked: Mapping[str, Any], form: Any) -> Iterator[None]:
    """Keep the answers of tasks, in the journal that ``search`` names too, and take over those of the one it resumes.

    ``asked`` is what both have to be of, ``form`` the type of an answer. Raises :class:`InputError` for a journal of
    something else.
    """
    source, target = search.resumed_file, search.journal_file or search.resumed_file
    if search.points is not None:
        yield
        return
    held = {}
    for entry, data in () if source is None else read_lines(source, OF_POINTS, asked):
        number = entry.get("point")
        if not isinstance(number, int) or number < 0:
            raise InputError("holds a point without a number", file=source, value=number)
        text = decode_text(data, file=source)
        held[number] = convert(parse_json(text, file=source), form, file=source, place=f"point {number}")
    file = None if target is None else JournalFile(target, OF_POINTS, asked)
    search.points = points = Points(held, file, is_copy=target != source)

    def save(path: Path) -> bool:
        Points(points.held, JournalFile(path, OF_POINTS, asked), is_copy=True).close()
        return bool(points.held)

    search.save = save
    try:
        yield
    finally:
        search.points = None
        points.close()
