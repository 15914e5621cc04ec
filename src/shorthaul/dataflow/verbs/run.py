"""``run``: every point of a plan executed on arrays and compared with the network's direct evaluation."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Unpack

import numpy as np

from shorthaul.core.check import Violation
from shorthaul.core.document import read_bytes
from shorthaul.core.errors import InputError
from shorthaul.core.figure import Figure, Grid, Table
from shorthaul.core.files.arrays import Column, read_array
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result, Status
from shorthaul.core.search import Search, TaskSearchOptions
from shorthaul.core.verbs import asked, expect, verb
from shorthaul.dataflow.check.replay import check_front
from shorthaul.dataflow.execution import sobel_filter
from shorthaul.dataflow.execution.cores import run_on_cores
from shorthaul.dataflow.execution.functions import Functions, PythonFunctions, load_functions
from shorthaul.dataflow.execution.machine import Frame, Function, direct, execute, stand_in_functions
from shorthaul.dataflow.formats.documents import RESULT_KIND
from shorthaul.dataflow.loading import naming, prepared
from shorthaul.dataflow.mapping.binding import mapped_point
from shorthaul.dataflow.model import Application, Platform
from shorthaul.dataflow.options import PlanOptions, RunOptions
from shorthaul.dataflow.plan import ExecutedPoint, Plan, Point, RunExtra
from shorthaul.dataflow.verbs.inputs import APPLICATIONS, PLANS, PlanLike, Workload
from shorthaul.dataflow.verbs.planning import plan as find_plan

if TYPE_CHECKING:
    from shorthaul.dataflow.verbs.keywords import RunKeywords

_PICTURE_SIZE = 100


@verb(
    RunOptions,
    APPLICATIONS,
    PLANS,
    searching=TaskSearchOptions,
    plan="The plan to execute, a result that holds one, or the path of a file; None: explore some points.",
    platform="The platform, or the path of its document (default: the case's, else 24 cores).",
    functions="Functions of yours by name (fire_ACTOR, initial), or the path of a Python file or a shared library.",
)
def run(
    workload: Workload,
    plan: PlanLike | None = None,
    *,
    platform: Platform | str | PathLike[str] | None = None,
    functions: Mapping[str, object] | str | PathLike[str] | None = None,
    **keywords: Unpack[RunKeywords],
) -> Result[Plan, RunExtra]:
    """Execute the points of a plan (explored here without one) and compare every frame with the direct evaluation.

    The Sobel application filters images; other actors compute a fixed nonlinear function of what they read. The
    document's ``run`` says per point how many frames were made (with functions: tokens written, read and returned),
    whether all are identical, and how full each buffer was. A plan that its check rejects is not executed.

    With ``functions`` every core is a process that fires its actors in the order of the plan, and waits for tokens and
    places. ``fire_ACTOR(firing, token, ...)`` takes a token of every channel that the actor reads (a list where the
    rate is not 1) and returns what it writes, for several channels a tuple; ``initial(channel, token)`` makes initial
    tokens. Every token on every channel is compared with those of all actors in turn.

    Returns
    -------
    Result[Plan, RunExtra]
        The replay of the points, and in ``extra["run"]`` what each computed.

    Raises
    ------
    InputError
        If an input is wrong, or a point does not run.
    NoPlanError
        If functions of yours are still at work when the search ends.

    Examples
    --------
    >>> from shorthaul.dataflow.workloads.generators import sobel
    >>> all(row["identical"] for row in run(sobel(), generations=2, iterations=4).extra["run"])
    True
    """
    given, options, search, source = asked(workload, APPLICATIONS, RunOptions, keywords)
    _, application, machine, search = prepared(
        given, expect(platform, Platform, "platform"), options.platform, search, source
    )
    yours = _yours(functions, options, given.application, application)
    drawn = None if yours is not None else _actors(application, options)
    points = plan.front if isinstance(plan, Plan) else _points(application, machine, options, search)
    if options.point is not None:
        if options.point >= len(points):
            allowed = f"0 to {len(points) - 1}"
            raise InputError("has no such point", place="point", value=options.point, allowed=allowed)
        points = points[options.point : options.point + 1]
    report = check_front(application, machine, points)
    rows: list[ExecutedPoint] = []
    picture: Frame | None = None
    for point in points if report.ok else ():
        if drawn is not None:
            row, picture = _executed(application, machine, point, *drawn, options.iterations)
        else:
            assert yours is not None
            row, differences = _on_cores(application, machine, point, yours, options.iterations, search)
            report = dataclasses.replace(report, violations=(*report.violations, *differences))
        rows.append(row)
    return Result(
        RESULT_KIND,
        Status.FEASIBLE if report.ok else Status.INVALID,
        cost=report.cost,
        check=report,
        plan=Plan(tuple(points)),
        provenance=provenance("dataflow run", options=options, source=source, search=search),
        extra={"run": rows},
        figures=_figures(rows, picture),
    )


def _yours(functions: object, options: RunOptions, application: Application, marked: Application) -> Functions | None:
    if functions is None and options.functions is None:
        return None
    if options.images is not None:
        raise InputError("cannot be combined with --functions", place="--images", cure="give one of them")
    if functions is None:
        assert options.functions is not None
        return load_functions(options.functions, application, marked)
    named: Mapping[str, object] | None = expect(functions, Mapping, "functions")  # type: ignore[type-abstract]
    assert named is not None
    return PythonFunctions(named, application, marked)


def _on_cores(
    application: Application, machine: Platform, point: Point, functions: Functions, iterations: int, search: Search
) -> tuple[ExecutedPoint, tuple[Violation, ...]]:
    with search:
        done = run_on_cores(
            mapped_point(application, machine, point), point, functions, iterations=iterations, search=search
        )
    row = _row(point, done.tokens, done.fullest, identical=not done.differences)
    row |= {
        "iteration_s": done.seconds / iterations,
        "in_turn_s": done.in_turn_s / iterations,
        "planned_s": point.period / application.ticks_per_second,
    }
    return row, done.differences


def _points(application: Application, machine: Platform, options: RunOptions, search: Search) -> tuple[Point, ...]:
    chosen = PlanOptions(generations=options.generations, population=20, polish_effort=0)
    # the exploration must not end with an interrupt handler of its own: it shares this search
    found = find_plan(application, options=chosen, platform=machine, search=search).plan
    assert found is not None
    return found.front


def _actors(application: Application, options: RunOptions) -> tuple[Mapping[str, Function], Frame]:
    """The functions of the actors, and the frame of every initial token."""
    if not sobel_filter.fits([actor.id for actor in application.actors]):
        if options.images is not None:
            raise InputError("are for the Sobel application only", place="--images", value=str(options.images))
        return stand_in_functions(application), np.zeros(4)
    with naming(options.images):
        images = sobel_filter.drawn_images(options.iterations)
        if options.images is not None:
            images = np.asarray(read_array(read_bytes(options.images), Column("iufb", None)), dtype=np.float64)
        return sobel_filter.functions(images), np.zeros(images.shape[1:])


def _executed(
    application: Application,
    machine: Platform,
    point: Point,
    functions: Mapping[str, Function],
    initial: Frame,
    iterations: int,
) -> tuple[ExecutedPoint, Frame]:
    done = execute(application, machine, point, functions, iterations=iterations, initial=initial)
    expected = direct(application, point.xi, functions, iterations=iterations, initial=initial)
    identical = all(
        np.array_equal(a, b)
        for actor, frames in expected.items()
        for a, b in zip(frames, done.frames[actor], strict=True)
    )
    last = next(reversed(expected))
    return _row(point, sum(map(len, expected.values())), done.fullest, identical=identical), done.frames[last][-1]


def _row(point: Point, frames: int, fullest: Mapping[str, int], *, identical: bool) -> ExecutedPoint:
    return ExecutedPoint(period=point.period, footprint_bytes=point.footprint_bytes, core_cost=point.core_cost,
                        frames=frames, identical=identical, fullest=dict(fullest))  # fmt: skip


def _figures(rows: list[ExecutedPoint], picture: Frame | None) -> tuple[Figure, ...]:
    columns = ["period", "footprint_bytes", "core_cost", "frames", "identical"]
    columns += [name for name in ("iteration_s", "in_turn_s", "planned_s") if rows and name in rows[0]]
    shown = {True: "yes", False: "no"}
    body = tuple(tuple(shown.get(row[n], row[n]) if n == "identical" else row[n] for n in columns) for row in rows)  # type: ignore[literal-required]
    note = "identical: every frame equals the direct evaluation's; _s: seconds of an iteration"
    table = Table("Points executed", tuple(columns), body, note=note)
    if picture is None or picture.ndim != 2:
        return (table,)
    step = max(1, -(-max(picture.shape) // _PICTURE_SIZE))
    values = tuple(tuple(float(value) for value in line) for line in picture[::step, ::step])
    return table, Grid("The last frame that arrived", values, "edge strength")
