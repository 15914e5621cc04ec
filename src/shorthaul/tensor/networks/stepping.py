"""The seconds that the steps of a group take one after the other, for many tilings at once.

A box that changes has two places: while steps use one, the next box is loaded into the other, or the one before is
stored from there. A box changes at the innermost loop that it follows, so what passes for it does so during one
iteration of that loop. An iteration takes as long as what is inside of it, one after the other, or as all that has to
pass during it, whichever is longer; a step takes its operations, or what passes beside it.

Steps are told apart by the outermost loop that goes on with them: class 0 is the first step, class ``d + 1`` are those
that begin another iteration of loop ``d``. Steps of a class count as alike, as most of them are: what is found is the
time of their means, where a replay has that of every step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np
import numpy.typing as npt

from shorthaul.tensor.networks.boxes import Span

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sides:
    """Along one loop, by tiling: sums over its tiles of a box's extent and of what neighbours share, and its ends."""

    total: Floats
    shared: Floats
    wrapped: Floats
    first: Floats
    last: Floats


@dataclass(frozen=True, slots=True)
class Factor(Sides):
    """Along one loop, by tile size: sums over the tiles of a box, and its largest extent."""

    most: Floats

    def chosen(self, numbers: Ints) -> Factor:
        """Return the sums for an array of tile sizes by number."""
        return Factor(*(getattr(self, item.name)[numbers] for item in fields(self)))


def filled(lengths: Ints, width: int) -> Ints:
    """Return how many positions an array computes that takes ``width`` of them at once."""
    found: Ints = -(-lengths // width) * width
    return found


def _kept(lengths: Ints, common: Ints, width: int) -> Ints:
    """Return how many of the positions computed need not be computed again: whole widths of what is in common."""
    common = np.maximum(common, 0)
    found: Ints = np.where(common == lengths, filled(lengths, width), common // width * width)
    return found


def factor(spans: Sequence[tuple[Span, int]], starts: Ints) -> Factor | None:
    """Return the sums along a loop of the axes that follow it, None if no axis does; ``starts`` of each tile size."""
    if not spans:
        return None
    count = max(len(span.low) for span, _ in spans)
    extent, shared, wrapped = np.ones(count), np.ones(count), np.ones(len(starts))
    ends = np.append(starts[1:], count) - 1
    for span, width in spans:
        low, high = np.broadcast_to(span.low, (count,)), np.broadcast_to(span.high, (count,))
        lengths = np.broadcast_to(span.lengths(), (count,))
        extent *= filled(lengths, width)
        common = np.minimum(high[1:], high[:-1]) - np.maximum(low[1:], low[:-1]) + 1
        shared[1:] *= _kept(lengths[1:], common, width)
        around = np.minimum(high[starts], high[ends]) - np.maximum(low[starts], low[ends]) + 1
        wrapped *= _kept(lengths[starts], around, width)
    shared[starts] = 0
    total, most = np.add.reduceat(extent, starts), np.maximum.reduceat(extent, starts)
    return Factor(total, np.add.reduceat(shared, starts), wrapped, extent[starts], extent[ends], most)


def stays(constant: float, sides: Sequence[Sides | None], trips: Sequence[Floats], count: int) -> list[Floats]:
    """Return, by loop, what boxes have in common with those before, summed over the steps that the loop goes on with.

    ``sides`` are by loop, outermost first, None where the box does not follow.
    """
    wrapped: list[Floats | None] = [None]
    for side in reversed(sides[1:]):
        before = wrapped[-1]
        wrapped.append(before if side is None else side.wrapped if before is None else before * side.wrapped)
    outside, found = np.full(count, constant), []
    for side, number, inside in zip(sides, trips, reversed(wrapped), strict=False):
        stay = outside * (number - 1 if side is None else side.shared)
        found.append(stay if inside is None else stay * inside)
        outside = outside * (number if side is None else side.total)
    return found


def changes(
    constant: float, sides: Sequence[Sides | None], trips: Sequence[Floats], common: Sequence[Floats]
) -> tuple[Floats, Floats]:
    """Return sums of what enters a box with the steps of a class, and of what leaves, with ``common`` by loop."""
    loops, count = len(sides), common[0].shape[0] if common else 1
    ones = np.ones(count)
    inside = [(ones, ones)]
    for side in reversed(sides):
        first, last = inside[-1]
        inside.append(inside[-1] if side is None else (first * side.first, last * side.last))
    entering, leaving = np.empty((loops + 1, count)), np.zeros((loops + 1, count))
    entering[0] = constant * inside[-1][0]
    outside = np.full(count, constant)
    for at, (side, number) in enumerate(zip(sides, trips, strict=True)):
        first, last = inside[loops - 1 - at]
        total, begins, ends = (number, 1.0, 1.0) if side is None else (side.total, side.first, side.last)
        entering[at + 1] = outside * (total - begins) * first - common[at]
        leaving[at + 1] = outside * (total - ends) * last - common[at]
        outside = outside * total
    return entering, leaving


def come_back(entering: Floats, sums: Sequence[bool], trips: Sequence[Floats]) -> Floats:
    """Return, of what enters of an output, the sums that have begun before; ``sums`` says which loops add up."""
    found = entering.copy()
    part: Floats | float = 1.0
    for at, (is_sum, number) in enumerate(zip(sums, trips, strict=True)):
        if is_sum:
            part = part / number
        else:
            found[at + 1] *= 1 - part
    found[0] = 0.0
    return found


@dataclass(slots=True)
class Passing:
    """Bytes that pass the outermost memory for the boxes of a group, by the loops that they follow."""

    trips: Sequence[Floats]
    _by_loops: dict[tuple[int, ...], tuple[Floats, Floats]] = field(default_factory=dict)

    def add(self, sides: Sequence[Sides | None], entering: Floats | float, leaving: Floats | float) -> None:
        """Add what enters and leaves of a box by class of steps."""
        follows = tuple(at for at, side in enumerate(sides) if side is not None)
        before = self._by_loops.get(follows, (0.0, 0.0))
        self._by_loops[follows] = before[0] + entering, before[1] + leaving  # type: ignore[assignment]

    def by_loop(self, count: int) -> tuple[Floats, Floats]:
        """Return the bytes by the loop at which a box changes, by class: the innermost of several tiles it follows."""
        loops = len(self.trips)
        found = np.zeros((2, loops, loops + 1, count))
        for follows, both in self._by_loops.items():
            open_ones = np.ones(count)
            for at in reversed(follows):
                cut = self.trips[at] > 1
                for side, amount in zip(found, both, strict=True):
                    side[at] += amount * (open_ones * cut)
                open_ones = open_ones * ~cut
        return found[0], found[1]


def steps_seconds(trips: Sequence[Floats], work: Floats, passing: Passing | None, byte_s: float) -> Floats:
    """Return the seconds of all steps, without what passes before the first and after the last of them.

    ``work`` are the seconds of all steps of a class; ``passing`` is None where nothing passes beside them.
    """
    count = work.shape[1]
    if passing is None:
        return np.asarray(work.sum(0))
    number = [np.ones(count)]
    for at, trip in enumerate(trips):
        number.append(math.prod(trips[:at], start=np.ones(count)) * (trip - 1))
    each = np.array([np.divide(1.0, item, out=np.zeros(count), where=item > 0) for item in number])
    entering, leaving = (sums * each for sums in passing.by_loop(count))
    entering[:, 0], leaving[:, 0] = 0.0, 0.0  # nothing enters after the last step, nothing leaves before the first
    # By class of a step, or an iteration, and of the one after it; 0 of the latter is the end.
    time = np.repeat((work * each)[:, None], len(work), 1)
    moved = np.zeros_like(time)
    for at in reversed(range(len(trips))):
        moved += (leaving[at][:, None] + entering[at][None])[: at + 2, : at + 2] * byte_s
        np.maximum(time, moved, out=time)
        time, moved = (_in_a_row(values, trips[at]) for values in (time, moved))
    return np.asarray(time[0, 0])


def _in_a_row(values: Floats, trips: Floats) -> Floats:
    """Return sums over the iterations of the innermost loop, by class of the first and of the one after the last."""
    own = len(values) - 1
    several = values[:own, own:] + (trips - 2) * values[own:, own:] + values[own:, :own]
    return np.where(trips > 1, several, values[:own, :own])
