"""The independent replay of a plan of a network: every step of every group, its boxes, and what moves between steps."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.check import Violation
from shorthaul.tensor.check.accesses import Ints, Range, in_all, joined, passes, reached_by, whole
from shorthaul.tensor.check.group_rules import adding, group_faults, running
from shorthaul.tensor.check.need import need_faults
from shorthaul.tensor.networks.model import Network, Operator
from shorthaul.tensor.networks.plan import Group, Loop, NetworkPlan

#: Steps replayed at once.
_AT_ONCE = 2**16
#: Cells between the borders of boxes, of four bytes each.
_MOST_CELLS = 2**27


@dataclass(frozen=True, slots=True)
class Homes:
    """The memories side by side of a level: how large, and which one an operand takes place in.

    ``served`` are the memories of inputs, weights and outputs, None for an operand that passes the level by;
    ``operands`` says of the reads of every operator which of them each is, by number.
    """

    rooms: tuple[float, ...]
    served: tuple[int | None, ...]
    operands: Sequence[Sequence[int]]


#: The number of what operators make among operands.
MADE = 2


def one_memory(network: Network, room: float = math.inf) -> Homes:
    """Return one memory for all operands."""
    return Homes((room,), (0,) * (MADE + 1), [[0] * len(item.reads) for item in network.operators])


@dataclass(slots=True)
class GroupReplay:
    """What a group moves between the outermost memory and the next, computes and holds.

    ``filled`` are the operations of as many passes as the array takes, all of it counted in each; ``ends_bytes`` what
    is loaded for the first step and stored after the last one; ``first_bytes`` of that are loaded, by tensor and
    memory, and ``early_bytes`` of these while the group before runs. ``extents`` are the most positions of each
    dimension of an operator in a step, ``inner_bytes`` what is loaded from and stored to the level outside, for every
    level inside; ``inner_of`` is by operator and level what is loaded as inputs, weights and outputs, and stored.
    ``loads_of`` are the loads from the outermost memory and from every level inside by operand, ``copied_of`` what is
    made and copied to the memory of another operand, ``held_bytes`` the peak of each memory of the first near level.
    Reads of ``shared`` have the buffer of another one. ``steps_s`` are the seconds of the steps, once they are replayed
    (:mod:`step_times`), ``beside_s`` those of first loads and last stores
    that pass beside them.
    """

    loads_bytes: float = 0.0
    stores_bytes: float = 0.0
    operations: dict[int, float] = field(default_factory=dict)
    filled: dict[int, float] = field(default_factory=dict)
    ends_bytes: float = 0.0
    first_bytes: dict[tuple[int, int], float] = field(default_factory=dict)
    early_bytes: float = 0.0
    peak_bytes: float = 0.0
    steps: int = 1
    extents: dict[int, tuple[int, ...]] = field(default_factory=dict)
    inner_bytes: list[tuple[float, float]] = field(default_factory=list)
    loads_of: list[list[float]] = field(default_factory=list)
    copied_of: dict[int, float] = field(default_factory=dict)
    held_bytes: list[float] = field(default_factory=list)
    inner_of: dict[int, tuple[tuple[float, ...], ...]] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    steps_s: float = 0.0
    beside_s: float = 0.0


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
    homes: Homes | None = None,
) -> NetworkReplay:
    """Return what a replay finds of ``plan`` with ``capacity`` bytes next to the outermost memory.

    ``widths`` are, by operator, how many positions of each dimension the machine computes at once; one each without.
    ``homes`` are the memories there, where they belong to operands.
    """
    wrong = [*need_faults(network), *_order_faults(network, plan)]
    near = residents(network, plan, wrong)
    homes = homes or one_memory(network)
    groups = []
    for number, group in enumerate(plan.groups):
        faults = list(group_faults(network, group, f"group {number}"))
        wrong += faults
        if faults:
            groups.append(GroupReplay())
            continue
        wide = {} if widths is None else {member: widths[member] for member in group.operators}
        seen = GroupRun(network, group, near[number], double_buffered=double_buffered, widths=wide, homes=homes)
        done = seen.run()
        kept = [(memory, tensor) for tensor in near[number] for memory in kept_in(network, tensor, homes)]
        done.peak_bytes += sum(network.tensors[tensor].bytes for _, tensor in kept)
        for memory, tensor in kept:
            done.held_bytes[memory] += network.tensors[tensor].bytes
        for memory, room in enumerate(homes.rooms):
            if done.held_bytes[memory] > room:
                text = f"the tiles do not fit into memory {memory} of the level"
                wrong.append(Violation("over-capacity", f"group {number}", text, done.held_bytes[memory], room))
        if done.peak_bytes > capacity:
            text = "the tiles do not fit"
            wrong.append(Violation("over-capacity", f"group {number}", text, done.peak_bytes, capacity))
        wrong += [
            Violation("not-covered", f"group {number}", f"the steps leave out a part of {network.tensors[tensor].name}")
            for tensor in seen.uncovered
        ]
        groups.append(done)
    if double_buffered:
        _load_early(network, plan, groups, capacity, homes)
    return NetworkReplay(wrong, groups)


def kept_in(network: Network, tensor: int, homes: Homes) -> list[int]:
    """Return the memories in which a tensor that is kept takes place: where it is made, and where it is read."""
    found = {homes.served[MADE]}
    for reader in network.consumers[tensor]:
        read = zip(network.operators[reader].reads, homes.operands[reader], strict=True)
        found |= {homes.served[operand] for access, operand in read if access.tensor == tensor}
    return sorted(memory for memory in found if memory is not None)


def _load_early(
    network: Network, plan: NetworkPlan, groups: Sequence[GroupReplay], capacity: float, homes: Homes
) -> None:
    """Let the first loads of a group pass while the one before runs, as far as they exist then and there is room."""
    for group, before, seen in zip(plan.groups, groups, groups[1:], strict=False):
        there: dict[int, float] = {}
        for (tensor, memory), size in seen.first_bytes.items():
            if network.producer.get(tensor) not in group.operators:
                there[memory] = there.get(memory, 0.0) + size
        if before.held_bytes:
            rooms = [room - held for room, held in zip(homes.rooms, before.held_bytes, strict=True)]
            there = {memory: max(0.0, min(size, rooms[memory])) for memory, size in there.items()}
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


def tiles_at(network: Network, loops: Sequence[Loop], numbers: Sequence[Ints]) -> dict[tuple[int, int], Range]:
    """Return the tiles of loops that have these numbers."""
    found: dict[tuple[int, int], Range] = {}
    for loop, number in zip(loops, numbers, strict=True):
        low = number.astype(np.int64) * loop.tile
        size = network.operators[loop.operator].dims[loop.dim]
        found[loop.operator, loop.dim] = (low, np.minimum(low + loop.tile, size) - 1)
    return found


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
        homes: Homes | None = None,
    ) -> None:
        self.homes = homes or one_memory(network)
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
            if item.running and adding(network, number) not in group.operators:
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
            for name, box in self.boxes(tiles_at(self.network, self.group.loops, at)):
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

    def _homes(self, name: str) -> tuple[int, list[int]]:
        """Return which operand a box is, and the memories that it takes place in."""
        if name.startswith("read"):
            number, place = map(int, name.removeprefix("read ").split("."))
            operand = self.homes.operands[number][place]
            home = self.homes.served[operand]
            return operand, [] if home is None else [home]
        found = {self.homes.served[MADE]}
        for number, item in self.items.items():
            for access, operand in zip(item.reads, self.homes.operands[number], strict=True):
                if access.tensor == self.tensor[name]:
                    found.add(self.homes.served[operand])
        return MADE, sorted(memory for memory in found if memory is not None)

    def _amounts(self, steps: int) -> GroupReplay:
        result, tensors = GroupReplay(steps=steps, loads_of=[[0.0] * (MADE + 1)]), self.network.tensors
        stored, held = self.stored(), [0.0] * len(self.homes.rooms)
        passing: dict[tuple[int, int], float] = {}
        seen: set[tuple[int, int, bytes]] = set()
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
            operand, memories = self._homes(name)
            if name.startswith("made"):
                self._copy(tensor, self.moved[name] * size, result)
            if tensor in self.near:
                if tensor in self.inside and tensors[tensor].is_output:
                    result.stores_bytes += tensors[tensor].elements * size
                continue
            if not memories:
                continue
            buffer = self.most[name] * size * (2 if self.double and self.changes[name] else 1)
            if name.startswith("read"):
                trail = (tensor, memories[0], self.trails[name].digest())
                if trail in seen:  # one buffer serves accesses that are alike in every step
                    result.shared.add(name)
                    continue
                seen.add(trail)
                result.loads_of[0][operand] += self.moved[name] * size
                result.ends_bytes += self.first[name] * size
                first = (tensor, memories[0])
                result.first_bytes[first] = result.first_bytes.get(first, 0.0) + self.first[name] * size
            elif tensor in stored:
                result.stores_bytes += self.moved[name] * size
                result.ends_bytes += math.prod(high - low + 1 for low, high in self.last[name]) * size
                if tensor == sink_tensor:  # partial sums come back
                    result.loads_of[0][MADE] += (self.moved[name] - tensors[tensor].elements) * size
            elif self.same[name] > 0:
                buffer = self.most[name] * size
            else:
                passing |= {(tensor, memory): self.most[name] * size for memory in memories}
                continue
            for memory in memories:
                held[memory] += buffer
        self._hold_rows(held)
        result.loads_bytes = sum(result.loads_of[0])
        every = range(len(held))
        result.held_bytes = [held[memory] + self._most_passing(passing, {memory}) for memory in every]
        result.peak_bytes = sum(held) + self._most_passing(passing, set(every))
        return result

    def _hold_rows(self, held: list[float]) -> None:
        """Add the largest element of a row so far, and a sum, of all rows that are cut."""
        for number in self.running:
            (row,) = self.items[number].running
            target = self.items[number].writes[0]
            sides = zip(target.axes, self.extents[f"made {target.tensor}"], strict=True)
            rows = math.prod(extent for index, extent in sides if all(dim != row for dim, _ in index.terms))
            memory = self.homes.served[MADE] or 0
            held[memory] += 2 * rows * self.network.tensors[target.tensor].bits / 8

    def _copy(self, tensor: int, made_bytes: float, result: GroupReplay) -> None:
        """Count what is made and copied to the memories of its readers, here or, where it stays near, later."""
        copies = set()
        for reader in self.network.consumers[tensor]:
            if reader in self.items or tensor in self.near:
                read = zip(self.network.operators[reader].reads, self.homes.operands[reader], strict=True)
                copies |= {operand for access, operand in read if access.tensor == tensor}
        apart = {self.homes.served[operand]: operand for operand in copies} | {self.homes.served[MADE]: MADE}
        for operand in set(apart.values()) - {MADE}:
            result.copied_of[operand] = result.copied_of.get(operand, 0.0) + made_bytes

    def _most_passing(self, sizes: dict[tuple[int, int], float], memories: set[int]) -> float:
        """Return the most that tensors take, in some memories, which are made and used up within a step."""
        most = 0.0
        for at in range(len(self.group.operators)):
            alive = 0.0
            for (tensor, memory), size in sizes.items():
                made = self.group.operators.index(self.network.producer[tensor])
                readers = [
                    n for n, number in enumerate(self.group.operators) if number in self.network.consumers[tensor]
                ]
                alive += size if memory in memories and made <= at <= max(readers) else 0.0
            most = max(most, alive)
        return most

    def _barrier(self, item: Operator, number: int) -> GroupReplay:
        tensors = self.network.tensors
        read = {access.tensor for access in item.reads} - self.near
        made = [a.tensor for a in item.writes if a.tensor not in self.near or tensors[a.tensor].is_output]
        loads = float(sum(tensors[tensor].bytes for tensor in read))
        return GroupReplay(
            loads,
            float(sum(tensors[tensor].bytes for tensor in made)),
            {number: item.work},
            {number: item.work},
            loads_of=[[loads, *[0.0] * MADE]],
            held_bytes=[0.0] * len(self.homes.rooms),
        )


def _covers(boxes: Ints, shape: Sequence[int]) -> bool:
    """Return whether boxes ((low, high) by axis by step) leave out nothing.

    Between all places where a box begins or ends along an axis lie cells; how many boxes have each is added up from
    their corners. More than ``_MOST_CELLS`` are not looked at.
    """
    ends = boxes[:, :, (boxes[1] >= boxes[0]).all(0)] + np.array([0, 1]).reshape(2, 1, 1)
    sides, counts = [], []
    for axis, size in enumerate(shape):
        places, numbers = np.unique(ends[:, axis], return_inverse=True)
        if not len(places) or places[0] > 0 or places[-1] < size:
            return not math.prod(shape)
        if len(places) > 2:  # not whole in all of them
            sides.append(numbers.reshape(2, -1))
            counts.append(len(places))
    if math.prod(counts) > _MOST_CELLS:
        return False
    having = np.zeros(counts, np.int32)
    for corner in itertools.product((0, 1), repeat=len(sides)):
        np.add.at(having, tuple(side[end] for side, end in zip(sides, corner, strict=True)), (-1) ** sum(corner))
    for axis in range(len(sides)):
        np.cumsum(having, axis, out=having)
    return not sides or bool(having[(slice(-1),) * len(sides)].all())
