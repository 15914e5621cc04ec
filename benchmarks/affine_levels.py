"""One order for two memories, each over the next, beside the order and the bound of each memory alone.

    python benchmarks/affine_levels.py [KERNEL ...]

prints a row per kernel at PolyBench's LARGE sizes: for every memory the loads of the order for both over the loads of
the best order found for it alone, and over its bound. Writes benchmarks/results/affine_levels.json, in which rows of
kernels not asked for stay.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from affine_sizes import LARGE, kernel

from shorthaul.affine import bound

TARGET = Path(__file__).parent / "results" / "affine_levels.json"
LEVELS = (4_096, 131_072)
EFFORT = 20.0


def measure(name: str) -> dict[str, dict[str, float | None]]:
    """Return the bound, the loads for both and the loads alone, in words, by memory."""
    both = bound(name, size=LARGE[name], level=LEVELS, effort=EFFORT).extra["levels"]
    rows: dict[str, dict[str, float | None]] = {}
    for row in both or ():
        alone = bound(name, size=f"{LARGE[name]},S={row['S']}", effort=EFFORT).extra["upper"]
        least = None if alone is None or alone["value"] is None else float(alone["value"])
        rows[str(row["S"])] = {"bound": float(row["bound"]), "loads": row["loads_words"], "alone": least}
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", type=kernel, metavar="KERNEL", help="all 30 without one")
    given = parser.parse_args()
    rows = json.loads(TARGET.read_text()) if TARGET.exists() else {}
    for name in given.kernels or LARGE:
        start = time.process_time()
        rows[name] = measure(name)
        cells = "".join(
            f"  S = {words}: {loads / alone:.2f} of alone, {loads / row['bound']:.2f} of the bound"
            if (loads := row["loads"]) and (alone := row["alone"]) and row["bound"]
            else f"  S = {words}: no order"
            for words, row in rows[name].items()
        )
        print(f"{name:15}{cells}{time.process_time() - start:8.1f} s", flush=True)
        TARGET.write_text(json.dumps(dict(sorted(rows.items())), indent=1) + "\n")


if __name__ == "__main__":
    main()
