"""Exact periodic schedules on CP-SAT: bisection on the period (modulo), and the printed model (window)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from shorthaul.dataflow.binding import MappedNetwork, determine_channel_bindings, mapped, needed_capacities
from shorthaul.dataflow.bound import period_bound
from shorthaul.dataflow.caps_hms import effective_decision
from shorthaul.dataflow.instance import Instance, exact_cost, memory_shortage
from shorthaul.dataflow.model import Decisions
from shorthaul.dataflow.modulo_schedule import modulo_schedule
from shorthaul.dataflow.mrb import Network, substitute_mrbs
from shorthaul.dataflow.options import Decoding
from shorthaul.dataflow.plan import Point
from shorthaul.dataflow.window_schedule import window_schedule

_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class Schedule:
    """Start ticks of all tasks at a period; ``least`` is the least period that the model was not proven to exclude."""

    period: int
    starts: Mapping[str, int]
    least: int


@dataclass(frozen=True, slots=True)
class Solved:
    """A point, and a lower bound on the period of its mapping under the model that found it."""

    point: Point
    least: int


def solve_mapping(instance: Instance, decisions: Decisions, decoding: Decoding, warm: Point | None) -> Solved:
    """Return the best point that the model finds for a mapping, from ``warm`` where that is on the same memories.

    Raises :class:`InfeasibleError` if the buffers fit no memory.
    """
    application, platform = instance.application, instance.platform
    network = substitute_mrbs(application, decisions.xi)
    capacities = {buffer.id: max(1, buffer.delay) for buffer in network.buffers}
    common, atomic = decoding.mrb_consumer == "common-tile", decoding.capacity_rule == "atomic-firing"
    deadline = time.monotonic() + decoding.solver_seconds
    for _ in range(_ROUNDS):
        memory = determine_channel_bindings(network, platform, decisions, capacities, common_tile=common)
        if memory is None:
            break
        net = mapped(application, platform, network, decisions.binding, memory)
        hint = warm if warm is not None and dict(warm.channel_binding) == memory else None
        schedule = _solved(net, decoding, hint, max(0.05, deadline - time.monotonic()))
        need = needed_capacities(net, schedule.starts, schedule.period, atomic_firing=atomic)
        if _fits(network, platform.memories, memory, need):
            point = make_point(instance, decisions, net, schedule, need)
            # the printed model excludes schedules that CAPS-HMS finds: its answer stands as it is
            exact = decoding.decoder == "modulo"
            if exact and warm is not None and warm.objectives[:2] <= point.objectives[:2]:
                # the bound holds on the memories of the solve alone
                return Solved(warm, schedule.least if warm is hint else 1)
            return Solved(point, schedule.least)
        capacities = {name: max(capacities[name], need[name]) for name in capacities}
    if warm is not None:
        return Solved(warm, 1)
    raise memory_shortage(instance, decisions)


def _solved(net: MappedNetwork, decoding: Decoding, hint: Point | None, seconds: float) -> Schedule:
    least = int(period_bound(net).value)
    if decoding.decoder == "window":
        period, starts, proven = window_schedule(net, least, seconds)
    else:
        period, starts, proven = modulo_schedule(net, least, seconds, hint)
    return Schedule(period, starts, proven)


def _fits(
    network: Network, limits: Mapping[str, int | None], memory: Mapping[str, str], need: Mapping[str, int]
) -> bool:
    used = dict.fromkeys(limits, 0)
    for buffer in network.buffers:
        used[memory[buffer.id]] += need[buffer.id] * buffer.token_bytes
    return all((limit := limits[name]) is None or amount <= limit for name, amount in used.items())


def make_point(
    instance: Instance, decisions: Decisions, net: MappedNetwork, schedule: Schedule, need: Mapping[str, int]
) -> Point:
    """Return the point that a schedule of a mapped network makes, shifted so that nothing starts before 0."""
    platform = instance.platform
    used = {net.binding[name] for name in net.network.actors}
    names = list(platform.memories)
    effective = {}
    for buffer in net.network.buffers:
        decision = decisions.channel_decision.get(buffer.id, "PROD")
        number = names.index(net.memory[buffer.id])
        effective[buffer.id] = effective_decision(decision, number, len(platform.cores), len(names))
        for edge in buffer.edges:
            effective.setdefault(edge, effective[buffer.id])
    tasks = [task for group in (net.reads, net.writes) for accesses in group.values() for task in accesses]
    channels = [channel.id for channel in instance.application.channels]
    return Point(
        period=schedule.period,
        footprint_bytes=sum(need[buffer.id] * buffer.token_bytes for buffer in net.network.buffers),
        core_cost=exact_cost([platform.core_types[core.type].cost for core in platform.cores if core.id in used]),
        binding=dict(net.binding),
        xi={name: int(decisions.xi.get(name, 0)) for name in instance.application.multicasts},
        channel_decision={name: effective.get(name, "GLOBAL") for name in channels},
        channel_binding=dict(net.memory),
        capacities=dict(need),
        starts=dict(schedule.starts),
        routes={task.name: task.route for task in tasks if task.route},
    )
