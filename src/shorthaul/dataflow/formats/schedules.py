"""Periodic schedules of multirate graphs as JSON documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from shorthaul.core.document import convert, load_json, save_json
from shorthaul.core.errors import ABSENT, InputError
from shorthaul.dataflow.plan import FrontBounds, PeriodicSchedule, Point, StoragePlan

SCHEDULE_KIND = "shorthaul-dataflow-periodic-schedule"


def load_schedule(path: Path) -> PeriodicSchedule:
    """Return the schedule in a file; raises :class:`InputError` naming file and place."""
    document = load_json(path)
    found = document.get("kind", ABSENT) if isinstance(document, dict) else ABSENT
    if found != SCHEDULE_KIND:
        raise InputError("is of another kind", file=path, place="kind", value=found, allowed=repr(SCHEDULE_KIND))
    return convert({k: v for k, v in document.items() if k not in {"kind", "version"}}, PeriodicSchedule, file=path)


def save_schedule(path: Path, schedule: PeriodicSchedule) -> None:
    """Write the schedule, whole or not at all; raises :class:`InputError` if the file cannot be written."""
    save_json(path, {"kind": SCHEDULE_KIND, "version": 1, **schedule.document()}, indent=None)


def schedule_table(schedule: PeriodicSchedule) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Return the columns, and a row per firing: its start in whole numbers of 1 / ``denominator`` ticks."""
    rows = [(name, k, at) for name, starts in schedule.starts.items() for k, at in enumerate(starts)]
    return ("actor", "firing", f"start_in_1/{schedule.denominator}_ticks"), rows


def starts_table(point: Point) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Return the columns, and a row per task: when it starts, in ticks."""
    return ("task", "start"), sorted(point.starts.items(), key=lambda item: item[1])


STORAGE_KIND = "shorthaul-dataflow-storage"


def load_storage(path: Path) -> StoragePlan:
    """Refuse: fronts of storage are written only. Raises :class:`InputError`."""
    raise InputError("is not read: fronts of storage are written only", file=path)


def save_storage(path: Path, plan: StoragePlan) -> None:
    """Write the front, whole or not at all; raises :class:`InputError` if the file cannot be written."""
    save_json(path, {"kind": STORAGE_KIND, "version": 1, **plan.document()}, indent=None)


def storage_table(plan: StoragePlan) -> tuple[list[str], list[list[Any]]]:
    """Return the columns and rows of a front of storage."""
    names = [*plan.buffers]
    return ["size", "period", *names], [[p.size, p.period, *(p.capacities[n] for n in names)] for p in plan.front]


def _least_period(bounds: FrontBounds, core_cost: float) -> float:
    """Return the bound on the period of every mapping of this core cost, or less."""
    steps = bounds["period_at_core_cost"]
    return next((least for cost, least in steps if cost >= core_cost), bounds["period"]["value"])


def front_table(
    front: Sequence[Point], bounds: FrontBounds | None, *, percent: bool = False
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Return the columns and a row per point.

    They are number, costs, the bound on the period of its mapping with the gap, the one on that of any mapping of its
    core cost (``front_bound``) with the gap, and how many cores it uses. Where latencies were asked for, they come
    last. Gaps are numbers, or with ``percent`` texts as printed. Without ``bounds`` the front has none.
    """
    timed = any(point.latency is not None for point in front)
    shown: Callable[[float], object] = (lambda gap: f"{gap:.2%}") if percent else (lambda gap: round(gap, 6))
    rows = []
    for number, point in enumerate(front):
        own = (None, None) if point.bound is None else (point.bound["value"], point.gap)
        least = None if bounds is None else _least_period(bounds, point.core_cost)
        of_front = None if least is None else point.period / least - 1
        gaps = [None if gap is None else shown(gap) for gap in (own[1], of_front)]
        cores = len(set(point.binding.values()))
        rows.append((number, *point.objectives, own[0], gaps[0], least, gaps[1], cores, *([point.latency] * timed)))
    columns = ("point", "period", "footprint_bytes", "core_cost", "bound", "gap", "front_bound", "front_gap", "cores")
    return (*columns, *(["latency"] * timed)), rows
