"""Figures of the pebble engine, as data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from shorthaul.core.amounts import Bound
from shorthaul.core.figure import Bar, Bars, Figure, Line, Network, Node, OfPoint, Series, Table, by_argument
from shorthaul.graphs.csr import layers
from shorthaul.pebble.check.replay import occupancy
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.plan import Move, Plan, SramEstimate, as_computed
from shorthaul.pebble.sram import SOURCE, Sram

FloatArray = npt.NDArray[np.float64]

#: Points of a curve and nodes of a drawing; beyond, curves are thinned and drawings left out.
MOST_POINTS = 1000
MOST_DRAWN = 150
#: Moves whose occupancy a trace tells one by one.
MOST_COUNTED = 20_000
#: The names of the two baselines of a sweep.
BASELINES = ("layer_by_layer", "layer_by_layer_freeing")


def of_plan(
    cdag: Cdag, plan: Plan, budget: int | None, *, in_place: bool = False, counted: int = MOST_COUNTED
) -> tuple[OfPoint, ...]:
    """Return the figures of a plan: occupancy and traffic over the moves, pebbles over time, the graph's schedule.

    The occupancy is told at so many moves at most.
    """
    plan = as_computed(plan, cdag.edge_arrays()[1])
    held = occupancy(cdag, plan, in_place=in_place)
    figures: list[OfPoint] = [_occupancy(held, budget, counted), _traffic(cdag, plan)]
    if cdag.n <= MOST_DRAWN and len(plan) <= 20 * MOST_DRAWN:
        figures += [_pebbles(cdag, plan), _graph(cdag, plan)]
    return tuple(figures)


def of_bound(cdag: Cdag, bound: Bound) -> tuple[Figure, ...]:
    """Return the figures of a bound: what every argument proves, beside inputs and outputs alone, and the graph."""
    plain = {"inputs and outputs": cdag.algorithmic_bound()} if bound.of == "traffic" else {}
    found = {name: value for name, value in bound.details.get("bounds", {}).items() if name != "algorithmic"}
    graph = (_graph(cdag),) if cdag.n <= MOST_DRAWN else ()
    return (by_argument(f"{bound.of} (weight)", {**plain, **found, bound.method: bound.value}), *graph)


def _thinned(values: IntArray, most: int = MOST_POINTS) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return (positions, values) with the extremes of every stretch, at most so many pairs."""
    if len(values) <= most:
        return tuple(range(len(values))), tuple(values.tolist())
    count = np.arange(most // 2 + 1)
    size, longer = divmod(len(values), most // 2)
    stretches = pairwise((count * size + np.minimum(count, longer)).tolist())
    chosen = sorted({a + int(f(values[a:b])) for a, b in stretches for f in (np.argmin, np.argmax)})
    return tuple(chosen), tuple(values[chosen].tolist())


def _occupancy(held: IntArray, budget: int | None, counted: int) -> Series:
    x, y = _thinned(held, counted)
    return Series(
        title="Fast-memory occupancy",
        x_label="move",
        y_label="weight in fast memory",
        lines=(Line("occupancy", x, y, style="step"),),
        limit=None if budget is None else ("budget", budget),
        over_time=True,
    )


def _traffic(cdag: Cdag, plan: Plan) -> Series:
    lines = []
    for kind, name in ((Move.LOAD, "loads"), (Move.STORE, "stores")):
        x, y = _thinned(np.cumsum(np.where(plan.kinds == kind, cdag.weights[plan.nodes], 0)))
        lines.append(Line(name, x, y, style="step"))
    return Series(
        title="Traffic over the moves", x_label="move", y_label="weight moved", lines=tuple(lines), limit=None
    )


def _pebbles(cdag: Cdag, plan: Plan) -> Bars:
    since: dict[int, tuple[int, str]] = {}
    bars: list[Bar] = []
    names = cdag.names()
    for time, (move, node) in enumerate(plan):
        if move in {Move.LOAD, Move.COMPUTE}:
            since.setdefault(node, (time, "loaded" if move is Move.LOAD else "computed"))
        elif move is Move.DELETE and node in since:
            start, how = since.pop(node)
            bars.append(Bar(names[node], start, time, group=how))
    bars += [Bar(names[node], start, len(plan), group=how) for node, (start, how) in since.items()]
    return Bars("Red pebbles over time", "move", tuple(bars))


def _graph(cdag: Cdag, plan: Plan | None = None) -> Network:
    """Return the graph by depth; with a plan, what was spilled and when a value first is in fast memory."""
    moves = () if plan is None else tuple(plan)
    depth = layers(cdag.children, cdag.order).tolist()
    height = [0] * (max(depth) + 1)
    widest = max(np.bincount(depth).tolist())
    width = np.bincount(depth).tolist()
    first = {node: time for time, (move, node) in reversed(list(enumerate(moves))) if move is not Move.STORE}
    spilled = {node for move, node in moves if move is Move.STORE} - set(cdag.outputs().tolist())
    inputs, outputs = set(cdag.inputs().tolist()), set(cdag.outputs().tolist())
    rest, title = ("operation", "Computation DAG") if plan is None else ("kept", "Computation DAG and what was spilled")
    nodes = []
    for node in range(cdag.n):
        layer = depth[node]
        y = (height[layer] + 0.5) * widest / width[layer]
        height[layer] += 1
        group = "spilled" if node in spilled else "input" if node in inputs else "output" if node in outputs else rest
        hover = f"weight {int(cdag.weights[node])}"
        if plan is not None:
            hover += f", first in fast memory at move {first.get(node, '-')}"
        label = str(cdag.id_of(node))
        shape: Literal["circle", "square"] = "square" if node in inputs else "circle"
        nodes.append(Node(str(node), label, layer, y, group=group, shape=shape, hover=hover))
    sources, targets = cdag.edge_arrays()
    edges = tuple((str(a), str(b)) for a, b in zip(sources.tolist(), targets.tolist(), strict=True))
    return Network(title, tuple(nodes), edges)


def of_points(
    points: Sequence[tuple[int, int, float, tuple[int, int] | None]], of: str = "traffic"
) -> tuple[Figure, ...]:
    """Return the curve of (budget, cost, bound, baselines): the trade-off a designer reads; ``of`` names the cost."""
    if not points:
        return ()
    budgets = tuple(point[0] for point in points)
    lines = [  # a plan fits every larger memory as well: stairs, not slopes
        Line("plan", budgets, tuple(point[1] for point in points), "step"),
        Line("lower bound", budgets, tuple(point[2] for point in points), "floor"),
    ]
    if all(point[3] is not None for point in points):
        for i, name in enumerate(BASELINES):
            lines.append(
                Line(name.replace("_", " "), budgets, tuple(point[3][i] for point in points if point[3]), "step")
            )
    label = "traffic (weight)" if of == "traffic" else "total (price)"
    title = f"{of.capitalize()} by fast memory"
    names = tuple(map(point_label, budgets))
    return (Series(title, "fast memory (weight)", label, tuple(lines), log_x=True, points=names),)


def point_label(budget: int) -> str:
    """Return what a point of a curve of budgets is called in figures."""
    return f"budget {budget:,}"


def sram_document(one: Sram) -> SramEstimate:
    """Return an SRAM estimate as a JSON object."""
    return {
        "capacity_bits": one.capacity_bits,
        "area_um2": round(one.area_um2, 1),
        "relative_leakage": round(one.relative_leakage, 4),
        "relative_read_energy": round(one.relative_read_energy, 4),
        "interpolated": one.interpolated,
        "extrapolated": one.extrapolated,
    }


def of_sram(estimates: Sequence[Sram]) -> Table:
    """Return the table of SRAM estimates."""
    return Table(
        "SRAM estimates",
        ("capacity (bits)", "area (um^2)", "leakage (1 Kb = 1)", "read energy (1 Kb = 1)", "how"),
        tuple(
            (
                one.capacity_bits,
                round(one.area_um2, 1),
                round(one.relative_leakage, 3),
                round(one.relative_read_energy, 3),
                "extrapolated" if one.extrapolated else "interpolated" if one.interpolated else "table",
            )
            for one in estimates
        ),
        note=f"{SOURCE}; the weights are taken as bits.",
    )


def of_execution(kernel: str, outputs: FloatArray, expected: FloatArray) -> Series:
    """Return the outputs of an execution beside the direct result."""
    shown = tuple(range(min(len(outputs), MOST_POINTS)))
    return Series(
        title=f"Executed: {kernel}",
        x_label="output",
        y_label="value",
        lines=(
            Line("through the fast memory", shown, tuple(outputs[: len(shown)].tolist()), style="points"),
            Line("direct", shown, tuple(expected[: len(shown)].tolist())),
        ),
    )
