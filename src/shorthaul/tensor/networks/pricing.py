"""The exact cost of a group for many tilings at once.

Along one loop, every box of a tensor is known (:mod:`boxes`). A box depends on each loop along other axes, so sums over
all steps are products of sums along the loops, and so are the sums of what two steps in a row have in common. What a
step needs and the step before had is neither moved nor computed again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from shorthaul.tensor.networks.array import spread
from shorthaul.tensor.networks.boxes import Box, Key, Span, tiles, touched
from shorthaul.tensor.networks.loops import Shape
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.operands import OUTPUTS, homes, operands_of, wider_sums
from shorthaul.tensor.networks.stepping import Factor, Passing, changes, come_back, factor, filled, stays, steps_seconds

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(slots=True)
class Part:
    """One box of a group: a tensor read, made or stored, or the region of an operator.

    What is read ``aside`` is near already, or has a buffer of another one: it only passes further inside. What is late
    is made by the group before. It takes place in the memories ``homes``; ``operand`` is what it is read as.
    """

    role: Literal["read", "aside", "inner", "stored", "sink", "work"]
    number: int
    unit: float
    constant: float
    is_late: bool = False
    factors: dict[Key, Factor] = field(default_factory=dict)
    live: tuple[int, int] = (0, 0)
    #: Of the region of an operator: how many positions of each dimension the array computes at once.
    widths: tuple[int, ...] = ()
    operand: int = OUTPUTS
    homes: tuple[int, ...] = (0,)
    #: The operators that take it to the next inner memory, or make it there.
    reach: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Beside:
    """What the groups before and after a group have to do with its time, where the near memory is double buffered.

    ``room`` are bytes that are free in the group before, ``idle_s`` seconds in which nothing passes there: first loads
    may pass then, but for tensors of ``late``, which that group makes. ``wanted`` are bytes that the group after would
    have loaded early, into what is left of ``capacity``.
    """

    room: float
    idle_s: float
    wanted: float
    capacity: float
    late: frozenset[int]


@dataclass(frozen=True, slots=True)
class Prices:
    """Amounts for many tilings of a group: bytes loaded and stored, seconds of compute, the peak in bytes.

    Of a level with several memories the peak is what the fullest one would make of the whole; ``worth`` are the bytes
    loaded and stored by what they are worth (:meth:`Machine.traffic_weights`), ``moved_s`` the seconds that they take.
    ``ends`` are the bytes loaded for the first step and stored after the last one, ``inner_s`` the seconds in which
    passes to the next inner memory what has to at least: what an operator touches in a step, once. ``steps_s`` are the
    seconds of the steps one after the other, with what passes beside them (:mod:`stepping`). ``first`` are the bytes
    loaded for the first step that the group before does not make.
    """

    loads: Floats
    stores: Floats
    matrix_s: Floats
    vector_s: Floats
    peak: Floats
    ends: Floats
    steps: Floats
    inner_s: Floats
    steps_s: Floats
    first: Floats
    worth: Floats
    moved_s: Floats

    def latency(self, machine: Machine, beside: Beside | None = None) -> Floats:
        """Return the seconds that each tiling takes: nothing overlaps the first load, nor the last store.

        With others ``beside`` it, the first loads that these take, and what they save by loads of their own, count.
        """
        rate = machine.levels[0].bandwidth_bytes_per_s
        memory = self.moved_s
        inside, ends = self.steps_s, self.ends / rate
        if machine.is_inside:
            ends = np.zeros(1)
        if not machine.levels[1].double_buffered:
            found = memory + inside
        elif beside is None:
            found = np.maximum(memory, inside + ends)
        else:
            early = np.minimum(self.first, beside.room) / rate
            later = np.minimum(np.maximum(beside.capacity - self.peak, 0.0), beside.wanted) / rate
            found = np.maximum(memory - early + later, inside + ends - early) - later
            found = found + np.maximum(early - beside.idle_s, 0.0)
        if len(machine.levels) > 2 and not machine.levels[2].double_buffered:
            found = found + self.inner_s
        return np.asarray(found)


_MADE = frozenset({"sink", "stored", "inner"})
#: A part with its factors at tilings, its extent summed over all steps, the largest one and the first one.
_Sums = tuple[Part, dict[Key, Factor], Floats, Floats, Floats]


class GroupPricer:
    """Prices the tilings of one group on one machine: ``candidates`` are the tiles of every loop.

    Tensors of ``near`` are held whole aside: they are neither moved nor take space here; those of ``late`` cannot be
    loaded before the group begins. Accesses that are alike with
    the tiles of ``cut``, of one position where it names none, share a buffer.
    """

    def __init__(
        self,
        network: Network,
        operators: Sequence[int],
        machine: Machine,
        stored: frozenset[int],
        shape: Shape,
        cut: Mapping[Key, int],
        near: frozenset[int] = frozenset(),
        late: frozenset[int] = frozenset(),
    ) -> None:
        self.cut, self.near, self.late = cut, near, late
        self.network, self.operators, self.machine, self.shape = network, tuple(operators), machine, shape
        self.stored = stored
        self.operands = {number: operands_of(network.operators[number]) for number in self.operators}
        self.rooms, self.weights = machine.capacities(1), machine.traffic_weights()
        self.wider = wider_sums(network, machine, self.operators[-1]) if machine.is_inside else 1.0
        whole = float(machine.levels[1].capacity_bytes or 0)
        self.shares = [whole / room if room else 1.0 for room in self.rooms]
        self.keys = (*shape.sink, *shape.inner)
        self.candidates: dict[Key, list[int]] = {}
        self.trips: dict[Key, Floats] = {}
        self.parts: list[Part] = []
        self.covers = True
        self._distinct: list[Part] | None = None
        self._summed: tuple[Mapping[Key, Ints], list[_Sums]] | None = None
        self._begin()

    def _begin(self) -> None:
        probe = {key: tiles(self.shape.sizes[key], self.shape.sizes[key], key) for key in self.keys}
        network, found = self.network, touched(self.network, self.operators, probe)
        last_use = {}
        for at, number in enumerate(self.operators):
            for access in network.operators[number].reads:
                last_use[access.tensor] = at
        served = self.machine.served(1)
        #: By access to a tensor from outside, which operand it is; and whether one is read more than once, so that what
        #: is read depends on ``cut``.
        self.read_as = [
            operand
            for number in reversed(self.operators)
            for access, operand in zip(network.operators[number].reads, self.operands[number], strict=True)
            if access.tensor not in found.made
        ]
        self.reads_again = len({tensor for _, tensor, _ in found.read}) < len(found.read)
        for (number, tensor, _), operand in zip(found.read, self.read_as, strict=True):
            own = tuple(home for home in (served[operand],) if home is not None)
            bits = network.tensors[tensor].bits
            part = Part("read", number, bits / 8, 1.0, tensor in self.late, operand=operand, homes=own)
            self.parts.append(part)
        for tensor in found.made:
            is_sink = tensor == network.operators[self.operators[-1]].writes[0].tensor
            role: Literal["sink", "stored", "inner"] = (
                "sink" if is_sink else "stored" if tensor in self.stored else "inner"
            )
            at = self.operators.index(network.producer[tensor])
            live = (at, last_use.get(tensor, at))
            readers = [reader for reader in network.consumers[tensor] if reader in self.operators]
            near_by = homes(network, self.machine, tensor, readers)
            self.parts.append(Part(role, tensor, network.tensors[tensor].bits / 8, 1.0, live=live, homes=near_by))
        for number in found.regions:
            operator = network.operators[number]
            seconds = self.machine.seconds_per_operation(operator.unit, network.bits(number))
            widths = spread(operator, self.machine.array)
            self.parts.append(Part("work", number, operator.work * seconds, 1.0, widths=widths))
        for part, box in zip(self.parts, _boxes(found.read, found.made, found.regions), strict=True):
            for span, width in zip(box, part.widths or (1,) * len(box), strict=True):
                if not span.of:
                    part.constant *= float(filled(span.lengths(), width)[0])
            if part.role == "stored":  # what others need has to be made whole
                shape = network.tensors[part.number].shape
                self.covers &= all(span.of or span.lengths()[0] == n for span, n in zip(box, shape, strict=True))
        shares = self._shared_buffers(self.cut)
        shares |= {number for number, (_, tensor, _) in enumerate(found.read) if tensor in self.near}
        kept_out = {n for n, part in enumerate(self.parts) if not part.homes}
        if len(self.machine.levels) > 2:
            self.parts = [replace(p, role="aside") if number in shares else p for number, p in enumerate(self.parts)]
            shares = set()
        shares |= kept_out
        self.parts = [p if p.role == "work" else replace(p, reach=self._touching(p)) for p in self.parts]
        self.parts = [part for number, part in enumerate(self.parts) if number not in shares]
        self.dropped = shares

    def _shared_buffers(self, cut: Mapping[Key, int]) -> set[int]:
        """Return the accesses whose boxes are those of another one with these tiles: they share its buffer."""
        if not self.reads_again:
            return set()
        served = self.machine.served(1)
        marks: list[list[object]] = [[served[operand]] for operand in self.read_as]
        for key in (None, *self.keys):
            loops = {} if key is None else {key: tiles(self.shape.sizes[key], cut.get(key, 1), key)}
            found = touched(self.network, self.operators, loops)
            for mark, (_, tensor, box) in zip(marks, found.read, strict=True):
                mark.append((tensor, tuple((span.low.tobytes(), span.high.tobytes()) for span in box)))
        first: dict[tuple[object, ...], int] = {}
        return {number for number, mark in enumerate(marks) if first.setdefault(tuple(mark), number) != number}

    def _touching(self, part: Part) -> tuple[int, ...]:
        served = self.machine.served(2) if len(self.machine.levels) > 2 else (0,) * (OUTPUTS + 1)
        if part.role in {"read", "aside"}:
            return (part.number,) if served[part.operand] is not None else ()
        uses = [(self.network.producer[part.number], OUTPUTS)]
        for number in self.operators:
            read = zip(self.network.operators[number].reads, self.operands[number], strict=True)
            uses += [(number, operand) for access, operand in read if access.tensor == part.number]
        return tuple(dict.fromkeys(number for number, operand in uses if served[operand] is not None))

    def _alike(self) -> list[Part]:
        """Return the parts, where those that are read alike, as the pieces of a concatenation, are one."""
        found: dict[object, Part] = {}
        for number, part in enumerate(self.parts):
            like: object = number
            if part.role == "read":
                sums = (
                    (key, *(getattr(f, item.name).tobytes() for item in fields(f))) for key, f in part.factors.items()
                )
                like = (part.number, part.is_late, part.operand, part.constant, frozenset(sums))
            known = found.get(like)
            found[like] = part if known is None else replace(known, unit=known.unit + part.unit)
        return list(found.values())

    def offer(self, key: Key, sizes: Sequence[int]) -> None:
        """Take ``sizes`` as the tiles of a loop."""
        self.candidates[key] = list(sizes)
        self._distinct = self._summed = None
        size = self.shape.sizes[key]
        cuts = [tiles(size, tile, key) for tile in sizes]
        trips = np.array([len(span.low) for span in cuts])
        self.trips[key] = trips.astype(np.float64)
        all_cuts = Span(
            np.concatenate([span.low for span in cuts]), np.concatenate([span.high for span in cuts]), frozenset((key,))
        )
        starts = np.concatenate([[0], np.cumsum(trips)[:-1]])
        found = touched(self.network, self.operators, {key: all_cuts})
        boxes = _boxes(found.read, found.made, found.regions)
        boxes = [box for number, box in enumerate(boxes) if number not in self.dropped]
        known: dict[tuple[tuple[int, int, int], ...], Factor | None] = {}
        for part, box in zip(self.parts, boxes, strict=True):
            widths = part.widths or (1,) * len(box)
            spans = [(span, width) for span, width in zip(box, widths, strict=True) if key in span.of]
            alike = tuple((id(s.low), id(s.high), width) for s, width in spans)  # operators in a row pass arrays on
            if alike not in known:
                known[alike] = factor(spans, starts)
            sums = known[alike]
            if sums is not None:
                part.factors[key] = sums
                if part.role == "stored":
                    self.covers &= _covers(box, key, self.network.tensors[part.number].shape, starts)

    def _sums(self, chosen: Mapping[Key, Ints], count: int) -> list[_Sums]:
        """Return for each part what does not depend on the order of the loops: worked out once for all orders."""
        if self._summed is not None and self._summed[0] is chosen:
            return self._summed[1]
        if self._distinct is None:
            self._distinct = self._alike()
        result = []
        for part in self._distinct:
            factors = {key: part.factors[key].chosen(chosen[key]) for key in self.keys if key in part.factors}
            total, most, first = (np.full(count, part.constant) for _ in range(3))
            for key in self.keys:
                if key in factors:
                    total, most = total * factors[key].total, most * factors[key].most
                    first = first * factors[key].first
                else:
                    total = total * self.trips[key][chosen[key]]
            result.append((part, factors, total, most, first))
        self._summed = chosen, result
        return result

    def prices(self, order: Sequence[Key], chosen: dict[Key, Ints], *, by_step: bool = True) -> Prices:
        """Return the amounts with the loops in ``order``, for arrays of candidates by number.

        Without ``by_step``, all that the steps compute counts as if they did it side by side: they take no less.
        """
        count = len(next(iter(chosen.values()))) if chosen else 1
        trips = [self.trips[key][chosen[key]] for key in order]
        stores, ends, begins = (np.zeros(count) for _ in range(3))
        operand_loads, kept = np.zeros((OUTPUTS + 1, count)), np.zeros((len(self.rooms), count))
        live = np.zeros((len(self.rooms), len(self.operators), count))
        buffered = self.machine.levels[1].double_buffered
        touched: dict[int, list[tuple[int, Floats, float]]] = {number: [] for number in self.operators}
        regions: dict[int, tuple[Floats, Floats, float]] = {}
        passing, by_step = Passing(trips), by_step and bool(order) and not self.machine.is_inside
        for part, factors, total, most, first in self._sums(chosen, count):
            sides = [factors.get(key) for key in order]
            common = stays(part.constant, sides, trips, count)
            shared = sum(common, np.zeros(count))
            moved = total - shared
            entering, leaving = changes(part.constant, sides, trips, common) if by_step else (moved[None], moved[None])
            if part.role == "work":
                regions[part.number] = entering, most, part.unit
                continue
            for number in part.reach:
                is_maker = part.role in _MADE and self.network.producer[part.number] == number
                passes = most * self._passes(number, order, trips) if is_maker else most
                touched[number].append((part.homes[0 if is_maker else -1], passes, part.unit))
            if part.role == "aside":
                continue
            if part.number in self.near and part.role != "read":
                tensor = self.network.tensors[part.number]
                stores += tensor.elements * part.unit if tensor.is_output else 0.0
                continue
            size = most * part.unit
            if part.role == "read":
                operand_loads[part.operand] += moved * part.unit
                ends += first * part.unit
                begins += 0.0 if part.is_late else first * part.unit
                passing.add(sides, entering * part.unit, 0.0)
            elif part.role != "inner":
                stores += moved * part.unit
                ends += part.constant * math.prod(factor.last for factor in factors.values()) * part.unit
                enters: Floats | float = 0.0
                if part.role == "sink":
                    again = moved - part.constant * math.prod(f.total for f in factors.values())
                    operand_loads[OUTPUTS] += again * part.unit * self.wider
                    stores += again * part.unit * (self.wider - 1)
                    enters = come_back(entering, self._is_sum(order), trips) * part.unit if by_step else 0.0
                passing.add(sides, enters, leaving * part.unit)
            for home in part.homes:
                if part.role == "inner":
                    kept[home] += np.where(shared > 0, size, 0)
                    live[home, part.live[0] : part.live[1] + 1] += np.where(shared > 0, 0, size)
                else:
                    kept[home] += np.where((moved > first) & buffered, 2 * size, size)
        kept[self.machine.served(1)[OUTPUTS] or 0] += self._scale_anew(regions, order, chosen, count)
        seconds, inner_s = self._work(regions, touched, count)
        work = np.maximum(seconds["matrix"], seconds["vector"])
        if len(self.machine.levels) > 2 and self.machine.levels[2].double_buffered:
            work = np.maximum(work, inner_s)
        byte_s = 1 / self.machine.levels[0].bandwidth_bytes_per_s
        steps_s = steps_seconds(trips, work, passing if buffered else None, byte_s) if by_step else work.sum(0)
        loads = operand_loads.sum(0)
        found = (seconds["matrix"].sum(0), seconds["vector"].sum(0), self._peak(kept, live), ends)
        amounts = (loads, stores, *found, math.prod(trips, start=np.ones(count)), inner_s.sum(0), steps_s, begins)
        return Prices(*amounts, *self._passing_first(operand_loads, stores))

    def _peak(self, kept: Floats, live: Floats) -> Floats:
        """Return the bytes held, by memory and, of what lives in a step, by operator, as a part of the whole level."""
        found = kept.sum(0) + live.sum(0).max(0)
        if self.shares != [1.0]:
            for share, whole, passing in zip(self.shares, kept, live, strict=True):
                found = np.maximum(found, share * (whole + passing.max(0)))
        return np.asarray(found)

    def _passing_first(self, loads: Floats, stores: Floats) -> tuple[Floats, Floats]:
        """Return what loads by operand and stores are worth, and the seconds in which they pass the first memory."""
        outer, weights = self.machine.levels[0], self.weights
        worth = sum((weight * each for weight, each in zip(weights, (*loads, stores), strict=True)), np.zeros(1))
        seconds = (loads.sum(0) + stores) / outer.bandwidth_bytes_per_s
        for number, memory in enumerate(outer.memories):
            if memory.bandwidth_bytes_per_s is not None:
                mine = [each for at, each in zip(self.machine.served(0), loads, strict=True) if at == number]
                mine += [stores] if self.machine.served(0)[OUTPUTS] == number else []
                seconds = np.maximum(seconds, sum(mine, np.zeros(1)) / memory.bandwidth_bytes_per_s)
        return worth, seconds

    def _scale_anew(
        self,
        regions: dict[int, tuple[Floats, Floats, float]],
        order: Sequence[Key],
        chosen: Mapping[Key, Ints],
        count: int,
    ) -> Floats:
        """Let a softmax whose rows are cut scale sums once per further tile; return the bytes it holds for rows.

        The loop over its tiles is the last one, so it is what goes on with each of these steps.
        """
        held = np.zeros(count)
        made = {part.number: entry for entry in self._sums(chosen, count) if (part := entry[0]).role in _MADE}
        for number, key in self.network.running_in(self.operators):
            if key not in order:
                continue
            trips = self.trips[key][chosen[key]]
            operator = self.network.operators[number]
            total = made[self.network.operators[key[0]].writes[0].tensor][2]
            entering, most, unit = regions[number]
            entering = entering.copy()
            entering[order.index(key) + 1 if len(entering) > 1 else 0] += total * (1 - 1 / trips) / operator.work
            regions[number] = entering, most, unit
            part, factors, *_ = made[operator.writes[0].tensor]
            rows = part.constant * math.prod(factor.most for at, factor in factors.items() if at != key)
            held += np.where(trips > 1, 2 * rows * part.unit, 0.0)
        return held

    def _passes(self, number: int, order: Sequence[Key], trips: Sequence[Floats]) -> Floats | float:
        """Return how often what an operator makes in a step passes further inside, where sums come back and go on."""
        reduced = self.network.operators[number].reduced
        mine = (count for key, count in zip(order, trips, strict=True) if key[0] == number and key[1] in reduced)
        wider = wider_sums(self.network, self.machine, number)
        return 1 + (1 - 1 / math.prod(mine, start=1.0)) * (2 * wider - 1)

    def _is_sum(self, order: Sequence[Key]) -> list[bool]:
        """Return which loops add up parts of the output of the sink."""
        reduced = self.network.operators[self.operators[-1]].reduced
        return [key[0] == self.operators[-1] and key[1] in reduced for key in order]

    def _work(
        self,
        regions: Mapping[int, tuple[Floats, Floats, float]],
        touched: Mapping[int, Sequence[tuple[int, Floats, float]]],
        count: int,
    ) -> tuple[dict[str, Floats], Floats]:
        """Return, by class of steps, the seconds of each unit, and of what passes to the next inner memory."""
        nothing = np.zeros((1, count))
        seconds = {"matrix": nothing, "vector": nothing}
        inner = [nothing for _ in self.rooms]
        for number, (entering, most, unit) in regions.items():
            operator = self.network.operators[number]
            seconds[operator.unit] = seconds[operator.unit] + entering * unit
            taken = most * operator.work if operator.looks_up else np.inf
            for home, elements, element_bytes in touched[number] if len(self.machine.levels) > 2 else ():
                inner[home] = inner[home] + entering * (np.minimum(elements, taken) * element_bytes / most)
        level = self.machine.levels[1]
        inner_s = sum(inner, nothing) / level.bandwidth_bytes_per_s
        for each, memory in zip(inner, level.memories, strict=False):
            if memory.bandwidth_bytes_per_s is not None:
                inner_s = np.maximum(inner_s, each / memory.bandwidth_bytes_per_s)
        return seconds, inner_s


def _boxes(read: Sequence[tuple[int, int, Box]], made: dict[int, Box], regions: dict[int, Box]) -> list[Box]:
    return [*(box for _, _, box in read), *made.values(), *regions.values()]


def _covers(box: Box, key: Key, shape: Sequence[int], starts: Ints) -> bool:
    """Return whether the tiles of a loop leave out no position of the axes that follow it."""
    following = [(span, size) for span, size in zip(box, shape, strict=True) if key in span.of]
    for span, size in following:
        for low, high in zip(np.split(span.low, starts[1:]), np.split(span.high, starts[1:]), strict=True):
            joined = low[1:] <= np.maximum.accumulate(high)[:-1] + 1
            if low[0] > 0 or int(high.max()) < size - 1 or not joined.all():
                return False
    whole = all(span.of or int(span.lengths()[0]) == size for span, size in zip(box, shape, strict=True))
    return whole and len(following) == 1
