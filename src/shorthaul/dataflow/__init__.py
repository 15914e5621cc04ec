"""Streaming networks mapped to heterogeneous many-cores: multi-reader buffers, periodic schedules, Pareto fronts.

shorthaul.dataflow.plan(application, generations=500)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shorthaul.core.lazy import attach

if TYPE_CHECKING:
    from shorthaul.dataflow.formats.documents import load_application, load_points, save_plan, write_sdf3
    from shorthaul.dataflow.formats.platforms import load_platform
    from shorthaul.dataflow.graphs.expansion import marked_graph
    from shorthaul.dataflow.graphs.multi_reader_buffers import MultiReaderBuffer, substitute_mrbs
    from shorthaul.dataflow.graphs.union import together
    from shorthaul.dataflow.loading import case, cases
    from shorthaul.dataflow.model import (
        Actor,
        Application,
        Channel,
        Core,
        CoreType,
        Decisions,
        Platform,
        Problem,
        SdfActor,
        SdfChannel,
        SdfGraph,
        Tile,
    )
    from shorthaul.dataflow.options import (
        BoundOptions,
        BuffersOptions,
        CheckOptions,
        CodeOptions,
        PlanOptions,
        RunOptions,
        ScheduleOptions,
        SweepOptions,
        ThroughputOptions,
    )
    from shorthaul.dataflow.plan import PeriodicSchedule, Plan, Point, StoragePlan, StoragePoint
    from shorthaul.dataflow.verbs.analysing import buffers, throughput
    from shorthaul.dataflow.verbs.coding import code
    from shorthaul.dataflow.verbs.planning import bound, check, plan, schedule, sweep
    from shorthaul.dataflow.verbs.run import run
    from shorthaul.dataflow.workloads.generators import multicamera, platform24, sobel, sobel4

_NAMES = {
    "marked_graph": "shorthaul.dataflow.graphs.expansion",
    "together": "shorthaul.dataflow.graphs.union",
    **dict.fromkeys(("buffers", "throughput"), "shorthaul.dataflow.verbs.analysing"),
    "code": "shorthaul.dataflow.verbs.coding",
    "run": "shorthaul.dataflow.verbs.run",
    **dict.fromkeys(
        ("load_application", "load_points", "save_plan", "write_sdf3"), "shorthaul.dataflow.formats.documents"
    ),
    "load_platform": "shorthaul.dataflow.formats.platforms",
    **dict.fromkeys(("multicamera", "platform24", "sobel", "sobel4"), "shorthaul.dataflow.workloads.generators"),
    **dict.fromkeys(
        (
            "Actor",
            "Application",
            "Channel",
            "Core",
            "CoreType",
            "Decisions",
            "Platform",
            "Problem",
            "SdfActor",
            "SdfChannel",
            "SdfGraph",
            "Tile",
        ),
        "shorthaul.dataflow.model",
    ),
    **dict.fromkeys(("MultiReaderBuffer", "substitute_mrbs"), "shorthaul.dataflow.graphs.multi_reader_buffers"),
    **dict.fromkeys(
        (
            "BoundOptions",
            "BuffersOptions",
            "CheckOptions",
            "CodeOptions",
            "PlanOptions",
            "RunOptions",
            "ScheduleOptions",
            "SweepOptions",
            "ThroughputOptions",
        ),
        "shorthaul.dataflow.options",
    ),
    **dict.fromkeys(("PeriodicSchedule", "Plan", "Point", "StoragePlan", "StoragePoint"), "shorthaul.dataflow.plan"),
    **dict.fromkeys(("case", "cases"), "shorthaul.dataflow.loading"),
    **dict.fromkeys(("bound", "check", "plan", "schedule", "sweep"), "shorthaul.dataflow.verbs.planning"),
}

__all__ = [
    "Actor",
    "Application",
    "BoundOptions",
    "BuffersOptions",
    "Channel",
    "CheckOptions",
    "CodeOptions",
    "Core",
    "CoreType",
    "Decisions",
    "MultiReaderBuffer",
    "PeriodicSchedule",
    "Plan",
    "PlanOptions",
    "Platform",
    "Point",
    "Problem",
    "RunOptions",
    "ScheduleOptions",
    "SdfActor",
    "SdfChannel",
    "SdfGraph",
    "StoragePlan",
    "StoragePoint",
    "SweepOptions",
    "ThroughputOptions",
    "Tile",
    "bound",
    "buffers",
    "case",
    "cases",
    "check",
    "code",
    "load_application",
    "load_platform",
    "load_points",
    "marked_graph",
    "multicamera",
    "plan",
    "platform24",
    "run",
    "save_plan",
    "schedule",
    "sobel",
    "sobel4",
    "substitute_mrbs",
    "sweep",
    "throughput",
    "together",
    "write_sdf3",
]

__getattr__, __dir__ = attach(__name__, _NAMES)
