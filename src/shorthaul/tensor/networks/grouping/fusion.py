"""Groups of operators: fused along their tensors as long as that pays, what saves most first."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

from shorthaul.core.errors import InfeasibleError
from shorthaul.core.search import Search
from shorthaul.tensor.networks.grouping.folding import folded
from shorthaul.tensor.networks.grouping.groups import MOST_OPERATORS, MOST_READS, Forming, Tilings
from shorthaul.tensor.networks.grouping.refining import Refiner
from shorthaul.tensor.networks.grouping.residency import keep_near
from shorthaul.tensor.networks.grouping.settling import refined, settle
from shorthaul.tensor.networks.inner import InnerTilings
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.operands import bytes_beside
from shorthaul.tensor.networks.plan import Group, NetworkPlan
from shorthaul.tensor.networks.tiling import Tiled

#: The share of what is left that joining may take; tensors kept near, early loads and tiles further inside the rest.
_SHARE = 0.6


def fuse(
    network: Network,
    machine: Machine,
    search: Search,
    capacity: float,
    start: NetworkPlan | None = None,
    keep: Callable[[Callable[[], NetworkPlan]], None] = lambda _: None,
) -> Iterator[list[Tiled]]:
    """Yield groups in an order in which they can be executed, with their tilings: one or two answers.

    Groups are joined from two beginnings: from operators folded into those before them, which takes little and is near
    the end already, and, if as much is left as that took, from single operators; or from the groups of ``start``.
    ``keep`` is told how to make a plan whenever there is a better one.
    Raises :class:`InfeasibleError` naming the operators that do not fit into ``capacity`` bytes even alone.
    """
    tilings = Tilings(network, machine, search)
    refiner = Refiner(network, machine, InnerTilings(network, machine), search)

    def size_of(tensor: int) -> float:
        return bytes_beside(network, machine, tensor)

    def joined(state: Forming) -> list[Tiled] | None:
        def made() -> NetworkPlan:
            return NetworkPlan(tuple(refiner.with_inner(item).group for item in state.in_order()))

        if state.is_complete():
            keep(made)
        _merge(state, search, lambda: keep(made) if state.is_complete() else None)
        if not state.is_complete() or (found is not None and search.expired()):
            return None
        formed = state.in_order()
        if [item.group for item in formed] in known:
            return None  # it would become the same
        known.append([item.group for item in formed])
        groups = keep_near(network, formed, capacity, tilings.best, search, size_of)
        settled = settle(network, machine, groups, capacity, tilings, search)
        return refined(network, machine, settled, capacity, tilings, refiner)

    found: list[Tiled] | None = None
    known: list[list[Group]] = []
    began = search.spent()
    if start is None:
        found = joined(folded(tilings, capacity))
    if found is not None:
        yield found
        if search.left() < search.spent() - began:
            return
    state = _begun(tilings, capacity, start)
    again = joined(state)
    if again is not None:
        yield again
    elif found is None:
        too_large = [number for number in state.members if number not in state.tiled]
        names = ", ".join(network.operators[number].name for number in too_large[:8])
        raise InfeasibleError(
            f"{machine.levels[1].name}, in bytes, for one step of {names},",
            demand=capacity + 1,
            limit=capacity,
            cure="take a machine with more memory",
        )


def _begun(tilings: Tilings, capacity: float, start: NetworkPlan | None) -> Forming:
    """Return the groups of ``start`` that can be tiled, and one group for every other operator."""
    state = Forming(tilings, capacity, {}, {}, {})
    for group in () if start is None else start.groups:
        state.put(tuple(sorted(group.operators)))
    for number in range(len(tilings.network.operators)):
        if number in state.group_of or state.put((number,)):
            continue
        rows = tilings.network.until_sums(number)
        if rows is None or not state.group_of.keys().isdisjoint(rows) or not state.put(rows):
            state.members[number], state.group_of[number] = (number,), number
    return state


def _merge(state: Forming, search: Search, keep: Callable[[], None]) -> None:
    """Join the pair of groups that saves most, until none saves anything.

    A pair is tiled only when nothing else in the queue may save more: until then it stands there with a bound on what
    it may save, and most are gone before their turn.
    """
    queue: list[tuple[float, int, int, tuple[int, ...], tuple[int, ...], bool]] = []
    most = search.spent() + _SHARE * search.left()

    def is_over() -> bool:
        return state.is_complete() and (search.spent() >= most or search.expired())

    if is_over():
        return

    def offer(first: int, second: int, gain: float | None, *, is_exact: bool = False) -> None:
        if gain is not None and gain > 0:
            heapq.heappush(queue, (-gain, first, second, state.members[first], state.members[second], is_exact))

    for second in sorted(state.members):
        for first in sorted(state.sources(second)):
            offer(first, second, _most_gain(state, first, second))
    while queue and not is_over():
        _, first, second, before, after, is_exact = heapq.heappop(queue)
        if state.members.get(first) != before or state.members.get(second) != after:
            continue  # one of them has changed since
        if state.is_reached_around(first, second):
            continue
        if not is_exact:
            offer(first, second, _gain(state, first, second), is_exact=True)
            continue
        is_joined = state.join({first, second})
        assert is_joined
        keep()
        for source in sorted(state.sources(second)):
            offer(source, second, _most_gain(state, source, second))
        for user in sorted(_users(state, second)):
            offer(second, user, _most_gain(state, second, user))


def _users(state: Forming, group: int) -> set[int]:
    network = state.tilings.network
    made = [access.tensor for number in state.members[group] for access in network.operators[number].writes]
    return {state.group_of[number] for tensor in made for number in network.consumers[tensor]} - {group}


def _most_gain(state: Forming, first: int, second: int) -> float | None:
    """Return seconds that fusing two groups cannot save more than, None if it cannot be done."""
    operators = state.tilings.network.operators
    merged = state.merged(first, second)
    if len(merged) > MOST_OPERATORS or sum(len(operators[number].reads) for number in merged) > MOST_READS:
        return None
    if any(operators[number].barrier for number in merged):
        return None
    network = state.tilings.network
    last = operators[state.members[first][-1]].writes[0].tensor
    leads_on = not set(network.consumers[last]).isdisjoint(state.members[second])
    if merged[-1] != state.members[second][-1] or not leads_on or state.is_reached_around(first, second):
        return None
    return state.apart(first, second) - state.tilings.least(merged)


def _gain(state: Forming, first: int, second: int) -> float | None:
    """Return the seconds that fusing two groups saves, None if no tiling of both fits."""
    tiled = state.tilings.best(state.merged(first, second), state.capacity)
    return None if tiled is None else state.apart(first, second) - tiled.score
