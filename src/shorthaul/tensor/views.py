"""What a report shows of a schedule: the graph with its grouping, the timeline, fast memory, the subgraphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from shorthaul.core.amounts import Bound
from shorthaul.core.figure import Bar, Bars, Figure, Line, Network, Node, OfPoint, Series, Table, by_argument
from shorthaul.tensor.check.replay import Replay, SubgraphReplay
from shorthaul.tensor.check.steps import Floats
from shorthaul.tensor.model import Problem
from shorthaul.tensor.plan import Plan, Subgraph

#: Points of a curve over time; longer traces are gathered into as many intervals.
_MOST_POINTS: Final = 400
#: Graph inputs are drawn up to this many.
_MOST_INPUTS: Final = 80


def figures(problem: Problem, plan: Plan, replayed: Replay) -> tuple[OfPoint, ...]:
    """Return what a report shows of ``plan``; only the graph and the table if a subgraph cannot be replayed."""
    done = [subgraph for subgraph in replayed.subgraphs if subgraph is not None]
    shown: list[OfPoint] = [operator_graph(problem, plan)]
    if done and len(done) == len(plan.subgraphs) and sum(subgraph.latency for subgraph in done) > 0:
        steps = _steps(problem, done)
        shown += [timeline(problem, done), utilisation(steps), occupancy(problem, steps)]
    shown.append(subgraph_table(problem, plan, replayed))
    return tuple(shown)


def of_bound(problem: Problem, bound: Bound) -> tuple[Figure, ...]:
    """Return the figures of a bound: what every argument proves, and the operators."""
    names = ("compute", "boundary_traffic", "streamed_operands", "linear_program")
    found = {name.replace("_", " "): bound.details[name] for name in names if name in bound.details}
    return by_argument(bound.of, found), operator_graph(problem)


def operator_graph(problem: Problem, plan: Plan | None = None) -> Network:
    """Return the operators by depth, coloured by the subgraph of a plan that first executes them, else by kind."""
    runs: dict[int, list[int]] = {}
    for number, subgraph in enumerate(() if plan is None else plan.subgraphs):
        for operator in subgraph.operators:
            runs.setdefault(operator, []).append(number)
    shown_inputs = [tensor for tensor in problem.graph_inputs if problem.consumers[tensor]]
    if len(shown_inputs) > _MOST_INPUTS:
        shown_inputs = []
    place = _layout(problem, shown_inputs)
    nodes = [
        Node(name, name, *place[name], group="graph input", hover=_tensor_text(problem, int(name[1:])))
        for name in place
        if name[0] == "t"
    ]
    nodes += [
        _operator_node(problem, index, place[f"o{index}"], None if plan is None else runs.get(index, []))
        for index in problem.topological_order
    ]
    edges = [
        (f"t{tensor}" if source is None else f"o{source}", f"o{index}")
        for index, operator in enumerate(problem.operators)
        for tensor in dict.fromkeys(operator.inputs)
        if (source := problem.producer[tensor]) is not None or tensor in shown_inputs
    ]
    note = "" if shown_inputs else "Graph inputs are left out. "
    if plan is None:
        return Network("Operator graph", tuple(nodes), tuple(edges), note=note)
    note += "The colour is the subgraph that executes an operator first; recomputation is told under the mouse."
    return Network("Operator graph and its grouping", tuple(nodes), tuple(edges), note=note)


def _layout(problem: Problem, shown_inputs: list[int]) -> dict[str, tuple[float, float]]:
    """Return where operators and graph inputs are drawn: a column for each depth, rows near those of their sources."""
    place: dict[str, tuple[float, float]] = {}
    taken: set[tuple[float, float]] = set()

    def put(name: str, column: float, wanted: float) -> None:
        # The nearest row that is free: 0, 1, -1, 2, -2, ... beside the wanted one.
        offsets = (sign * distance for distance in range(len(problem.tensors) + 1) for sign in (1, -1))
        row = next(wanted + offset for offset in offsets if (column, wanted + offset) not in taken)
        taken.add((column, row))
        place[name] = (column, row)

    for operator in problem.topological_order:
        sources = [problem.producer[tensor] for tensor in problem.operators[operator].inputs]
        spots = [place[f"o{source}"] for source in sources if source is not None]
        column = 1 + max((spot[0] for spot in spots), default=0)
        put(f"o{operator}", column, round(sum(spot[1] for spot in spots) / len(spots)) if spots else 0)
    for tensor in shown_inputs:
        column, row = min(place[f"o{user}"] for user in problem.consumers[tensor])
        put(f"t{tensor}", column - 0.5, row + 0.5)
    return place


def _operator_node(problem: Problem, index: int, place: tuple[float, float], runs: list[int] | None) -> Node:
    """Return an operator with the subgraphs that execute it; None where there is no plan."""
    operator = problem.operators[index]
    group = operator.kind.value if runs is None else f"subgraph {runs[0]}" if runs else "in no subgraph"
    again = f", computed again in {', '.join(map(str, runs[1:]))}" if runs and len(runs) > 1 else ""
    cost = f"base cost {operator.base_cost:g}"
    hover = f"{operator.kind} {index}: {group}{again}; {cost}; {_tensor_text(problem, operator.output)}"
    return Node(f"o{index}", str(index), *place, group=group, shape="square", hover=hover)


def _tensor_text(problem: Problem, tensor: int) -> str:
    shape = problem.tensors[tensor]
    return f"tensor {tensor}, {shape.height} x {shape.width}"


@dataclass(frozen=True, slots=True)
class _StepSeries:
    """The steps of a whole plan: when they start and end, what they use."""

    start: Floats
    stop: Floats
    compute: Floats
    memory: Floats
    held: Floats


def _steps(problem: Problem, done: list[SubgraphReplay]) -> _StepSeries:
    """Return all steps in a row; a subgraph too long for a trace counts as one step."""
    latency, compute, memory, held = [], [], [], []
    for subgraph in done:
        trace = subgraph.trace
        if trace is None:
            latency.append([subgraph.latency])
            compute.append([subgraph.compute])
            memory.append([(subgraph.loads + subgraph.stores) / problem.machine.bandwidth])
            held.append([subgraph.peak])
        else:
            latency.append(trace.latency.tolist())
            compute.append(trace.compute.tolist())
            memory.append(((trace.loads + trace.stores) / problem.machine.bandwidth).tolist())
            held.append(trace.working_set.tolist())
    stop = np.cumsum(np.concatenate(latency))
    return _StepSeries(
        start=np.concatenate([[0.0], stop[:-1]]),
        stop=stop,
        compute=np.concatenate(compute),
        memory=np.concatenate(memory),
        held=np.concatenate(held).astype(np.float64),
    )


def timeline(problem: Problem, done: list[SubgraphReplay]) -> Bars:
    """Return when each subgraph runs and how long its compute and its memory traffic take of that."""
    bars = []
    start = 0.0
    for number, subgraph in enumerate(done):
        memory = (subgraph.loads + subgraph.stores) / problem.machine.bandwidth
        bars += [
            Bar("subgraph", start, start + subgraph.latency, label=str(number), group="subgraph"),
            Bar("compute", start, start + subgraph.compute, label=str(number), group="compute"),
            Bar("memory", start, start + memory, label=str(number), group="memory"),
        ]
        start += subgraph.latency
    note = "The longer of compute and memory decides each step; a subgraph takes the sum over its steps."
    return Bars("Timeline of subgraphs", "time", tuple(bars), note=note)


def utilisation(steps: _StepSeries) -> Series:
    """Return how busy compute and memory are over time: the one at 1 is the roof under which a step runs."""
    edges = _edges(steps)
    width = np.diff(edges)
    lines = []
    for name, busy in (("compute", steps.compute), ("memory", steps.memory)):
        done = np.concatenate([[0.0], np.cumsum(busy)])
        share = np.diff(np.interp(edges, np.concatenate([[0.0], steps.stop]), done)) / width
        lines.append(_stairs(name, edges, np.clip(share, 0.0, 1.0)))
    return Series("Compute and memory over time", "time", "share of the time in use", tuple(lines))


def occupancy(problem: Problem, steps: _StepSeries) -> Series:
    """Return the working set over time, the most of each interval, against the capacity."""
    edges = _edges(steps)
    first = np.searchsorted(steps.stop, edges[:-1], side="right")
    last = np.maximum(np.searchsorted(steps.start, edges[1:], side="left"), first + 1)
    most = np.array([steps.held[a:b].max() for a, b in zip(first, last, strict=True)])
    line = _stairs("working set", edges, most)
    capacity = ("capacity", problem.machine.capacity)
    return Series("Fast memory over time", "time", "elements held", (line,), limit=capacity)


def _edges(steps: _StepSeries) -> Floats:
    """Return the borders of the intervals that curves over time are drawn with: those of the steps if they are few."""
    own = np.unique(np.concatenate([[0.0], steps.stop]))
    return own if len(own) <= _MOST_POINTS + 1 else np.linspace(0.0, steps.stop[-1], _MOST_POINTS + 1)


def _stairs(name: str, edges: Floats, values: Floats) -> Line:
    closed = [*values.tolist(), values[-1].item()]
    return Line(name, tuple(round(x, 3) for x in edges.tolist()), tuple(round(y, 4) for y in closed), style="step")


def subgraph_table(problem: Problem, plan: Plan, replayed: Replay) -> Table:
    """Return one row for every subgraph: what it does and what that costs."""
    columns = (
        *("subgraph", "operators", "w×h×k", "tiles", "steps", "order", "resident", "retained"),
        *("compute", "memory", "latency", "bound by", "peak"),
    )
    rows = [
        _row(problem, number, subgraph, seen)
        for number, (subgraph, seen) in enumerate(zip(plan.subgraphs, replayed.subgraphs, strict=True))
    ]
    return Table("Subgraphs", columns, tuple(rows))


def _row(
    problem: Problem, number: int, subgraph: Subgraph, seen: SubgraphReplay | None
) -> tuple[str | int | float | None, ...]:
    size = subgraph.granularity
    head = (number, _numbers(subgraph.operators), f"{size.w}×{size.h}×{size.k}")
    if seen is None:
        return (*head, None, None, "-", "-", _numbers(subgraph.retained), None, None, None, "-", None)
    memory = (seen.loads + seen.stores) / problem.machine.bandwidth
    shares = (seen.compute / seen.latency, memory / seen.latency) if seen.latency else (1.0, 1.0)
    roof = "compute" if shares[0] > 1 - 1e-9 else "memory" if shares[1] > 1 - 1e-9 else "both"
    order = _order(subgraph, seen)
    return (
        *(*head, seen.grid.tiles, seen.grid.steps, order, _numbers(sorted(seen.resident)), _numbers(subgraph.retained)),
        *(round(seen.compute, 3), round(memory, 3), round(seen.latency, 3), roof, seen.peak),
    )


def _order(subgraph: Subgraph, seen: SubgraphReplay) -> str:
    if subgraph.traversal is None:
        return "default"
    return "raster" if subgraph.traversal == tuple(range(seen.grid.tiles)) else "own"


def _numbers(values: tuple[int, ...] | list[int]) -> str:
    return " ".join(map(str, values)) or "-"
