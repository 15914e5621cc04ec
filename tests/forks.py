"""Runs tests in several processes, forked from the one that has collected them: ``-p tests.forks --forks 3``.

Tests are listed once, which takes as long as 1 % of all of them, and what modules keep is in memory once.
"""

from __future__ import annotations

import mmap
import multiprocessing
import warnings
from collections.abc import Iterator
from multiprocessing import connection, forkserver
from typing import Any

import pytest
from _pytest import runner

#: A process takes this share of the tests that are left, over the processes: neighbours share what their module keeps.
_SHARE = 4


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forks", type=int, default=1, help="number of processes that run tests")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run all tests; those that a process which died has left are run by others."""
    config = session.config
    can_fork = "fork" in multiprocessing.get_all_start_methods()
    if config.option.forks < 2 or not can_fork or config.option.collectonly or session.testsfailed:
        return None
    config._tmp_path_factory.getbasetemp()
    left = list(range(len(session.items)))
    while left:
        done = _round(session, left)
        left = [number for number in left if number not in done]
    return True


def _round(session: pytest.Session, left: list[int]) -> set[int]:
    """Run the tests of these numbers, and return which have ended."""
    context = multiprocessing.get_context("fork")
    count = min(session.config.option.forks, len(left))
    taken, lock = mmap.mmap(-1, 8), context.Lock()

    def chunks() -> Iterator[int]:
        """Tests for one process, fewer at a time towards the end."""
        while True:
            with lock:
                first = int.from_bytes(taken[:])
                size = -(-(len(left) - first) // (_SHARE * count))
                taken[:] = (first + size).to_bytes(8)
            if not size:
                return
            yield from left[first : first + size]

    readers = {}
    for _ in range(count):
        reader, writer = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(session, left, chunks(), writer))
        process.start()
        writer.close()
        readers[reader] = process
    begun: dict[Any, int | None] = dict.fromkeys(readers)
    done = set()
    try:
        while begun:
            for reader in connection.wait(list(begun)):
                try:
                    number, reports = reader.recv()
                    begun[reader] = number if reports is None else None
                except EOFError:
                    number, reports = begun.pop(reader), None
                    if number is not None:
                        readers[reader].join()
                        reports = [_died(session.items[number], readers[reader].exitcode)]
                if reports is not None:
                    done.add(number)
                    _tell(session, reports)
    finally:
        for process in readers.values():
            process.terminate()
            process.join()
    return done


class _Sender:
    """In a process that runs tests: sends that each has begun and what it came to, and warnings."""

    def __init__(self, writer: Any, numbers: dict[pytest.Item, int]) -> None:
        self.writer, self.numbers = writer, numbers
        self.warned: list[tuple[warnings.WarningMessage, str]] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        self.writer.send((self.numbers[item], None))
        # Most of three reports are that a test began and ended well.
        told = [
            item.ihook.pytest_report_to_serializable(config=item.config, report=report)
            for report in runner.runtestprotocol(item, log=False, nextitem=nextitem)
            if report.when == "call" or not report.passed
        ]
        self.writer.send((self.numbers[item], told + self.warned))
        self.warned.clear()
        return True

    @pytest.hookimpl
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage, nodeid: str) -> None:
        said = warning_message
        self.warned.append(
            (warnings.WarningMessage(str(said.message), said.category, said.filename, said.lineno), nodeid)
        )


def _run(session: pytest.Session, left: list[int], numbers: Iterator[int], writer: Any) -> None:
    """What a process does: run tests."""
    forkserver._forkserver.__init__()  # that of the parent is no child of this process
    plugins = session.config.pluginmanager
    capture: Any = plugins.getplugin("capturemanager")
    capture.stop_global_capturing()  # the file behind it is shared
    capture.start_global_capturing()
    sender = _Sender(writer, {session.items[number]: number for number in left})
    plugins.register(sender)
    sender.warned.clear()  # those from before are told anew
    number = next(numbers, None)
    while number is not None:
        following = next(numbers, None)
        after = None if following is None else session.items[following]
        session.config.hook.pytest_runtest_protocol(item=session.items[number], nextitem=after)
        number = following
    writer.send((None, sender.warned))  # they come after the end of their test


def _tell(session: pytest.Session, reports: list[Any]) -> None:
    """Tell what tests came to, and end where that is enough."""
    hook = session.config.hook
    for report in reports:
        if isinstance(report, tuple):
            said = {"warning_message": report[0], "when": "runtest", "nodeid": report[1], "location": None}
            hook.pytest_warning_recorded.call_historic(kwargs=said)
            continue
        if isinstance(report, dict):
            report = hook.pytest_report_from_serializable(config=session.config, data=report)
        hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)


def _died(item: pytest.Item, status: int | None) -> pytest.TestReport:
    """What is told of a test whose process has ended."""
    text = f"the process of this test ended with status {status}"
    return pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")
