"""The search for a schedule: annealing over sequences of subgraphs, from several seeds on several cores."""

from __future__ import annotations

from itertools import chain, cycle
from random import Random
from typing import Final, NamedTuple

from shorthaul.core.amounts import TOLERANCE, Bound
from shorthaul.core.search import Search
from shorthaul.core.searching.tasks import run_tasks
from shorthaul.tensor import tuning
from shorthaul.tensor.bounds.best import lower_bound
from shorthaul.tensor.cost_model.granularity import Execution
from shorthaul.tensor.cost_model.profile import Profile
from shorthaul.tensor.model import Problem, Rules
from shorthaul.tensor.plan import Plan
from shorthaul.tensor.search.annealing import anneal
from shorthaul.tensor.search.baseline import one_operator_per_subgraph
from shorthaul.tensor.search.schedules import Schedules, Sequence, Solution

#: The rounds of each seed: the share of its effort, the temperatures at both ends as parts of the first latency, and
#: whether it begins where the search began, rather than with the best so far.
_ROUNDS: Final = (
    ((0.6, 1e-2, 1e-6, True), (0.25, 2e-3, 1e-6, False), (0.15, 5e-4, 1e-7, False)),
    ((0.2, 1e-3, 1e-6, False), (0.4, 4e-3, 1e-6, True), (0.3, 2e-2, 1e-6, True), (0.1, 1e-3, 1e-7, False)),
)
#: What follows, over and over, where there is more effort than the rounds take.
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
    known: dict[Profile, Execution | None]


def improve(
    problem: Problem, rules: Rules, search: Search, *, restarts: int = len(_ROUNDS), bound: Bound | None = None
) -> Plan:
    """Return the best schedule found within ``search``, by ``restarts`` annealings from seeds of their own.

    Each of them has an effort of its own, so that the plan depends on the seed and the effort alone; without limits it
    grows with the number of operators. With a time limit alone they go on until then, unless they meet the bound or
    nothing new is left to try; ``bound`` is one on the latency, if a better one than the quick one is known. Raises
    :class:`InfeasibleError` or :class:`NoPlanError` if no schedule was found.
    """
    schedules = Schedules(problem, rules)
    start = schedules.solution(tuple((operator,) for operator in problem.topological_order))
    if start is None:
        return one_operator_per_subgraph(problem, rules)
    search.spend(schedules.work)
    bound = lower_bound(problem, rules, search) if bound is None else bound
    search.report(best=start.latency, bound=bound.value)
    if search.time_limit_s is not None:
        # On a busy machine the last steps take as long as the first did: keep back half of what has gone by.
        search.keep_back(min(_FINISH_SHARE * search.time_limit_s, max(_FINISH_S, search.elapsed_s() / 2)))
    count = len(problem.operators)
    # A short round here, so that even a machine too busy to start processes in time has a plan worth having.
    first = max(tuning.LEAST_FIRST_EFFORT, tuning.FIRST_EFFORT_PER_OPERATOR * count)
    best = anneal(
        schedules,
        start,
        search.seed,
        _part(search, first),
        hottest=1e-3,
        coldest=1e-6,
        is_done=lambda latency: count == 1 or bound.is_met_by(latency),
    )
    search.report(best=best.latency, bound=bound.value)
    if count > 1 and not bound.is_met_by(best.latency) and not search.expired():
        known, known_best = schedules.granularities.known, best.latency
        tasks = [
            _Task(problem, rules, search.seed, number, best.sequence, bound.value, known) for number in range(restarts)
        ]
        found = dict(
            run_tasks(
                _anneal,
                tasks,
                search=search,
                unlimited=_default_effort(count),
                enough=lambda solved: bound.is_met_by(solved.latency),
                watch=lambda told: search.report(best=min(told, known_best), bound=bound.value),
            )
        )
        best = min([best, *(found[number] for number in sorted(found))], key=lambda candidate: candidate.latency)
    return schedules.plan(best.sequence)


def _default_effort(operators: int) -> float:
    """Return the effort of one annealing where nothing limits it."""
    return min(max(tuning.LEAST_EFFORT, tuning.EFFORT_PER_OPERATOR * operators), tuning.MOST_EFFORT)


def _part(search: Search, amount: float) -> Search:
    """Return the search of a part of so much effort, or of as many seconds where only the clock limits it."""
    return search.part(min(1.0, amount / max(search.left(), 1e-9)), unlimited=amount)


def _anneal(task: _Task, search: Search) -> Solution:
    """Return the best solution of one seed. How many run at once does not change any."""
    schedules = Schedules(task.problem, task.rules, task.known)
    start = schedules.solution(tuple((operator,) for operator in task.problem.topological_order))
    best = schedules.solution(task.best)
    assert start is not None, "the search began with this solution"
    assert best is not None, "the search went on with this solution"
    random = Random(f"{task.seed}, {task.number}")

    def is_done(latency: float) -> bool:
        search.report(best=latency)
        return latency <= task.floor * (1 + TOLERANCE) or search.expired()

    whole = min(search.left(), _default_effort(len(task.problem.operators)))
    for share, hottest, coldest, from_start in chain(_ROUNDS[task.number % len(_ROUNDS)], cycle(_FURTHER_ROUNDS)):
        if is_done(best.latency) or search.expired():
            break
        tried = len(schedules.executions)
        origin = start if from_start else best
        part = _part(search, share * whole)
        found = anneal(
            schedules, origin, random.getrandbits(63), part, hottest=hottest, coldest=coldest, is_done=is_done
        )
        best = min(best, found, key=lambda candidate: candidate.latency)
        if len(schedules.executions) == tried and not from_start:
            break  # a whole round has met no execution that was new: there is nothing left to find
    return best
