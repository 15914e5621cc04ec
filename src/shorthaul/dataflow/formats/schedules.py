"""Periodic schedules of multirate graphs as JSON documents."""

from __future__ import annotations

from pathlib import Path

from shorthaul.core.document import convert, load_json, save_json
from shorthaul.core.errors import ABSENT, InputError
from shorthaul.dataflow.plan import PeriodicSchedule

SCHEDULE_KIND = "shorthaul-dataflow-periodic-schedule"


def load_schedule(path: Path) -> PeriodicSchedule:
    """Return the schedule in a file; raises :class:`InputError` naming file and place."""
    document = load_json(path)
    found = document.get("kind", ABSENT) if isinstance(document, dict) else ABSENT
    if found != SCHEDULE_KIND:
        raise InputError("is of another kind", file=path, place="kind", value=found, allowed=repr(SCHEDULE_KIND))
    return convert(
        {name: value for name, value in document.items() if name not in {"kind", "version"}},
        PeriodicSchedule,
        file=path,
    )


def save_schedule(path: Path, schedule: PeriodicSchedule) -> None:
    """Write the schedule, whole or not at all; raises :class:`InputError` if the file cannot be written."""
    save_json(path, {"kind": SCHEDULE_KIND, "version": 1, **schedule.document()}, indent=None)
