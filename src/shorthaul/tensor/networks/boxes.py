"""What every step of a group touches: intervals of positions per axis, found from the sink upwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from shorthaul.tensor.networks.model import Access, Expand, Index, Network, Permute, Regroup, Step, Stride

T = TypeVar("T")
Ints = npt.NDArray[np.int64]
_ZERO = np.zeros(1, np.int64)
#: A loop: operator and dimension.
Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Span:
    """Positions ``low`` to ``high`` of an axis in every tile of the loops ``of``; arrays of one where there is none."""

    low: Ints
    high: Ints
    of: frozenset[Key] = frozenset()

    def lengths(self) -> Ints:
        """Return how many positions there are."""
        found: Ints = np.maximum(self.high - self.low + 1, 0)
        return found


Box = tuple[Span, ...]


def full(size: int) -> Span:
    """Return all positions of an axis."""
    return Span(_ZERO, np.array([size - 1], np.int64))


_ONE = full(1)


def tiles(size: int, tile: int, key: Key) -> Span:
    """Return the tiles of a loop."""
    low = np.arange(0, size, tile, dtype=np.int64)
    return Span(low, np.minimum(low + tile, size) - 1, frozenset((key,)))


def hull(one: Span, other: Span) -> Span:
    """Return the least intervals that hold both."""
    first, second = one.high < one.low, other.high < other.low
    low = np.where(first, other.low, np.where(second, one.low, np.minimum(one.low, other.low)))
    high = np.where(first, other.high, np.where(second, one.high, np.maximum(one.high, other.high)))
    return Span(low, high, one.of | other.of)


def reached(index: Index, dims: Sequence[Span], size: int) -> Span:
    """Return the positions of an axis that the dimensions reach."""
    if not index.terms:
        return Span(_ZERO, _ZERO)
    first, factor = index.terms[0]
    if (len(index.terms), factor, index.offset, index.divisor) == (1, 1, 0, 1) and int(dims[first].high.max()) < size:
        return dims[first]
    low = high = np.full(1, index.offset, np.int64)
    of: frozenset[Key] = frozenset()
    for dim, factor in index.terms:
        span = dims[dim]
        low = low + (span.low if factor > 0 else span.high) * factor
        high = high + (span.high if factor > 0 else span.low) * factor
        of |= span.of
    return _clipped(low // index.divisor, high // index.divisor, size, of)


def is_one_to_one(index: Index, extents: Sequence[int]) -> bool:
    """Return whether no two combinations of so many positions of the dimensions reach the same one.

    >>> patches = Index(((0, 4), (1, 1)))
    >>> is_one_to_one(patches, (3, 4)), is_one_to_one(patches, (3, 5)), is_one_to_one(patches, (1, 5))
    (True, False, True)
    """
    reach = 0
    for dim, factor in sorted(index.terms, key=lambda term: abs(term[1])):
        if extents[dim] > 1 and abs(factor) <= reach:
            return False
        reach += abs(factor) * (extents[dim] - 1)
    return index.divisor == 1


def _clipped(low: Ints, high: Ints, size: int, of: frozenset[Key]) -> Span:
    low, high = np.maximum(low, 0), np.minimum(high, size - 1)
    return Span(np.where(high < low, 0, low), np.where(high < low, -1, high), of)


def followed(
    values: Sequence[T],
    steps: Iterable[Step],
    one: T,
    strided: Callable[[T, int, int, int], T],
    regrouped: Callable[[Sequence[T], Sequence[int], Sequence[int]], Sequence[T] | None],
) -> tuple[T, ...] | None:
    """Return what is known of the axes of a stored tensor where ``values`` are of those of a view; None for nothing.

    Of an axis of one place ``one`` is known; ``strided`` says what becomes of it by start, step and size, and
    ``regrouped`` under another shape.
    """
    found = tuple(values)
    for step in steps:
        match step:
            case Permute(axes):
                found = tuple(found[axes.index(axis)] for axis in range(len(axes)))
            case Stride(start, by, size):
                found = tuple(strided(*each) for each in zip(found, start, by, size, strict=True))
            case Expand(shape):
                last = found[len(found) - len(shape) :]
                found = tuple(one if size == 1 else each for size, each in zip(shape, last, strict=True))
            case Regroup(shape, source):
                again = regrouped(found, shape, source)
                if again is None:
                    return None
                found = tuple(again)
    return found


def _strided(span: Span, start: int, by: int, size: int) -> Span:
    if (start, by) == (0, 1) and int(span.high.max()) < size:
        return span
    ends = start + by * span.low, start + by * span.high
    low, high = ends if by > 0 else ends[::-1]
    if by < 0:
        low = np.where(span.high < span.low, high + 1, low)
    return _clipped(low, high, size, span.of)


def blocks(shape: Sequence[int], source: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the axes of two shapes that hold the same elements, block by block; axes of one position are left out."""
    views = [axis for axis, size in enumerate(shape) if size != 1]
    wanted = [axis for axis, size in enumerate(source) if size != 1]
    while views and wanted:
        ours, theirs = [views.pop(0)], [wanted.pop(0)]
        mine, other = shape[ours[0]], source[theirs[0]]
        while mine != other:
            if mine < other:
                ours.append(views.pop(0))
                mine *= shape[ours[-1]]
            else:
                theirs.append(wanted.pop(0))
                other *= source[theirs[-1]]
        yield ours, theirs


def _regrouped(box: Sequence[Span], shape: Sequence[int], source: Sequence[int]) -> Box:
    """Return the positions in the source of a view under another shape."""
    found: list[Span] = [_ONE] * len(source)
    for ours, theirs in blocks(shape, source):
        if len(ours) == len(theirs) == 1:
            found[theirs[0]] = box[ours[0]]
            continue
        flat = _flat([box[axis] for axis in ours], [shape[axis] for axis in ours])
        for axis, span in zip(theirs, _split(flat, [source[axis] for axis in theirs]), strict=True):
            found[axis] = span
    return tuple(found)


def _flat(spans: Sequence[Span], sizes: Sequence[int]) -> Span:
    """Return the least interval of row-major numbers that holds a box."""
    low, high, of = _ZERO, _ZERO, frozenset[Key]()
    empty = np.zeros(1, bool)
    for span, size in zip(spans, sizes, strict=True):
        low, high, of = low * size + span.low, high * size + span.high, of | span.of
        empty = empty | (span.high < span.low)
    return Span(np.where(empty, 0, low), np.where(empty, -1, high), of)


def _split(flat: Span, sizes: Sequence[int]) -> list[Span]:
    """Return the least box of axes that holds an interval of row-major numbers."""
    stride = 1
    for size in sizes:
        stride *= size
    low, high = flat.low, flat.high
    empty = high < low
    spans = []
    for size in sizes:
        stride //= size
        first, last = low // stride, high // stride
        spans.append(Span(np.where(empty, 0, first), np.where(empty, -1, last), flat.of))
        one = first == last
        low = np.where(one, low - first * stride, 0)
        high = np.where(one, high - last * stride, stride - 1)
    return spans


@dataclass(slots=True)
class Touched:
    """The boxes of a group: ``regions`` by operator over its dimensions, ``made`` by tensor, ``read`` by access."""

    regions: dict[int, Box]
    made: dict[int, Box]
    read: list[tuple[int, int, Box]]


def touched(network: Network, operators: Sequence[int], loops: Mapping[Key, Span]) -> Touched:
    """Return what the steps of a group touch, where ``loops`` gives tiles of dimensions; the others are whole.

    ``read`` lists accesses to tensors that the group does not make, as operator, tensor and box.
    """
    inside = {access.tensor: number for number in operators for access in network.operators[number].writes}
    asked: dict[int, Box] = {}
    result = Touched({}, {}, [])
    for number in reversed(operators):
        operator = network.operators[number]
        dims = [loops.get((number, dim), full(size)) for dim, size in enumerate(operator.dims)]
        written = operator.writes[0]
        if number != operators[-1]:
            whole = network.whole_in(number, operators)
            for axis, index in enumerate(written.axes):
                for dim, _ in index.terms:
                    if dim not in whole:
                        dims[dim] = asked[written.tensor][axis]
        result.regions[number] = tuple(dims)
        result.made[written.tensor] = tuple(
            reached(index, dims, size) for index, size in zip(written.axes, written.shape, strict=True)
        )
        for access in operator.reads:
            box = box_of(access, dims)
            if access.tensor in inside:
                before = asked.get(access.tensor)
                merged = box if before is None else tuple(hull(a, b) for a, b in zip(before, box, strict=True))
                asked[access.tensor] = merged
            else:
                result.read.append((number, access.tensor, box))
    return result


def box_of(access: Access, dims: Sequence[Span]) -> Box:
    """Return the positions of a stored tensor that an access reaches."""
    seen = tuple(reached(index, dims, size) for index, size in zip(access.axes, access.shape, strict=True))
    box = followed(seen, access.steps, _ONE, _strided, _regrouped)
    assert box is not None, "nothing of a box is lost"
    return box
