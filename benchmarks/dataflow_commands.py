"""The clock of the whole command ``shorthaul dataflow plan APP``, with start, exploration, polishing, bound and check.

    python benchmarks/dataflow_commands.py [--seeds 3]

Meant for a machine that does nothing else.
Prints the median over the seeds and writes ``benchmarks/results/dataflow_commands.json``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

TARGET = Path(__file__).parent / "results" / "dataflow_commands.json"
APPLICATIONS = ("sobel", "sobel4", "multicamera")


def clock_s(application: str, seed: int) -> float:
    """Return how many seconds the command takes from start to end."""
    command = [sys.executable, "-m", "shorthaul", "dataflow", "plan", application, "--json", "--seed", str(seed)]
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    rows = []
    for application in APPLICATIONS:
        clocks = [round(clock_s(application, seed), 2) for seed in range(1, given.seeds + 1)]
        rows.append({"application": application, "clock_s": clocks, "median_s": statistics.median(clocks)})
        print("  ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(json.dumps({"commands": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
