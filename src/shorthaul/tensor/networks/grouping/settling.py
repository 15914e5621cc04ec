"""Groups in their order, tiled once more: first loads pass while the group before runs, where there is room."""

from __future__ import annotations

from collections.abc import Sequence

from shorthaul.core.search import Search
from shorthaul.tensor.networks.grouping.groups import Tilings
from shorthaul.tensor.networks.grouping.refining import Place, Refiner
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.operands import bytes_beside
from shorthaul.tensor.networks.pricing import Beside
from shorthaul.tensor.networks.tiling import Tiled

#: The part of the whole latency that waiting for one group has to take before it is tiled once more.
_WORTHWHILE = 1e-4


class _Row:
    """Groups one after the other, the tensors kept near by each of them, and the bytes of these."""

    def __init__(self, network: Network, machine: Machine, groups: Sequence[Tiled], capacity: float) -> None:
        self.network, self.capacity = network, capacity
        self.rate = machine.levels[0].bandwidth_bytes_per_s
        place = {operator: number for number, item in enumerate(groups) for operator in item.group.operators}
        self.near: list[frozenset[int]] = [frozenset() for _ in groups]
        held = [0.0] * len(groups)
        for number, item in enumerate(groups):
            for tensor in item.group.kept:
                readers = [place[reader] for reader in network.consumers[tensor]]
                for at in {number, *readers}:
                    self.near[at] |= {tensor}
                for at in range(number, max(readers, default=number) + 1):
                    held[at] += bytes_beside(network, machine, tensor)
        self.room = [capacity - amount for amount in held]
        self.made = [
            frozenset(access.tensor for number in item.group.operators for access in network.operators[number].writes)
            for item in groups
        ]

    def early(self, groups: Sequence[Tiled], at: int) -> float:
        """Return the bytes of a group that are loaded while the one before runs."""
        if not 0 < at < len(groups):
            return 0.0
        return max(0.0, min(groups[at].first, self.room[at - 1] - groups[at - 1].peak))

    def seconds(self, groups: Sequence[Tiled], at: int) -> float:
        """Return the seconds of a group beside its neighbours."""
        item, early = groups[at], self.early(groups, at)
        moved = item.loads + item.stores - early + self.early(groups, at + 1)
        return max(moved / self.rate, item.steps_s + (item.ends - early) / self.rate)

    def beside(self, groups: Sequence[Tiled], at: int, wanted: float) -> Beside:
        """Return what the neighbours of a group have to do with its time; the one after wants so many bytes early."""
        if at == 0:
            return Beside(0.0, 0.0, wanted, self.room[0], frozenset())
        before = groups[at - 1]
        moved = before.loads + before.stores - self.early(groups, at - 1)
        inside = before.steps_s + (before.ends - self.early(groups, at - 1)) / self.rate
        room = max(0.0, self.room[at - 1] - before.peak)
        return Beside(room, max(0.0, inside - moved / self.rate), wanted, self.room[at], self.made[at - 1])


def settle(
    network: Network, machine: Machine, groups: Sequence[Tiled], capacity: float, tilings: Tilings, search: Search
) -> list[Tiled]:
    """Return the groups with tiles that make the best of what may be loaded early; where that pays."""
    if not machine.levels[1].double_buffered or search.expired():
        return list(groups)
    row = _Row(network, machine, groups, capacity)
    found: list[Tiled] = []
    for at, item in enumerate(groups):
        late = row.made[at - 1] if at else frozenset[int]()
        found.append(tilings.as_it_is(item, row.near[at], Beside(0.0, 0.0, 0.0, 0.0, late)))
    before_s = sum(row.seconds(found, at) for at in range(len(found)))
    for at in range(1, len(found)):
        if search.expired():
            break
        waits_s = row.seconds(found, at) - max(found[at].matrix_s, found[at].vector_s)
        if waits_s > _WORTHWHILE * before_s and not _is_barrier(network, found[at]):
            found = _better(row, found, at, tilings)
    return found


def refined(
    network: Network, machine: Machine, groups: Sequence[Tiled], capacity: float, tilings: Tilings, refiner: Refiner
) -> list[Tiled]:
    """Return the groups with tiles for the memories further inside, and outer ones that go with these."""
    if not refiner.looks():
        return [refiner.with_inner(item) for item in groups]
    row, found = _Row(network, machine, groups, capacity), list(groups)
    for at, item in enumerate(groups):
        beside = row.beside(found, at, found[at + 1].first if at + 1 < len(found) else 0.0)
        place = Place(row.room[at], row.near[at], beside, tilings.stored(item.group.operators))
        found[at] = refiner.better(tilings.as_it_is(item, place.near, beside), place)
    return found


def _is_barrier(network: Network, item: Tiled) -> bool:
    return network.operators[item.group.operators[-1]].barrier


def _better(row: _Row, groups: Sequence[Tiled], at: int, tilings: Tilings) -> list[Tiled]:
    """Return the groups with one of them, and perhaps the one before, tiled anew, if they take less time so."""
    best, best_s = list(groups), sum(row.seconds(groups, number) for number in range(len(groups)))
    could_use = groups[at].loads - groups[at].ends + groups[at].first
    for change_before in (False, True):
        tried = list(groups)
        if change_before:
            if _is_barrier(row.network, tried[at - 1]):
                continue
            changed = tilings.anew(
                tried[at - 1], row.room[at - 1], row.near[at - 1], row.beside(tried, at - 1, could_use)
            )
            if changed is None or changed.group == tried[at - 1].group:
                continue
            tried[at - 1] = changed
        wanted = tried[at + 1].first if at + 1 < len(tried) else 0.0
        changed = tilings.anew(tried[at], row.room[at], row.near[at], row.beside(tried, at, wanted))
        if changed is None:
            continue
        tried[at] = changed
        taken = sum(row.seconds(tried, number) for number in range(len(tried)))
        if taken < best_s * (1 - 1e-9):
            best, best_s = tried, taken
    return best
