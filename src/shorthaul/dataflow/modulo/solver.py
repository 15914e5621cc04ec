"""Exact periodic schedules of one mapping: its channels in memories, the least period there, the buffers that needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.period import period_bound
from shorthaul.dataflow.caps_hms.heuristic import effective_decision
from shorthaul.dataflow.graphs.multi_reader_buffers import substitute_mrbs
from shorthaul.dataflow.mapping.arrays import Instance, exact_cost, memory_shortage
from shorthaul.dataflow.mapping.binding import (
    MappedNetwork,
    determine_channel_bindings,
    mapped,
    mapped_point,
    needed_capacities,
)
from shorthaul.dataflow.model import Decisions
from shorthaul.dataflow.modulo.memory_limits import filled, fits, schedule_by_trees, schedule_in_memories
from shorthaul.dataflow.modulo.periodic import Schedule, Trees, annealed_within, dive_effort, modulo_schedule
from shorthaul.dataflow.modulo.window_model import window_schedule
from shorthaul.dataflow.options import Decoding
from shorthaul.dataflow.plan import Point


@dataclass(frozen=True, slots=True)
class Solved:
    """A point; no schedule of its mapping, with its channels in its memories, has a period below ``least``.

    Under ``window`` that holds for the schedules of the printed model only. ``method`` says what proved it.
    """

    point: Point
    least: int
    method: str


def solve_mapping(
    instance: Instance, decisions: Decisions, decoding: Decoding, warm: Point | None, search: Search | None = None,
    most: int | None = None,
) -> Solved:  # fmt: skip
    """Return the best point that the model finds for a mapping; ``warm`` is a point of it to start from, or to keep.

    The buffers that a schedule needs may move a channel to another memory: solved again then, with capacities that
    never shrink meanwhile (Algorithm 3). Where ``warm`` is in other memories, the exact model is solved in those too.
    Periods from ``most`` on are of no interest. Raises :class:`InfeasibleError` if the buffers fit no memory.
    """
    search = (search or Search()).within(decoding.solver_effort)
    solved = _in_own_memories(instance, decisions, decoding, warm, search, most)
    # the printed model excludes schedules that CAPS-HMS finds: its answer stands as it is
    if warm is None or (decoding.decoder == "window" and solved is not None):
        if solved is None:
            raise memory_shortage(instance, decisions)
        return solved
    if solved is None or dict(warm.channel_binding) != dict(solved.point.channel_binding):
        other = _in_memories_of(instance, decisions, decoding, warm, search, most)
        if solved is None or other.point.objectives[:2] < solved.point.objectives[:2]:
            return other
    elif warm.objectives[:2] < solved.point.objectives[:2]:
        return Solved(warm, solved.least, solved.method)
    return solved


def annealed_point(
    instance: Instance, point: Point, search: Search, moves: int, *, atomic: bool, most_bytes: int | None = None
) -> Solved:  # fmt: skip
    """Return what so many moves of local search make of a point.

    Its buffers may hold more then where their memories have room, up to ``most_bytes`` together (None: no more).
    """
    search.spend(len(point.starts) / tuning.LISTED_TASKS)
    net = mapped_point(instance.application, instance.platform, point)
    tokens = point.capacities
    if most_bytes is not None:
        tokens = filled(net, instance.platform.memories, tokens, most_bytes)
    schedule = annealed_within(net, int(period_bound(net).value), search, point, tokens, moves, atomic=atomic)
    if schedule.period < point.period:
        mapping = Decisions(point.binding, point.xi, point.channel_decision)
        held = needed_capacities(net, schedule.starts, schedule.period, atomic_firing=atomic)
        point = make_point(instance, mapping, net, schedule, held)
    return Solved(point, schedule.least, schedule.method)


@dataclass(frozen=True, slots=True)
class Decided:
    """A point of a mapping below the period wanted, None if none was found; no schedule has one below ``least``."""

    point: Point | None
    least: int


def decide_mapping(
    instance: Instance, decisions: Decisions, tokens: Mapping[str, int], decoding: Decoding, search: Search, most: int,
    tries: int, effort: float, *,
    small: bool = False, most_bytes: int | None = None,
) -> Decided | None:  # fmt: skip
    """Decide by trees whether a mapping has a period below ``most``, by larger ones after some ``tries``.

    First with buffers of few ``tokens``, which fit the memories (``small``: only so). Where that finds none, with
    buffers of any size, for a schedule that fits all the same or a proof that there is none with the channels in these
    memories. None if the buffers fit no memory, or if a tree would take more than the ``effort``. Where ``most_bytes``
    are allowed, the first have as many tokens as that leaves room for, from the least where ``tokens`` are too many.
    """
    application, platform = instance.application, instance.platform
    network = substitute_mrbs(application, decisions.xi)
    few = {buffer.id: tokens[buffer.id] for buffer in network.buffers}
    if most_bytes is not None and sum(few[one.id] * one.token_bytes for one in network.buffers) > most_bytes:
        few = {buffer.id: max(1, buffer.delay) for buffer in network.buffers}
    common = decoding.mrb_consumer == "common-tile"
    memory = determine_channel_bindings(network, platform, decisions, few, common_tile=common)
    if memory is None:
        return None
    net = mapped(application, platform, network, decisions.binding, memory)
    if most_bytes is not None:
        few = filled(net, platform.memories, few, most_bytes)
    search.spend(_tasks(net) / tuning.SOLVED_TASKS)
    least, dive = int(period_bound(net).value), dive_effort(net)
    if least >= most:
        return Decided(None, least)
    if dive * tuning.SOME_DIVES > effort:
        return None
    atomic = decoding.capacity_rule == "atomic-firing"
    trees = Trees(search, tuning.DIVES * 2**tries, tuning.NARROWED / 2**tries, atomic)
    found = trees.schedule(net, least, most, few)
    need = _needs(net, found, decoding) if found.starts else {}
    if need and fits(net, platform.memories, need):
        return Decided(make_point(instance, decisions, net, found, need), least)
    if small:
        return Decided(None, least)
    free = trees.schedule(net, least, most, {}, from_below=True)
    within = schedule_by_trees(trees, net, free, platform.memories, few, most)
    if within is None:
        return Decided(None, free.least)
    return Decided(make_point(instance, decisions, net, within, _needs(net, within, decoding)), free.least)


def _in_own_memories(
    instance: Instance, decisions: Decisions, decoding: Decoding, warm: Point | None, search: Search, most: int | None
) -> Solved | None:
    application, platform = instance.application, instance.platform
    network = substitute_mrbs(application, decisions.xi)
    capacities = {buffer.id: max(1, buffer.delay) for buffer in network.buffers}
    common = decoding.mrb_consumer == "common-tile"
    best: Solved | None = None
    for _ in range(tuning.MEMORY_ROUNDS):
        memory = determine_channel_bindings(network, platform, decisions, capacities, common_tile=common)
        if memory is None:
            break
        net = mapped(application, platform, network, decisions.binding, memory)
        hint = warm if warm is not None and dict(warm.channel_binding) == memory else None
        schedule, held, need = _solved(instance, net, decoding, hint, search, most)
        if held is not None:
            point = make_point(instance, decisions, net, schedule, held)
            if best is None or point.objectives[:2] < best.point.objectives[:2]:
                best = Solved(point, schedule.least, schedule.method)
        grown = {name: max(capacities[name], need[name]) for name in capacities}
        if held == need or (best is not None and best.point.period <= best.least) or grown == capacities:
            break
        capacities = grown
    return best


def _in_memories_of(
    instance: Instance, decisions: Decisions, decoding: Decoding, warm: Point, search: Search, most: int | None
) -> Solved:
    network = substitute_mrbs(instance.application, decisions.xi)
    net = mapped(instance.application, instance.platform, network, decisions.binding, warm.channel_binding)
    schedule, held, _ = _solved(instance, net, decoding, warm, search, most)
    if held is not None and schedule.period < warm.period:
        return Solved(make_point(instance, decisions, net, schedule, held), schedule.least, schedule.method)
    return Solved(warm, schedule.least, schedule.method)


def _solved(
    instance: Instance,
    net: MappedNetwork,
    decoding: Decoding,
    hint: Point | None,
    search: Search,
    most: int | None,
) -> tuple[Schedule, dict[str, int] | None, dict[str, int]]:
    """Return a schedule, the tokens that its buffers hold (None: too many), and those it would hold without limits.

    First with buffers of any size; where those do not fit, with what their memories hold.
    """
    limits = instance.platform.memories
    search.spend(_tasks(net) / tuning.SOLVED_TASKS)
    least = int(period_bound(net).value)
    atomic = decoding.capacity_rule == "atomic-firing"
    if decoding.decoder == "window":
        schedule = Schedule(*window_schedule(net, least, search))
    else:
        schedule = modulo_schedule(net, least, search.part(tuning.FREE_SHARE), hint, atomic=atomic, most=most)
    need = _needs(net, schedule, decoding)
    if fits(net, limits, need):
        return schedule, need, need
    if decoding.decoder == "window":
        return schedule, None, need
    fitting = hint if hint is not None and fits(net, limits, hint.capacities) else None
    within = schedule_in_memories(net, schedule, limits, search, fitting, atomic=atomic)
    if within is None:
        return schedule, None, need
    return within, _needs(net, within, decoding), need


def _tasks(net: MappedNetwork) -> int:
    return sum(map(len, (net.binding, *net.reads.values(), *net.writes.values())))


def _needs(net: MappedNetwork, schedule: Schedule, decoding: Decoding) -> dict[str, int]:
    atomic = decoding.capacity_rule == "atomic-firing"
    return needed_capacities(net, schedule.starts, schedule.period, atomic_firing=atomic)


def make_point(
    instance: Instance, decisions: Decisions, net: MappedNetwork, schedule: Schedule, need: Mapping[str, int]
) -> Point:
    """Return the point that a schedule of a mapped network makes, shifted so that nothing starts before 0."""
    platform = instance.platform
    used = {net.binding[name] for name in net.network.actors}
    names, cores = list(platform.memories), platform.cores
    effective = {}
    for buffer in net.network.buffers:
        decision = decisions.channel_decision.get(buffer.id, "PROD")
        number = names.index(net.memory[buffer.id])
        effective[buffer.id] = effective_decision(decision, number, len(cores), len(names))
        for edge in buffer.edges:
            effective.setdefault(edge, effective[buffer.id])
    tasks = [task for group in (net.reads, net.writes) for accesses in group.values() for task in accesses]
    channels = [channel.id for channel in instance.application.channels]
    return Point(
        period=schedule.period,
        footprint_bytes=sum(need[buffer.id] * buffer.token_bytes for buffer in net.network.buffers),
        core_cost=exact_cost([platform.core_types[core.type].cost for core in cores if core.id in used]),
        binding=dict(net.binding),
        xi={name: int(decisions.xi.get(name, 0)) for name in instance.application.multicasts},
        channel_decision={name: effective.get(name, "GLOBAL") for name in channels},
        channel_binding=dict(net.memory),
        capacities=dict(need),
        starts=dict(schedule.starts),
        routes={task.name: task.route for task in tasks if task.route},
    )
