"""What a search and its tasks tell each other, in one process, across processes or across machines."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from shorthaul.core.search import Search

#: How often a task asks its search whether to stop, in seconds.
_ASK_S: Final = 0.02
#: Sending a plan takes at most one part in so many of a task.
_SEND_OVER: Final = 20
#: How often a task tells its search of its best, at most, in seconds.
_TELL_S: Final = 0.2


class Signals(Protocol):
    """The search as one of its tasks sees it."""

    def is_stopped(self) -> bool:
        """True when the task has to return what it has."""

    def stop(self) -> None:
        """End the whole search: the signal of a terminal arrived here."""

    def tell(self, best: float) -> None:
        """Let the search know of the best cost so far."""

    def keep(self, cost: float, plan: Any) -> None:
        """Let the search keep a plan or a bound."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one task may do: its effort, its seconds, and the seed."""

    effort: float | None
    time_limit: float | None
    seed: int
    keeps: bool = False  #: whether the search wants to have the plans, or bounds, that the task finds on its way
    proves: bool = False  #: whether these are bounds


class Told(NamedTuple):
    """The best cost that a task found so far, with its plan where the search wants to keep it."""

    best: float
    plan: Any = None


class TaskSearch(Search):
    """The search of a task: with limits of its own, ended by the search that it is a task of.

    Signals of the system are left to that one.
    """

    def __init__(self, allowed: Allowance, signals: Signals) -> None:
        self._signals = signals
        self._is_over = False
        self._next_ask = self._next_tell = 0.0
        self._told = float("inf")
        self._unsent: tuple[float, Any] | None = None
        self._next_send = 0.0
        super().__init__(effort=allowed.effort, time_limit=allowed.time_limit, seed=allowed.seed, workers=1)
        if allowed.keeps:
            self.begin(proves=allowed.proves)

    @property
    def _stopped(self) -> bool:
        now = time.monotonic()
        if not self._is_over and now >= self._next_ask:
            self._is_over = self._signals.is_stopped()
            self._next_ask = now + _ASK_S
        return self._is_over

    @_stopped.setter
    def _stopped(self, value: bool) -> None:
        self._is_over = value
        if value:
            self._signals.stop()

    def report(self, *, best: float | None = None, bound: float | None = None, what: str = "") -> None:  # noqa: ARG002 -- shown by the search alone
        """Tell the search of the best cost so far, now and then."""
        now = time.monotonic()
        if self._unsent is not None:
            self._send()
        if best is not None and best < self._told and now >= self._next_tell:
            self._told, self._next_tell = best, now + _TELL_S
            self._signals.tell(best)

    def _note(self, cost: float, plan: Any) -> None:
        self._unsent = (cost, plan)
        self._send()

    def _send(self) -> None:
        """Send the best plan on its way, now and then."""
        began = time.monotonic()
        if self._unsent is None or began < self._next_send:
            return
        (cost, plan), self._unsent = self._unsent, None
        self._signals.keep(cost, plan() if callable(plan) else plan)
        self._next_send = began + max(_TELL_S, _SEND_OVER * (time.monotonic() - began))

    def work(self) -> float:
        """Return the effort spent."""
        return self._spent

    def __enter__(self) -> TaskSearch:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Here:
    """The signals of tasks that run in the process of the search."""

    search: Search
    watch: Callable[[float], None]

    def is_stopped(self) -> bool:
        """True after Ctrl-C, or when the time is up."""
        return self.search.interrupted or time.monotonic() >= self.search.deadline

    def stop(self) -> None:
        """End the whole search."""
        self.search.stop()

    def tell(self, best: float) -> None:
        """Let the search know of the best cost so far."""
        self.watch(best)

    def keep(self, cost: float, plan: Any) -> None:
        """Let the search keep a plan or a bound."""
        self.search.keep(cost, plan, proves=self.search.proves)
