"""Latency as an objective: mappings whose tokens get through soonest, beside those of short periods."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from shorthaul.core.errors import InputError, NoPlanError
from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.constraints import Constraints
from shorthaul.dataflow.bounds.period import FrontBound
from shorthaul.dataflow.exploration.candidates import Key, key_of
from shorthaul.dataflow.exploration.front import Found, explore_fronts
from shorthaul.dataflow.exploration.refusals import refusal
from shorthaul.dataflow.graphs.multi_reader_buffers import substitute_mrbs
from shorthaul.dataflow.mapping.arrays import Instance, exact_cost, genes
from shorthaul.dataflow.mapping.binding import (
    determine_channel_bindings,
    mapped,
    mapped_point,
    needed_capacities,
)
from shorthaul.dataflow.mapping.latency import arrivals, latency_of, soonest_schedule
from shorthaul.dataflow.mapping.start_times import add_periods
from shorthaul.dataflow.model import DECISIONS, Decisions, Problem
from shorthaul.dataflow.modulo.memory_limits import fits
from shorthaul.dataflow.modulo.periodic import Schedule
from shorthaul.dataflow.modulo.solver import make_point
from shorthaul.dataflow.options import PlanOptions
from shorthaul.dataflow.plan import Point, covers


def explored(
    problem: Problem, instance: Instance, options: PlanOptions, search: Search, bounds: FrontBound,
    constraints: Constraints,
) -> Found:  # fmt: skip
    """Return the last state of the exploration and its points; where latency is an objective, with theirs.

    Raises :class:`InputError` where it cannot be, and :class:`NoPlanError` if nothing was found within the limits
    (:class:`InfeasibleError` if all mappings were tried).
    """

    def allowed(found: Found, points: Sequence[Point]) -> list[Point]:
        within = [point for point in points if constraints.allow(point)]
        if not within:
            known = found.is_complete
            raise refusal(instance, options, constraints, bounds, search, found.points, all_known=known)
        return within

    most = options.max_latency
    if not options.is_timed:
        found = explore_fronts(problem, instance, options, search, bounds, constraints)
        return replace(found, points=allowed(found, found.points))
    if not arrivals(substitute_mrbs(instance.application, {})):
        raise InputError(
            "latencies are not defined: no actor without inputs leads to one that none reads from",
            place="--max-latency" if most is not None else "--latency" if options.latency else "--pick",
            cure="leave the flag out",
        )  # fmt: skip
    share, spent = tuning.LATENCY_SHARE, search.spent()
    found = explore_fronts(problem, instance, options, search.part(1 - share), bounds, constraints)
    limit_s = search.time_limit or 0.0
    search.keep_back(tuning.LEAST_FINISH_SHARE * limit_s)
    part = search.within(share / (1 - share) * (search.spent() - spent)) if search.is_unlimited else search.part(1.0)
    timed = _with_latencies(instance, found.points, options, part, constraints)
    points = allowed(found, timed)
    search.keep_back(0.0)
    soon = [point for point in points if most is None or point.costs[3] <= most]
    if not soon:
        nearest = min(point.costs[3] for point in points)
        raise NoPlanError(f"no point was found within --max-latency {most}; the least latency found is {nearest}")
    return Found(found.state, soon)


def _with_latencies(
    instance: Instance, points: Sequence[Point], options: PlanOptions, search: Search, constraints: Constraints
) -> list[Point]:
    """Return the points with their latencies, and more that local search over the mappings finds, none covered.

    It changes those within the limits first.
    """
    found: list[Point] = []
    finder = _Neighbours(instance, options, search, constraints)

    def add(point: Point | None) -> None:
        if point is not None and not any(covers(other, point) for other in found):
            found[:] = [other for other in found if not covers(point, other)] + [point]

    for point in points:
        add(_sooner(instance, point, atomic=options.capacity_rule == "atomic-firing"))
    starts = [Decisions(point.binding, point.xi, point.channel_decision) for point in points]
    starts = [*(replace(starts[0], binding=binding) for binding in finder.alone()), *starts][::-1]
    while not search.expired():
        if starts:
            add(finder.soonest(finder.complete(starts.pop())))
            continue
        ranked = sorted(found, key=lambda point: (not constraints.allow(point), point.costs[3], point.objectives))
        one = ranked[min(int(finder.random.exponential(1 + len(ranked) / 4)), len(ranked) - 1)]
        parent = finder.complete(Decisions(one.binding, one.xi, one.channel_decision))
        add(finder.soonest(finder.beside(parent)))
    return found


def _sooner(instance: Instance, point: Point, *, atomic: bool) -> Point:
    """Return the point with its latency, less where whole periods between firings can go without larger buffers."""
    net = mapped_point(instance.application, instance.platform, point)
    found = [dict(point.starts)]
    sooner = add_periods(net, found[0], point.period, point.capacities, atomic=atomic, soon=True)
    mapping = Decisions(point.binding, point.xi, point.channel_decision)
    timed = []
    for starts in found if sooner is None else [*found, sooner]:
        held = needed_capacities(net, starts, point.period, atomic_firing=atomic)
        made = make_point(instance, mapping, net, Schedule(point.period, starts, 1), held)
        timed.append(replace(made, latency=latency_of(net, starts, point.period)))
    return min(timed, key=lambda one: (one.costs[3], one.footprint_bytes))


class _Neighbours:
    """Draws mappings beside others: actors or whole cores move, buffers change memories, multicasts are replaced."""

    def __init__(self, instance: Instance, options: PlanOptions, search: Search, constraints: Constraints) -> None:
        self.instance, self.options, self.search, self.constraints = instance, options, search, constraints
        self.seen = set[Key]()
        self.random = search.generator()
        cores = [core.id for core in instance.platform.cores]
        self.able = {
            actor.id: [cores[number] for number in able]
            for actor, able in zip(instance.application.actors, instance.able, strict=True)
        }
        self.actors = [*self.able]
        self.channels = [channel.id for channel in instance.application.channels]
        self.multicasts = instance.application.multicasts if options.strategy == "mrb-explore" else ()

    def alone(self) -> Iterator[dict[str, str]]:
        """Yield, per core type that can run all actors, the binding of all to one core: there no token is sent."""
        types: set[str] = set()
        for core in self.instance.platform.cores:
            if core.type not in types and all(core.id in able for able in self.able.values()):
                types.add(core.type)
                yield dict.fromkeys(self.able, core.id)

    def complete(self, mapping: Decisions) -> Decisions:
        """Return a mapping with cores for replaced multicasts too."""
        rest = {name: able[0] for name, able in self.able.items()}
        return replace(mapping, binding={**rest, **mapping.binding})

    def beside(self, parent: Decisions) -> Decisions:
        """Return a mapping that differs from a complete one in one to three moves."""
        binding, xi, decision = dict(parent.binding), dict(parent.xi), dict(parent.channel_decision)
        for _ in range(1 + int(self.random.integers(3))):
            kind = self.random.random()
            if kind < 0.1 and self.multicasts:
                name = self._one(self.multicasts)
                xi[name] = 1 - xi.get(name, 0)
            elif kind < 0.3 and self.channels:
                decision[self._one(self.channels)] = self._one(DECISIONS)
            else:
                used, actor = set(binding.values()), self._one(self.actors)
                moved = [name for name in self.actors if binding[name] == binding[actor]] if kind > 0.9 else [actor]
                able = [core for core in self.able[actor] if kind > 0.6 or core in used] or self.able[actor]
                core = self._one(able)
                binding |= {name: core for name in moved if core in self.able[name]}
        return Decisions(binding, xi, decision)

    def _one(self, names: Sequence[str]) -> str:
        return names[int(self.random.integers(len(names)))]

    def soonest(self, decisions: Decisions) -> Point | None:
        """Return the point of a mapping with the schedule of little latency.

        None if its buffers fit no memories, it is dearer than allowed, or one equal but for names was seen.
        """
        instance, options, search = self.instance, self.options, self.search
        application, platform = instance.application, instance.platform
        effort = (len(decisions.binding) + 2 * len(decisions.channel_decision)) / tuning.SOONEST_TASKS
        search.spend(effort / 16)
        key = key_of(genes(instance, decisions))
        used = {core for name, core in decisions.binding.items() if not decisions.xi.get(name, 0)}
        cost = exact_cost([platform.core_types[core.type].cost for core in platform.cores if core.id in used])
        if key in self.seen or cost > (math.inf if self.constraints.max_cost is None else self.constraints.max_cost):
            return None
        self.seen.add(key)
        search.spend(effort)
        try:
            network = substitute_mrbs(application, decisions.xi)
        except InputError:
            return None
        need = {buffer.id: max(1, buffer.delay) for buffer in network.buffers}
        common = options.mrb_consumer == "common-tile"
        for _ in range(tuning.MEMORY_ROUNDS):
            memory = determine_channel_bindings(network, platform, decisions, need, common_tile=common)
            if memory is None:
                return None
            net = mapped(application, platform, network, decisions.binding, memory)
            period, starts = soonest_schedule(net)
            atomic = options.capacity_rule == "atomic-firing"
            held = needed_capacities(net, starts, period, atomic_firing=atomic)
            if fits(net, platform.memories, held):
                point = make_point(instance, decisions, net, Schedule(period, starts, 1), held)
                return replace(point, latency=latency_of(net, starts, period))
            need = {name: max(need[name], tokens) for name, tokens in held.items()}
        return None
