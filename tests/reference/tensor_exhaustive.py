"""The best schedule of a tiny problem: every sequence of subgraphs, every granularity, and every order of a few tiles."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, combinations, product

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.check.replay import SubgraphReplay, replay
from shorthaul.tensor.check.steps import Surroundings, grid, joined, replay_steps, walk
from shorthaul.tensor.model import Problem, Rules
from shorthaul.tensor.plan import Granularity, Plan, Subgraph

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

#: The best order is found up to this many tiles; beyond, the rasters and snakes along rows and columns are tried.
MOST_ORDERED = 8


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
    walked = walk(problem, inside, seen.outputs)
    for w, h, k in product(*(range(1, top + 1) for top in most)):
        if rules.prologues_are_whole and not is_whole(problem, inside, w == shape.width, h == shape.height, w, h, k):
            continue
        tiles = grid(problem, walked, seen.outputs, Granularity(w, h, k))
        around = Surroundings(seen.outputs, seen.resident, seen.retained, flushes=False)
        traces = []
        for order in orders(tiles.rows, tiles.columns):
            trace = joined(list(replay_steps(problem, inside, walked, tiles, order, around)))
            if trace.working_set.max() > machine.capacity:
                break
            traces.append((order, trace.latency.reshape(tiles.tiles, -1).sum(axis=1)))
        else:
            best = min(best, best_order(traces))
    return best


def best_order(traces: list[tuple[Integers, Floats]]) -> float:
    """Return the least latency of the orders whose tiles take so long each, or of all orders of a few tiles.

    A tile takes what it does after the tile before it: so the best order is a shortest path through all tiles.
    """
    count = len(traces[0][0])
    least = min(float(times.sum()) for _, times in traces)
    if not 1 < count <= MOST_ORDERED:
        return least
    after = np.full((count, count), math.inf)
    reached = {}
    for order, times in traces:
        reached[1 << order[0], order[0]] = times[0]
        after[order[:-1], order[1:]] = times[1:]
    for seen, last in product(range(1, 1 << count), range(count)):
        latency = reached.get((seen, last), math.inf)
        for tile in range(count) if latency < least else ():
            key = seen | 1 << tile, tile
            if key[0] > seen:
                reached[key] = min(reached.get(key, math.inf), latency + after[last, tile])
    return min([least, *(latency for (seen, _), latency in reached.items() if seen == (1 << count) - 1)])


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


def orders(rows: int, columns: int) -> Iterator[Integers]:
    """Yield orders in which every tile follows every other one (Williams 1949); rasters and snakes of many tiles."""
    count = rows * columns
    numbers = np.arange(count)
    if count <= MOST_ORDERED:
        zigzag = np.where(numbers % 2, (numbers + 1) // 2, -numbers // 2)
        for first in range(count):
            yield (zigzag + first) % count
            if count % 2 and count > 1:
                yield (zigzag[::-1] + first) % count
        return
    for lines in (numbers.reshape(rows, columns), numbers.reshape(rows, columns).T):
        yield lines.ravel()
        yield np.concatenate([line if number % 2 == 0 else line[::-1] for number, line in enumerate(lines)])
