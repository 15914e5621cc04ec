"""The search for a schedule: annealing over sequences of subgraphs, from several seeds on several cores."""

from __future__ import annotations

from itertools import chain, cycle
from random import Random
from typing import Final, NamedTuple

from shorthaul.core.amounts import TOLERANCE
from shorthaul.core.search import Search
from shorthaul.core.signals import stop_requested, tell_best
from shorthaul.core.tasks import run_tasks
from shorthaul.tensor.bounds.best import lower_bound
from shorthaul.tensor.cost_model.granularity import Execution
from shorthaul.tensor.cost_model.profile import Profile
from shorthaul.tensor.model import Problem, Rules
from shorthaul.tensor.plan import Plan
from shorthaul.tensor.search.annealing import Solution, anneal, solution
from shorthaul.tensor.search.baseline import one_operator_per_subgraph
from shorthaul.tensor.search.groups import Groups
from shorthaul.tensor.search.sequence import Sequence, plan_of, steps_of

#: Moves of one seed: so many per operator, between these two.
_MOVES_PER_OPERATOR: Final = 1200
_FEWEST_MOVES: Final = 4000
_MOST_MOVES: Final = 60_000
#: Moves per operator before that, in the calling process, and at least.
_FIRST_MOVES_PER_OPERATOR: Final = 15
_FEWEST_FIRST_MOVES: Final = 300
#: The rounds of each seed: the share of its moves, the temperatures at both ends as parts of the first latency, and
#: whether it begins where the search began, rather than with the best so far.
_ROUNDS: Final = (
    ((0.6, 1e-2, 1e-6, True), (0.25, 2e-3, 1e-6, False), (0.15, 5e-4, 1e-7, False)),
    ((0.2, 1e-3, 1e-6, False), (0.4, 4e-3, 1e-6, True), (0.3, 2e-2, 1e-6, True), (0.1, 1e-3, 1e-7, False)),
)


#: What follows, over and over, until a time limit.
_FURTHER_ROUNDS: Final = ((0.3, 2e-3, 1e-6, False), (0.5, 8e-3, 1e-6, True), (0.3, 5e-3, 1e-6, False))
#: Seconds kept back for checking the plan and writing it, at least, and the most of a time limit.
_FINISH_S: Final = 0.25
_FINISH_SHARE: Final = 0.25


class _Task(NamedTuple):
    problem: Problem
    rules: Rules
    seed: int
    number: int
    best: Sequence
    floor: float
    is_timed: bool
    known: dict[Profile, Execution | None]


def improve(problem: Problem, rules: Rules, search: Search, *, restarts: int = len(_ROUNDS)) -> Plan:
    """Return the best schedule found within ``search``, by ``restarts`` annealings from seeds of their own.

    Without a time limit the search ends after a fixed number of moves, and its plan depends on the seed alone; with
    one it goes on until then, unless it meets the bound or nothing new is left to try. Raises
    :class:`InfeasibleError` or :class:`NoPlanError` if no schedule was found.
    """
    groups = Groups(problem, rules)
    start = solution(groups, tuple(1 << operator for operator in problem.topological_order))
    if start is None:
        return one_operator_per_subgraph(problem, rules)
    bound = lower_bound(problem, rules)
    search.report(best=start.latency, bound=bound.value)
    if search.time_limit_s is not None:
        # On a busy machine the last steps take as long as the first did: keep back half of what has gone by.
        search.keep_back(min(_FINISH_SHARE * search.time_limit_s, max(_FINISH_S, search.elapsed_s() / 2)))
    # A short round here, so that even a machine too busy to start processes in time has a plan worth having.
    best = anneal(
        groups,
        start,
        Random(search.seed),
        max(_FEWEST_FIRST_MOVES, _FIRST_MOVES_PER_OPERATOR * len(problem.operators)),
        hottest=1e-3,
        coldest=1e-6,
        stop=lambda latency: len(problem.operators) == 1 or bound.is_met_by(latency) or search.expired(),
    )
    search.report(best=best.latency, bound=bound.value)
    if len(problem.operators) > 1 and not bound.is_met_by(best.latency) and not search.expired():
        is_timed = search.time_limit_s is not None
        known = groups.granularities.known
        tasks = [
            _Task(problem, rules, search.seed, number, best.sequence, bound.value, is_timed, known)
            for number in range(restarts)
        ]
        found = dict(
            run_tasks(_anneal, tasks, search=search, watch=lambda best: search.report(best=best, bound=bound.value))
        )
        best = min([best, *(found[number] for number in sorted(found))], key=lambda candidate: candidate.latency)
    return plan_of(groups, steps_of(groups, best.sequence, best.evaluation))


def _anneal(task: _Task) -> Solution:
    """Return the best solution of one seed. How many of them run at once does not change any."""
    groups = Groups(task.problem, task.rules)
    groups.granularities.known.update(task.known)
    start = solution(groups, tuple(1 << operator for operator in task.problem.topological_order))
    best = solution(groups, task.best)
    assert start is not None, "the search began with this solution"
    assert best is not None, "the search went on with this solution"
    random = Random(f"{task.seed}, {task.number}")
    moves = min(max(_FEWEST_MOVES, _MOVES_PER_OPERATOR * len(task.problem.operators)), _MOST_MOVES)

    def is_done(latency: float) -> bool:
        tell_best(latency)
        return latency <= task.floor * (1 + TOLERANCE) or stop_requested()

    rounds = _ROUNDS[task.number % len(_ROUNDS)]
    for share, hottest, coldest, from_start in chain(rounds, cycle(_FURTHER_ROUNDS) if task.is_timed else ()):
        if is_done(best.latency):
            break
        tried = groups.tried
        origin = start if from_start else best
        found = anneal(groups, origin, random, int(share * moves), hottest=hottest, coldest=coldest, stop=is_done)
        best = min(best, found, key=lambda candidate: candidate.latency)
        if groups.tried == tried and not from_start:
            break  # a whole round has met no execution that was new: there is nothing left to find
    return best
