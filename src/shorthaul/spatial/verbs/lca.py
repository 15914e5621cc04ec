"""The verb ``lca``: lowest common ancestors of many pairs, run on the spatial computer."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np
import numpy.typing as npt

from shorthaul.core.document import read_bytes
from shorthaul.core.errors import ABSENT, InputError
from shorthaul.core.files.arrays import as_array
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result, Status
from shorthaul.core.search import Search, TaskSearchOptions
from shorthaul.core.searching.deadline import expect_time
from shorthaul.core.verbs import asked, verb
from shorthaul.spatial.algorithms.lca import lowest_common_ancestors
from shorthaul.spatial.check.replay import check_lca
from shorthaul.spatial.computer.operators import OPERATORS
from shorthaul.spatial.formats.files import array_from_bytes, is_numpy
from shorthaul.spatial.formats.values import is_heading, no_vertex, rows_of_text, vertices_by_name
from shorthaul.spatial.model import Tree
from shorthaul.spatial.options import LcaOptions, TreeOptions
from shorthaul.spatial.plan import RunExtra, VertexTable
from shorthaul.spatial.verbs.inputs import LAYOUT, TABLES, TREES, LayoutLike, Pairs, Workload
from shorthaul.spatial.verbs.planning import KIND
from shorthaul.spatial.verbs.prices import priced
from shorthaul.spatial.verbs.treefix import (
    Run,
    fastest,
    machine_for,
    nodes_for,
    replayed,
    run_figures,
    run_treefix,
    run_views,
    stored_for,
)

if TYPE_CHECKING:
    from shorthaul.spatial.verbs.keywords import LcaKeywords

Index = npt.NDArray[np.int32]

#: Words of the longest message; the machine refuses longer ones.
MESSAGE_WORDS = 2


@verb(
    LcaOptions,
    TREES,
    TABLES,
    reading=TreeOptions,
    searching=TaskSearchOptions,
    queries="Pairs of vertices, shape (q, 2); or the path of a file of queries.",
    layout=LAYOUT,
)
def lca(
    workload: Workload,
    queries: Pairs | str | PathLike[str] | None = None,
    *,
    layout: LayoutLike | None = None,
    **keywords: Unpack[LcaKeywords],
) -> Result[VertexTable, RunExtra]:
    """Find the lowest common ancestor of every pair in ``queries``, shape (q, 2), on the spatial computer.

    The result's plan is a table of arrays by query (``queries``, ``ancestor``; -1 for vertices of different trees).

    Returns
    -------
    Result[VertexTable, RunExtra]
        A table of answers as plan, the cost of the messages.

    Raises
    ------
    InputError
        If the tree, the queries or a keyword is wrong.
    NoPlanError
        If the time limit passes first.

    Examples
    --------
    >>> lca([-1, 0, 0, 1, 1], [[3, 4], [3, 2]]).plan.arrays["ancestor"].tolist()
    [1, 0]
    """
    tree, options, search, source = asked(workload, TREES, LcaOptions, keywords)
    pairs, remarks = _queries(queries, tree, options, search)
    stored = stored_for(tree, layout, options, search)
    virtual = stored.virtual()
    expect_time(search)

    def run(method: str) -> Run:
        machine, replay = machine_for(stored, options, search, message_words=MESSAGE_WORDS)
        tree_nodes = nodes_for(machine, stored, virtual, method)
        fix = partial(run_treefix, machine, tree_nodes, operator=OPERATORS["sum"], method=method, seed=search.seed)
        answers = lowest_common_ancestors(
            machine, tree_nodes, stored.position[pairs],
            up=partial(fix, direction="up"), down=partial(fix, direction="down"), barriers=options.barriers,
        )  # fmt: skip
        return machine, replay, answers

    method, (machine, replay, found), cycles = fastest(options.method, run, search, tree.n)
    expect_time(search)
    answers = np.where(found >= 0, stored.vertex[found], -1).astype(np.int32)
    cost = machine.cost()
    report = replace(replayed(check_lca(tree, pairs, answers), cost, replay), remarks=remarks)
    expect_time(search)
    return Result(
        KIND,
        Status.FEASIBLE if report.ok else Status.INVALID,
        cost=priced(cost, stored.fabric, machine.figures()["cycles"]),
        check=report,
        plan=VertexTable({"queries": pairs, "ancestor": answers}),
        provenance=provenance("spatial lca", options=options, source=source, search=search),
        extra=run_figures(
            stored,
            machine,
            cost,
            method,
            {"queries": len(pairs), "barriers": options.barriers, **({"cycles_by_method": cycles} if cycles else {})},
        ),
        figures=run_views(machine, stored, f"{len(pairs)} lowest common ancestors"),
    )


def _queries(queries: object, tree: Tree, options: LcaOptions, search: Search) -> tuple[Index, tuple[str, ...]]:
    """Return the pairs of vertices that are asked for, and remarks on how they were read."""
    if queries is None and options.queries is not None and options.random is not None:
        raise InputError("cannot be combined with --random", place="--queries", cure="give one of the two")
    if queries is None and options.random is not None:
        return search.generator().integers(0, tree.n, (options.random, 2)).astype(np.int32), ()
    file = None
    remarks: tuple[str, ...] = ()
    if queries is None:
        if options.queries is None:
            raise InputError("no queries are given", cure="give --queries FILE or --random N")
        file = Path(options.queries)
        data = read_bytes(file)
        is_array = is_numpy(data, file)
        if is_array:
            queries = array_from_bytes(data, "queries", file=file)
        else:
            queries, remarks = _pairs(data, file, tree, search)
    array = as_array(queries, "queries")
    if array.ndim != 2 or array.shape[1] != 2:
        shown = f"shape {array.shape}"
        raise InputError("are not pairs of vertices", file=file, place="queries", value=shown, allowed="shape (q, 2)")
    if array.dtype.kind not in "iu":
        allowed = "an array of integers (names of vertices are read from a file)"
        shown = f"an array of {array.dtype}"
        raise InputError("are no numbers of vertices", file=file, place="queries", value=shown, allowed=allowed)
    wrong = np.flatnonzero(((array < 0) | (array >= tree.n)).any(axis=1))
    if len(wrong):
        q = int(wrong[0])
        raise InputError(
            "names no vertex", file=file, place=f"queries[{q}]", value=array[q].tolist(), allowed=f"0 to {tree.n - 1}"
        )
    return array.astype(np.int32), remarks


def _pairs(data: bytes, file: Path, tree: Tree, search: Search) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """Return the two vertices of every line of text, each by its number or its name; a remark if a heading is there."""
    known, pairs = vertices_by_name(tree), []
    remarks: tuple[str, ...] = ()
    for at, (number, cells) in enumerate(rows_of_text(data, file, search)):
        place, allowed = f"line {number}", "two vertices, by number or by a name that only one of them has"
        if len(cells) != 2:
            raise InputError("is not a query", file=file, place=place, value=" ".join(cells), allowed=allowed)
        found = [known.get(cell, -1) for cell in cells]
        if at == 0 and not known.keys() & set(cells) and is_heading(cells, tree):
            remarks = (f"{place} of {file.name} is taken for names of columns: {', '.join(cells)}",)
            continue
        if -1 in found:
            cure = "put # before names of columns" if at == 0 else ""
            raise no_vertex(cells[found.index(-1)], tree, known, file=file, place=place, cure=cure)
        pairs.append(found)
    if not pairs:
        found_none = "; ".join(remarks) or ABSENT
        raise InputError("holds no query", file=file, value=found_none, allowed="two vertices per line")
    return np.array(pairs, dtype=np.int64), remarks
