"""Do commands keep to their time limit? ``python benchmarks/deadlines.py 1 2 5`` runs every command under each limit.

Printed are the commands that end more than a second late, by the clock and by what they computed: on a busy machine the
clock counts what others do.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

#: Small, usual and large inputs of every verb that searches.
COMMANDS = (
    "pebble plan fft:n=64,word=1 --budget 10",
    "pebble plan dwt:n=131072,d=17,word=1 --budget 12",
    "pebble plan mvm:m=96,n=120 --budget 200",
    "pebble plan mvm:m=600,n=600 --budget 200 --method mvm-tiling",
    "pebble plan fft:n=16384,word=1 --budget 64 --method layer-by-layer",
    "pebble bound fft:n=256,word=1 --budget 16",
    "pebble memory fft:n=128,word=1",
    "pebble sweep fft:n=64,word=1",
    "affine bound gemm",
    "affine bound cholesky",
    "affine plan gemm --size NI=60,NJ=60,NK=60,S=100",
    "affine plan seidel-2d --size TSTEPS=20,N=60,S=100",
    "affine sweep gemm --size NI=1000,NJ=1000,NK=1000",
    "affine check gemm",
    "tensor plan transformer-block",
    "tensor plan transformer-block:layers=40",
    "tensor plan mlp-chain:layers=200",
    "tensor bound transformer-block:layers=20",
    "tensor sweep transformer-block",
    "dataflow plan sobel",
    "dataflow plan sobel4",
    "dataflow plan multicamera",
    "dataflow plan multicamera --decoder modulo",
    "dataflow sweep sobel",
    "spatial plan yule:n=1000",
    "spatial plan yule:n=1000000",
    "spatial plan yule:n=10000000",
    "spatial sweep yule",
    "spatial treefix yule:n=100000",
    "spatial lca yule:n=100000 --random 10000",
)


def main() -> None:
    """Run the commands under every limit given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("limits", type=float, nargs="*", default=[1, 2, 5])
    parser.add_argument("--only", default="", help="commands that contain this")
    given = parser.parse_args()
    commands = [command for command in COMMANDS if given.only in command]
    for limit in given.limits:
        late = 0
        for command in commands:
            wall_s, busy_s, status, said = run(command, limit)
            late += wall_s > limit + 1
            if wall_s > limit + 1 or status not in {0, 4}:
                print(f"  {limit:g} s: {wall_s:.2f} s, computed {busy_s:.2f} s, status {status}: {command} {said}")
        print(f"limit {limit:g} s: {late} of {len(commands)} more than a second late", flush=True)


def run(command: str, limit: float) -> tuple[float, float, int, str]:
    """Return the seconds by the clock and those computed, the exit status, and what was said if that is an error."""
    with tempfile.TemporaryDirectory() as folder:
        before, began = os.times(), time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "shorthaul", *command.split(), "--time-limit", f"{limit:g}"],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        wall_s, after = time.monotonic() - began, os.times()
    busy_s = after.children_user + after.children_system - before.children_user - before.children_system
    said = done.stderr.strip()[-200:] if done.returncode not in {0, 4} else ""
    return wall_s, busy_s, done.returncode, said


if __name__ == "__main__":
    main()
