"""``shorthaul pebble``."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from shorthaul.bridges.graph_files import GraphOptions
from shorthaul.cli.flags import (
    Answer,
    Listing,
    Output,
    SearchFlags,
    SweepSearchFlags,
    TaskPlanSearchFlags,
)
from shorthaul.cli.verbs import group, verb
from shorthaul.pebble.options import (
    FORMATS,
    BoundOptions,
    CheckOptions,
    CodeOptions,
    MemoryOptions,
    PlanOptions,
    RunOptions,
    SweepOptions,
)

if TYPE_CHECKING:
    from shorthaul.core.cases import Source
    from shorthaul.pebble.model import Cdag

app = group("Load / store schedules for any DAG on a small fast memory.")

Input = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        help="A CDAG (JSON, HyperDAG, DOT, MatrixMarket, GraphML, GML, edge list), a C file with --size, an ONNX "
        "model, or a case such as dwt:n=256,d=8.",
    ),
]


def _load(text: str, options: GraphOptions) -> Source[Cdag]:
    from shorthaul.bridges.graph_files import cdag_source

    return cdag_source(text, options)


@verb(app, "plan")
def plan(
    workload: Input, read: GraphOptions, options: PlanOptions, search: TaskPlanSearchFlags, output: Output
) -> None:
    """Plan loads, stores and computations within a fast memory."""
    from shorthaul.cli.output import finish
    from shorthaul.pebble.verbs import planning

    source = _load(workload, read)
    result = planning.plan(source, options=options, search=search.search())
    finish(result, output)


@verb(app, "memory")
def memory(
    workload: Input, read: GraphOptions, options: MemoryOptions, search: TaskPlanSearchFlags, output: Output
) -> None:
    """Find the least memory that moves inputs and outputs only.

    The SRAM for it is estimated.
    """
    from shorthaul.cli.output import finish
    from shorthaul.pebble.verbs import trade_off

    source = _load(workload, read)
    result = trade_off.memory(source, options=options, search=search.search())
    from shorthaul.report.text import entries, print_table

    columns = ("capacity_bits", "area_um2", "relative_leakage", "relative_read_energy")

    def details(stream: TextIO) -> None:
        if result.extra:  # none where memory left no room for more than the plan
            sram = result.extra["sram"]
            rows = entries(sram["estimates"], columns)
            print_table(columns, rows, file=stream, title=f"SRAM: {sram['source']}")

    finish(result, output, details=details)


@verb(app, "sweep")
def sweep(workload: Input, read: GraphOptions, options: SweepOptions, search: SweepSearchFlags, output: Answer) -> None:
    """Compare budgets: traffic, its bound, layer-by-layer plans."""
    from shorthaul.cli.output import finish
    from shorthaul.pebble.verbs import trade_off

    source = _load(workload, read)
    result = trade_off.sweep(source, options=options, search=search.search())
    from shorthaul.report.text import print_table

    points = result.extra["points"]
    taken = [name for name in ("traffic_bytes", "traffic_s", "traffic_j") if name in points[0]]
    rows = [
        (
            p["budget"],
            p.get("total", p["traffic"]),
            p["bound"]["value"],
            *(p.get(name) for name in taken),
            p["method"],
            p["status"],
            p.get("layer_by_layer"),
        )
        for p in points
    ]
    columns = ("budget", points[0]["bound"]["of"], "bound", *taken, "method", "status", "layer by layer")
    finish(result, output, details=lambda stream: print_table(columns, rows, file=stream))


@verb(app, "run")
def run(workload: Input, read: GraphOptions, options: RunOptions, search: SearchFlags, output: Output) -> None:
    """Execute a plan on numbers.

    They pass through the fast memory, and are compared with the direct result.
    """
    from shorthaul.cli.output import finish
    from shorthaul.pebble.verbs import planning

    source = _load(workload, read)
    result = planning.run(source, options=options, search=search.search())
    done = result.extra.get("run")

    def details(stream: TextIO) -> None:
        if done is not None:
            told = f"{done['kernel']}: {done['outputs']} outputs agree, largest relative error {done['error']:.2g}"
            print(told, file=stream)

    finish(result, output, details=details)


@verb(app, "bound")
def bound(
    workload: Input, read: GraphOptions, options: BoundOptions, search: TaskPlanSearchFlags, output: Answer
) -> None:
    """Bound the traffic of every schedule from below, with a proof.

    Graphs of up to 400 nodes are searched in one process, as every pass goes on from what earlier ones found.
    """
    from shorthaul.cli.output import finish
    from shorthaul.pebble.tuning import MOST_FOR_EXACT
    from shorthaul.pebble.verbs import planning

    source = _load(workload, read)
    if (search.workers or 1) > 1 and source.workload.n <= MOST_FOR_EXACT:
        print(f"--workers: one process is used, as the graph has at most {MOST_FOR_EXACT} nodes", file=sys.stderr)
    result = planning.bound(source, options=options, search=search.search())
    proof = "" if result.bound is None else result.bound.proof
    finish(result, output, details=lambda stream: proof and print(proof, file=stream))


@verb(app, "check")
def check(
    workload: Input,
    read: GraphOptions,
    options: CheckOptions,
    search: SearchFlags,
    output: Output,
    plan_file: Annotated[
        Path | None, typer.Argument(metavar="[PLAN]", help="A plan: JSON, .npz, or a result document.")
    ] = None,
) -> None:
    """Replay anybody's plan, or verify a bound, or both.

    It tells every violation, the cost, and the peak.
    """
    from shorthaul.cli.output import finish, refuse_output

    if plan_file is None:
        refuse_output(output, "bound")
    from shorthaul.pebble.verbs import planning

    source = _load(workload, read)
    result = planning.check(source, plan_file, options=options, search=search.search())
    finish(result, output)


@verb(app, "code")
def code(
    workload: Input,
    read: GraphOptions,
    options: CodeOptions,
    search: SearchFlags,
    output: Answer,
    target: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the text here, not to the terminal."),
    ] = None,
) -> None:
    """Write a plan as C for a scratchpad, or as its order.

    The C has explicit copies; the order has marks, as JSON, CSV or DOT.
    """
    from shorthaul.cli.output import finish, text_file
    from shorthaul.core.files.outputs import put_bytes
    from shorthaul.pebble.verbs.coding import code as write

    target = text_file(target, [f".{form}" for form in (FORMATS if options.format is None else [options.format])])
    form = options.format or ("" if target is None else target.suffix[1:].lower()) or "c"
    source = _load(workload, read)
    result = write(source, options=replace(options, format=form), search=search.search())
    text = result.extra.get("code")
    if target is not None and text is not None:
        if put_bytes(target, text.encode()) == target:
            print(f"{len(text.splitlines()):,} lines of {form} -> {target}", file=sys.stderr)
    elif text is not None and not output.json:
        sys.stdout.write(text)
        return
    finish(result, output)


@verb(app, "cases")
def cases(listing: Listing) -> None:
    """List the built-in CDAGs and their parameters."""
    from shorthaul.cli.output import print_cases
    from shorthaul.pebble.workloads.cases import CASES

    print_cases(CASES, listing)
