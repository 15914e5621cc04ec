"""The verb ``sweep``: energy by order and curve, and its growth with the number of vertices."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack, cast

from shorthaul.core.amounts import Cost
from shorthaul.core.cases import Source, Workloads
from shorthaul.core.errors import InputError, NoPlanError, unknown_name
from shorthaul.core.figure import OfPoint, Table, by_point
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result
from shorthaul.core.search import Search, SweepSearchOptions
from shorthaul.core.searching.deadline import expect_time
from shorthaul.core.searching.tasks import run_tasks
from shorthaul.core.verbs import asked, verb
from shorthaul.spatial import views
from shorthaul.spatial.bounds.energy import energy_bound
from shorthaul.spatial.layout.cost import local_messaging
from shorthaul.spatial.layout.orders import positions
from shorthaul.spatial.model import Tree
from shorthaul.spatial.options import CURVES, METHODS, ORDERS, PlacingOptions, SweepOptions, TreefixOptions, TreeOptions
from shorthaul.spatial.plan import SweepExtra, SweepPoint
from shorthaul.spatial.verbs.inputs import TREES, Workload
from shorthaul.spatial.verbs.planning import KIND, place
from shorthaul.spatial.verbs.treefix import treefix

if TYPE_CHECKING:
    from shorthaul.spatial.verbs.keywords import SweepKeywords


class _Several(Workloads[Any]):
    """The trees of a sweep: one, several with their sources, or a built-in one at every size of the sweep."""

    __slots__ = ()

    def source(self, workload: object, reading: Any = None, options: Any = None) -> Source[Any]:
        """Return the sources of all trees."""
        if isinstance(workload, list | tuple) and workload and isinstance(workload[0], Source):
            found = [TREES.source(one, reading) for one in workload]
        else:
            found = _grown(workload, options.sizes) or [TREES.source(workload, reading)]
        return Source(found, found[-1].name, found[-1].digest)


#: The directions of a treefix sum.
_WAYS = ("up", "down")
#: Vertices of a tree that is laid out once more to be drawn: it takes a few milliseconds.
_MOST_DRAWN = 2**16
_SEVERAL = _Several(list, TREES.cases, TREES.load, TREES.accepted, TREES.convert)


def _grown(text: object, sizes: str) -> list[Source[Tree]]:
    """Return the built-in tree that ``text`` names at each of the sizes; none if it names a file or fixes n itself.

    Raises :class:`InputError` then if sizes are asked for.
    """
    name, _, given = text.partition(":") if isinstance(text, str) else ("", "", "")
    if name not in {case.name for case in TREES.cases} or "n=" in given.replace(" ", ""):
        if sizes != SweepOptions().sizes:
            cure = "leave it out, or name a built-in tree without n, as in yule"
            raise InputError("is for trees that can be made at any size", place="--sizes", value=sizes, cure=cure)
        return []
    extra = f",{given}" if given else ""
    return [TREES.source(f"{name}:n={size}{extra}") for size in sizes_from_text(sizes)]


def sizes_from_text(text: str) -> list[int]:
    """Return the numbers of vertices that ``text`` names; raises :class:`InputError`.

    >>> sizes_from_text("100, 2^3..2^5")
    [100, 8, 16, 32]
    """
    sizes = []
    for cell in text.split(","):
        match = re.fullmatch(r"\s*(?:(\d{1,8})|2\^(\d\d?)(?:\.\.2\^(\d\d?))?)\s*", cell)
        if match is None:
            found = []
        elif match[1] is not None:
            found = [int(match[1])]
        else:
            found = [2**power for power in range(int(match[2]), int(match[3] or match[2]) + 1)]
        if not found or found[0] < 1 or found[-1] > 2**26:
            allowed = "integers from 1 to 2^26, as in 1000,2^10..2^20"
            raise InputError("is no number of vertices", place="--sizes", value=cell, allowed=allowed)
        sizes += found
    return sizes


@verb(
    SweepOptions,
    _SEVERAL,
    reading=TreeOptions,
    searching=SweepSearchOptions,
    points=list[tuple[str, SweepPoint]],
    workload=f"The tree: {TREES.accepted}; a built-in one without n is made at each of ``sizes``. Or a list of cases.",
)
def sweep(workload: Workload | Sequence[Source[Tree]], **keywords: Unpack[SweepKeywords]) -> Result[None, SweepExtra]:
    """Return cost and bound of every order and curve for every tree, and a treefix sum each way by every method.

    The points are in ``extra["points"]``, each with its bound.

    Returns
    -------
    Result[None, SweepExtra]
        In ``extra["points"]`` one entry per tree and placement, or algorithm.

    Raises
    ------
    InputError
        If a tree, an order, a curve or a method is wrong.

    Examples
    --------
    >>> point = sweep([-1, 0, 1, 2], orders="bfs", treefix=False).extra["points"][0]
    >>> point["what"], point["energy_hops"], point["bound"]
    ('bfs + hilbert', 3, 3)
    """
    sources, options, search, _ = asked(workload, _SEVERAL, SweepOptions, keywords)
    orders = _names(options.orders, ORDERS, "--orders")
    curves = _names(options.curves, CURVES, "--curves")
    methods = _names(options.methods, METHODS, "--methods")
    tasks: list[_Task] = []
    for source in sources:
        tree = source.workload
        tasks += [_Task(tree, curve, tuple(orders)) for curve in curves]
        tasks += [_Task(tree, *run) for run in itertools.product(methods if options.treefix else (), _WAYS)]
    # Small trees first where time or memory may end; else large ones first, so that no worker is idle at the end.
    is_ample = search.time_limit is None and search.memory_limit is None
    turns = sorted(range(len(tasks)), key=lambda at: tasks[at].tree.n, reverse=is_ample)
    found: dict[int, list[tuple[str, SweepPoint]]] = {}
    with search:
        for number, rows in run_tasks(_points, tasks, search=search, shares_time=False, turns=turns):
            found[number] = rows
            search.report(what=f"{len(found)} of {len(tasks)}")
    made = [(tasks[at], what, point) for at in sorted(found) for what, point in found[at]]
    points = [point for _, _, point in made]
    lines: dict[str, list[SweepPoint]] = {}
    for _, what, point in made:
        lines.setdefault(what, []).append(point)
    if not points:
        expect_time(search)
    names = [f"{point['what']}, {point['vertices']:,} vertices" for point in points]
    if len(set(names)) < len(names):
        names = [f"{name} ({at})" for at, name in enumerate(names, 1)]
    curves_of = {what: [(p["vertices"], p["energy_per_vertex"]) for p in run] for what, run in lines.items()}
    return Result(
        KIND,
        None,
        provenance=provenance("spatial sweep", options=options, source=sources[-1], search=search),
        extra={"points": points},
        figures=(
            views.growth("Energy per vertex against the number of vertices", "hops per vertex", curves_of),
            *views.points_compared(points, names, [what for _, what, _ in made]),
            views.comparison("All points", points),
            *by_point(
                (name, partial(_figures, task, what, point, search))
                for name, (task, what, point) in zip(names, made, strict=True)
                if search.remaining_s() > 0
            ),
        ),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """A tree laid out along a curve in several orders, or a treefix sum on it: a method and its direction."""

    tree: Tree
    how: str
    what: str | tuple[str, ...]


def _points(task: _Task, search: Search) -> list[tuple[str, SweepPoint]]:
    """Return the points of a task, each with the name of the line that it is on; none if the time is up."""
    with suppress(NoPlanError):
        return _runs(task, search) if isinstance(task.what, str) else _placements(task, task.what, search)
    return []


def _placements(task: _Task, orders: Sequence[str], search: Search) -> list[tuple[str, SweepPoint]]:
    tree, curve = task.tree, task.how
    light_first = positions(tree, "light-first")
    points = []
    for order in orders:
        expect_time(search)
        layout, _, named = place(tree, PlacingOptions(order=order, curve=curve), search, light_first)
        cost, _ = local_messaging(tree.parent, layout.x, layout.y, layout.grid)
        bound = energy_bound(tree, layout.grid).value
        points.append((f"{order} + {curve}", _point(tree.n, f"{order} + {named}", cost, bound)))
    return points


def _figures(task: _Task, what: str, point: SweepPoint, search: Search) -> tuple[OfPoint, ...]:
    """Return what there is to see of a point: its amounts, and of a placement that is quickly made again the grid."""
    amounts = Table("Amounts", ("amount", "value"), tuple((name, cast("Any", value)) for name, value in point.items()))
    tree = task.tree
    if isinstance(task.what, str) or tree.n > _MOST_DRAWN:
        return (amounts,)
    options = PlacingOptions(order=what.removesuffix(f" + {task.how}"), curve=task.how)
    layout, _, _ = place(tree, options, search)
    cost, loads = local_messaging(tree.parent, layout.x, layout.y, layout.grid)
    if cost["energy_hops"] != point["energy_hops"]:  # a random order is another one each time
        return (amounts,)
    return (amounts, *views.seen_of_layout(tree, layout.x, layout.y, layout.grid, loads))


def _runs(task: _Task, search: Search) -> list[tuple[str, SweepPoint]]:
    options = TreefixOptions(direction=str(task.what), method=task.how, order="light-first", refine=0)
    result = treefix(task.tree, options=options, search=search)
    assert result.cost is not None
    assert result.bound is not None
    what = f"treefix {task.what}, {task.how}"
    return [(what, _point(task.tree.n, what, result.cost, result.bound.value))]


def _point(n: int, what: str, cost: Cost, bound: float) -> SweepPoint:
    per_vertex = cost["energy_hops"] / n
    point = {"vertices": n, "what": what, **cost, "energy_per_vertex": per_vertex, "bound": bound}
    return cast("SweepPoint", point)


def _names(text: str, known: Sequence[str], flag: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise unknown_name("value", name, known, place=flag)
    if not names:
        raise InputError("names nothing", place=flag, value=text, allowed=", ".join(known))
    return names
