"""The replay of tiles for inner memories: what every operator moves between two levels while it does its region."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from shorthaul.core.check import Violation
from shorthaul.tensor.check.network_replay import GroupReplay, GroupRun, loop_faults
from shorthaul.tensor.networks.model import Access, Index, Network, Operator, Tensor
from shorthaul.tensor.networks.plan import Group, NetworkPlan


def replay_inner(
    network: Network, plan: NetworkPlan, groups: Sequence[GroupReplay], levels: Sequence[tuple[float, bool]]
) -> Iterator[Violation]:
    """Yield what is wrong with the inner tiles of a plan, and add their traffic to ``groups``.

    ``levels`` are the capacity and the double buffering of every memory inside of the first near one. An operator
    without a tile for a level passes through it, everything once.
    """
    known: dict[tuple[object, ...], tuple[float, float, float]] = {}
    for number, (group, seen) in enumerate(zip(plan.groups, groups, strict=True)):
        chosen = {(tiled.operator, tiled.level): tiled.loops for tiled in group.inner}
        for tiled in group.inner:
            if tiled.operator not in group.operators or not 2 <= tiled.level < 2 + len(levels):
                text = f"tiles of operator {tiled.operator} for level {tiled.level}: there is no such thing"
                yield Violation("inner-unknown", f"group {number}", text)
        seen.inner_bytes = [(0.0, 0.0)] * len(levels)
        for operator, operations in seen.operations.items():
            item = network.operators[operator]
            if item.barrier:
                seen.inner_bytes = [(seen.loads_bytes, seen.stores_bytes) for _ in levels]
                continue
            extents = seen.extents[operator]
            for at, (capacity, double) in enumerate(levels):
                loops = chosen.get((operator, at + 2))
                cut = {} if loops is None else {loop.dim: loop.tile for loop in loops}
                alone = _alone(network, item, extents)
                local = Group((0,), tuple(type(loop)(0, loop.dim, loop.tile) for loop in loops or ()))
                faults = list(loop_faults(alone, local, f"group {number}, {item.name}, level {at + 2}"))
                if faults:
                    yield from faults
                    break
                form = (at, loops, item.reads, item.writes, extents, tuple(t.bits for t in alone.tensors))
                if form not in known:
                    run = GroupRun(alone, local, set(), double_buffered=double).run()
                    known[form] = run.loads_bytes, run.stores_bytes, run.peak_bytes
                loads, stores, peak = known[form]
                region = math.prod(extents) * item.work
                times = operations / region if region else 1.0
                before = seen.inner_bytes[at]
                seen.inner_bytes[at] = (before[0] + loads * times, before[1] + stores * times)
                if loops is not None and peak > capacity:
                    place = f"group {number}, {item.name}, level {at + 2}"
                    yield Violation("over-capacity", place, "the tiles do not fit", peak, capacity)
                extents = tuple(cut.get(dim, size) for dim, size in enumerate(extents))


def _alone(network: Network, item: Operator, extents: Sequence[int]) -> Network:
    """Return an operator on a region, with tensors just as large as what it sees there, borders not counted."""
    sizes: dict[int, int] = dict(enumerate(extents))
    tensors, accesses = [], []
    for place, access in enumerate((*item.reads, *item.writes)):
        is_made = place >= len(item.reads)
        moved = [_moved(index, sizes) for index in access.axes]
        shape = tuple(size for _, size in moved)
        bits = network.tensors[access.tensor].bits
        tensors.append(Tensor(str(place), shape, bits, "made" if is_made else "input", is_output=is_made))
        accesses.append(Access(place, tuple(index for index, _ in moved), shape))
    count = len(item.reads)
    parts = (tuple(accesses[:count]), tuple(accesses[count:]), item.work, item.unit, item.whole)
    return Network(item.name, tuple(tensors), (Operator(item.name, item.kind, tuple(extents), item.dim_names, *parts),))


def _moved(index: Index, sizes: Mapping[int, int]) -> tuple[Index, int]:
    """Return an index whose least place is 0, and how many places it has."""
    least = sum(min(0, factor * (sizes[dim] - 1)) for dim, factor in index.terms)
    most = sum(max(0, factor * (sizes[dim] - 1)) for dim, factor in index.terms)
    return Index(index.terms, -least, index.divisor), (most - least) // index.divisor + 1
