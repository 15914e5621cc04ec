"""Threads that the system refuses."""

from __future__ import annotations

import threading
from itertools import count

import pytest

from shorthaul.core.searching.threads import Threads


@pytest.mark.parametrize("allowed", [0, 1, 9])
def test_calls_are_answered_on_as_many_threads_as_there_may_be(allowed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    begin, asked, seen = threading.Thread.start, count(), set()

    def start(thread: threading.Thread) -> None:
        if next(asked) >= allowed:
            raise RuntimeError("can't start new thread")
        begin(thread)

    def divided(value: int) -> int:
        seen.add(threading.current_thread().name)
        return 12 // value

    monkeypatch.setattr(threading.Thread, "start", start)
    with Threads(3) as beside:
        assert list(beside.map(divided, [1, 2, 3])) == [12, 6, 4]
        failed = beside.submit(divided, 0)
    assert isinstance(failed.exception(), ZeroDivisionError)
    assert seen == ({"pool"} if allowed else {"MainThread"})
