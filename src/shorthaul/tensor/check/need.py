"""The independent check that a network which computes a part of a model lacks nothing that the model's outputs need."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shorthaul.core.check import Violation
from shorthaul.tensor.check.accesses import source_of
from shorthaul.tensor.networks.model import Access, Expand, Network, Operator, Permute, Step, Stride

#: First and last position along every axis of a stored tensor, and how far those between are apart.
Ends = list[tuple[int, int, int]]
Ints = npt.NDArray[np.int64]
Shape = tuple[int, ...]


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
        if not _lies_in(_reached(access, [np.arange(size) for size in access.shape]), there.get(access.tensor)):
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
                found[number] = [(0, size - 1, 1) for size in tensor.shape]
        elif replace(tensor, shape=before.shape) == before:
            item, first = network.operators[maker], [(0, 1)] * len(tensor.shape)
            if item.first:
                dims = [index.terms[0][0] if index.terms else None for index in item.writes[0].axes]
                first = [(0, 1) if dim is None else (item.first[dim], item.steps[dim]) for dim in dims]
            each = zip(first, tensor.shape, strict=True)
            found[number] = [(low, low + by * (n - 1), by) for (low, by), n in each]
    return found


def _fault(item: Operator, model: Operator, there: dict[int, Ends]) -> str:
    """Return what is wrong with an operator beside that of the whole network, empty for nothing."""
    kept = ("name", "kind", "dim_names", "work", "unit", "whole", "running", "barrier")
    if any(getattr(item, name) != getattr(model, name) for name in kept) or len(item.dims) != len(model.dims):
        return "is not of the model"
    first, steps = item.first or (0,) * len(item.dims), item.steps or (1,) * len(item.dims)
    fixed = {*model.reduced, *model.whole, *model.running}
    for dim, (low, by, size, before) in enumerate(zip(first, steps, item.dims, model.dims, strict=True)):
        is_inside = 0 <= low <= low + by * (size - 1) + 1 <= before and by > 0 and (size > 0 or before == 0)
        if not is_inside or (dim in fixed and size < before):
            return f"computes {size} places of {item.dim_names[dim]} from {low} on, of {before}"
    makes = [(access.tensor, access.axes) for access in item.writes]
    if makes != [(access.tensor, access.axes) for access in model.writes]:
        return "makes something else"
    if item.barrier:
        is_whole = all(there.get(a.tensor) == [(0, size - 1, 1) for size in a.shape] for a in item.reads)
        return "" if item.reads == model.reads and is_whole else "reads something else, or not all"
    made = [item.dims[index.terms[0][0]] if index.terms else 1 for index in item.writes[0].axes]
    if made != [(high - low) // by + 1 for low, high, by in there.get(item.writes[0].tensor, ())]:
        return "makes something else than is stored"
    return _reading_fault(item, model, list(zip(first, steps, strict=True)), there)


def _reading_fault(item: Operator, model: Operator, part: Sequence[tuple[int, int]], there: dict[int, Ends]) -> str:
    """Return whether an operator reads for its part what that of the whole network does, and all of this is there."""
    every = [np.arange(size) for size in item.dims]
    # The part as a whole, its first and last corner, and its middle.
    spots = [tuple(0 for _ in every), tuple(n - 1 for n in item.dims), tuple(n // 2 for n in item.dims)]
    looks = [every, *([at[spot : spot + 1] for at, spot in zip(every, where, strict=True)] for where in spots)]
    moved = [[places * by + at for places, (at, by) in zip(look, part, strict=True)] for look in looks]
    left = list(item.reads)
    for access in model.reads:
        ends = there.get(access.tensor)
        boxes = [_reached(access, look) for look in moved]
        if not _lies_in(boxes[0], ends):
            return "reads what is left out"
        if left and ends is not None and left[0].tensor == access.tensor:
            ours = [_reached(left[0], look) for look in looks]
            if all(_is_same(mine, box, ends) for mine, box in zip(ours, boxes, strict=True)):
                left.pop(0)
                continue
        if any(box is not None for box in boxes):
            return "reads something else"
    return "reads something else" if left else ""


def _reached(access: Access, dims: Sequence[Ints]) -> Ends | None:
    """Return the least positions equally far apart of a stored tensor that hold what is reached; None for nothing."""
    box: list[tuple[int, int, int] | None] = []
    for index, size in zip(access.axes, access.shape, strict=True):
        reached = np.array([index.offset if index.terms else 0], np.int64)
        for dim, factor in index.terms:
            places = factor * dims[dim]
            is_one = reached.size == 1 or places.size == 1  # nothing is reached twice, which is dear to look for
            reached = np.add.outer(reached, places).ravel() if is_one else np.unique(np.add.outer(reached, places))
        reached = np.unique(reached // index.divisor) if index.divisor > 1 else reached
        reached = reached[(reached >= 0) & (reached < size)]
        apart = int(np.gcd.reduce(np.diff(reached))) if reached.size > 1 else 0
        box.append((int(reached.min()), int(reached.max()), apart) if reached.size else None)
    shape = access.shape
    for step in access.steps:
        if None in box:
            return None
        box, shape = _followed([ends for ends in box if ends is not None], shape, step)
    return None if None in box else [ends for ends in box if ends is not None]


def _followed(box: Ends, shape: Shape, step: Step) -> tuple[list[tuple[int, int, int] | None], Shape]:
    """Return the positions in the source of a view, None along an axis for nothing, and the shape of the source."""
    if isinstance(step, Permute):
        order = [step.axes.index(axis) for axis in range(len(box))]
        return [box[axis] for axis in order], tuple(shape[axis] for axis in order)
    if isinstance(step, Stride):
        each = zip(box, step.start, step.step, step.source, strict=True)
        return [_within(start, by, size, ends) for ends, start, by, size in each], step.source
    if isinstance(step, Expand):
        last = box[len(box) - len(step.source) :]
        return [(0, 0, 0) if n == 1 else ends for n, ends in zip(step.source, last, strict=True)], step.source
    hull = source_of([(np.array([low]), np.array([high])) for low, high, _ in box], step)
    found: list[tuple[int, int, int] | None] = [(int(a[0]), int(b[0]), int(b[0] > a[0])) for a, b in hull]
    for axis, size in enumerate(step.source):
        before = math.prod(step.source[:axis])
        same = [n for n, other in enumerate(shape) if other == size > 1 and math.prod(shape[:n]) == before]
        found[axis] = box[same[0]] if same else found[axis]
    return found, step.source


def _within(start: int, by: int, size: int, ends: tuple[int, int, int]) -> tuple[int, int, int] | None:
    """Return where positions lie in the source that they are every so many-th of, None if that is beyond its ends."""
    low, high = sorted((start + by * ends[0], start + by * ends[1]))
    apart = abs(by) * ends[2]
    if apart:
        low, high = low + max(0, -(low // apart)) * apart, high - max(0, -((size - 1 - high) // apart)) * apart
    return (low, high, apart if low < high else 0) if 0 <= low <= high < size else None


def _lies_in(box: Ends | None, ends: Ends | None) -> bool:
    """Return whether positions are among those of a tensor that are kept."""
    if box is None or ends is None:
        return box is None
    each = zip(box, ends, strict=True)
    return all(
        least <= low and high <= most and (low - least) % by == 0 and (apart % by == 0 or low == high)
        for (low, high, apart), (least, most, by) in each
    )


def _is_same(ours: Ends | None, box: Ends | None, ends: Ends) -> bool:
    """Return whether positions among those that are kept are these of the whole tensor."""
    if ours is None or box is None:
        return ours is box
    moved = [(low * by + least, high * by + least) for (low, high, _), (least, _, by) in zip(ours, ends, strict=True)]
    return moved == [(low, high) for low, high, _ in box]
