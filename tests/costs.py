"""What a single test may take: where many take a little too much, the default run takes too long.

Tests that take more are listed at the end of a run, and none fails: on a busy machine processor time doubles by chance.
What forked commands take is not seen: that of all commands so far would count where their parent ends.
"""

from __future__ import annotations

import time
from collections.abc import Generator

import pytest

from tests.samples import ALL

#: Processor seconds of a test by default, unless a mark ``dear`` or ``slow`` allows more.
MOST_S = 1.5
_KEY = "processor seconds"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Keep what a test of the default run takes beyond what it may."""
    before = time.process_time()
    result = yield
    taken, dear = time.process_time() - before, item.get_closest_marker("dear")
    allowed = MOST_S if dear is None else dear.args[0]
    if taken > allowed and not ALL and item.get_closest_marker("slow") is None:
        item.user_properties.append((_KEY, f"{taken:.1f} for {allowed}"))
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the tests that took too long."""
    found = [
        (report.nodeid, text)
        for report in terminalreporter.stats.get("passed", [])
        for key, text in report.user_properties
        if key == _KEY
    ]
    if found:
        terminalreporter.section(f"{len(found)} tests take more {_KEY} than they may: make them smaller, or slow")
        for name, text in found:
            terminalreporter.write_line(f"{text}  {name}")
