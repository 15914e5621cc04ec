"""The driver: explore, schedule, bound, check and sweep, each returning a result with its replay and its bounds."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, TypeVar, Unpack

import numpy as np

from shorthaul.core.amounts import Bound, Cost, gap
from shorthaul.core.check import CheckReport
from shorthaul.core.document import json_text
from shorthaul.core.errors import InputError
from shorthaul.core.files.outputs import put_bytes
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result, Status
from shorthaul.core.search import PlanSearchOptions, Search, SweepSearchOptions, TaskPlanSearchOptions
from shorthaul.core.searching.memory import room
from shorthaul.core.searching.tasks import run_tasks
from shorthaul.core.verbs import BOUNDS, asked, expect, verb
from shorthaul.dataflow import tuning, views
from shorthaul.dataflow.bounds.constraints import constrained, constrained_instance, constraints_of, refuse_infeasible
from shorthaul.dataflow.bounds.period import bounds_on_all, of_complete_front, period_bound
from shorthaul.dataflow.bounds.raising import raised, raised_beside, with_proofs
from shorthaul.dataflow.check.replay import check_front, check_point
from shorthaul.dataflow.exploration.decoders import Exact, MultiStart, decoder_for
from shorthaul.dataflow.exploration.front import by_worth, in_time
from shorthaul.dataflow.exploration.nsga2 import FloatArray, hypervolume, volumes
from shorthaul.dataflow.exploration.quickest import explored
from shorthaul.dataflow.formats.documents import RESULT_KIND
from shorthaul.dataflow.loading import mapping_of, naming, prepared, with_remarks
from shorthaul.dataflow.mapping.arrays import build, genes
from shorthaul.dataflow.mapping.binding import mapped_point
from shorthaul.dataflow.model import Application, Platform, Problem, check_mapping
from shorthaul.dataflow.options import (
    PICKS,
    STRATEGIES,
    BoundOptions,
    CheckOptions,
    PlanOptions,
    ScheduleOptions,
    SweepOptions,
)
from shorthaul.dataflow.plan import BoundExtra, ExploredRun, Plan, PlanExtra, Point, SweepExtra, undominated
from shorthaul.dataflow.verbs.certified import bound_of_journal, certified
from shorthaul.dataflow.verbs.inputs import (
    APPLICATIONS,
    PLANS,
    SCHEDULED,
    MappingLike,
    PlanLike,
    Workload,
    check_kept,
    check_scheduled,
    decisions_of,
)
from shorthaul.dataflow.verbs.prices import Passed, of_points, passed_in, priced

if TYPE_CHECKING:
    from shorthaul.dataflow.verbs.keywords import (
        BoundKeywords,
        CheckKeywords,
        PlanKeywords,
        ScheduleKeywords,
        SweepKeywords,
    )

#: What a point costs: its objectives, and its latency where there is one.
_COSTS = ("period", "footprint_bytes", "core_cost", "latency")
ItemT = TypeVar("ItemT")


@verb(
    PlanOptions,
    APPLICATIONS,
    PLANS,
    searching=TaskPlanSearchOptions,
    replay=check_kept,
    platform="The platform, or the path of its document (default: the case's, else 24 cores).",
)
def plan(
    workload: Workload, *, platform: Platform | str | PathLike[str] | None = None, **keywords: Unpack[PlanKeywords]
) -> Result[Plan, PlanExtra]:
    """Explore mappings and schedules; return the Pareto front of period, footprint and core cost.

    Every point has been replayed by the checker and carries the bound on its own period.

    Returns
    -------
    Result[Plan, PlanExtra]
        The points as plan, the least of each cost, and in ``extra`` bounds on the front.

    Raises
    ------
    InputError
        If the network, the platform or a keyword is wrong.
    InfeasibleError
        If no placement of the buffers fits.
    NoPlanError
        If nothing is found before the search ends.

    Examples
    --------
    >>> from shorthaul.dataflow.workloads.generators import sobel
    >>> result = plan(sobel(), generations=5, population=10)
    >>> min(point.core_cost for point in result.plan.front)
    0.5
    """
    given, options, search, source = asked(workload, APPLICATIONS, PlanOptions, keywords)
    problem, application, machine, search = prepared(
        given, expect(platform, Platform, "platform"), options.platform, search, source
    )
    constraints = constraints_of(application, machine, options, problem.deadline)
    instance = constrained_instance(build(application, machine), constraints)
    limited = constrained(application, machine, constraints)
    bounds = bounds_on_all(limited, machine, options.strategy)
    with search:
        bounds = refuse_infeasible(limited, machine, constraints, bounds, options, search)
        found = explored(problem, instance, options, search, bounds, constraints)
    state, ideal = found.state, bounds.ideal
    points = undominated(found.points)
    numbers = by_worth(_objectives(points), np.array(ideal), state)[: options.front]
    kept = {
        int(i): _bounded(application, machine, points[i]) for i in in_time(numbers, search, tuning.CHECK_OVER_BOUND)
    }
    is_complete = found.is_complete and len(kept) == len(points)
    if is_complete and constraints.max_footprint is None:
        bounds = of_complete_front(bounds, points, constraints.max_cost)
    elif not is_complete and room() >= tuning.RAISING_BYTES:
        bounds = raised_beside(limited, machine, options.strategy, bounds, points, search)
    front = tuple(kept[i][0] for i in sorted(kept))
    if options.pick is not None:
        first = PICKS.index(options.pick)
        front = (min(front, key=lambda point: (point.costs[first], point.costs)),)
    passed = [those for point, those in kept.values() if any(point is shown for shown in front)]
    report = with_remarks(check_front(application, machine, front), application, machine, [point.xi for point in front])
    least: list[float] = [min(point.objectives[k] for point in front) for k in range(3)]
    is_best = is_complete or (len(front) == 1 and tuple(least) == ideal)
    if front[0].latency is not None:
        least, is_best = [*least, min(point.costs[3] for point in front)], False
    return Result(
        RESULT_KIND,
        Status.OPTIMAL if is_best else Status.FEASIBLE,
        cost=priced(Cost(**dict(zip(_COSTS, least, strict=False))), application, machine, passed),
        check=report,
        plan=Plan(front, tuple(state.trace)),
        provenance=provenance("dataflow plan", options=options, source=source, search=search),
        extra={
            "front_bound": bounds.document(),
            "complete": is_complete,
            "hypervolume": volumes(_objectives(front), ideal, state),
            "generations": state.generation,
        },
        figures=(
            views.front_figure(front),
            views.hypervolume_figure({options.strategy: state.trace}),
            *views.figures_of_points(application, machine, front),
        ),
    )


@verb(
    ScheduleOptions,
    APPLICATIONS,
    SCHEDULED,
    searching=PlanSearchOptions,
    replay=check_scheduled,
    mapping="The mapping, a point, a plan or a result of which ``point`` is taken, or the path of one.",
    platform="The platform, or the path of its document (default: the case's, else 24 cores).",
)
def schedule(
    workload: Workload,
    mapping: MappingLike | None = None,
    *,
    platform: Platform | str | PathLike[str] | None = None,
    **keywords: Unpack[ScheduleKeywords],
) -> Result[Plan]:
    """Schedule one mapping; the result's plan holds one point, its bound says what limits the period.

    Returns
    -------
    Result[Plan]
        One point, its costs, and the bound on its period.

    Raises
    ------
    InputError
        If the network, the platform or the mapping is wrong.
    InfeasibleError
        If a buffer fits no memory.

    Examples
    --------
    >>> from shorthaul.dataflow.workloads.generators import figure7
    >>> schedule(figure7(), order="topological").cost["period"]
    10
    """
    given, options, search, source = asked(workload, APPLICATIONS, ScheduleOptions, keywords)
    problem, application, machine, search = prepared(
        given, expect(platform, Platform, "platform"), options.platform, search, source
    )
    decisions = mapping_of(problem, decisions_of(mapping, options.point), options.mapping, options.point)
    if decisions is None:
        raise InputError("no mapping is given", place="--mapping", cure="name a mapping document or a plan")
    with naming(options.mapping or (None if source is None else source.name)):
        check_mapping(application, machine, decisions)
    instance = build(application, machine)
    with search:
        decoder = decoder_for(instance, options, search=search)
        compact = options.start == "compact"
        if isinstance(decoder, Exact):
            solved = decoder.solve(decisions, compact)
            point, proven = solved.point, (solved.least if options.decoder == "modulo" else 1)
            method = solved.method
        else:
            one, proven, method = genes(instance, decisions, compact=compact), 1, ""
            point = decoder.point_of(one, 0, search) if isinstance(decoder, MultiStart) else decoder.point_of(one, 0)
        search.keep(point.period, point)
        resumed: Point | None = search.start()
        if resumed is not None and resumed.objectives < point.objectives:
            if resumed.channel_binding != point.channel_binding:
                proven = 1  # that was of the memories which the channels are in now
            point = resumed
    report = with_remarks(check_point(application, machine, point), application, machine, [point.xi])
    net = mapped_point(application, machine, point)
    bound = period_bound(net)
    if proven > bound.value:
        proof = f"there is no schedule of period {proven - 1}: {method}"
        bound = Bound("period", proven, "exact modulo scheduling", proof, {**bound.details, "simple": bound.document()})
    point = dataclasses.replace(point, bound=bound.document(), gap=gap(point.period, bound.value))
    if options.chrome_trace is not None:
        put_bytes(options.chrome_trace, json_text(views.chrome_trace(application, net, point), indent=None).encode())
    return Result(
        RESULT_KIND,
        Status.OPTIMAL if bound.is_met_by(point.period) else Status.FEASIBLE,
        cost=priced(Cost(**dict(zip(_COSTS, point.objectives, strict=False))), application, machine, [passed_in(net)]),
        bound=bound,
        check=report,
        plan=Plan((point,)),
        provenance=provenance("dataflow schedule", options=options, source=source, search=search),
        figures=views.point_figures(net, machine, point),
    )


@verb(
    BoundOptions,
    APPLICATIONS,
    PLANS,
    searching=TaskPlanSearchOptions,
    replay=bound_of_journal,
    keeps=BOUNDS,
    mapping="The mapping, a point, a plan or a result of which ``point`` is taken, or the path of one.",
    platform="The platform, or the path of its document (default: the case's, else 24 cores).",
)
def bound(
    workload: Workload,
    *,
    mapping: MappingLike | None = None,
    platform: Platform | str | PathLike[str] | None = None,
    **keywords: Unpack[BoundKeywords],
) -> Result[Plan, BoundExtra]:
    """Bound the period of every mapping (with bounds on footprint, core cost and the front), or of one mapping.

    With an effort or a time limit, the periods at core costs count whole actors on cores and whole buffers in memories.

    Returns
    -------
    Result[Plan, BoundExtra]
        The bound on the period; bounds on the other costs and the front in ``extra``.

    Raises
    ------
    InputError
        If the network, the platform or the mapping is wrong.

    Examples
    --------
    >>> from shorthaul.dataflow.workloads.generators import figure7
    >>> bound(figure7()).bound.method
    'resource load'
    """
    given, options, search, source = asked(workload, APPLICATIONS, BoundOptions, keywords)
    problem, application, machine, search = prepared(
        given, expect(platform, Platform, "platform"), options.platform, search, source
    )
    decisions = mapping_of(problem, decisions_of(mapping, 0), options.mapping, 0)
    extra: BoundExtra = {}
    if decisions is None:
        least = bounds_on_all(application, machine, options.strategy)
        resumed = [] if search.resumed is None else search.resumed["proofs"]
        with search:
            bounds = raised(application, machine, options.strategy, with_proofs(least, resumed), search)
        found, extra = bounds.period, {"front_bound": bounds.document()}
        figures = views.bound_figures(application, bounds.period.value, bounds.period_at_cost)
    else:
        with naming(options.mapping or (None if source is None else source.name)):
            check_mapping(application, machine, decisions)
        instance = build(application, machine)
        point = decoder_for(instance, ScheduleOptions(decoder="caps")).point_of(genes(instance, decisions), 0)
        net = mapped_point(application, machine, point)
        found = period_bound(net)
        extra = {"channel_binding": dict(point.channel_binding)}
        figures = views.mapping_bound_figures(application, net, found)
    return Result(
        RESULT_KIND,
        None,
        bound=found,
        provenance=provenance("dataflow bound", options=options, source=source, search=search),
        extra=extra,
        figures=figures,
    )


@verb(
    CheckOptions,
    APPLICATIONS,
    PLANS,
    searching=None,
    plan="A plan to replay, a result that holds one, or the path of a file; None: verify a bound alone.",
    platform="The platform, or the path of its document (default: the case's, else 24 cores).",
)
def check(
    workload: Workload,
    plan: PlanLike | None = None,
    *,
    platform: Platform | str | PathLike[str] | None = None,
    **keywords: Unpack[CheckKeywords],
) -> Result[Plan]:
    """Replay points; the status is ``invalid`` if one of them breaks a rule.

    ``bound`` names a result document, the proofs of whose least periods are verified, with a plan or without one.

    Returns
    -------
    Result[Plan]
        The violations, and the costs as the replay counts them.

    Raises
    ------
    InputError
        If the network, the platform or the plan cannot be read.

    Examples
    --------
    >>> from shorthaul.dataflow.workloads.generators import figure7
    >>> point = schedule(figure7(), order="topological").plan
    >>> check(figure7(), point).check.ok
    True
    """
    given, options, search, source = asked(workload, APPLICATIONS, CheckOptions, keywords)
    assert plan is None or isinstance(plan, Plan)
    if plan is None and options.bound is None:
        raise InputError("there is nothing to check", place="PLAN", cure="give a plan, a bound, or both")
    front = () if plan is None else plan.front
    _, application, machine, search = prepared(
        given, expect(platform, Platform, "platform"), options.platform, search, source
    )
    for number, point in enumerate(front):
        for name in point.xi:
            if name not in application.multicasts:
                raise InputError(
                    "names no multicast of the application", place=f"front[{number}].xi", value=name,
                    allowed=", ".join(application.multicasts) or "nothing: the application has none",
                )  # fmt: skip
    verified = CheckReport() if options.bound is None else certified(application, machine, str(options.bound))
    report = verified
    if plan is not None:
        report = check_front(application, machine, front)
        violations = (*report.violations, *verified.violations)
        report = dataclasses.replace(report, violations=violations, remarks=(*report.remarks, *verified.remarks))
    shown = plan is not None and report.ok
    return Result(
        RESULT_KIND,
        Status.INVALID if not report.ok else Status.FEASIBLE if plan is not None else None,
        cost=of_points(report.cost, application, machine, front if shown else ()),
        check=report,
        plan=None if plan is None else Plan(front),
        provenance=provenance("dataflow check", options=options, source=source, search=search),
        figures=(views.front_figure(front), *views.figures_of_points(application, machine, front)) if shown else (),
    )


@verb(
    SweepOptions,
    APPLICATIONS,
    PLANS,
    searching=SweepSearchOptions,
    points=tuple[tuple[Point, ...], tuple[float, ...]],
    platform="The platform, or the path of its document (default: the case's, else 24 cores).",
)
def sweep(
    workload: Workload, *, platform: Platform | str | PathLike[str] | None = None, **keywords: Unpack[SweepKeywords]
) -> Result[Plan, SweepExtra]:
    """Explore with every strategy and seed, runs spread over processes; compare their fronts by relative hypervolume.

    Objectives are scaled to 0 (best) and 1 (worst) over all compared fronts, the reference point is 1. The plan holds
    the union of the fronts.

    Returns
    -------
    Result[Plan, SweepExtra]
        The union of the fronts as plan, and in ``extra["runs"]`` what each exploration found.

    Raises
    ------
    InputError
        If the network, the platform or a keyword is wrong.

    Examples
    --------
    >>> from shorthaul.dataflow.workloads.generators import figure7
    >>> runs = sweep(figure7(), generations=1, population=4, seeds=1, workers=1).extra["runs"]
    >>> sorted({run["strategy"] for run in runs})
    ['mrb-always', 'mrb-explore', 'reference']
    """
    given, options, search, source = asked(workload, APPLICATIONS, SweepOptions, keywords)
    problem, application, machine, search = prepared(
        given, expect(platform, Platform, "platform"), options.platform, search, source
    )
    runs_of = [(strategy, search.seed + number) for strategy in STRATEGIES for number in range(options.seeds)]
    tasks = [(problem, *run, options) for run in runs_of]
    with search:
        answers = dict(run_tasks(_explore_once, tasks, search=search))
    runs = [(tasks[i][1], tasks[i][2], *answers[i]) for i in sorted(answers)]
    everything = _objectives([point for *_, front, _ in runs for point in front])
    low, high = everything.min(axis=0), everything.max(axis=0)
    rows: list[ExploredRun] = [
        {
            "strategy": strategy,
            "seed": seed,
            "points": len(front),
            "relative_hypervolume": hypervolume(_objectives(front), low, high),
            "period": min(p.period for p in front),
            "footprint_bytes": min(p.footprint_bytes for p in front),
            "core_cost": min(p.core_cost for p in front),
        }
        for strategy, seed, front, _ in runs
    ]
    union = undominated([point for *_, front, _ in runs for point in front])
    report = check_front(application, machine, union)
    groups = {point: strategy for strategy, _, front, _ in runs for point in map(id, front)}
    return Result(
        RESULT_KIND,
        Status.FEASIBLE,
        cost=of_points(report.cost, application, machine, union),
        check=report,
        plan=Plan(tuple(union)),
        provenance=provenance("dataflow sweep", options=options, source=source, search=search),
        extra={"runs": rows},
        figures=(
            views.front_figure(union, [groups[id(point)] for point in union]),
            views.hypervolume_figure({f"{strategy} {seed}": trace for strategy, seed, _, trace in runs}),
            *views.figures_of_points(application, machine, union),
        ),
    )


def _explore_once(
    task: tuple[Problem, str, int, SweepOptions], search: Search
) -> tuple[tuple[Point, ...], tuple[float, ...]]:
    """Explore once, and return the front and its hypervolume by generation."""
    problem, strategy, seed, options = task
    search.seed = seed
    chosen = PlanOptions(
        strategy=strategy,
        generations=options.generations,
        population=options.population,
        offspring=options.offspring,
        decoder=options.decoder,
    )
    done = plan(problem, options=chosen, search=search)
    assert done.plan is not None
    return done.plan.front, done.plan.hypervolume


def _bounded(application: Application, platform: Platform, point: Point) -> tuple[Point, Passed]:
    net = mapped_point(application, platform, point)
    found = period_bound(net)
    return dataclasses.replace(point, bound=found.document(), gap=gap(point.period, found.value)), passed_in(net)


def _objectives(points: Sequence[Point]) -> FloatArray:
    return np.array([point.objectives for point in points], np.float64)
