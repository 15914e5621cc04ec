"""Simulated annealing over sequences of groups."""

from __future__ import annotations

from collections.abc import Callable

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
    is_done: Callable[[float], bool],
) -> Solution:
    """Return the best solution of an annealing that takes all of ``search``, which has a limit.

    The temperature falls geometrically from ``hottest`` to ``coldest``, both as fractions of the start's latency, as
    the effort is spent; ``is_done``, asked between moves with the best latency, ends it early, and so do
    ``PATIENCE`` moves that lead to nothing new.
    """
    moves = schedules.begin(start.sequence, seed)
    assert moves is not None, "the search began with this solution"
    sequences = schedules.sequences
    whole = search.left()
    length = len(start.sequence)
    last, best, met = 0, moves.best, len(schedules.executions)
    while not is_done(moves.best) and (left := search.left()) > 0:
        if moves.best < best or len(schedules.executions) > met:
            last, best, met = moves.steps, moves.best, len(schedules.executions)
        elif moves.steps - last > PATIENCE:
            break
        temperature = start.latency * hottest * (coldest / hottest) ** (1 - left / whole)
        before, evaluated, work = moves.steps, sequences.evaluated, schedules.work
        status = move_kernels.run(moves, MOVES_AT_ONCE, temperature)
        schedules.settle(moves, status)
        visits = sequences.evaluated - evaluated + (moves.steps - before) * (VISITS_PER_MOVE + length)
        search.spend(schedules.work - work + visits / VISITS_PER_EFFORT)
    return schedules.best(moves)
