"""Better schedules for the points of a front: each mapping solved again by the exact decoder, with little work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shorthaul.core.search import Search
from shorthaul.dataflow.exploration.nsga2 import FloatArray, by_contribution
from shorthaul.dataflow.mapping.arrays import Instance
from shorthaul.dataflow.model import Decisions
from shorthaul.dataflow.modulo.solver import solve_mapping
from shorthaul.dataflow.options import PlanOptions
from shorthaul.dataflow.plan import Point

#: Nominal seconds of work per task of a network that every solve takes, however little is searched.
_TASK_S = 2e-4
#: Networks of more tasks are left as they are: one solve could outlast any time limit.
_MOST_TASKS = 1000
#: Least and most nominal seconds of search for one point.
_LEAST_S, _MOST_S = 0.01, 0.25


def polishable(instance: Instance) -> bool:
    """True if some mapping of the instance has few enough tasks, all multicasts replaced."""
    kept = instance.multicast_of < 0
    return int(kept.sum() + kept[instance.src].sum() + kept[instance.dst].sum()) <= _MOST_TASKS


def polished(
    instance: Instance, points: Sequence[Point], options: PlanOptions, search: Search, low: FloatArray,
    reference: FloatArray,
) -> list[Point]:  # fmt: skip
    """Return the points, and after them those that the exact decoder finds for the same mappings.

    ``options.polish_seconds`` counts all work, so that the same seed gives the same points. Where it does not suffice
    for all of them, those that contribute most hypervolume (between ``low`` and ``reference``) come first.
    """
    values = np.array([point.objectives for point in points], np.float64)
    left = options.polish_seconds
    found: list[Point] = []
    turns = by_contribution(values, low, reference)
    for turn, number in enumerate(turns):
        point = points[number]
        overhead = _TASK_S * (len(point.starts) + len(point.capacities))
        if len(point.starts) > _MOST_TASKS or left < overhead + _LEAST_S or search.expired():
            break
        share = min(_MOST_S, max(_LEAST_S, left / (len(turns) - turn) - overhead))
        decoding = replace(options, decoder="modulo", solver_seconds=share)
        mapping = Decisions(point.binding, point.xi, point.channel_decision)
        found.append(solve_mapping(instance, mapping, decoding, point, search).point)
        left -= overhead + share
    return [*points, *found]
