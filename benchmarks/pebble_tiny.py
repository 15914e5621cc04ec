"""How many tiny graphs are planned to the proven optimum: random samples of the families of HyperDAG_DB.

    python benchmarks/pebble_tiny.py SEED... [--effort 60] [--nodes 31 79] [--json FILE]

A seed draws two graphs of each family (``spmv``, ``exp``, ``knn``, ``cg``; order, density and steps at random) within
the given numbers of nodes; each is planned in its least budget and in 1, 2 and 4 words more, 32 runs. Every plan is
replayed by the checker. Prints a row per run (sample, graph, nodes, budget, cost, bound, effort, processor seconds) and
how many are proven.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from shorthaul.core.search import Search
from shorthaul.pebble import Cdag, case, plan
from shorthaul.pebble.check.replay import replay

ABOVE_LEAST = (0, 1, 2, 4)
#: Per family: the orders of the matrix and the steps that are drawn from, as in OneStopParallel's tiny set.
FAMILIES = {"spmv": ((6, 10), None), "exp": ((4, 6), (2, 4)), "knn": ((4, 6), (3, 4)), "cg": ((2, 4), (1, 2))}
#: Nonzeros a row, there 1.4 to 2.5.
PER_ROW = (1.4, 2.5)


def sample(seed: int, fewest: int, most: int) -> Iterator[tuple[str, Cdag]]:
    """Yield two graphs of each family with names that ``case`` reads."""
    rng = np.random.default_rng(seed)
    for family, (orders, steps) in FAMILIES.items():
        found = 0
        while found < 2:
            n = int(rng.integers(orders[0], orders[1] + 1))
            percent = min(100, round(100 * rng.uniform(*PER_ROW) / n))
            k = "" if steps is None else f",k={rng.integers(steps[0], steps[1] + 1)}"
            text = f"{family}:n={n},percent={percent}{k},most=1,seed={rng.integers(1000)}"
            cdag = case(text).workload
            if fewest <= cdag.n <= most:
                found += 1
                yield text, cdag


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", type=int, nargs="+")
    parser.add_argument("--effort", type=float, default=60.0)
    parser.add_argument("--nodes", type=int, nargs=2, default=(31, 79))
    parser.add_argument("--only", default="")
    parser.add_argument("--above", type=int, nargs="+", default=ABOVE_LEAST)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = []
    for seed in given.seeds:
        for name, cdag in sample(seed, *given.nodes):
            if given.only not in name:
                continue
            for above in given.above:
                budget, search = cdag.least_budget() + above, Search(effort=given.effort)
                start = time.process_time()
                found = plan(cdag, budget=budget, search=search)
                seconds = round(time.process_time() - start, 2)
                if search.interrupted:  # as `timeout` does: what it had by then is not what the effort finds
                    raise SystemExit(f"{name} in {budget}: ended from outside after an effort of {search.spent():.2f}")
                report = replay(cdag, found.plan, budget)
                if not report.ok or report.cost is None:
                    raise SystemExit(f"{name} in {budget}: the plan breaks a rule")
                cost = int(report.cost["traffic"])
                rows.append({
                    "sample": seed, "graph": name, "nodes": cdag.n, "budget": budget, "cost": cost,
                    "bound": int(found.bound.value), "effort": round(search.spent(), 2), "seconds": seconds,
                })  # fmt: skip
                print("  ".join(str(value) for value in rows[-1].values()), flush=True)
    proven = sum(row["cost"] == row["bound"] for row in rows)
    print(f"{proven} of {len(rows)} proven, {sum(row['seconds'] for row in rows):.0f} processor seconds")
    if given.json is not None:
        given.json.write_text(json.dumps({"effort": given.effort, "tiny": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
