"""Kernels and searches of two checkouts beside one another, on fixed work.

    python benchmarks/speed.py --against PATH_OF_OTHER_CHECKOUT [--jobs WORDS ...] [--rounds 3] [-o FILE]

Every job of ``benchmarks/speed_jobs.py`` whose name has one of the words in it runs in fresh processes, this checkout
and the other in turn. A process prepares the input, does the work once to warm up, then again until it has used two
seconds or done it five times; the least of these CPU times counts. Prints a table with the least and the median over
the processes; a ratio above 1 says how many times faster this checkout is. Writes ``benchmarks/results/speed.json``
(with ``--jobs`` only if ``-o`` says so). Ends with status 1 if a job failed or answers that must be equal are not.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from speed_jobs import JOBS

HERE = Path(__file__).resolve().parents[1]
TARGET = HERE / "benchmarks" / "results" / "speed.json"
#: CPU seconds of measured repetitions in a process, and their most.
ENOUGH_S, MOST = 2.0, 5
#: Wall seconds that a process may take, warm-up and the compilation of older checkouts included.
TIMEOUT_S = 900
COLUMNS = "{:44} {:>9} {:>9} {:>9} {:>9} {:>7}  {}"


def measure(name: str) -> dict[str, Any]:
    """Run one job in this process; return CPU seconds per unit of work, and the answer."""
    work = JOBS[name].prepare()
    work()
    times: list[float] = []
    while len(times) < MOST and sum(times) < ENOUGH_S:
        began = time.process_time()
        done = work()
        times.append(time.process_time() - began)
    return {"cpu_s": min(times) / done.units, "units": done.units, "answer": done.text()}


def measured(tree: Path, name: str) -> dict[str, Any]:
    """Run one job in a fresh process with the package of a checkout; return what it measured, or ``error``."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONHASHSEED": "0"}
    environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    command = [sys.executable, __file__, "--measure", name, "--against", str(tree)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"not done within {TIMEOUT_S} s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def compared(name: str, other: Path, rounds: int) -> dict[str, Any]:
    """Return one row: both checkouts in turn, ``rounds`` times."""
    runs: dict[str, list[dict[str, Any]]] = {"old": [], "new": []}
    for _ in range(rounds):
        for key, tree in (("old", other), ("new", HERE)):
            runs[key].append(measured(tree, name))
            if "error" in runs[key][-1]:
                return {"job": name, "error": f"{key}: {runs[key][-1]['error']}"}
    row: dict[str, Any] = {"job": name}
    for key, found in runs.items():
        times = [item["cpu_s"] * runs["new"][0]["units"] for item in found]
        row[f"{key}_min_s"], row[f"{key}_median_s"] = min(times), statistics.median(times)
    row["ratio"] = row["old_min_s"] / row["new_min_s"]
    row["old_answer"], row["new_answer"] = runs["old"][0]["answer"], runs["new"][0]["answer"]
    row["must_be_equal"], row["equal"] = JOBS[name].same, row["old_answer"] == row["new_answer"]
    return row


def shown(row: dict[str, Any]) -> str:
    """Return a row of the table."""
    if "error" in row:
        return f"{row['job']:44} {row['error']}"
    times = [f"{row[f'{key}_{what}_s']:.4f}" for key in ("old", "new") for what in ("min", "median")]
    answers = "equal" if row["equal"] else f"{row['old_answer']} -> {row['new_answer']}"
    warning = "DIFFERENT: " if row["must_be_equal"] and not row["equal"] else ""
    return COLUMNS.format(row["job"], *times, f"{row['ratio']:.2f}", warning + answers[:60])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, required=True, help="the other checkout")
    parser.add_argument("--jobs", nargs="+", default=[""], help="words, of which the name of a job has one")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        import shorthaul

        assert Path(shorthaul.__file__).is_relative_to(given.against.resolve()), shorthaul.__file__
        print(json.dumps(measure(given.measure)))
        return
    names = [name for name in JOBS if any(word in name for word in given.jobs)]
    print(COLUMNS.format("job", "old min", "median", "new min", "median", "ratio", "answers"))
    rows = []
    for name in names:
        rows.append(compared(name, given.against.resolve(), given.rounds))
        print(shown(rows[-1]), flush=True)
    ratios = {row["job"]: row["ratio"] for row in rows if "ratio" in row}
    if ratios:
        least = min(ratios, key=lambda job: ratios[job])
        mean = math.exp(statistics.fmean(map(math.log, ratios.values())))
        print(f"geometric mean of the ratios {mean:.2f}; least {ratios[least]:.2f} ({least})")
    target = given.output or (TARGET if given.jobs == [""] else None)
    if target is not None:
        machine = {"python": platform.python_version(), "processor": platform.machine(), "cores": os.cpu_count()}
        target.parent.mkdir(parents=True, exist_ok=True)
        document = {"date": time.strftime("%Y-%m-%d"), "machine": machine, "rounds": given.rounds, "jobs": rows}
        target.write_text(json.dumps(document, indent=1) + "\n")
    if any("error" in row or (row["must_be_equal"] and not row["equal"]) for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
