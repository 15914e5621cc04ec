"""Plans and bounds where values are accumulated operand by operand (``pebble plan --partial``).

    python benchmarks/pebble_partial.py ../shared/data/pebble/*/*.txt fft:n=64,word=1 [--budgets 4 8 16] [--effort 1]

Inputs are files or built-in cases. Prints the traffic of each plan beside its bound and the least that any plan moves,
and what is proven and the median of plan / bound elsewhere.
"""

from __future__ import annotations

import argparse
import statistics

from shorthaul.pebble import case, plan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="+")
    parser.add_argument("--budgets", type=int, nargs="+", default=[4, 8, 16])
    parser.add_argument("--effort", type=float, default=1.0)
    given = parser.parse_args()
    ratios = []
    for text in given.inputs:
        cdag = case(text).workload
        for budget in given.budgets:
            made = plan(cdag, budget=budget, partial=True, effort=given.effort, workers=1)
            assert made.cost is not None
            assert made.bound is not None
            ratios.append(made.cost["total"] / made.bound.value)
            moved, least = int(made.cost["traffic"]), cdag.algorithmic_bound()
            told = f"{cdag.n} nodes, {budget} words: {moved} / {made.bound.value:.0f} ({least}), {made.bound.method}"
            print(f"{text.rpartition('/')[2]}, {told}", flush=True)
    wider = [ratio for ratio in ratios if ratio > 1]
    print(f"{len(ratios) - len(wider)} of {len(ratios)} proven; plan / bound of the others: median", end=" ")
    print(f"{statistics.median(wider):.2f}, most {max(wider):.2f}" if wider else "-")


if __name__ == "__main__":
    main()
