"""Replays a point of a plan: real tokens through real buffers, every resource modulo the period.

Written from the rules alone; it shares no code with the decoders.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from shorthaul.core.amounts import Cost
from shorthaul.core.check import CheckReport, Violation
from shorthaul.dataflow.check.latency import replayed_latency
from shorthaul.dataflow.check.tokens import Access, replay_buffer
from shorthaul.dataflow.model import (
    DECISIONS,
    GLOBAL_MEMORY,
    MOST_TOKENS,
    NOC,
    Application,
    Platform,
    Tile,
    crossbar,
    local_memory,
    ticks_for,
    tile_memory,
)
from shorthaul.dataflow.plan import Point

#: Starts beyond this are refused: replaying them would say nothing more.
LATEST_START = 2**53


@dataclass(frozen=True, slots=True)
class _Buffer:
    """A channel as the checker sees it: its writer and one (task name, actor) per reader."""

    id: str
    writer: str
    reads: tuple[tuple[str, str], ...]
    token_bytes: int
    delay: int

    @property
    def write(self) -> str:
        return f"({self.writer},{self.id})"


@dataclass(slots=True)
class _Replay:
    application: Application
    platform: Platform
    point: Point
    violations: list[Violation] = field(default_factory=list)
    tile_of: Mapping[str, Tile] = field(init=False)
    length: dict[str, int] = field(default_factory=dict)
    crossed: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tile_of = self.platform.tile_of

    def fault(
        self, rule: str, place: str, message: str, required: float | None = None, available: float | None = None
    ) -> None:
        self.violations.append(Violation(rule, place, message, required, available))


def check_point(application: Application, platform: Platform, point: Point) -> CheckReport:
    """Replay ``point``; the report holds every violation and the cost as the replay sees it.

    The cost is None if the point is too incomplete to be replayed. ``application`` must be a marked graph.
    """
    replay = _Replay(application, platform, point)
    buffers = _buffers(application, point.xi)
    actors = [actor.id for actor in application.actors if not point.xi.get(actor.id, 0)]
    if not _complete(replay, actors, buffers):
        return CheckReport(tuple(replay.violations))
    _check_memories(replay, buffers)
    _measure(replay, actors, buffers)
    _check_resources(replay, _check_firings(replay, actors, buffers))
    for buffer in buffers:
        _check_tokens(replay, buffer)
    footprint = sum(point.capacities[buffer.id] * buffer.token_bytes for buffer in buffers)
    used = {point.binding[name] for name in actors}
    core_cost = sum(platform.core_types[core.type].cost for core in platform.cores if core.id in used)
    cost = Cost(period=point.period, footprint_bytes=footprint, core_cost=core_cost)
    if point.latency is not None:
        _check_latency(replay, actors, buffers)
    remarks = [
        f"{name} is claimed as {claimed:g}, the replay finds {cost[name]:g}"
        for name, claimed in (("footprint_bytes", point.footprint_bytes), ("core_cost", point.core_cost))
        if abs(claimed - cost[name]) > 1e-9 * max(1.0, abs(claimed))
    ]
    return CheckReport(tuple(replay.violations), cost, tuple(remarks))


def check_front(application: Application, platform: Platform, front: Sequence[Point]) -> CheckReport:
    """Replay every point; the cost holds the least of each objective over the points that could be replayed."""
    reports = [check_point(application, platform, point) for point in front]
    violations = [
        Violation(v.rule, f"front[{number}] {v.place}", v.message, v.required, v.available)
        for number, report in enumerate(reports)
        for v in report.violations
    ]
    remarks = [f"front[{number}]: {text}" for number, report in enumerate(reports) for text in report.remarks]
    strangers = {core for point in front for core in point.binding.values()} - {core.id for core in platform.cores}
    if strangers:
        named = ", ".join(sorted(strangers)[:3])
        remarks.append(
            f"planned for another platform: {platform.name!r} has no core {named}; give the plan's --platform"
        )
    costs = [report.cost for report in reports if report.cost is not None]
    least = {name: min(cost[name] for cost in costs) for name in costs[0]} if costs else None
    return CheckReport(
        tuple(violations), None if least is None else Cost(**least), tuple(remarks), {"points": len(front)}
    )


def _buffers(application: Application, xi: Mapping[str, int]) -> list[_Buffer]:
    """Every channel that a remaining actor writes, with all readers reached through replaced multicasts."""
    replaced = {name for name in application.multicasts if xi.get(name, 0)}
    out: dict[str, list[int]] = {}
    for number, channel in enumerate(application.channels):
        out.setdefault(channel.src, []).append(number)

    def readers(number: int) -> list[int]:
        target = application.channels[number].dst
        if target not in replaced:
            return [number]
        return [reached for following in out.get(target, ()) for reached in readers(following)]

    buffers = []
    for number, channel in enumerate(application.channels):
        if channel.src in replaced:
            continue
        count: dict[str, int] = {}
        reads = []
        for reached in sorted(readers(number)):
            actor = application.channels[reached].dst
            count[actor] = count.get(actor, 0) + 1
            mark = "" if count[actor] == 1 else f"#{count[actor]}"
            reads.append((f"({channel.id},{actor}){mark}", actor))
        buffers.append(_Buffer(channel.id, channel.src, tuple(reads), channel.token_bytes, channel.delay))
    return buffers


def _complete(replay: _Replay, actors: Sequence[str], buffers: Sequence[_Buffer]) -> bool:
    point = replay.point
    if point.period < 1:
        replay.fault("period", "period", f"is {point.period}, not a number of ticks above 0")
    cores = {core.id: core for core in replay.platform.cores}
    tau = {actor.id: actor.ticks for actor in replay.application.actors}
    for name in actors:
        core = cores.get(point.binding.get(name, ""))
        if core is None:
            replay.fault(
                "binding", f"binding.{name}", f"is bound to no core of the platform: {point.binding.get(name)!r}"
            )
        elif tau[name].get(core.type) is None:
            replay.fault("binding", f"binding.{name}", f"core {core.id} of type {core.type} cannot run it")
    memories = replay.platform.memories
    for buffer in buffers:
        if point.channel_binding.get(buffer.id) not in memories:
            place = f"channel_binding.{buffer.id}"
            replay.fault("channel-binding", place, f"is in no memory: {point.channel_binding.get(buffer.id)!r}")
        if point.capacities.get(buffer.id, 0) < 1:
            replay.fault("buffer-too-small", f"capacities.{buffer.id}", "has no place for a token", 1, 0)
        elif point.capacities[buffer.id] > MOST_TOKENS:  # as in an application; every place is replayed
            message = f"has more than {MOST_TOKENS} places"
            replay.fault("buffer-too-large", f"capacities.{buffer.id}", message)
        for task in (buffer.write, *(name for name, _ in buffer.reads)):
            _check_start(replay, task)
    for name in actors:
        _check_start(replay, name)
    return not replay.violations


def _check_start(replay: _Replay, task: str) -> None:
    start = replay.point.starts.get(task)
    if start is None:
        replay.fault("start", f"starts.{task}", "has no start")
    elif not 0 <= start <= LATEST_START:
        replay.fault("start", f"starts.{task}", f"starts at {start}, outside 0 to 2^53")


def _check_memories(replay: _Replay, buffers: Sequence[_Buffer]) -> None:
    point = replay.point
    limits = replay.platform.memories
    used: dict[str, int] = dict.fromkeys(limits, 0)
    for buffer in buffers:
        used[point.channel_binding[buffer.id]] += point.capacities[buffer.id] * buffer.token_bytes
    for memory, amount in used.items():
        limit = limits[memory]
        if limit is not None and amount > limit:
            names = ", ".join(b.id for b in buffers if point.channel_binding[b.id] == memory)
            replay.fault("memory-over-capacity", memory, f"holds {names}", amount, limit)
    for buffer in buffers:
        memory = point.channel_binding[buffer.id]
        decision = point.channel_decision.get(buffer.id, "PROD")
        if decision not in DECISIONS:
            replay.fault("channel-binding", f"channel_decision.{buffer.id}", f"is {decision!r}, none of the five")
            continue
        need = point.capacities[buffer.id] * buffer.token_bytes
        if not any(_justified(chain, memory, need, used, limits) for chain in _chains(replay, buffer, decision)):
            message = f"is in {memory}, but {decision} says {_chains(replay, buffer, decision)[0][0]}"
            replay.fault("channel-binding", f"channel_binding.{buffer.id}", message)


def _chains(replay: _Replay, buffer: _Buffer, decision: str) -> list[tuple[str, ...]]:
    """The memories that a decision stands for, in falling order of preference, for each reader that CONS may mean."""
    if decision == "GLOBAL":
        return [(GLOBAL_MEMORY,)]
    actors = [actor for _, actor in buffer.reads] if "CONS" in decision else [buffer.writer]
    chains: list[tuple[str, ...]] = []
    for actor in actors:
        core = replay.point.binding[actor]
        tail = (tile_memory(replay.tile_of[core].id), GLOBAL_MEMORY)
        chains.append(tail if decision.startswith("TILE") else (local_memory(core), *tail))
    return chains


def _justified(
    chain: Sequence[str], memory: str, need: int, used: Mapping[str, int], limits: Mapping[str, int | None]
) -> bool:
    """True if ``memory`` is the first of the chain with room for ``need`` beside what the others hold."""
    for candidate in chain:
        if candidate == memory:
            return True
        limit = limits[candidate]
        if limit is None or used[candidate] + need <= limit:
            return False
    return False


def _measure(replay: _Replay, actors: Iterable[str], buffers: Iterable[_Buffer]) -> None:
    """Duration and route of every task, from the rules; a route that the plan names must be that one."""
    cores = {core.id: core for core in replay.platform.cores}
    tau = {actor.id: actor.ticks for actor in replay.application.actors}
    for name in actors:
        replay.length[name] = tau[name][cores[replay.point.binding[name]].type]
        replay.crossed[name] = ()
    routes: dict[tuple[str, str], tuple[tuple[str, ...], float]] = {}
    for buffer in buffers:
        memory = replay.point.channel_binding[buffer.id]
        for task, actor in ((buffer.write, buffer.writer), *buffer.reads):
            ends = replay.point.binding[actor], memory
            if ends not in routes:
                routes[ends] = _route(replay.platform, *ends)
            crossed, bandwidth = routes[ends]
            replay.crossed[task] = crossed
            per_second = replay.application.ticks_per_second
            replay.length[task] = ticks_for(buffer.token_bytes, bandwidth, per_second) if crossed else 0
            if replay.point.routes is not None and set(replay.point.routes.get(task, ())) != set(crossed):
                claimed = " ".join(replay.point.routes.get(task, ())) or "nothing"
                replay.fault(
                    "wrong-route", task, f"is said to cross {claimed}, but crosses {' '.join(crossed) or 'nothing'}"
                )


def _route(platform: Platform, core: str, memory: str) -> tuple[tuple[str, ...], float]:
    """The interconnects between a core and a memory, and the least bandwidth among them."""
    here = platform.tile_of[core]
    if memory == local_memory(core):
        return (), 0.0
    if memory == GLOBAL_MEMORY:
        return (crossbar(here.id), NOC), min(here.crossbar_bytes_per_s, platform.noc_bytes_per_s)
    there = next(
        tile
        for tile in platform.tiles
        if memory == tile_memory(tile.id) or any(memory == local_memory(other.id) for other in tile.cores)
    )
    if there.id == here.id:
        return (crossbar(here.id),), here.crossbar_bytes_per_s
    bandwidth = min(here.crossbar_bytes_per_s, platform.noc_bytes_per_s, there.crossbar_bytes_per_s)
    return (crossbar(here.id), NOC, crossbar(there.id)), bandwidth


def _check_firings(
    replay: _Replay, actors: Sequence[str], buffers: Sequence[_Buffer]
) -> dict[str, list[tuple[int, int, str]]]:
    """Reads before the execution, writes after it, one at a time; return what occupies every resource and when."""
    starts, length = replay.point.starts, replay.length
    busy: dict[str, list[tuple[int, int, str]]] = {}
    reads: dict[str, list[str]] = {name: [] for name in actors}
    writes: dict[str, list[str]] = {name: [] for name in actors}
    for buffer in buffers:
        writes[buffer.writer].append(buffer.write)
        for task, actor in buffer.reads:
            reads[actor].append(task)
    for name in actors:
        begin, end = starts[name], starts[name] + length[name]
        for task in reads[name]:
            if starts[task] + length[task] > begin:
                replay.fault("firing-order", task, f"ends after {name} starts", starts[task] + length[task], begin)
        for task in writes[name]:
            if starts[task] < end:
                replay.fault("firing-order", task, f"starts before {name} ends", end, starts[task])
        own = sorted((starts[task], starts[task] + length[task], task) for task in (*reads[name], *writes[name]))
        own = [interval for interval in own if interval[1] > interval[0]]
        for (_, first_end, first), (second_start, _, second) in pairwise(own):
            if second_start < first_end:
                core = replay.point.binding[name]
                replay.fault("overlap", core, f"{first} and {second} of one firing overlap", first_end, second_start)
        span_start = min([begin, *(starts[task] for task in reads[name])])
        span_end = max([end, *(starts[task] + length[task] for task in writes[name])])
        busy.setdefault(replay.point.binding[name], []).append((span_start, span_end, name))
        for task in (*reads[name], *writes[name]):
            for resource in replay.crossed[task]:
                busy.setdefault(resource, []).append((starts[task], starts[task] + length[task], task))
    return busy


def _check_resources(replay: _Replay, busy: Mapping[str, Sequence[tuple[int, int, str]]]) -> None:
    """No two tasks on one resource at the same time, in any iteration: intervals modulo the period are disjoint."""
    period = replay.point.period
    for resource, intervals in busy.items():
        pieces: list[tuple[int, int, str, bool]] = []
        for start, stop, task in intervals:
            if stop - start > period:
                message = f"{task} takes longer than the period and overlaps itself, wrapped around the period"
                replay.fault("overlap", resource, message, stop - start, period)
                continue
            low = start % period
            high = low + stop - start
            if stop > start:
                pieces.append((low, min(high, period), task, high > period))
            if high > period:
                pieces.append((0, high - period, task, True))
        pieces.sort()
        reach, holder, holder_wraps = 0, "", False
        for low, high, task, wraps in pieces:
            if low < reach:
                where = ", wrapped around the period" if wraps or holder_wraps else ""
                replay.fault("overlap", resource, f"{holder} and {task} overlap at tick {low} of the period{where}")
            if high > reach:
                reach, holder, holder_wraps = high, task, wraps


def _check_latency(replay: _Replay, actors: Sequence[str], buffers: Sequence[_Buffer]) -> None:
    starts, length = replay.point.starts, replay.length
    spans = {name: (starts[name], starts[name] + length[name]) for name in actors}
    for buffer in buffers:
        begin, end = spans[buffer.writer]
        spans[buffer.writer] = begin, max(end, starts[buffer.write] + length[buffer.write])
        for task, actor in buffer.reads:
            spans[actor] = min(spans[actor][0], starts[task]), spans[actor][1]
    arcs = [(buffer.writer, actor, buffer.delay) for buffer in buffers for _, actor in buffer.reads]
    found = replayed_latency(arcs, spans, replay.point.period)
    if found != replay.point.latency:
        replay.fault("latency", "latency", f"is {found}, not as claimed", found, replay.point.latency)


def _check_tokens(replay: _Replay, buffer: _Buffer) -> None:
    """Hand the buffer's accesses to the token replay: zero-time ones belong to the executions themselves."""
    starts, length = replay.point.starts, replay.length

    def access(task: str, actor: str, *, writing: bool) -> Access:
        start = starts[task]
        if length[task]:
            return Access(task, start, start + length[task], start, start + length[task])
        if writing:  # the place is taken from the execution's start, the token there at its end
            return Access(task, start, start, starts[actor], start)
        return Access(task, start, start, start, starts[actor] + length[actor])

    faults = replay_buffer(
        access(buffer.write, buffer.writer, writing=True),
        [access(task, actor, writing=False) for task, actor in buffer.reads],
        period=replay.point.period,
        delay=buffer.delay,
        capacity=replay.point.capacities[buffer.id],
    )
    for rule, task, message, required, available in faults:
        replay.fault(rule, f"{buffer.id} {task}", message, required, available)
