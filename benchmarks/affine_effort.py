"""Do orders get worse with more effort, or with more memory? And how many steps of work are an effort.

    python benchmarks/affine_effort.py [PROGRAM ...] [--efforts E ...] [--processes P] [--every N]

derives the order of every program (PolyBench at LARGE sizes, convolution, attention, the programs of benchmarks/field)
as ``affine bound`` does with the effort that the bound leaves at least, at every S. It prints the loads, one row per
program and S, then how often loads rise with effort, and with S, and by what factor at most; how far the least effort
is from the best loads known; and steps per second of processor time, from which ``STEPS_PER_EFFORT`` was set.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from statistics import geometric_mean

from affine_field import programs
from affine_sizes import LARGE

from shorthaul.affine import program_from_text
from shorthaul.affine.effort import charged_to
from shorthaul.affine.model import Program
from shorthaul.affine.sizes import parse_sizes
from shorthaul.affine.tuning import LOWER_SHARE, STEPS_PER_EFFORT
from shorthaul.affine.verbs.tasks import Derived, Order
from shorthaul.affine.workloads.cases import kernel
from shorthaul.core.search import Search

EFFORTS = (0.1, 0.3, 1.0, 2.0, 4.0)
CAPACITIES = (256, 4_096, 32_768)
FURTHER = {"convolution": "B=8,C=8,K=8,H=8,W=8,R=8,Q=8", "attention": "N=2048,D=64"}
#: What counts as a rise: more than rounding.
RISE = 1.001
Loads = dict[tuple[int, float], float]


def known() -> dict[str, tuple[Program, str]]:
    """Return every program with its sizes."""
    given = {name: (kernel(name), sizes) for name, sizes in {**LARGE, **FURTHER}.items()}
    return given | {name: (program_from_text(text), sizes) for name, (text, sizes) in programs().items()}


def measured(name: str, efforts: Iterable[float]) -> tuple[Loads, float, float]:
    """Return the loads by S and effort, infinite without an order, the steps of work and the seconds."""
    program, sizes = known()[name]
    found: Loads = {}
    steps, began = 0.0, time.process_time()
    for capacity in CAPACITIES:
        for effort in efforts:
            search = Search(effort=effort * (1 - LOWER_SHARE))
            given = parse_sizes(f"{sizes},S={capacity}", program)
            with charged_to(search):
                document = Order(Derived(program, has_order=False), given, (capacity,)).done(search).document
            found[capacity, effort] = float("inf") if document is None else document["value"]
            steps += search.spent() * STEPS_PER_EFFORT
    return found, steps, time.process_time() - began


def rises(found: Iterable[Loads], efforts: list[float]) -> Iterator[tuple[str, list[float]]]:
    """Yield the factors from effort to effort, from S to S, and from the best known to the least effort."""
    rows = list(found)
    of_effort = [row[s, b] / row[s, a] for row in rows for s in CAPACITIES for a, b in pairwise(efforts)]
    of_memory = [row[b, e] / row[a, e] for row in rows for e in efforts for a, b in pairwise(CAPACITIES)]
    least = [row[s, efforts[0]] / min(row[s, e] for e in efforts) for row in rows for s in CAPACITIES]
    yield "more effort", of_effort
    yield "more memory", of_memory
    yield "least effort over the best", least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="programs to measure, all without one")
    parser.add_argument("--efforts", nargs="+", type=float, default=list(EFFORTS))
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--every", type=int, default=1, help="of all programs, every Nth one")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first one of these")
    given = parser.parse_args()
    names = given.programs or list(known())[given.first :: given.every]
    found: dict[str, Loads] = {}
    steps = seconds = 0.0
    print(f"{'program':22}{'S':>8}" + "".join(f"{effort:>15g}" for effort in given.efforts))
    with ProcessPoolExecutor(given.processes, mp_context=get_context("spawn")) as pool:
        answers = pool.map(measured, names, [given.efforts] * len(names))
        for name, (loads, more, taken) in zip(names, answers, strict=True):
            found[name] = loads
            steps, seconds = steps + more, seconds + taken
            for s in CAPACITIES:
                row = [loads[s, effort] for effort in given.efforts]
                print(f"{name:22}{s:8,}" + "".join(f"{value:15,.0f}" for value in row), flush=True)
    for what, factors in rises(found.values(), given.efforts):
        high = [factor for factor in factors if factor > RISE]
        finite = [factor for factor in high if factor < float("inf")]
        mean = geometric_mean(finite) if finite else 1
        many = f"{len(high):5} of {len(factors)}"
        print(f"{what:28}{many}, by {mean:.3g} in the mean, {max(high, default=1):.4g} at most")
    print(f"{steps / seconds:,.0f} steps of work a second, {seconds:.0f} s")


if __name__ == "__main__":
    main()
