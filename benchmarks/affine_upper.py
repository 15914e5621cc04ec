"""Loads of the derived orders beside the lower bounds at PolyBench's LARGE sizes, for three sizes of fast memory.

    python benchmarks/affine_upper.py [KERNEL ...]

prints one row per kernel and S (bound, order, quotient), counts the kernels that stay within 2 at every S, and writes
benchmarks/results/affine_upper.json, in which rows of kernels not asked for stay.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

from affine_sizes import CAPACITIES, LARGE, kernel

from shorthaul.affine import bound
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.orders.searching import at_sizes
from shorthaul.affine.orders.upper_bound import upper_bound
from shorthaul.affine.sizes import require_sizes
from shorthaul.affine.workloads.cases import case
from shorthaul.core.search import Search

TARGET = Path(__file__).parent / "results" / "affine_upper.json"
WANTED = 2.0
EFFORT = 30.0  #: of the search for an order, and of each at given sizes


def measure(name: str) -> dict[str, dict[str, float]]:
    """Return bound and loads in words by S."""
    program = case(name).workload
    flow = flow_dependences(program)
    upper = upper_bound(program, flow=flow, search=Search(effort=EFFORT))
    result = {}
    for capacity in CAPACITIES:
        text = f"{LARGE[name]},S={capacity}"
        sizes = require_sizes(text, program, fast_memory=True)
        least = bound(program, size=text, upper=False).bound.value
        most = at_sizes(upper, flow, sizes, Search(effort=EFFORT)).value(sizes)
        if least > most:
            raise SystemExit(f"{name} at {text}: the order loads {most:,.0f}, below the bound {least:,.0f}")
        result[str(capacity)] = {"bound": float(least), "loads": float(most)}
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", type=kernel, metavar="KERNEL", help="all 30 without one")
    given = parser.parse_args()
    rows = json.loads(TARGET.read_text()) if TARGET.exists() else {}
    print(f"{'kernel':15}" + "".join(f"{f'S = {item:,}':>42}" for item in CAPACITIES))
    for name in given.kernels or LARGE:
        start = time.process_time()
        rows[name] = measure(name)
        cells = "".join(
            f"{row['bound']:16,.0f}{row['loads']:18,.0f}{quotient(row):8.2f}" for row in rows[name].values()
        )
        print(f"{name:15}{cells}{time.process_time() - start:8.1f} s", flush=True)
        TARGET.parent.mkdir(exist_ok=True)
        TARGET.write_text(json.dumps(dict(sorted(rows.items())), indent=1) + "\n")
    near = [name for name, row in rows.items() if all(quotient(item) <= WANTED for item in row.values())]
    print(f"within {WANTED:g} at every S: {len(near)} of {len(rows)} ({', '.join(near)})")


def quotient(row: dict[str, float]) -> float:
    """Return loads over bound; infinite where the order does not fit."""
    return row["loads"] / row["bound"] if row["bound"] else math.inf


if __name__ == "__main__":
    main()
