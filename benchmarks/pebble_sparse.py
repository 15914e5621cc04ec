"""Plans of sparse linear algebra, fine-grained: graphs of some hundred to two thousand nodes, irregular ones.

    python benchmarks/pebble_sparse.py [--time-limit 20] [--only cg]

For every graph and budget: the plain orders with Belady's replacement (``plain``), ``auto`` (``ours``) and the lower
bound that ``auto`` reports. Every plan is replayed by the checker. Kernels are compiled before; times are processor
seconds of this process, fewer than the limit where the machine does other work. Prints a table and writes
``benchmarks/results/pebble_sparse.json``.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pebble_structured import measured

from shorthaul.core.search import Search
from shorthaul.pebble import case, plan

TARGET = Path(__file__).parent / "results" / "pebble_sparse.json"
#: Built-in cases, each with its least budget taken so many times.
PROBLEMS: tuple[tuple[str, int], ...] = (
    ("spmv:n=20,percent=20,most=1", 2),
    ("spmv:n=60,percent=10,most=1", 3),
    ("exp:n=20,percent=20,k=4,most=1", 3),
    ("exp:n=30,percent=10,k=8,most=1", 3),
    ("knn:n=30,percent=20,k=5,most=1", 3),
    ("cg:n=20,percent=20,k=4,most=1", 2),
    ("cg:n=20,percent=20,k=4,most=1", 3),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time-limit", type=float, default=20.0)
    parser.add_argument("--only", choices=sorted({text.partition(":")[0] for text, _ in PROBLEMS}))
    given = parser.parse_args()
    plan(case("fft:n=16,word=1").workload, budget=6, search=Search(time_limit=60))  # compiles the kernels
    rows = []
    for text, times in PROBLEMS:
        if given.only in {None, text.partition(":")[0]}:
            cdag = case(text).workload
            rows.append(measured(cdag, times * cdag.least_budget(), given.time_limit))
            print("  ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    if given.only is None:
        TARGET.parent.mkdir(exist_ok=True)
        TARGET.write_text(json.dumps({"time_limit_s": given.time_limit, "sparse": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
