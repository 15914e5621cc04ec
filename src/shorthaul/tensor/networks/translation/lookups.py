"""Operators that read places which numbers name: rows of tables, elements along an axis, samples of an image,
places between those of the source.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.networks.model import Index
from shorthaul.tensor.networks.translation.builder import Builder, axis_of, output_dims
from shorthaul.tensor.networks.translation.graph import Node, Shape


def gather(builder: Builder, node: Node) -> bool:
    """Rows of a table that the indices name: as much of it is read as comes out."""
    table, indices = node.inputs[:2]
    if not builder.is_constant(table) and any(
        builder.tensors[number].role == "made" for number, _ in builder.stored(table)
    ):
        return taken(builder, node)
    dims, axes = output_dims(builder, node)
    axis = axis_of(node, 0, len(builder.shape(table)))
    bits = builder.graph.bits.get(table, 32)
    rows_read = builder.store(f"{table} (rows of {node.name})", builder.shape(node.outputs[0]), "constant", bits)
    builder.parts[f"{table}\0{node.name}"] = [(rows_read, ())]
    builder.graph.shapes[f"{table}\0{node.name}"] = builder.shape(node.outputs[0])
    reads = builder.reads(f"{table}\0{node.name}", axes)
    reads += builder.reads(indices, axes[axis : axis + len(builder.shape(indices))])
    builder.add(node, dims, reads, axes)
    return True


def taken(builder: Builder, node: Node) -> bool:
    """Elements of a tensor at places that another one names: along the axes that these count, it is needed whole.

    Where that is more than a memory holds, nothing is known but the traffic.
    """
    table, places = node.inputs[:2]
    shape, given = builder.shape(table), builder.shape(places)
    dims, axes = output_dims(builder, node)
    along, reached = axes, axes
    match node.kind:
        case "Gather":
            axis = axis_of(node, 0, len(shape))
            counted = range(axis, axis + 1)
            along = axes[axis : axis + len(given)]
            reached = [*axes[:axis], Index(), *axes[axis + len(given) :]]
        case "GatherElements":
            axis = axis_of(node, 0, len(shape))
            counted = range(axis, axis + 1)
        case "GatherND":
            first = int(node.attributes.get("batch_dims", 0))
            counted = range(first, first + given[-1])
            along = [*axes[: len(given) - 1], dims.add("r", given[-1])]
            reached = [*axes[:first], *[Index()] * given[-1], *axes[len(given) - 1 :]]
        case _:  # samples, by their places in the image
            if len(shape) != 4:
                return False
            counted = range(2, 4)
            along = [axes[0], *axes[2:], dims.add("r", given[-1])]
    elements = math.prod(shape[axis] for axis in counted)
    if elements * builder.graph.bits.get(table, 32) > 8 * builder.most_row_bytes:
        return False
    whole = [dims.add("w", shape[axis]) for axis in counted]
    reached = [whole[axis - counted.start] if axis in counted else reached[axis] for axis in range(len(shape))]
    reads = builder.reads(table, reached) + builder.reads(places, along)
    more = [index for index in along if index not in axes]
    work = 1.0 / math.prod(dims.sizes) * math.prod(builder.shape(node.outputs[0]))
    builder.add(node, dims, reads, axes, work=work, whole=[*whole, *more], padded=True)
    return True


def aligned(builder: Builder, node: Node) -> bool:
    """Regions of images, each averaged over a grid of samples: of a channel all is needed, as boxes may lie anywhere.

    Where that is more than a memory holds, nothing is known but the traffic.
    """
    image, boxes, numbers = node.inputs[:3]
    shape, output = builder.shape(image), builder.shape(node.outputs[0])
    if len(shape) != 4 or len(output) != 4 or builder.shape(boxes) != (output[0], 4):
        return False
    if shape[0] * shape[2] * shape[3] * builder.graph.bits.get(image, 32) > 8 * builder.most_row_bytes:
        return False
    dims, axes = output_dims(builder, node)
    samples, rows, columns, corners = (dims.add("w", size) for size in (shape[0], *shape[2:], 4))
    reads = builder.reads(image, [samples, axes[1], rows, columns])
    reads += builder.reads(boxes, [axes[0], corners]) + builder.reads(numbers, [axes[0]])
    # A sample takes four neighbours, each with its weight; without a number as many as a box has places.
    work = 8.0 * max(1, int(node.attributes.get("sampling_ratio", 0))) ** 2 * math.prod(output) / math.prod(dims.sizes)
    builder.add(node, dims, reads, axes, work=work, whole=[samples, rows, columns, corners], padded=True)
    return True


def put(builder: Builder, node: Node) -> bool:
    """Elements of a tensor put, or added, at places that another one names: every tile looks at all of them.

    Where those are more than a memory holds, nothing is known but the traffic.
    """
    table, places, updates = node.inputs[:3]
    shape, given, new = builder.shape(table), builder.shape(places), builder.shape(updates)
    dims, axes = output_dims(builder, node)
    if node.kind == "ScatterND":
        inside, elements = [dims.add("w", size) for size in given], math.prod(given)
        named, put_in = inside, [*inside[:-1], *axes[given[-1] :]]
        fits = new == (*given[:-1], *shape[given[-1] :])
    else:
        axis = axis_of(node, 0, len(shape))
        fits = len(given) == len(shape) and given == new
        fits = fits and all(size == shape[at] for at, size in enumerate(given) if at != axis)
        if fits:
            inside, elements = [dims.add("w", given[axis])], given[axis]
            named = put_in = [*axes[:axis], *inside, *axes[axis + 1 :]]
    bits = builder.graph.bits.get(places, 64) + builder.graph.bits.get(updates, 32)
    if not fits or elements * bits > 8 * builder.most_row_bytes:
        return False
    reads = builder.reads(table, axes) + builder.reads(places, named) + builder.reads(updates, put_in)
    work = (math.prod(shape) + math.prod(new)) / math.prod(dims.sizes)
    builder.add(node, dims, reads, axes, work=work, whole=inside, padded=True)
    return True


def resize(builder: Builder, node: Node) -> bool:
    """Interpolation: each place from its neighbours in the source."""
    shape, output = builder.shape(node.inputs[0]), builder.shape(node.outputs[0])
    if len(shape) != len(output):
        return False
    if node.attributes.get("antialias", 0):
        return False
    scales = scales_of(node, shape, output, builder.graph.values)
    default = "asymmetric" if node.kind == "Upsample" else "half_pixel"
    where = str(node.attributes.get("coordinate_transformation_mode", default))
    dims, axes = output_dims(builder, node)
    mode = str(node.attributes.get("mode", "nearest"))
    near = {"nearest": 1, "cubic": 4}.get(mode, 2)
    how = str(node.attributes.get("nearest_mode", "floor" if node.kind == "Upsample" else "round_prefer_floor"))
    reached, taps = [], []
    for axis, (size, wanted) in enumerate(zip(shape, output, strict=True)):
        if size == wanted:
            reached.append(axes[axis])
            continue
        # The place in the source is (slope * x + offset) / divisor, rounded down, and as many further ones as are near.
        scale = scales[axis]
        slope, offset, divisor = 2 * scale.denominator, scale.denominator - scale.numerator, 2 * scale.numerator
        if where == "align_corners" and wanted > 1:
            slope, offset, divisor = 2 * (size - 1), 0, 2 * (wanted - 1)
        elif where == "asymmetric":
            offset = 0
        elif wanted == 1 and where in {"align_corners", "pytorch_half_pixel"}:
            slope, offset = 0, 0
        elif where not in {"half_pixel", "pytorch_half_pixel"}:
            return False
        if mode == "nearest":
            offset += {"floor": 0, "ceil": divisor - 1, "round_prefer_floor": divisor // 2 - 1}.get(how, divisor // 2)
        first, last = offset // divisor, (slope * (wanted - 1) + offset) // divisor
        # What lies beyond the border is the place at the border: as many more places as reach it are read.
        before = 1 if near == 4 else max(0, last - size + 1) if near == 1 else 0
        tap = dims.add("w", near if near > 1 else 1 + before + max(0, -first))
        taps.append(tap)
        terms = (*((d, slope) for d, _ in axes[axis].terms), *((d, divisor) for d, _ in tap.terms))
        reached.append(Index(terms, offset - before * divisor, divisor))
    builder.add(node, dims, builder.reads(node.inputs[0], reached), axes, whole=taps, padded=True)
    return True


def scales_of(
    node: Node, shape: Shape, output: Shape, values: Mapping[str, NDArray[np.generic]]
) -> tuple[Fraction, ...]:
    """Return how many places of the output lie on one of the source, along every axis."""
    number = 1 if node.kind == "Upsample" else 2
    found = values.get(node.inputs[number]) if len(node.inputs) > number else None
    given = node.attributes.get("scales") or (() if found is None else found.ravel().tolist())
    axes = [int(axis) % len(shape) for axis in node.attributes.get("axes") or range(len(shape))]
    scales = [Fraction(wanted, size) for wanted, size in zip(output, shape, strict=True)]
    policy = str(node.attributes.get("keep_aspect_ratio_policy", "stretch"))
    if given:
        for axis, scale in zip(axes, given, strict=True):
            scales[axis] = Fraction(float(scale))
    elif policy != "stretch":  # of the sizes asked for, one is met, and the others are rounded
        asked = values[node.inputs[3]].ravel().tolist()
        each = [Fraction(int(size), shape[axis]) for axis, size in zip(axes, asked, strict=True)]
        for axis in axes:
            scales[axis] = min(each) if policy == "not_larger" else max(each)
    return tuple(scales)


LOOKUPS: Final[dict[str, Callable[[Builder, Node], bool]]] = {
    "Gather": gather,
    **dict.fromkeys(("GatherElements", "GatherND", "GridSample"), taken),
    **dict.fromkeys(("Resize", "Upsample"), resize),
    "RoiAlign": aligned,
    **dict.fromkeys(("Scatter", "ScatterElements", "ScatterND"), put),
}
