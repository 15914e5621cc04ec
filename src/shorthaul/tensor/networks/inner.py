"""Tiles for the memories further inside: what an operator does in a step, cut again for every level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shorthaul.tensor.networks.boxes import is_one_to_one, tiles, touched
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Access, Index, Network, Operator, Tensor
from shorthaul.tensor.networks.plan import Group, Inner, Loop
from shorthaul.tensor.networks.tiling import best_tiling


def region_network(network: Network, number: int, extents: Sequence[int]) -> Network:
    """Return an operator alone on a region of its dimensions, on tensors that hold just what it touches there.

    Views are left out: an access has the axes of what the operator sees.
    """
    operator = network.operators[number]
    tensors: list[Tensor] = []
    accesses: list[Access] = []
    for access in (*operator.reads, *operator.writes):
        axes, shape = [], []
        for index in _apart(access.axes, extents):
            ends = [factor * (extents[dim] - 1) for dim, factor in index.terms]
            low = sum(end for end in ends if end < 0)
            high = sum(end for end in ends if end > 0)
            # The lowest place is 0; what lies beyond a border counts as if it were there.
            axes.append(Index(index.terms, -low, index.divisor))
            shape.append((high - low) // index.divisor + 1)
        source = network.tensors[access.tensor]
        tensors.append(Tensor(source.name, tuple(shape), source.bits, "input"))
        accesses.append(Access(len(tensors) - 1, tuple(axes), tuple(shape)))
    tensors[-1] = Tensor(tensors[-1].name, tensors[-1].shape, tensors[-1].bits, "made", is_output=True)
    reads, writes = tuple(accesses[: len(operator.reads)]), tuple(accesses[len(operator.reads) :])
    names = (operator.name, operator.kind, tuple(extents), operator.dim_names)
    alone = Operator(*names, reads, writes, operator.work, operator.unit, operator.rows)
    return Network(operator.name, tuple(tensors), (alone,))


def _apart(axes: Sequence[Index], extents: Sequence[int]) -> Iterator[Index]:
    """Yield axes of a region: each dimension has its own where no two combinations of them reach the same position.

    Patches that do not overlap are such: what lies between the places of a tile is not among what it touches.
    """
    for index in axes:
        if len(index.terms) > 1 and is_one_to_one(index, extents):
            yield from (Index(((dim, 1),)) for dim, _ in index.terms)
        else:
            yield index


def largest_regions(network: Network, group: Group) -> dict[int, tuple[int, ...]]:
    """Return, by operator, the most positions of each of its dimensions that a step covers."""
    found: dict[int, list[int]] = {}
    sizes = {(loop.operator, loop.dim): network.operators[loop.operator].dims[loop.dim] for loop in group.loops}
    cuts = {(loop.operator, loop.dim): loop.tile for loop in group.loops}
    for one in ({}, *({key: tiles(sizes[key], tile, key)} for key, tile in cuts.items())):
        for number, box in touched(network, group.operators, one).regions.items():
            extents = [int(span.lengths().max()) for span in box]
            before = found.get(number, extents)
            found[number] = [min(a, b) for a, b in zip(before, extents, strict=True)]
    return {number: tuple(extents) for number, extents in found.items()}


class InnerTilings:
    """Tiles for the memories inside of the first, worked out once for regions of one form."""

    def __init__(self, network: Network, machine: Machine) -> None:
        self.network, self.machine = network, machine
        self._known: dict[tuple[object, ...], tuple[Loop, ...] | None] = {}

    def of(self, group: Group) -> tuple[Inner, ...]:
        """Return the tiles of every operator of a group for every level inside of the first near one."""
        if self.network.operators[group.operators[-1]].barrier:
            return ()
        found = []
        for number, region in largest_regions(self.network, group).items():
            extents = region
            for level in range(2, len(self.machine.levels)):
                loops = self._loops(number, extents, level)
                if loops is None:
                    break
                cut = {loop.dim: loop.tile for loop in loops}
                extents = tuple(cut.get(dim, size) for dim, size in enumerate(extents))
                found.append(Inner(number, level, tuple(Loop(number, loop.dim, loop.tile) for loop in loops)))
        return tuple(sorted(found, key=lambda item: (item.operator, item.level)))

    def _loops(self, number: int, extents: tuple[int, ...], level: int) -> tuple[Loop, ...] | None:
        alone = region_network(self.network, number, extents)
        item = alone.operators[0]
        bits = tuple(tensor.bits for tensor in alone.tensors)
        form = (level, bits, item.dims, item.reads, item.writes, item.work, item.unit, item.whole)
        if form not in self._known:
            capacity = float(self.machine.levels[level].capacity_bytes or 0)
            tiled = best_tiling(alone, (0,), self.machine.inside(level - 1), frozenset(), capacity)
            self._known[form] = None if tiled is None else tiled.group.loops
        return self._known[form]
