"""Searches in odd circumstances give their answer, and damaged journals never less than a record that is whole."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faults.test_faults import costs

#: A search of every engine that finds several plans, on three processes where it can, and the entry of its cost that
#: journals have; those of dataflow have the hypervolume of a front.
SEARCHES = {
    "pebble": (("fft:n=64,word=1", "--budget", "10", "--restarts", "3", "--effort", "2"), "traffic"),
    "tensor": (("transformer-block:layers=2", "--restarts", "3", "--effort", "1"), "latency"),
    "dataflow": (("sobel4", "--generations", "20", "--restarts", "2", "--polish-effort", "0.3"), ""),
    "spatial": (("yule:n=20000", "--refine", "2", "--restarts", "3", "--no-baselines"), "energy_hops"),
    "affine": (("matvec", "--size", "M=60,N=60,S=30", "--effort", "1"), "loads_words"),
}
#: What happens before the command begins.
CIRCUMSTANCES = {
    "no threads": "import threading\ndef no(*_): raise RuntimeError('none')\nthreading.Thread.start = no",
    "no processes": "import os\ndef no(): raise BlockingIOError(11, 'none')\nos.fork = no",
    "neither": "import os, threading\n"
    "def no(*_): raise RuntimeError('none')\nthreading.Thread.start = no\n"
    "def none(): raise BlockingIOError(11, 'none')\nos.fork = none",
    "a clock that goes back": "import time\nnow, told = time.time, []\n"
    "def back(): told.append(0); return now() - 3600 * len(told)\ntime.time = back",
    "no folders": "import os\nos.environ.update(HOME='/nowhere', TMPDIR='/nowhere')",
}


def answer(engine: str, folder: Path, *more: str, before: str = "") -> dict[str, Any]:
    """Return the document of a search in ``folder``, or its exit status and what it said."""
    arguments = [engine, "plan", *SEARCHES[engine][0], "--workers", "3", *more, "--json"]
    code = f"{before}\nfrom shorthaul.cli.main import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONDEVMODE": ""},
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    if done.returncode:
        return {"status": done.returncode, "said": done.stderr}
    document: dict[str, Any] = json.loads(done.stdout)
    del document["provenance"]
    return document


@pytest.mark.slow
@pytest.mark.parametrize("engine", SEARCHES)
def test_the_same_answer_comes_in_odd_circumstances(engine: str, tmp_path: Path) -> None:
    usual = answer(engine, tmp_path)
    for name, before in CIRCUMSTANCES.items():
        assert answer(engine, tmp_path, before=before) == usual, name


def damaged(data: bytes, draw: random.Random) -> bytes:
    """Return a journal that was cut, or whose bytes or lines were changed."""
    lines, at = data.split(b"\n"), draw.randrange(len(data))
    line = draw.randrange(1, len(lines))
    match draw.randrange(6):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + bytes(4096) + data[at + 4096 :]
        case 2:
            return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]
        case 3:
            lines[line] = lines[line][: draw.randrange(len(lines[line]) + 1)]
        case 4:
            lines.insert(line, draw.randbytes(4000))
        case _:
            rest = lines[1:]
            draw.shuffle(rest)
            lines[1:] = rest
    return b"\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("engine", SEARCHES)
def test_a_damaged_journal_gives_its_whole_records(engine: str, tmp_path: Path) -> None:
    entry, draw = SEARCHES[engine][1], random.Random(engine)
    answer(engine, tmp_path, "--journal", "whole")
    data = (tmp_path / "whole").read_bytes()
    records = dict(zip(data.split(b"\n")[1:-1], costs(tmp_path / "whole"), strict=True))
    for number in range(6):
        changed = damaged(data, draw)
        (tmp_path / f"{number}").write_bytes(changed)
        found = answer(engine, tmp_path, "--effort", "0.01", "--resume", f"{number}")
        if changed.startswith(data[: data.index(b"\n")]) and entry:
            whole = [cost for line, cost in records.items() if line in changed.split(b"\n")]
            assert found["cost"][entry] <= min(whole, default=float("inf")) * (1 + 1e-9), number
        else:
            assert found["status"] in {2, "feasible", "optimal"}, number
