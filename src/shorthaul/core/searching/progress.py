"""The line that tells where a search stands."""

from __future__ import annotations

import sys
from typing import TextIO

#: A search says nothing before this many seconds; short ones stay quiet.
FIRST_PROGRESS_S = 2.0
#: Without a terminal, a line is printed this often, in seconds.
PLAIN_PROGRESS_S = 10.0


class Progress:
    """One line with best, bound and gap, redrawn on a terminal, printed now and then without one."""

    def __init__(self, stream: TextIO | None = None, *, enabled: bool = True) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._enabled = enabled
        self._live = enabled and self._stream.isatty()
        self._next = FIRST_PROGRESS_S
        self._open = False

    def is_due(self, elapsed_s: float) -> bool:
        """True if it is time for a line."""
        return self._enabled and elapsed_s >= self._next

    def show(self, elapsed_s: float, best: float | None, bound: float | None, what: str) -> None:
        """Print the state of the search, if it is time to."""
        if not self.is_due(elapsed_s):
            return
        self._next = elapsed_s + (0.2 if self._live else PLAIN_PROGRESS_S)
        columns = [f"{elapsed_s:7.1f} s", f"best {_number(best)}", f"bound {_number(bound)}"]
        if best is not None and bound:
            columns.append(f"gap {best / bound - 1:.2%}")
        columns.append(what)
        line = "  ".join(column for column in columns if column)
        self._stream.write(f"\r\x1b[2K{line}" if self._live else f"{line}\n")
        self._stream.flush()
        self._open = self._live

    def close(self) -> None:
        """Leave the terminal on a fresh line."""
        if self._open:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()
            self._open = False


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
