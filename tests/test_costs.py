"""Tests of the default run that take more than they may are told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TESTS = """
import pytest
import tests.costs

tests.costs.MOST_S, tests.costs.ALL = 0.05, False

def spin(seconds):
    import time
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def test_dear(): spin(0.06)
def test_cheap(): pass
@pytest.mark.slow
def test_slow(): spin(0.06)
@pytest.mark.dear(9)
def test_allowed(): spin(0.06)
"""


def test_what_takes_too_long_is_told(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.costs",
        "--noconftest",
        "-n0",
        "-q",
        "-m",
        "",
        "test_some.py",
    ]
    (tmp_path / "tests").symlink_to(Path(__file__).parent)
    found = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert "1 tests take more processor seconds" in found.stdout, found.stdout + found.stderr
    assert "for 0.05  test_some.py::test_dear\n" in found.stdout
    assert not found.returncode
