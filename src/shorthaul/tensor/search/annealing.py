"""Simulated annealing over sequences of groups."""

from __future__ import annotations

from functools import partial

from shorthaul.core.search import Search
from shorthaul.tensor.search import move_kernels
from shorthaul.tensor.search.schedules import Schedules, Solution
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
