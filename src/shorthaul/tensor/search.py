"""The search for a schedule: annealing over sequences of subgraphs, from several seeds on several cores."""

from __future__ import annotations

from random import Random
from typing import Final, NamedTuple

from shorthaul.core.amounts import TOLERANCE
from shorthaul.core.search import Budget, run_tasks, stop_requested, tell_best
from shorthaul.tensor.annealing import Solution, anneal, solution
from shorthaul.tensor.baseline import one_operator_per_subgraph
from shorthaul.tensor.bound import lower_bound
from shorthaul.tensor.groups import Groups
from shorthaul.tensor.model import Problem, Rules
from shorthaul.tensor.plan import Plan
from shorthaul.tensor.sequence import plan_of

#: Searches from different seeds, whatever the number of cores, so that it does not change the plan.
_SEEDS: Final = 2
#: Moves of a full search per operator, and at least.
_MOVES_PER_OPERATOR: Final = 600
_LEAST_MOVES: Final = 6000
#: The rounds of one search: the share of its moves, and the temperatures at its two ends.
_ROUNDS: Final = ((0.1, 3e-3, 1e-5), (0.3, 1e-2, 1e-5), (0.3, 3e-3, 3e-6), (0.3, 1e-3, 1e-6))


class _Task(NamedTuple):
    problem: Problem
    rules: Rules
    seed: tuple[int, int]
    floor: float


def improve(problem: Problem, rules: Rules, search: Budget) -> Plan:
    """Return the best schedule found within ``search``.

    Without a time limit, or with an ample one, the search ends after a fixed number of moves, and its plan depends on
    the seed alone. Raises :class:`InfeasibleError` or :class:`NoPlanError` if no schedule was found.
    """
    groups = Groups(problem, rules)
    start = solution(groups, tuple(1 << operator for operator in problem.topological_order))
    if start is None:
        return one_operator_per_subgraph(problem, rules)
    bound = lower_bound(problem, rules)
    search.report(best=start[0], bound=bound.value)
    best = start
    if len(problem.operators) > 1 and not bound.is_met_by(start[0]) and not search.expired():
        tasks = [_Task(problem, rules, (search.seed, number), bound.value) for number in range(_SEEDS)]
        found = dict(
            run_tasks(_anneal, tasks, budget=search, watch=lambda best: search.report(best=best, bound=bound.value))
        )
        best = min([start, *(found[number] for number in sorted(found))], key=lambda candidate: candidate[0])
    return plan_of(groups, best[2])


def _anneal(task: _Task) -> Solution:
    """Return the best solution of one seed."""
    groups = Groups(task.problem, task.rules)
    best = solution(groups, tuple(1 << operator for operator in task.problem.topological_order))
    assert best is not None, "the search began with this solution"
    random = Random(f"{task.seed[0]}, {task.seed[1]}")
    moves = max(_LEAST_MOVES, _MOVES_PER_OPERATOR * len(task.problem.operators))

    def is_done(latency: float) -> bool:
        tell_best(latency)
        return latency <= task.floor * (1 + TOLERANCE) or stop_requested()

    for share, hottest, coldest in _ROUNDS:
        if is_done(best[0]):
            break
        best = anneal(groups, best, random, int(share * moves), hottest=hottest, coldest=coldest, stop=is_done)
    return best
