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

    ``levels`` are the capacity and the double buffering of every memory inside of the first near one. A level for which
    an operator has no tiles holds nothing for it: what passes is what the next level further inside takes, and without
    tiles there either, what every position touches, again and again.
    """
    known: dict[tuple[object, ...], tuple[float, float, float]] = {}
    for number, (group, seen) in enumerate(zip(plan.groups, groups, strict=True)):
        chosen = {(tiled.operator, tiled.level): tiled.loops for tiled in group.inner}
        for tiled in group.inner:
            if tiled.operator not in group.operators or not 2 <= tiled.level < 2 + len(levels):
                text = f"tiles of operator {tiled.operator} for level {tiled.level}: there is no such thing"
                yield Violation("inner-unknown", f"group {number}", text)
        moved = [(0.0, 0.0)] * len(levels)
        for operator, operations in seen.operations.items():
            item = network.operators[operator]
            before = list(moved)
            if item.barrier:
                moved = [(seen.loads_bytes, seen.stores_bytes) for _ in levels]
                seen.inner_of[operator] = tuple(sum(both) for both in moved)
                continue
            extents, passed = seen.extents[operator], 0
            for at, (capacity, double) in enumerate(levels):
                loops, is_last = chosen.get((operator, at + 2)), at == len(levels) - 1
                if loops is None and not is_last:
                    continue
                alone = _alone(network, item, extents)
                form = (
                    at,
                    loops,
                    item.reads,
                    item.writes,
                    extents,
                    item.whole | item.running,
                    tuple(t.bits for t in alone.tensors),
                )
                if loops is None:
                    known[form] = known.get(form) or (*_by_position(network, item, extents), 0.0)
                else:
                    local = Group((0,), tuple(type(loop)(0, loop.dim, loop.tile) for loop in loops))
                    faults = list(loop_faults(alone, local, f"group {number}, {item.name}, level {at + 2}"))
                    if faults:
                        yield from faults
                        break
                    if form not in known:
                        run = GroupRun(alone, local, set(), double_buffered=double).run()
                        known[form] = run.loads_bytes, run.stores_bytes, run.peak_bytes
                loads, stores, peak = known[form]
                region = math.prod(extents) * item.work
                times = operations / region if region else 1.0
                for level in range(passed, at + 1):
                    moved[level] = (moved[level][0] + loads * times, moved[level][1] + stores * times)
                if peak > capacity:
                    place = f"group {number}, {item.name}, level {at + 2}"
                    yield Violation("over-capacity", place, "the tiles do not fit", peak, capacity)
                passed = at + 1
                cut = {loop.dim: loop.tile for loop in loops or ()}
                extents = tuple(cut.get(dim, size) for dim, size in enumerate(extents))
            seen.inner_of[operator] = tuple(sum(now) - sum(then) for now, then in zip(moved, before, strict=True))
        seen.inner_bytes = moved


def _by_position(network: Network, item: Operator, extents: Sequence[int]) -> tuple[float, float]:
    """Return what a region loads and stores if nothing stays from one position to the next, sums neither.

    Tiles of single positions move no more, and less where neighbours have something in common: leaving tiles out never
    pays where those fit.
    """
    single = tuple(size if dim in item.whole | item.running else 1 for dim, size in enumerate(extents))
    all_at_once, one = (
        GroupRun(_alone(network, item, sizes), Group((0,)), set(), double_buffered=False).run()
        for sizes in (extents, single)
    )
    count = math.prod(extents) / max(1, math.prod(single))
    stores = one.stores_bytes * count
    return one.loads_bytes * count + max(0.0, stores - all_at_once.stores_bytes), stores


def _alone(network: Network, item: Operator, extents: Sequence[int]) -> Network:
    """Return an operator on a region, with tensors just as large as what it sees there, borders not counted."""
    sizes: dict[int, int] = dict(enumerate(extents))
    tensors, accesses = [], []
    for place, access in enumerate((*item.reads, *item.writes)):
        is_made = place >= len(item.reads)
        moved = [_moved(index, sizes) for axis in access.axes for index in _split(axis, extents)]
        shape = tuple(size for _, size in moved)
        bits = network.tensors[access.tensor].bits
        tensors.append(Tensor(str(place), shape, bits, "made" if is_made else "input", is_output=is_made))
        accesses.append(Access(place, tuple(index for index, _ in moved), shape))
    count = len(item.reads)
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
