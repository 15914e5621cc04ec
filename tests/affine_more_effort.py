"""Whether more effort ever makes a plan worse: ``python -m tests.affine_more_effort 40 7700000``.

The kernels of PolyBench and ``N`` random programs of five generators, begun at ``SEED``, are planned at the largest
sizes of up to 2,500 instances with ever more effort. Prints the loads of every program, and how many pairs of an effort
and the next one there were, and in how many of these the plan of more effort loads more.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from shorthaul.affine import plan
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.model import Program
from shorthaul.affine.workloads.cases import POLYBENCH, kernel
from tests.affine.bounds import test_random_programs as nests
from tests.affine_hunt import closures, products, updates
from tests.reference.affine_programs import random_program

EFFORTS = (0.3, 1, 3, 8)
MOST = 2_500  #: instances
CAPACITIES = (12, 20, 34, 60, 100)


def programs(count: int, seed: int) -> Iterator[tuple[str, Program]]:
    """Yield every program with its name."""
    for name in POLYBENCH:
        yield name, kernel(name)
    made = (random_program, nests.random_program, updates, closures, products)
    for number in range(seed, seed + count):
        yield f"seed {number}", program_from_text(made[number % len(made)](number))


def sizes_of(program: Program) -> dict[str, int]:
    """Return the largest sizes, those of further parameters a little smaller, at which there are few instances."""
    best: dict[str, int] = {}
    for size in range(3, 500):
        sizes = {name: max(2, size - 2 * at) for at, name in enumerate(program.parameters)}
        if sum(card(item.domain).at(sizes) for item in program.statements) > MOST:
            break
        best = sizes
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, metavar="N", help="random programs")
    parser.add_argument("seed", type=int, metavar="SEED", help="seed of the first one")
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    pairs = worse = 0
    for name, program in programs(given.count, given.seed):
        size = ",".join(f"{key}={value}" for key, value in {**sizes_of(program), "S": rng.choice(CAPACITIES)}.items())
        loads = [plan(program, size=size, effort=effort, workers=1).cost["loads_words"] for effort in EFFORTS]
        more = sum(after > before for before, after in pairwise(loads))
        pairs, worse = pairs + len(loads) - 1, worse + more
        print(f"{name:24} {size:40} {loads} {'WORSE' * bool(more)}", flush=True)
    print(f"{pairs} pairs, {worse} worse")


if __name__ == "__main__":
    main()
