"""What there is to see: Gantt chart over one period, memory map, Pareto front, hypervolume."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial

from shorthaul.core.amounts import Bound
from shorthaul.core.figure import Bar, Bars, Figure, Line, Network, Node, Scatter, Series, Table, by_argument, by_point
from shorthaul.dataflow.mapping.binding import MappedNetwork, mapped_point
from shorthaul.dataflow.model import Application, Platform, SdfGraph, phases
from shorthaul.dataflow.plan import PeriodicSchedule, Point, StoragePlan, StoragePoint
from shorthaul.graphs.csr import from_edges, layers, topological_order

#: Actors of a graph that can still be read, resources beside one another, firings of an iteration.
_MOST_ACTORS = 150
_MOST_LOADS = 20
_MOST_FIRINGS = 5000


def point_label(number: int) -> str:
    """Return what a point of a front is called in figures."""
    return f"point {number}"


def front_figure(front: Sequence[Point], groups: Sequence[str] = ()) -> Scatter:
    """Return the Pareto front in its three objectives."""
    return Scatter(
        "Pareto front",
        ("period (ticks)", "footprint (bytes)", "core cost"),
        tuple(point.objectives for point in front),
        tuple(point_label(number) for number in range(len(front))),
        tuple(groups) or tuple(f"core cost {point.core_cost:g}" for point in front),
        note="No point is better than another in all three.",
    )


def _network(application: Application) -> tuple[Network, ...]:
    channels = [(item.src, item.dst, bool(item.delay)) for item in application.channels]
    return _drawn_graph([actor.id for actor in application.actors], channels)


def _drawn_graph(
    actors: Sequence[str], channels: Sequence[tuple[str, str, bool]], critical: Collection[str] = ()
) -> tuple[Network, ...]:
    """Return the graph, left to right as tokens flow; none if it is too large to be read.

    ``channels`` are source, target and whether tokens wait there; actors that are ``critical`` stand out.
    """
    if len(actors) > _MOST_ACTORS:
        return ()
    number = {actor: at for at, actor in enumerate(actors)}
    flow = from_edges(
        len(actors), [(number[source], number[target]) for source, target, waits in channels if not waits]
    )
    order = topological_order(flow)
    column = [0] * len(actors) if order is None else layers(flow, order).tolist()
    taken: Counter[int] = Counter()
    nodes = []
    for actor, at in zip(actors, column, strict=True):
        group = "on the critical cycle" if actor in critical else "other" if critical else ""
        nodes.append(Node(actor, actor, at, taken[at], group, "square"))
        taken[at] += 1
    return (Network("Actors and channels", tuple(nodes), tuple((source, target) for source, target, _ in channels)),)


def bound_figures(application: Application, least: float, by_cost: Sequence[tuple[float, int]]) -> tuple[Figure, ...]:
    """Return the least period, and the least by core cost, whatever the mapping, and the graph."""
    line = Line("lower bound", tuple(cost for cost, _ in by_cost), tuple(period for _, period in by_cost), "floor")
    limit = ("at any core cost", least)
    curve = Series("Least period by core cost", "core cost", "period (ticks)", (line,), limit=limit)
    return curve, *_network(application)


def mapping_bound_figures(application: Application, net: MappedNetwork, bound: Bound) -> tuple[Figure, ...]:
    """Return what the busiest resources of a mapping need in every period, and the graph."""
    loads = Counter({name: sum(tasks.values()) for name, tasks in net.resource_loads().items()})
    found = {f"load of {name}": ticks for name, ticks in loads.most_common(_MOST_LOADS)}
    cycle = {bound.method: bound.value} if bound.value > max(found.values(), default=0) else {}
    return by_argument("the period (ticks)", {**cycle, **found}), *_network(application)


def throughput_figures(graph: SdfGraph, schedule: PeriodicSchedule, critical: Collection[str]) -> tuple[Figure, ...]:
    """Return one iteration of the schedule, and the graph with the cycle that limits the period."""
    channels = [(item.source, item.target, item.tokens > 0) for item in graph.channels]
    return *_iteration(graph, schedule), *_drawn_graph([actor.id for actor in graph.actors], channels, critical)


def _iteration(graph: SdfGraph, schedule: PeriodicSchedule) -> tuple[Bars, ...]:
    """Return when the firings of one iteration run; nothing of too many firings, or where nothing limits the period."""
    if not schedule.period or sum(schedule.firings.values()) > _MOST_FIRINGS:
        return ()
    bars = []
    for actor in graph.actors:
        starts, (times,) = schedule.starts[actor.id], (phases(time) for time in actor.times.values())
        firings, rounds = schedule.firings[actor.id], len(starts)
        for firing in range(firings):
            begun = starts[firing % rounds] * firings + firing // rounds * rounds * schedule.period
            start = begun / (firings * schedule.denominator)
            bars.append(Bar(actor.id, start, start + times[firing % len(times)], f"{actor.id} {firing}"))
    return (Bars("One iteration", "tick", tuple(bars), note="The next iteration begins a period later."),)


def storage_figures(graph: SdfGraph, plan: StoragePlan) -> tuple[Figure, ...]:
    """Return the front of storage against throughput, and of its points the buffers and an iteration."""
    period = [float(Fraction(point.period)) for point in plan.front]
    line = Line(
        "least storage", tuple(point.size for point in plan.front), tuple(1 / p if p else None for p in period), "step"
    )
    labels = tuple(f"storage {point.size:,}" for point in plan.front)
    curve = Series("Throughput by storage", f"storage ({plan.unit})", "iterations per tick", (line,), points=labels)
    shown = ((name, partial(_of_storage, graph, point)) for name, point in zip(labels, plan.front, strict=True))
    return curve, *by_point(shown)


def _of_storage(graph: SdfGraph, point: StoragePoint) -> tuple[Table | Bars, ...]:
    return Table("Buffers", ("buffer", "tokens"), tuple(point.capacities.items())), *_iteration(graph, point.schedule)


def hypervolume_figure(traces: Mapping[str, Sequence[float]]) -> Series:
    """Return the hypervolume over the generations, one curve per trace, thinned to a few hundred values."""
    lines = []
    for name, trace in traces.items():
        if not trace:  # there was no time for any
            continue
        step = max(1, len(trace) // 400)
        kept = sorted({*range(0, len(trace), step), len(trace) - 1})
        lines.append(Line(name, tuple(kept), tuple(trace[i] for i in kept)))
    return Series("Hypervolume over generations", "generation", "share of the box dominated", tuple(lines))


def _tasks(net: MappedNetwork) -> Iterator[tuple[str, str, int, str]]:
    """Yield every task on every core and interconnect that it takes: where, its name, ticks and kind."""
    for name in net.network.actors:
        yield net.binding[name], name, net.execution[name], "execution"
        for kind, tasks in (("read", net.reads[name]), ("write", net.writes[name])):
            for task in (task for task in tasks if task.duration):
                yield from ((lane, task.name, task.duration, kind) for lane in (net.binding[name], *task.route))


def gantt_figure(net: MappedNetwork, point: Point) -> Bars:
    """Return one period of the schedule: every core and interconnect, tasks that wrap around in two parts."""
    period, starts = point.period, point.starts
    bars: list[Bar] = []
    for lane, task, length, group in _tasks(net):
        low = starts[task] % period
        iteration = starts[task] // period
        label = task if not iteration else f"{task} -{iteration}"
        if low + length <= period:
            bars.append(Bar(lane, low, low + length, label, group))
            continue
        bars.append(Bar(lane, low, period, label, group))
        bars.append(Bar(lane, 0, low + length - period, f"{label} (wrapped)", group))
    bars.sort(key=lambda bar: (bar.lane.startswith("h_"), bar.lane, bar.start))
    return Bars(
        "Schedule over one period",
        "tick of the period",
        tuple(bars),
        note="A number after a task says how many periods back its iteration began.",
    )


def memory_figure(net: MappedNetwork, platform: Platform, point: Point) -> Bars:
    """Return the memory map: the buffers of every memory that is used, one after the other, in bytes."""
    limits = platform.memories
    used: dict[str, int] = {}
    bars = []
    for buffer in net.network.buffers:
        memory = net.memory[buffer.id]
        limit = limits[memory]
        size = point.capacities[buffer.id] * buffer.token_bytes
        begin = used.get(memory, 0)
        used[memory] = begin + size
        lane = memory if limit is None else f"{memory} ({limit} bytes)"
        kind = "multi-reader buffer" if len(buffer.readers) > 1 else "channel"
        bars.append(Bar(lane, begin, begin + size, f"{buffer.id} x {point.capacities[buffer.id]}", kind))
    return Bars("Memory map", "bytes", tuple(sorted(bars, key=lambda bar: (bar.lane, bar.start))))


def load_table(net: MappedNetwork, period: int) -> Table:
    """Return how busy every resource is, the busiest first."""
    loads = {name: sum(tasks.values()) for name, tasks in net.resource_loads().items()}
    rows = tuple(
        (name, ticks, f"{ticks / period:.1%}") for name, ticks in sorted(loads.items(), key=lambda item: -item[1])[:200]
    )
    return Table("Load of the resources", ("resource", "ticks per period", "share"), rows)


def point_figures(net: MappedNetwork, platform: Platform, point: Point) -> tuple[Bars, Bars, Table]:
    """Return everything there is to see of one point."""
    return gantt_figure(net, point), memory_figure(net, platform, point), load_table(net, point.period)


def figures_of_points(application: Application, platform: Platform, front: Sequence[Point]) -> tuple[Figure, ...]:
    """Return the graph, and what there is to see of the points of a front, of as many as a page holds."""
    points = by_point(
        (point_label(number), partial(_point_figures, application, platform, point))
        for number, point in enumerate(front)
    )
    return *_network(application), *points


def _point_figures(application: Application, platform: Platform, point: Point) -> tuple[Bars, Bars, Table]:
    return point_figures(mapped_point(application, platform, point), platform, point)


def chrome_trace(
    application: Application, net: MappedNetwork, point: Point, *, iterations: int = 4
) -> dict[str, object]:
    """Return the first iterations as a Chrome trace (chrome://tracing, Perfetto): one thread per resource.

    Times are in microseconds, as that format has it.
    """
    per_tick = 1e6 / application.ticks_per_second
    lanes: dict[str, int] = {}
    events: list[dict[str, object]] = []

    for lane, task, length, category in _tasks(net):
        thread = lanes.setdefault(lane, len(lanes) + 1)
        for k in range(iterations):
            begin = (point.starts[task] + k * point.period) * per_tick
            events.append(
                {"name": task, "cat": category, "ph": "X", "ts": begin, "dur": length * per_tick, "pid": 1,
                 "tid": thread, "args": {"iteration": k}}
            )  # fmt: skip
    names = [
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": thread, "args": {"name": lane}}
        for lane, thread in lanes.items()
    ]
    return {"traceEvents": [*names, *events], "displayTimeUnit": "ms"}
