"""Scripts as users write them, through mypy: right ones pass, every wrong keyword, value or type is an error."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "tests" / "surface" / "scripts").glob("*.py"))


@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")
def test_scripts_are_checked_by_their_types() -> None:
    """An error that is expected stands behind ``type: ignore``; one that does not come is itself an error."""
    assert len(SCRIPTS) == 12
    flags = ("--strict", "--warn-unused-ignores", "--config-file", str(ROOT / "pyproject.toml"))
    command = [sys.executable, "-m", "mypy", *flags, *map(str, SCRIPTS)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout
    assert sum(path.read_text().count("# type: ignore[") for path in SCRIPTS) > 50
