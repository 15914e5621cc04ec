"""The ends of a command that nobody wanted: by a signal, or by a defect of ours."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import NoReturn

#: The exit status of a defect in shorthaul itself (EX_SOFTWARE of sysexits.h).
DEFECT_STATUS = 70


def end_by_signal(ended: KeyboardInterrupt) -> NoReturn:
    """End with the status of the signal that came before there was an answer."""
    is_terminated = type(ended) is not KeyboardInterrupt
    with contextlib.suppress(OSError, ValueError):
        print("terminated" if is_terminated else "interrupted", file=sys.stderr)
    sys.exit(128 + (signal.SIGTERM if is_terminated else signal.SIGINT))


def end_by_defect(error: BaseException) -> NoReturn:
    """Write what a developer needs into a file, say where it is, and end."""
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
    where = ""
    with contextlib.suppress(OSError):
        handle, where = tempfile.mkstemp(prefix="shorthaul-defect-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write("\n".join(lines))
    print(f"defect in shorthaul: {type(error).__name__}: {error}", file=sys.stderr)
    if where:
        print(f"  do:      report it, with the file {where} (it names the command and the place)", file=sys.stderr)
    sys.exit(DEFECT_STATUS)
