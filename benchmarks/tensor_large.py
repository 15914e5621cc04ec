"""Random graphs of 2,000 operators: the plan and the bound, as parts of one operator per group.

    python benchmarks/tensor_large.py SEED... [--operators 2000] [--effort 60] [--bound 40] [--write]

The graphs are those of ``random_graph`` in ``benchmarks/tensor_moves.py``. One process; every plan is replayed, every
bound verified by the checker. An effort of 0 leaves plan or bound out. ``--write`` puts what was measured into
``benchmarks/results/tensor_large.json``, beside what is known of the same graphs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.tensor_moves import random_graph

from shorthaul.core.amounts import Bound
from shorthaul.core.search import Search
from shorthaul.tensor.bounds.best import CERTIFIED, prove_in_tasks
from shorthaul.tensor.check.certificate import certificate_of, verify
from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.model import CONTEST, Problem
from shorthaul.tensor.search.driver import begin, improved
from shorthaul.tensor.search.schedules import Schedules

RESULTS = Path(__file__).parent / "results" / "tensor_large.json"

Row = dict[str, Any]


def planned(problem: Problem, effort: float) -> Row:
    """Return what the first plan and the whole search leave of one operator per group; no bound is worked out."""
    search = Search(effort=effort, workers=1)
    began = time.process_time()
    begun = begin(problem, CONTEST, search)
    assert begun is not None
    nothing = Bound("latency", 0.0, "none", "")
    found = replay(problem, improved(begun, search, 4, nothing).kept(search), CONTEST)
    assert found.cost is not None
    assert not found.violations
    first, best = (latency / begun.alone.latency for latency in (begun.best.latency, found.cost["latency"]))
    return {"first": first, "plan": best, "plan_effort": effort, "plan_cpu_s": time.process_time() - began}


def bounded(problem: Problem, effort: float) -> Row:
    """Return the bound, once the checker has accepted its certificate, and how long each took."""
    alone = Schedules(problem, CONTEST).solution(tuple((operator,) for operator in problem.topological_order))
    assert alone is not None
    began = time.process_time()
    bound = prove_in_tasks(problem, CONTEST, Search(effort=effort, workers=1))
    ended = time.process_time()
    row: Row = {"bound": bound.value / alone.latency, "bound_effort": effort, "bound_cpu_s": ended - began}
    if bound.method == CERTIFIED:
        given = {"value": bound.value, "certificate": bound.details["certificate"]}
        assert not verify(problem, CONTEST, certificate_of(problem, json.loads(json.dumps(given)), "bound"))
        row["check_cpu_s"] = time.process_time() - ended
    return row


def write(row: Row) -> None:
    """Put a row into the file of results, beside what is known of the same graph."""
    known = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []
    rows = {(each["operators"], each["seed"]): each for each in known}
    key = row["operators"], row["seed"]
    rows[key] = rows.get(key, {}) | row
    RESULTS.write_text(json.dumps({"rows": [rows[key] for key in sorted(rows)]}, indent=1) + "\n")


def main() -> None:
    """Plan and bound graphs, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", type=int, nargs="+")
    parser.add_argument("--operators", type=int, default=2_000)
    parser.add_argument("--effort", type=float, default=60)
    parser.add_argument("--bound", type=float, default=40)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    for seed in options.seeds:
        problem = random_graph(seed, options.operators)
        row: Row = {"operators": options.operators, "seed": seed}
        if options.effort:
            row |= planned(problem, options.effort)
        if options.bound:
            row |= bounded(problem, options.bound)
        print(
            ", ".join(
                f"{name} {value:,}" if type(value) is int else f"{name} {value:,.4g}" for name, value in row.items()
            ),
            flush=True,
        )
        if options.write:
            write(row)


if __name__ == "__main__":
    main()
