"""What a group holds at least that has two given operators, whatever its tiles are.

No group has an operator without all that lies on a way from it to a later one of its own, as groups run one after the
other. Of all between the two, every operator computes something in some step; whatever lies before it in the group
computes what this needs. Dimensions that an operator adds up over are not cut, but for those of the group's sink and of
one anchor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shorthaul.tensor.networks.boxes import blocks
from shorthaul.tensor.networks.model import Access, Expand, Index, Network, Permute, Regroup, Step, Stride

#: Operators looked at, again and again, before nothing more is proven: about 1.5 s of processor time.
_MOST_WORK = 100_000
#: Positions along each axis that an interval has at least; None where it may be empty.
Lengths = tuple[int, ...]
Ints = npt.NDArray[np.int64]


@dataclass(slots=True)
class Holding:
    """Least bytes held by groups of a network, of operators that its outputs need."""

    network: Network
    needed: frozenset[int]
    _known: dict[tuple[int, int, Lengths], Lengths | None] = field(default_factory=dict)
    _reduced: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _anchor: int | None = None
    _left: int = _MOST_WORK

    def of(self, members: Sequence[int], enough: float) -> float:
        """Return bytes that a group holds at least which has ``members``: two operators and all between, in order.

        The search for an anchor ends with the first one for which it holds no more than ``enough``. Where it has taken
        too long, nothing is proven.
        """
        operators = self.network.operators
        if len(members) > 1 and any(operators[number].barrier for number in members):
            return math.inf
        if self._left < 0:
            return 0.0
        least = self._held(members, frozenset())
        if least <= enough:
            return least
        anchors = [number for number in members[:-1] if self._sums_of(number)]
        relaxed = self._held(members, frozenset(anchors))
        if relaxed > enough or not anchors:
            return relaxed
        # What was an anchor for two other operators may be one again.
        for anchor in sorted(anchors, key=lambda number: (number != self._anchor, -number)):
            least = min(least, self._held(members, frozenset((anchor,))))
            if least <= enough or self._left < 0:
                self._anchor = anchor
                break
        if self._left < 0:
            return 0.0
        return least

    def _held(self, members: Sequence[int], cut: frozenset[int]) -> float:
        """Return the bytes held at least where the last member may be the sink, and sums of ``cut`` are cut.

        Nobody makes inputs and constants: all that the group reads of them has buffers of its own. Of the others, what
        one operator reads and writes is there while it runs.
        """
        tensors = self.network.tensors
        self._left -= len(members)
        asked: dict[int, Lengths] = {}
        given: dict[int, float] = {}
        most = 0.0
        for number in reversed(members):
            operator = self.network.operators[number]
            if number not in self.needed or not operator.writes:
                continue
            is_sink = number == members[-1]
            extents = [1] * len(operator.dims)
            target = operator.writes[0]
            for index, length in zip(target.axes, asked.get(target.tensor, ()), strict=False):
                for dim, _ in index.terms:
                    extents[dim] = min(length, operator.dims[dim])
            for dim in self._sums_of(number) if not is_sink and number not in cut else ():
                extents[dim] = operator.dims[dim]
            for dim in operator.whole:
                extents[dim] = operator.dims[dim]
            made = math.prod(extents[dim] for index in target.axes for dim, _ in index.terms)
            beside = {target.tensor: made * tensors[target.tensor].bits / 8}
            for place, access in enumerate(operator.reads):
                reached = self._reached(number, place, access, tuple(extents))
                if reached is None:
                    continue
                amount = math.prod(reached) * tensors[access.tensor].bits / 8
                there = given if tensors[access.tensor].role != "made" else beside
                there[access.tensor] = max(there.get(access.tensor, 0.0), amount)
                if math.prod(reached) > math.prod(asked.get(access.tensor, (0,))):
                    asked[access.tensor] = reached
            most = max(most, sum(beside.values()))
        return sum(given.values()) + most

    def _sums_of(self, number: int) -> tuple[int, ...]:
        if number not in self._reduced:
            self._reduced[number] = self.network.operators[number].reduced
        return self._reduced[number]

    def _reached(self, number: int, place: int, access: Access, extents: Lengths) -> Lengths | None:
        key = (number, place, extents)
        if key not in self._known:
            self._known[key] = reached(access, extents, self.network.operators[number].dims)
        return self._known[key]


def reached(access: Access, extents: Sequence[int], dims: Sequence[int]) -> Lengths | None:
    """Return how many positions per axis of a stored tensor an access reaches at least; None where it may reach none.

    The dimensions are intervals of at least ``extents`` positions, anywhere.
    """
    shape = access.shape
    found: Lengths | None = tuple(
        _along(index, extents, dims, size) for index, size in zip(access.axes, shape, strict=True)
    )
    for step in access.steps:
        if found is None or 0 in found:
            return None
        found, shape = through(found, shape, step)
    return None if found is None or 0 in found else found


def _along(index: Index, extents: Sequence[int], dims: Sequence[int], size: int) -> int:
    """Return how many positions of an axis intervals of dimensions reach at least: the fewest of all their places."""
    movable = [dim for dim, _ in index.terms if extents[dim] < dims[dim]]
    span = sum(abs(factor) * (extents[dim] - 1) for dim, factor in index.terms)
    low = np.full(1, index.offset + sum(min(0, factor) * (extents[dim] - 1) for dim, factor in index.terms), np.int64)
    if len(movable) > 1:
        least, most = int(low[0]), int(low[0]) + span
        for dim, factor in index.terms:
            way = factor * (dims[dim] - extents[dim])
            least, most = least + min(0, way), most + max(0, way)
        inside = least // index.divisor >= 0 and most // index.divisor < size
        return span // index.divisor + 1 if inside else 0
    for dim, factor in index.terms:
        if dim in movable:
            low = low + np.arange(dims[dim] - extents[dim] + 1, dtype=np.int64) * factor
    return _fewest(low // index.divisor, (low + span) // index.divisor, size)


def _fewest(low: Ints, high: Ints, size: int) -> int:
    return max(0, int((np.minimum(high, size - 1) - np.maximum(low, 0)).min()) + 1)


def through(lengths: Lengths, shape: Sequence[int], step: Step) -> tuple[Lengths, tuple[int, ...]]:
    """Return the least lengths, and the sizes, of the axes of a view's source."""
    match step:
        case Permute(axes):
            back = [axes.index(axis) for axis in range(len(axes))]
            return tuple(lengths[at] for at in back), tuple(shape[at] for at in back)
        case Expand(source):
            last = lengths[len(lengths) - len(source) :]
            return tuple(1 if size == 1 else length for size, length in zip(source, last, strict=True)), source
        case Stride(start, by, source):
            found = []
            for length, view, first, factor, size in zip(lengths, shape, start, by, source, strict=True):
                ends = first + factor * np.arange(view - length + 1, dtype=np.int64)
                other = ends + factor * (length - 1)
                found.append(_fewest(np.minimum(ends, other), np.maximum(ends, other), size))
            return tuple(found), source
        case Regroup(_, source):
            return _regrouped(lengths, shape, source), source


def _regrouped(lengths: Lengths, shape: Sequence[int], source: Sequence[int]) -> Lengths:
    """Return least lengths under another shape: of an axis, an interval in row-major order reaches as many positions
    as it has blocks of it, or, where it goes on in the next row, all.
    """
    found = [1] * len(source)
    for ours, theirs in blocks(shape, source):
        if len(ours) == len(theirs) == 1:
            found[theirs[0]] = lengths[ours[0]]
            continue
        reach, stride = 1, 1
        for axis in reversed(ours):
            reach, stride = reach + (lengths[axis] - 1) * stride, stride * shape[axis]
        stride = 1
        for axis in reversed(theirs):
            found[axis] = min(source[axis], -(-reach // stride))
            stride *= source[axis]
    return tuple(found)
