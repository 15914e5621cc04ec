"""What a command wrote, or could not: an answer is worth more than the place that it was to go to."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Final

from shorthaul.core.document import OUTPUTS, write_bytes
from shorthaul.core.errors import InputError, UnwritableError
from shorthaul.core.files.names import expect_name, is_device, resolved, unwritable

#: Files that are not where they were asked for, and where they are: None if nowhere, the same where there are none.
MISPLACED: Final[dict[Path, Path | None]] = {}


def expect_writable(path: Path, forms: Collection[str]) -> None:
    """Raise :class:`InputError` if ``path`` cannot be written now, or its suffix names none of ``forms``.

    A name without a suffix, and a device, take the first of these; without ``forms`` any suffix will do.
    """
    expect_name(path)
    if is_device(path):
        return
    suffix = path.suffix.lower()
    if forms and suffix and suffix not in forms:
        cure = "name a file that ends so; 'shorthaul export' makes tables and drawings of --result"
        allowed = ", ".join(forms)
        raise InputError("has the suffix of another format", file=path, value=suffix, allowed=allowed, cure=cure)
    try:
        with tempfile.TemporaryFile(dir=resolved(path).parent):
            pass
    except OSError as error:
        raise unwritable(path, error) from None


def promise_output(path: Path, forms: Collection[str] = ()) -> None:
    """Note that this command is to write ``path``; raises as :func:`expect_writable`, and if it is written twice."""
    expect_writable(path, forms)
    if is_device(path):
        return
    target = path.resolve()
    if target in OUTPUTS:
        cure = "name two files, or leave one of the two out"
        raise InputError("is to be written twice by this command", file=path, cure=cure)
    OUTPUTS.add(target)


def put(path: Path, write: Callable[[Path], object]) -> Path | None:
    """Write to ``path``, or to a new folder elsewhere where that fails; return where, None if nowhere.

    What fails is told on standard error, and noted in :data:`MISPLACED`; so is what ``write`` cannot make of an answer.
    """
    try:
        write(path)
    except InputError as error:
        is_unwritable = isinstance(error, UnwritableError)
        MISPLACED[path] = None if is_unwritable else path
        print(error, file=sys.stderr)
        if not is_unwritable:
            return None
    else:
        return path
    for folder in (tempfile.gettempdir, Path.home):
        with contextlib.suppress(OSError, RuntimeError):  # there may be no such folder
            made = Path(tempfile.mkdtemp(prefix="shorthaul-", dir=folder()))
            try:
                write(made / path.name)
            except UnwritableError:
                shutil.rmtree(made, ignore_errors=True)
            else:
                print(f"  kept in: {made / path.name}", file=sys.stderr)
                MISPLACED[path] = made / path.name
                break
    return MISPLACED[path]


def put_bytes(path: Path, data: bytes) -> Path | None:
    """Write what stands beside an answer, as :func:`put` does: where it has no place, the answer goes on."""
    return put(path, partial(write_bytes, data=data))
