"""Least periods of multirate graphs, and fronts of storage against throughput, with the processor time of each.

    python benchmarks/dataflow_storage.py [GRAPH.xml ...] [--effort 30]

Firings of one actor take turns. Without graphs: the example of the converter, and the built-in applications.
Writes ``benchmarks/results/dataflow_storage.json``.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from shorthaul import dataflow

HERE = Path(__file__).parent
TARGET = HERE / "results" / "dataflow_storage.json"
GRAPHS = (str(HERE.parent / "examples" / "cd2dat.xml"), "sobel", "sobel4", "multicamera")


def measured(graph: str, effort: float) -> dict[str, Any]:
    """Return the least period and the front of a graph, with processor seconds."""
    began = time.process_time()
    period = dataflow.throughput(graph, serial=True).extra["exact_period"]
    analysed = time.process_time()
    found = dataflow.buffers(graph, serial=True, effort=effort, workers=1)
    assert found.plan is not None
    return {
        "graph": Path(graph).stem,
        "period": period,
        "throughput_s": round(analysed - began, 3),
        "points": len(found.plan.front),
        "first": found.plan.front[0].size,
        "last": found.plan.front[-1].size,
        "complete": found.extra["complete"],
        "buffers_s": round(time.process_time() - analysed, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", default=GRAPHS)
    parser.add_argument("--effort", type=float, default=30.0)
    given = parser.parse_args()
    measured("fig4", given.effort)  # imports
    rows = []
    for graph in given.graphs:
        rows.append(measured(graph, given.effort))
        print("  ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    TARGET.write_text(json.dumps({"graphs": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
