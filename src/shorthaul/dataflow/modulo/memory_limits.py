"""Schedules whose buffers fit memories of limited size: branch and bound over what every buffer may hold."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace

from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.mapping.binding import MappedNetwork, needed_capacities
from shorthaul.dataflow.mapping.start_times import add_periods, tokens_to_itself
from shorthaul.dataflow.modulo.periodic import Schedule, Trees, modulo_schedule_within
from shorthaul.dataflow.plan import Point


@dataclass(frozen=True, slots=True)
class Box:
    """Schedules whose buffers hold from ``low`` to ``high`` tokens (no entry: any); none is below ``least``."""

    low: Mapping[str, int]
    high: Mapping[str, int]
    least: int


def fits(net: MappedNetwork, limits: Mapping[str, int | None], tokens: Mapping[str, int]) -> bool:
    """True if buffers that hold ``tokens`` fit the memories, of ``limits`` bytes (None: any)."""
    used = _used(net, tokens)
    return all((limit := limits[name]) is None or amount <= limit for name, amount in used.items())


def _used(net: MappedNetwork, tokens: Mapping[str, int]) -> dict[str, int]:
    used = dict.fromkeys(net.memory.values(), 0)
    for buffer in net.network.buffers:
        used[net.memory[buffer.id]] += tokens[buffer.id] * buffer.token_bytes
    return used


def room(
    net: MappedNetwork, limits: Mapping[str, int | None], low: Mapping[str, int], spare: int | None = None
) -> dict[str, int]:
    """Return the most tokens that buffers may hold when the others hold as many as ``low``; no entry: any.

    All together hold ``spare`` bytes more at most (None: any).
    """
    used, high = _used(net, low), {}
    # no arc of tokens or places asks for more than two periods between two firings: more tokens are of no use
    useful = 2 * len(net.network.actors) + 2
    for buffer in net.network.buffers:
        limit = limits[net.memory[buffer.id]]
        free = [] if limit is None else [limit - used[net.memory[buffer.id]]]
        free += [] if spare is None else [spare]
        if not free or buffer.token_bytes == 0:
            continue
        more = min(free) // buffer.token_bytes
        if more < useful:
            high[buffer.id] = low[buffer.id] + more
    return high


def filled(
    net: MappedNetwork, limits: Mapping[str, int | None], low: Mapping[str, int], most_bytes: int
) -> dict[str, int]:
    """Return capacities from ``low`` up to two tokens more, small tokens first, that fit the memories and in all."""
    used, tokens = _used(net, low), dict(low)
    left = most_bytes - sum(used.values())
    for buffer in 2 * sorted(net.network.buffers, key=lambda buffer: buffer.token_bytes):
        limit = limits[net.memory[buffer.id]]
        is_room = limit is None or used[net.memory[buffer.id]] + buffer.token_bytes <= limit
        if is_room and buffer.token_bytes <= left:
            used[net.memory[buffer.id]] += buffer.token_bytes
            left -= buffer.token_bytes
            tokens[buffer.id] += 1
    return tokens


def fewest(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Return the lesser of two limits on tokens, buffer by buffer; no entry: any."""
    return {
        name: min(one.get(name, other.get(name, 0)), other.get(name, one.get(name, 0))) for name in {**one, **other}
    }


def schedule_in_memories(
    net: MappedNetwork, free: Schedule, limits: Mapping[str, int | None], search: Search, hint: Point | None, *,
    atomic: bool,
) -> Schedule | None:  # fmt: skip
    """Return the schedule of the least period found whose buffers fit, and the least period not excluded for any.

    ``free`` is what was found without limits and did not fit; ``hint`` a schedule that fits. Where the buffers of a
    schedule do not fit, one of them holds fewer tokens in every other, or it holds as many and the others in its
    memory have less room. None if no schedule was found.
    """
    writes = net.write_tasks()
    low = {b.id: tokens_to_itself(net, b, writes[b.id], atomic=atomic) for b in net.network.buffers}
    if not fits(net, limits, low):
        return None
    best = None if hint is None else Schedule(hint.period, dict(hint.starts), free.least)
    tree = _Tree(net, limits, atomic, search)
    nodes, proven, method = [Box(low, room(net, limits, low), free.least)], [], free.method
    found: Schedule | None = free
    for _ in range(tuning.MOST_CAPACITIES):
        node = nodes.pop()
        if best is None or node.least < best.period:
            if found is None:
                part = search.part(tuning.CAPACITIES_SHARE)
                most = None if best is None else best.period
                found = modulo_schedule_within(net, node.least, part, node.high, atomic=atomic, most=most)
            if found is None:
                proven.append(node.least)
            else:
                method = found.method or method
                placed = tree.placed(found)
                if placed is None and (best is None or found.period < best.period):
                    nodes += tree.split(node, found)
                else:
                    proven.append(found.least)
                    best = placed if placed is not None and (best is None or placed.period < best.period) else best
        found = None
        if not nodes or search.expired():
            break
    if best is None:
        return None
    return replace(best, least=min([best.period, *proven, *(node.least for node in nodes)]), method=method)


def schedule_by_trees(
    trees: Trees, net: MappedNetwork, free: Schedule, limits: Mapping[str, int | None], few: Mapping[str, int],
    most: int,
) -> Schedule | None:  # fmt: skip
    """Return a schedule of a period below ``most`` whose buffers fit, found by a few trees; None if none was.

    ``free`` is one without limits. Buffers in memories that are too full hold ``few`` tokens then and, those that want
    most first, as many more as there is room for.
    """
    found, full = free, set[str]()
    for turn in range(tuning.MEMORY_TURNS):
        if not found.starts:
            return None
        tokens = needed_capacities(net, found.starts, found.period, atomic_firing=trees.atomic)
        if fits(net, limits, tokens):
            return found
        if turn + 1 == tuning.MEMORY_TURNS:
            break
        full |= {
            name for name, used in _used(net, tokens).items() if (limit := limits[name]) is not None and used > limit
        }
        shares = _shares(net, limits, few, tokens, full)
        found = trees.schedule(net, free.least, most, shares, from_below=True)
    return None


def _shares(
    net: MappedNetwork, limits: Mapping[str, int | None], few: Mapping[str, int], wanted: Mapping[str, int],
    full: Container[str],
) -> dict[str, int]:  # fmt: skip
    """Return capacities of the buffers in ``full`` memories, from ``few`` to those ``wanted``, that fit."""
    used = _used(net, few)
    shares = {}
    for buffer in sorted(net.network.buffers, key=lambda buffer: few[buffer.id] - wanted[buffer.id]):
        memory = net.memory[buffer.id]
        limit = limits[memory]
        if memory not in full or limit is None:
            continue
        more = max(0, wanted[buffer.id] - few[buffer.id])
        if buffer.token_bytes:
            more = min(more, (limit - used[memory]) // buffer.token_bytes)
        shares[buffer.id] = few[buffer.id] + more
        used[memory] += more * buffer.token_bytes
    return shares


@dataclass(frozen=True, slots=True)
class _Tree:
    net: MappedNetwork
    limits: Mapping[str, int | None]
    atomic: bool
    search: Search

    def tokens(self, schedule: Schedule) -> dict[str, int]:
        return needed_capacities(self.net, schedule.starts, schedule.period, atomic_firing=self.atomic)

    def placed(self, found: Schedule) -> Schedule | None:
        """Return the schedule with whole periods between its firings such that the buffers fit; None if none do."""
        if fits(self.net, self.limits, self.tokens(found)):
            return found
        starts = add_periods(
            self.net, found.starts, found.period, {}, atomic=self.atomic, limits=self.limits,
            time_limit_s=self.search.remaining_s(),
        )  # fmt: skip
        return None if starts is None else replace(found, starts=starts)

    def split(self, node: Box, found: Schedule) -> list[Box]:
        """Return the nodes into which one falls whose schedule needs too much of some memory."""
        tokens = self.tokens(found)
        used = _used(self.net, tokens)
        full = {name for name, limit in self.limits.items() if limit is not None and used.get(name, 0) > limit}
        buffer = max(
            (buffer for buffer in self.net.network.buffers if self.net.memory[buffer.id] in full),
            key=lambda buffer: (tokens[buffer.id] - node.low[buffer.id]) * buffer.token_bytes,
        )
        fewer = Box(node.low, {**node.high, buffer.id: tokens[buffer.id] - 1}, found.least)
        low = {**node.low, buffer.id: tokens[buffer.id]}
        if not fits(self.net, self.limits, low):
            return [fewer]
        return [fewer, Box(low, fewest(node.high, room(self.net, self.limits, low)), found.least)]
