"""What the outputs of a model need of its operators: of all others, and of the rest of these, nothing is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from shorthaul.tensor.networks.boxes import Box, Span, box_of, full, hull
from shorthaul.tensor.networks.model import Access, Network, Operator, Stride, Tensor
from shorthaul.tensor.networks.translation.builder import chained, moves_inward

#: Names that a remark tells at most.
_MOST_NAMES = 8


def needed_part(network: Network) -> tuple[Network, tuple[int, ...]]:
    """Return the network of what the outputs need, and which operators are left.

    From the outputs upwards the least box is taken that holds what is read of a tensor; its maker computes just that,
    as an operator with shorter dimensions that begin elsewhere, and the tensor is stored as that box. Rows that are
    needed whole, what is added up over, and barriers stay whole. The network is itself where nothing is left out.
    """
    need = _Need(network)
    for access in network.outputs:
        need.ask(access, [full(size) for size in access.shape])
    for number in range(len(network.operators) - 1, -1, -1):
        need.follow(number)
    kept = tuple(sorted(need.dims))
    if not kept or (len(kept) == len(network.operators) and not need.windows):
        return network, tuple(range(len(network.operators)))
    operators = tuple(need.operator(number) for number in kept)
    tensors = tuple(need.tensor(number) for number in range(len(network.tensors)))
    remarks = (*network.remarks, *_remarks(network, kept, operators))
    outputs = tuple(need.moved(access, (0,) * len(access.axes)) for access in network.outputs)
    return Network(network.name, tensors, operators, remarks, network.origin, outputs, network), kept


def _remarks(network: Network, kept: Sequence[int], operators: Sequence[Operator]) -> list[str]:
    unread = [item.name for number, item in enumerate(network.operators) if number not in set(kept)]
    parts = [item.name for item in operators if item.first]
    told = [("left out, as no output needs them", unread), ("of which outputs need a part alone", parts)]
    return [f"operators {text}: {_some(names)}" for text, names in told if names]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


@dataclass(slots=True)
class _Need:
    """What is needed: positions of tensors, and of the dimensions of operators; ``windows`` of tensors not whole."""

    network: Network
    asked: dict[int, Box] = field(default_factory=dict)
    dims: dict[int, list[Span]] = field(default_factory=dict)
    windows: dict[int, Box] = field(default_factory=dict)
    unread: set[tuple[int, Access]] = field(default_factory=set)

    def ask(self, access: Access, dims: Sequence[Span]) -> None:
        """Ask for what an access reaches."""
        box = box_of(access, dims)
        self._ask(access.tensor, self._all(access.tensor) if _is_empty(box) else box)

    def _ask(self, tensor: int, box: Box) -> None:
        before = self.asked.get(tensor)
        self.asked[tensor] = (
            box if before is None else tuple(hull(one, other) for one, other in zip(before, box, strict=True))
        )

    def _all(self, tensor: int) -> Box:
        return tuple(full(size) for size in self.network.tensors[tensor].shape)

    def follow(self, number: int) -> None:
        """Ask for what an operator reads, if anybody asked for what it makes."""
        item = self.network.operators[number]
        if not any(access.tensor in self.asked for access in item.writes):
            return
        self.dims[number] = dims = [full(size) for size in item.dims]
        if item.barrier:
            for access in item.reads:
                self._ask(access.tensor, self._all(access.tensor))
            return
        target = item.writes[0]
        for index, size, span in zip(target.axes, target.shape, self.asked[target.tensor], strict=True):
            if index.terms and index.terms[0][0] not in item.rows and int(span.lengths()[0]) < size:
                dims[index.terms[0][0]] = span
        if any(span.lengths()[0] < size for span, size in zip(dims, item.dims, strict=True)):
            self.windows[target.tensor] = tuple(
                dims[index.terms[0][0]] if index.terms else full(1) for index in target.axes
            )
        read = [access for access in item.reads if not _is_empty(box_of(access, dims))]
        for access in item.reads:
            # Of a concatenation some parts may not be reached; what else reads nothing (all is margin) stays as it is.
            if access not in read and any((a.axes, a.shape) == (access.axes, access.shape) for a in read):
                self.unread.add((number, access))
            else:
                self.ask(access, dims)

    def tensor(self, number: int) -> Tensor:
        """Return a tensor as it is stored."""
        found, window = self.network.tensors[number], self.windows.get(number)
        return found if window is None else replace(found, shape=_shape(window))

    def operator(self, number: int) -> Operator:
        """Return an operator on what is needed of it."""
        item = self.network.operators[number]
        first = tuple(int(span.low[0]) for span in self.dims[number])
        reads = tuple(self.moved(access, first) for access in item.reads if (number, access) not in self.unread)
        if item.barrier or item.writes[0].tensor not in self.windows:
            return replace(item, reads=reads)
        target = item.writes[0]
        writes = (replace(target, shape=_shape(self.windows[target.tensor])),)
        return replace(item, dims=_shape(self.dims[number]), reads=reads, writes=writes, first=first)

    def moved(self, access: Access, first: Sequence[int]) -> Access:
        """Return an access of dimensions that begin at ``first``, to a tensor as it is stored."""
        axes = tuple(
            replace(index, offset=index.offset + sum(factor * first[dim] for dim, factor in index.terms))
            for index in access.axes
        )
        window = self.windows.get(access.tensor)
        if window is None:
            return replace(access, axes=axes)
        shift = Stride(tuple(-int(span.low[0]) for span in window), (1,) * len(window), _shape(window))
        return _plain(replace(access, axes=axes, steps=chained(access.steps, (shift,))))


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


def _shape(spans: Sequence[Span]) -> tuple[int, ...]:
    return tuple(int(span.lengths()[0]) for span in spans)


def _is_empty(box: Box) -> bool:
    return any(int(span.high[0]) < int(span.low[0]) for span in box)
