"""Fronts of random graphs beside their bounds: gaps per core cost, one row per graph and effort, proofs verified.

    python benchmarks/dataflow_random.py --actors 30 45 60 100 --seeds 1 2 3 4 --efforts 0.3 1 3

Graphs and plans of the n-th size have the n-th seed. Gaps are those at the core costs of the points where the least
period falls; "mean" and "widest" are over all of these, "period" is the geometric mean of the least periods at nine.
A point below its bound, or a proof that its check refuses, ends the run.
"""

from __future__ import annotations

import argparse
import statistics

import numpy as np
from dataflow_fronts import COSTS, least_periods, processor_s

from shorthaul.core.search import Search
from shorthaul.dataflow.check.core_prices import verify_prices
from shorthaul.dataflow.check.tile_prices import KEYS, verify_tile_prices
from shorthaul.dataflow.options import PlanOptions
from shorthaul.dataflow.verbs.planning import plan
from shorthaul.dataflow.workloads.generators import platform24, random_graph


def measured(actors: int, seed: int, effort: float, density: float) -> tuple[list[float], list[float], list[float]]:
    """Return least periods, and gaps (not a number where there is none), at nine core costs, and gaps at all points."""
    application, platform = random_graph(actors, density, seed=seed), platform24()
    result = plan(application, platform=platform, search=Search(seed=seed, effort=effort, workers=1))
    assert result.plan is not None
    bounds = {pair[0]: pair[1] for pair in result.extra["front_bound"]["period_at_core_cost"]}
    for proof in result.extra["front_bound"].get("proofs", []):
        refused = (
            verify_tile_prices(application, platform, proof, "proof")
            if set(proof) == KEYS
            else verify_prices(application, platform, PlanOptions().strategy, proof, "proof")
        )
        assert not refused, refused
    front = np.array([point.objectives for point in result.plan.front], np.float64)
    periods = [float(front[front[:, 2] <= cost, 0].min(initial=np.inf)) for cost in COSTS]
    gaps = [least / bounds[cost] - 1 for cost, least in least_periods(front).items() if cost in bounds]
    assert min(gaps, default=0) >= 0, "a point is below its bound"
    return periods, [least / bounds[c] - 1 for c, least in zip(COSTS, periods, strict=True)], gaps


def main() -> None:
    """Explore and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actors", type=int, nargs="+", default=[30, 45, 60, 100])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--efforts", type=float, nargs="+", default=[0.3, 1.0, 3.0])
    parser.add_argument("--density", type=float, default=0.3)
    given = parser.parse_args()
    print("actors seed effort | gap at core costs of " + " ".join(f"{c:g}" for c in COSTS) + " | mean widest period s")
    means, widest, lengths = [], [], []
    for actors, seed in zip(given.actors, given.seeds, strict=True):
        for effort in given.efforts:
            began = processor_s()
            periods, at_costs, gaps = measured(actors, seed, effort, given.density)
            seconds = processor_s() - began
            means.append(statistics.mean(gaps))
            widest.append(max(gaps))
            lengths.append(statistics.geometric_mean([p for p in periods if p < np.inf]))
            shown = " ".join(f"{gap:6.1%}" for gap in at_costs)
            print(
                f"{actors:6} {seed:4} {effort:6g} | {shown} | {means[-1]:.1%} {widest[-1]:.1%} {lengths[-1]:.0f} "
                f"{seconds:.1f}",
                flush=True,
            )
    length = statistics.geometric_mean(lengths)
    print(f"mean {statistics.mean(means):.1%}, widest {max(widest):.1%}, period {length:.0f}")


if __name__ == "__main__":
    main()
