"""Simulated annealing over sequences of groups."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from random import Random
from typing import NamedTuple

from shorthaul.core.search import Search
from shorthaul.tensor.plan import Plan
from shorthaul.tensor.search.groups import Groups
from shorthaul.tensor.search.moves import neighbour
from shorthaul.tensor.search.sequence import Evaluation, Sequence, evaluate, plan_of, steps_of
from shorthaul.tensor.tuning import PATIENCE, VISITS_PER_EFFORT, VISITS_PER_MOVE


class Solution(NamedTuple):
    """A sequence of groups and its best plan."""

    sequence: Sequence
    evaluation: Evaluation

    @property
    def latency(self) -> float:
        """The latency of the plan."""
        return self.evaluation.latency

    def plan(self, groups: Groups) -> Plan:
        """Return the plan."""
        return plan_of(groups, steps_of(groups, self.sequence, self.evaluation))


def solution(groups: Groups, sequence: Sequence) -> Solution | None:
    """Return a sequence with its best plan, None if it has none."""
    found = evaluate(groups, sequence)
    return None if found is None else Solution(sequence, found)


def anneal(
    groups: Groups,
    start: Solution,
    random: Random,
    search: Search,
    *,
    hottest: float,
    coldest: float,
    is_done: Callable[[float], bool],
) -> Solution:
    """Return the best solution of an annealing that takes all of ``search``, which has a limit.

    The temperature falls geometrically from ``hottest`` to ``coldest``, both as fractions of the start's latency, as
    the effort is spent; ``is_done``, asked before every move with the best latency, ends it early, and so do
    ``PATIENCE`` moves that lead to nothing new.
    """
    current = best = start
    ratio = coldest / hottest
    whole = search.left()
    moves, known = 0, groups.tried
    while moves < PATIENCE and not is_done(best.latency) and (left := search.left()) > 0:
        moves, known = (moves + 1, known) if groups.tried == known else (0, groups.tried)
        work = groups.work
        changed = neighbour(groups, current.sequence, random)
        found = None if changed is None or changed == current.sequence else solution(groups, changed)
        search.spend(groups.work - work + (len(current.sequence) + VISITS_PER_MOVE) / VISITS_PER_EFFORT)
        if found is None:
            continue
        temperature = start.latency * hottest * ratio ** (1 - left / whole)
        if found.latency <= current.latency - temperature * math.log(1.0 - random.random()):
            current = found
            if found.latency < best.latency * (1 - 1e-12):
                best, moves = found, 0
                search.keep(best.latency, partial(best.plan, groups))
    return best
