"""The front of one exploration: NSGA-II, then polishing, in the time and the effort there are."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from shorthaul.core.errors import InputError, NoPlanError
from shorthaul.core.search import Search
from shorthaul.core.searching.tasks import restarts, run_tasks
from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.constraints import Constraints, constrained_instance
from shorthaul.dataflow.bounds.period import FrontBound
from shorthaul.dataflow.exploration.decoders import MultiStart, decoder_for
from shorthaul.dataflow.exploration.islands import polish_together
from shorthaul.dataflow.exploration.kept import Explored, expect_fit
from shorthaul.dataflow.exploration.nsga2 import (
    FloatArray,
    GenotypeDecoder,
    IntArray,
    State,
    by_contribution,
    explore,
    hypervolume,
)
from shorthaul.dataflow.graphs.multi_reader_buffers import substitute_mrbs
from shorthaul.dataflow.loading import machine_of
from shorthaul.dataflow.mapping.arrays import Instance, build
from shorthaul.dataflow.mapping.groups import groups_of
from shorthaul.dataflow.model import Problem
from shorthaul.dataflow.options import PlanOptions
from shorthaul.dataflow.plan import Point

ItemT = TypeVar("ItemT")


@dataclass(frozen=True, slots=True)
class Found:
    """The last state of an exploration and its points with what polishing adds, those beyond limits too.

    ``is_complete`` if no others exist within the limits.
    """

    state: State
    points: list[Point]
    is_complete: bool = False


def explore_front(
    problem: Problem,
    instance: Instance,
    options: PlanOptions,
    search: Search,
    bounds: FrontBound,
    constraints: Constraints,
) -> Found:
    """Return the last state of the exploration, and its points with what polishing adds; :class:`NoPlanError` if none.

    Of a time limit, enough is kept back for what comes after the exploration.
    """
    low = np.array(bounds.ideal)
    tasks = len(instance.tau) + 2 * len(instance.src)
    resumed: Explored | None = search.start()

    def keep(state: State) -> None:
        random = np.random.default_rng()
        random.bit_generator.state = state.random.bit_generator.state
        search.keep(-state.trace[-1], Explored(replace(state, trace=[*state.trace], random=random)))

    threads, are_firings = search.workers if len(instance.tau) > 15 else 1, groups_of(instance).are_firings
    if are_firings and options.decoder == "caps":
        decoder: GenotypeDecoder = MultiStart(instance, options, threads=threads, orders=tuning.ORDERS_OF_FIRINGS)
    else:
        decoder = decoder_for(instance, options, threads=threads, search=search)
    polish_effort = options.polish_effort if options.decoder in {"caps", "multistart"} else 0.0
    if polish_effort is None and are_firings and tasks > tuning.MOST_POLISHED_TASKS:
        polish_effort = 0.0  # which moves single firings
    left, spent = search.left(), search.spent()
    reserve = min(tuning.POLISH_SHARE * left, math.inf if polish_effort is None else polish_effort)

    def keep_back(points: int) -> None:
        finishing_s = tuning.FINISH_S_PER_TASK * min(points, options.front) * tasks
        limit_s = search.time_limit or 0.0
        least_s, most_s = tuning.LEAST_FINISH_SHARE * limit_s, tuning.MOST_FINISH_SHARE * limit_s
        search.keep_back(min(max(finishing_s, least_s), most_s))

    state = explore(
        instance, decoder, options, search.part(1 - reserve / left if reserve < left < math.inf else 1.0),
        lower=bounds.ideal, resumed=None if resumed is None else expect_fit(resumed.state, instance), keep=keep,
        keep_back=keep_back,
    )  # fmt: skip
    archive = state.archive
    if not len(archive.objectives):
        raise _no_plan(problem, options)
    genotypes = archive.genotypes()
    numbers = by_worth(archive.objectives, low, state)[: options.front]
    points = [decoder.point_of(genotypes, int(i)) for i in in_time(numbers, search, tuning.FINISH_OVER_POINT)]
    decoder.close()  # a process without threads can be copied
    points += () if resumed is None else resumed.points
    if polish_effort is None and search.is_unlimited:
        times = next(times for most, times in tuning.POLISH_OVER_EXPLORING if tasks <= most)
        polish_effort = times * (search.spent() - spent)

    def keep_points(found: Sequence[Point]) -> None:
        if not found:
            return
        volume = hypervolume(np.array([point.objectives for point in found], np.float64), low, state.reference)
        search.keep(-volume, Explored(state, tuple(found)))

    is_complete = False
    if polish_effort != 0 and not search.expired():
        within = search if polish_effort is None else search.within(polish_effort)
        points, is_complete = polish_together(instance, points, options, within, constraints, keep_points)
    elif state.trace:  # else a first generation that was stopped, from which nothing goes on as if never stopped
        keep_points(points)
    search.keep_back(0.0)
    return Found(state, points, is_complete)


def explore_fronts(
    problem: Problem,
    instance: Instance,
    options: PlanOptions,
    search: Search,
    bounds: FrontBound,
    constraints: Constraints,
) -> Found:
    """Return the points of all restarts, and the state of the one that covers most."""
    count = restarts(search, options.restarts, is_threaded=True)
    if count == 1:
        return explore_front(problem, instance, options, search, bounds, constraints)
    tasks = [(problem, options, bounds, constraints, number, search.start()) for number in range(count)]

    def kept(told: Explored) -> Found | NoPlanError:
        (rest := search.aside()).begin()
        return _explored((problem, options, bounds, constraints, 0, told), rest)

    answers = run_tasks(_explored, tasks, search=search, kept=kept)
    found = [answer for _, answer in sorted(answers, key=lambda item: item[0])]
    explored = [answer for answer in found if not isinstance(answer, NoPlanError)]
    if not explored:
        raise next(answer for answer in found if isinstance(answer, NoPlanError))
    best = max(explored, key=lambda item: item.state.trace[-1] if item.state.trace else 0.0)
    points = [point for item in explored for point in item.points]
    return Found(best.state, points, any(item.is_complete for item in explored))


def _explored(
    task: tuple[Problem, PlanOptions, FrontBound, Constraints, int, Explored | None], search: Search
) -> Found | NoPlanError:
    problem, options, bounds, constraints, number, resumed = task
    search.seed += number
    search.resumed = resumed if number == 0 else None
    instance = constrained_instance(build(problem.application, machine_of(problem)), constraints)
    try:
        return explore_front(problem, instance, options, search, bounds, constraints)
    except NoPlanError as error:
        return error


def by_worth(points: FloatArray, low: FloatArray, state: State) -> IntArray:
    """Return the numbers of the points: those that add most volume first, or the cheapest where time is up."""
    if state.trace:
        return by_contribution(points, low, state.reference)
    return np.array(list(dict.fromkeys([*points.argmin(axis=0)[::-1].tolist(), *range(len(points))])))


def in_time(items: Iterable[ItemT], search: Search, later: float) -> Iterator[ItemT]:
    """Yield items while ``later`` times the time that they took is left before the deadline; at least one."""
    first = time.monotonic()
    for number, item in enumerate(items):
        now = time.monotonic()
        if number and now + later * (now - first) > search.deadline + tuning.GRACE_S:
            return
        yield item


def _no_plan(problem: Problem, options: PlanOptions) -> Exception:
    """Nothing could be decoded: say whether multicasts cannot be replaced together, or memory is short."""
    try:
        replaced = int(options.strategy != "reference")
        substitute_mrbs(problem.application, dict.fromkeys(problem.application.multicasts, replaced))
    except InputError as error:
        return error
    return NoPlanError("no mapping was found whose buffers fit the memories")
