"""The tensor engine on random problems like those of the contest: latency, bound, gap and time of each.

    python benchmarks/tensor_family.py [FIRST] [COUNT] [--effort 6]

``FIRST`` and ``COUNT`` name the seeds of ``tests/tensor/contest_family.py``. The contest's rules; every plan is
replayed. The effort is spent on bound and plan together; one process.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.tensor.contest_family import STYLES, contest_problem

from shorthaul import tensor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", nargs="?", type=int, default=0)
    parser.add_argument("count", nargs="?", type=int, default=24)
    parser.add_argument("--effort", type=float, default=6)
    options = parser.parse_args()
    print(f"{'seed':>5} {'style':<10}{'operators':>10}{'latency':>14}{'bound':>14}{'gap':>9}{'cpu s':>8}  bound by")
    ratios = []
    for seed in range(options.first, options.first + options.count):
        problem = contest_problem(seed)
        began = time.process_time()
        found = tensor.plan(problem, rules="contest", effort=options.effort, workers=1)
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
