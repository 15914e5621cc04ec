"""``shorthaul spatial``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from shorthaul.cli.flags import (
    Answer,
    Listing,
    Output,
    SearchFlags,
    SweepSearchFlags,
    TaskPlanSearchFlags,
    TaskSearchFlags,
)
from shorthaul.cli.output import finish, refuse_output
from shorthaul.cli.verbs import group, verb
from shorthaul.spatial.options import (
    BoundOptions,
    CheckOptions,
    LcaOptions,
    PlanOptions,
    SweepOptions,
    TreefixOptions,
    TreeOptions,
)

if TYPE_CHECKING:
    from shorthaul.core.cases import Source
    from shorthaul.core.result import Result
    from shorthaul.core.search import Search
    from shorthaul.spatial.model import Tree
    from shorthaul.spatial.plan import Layout, PlanExtra, RunExtra, VertexTable

app = group("Trees on a grid of processors, and algorithms that run there.")

TreeArgument = Annotated[
    str,
    typer.Argument(
        metavar="TREE",
        help="Newick, NEXUS, CSV, .npy, .npz, .json, .txt or .joblib file, or a built-in tree (yule:n=1024).",
    ),
]


def _load(text: str, options: TreeOptions, search: Search) -> Source[Tree]:
    from shorthaul.spatial.verbs.planning import case

    return case(text, forest=options.forest, search=search)


@verb(app, "plan")
def plan(
    tree: TreeArgument, read: TreeOptions, options: PlanOptions, flags: TaskPlanSearchFlags, output: Output
) -> None:
    """Lay a tree out on a grid so that neighbours are close."""
    search = flags.search()
    source = _load(tree, read, search)
    from shorthaul.spatial.verbs.planning import plan as make_plan

    result = make_plan(source, options=options, search=search)
    finish(result, output, details=(lambda stream: _print_plan(result, stream)) if result.extra else None)


def _print_plan(result: Result[Layout, PlanExtra], stream: TextIO) -> None:
    extra, bound = result.extra, None if result.bound is None else result.bound.value
    from shorthaul.report.text import entries, print_table

    of_edges: dict[str, Any] = {**(result.cost or {}), "energy_per_vertex": extra["energy_per_vertex"]}
    here = {"placement": "this layout", **of_edges}
    relayed = (
        [{"placement": "the same through the virtual tree", **extra["virtual_tree"]}] if "virtual_tree" in extra else []
    )
    columns = ("placement", "energy_hops", "bound", "energy_per_vertex", "distance_hops", "link_load")
    rows = [{"bound": bound, **row} for row in (here, *relayed, *extra["baselines"])]
    print_table(columns, entries(rows, columns), file=stream)
    if "machine" in extra:
        body = [[name, value] for name, value in extra["machine"].items()]
        print_table(("machine", "amount"), body, file=stream)
    if "creation" in extra:
        body = [[name, value] for name, value in extra["creation"].items()]
        print_table(("creating the light-first order by messages", "amount"), body, file=stream)


@verb(app, "bound")
def bound(tree: TreeArgument, read: TreeOptions, options: BoundOptions, flags: SearchFlags, output: Answer) -> None:
    """Say how little energy any layout of a tree needs, and why."""
    search = flags.search()
    source = _load(tree, read, search)
    from shorthaul.spatial.verbs.planning import bound as find_bound

    result = find_bound(source, options=options, search=search)
    finish(result, output)


@verb(app, "check")
def check(
    tree: TreeArgument,
    read: TreeOptions,
    options: CheckOptions,
    flags: SearchFlags,
    output: Output,
    layout: Annotated[Path | None, typer.Argument(metavar="[LAYOUT]", help="Layout with arrays parent, x, y.")] = None,
) -> None:
    """Replay anybody's layout, or verify a bound, or both.

    It tests every place and the tree, and recounts the energy.
    """
    if layout is None:
        refuse_output(output, "bound")
    search = flags.search()
    source = _load(tree, read, search)
    from shorthaul.spatial.verbs.checking import check as replay

    finish(replay(source, layout, options=options, search=search), output)


@verb(app, "treefix")
def treefix(
    tree: TreeArgument, read: TreeOptions, options: TreefixOptions, flags: TaskSearchFlags, output: Output
) -> None:
    """Sum over every subtree, or from the root to every vertex.

    The spatial computer computes them, by messages between processors.
    """
    search = flags.search()
    source = _load(tree, read, search)
    from shorthaul.spatial.verbs.treefix import treefix as run

    result = run(source, options=options, search=search)
    _finish_run(result, output)


@verb(app, "lca")
def lca(tree: TreeArgument, read: TreeOptions, options: LcaOptions, flags: TaskSearchFlags, output: Output) -> None:
    """Find lowest common ancestors of pairs of vertices."""
    search = flags.search()
    source = _load(tree, read, search)
    from shorthaul.spatial.verbs.lca import lca as run

    result = run(source, options=options, search=search)
    _finish_run(result, output)


def _finish_run(result: Result[VertexTable, RunExtra], output: Output) -> None:
    from shorthaul.report.text import entries, print_table

    counted = ("method", "energy_per_vertex", "messages", "rounds", "words_per_processor", "messages_per_processor")
    names = [name for name in (*counted, "cycles") if name in result.extra]
    finish(result, output, details=lambda stream: print_table(names, entries([result.extra], names), file=stream))


@verb(app, "sweep")
def sweep(
    tree: TreeArgument, read: TreeOptions, options: SweepOptions, flags: SweepSearchFlags, output: Answer
) -> None:
    """Compare orders and curves as a built-in tree grows.

    Energy and depth are told.
    """
    search = flags.search()
    from shorthaul.report.text import print_table
    from shorthaul.spatial.verbs.sweep import sweep as compare

    result = compare(tree, forest=read.forest, options=options, search=search)

    rows = result.extra["points"]
    body = [list(row.values()) for row in rows]
    finish(result, output, details=lambda stream: print_table(list(rows[0]), body, file=stream) if rows else None)


@verb(app, "cases")
def cases(listing: Listing) -> None:
    """List the built-in trees."""
    from shorthaul.cli.output import print_cases
    from shorthaul.spatial.workloads.cases import CASES

    print_cases(CASES, listing)
