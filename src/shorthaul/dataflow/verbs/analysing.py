"""``throughput`` and ``buffers``: how often a multirate graph can fire, and what storage that takes, on any machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product
from typing import TYPE_CHECKING, Unpack

from shorthaul.core.amounts import Bound, Cost
from shorthaul.core.check import CheckReport
from shorthaul.core.errors import InfeasibleError, InputError, NoPlanError
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result, Status
from shorthaul.core.search import Search, TaskPlanSearchOptions
from shorthaul.core.searching.tasks import run_tasks
from shorthaul.core.verbs import KeptObjects, asked, verb
from shorthaul.dataflow import tuning
from shorthaul.dataflow.check.periodic import check_schedule, check_storage
from shorthaul.dataflow.formats.documents import RESULT_KIND
from shorthaul.dataflow.graphs.multirate import shown
from shorthaul.dataflow.graphs.periodic import Analysis, CriticalCycle, least_period, period_of
from shorthaul.dataflow.graphs.storage import (
    Demand,
    Distribution,
    Range,
    SharedBuffer,
    StorageFront,
    buffers_of,
    merged,
)
from shorthaul.dataflow.graphs.timing import bounded, timed
from shorthaul.dataflow.loading import naming
from shorthaul.dataflow.model import SdfGraph, untimed
from shorthaul.dataflow.options import BuffersOptions, ThroughputOptions
from shorthaul.dataflow.plan import BuffersExtra, PeriodicSchedule, StoragePlan, StoragePoint, ThroughputExtra
from shorthaul.dataflow.verbs.inputs import GRAPHS, SCHEDULES, STORAGE_PLANS, Graph
from shorthaul.dataflow.views import storage_figures, throughput_figures

if TYPE_CHECKING:
    from shorthaul.dataflow.verbs.keywords import BuffersKeywords, ThroughputKeywords

#: What a period of 0 means.
UNLIMITED = "nothing limits the period: firings of one actor overlap; --serial keeps them in turn"
#: What an empty table of capacities means.
UNSIZED = "nothing to size: the graph has no channels, and so no buffers"


@verb(ThroughputOptions, GRAPHS, SCHEDULES, searching=None)
def throughput(workload: Graph, **keywords: Unpack[ThroughputKeywords]) -> Result[PeriodicSchedule, ThroughputExtra]:
    """Return the least period of an iteration of a multirate graph on as many cores as it takes, with its schedule.

    The graph is not expanded. The bound names the cycle of actors that no schedule can go round faster.

    Returns
    -------
    Result[PeriodicSchedule, ThroughputExtra]
        The schedule as plan, its period as cost and bound.

    Raises
    ------
    InputError
        If the graph is inconsistent, deadlocks, or a keyword is wrong.

    Examples
    --------
    >>> from shorthaul.dataflow.model import SdfActor, SdfChannel
    >>> pair = (SdfActor("a", {"t": 2}), SdfActor("b", {"t": 3}))
    >>> graph = SdfGraph("pair", pair, (SdfChannel("c", "a", 2, "b", 3, 0, 1), SdfChannel("d", "b", 3, "a", 2, 5, 1)))
    >>> throughput(graph).extra["exact_period"]
    '10'
    """
    graph, options, search, source = asked(workload, GRAPHS, ThroughputOptions, keywords)
    with naming(source.name or None):
        analysed = timed(graph, options.core_type, serial=options.serial)
        if options.capacities:
            analysed = bounded(analysed, _capacities(graph))
        cycle, schedule = least_period(analysed, search)
    period = Fraction(schedule.period, schedule.denominator)
    report = check_schedule(analysed, schedule)
    remarks = (*report.remarks, *untimed(actor.times for actor in graph.actors), *(() if period else (UNLIMITED,)))
    report = replace(report, remarks=remarks)
    return Result(
        RESULT_KIND,
        Status.OPTIMAL,
        cost=Cost(period=float(period)),
        bound=period_bound_of(cycle),
        check=report,
        plan=schedule,
        provenance=provenance("dataflow throughput", options=options, source=source, search=search),
        extra={"exact_period": str(period), "iterations_per_tick": float(1 / period) if period else None},
        figures=throughput_figures(analysed, schedule, () if cycle is None else cycle.actors),
    )


def _stored(
    graph: SdfGraph, options: BuffersOptions
) -> tuple[SdfGraph, dict[str, tuple[str, ...]], tuple[SharedBuffer, ...]]:
    """Return the graph as it is stored, the channels of every buffer, and the buffers."""
    own: dict[str, tuple[str, ...]] = {channel.id: (channel.id,) for channel in graph.channels}
    kept, members = merged(graph) if options.shared else (graph, own)
    return kept, members, tuple(buffers_of(kept, members, in_bytes=options.unit == "bytes"))


def _of_journal(graph: SdfGraph, kept: list[dict[str, int]], options: BuffersOptions) -> CheckReport:
    """Refuse capacities out of range, count others; what these are good for is evaluated by the verb itself."""
    for capacities, one in product(kept, _stored(graph, options)[2]):
        if not one.least <= capacities.get(one.id, -1) < 2**53:
            raise InputError("holds capacities that are out of range", place=one.id, value=capacities.get(one.id))
    return CheckReport(cost=Cost(points=-len(kept)))


@verb(
    BuffersOptions,
    GRAPHS,
    STORAGE_PLANS,
    searching=TaskPlanSearchOptions,
    replay=_of_journal,
    keeps=KeptObjects(list[dict[str, int]]),
)
def buffers(workload: Graph, **keywords: Unpack[BuffersKeywords]) -> Result[StoragePlan, BuffersExtra]:
    """Find the exact front of storage against throughput: the least total size of all buffers for every period.

    A firing takes room when it starts and gives it back when it ends. Every point names the cycle that limits its
    period; the ``demands`` prove that nothing smaller is as fast.

    Returns
    -------
    Result[StoragePlan, BuffersExtra]
        The points by rising size, with the capacity of every buffer.

    Raises
    ------
    InputError
        If the graph is inconsistent, deadlocks, its throughput has no limit, or a keyword is wrong.
    InfeasibleError
        If no storage is enough for the deadline.
    NoPlanError
        If nothing is found before the search ends.

    Examples
    --------
    >>> from shorthaul.dataflow.model import SdfActor, SdfChannel
    >>> pair = (SdfActor("a", {"t": 2}), SdfActor("b", {"t": 3}))
    >>> graph = SdfGraph("pair", pair, (SdfChannel("c", "a", 2, "b", 3, 0, 1),))
    >>> [(point.size, point.period) for point in buffers(graph, serial=True).plan.front]
    [(4, '12'), (5, '10'), (6, '8'), (7, '7'), (8, '6')]
    """
    graph, options, search, source = asked(workload, GRAPHS, BuffersOptions, keywords)
    with naming(source.name or None):
        kept, members, rooms = _stored(graph, options)
        analysed = timed(kept, options.core_type, serial=options.serial)
        cycle = least_period(analysed, search)[0]
        _refuse_endless(cycle, options.deadline, is_serial=options.serial, is_sized=bool(rooms))
    deadline = None if options.deadline is None else Fraction(options.deadline)
    held = list[dict[str, int]]()
    part = search.part(1.0, unlimited=tuning.STORAGE_EFFORT)
    part = part.translated(lambda found: _joined(held, found), lambda start: _joined(held, start), joins=True)
    with search, naming(source.name or None):
        front = storage_front(analysed, rooms, period_of(cycle), part, deadline)
        front = _with_resumed(front, analysed, rooms, search, deadline)
        part.keep(0, [dict(one.capacities) for one in front.points])
    points = front.points
    if not points:
        raise NoPlanError(
            f"no capacities were found in time; they have a size of {front.least_size} {options.unit} or more"
        )
    reports = [check_storage(analysed, members, point.capacities, point.schedule) for point in points]
    violations = tuple(violation for report in reports for violation in report.violations)
    remarks: tuple[str, ...] = () if rooms else (UNSIZED,) if cycle is not None else (UNSIZED, UNLIMITED)
    remarks += untimed(actor.times for actor in graph.actors)
    limited = ((point, period_bound_of(point.cycle).document()) for point in points)
    front_points = (StoragePoint(p.size, str(p.period), p.capacities, by, p.schedule) for p, by in limited)
    plan = StoragePlan(options.unit, members, tuple(front_points))
    size = f"storage_{options.unit}"
    proof = "the demands: one of their buffers must have more room, or the period is theirs"
    return Result(
        RESULT_KIND,
        Status.OPTIMAL if front.is_whole else Status.FEASIBLE,
        cost=Cost(**{size: points[0].size}, period=float(min(point.period for point in points))),
        bound=None if deadline is None else Bound(size, front.least_size, "critical cycles", proof),
        check=CheckReport(violations, remarks=remarks),
        plan=plan,
        provenance=provenance("dataflow buffers", options=options, source=source, search=search),
        extra={
            "demands": [
                {"capacities": dict(d.most), "period": None if d.period is None else str(d.period)}
                for d in front.demands
            ],
            "complete": front.is_whole,
            "exact_below": None if front.is_whole else front.least_size,
        },
        figures=storage_figures(analysed, plan),
    )


@dataclass(frozen=True, slots=True)
class Front:
    """Points by rising size, the demands that prove them, and how far they are proven as of :class:`StorageFront`."""

    points: tuple[Distribution, ...]
    demands: tuple[Demand, ...]
    is_whole: bool
    least_size: int


@dataclass(frozen=True, slots=True)
class _Task:
    graph: SdfGraph
    buffers: tuple[SharedBuffer, ...]
    deadline: Fraction | None
    periods: Range = Range()


def _searched(task: _Task, search: Search) -> Front:
    front = StorageFront(task.graph, task.buffers, search, task.deadline, task.periods)
    points = list[Distribution]()
    for point in front.points():
        points.append(point)
        search.keep(-len(points), [dict(one.capacities) for one in points])
    return Front(tuple(points), tuple(front.demands[len(task.periods.demands) :]), front.is_whole, front.least_size)


def storage_front(
    graph: SdfGraph, buffers: Sequence[SharedBuffer], least: Fraction, search: Search, deadline: Fraction | None = None
) -> Front:
    """Return the front, or with a deadline the first point that keeps it; ``least`` is the period with all the room.

    What takes long is done in tasks: of the periods that are left, one stretch each. Every one gives points of the
    front, so that there are some of all periods where it cannot be found as a whole.
    """
    task = _Task(graph, tuple(buffers), deadline)
    if deadline is not None:
        return _searched(task, search)
    first = _searched(task, search.part(tuning.STORAGE_FIRST_SHARE).within(tuning.STORAGE_FIRST_EFFORT))
    if first.is_whole or search.expired():
        return first
    ends: list[Fraction | None] = [None]
    if first.points:
        slow, count = first.points[-1].period, tuning.STORAGE_RANGES
        ends = [slow + (least - slow) * number / count for number in range(count)]
    tasks = [replace(task, periods=Range(*pair, first.demands)) for pair in pairwise([*ends, None])]
    found = dict(run_tasks(_searched, tasks, search=search))
    ranges = [found.get(number, replace(first, points=(), demands=())) for number in range(len(tasks))]
    points = _undominated([p for part in (first, *ranges) for p in part.points])
    demands = tuple(demand for part in (first, *ranges) for demand in part.demands)
    left = [part.least_size for part in ranges if not part.is_whole]
    return Front(points, demands, not left, min(left, default=ranges[-1].least_size))


def _joined(held: list[dict[str, int]], found: list[dict[str, int]]) -> list[dict[str, int]]:
    """Return what is held with what was found, which is held from now on."""
    held.extend(one for one in found if one not in held)
    return [*held]


def _undominated(found: list[Distribution]) -> tuple[Distribution, ...]:
    points = list[Distribution]()
    for point in sorted(found, key=lambda p: (p.size, p.period)):
        if not points or point.period < points[-1].period:
            points.append(point)
    return tuple(points)


def _with_resumed(
    front: Front, graph: SdfGraph, buffers: Sequence[SharedBuffer], search: Search, deadline: Fraction | None
) -> Front:
    """Return the front with the points of a journal, whose capacities are evaluated anew, if it is not whole."""
    if front.is_whole or search.start() is None:
        return front
    found, analysis = list(front.points), Analysis(graph)
    for capacities in search.start():
        rooms = [room for one in buffers for room in one.room(capacities[one.id])]
        cycle, schedule = analysis.evaluate(rooms, Search())
        if schedule is not None and (deadline is None or period_of(cycle) <= deadline):
            size = sum(one.weight * capacities[one.id] for one in buffers)
            found.append(Distribution(capacities, size, cycle, schedule))
    points = _undominated(found)
    return replace(front, points=points if deadline is None else points[:1])


def _refuse_endless(cycle: CriticalCycle | None, deadline: int | None, *, is_serial: bool, is_sized: bool) -> None:
    """Raise an error if more room always makes the graph faster, or never enough for the deadline."""
    if cycle is None and deadline is None and is_sized:
        limits = "some actor an execution time" if is_serial else "--serial, or channels of actors to themselves"
        raise InputError(
            "has no least period: only room in buffers limits it, so that the front never ends",
            place="graph", cure=f"give {limits}, or a --deadline",
        )  # fmt: skip
    if cycle is not None and deadline is not None and cycle.ratio > deadline:
        least = math.ceil(cycle.ratio)
        raise InfeasibleError(
            f"the period with any storage ({period_bound_of(cycle).proof})", demand=least, limit=deadline,
            place="--deadline", cure=f"allow {least} or more",
        )  # fmt: skip


def period_bound_of(cycle: CriticalCycle | None) -> Bound:
    """Return the bound that a critical cycle proves."""
    if cycle is None:
        return Bound("period", 0, "maximum cycle ratio", "no cycle with work limits the period", {"limited_by": None})
    actors = cycle.actors
    path = " -> ".join([*actors[:12], "..." if len(actors) > 12 else actors[0]])
    proof = (
        f"{cycle.firings} firings of {path} depend on one another through {shown(cycle.channels)}: they take"
        f" {cycle.ticks} ticks and come round after {cycle.iterations} iterations"
    )
    details = {
        "limited_by": path,
        "actors": [*actors],
        "channels": [*cycle.channels],
        "firings": cycle.firings,
        "ticks": cycle.ticks,
        "iterations": str(cycle.iterations),
    }
    return Bound("period", float(cycle.ratio), "maximum cycle ratio", proof, details)


def _capacities(graph: SdfGraph) -> dict[str, int]:
    """Return the capacities in the input; raises :class:`InputError` if none, or too small for the initial tokens."""
    found = {channel.id: channel.capacity for channel in graph.channels if channel.capacity is not None}
    if not found:
        raise InputError(
            "no channel has a capacity", place="--capacities", allowed="bufferSize in SDF3, capacity in JSON",
            cure="add them, or leave the flag out",
        )  # fmt: skip
    for channel in graph.channels:
        if channel.tokens > found.get(channel.id, channel.tokens):
            raise InputError(
                "is less than the initial tokens", place=f"channel {channel.id}: capacity", value=found[channel.id],
                allowed=f"{channel.tokens} or more",
            )  # fmt: skip
    return found
