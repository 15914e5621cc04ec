"""Simulated annealing over sequences of groups."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from shorthaul.tensor.search.groups import Groups
from shorthaul.tensor.search.moves import neighbour
from shorthaul.tensor.search.sequence import Evaluation, Sequence, evaluate


class Solution(NamedTuple):
    """A sequence of groups and its best plan."""

    sequence: Sequence
    evaluation: Evaluation

    @property
    def latency(self) -> float:
        """The latency of the plan."""
        return self.evaluation.latency


def solution(groups: Groups, sequence: Sequence) -> Solution | None:
    """Return a sequence with its best plan, None if it has none."""
    found = evaluate(groups, sequence)
    return None if found is None else Solution(sequence, found)


def anneal(
    groups: Groups,
    start: Solution,
    random: Random,
    moves: int,
    *,
    hottest: float,
    coldest: float,
    stop: Callable[[float], bool],
) -> Solution:
    """Return the best solution of an annealing of ``moves`` moves.

    The temperature falls geometrically from ``hottest`` to ``coldest``, both as fractions of the start's latency;
    ``stop``, asked before every move with the best latency, ends it early.
    """
    current = best = start
    ratio = coldest / hottest
    for number in range(moves):
        if stop(best.latency):
            break
        changed = neighbour(groups, current.sequence, random)
        if changed is None or changed == current.sequence:
            continue
        found = solution(groups, changed)
        if found is None:
            continue
        temperature = start.latency * hottest * ratio ** (number / moves)
        if found.latency <= current.latency - temperature * math.log(1.0 - random.random()):
            current = found
            if found.latency < best.latency * (1 - 1e-12):
                best = found
    return best
