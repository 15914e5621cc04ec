"""Steps of work on integer sets per second of one core: what ``STEPS_PER_EFFORT`` of the affine engine is set by.

Usage: python benchmarks/affine_effort.py [KERNEL ...]
"""

from __future__ import annotations

import sys
import time

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.orders.upper_bound import upper_bound
from shorthaul.affine.tuning import STEPS_PER_EFFORT
from shorthaul.affine.workloads.cases import POLYBENCH, kernel
from shorthaul.core.search import Search


def main(names: list[str]) -> None:
    """Print steps per second of the lower bound and of the derived order, kernel by kernel, and of all together."""
    totals = {"bound": [0.0, 0.0], "order": [0.0, 0.0]}
    for name in names:
        program = kernel(name)
        rates = []
        for what, derive in (("bound", lower_bound), ("order", upper_bound)):
            search, start = Search(), time.process_time()
            derive(program, search=search)
            totals[what][0] += search.spent() * STEPS_PER_EFFORT
            totals[what][1] += (seconds := time.process_time() - start)
            rates.append(f"{what} {search.spent() * STEPS_PER_EFFORT / seconds:8,.0f} steps/s in {seconds:5.1f} s")
        print(f"{name:16} {'   '.join(rates)}", flush=True)
    print("all              " + "   ".join(f"{what} {a / b:8,.0f} steps/s" for what, (a, b) in totals.items()))


if __name__ == "__main__":
    main(sys.argv[1:] or list(POLYBENCH))
