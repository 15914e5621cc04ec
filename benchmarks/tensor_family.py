"""The tensor engine on random problems like those of the contest: latency, bound, gap and time of each.

    python benchmarks/tensor_family.py [FIRST] [COUNT] [--effort 6 | --limits | --clock [--limit S]]

``FIRST`` and ``COUNT`` name the seeds of ``tests/tensor/contest_family.py``. The contest's rules; every plan is
replayed. The effort is spent on bound and plan together; one process. ``--limits`` gives every problem the contest's
limit for its number of operators as effort: what one core does in that time where nothing else runs, less than two
cores do. ``--clock`` gives it as time limit, or ``--limit`` seconds to each, to two processes.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.tensor.contest_family import STYLES, contest_problem

from shorthaul import tensor

#: The contest's limits: operators, and seconds; between them it is on a line.
LIMITS = ((5, 2), (19, 5), (32, 15), (63, 30), (103, 60), (152, 120))


def limit_of(operators: int) -> float:
    """Return the contest's limit in seconds."""
    return float(np.interp(operators, *zip(*LIMITS, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", nargs="?", type=int, default=0)
    parser.add_argument("count", nargs="?", type=int, default=24)
    parser.add_argument("--effort", type=float, default=6)
    parser.add_argument("--limits", action="store_true")
    parser.add_argument("--clock", action="store_true")
    parser.add_argument("--limit", type=float)
    options = parser.parse_args()
    print(f"{'seed':>5} {'style':<10}{'operators':>10}{'latency':>14}{'bound':>14}{'gap':>9}{'cpu s':>8}  bound by")
    ratios = []
    for seed in range(options.first, options.first + options.count):
        problem = contest_problem(seed)
        limit = limit_of(len(problem.operators)) if options.limit is None else options.limit
        began = time.process_time()
        if options.clock:
            found = tensor.plan(problem, rules="contest", time_limit=limit, workers=2)
        else:
            effort = limit if options.limits else options.effort
            found = tensor.plan(problem, rules="contest", effort=effort, workers=1)
        taken = time.process_time() - began
        assert found.cost is not None
        assert found.bound is not None
        ratios.append(found.cost["latency"] / found.bound.value)
        print(
            f"{seed:>5} {STYLES[seed % len(STYLES)].__name__:<10}{len(problem.operators):>10}"
            f"{found.cost['latency']:>14,.0f}{found.bound.value:>14,.0f}{found.gap or 0.0:>9.2%}{taken:>8.1f}  "
            f"{found.bound.method}",
            flush=True,
        )
    near = sum(ratio <= 1.02 for ratio in ratios)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"gap at most 2 %: {near} of {len(ratios)}; geometric mean of latency / bound: {mean:.4f}")


if __name__ == "__main__":
    main()
