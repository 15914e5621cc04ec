"""A killed search leaves a journal; from there the answer is as good as the best that was on file."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from tests.commands import shorthaul_json
from tests.faults.inject import FAULTS, SEARCHES, broken


def costs(journal: Path) -> list[float]:
    """Return the costs of the whole records in a journal."""
    lines = journal.read_bytes().split(b"\n")[1:-1] if journal.exists() else []
    return [json.loads(line.split(b"\t")[1])["cost"] for line in lines if line]


@pytest.mark.parametrize("engine", ["pebble", pytest.param("tensor", marks=pytest.mark.slow)])
def test_a_killed_search_goes_on(engine: str, tmp_path: Path) -> None:
    workload, entry = SEARCHES[engine]
    arguments = (engine, "plan", *workload)
    command = [sys.executable, "-m", "shorthaul", *arguments, "--effort", "1000", "--journal", "j"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + 60
        while not costs(tmp_path / "j") and time.monotonic() < until:
            time.sleep(0.02)
        process.kill()
    written = costs(tmp_path / "j")
    assert written
    document = shorthaul_json(*arguments, "--effort", "0.01", "--resume", "j", cwd=tmp_path)
    assert document["cost"][entry] <= min(written) * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("engine", SEARCHES)
@pytest.mark.parametrize("fault", FAULTS)
def test_faults(engine: str, fault: str, tmp_path: Path) -> None:
    for seed in range(3):
        folder = tmp_path / str(seed)
        folder.mkdir()
        outcome = broken(engine, fault, Random(f"{engine} {fault} {seed}"), folder)
        assert not outcome.wrong, str(outcome)


@pytest.mark.slow
def test_a_plan_is_not_lost_to_a_deadline_that_passes_while_others_have_the_machine(tmp_path: Path) -> None:
    outcome = broken("spatial", "pause", Random(1), tmp_path, when=lambda journal: bool(costs(journal)))
    assert outcome.status == 0
    assert outcome.left is not None
    assert not outcome.wrong, str(outcome)
