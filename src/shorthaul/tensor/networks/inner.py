"""Tiles for the memories further inside: what an operator does in a step, cut again for every level."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from shorthaul.tensor.networks.boxes import is_one_to_one, tiles, touched
from shorthaul.tensor.networks.loops import is_tap
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Access, Index, Network, Operator, Tensor
from shorthaul.tensor.networks.operands import OUTPUTS, wider_sums
from shorthaul.tensor.networks.plan import Group, Inner, Loop
from shorthaul.tensor.networks.tiling import Tiled, best_tiling


def region_network(
    network: Network, number: int, extents: Sequence[int], single: frozenset[int] = frozenset()
) -> Network:
    """Return an operator alone on a region of its dimensions, on tensors that hold just what it touches there.

    Views are left out: an access has the axes of what the operator sees, and pieces of a concatenation are one. The
    dimensions ``single``, of which tiles have one position each, have axes of their own: what such tiles have in common
    is left out.
    """
    operator = network.operators[number]
    read = [operator.reads[place] for place in network.reads_apart[number]]
    tensors: list[Tensor] = []
    accesses: list[Access] = []
    for access in (*read, *operator.writes):
        axes, shape = [], []
        for index in _apart(access.axes, extents, single):
            ends = [factor * (extents[dim] - 1) for dim, factor in index.terms]
            low = sum(end for end in ends if end < 0)
            high = sum(end for end in ends if end > 0)
            # The lowest place is 0; what lies beyond a border counts as if it were there.
            axes.append(Index(index.terms, index.offset - low, index.divisor))
            shape.append((index.offset + high - low) // index.divisor + 1)
        source = network.tensors[access.tensor]
        tensors.append(Tensor(source.name, tuple(shape), source.bits, "input"))
        accesses.append(Access(len(tensors) - 1, tuple(axes), tuple(shape)))
    tensors[-1] = Tensor(tensors[-1].name, tensors[-1].shape, tensors[-1].bits, "made", is_output=True)
    reads, writes = tuple(accesses[: len(read)]), tuple(accesses[len(read) :])
    names = (operator.name, operator.kind, tuple(extents), operator.dim_names)
    alone = Operator(*names, reads, writes, operator.work, operator.unit, operator.rows)
    return Network(operator.name, tuple(tensors), (alone,))


def _apart(axes: Sequence[Index], extents: Sequence[int], single: frozenset[int]) -> Iterator[Index]:
    """Yield axes of a region: each dimension has its own where no two combinations of them reach the same position.

    Patches that do not overlap are such: what lies between the places of a tile is not among what it touches.
    """
    for index in axes:
        if len(index.terms) > 1 and is_one_to_one(index, extents):
            yield from (Index(((dim, 1),)) for dim, _ in index.terms)
        else:
            kept = tuple(term for term in index.terms if term[0] not in single)
            yield from (Index(((dim, 1),)) for dim, _ in index.terms if dim in single)
            # Taps move a tile across the borders that a division makes: it may touch one place more.
            yield Index(kept, index.divisor - 1 if len(kept) < len(index.terms) else 0, index.divisor)


def _taps(operator: Operator) -> Iterator[frozenset[int]]:
    """Yield dimensions of a window of which tiles may have one position each: none, all, and all but the innermost."""
    taps = [dim for dim in sorted(operator.reduced) if operator.dims[dim] > 1 and is_tap(operator, dim)]
    yield from dict.fromkeys((frozenset(), frozenset(taps), frozenset(taps[:-1])))


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


def by_position_bytes(network: Network, number: int, extents: Sequence[int]) -> float:
    """Return the bytes that an operator moves in a region if nothing stays from one position to the next.

    Where it looks elements up, a position takes no more along a dimension that cannot be cut than it has operations.
    """
    operator = network.operators[number]
    rows = math.prod(extents[dim] for dim in operator.rows)
    taken = max(1, math.ceil(round(rows * operator.work, 9))) if operator.looks_up else rows
    one = tuple(min(size, taken) if dim in operator.rows else 1 for dim, size in enumerate(extents))
    touched = sum(tensor.elements * tensor.bits / 8 for tensor in region_network(network, number, one).tensors)
    return touched * math.prod(extents) / max(1, rows)


class InnerTilings:
    """Tiles for the memories inside of the first, worked out once for regions of one form."""

    def __init__(self, network: Network, machine: Machine) -> None:
        self.network, self.machine = network, machine
        self._inside = [machine.inside(level - 1) for level in range(2, len(machine.levels))]
        self._known: dict[tuple[object, ...], Tiled | None] = {}

    def of(self, group: Group) -> tuple[Inner, ...]:
        """Return the tiles of every operator of a group for every level inside of the first near one."""
        return self.costed(group)[0]

    def costed(self, group: Group) -> tuple[tuple[Inner, ...], list[float], float]:
        """Return the tiles of a group, the seconds in which what they move passes each level, and its joules.

        Where a machine file has no energies there are none.
        """
        seconds, joules = [0.0] * len(self._inside), 0.0
        found: list[Inner] = []
        if not self._inside or self.network.operators[group.operators[-1]].barrier:
            return (), seconds, joules
        for number, region in largest_regions(self.network, group).items():
            extents, operator = region, self.network.operators[number]
            for level, inside in enumerate(self._inside, 2):
                times = math.prod(operator.dims) / max(1, math.prod(extents))
                tiled, made = self._tiled(number, extents, level)
                alone = by_position_bytes(self.network, number, extents) * times
                rates = [each.levels[0].bandwidth_bytes_per_s for each in self._inside[level - 2 :]]
                if tiled is None or (operator.looks_up and alone / rates[0] < tiled.moved_s * times):
                    for at, rate in enumerate(rates, level - 2):
                        seconds[at] += alone / rate
                    break
                goes_on = 1 - math.prod(extents[dim] / operator.dims[dim] for dim in operator.reduced)
                again = goes_on * made if inside.served(1)[OUTPUTS] is not None else 0.0
                wider = wider_sums(self.network, inside, number)
                loads, stores = again * wider, again * (wider - 1)
                seconds[level - 2] += (tiled.moved_s + (loads + stores) * inside.byte_s(OUTPUTS)) * times
                weights = inside.traffic_weights()
                worth = tiled.worth + weights[OUTPUTS] * loads + weights[-1] * stores
                joules += inside.joules_moved(tiled.loads + loads, tiled.stores + stores, worth) * times
                cut = {loop.dim: loop.tile for loop in tiled.group.loops}
                extents = tuple(cut.get(dim, size) for dim, size in enumerate(extents))
                loops = tuple(Loop(number, loop.dim, loop.tile) for loop in tiled.group.loops)
                found.append(Inner(number, level, loops))
        return tuple(sorted(found, key=lambda item: (item.operator, item.level))), seconds, joules

    def _tiled(self, number: int, extents: tuple[int, ...], level: int) -> tuple[Tiled | None, float]:
        """Return the tiles of a region, if some fit, and the bytes of what it makes."""
        alone = region_network(self.network, number, extents)
        item = alone.operators[0]
        bits = tuple(tensor.bits for tensor in alone.tensors)
        form = (level, bits, item.dims, item.reads, item.writes, item.work, item.unit, item.whole)
        if form not in self._known:
            self._known[form] = min(
                (found for single in _taps(item) if (found := self._with_taps(number, extents, level, single))),
                key=lambda found: found.score,
                default=None,
            )
        return self._known[form], float(sum(alone.tensors[access.tensor].bytes for access in item.writes))

    def _with_taps(self, number: int, extents: tuple[int, ...], level: int, single: frozenset[int]) -> Tiled | None:
        """Return the best tiles of a region where those of some dimensions of its window have one position."""
        alone = region_network(self.network, number, extents, single)
        capacity, given = float(self.machine.levels[level].capacity_bytes or 0), {(0, dim): 1 for dim in single}
        return best_tiling(alone, (0,), self._inside[level - 2], frozenset(), capacity, given=given)
