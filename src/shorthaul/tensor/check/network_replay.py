"""The independent replay of a plan of a network: every step of every group, its boxes, and what moves between steps."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.check import Violation
from shorthaul.tensor.check.accesses import Ints, Range, in_all, joined, passes, reached_by, whole
from shorthaul.tensor.check.need import need_faults
from shorthaul.tensor.networks.model import Network, Operator
from shorthaul.tensor.networks.plan import Group, NetworkPlan

#: Steps of a group at most, and those replayed at once.
MOST_STEPS = 10**7
_AT_ONCE = 2**16


@dataclass(slots=True)
class GroupReplay:
    """What a group moves between the outermost memory and the next, computes and holds.

    ``filled`` are the operations of as many passes as the array takes, all of it counted in each; ``ends_bytes`` what
    is loaded for the first step and stored after the last one; ``first_bytes`` of that are loaded, by tensor, and
    ``early_bytes`` of these while the group before runs. ``extents`` are the most positions of each dimension of an
    operator in a step, ``inner_bytes`` what is loaded from and stored to the level outside, for every level inside;
    ``inner_of`` is their sum by operator. Reads of ``shared`` have the buffer of another one. ``steps_s`` are the
    seconds of the steps, once they are replayed (:mod:`step_times`).
    """

    loads_bytes: float = 0.0
    stores_bytes: float = 0.0
    operations: dict[int, float] = field(default_factory=dict)
    filled: dict[int, float] = field(default_factory=dict)
    ends_bytes: float = 0.0
    first_bytes: dict[int, float] = field(default_factory=dict)
    early_bytes: float = 0.0
    peak_bytes: float = 0.0
    steps: int = 1
    extents: dict[int, tuple[int, ...]] = field(default_factory=dict)
    inner_bytes: list[tuple[float, float]] = field(default_factory=list)
    inner_of: dict[int, tuple[float, ...]] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    steps_s: float = 0.0


@dataclass(slots=True)
class NetworkReplay:
    """The violations of a plan and its groups as replayed; a group that cannot be replayed has no amounts."""

    violations: list[Violation]
    groups: list[GroupReplay]


def replay_network(
    network: Network,
    plan: NetworkPlan,
    capacity: float,
    *,
    double_buffered: bool,
    widths: Sequence[Sequence[int]] | None = None,
) -> NetworkReplay:
    """Return what a replay finds of ``plan`` with ``capacity`` bytes next to the outermost memory.

    ``widths`` are, by operator, how many positions of each dimension the machine computes at once; one each without.
    """
    wrong = [*need_faults(network), *_order_faults(network, plan)]
    near = residents(network, plan, wrong)
    groups = []
    for number, group in enumerate(plan.groups):
        faults = list(_group_faults(network, group, f"group {number}"))
        wrong += faults
        if faults:
            groups.append(GroupReplay())
            continue
        wide = {} if widths is None else {member: widths[member] for member in group.operators}
        seen = GroupRun(network, group, near[number], double_buffered=double_buffered, widths=wide)
        done = seen.run()
        done.peak_bytes += sum(network.tensors[tensor].bytes for tensor in near[number])
        if done.peak_bytes > capacity:
            text = "the tiles do not fit"
            wrong.append(Violation("over-capacity", f"group {number}", text, done.peak_bytes, capacity))
        wrong += [
            Violation("not-covered", f"group {number}", f"the steps leave out a part of {network.tensors[tensor].name}")
            for tensor in seen.uncovered
        ]
        groups.append(done)
    if double_buffered:
        _load_early(network, plan, groups, capacity)
    return NetworkReplay(wrong, groups)


def _load_early(network: Network, plan: NetworkPlan, groups: Sequence[GroupReplay], capacity: float) -> None:
    """Let the first loads of a group pass while the one before runs, as far as they exist then and there is room."""
    for group, before, seen in zip(plan.groups, groups, groups[1:], strict=False):
        there = {
            tensor: size
            for tensor, size in seen.first_bytes.items()
            if network.producer.get(tensor) not in group.operators
        }
        seen.early_bytes = max(0.0, min(sum(there.values()), capacity - before.peak_bytes))
        before.peak_bytes += seen.early_bytes


def _order_faults(network: Network, plan: NetworkPlan) -> Iterator[Violation]:
    """Yield operators that are missing, twice, unknown, or before what they read."""
    place: dict[int, int] = {}
    for number, group in enumerate(plan.groups):
        for operator in group.operators:
            where = f"group {number}"
            if not 0 <= operator < len(network.operators):
                yield Violation("operator-unknown", where, f"there is no operator {operator}")
            elif operator in place:
                yield Violation(
                    "operator-twice", where, f"{network.operators[operator].name} is in group {place[operator]}"
                )
            place[operator] = number
    for operator, item in enumerate(network.operators):
        if operator not in place:
            yield Violation("operator-missing", "plan", f"{item.name} is in no group")
            continue
        for access in item.reads:
            source = network.producer.get(access.tensor)
            if source is not None and place.get(source, -1) > place[operator]:
                text = f"{item.name} reads {network.tensors[access.tensor].name} before it is made"
                yield Violation("operator-order", f"group {place[operator]}", text)


def residents(network: Network, plan: NetworkPlan, wrong: list[Violation]) -> list[set[int]]:
    """Return the tensors that are whole in near memory during each group: from their maker to their last reader."""
    place = {operator: number for number, group in enumerate(plan.groups) for operator in group.operators}
    near: list[set[int]] = [set() for _ in plan.groups]
    for number, group in enumerate(plan.groups):
        for tensor in group.kept:
            maker = network.producer.get(tensor)
            if maker is None or place.get(maker) != number:
                wrong.append(
                    Violation("not-made-here", f"group {number}", f"tensor {tensor} is kept but not made here")
                )
                continue
            last = max((place.get(reader, number) for reader in network.consumers[tensor]), default=number)
            for here in range(number, last + 1):
                near[here].add(tensor)
    return near


def _group_faults(network: Network, group: Group, where: str) -> Iterator[Violation]:
    members = group.operators
    if not members or any(not 0 <= number < len(network.operators) for number in members):
        yield Violation("empty-group", where, "has no operator, or an unknown one")
        return
    items = [network.operators[number] for number in members]
    made: set[int] = set()
    for number, item in zip(members, items, strict=True):
        later = {a.tensor for other in members[members.index(number) + 1 :] for a in network.operators[other].reads}
        if number != members[-1] and not any(access.tensor in later for access in item.writes):
            yield Violation("not-connected", where, f"nothing after {item.name} reads what it makes")
        inside = {network.producer[a.tensor] for a in item.reads if a.tensor in network.producer} & set(members)
        if not {a.tensor for n in inside for a in network.operators[n].writes} <= made:
            yield Violation("operator-order", where, f"{item.name} comes before what it reads")
        made |= {access.tensor for access in item.writes}
        if item.barrier and len(members) > 1:
            yield Violation("barrier-fused", where, f"{item.name} cannot be fused: its inner structure is not known")
    yield from loop_faults(network, group, where)


def loop_faults(network: Network, group: Group, where: str) -> Iterator[Violation]:
    """Yield what is wrong with the loops of a group."""
    sink, seen, anchor = group.operators[-1], set(), None
    steps = 1
    for loop in group.loops:
        text = f"loop over dimension {loop.dim} of operator {loop.operator}"
        if loop.operator not in group.operators or not 0 <= loop.dim < len(network.operators[loop.operator].dims):
            yield Violation("loop-unknown", where, f"{text}: there is no such dimension")
            continue
        item = network.operators[loop.operator]
        size = item.dims[loop.dim]
        if not 1 <= loop.tile <= size:
            yield Violation("tile-size", where, f"{text}: tiles of {loop.tile}", loop.tile, size)
            continue
        steps *= -(-size // loop.tile)
        if (loop.operator, loop.dim) in seen:
            yield Violation("loop-twice", where, text)
        seen.add((loop.operator, loop.dim))
        if loop.dim in item.whole | item.running:
            yield Violation("cut-row", where, f"{text}: {item.name} needs it whole")
        if loop.operator == sink:
            if anchor is not None:
                yield Violation("loop-order", where, f"{text}: inside a loop of the anchor")
        elif anchor not in {None, loop.operator} or loop.dim not in _reduced(item):
            yield Violation("loop-order", where, f"{text}: neither of the sink nor a reduction of one anchor")
        else:
            anchor = loop.operator
    cut = [at for at, loop in enumerate(group.loops) if loop.tile < network.operators[loop.operator].dims[loop.dim]]
    for number, (_, place) in running(network, group).items():
        if place != cut[-1]:
            text = f"rows of {network.operators[number].name} are cut by a loop that is not the last one"
            yield Violation("loop-order", where, text)
    if steps > MOST_STEPS:
        yield Violation("too-many-steps", where, "more steps than can be replayed", steps, MOST_STEPS)


def running(network: Network, group: Group) -> dict[int, tuple[int, int]]:
    """Return the operators whose rows are cut by sums over them: what these make, and the place of the loop."""
    found = {}
    places = {
        loop.operator: place
        for place, loop in enumerate(group.loops)
        if loop.dim in _reduced(network.operators[loop.operator])
        and loop.tile < network.operators[loop.operator].dims[loop.dim]
    }
    for number in group.operators:
        adds = _adding(network, number) if network.operators[number].running else -1
        if adds in places:
            found[number] = (network.operators[adds].writes[0].tensor, places[adds])
    return found


def _adding(network: Network, number: int) -> int:
    """Return the operator that adds up over the rows of another one: the first behind it that adds up at all."""
    while True:
        number = max(network.consumers[network.operators[number].writes[0].tensor])
        if _reduced(network.operators[number]):
            return number


def _reduced(item: Operator) -> set[int]:
    kept = {dim for axis in item.writes[0].axes for dim, _ in axis.terms}
    return set(range(len(item.dims))) - kept


class GroupRun:
    """The steps of one group, in pieces; what the step before had is known from piece to piece."""

    def __init__(
        self,
        network: Network,
        group: Group,
        near: set[int],
        *,
        double_buffered: bool,
        widths: Mapping[int, Sequence[int]] | None = None,
    ) -> None:
        self.network, self.group, self.near, self.double = network, group, near, double_buffered
        self.widths = {f"work {number}": width for number, width in (widths or {}).items() if set(width) - {1}}
        self.items = {number: network.operators[number] for number in group.operators}
        self.inside = {access.tensor for item in self.items.values() for access in item.writes}
        self.uncovered: list[int] = []
        self.last: dict[str, list[tuple[int, int]]] = {}
        self.moved: dict[str, float] = {}
        self.same: dict[str, float] = {}
        self.most: dict[str, float] = {}
        self.filled: dict[str, float] = {}
        self.first: dict[str, float] = {}
        self.trails: dict[str, Any] = {}
        self.tensor: dict[str, int] = {}
        self.changes: dict[str, bool] = {}
        self.extents: dict[str, tuple[int, ...]] = {}
        self.whole = {number: item.whole for number, item in self.items.items()}
        for number, item in self.items.items():
            if item.running and _adding(network, number) not in group.operators:
                self.whole[number] = item.whole | item.running
        self.running = running(network, group)
        self.scaled = dict.fromkeys(self.running, 0.0)

    def run(self) -> GroupReplay:
        """Return what the group moves, computes and holds."""
        sink = self.group.operators[-1]
        if self.items[sink].barrier:
            return self._barrier(self.items[sink], sink)
        sizes = [self.items[loop.operator].dims[loop.dim] for loop in self.group.loops]
        trips = [-(-size // loop.tile) for size, loop in zip(sizes, self.group.loops, strict=True)]
        steps = math.prod(trips)
        marks: dict[int, list[Ints]] = {tensor: [] for tensor in self.stored()}
        for start in range(0, steps, _AT_ONCE):
            numbers = np.arange(start, min(start + _AT_ONCE, steps))
            at = np.unravel_index(numbers, trips) if trips else ()
            tiles: dict[tuple[int, int], Range] = {}
            for loop, size, index in zip(self.group.loops, sizes, at, strict=True):
                low = index.astype(np.int64) * loop.tile
                tiles[loop.operator, loop.dim] = (low, np.minimum(low + loop.tile, size) - 1)
            for name, box in self.boxes(tiles):
                volume = self._follow(name, box, len(numbers))
                for number, (tensor, place) in self.running.items():  # sums so far are scaled once per further tile
                    if name == f"made {tensor}":
                        self.scaled[number] += float(volume[at[place] > 0].sum())
                if name.startswith("made") and self.tensor[name] in marks:
                    ends = [np.stack(in_all(ranges, len(numbers))) for ranges in box or [whole(1)]]
                    marks[self.tensor[name]].append(np.stack(ends, 1))
        for tensor, kept in marks.items():
            if not _covers(np.concatenate(kept, 2), self.network.tensors[tensor].shape or (1,)):
                self.uncovered.append(tensor)
        return self._amounts(steps)

    def stored(self) -> set[int]:
        """Return the tensors made here that somebody else, or the user, needs."""
        members, found = set(self.group.operators), set()
        for tensor in self.inside:
            outside = set(self.network.consumers[tensor]) - members
            is_sink = tensor == self.items[self.group.operators[-1]].writes[0].tensor
            if is_sink or outside or self.network.tensors[tensor].is_output:
                found.add(tensor)
        return found

    def boxes(self, tiles: dict[tuple[int, int], Range]) -> Iterator[tuple[str, list[Range]]]:
        """Yield the boxes of a piece of the steps: what operators do, make and read from outside."""
        wanted: dict[int, list[Range]] = {}
        sink = self.group.operators[-1]
        for number in self.group.operators[::-1]:
            item = self.items[number]
            dims = [whole(size) for size in item.dims]
            for dim in range(len(dims)):
                dims[dim] = tiles.get((number, dim), dims[dim])
            target = item.writes[0]
            if number != sink:
                for axis, index in enumerate(target.axes):
                    for dim, _ in index.terms:
                        dims[dim] = dims[dim] if dim in self.whole[number] else wanted[target.tensor][axis]
            yield f"work {number}", dims
            name = f"made {target.tensor}"
            self.tensor[name] = target.tensor
            yield name, [dims[index.terms[0][0]] if index.terms else whole(1) for index in target.axes]
            for place, access in enumerate(item.reads):
                box = reached_by(access, dims)
                if access.tensor in self.inside:
                    known = wanted.get(access.tensor)
                    wanted[access.tensor] = (
                        box if known is None else [joined(a, b) for a, b in zip(known, box, strict=True)]
                    )
                else:
                    name = f"read {number}.{place}"
                    self.tensor[name] = access.tensor
                    yield name, box

    def _follow(self, name: str, box: Sequence[Range], count: int) -> npt.NDArray[np.float64]:
        """Add up what each step of a piece needs of a box that the step before did not have; return its volumes."""
        before = self.last.get(name)
        seen = passes(box, count, before, self.widths.get(name))
        changed = seen.volume > seen.common
        if before is None:
            changed[0] = False
            self.first[name] = float(seen.volume[0])
        self.last[name] = seen.last()
        extents = ((seen.high - seen.low).max(1) + 1).tolist()
        known = self.extents.get(name, tuple(extents))
        self.extents[name] = tuple(max(a, b) for a, b in zip(known, extents, strict=True))
        self.moved[name] = self.moved.get(name, 0.0) + float((seen.volume - seen.common).sum())
        self.filled[name] = self.filled.get(name, 0.0) + float((seen.passes - seen.again).sum())
        self.same[name] = self.same.get(name, 0.0) + float(seen.common.sum())
        self.most[name] = max(self.most.get(name, 0.0), float(seen.volume.max()))
        self.changes[name] = self.changes.get(name, False) or bool(changed.any())
        self.trails.setdefault(name, hashlib.sha256()).update(np.stack([seen.low, seen.high]).tobytes())
        return seen.volume

    def _amounts(self, steps: int) -> GroupReplay:
        result, tensors = GroupReplay(steps=steps), self.network.tensors
        stored, held = self.stored(), 0.0
        passing: dict[int, float] = {}
        seen: set[tuple[int, bytes]] = set()
        sink_tensor = self.items[self.group.operators[-1]].writes[0].tensor
        for name in self.most:
            if name.startswith("work"):
                number = int(name.removeprefix("work "))
                scaled = self.scaled.get(number, 0.0)
                result.operations[number] = self.moved[name] * self.items[number].work + scaled
                result.filled[number] = self.filled[name] * self.items[number].work + scaled
                result.extents[number] = self.extents[name]
                continue
            tensor = self.tensor[name]
            size = tensors[tensor].bits / 8
            if tensor in self.near:
                if tensor in self.inside and tensors[tensor].is_output:
                    result.stores_bytes += tensors[tensor].elements * size
                continue
            buffer = self.most[name] * size * (2 if self.double and self.changes[name] else 1)
            if name.startswith("read"):
                trail = (tensor, self.trails[name].digest())
                if trail in seen:  # one buffer serves accesses that are alike in every step
                    result.shared.add(name)
                    continue
                seen.add(trail)
                result.loads_bytes += self.moved[name] * size
                result.ends_bytes += self.first[name] * size
                result.first_bytes[tensor] = result.first_bytes.get(tensor, 0.0) + self.first[name] * size
                held += buffer
            elif tensor in stored:
                result.stores_bytes += self.moved[name] * size
                result.ends_bytes += math.prod(high - low + 1 for low, high in self.last[name]) * size
                if tensor == sink_tensor:  # partial sums come back
                    result.loads_bytes += (self.moved[name] - tensors[tensor].elements) * size
                held += buffer
            elif self.same[name] > 0:
                held += self.most[name] * size
            else:
                passing[tensor] = self.most[name] * size
        for number in self.running:  # the largest element of a row so far, and a sum
            (row,) = self.items[number].running
            target = self.items[number].writes[0]
            sides = zip(target.axes, self.extents[f"made {target.tensor}"], strict=True)
            rows = math.prod(extent for index, extent in sides if all(dim != row for dim, _ in index.terms))
            held += 2 * rows * tensors[target.tensor].bits / 8
        result.peak_bytes = held + self._most_passing(passing)
        return result

    def _most_passing(self, sizes: dict[int, float]) -> float:
        """Return the most that tensors take which are made and used up within a step."""
        most = 0.0
        for at in range(len(self.group.operators)):
            alive = 0.0
            for tensor, size in sizes.items():
                made = self.group.operators.index(self.network.producer[tensor])
                readers = [
                    n for n, number in enumerate(self.group.operators) if number in self.network.consumers[tensor]
                ]
                alive += size if made <= at <= max(readers) else 0.0
            most = max(most, alive)
        return most

    def _barrier(self, item: Operator, number: int) -> GroupReplay:
        tensors = self.network.tensors
        read = {access.tensor for access in item.reads} - self.near
        made = [a.tensor for a in item.writes if a.tensor not in self.near or tensors[a.tensor].is_output]
        return GroupReplay(
            float(sum(tensors[tensor].bytes for tensor in read)),
            float(sum(tensors[tensor].bytes for tensor in made)),
            {number: item.work},
            {number: item.work},
        )


def _covers(boxes: Ints, shape: Sequence[int]) -> bool:
    """Return whether boxes ((low, high) by axis by step) leave out nothing, where they form a grid."""
    number, held = np.zeros(boxes.shape[-1], np.int64), 1
    for axis, size in enumerate(shape):
        codes, places = np.unique(boxes[0, axis] * (size + 1) + boxes[1, axis] + 1, return_inverse=True)
        low, high = np.divmod(codes, size + 1)
        high -= 1
        held *= len(codes)
        gaps = low[0] > 0 or high.max() < size - 1 or (low[1:] > np.maximum.accumulate(high)[:-1] + 1).any()
        if gaps or held > boxes.shape[-1]:
            return False
        number = number * len(codes) + places
    return held == len(np.unique(number))
