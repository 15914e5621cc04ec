"""``shorthaul affine``."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from shorthaul.affine.options import (
    BoundOptions,
    CdagOptions,
    CheckOptions,
    CodeOptions,
    PlanOptions,
    SweepOptions,
)
from shorthaul.cli.flags import (
    Answer,
    Listing,
    Output,
    SearchFlags,
    SweepSearchFlags,
    TaskPlanSearchFlags,
)
from shorthaul.cli.verbs import group, verb

if TYPE_CHECKING:
    from shorthaul.affine.model import Program
    from shorthaul.affine.plan import Plan
    from shorthaul.core.cases import Source
    from shorthaul.core.result import Result

app = group("Data-movement lower bounds for C loop nests, with their proof.")

Input = Annotated[
    str,
    typer.Argument(metavar="INPUT", help="A C or Python file with loops, a kernel such as gemm, or a sum 'ij,jk->ik'."),
]


@verb(app, "bound")
def bound(workload: Input, options: BoundOptions, search: TaskPlanSearchFlags, output: Answer) -> None:
    """Bound the loads of every schedule from below.

    The bound is a formula in the parameters and S; --proof says why.
    """
    source = _read(workload, options.function)
    from shorthaul.affine.verbs.answer import printed
    from shorthaul.affine.verbs.bound import bound as find
    from shorthaul.cli.output import finish

    result = find(source, options=options, search=search.search())
    text = printed(result, options.format, proof=options.proof)
    finish(result, output, details=lambda stream: print(text, file=stream))


@verb(app, "plan")
def plan(workload: Input, options: PlanOptions, search: TaskPlanSearchFlags, output: Output) -> None:
    """Find a tiled order that needs few loads at given sizes."""
    source = _read(workload, options.function)
    from shorthaul.affine.verbs import planning
    from shorthaul.cli.output import finish

    result = planning.plan(source, options=options, search=search.search())
    if result.plan is None and output.output is not None:
        from shorthaul.core.errors import InputError

        cure = "'shorthaul affine code' writes an order as C"
        raise InputError(result.extra["not_listed"], place="--output", value=str(output.output), cure=cure)
    finish(result, output, details=lambda stream: _print_orders(result, stream))


@verb(app, "check")
def check(
    workload: Input,
    options: CheckOptions,
    search: SearchFlags,
    output: Output,
    plan_file: Annotated[
        Path | None, typer.Argument(metavar="[PLAN]", help="A plan to replay; without one, the bound itself is tested.")
    ] = None,
) -> None:
    """Replay anybody's plan, or test a kernel by brute force.

    Without a plan, brute force tests the dependences of the kernel and its bound.
    """
    from shorthaul.cli.output import finish, refuse_output

    if plan_file is None:
        refuse_output(output, "comparisons")
    source = _read(workload, options.function)
    from shorthaul.affine.verbs import planning
    from shorthaul.report.text import print_table

    result = planning.check(source, plan_file, options=options, search=search.search())
    compared = [] if result.check is None else result.check.details.get("comparisons", [])
    columns = ("sizes", "how it is played", "bound", "loads")
    rows = [[item["sizes"], item["how"], item["bound"], item["loads"]] for item in compared]
    finish(result, output, details=(lambda stream: print_table(columns, rows, file=stream)) if rows else None)


@verb(app, "sweep")
def sweep(workload: Input, options: SweepOptions, search: SweepSearchFlags, output: Answer) -> None:
    """Compare fast-memory sizes: the bound and a tiled order.

    The operational intensities of both are told.
    """
    source = _read(workload, options.function)
    from shorthaul.affine.verbs.sweep import sweep as find
    from shorthaul.cli.output import finish
    from shorthaul.report.text import entries, print_table

    result = find(source, options=options, search=search.search())
    columns = {
        "S": "S",
        "bound": "bound on loads_words",
        "loads_words": "loads_words of the derived order",
        "bound_bytes": "bound on bytes",
        "loads_bytes": "bytes of the derived order",
        "bound_s": "bound on seconds",
        "loads_s": "seconds of the derived order",
        "bound_j": "bound on joules",
        "loads_j": "joules of the derived order",
        "oi_limit": f"operations per {options.unit.removesuffix('s')}, at most",
        "oi_reached": "reached",
        "peak_limit": "share of peak, at most",
        "peak_reached": "reached",
    }
    other = ("bound", "loads_words") if options.unit == "bytes" else ("bound_bytes", "loads_bytes")
    shown = [key for key in columns if key in result.extra["points"][0] and key not in other]
    rows = entries(result.extra["points"], shown)
    names = [columns[key] for key in shown]
    finish(result, output, details=lambda stream: print_table(names, rows, file=stream))


@verb(app, "cdag")
def cdag(
    workload: Input,
    options: CdagOptions,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the CDAG here, not to the terminal.")
    ] = None,
) -> None:
    """Write the computation DAG at given sizes, for pebble."""
    from shorthaul.cli.output import put_answer, text_file
    from shorthaul.core.document import json_text, save_json

    output = text_file(output, (".json",))
    source = _read(workload, options.function)
    from shorthaul.affine.verbs import planning

    document = planning.cdag(source, options=options)
    if output is None:
        sys.stdout.write(json_text(document))
    else:
        put_answer(output, partial(save_json, value=document))
        print(f"{len(document['nodes']):,} nodes, {len(document['edges']):,} edges -> {output}")


@verb(app, "code")
def code(
    workload: Input,
    options: CodeOptions,
    search: SearchFlags,
    output: Answer,
    c_file: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the C file here, not to the terminal.")
    ] = None,
) -> None:
    """Write a derived tiled order as C.

    Beside it stand the program as written, and a driver that compares them.
    """
    from shorthaul.cli.output import finish, text_file

    c_file = text_file(c_file, (".c", ".h"))
    source = _read(workload, options.function)
    from shorthaul.affine.verbs.coding import code as write
    from shorthaul.core.amounts import digits
    from shorthaul.core.files.outputs import put_bytes

    result = write(source, options=options, search=search.search())
    extra = result.extra
    if c_file is not None:
        is_there = put_bytes(c_file, extra["code"].encode()) == c_file
        loads, how = (
            extra["loads_words"],
            ("", " by replay") if extra["is_replayed"] else ("at most ", " by its formula"),
        )
        told = "" if loads is None else f", {how[0]}{digits(loads)} loads{how[1]}"
        if is_there:
            print(f"{len(extra['code'].splitlines()):,} lines of C -> {c_file}{told}", file=sys.stderr)
        for row in extra.get("levels", []):
            most = "" if row["loads_words"] is None else f"at most {digits(row['loads_words'])} loads, "
            print(f"S = {row['S']:,}: {most}bound {digits(row['bound'])}", file=sys.stderr)
        for remark in extra["remarks"]:
            print(f"note: {remark}", file=sys.stderr)
        finish(result, output)
    elif output.json:
        finish(result, output)
    else:
        sys.stdout.write(extra["code"])


@verb(app, "cases")
def cases(listing: Listing) -> None:
    """List the built-in kernels."""
    from shorthaul.affine.workloads.cases import CASES
    from shorthaul.cli.output import print_cases

    print_cases(CASES, listing)


def _read(workload: str, function: str | None) -> Source[Program]:
    """Return the program, before the engine is imported: a mistake in the file is answered at once."""
    from shorthaul.affine.workloads.cases import case

    return case(workload, function)


def _print_orders(result: Result[Plan, Any], stream: TextIO) -> None:
    if not result.extra:
        return
    from shorthaul.core.amounts import digits

    upper = result.extra["upper"]
    print(f"order: {result.extra['tiling']}", file=stream)
    before = result.extra["program_order_loads_words"]
    if before is not None:
        print(f"loads in program order: {before:,}", file=stream)
    if "not_listed" in result.extra:
        print(f"no list and no replay: {result.extra['not_listed']}", file=stream)
        print("loads are those of its formula, at most", file=stream)
        print("'shorthaul affine code' writes an order as C, and says where this one may load less", file=stream)
    elif upper is not None:
        replayed = upper["replayed_loads_words"]
        print(f"derived order: at most {digits(upper['value'])} by its formula, {replayed:,} replayed", file=stream)
    for row in result.extra.get("levels", []):
        print(f"S = {row['S']:,}: {digits(row['loads_words'])} loads, at least {digits(row['bound'])}", file=stream)
