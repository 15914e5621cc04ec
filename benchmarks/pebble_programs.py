"""Graphs of C programs: pebble's bound beside the affine engine's, and its plans beside both.

    python benchmarks/pebble_programs.py [--effort 2] [--sizes 4 7 12] [--times 1 2 4] [--only gemm] [--keep]

Every built-in kernel, all parameters at each of the sizes (steps, and all seven of a convolution, at a third, two at
least), in the least memory taken so many times. ``affine`` is the bound of that engine on loads, with the outputs, in
the unit of the weights; ``bound`` and ``plan`` are those of ``pebble plan``, ``took`` the processor seconds of all
three. Prints a line for each and a summary. With ``--keep`` the rows go to ``benchmarks/results/pebble_programs.json``
as they come, and those that it has, of the same effort, are not measured again. ``--processes`` are used at once.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import resources
from pathlib import Path
from typing import Any

from shorthaul.affine import bound as affine_bound
from shorthaul.affine.integer_sets.points import TooManyPointsError
from shorthaul.affine.workloads.cases import CASES
from shorthaul.affine.workloads.cases import case as program_of
from shorthaul.bridges.graph_files import GraphOptions, cdag_source
from shorthaul.pebble import plan

TARGET = Path(__file__).parent / "results" / "pebble_programs.json"
#: Parameters that count steps.
STEPS = ("T", "TSTEPS")
#: Kernels with so many nested loops that all their parameters are at a third.
NESTED = ("convolution",)
#: Graphs of more nodes are left out.
MOST_NODES = 60_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--effort", type=float, default=2.0)
    parser.add_argument("--sizes", type=int, nargs="+", default=[4, 7, 12])
    parser.add_argument("--times", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    kept = json.loads(TARGET.read_text()) if given.keep and TARGET.exists() else {}
    rows = kept["rows"] if kept.get("effort") == given.effort else []
    known = {(row["kernel"], row["size"], row["times"]) for row in rows}
    tasks = []
    for size in sorted(given.sizes, reverse=given.processes > 1):
        for name in given.only or [item.name for item in CASES]:
            times = [memory for memory in given.times if (name, size, memory) not in known]
            tasks.append((name, size, times, given.effort))
    with ProcessPoolExecutor(given.processes) as pool:
        for done in as_completed([pool.submit(measured, *task) for task in tasks]):
            for row in done.result():
                print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
                rows.append(row)
            if given.keep:
                rows.sort(key=lambda row: (row["kernel"], row["size"], row["times"]))
                TARGET.write_text(json.dumps({"effort": given.effort, "rows": rows}, indent=1) + "\n")
    for size in sorted({row["size"] for row in rows}):
        for memory in sorted({row["times"] for row in rows}):
            summarise(
                f"size {size}, {memory} times", [row for row in rows if (row["size"], row["times"]) == (size, memory)]
            )
    summarise("all", rows)
    print(f"{sum(row['bound'] < row['affine'] for row in rows)} bounds below the affine engine's and the outputs")


def summarise(what: str, rows: list[dict[str, Any]]) -> None:
    """Print the median and the largest ratio of some rows."""
    ratios = [row["ratio"] for row in rows]
    if ratios:
        print(
            f"{what}: {len(ratios)} plans, plan / bound median {statistics.median(ratios):.3f}, most {max(ratios):.3f}"
        )


def measured(name: str, size: int, times: list[int], effort: float) -> list[dict[str, Any]]:
    """Return a row for each memory."""
    file = str(resources.files("shorthaul.affine").joinpath("kernels", f"{name}.c"))
    program = program_of(file).workload
    third = program.parameters if name in NESTED else STEPS
    sizes = ",".join(f"{word}={max(2, size // 3) if word in third else size}" for word in program.parameters)
    try:
        cdag = cdag_source(file, GraphOptions(size=sizes)).workload
    except TooManyPointsError:
        return []
    if cdag.n > MOST_NODES:
        return []
    width = int(cdag.weights.min())
    rows = []
    for memory in times:
        begun = time.process_time()
        source = cdag_source(file, GraphOptions(size=sizes))
        budget = memory * cdag.least_budget()
        known = affine_bound(program, size=f"{sizes},S={budget // width}", upper=False).bound
        made = plan(source, budget=budget, effort=effort, workers=1)
        assert known is not None
        assert made.bound is not None
        assert made.cost is not None
        rows.append(
            {
                "kernel": name,
                "size": size,
                "nodes": cdag.n,
                "times": memory,
                "budget": budget,
                "affine": known.value * width + int(cdag.weights[cdag.is_output()].sum()),
                "bound": made.bound.value,
                "plan": made.cost["traffic"],
                "ratio": round(made.cost["traffic"] / made.bound.value, 3) if made.bound.value else 1.0,
                "by": made.extra.get("method"),
                "bound by": made.bound.method,
                "took": round(time.process_time() - begun, 1),
            }
        )
    return rows


if __name__ == "__main__":
    main()
