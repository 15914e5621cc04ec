"""Lower bounds on the period at many core costs, in tasks: the highest cost, then stretches of the others.

What holds at a core cost holds at every lower one. So the highest cost comes first, and a stretch hands down what it
finds. What stretches found is put together at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from shorthaul.core.search import Search
from shorthaul.core.searching.tasks import run_tasks
from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.period import FrontBound
from shorthaul.dataflow.model import Application, Platform


@dataclass(frozen=True, slots=True)
class Stretch:
    """Core costs, the highest first, with lower bounds on the periods there."""

    application: Application
    platform: Platform
    strategy: str
    least: tuple[tuple[float, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Risen:
    """Bounds of a stretch: the least periods, and proofs of some."""

    least: Mapping[float, int]
    proofs: tuple[Any, ...] = ()


def in_stretches(
    function: Callable[[Stretch, Search], Risen],
    whole: Stretch,
    bounds: FrontBound,
    search: Search,
) -> tuple[tuple[tuple[float, int], ...], list[Any]]:
    """Return least periods per core cost, those of ``bounds`` raised by ``function``, and its proofs."""
    least = dict(sorted(bounds.period_at_cost, reverse=True))
    if not least:
        return bounds.period_at_cost, []
    whole = replace(whole, least=tuple(least.items()))
    first = function(replace(whole, least=whole.least[:1]), search.part(1 / len(least)))
    least, found = _raised(least, [first]), dict[int, Risen]()
    rest = [pair for pair in least.items() if pair[0] not in first.least]
    if rest and not search.expired():
        count = min(tuning.COST_STRETCHES, len(rest))
        edges = [len(rest) * at // count for at in range(count + 1)]
        tasks = [replace(whole, least=tuple(rest[low:high])) for low, high in pairwise(edges)]
        weights = [len(task.least) * count / len(rest) for task in tasks]
        found = dict(run_tasks(function, tasks, search=search, weights=weights))
    answers = [first, *(found[number] for number in sorted(found))]
    least = _raised(least, answers)
    return tuple((cost, least[cost]) for cost, _ in bounds.period_at_cost), [p for item in answers for p in item.proofs]


def _raised(least: Mapping[float, int], answers: Sequence[Risen]) -> dict[float, int]:
    """Return the bounds with what stretches found, the highest core cost first, each at least the one before."""
    most, found = 0, {}
    for cost, period in least.items():
        most = found[cost] = max(most, period, *(answer.least.get(cost, 0) for answer in answers))
    return found
