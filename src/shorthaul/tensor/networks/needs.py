"""What the outputs of a network need of every operator: positions of its dimensions, operations and bytes.

It is followed from the outputs upwards as positions per axis; where a view does not keep axes apart, as a part that
positions per axis can name.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.tensor.networks.array import spread
from shorthaul.tensor.networks.boxes import blocks, followed, is_one_to_one
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Access, Index, Network, Operator
from shorthaul.tensor.networks.operands import OUTPUTS, operands_of

Positions = Sequence[npt.NDArray[np.bool_]]
#: Elements of axes that a view regroups, of which those needed are followed one by one.
_LARGEST_BLOCK = 10**7


@dataclass(frozen=True, slots=True)
class Demand:
    """What the outputs need of one operator: operations, an array filled by each, bytes of the tensors it reads.

    ``inner_bytes`` pass the ports to levels inside of the first near one (:meth:`Machine.ports`); of a barrier, whose
    tensors may be near, none.
    """

    operations: float
    read: dict[int, float]
    inner_bytes: tuple[float, ...]


def demands(network: Network, machine: Machine) -> dict[int, Demand]:
    """Return, by operator that the outputs need, what they need of it.

    Of a dimension that is needed whole, every ``width``-th position counts ``width`` times, where the array computes so
    many at once: steps cannot take fewer passes, however they are cut, since none computes two of these in one pass.
    """
    found = {}
    # What passes to a level without tiles is what passes further inside.
    inside = [
        max(float(inner.capacity_bytes or 0) for inner in machine.levels[at:]) for at in range(2, len(machine.levels))
    ]
    served = [machine.served(at) for at in range(2, len(machine.levels))]
    ports = machine.ports()
    for number, dims in _needed(network).items():
        operator = network.operators[number]
        read: dict[int, float] = {}
        inner: list[dict[int, float]] = [{} for _ in ports]
        operations = math.prod(int(mask.sum()) for mask in dims) * operator.work
        looked_up = operations if operator.looks_up else math.inf
        for access, operand in zip(operator.reads, operands_of(operator), strict=True):
            amount = _elements(network, operator, access, dims) * network.tensors[access.tensor].bits / 8
            read[access.tensor] = max(read.get(access.tensor, 0.0), amount)
            # A part of a region takes its share of what the region touches, at least, as what parts have in common
            # counts for both. That fails where places lie between those that are read, in transposed convolutions.
            # Of what is looked up an operation takes one element.
            if not operator.barrier and all(index.divisor == 1 for index in access.axes):
                taken = looked_up * network.tensors[access.tensor].bits / 8
                for passing, (at, through, _) in zip(inner, ports, strict=True):
                    if operand in through and served[at - 1][operand] is not None:
                        passing[access.tensor] = max(passing.get(access.tensor, 0.0), min(amount, taken))
        if not operator.barrier:
            target = operator.writes[0]
            made = math.prod(int(dims[dim].sum()) for index in target.axes for dim, _ in index.terms)
            for passing, (at, through, _) in zip(inner, ports, strict=True):
                if OUTPUTS in through and served[at - 1][OUTPUTS] is not None:
                    passing[target.tensor] = made * network.tensors[target.tensor].bits / 8
        filled = 1
        for mask, width in zip(dims, spread(operator, machine.array), strict=True):
            count = int(mask.sum())
            filled *= -(-count // width) * width if count == len(mask) else count
        # Of an operand without a memory somewhere inside, tiles may change there for nothing.
        tiled = [
            0.0 if None in itertools.chain(*served[at:]) else _least_by_tiles(network, number, dims, capacity)
            for at, capacity in enumerate(inside)
        ]
        tiled += [0.0] * (len(ports) - len(tiled))
        passed = (max(sum(passing.values()), amount) for passing, amount in zip(inner, tiled, strict=True))
        found[number] = Demand(filled * operator.work, read, tuple(passed))
    return found


def _least_by_tiles(network: Network, number: int, dims: Positions, capacity: float) -> float:
    """Return the bytes that pass to an inner memory where a product is cut into tiles for it; 0 for no product.

    Of the tiles of two factors and the output, with m k, k n and m n words, at least two are others than in the step
    before. If the third one has m n words, m n k operations move k (m + n), at least 2 / sqrt(m n) words each. All
    three fit: m n + m + n is at most the memory of S words, so sqrt(m n) is at most sqrt(S + 1) - 1. Of the others
    likewise, and with batches. Without tiles three words pass for each position. A convolution of patches that do not
    overlap is such a product. Pieces of a concatenation are one factor.
    """
    operator, apart = network.operators[number], network.reads_apart[number]
    if operator.barrier or operator.rows or (len(apart), len(operator.writes)) != (2, 1):
        return 0.0
    accesses = (*(operator.reads[place] for place in apart), *operator.writes)
    terms = [[term for index in access.axes for term in index.terms] for access in accesses]
    plain = all(is_one_to_one(index, operator.dims) for access in accesses for index in access.axes)
    used = [[dim for dim, _ in each] for each in terms]
    if not plain or any(len(set(each)) != len(each) for each in used):
        return 0.0
    if any(sum(dim in each for each in used) < 2 for dim in range(len(operator.dims))):
        return 0.0  # it changes one tile alone
    width = min(network.tensors[access.tensor].bits for access in accesses) / 8
    side = max(1.0, math.sqrt(capacity / width + 1) - 1)
    return 2 * math.prod(int(mask.sum()) for mask in dims) / side * width


def together(
    network: Network, machine: Machine, needed: Mapping[int, Demand]
) -> tuple[dict[str, float], dict[int, float]]:
    """Return the seconds of each unit that operators take at least, and the least bytes read of each tensor."""
    seconds = {"matrix": 0.0, "vector": 0.0}
    read: dict[int, float] = {}
    for number, demand in needed.items():
        unit = network.operators[number].unit
        seconds[unit] += demand.operations * machine.seconds_per_operation(unit, network.bits(number))
        for tensor, amount in demand.read.items():
            read[tensor] = max(read.get(tensor, 0.0), amount)
    return seconds, read


def _needed(network: Network) -> dict[int, Positions]:
    """Return, by operator that the outputs need, the positions of its dimensions that they need."""
    asked: dict[int, list[Positions]] = {}
    found: dict[int, Positions] = {}
    for number in range(len(network.operators) - 1, -1, -1):
        operator = network.operators[number]
        if not operator.writes:
            continue
        target = operator.writes[0]
        wanted = max(asked.get(target.tensor, []), key=_size, default=None)
        outputs = any(network.tensors[access.tensor].is_output for access in operator.writes)
        if not outputs and all(access.tensor not in asked for access in operator.writes):
            continue
        dims = [np.ones(size, bool) for size in operator.dims]
        if not outputs and wanted is not None and not operator.barrier:
            for mask, index in zip(wanted, target.axes, strict=True):
                for dim, _ in index.terms:
                    if dim not in operator.rows:
                        dims[dim] = mask
        found[number] = dims
        for access in operator.reads:
            masks = _reached(network, operator, access, dims)
            if masks is not None:
                asked[access.tensor] = _united(asked.get(access.tensor, []), masks)
    return found


def _united(boxes: Sequence[Positions], masks: Positions) -> list[Positions]:
    """Return boxes that hold what ``boxes`` and ``masks`` do: two that differ along one axis, as the parts of a split
    do, are one.
    """
    for number, box in enumerate(boxes):
        differing = [axis for axis, (a, b) in enumerate(zip(box, masks, strict=True)) if not np.array_equal(a, b)]
        both = [a | b for a, b in zip(box, masks, strict=True)]
        if len(differing) <= 1 or _size(both) in {_size(box), _size(masks)}:
            return _united([*boxes[:number], *boxes[number + 1 :]], both)
    return [*boxes, masks]


def _size(masks: Sequence[npt.NDArray[np.bool_]]) -> int:
    return math.prod(int(mask.sum()) for mask in masks)


def _elements(network: Network, operator: Operator, access: Access, dims: Positions) -> int:
    masks = _reached(network, operator, access, dims)
    return 0 if masks is None else _size(masks)


def _reached(network: Network, operator: Operator, access: Access, dims: Positions) -> Positions | None:
    """Return the positions of a stored tensor that an access needs; None where its views mix axes."""
    if operator.barrier:
        return [np.ones(size, bool) for size in network.tensors[access.tensor].shape]
    used = [dim for index in access.axes for dim, _ in index.terms]
    if len(used) != len(set(used)):
        return None  # a diagonal: the axes are not independent
    masks = [along(index, dims, size) for index, size in zip(access.axes, access.shape, strict=True)]
    return followed(masks, access.steps, np.ones(1, bool), _strided, _regrouped)


def _regrouped(masks: Positions, shape: Sequence[int], source: Sequence[int]) -> Positions | None:
    """Return positions under another shape that are among those; None where there are too many to follow."""
    if not all(mask.any() for mask in masks):
        return [np.zeros(size, bool) for size in source]
    found = [np.ones(size, bool) for size in source]
    for ours, theirs in blocks(shape, source):
        if all(masks[axis].all() for axis in ours):
            continue
        if math.prod(shape[axis] for axis in ours) > _LARGEST_BLOCK:
            return None
        flat = functools.reduce(np.logical_and.outer, [masks[axis] for axis in ours])
        points = np.asarray(flat).reshape([source[axis] for axis in theirs])
        for axis, mask in zip(theirs, box_within(points), strict=True):
            found[axis] = mask
    return found


def box_within(points: npt.NDArray[np.bool_]) -> Positions:
    """Return positions per axis of which all combinations are among ``points``: all of them where points are such.

    >>> [mask.tolist() for mask in box_within(np.array([[True, True, True], [False, True, False]]))]
    [[True, False], [True, True, True]]
    """
    places, shape = [np.arange(size) for size in points.shape], points.shape
    while not points.all():
        axes = [axis for axis, size in enumerate(points.shape) if size > 1]
        if not axes:  # no position is left, nor was there one among the points
            return [np.zeros(size, bool) for size in shape]
        shares = [points.mean(tuple(other for other in range(points.ndim) if other != at)) for at in range(points.ndim)]
        # Of the emptiest slices, those of the axis where they are the smallest part.
        axis = min(axes, key=lambda at: (shares[at].min(), -points.shape[at]))
        kept = shares[axis] > shares[axis].min()
        kept[0] |= not kept.any()
        places[axis], points = places[axis][kept], points.compress(kept, axis)
    return [np.isin(np.arange(size), place) for size, place in zip(shape, places, strict=True)]


def along(index: Index, dims: Positions, size: int) -> npt.NDArray[np.bool_]:
    """Return the positions of an axis that the positions of dimensions reach."""
    places = np.array([index.offset], np.int64)
    for dim, factor in index.terms:
        places = np.unique((places[:, None] + np.flatnonzero(dims[dim]) * factor).ravel())
    if index.exact:
        places = places[places % index.divisor == 0]
    places = places // index.divisor
    mask = np.zeros(size, bool)
    mask[places[(places >= 0) & (places < size)]] = True
    return mask


def _strided(mask: npt.NDArray[np.bool_], start: int, by: int, size: int) -> npt.NDArray[np.bool_]:
    places = start + by * np.flatnonzero(mask)
    found = np.zeros(size, bool)
    found[places[(places >= 0) & (places < size)]] = True
    return found
