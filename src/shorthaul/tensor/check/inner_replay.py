"""The replay of tiles for inner memories: what every operator moves between two levels while it does its region."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from shorthaul.core.check import Violation
from shorthaul.tensor.check.group_rules import loop_faults
from shorthaul.tensor.check.network_replay import MADE, GroupReplay, GroupRun, Homes, one_memory
from shorthaul.tensor.networks.model import Access, Index, Network, Operator, Tensor
from shorthaul.tensor.networks.plan import Group, Loop, NetworkPlan


@dataclass(frozen=True, slots=True)
class InnerLevel:
    """A memory inside of the first near one, or several for operands of their own."""

    capacity: float
    double_buffered: bool
    homes: Homes | None = None

    def memories(self, network: Network) -> Homes:
        """Return the memories of the level, one for all operands where it says nothing."""
        return self.homes or one_memory(network, self.capacity)


#: Bytes loaded as inputs, weights and outputs, and stored.
_Moved = list[float]


def replay_inner(
    network: Network,
    plan: NetworkPlan,
    groups: Sequence[GroupReplay],
    levels: Sequence[InnerLevel],
    wider: Sequence[float] = (),
) -> Iterator[Violation]:
    """Yield what is wrong with the inner tiles of a plan, and add their traffic to ``groups``.

    ``levels`` are the memories inside of the first near one. A level for which an operator has no tiles holds nothing
    for it: what passes is what the next level further inside takes, and without tiles there either, or of operands that
    it does not serve, what every position touches, again and again. Where a region has a part of the sums of an
    operator, those that began in another one are loaded as well. ``wider`` is by operator how many times
    the bytes of an output a sum has that goes on.
    """
    regions = _Regions(network, levels, [level.memories(network) for level in levels])
    for number, (group, seen) in enumerate(zip(plan.groups, groups, strict=True)):
        chosen = {(tiled.operator, tiled.level): tiled.loops for tiled in group.inner}
        for tiled in group.inner:
            if tiled.operator not in group.operators or not 2 <= tiled.level < 2 + len(levels):
                text = f"tiles of operator {tiled.operator} for level {tiled.level}: there is no such thing"
                yield Violation("inner-unknown", f"group {number}", text)
        moved = [[0.0] * (MADE + 2) for _ in levels]
        for operator, operations in seen.operations.items():
            item = network.operators[operator]
            if item.barrier:
                passed = [[seen.loads_bytes, *[0.0] * MADE, seen.stores_bytes] for _ in levels]
            else:
                cuts = [chosen.get((operator, at + 2)) for at in range(len(levels))]
                where = f"group {number}, {item.name}"
                passed, faults = regions.passed(operator, operations, seen.extents[operator], cuts, where)
                yield from faults
                for link in passed:  # what is loaded of outputs are sums that go on, stored before
                    more = (wider[operator] - 1) * link[MADE] if wider else 0.0
                    link[MADE], link[-1] = link[MADE] + more, link[-1] + more
            seen.inner_of[operator] = tuple(map(tuple, passed))
            moved = [[a + b for a, b in zip(*both, strict=True)] for both in zip(moved, passed, strict=True)]
        seen.inner_bytes = [(sum(link[:-1]), link[-1]) for link in moved]
        seen.loads_of = [*seen.loads_of[:1], *(link[:-1] for link in moved)]


@dataclass(slots=True)
class _Regions:
    """What operators move by their tiles, or by position, worked out once for regions of one form."""

    network: Network
    levels: Sequence[InnerLevel]
    homes: Sequence[Homes]
    known: dict[tuple[object, ...], tuple[_Moved, list[Violation]]] = field(default_factory=dict)

    def passed(
        self,
        operator: int,
        operations: float,
        extents: tuple[int, ...],
        cuts: Sequence[Sequence[Loop] | None],
        where: str,
    ) -> tuple[list[_Moved], list[Violation]]:
        """Return what an operator moves to every level, with its largest region in a step, and what is wrong."""
        item, begun = self.network.operators[operator], 0
        moved = [[0.0] * (MADE + 2) for _ in self.levels]
        for at, loops in enumerate(cuts):
            if loops is None and at < len(cuts) - 1:
                continue
            region = math.prod(extents) * item.work
            times = operations / region if region else 1.0
            goes_on = 1 - math.prod(extents[dim] / item.dims[dim] for dim in item.reduced if item.dims[dim])
            each, faults = self._by_tiles(operator, extents, loops, at)
            if faults:
                return moved, [replace(fault, place=f"{where}, level {at + 2}") for fault in faults]
            for link in range(begun, at + 1):
                served, inside = self.homes[link].served, self.homes[at].served
                apart = [
                    n for n, home in enumerate(served) if home is not None and (loops is None or inside[n] is None)
                ]
                alone = self._by_position(operator, extents) if apart else each
                for end in range(MADE + 2):
                    own = min(end, MADE)
                    if served[own] is not None:
                        moved[link][end] += (alone if own in apart else each)[end] * times
                if served[MADE] is not None:  # sums that began in another region come back
                    made = alone if MADE in apart else each
                    moved[link][MADE] += goes_on * times * (made[-1] - made[MADE])
            begun = at + 1
            cut = {loop.dim: loop.tile for loop in loops or ()}
            extents = tuple(cut.get(dim, size) for dim, size in enumerate(extents))
        return moved, []

    def _form(self, operator: int, extents: tuple[int, ...]) -> tuple[object, ...]:
        item, operands = self.network.operators[operator], self.homes[0].operands[operator]
        bits = [self.network.tensors[access.tensor].bits for access in (*item.reads, *item.writes)]
        return (item.reads, item.writes, extents, item.whole | item.running, *bits, *operands)

    def _by_tiles(
        self, operator: int, extents: tuple[int, ...], loops: Sequence[Loop] | None, at: int
    ) -> tuple[_Moved, list[Violation]]:
        """Return what a region moves by tiles for a level, and what is wrong with them; nothing without tiles."""
        if loops is None:
            return [0.0] * (MADE + 2), []
        form = (at, tuple(loops), *self._form(operator, extents))
        if form not in self.known:
            homes = replace(self.homes[at], operands=[self._operands(operator)])
            self.known[form] = _tiled(self.network, operator, extents, loops, self.levels[at], homes)
        return self.known[form]

    def _by_position(self, operator: int, extents: tuple[int, ...]) -> _Moved:
        form = self._form(operator, extents)
        if form not in self.known:
            self.known[form] = _by_position(self.network, operator, extents, self._operands(operator)), []
        return self.known[form][0]

    def _operands(self, operator: int) -> list[int]:
        return [self.homes[0].operands[operator][place] for place in self.network.reads_apart[operator]]


def _tiled(
    network: Network,
    operator: int,
    extents: Sequence[int],
    loops: Sequence[Loop],
    level: InnerLevel,
    homes: Homes,
) -> tuple[_Moved, list[Violation]]:
    """Return what a region moves by tiles for a level, and what is wrong with them."""
    where, alone = "", _alone(network, operator, extents)
    local = Group((0,), tuple(type(loop)(0, loop.dim, loop.tile) for loop in loops))
    faults = list(loop_faults(alone, local, where))
    if faults:
        return [], faults
    run = GroupRun(alone, local, set(), double_buffered=level.double_buffered, homes=homes).run()
    if run.peak_bytes > level.capacity:
        faults.append(Violation("over-capacity", where, "the tiles do not fit", run.peak_bytes, level.capacity))
    for memory, (held, room) in enumerate(zip(run.held_bytes, homes.rooms, strict=True)):
        if held > room and not faults:
            text = f"the tiles do not fit into memory {memory} of the level"
            faults.append(Violation("over-capacity", where, text, held, room))
    return [*run.loads_of[0], run.stores_bytes], faults


def _by_position(network: Network, operator: int, extents: Sequence[int], operands: Sequence[int]) -> _Moved:
    """Return what a region loads and stores if nothing stays from one position to the next, sums neither.

    Tiles of single positions move no more, and less where neighbours have something in common: leaving tiles out never
    pays where those fit. It does where an operator looks a few elements up along dimensions that cannot be cut: an
    operation takes one of an operand, so a position takes no more of such a dimension than it has operations.
    """
    item = network.operators[operator]
    rows = item.whole | item.running
    single = tuple(size if dim in rows else 1 for dim, size in enumerate(extents))
    most = max(1, math.ceil(round(math.prod(single) * item.work, 9)))
    taken = tuple(min(size, most) for size in single)
    homes = Homes((math.inf,), (0,) * (MADE + 1), [operands])
    all_at_once, one = (
        GroupRun(_alone(network, operator, sizes), Group((0,)), set(), double_buffered=False, homes=homes).run()
        for sizes in (extents, taken)
    )
    count = math.prod(extents) / max(1, math.prod(single))
    stores = max(one.stores_bytes * count, all_at_once.stores_bytes)
    loads = [each * count for each in one.loads_of[0]]
    loads[MADE] += stores - all_at_once.stores_bytes
    return [*loads, stores]


def _alone(network: Network, operator: int, extents: Sequence[int]) -> Network:
    """Return an operator on a region, with tensors just as large as what it sees there, borders not counted.

    Pieces of a concatenation are one tensor: of each position they have one element.
    """
    item = network.operators[operator]
    read = [item.reads[place] for place in network.reads_apart[operator]]
    sizes: dict[int, int] = dict(enumerate(extents))
    tensors, accesses = [], []
    for place, access in enumerate((*read, *item.writes)):
        is_made = place >= len(read)
        moved = [_moved(index, sizes) for axis in access.axes for index in _split(axis, extents)]
        shape = tuple(size for _, size in moved)
        bits = network.tensors[access.tensor].bits
        tensors.append(Tensor(str(place), shape, bits, "made" if is_made else "input", is_output=is_made))
        accesses.append(Access(place, tuple(index for index, _ in moved), shape))
    count = len(read)
    parts = (tuple(accesses[:count]), tuple(accesses[count:]), item.work, item.unit, item.whole | item.running)
    return Network(item.name, tuple(tensors), (Operator(item.name, item.kind, tuple(extents), item.dim_names, *parts),))


def _split(axis: Index, extents: Sequence[int]) -> list[Index]:
    """Return an index per dimension where blocks of each lie within a step of the next larger one, as in patches."""
    many = sorted((abs(factor), extents[dim]) for dim, factor in axis.terms if extents[dim] > 1)
    spans = [sum(by * (count - 1) for by, count in many[:at]) for at in range(len(many))]
    apart = axis.divisor == 1 and all(by > span for (by, _), span in zip(many, spans, strict=True))
    return [Index(((dim, 1),)) for dim, _ in axis.terms] if apart and len(axis.terms) > 1 else [axis]


def _moved(index: Index, sizes: Mapping[int, int]) -> tuple[Index, int]:
    """Return an index whose least place is 0, and how many places it has."""
    least = sum(min(0, factor * (sizes[dim] - 1)) for dim, factor in index.terms)
    most = sum(max(0, factor * (sizes[dim] - 1)) for dim, factor in index.terms)
    return Index(index.terms, -least, index.divisor), (most - least) // index.divisor + 1
