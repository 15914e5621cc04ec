"""What a single test may take: where many take a little too much, the default run takes too long.

Processor time of the test's own process counts, beside that of a fixed loop: a busy or slow machine takes longer for
both. What other processes take is not seen: that of all commands so far would count where their parent ends.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator

import pytest

from tests.samples import ALL

#: Processor seconds of a test by default, where :func:`pace` takes PACE_S. Three times as much fails: on a busy machine a
#: test takes up to twice as long when the loop does not.
MOST_S = 1.5
PACE_S = 0.024


def pace() -> float:
    """Return the processor seconds of a loop, the least of three times."""

    def once() -> float:
        before = time.process_time()
        sum(number * number % 7 for number in range(200_000))
        return time.process_time() - before

    return min(once() for _ in range(3))


def taken() -> float:
    """Return the processor seconds of this process."""
    return time.process_time()


def wrong_cost(seconds: float, allowed: float, slowness: float) -> str | None:
    """Return what is wrong with a test that took so many processor seconds, if anything is."""
    if seconds <= 3 * allowed * slowness:
        return None
    return (
        f"took {seconds / slowness:.1f} processor seconds, three times as much as {allowed} and more: make it smaller, mark it "
        "slow, or say with dear(seconds) what it may take"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Let a test of the default run fail that takes far too long."""
    before = taken()
    result = yield
    seconds = taken() - before
    if (
        seconds > 3 * MOST_S
        and not ALL
        and item.get_closest_marker("slow") is None
        and "SHORTHAUL_CHECKED" not in os.environ
    ):
        marker = item.get_closest_marker("dear")
        wrong = wrong_cost(seconds, MOST_S if marker is None else marker.args[0], max(1.0, pace() / PACE_S))
        assert wrong is None, wrong
    return result
