"""Searches on a cluster whose processes are killed: ``python -m tests.cluster_faults 20 [ENGINE...]``.

Each run starts a scheduler and three workers on loopback, begins a command there, kills the scheduler, one worker or
all three at random moments, and compares the answer with that of the same command on one process. With ``--drawn SEED``
the inputs are drawn (``tests.faults.drawn``) in place of built-in cases.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.faults.drawn import drawn

COMMANDS = (
    ("pebble", "bound", "fft:n=64", "--budget", "256", "--effort", "6"),
    ("pebble", "sweep", "fft:n=16", "--points", "6", "--effort", "6"),
    ("pebble", "plan", "fft:n=16", "--budget", "160", "--restarts", "5", "--effort", "6"),
    ("affine", "bound", "cholesky", "--size", "N=200,S=256"),
    ("affine", "plan", "gemm", "--size", "NI=40,NJ=40,NK=40,S=100"),
    ("affine", "sweep", "lu", "--size", "N=200", "--points", "6"),
    ("tensor", "bound", "transformer-block:heads=16,layers=4", "--rules", "contest", "--effort", "6"),
    ("tensor", "plan", "transformer-block", "--restarts", "6", "--effort", "6"),
    ("tensor", "sweep", "example-5", "--points", "6", "--effort", "6"),
    ("dataflow", "bound", "multicamera", "--effort", "3"),
    ("dataflow", "buffers", "multicamera", "--serial", "--effort", "6"),
    ("dataflow", "plan", "sobel", "--generations", "60", "--restarts", "5", "--polish-effort", "1"),
    ("dataflow", "sweep", "sobel", "--generations", "40", "--seeds", "2"),
    ("spatial", "plan", "yule:n=3000", "--restarts", "5", "--refine", "4"),
    ("spatial", "sweep", "yule", "--sizes", "2^12..2^17"),
)
#: Which processes are killed: the scheduler, one worker, all.
VICTIMS = ((0,), (1,), (1, 2, 3))


@contextmanager
def cluster(folder: Path, workers: int = 3) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Yield the address of a cluster, and its processes: the scheduler first."""
    found = folder / "scheduler.json"
    dask = (sys.executable, "-m", "dask")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    address = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    processes = [subprocess.Popen([*dask, "scheduler", *address, "--scheduler-file", str(found)], **quiet)]  # type: ignore[call-overload]
    try:
        while not found.exists():
            time.sleep(0.1)
            assert processes[0].poll() is None, "the scheduler did not start"
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "20")
        for _ in range(workers):
            command = [*dask, "worker", "--scheduler-file", str(found), *options]
            processes.append(subprocess.Popen(command, **quiet))  # type: ignore[call-overload]
        yield json.loads(found.read_text())["address"], processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def document(command: tuple[str, ...], *more: str) -> tuple[dict[str, Any], str]:
    """Return the answer of a command without what depends on the clock, and what it said."""
    done = _start(command, *more).communicate(timeout=600)
    return _answer(done[0]), done[1]


def _start(command: tuple[str, ...], *more: str) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "shorthaul", *command, *more, "--json"]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _answer(text: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(text) if text.strip() else {}
    answer.pop("provenance", None)
    return answer


def run(command: tuple[str, ...], kills: list[tuple[float, int]], expected: dict[str, Any]) -> str:
    """Return how a command ended whose cluster loses processes: (seconds after its tasks began, which one)."""
    with tempfile.TemporaryDirectory() as name, cluster(Path(name)) as (address, processes):
        running = start_and_wait_for_tasks(command, address)
        began, is_late = time.monotonic(), False
        for after_s, victim in sorted(kills):
            time.sleep(max(0.0, began + after_s - time.monotonic()))
            is_late = running.poll() is not None
            processes[victim].kill()
        out, said = running.communicate(timeout=600)
    lines = [line for line in said.splitlines() if "cluster" in line or "scheduler" in line or "Traceback" in line]
    told = f" ({lines[-1]})" if lines else " (it had ended)" if is_late else ""
    if running.returncode not in {0, 2} or "Traceback" in said:
        return f"WRONG: status {running.returncode}: {said[-2000:]}"
    if running.returncode == 2:  # lost before the search had begun
        return f"refused{told}"
    return f"same answer{told}" if _answer(out) == expected else "WRONG: another answer"


def start_and_wait_for_tasks(command: tuple[str, ...], address: str) -> subprocess.Popen[str]:
    """Start a command once the cluster has its workers, and return it once they are at work."""
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(3, timeout=600)
        running = _start(command, "--cluster", address)
        while not any(client.processing().values()) and running.poll() is None:
            time.sleep(0.1)
    return running


def main() -> None:
    """Print how every run ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("engines", nargs="*")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--drawn", type=int)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        every = COMMANDS if given.drawn is None else drawn(Path(folder), given.drawn)
        wrong = _run_all([one for one in every if not given.engines or one[0] in given.engines], given)
    sys.exit(wrong > 0)


def _run_all(commands: list[tuple[str, ...]], given: argparse.Namespace) -> int:
    """Return how many runs ended wrongly."""
    draw, expected, wrong = random.Random(given.seed), {}, 0
    for number in range(given.count):
        turn, at = divmod(number, len(commands))
        command, victims = commands[at], VICTIMS[(turn + at) % len(VICTIMS)]
        if command not in expected:
            began = time.monotonic()
            expected[command] = document(command, "--workers", "1")[0], time.monotonic() - began
        wanted, took_s = expected[command]
        kills = [(draw.uniform(0, 0.4 * took_s), victim) for victim in victims]
        ended = run(command, kills, wanted)
        wrong += ended.startswith("WRONG")
        shown = ", ".join(f"{'scheduler' if who == 0 else f'worker {who}'} at {at:.1f} s" for at, who in sorted(kills))
        print(f"{' '.join(command[:3])}: killed {shown}: {ended}", flush=True)
    return wrong


if __name__ == "__main__":
    main()
