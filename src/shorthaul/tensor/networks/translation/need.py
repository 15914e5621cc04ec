"""What the outputs of a model need of its operators: of all others, and of the rest of these, nothing is computed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from shorthaul.tensor.networks.boxes import Box, Span, blocks, box_of
from shorthaul.tensor.networks.model import (
    Access,
    Expand,
    Index,
    Network,
    Operator,
    Permute,
    Regroup,
    Step,
    Stride,
    Tensor,
)
from shorthaul.tensor.networks.translation.builder import chained, moves_inward
from shorthaul.tensor.networks.translation.operators import POINTWISE

#: Names that a remark tells at most.
_MOST_NAMES = 8


def needed_part(network: Network) -> tuple[Network, tuple[int, ...]]:
    """Return the network of what the outputs need, and which operators are left.

    From the outputs upwards the least box of places equally far apart is taken that holds what is read of a tensor; its
    maker computes just that, as an operator with shorter dimensions that begin elsewhere, and the tensor is stored as
    that box. Rows that are needed whole, what is added up over, and barriers stay whole; places between are left out
    of products, convolutions and pointwise operators alone. The network is itself where nothing is left out.
    """
    need = _Need(network)
    for access in network.outputs:
        need.ask(access, [_every(size) for size in access.shape])
    for number in range(len(network.operators) - 1, -1, -1):
        need.follow(number)
    kept = tuple(sorted(need.dims))
    if not kept or (len(kept) == len(network.operators) and not need.windows):
        return network, tuple(range(len(network.operators)))
    operators = tuple(need.operator(number) for number in kept)
    tensors = tuple(need.tensor(number) for number in range(len(network.tensors)))
    remarks = (*network.remarks, *_remarks(network, kept, operators))
    outputs = tuple(need.moved(access, [_every(size) for size in access.shape]) for access in network.outputs)
    return Network(network.name, tensors, operators, remarks, network.origin, outputs, network), kept


def _remarks(network: Network, kept: Sequence[int], operators: Sequence[Operator]) -> list[str]:
    unread = [item.name for number, item in enumerate(network.operators) if number not in set(kept)]
    parts = [item.name for item in operators if item.first]
    told = [("left out, as no output needs them", unread), ("of which outputs need a part alone", parts)]
    return [f"operators {text}: {_some(names)}" for text, names in told if names]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


#: Operators that compute any places of their dimensions, and read any places.
_OF_ANY_PLACES: Final = frozenset((*POINTWISE, "MatMul", "Gemm", "Conv", "QLinearConv", "ConvInteger"))


@dataclass(frozen=True, slots=True)
class _Places:
    """Positions from ``low`` to ``high``, ``step`` apart; one alone is 0 apart."""

    low: int
    high: int
    step: int

    @property
    def count(self) -> int:
        """How many positions there are."""
        return 1 + (self.high - self.low) // self.step if self.step else 1

    @property
    def span(self) -> Span:
        """All from the first to the last one."""
        return Span(np.array([self.low], np.int64), np.array([self.high], np.int64))

    def between(self) -> _Places:
        """Return these with all between them."""
        return _Places(self.low, self.high, min(self.step, 1))

    def joined(self, other: _Places) -> _Places:
        """Return the least such positions that hold both."""
        step = math.gcd(self.step, other.step, self.low - other.low)
        return _Places(min(self.low, other.low), max(self.high, other.high), step)


def _every(size: int) -> _Places:
    return _Places(0, size - 1, min(size - 1, 1))


#: What is asked for, or stored, of a tensor: positions along every axis.
_Part = tuple[_Places, ...]


@dataclass(frozen=True, slots=True)
class _Way:
    """How an axis of a stored tensor follows one of an access: it is at ``start + by *`` what that one is at.

    ``axes`` are the axes of what lies before each step, and of the tensor, -1 before a new axis of one place.
    """

    axes: tuple[int, ...]
    start: int
    by: int

    def index(self, access: Access) -> Index:
        """Return the index of the axis that is followed."""
        return access.axes[self.axes[0]] if self.axes[0] >= 0 else Index()

    def place(self, access: Access, dims: Sequence[_Places]) -> int:
        """Return where the axis is at the first places of all dimensions."""
        index = self.index(access)
        return self.start + self.by * (index.offset + sum(factor * dims[dim].low for dim, factor in index.terms))


def _ways(access: Access, dims: Sequence[_Places]) -> Iterator[_Way | None]:
    """Yield how each axis of the stored tensor follows one of the access by itself; None where it does not."""
    shapes, ways = [access.shape], [_Way((axis,), 0, 1) for axis in range(len(access.shape))]
    found: list[_Way | None] = [*ways]
    for step in access.steps:
        before, shape = found, shapes[-1]
        match step:
            case Permute(axes):
                found, shape = [None] * len(axes), tuple(shape[axes.index(axis)] for axis in range(len(axes)))
                for axis, source in enumerate(axes):
                    found[source] = _with(before[axis], source)
            case Stride(start, by, size):
                moved = [(0, 1, n) != (a, b, m) for n, a, b, m in zip(shape, start, by, size, strict=True)]
                found = [
                    _with(way, axis, start[axis], by[axis]) if not moves or _is_inside(access, way, dims, n) else None
                    for axis, (way, moves, n) in enumerate(zip(before, moved, shape, strict=True))
                ]
                shape = size
            case Expand(size):
                last = before[len(before) - len(size) :]
                kept = zip(last, size, shape[len(shape) - len(size) :], strict=True)
                found = [_with(way, axis) if n == m else None for axis, (way, n, m) in enumerate(kept)]
                shape = size
            case Regroup(_, size):
                found = [_Way((*[-1] * len(shapes), axis), 0, 1) if n == 1 else None for axis, n in enumerate(size)]
                for ours, theirs in blocks(shape, size):
                    if len(ours) == len(theirs) == 1:
                        found[theirs[0]] = _with(before[ours[0]], theirs[0])
                shape = size
        shapes.append(shape)
    for way in found:
        index = None if way is None else way.index(access)
        yield None if index is None or index.divisor != 1 or index.exact else way


def _with(way: _Way | None, axis: int, start: int = 0, by: int = 1) -> _Way | None:
    return None if way is None else _Way((*way.axes, axis), start + by * way.start, by * way.by)


def _is_inside(access: Access, way: _Way | None, dims: Sequence[_Places], size: int) -> bool:
    """Return whether no place that an access asks for along an axis lies in a margin, of this view or one before."""
    if way is None:
        return False
    index, most = way.index(access), access.shape[way.axes[0]] if way.axes[0] >= 0 else 1
    ends = [sorted(factor * end for end in (dims[dim].low, dims[dim].high)) for dim, factor in index.terms]
    low, high = (index.offset + sum(end[side] for end in ends) for side in (0, 1))
    there = sorted(way.start + way.by * end for end in (low, high))
    return low >= 0 and high < most and there[0] >= 0 and there[1] < size


def _narrowed(step: Step, before: int, after: int, count: int) -> Step:
    """Return a step along which an axis has ``count`` places, before and behind it."""

    def at(values: tuple[int, ...], axis: int, value: int) -> tuple[int, ...]:
        return (*values[:axis], value, *values[axis + 1 :])

    match step:
        case _ if after < 0:
            return step
        case Regroup(shape, source):
            return Regroup(shape if before < 0 else at(shape, before, count), at(source, after, count))
        case Stride(start, by, source):
            return Stride(at(start, after, 0), at(by, after, 1), at(source, after, count))
        case Expand(source):
            return Expand(at(source, after, count))
        case Permute():
            return step


@dataclass(slots=True)
class _Need:
    """What is needed: positions of tensors, and of the dimensions of operators; ``windows`` of tensors not whole."""

    network: Network
    asked: dict[int, _Part] = field(default_factory=dict)
    dims: dict[int, list[_Places]] = field(default_factory=dict)
    windows: dict[int, _Part] = field(default_factory=dict)
    unread: set[tuple[int, Access]] = field(default_factory=set)

    def ask(self, access: Access, dims: Sequence[_Places], *, between: bool = False) -> None:
        """Ask for what an access reaches, and for all ``between`` if that is wanted."""
        box = box_of(access, [places.span for places in dims])
        if _is_empty(box):
            self._ask(access.tensor, self._all(access.tensor))
            return
        part = [_Places(int(span.low[0]), int(span.high[0]), 1) for span in box]
        for axis, way in enumerate(() if between else _ways(access, dims)):
            if way is None:
                continue
            low, high, place = part[axis].low, part[axis].high, way.place(access, dims)
            step = math.gcd(*(way.by * f * dims[dim].step for dim, f in way.index(access).terms))
            if step > 1:
                low, high = low + (place - low) % step, high - (high - place) % step
            if low <= high:  # otherwise all that is reached lies in a margin
                part[axis] = _Places(low, high, step)
        self._ask(access.tensor, tuple(part))

    def _ask(self, tensor: int, part: _Part) -> None:
        before = self.asked.get(tensor)
        self.asked[tensor] = (
            part if before is None else tuple(one.joined(other) for one, other in zip(before, part, strict=True))
        )

    def _all(self, tensor: int) -> _Part:
        return tuple(_every(size) for size in self.network.tensors[tensor].shape)

    def follow(self, number: int) -> None:
        """Ask for what an operator reads, if anybody asked for what it makes."""
        item = self.network.operators[number]
        if not any(access.tensor in self.asked for access in item.writes):
            return
        self.dims[number] = dims = [_every(size) for size in item.dims]
        if item.barrier:
            for access in item.reads:
                self._ask(access.tensor, self._all(access.tensor))
            return
        target, of_any = item.writes[0], item.kind in _OF_ANY_PLACES
        for index, size, places in zip(target.axes, target.shape, self.asked[target.tensor], strict=True):
            found = places if of_any else places.between()
            if index.terms and index.terms[0][0] not in item.rows and found.count < size:
                dims[index.terms[0][0]] = found if found.count > 1 else replace(found, step=0)
        if any(places.count < size for places, size in zip(dims, item.dims, strict=True)):
            self.windows[target.tensor] = tuple(
                dims[index.terms[0][0]] if index.terms else _every(1) for index in target.axes
            )
        spans = [places.span for places in dims]
        read = [access for access in item.reads if not _is_empty(box_of(access, spans))]
        for access in item.reads:
            # Of a concatenation some parts may not be reached; what else reads nothing (all is margin) stays as it is.
            if access not in read and any((a.axes, a.shape) == (access.axes, access.shape) for a in read):
                self.unread.add((number, access))
            else:
                self.ask(access, dims, between=not of_any)

    def tensor(self, number: int) -> Tensor:
        """Return a tensor as it is stored."""
        found, window = self.network.tensors[number], self.windows.get(number)
        return found if window is None else replace(found, shape=_shape(window))

    def operator(self, number: int) -> Operator:
        """Return an operator on what is needed of it."""
        item, dims = self.network.operators[number], self.dims[number]
        reads = tuple(self.moved(access, dims) for access in item.reads if (number, access) not in self.unread)
        if item.barrier or item.writes[0].tensor not in self.windows:
            return replace(item, reads=reads)
        target = item.writes[0]
        writes = (replace(target, shape=_shape(self.windows[target.tensor])),)
        first, steps = tuple(places.low for places in dims), tuple(max(1, places.step) for places in dims)
        return replace(item, dims=_shape(dims), reads=reads, writes=writes, first=first, steps=steps)

    def moved(self, access: Access, dims: Sequence[_Places]) -> Access:
        """Return an access of dimensions that have these places alone, to a tensor as it is stored."""
        window = self.windows.get(access.tensor)
        made = access
        axes = [_spread(index, dims) for index in access.axes]
        start = [0 if places.step > 1 else -places.low for places in window or ()]
        ways = _ways(access, dims) if any(places.step > 1 for places in window or ()) else ()
        for axis, (places, way) in enumerate(zip(window or (), ways, strict=False)):
            if places.step <= 1:
                continue
            assert way is not None, "places between that nobody asked for"
            at, terms = way.axes[0], way.index(access).terms
            place, count = (way.place(access, dims) - places.low) // places.step, places.count if terms else 1
            factors = ((dim, way.by * f * dims[dim].step // places.step or 1) for dim, f in terms)
            start[axis] = 0 if terms else place
            shape = made.shape
            if at >= 0:
                axes[at] = Index(tuple(factors), place if terms else 0)
                shape = (*shape[:at], count, *shape[at + 1 :])
            walk = zip(made.steps, way.axes, way.axes[1:], strict=False)
            steps = tuple(_narrowed(step, before, after, count) for step, before, after in walk)
            made = replace(made, shape=shape, steps=steps)
        made = replace(made, axes=tuple(axes))
        if window is None:
            return made
        shift = Stride(tuple(start), (1,) * len(window), _shape(window))
        return _plain(replace(made, steps=chained(made.steps, (shift,))))


def _spread(index: Index, dims: Sequence[_Places]) -> Index:
    """Return an index over dimensions that have these places alone."""
    first = index.offset + sum(factor * dims[dim].low for dim, factor in index.terms)
    return replace(
        index, terms=tuple((dim, factor * max(1, dims[dim].step)) for dim, factor in index.terms), offset=first
    )


def _plain(access: Access) -> Access:
    """Return an access that begins by shifting its axes as one that reads them there."""
    step = access.steps[0] if access.steps else None
    if not isinstance(step, Stride) or set(step.step) != {1} or not moves_inward(access.shape, step):
        return access
    if any(start and not index.terms for start, index in zip(step.start, access.axes, strict=True)):
        return access
    axes = tuple(
        replace(index, offset=index.offset + start * index.divisor)
        for start, index in zip(step.start, access.axes, strict=True)
    )
    return Access(access.tensor, axes, step.source, access.steps[1:])


def _shape(part: Sequence[_Places]) -> tuple[int, ...]:
    return tuple(places.count for places in part)


def _is_empty(box: Box) -> bool:
    return any(int(span.high[0]) < int(span.low[0]) for span in box)
