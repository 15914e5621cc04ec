"""What do two workers bring? ``python benchmarks/workers.py [1 2 4]`` times a sweep of every engine with each number.

Printed are the seconds by the clock and their ratio to those of the first number, of runs one after the other on a
machine with nothing else to do. The answers have to be the same, or this ends with an error.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from typing import Any

#: A sweep of every engine that takes half a minute or so on one core.
COMMANDS = (
    "pebble sweep fft:n=64,word=1 --points 8 --effort 80",
    "affine sweep lu --size N=2000 --points 8",
    "tensor sweep transformer-block:layers=4 --points 12 --effort 24",
    "dataflow sweep sobel4 --seeds 4 --generations 150",
    "spatial sweep yule --sizes 2^16..2^21",
)


def main() -> None:
    """Run every command with every number of workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--only", default="", help="commands that contain this")
    given = parser.parse_args()
    for command in (command for command in COMMANDS if given.only in command):
        timed = [run(command, workers) for workers in given.workers]
        for workers, (seconds, answer) in zip(given.workers, timed, strict=True):
            if answer != timed[0][1]:
                sys.exit(f"{command}: another answer with {workers} workers")
            print(f"{seconds:7.1f} s  {seconds / timed[0][0]:5.2f}  workers {workers}: {command}", flush=True)


def run(command: str, workers: int) -> tuple[float, dict[str, Any]]:
    """Return the seconds that a command took, and its answer without what depends on the clock."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "shorthaul", *command.split(), "--workers", str(workers), "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    seconds = time.monotonic() - began
    document = json.loads(done.stdout)
    del document["provenance"]
    return seconds, document


if __name__ == "__main__":
    main()
