"""Lower bounds: on the period of a mapping, and on period, footprint and core cost of every mapping."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, groupby
from typing import Any

import numpy as np

from shorthaul.core.amounts import Bound
from shorthaul.core.errors import InputError
from shorthaul.dataflow.bounds.firings import busiest_crossbar, least_accesses, least_executions, least_firings
from shorthaul.dataflow.bounds.period_at_cost import period_at_cost
from shorthaul.dataflow.graphs.events import Events
from shorthaul.dataflow.graphs.multi_reader_buffers import Network, substitute_mrbs
from shorthaul.dataflow.graphs.periodic import longest_distances
from shorthaul.dataflow.mapping.binding import MappedNetwork
from shorthaul.dataflow.model import Application, Platform
from shorthaul.dataflow.plan import CorePrices, FrontBounds, Point, TilePrices

_MOST_TYPES = 12
_MOST_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Cycle:
    """A cycle of the graph and its ratio: ticks of work per initial token on it."""

    ratio: Fraction
    actors: tuple[str, ...]

    @property
    def path(self) -> str:
        """The cycle in words: of firings of one actor in a row the first and the last, and no more than the start."""
        shown: list[str] = []
        for _, firings in groupby(self.actors, key=lambda name: name.partition("#")[0]):
            row = [*firings]
            shown += row if len(row) <= 2 else [row[0], "...", row[-1]]
        shown = shown if len(shown) <= _MOST_SHOWN else [*shown[:_MOST_SHOWN], "..."]
        return " -> ".join((*shown, self.actors[0]))


def maximum_cycle_ratio(
    nodes: Sequence[str], edges: Sequence[tuple[str, str, int, int]], *, above: int = -1
) -> Cycle | None:
    """Return the cycle with the most ticks per token among ``edges`` (from, to, ticks, tokens).

    None if no cycle has more than ``above``, or one has no token. From one cycle to the next better one: while some
    cycle is longer than its tokens times the best ratio so far, take its ratio.

    >>> maximum_cycle_ratio(["a", "b"], [("a", "b", 3, 0), ("b", "a", 4, 2)]).ratio
    Fraction(7, 2)
    """
    if not edges:
        return None
    number = {node: i for i, node in enumerate(nodes)}
    arcs = sorted((number[target], number[source], ticks, tokens) for source, target, ticks, tokens in edges)
    target, source, ticks, tokens = np.array(arcs, np.int64).T.copy()
    starts = np.searchsorted(target, np.arange(len(nodes) + 1))
    events = Events(starts, source, target, ticks, tokens, np.zeros(len(arcs), np.int64), 1)
    best: Cycle | None = None
    while True:
        ratio = Fraction(max(0, above)) if best is None else best.ratio
        found = longest_distances(events, ratio, np.zeros(len(nodes)))
        if not isinstance(found, tuple):
            return best
        on = events.cycle(*found)
        if not tokens[on].any():
            return None
        total, held = (sum(items[on].tolist()) for items in (ticks, tokens))  # integers of NumPy would wrap
        best = Cycle(Fraction(total, held), tuple(nodes[v] for v in source[on]))


def period_bound(net: MappedNetwork) -> Bound:
    """Return the bound on the period of one mapping: its busiest resource or its slowest cycle, by name."""
    tasks_on = net.resource_loads()
    loads = {name: sum(tasks.values()) for name, tasks in tasks_on.items()}
    busiest = max(loads, key=lambda name: loads[name])
    value, method = loads[busiest], "resource load"
    parts = tasks_on[busiest]
    shown = ", ".join(
        f"{name} {ticks}" for name, ticks in sorted(parts.items(), key=lambda item: -item[1])[:6] if ticks
    )
    more = "" if len(parts) <= 6 else ", ..."
    proof = f"{busiest} is busy for {value} ticks in every period: {shown}{more}"
    details: dict[str, Any] = {"limited_by": busiest}
    cycle = maximum_cycle_ratio(net.network.actors, _edges(net), above=value)
    if cycle is not None:
        value, method = -(-cycle.ratio.numerator // cycle.ratio.denominator), "maximum cycle ratio"
        path = cycle.path
        proof = f"one round of {path} takes {cycle.ratio} ticks per initial token on it"
        details = {"limited_by": path}
    return Bound("period", max(1, value), method, proof, details)


def _edges(net: MappedNetwork) -> list[tuple[str, str, int, int]]:
    """Execution, write and read one after the other, per pair of actors that a buffer joins."""
    reads, writes = net.read_tasks(), net.write_tasks()
    edges = []
    for buffer in net.network.buffers:
        done = net.execution[buffer.writer] + writes[buffer.id].duration
        edges += [(buffer.writer, task.actor, done + task.duration, buffer.delay) for task in reads[buffer.id]]
    return edges


@dataclass(frozen=True, slots=True)
class FrontBound:
    """Bounds that hold for every mapping; ``period_at_cost`` gives (core cost, least period at that cost or below).

    ``proofs`` are of those least periods that have one, from the highest core cost on.
    """

    period: Bound
    footprint: Bound
    core_cost: Bound
    period_at_cost: tuple[tuple[float, int], ...]
    proofs: tuple[CorePrices | TilePrices, ...] = ()

    @property
    def ideal(self) -> tuple[float, float, float]:
        """The corner that no point can beat: period, footprint, core cost."""
        return self.period.value, self.footprint.value, self.core_cost.value

    def document(self) -> FrontBounds:
        """Return the bounds as JSON."""
        document: FrontBounds = {
            "period": self.period.document(),
            "footprint_bytes": self.footprint.document(),
            "core_cost": self.core_cost.document(),
            "period_at_core_cost": [list(pair) for pair in self.period_at_cost],
        }
        if self.proofs:
            document["proofs"] = [*self.proofs]
        return document


def bounds_on_all(application: Application, platform: Platform, strategy: str) -> FrontBound:
    """Return the bounds on every mapping that a strategy allows."""
    replaced = dict.fromkeys(application.multicasts, 0 if strategy == "reference" else 1)
    try:
        network = substitute_mrbs(application, replaced)
    except InputError:
        if strategy == "mrb-always":
            raise
        network = substitute_mrbs(application, {})
        cheap = {c.id: c for c in application.channels if c.src not in application.multicasts}
        buffers = tuple(buffer for buffer in network.buffers if buffer.id in cheap)
        network = dataclasses.replace(network, buffers=buffers)
    return front_bound(application, platform, strategy, network)


def front_bound(application: Application, platform: Platform, strategy: str, network: Network) -> FrontBound:
    """Return bounds on all points of a front; ``network`` is the graph with every replacement the strategy allows.

    Multicasts count towards the period only where the strategy keeps them all.
    """
    kept = {a.id for a in application.actors if a.kind != "multicast" or strategy == "reference"}
    firing = least_firings(application, platform, kept)
    busiest = busiest_crossbar(application, platform, kept)
    curve = period_at_cost(application, platform, firing, busiest[1])
    period = _any_period(application, platform, strategy, firing, busiest, curve)
    curve = tuple((cost, max(least, int(period.value))) for cost, least in curve)
    return FrontBound(period, _footprint(network), _core_cost(platform, firing), curve)


def of_complete_front(bounds: FrontBound, points: Sequence[Point], most: float | None = None) -> FrontBound:
    """Return the bounds that the points prove where no others exist: the least period at every core cost or below.

    ``most`` is the core cost up to which no others exist; None: whatever they cost.
    """
    costs = sorted({cost for cost, _ in bounds.period_at_cost} | {point.core_cost for point in points})
    known = dict(bounds.period_at_cost)
    curve = []
    for cost in costs:
        periods = [point.period for point in points if point.core_cost <= cost]
        if most is not None and cost > most:
            curve.append((cost, known[cost]))
        elif periods or cost in known:
            curve.append((cost, min(periods, default=known.get(cost, 1))))
    if most is not None:
        return dataclasses.replace(bounds, period_at_cost=tuple(curve))
    least = min(point.period for point in points)
    proof = f"every mapping was looked at: none has a schedule of period {least - 1}"
    period = Bound("period", least, "every mapping", proof)
    return dataclasses.replace(bounds, period=period, period_at_cost=tuple(curve))


def _any_period(
    application: Application, platform: Platform, strategy: str, tau: dict[str, dict[str, int]],
    busiest: tuple[str, int], curve: Sequence[tuple[float, int]],
) -> Bound:  # fmt: skip
    slowest = max(tau, key=lambda name: min(tau[name].values()))
    value, method = min(tau[slowest].values()), "slowest actor"
    proof = f"a firing of {slowest} takes {value} ticks where it is fastest, with the accesses that cannot be local"
    if busiest[1] > value:
        value, method = busiest[1], "crossbar of one tile"
        proof = f"wherever {busiest[0]} is, the crossbar there carries tokens too large for any core for {value} ticks"
    if curve and curve[-1][1] > value:
        value, method = curve[-1][1], "all resources together"
        proof = (
            f"all firings and accesses, shared out at will, keep cores, crossbars and network busy for {value} ticks"
        )
    # of a firing, a cycle holds the execution and one access at either end; a replaced multicast takes no time, and
    # loses at most the delays of its outputs
    execution, access = least_executions(application, platform, tau), least_accesses(application, platform, tau)
    dropped = set(application.multicasts) if strategy == "mrb-always" else set()
    edges = [
        (c.src, c.dst, execution.get(c.src, 0) + access[c.id], 0 if c.src in dropped else c.delay)
        for c in application.channels
    ]
    cycle = maximum_cycle_ratio([a.id for a in application.actors], edges, above=value)
    if cycle is not None:
        value, method = -(-cycle.ratio.numerator // cycle.ratio.denominator), "maximum cycle ratio"
        path = cycle.path
        proof = f"one round of {path} takes at least {cycle.ratio} ticks per initial token on it"
    return Bound("period", max(1, value), method, proof)


def _footprint(network: Network) -> Bound:
    value = sum(max(1, buffer.delay) * buffer.token_bytes for buffer in network.buffers)
    proof = f"every one of {len(network.buffers)} buffers holds its initial tokens, and at least one token"
    return Bound("footprint_bytes", value, "one token per buffer", proof)


def _core_cost(platform: Platform, tau: dict[str, dict[str, int]]) -> Bound:
    cost = {core.type: Fraction(platform.core_types[core.type].cost) for core in platform.cores}
    needs = {frozenset(times) for times in tau.values()}
    if len(cost) > _MOST_TYPES:
        value = max(min(cost[kind] for kind in need) for need in needs)
    else:
        value = min(
            sum((cost[kind] for kind in chosen), Fraction(0))
            for size in range(1, len(cost) + 1)
            for chosen in combinations(cost, size)
            if all(need & set(chosen) for need in needs)
        )
    proof = "the cheapest choice of core types, one core each, on which every actor can run"
    return Bound("core_cost", float(value), "type cover", proof)
