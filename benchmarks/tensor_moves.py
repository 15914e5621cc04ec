"""The tensor engine's search by parts: moves per second, the fused start, and its prices beside the replay's.

    python benchmarks/tensor_moves.py [--moves 50000] [--groups 0 [--first 0]]

Random operator graphs of 100 and of 2,000 operators, on one core: what one operator per group takes, what the greedy
fusion leaves of that, what an annealing of so many moves leaves, and how many moves a second of processor time makes,
pricing new groups included. ``--groups N`` compares the price of N random groups, in random states of fast memory, at
random granularities and in random orders, with the replay: every one has to be equal (``--first`` is the first seed, so
that parts may be run beside one another). Prints what it finds.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

import numpy as np

from shorthaul.core.search import Search
from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.cost_model.cost import Costs
from shorthaul.tensor.cost_model.profile import profile_of
from shorthaul.tensor.model import CONTEST, RULES, Problem
from shorthaul.tensor.search import move_kernels
from shorthaul.tensor.search.annealing import fused
from shorthaul.tensor.search.schedules import Schedules
from shorthaul.tensor.workloads.cases import GraphBuilder

sys.path.insert(0, str(Path(__file__).parents[1]))

SIZES = (128, 256, 512, 1024, 2048)


def random_graph(seed: int, operators: int) -> Problem:
    """Return a graph of MatMul and Pointwise operators whose operands are mostly recent tensors."""
    rng = np.random.default_rng(seed)
    graph = GraphBuilder()
    there = [graph.tensor(*(int(size) for size in rng.choice(SIZES, 2))) for _ in range(3)]
    for _ in range(operators):
        first = there[max(0, len(there) - 1 - int(rng.geometric(0.15)))]
        shape = graph.tensors[first]
        if rng.random() < 0.5:
            weights = graph.tensor(shape.width, int(rng.choice(SIZES)))
            there.append(graph.matmul(first, weights, max(1, int(rng.integers(2, 8)) * shape.width // 4)))
        else:
            same = [tensor for tensor in there[-60:] if graph.tensors[tensor] == shape and tensor != first]
            others = (int(rng.choice(same)),) if same and rng.random() < 0.5 else ()
            there.append(graph.pointwise((first, *others), int(rng.integers(50, 500))))
    return graph.problem(capacity=500_000, bandwidth=50)


def measure(operators: int, moves: int) -> None:
    """Print what the parts of the search make of one graph."""
    problem = random_graph(1, operators)
    schedules = Schedules(problem, CONTEST)
    began = time.process_time()
    alone = schedules.solution(tuple((operator,) for operator in problem.topological_order))
    assert alone is not None
    priced = time.process_time()
    start = fused(schedules, alone, Search(effort=1e6))
    joined = time.process_time()
    walk = schedules.begin(start.sequence, 0)
    assert walk is not None
    mean = alone.latency / operators
    while walk.steps < moves:
        temperature = mean * 0.02 * 1e-3 ** (walk.steps / moves)
        schedules.settle(walk, move_kernels.run(walk, min(100, moves - walk.steps), temperature))
    ended = time.process_time()
    print(
        f"{operators:,} operators: alone {priced - began:.2f} s; fused {start.latency / alone.latency:.3f} of that "
        f"latency in {joined - priced:.2f} s; annealed {walk.best / alone.latency:.3f} in {ended - joined:.2f} s, "
        f"{moves / (ended - joined):,.0f} moves per second",
        flush=True,
    )


def compare(groups: int, seed: int) -> None:
    """Compare so many prices with the replay, on problems from this seed on."""
    from tests.tensor.random_plans import random_plan, random_problem

    compared = mixed = 0
    first = seed
    while compared < groups:
        rng = np.random.default_rng(seed)
        rules = list(RULES.values())[seed % len(RULES)]
        problem = random_problem(rng, operators=7)
        plan = random_plan(rng, problem, rules)
        for subgraph, seen in zip(plan.subgraphs, replay(problem, plan, rules).subgraphs, strict=True):
            if seen is None:
                continue
            profile = profile_of(problem, frozenset(subgraph.operators), seen.outputs, seen.resident, seen.retained)
            costs = Costs(profile, problem.machine)
            costs.at(subgraph.granularity)
            order = None if subgraph.traversal is None else np.array(subgraph.traversal)
            latency = costs.isolated() if order is None and rules.default_order_flushes else costs.follow(order)
            if not math.isclose(latency, seen.latency, rel_tol=1e-9) or costs.peak != seen.peak:
                raise SystemExit(f"seed {seed}: price {latency}, replay {seen.latency}; {costs.peak}, {seen.peak}")
            compared += 1
            mixed += profile.is_mixed
        seed += 1
    print(
        f"{compared:,} groups of seeds {first} to {seed - 1} cost what the replay finds; "
        f"in {mixed:,} of them slices coincide by chance"
    )


def main() -> None:
    """Measure, or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moves", type=int, default=50_000)
    parser.add_argument("--groups", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    if options.groups:
        compare(options.groups, options.first)
        return
    for operators in (100, 2_000):
        measure(operators, options.moves)


if __name__ == "__main__":
    main()
