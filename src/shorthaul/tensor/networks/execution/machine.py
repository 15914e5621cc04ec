"""Plans of networks executed tile by tile: every step loads, computes and stores what is new in it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InputError, NoPlanError
from shorthaul.core.search import Search
from shorthaul.tensor.networks.boxes import Box, Key, Span, touched
from shorthaul.tensor.networks.execution.arrays import evaluated_by
from shorthaul.tensor.networks.execution.memory import Far, Ranges, beyond, common, slices, volume
from shorthaul.tensor.networks.execution.online import rows_of, softmax_of_tile
from shorthaul.tensor.networks.execution.operators import Piece
from shorthaul.tensor.networks.execution.reading import Index, Reader, gathered
from shorthaul.tensor.networks.execution.windows import kind_of
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import Group, NetworkPlan
from shorthaul.tensor.networks.translation.network import Translation

Array = npt.NDArray[Any]
#: Steps whose boxes are worked out at once.
_AT_ONCE: Final = 4096


@dataclass(slots=True)
class Moved:
    """What a group moved and computed."""

    loads_bytes: float = 0.0
    stores_bytes: float = 0.0
    operations: dict[int, float] = field(default_factory=dict)


@dataclass(slots=True)
class _Held:
    """A box of a tensor in near memory."""

    box: Ranges
    array: Array


class Execution:
    """A plan on its way: memories, and what was moved by group."""

    def __init__(self, translation: Translation, constants: Mapping[str, Array], inputs: Mapping[str, Array]) -> None:
        self.translation, self.network = translation, translation.network
        self.far = Far(translation, constants, inputs)
        self.kept: dict[int, _Held] = {}
        self.reader = Reader(translation, constants, self._fetch)
        self.moved: list[Moved] = []
        self.running: _GroupRun | None = None
        #: Who executed operators that have no tiles, and their kinds.
        self.others: set[tuple[str, str]] = set()

    def run(self, plan: NetworkPlan, search: Search) -> dict[str, Array]:
        """Execute all groups and return the outputs of the graph; raises :class:`InputError` for what is not there."""
        place = {operator: number for number, group in enumerate(plan.groups) for operator in group.operators}
        for number, group in enumerate(plan.groups):
            search.report(what=f"executes group {number} of {len(plan.groups)}")
            self.running = _GroupRun(self, group, number)
            self.running.run(search)
            self.moved.append(self.running.moved)
            for tensor in list(self.kept):
                if all(place[reader] <= number for reader in self.network.consumers[tensor]):
                    del self.kept[tensor]
        return {name: self.far.reader.whole(name) for name in self.translation.graph.outputs}

    def _fetch(self, number: int, index: Index) -> Array:
        """Return elements of a tensor in near memory, as the operator that is being executed reads them."""
        assert self.running is not None
        for held in self.running.sources(number):
            found = gathered(held.array, [low for low, _ in held.box], index)
            if found is not None:
                return found
        running = self.running
        place = f"group {running.number}, {self.network.operators[running.at].name}"
        raise InputError("reads what is not in near memory", place=place, value=self.network.tensors[number].name)


class _GroupRun:
    """One group while it is executed."""

    def __init__(self, execution: Execution, group: Group, number: int) -> None:
        self.execution, self.group, self.number = execution, group, number
        self.network: Network = execution.network
        self.moved, self.at = Moved(), group.operators[-1]
        self.made: dict[int, _Held] = {}
        self.buffers: dict[int, _Held] = {}
        self.regions: dict[int, Ranges] = {}
        self.sums: dict[int, _Held] = {}
        self.open: dict[Ranges, Array] = {}
        self.done: dict[int, Ranges] = {}
        #: By operator: the buffer of an access, its tensor, and its place among all accesses.
        self.reads: dict[int, list[tuple[int, int, int]]] = {}
        self.inside = {access.tensor for n in group.operators for access in self.network.operators[n].writes}
        self.kinds = {n: kind_of(self.network.operators[n].kind) for n in group.operators}
        trips = [-(-self.network.operators[item.operator].dims[item.dim] // item.tile) for item in group.loops]
        self.trips, self.steps = trips, math.prod(trips)
        self.trip: list[int] = []
        #: Loops over reduced dimensions that take several steps, by operator, and those of the anchor as a whole.
        self.parts: dict[int, list[int]] = {}
        for at, (loop, count) in enumerate(zip(group.loops, trips, strict=True)):
            if count > 1 and loop.dim in self.network.operators[loop.operator].reduced:
                self.parts.setdefault(loop.operator, []).append(at)
        self.anchor = next((n for n in self.parts if n != group.operators[-1]), None)
        #: By operator whose sums cut rows of a softmax: that one; logarithms of sums of exponentials, here and so far.
        self.running = {key[0]: n for n, key in self.network.running_in(group.operators) if key[0] in self.parts}
        self.logs: dict[int, tuple[Ranges, Array]] = {}
        self.logs_of: dict[int, Array] = {}
        self.late = self._after_anchor()

    def _after_anchor(self) -> set[int]:
        """Return the operators that need the finished output of the anchor."""
        found: set[int] = set()
        if self.anchor is not None:
            for number in self.group.operators:
                reads = {self.network.producer.get(access.tensor) for access in self.network.operators[number].reads}
                if self.anchor in reads or reads & found:
                    found.add(number)
        return found

    def sources(self, tensor: int) -> Iterator[_Held]:
        """Yield the boxes of a tensor that the operator at work may read."""
        if tensor in self.execution.kept:
            yield self.execution.kept[tensor]
        elif tensor in self.made:
            yield self.made[tensor]
        else:
            for buffer, number, _ in self.reads[self.at]:
                if number == tensor and buffer in self.buffers:
                    yield self.buffers[buffer]

    def run(self, search: Search) -> None:
        """Execute all steps."""
        if self.network.operators[self.at].barrier:
            self._barrier()
            return
        for tensor in self.group.kept:
            shape = self.network.tensors[tensor].shape
            self.execution.kept[tensor] = _Held(tuple((0, size - 1) for size in shape), np.zeros(0))
        same = self._alike()
        for start in range(0, self.steps, _AT_ONCE):
            count = min(_AT_ONCE, self.steps - start)
            at, found = self._touched(start, count)
            self.reads = {number: [] for number in self.group.operators}
            for place, (number, tensor, _) in enumerate(found.read):
                self.reads[number].append((same.get(place, place), tensor, place))
            for accesses in self.reads.values():  # rows of a table come after the indices that name them
                accesses.sort(key=lambda access: access[1] in self.execution.far.tables)
            boxes = [_rows(box, count) for _, _, box in found.read]
            regions = {number: _rows(box, count) for number, box in found.regions.items()}
            made = {tensor: _rows(box, count) for tensor, box in found.made.items()}
            for step in range(count):
                if search.remaining_s() == 0:  # effort is what the search for a plan takes
                    raise NoPlanError(f"the time ended in group {self.number}, before the execution did")
                self.trip = [int(numbers[step]) for numbers in at]
                for number in self.group.operators:
                    if number in self.late and not self._at_end(self.anchor):
                        continue
                    self.at = number
                    for buffer, tensor, place in self.reads[number]:
                        self._load(buffer, tensor, boxes[place][step])
                    self._compute(number, regions[number][step], made[self._output(number)][step])
        self._finish()

    def _output(self, number: int) -> int:
        return self.network.operators[number].writes[0].tensor

    def _touched(self, start: int, count: int) -> tuple[tuple[Any, ...], Any]:
        """Return the numbers of tiles, by loop, and the boxes of steps from ``start`` on."""
        numbers = np.arange(start, start + count)
        at = np.unravel_index(numbers, self.trips) if self.trips else ()
        loops: dict[Key, Span] = {}
        for loop, index in zip(self.group.loops, at, strict=True):
            low = index.astype(np.int64) * loop.tile
            size, key = self.network.operators[loop.operator].dims[loop.dim], (loop.operator, loop.dim)
            loops[key] = Span(low, np.minimum(low + loop.tile, size) - 1, frozenset((key,)))
        return tuple(at), touched(self.network, self.group.operators, loops)

    def _alike(self) -> dict[int, int]:
        """Return the accesses whose boxes are those of an earlier one in all steps: one buffer serves both."""
        marks: list[tuple[int, Any]] = []
        for start in range(0, self.steps, _AT_ONCE):
            count = min(_AT_ONCE, self.steps - start)
            _, found = self._touched(start, count)
            tensors = [tensor for _, tensor, _ in found.read]
            if len(set(tensors)) == len(tensors):
                return {}
            marks = marks or [(tensor, hashlib.sha256()) for tensor in tensors]
            for (_, mark), (_, _, box) in zip(marks, found.read, strict=True):
                for span in box:
                    for ends in (span.low, span.high):
                        mark.update(np.broadcast_to(ends, (count,)).tobytes())
        first: dict[tuple[int, bytes], int] = {}
        alike = {n: first.setdefault((tensor, mark.digest()), n) for n, (tensor, mark) in enumerate(marks)}
        return {number: earlier for number, earlier in alike.items() if earlier != number}

    def _size(self, tensor: int, elements: int) -> float:
        return elements * self.network.tensors[tensor].bits / 8

    def _load(self, buffer: int, tensor: int, box: Ranges) -> None:
        """Bring a box into near memory; what the step before had of it is there already."""
        if tensor in self.execution.kept:
            return
        before = self.buffers.get(buffer)
        if before is not None and before.box == box:
            return
        far, near = self.execution.far, self.execution.reader
        missing = list(beyond(box, None if before is None else before.box))
        self.moved.loads_bytes += self._size(tensor, sum(volume(part) for part in missing))
        if missing == [box]:
            self.buffers[buffer] = _Held(box, far.load(tensor, box, near))
            return
        parts = [(part, far.load(tensor, part, near)) for part in missing]
        self.buffers[buffer] = _Held(box, _joined(box, before, parts))

    def _at_end(self, number: int | None) -> bool:
        """Return whether this step is the last one of an operator's output tile."""
        return number is None or all(self.trip[at] == self.trips[at] - 1 for at in self.parts.get(number, ()))

    def _compute(self, number: int, region: Ranges, box: Ranges) -> None:
        """Compute what is new in the region of an operator."""
        operator, tensor = self.network.operators[number], self._output(number)
        before = self.regions.get(number)
        missing = list(beyond(region, before))
        self.regions[number] = region
        done = sum(volume(part) for part in missing) * operator.work
        self.moved.operations[number] = self.moved.operations.get(number, 0.0) + done
        if number in self.running.values():  # a tile of each row, which is another one in every step
            made, logs = softmax_of_tile(self._piece(number, region), operator)
            self.logs[number] = box, logs
            self._keep(tensor, _Held(box, made))
            return
        if number in self.parts:
            if volume(region):  # where all that is asked for lies beyond a border, nothing is added up
                self._add(number, region, box)
            return
        held = self.made.get(tensor)
        if missing:
            parts = [
                (self._written(number, part), self._finished(number, part, self._partial(number, part)))
                for part in missing
            ]
            whole = len(parts) == 1 and parts[0][0] == box
            held = _Held(box, parts[0][1] if whole else _joined(box, held, parts))
        elif held is None or held.box != box:
            held = _Held(box, _joined(box, held, []))
        self._keep(tensor, held)

    def _add(self, number: int, region: Ranges, box: Ranges) -> None:
        """Add the part of a reduction that this step has; a tile left before it is done is stored, and comes back."""
        tensor, kind = self._output(number), self.kinds[number]
        held = self.sums.get(number)
        if held is not None and held.box != box:
            if number == self.group.operators[-1]:
                self._leave(tensor, held)
            held = None
        part = self._partial(number, region)
        is_first = all(self.trip[at] == 0 for at in self.parts[number])
        if is_first:
            total = part
            if number in self.running:
                self.logs_of[number] = self._logs(number, region)
        else:
            if held is None:
                held = _Held(box, self.open.pop(box))
                if tensor not in self.execution.kept:
                    self.moved.loads_bytes += self._size(tensor, volume(box))
            total = kind.merge(held.array, part)
            if number in self.running:
                total = self._scaled(number, region, held.array, part)
        self.sums[number] = _Held(box, total)
        if self._at_end(number):
            del self.sums[number]
            self._keep(tensor, _Held(box, self._finished(number, region, total)))

    def _logs(self, number: int, region: Ranges) -> Array:
        """Return the logarithms of sums of exponentials of the rows that every element of a product's tile adds up."""
        box, logs = self.logs[self.running[number]]
        index = rows_of(self.network, self.running[number], number, region)
        found = gathered(logs, [low for low, _ in box], index)
        assert found is not None, "a product adds up rows of the tile before it"
        return found

    def _scaled(self, number: int, region: Ranges, total: Array, part: Array) -> Array:
        """Return sums over two tiles of rows of a softmax, each normalised by itself, as those over both together.

        A tile of nothing but minus infinity weighs nothing beside another one.
        """
        before, logs = self.logs_of[number], self._logs(number, region)
        both = self.logs_of[number] = np.logaddexp(before, logs)
        self.moved.operations[self.running[number]] += part.size
        weighed = []
        for logs_of, sums in ((before, total), (logs, part)):
            with np.errstate(invalid="ignore"):
                share = np.exp(logs_of - both)
            weighed.append(np.where(np.isneginf(logs_of), np.where(np.isneginf(both), sums, 0.0), sums * share))
        return np.asarray(weighed[0] + weighed[1])

    def _leave(self, tensor: int, held: _Held) -> None:
        """Store a tile whose sums are not complete."""
        self.open[held.box] = held.array
        if tensor not in self.execution.kept:
            self.moved.stores_bytes += self._size(tensor, volume(held.box))

    def _partial(self, number: int, region: Ranges) -> Array:
        return self.kinds[number].partial(self._piece(number, region))

    def _finished(self, number: int, region: Ranges, total: Array) -> Array:
        finish = self.kinds[number].finish
        return total if finish is None else finish(self._piece(number, region), total)

    def _piece(self, number: int, region: Ranges) -> Piece:
        operator, node = self.network.operators[number], self.execution.translation.nodes[number]
        return Piece(operator, node, region, self.execution.reader)

    def _written(self, number: int, region: Ranges) -> Ranges:
        axes = self.network.operators[number].writes[0].axes
        return tuple(region[index.terms[0][0]] if index.terms else (0, 0) for index in axes)

    def _keep(self, tensor: int, held: _Held) -> None:
        """Hold what was made, and store what is new of it if somebody else needs it."""
        self.made[tensor] = held
        new = list(beyond(held.box, self.done.get(tensor)))
        self.done[tensor] = held.box
        kept = self.execution.kept.get(tensor)
        if kept is not None and tensor in self.group.kept:
            if kept.array.size == 0:
                kept.array = np.zeros(self.network.tensors[tensor].shape, held.array.dtype)
            kept.array[slices(held.box)] = held.array
        elif self._is_stored(tensor):
            for part in new:
                self.execution.far.store(tensor, part, held.array[slices(part, held.box)])
                self.moved.stores_bytes += self._size(tensor, volume(part))

    def _is_stored(self, tensor: int) -> bool:
        outside = set(self.network.consumers[tensor]) - set(self.group.operators)
        is_sink = tensor == self._output(self.group.operators[-1])
        return is_sink or bool(outside) or self.network.tensors[tensor].is_output

    def _finish(self) -> None:
        """Store the outputs among the tensors that stay near."""
        for tensor in self.group.kept:
            if self.network.tensors[tensor].is_output:
                held = self.execution.kept[tensor]
                self.execution.far.store(tensor, held.box, held.array)
                self.moved.stores_bytes += self._size(tensor, volume(held.box))

    def _barrier(self) -> None:
        """Execute an operator of which only the traffic is known, whole."""
        operator, far, kept = self.network.operators[self.at], self.execution.far, self.execution.kept
        node = self.execution.translation.nodes[self.at]
        for tensor in dict.fromkeys(access.tensor for access in operator.reads):
            if tensor not in kept:
                box = tuple((0, size - 1) for size in self.network.tensors[tensor].shape)
                self.buffers[tensor] = _Held(box, far.load(tensor, box, self.execution.reader))
                self.moved.loads_bytes += self.network.tensors[tensor].bytes
        self.reads = {self.at: [(tensor, tensor, 0) for tensor in self.buffers]}
        values = {name: self.execution.reader.whole(name) for name in node.inputs if name}
        made, who = evaluated_by(node, self.execution.translation.graph, values)
        self.execution.others.add((who, node.kind))
        self.moved.operations[self.at] = operator.work
        for access in operator.writes:
            stored = self.network.tensors[access.tensor]
            array = made[stored.name]
            if array.shape != stored.shape:
                place, allowed = f"node {node.name} ({node.kind})", str(list(stored.shape))
                cure = "plan and check it; 'run' needs shapes that do not depend on numbers"
                value = list(array.shape)
                raise InputError("makes another shape", place=place, value=value, allowed=allowed, cure=cure)
            box = tuple((0, size - 1) for size in stored.shape)
            if access.tensor in self.group.kept:
                kept[access.tensor] = _Held(box, array)
            if access.tensor not in self.group.kept or stored.is_output:
                far.store(access.tensor, box, array)
                self.moved.stores_bytes += stored.bytes


def _rows(box: Box, count: int) -> list[Ranges]:
    """Return a box in every step."""
    if not box:
        return [()] * count
    columns = [
        zip(np.broadcast_to(span.low, (count,)).tolist(), np.broadcast_to(span.high, (count,)).tolist(), strict=True)
        for span in box
    ]
    return list(zip(*columns, strict=True))


def _joined(box: Ranges, before: _Held | None, parts: Sequence[tuple[Ranges, Array]]) -> Array:
    """Return a box of what was held before and new parts."""
    dtype = parts[0][1].dtype if parts else np.float64 if before is None else before.array.dtype
    array = np.zeros([high - low + 1 for low, high in box], dtype)
    if before is not None:
        shared = common(box, before.box)
        if volume(shared):
            array[slices(shared, box)] = before.array[slices(shared, before.box)]
    for part, values in parts:
        array[slices(part, box)] = values
    return array
