"""Groups of operators: fused along their tensors as long as that pays, what saves most first."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shorthaul.core.errors import InfeasibleError
from shorthaul.core.search import Search
from shorthaul.tensor.networks.inner import InnerTilings
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Access, Network
from shorthaul.tensor.networks.plan import Group, Loop
from shorthaul.tensor.networks.residency import keep_near
from shorthaul.tensor.networks.tiling import Tiled, best_tiling

#: Operators of a group at most, and tensors that they read.
_MOST_OPERATORS = 16
_MOST_READS = 64
#: The share of the time for pairs of operators, before any are fused.
_SHARE_OF_FIRST_PAIRS = 0.5
#: What one tiling of a group costs the search, in its own unit (about a second of one core).
_EFFORT_PER_GROUP = 0.05


class Tilings:
    """The best tilings of groups, worked out once for groups of one form."""

    def __init__(self, network: Network, machine: Machine, search: Search) -> None:
        self.network, self.machine, self.search = network, machine, search
        self._known: dict[tuple[object, ...], Tiled | None] = {}

    def stored(self, operators: Sequence[int]) -> frozenset[int]:
        """Return the tensors that a group makes and others, or the user, need; the sink's not among them."""
        inside = set(operators)
        found = set()
        for number in operators[:-1]:
            for access in self.network.operators[number].writes:
                tensor = access.tensor
                if self.network.tensors[tensor].is_output or not set(self.network.consumers[tensor]) <= inside:
                    found.add(tensor)
        return frozenset(found)

    def best(self, operators: tuple[int, ...], capacity: float, near: frozenset[int] = frozenset()) -> Tiled | None:
        """Return the best tiling of a group beside tensors that are held whole aside."""
        stored = self.stored(operators)
        form = (capacity, self._form(operators, stored, near))
        if form not in self._known:
            self.search.spend(_EFFORT_PER_GROUP)
            self._known[form] = best_tiling(self.network, operators, self.machine, stored, capacity, near)
        known = self._known[form]
        return None if known is None else self._renamed(known, operators)

    def _form(self, operators: Sequence[int], stored: frozenset[int], near: frozenset[int]) -> tuple[object, ...]:
        """Return all that the cost of a group depends on: what operators and tensors are like, not which."""
        names: dict[int, int] = {}

        def plain(access: Access) -> tuple[object, ...]:
            tensor = self.network.tensors[access.tensor]
            number = names.setdefault(access.tensor, len(names))
            marks = (access.tensor in stored, access.tensor in near, tensor.is_output)
            return number, tensor.bits, tensor.shape, access.axes, access.shape, access.steps, marks

        parts = []
        for number in operators:
            item = self.network.operators[number]
            accesses = tuple(plain(access) for access in (*item.reads, *item.writes))
            parts.append((accesses, len(item.reads), item.dims, item.work, item.unit, item.whole, item.barrier))
        return tuple(parts)

    @staticmethod
    def _renamed(known: Tiled, operators: tuple[int, ...]) -> Tiled:
        place = dict(zip(known.group.operators, operators, strict=True))
        loops = tuple(Loop(place[loop.operator], loop.dim, loop.tile) for loop in known.group.loops)
        amounts = (known.latency_s, known.loads, known.stores, known.matrix_s, known.vector_s, known.peak)
        return Tiled(Group(operators, loops), known.score, *amounts)


@dataclass(slots=True)
class _State:
    """Groups while they are fused: members and tiling by the number of the sink, the group of every operator."""

    tilings: Tilings
    capacity: float
    members: dict[int, tuple[int, ...]]
    tiled: dict[int, Tiled]
    group_of: dict[int, int]

    def sources(self, group: int) -> set[int]:
        """Return the groups whose tensors a group reads."""
        producer = self.tilings.network.producer
        found = set()
        for number in self.members[group]:
            for access in self.tilings.network.operators[number].reads:
                if access.tensor in producer:
                    found.add(self.group_of[producer[access.tensor]])
        return found - {group}

    def is_reached_around(self, first: int, second: int) -> bool:
        """Return whether a group comes between two others, which then cannot become one."""
        least = self.members[first][0]
        open_groups, seen = [group for group in self.sources(second) if group != first], {second}
        while open_groups:
            group = open_groups.pop()
            if group == first:
                return True
            if group in seen or self.members[group][-1] < least:
                continue
            seen.add(group)
            open_groups += self.sources(group)
        return False


def fuse(network: Network, machine: Machine, search: Search, capacity: float) -> list[Tiled]:
    """Return groups in an order in which they can be executed, with their tilings.

    Raises :class:`InfeasibleError` naming the operators that do not fit into ``capacity`` bytes even alone.
    """
    tilings = Tilings(network, machine, search)
    alone = {number: tilings.best((number,), capacity) for number in range(len(network.operators))}
    state = _State(
        tilings,
        capacity,
        {number: (number,) for number in alone},
        {number: tiled for number, tiled in alone.items() if tiled is not None},
        {number: number for number in alone},
    )
    _merge(state, search)
    too_large = [number for number in state.members if number not in state.tiled]
    if too_large:
        names = ", ".join(network.operators[number].name for number in too_large[:8])
        raise InfeasibleError(
            f"{machine.levels[1].name}, in bytes, for one step of {names},",
            demand=capacity + 1,
            limit=capacity,
            cure="take a machine with more memory",
        )
    groups = [state.tiled[group] for group in _ordered(state)]
    groups = keep_near(network, groups, capacity, tilings.best, search)
    inner = InnerTilings(network, machine)
    # Once time is up, operators pass through the memories inside: such a plan is as valid.
    cut = [() if search.expired() else inner.of(item.group) for item in groups]
    return [replace(item, group=replace(item.group, inner=tiles)) for item, tiles in zip(groups, cut, strict=True)]


def _merge(state: _State, search: Search) -> None:
    queue: list[tuple[float, int, int, tuple[int, ...], tuple[int, ...]]] = []

    def offer(first: int, second: int) -> None:
        found = _gain(state, first, second)
        if found is not None:
            heapq.heappush(queue, (-found, first, second, state.members[first], state.members[second]))

    first_pairs = search.part(_SHARE_OF_FIRST_PAIRS)
    for second in sorted(state.members):
        for first in () if first_pairs.expired() else sorted(state.sources(second)):
            offer(first, second)
    while queue:  # what is in the queue is worked out: it is taken even when time is up
        _, first, second, before, after = heapq.heappop(queue)
        if state.members.get(first) != before or state.members.get(second) != after:
            continue  # one of them has changed since
        if state.is_reached_around(first, second):
            continue
        _join(state, first, second)
        if search.expired():
            continue
        for source in sorted(state.sources(second)):
            offer(source, second)
        for user in sorted(_users(state, second)):
            offer(second, user)


def _users(state: _State, group: int) -> set[int]:
    network = state.tilings.network
    made = [access.tensor for number in state.members[group] for access in network.operators[number].writes]
    return {state.group_of[number] for tensor in made for number in network.consumers[tensor]} - {group}


def _join(state: _State, first: int, second: int) -> None:
    merged = tuple(sorted((*state.members[first], *state.members[second])))
    tiled = state.tilings.best(merged, state.capacity)
    assert tiled is not None
    state.members[second] = merged
    state.tiled[second] = tiled
    del state.members[first]
    state.tiled.pop(first, None)
    for number in merged:
        state.group_of[number] = second


def _gain(state: _State, first: int, second: int) -> float | None:
    """Return the seconds that fusing two groups saves, None if it saves nothing or cannot be done."""
    operators = state.tilings.network.operators
    merged = tuple(sorted((*state.members[first], *state.members[second])))
    if len(merged) > _MOST_OPERATORS or sum(len(operators[number].reads) for number in merged) > _MOST_READS:
        return None
    if any(operators[number].barrier for number in merged):
        return None
    network = state.tilings.network
    last = operators[state.members[first][-1]].writes[0].tensor
    leads_on = not set(network.consumers[last]).isdisjoint(state.members[second])
    if merged[-1] != state.members[second][-1] or not leads_on or state.is_reached_around(first, second):
        return None
    tiled = state.tilings.best(merged, state.capacity)
    if tiled is None:
        return None
    apart = [state.tiled[group].score if group in state.tiled else float("inf") for group in (first, second)]
    gain = sum(apart) - tiled.score
    return gain if gain > 0 else None


def _ordered(state: _State) -> list[int]:
    """Return the groups so that every one comes after those that it reads from, near to them."""
    waiting = {group: state.sources(group) for group in state.members}
    users: dict[int, list[int]] = {group: [] for group in waiting}
    for group, sources in waiting.items():
        for source in sources:
            users[source].append(group)
    ready = [group for group, sources in waiting.items() if not sources]
    heapq.heapify(ready)
    order = []
    while ready:
        group = heapq.heappop(ready)
        order.append(group)
        for user in users[group]:
            waiting[user].discard(group)
            if not waiting[user]:
                heapq.heappush(ready, user)
    return order
