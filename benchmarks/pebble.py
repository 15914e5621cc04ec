"""The pebble engine on the figures it has to reach: quality, bound, proof, and processor time.

    python benchmarks/pebble.py [FOLDER] [--time-limit 60] [--only GROUP] [--processor-time] [--seed 0]

``FOLDER`` holds the instances of OneStopParallel's tiny set (they are not part of the project); without it only
generated graphs are measured. ``table1``, ``figure5`` and ``figure6`` are the paper's, with its layer-by-layer baseline
and the same order freeing dead values at once. Optima and hard graphs go to ``--method exact``; beside every figure
stand Belady's replacement on the best of its orders, and the figure known before. ``random`` is ``--method exact`` with
10 s on 200 random graphs of 18 to 51 nodes (``pebble_random.py``). ``bounds`` are the bounds that need no search, each
method alone. Every plan is replayed by the checker. Times are processor seconds of this process, kernels compiled
before; ``speed`` runs each graph in a process of its own and adds wall time and the process's peak memory. Prints a
table and writes
``benchmarks/results/pebble.json``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pebble_random

from shorthaul.core.result import Status
from shorthaul.core.search import Search
from shorthaul.pebble import Cdag, Plan, case, load_cdag, plan
from shorthaul.pebble.bounds.best import best_bound
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.exact import solver
from shorthaul.pebble.orders import belady, layer_by_layer
from shorthaul.pebble.states import potentials
from shorthaul.pebble.structured import matrix_vector, tree_recursion, wavelet

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
#: Case, budget: graphs that no search decides.
MEDIUM = (
    ("fft:n=64,word=1", 16),
    ("fft:n=256,word=1", 6),
    ("fft:n=256,word=1", 32),
    ("matmul:m=6,n=6,k=6,word=1", 6),
    ("matmul:m=16,n=16,k=16,word=1", 16),
    ("matmul:m=16,n=16,k=16,word=1", 64),
    ("conv:h=12,w=12,c=3,f=4,k=3,word=1", 16),
    ("attention:n=8,d=4,word=1", 16),
    ("stencil:n=200,t=100,word=1", 10),
    ("stencil:n=200,t=100,word=1", 40),
    ("pyramid:n=60,word=1", 20),
)
#: Workload, weights, the smallest memory in the paper's Table 1, IOOpt's there, the layer-by-layer baseline's there.
TABLE_1 = (
    ("dwt:n=256,d=8", "equal", 10, None, 445),
    ("dwt:n=256,d=8", "double-accumulator", 18, None, 636),
    ("mvm:m=96,n=120", "equal", 99, 193, None),
    ("mvm:m=96,n=120", "double-accumulator", 126, 289, None),
)
#: DWT(256, 8), words of 16 bits: budget, the paper's traffic in bits with its schedules (None: no figure), by layers.
FIGURE_5 = (
    (3, 12256, 16224),
    (4, 10208, 16000),
    (6, 8672, 15872),
    (8, 8288, 15776),
    (10, 8192, 15680),
    (128, None, 11968),
    (256, None, 9920),
    (445, None, 8192),
)
#: Mean reduction of the smallest memory over layer by layer, in percent.
FIGURE_6 = (("equal", 47.05), ("double-accumulator", 46.80))
#: Case, budget (None: the least).
SPEED = (
    ("dwt:n=65536,d=16", 160),
    ("tree:n=100000", None),
    ("random:n=1000000", 64),
    ("fft:n=65536,word=1", 256),
)


def replayed(cdag: Cdag, found: Plan, budget: int) -> int:
    """Return the traffic of a plan as the checker sees it."""
    report = replay(cdag, found, budget, recompute=False)
    assert report.ok, report.violations[0]
    assert report.cost is not None
    return int(report.cost["traffic"])


def least_memory(name: str, weights: str, paper: int, ioopt: int | None, baseline: int | None) -> dict[str, object]:
    """Return the smallest fast memories of one row of Table 1, in words, with plans that meet the bound in them."""
    cdag = case(f"{name},weights={weights},word=1").workload
    began = time.process_time()
    is_wavelet = name.startswith("dwt")
    words = tree_recursion.least_memory(cdag, method="dwt") if is_wavelet else matrix_vector.least_memory(cdag)
    found = (wavelet.plan if is_wavelet else matrix_vector.plan)(cdag, words)
    assert replayed(cdag, found, words) == cdag.algorithmic_bound()
    cpu_s = time.process_time() - began
    fair = layer_by_layer.least_memory(cdag, freeing=True)
    return {
        "workload": name,
        "weights": weights,
        "words": words,
        "paper": paper,
        "ioopt": ioopt,
        "layer_by_layer": layer_by_layer.least_memory(cdag),
        "layer_by_layer_paper": baseline,
        "layer_by_layer_freeing": fair,
        "cpu_s": round(cpu_s, 2),
    }


def wavelet_traffic(words: int, paper: int | None, baseline: int) -> dict[str, object]:
    """Return the traffic of one budget of Figure 5, in bits."""
    cdag = case("dwt:n=256,d=8").workload
    budget = 16 * words
    result = plan(cdag, budget=budget, method="dwt")
    assert result.cost is not None
    assert result.bound is not None
    return {
        "words": words,
        "bits": result.cost["traffic"],
        "paper": paper,
        "bound": result.bound.value,
        "layer_by_layer": replayed(cdag, layer_by_layer.plan(cdag, budget), budget),
        "layer_by_layer_paper": baseline,
        "layer_by_layer_freeing": replayed(cdag, layer_by_layer.plan(cdag, budget, freeing=True), budget),
    }


def mean_reduction(weights: str, paper: float) -> dict[str, object]:
    """Return the mean reduction of Figure 6 over even n up to 256, in percent."""
    ours, fair = [], []
    for n in range(2, 257, 2):
        cdag = case(f"dwt:n={n},d={(n & -n).bit_length() - 1},weights={weights}").workload
        words = tree_recursion.least_memory(cdag)
        ours.append(1 - words / layer_by_layer.least_memory(cdag))
        fair.append(1 - words / layer_by_layer.least_memory(cdag, freeing=True))
    return {
        "weights": weights,
        "percent": round(100 * statistics.mean(ours), 2),
        "paper": paper,
        "percent_over_freeing": round(100 * statistics.mean(fair), 2),
    }


def bounded(name: str, cdag: Cdag, budget: int, limit_s: float) -> dict[str, object]:
    """Return the bounds of one problem that need no search of the whole."""
    began = time.process_time()
    found = best_bound(cdag, budget, search=Search(time_limit=limit_s))
    return {
        "problem": name,
        "nodes": cdag.n,
        "budget": budget,
        "belady": belady.plan(cdag, budget).traffic(cdag.weights),
        **found.details["bounds"],
        "cpu_s": round(time.process_time() - began, 2),
    }


def solved(name: str, cdag: Cdag, budget: int, known: int, limit_s: float) -> dict[str, object]:
    """Return what ``--method exact`` makes of one problem."""
    began = time.process_time()
    result = plan(cdag, budget=budget, method="exact", search=Search(time_limit=limit_s))
    assert result.cost is not None
    assert result.bound is not None
    return {
        "problem": name,
        "nodes": cdag.n,
        "budget": budget,
        "known": known,
        "belady": belady.plan(cdag, budget).traffic(cdag.weights),
        "traffic": result.cost["traffic"],
        "bound": result.bound.value,
        "proven": result.status is Status.OPTIMAL,
        "cpu_s": round(time.process_time() - began, 2),
    }


def random_graphs(limit_s: float, seed: int) -> list[dict[str, object]]:
    """Return what ``--method exact`` makes of random graphs: a line for all, one per family, and the open ones."""
    rows: list[dict[str, object]] = []
    for name, cdag, budget in pebble_random.sample(seed):
        began = time.process_time()
        result = plan(cdag, budget=budget, method="exact", search=Search(time_limit=limit_s))
        assert result.cost is not None
        assert result.bound is not None
        rows.append(
            {
                "problem": name,
                "nodes": cdag.n,
                "edges": cdag.edges,
                "budget": budget,
                "traffic": result.cost["traffic"],
                "bound": result.bound.value,
                "proven": result.status is Status.OPTIMAL,
                "cpu_s": round(time.process_time() - began, 2),
            }
        )
    shown = [show(_summary("all", rows, limit_s))]
    shown += [show(_summary(one, [row for row in rows if str(row["problem"]).startswith(one)], limit_s))
              for one in pebble_random.FAMILIES]  # fmt: skip
    return shown + [show(row) for row in rows if not row["proven"]]


def _summary(name: str, rows: list[dict[str, object]], limit_s: float) -> dict[str, object]:
    times = [float(str(row["cpu_s"])) for row in rows if row["proven"]]
    return {
        "family": name,
        "graphs": len(rows),
        "proven": len(times),
        "limit_s": limit_s,
        "median_proven_cpu_s": round(statistics.median(times), 2),
        "slowest_proven_cpu_s": max(times),
    }


def planned(name: str, budget: int | None) -> dict[str, object]:
    """Return what ``auto`` makes of a large graph, replay included, in 60 s."""
    plan(case("dwt:n=4,d=2").workload, search=Search(time_limit=60))  # loads the kernels
    plan(case("tree:n=20").workload, search=Search(time_limit=60))
    cdag = case(name).workload
    room = max(budget or 0, cdag.least_budget())
    began = time.process_time()
    started = time.monotonic()
    result = plan(cdag, budget=room, search=Search(time_limit=60))
    assert result.cost is not None
    assert result.bound is not None
    return {
        "problem": name,
        "nodes": cdag.n,
        "budget": room,
        "traffic": result.cost["traffic"],
        "bound": result.bound.value,
        "cpu_s": round(time.process_time() - began, 2),
        "wall_s": round(time.monotonic() - started, 2),
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }


def alone(name: str, budget: int | None) -> dict[str, object]:
    """Return :func:`planned` from a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(planned, name, budget).result()


def show(row: dict[str, object]) -> dict[str, object]:
    """Print one row and return it."""
    print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    return row


def osp_graph(folder: Path, name: str) -> Cdag:
    return load_cdag(folder / f"instance_{name}.hdag")


def groups(folder: Path | None, limit_s: float, seed: int) -> dict[str, Callable[[], list[dict[str, object]]]]:
    """Return what measures each group of rows."""

    def measured(problems: tuple[tuple[str, int, int], ...]) -> list[dict[str, object]]:
        return [show(solved(name, case(name).workload, budget, known, limit_s)) for name, budget, known in problems]

    def osp() -> list[dict[str, object]]:
        assert folder is not None
        pairs = [(name, osp_graph(folder, name), *pair) for name, known in OSP.items() for pair in known]
        return [show(solved(name, cdag, budget, known, limit_s)) for name, cdag, budget, known in pairs]

    def bounds() -> list[dict[str, object]]:
        problems = [(name, case(name).workload, budget) for name, budget, _ in (*OPTIMA, *HARD)]
        problems += [(name, case(name).workload, budget) for name, budget in MEDIUM]
        if folder is not None:
            problems += [(name, osp_graph(folder, name), budget) for name, known in OSP.items() for budget, _ in known]
        return [show(bounded(name, cdag, budget, limit_s / 6)) for name, cdag, budget in problems]

    return {
        "table1": lambda: [show(least_memory(*row)) for row in TABLE_1],
        "figure5": lambda: [show(wavelet_traffic(*row)) for row in FIGURE_5],
        "figure6": lambda: [show(mean_reduction(*row)) for row in FIGURE_6],
        "optima": lambda: measured(OPTIMA),
        "hard": lambda: measured(HARD),
        "random": lambda: random_graphs(min(limit_s, 10.0), seed),
        "osp": osp,
        "bounds": bounds,
        "speed": lambda: [show(alone(name, budget)) for name, budget in SPEED],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--only", choices=tuple(groups(None, 0.0, 0)))
    parser.add_argument("--seed", type=int, default=0, help="which sample of random graphs")
    parser.add_argument(
        "--processor-time",
        action="store_true",
        help="limits count processor seconds: for a machine that others use too",
    )
    given = parser.parse_args()
    if given.processor_time:
        time.monotonic = time.process_time
    target = HERE / "results" / "pebble.json"
    results: dict[str, object] = json.loads(target.read_text()) if target.exists() else {}
    solver.solve(case("fft:n=8,word=1").workload, 3, search=Search(time_limit=60))  # compiles the kernels
    best_bound(case("pyramid:n=10,word=1").workload, 9, search=Search(time_limit=60), goal=18)
    prices = potentials.initial_prices(case("fft:n=4,word=1").workload, 3)
    assert prices is not None
    prices.climb(6, search=Search(time_limit=60))
    for group, measure in groups(given.folder, given.time_limit, given.seed).items():
        if given.only not in {None, group}:
            continue
        if group == "osp" and given.folder is None:
            print("no folder given: OneStopParallel's instances are left out", file=sys.stderr)
            continue
        name = f"{group}, seed {given.seed}" if group == "random" and given.seed else group
        results[name] = measure()
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
