"""Simulated annealing over sequences of groups."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

from shorthaul.tensor.groups import Groups
from shorthaul.tensor.moves import neighbour
from shorthaul.tensor.sequence import Sequence, Step, evaluate

Solution = tuple[float, Sequence, tuple[Step, ...]]


def solution(groups: Groups, sequence: Sequence) -> Solution | None:
    """Return a sequence with its latency and steps, None if it is no plan."""
    found = evaluate(groups, sequence)
    return None if found is None else (found[0], sequence, found[1])


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
    ``stop``, asked now and then with the best latency, ends it early.
    """
    current = best = start
    ratio = coldest / hottest
    for number in range(moves):
        if number % 16 == 0 and stop(best[0]):
            break
        changed = neighbour(groups, current[1], random)
        if changed is None or changed == current[1]:
            continue
        found = solution(groups, changed)
        if found is None:
            continue
        temperature = start[0] * hottest * ratio ** (number / moves)
        if found[0] <= current[0] - temperature * math.log(1.0 - random.random()):
            current = found
            if found[0] < best[0] * (1 - 1e-12):
                best = found
    return best
