"""Sequences of groups: fused along their tensors as long as that pays, what saves most first, and annealed."""

from __future__ import annotations

import heapq
from functools import partial

import numpy as np

from shorthaul.core.search import Search
from shorthaul.tensor.search import move_kernels
from shorthaul.tensor.search.schedules import DONE, IMPOSSIBLE, Schedules, Solution
from shorthaul.tensor.tuning import MOVES_AT_ONCE, PATIENCE, VISITS_PER_EFFORT, VISITS_PER_MOVE


def anneal(
    schedules: Schedules,
    start: Solution,
    seed: int,
    search: Search,
    *,
    hottest: float,
    coldest: float,
    floor: float = 0.0,
) -> Solution:
    """Return the best solution of an annealing that takes all of ``search``, which has a limit.

    The temperature falls geometrically from ``hottest`` to ``coldest``, both as parts of the mean latency of an
    operator at the start, as the effort is spent. A latency of ``floor`` ends it early, and so do ``PATIENCE`` moves
    that lead to nothing new.
    """
    moves = schedules.begin(start.sequence, seed)
    assert moves is not None, "the search began with this solution"
    sequences = schedules.sequences
    whole, mean = search.left(), start.latency / len(schedules.problem.operators)
    last, best, met = 0, moves.best, len(schedules.executions)
    while moves.best > floor and (left := search.left()) > 0:
        if moves.best < best:
            search.report(best=moves.best)
            if search.keeps:
                search.keep(moves.best, partial(schedules.plan, schedules.best(moves).sequence))
        if moves.best < best or len(schedules.executions) > met:
            last, best, met = moves.steps, moves.best, len(schedules.executions)
        elif moves.steps - last > PATIENCE:
            break
        temperature = mean * hottest * (coldest / hottest) ** (1 - left / whole)
        before, evaluated, work = moves.steps, sequences.evaluated, schedules.work
        schedules.settle(moves, move_kernels.run(moves, MOVES_AT_ONCE, temperature))
        visits = sequences.evaluated - evaluated + (moves.steps - before) * (VISITS_PER_MOVE + len(start.sequence))
        search.spend(schedules.work - work + visits / VISITS_PER_EFFORT)
    return schedules.best(moves)


def fused(schedules: Schedules, start: Solution, search: Search) -> Solution:
    """Return ``start`` with groups fused, as far as ``search`` gets.

    A fusion joins the group that makes a tensor with all that take it. What one saves is weighed again when its turn
    comes: it is made if it still saves more than the next one promises.
    """
    problem = schedules.problem
    moves = schedules.begin(start.sequence, search.seed)
    assert moves is not None, "the search began with this solution"
    members = {
        operator.output: np.array([index, *problem.consumers[operator.output]], dtype=np.int32)
        for index, operator in enumerate(problem.operators)
        if problem.consumers[operator.output]
    }
    # Not yet weighed: what leaving out the loads and the store of the tensor would save.
    promises = [
        (-len(operators) * problem.tensors[tensor].size / problem.machine.bandwidth, tensor)
        for tensor, operators in members.items()
    ]
    heapq.heapify(promises)
    while promises and not search.expired():
        _, tensor = heapq.heappop(promises)
        work = schedules.work
        while (status := move_kernels.weigh(moves, members[tensor])) not in {DONE, IMPOSSIBLE}:
            schedules.settle(moves, status)
        search.spend(schedules.work - work + len(start.sequence) / VISITS_PER_EFFORT)
        saved = schedules.sequences.total - schedules.sequences.latency
        if status == IMPOSSIBLE or saved <= 0:
            continue
        if promises and saved < -promises[0][0]:
            heapq.heappush(promises, (-saved, tensor))
        else:
            move_kernels.take(moves)
    return schedules.best(moves)
