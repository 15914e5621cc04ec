"""Why no point keeps to limits: how far the first of them is from enough, and bounds raised to say that none can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shorthaul.core.errors import NoPlanError, ShorthaulError
from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.constraints import (
    Constraints,
    constrained,
    exceeded,
    least_within,
    raised_within,
    refuse_infeasible,
)
from shorthaul.dataflow.bounds.period import FrontBound
from shorthaul.dataflow.exploration.enumeration import Enumeration, Points
from shorthaul.dataflow.mapping.arrays import Instance
from shorthaul.dataflow.options import PlanOptions
from shorthaul.dataflow.plan import Point


def refusal(
    instance: Instance, options: PlanOptions, constraints: Constraints, bounds: FrontBound, search: Search,
    points: Sequence[Point], *, all_known: bool,
) -> ShorthaulError:  # fmt: skip
    """Return why none of the points keeps to the limits: no other does where ``all_known``."""
    asked = [(place, *pair) for place, pair in enumerate(constraints.limits) if pair[1] is not None]
    place, flag, limit = asked[0]
    if constraints.deadline is not None:
        application, platform = constrained(instance.application, instance.platform, constraints), instance.platform
        bounds = raised_within(application, platform, constraints, bounds, options, search)
        if not all_known:
            refuse_infeasible(application, platform, constraints, bounds, options)
    if all_known and flag != "--max-cost":
        assert limit is not None
        low = int(limit) if place else max(int(limit), least_within(constraints, bounds) - 1)
        least, points = _least_needed(instance, options, constraints, search, points, place, low)
        whose = "".join(f" {other} {most:.15g}" for _, other, most in asked[1:])
        what = f"every mapping{' within' + whose if whose else ''} (all were tried; {_nearest(points, constraints)})"
        return exceeded(what, least, limit, flag)
    within = ", ".join(f"{other} {most:.15g}" for _, other, most in asked)
    return NoPlanError(f"no point was found within {within}; {_nearest(points, constraints)}")


def _nearest(points: Sequence[Point], constraints: Constraints) -> str:
    point = min(points, key=constraints.excess)
    costs = f"a period of {point.period}, {point.footprint_bytes} bytes and a core cost of {point.core_cost:g}"
    return f"the nearest has {costs}"


def _least_needed(
    instance: Instance, options: PlanOptions, constraints: Constraints, search: Search, points: Sequence[Point],
    place: int, low: int,
) -> tuple[int, list[Point]]:  # fmt: skip
    """Return the least of an objective within the limits of the others, as far as effort goes, and points.

    There is none up to ``low``: mappings are enumerated for a little more every time.
    """

    def within(most: int | None) -> Constraints:
        return replace(constraints, deadline=most) if place == 0 else replace(constraints, max_footprint=most)

    others, known, part, step = within(None), Points([*points]), search.within(tuning.ENUMERATION[1]), 1
    while not part.expired():
        best = min((int(one.objectives[place]) for one in known.points if others.allow(one)), default=None)
        if best is not None and best <= low + 1:
            return best, known.points
        high = low + 1 + step * low // 100
        high = high if best is None or best > high + step * low // 100 else best - 1
        every = Enumeration(instance, options, within(high))
        every.run(known, part)
        if not every.is_complete:
            break
        least = (int(one.objectives[place]) for one in known.points if others.allow(one))
        low, step = min(high, min(least, default=high + 1) - 1), 2 * step
    return low + 1, known.points
