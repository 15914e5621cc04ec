"""Windows of a schedule solved by the linear program and the integer program over all groups in them."""

from __future__ import annotations

import math
from functools import partial
from random import Random
from typing import Final

from shorthaul.core.search import Search
from shorthaul.tensor.bounds.columns import column_program
from shorthaul.tensor.model import Problem
from shorthaul.tensor.plan import Plan
from shorthaul.tensor.search.schedules import Schedules, Sequence, Solution
from shorthaul.tensor.search.stretches import Stretch, stretches
from shorthaul.tensor.tuning import VISITS_PER_EFFORT, WINDOW_EFFORT, WINDOW_OPERATORS

#: The share of a window's effort in which its columns are generated.
_GENERATING: Final = 0.6
#: Rounds without a better plan, each cut at other places, after which the search ends.
_ROUNDS: Final = 3


def solve_windows(schedules: Schedules, best: Solution, search: Search) -> Solution:
    """Return ``best`` or a better solution: all of it is fixed but for a window, over and over.

    Windows cover the sequence, round after round, cut at other places each time. Of windows that are alike, as blocks
    repeat, one is solved.
    """
    problem = schedules.problem
    random = Random(search.seed)
    solved: dict[tuple[Problem, Sequence], Sequence | None] = {}
    idle = 0
    while idle < _ROUNDS and not search.expired():
        idle += 1
        plan = schedules.plan(best.sequence)
        first = random.randint(1, WINDOW_OPERATORS)
        # From the end: places before a window stay what they are.
        for window in stretches(problem, best.sequence, plan, WINDOW_OPERATORS, first):
            if search.expired():
                break
            before = window.problem, window.own(best.sequence)
            if before not in solved:
                solved[before] = _solved(window, plan, schedules, search.within(WINDOW_EFFORT).aside())
            groups = solved[before]
            if groups is None or groups == before[1]:
                continue
            work = schedules.work
            found = schedules.solution(window.into(best.sequence, groups))
            search.spend(schedules.work - work + len(best.sequence) / VISITS_PER_EFFORT)
            if found is not None and found.latency < best.latency * (1 - 1e-12):
                best, idle = found, 0
                search.report(best=best.latency)
                search.keep(best.latency, partial(schedules.plan, best.sequence))
    return best


def _solved(window: Stretch, plan: Plan, schedules: Schedules, search: Search) -> Sequence | None:
    """Return groups for a window, as good as were found; None if there are none."""
    program = column_program(window.problem, schedules.rules, search, window.later)
    if program is None:
        return None
    own = window.plan(plan)
    program.solve(search.part(_GENERATING), plan=own, is_proof=False)
    if search.expired():
        return None
    # Imported where there is still time: the solver takes 0.3 s on an idle machine, and seconds on a busy one.
    from shorthaul.tensor.bounds.integer import chosen_groups

    latency = math.fsum(subgraph.latency for subgraph in own.subgraphs if subgraph.latency is not None)
    groups = chosen_groups(program, search, latency)
    return None if groups is None else tuple(groups)
