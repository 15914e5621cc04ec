"""A hunt for bounds that a plan beats, and for true certificates refused: ``python -m tests.tensor_hunt 1200 0``.

Of ``N`` small random problems, begun at ``SEED``, three of four have 2 operators (every tenth 3) and are compared with an
exhaustive search; the others have up to 7, starved of bandwidth, and are compared with a short search. The contest's
rules take turns, if none are given with ``--rules``; under ``spec`` an exhaustive search takes long, so of every 16th seed only.
Every certificate is verified by the checker, and so is the same one with all prices raised: where a plan meets the bound, it has to
be refused. Prints what it finds; ends with status 1 if a bound is beaten, or judged wrongly. With ``--parts`` groups are
cut: at every link that a group may have, or at some. With ``--ordering`` some rows of what the order of groups asks are
drawn at random, and then those added that the solution breaks.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from random import Random

from shorthaul.core.errors import InfeasibleError, NoPlanError
from shorthaul.core.search import Search
from shorthaul.tensor.bounds.columns import Program
from shorthaul.tensor.bounds.groups.ordering import RETAINED, RUN, STORED, Deed, Ordering
from shorthaul.tensor.bounds.groups.regions import links_of
from shorthaul.tensor.bounds.prices import Prices
from shorthaul.tensor.bounds.separation import ordered_prices
from shorthaul.tensor.check.certificate import certificate_of, verify
from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.model import CONTEST, CONTEST_LOOSE, RULES, Problem, Rules
from tests.reference.tensor_exhaustive import best_latency
from tests.tensor.annealed import improve
from tests.tensor.bounds.programs import column_prices
from tests.tensor.bounds.test_bound import starved
from tests.tensor.search.test_exhaustive import tiny_problem

_ROUNDING = 1e-9
_RAISED = 1.02
#: Where granularities have no caps, all plans are tried of one problem of 2 operators in so many.
_EXHAUSTED = 16
_PRICED = ("cover", "link", "hand_over", "support", "succession")


def searched(problem: Problem, rules: Rules) -> float:
    """Return the latency of the plan of a short search, infinite without one."""
    try:
        plan = improve(problem, rules, Search(effort=0.05, workers=1))
    except (InfeasibleError, NoPlanError):
        return math.inf
    cost = replay(problem, plan, rules).cost
    assert cost is not None
    return cost["latency"]


def accepts(problem: Problem, rules: Rules, prices: Prices, scale: float = 1.0) -> bool:
    """Return whether the checker accepts the prices, all times ``scale``."""
    given = prices.document()
    certificate: dict[str, object] = {name: [[*row[:-1], row[-1] * scale] for row in given[name]] for name in _PRICED}
    certificate["order"] = given["order"]
    if prices.parts is not None:
        certificate |= {name: given[name] for name in ("cuts", "weight")}
        certificate["taking"] = [[*row[:-1], row[-1] * scale] for row in given["taking"]]
    document = {"value": prices.value * scale, "certificate": certificate}
    return not verify(problem, rules, certificate_of(problem, document, "bound"))


def part_prices(problem: Problem, rules: Rules, random: Random) -> Prices | None:
    """Return prices where groups are cut at every link, or at some."""
    chance = random.choice((1.0, 0.5))
    cuts = frozenset((link.operator, link.tensor) for link in links_of(problem, rules) if random.random() < chance)
    program = Program(problem, rules, Search(effort=3), cuts=cuts)
    return program.solve(Search(effort=3)) if cuts and program.diagram.is_complete else None


def ordered(problem: Problem, rules: Rules, random: Random, best: float) -> Prices | None:
    """Return prices of a program with rows of order, some of them drawn at random."""
    made = [operator.output for operator in problem.operators]
    runs = [Deed(RUN, index) for index in range(len(made))]
    others = [Deed(kind, tensor) for kind in (STORED, RETAINED) for tensor in made]
    supports = {
        frozenset(random.sample(runs, 1) + random.sample([*runs, *others], random.randint(1, 3)))
        for _ in range(random.randint(0, 4))
    }
    successions = {
        frozenset(
            frozenset(random.sample(made, random.randint(1, min(2, len(made))))) for _ in range(random.randint(1, 2))
        )
        for _ in range(random.randint(0, 3))
    }
    ordering = Ordering(tuple(sorted(supports, key=sorted)), tuple(successions))
    program = Program(problem, rules, Search(effort=3), ordering=ordering)
    if not program.diagram.is_complete:
        return None
    prices = program.solve(Search(effort=3))
    return ordered_prices(program, Search(effort=3), best)[1] or prices


def judge(problem: Problem, rules: Rules, best: float, prices: Prices | None) -> tuple[str, bool]:
    """Return what is wrong with the bound of a problem, if anything is, and whether ``best`` meets it."""
    if prices is None or not prices.value:
        return "", False
    if prices.value > best * (1 + _ROUNDING):
        return f"the bound {prices.value!r} is above the plan {best!r}", False
    if not accepts(problem, rules, prices):
        return "its certificate is refused", False
    is_met = prices.value >= best * (1 - 1e-6)
    if is_met and accepts(problem, rules, prices, _RAISED):
        return "a certificate raised above the plan is accepted", True
    return "", is_met


def hunt(seed: int, rules: Rules | None = None, *, in_parts: bool = False, in_order: bool = False) -> tuple[str, bool]:
    """Judge the problem of a seed."""
    rules = rules or (CONTEST, CONTEST_LOOSE)[seed % 2]
    is_tiny = seed % 4 != 3
    problem = tiny_problem(seed, 3 if seed % 10 == 0 else 2) if is_tiny else starved(seed, 7)
    best = searched(problem, rules)
    if is_tiny and (rules.granularity_is_native or (seed % _EXHAUSTED == 0 and len(problem.operators) == 2)):
        best = min(best, best_latency(problem, rules, longest=len(problem.operators)))
    if in_parts:
        found = part_prices(problem, rules, Random(seed))
    elif in_order:
        found = ordered(problem, rules, Random(seed), best)
    else:
        found = column_prices(problem, rules, Search(effort=3))
    return judge(problem, rules, best, found)


def main() -> None:
    """Hunt, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=1200)
    parser.add_argument("seed", nargs="?", type=int, default=0)
    parser.add_argument("--rules", choices=RULES)
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--ordering", action="store_true")
    options = parser.parse_args()
    wrong = met = 0
    for seed in range(options.seed, options.seed + options.count):
        fault, is_met = hunt(seed, RULES.get(options.rules), in_parts=options.parts, in_order=options.ordering)
        met += is_met
        if fault:
            wrong += 1
            print(f"seed {seed}: {fault}", flush=True)
        if seed % 100 == 99:
            print(f"to seed {seed}: {wrong} wrong, {met} met, {time.process_time():.0f} s", flush=True)
    print(f"{options.count} problems: {wrong} bounds wrong, {met} met by a plan")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
