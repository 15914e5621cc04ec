"""What the verbs take as application and as plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from shorthaul.core.cases import Source, Workloads
from shorthaul.core.check import CheckReport
from shorthaul.core.errors import InputError
from shorthaul.core.result import Result
from shorthaul.core.verbs import Plans, expect
from shorthaul.dataflow.bounds.constraints import Constraints
from shorthaul.dataflow.check.replay import check_front
from shorthaul.dataflow.exploration.kept import Explored, pack, unpack
from shorthaul.dataflow.formats.documents import application_from, load_points, save_plan
from shorthaul.dataflow.formats.schedules import (
    front_table,
    load_schedule,
    load_storage,
    save_schedule,
    save_storage,
    schedule_table,
    starts_table,
    storage_table,
)
from shorthaul.dataflow.graphs.expansion import to_sdf
from shorthaul.dataflow.loading import GRAPH_CASES, load_graph, load_problem, mapping_of, prepared, several_from
from shorthaul.dataflow.model import Application, Decisions, Platform, Problem, SdfGraph
from shorthaul.dataflow.options import PlanOptions, ScheduleOptions
from shorthaul.dataflow.plan import PeriodicSchedule, Plan, Point, StoragePlan
from shorthaul.dataflow.workloads.cases import CASES

Workload: TypeAlias = Problem | Application | Source[Problem] | str | PathLike[str] | Mapping[str, object]
Graph: TypeAlias = SdfGraph | Problem | Application | Source[SdfGraph] | str | PathLike[str] | Mapping[str, object]
MappingLike: TypeAlias = Decisions | Point | Plan | Result[Plan] | str | PathLike[str]
PlanLike: TypeAlias = Plan | Sequence[Point] | Result[Plan] | str | PathLike[str]


def decisions_of(given: object, number: int) -> Decisions | None:
    """Return the mapping that ``given`` is or holds, of point ``number`` of a plan; raises :class:`InputError`."""
    found = given.plan if isinstance(given, Result) else given
    if isinstance(found, Plan):
        if number >= len(found.front):
            allowed = f"0 to {len(found.front) - 1}"
            raise InputError("has no such point", place="point", value=number, allowed=allowed)
        found = found.front[number]
    if isinstance(found, Point):
        return Decisions(found.binding, found.xi, found.channel_decision)
    return expect(found, Decisions, "mapping")


def _convert(workload: Any, _options: object) -> Problem | None:
    if isinstance(workload, Mapping) and "applications" in workload:
        return several_from(dict(workload), Path("document"))
    if isinstance(workload, Mapping):
        return Problem(application_from(dict(workload)))
    return Problem(workload) if isinstance(workload, Application) else None


class _Plans(Plans[Plan, Problem]):
    __slots__ = ()

    def read(self, given: object, workload: Problem, name: str = "plan") -> Plan:
        """Return the plan that ``given`` is, holds or names; points alone are one too."""
        if isinstance(given, list | tuple) and given and all(isinstance(point, Point) for point in given):
            return Plan(tuple(given))
        return super().read(given, workload, name)

    def packed(self, plan: Explored, workload: Problem) -> bytes:
        """Return an exploration as the bytes of a file."""
        del workload
        return pack(plan)

    def answered(self, kept: Explored, workload: Problem, options: PlanOptions) -> Plan | None:
        """Return the points that polishing has found within the limits; where latency is asked for, none has one."""
        if options.is_timed:
            return None
        limits = Constraints(options.deadline or workload.deadline, options.max_cost, options.max_footprint)
        points = tuple(point for point in kept.points if limits.allow(point))
        return Plan(points, tuple(kept.state.trace)) if points else None

    def unpacked(self, data: bytes, workload: Problem) -> Explored:
        """Return the exploration that a journal holds."""
        del workload
        return unpack(data)


class _Scheduled(_Plans):
    """Plans of one point: the search keeps that."""

    __slots__ = ()

    def packed(self, plan: Point, workload: Problem) -> bytes:  # type: ignore[override]
        """Return a point as the bytes of a file."""
        return Plans.packed(self, Plan((plan,)), workload)

    def answered(self, kept: Point, workload: Problem, options: Any) -> Plan:  # type: ignore[override]
        """Return the plan of a point."""
        del workload, options
        return Plan((kept,))

    def unpacked(self, data: bytes, workload: Problem) -> Point:  # type: ignore[override]
        """Return the point that a journal holds."""
        front: tuple[Point, ...] = Plans.unpacked(self, data, workload).front
        if len(front) != 1:
            raise InputError("holds no point")
        return front[0]


def _load_plan(path: Path, _problem: Problem) -> Plan:
    return Plan(load_points(path))


APPLICATIONS = Workloads(
    Problem,
    CASES,
    lambda path, data, options: load_problem(path, data),  # noqa: ARG005
    "an Application or a Problem, a built-in case, the path of an application (JSON or SDF3), or such text",
    _convert,
)
PLANS, SCHEDULED = (
    kind(
        Plan,
        _load_plan,
        lambda plan, problem: plan.document(),  # noqa: ARG005
        lambda path, plan, problem: save_plan(path, plan),  # noqa: ARG005
        table,
    )
    for kind, table in (
        (_Plans, lambda plan, problem: front_table(plan.front, None)),  # noqa: ARG005
        (_Scheduled, lambda plan, problem: starts_table(plan.front[0])),  # noqa: ARG005
    )
)


def _graph(workload: Any, options: object) -> SdfGraph | None:
    found = workload if isinstance(workload, Problem) else _convert(workload, options)
    return None if found is None else to_sdf(found.application)


GRAPHS = Workloads(
    SdfGraph,
    GRAPH_CASES,
    lambda path, data, options: load_graph(path, data),  # noqa: ARG005
    "an SdfGraph, an Application, a Problem, a built-in case, the path of an application (JSON or SDF3), or such text",
    _graph,
)


STORAGE_PLANS: Plans[StoragePlan, SdfGraph] = Plans(
    StoragePlan,
    lambda path, graph: load_storage(path),  # noqa: ARG005
    lambda plan, graph: plan.document(),  # noqa: ARG005
    lambda path, plan, graph: save_storage(path, plan),  # noqa: ARG005
    lambda plan, graph: storage_table(plan),  # noqa: ARG005
)
SCHEDULES: Plans[PeriodicSchedule, SdfGraph] = Plans(
    PeriodicSchedule,
    lambda path, graph: load_schedule(path),  # noqa: ARG005
    lambda schedule, graph: schedule.document(),  # noqa: ARG005
    lambda path, schedule, graph: save_schedule(path, schedule),  # noqa: ARG005
    lambda schedule, graph: schedule_table(schedule),  # noqa: ARG005
)


def check_kept(
    problem: Problem, kept: Explored | Plan, options: PlanOptions | ScheduleOptions, platform: Platform | None = None
) -> CheckReport:
    """Return the check of what was kept: a state with its points, or a plan."""
    application, machine = prepared(problem, platform, options.platform, None, None)[1:3]
    return check_front(application, machine, kept.front if isinstance(kept, Plan) else kept.points)


def check_scheduled(
    problem: Problem,
    kept: Point | Plan,
    options: ScheduleOptions,
    platform: Platform | None = None,
    mapping: MappingLike | None = None,
) -> CheckReport:
    """Return the check of the point that was kept; raises :class:`InputError` if it is of another mapping."""
    plan = kept if isinstance(kept, Plan) else Plan((kept,))
    point, whole = plan.front[0], prepared(problem, platform, options.platform, None, None)[0]
    asked = mapping_of(whole, decisions_of(mapping, options.point), options.mapping, options.point)
    if asked is not None and not (
        all(asked.binding.get(actor) == core for actor, core in point.binding.items())
        and all(asked.xi.get(name, 0) == point.xi.get(name, 0) for name in whole.application.multicasts)
        and all(
            point.channel_decision.get(name) in {decision, f"TILE-{decision}", "GLOBAL"}  # where there was no room
            for name in point.channel_binding
            for decision in (asked.channel_decision.get(name, "PROD"),)
        )
    ):
        raise InputError("holds a plan that breaks the rules: it is of another mapping")
    return check_kept(problem, plan, options, platform)
