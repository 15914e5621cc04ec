"""Fronts of several seeds beside one another and beside the published ones: least period per core cost, spread, bounds.

    python benchmarks/dataflow_fronts.py sobel sobel4 --seeds 3

Geometric means are those of the least periods at nine core costs. Hypervolumes are scaled over the published CAPS-HMS
fronts and all of ours. Times are those of the whole verb: on the clock, and of its processes that have ended (those of
a pool go on, and are left out).
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from shorthaul.core.document import load_json
from shorthaul.core.search import Search
from shorthaul.dataflow.exploration.nsga2 import hypervolume
from shorthaul.dataflow.loading import case
from shorthaul.dataflow.verbs.planning import plan

PUBLISHED = Path(__file__).parents[2] / "shared" / "data" / "dataflow" / "published_pareto_fronts.json"
#: Core costs at which the least periods have a geometric mean.
COSTS = (1, 1.5, 2, 3, 4, 6, 8, 12, 24)


def published(name: str, path: Path) -> Any:
    """Return the published points of all strategies, shape (n, 3); none without the file."""
    if not path.is_file():
        return np.zeros((0, 3))
    points = [
        (point["P_ms"] * 1e3, point["MF_MiB"] * 2**20, point["K"])
        for front in load_json(path)["fronts"]
        if front["app"].lower() == name and front["decoder"] == "CAPS-HMS"
        for point in front["points"]
    ]
    return np.array(points).reshape(-1, 3)


def survivors(points: Any, front: Any) -> int:
    """Return how many points no point of the front covers (footprints to the rounding of the published ones)."""
    margin = np.array([1.001, 1.001, 1.0])
    return sum(not (front <= point * margin).all(axis=1).any() for point in points)


def least_periods(front: Any) -> dict[float, float]:
    """Return the least period at every core cost or below, where it falls."""
    periods: dict[float, float] = {}
    for period, _, cost in sorted(front.tolist(), key=lambda point: (point[2], point[0])):
        if not periods or period < min(periods.values()):
            periods[cost] = period
    return periods


def processor_s() -> float:
    """Return the processor time of this process and of those that it has ended, in seconds."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def main() -> None:
    """Explore and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--effort", type=float, help="default: what plan takes by itself")
    parser.add_argument("--time-limit", type=float, help="seconds of each plan on the clock; default: none")
    parser.add_argument("--workers", type=int, help="default: one per core")
    parser.add_argument("--published", type=Path, default=PUBLISHED)
    given = parser.parse_args()
    for name in given.cases:
        fronts, clock, seconds = [], [], []
        for seed in range(given.first_seed, given.first_seed + given.seeds):
            began, spent = time.monotonic(), processor_s()
            search = Search(seed=seed, effort=given.effort, time_limit=given.time_limit, workers=given.workers)
            result = plan(case(name), search=search)
            clock.append(time.monotonic() - began)
            seconds.append(processor_s() - spent)
            assert result.plan is not None
            fronts.append(np.array([point.objectives for point in result.plan.front], np.float64))
        bounds = {pair[0]: pair[1] for pair in result.extra["front_bound"]["period_at_core_cost"]}
        theirs = published(name, given.published)
        everything = np.concatenate([theirs, *fronts])
        low, high = everything.min(axis=0), everything.max(axis=0)
        volumes = [round(hypervolume(front, low, high), 4) for front in fronts]
        print(f"{name}: medians {statistics.median(clock):.1f} s, of processors {statistics.median(seconds):.1f} s")
        print(f"  hypervolumes {volumes}")
        if all(front[:, 2].min() <= COSTS[0] for front in fronts):
            least = [[front[front[:, 2] <= cost, 0].min() for cost in COSTS] for front in fronts]
            print(f"  geometric means {[round(statistics.geometric_mean(periods)) for periods in least]}")
        if len(theirs):
            print(f"  published points not covered, of {len(theirs)}: {[survivors(theirs, front) for front in fronts]}")
        print("  core cost, least period of every seed, spread, gap of the best to the bound")
        for cost in sorted({cost for front in fronts for cost in least_periods(front)}):
            periods = [float(front[front[:, 2] <= cost, 0].min()) for front in fronts]
            gap = min(periods) / bounds[cost] - 1 if cost in bounds else float("nan")
            print(
                f"  {cost:6g} {[int(p) for p in periods]} {max(periods) / min(periods) - 1:.1%} {gap:.1%}", flush=True
            )


if __name__ == "__main__":
    main()
