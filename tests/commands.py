"""Runs the command line in a process of its own, as a user does.

The processes are forked from one that has the imports behind it: hundreds of commands then cost hardly more than what
they do. Where the system cannot fork, or a test has changed the environment, a fresh interpreter runs the command.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import multiprocessing
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import ForkServerContext
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import IO, Any

import shorthaul as package

#: What commands import when they need it: 0.1 to 0.8 s each time.
_LATE_IMPORTS = (
    "typer._adapters",
    "rich._emoji_codes",
    "scipy.optimize",
    "scipy.sparse.csgraph",
    "ortools.sat.python.cp_model",
    "ortools.linear_solver.pywraplp",
    "moocore",
    "tests.warm",
)
_SCREEN = {"COLUMNS": "200", "NO_COLOR": "1"}
#: Names the variable with the address of a process that forks for several.
_ADDRESS = "SHORTHAUL_TESTS_FORK_SERVER"


def shorthaul(
    *arguments: str,
    cwd: Path | None = None,
    timeout: float = 240,
    stdin: str | None = None,
    before: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run ``shorthaul ARGUMENTS`` and return what it printed; a traceback fails the test at once.

    ``before`` is called in the forked process first, and wants one: a module's function, which travels by its name.
    """
    assert before is None or _can_fork()
    forked = functools.partial(_forked, before=before)
    run = forked if _can_fork() and (before is not None or _environment() == _AT_START) else _fresh
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as given,
        tempfile.TemporaryFile("w+", encoding="utf-8") as out,
        tempfile.TemporaryFile("w+", encoding="utf-8") as errors,
    ):
        given.write(stdin or "")
        given.seek(0)
        status = run(arguments, cwd or Path.cwd(), timeout, (given, out, errors))
        out.seek(0)
        errors.seek(0)
        done = subprocess.CompletedProcess(arguments, status, out.read(), errors.read())
    assert "Traceback (most recent call last)" not in done.stderr, done.stderr
    return done


def shorthaul_here(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run ``shorthaul ARGUMENTS`` in this process, for what is refused at once: forking takes ten times as long."""
    from unittest import mock  # not for those that are forked, each of which imports this file

    import pytest

    from shorthaul.cli.app import app

    out, errors = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["shorthaul", *arguments]),
        mock.patch.dict(os.environ, _SCREEN),
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(errors),
        pytest.raises(SystemExit) as ended,
    ):
        app(standalone_mode=True)
    return subprocess.CompletedProcess(arguments, int(ended.value.code or 0), out.getvalue(), errors.getvalue())


def shorthaul_json(*arguments: str, cwd: Path | None = None, status: int = 0, timeout: float = 240) -> dict[str, Any]:
    """Run with ``--json`` and return the one document on standard output."""
    done = shorthaul(*arguments, "--json", cwd=cwd, timeout=timeout)
    assert done.returncode == status, done.stderr
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    return document


def _fresh(arguments: tuple[str, ...], cwd: Path, timeout: float, streams: tuple[IO[str], ...]) -> int:
    given, out, errors = streams
    return subprocess.run(
        [sys.executable, "-m", "shorthaul", *arguments],
        cwd=cwd,
        timeout=timeout,
        stdin=given,
        stdout=out,
        stderr=errors,
        env={**os.environ, **_SCREEN},
        check=False,
    ).returncode


def _forked(
    arguments: tuple[str, ...],
    cwd: Path,
    timeout: float,
    streams: tuple[IO[str], ...],
    before: Callable[[], None] | None,
) -> int:
    descriptors = [DupFd(stream.fileno()) for stream in streams]
    process = _server().Process(target=_command, args=(arguments, str(cwd), descriptors, before))
    process.start()
    process.join(timeout)
    if process.exitcode is None:
        process.kill()
        process.join()
        raise subprocess.TimeoutExpired(arguments, timeout)
    return process.exitcode


def _command(arguments: tuple[str, ...], cwd: str, descriptors: list[Any], before: Callable[[], None] | None) -> None:
    """What the forked process does: become the command, on the given streams, in the given folder."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor.detach(), number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 -- stays open as long as the process
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(cwd)
    sys.argv = ["shorthaul", *arguments]
    sys.orig_argv = [sys.executable, "-m", *sys.argv]
    if before is not None:
        before()
    from shorthaul.cli.main import main

    main()


def _can_fork() -> bool:
    return "forkserver" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"


def _environment() -> dict[str, str]:
    """What a test may have changed; pytest names the test, and scikit-learn sets KMP variables when imported."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("KMP_")}
    own.pop("PYTEST_CURRENT_TEST", None)
    return own


_AT_START = _environment()


@functools.cache
def _server() -> ForkServerContext:
    """Use the process that forks: that of the process that has started this one for tests, or one of its own."""
    context = multiprocessing.get_context("forkserver")
    # One that a search inside this process has started knows its engine only: a command would take five times as long.
    own: Any = forkserver._forkserver
    own._stop()
    address = os.environ.get(_ADDRESS)
    if address is None:
        _start(context)
        return context
    own._forkserver_address = address
    own._forkserver_alive_fd = os.open(os.devnull, os.O_RDONLY)  # its parent says how long it lives
    own.ensure_running = resource_tracker.ensure_running
    return context


def share_server() -> None:
    """Start the process that forks for all processes that this one will start: each of its own takes 2 to 4 s."""
    if _can_fork() and sys.version_info < (3, 14):  # from then on it wants a key
        _start(multiprocessing.get_context("forkserver"))
        server: Any = forkserver._forkserver
        os.environ[_ADDRESS] = server._forkserver_address


def _start(context: ForkServerContext) -> None:
    """Start a process that forks, with every module of the project that needs no extra, and theirs, imported."""
    names = [module.name for module in pkgutil.walk_packages(package.__path__, "shorthaul.")]
    context.set_forkserver_preload([*(name for name in names if not name.endswith("__main__")), *_LATE_IMPORTS])
    before = dict(os.environ)
    os.environ.clear()  # a test may have changed it
    os.environ.update(_AT_START | _SCREEN)
    try:
        forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(before)
