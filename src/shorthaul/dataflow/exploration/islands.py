"""Polishing on several processes: each goes on from what all of them know, and they tell one another in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from shorthaul.core.search import Search
from shorthaul.core.searching.tasks import run_tasks
from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.constraints import Constraints
from shorthaul.dataflow.exploration.candidates import Knowledge
from shorthaul.dataflow.exploration.enumeration import Enumeration
from shorthaul.dataflow.exploration.polishing import polish
from shorthaul.dataflow.mapping.arrays import Instance
from shorthaul.dataflow.options import PlanOptions
from shorthaul.dataflow.plan import Point


def polish_together(
    instance: Instance,
    points: Sequence[Point],
    options: PlanOptions,
    search: Search,
    constraints: Constraints,
    keep: Callable[[Sequence[Point]], None],
) -> tuple[list[Point], bool]:
    """Return the points and better ones within the constraints, until the search is used up; True if there are no more.

    The number of islands does not depend on how many run at once. Small searches are of one. Small spaces of mappings
    are enumerated to the end, as soon as a share of the search is enough for that.
    """
    known, every = Knowledge(list(points)), Enumeration(instance, options, constraints)
    every.run(known, _enumerating(search))
    if search.left() < tuning.LEAST_ISLAND_EFFORT * tuning.ISLANDS and not every.is_complete:
        polish(instance, known, options, search, constraints, keep)
    effort, meeting = min(search.left() / tuning.MEETINGS, tuning.MOST_MEETING_EFFORT), 0
    while not (known.is_over or every.is_complete or search.expired()):
        tasks = [
            (instance, _share(known, number), options, constraints, meeting * tuning.ISLANDS + number)
            for number in range(tuning.ISLANDS)
        ]
        part = search.within(min(effort, search.left()))
        answers = dict(run_tasks(_polished, tasks, search=part))
        known = _together([answers[number] for number in sorted(answers)])
        every.run(known, _enumerating(search))
        keep([point for point in known.points if constraints.allow(point)])
        meeting += 1
    return known.points, every.is_complete


def _enumerating(search: Search) -> Search:
    """Return the part of the search for enumerating mappings."""
    share, least, most = tuning.ENUMERATION
    return search.within(max(share * search.left(), least if least <= most * search.left() else 0.0))


def _polished(task: tuple[Instance, Knowledge, PlanOptions, Constraints, int], search: Search) -> Knowledge:
    instance, known, options, constraints, number = task
    search.seed += number
    polish(instance, known, options, search, constraints)
    return known


def _share(known: Knowledge, number: int) -> Knowledge:
    """Return what an island starts from: all that is known, and its share of the mappings that wait."""
    own = dict(list(known.waiting.items())[number :: tuning.ISLANDS])
    return replace(
        known,
        best=tuple(dict(best) for best in known.best),
        waiting=own,
        seen=known.seen | known.waiting.keys(),
        solves=known.solves.copy(),
        gains=dict(known.gains),
        anneals=known.anneals.copy(),
    )


def _together(islands: Sequence[Knowledge]) -> Knowledge:
    """Return what all islands know."""
    known = Knowledge([], turns=max(one.turns for one in islands), is_over=all(one.is_over for one in islands))
    for one in islands:
        for point in one.points:
            known.add(point)
        for best in one.best:
            for candidate in best.values():
                known.note(candidate)
        known.waiting |= one.waiting
        known.seen |= one.seen
        known.solves |= one.solves
        known.anneals |= one.anneals
        for price, rate in one.gains.items():
            known.gains[price] = max(rate, known.gains.get(price, rate))
    known.seen -= known.waiting.keys()
    return known
