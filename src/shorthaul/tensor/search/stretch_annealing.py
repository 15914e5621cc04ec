"""Annealing of a long sequence by stretches, several at once: a move takes no longer than its stretch is long."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Final, NamedTuple

from shorthaul.core.amounts import TOLERANCE
from shorthaul.core.search import Search
from shorthaul.core.searching.tasks import run_tasks
from shorthaul.tensor.cost_model.granularity import Execution
from shorthaul.tensor.cost_model.profile import Profile
from shorthaul.tensor.model import Rules
from shorthaul.tensor.search.annealing import anneal
from shorthaul.tensor.search.fusion import fused
from shorthaul.tensor.search.schedules import Schedules, Sequence, Solution
from shorthaul.tensor.search.stretches import Stretch, stretches
from shorthaul.tensor.tuning import FUSED_OPERATORS, STRETCH_EFFORT_PER_OPERATOR, STRETCH_OPERATORS

#: The temperatures at which rounds begin, and the one at which they end, as parts of the mean latency of an operator.
HOTTEST: Final = (0.3, 0.1, 0.03)
_COLDEST: Final = 1e-4
#: Tasks of a round: stretches of one task share the prices that they meet.
_TASKS: Final = 8
#: Rounds without a better plan, each cut at other places, after which the search ends.
_IDLE_ROUNDS: Final = 3


class _Task(NamedTuple):
    rules: Rules
    parts: list[tuple[Stretch, Sequence]]
    hottest: float | None  # None: fused greedily
    seed: int
    known: dict[Profile, Execution | None]


class _Answer(NamedTuple):
    """The groups of each stretch, in its own numbers, and the executions that were new."""

    found: list[Sequence]
    fresh: dict[Profile, Execution | None]


def anneal_stretches(schedules: Schedules, best: Solution, search: Search, floor: float) -> Solution:
    """Return ``best`` or a better solution: stretches that cover the sequence are annealed, each on its own.

    They are cut at other places in every round. Without limits there are as many rounds as temperatures; otherwise they
    go on until the search ends, unless the bound ``floor`` is met or several of them find nothing better.
    """
    problem = schedules.problem
    random = Random(search.seed)
    number = idle = 0
    while idle < _IDLE_ROUNDS and best.latency > floor * (1 + TOLERANCE) and not search.expired():
        if search.is_unlimited and number == len(HOTTEST):
            break
        left = max(1, len(HOTTEST) - number)
        effort = STRETCH_EFFORT_PER_OPERATOR * len(problem.operators)
        part = search.part(1 / left, unlimited=effort)
        found = anneal_round(schedules, best, part, random.getrandbits(63), HOTTEST[number % len(HOTTEST)])
        idle = 0 if found.latency < best.latency else idle + 1
        best = found
        number += 1
        search.report(best=best.latency, bound=floor)
        search.keep(best.latency, partial(schedules.plan, best.sequence))
    return best


def anneal_round(schedules: Schedules, best: Solution, search: Search, seed: int, hottest: float | None) -> Solution:
    """Return ``best`` with its stretches annealed if that is better; ``hottest`` is None if they are fused greedily."""
    random = Random(seed)
    plan = schedules.plan(best.sequence)
    size = FUSED_OPERATORS if hottest is None else STRETCH_OPERATORS
    cut = list(stretches(schedules.problem, best.sequence, plan, size, random.randint(size // 3, size)))
    parts = [[(one, one.own(best.sequence)) for one in cut[number::_TASKS]] for number in range(min(_TASKS, len(cut)))]
    known = schedules.granularities.known
    tasks = [_Task(schedules.rules, part, hottest, random.getrandbits(63), known) for part in parts]
    groups: dict[int, tuple[Stretch, Sequence]] = {}
    for number, answer in run_tasks(_anneal, tasks, search=search.aside(), unlimited=search.effort):
        groups |= {one.begin: (one, mine) for (one, _), mine in zip(parts[number], answer.found, strict=True)}
        known.update(answer.fresh)
    sequence = best.sequence
    for begin in sorted(groups, reverse=True):  # from the end: places before a stretch stay what they are
        stretch, mine = groups[begin]
        sequence = stretch.into(sequence, mine)
    found = schedules.solution(sequence)
    return best if found is None or found.latency >= best.latency else found


def _anneal(task: _Task, search: Search) -> _Answer:
    """Return the best groups found for every stretch of a task; each has a part of the effort as large as it is."""
    random = Random(task.seed)
    known, found = dict(task.known), []
    waiting = sum(len(stretch.operators) for stretch, _ in task.parts)
    for stretch, sequence in task.parts:
        problem, needed = stretch.alone()
        schedules = Schedules(problem, task.rules, known, needed)
        start = schedules.solution(sequence)
        part = search.part(len(stretch.operators) / waiting)
        waiting -= len(stretch.operators)
        known = schedules.granularities.known
        if start is None:  # it computes again, too late, what one of its groups takes from before it
            found.append(sequence)
            continue
        if task.hottest is None:
            best = fused(schedules, start, part)
        else:
            best = anneal(schedules, start, random.getrandbits(63), part, hottest=task.hottest, coldest=_COLDEST)
        found.append(best.sequence)
    return _Answer(found, {profile: known[profile] for profile in known.keys() - task.known.keys()})
