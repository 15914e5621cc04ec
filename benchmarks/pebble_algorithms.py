"""Plans and bounds of graphs of well-known algorithms that no case, kernel or theorem is made for.

    python benchmarks/pebble_algorithms.py [--effort 1] [--seed 1] [--sizes 1000 10000] [--times 2 4 16]
                                           [--only NAME...] [--bounds]

Eleven families, sized to about so many nodes, numbered at random with the edges in any order; each is planned in its
least budget taken so many times. Every plan is replayed by the checker. Prints a row per run (family, nodes, budget,
traffic, bound, argument, inputs and outputs, processor seconds) and the geometric mean of traffic over bound by family.
``--bounds`` plans nothing: it prints each argument's bound beyond inputs and outputs.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from statistics import geometric_mean

import numpy as np
from algorithm_graphs import (
    attention,
    broadcasts,
    convolutions,
    householder,
    mixed_fft,
    multigrid,
    recurrent,
    scans,
    sorting,
    training,
    triangular,
)
from pebble_grids import Graph

from shorthaul.core.search import Search
from shorthaul.pebble import Cdag, bound, plan
from shorthaul.pebble.check.replay import replay


def families(draw: Callable[[int, int], int]) -> dict[str, Callable[[int], Graph]]:
    """Return how to make a graph of each family of about so many nodes, with the rest of its shape drawn."""
    rounds, thick, tokens, sides, layers = draw(2, 4), draw(2, 3), draw(2, 4), draw(2, 6), draw(2, 3)
    radices = [(2, 3, 4), (3, 4, 5), (3, 3, 5, 2), (4, 4, 3, 2), (4, 4, 4, 5, 3), (8, 5, 4, 6, 3)]
    return {
        "sorting": lambda size: sorting(2 ** max(3, round(math.log2(size) - 2 * math.log2(math.log2(size)) + 2))),
        "scans": lambda size: scans(2 ** round(math.log2(size / (3.5 * rounds))), rounds),
        "multigrid": lambda size: multigrid(2 ** round(math.log2(size / (5.5 * rounds)) / 2), rounds),
        "mixed fft": lambda size: mixed_fft(min(radices, key=lambda r: abs(math.log(math.prod(r) * len(r) / size)))),
        "householder": lambda size: householder(thick * (at := round((size / (thick - 0.4)) ** (1 / 3))), at),
        "attention": lambda size: attention(tokens * 2, 2 * round((size / 24 / tokens) ** 0.5 / 2) + 2, 2, 1),
        "broadcasts": lambda size: broadcasts(size // (2 * rounds), rounds),
        "recurrent": lambda size: recurrent(round((size / 8 / (1 + rounds)) ** 0.5), rounds),
        "triangular": lambda size: triangular(round((size / (3 + 4 * sides)) ** 0.5), sides),
        "convolutions": lambda size: convolutions(round((size / 9 / layers / thick**2) ** 0.5), thick, layers),
        "training": lambda size: training(4 * thick, layers, round(size / 16 / thick**2 / (6 * layers - 2)) + 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--effort", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--times", type=float, nargs="+", default=[2, 4, 16])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--bounds", action="store_true")
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    for name, make in families(lambda least, most: int(rng.integers(least, most + 1))).items():
        gaps = []
        for size in given.sizes if not given.only or name in given.only else ():
            cdag = make(size).shuffled(np.random.default_rng(given.seed))
            for times in given.times:
                budget, start = round(cdag.least_budget() * times), time.process_time()
                row = f"{name:12}  nodes {cdag.n:6}  budget {budget:5}"
                told, gap = measured(cdag, budget, given.effort, given.bounds)
                gaps.append(gap)
                print(f"{row}  {told}  {time.process_time() - start:.1f} s", flush=True)
        if gaps and not given.bounds:
            print(f"{name:12}  traffic / bound {geometric_mean(gaps):.2f} in the mean", flush=True)


def measured(cdag: Cdag, budget: int, effort: float, is_bound: bool) -> tuple[str, float]:
    """Return what is to be told of a run, and traffic over bound."""
    least, search = cdag.algorithmic_bound(), Search(effort=effort, workers=1)
    if is_bound:
        values = bound(cdag, budget=budget, search=search).bound
        told = {key: int(value) - least for key, value in values.details["bounds"].items() if value > least}
        return f"of all {int(values.value)} ({values.method})  beyond {least}: {told}", 1.0
    found = plan(cdag, budget=budget, search=search)
    report = replay(cdag, found.plan, budget)
    if not report.ok or report.cost is None:
        raise SystemExit(f"{cdag.n} nodes in {budget}: the plan breaks a rule")
    traffic, proven = int(report.cost["traffic"]), int(found.bound.value)
    told = f"traffic {traffic:7}  bound {proven:7} ({found.bound.method})  least {least}  {traffic / proven:.2f}"
    return told, traffic / proven


if __name__ == "__main__":
    main()
