"""What happens to files, folders and file systems while a search runs costs no answer."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.inject import SEARCHES
from tests.faults.test_faults import costs

Running = subprocess.Popen[str]


def filled(folder: Path, _: Running) -> None:
    """Leave no room on the file system."""
    with contextlib.suppress(OSError), (folder / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def replaced(folder: Path, _: Running) -> None:
    """Make the folder of the outputs a file."""
    shutil.rmtree(folder / "out")
    (folder / "out").write_text("")


def occupied(folder: Path, _: Running) -> None:
    """Make a folder with something in it where the plan is to be written."""
    (folder / "out" / "plan.json").mkdir()
    (folder / "out" / "plan.json" / "held").write_text("")


def unlinked(folder: Path, _: Running) -> None:
    """Make the journal a folder."""
    (folder / "journal").unlink()
    (folder / "journal").mkdir()


def signalled(_: Path, process: Running) -> None:
    """Send signals that mean nothing, many times."""
    for number in [signal.SIGWINCH, signal.SIGCHLD, signal.SIGURG, signal.SIGCONT] * 50:
        process.send_signal(number)
        time.sleep(0.005)


FAULTS: tuple[tuple[Callable[[Path, Running], None], int], ...] = (
    (filled, 2),
    (lambda folder, _: shutil.rmtree(folder / "out"), 2),
    (replaced, 2),
    (occupied, 2),
    (lambda folder, _: shutil.rmtree(folder), 2),
    (unlinked, 0),
    (signalled, 0),
)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(FAULTS)))
@pytest.mark.parametrize("engine", SEARCHES)
def test_the_answer_is_printed(engine: str, number: int, tmp_path: Path) -> None:
    strike, status = FAULTS[number]
    folder = tmp_path / "place"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "none", str(folder)]
    if strike is filled and subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system may be mounted")
    (folder / "out").mkdir()
    outputs = ("-o", "out/plan.json", "--result", "out/result.json", "--journal", "journal")
    command = [sys.executable, "-m", "shorthaul", engine, "plan", *SEARCHES[engine][0], *outputs]
    kept = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    try:
        process: Running = subprocess.Popen([*command, "--effort", "1000", "--json"], cwd=folder, **kept)  # type: ignore[call-overload]
        until = time.monotonic() + 240
        while not costs(folder / "journal") and time.monotonic() < until:  # a plan is there to be lost
            time.sleep(0.02)
        has_plan = bool(costs(folder / "journal"))
        strike(folder, process)
        process.send_signal(signal.SIGTERM)
        printed, said = process.communicate(timeout=300)
    finally:
        if os.path.ismount(folder):
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
    assert process.returncode in ({status} if has_plan else {status, 143}), said[-1000:]
    assert "Traceback" not in said
    if process.returncode == status:
        assert json.loads(printed)["cost"] is not None
