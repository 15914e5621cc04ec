"""The replay of a group's seconds: every step with its operations, and what passes beside it or beside more of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.tensor.check.accesses import Range, passes
from shorthaul.tensor.check.edges import beginning_s, ending_s, single_s, tiles_of
from shorthaul.tensor.check.network_replay import MADE, GroupReplay, GroupRun, residents, tiles_at
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import Group, NetworkPlan

Floats = npt.NDArray[np.float64]
#: Steps replayed at once.
_AT_ONCE = 2**16


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a machine is: seconds of an operation of each operator, and of a byte of each level but the innermost.

    ``ports`` further inside are those of every level, for all operands, and of memories that have one of their own: the
    level, the operands that pass, seconds of a byte.
    ``buffered`` says of every level but the outermost whether it is double buffered; ``widths`` how many positions of
    each dimension of an operator are computed at once.
    """

    operation_s: Sequence[float]
    byte_s: Sequence[float]
    buffered: Sequence[bool]
    widths: Sequence[Sequence[int]]
    ports: Sequence[tuple[int, frozenset[int], float]]

    def inner_s(self, moved: Sequence[Sequence[float]]) -> list[float]:
        """Return the seconds of what passes by level inside and operand (:class:`GroupReplay`): of the busiest port."""
        found = [0.0] * len(moved)
        for level, operands, byte_s in self.ports if moved else ():
            amounts = moved[level - 1]
            passing = sum(amount for end, amount in enumerate(amounts) if min(end, MADE) in operands)
            found[level - 1] = max(found[level - 1], passing * byte_s)
        return found


def time_steps(network: Network, plan: NetworkPlan, groups: Sequence[GroupReplay], pace: Pace) -> None:
    """Put into ``groups`` the seconds that their steps take, once all that they move is known.

    What changes with a box has its place twice. It passes while the iteration before runs, of the innermost loop that
    the box follows (stores: while the next one does). An iteration takes what its parts take together, or what passes
    during it, a step what its operations take, or what passes beside it. Of what is loaded for the first step and
    stored after the last one a part passes beside the tiles of these (:mod:`edges`).
    """
    near = residents(network, plan, [])
    made: set[int] = set()
    for number, (group, seen) in enumerate(zip(plan.groups, groups, strict=True)):
        if seen.operations:
            times = _Times(network, group, near[number], seen, pace)
            seen.steps_s = times.seconds()
            seen.beside_s = times.beside(made)
        known = [network.operators[member] for member in group.operators if 0 <= member < len(network.operators)]
        made = {access.tensor for item in known for access in item.writes}


@dataclass(slots=True)
class _Times:
    """The seconds of one group: of operations by step, and bytes by iteration of each loop."""

    network: Network
    group: Group
    near: set[int]
    seen: GroupReplay
    pace: Pace
    trips: list[int] = field(default_factory=list)
    last: dict[str, tuple[list[tuple[int, int]], float]] = field(default_factory=dict)
    #: Of the first and the last step: seconds by operator, all seconds, and those in which nothing passes beside.
    ends: list[tuple[dict[int, float], float, float]] = field(default_factory=list)

    def seconds(self) -> float:
        """Return the seconds of all steps, with nothing before the first and after the last of them."""
        members = self.group.operators
        if self.network.operators[members[-1]].barrier:
            whole = {number: np.array([self.seen.filled[number]]) for number in members}
            return float(self._work(whole, {number: np.ones(1) for number in members})[0])
        sizes = [self.network.operators[loop.operator].dims[loop.dim] for loop in self.group.loops]
        self.trips = [-(-size // loop.tile) for size, loop in zip(sizes, self.group.loops, strict=True)]
        run = GroupRun(self.network, self.group, self.near, double_buffered=self.pace.buffered[0])
        levels, steps = self._levels(run), math.prod(self.trips)
        still = self._still(run, levels)
        blocks = [math.prod(self.trips[: at + 1]) for at in range(len(self.trips))]
        passing, work = [np.zeros(count) for count in blocks], np.zeros(steps)
        for start in range(0, steps, _AT_ONCE):
            end = min(start + _AT_ONCE, steps)
            tiles, sums, at_tiles = self._tiles(start, end)
            done: dict[int, Floats] = {}
            shares: dict[int, Floats] = {}
            scaled: dict[int, Floats] = {}
            for name, box in run.boxes(tiles):
                for number, (tensor, place) in run.running.items():
                    if name == f"made {tensor}":
                        scaled[number] = passes(box, end - start, None, None).volume * (at_tiles[place] > 0)
                if name in still:
                    continue
                entering, leaving, filled = self._changes(name, box, end - start)
                if name.startswith("work"):
                    number = int(name.removeprefix("work "))
                    work_each = self.network.operators[number].work
                    done[number] = filled * work_each
                    shares[number] = entering * work_each / max(self.seen.operations[number], 1e-300)
                    continue
                tensor, at = run.tensor[name], levels[name]
                size = self.network.tensors[tensor].bits / 8
                each = steps // blocks[at]
                here = np.arange(-(-max(start, 1) // each) * each, end, each)
                if name.startswith("read"):
                    passing[at][here // each - 1] += entering[here - start] * size
                    continue
                passing[at][here // each] += leaving[here - start] * size
                if self.network.producer[tensor] == members[-1]:
                    passing[at][here // each - 1] += np.where(sums, entering, 0.0)[here - start] * size
            for number, operations in scaled.items():
                done[number] = done[number] + operations
                shares[number] = shares[number] + operations / max(self.seen.operations[number], 1e-300)
            work[start:end] = self._work(done, shares)
            for edge in [0] * (start == 0) + [-1] * (end == steps):
                each_s = {n: float(amounts[edge]) * self.pace.operation_s[n] for n, amounts in done.items()}
                self.ends.append((each_s, float(work[start:end][edge]), 0.0))
        return self._in_a_row(work, passing)

    def beside(self, made: set[int]) -> float:
        """Return the seconds of first loads and last stores that pass beside the first and the last step.

        Nothing of ``made``, by the group before, is loaded before this one begins.
        """
        members = self.group.operators
        if not self.pace.buffered[0] or not self.ends:
            return 0.0
        cuts = {tiled.operator: tiled.loops for tiled in self.group.inner if tiled.level == 2}
        if len(members) == 1 and not cuts:
            return 0.0  # all that it loads is for all that it does
        run = GroupRun(self.network, self.group, self.near, double_buffered=True)
        stored, byte_s = run.stored(), self.pace.byte_s[0]
        spared = []
        for is_last, (seconds, whole_s, idle_s) in zip((False, True), self.ends, strict=True):
            boxes = dict(run.boxes(self._step(is_last=is_last)))
            order: list[tuple[Floats, Floats, Floats, Floats]] = []
            for number in members:
                region, item = boxes[f"work {number}"], self.network.operators[number]
                tiles = tiles_of(item, region, cuts.get(number, ()))
                loads, ready, stores = (np.zeros(len(tiles.share)) for _ in range(3))
                for place, access in enumerate(item.reads):
                    name = f"read {number}.{place}"
                    if name in boxes and access.tensor not in self.near and name not in self.seen.shared:
                        share = tiles.first_read(access, region) * self._seconds_of(boxes[name], access.tensor)
                        loads, ready = loads + share, ready + share * (access.tensor not in made)
                target = item.writes[0].tensor
                if target in stored and target not in self.near:
                    stores = tiles.last_made() * self._seconds_of(boxes[f"made {target}"], target)
                work = tiles.share * whole_s * seconds.get(number, 0.0) / max(sum(seconds.values()), 1e-300)
                order.append((work, loads, ready, stores))
            work, loads, ready, stores = (np.concatenate(parts) for parts in zip(*order, strict=True))
            early = self.seen.early_bytes * byte_s
            begun_s, ended_s = whole_s + loads.sum() - min(early, ready.sum()), whole_s + stores.sum()
            if math.prod(self.trips) == 1:
                return max(0.0, float(begun_s + stores.sum() - single_s(work, loads, ready, early, stores)))
            gain = ended_s - ending_s(work, stores) if is_last else begun_s - beginning_s(work, loads, ready, early)
            spared.append(max(0.0, min(float(gain), idle_s)))
        return sum(spared)

    def _seconds_of(self, box: Sequence[Range], tensor: int) -> float:
        volume = math.prod(float(max(0, int(high[-1]) - int(low[-1]) + 1)) for low, high in box)
        return volume * self.network.tensors[tensor].bits / 8 * self.pace.byte_s[0]

    def _step(self, *, is_last: bool) -> dict[tuple[int, int], Range]:
        """Return the tiles of the first or the last step."""
        return tiles_at(self.network, self.group.loops, [np.array([is_last * (trips - 1)]) for trips in self.trips])

    def _levels(self, run: GroupRun) -> dict[str, int]:
        """Return the innermost loop of several tiles that each box follows, -1 for none."""
        found = {name: -1 for name, _ in run.boxes({})}
        for at, (loop, count) in enumerate(zip(self.group.loops, self.trips, strict=True)):
            if count > 1:
                for name, box in run.boxes(tiles_at(self.network, [loop], [np.arange(count)])):
                    if any(len(side) > 1 for ends in box for side in ends):
                        found[name] = at
        return found

    def _tiles(self, start: int, end: int) -> tuple[dict[tuple[int, int], Range], Any, Any]:
        """Return the tiles of a piece of the steps, where sums of the sink go on that have begun, and tiles by loop."""
        at = np.unravel_index(np.arange(start, end), self.trips) if self.trips else ()
        sums = np.zeros(end - start, bool)
        sink = self.group.operators[-1]
        for loop, index in zip(self.group.loops, at, strict=True):
            if loop.operator == sink and loop.dim in self.network.operators[sink].reduced:
                sums |= index > 0
        return tiles_at(self.network, self.group.loops, at), sums, at

    def _changes(self, name: str, box: Sequence[Range], count: int) -> tuple[Floats, Floats, Floats]:
        """Return by step what enters of a box, what leaves, and what the array computes, a part of a pass as all."""
        before, left = self.last.get(name, (None, 0.0))
        widths = self.pace.widths[int(name.removeprefix("work "))] if name.startswith("work") else None
        seen = passes(box, count, before, widths)
        self.last[name] = seen.last(), float(seen.volume[-1])
        leaving = np.append(left, seen.volume[:-1]) - seen.common
        return seen.volume - seen.common, leaving, seen.passes - seen.again

    def _still(self, run: GroupRun, levels: Mapping[str, int]) -> set[str]:
        """Return the boxes for which nothing passes while steps run."""
        stored = run.stored()
        made = {name for name in levels if name.startswith("made") and run.tensor[name] not in stored}
        near = {name for name, tensor in run.tensor.items() if tensor in self.near}
        fixed = {name for name, level in levels.items() if level < 0 and not name.startswith("work")}
        return made | near | fixed | self.seen.shared

    def _work(self, done: Mapping[int, Floats], shares: Mapping[int, Floats]) -> Floats:
        """Return the seconds of steps: the units and double buffered levels further inside work side by side."""
        count = len(next(iter(done.values())))
        units = {"matrix": np.zeros(count), "vector": np.zeros(count)}
        inner = np.zeros((len(self.pace.byte_s) - 1, count))
        for number, operations in done.items():
            units[self.network.operators[number].unit] += operations * self.pace.operation_s[number]
            for at, seconds in enumerate(self.pace.inner_s(self.seen.inner_of.get(number, ()))):
                inner[at] += shares[number] * seconds
        overlapping = [side for side, is_double in zip(inner, self.pace.buffered[1:], strict=True) if is_double]
        return np.asarray(np.max([*units.values(), *overlapping], axis=0))

    def _in_a_row(self, work: Floats, passing: Sequence[Floats]) -> float:
        """Return the seconds of all iterations of the outermost loop; note what is idle beside the first and last."""
        time, moved, idle = work, np.zeros(len(work)), [math.inf, math.inf]
        if self.pace.buffered[0]:
            for count, bytes_passing in zip(reversed(self.trips), reversed(passing), strict=True):
                moved = moved + bytes_passing * self.pace.byte_s[0]
                idle = [min(before, float(time[at] - moved[at])) for before, at in zip(idle, (0, -1), strict=True)]
                time = np.maximum(time, moved).reshape(-1, count).sum(1)
                moved = moved.reshape(-1, count).sum(1)
        self.ends = [(*end[:2], own) for end, own in zip(self.ends, idle, strict=True)]
        return float(time.sum())
