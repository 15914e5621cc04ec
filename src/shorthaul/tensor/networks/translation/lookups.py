"""Operators that read places which numbers name: rows of tables, elements along an axis, samples of an image."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from shorthaul.tensor.networks.model import Index
from shorthaul.tensor.networks.translation.builder import Builder, output_dims
from shorthaul.tensor.networks.translation.graph import Node


def gather(builder: Builder, node: Node) -> bool:
    """Rows of a table that the indices name: as much of it is read as comes out."""
    table, indices = node.inputs[:2]
    if not builder.is_constant(table) and any(
        builder.tensors[number].role == "made" for number, _ in builder.stored(table)
    ):
        return taken(builder, node)
    dims, axes = output_dims(builder, node)
    rank, axis = len(builder.shape(table)), int(node.attributes.get("axis", 0))
    axis %= max(rank, 1)
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
            axis = int(node.attributes.get("axis", 0)) % len(shape)
            counted = range(axis, axis + 1)
            along = axes[axis : axis + len(given)]
            reached = [*axes[:axis], Index(), *axes[axis + len(given) :]]
        case "GatherElements":
            axis = int(node.attributes.get("axis", 0)) % len(shape)
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
        axis = int(node.attributes.get("axis", 0)) % max(1, len(shape))
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


LOOKUPS: Final[dict[str, Callable[[Builder, Node], bool]]] = {
    "Gather": gather,
    **dict.fromkeys(("GatherElements", "GatherND", "GridSample"), taken),
    **dict.fromkeys(("Scatter", "ScatterElements", "ScatterND"), put),
}
