"""Tests in several processes are told as in one, and none is lost with its process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TESTS = """
import os, time, warnings
import pytest

def test_dies(): os._exit(3)
@pytest.mark.parametrize("number", range(30))
def test_most_pass(number, tmp_path): assert number != 7, print("seven")
@pytest.fixture
def bad():
    yield
    raise ValueError("at its end")
def test_ends_badly(bad): warnings.warn("careful")
def test_left_out(): pytest.skip("not here")
"""


def _run(folder: Path, *more: str) -> str:
    (folder / "test_some.py").write_text(TESTS)
    (folder / "tests").symlink_to(Path(__file__).parent)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.forks",
        "--forks",
        "2",
        "--noconftest",
        *more,
        "test_some.py",
    ]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_all_is_told(tmp_path: Path) -> None:
    found = _run(tmp_path)
    assert "= 2 failed, 30 passed, 1 skipped, 1 warning, 1 error in" in found, found
    assert "FAILED test_some.py::test_dies - the process of this test ended with status 3" in found
    assert "FAILED test_some.py::test_most_pass[7]" in found
    assert "ERROR test_some.py::test_ends_badly - ValueError: at its end" in found
    assert "Captured stdout call -----------------------------\nseven\n" in found
    assert "UserWarning: careful" in found


def test_the_first_failure_may_end_it(tmp_path: Path) -> None:
    assert "stopping after 1 failures" in _run(tmp_path, "-x")
