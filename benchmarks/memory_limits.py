"""Is ``--memory-limit`` kept? ``python benchmarks/memory_limits.py [--only TEXT]`` runs large inputs of every engine.

Each command runs once without a limit, which gives its peak, then under three limits between what imports take and
that peak. Printed are the limit, the peak of all processes of the command together (shared pages once), their ratio
(1.1 at most is promised), the exit status, and the cost.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

#: Searches that take hundreds of megabytes, on one and on three processes.
COMMANDS = (
    "pebble plan random:n=150000 --budget 200 --effort 4 --workers 1",
    "pebble plan random:n=250,degree=3,window=40,most=1 --budget 9 --effort 20 --workers 1",
    "pebble plan random:n=250,degree=3,window=40,most=1 --budget 9 --effort 24 --restarts 3 --workers 3",
    "pebble bound fft:n=4096,word=1 --budget 64 --effort 8 --workers 2",
    "affine plan gemm --size NI=90,NJ=90,NK=90,S=500 --effort 4 --workers 2",
    "affine sweep lu --size N=500 --points 6 --workers 3",
    "tensor plan mlp-chain:layers=200 --effort 3 --workers 1",
    "tensor sweep transformer-block:layers=12 --points 6 --effort 6 --workers 3",
    "dataflow plan multicamera --generations 60 --restarts 3 --workers 3",
    "dataflow plan random:actors=300 --generations 20 --workers 1",
    "spatial plan yule:n=3000000 --effort 4 --workers 1",
    "spatial plan random-recursive:n=300000 --restarts 3 --refine 2 --workers 3",
    "spatial sweep yule --sizes 2^16..2^20 --workers 3",
)
#: What Python and the imports of an engine take, in bytes.
_IMPORTS = 110 << 20
_PARTS = (0.25, 0.5, 0.75)
_LOOK_S = 0.02


def main() -> None:
    """Run all commands and print a line for each run; status 1 if a limit was passed by more than a tenth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="commands that contain this")
    given = parser.parse_args()
    worst = 0.0
    for command in (command for command in COMMANDS if given.only in command):
        peak, status, cost = run(command, None)
        print(f"{peak >> 20:6} MiB without a limit, status {status}, {cost}: {command}", flush=True)
        for part in _PARTS:
            limit = int(_IMPORTS + part * max(peak - _IMPORTS, 16 << 20))
            taken, status, cost = run(command, limit)
            worst = max(worst, taken / limit)
            print(f"{taken >> 20:6} MiB of {limit >> 20:5}, {taken / limit:.3f}, status {status}, {cost}", flush=True)
    print(f"at most {worst:.3f} of a limit")
    sys.exit(worst > 1.1)


def run(command: str, limit: int | None) -> tuple[int, int, str]:
    """Return the most bytes that a command had, its exit status, and its cost as text."""
    more = [] if limit is None else ["--memory-limit", str(limit)]
    line = [sys.executable, "-m", "shorthaul", *command.split(), *more, "--json"]
    with tempfile.TemporaryFile("w+") as printed:
        process = subprocess.Popen(line, stdout=printed, stderr=subprocess.DEVNULL)
        peak = _peak(process)
        printed.seek(0)
        return peak, process.returncode, _cost(printed.read())


def _peak(process: subprocess.Popen[bytes]) -> int:
    """Return the most bytes that a command and its processes had until it ended."""
    peak = 0
    while process.poll() is None:
        peak = max(peak, sum(map(share, (process.pid, *descendants(process.pid)))))
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK_S)
    return peak


def _cost(printed: str) -> str:
    document: dict[str, Any] = json.loads(printed) if printed.strip() else {}
    cost = document.get("cost") or {}
    return next((f"{name} {value:.6g}" for name, value in cost.items()), "no cost" if document else "no answer")


def share(pid: int) -> int:
    """Return the bytes of a process that are in memory, of pages that others use too its part; 0 once it is gone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return 0


def descendants(pid: int) -> list[int]:
    """Return the processes that a process, or one of those, started."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{one}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        found.append(one)
    return found[1:]


if __name__ == "__main__":
    main()
