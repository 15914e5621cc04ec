"""What a search and its tasks tell each other, in one process, across processes or across machines."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final, Protocol


class Signals(Protocol):
    """The search as one of its tasks sees it."""

    def is_stopped(self) -> bool:
        """True when the task has to return what it has."""

    def remaining_s(self) -> float | None:
        """Seconds left, None without a time limit."""

    def tell(self, best: float) -> None:
        """Let the search know of the best cost so far."""


#: The signals of the task that runs here, None outside of tasks.
CURRENT: Final[ContextVar[Signals | None]] = ContextVar("signals", default=None)


def stop_requested() -> bool:
    """True when a task of a search has to return what it has: the time is up, or Ctrl-C was pressed."""
    signals = CURRENT.get()
    return signals is not None and signals.is_stopped()


def time_left_s() -> float | None:
    """Return the seconds that a task of a search has left, None without a time limit."""
    signals = CURRENT.get()
    return None if signals is None else signals.remaining_s()


def tell_best(value: float) -> None:
    """Let the search's progress line know of the best cost that a task has found."""
    signals = CURRENT.get()
    if signals is not None:
        signals.tell(value)
