"""Tensors kept whole in near memory from the group that makes them to the last one that reads them, where that pays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from shorthaul.core.search import Search
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.tiling import Tiled

#: The best tiling of operators within a capacity beside tensors that are held whole aside.
Best = Callable[[tuple[int, ...], float, frozenset[int]], Tiled | None]


@dataclass(frozen=True, slots=True)
class _Stay:
    """A tensor, and the groups during which it would stay."""

    tensor: int
    first: int
    last: int
    size: float


def keep_near(
    network: Network,
    groups: Sequence[Tiled],
    capacity: float,
    best: Best,
    search: Search,
    size_of: Callable[[int], float],
) -> list[Tiled]:
    """Return the groups with tensors kept between them: those first that save most for the room they take.

    ``size_of`` tells the bytes that a tensor takes.
    """
    found = list(groups)
    near: list[frozenset[int]] = [frozenset() for _ in groups]
    held = [0.0] * len(groups)
    for stay in _stays(network, groups, capacity, size_of):
        if search.expired():
            break
        changed: dict[int, Tiled] = {}
        before = after = 0.0
        for number in range(stay.first, stay.last + 1):
            group = found[number]
            room = capacity - held[number] - stay.size
            touches = number == stay.first or any(
                access.tensor == stay.tensor
                for operator in group.group.operators
                for access in network.operators[operator].reads
            )
            if not touches and group.peak <= room:
                continue
            beside = near[number] | ({stay.tensor} if touches else frozenset())
            again = best(group.group.operators, room, frozenset(beside)) if room > 0 else None
            if again is None:
                break
            before, after = before + group.score, after + again.score
            changed[number] = again
        else:
            if after < before * (1 - 1e-9):
                for number, again in changed.items():
                    found[number] = again
                for number in range(stay.first, stay.last + 1):
                    near[number] |= {stay.tensor}
                    held[number] += stay.size
    makers = [
        tuple(sorted(tensor for tensor in near[number] if network.producer[tensor] in item.group.operators))
        for number, item in enumerate(found)
    ]
    return [replace(item, group=replace(item.group, kept=kept)) for item, kept in zip(found, makers, strict=True)]


def _stays(network: Network, groups: Sequence[Tiled], capacity: float, size_of: Callable[[int], float]) -> list[_Stay]:
    """Return what could be kept, in the order of bytes saved for bytes held over groups."""
    place = {operator: number for number, item in enumerate(groups) for operator in item.group.operators}
    stays = []
    for tensor, maker in network.producer.items():
        readers = {place[reader] for reader in network.consumers[tensor]} - {place[maker]}
        size = size_of(tensor)
        if readers and size < capacity:
            moved = len(readers) + (not network.tensors[tensor].is_output)
            stay = _Stay(tensor, place[maker], max(readers), size)
            stays.append((-moved / (stay.last - stay.first + 1), size, stay))
    return [stay for _, _, stay in sorted(stays, key=lambda item: (item[0], -item[1], item[2].tensor))]
