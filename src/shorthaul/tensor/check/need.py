"""The independent check that a network which computes a part of a model lacks nothing that the model's outputs need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shorthaul.core.check import Violation
from shorthaul.tensor.check.accesses import Range, reached_by, whole
from shorthaul.tensor.networks.model import Network, Operator

#: First and last position along every axis of a stored tensor.
Ends = list[tuple[int, int]]


def need_faults(network: Network) -> Iterator[Violation]:
    """Yield what a network lacks that computes a part of a model; nothing for one that computes all of it.

    Operator by operator: it computes a part of one of the whole network, all of what that one adds up over or needs
    whole, and what that one would read for this part is there. Since the outputs are there as well, they are computed
    as in the whole network, from what is read first on. Whether an access still means the same positions is looked at
    for the part as a whole, in its corners and in its middle.
    """
    model = network.whole
    if model is None:
        return
    there = _there(network, model)
    for access in model.outputs:
        ends = reached_by(access, [whole(size) for size in access.shape])
        if not _lies_in(ends, there.get(access.tensor)):
            text = "an output reads what is left out"
            yield Violation("needed-left-out", f"tensor {model.tensors[access.tensor].name}", text)
    for number, item in enumerate(network.operators):
        maker = model.producer.get(item.writes[0].tensor) if item.writes else None
        fault = "is not of the model" if maker is None else _fault(item, model.operators[maker], there)
        if fault:
            yield Violation("needed-left-out", f"operator {number}", f"{item.name} {fault}")


def _there(network: Network, model: Network) -> dict[int, Ends]:
    """Return the positions of each tensor that somebody makes, or that is given."""
    found: dict[int, Ends] = {}
    for number, (tensor, before) in enumerate(zip(network.tensors, model.tensors, strict=True)):
        maker = network.producer.get(number)
        if maker is None:
            if tensor == before and tensor.role != "made":
                found[number] = [(0, size - 1) for size in tensor.shape]
        elif replace(tensor, shape=before.shape) == before:
            item, first = network.operators[maker], [0] * len(tensor.shape)
            if item.first:
                first = [item.first[index.terms[0][0]] if index.terms else 0 for index in item.writes[0].axes]
            found[number] = [(low, low + size - 1) for low, size in zip(first, tensor.shape, strict=True)]
    return found


def _fault(item: Operator, model: Operator, there: dict[int, Ends]) -> str:
    """Return what is wrong with an operator beside that of the whole network, empty for nothing."""
    kept = ("name", "kind", "dim_names", "work", "unit", "whole", "running", "barrier")
    if any(getattr(item, name) != getattr(model, name) for name in kept) or len(item.dims) != len(model.dims):
        return "is not of the model"
    first = item.first or (0,) * len(item.dims)
    fixed = {*model.reduced, *model.whole, *model.running}
    for dim, (low, size, before) in enumerate(zip(first, item.dims, model.dims, strict=True)):
        if not 0 <= low <= low + size <= before or (dim in fixed and size < before):
            return f"computes {size} places of {item.dim_names[dim]} from {low} on, of {before}"
    makes = [(access.tensor, access.axes) for access in item.writes]
    if makes != [(access.tensor, access.axes) for access in model.writes]:
        return "makes something else"
    if item.barrier:
        is_whole = all(there.get(a.tensor) == [(0, size - 1) for size in a.shape] for a in item.reads)
        return "" if item.reads == model.reads and is_whole else "reads something else, or not all"
    made = [item.dims[index.terms[0][0]] if index.terms else 1 for index in item.writes[0].axes]
    if made != [high - low + 1 for low, high in there.get(item.writes[0].tensor, ())]:
        return "makes something else than is stored"
    return _reading_fault(item, model, first, there)


def _reading_fault(item: Operator, model: Operator, first: Sequence[int], there: dict[int, Ends]) -> str:
    """Return whether an operator reads for its part what that of the whole network does, and all of this is there."""
    # The part as a whole, its first and last corner, and its middle.
    dims: list[Range] = [
        (np.array([0, 0, size - 1, size // 2]), np.array([size - 1, 0, size - 1, size // 2])) for size in item.dims
    ]
    moved: list[Range] = [(low + at, high + at) for (low, high), at in zip(dims, first, strict=True)]
    left = list(item.reads)
    for access in model.reads:
        box, ends = reached_by(access, moved), there.get(access.tensor)
        if not _lies_in(box, ends):
            return "reads what is left out"
        if left and ends is not None and left[0].tensor == access.tensor:
            ours = reached_by(left[0], dims)
            shifted = [(a + low, b + low) for (a, b), (low, _) in zip(ours, ends, strict=True)]
            if _is_same(shifted, box):
                left.pop(0)
                continue
        if not _is_empty(box).all():
            return "reads something else"
    return "reads something else" if left else ""


def _is_empty(box: Sequence[Range]) -> npt.NDArray[np.bool_]:
    """Return where a box has no positions."""
    return np.asarray(sum((high < low for low, high in box), np.zeros(1, bool)))


def _lies_in(box: Sequence[Range], ends: Ends | None) -> bool:
    inside = _is_empty(box)
    if ends is None:
        return bool(inside.all())
    within = np.ones(1, bool)
    for (low, high), (least, most) in zip(box, ends, strict=True):
        within = within & (low >= least) & (high <= most)
    return bool((inside | within).all())


def _is_same(one: Sequence[Range], other: Sequence[Range]) -> bool:
    none = _is_empty(one)
    equal = np.ones(1, bool)
    for (low, high), (least, most) in zip(one, other, strict=True):
        equal = equal & (low == least) & (high == most)
    return bool(((none & _is_empty(other)) | (~none & equal)).all())
