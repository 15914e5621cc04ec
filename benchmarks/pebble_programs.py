"""Graphs of C programs: pebble's bound beside the affine engine's, and its plans beside both.

    python benchmarks/pebble_programs.py [--effort 2] [--sizes 4 7 12] [--times 1 2 4] [--only gemm]

Every built-in kernel, all parameters at each of the sizes (steps at a third, two at least), in the least memory
taken so many times. ``affine`` is the bound of that engine on loads, with the outputs, in the unit of the weights;
``bound`` and ``plan`` are those of ``pebble plan``, ``took`` the processor seconds of all three. Prints a line for
each and a summary.
"""

from __future__ import annotations

import argparse
import statistics
import time
from importlib import resources

from shorthaul.affine import bound as affine_bound
from shorthaul.affine.integer_sets.points import TooManyPointsError
from shorthaul.affine.workloads.cases import CASES
from shorthaul.affine.workloads.cases import case as program_of
from shorthaul.bridges.graph_files import GraphOptions, cdag_source
from shorthaul.pebble import plan

#: Parameters that count steps.
STEPS = ("T", "TSTEPS")
#: Graphs of more nodes are left out.
MOST_NODES = 60_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--effort", type=float, default=2.0)
    parser.add_argument("--sizes", type=int, nargs="+", default=[4, 7, 12])
    parser.add_argument("--times", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--only", nargs="*")
    given = parser.parse_args()
    ratios, below = [], []
    for name in given.only or [item.name for item in CASES]:
        for size in given.sizes:
            for row in measured(name, size, given.times, given.effort):
                print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
                ratios.append(row["ratio"])
                below += [row] if row["bound"] < row["affine"] else []
    if ratios:
        print(f"{len(ratios)} plans: plan / bound median {statistics.median(ratios):.3f}, most {max(ratios):.3f}")
        print(f"{len(below)} bounds below the affine engine's and the outputs")


def measured(name: str, size: int, times: list[int], effort: float) -> list[dict[str, object]]:
    """Return a row for each memory."""
    file = str(resources.files("shorthaul.affine").joinpath("kernels", f"{name}.c"))
    program = program_of(file).workload
    sizes = ",".join(f"{word}={max(2, size // 3) if word in STEPS else size}" for word in program.parameters)
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
        made = plan(source, budget=budget, effort=effort)
        assert known is not None
        assert made.bound is not None
        assert made.cost is not None
        rows.append(
            {
                "kernel": name,
                "size": size,
                "nodes": cdag.n,
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
