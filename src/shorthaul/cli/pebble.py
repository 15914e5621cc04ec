"""``shorthaul pebble``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from shorthaul.cli.flags import Output, Search
from shorthaul.cli.verbs import verb
from shorthaul.pebble.options import BoundOptions, CheckOptions, PlanOptions

app = typer.Typer(no_args_is_help=True, help="Load / store schedules for computation DAGs on a small fast memory.")

Input = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        help="A CDAG file (JSON, HyperDAG, DOT, MatrixMarket) or a built-in case such as dwt:n=256,d=8.",
    ),
]


@verb(app, "plan")
def plan(workload: Input, options: PlanOptions, search: Search, output: Output) -> None:
    """Plan the loads, stores and computations of a CDAG within a fast memory."""
    from shorthaul.cli.output import finish
    from shorthaul.pebble import planning
    from shorthaul.pebble.formats import plan_document, save_plan

    source = planning.case(workload)
    cdag = source.workload
    result = planning.plan(cdag, options, search=search.budget(), source=source)
    document = None if result.plan is None else plan_document(result.plan, cdag)
    made = result.plan
    finish(
        result,
        output,
        plan_document=document,
        write_plan=None if made is None else lambda path: save_plan(path, made, cdag),
    )


@verb(app, "bound")
def bound(workload: Input, options: BoundOptions, search: Search, output: Output) -> None:
    """Bound the traffic of every schedule within a fast memory from below, with the proof."""
    from shorthaul.cli.output import finish
    from shorthaul.pebble import planning

    source = planning.case(workload)
    result = planning.bound(source.workload, options, search=search.budget(), source=source)
    if not output.json and result.bound is not None:
        print(result.bound.proof)
    finish(result, output)


@verb(app, "check")
def check(
    workload: Input,
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan: JSON, .npz, or a result document.")],
    options: CheckOptions,
    search: Search,
    output: Output,
) -> None:
    """Replay anybody's plan: every violation, the cost, the peak."""
    from shorthaul.cli.output import finish
    from shorthaul.pebble import planning
    from shorthaul.pebble.formats import load_plan, plan_document

    source = planning.case(workload)
    given = load_plan(plan_file, source.workload)
    result = planning.check(source.workload, given, options, search=search.budget(), source=source)
    finish(result, output, plan_document=plan_document(given, source.workload))


@verb(app, "cases")
def cases() -> None:
    """List the built-in CDAGs and their parameters."""
    from shorthaul.pebble.cases import CASES
    from shorthaul.report.text import print_table

    print_table(("case", "what it is"), [(case.usage(), case.summary) for case in CASES], file=sys.stdout)
