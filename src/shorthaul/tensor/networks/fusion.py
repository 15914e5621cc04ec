"""Groups of operators: fused along their tensors as long as that pays, what saves most first."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from shorthaul.core.errors import InfeasibleError
from shorthaul.core.search import Search
from shorthaul.tensor.networks.inner import InnerTilings
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Access, Network
from shorthaul.tensor.networks.needs import demands, together
from shorthaul.tensor.networks.plan import Group, Loop, NetworkPlan
from shorthaul.tensor.networks.pricing import Beside
from shorthaul.tensor.networks.residency import keep_near
from shorthaul.tensor.networks.settling import settle
from shorthaul.tensor.networks.tiling import Tiled, best_tiling, least_score, priced

#: Operators of a group at most, and tensors that they read. With 16 operators ResNet-50 takes 1.86 of its bound on
#: ``tpu-v1`` (batches of 20, whose stages run image by image), with 64 it takes 1.43.
_MOST_OPERATORS = 64
_MOST_READS = 256
#: What one tiling of a group costs the search, in its own unit (about a second of one core).
_EFFORT_PER_GROUP = 0.05


class Tilings:
    """The best tilings of groups, worked out once for groups of one form."""

    def __init__(self, network: Network, machine: Machine, search: Search) -> None:
        self.network, self.machine, self.search = network, machine, search
        self._demands = demands(network, machine)
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

    def as_it_is(self, item: Tiled, near: frozenset[int], beside: Beside) -> Tiled:
        """Return the price of a group beside others."""
        operators = item.group.operators
        if self.network.operators[operators[-1]].barrier:
            return item
        found = priced(self.network, item.group, self.machine, self.stored(operators), near, beside)
        return replace(found, group=item.group)

    def anew(self, item: Tiled, capacity: float, near: frozenset[int], beside: Beside) -> Tiled | None:
        """Return a group with the best tiling beside others."""
        self.search.spend(_EFFORT_PER_GROUP)
        operators = item.group.operators
        found = best_tiling(self.network, operators, self.machine, self.stored(operators), capacity, near, beside)
        return None if found is None else replace(found, group=replace(found.group, kept=item.group.kept))

    def least(self, operators: Sequence[int]) -> float:
        """Return a score that no tiling of a group is below."""
        network, inside = self.network, set(operators)
        needed = {number: self._demands[number] for number in operators if number in self._demands}
        seconds, read = together(network, self.machine, needed)
        loads = sum(amount for tensor, amount in read.items() if network.producer.get(tensor) not in inside)
        written = self.stored(operators) | {network.operators[operators[-1]].writes[0].tensor}
        return least_score(
            loads, float(sum(network.tensors[tensor].bytes for tensor in written)), seconds, self.machine
        )

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
            parts.append(
                (accesses, len(item.reads), item.dims, item.work, item.unit, item.whole, item.running, item.barrier)
            )
        return tuple(parts)

    @staticmethod
    def _renamed(known: Tiled, operators: tuple[int, ...]) -> Tiled:
        place = dict(zip(known.group.operators, operators, strict=True))
        loops = tuple(Loop(place[loop.operator], loop.dim, loop.tile) for loop in known.group.loops)
        return replace(known, group=Group(operators, loops))


@dataclass(slots=True)
class _State:
    """Groups while they are fused: members and tiling by the number of the sink, the group of every operator."""

    tilings: Tilings
    capacity: float
    members: dict[int, tuple[int, ...]]
    tiled: dict[int, Tiled]
    group_of: dict[int, int]

    def put(self, operators: tuple[int, ...]) -> bool:
        """Make a group of operators, if a tiling of it fits."""
        tiled = self.tilings.best(operators, self.capacity)
        if tiled is None:
            return False
        sink = operators[-1]
        self.members[sink], self.tiled[sink] = operators, tiled
        self.group_of.update(dict.fromkeys(operators, sink))
        return True

    def is_complete(self) -> bool:
        """Return whether all groups fit: a group that none does may still be joined to another one."""
        return len(self.tiled) == len(self.members)

    def merged(self, first: int, second: int) -> tuple[int, ...]:
        """Return the operators of two groups."""
        return tuple(sorted((*self.members[first], *self.members[second])))

    def apart(self, first: int, second: int) -> float:
        """Return what two groups cost as they are."""
        return sum(self.tiled[group].score if group in self.tiled else float("inf") for group in (first, second))

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


def fuse(
    network: Network,
    machine: Machine,
    search: Search,
    capacity: float,
    start: NetworkPlan | None = None,
    keep: Callable[[Callable[[], NetworkPlan]], None] = lambda _: None,
) -> list[Tiled]:
    """Return groups in an order in which they can be executed, with their tilings.

    The groups of ``start`` are joined further; ``keep`` is told how to make a plan whenever there is a better one.
    Raises :class:`InfeasibleError` naming the operators that do not fit into ``capacity`` bytes even alone.
    """
    tilings = Tilings(network, machine, search)
    state = _begun(tilings, capacity, start)
    inner = InnerTilings(network, machine)

    def plan_of(groups: Sequence[Tiled]) -> list[Tiled]:
        return [replace(item, group=replace(item.group, inner=inner.of(item.group))) for item in groups]

    def made() -> NetworkPlan:
        return NetworkPlan(tuple(item.group for item in plan_of([state.tiled[group] for group in _ordered(state)])))

    if state.is_complete():
        keep(made)
    _merge(state, search, lambda: keep(made) if state.is_complete() else None)
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
    return plan_of(settle(network, machine, groups, capacity, tilings, search))


def _begun(tilings: Tilings, capacity: float, start: NetworkPlan | None) -> _State:
    """Return the groups of ``start`` that can be tiled, and one group for every other operator."""
    state = _State(tilings, capacity, {}, {}, {})
    for group in () if start is None else start.groups:
        state.put(tuple(sorted(group.operators)))
    for number in range(len(tilings.network.operators)):
        if number in state.group_of or state.put((number,)):
            continue
        rows = tilings.network.until_sums(number)
        if rows is None or not state.group_of.keys().isdisjoint(rows) or not state.put(rows):
            state.members[number], state.group_of[number] = (number,), number
    return state


def _merge(state: _State, search: Search, keep: Callable[[], None]) -> None:
    """Join the pair of groups that saves most, until none saves anything.

    A pair is tiled only when nothing else in the queue may save more: until then it stands there with a bound on what
    it may save, and most are gone before their turn.
    """
    queue: list[tuple[float, int, int, tuple[int, ...], tuple[int, ...], bool]] = []

    def offer(first: int, second: int, gain: float | None, *, is_exact: bool = False) -> None:
        if gain is not None and gain > 0:
            heapq.heappush(queue, (-gain, first, second, state.members[first], state.members[second], is_exact))

    for second in sorted(state.members):
        for first in sorted(state.sources(second)):
            offer(first, second, _most_gain(state, first, second))
    while queue and not search.expired():
        _, first, second, before, after, is_exact = heapq.heappop(queue)
        if state.members.get(first) != before or state.members.get(second) != after:
            continue  # one of them has changed since
        if state.is_reached_around(first, second):
            continue
        if not is_exact:
            offer(first, second, _gain(state, first, second), is_exact=True)
            continue
        _join(state, first, second)
        keep()
        for source in sorted(state.sources(second)):
            offer(source, second, _most_gain(state, source, second))
        for user in sorted(_users(state, second)):
            offer(second, user, _most_gain(state, second, user))


def _users(state: _State, group: int) -> set[int]:
    network = state.tilings.network
    made = [access.tensor for number in state.members[group] for access in network.operators[number].writes]
    return {state.group_of[number] for tensor in made for number in network.consumers[tensor]} - {group}


def _join(state: _State, first: int, second: int) -> None:
    is_joined = state.put(state.merged(first, second))
    assert is_joined
    del state.members[first]
    state.tiled.pop(first, None)


def _most_gain(state: _State, first: int, second: int) -> float | None:
    """Return seconds that fusing two groups cannot save more than, None if it cannot be done."""
    operators = state.tilings.network.operators
    merged = state.merged(first, second)
    if len(merged) > _MOST_OPERATORS or sum(len(operators[number].reads) for number in merged) > _MOST_READS:
        return None
    if any(operators[number].barrier for number in merged):
        return None
    network = state.tilings.network
    last = operators[state.members[first][-1]].writes[0].tensor
    leads_on = not set(network.consumers[last]).isdisjoint(state.members[second])
    if merged[-1] != state.members[second][-1] or not leads_on or state.is_reached_around(first, second):
        return None
    return state.apart(first, second) - state.tilings.least(merged)


def _gain(state: _State, first: int, second: int) -> float | None:
    """Return the seconds that fusing two groups saves, None if no tiling of both fits."""
    tiled = state.tilings.best(state.merged(first, second), state.capacity)
    return None if tiled is None else state.apart(first, second) - tiled.score


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
