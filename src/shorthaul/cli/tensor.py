"""``shorthaul tensor``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TextIO

import typer

from shorthaul.cli.flags import (
    Answer,
    Listing,
    ModelOutput,
    SearchFlags,
    SweepSearchFlags,
    TaskPlanSearchFlags,
)
from shorthaul.cli.verbs import group, verb
from shorthaul.tensor.options import CheckOptions, PlanOptions, RuleOptions, RunOptions, SweepOptions

if TYPE_CHECKING:
    from shorthaul.core.cases import Source
    from shorthaul.core.result import Result
    from shorthaul.tensor.model import Problem
    from shorthaul.tensor.networks.model import Network
    from shorthaul.tensor.plan import Plan

app = group("Operator graphs scheduled on a scratchpad accelerator.")

Input = Annotated[
    str,
    typer.Argument(
        metavar="INPUT", help="An ONNX model, a problem file (the contest's JSON), or a case such as transformer-block."
    ),
]


def _load(text: str, options: RuleOptions, output: ModelOutput | None = None) -> Source[Problem | Network]:
    """Return the problem that ``text`` names, before the search begins: its kind says how its plan may be written."""
    from shorthaul.core.files.outputs import expect_writable
    from shorthaul.tensor.model import Problem
    from shorthaul.tensor.verbs.inputs import PROBLEMS

    source = PROBLEMS.source(text, options)
    if output is not None and output.output is not None:
        other = ".onnx" if isinstance(source.workload, Problem) else ".npz"
        expect_writable(output.output, [form for form in output.forms if form != other])
    return source


@verb(app, "plan")
def plan(workload: Input, options: PlanOptions, search: TaskPlanSearchFlags, output: ModelOutput) -> None:
    """Schedule an operator graph in subgraphs and tiles.

    The plan also has traversal orders, and what stays in fast memory between subgraphs.
    """
    from shorthaul.cli.output import finish
    from shorthaul.tensor.verbs import planning

    result = planning.plan(_load(workload, options, output), options=options, search=search.search())
    finish(result, output, details=lambda stream: _print_groups(result, stream))


@verb(app, "bound")
def bound(workload: Input, options: RuleOptions, search: TaskPlanSearchFlags, output: Answer) -> None:
    """Bound the latency of every schedule from below, with a proof."""
    from shorthaul.cli.output import finish
    from shorthaul.tensor.verbs import planning

    result = planning.bound(_load(workload, options), options=options, search=search.search())
    proof = "" if result.bound is None else result.bound.proof
    finish(result, output, details=lambda stream: proof and print(proof, file=stream))


@verb(app, "check")
def check(
    workload: Input,
    options: CheckOptions,
    output: ModelOutput,
    plan_file: Annotated[
        Path | None,
        typer.Argument(metavar="[PLAN]", help="A plan file (the contest's JSON), or a result document with one."),
    ] = None,
) -> None:
    """Replay anybody's plan, or verify a bound, or both.

    It tells every violation, the latency of every subgraph, and the cost.
    """
    from shorthaul.cli.output import finish, refuse_output

    if plan_file is None:
        refuse_output(output, "bound")
    from shorthaul.tensor.verbs import planning

    result = planning.check(_load(workload, options, output), plan_file, options=options)

    def details(stream: TextIO) -> None:
        _print_groups(result, stream)
        if plan_file is not None and result.extra["rules"] != "network":
            _print_subgraphs(result, stream)

    finish(result, output, details=details)


@verb(app, "run")
def run(
    workload: Input,
    options: RunOptions,
    search: SearchFlags,
    output: ModelOutput,
    plan_file: Annotated[
        Path | None,
        typer.Argument(metavar="[PLAN]", help="A plan file, or a result document with one; without it one is made."),
    ] = None,
) -> None:
    """Execute a plan on arrays, or an ONNX model on its weights.

    The outputs are compared with a direct evaluation.
    """
    from shorthaul.cli.output import finish
    from shorthaul.report.text import print_table
    from shorthaul.tensor.verbs import planning

    result = planning.run(_load(workload, options, output), plan_file, options=options, search=search.search())
    done = result.extra["run"]
    told = {name: value for name, value in (done or {}).items() if name != "outputs"}

    def details(stream: TextIO) -> None:
        if told:
            print_table(tuple(told), [list(told.values())], file=stream, title="executed")

    finish(result, output, details=details)


@verb(app, "sweep")
def sweep(workload: Input, options: SweepOptions, search: SweepSearchFlags, output: Answer) -> None:
    """Compare capacities, or bandwidths: latencies and bounds."""
    from shorthaul.cli.output import finish
    from shorthaul.report.text import print_table
    from shorthaul.tensor.verbs import sweeping

    result = sweeping.sweep(_load(workload, options), options=options, search=search.search())
    latency: Literal["latency", "latency_s"] = "latency_s" if result.extra["rules"] == "network" else "latency"
    columns = (options.over, latency, "bound", "gap", "status")
    rows = [
        [
            point.get(options.over),
            point[latency],
            point["bound"],
            "-" if point["gap"] is None else f"{point['gap']:.2%}",
            point["status"],
        ]
        for point in result.extra["points"]
    ]
    finish(result, output, details=lambda stream: print_table(columns, rows, file=stream))


@verb(app, "cases")
def cases(listing: Listing) -> None:
    """List the built-in operator graphs and their parameters."""
    from shorthaul.cli.output import print_cases
    from shorthaul.tensor.workloads.cases import CASES

    print_cases(CASES, listing)


def _print_groups(result: Result[Plan], stream: TextIO) -> None:
    """Print the groups of a network, and what is to be said of its operators."""
    if result.extra.get("rules") != "network" or not result.figures:  # none where the search ran out of memory
        return
    from shorthaul.core.figure import Table
    from shorthaul.report.text import print_table

    table = result.figures[-1]
    assert isinstance(table, Table), "the last view"
    print_table(table.columns, table.rows, file=stream)
    for remark in () if result.check is None else result.check.remarks:
        print(f"note: {remark}", file=sys.stderr)


def _print_subgraphs(result: Result[Plan], stream: TextIO) -> None:
    from shorthaul.core.figure import Table
    from shorthaul.report.text import print_table

    table = result.figures[-1]
    assert isinstance(table, Table), "the last view"
    columns = ("subgraph", "operators", "w×h×k", "steps", "compute", "memory", "latency", "peak")
    place = [table.columns.index(column) for column in columns]
    claims = [subgraph.latency for subgraph in result.plan.subgraphs] if result.plan else []
    rows = [[*(row[index] for index in place), claim] for row, claim in zip(table.rows, claims, strict=True)]
    print_table((*columns, "claimed"), rows, file=stream)
