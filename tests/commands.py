"""Runs the command line in a subprocess, as a user does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def shorthaul(
    *arguments: str, cwd: Path | None = None, timeout: float = 240, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``shorthaul ARGUMENTS`` and return what it printed; a traceback fails the test at once."""
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "shorthaul", *arguments],
        cwd=cwd,
        timeout=timeout,
        input=stdin,
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert "Traceback (most recent call last)" not in done.stderr, done.stderr
    return done


def shorthaul_json(*arguments: str, cwd: Path | None = None, status: int = 0, timeout: float = 240) -> dict[str, Any]:
    """Run with ``--json`` and return the one document on standard output."""
    done = shorthaul(*arguments, "--json", cwd=cwd, timeout=timeout)
    assert done.returncode == status, done.stderr
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    return document
