"""The verb ``treefix``: sums over subtrees or along root paths, run on the spatial computer."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np
import numpy.typing as npt

from shorthaul.core.amounts import Bound, Cost
from shorthaul.core.check import CheckReport, Violation
from shorthaul.core.errors import InfeasibleError, InputError, NoPlanError
from shorthaul.core.figure import Figure
from shorthaul.core.files.outputs import put
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result, Status
from shorthaul.core.search import Search, TaskSearchOptions
from shorthaul.core.searching.deadline import expect_time
from shorthaul.core.searching.memory import room, used_bytes
from shorthaul.core.verbs import asked, expect, verb
from shorthaul.spatial import tuning, views
from shorthaul.spatial.algorithms.heavy_paths import scan_down, scan_up
from shorthaul.spatial.algorithms.middles import with_middles
from shorthaul.spatial.algorithms.rake_compress import coins, contract, expand_down, expand_up, prepare
from shorthaul.spatial.algorithms.stored import TreeNodes, neutral, stored_nodes, to_vertices
from shorthaul.spatial.check.machine_replay import MachineReplay
from shorthaul.spatial.check.replay import Replay, check_treefix, first_overflow
from shorthaul.spatial.computer.fabric_network import FabricNetwork, taking_part
from shorthaul.spatial.computer.machine import Machine
from shorthaul.spatial.computer.memory import WORD_BYTES
from shorthaul.spatial.computer.network import Network
from shorthaul.spatial.computer.operators import Operator, operator_named
from shorthaul.spatial.computer.registers import Register
from shorthaul.spatial.formats.values import branch_lengths, read_values
from shorthaul.spatial.layout.stored_tree import StoredTree, VirtualTree
from shorthaul.spatial.model import Tree
from shorthaul.spatial.options import METHODS, MachineOptions, TreefixOptions, TreeOptions
from shorthaul.spatial.plan import RunExtra, VertexTable
from shorthaul.spatial.verbs.inputs import LAYOUT, TABLES, TREES, LayoutLike, Workload
from shorthaul.spatial.verbs.planning import KIND, place_on_machine
from shorthaul.spatial.verbs.prices import bounded, priced
from shorthaul.spatial.verbs.wafers import expect_one_wave, write_treefix

if TYPE_CHECKING:
    from shorthaul.spatial.verbs.keywords import TreefixKeywords

Values = npt.NDArray[Any]

#: Up to this many vertices every message is replayed by the checker.
REPLAYED = 2**16


AnyReplay = Replay | MachineReplay
Run = tuple[Machine, AnyReplay | None, Values]


def stored_for(tree: Tree, layout: LayoutLike | None, options: MachineOptions, search: Search) -> StoredTree:
    """Return the tree as stored with the layout given, or a new one; if that is refined, for short chains too."""
    given = options.layout if layout is None else layout
    stored = place_on_machine(tree, options, search, given)
    if given is not None or options.refine == 0 or stored.fabric is not None:
        return stored
    expect_time(search)
    return with_middles(stored)


def machine_for(
    stored: StoredTree, options: MachineOptions, search: Search, *, message_words: int | None = None
) -> tuple[Machine, AnyReplay | None]:
    """Return the machine for a stored tree, and the checker that listens to it (small trees only)."""
    is_replayed, links = stored.n <= REPLAYED, options.count_links
    replay: AnyReplay | None
    if stored.fabric is None or stored.place is None:
        replay = Replay(stored.x, stored.y, stored.grid, links=links) if is_replayed else None
        network = Network(stored.x, stored.y, stored.grid, count_links=links, listener=replay, search=search)
        return Machine.over(network, stored.n, words=options.words, message_words=message_words), replay
    fabric = stored.fabric
    cell, _, most = taking_part(fabric, stored.place)
    replay = MachineReplay(fabric, cell, links=links) if is_replayed else None
    crowded = FabricNetwork(fabric, cell, most, count_links=links, listener=replay, search=search)
    words = fabric.memory_bytes // WORD_BYTES
    return Machine.over(crowded, len(cell), words=words, message_words=message_words), replay


def nodes_for(machine: Machine, stored: StoredTree, virtual: VirtualTree, method: str) -> TreeNodes:
    """Return the nodes of the virtual tree on the machine for a stored tree, with what the method has to know."""
    processor = None
    if stored.fabric is not None and stored.place is not None:
        processor = taking_part(stored.fabric, stored.place)[1]
    return stored_nodes(machine, virtual, processor=processor, paths=method == "heavy-path")


def replayed(report: CheckReport, cost: Cost, replay: AnyReplay | None) -> CheckReport:
    """Return ``report`` with the message log's recount: a rule ``wrong-cost`` if it is not ``cost``."""
    details = {"messages_replayed": replay is not None}
    recount = cost if replay is None else replay.cost()
    if dict(recount) == dict(cost):
        return dataclasses.replace(report, cost=cost, details=details)
    wrong = Violation("wrong-cost", "messages", f"the replay counts {recount}, the machine {cost}")
    return dataclasses.replace(report, violations=(*report.violations, wrong), cost=recount, details=details)


def run_treefix(
    machine: Machine,
    tree: TreeNodes,
    values: Register,
    operator: Operator,
    *,
    direction: str,
    method: str,
    kind: str = "local-maximum",
    seed: int = 0,
) -> Register:
    """Return the treefix sums of ``values`` (by processor) over the virtual tree, by processor.

    Bottom-up sums need a commutative operator, top-down ones any associative operator. ``heavy-path`` needs the paths
    stored with the tree.
    """
    up = direction == "up"
    held = tree.of_vertices(values, neutral(operator, values.dtype))
    match method:
        case "convergecast":
            if up:  # each node reports once all its children have
                machine.converge(held, tree.parent, tree.family(), operator)
            else:
                machine.flood(held, tree.kids, operator)
            found = held
        case "heavy-path":
            found = (scan_up if up else scan_down)(machine, tree, held, operator)
        case _:
            state = prepare(tree, held, operator, up=up)
            contract(machine, state, coins(kind, seed))
            found = (expand_up if up else expand_down)(machine, state)
    return to_vertices(tree, found)


def fastest(method: str, run: Callable[[str], Run], search: Search, n: int) -> tuple[str, Run, dict[str, int]]:
    """Return the method, its run, and the cycles of every method if ``auto`` tried several.

    A method that needs more memory than a processor has is left out, and so is one for which no time is left, or no
    room for ``n`` vertices; ``convergecast``, the first, takes the least of both.
    """
    used, is_least = used_bytes() or 0, method in {METHODS[0], "convergecast"}
    enough = used + (tuning.ENOUGH_BYTES if is_least else tuning.RUNS_BYTES) * n
    with suppress(MemoryError):
        if room(1.0) >= tuning.RUN_BYTES * n:
            return _fastest(method, run, search, n)
    cure = f"give --memory-limit {-(-enough >> 20)}M or more"
    cure += "" if is_least else ", or take --method convergecast, which takes least"
    raise NoPlanError(f"memory is too short for sums over {n:,} vertices\n  do:      {cure}")


def _fastest(method: str, run: Callable[[str], Run], search: Search, n: int) -> tuple[str, Run, dict[str, int]]:
    if method != METHODS[0]:
        return method, run(method), {}
    found: dict[str, int] = {}
    best: tuple[str, Run] | None = None
    methods = METHODS[1:] if room() >= tuning.RUNS_BYTES * n else METHODS[1:2]
    for one in methods:
        began = time.monotonic()
        try:
            done = run(one)
        except InfeasibleError:
            if one == methods[-1] and best is None:
                raise
            continue
        found[one] = done[0].figures()["cycles"]
        if best is None or found[one] < found[best[0]]:
            best = (one, done)
        del done
        if search.remaining_s() < tuning.TRIALS * (time.monotonic() - began):
            break
    assert best is not None
    return *best, found


@verb(
    TreefixOptions,
    TREES,
    TABLES,
    reading=TreeOptions,
    searching=TaskSearchOptions,
    values="One number per vertex, shape (n,) or (n, words); or the path of a NumPy or text file (default: all 1).",
    operator="Any associative operator, in place of ``op``.",
    layout=LAYOUT,
)
def treefix(
    workload: Workload,
    values: Sequence[int] | npt.NDArray[np.int64] | npt.NDArray[np.float64] | str | PathLike[str] | None = None,
    *,
    operator: Operator | None = None,
    layout: LayoutLike | None = None,
    **keywords: Unpack[TreefixKeywords],
) -> Result[VertexTable, RunExtra]:
    """Run a treefix sum on the spatial computer: for every vertex the sum over its subtree, or from the root to it.

    The result's plan is a table of arrays by vertex; its cost is what the run took.

    Returns
    -------
    Result[VertexTable, RunExtra]
        A table of sums as plan, the cost of the messages and the bound.

    Raises
    ------
    InputError
        If the tree, the values or a keyword is wrong.
    InfeasibleError
        If the program needs more words than a processor has.
    NoPlanError
        If the time limit passes first.

    Examples
    --------
    >>> treefix([-1, 0, 0, 1]).plan.arrays["value"].tolist()
    [4, 2, 1, 1]
    """
    tree, options, search, source = asked(workload, TREES, TreefixOptions, keywords)
    expect_one_wave(options, own=operator is not None)
    given, chosen = _given(values, operator, tree, options, search)
    if options.direction == "up" and not chosen.commutative:
        what, cure = "is not commutative, which sums over subtrees need", "use --direction down, or another operator"
        raise InputError(what, place="--op", value=chosen.name, cure=cure)
    stored = stored_for(tree, layout, options, search)
    virtual = stored.virtual()
    expect_time(search)
    held = np.empty_like(given)
    held[stored.position] = given

    def run(method: str) -> Run:
        machine, replay = machine_for(stored, options, search)
        tree = nodes_for(machine, stored, virtual, method)
        sums = run_treefix(
            machine, tree, machine.load("values", held, tree.vertices), chosen,
            direction=options.direction, method=method, kind=options.coins, seed=search.seed,
        )  # fmt: skip
        return machine, replay, machine.collect(sums)

    with np.errstate(invalid="ignore"):  # infinities that cancel give no number
        method, (machine, replay, found), cycles = fastest(options.method, run, search, tree.n)
    sums = found[stored.position]
    expect_time(search)
    report = CheckReport(remarks=("the operator is not built in: only the messages were replayed",))
    if operator is None:
        columns = (given.reshape(tree.n, -1), sums.reshape(tree.n, -1))
        report = check_treefix(tree, columns[0], options.op, options.direction, columns[1])
    cost = machine.cost()
    report = replayed(report, cost, replay)
    bound = treefix_bound(stored, options.direction)
    expect_time(search)
    if options.csl is not None:
        put(options.csl, lambda file: write_treefix(file, stored, given, sums, options))
    return Result(
        KIND,
        Status.OPTIMAL if bound.is_met_by(cost["energy_hops"]) else Status.FEASIBLE,
        cost=priced(cost, stored.fabric, machine.figures()["cycles"]),
        bound=bounded(bound, stored.fabric),
        check=report,
        plan=VertexTable({"parent": tree.parent, "value": sums}),
        provenance=provenance("spatial treefix", options=options, source=source, search=search),
        extra=run_figures(stored, machine, cost, method, {"cycles_by_method": cycles} if cycles else {}),
        figures=run_views(machine, stored, f"treefix {options.direction} by {method}"),
    )


def _given(
    values: object, operator: object, tree: Tree, options: TreefixOptions, search: Search
) -> tuple[Values, Operator]:
    """Return the values and the operator for their type; raises :class:`InputError` where a result would not fit."""
    own, built_in = expect(operator, Operator, "operator"), operator_named(options.op)
    file = None if options.values is None else Path(options.values)
    if options.lengths:
        if values is not None or file is not None:
            raise InputError("cannot be combined with values", place="--lengths", cure="leave one of them out")
        values = branch_lengths(tree)
    given = read_values(
        values, file, tree, None if own else options.op, own.words if own else built_in.words, search
    )  # fmt: skip
    if own is not None:
        return given, own
    vertex = first_overflow(tree, given.reshape(tree.n, -1), options.op, options.direction)
    if vertex >= 0:
        kind = "integer" if given.dtype.kind in "iu" else "real number"
        what = "over its subtree" if options.direction == "up" else "from the root"
        raise InputError(
            f"are too large: the {options.op} {what} does not fit in the {kind}s of 64 bits",
            file=file if values is None else None,
            place="values",
            value=f"vertex {vertex} is the first",
            allowed=f"results that {given.dtype} holds",
            cure="give real numbers (float64), which are rounded" if kind == "integer" else "scale the values",
        )
    return given, operator_named(options.op, given.dtype)


def treefix_bound(stored: StoredTree, direction: str) -> Bound:
    """Return a lower bound on the energy of a treefix sum; ``details`` has one on the longest chain in hops.

    >>> from shorthaul.spatial.model import Grid
    >>> line = np.arange(3, dtype=np.int32)
    >>> bound = treefix_bound(StoredTree(line - 1, line, 0 * line, Grid(3, 1), line, line), "up")
    >>> bound.value, bound.details
    (2, {'distance_hops': 2})
    """
    root = stored.parent < 0
    way = "send" if direction == "up" else "receive"
    if stored.place is not None:
        of = stored.place[np.flatnonzero(root)[np.cumsum(root) - 1]]
        apart = int(np.count_nonzero(np.bincount(stored.place[stored.place != of])))
        proof = f"{apart} processors hold vertices of roots on others; each has to {way} a message of at least 1 hop."
        return Bound("energy_hops", apart, "messages", proof)
    of = np.flatnonzero(root)[np.cumsum(root) - 1]  # a tree is a range that begins with its root
    farthest = int((np.abs(stored.x - stored.x[of]) + np.abs(stored.y - stored.y[of])).max())
    edges = stored.n - int(root.sum())
    proof = (
        f"{edges} vertices are no root; each has to {way} a message of at least 1 hop. A chain of messages joins every "
        f"vertex and its root, the farthest {farthest} hops apart."
    )
    return Bound("energy_hops", edges, "messages", proof, {"distance_hops": farthest})


def run_figures(stored: StoredTree, machine: Machine, cost: Cost, method: str, more: Mapping[str, object]) -> RunExtra:
    """Return what a run adds to its result document."""
    grid = [stored.grid.width, stored.grid.height]
    figures = {
        "vertices": stored.n,
        "grid": grid,
        "method": method,
        "energy_per_vertex": cost["energy_hops"] / stored.n,
        **machine.figures(),
        **more,
    }
    if stored.fabric is not None and stored.place is not None:
        count = np.bincount(stored.place)
        figures["machine"] = {
            "name": stored.fabric.name,
            "processors": stored.fabric.cells,
            "living": int(stored.fabric.living.sum()),
            "used": machine.count,
            "per_processor": int(count.max()),
            "largest_bytes": WORD_BYTES * machine.figures()["words_per_processor"],
            "memory_bytes": stored.fabric.memory_bytes,
        }
    return cast("RunExtra", figures)


def run_views(machine: Machine, stored: StoredTree, what: str) -> tuple[Figure, ...]:
    """Return the link-load heat map of a run, where links were counted."""
    if not machine.count_links:
        return ()
    loads = machine.link_loads()
    flat = loads if stored.fabric is None else views.side_by_side(stored.fabric, loads.max(axis=0))[None]
    return (views.load_map(flat, f"Link load: {what}"),)
