"""The best schedule of a tiny problem: every sequence of subgraphs, every granularity, and every order of a few tiles."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, combinations, permutations, product

import numpy as np

from shorthaul.tensor.check.replay import SubgraphReplay, replay
from shorthaul.tensor.check.steps import Surroundings, grid, replay_steps
from shorthaul.tensor.model import Problem, Rules
from shorthaul.tensor.plan import Granularity, Plan, Subgraph

#: All orders are tried up to this many tiles; beyond, the rasters and snakes along rows and columns.
MOST_PERMUTED = 4


def best_latency(problem: Problem, rules: Rules, *, longest: int) -> float:
    """Return the least latency of all schedules of at most ``longest`` subgraphs; infinite if none fits."""
    known: dict[object, float] = {}
    best = math.inf
    for length in range(1, longest + 1):
        for sequence in product(choices(problem, rules), repeat=length):
            if len({operator for subgraph in sequence for operator in subgraph.operators}) < len(problem.operators):
                continue
            found = replay(problem, Plan(sequence), rules)
            if any(violation.rule not in {"over-capacity", "partial-prologue"} for violation in found.violations):
                continue
            total = 0.0
            for subgraph, seen in zip(sequence, found.subgraphs, strict=True):
                assert seen is not None
                key = (subgraph.operators, seen.outputs, seen.resident, seen.retained)
                if key not in known:
                    known[key] = best_execution(problem, rules, subgraph, seen)
                total += known[key]
                if total >= best:
                    break
            best = min(best, total)
    return best


def choices(problem: Problem, rules: Rules) -> list[Subgraph]:
    """Every set of operators with every set of tensors it might retain, at the smallest granularity."""
    found = []
    for operators in subsets(problem.topological_order):
        if not operators:
            continue
        produced = {problem.operators[operator].output for operator in operators}
        kept = set(range(len(problem.tensors))) if rules.retains_inputs else produced
        for retained in subsets(sorted(kept - set(problem.graph_outputs))):
            found.append(Subgraph(operators, Granularity(1, 1, 1), retained))
    return found


def subsets(items: tuple[int, ...] | list[int]) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))


def best_execution(problem: Problem, rules: Rules, subgraph: Subgraph, seen: SubgraphReplay) -> float:
    inside = frozenset(subgraph.operators)
    machine = problem.machine
    limits = (machine.native_width, machine.native_height, machine.native_width)
    shape = problem.tensors[seen.outputs[0]]
    reductions = [problem.reduction(operator) for operator in inside if problem.operators[operator].is_matmul]
    depth = min(reductions, default=1)
    most = (shape.width, shape.height, depth)
    if rules.granularity_is_native:
        most = tuple(min(pair) for pair in zip(most, limits, strict=True))
    best = math.inf
    for w, h, k in product(*(range(1, top + 1) for top in most)):
        if rules.prologues_are_whole and not is_whole(problem, inside, w == shape.width, h == shape.height, w, h, k):
            continue
        tiles = grid(problem, inside, seen.outputs, Granularity(w, h, k))
        for order in orders(tiles.rows, tiles.columns):
            flushes = rules.default_order_flushes and order is None
            around = Surroundings(seen.outputs, seen.resident, seen.retained, flushes)
            traversal = None if order is None else np.array(order)
            traces = list(replay_steps(problem, inside, tiles, traversal, around))
            if all(trace.working_set.max() <= machine.capacity for trace in traces):
                best = min(best, sum(trace.latency.sum() for trace in traces))
    return best


def is_whole(
    problem: Problem, inside: frozenset[int], full_width: bool, full_height: bool, w: int, h: int, k: int
) -> bool:
    """True if every Pointwise that feeds a MatMul does so in tiles that hold the whole reduction, or in one step.

    A tile as wide (or tall) as the output may be called as wide (tall) as the native tile.
    """
    w = problem.machine.native_width if full_width else w
    h = problem.machine.native_height if full_height else h
    for index in inside:
        operator = problem.operators[index]
        if not operator.is_matmul or k >= problem.reduction(index):
            continue
        for tensor, extent in zip(operator.inputs, (w, h), strict=True):
            source = problem.producer[tensor]
            if source in inside and not problem.operators[source].is_matmul and extent < problem.reduction(index):
                return False
    return True


def orders(rows: int, columns: int) -> Iterator[tuple[int, ...] | None]:
    yield None
    if rows * columns <= MOST_PERMUTED:
        yield from permutations(range(rows * columns))
        return
    numbers = np.arange(rows * columns).reshape(rows, columns)
    for lines in (numbers, numbers.T):
        yield tuple(lines.ravel().tolist())
        snake = [line if number % 2 == 0 else line[::-1] for number, line in enumerate(lines)]
        yield tuple(np.concatenate(snake).tolist())
