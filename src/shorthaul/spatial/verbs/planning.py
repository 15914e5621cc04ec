"""The verbs ``plan`` and ``bound``: lay a tree out, say how little energy it needs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import numpy.typing as npt

from shorthaul.core.amounts import Bound, Cost
from shorthaul.core.arguments import public
from shorthaul.core.cases import Case, Source, resolve
from shorthaul.core.check import CheckReport
from shorthaul.core.errors import DefectError, InputError, NoPlanError
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result, Status
from shorthaul.core.search import Search, TaskPlanSearchOptions
from shorthaul.core.searching.deadline import expect_time
from shorthaul.core.searching.memory import room
from shorthaul.core.searching.tasks import restarts, run_tasks
from shorthaul.core.searching.threads import Threads
from shorthaul.core.verbs import asked, verb
from shorthaul.spatial import tuning, views
from shorthaul.spatial.bounds.energy import energy_bound
from shorthaul.spatial.check.machine_replay import check_on_machine
from shorthaul.spatial.check.replay import check_layout
from shorthaul.spatial.formats.files import tree_from_file
from shorthaul.spatial.layout import curves, orders
from shorthaul.spatial.layout.cost import local_messaging
from shorthaul.spatial.layout.cost_kernels import edge_energy
from shorthaul.spatial.layout.stored_tree import StoredTree, store
from shorthaul.spatial.model import Tree, grid_from_text
from shorthaul.spatial.options import (
    BoundOptions,
    LayoutOptions,
    MachineOptions,
    PlacingOptions,
    PlanOptions,
    TreeOptions,
)
from shorthaul.spatial.plan import BoundExtra, Layout, PlanExtra, RelayedCost
from shorthaul.spatial.verbs.inputs import LAYOUTS, TREES, LayoutLike, Workload
from shorthaul.spatial.verbs.machines import (
    SIZES,
    WEIGHTS,
    PerVertex,
    bound_on_machine,
    expect_layout,
    expect_machine,
    machine_and_load,
    plan_on_machine,
    stored_on_fabric,
)
from shorthaul.spatial.workloads.cases import CASES

if TYPE_CHECKING:
    from shorthaul.spatial.verbs.keywords import BoundKeywords, PlanKeywords

Index = npt.NDArray[np.int32]

KIND = "shorthaul/spatial-result"
#: The seeds of restarts are this far apart, so that those of two searches differ.
_SEEDS_APART = 0x9E3779B97F4A7C15


@public
def case(text: str, *, forest: bool = False, search: Search | None = None) -> Source[Tree]:
    """Return the tree that ``text`` names, a file or a built-in case, with its source.

    Parameters
    ----------
    text : str
        The path of a file, or the name of a built-in tree with its parameters.
    forest : bool, default False
        Whether several roots are allowed.
    search : Search | None
        What limits the time of reading.

    Returns
    -------
    Source[Tree]
        The tree and where it comes from.

    Raises
    ------
    InputError
        If the file is missing or wrong: file, place, value and cure.
    NoPlanError
        If ``search`` ends before.

    Examples
    --------
    >>> case("star:n=5").workload.parent.tolist()
    [-1, 0, 0, 0, 0]
    """
    return resolve(text, CASES, lambda path, data: tree_from_file(path, data, forest=forest, search=search))


@public
def cases() -> tuple[Case[Tree], ...]:
    """Return the built-in trees.

    Returns
    -------
    tuple[Case[Tree], ...]
        The cases by name, with their parameters.

    Examples
    --------
    >>> "yule" in [case.name for case in cases()]
    True
    """
    return CASES


def place(
    tree: Tree, options: PlacingOptions, search: Search, light_first: Index | None = None, needed_s: float = 0.0
) -> tuple[Layout, str, str]:
    """Return the layout that ``options`` name, and the order and the curve that ``auto`` stood for.

    ``light_first`` are the tree's positions in that order, if known: ``auto`` stands for it where less is left
    than the ``needed_s`` seconds that another order takes, with all that has to follow.
    """
    grid = None if options.grid is None else grid_from_text(options.grid)
    curve, chosen = curves.choose(options.curve, tree.n, grid)
    x, y = curves.cells(curve, chosen, tree.n)
    found: list[tuple[int, str, Layout]] = []
    has_room = room() >= tuning.ORDERS_BYTES * tree.n
    is_quick = light_first is not None and not (has_room and search.deadline - time.monotonic() >= needed_s)
    best = ("light-first",) if is_quick else ("centred", "dfs")
    for order in best if options.order == "auto" else (options.order,):
        if found and search.remaining_s() <= needed_s:
            break
        known = order == "light-first" and light_first is not None
        position = light_first if known else orders.positions(tree, order, generator=search.generator())
        expect_time(search)
        layout = Layout(tree.parent, x[position], y[position], chosen)
        found.append((edge_energy(tree.parent, layout.x, layout.y)[0], order, layout))
        search.keep(found[-1][0], layout)
    _, order, layout = min(found, key=lambda one: one[0])
    return layout, order, curve


def place_on_machine(tree: Tree, options: MachineOptions, search: Search, given: LayoutLike | None) -> StoredTree:
    """Return the tree as stored with the layout given, or a new one, in time for an answer to be written."""
    search.keep_back(tuning.WRITE_S + tuning.WRITE_VERTEX_S * tree.n)
    expect_time(search)
    light_first = orders.positions(tree, "light-first")
    expect_time(search)
    layout = None if given is None else LAYOUTS.read(given, tree, "layout")
    if expect_machine(options):
        return stored_on_fabric(tree, options, search, light_first, layout)
    if layout is None:
        return _refined(store(tree, place(tree, options, search, light_first)[0], light_first), options, search)
    expect_layout(check_layout(layout, tree), options.layout)
    stored = store(tree, layout, light_first)
    return _refined(stored, options, search) if options.refine else stored


def _refined(stored: StoredTree, options: LayoutOptions, search: Search) -> StoredTree:
    if options.refine == 0:
        return stored
    from shorthaul.spatial.layout.annealing import before_objective, shorten
    from shorthaul.spatial.layout.relief import unburden

    objective = options.objective if isinstance(options, PlanOptions) else "energy"
    further = {"distance": shorten, "link-load": unburden}.get(objective)
    if further is None:
        return _annealed(stored, options, search)
    return further(_annealed(stored, options, before_objective(search)), options.refine, search)


def _solved(stored: StoredTree, options: PlanOptions, search: Search) -> tuple[StoredTree, Bound | None]:
    """Return the layout refined, and the bound where all layouts were searched through, as far as that tells.

    A brief search comes first, which settles what is tiny. Where nothing limits it, the layout is refined briefly
    before the next one, and in full where no better one is ruled out.
    """
    nothing_asked = options.refine is None and options.objective == "energy" and search.is_unlimited
    size = stored.n * stored.grid.cells
    is_small = size <= tuning.MOST_EXACT and options.objective == "energy" and options.refine != 0
    if not options.exact and not is_small:
        return _refined(stored, options, search), None
    from shorthaul.spatial.bounds.placing import solve
    from shorthaul.spatial.layout.annealing import refine

    stored, bound = solve(stored, search, min(tuning.BRIEF_EFFORT, tuning.BRIEF_SHARE * search.left()))
    if bound.is_met_by(edge_energy(stored.parent, stored.x, stored.y)[0]):
        return stored, bound
    if not options.exact and not nothing_asked:
        return _annealed(stored, options, search, bound), bound
    by_default = min(tuning.DEFAULT_EXACT_EFFORT, tuning.EXACT_EFFORT_CELLS / size)
    effort = tuning.EXACT_EFFORT if options.exact else by_default
    if not nothing_asked:
        return solve(_refined(stored, options, search), search, effort)
    solved, bound = solve(refine(stored, tuning.FIRST_EFFORT, search), search, effort)
    if bound.is_met_by(edge_energy(solved.parent, solved.x, solved.y)[0]):
        return solved, bound
    annealed = _annealed(stored, options, search, bound)
    return min(annealed, solved, key=lambda one: edge_energy(one.parent, one.x, one.y)[0]), bound


def _expect_solvable(tree: Tree, layout: Layout, options: PlanOptions) -> None:
    """Raise :class:`InputError` if ``exact`` is asked for where it is not possible."""
    if options.exact and options.objective != "energy":
        raise InputError("cannot be combined with --objective", place="--exact", value=options.objective)
    if options.exact and tree.n * layout.grid.cells > tuning.MOST_EXACT:
        raise InputError(
            "is too large to be solved exactly",
            place="--exact",
            value=f"{tree.n} vertices on {layout.grid.cells} processors",
            allowed=f"a product of at most {tuning.MOST_EXACT}",
            cure="give a smaller tree or --grid, or leave --exact out",
        )


def _annealed(stored: StoredTree, options: LayoutOptions, search: Search, bound: Bound | None = None) -> StoredTree:
    from shorthaul.spatial.layout.annealing import refine

    count = restarts(search, options.restarts, is_threaded=True)
    if count == 1:
        return refine(stored, options.refine, search, None if bound is None else int(bound.value))
    effort = None if options.refine is None else options.refine / count
    tasks = [(stored, effort, number) for number in range(count)]
    found: dict[int, StoredTree] = dict(run_tasks(_refined_again, tasks, search=search, kept=lambda told: told))
    return min((found[number] for number in sorted(found)), key=lambda one: edge_energy(one.parent, one.x, one.y)[0])


def _refined_again(task: tuple[StoredTree, float | None, int], search: Search) -> StoredTree:
    from shorthaul.spatial.layout.annealing import refine

    stored, effort, number = task
    search.seed = (search.seed + number * _SEEDS_APART) % 2**63
    return refine(stored, effort, search)


def _of_journal(tree: Tree, layout: Layout, options: PlanOptions) -> CheckReport:
    """Return what the checker says of the layout in a journal."""
    if options.machine is not None:
        return check_on_machine(layout, tree, *machine_and_load(tree, options, Search()))
    _, grid = curves.choose(options.curve, tree.n, None if options.grid is None else grid_from_text(options.grid))
    if layout.grid != grid:
        raise InputError("is a layout on another grid", value=str(layout.grid), allowed=str(grid))
    return check_layout(layout, tree)


@verb(
    PlanOptions,
    TREES,
    LAYOUTS,
    reading=TreeOptions,
    searching=TaskPlanSearchOptions,
    replay=_of_journal,
    sizes=SIZES,
    weights=WEIGHTS,
)
def plan(
    workload: Workload, *, sizes: PerVertex = None, weights: PerVertex = None, **keywords: Unpack[PlanKeywords]
) -> Result[Layout, PlanExtra]:
    """Return a layout of a tree on a grid: an order along a space-filling curve, then local search.

    The cost is that of one message from every parent to each of its children. With ``machine`` every processor holds
    several vertices, as its memory allows.

    Returns
    -------
    Result[Layout, PlanExtra]
        The layout, its ``energy_hops`` and the bound.

    Raises
    ------
    InputError
        If the tree or a keyword is wrong.
    InfeasibleError
        If the grid, or the memory of the machine, is too small.
    NoPlanError
        If the time limit passes first.

    Examples
    --------
    >>> result = plan([-1, 0, 1, 2])
    >>> result.cost["energy_hops"], result.bound.value
    (3, 3)
    """
    tree, options, search, source = asked(workload, TREES, PlanOptions, keywords)
    if expect_machine(options, sizes, weights):
        return plan_on_machine(tree, options, search, source, sizes, weights)
    search.keep_back(write_s := tuning.WRITE_S + tuning.WRITE_VERTEX_S * tree.n)
    with search:
        light_first, pass_s = _first_pass(tree, search)
        with_centred_s = (tuning.CENTRED_PASSES + tuning.LEAST_PASSES) * pass_s
        layout, order, curve = place(tree, options, search, light_first, with_centred_s)
        _expect_solvable(tree, layout, options)
        layout, name = (layout, f"{order} + {curve}") if search.start() is None else (search.start(), "resumed")
        finish_s = tuning.FINISH_S + tuning.FINISH_PASSES * pass_s
        _expect_room(tree)
        # From here on by light-first position: neighbours in the tree are neighbours in memory.
        stored = store(tree, layout, light_first)
        search.keep(edge_energy(stored.parent, stored.x, stored.y)[0], layout)
        search.keep_back(finish_s + write_s)
        refined, known = _solved(stored, options, search)
        search.keep_back(write_s)
        if refined is not stored:
            stored, layout, name = refined, refined.layout(tree), f"{name} + refine"
    numbered = Tree(stored.parent)
    with Threads(2) as beside:  # kernels run beside each other
        checking = beside.submit(check_layout, layout, tree)
        until = search.deadline - finish_s
        comparing = beside.submit(_baselines, tree, stored, curve, search, name, until) if options.baselines else None
        cost, loads = local_messaging(stored.parent, stored.x, stored.y, layout.grid)
        search.keep_back(write_s + tuning.BOUND_PASSES * pass_s)
        bound = known or energy_bound(numbered, layout.grid, stored.vertex, search=search)
        search.keep_back(write_s)
        virtual = _virtual(stored) if _fits(tree, search, tuning.VIRTUAL_PASSES * pass_s) else None
    report = checking.result()
    if report.cost is not None and dict(report.cost) != dict(cost):
        raise DefectError(f"the replay counts {report.cost}, the search {cost}")
    baselines = [] if comparing is None else comparing.result()
    extra = _extra(tree, layout, cost["energy_hops"], name, curve, virtual, baselines)
    if options.create:
        extra["creation"] = _creation(tree, layout, curve, light_first, search)
    return Result(
        KIND,
        Status.OPTIMAL if bound.is_met_by(cost["energy_hops"]) else Status.FEASIBLE,
        cost=cost,
        bound=bound,
        check=report,
        plan=layout,
        provenance=provenance("spatial plan", options=options, source=source, search=search),
        extra=extra,
        figures=views.layout_figures(
            tree, layout.x, layout.y, layout.grid, [row_of(name, cost, tree.n), *baselines], loads
        )
        if _fits(tree, search, tuning.FIGURES_PASSES * pass_s)
        else (),
    )


def _first_pass(tree: Tree, search: Search) -> tuple[Index, float]:
    """Return the light-first positions, and the seconds that they took, by which the rest is foreseen.

    Raises :class:`NoPlanError` if even an idle machine could not do in time what there is no layout without.
    """
    expect_time(search)
    began, computed_s = time.monotonic(), time.thread_time()
    light_first = orders.positions(tree, "light-first")
    expect_time(search, tuning.LEAST_PASSES * (time.thread_time() - computed_s))
    return light_first, time.monotonic() - began


def _expect_room(tree: Tree) -> None:
    """Raise :class:`NoPlanError` if only what was kept so far has room within the memory limit."""
    if room() < tuning.STORED_BYTES * tree.n:
        raise NoPlanError("no layout of this size has room within the memory limit")


def _fits(tree: Tree, search: Search, seconds: float) -> bool:
    """True if there is time and memory left for what an answer can do without."""
    return search.deadline - time.monotonic() >= seconds and room() >= tuning.FURTHER_BYTES * tree.n


def _extra(
    tree: Tree,
    layout: Layout,
    energy: float,
    name: str,
    curve: str,
    virtual: RelayedCost | None,
    baselines: list[dict[str, float | str]],
) -> PlanExtra:
    extra: PlanExtra = {
        "vertices": tree.n,
        "grid": [layout.grid.width, layout.grid.height],
        "placement": name,
        "curve": curve,
        "energy_per_vertex": energy / tree.n,
        "energy_per_edge": energy / max(1, tree.n - len(tree.roots())),
        "baselines": baselines,
    }
    if virtual is not None:
        extra["virtual_tree"] = virtual
    return extra


def _creation(tree: Tree, layout: Layout, curve: str, light_first: Index, search: Search) -> dict[str, Any]:
    from shorthaul.spatial.algorithms.creation_cost import creation

    start = curves.cells(curve, layout.grid, tree.n)
    return creation(tree, start, layout.grid, light_first, search=search)


def row_of(name: str, cost: Cost, n: int) -> dict[str, float | str]:
    """Return the row of a placement in the table of baselines."""
    return {"placement": name, **cost, "energy_per_vertex": cost["energy_hops"] / n}


def _baselines(
    tree: Tree, stored: StoredTree, curve: str, search: Search, skip: str, until: float
) -> list[dict[str, float | str]]:
    """Return what other orders along the same curve cost, none that would begin after ``until``."""
    x, y = curves.cells(curve, stored.grid, tree.n)
    rows: list[dict[str, float | str]] = []
    for order in ("light-first", "dfs", "bfs", "random"):
        name = f"{order} + {curve}"
        if name != skip and time.monotonic() < until and room() >= tuning.FURTHER_BYTES * tree.n:
            position = orders.positions(tree, order, generator=search.generator())[stored.vertex]
            cost, _ = local_messaging(stored.parent, x[position], y[position], stored.grid)
            rows.append(row_of(name, cost, tree.n))
    return rows


def _virtual(stored: StoredTree) -> RelayedCost:
    virtual = stored.virtual()
    x, y = stored.x[virtual.host], stored.y[virtual.host]
    energy, longest = edge_energy(virtual.parent, x, y)
    most = int(Tree(stored.parent).degrees().max())
    return {
        "energy_hops": int(energy),
        "energy_per_vertex": float(energy / stored.n),
        "distance_hops": int(longest),
        "depth": most.bit_length(),
        "nodes": virtual.nodes,
        "bound": int((stored.parent >= 0).sum()),  # relayed or not, each vertex hears from another processor
    }


@verb(BoundOptions, TREES, LAYOUTS, reading=TreeOptions, sizes=SIZES, weights=WEIGHTS)
def bound(
    workload: Workload, *, sizes: PerVertex = None, weights: PerVertex = None, **keywords: Unpack[BoundKeywords]
) -> Result[Layout, BoundExtra]:
    """Return the lower bound on the energy of any layout of a tree on the grid.

    Of the placement only the grid matters, or the machine and how many vertices its processors hold.

    Returns
    -------
    Result[Layout, BoundExtra]
        The bound on ``energy_hops``.

    Raises
    ------
    InputError
        If the tree or a keyword is wrong.
    InfeasibleError
        If the grid is too small.

    Examples
    --------
    >>> bound([-1, *[0] * 12]).bound.value  # of 13 vertices on 4 x 4 processors
    22
    """
    tree, options, search, source = asked(workload, TREES, BoundOptions, keywords)
    if expect_machine(options, sizes, weights):
        found, extra = bound_on_machine(tree, options, search, sizes, weights)
        made = provenance("spatial bound", options=options, source=source, search=search)
        return Result(KIND, None, bound=found, provenance=made, extra=extra, figures=views.of_bound(found))
    grid = None if options.grid is None else grid_from_text(options.grid)
    _, chosen = curves.choose(options.curve, tree.n, grid)
    found = energy_bound(tree, chosen, search=search)
    return Result(
        KIND,
        None,
        bound=found,
        provenance=provenance("spatial bound", options=options, source=source, search=search),
        extra={"vertices": tree.n, "grid": [chosen.width, chosen.height]},
        figures=views.of_bound(found),
    )
