"""A command for whose files there is no room: folders called ``full`` get none."""

from __future__ import annotations

import errno
import os
import tempfile
from typing import Any

_make = tempfile.mkstemp


def fill(second_place: str) -> None:
    """Let files in this process be refused so, and let this be the folder of temporary files and the user's own."""
    tempfile.mkstemp = _made
    tempfile.tempdir = second_place
    os.environ["HOME"] = second_place


def _made(*given: Any, dir: Any = None, **named: Any) -> tuple[int, Any]:  # noqa: A002 -- as it is called
    if "/full" in str(dir):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return _make(*given, dir=dir, **named)
