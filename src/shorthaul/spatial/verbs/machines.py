"""Layouts on the machine of a machine file: the verbs with ``--machine``, and what is exported."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.amounts import Bound, Cost
from shorthaul.core.cases import Source
from shorthaul.core.check import CheckReport
from shorthaul.core.errors import DefectError, InputError
from shorthaul.core.files import outputs
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result, Status
from shorthaul.core.search import Search
from shorthaul.core.searching.deadline import expect_time
from shorthaul.core.searching.threads import Threads
from shorthaul.spatial import tuning, views
from shorthaul.spatial.bounds.energy import machine_bound
from shorthaul.spatial.check.machine_replay import check_on_machine
from shorthaul.spatial.formats.files import archive
from shorthaul.spatial.formats.machines import load_machine
from shorthaul.spatial.formats.values import read_values
from shorthaul.spatial.layout import orders
from shorthaul.spatial.layout.annealing import before_objective
from shorthaul.spatial.layout.fabric import (
    Traffic,
    most_vertices,
    ordered,
    place_on_fabric,
    processor_table,
    refine_on_fabric,
    send,
)
from shorthaul.spatial.layout.relief import relieve_fabric
from shorthaul.spatial.layout.stored_tree import StoredTree, store
from shorthaul.spatial.model import Fabric, Load, Tree
from shorthaul.spatial.options import WORDS, BoundOptions, CheckOptions, MachineOptions, PlanOptions
from shorthaul.spatial.plan import BoundExtra, Layout, MachineExtra, PlanExtra
from shorthaul.spatial.verbs.prices import bounded, priced
from shorthaul.spatial.verbs.wafers import expect_wafer, write_messages

Index = npt.NDArray[np.int32]
Machined = PlanOptions | BoundOptions | CheckOptions | MachineOptions
#: One number per vertex, or the path of a file of them: the path is among the options then.
PerVertex = Sequence[int] | npt.NDArray[np.integer[Any]] | str | PathLike[str] | None
#: What they are, for the verbs that take them.
SIZES = "Bytes of each vertex on the machine, shape (n,), or the path of a file (default: ``vertex_bytes``)."
WEIGHTS = "Size of the message of each vertex and its parent, shape (n,), or the path of a file (default: 1)."

#: The bytes of a vertex and the size of a message are at most this.
_MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Put:
    """A tree on a machine: where its vertices are, what that costs, and what was given."""

    tree: Tree
    fabric: Fabric
    load: Load
    place: Index
    traffic: Traffic

    def cost(self) -> Cost:
        """Return the cost of one message from every parent to each child."""
        return Cost(
            energy_hops=self.traffic.energy(self.load.weight),
            depth=int(self.tree.n > len(self.tree.roots())),
            distance_hops=int(self.traffic.hops.max()),
            link_load=int(self.traffic.loads.max()),
        )

    def layout(self) -> Layout:
        """Return the layout as coordinates."""
        across, z = self.place % self.fabric.grid.cells, self.place // self.fabric.grid.cells
        x, y = across % self.fabric.width, across // self.fabric.width
        return Layout(self.tree.parent, x, y, self.fabric.grid, z if self.fabric.layers > 1 else None)

    def figures(self) -> MachineExtra:
        """Return what the result says of the machine."""
        count = np.bincount(self.place, minlength=self.fabric.cells)
        used = np.bincount(self.place, weights=self.load.bytes, minlength=self.fabric.cells)
        found: MachineExtra = {
            "name": self.fabric.name,
            "processors": self.fabric.cells,
            "living": int(self.fabric.living.sum()),
            "used": int((count > 0).sum()),
            "per_processor": int(count.max()),
            "largest_bytes": int(used.max()),
            "memory_bytes": self.fabric.memory_bytes,
        }
        if len(self.traffic.round):
            found["rounds"] = int(self.traffic.round.max()) + 1
            if not ((self.traffic.colour < 0) & (self.traffic.hops > 0)).any():
                found["colours"] = int(self.traffic.colour.max()) + 1
        return found


def expect_machine(options: Machined, sizes: PerVertex = None, weights: PerVertex = None) -> bool:
    """Return whether the options name a machine; raises :class:`InputError` for those that go only with, or without."""
    only_with = ("per_processor", "sizes", "weights", "table", "routes", "csl")
    arrays = {"sizes": sizes, "weights": weights}
    if options.machine is None:
        for name in only_with:
            if getattr(options, name, None) is not None or arrays.get(name) is not None:
                raise InputError("is for machines", place=f"--{name.replace('_', '-')}", cure="give --machine as well")
        return False
    for name, default in (
        ("grid", None),
        ("curve", "auto"),
        ("exact", False),
        ("restarts", None),
        ("words", WORDS),
    ):
        given = getattr(options, name, default)
        if given != default:
            raise InputError("cannot be combined with --machine", place=f"--{name}", value=given)
    if getattr(options, "create", False) and (sizes is not None or getattr(options, "sizes", None) is not None):
        raise InputError("is for vertices of one size", place="--create", cure="give --vertex-bytes")
    return True


def machine_of(options: Machined) -> Fabric:
    """Return the machine that the options name; raises :class:`InputError`, too if no program can be written for it."""
    assert options.machine is not None
    fabric = load_machine(Path(options.machine))
    if getattr(options, "csl", None) is not None:
        expect_wafer(fabric)
    return fabric


def machine_and_load(
    tree: Tree,
    options: PlanOptions | BoundOptions | CheckOptions,
    search: Search,
    sizes: PerVertex = None,
    weights: PerVertex = None,
) -> tuple[Fabric, Load]:
    """Return the machine that the options name, and what the tree puts on it; raises :class:`InputError`.

    ``sizes`` and ``weights`` are arrays in place of files.
    """
    fabric = machine_of(options)
    expect_time(search)
    size = _numbers("sizes", sizes, options.sizes, options.vertex_bytes, tree, search)
    return fabric, Load(size, _numbers("weights", weights, options.weights, 1, tree, search))


def _numbers(name: str, given: PerVertex, file: Path | None, each: int, tree: Tree, search: Search) -> Index:
    """Return one number per vertex: those ``given``, or of the file, or ``each``; raises :class:`InputError`."""
    if given is None and file is None:
        return np.full(tree.n, each, np.int32)
    try:
        values = read_values(given, file, tree, None, 1, search)
    except InputError as error:
        error.place = error.place.replace("values", name) if given is not None else error.place
        raise
    if values.dtype.kind not in "iu":
        shown, allowed = f"array of {values.dtype}", "integers from 1"
        raise InputError("are not integers", file=file, place=name, value=shown, allowed=allowed)
    wrong = np.flatnonzero((values < 1) | (values > _MOST))
    if len(wrong):
        v, place = int(wrong[0]), f"vertex {wrong[0]}" if given is None else f"{name}[{wrong[0]}]"
        raise InputError("is out of range", file=file, place=place, value=int(values[v]), allowed=f"1 to {_MOST}")
    return values.astype(np.int32)


def plan_on_machine(
    tree: Tree, options: PlanOptions, search: Search, source: Source[Tree], sizes: PerVertex, weights: PerVertex
) -> Result[Layout, PlanExtra]:
    """Return a layout of a tree on a machine: see :func:`shorthaul.spatial.plan`."""
    if search.start() is not None and not (sizes is None and weights is None):
        what = "sizes" if weights is None else "weights"
        raise InputError("cannot be resumed with an array", place=what, cure="give it as a file, now and then")
    write_s = tuning.WRITE_S + tuning.WRITE_VERTEX_S * tree.n
    search.keep_back(write_s)
    with search:
        fabric, load = machine_and_load(tree, options, search, sizes, weights)
        most, puts = _placed(tree, fabric, load, options, search)
    name, put = puts[0]
    layout = put.layout()
    with Threads(1) as beside:
        checking = beside.submit(check_on_machine, layout, tree, fabric, load)
        rows = [_row(name, put), *(_row(other, one) for other, one in puts if options.baselines and one is not put)]
        bound = bounded(machine_bound(tree, load, fabric, most), fabric)
    report, cost = checking.result(), put.cost()
    if report.cost is None or dict(report.cost) != dict(cost):
        raise DefectError(f"the replay counts {report.cost or report.violations[:3]}, the search {cost}")
    put = export(put, options)
    extra: PlanExtra = {
        "vertices": tree.n,
        "grid": [fabric.width, fabric.height],
        "placement": name,
        "energy_per_vertex": cost["energy_hops"] / tree.n,
        "energy_per_edge": cost["energy_hops"] / max(1, tree.n - len(tree.roots())),
        "machine": put.figures(),
        "baselines": rows[1:],
    }
    if options.create:
        extra["creation"] = _creation(tree, fabric, load, most, search)
    return Result(
        "shorthaul/spatial-result",
        Status.OPTIMAL if bound.is_met_by(cost["energy_hops"]) else Status.FEASIBLE,
        cost=priced(cost, fabric),
        bound=bound,
        check=report,
        plan=layout,
        provenance=provenance("spatial plan", options=options, source=source, search=search),
        extra=extra,
        figures=views.machine_figures(tree, fabric, put.place, rows, put.traffic.loads),
    )


def _creation(tree: Tree, fabric: Fabric, load: Load, most: int, search: Search) -> dict[str, Any]:
    from shorthaul.spatial.algorithms.creation_cost import creation

    stored = place_on_fabric(load, fabric, {"stored": np.arange(tree.n, dtype=np.int32)}, most)["stored"]
    return creation(tree, stored, fabric, orders.positions(tree, "light-first"), search=search)


def _placed(
    tree: Tree, fabric: Fabric, load: Load, options: PlanOptions | MachineOptions, search: Search
) -> tuple[int, list[tuple[str, Put]]]:
    """Return how many vertices a processor holds at most, and layouts by name, the best first."""
    write_s = tuning.WRITE_S + tuning.WRITE_VERTEX_S * tree.n
    positions = ordered(tree, options.order, search)
    most = options.per_processor or most_vertices(load, fabric, positions)
    puts: list[tuple[str, Put]] = []
    for name, place in place_on_fabric(load, fabric, positions, most).items():
        if not (puts and search.expired()):
            computed_s = time.thread_time()
            puts.append((name, put := _put(tree, fabric, load, place)))
            expect_time(search, tuning.CHECKED_SENDS * (time.thread_time() - computed_s) if len(puts) == 1 else 0)
            search.keep(put.cost()["energy_hops"], put.layout)
    if search.start() is not None:
        resumed = fabric.numbers(search.start().x, search.start().y, search.start().z)
        if np.bincount(resumed).max() <= most:
            puts.append(("resumed", _put(tree, fabric, load, resumed)))
    puts.sort(key=lambda one: one[1].cost()["energy_hops"])
    search.keep_back(write_s + tuning.FINISH_S + tuning.FINISH_SHARE * search.elapsed_s())
    name, put = puts[0]
    objective = options.objective if isinstance(options, PlanOptions) and options.refine != 0 else "energy"
    first = search if objective == "energy" else before_objective(search)
    refined = refine_on_fabric(tree, load, fabric, put.place, most, options.refine, first)
    search.keep_back(write_s)
    if refined is not put.place:
        better = _put(tree, fabric, load, refined)
        if better.cost()["energy_hops"] < put.cost()["energy_hops"]:
            puts.insert(0, (f"{name} + refine", better))
            search.keep(better.cost()["energy_hops"], better.layout)
    if objective != "energy":
        start = puts[0][1].place
        relieved = relieve_fabric(objective, tree, load, fabric, start, most, options.refine, search)
        if relieved is not start:
            puts.insert(0, (f"{name} + refine", _put(tree, fabric, load, relieved)))
    return most, puts


def stored_on_fabric(
    tree: Tree, options: MachineOptions, search: Search, light_first: Index, layout: Layout | None
) -> StoredTree:
    """Return the tree as stored on the machine that the options name, with the layout given or a new one.

    What a vertex takes of the memory is for the program to say that runs there.
    """
    fabric = machine_of(options)
    expect_time(search)
    one = np.ones(tree.n, np.int32)
    load = Load(one, one)
    if layout is None:
        place = _placed(tree, fabric, load, options, search)[1][0][1].place
    else:
        expect_layout(check_on_machine(layout, tree, fabric, load), options.layout)
        place = fabric.numbers(layout.x, layout.y, layout.z)
        if options.refine:
            most = options.per_processor or int(np.bincount(place).max())
            refined = refine_on_fabric(tree, load, fabric, place, most, options.refine, search)
            place = min(place, refined, key=lambda one: _put(tree, fabric, load, one).cost()["energy_hops"])
    y, x = np.divmod(place % fabric.grid.cells, fabric.width)
    stored = store(tree, Layout(tree.parent, x, y, fabric.grid), light_first)
    return dataclasses.replace(stored, fabric=fabric, place=place[stored.vertex])


def expect_layout(report: CheckReport, file: Path | None) -> None:
    """Raise :class:`InputError` for the first violation in the check of a layout, or of its file."""
    for wrong in report.violations[:1]:
        raise InputError(f"is no layout of this tree: {wrong.message}", file=file, place=wrong.place)


def _put(tree: Tree, fabric: Fabric, load: Load, place: Index) -> Put:
    return Put(tree, fabric, load, place, send(fabric, tree.parent, place, load.weight))


def _row(name: str, put: Put) -> dict[str, float | str]:
    cost = put.cost()
    return {"placement": name, **cost, "energy_per_vertex": cost["energy_hops"] / put.tree.n}


def bound_on_machine(
    tree: Tree, options: BoundOptions, search: Search, sizes: PerVertex, weights: PerVertex
) -> tuple[Bound, BoundExtra]:
    """Return the lower bound on the energy of any layout on a machine with so many vertices per processor."""
    fabric, load = machine_and_load(tree, options, search, sizes, weights)
    most = options.per_processor or most_vertices(load, fabric, ordered(tree, options.order, search))
    return bounded(machine_bound(tree, load, fabric, most), fabric), {
        "vertices": tree.n,
        "grid": [fabric.width, fabric.height],
    }


def check_layout_on_machine(
    layout: Layout, tree: Tree, options: CheckOptions, search: Search, sizes: PerVertex, weights: PerVertex
) -> tuple[CheckReport, Put | None]:
    """Return what a replay of a layout on a machine finds, and if all is right, the layout as it is there."""
    fabric, load = machine_and_load(tree, options, search, sizes, weights)
    report = check_on_machine(layout, tree, fabric, load)
    if not report.ok:
        return report, None
    place = fabric.numbers(layout.x, layout.y, layout.z)
    return report, export(_put(tree, fabric, load, place), options)


def export(put: Put, options: PlanOptions | CheckOptions) -> Put:
    """Write the table, the routes and the program that the options ask for; return ``put`` with what that took."""
    tree, fabric = put.tree, put.fabric
    if options.table is not None:
        columns = processor_table(fabric, tree.parent, put.place, put.load, put.traffic)
        is_text = options.table.suffix.lower() != ".npz"
        outputs.put_bytes(options.table, _csv(columns) if is_text else archive(**columns))
    if options.csl is not None:
        outputs.put(options.csl, lambda file: write_messages(file, fabric, tree.parent, put.place))
    if options.routes is None:
        return put
    traffic = send(fabric, tree.parent, put.place, put.load.weight, trails=True)
    columns = {"starts": traffic.starts, "link": traffic.trail, "round": traffic.round, "colour": traffic.colour}
    sides = np.array([fabric.width, fabric.height, fabric.layers])
    outputs.put_bytes(options.routes, archive(parent=tree.parent, **columns, machine=sides))
    return Put(tree, fabric, put.load, put.place, traffic)


def _csv(columns: dict[str, Any]) -> bytes:
    starts, held = columns["starts"].tolist(), columns["held"].tolist()
    names = [name for name in columns if name not in {"starts", "held"}]
    cells = zip(*(columns[name].astype(np.int64).tolist() for name in names), strict=True)
    lines = [",".join([*names, "held"])]
    lines += [
        f"{','.join(map(str, row))},{' '.join(map(str, held[starts[p] : starts[p + 1]]))}"
        for p, row in enumerate(cells)
    ]
    return ("\n".join(lines) + "\n").encode()
