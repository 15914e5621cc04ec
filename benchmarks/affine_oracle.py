"""The validity oracle on the 30 PolyBench kernels: every comparison of bounds with play, at several sizes and S.

    python benchmarks/affine_oracle.py [KERNEL ...]

prints one row per kernel and profile and writes benchmarks/results/affine_oracle.json. A comparison is one bound value
beside the loads of one way to play: exact play, the program order, the derived order, the best of up to 60 tiled ones.
``U(K)`` counts the largest parts of partitions found by integer programming, ``least`` the smallest loads / bound.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.options import BoundOptions
from shorthaul.affine.verbs.oracle import default_sizes, examine
from shorthaul.affine.workloads.cases import FURTHER, POLYBENCH, kernel
from shorthaul.core.search import Search


def measure(name: str, profile: str) -> dict[str, Any]:
    start = time.process_time()
    flow = flow_dependences(kernel(name))
    bound = lower_bound(flow.program, BoundOptions(profile=profile), flow=flow)
    found = examine(flow, bound, default_sizes(flow), Search())
    parts = [int(text.split(": ")[1].split()[0]) for text in found.remarks if "values of U(K)" in text]
    quotients = [item.loads / item.bound for item in found.comparisons if item.bound > 0]
    return {
        "kernel": name,
        "profile": profile,
        "comparisons": len(found.comparisons),
        "exact": sum(item.proven for item in found.comparisons),
        "parts": sum(parts),
        "met": sum(item.loads == item.bound for item in found.comparisons),
        "least": round(min(quotients, default=1.0), 4),
        "violations": [str(item) for item in found.violations],
        "seconds": round(time.process_time() - start, 1),
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    named = "kernels to measure, all 30 of PolyBench without one"
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help=named)
    given = parser.parse_args()
    unknown = sorted(set(given.kernels) - {*POLYBENCH, *FURTHER})
    if unknown:
        parser.error(f"unknown kernel {unknown[0]!r}; 'shorthaul affine cases' lists them")
    return given


def main() -> None:
    names = arguments().kernels or POLYBENCH
    target = Path(__file__).parent / "results" / "affine_oracle.json"
    target.parent.mkdir(exist_ok=True)
    columns = f"{'kernel':15} {'profile':7} {'compared':>8} {'exact':>6} {'U(K)':>5} {'met':>5}"
    print(f"{columns} {'least':>7} {'wrong':>5} {'s':>6}")
    rows = []
    for name in names:
        for profile in ("iolb", "best"):
            row = measure(name, profile)
            rows.append(row)
            print(
                f"{name:15} {profile:7} {row['comparisons']:8} {row['exact']:6} {row['parts']:5} {row['met']:5} "
                f"{row['least']:7.3f} {len(row['violations']):5} {row['seconds']:6.1f}",
                flush=True,
            )
    total = {key: sum(row[key] for row in rows) for key in ("comparisons", "exact", "parts", "met", "seconds")}
    total["violations"] = sum(len(row["violations"]) for row in rows)
    print(total)
    target.write_text(json.dumps({"rows": rows, "total": total}, indent=1) + "\n")


if __name__ == "__main__":
    main()
