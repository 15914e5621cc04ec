"""``shorthaul dataflow``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from shorthaul.cli.flags import (
    Answer,
    DocumentOutput,
    Listing,
    PlanSearchFlags,
    SweepSearchFlags,
    TaskPlanSearchFlags,
    TaskSearchFlags,
)
from shorthaul.cli.verbs import group, verb
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

if TYPE_CHECKING:
    from shorthaul.core.cases import Source
    from shorthaul.core.result import Result, Rows


app = group("Streaming networks mapped to heterogeneous many-cores.")

Input = Annotated[
    str,
    typer.Argument(
        help="An application (JSON or SDF3 XML), a mapping that names one, or a built-in case such as sobel.",
        metavar="INPUT",
        show_default=False,
    ),
]


@verb(app, "plan")
def plan(workload: Input, options: PlanOptions, search: TaskPlanSearchFlags, output: DocumentOutput) -> None:
    """Explore mappings and schedules for a Pareto front.

    The front is of period, footprint and core cost.
    """
    from shorthaul.dataflow.verbs.planning import plan as find

    result = find(_case(workload), options=options, search=search.search())
    from shorthaul.dataflow.formats.schedules import front_table

    front = () if result.plan is None else result.plan.front
    bounds = result.extra.get("front_bound")  # none where the search ran out of memory
    columns, rows = front_table(front, bounds, percent=True)
    _finish(result, output, columns, rows, table=front_table(front, bounds))


@verb(app, "schedule")
def schedule(workload: Input, options: ScheduleOptions, search: PlanSearchFlags, output: DocumentOutput) -> None:
    """Schedule one mapping, and say what limits its period.

    The answer has the period, start times and capacities.
    """
    from shorthaul.dataflow.verbs.planning import schedule as find

    result = find(_case(workload), options=options, search=search.search())
    _finish(result, output)


@verb(app, "bound")
def bound(workload: Input, options: BoundOptions, search: TaskPlanSearchFlags, output: Answer) -> None:
    """Bound period, footprint, core cost and front from below.

    The bounds are of any mapping, or of the one given.
    """
    from shorthaul.dataflow.verbs.planning import bound as find

    result = find(_case(workload), options=options, search=search.search())
    curve = result.extra["front_bound"]["period_at_core_cost"] if "front_bound" in result.extra else []
    steps = [pair for pair, after in pairwise([*curve, (0, 0)]) if after[1] < pair[1]]
    _finish(result, output, ("core cost up to", "least period"), [(f"{cost:g}", least) for cost, least in steps])


@verb(app, "check")
def check(
    workload: Input,
    options: CheckOptions,
    output: DocumentOutput,
    plan_file: Annotated[
        Path | None, typer.Argument(help="A plan, a point, or a result document.", metavar="[PLAN]")
    ] = None,
) -> None:
    """Replay anybody's plan, or verify a bound, or both.

    Tokens pass through buffers; every resource is looked at modulo the period.
    """
    from shorthaul.cli.output import refuse_output

    if plan_file is None:
        refuse_output(output, "bound")
    from shorthaul.dataflow.verbs.planning import check as replay

    _finish(replay(_case(workload), plan_file, options=options), output)


@verb(app, "sweep")
def sweep(workload: Input, options: SweepOptions, search: SweepSearchFlags, output: DocumentOutput) -> None:
    """Compare strategies for multicasts over one or more seeds.

    These are replaced never, always or selectively.
    """
    from shorthaul.dataflow.verbs.planning import sweep as find

    result = find(_case(workload), options=options, search=search.search())
    rows = result.extra["runs"]
    _finish(result, output, tuple(rows[0]) if rows else (), [tuple(row.values()) for row in rows])


@verb(app, "run")
def run(workload: Input, options: RunOptions, search: TaskSearchFlags, output: DocumentOutput) -> None:
    """Execute a mapped network on arrays.

    They pass through its buffers, and are compared with the direct computation.
    """
    from shorthaul.dataflow.verbs.run import run as execute

    result = execute(_case(workload), options=options, search=search.search())
    table: Any = result.figures[0]
    _finish(result, output, table.columns, table.rows)


@verb(app, "code")
def code(
    workload: Input,
    plan_file: Annotated[Path, typer.Argument(help="A plan, a point, or a result document.", metavar="PLAN")],
    options: CodeOptions,
    output: Answer,
    folder: Annotated[
        Path, typer.Option("--output", "-o", help="Write the files into this folder.", show_default=False)
    ],
) -> None:
    """Write one point as C, with a thread per core.

    It has rings of the plan's capacities, functions of yours and a driver.
    """
    from shorthaul.cli.output import finish
    from shorthaul.core.document import write_text
    from shorthaul.core.errors import UnwritableError
    from shorthaul.core.files.outputs import put
    from shorthaul.dataflow.c_code.files import lacking
    from shorthaul.dataflow.verbs.coding import code as write

    result = write(_case(workload), plan_file, options=options)

    def write_files(folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UnwritableError(f"is no folder: {error.strerror}", file=folder, cure="name another") from None
        yours = folder / result.extra["yours"]
        kept = yours.exists()
        for name, text in result.extra["files"].items():
            if not kept or folder / name != yours:
                write_text(folder / name, text)
        print(f"{'kept' if kept else 'write your functions into'} {yours}; make -C {folder} check", file=sys.stderr)
        missing = lacking(result.extra["files"], yours.read_text(encoding="utf-8", errors="replace"))
        if missing:
            print(f"it lacks {', '.join(missing)}: write them, or move it away for stand-ins", file=sys.stderr)

    put(folder, write_files)
    finish(result, output)


@verb(app, "throughput")
def throughput(workload: Input, options: ThroughputOptions, output: DocumentOutput) -> None:
    """Find the least period of a multirate graph.

    It may use any number of cores; the cycle that limits it is told.
    """
    from shorthaul.dataflow.verbs.analysing import throughput as find

    _finish(find(_case(workload, graph=True), options=options), output)


@verb(app, "buffers")
def buffers(workload: Input, options: BuffersOptions, search: TaskPlanSearchFlags, output: DocumentOutput) -> None:
    """Find the least storage in buffers for every period.

    The capacity of each is told.
    """
    from shorthaul.dataflow.verbs.analysing import buffers as find

    result = find(_case(workload, graph=True), options=options, search=search.search())
    plan: Any = result.plan
    rows = [(p.size, p.period, p.limited_by["limited_by"]) for p in plan.front]
    _finish(result, output, (f"storage ({plan.unit})", "period", "limited by"), rows)


@verb(app, "cases")
def cases(listing: Listing) -> None:
    """List the built-in applications."""
    from shorthaul.cli.output import print_cases
    from shorthaul.dataflow.loading import cases as built_in

    print_cases(built_in(), listing)


def _case(text: str, *, graph: bool = False) -> Source[Any]:
    from shorthaul.dataflow.loading import case, graph_case

    return (graph_case if graph else case)(text)


def _finish(
    result: Result[Any], output: Answer, columns: Sequence[str] = (), rows: Sequence[Sequence[Any]] = (),
    table: Rows | None = None,
) -> NoReturn:  # fmt: skip
    """End a verb, with a table above the summary if it has rows; a file .csv after ``-o`` gets ``table``, if any."""
    from shorthaul.cli.output import finish
    from shorthaul.report.text import print_table

    finish(
        result, output, details=(lambda stream: print_table(columns, rows, file=stream)) if rows else None, table=table
    )
