"""Names of files: what no file can be called, and what cannot be written."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from shorthaul.core.errors import STANDARD_STREAM, InputError, UnwritableError


def is_device(path: Path) -> bool:
    """True for ``/dev/stdout`` and the like, which cannot be renamed over (it may be a link to a regular file)."""
    return path.parent == Path("/dev") or (path.exists() and not path.is_file())


def resolved(path: Path) -> Path:
    """Return where links lead; raises OSError for those that lead in a circle, on any Python."""
    try:
        return path.resolve()
    except RuntimeError:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None


def expect_file_name(path: Path | str, place: str = "") -> None:
    """Raise :class:`InputError` for text that no file can have as its name."""
    try:
        os.lstat(path)
    except (OSError, ValueError) as error:
        if getattr(error, "errno", errno.ENAMETOOLONG) == errno.ENAMETOOLONG:
            allowed = "up to 255 bytes between slashes, none of them 0"
            raise InputError("is no name of a file", place=place, value=str(path)[:80], allowed=allowed) from None


def expect_name(path: Path) -> None:
    """Raise :class:`InputError` for what is no name of a file to write."""
    if str(path) == STANDARD_STREAM:
        cure = "name a file; where a verb has --json, that prints everything on standard output"
        raise UnwritableError("'-' is no file to write", cure=cure)
    expect_file_name(path)
    if path.is_dir():
        raise UnwritableError("is a directory", file=path, cure="name a file")


def unwritable(path: Path, error: OSError) -> UnwritableError:
    """Return the error for a path that cannot be written."""
    if not path.parent.is_dir():
        return UnwritableError("its folder does not exist", file=path, cure=f"make {path.parent} first")
    # Some folders of the system answer "no such file" to whoever makes one.
    reason = "its folder takes no files" if isinstance(error, FileNotFoundError) else error.strerror or str(error)
    return UnwritableError(f"cannot be written: {reason}", file=path, cure="name a file in another folder")
