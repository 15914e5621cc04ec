"""The pebble engine on the figures it has to reach: quality, bound, proof, and processor time.

    python benchmarks/pebble.py [FOLDER] [--time-limit 60] [--only optima|hard|osp|speed]

``FOLDER`` holds the instances of OneStopParallel's tiny set (they are not part of the project); without it only
generated graphs are measured. Optima and hard graphs go to the exact solver, which starts from Belady's replacement;
beside every figure stand Belady's replacement on the best of its orders, and the figure known before. Every plan is
replayed by the checker. Times are processor seconds of this process, kernels compiled before. Prints a table and
writes ``benchmarks/results/pebble.json``.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from pathlib import Path

from shorthaul.core.search import Budget
from shorthaul.pebble import Cdag, belady, case, exact, load_cdag, plan
from shorthaul.pebble.check import replay

HERE = Path(__file__).parent
#: Case, budget, optimum.
OPTIMA = (
    ("fft:n=8,word=1", 3, 40),
    ("fft:n=8,word=1", 6, 24),
    ("fft:n=8,word=1", 9, 18),
    ("matmul:m=2,n=2,k=3,word=1", 3, 38),
    ("matmul:m=2,n=2,k=3,word=1", 6, 19),
    ("matmul:m=2,n=2,k=3,word=1", 9, 16),
    ("matmul:m=2,n=3,k=3,word=1", 6, 27),
    ("matmul:m=2,n=3,k=3,word=1", 9, 23),
    ("mvm:m=4,n=6,word=1", 5, 40),
    ("mvm:m=4,n=6,word=1", 6, 38),
    ("mvm:m=4,n=6,word=1", 9, 34),
    ("pyramid:n=10,word=1", 3, 87),
    ("pyramid:n=10,word=1", 9, 18),
)
#: Case, budget, best traffic known before.
HARD = (
    ("fft:n=16,word=1", 6, 67),
    ("matmul:m=3,n=3,k=3,word=1", 6, 39),
    ("matmul:m=3,n=3,k=3,word=1", 9, 33),
    ("mvm:m=4,n=6,word=1", 3, 85),
)
#: Instance: (budget, best traffic known before).
OSP = {
    "CG_N2_K2_nzP0d75": ((5, 49), (9, 26)),
    "CG_N4_K1_nzP0d35": ((8, 67), (15, 37)),
    "bicgstab": ((6, 38), (12, 36)),
    "exp_N4_K2_nzP0d5": ((6, 36), (12, 21)),
    "exp_N6_K4_nzP0d25": ((6, 45), (12, 24)),
    "k-means": ((6, 23), (12, 23)),
    "kNN_N5_K3_nzP0d3": ((8, 31), (15, 21)),
    "pregel": ((11, 40), (21, 38)),
    "spmv_N6_nzP0d4": ((9, 30), (18, 30)),
}
SPEED = (("random:n=1000000", 64), ("fft:n=65536,word=1", 256), ("tree:n=100000", 64))


def solved(name: str, cdag: Cdag, budget: int, known: int, limit_s: float) -> dict[str, object]:
    """Return what the exact solver makes of one problem."""
    baseline = belady.plan(cdag, budget)
    began = time.process_time()
    found, bound, proven = exact.solve(cdag, budget, search=Budget(time_limit_s=limit_s), incumbent=baseline)
    cpu_s = time.process_time() - began
    report = replay(cdag, found, budget, recompute=False)
    assert report.ok, report.violations[0]
    assert report.cost is not None
    return {
        "problem": name,
        "nodes": cdag.n,
        "budget": budget,
        "known": known,
        "belady": baseline.traffic(cdag.weights),
        "traffic": report.cost["traffic"],
        "bound": bound,
        "proven": proven,
        "cpu_s": round(cpu_s, 2),
    }


def planned(name: str, budget: int) -> dict[str, object]:
    """Return what ``auto`` makes of a large graph, replay included, in 60 s."""
    cdag = case(name).workload
    began = time.process_time()
    started = time.monotonic()
    result = plan(cdag, budget=max(budget, cdag.least_budget()), search=Budget(time_limit_s=60))
    assert result.cost is not None
    assert result.bound is not None
    return {
        "problem": name,
        "nodes": cdag.n,
        "budget": max(budget, cdag.least_budget()),
        "traffic": result.cost["traffic"],
        "bound": result.bound.value,
        "cpu_s": round(time.process_time() - began, 2),
        "wall_s": round(time.monotonic() - started, 2),
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }


def show(row: dict[str, object]) -> dict[str, object]:
    """Print one row and return it."""
    print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--only", choices=("optima", "hard", "osp", "speed"))
    given = parser.parse_args()
    target = HERE / "results" / "pebble.json"
    results: dict[str, object] = json.loads(target.read_text()) if target.exists() else {}
    exact.solve(case("fft:n=8,word=1").workload, 3, search=Budget(time_limit_s=60))  # compiles the kernels
    for group, problems in (("optima", OPTIMA), ("hard", HARD)):
        if given.only in {None, group}:
            results[group] = [
                show(solved(name, case(name).workload, budget, known, given.time_limit))
                for name, budget, known in problems
            ]
    if given.only in {None, "osp"}:
        if given.folder is None:
            print("no folder given: OneStopParallel's instances are left out", file=sys.stderr)
        else:
            results["osp"] = [
                show(solved(name, load_cdag(given.folder / f"instance_{name}.hdag"), budget, known, given.time_limit))
                for name, pairs in OSP.items()
                for budget, known in pairs
            ]
    if given.only in {None, "speed"}:
        results["speed"] = [show(planned(name, budget)) for name, budget in SPEED]
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
