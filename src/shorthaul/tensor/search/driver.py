"""The search for a schedule: annealing over sequences of subgraphs, from several seeds on several cores."""

from __future__ import annotations

import math
from functools import partial
from itertools import chain, cycle
from random import Random
from typing import Final, NamedTuple

from shorthaul.core.amounts import TOLERANCE, Bound
from shorthaul.core.search import Search
from shorthaul.core.searching.tasks import run_tasks
from shorthaul.tensor import tuning
from shorthaul.tensor.bounds.best import lower_bound
from shorthaul.tensor.bounds.columns import has_columns
from shorthaul.tensor.cost_model.granularity import Execution
from shorthaul.tensor.cost_model.profile import Profile
from shorthaul.tensor.model import CONTEST, Problem, Rules
from shorthaul.tensor.plan import Plan
from shorthaul.tensor.search.annealing import anneal
from shorthaul.tensor.search.baseline import one_operator_per_subgraph
from shorthaul.tensor.search.fusion import fused
from shorthaul.tensor.search.schedules import Schedules, Sequence, Solution
from shorthaul.tensor.search.stretch_annealing import anneal_stretches
from shorthaul.tensor.search.windows import solve_windows

#: The rounds of each seed: the share of its effort, the temperatures at both ends as parts of the mean latency of an
#: operator, and whether it begins with one operator per group, rather than with the best so far.
_ROUNDS: Final = (
    ((0.6, 0.3, 3e-5, True), (0.25, 0.06, 3e-5, False), (0.15, 0.015, 3e-6, False)),
    ((0.2, 0.03, 3e-5, False), (0.4, 0.12, 3e-5, True), (0.3, 0.6, 3e-5, True), (0.1, 0.03, 3e-6, False)),
)
#: What follows, over and over, where there is more effort than the rounds take.
_FURTHER_ROUNDS: Final = ((0.3, 0.06, 3e-5, False), (0.5, 0.24, 3e-5, True), (0.3, 0.15, 3e-5, False))
#: The round before all others.
_FIRST_ROUND: Final = (0.03, 3e-5)
#: The share of what is left that goes into annealings, where windows are solved afterwards.
_ANNEALING: Final = 0.6
#: Kept back for checking the plan and writing it: seconds at least, multiples of what pricing every operator alone took
#: (measured: 2.7 at 2,000 operators), and the most of a time limit.
_FINISH_S: Final = 0.25
_FINISH_PARTS: Final = 3.0
_FINISH_SHARE: Final = 0.4


class Begun(NamedTuple):
    """A search that has a plan: all that it has priced, one operator per group, and the best so far."""

    schedules: Schedules
    alone: Solution
    best: Solution

    def with_groups(self, groups: list[tuple[int, ...]]) -> Begun:
        """Return the same with the plan of these groups, in this order, if that is a better one."""
        found = self.schedules.solution(tuple(groups))
        return self if found is None or found.latency >= self.best.latency else self._replace(best=found)


class _Task(NamedTuple):
    problem: Problem
    rules: Rules
    seed: int
    number: int
    best: Sequence
    floor: float
    known: dict[Profile, Execution | None]


def begin(problem: Problem, rules: Rules, search: Search) -> Begun | None:
    """Return a plan worth having, soon: fused greedily, and a short annealing; None if an operator alone does not fit.

    What a journal has is taken up if it is better.
    """
    before_s = search.elapsed_s()
    schedules = Schedules(problem, rules)
    alone = schedules.solution(tuple((operator,) for operator in problem.topological_order))
    if alone is None:
        return None
    search.spend(schedules.work)
    start = _resumed(schedules, alone, search.start())
    search.keep(start.latency, partial(schedules.plan, start.sequence))
    if search.time_limit is not None:
        # The same groups are replayed and drawn at the end, on a machine as busy as it is now.
        finish_s = max(_FINISH_S, _FINISH_PARTS * (search.elapsed_s() - before_s))
        search.keep_back(min(_FINISH_SHARE * search.time_limit, finish_s))
    count = len(problem.operators)
    if count == 1:
        return Begun(schedules, alone, start)
    # A little is done even when the time is up already: it takes less than what has gone by.
    best = min(start, fused(schedules, alone, _sure(search)))
    capped = _fused_for_the_contest(schedules, alone, search)
    best = capped if capped.latency < best.latency * (1 - TOLERANCE) else best
    first = max(tuning.LEAST_FIRST_EFFORT, tuning.FIRST_EFFORT_PER_OPERATOR * count)
    hottest, coldest = _FIRST_ROUND
    best = anneal(schedules, best, search.seed, _sure(search).within(first), hottest=hottest, coldest=coldest)
    search.report(best=best.latency)
    return Begun(schedules, alone, best)


def improve(
    problem: Problem,
    rules: Rules,
    search: Search,
    *,
    restarts: int = 4,
    begun: Begun | None = None,
    bound: Bound | None = None,
) -> Plan:
    """Return the best schedule found within ``search``, by ``restarts`` annealings from seeds of their own.

    Each of them has an effort of its own, so that the plan depends on the seed and the effort alone; without limits it
    grows with the number of operators. With a time limit alone they go on until then, unless they meet the bound or
    nothing new is left to try; then there are as many as run at once, at least. ``begun`` is what :func:`begin` made,
    ``bound`` one on the latency, if a better one than the quick one is known. Raises
    :class:`InfeasibleError` or :class:`NoPlanError` if no schedule was found.
    """
    begun = begin(problem, rules, search) if begun is None else begun
    if begun is None:
        return one_operator_per_subgraph(problem, rules)
    schedules, _, best = begun
    search.keep(best.latency, partial(schedules.plan, best.sequence))
    bound = lower_bound(problem, rules, search) if bound is None else bound
    search.report(best=best.latency, bound=bound.value)
    if len(problem.operators) > 1 and not bound.is_met_by(best.latency) and not search.expired():
        has_windows = has_columns(problem, rules) and len(problem.operators) > tuning.WINDOW_OPERATORS
        if len(problem.operators) > tuning.MANY_OPERATORS:
            best = anneal_stretches(schedules, best, search, bound.value)
        else:
            best = _restarted(begun, search.part(_ANNEALING) if has_windows else search, restarts, bound)
        if has_windows and not bound.is_met_by(best.latency):
            part = search.part(1.0, unlimited=_default_effort(len(problem.operators)))
            best = solve_windows(schedules, best, part)
    search.keep(best.latency, partial(schedules.plan, best.sequence))
    return schedules.plan(best.sequence)


def _restarted(begun: Begun, search: Search, restarts: int, bound: Bound) -> Solution:
    """Return the best solution of so many annealings from seeds of their own, run beside each other."""
    schedules, _, best = begun
    problem, rules, known = schedules.problem, schedules.rules, schedules.granularities.known
    if search.effort is None and search.deadline < math.inf:
        restarts = max(restarts, search.workers)
    found = dict(
        run_tasks(
            _anneal,
            [
                _Task(problem, rules, search.seed, number, best.sequence, bound.value, known)
                for number in range(restarts)
            ],
            search=search,
            unlimited=_default_effort(len(problem.operators)),
            enough=lambda solved: bound.is_met_by(solved.latency),
            watch=lambda told: search.report(best=min(told, best.latency), bound=bound.value),
        )
    )
    return min([best, *(found[number] for number in sorted(found))], key=lambda candidate: candidate.latency)


def _fused_for_the_contest(schedules: Schedules, alone: Solution, search: Search) -> Solution:
    """Return what fusion makes under the contest's rules, or ``alone`` where that is no start of another kind.

    Tiles of any size make operators alone cheap, so fusing two of them may not pay where fusing many does. The
    contest's plans are allowed under all rules.
    """
    if schedules.rules.granularity_is_native or search.expired():
        return alone
    capped = Schedules(schedules.problem, CONTEST)
    start = capped.solution(alone.sequence)
    search.spend(capped.work)
    if start is None:
        return alone
    work = schedules.work
    found = schedules.solution(fused(capped, start, search).sequence)
    search.spend(schedules.work - work)
    return alone if found is None else found


def _sure(search: Search) -> Search:
    """Return the search, or one of little effort if its time is up."""
    return Search(effort=tuning.LEAST_FIRST_EFFORT, seed=search.seed) if search.expired() else search


def _resumed(schedules: Schedules, start: Solution, given: Plan | None) -> Solution:
    """Return the solution with the subgraphs of a plan from a journal, if it is one and a better one than ``start``."""
    if given is None:
        return start
    again = schedules.solution(tuple(tuple(sorted(subgraph.operators)) for subgraph in given.subgraphs))
    return start if again is None else min(start, again, key=lambda one: one.latency)


def _default_effort(operators: int) -> float:
    """Return the effort of one annealing where nothing limits it."""
    return min(max(tuning.LEAST_EFFORT, tuning.EFFORT_PER_OPERATOR * operators), tuning.MOST_EFFORT)


def _anneal(task: _Task, search: Search) -> Solution:
    """Return the best solution of one seed. How many run at once does not change any."""
    schedules = Schedules(task.problem, task.rules, task.known)
    count = len(task.problem.operators)
    alone = schedules.solution(tuple((operator,) for operator in task.problem.topological_order))
    best = schedules.solution(task.best)
    assert alone is not None, "the search began with this solution"
    assert best is not None, "the search went on with this solution"
    random = Random(f"{task.seed}, {task.number}")
    floor = task.floor * (1 + TOLERANCE)
    whole = min(search.left(), _default_effort(count))
    for share, hottest, coldest, is_afresh in chain(_ROUNDS[task.number % len(_ROUNDS)], cycle(_FURTHER_ROUNDS)):
        if best.latency <= floor or search.expired():
            break
        met = len(schedules.executions)
        origin = best
        if is_afresh:
            origin = alone
        part = search.part(min(1.0, share * whole / max(search.left(), 1e-9)), unlimited=share * whole)
        found = anneal(schedules, origin, random.getrandbits(63), part, hottest=hottest, coldest=coldest, floor=floor)
        best = min(best, found, key=lambda candidate: candidate.latency)
        if len(schedules.executions) == met and origin is best:
            break  # a whole round has met no execution that was new: there is nothing left to find
    return best
