"""ONNX models as networks: views that cost nothing, operators as iteration dimensions, all others as barriers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from shorthaul.core.errors import InputError
from shorthaul.tensor.networks.boxes import box_of, full
from shorthaul.tensor.networks.loops import shape_of
from shorthaul.tensor.networks.model import Access, Expand, Network, Origin, Permute, Regroup, Step, Stride
from shorthaul.tensor.networks.translation.agreement import expect_signature
from shorthaul.tensor.networks.translation.builder import Builder, axis_of, chained
from shorthaul.tensor.networks.translation.graph import Graph, Node, graph_from_onnx
from shorthaul.tensor.networks.translation.long_rows import LongRows
from shorthaul.tensor.networks.translation.need import needed_part
from shorthaul.tensor.networks.translation.online import with_running_rows
from shorthaul.tensor.networks.translation.operators import TRANSLATIONS

#: Elements along an axis: what is read of each is marked one by one.
_LONGEST_AXIS: Final = 2**28


@dataclass(frozen=True, slots=True)
class Translation:
    """A network beside the graph that it was made of: ``nodes`` has the node of every operator.

    ``views`` has what a tensor of the graph is a view of, and the steps to there.
    """

    network: Network
    graph: Graph
    nodes: tuple[Node, ...]
    views: Mapping[str, tuple[str, tuple[Step, ...]]]


def network_from_onnx(
    data: bytes, dims: Mapping[str, int] | None = None, *, file: Path | None = None, most_row_bytes: float = math.inf
) -> Network:
    """Return the network of an ONNX model, its symbolic dimensions bound to ``dims``.

    Operators that are not known are barriers, listed in the remarks: they read their inputs and write their outputs
    once. Normalisations over rows of more than ``most_row_bytes``, read and written, become several passes, and so does
    softmax, unless it is added up over its rows.
    Raises :class:`InputError` for what is no model, and for dimensions without a size.
    """
    return translated(data, dims, file=file, most_row_bytes=most_row_bytes).network


def translated(
    data: bytes, dims: Mapping[str, int] | None = None, *, file: Path | None = None, most_row_bytes: float = math.inf
) -> Translation:
    """Return the network of an ONNX model with the graph it was made of; see :func:`network_from_onnx`."""
    sizes = {} if dims is None else dict(dims)
    origin = Origin(data if file is None else file, sizes, most_row_bytes)
    made = _translated(data, origin, frozenset(), frozenset(), {})
    long, copied = _long_softmax(made.network.whole or made.network, most_row_bytes), _spread_views(made)
    made = _translated(data, origin, long, copied, {}) if long or copied else made
    alone = _too_long(made)
    return _translated(data, origin, long, copied, alone) if alone else made


def _spread_views(made: Translation) -> frozenset[str]:
    """Return the turned tensors of which the least tiles of a reader lie over more of the source than a memory holds.

    So do windows over a grid in an image that was cut into blocks before: such a tensor is copied.
    """
    network, views = made.network, {node.outputs[0]: node for node in made.graph.nodes if node.kind in _VIEWS}
    found, most = set[str](), network.origin.most_row_bytes if network.origin else math.inf

    def turned(name: str) -> str:
        while name in views and views[name].kind != "Transpose":
            name = views[name].inputs[0]
        return name if name in views else ""

    for number, (item, node) in enumerate(zip(network.operators, made.nodes, strict=True)):
        for access in () if item.barrier else item.reads:
            tensor = network.tensors[access.tensor]
            is_turned = any(isinstance(step, Permute) for step in access.steps)
            if is_turned and tensor.role == "made" and tensor.elements * tensor.bits > 8 * most:
                least = _least_bits(network, number, (access, item.writes[0]))
                if least > 8 * most:
                    found |= {name for name in map(turned, node.inputs) if name}
    return frozenset(found)


def _too_long(made: Translation) -> dict[str, tuple[float, Literal["matrix", "vector"]]]:
    """Return operators that need rows whole of more than ``most_row_bytes``, even one at a time, by what they make.

    So are elements taken one by one through views that cut an axis into two or join two, of which one loop is cut. All
    that is known of these is that everything passes, their operations, and the unit that does them.
    """
    network, found = made.network, dict[str, tuple[float, Literal["matrix", "vector"]]]()
    most = network.origin.most_row_bytes if network.origin else math.inf
    for number, (item, node) in enumerate(zip(network.operators, made.nodes, strict=True)):
        accesses = tuple(dict.fromkeys((*item.reads, *item.writes)))
        at_once = sum(network.tensors[access.tensor].bytes for access in accesses) <= 2 * most
        by_element = not (item.reduced or item.running or item.barrier or at_once)
        if (item.whole or by_element) and _least_bits(network, number, accesses) > 8 * most:
            found[node.outputs[0]] = item.operations, item.unit
    return found


def _least_bits(network: Network, number: int, accesses: Sequence[Access]) -> float:
    """Return the bits that accesses of an operator reach with the least tiles of its loops."""
    item, shape = network.operators[number], shape_of(network, (number,))
    cut = {dim for _, dim in (*shape.sink, *shape.inner)}
    dims = [full(1 if dim in cut else size) for dim, size in enumerate(item.dims)]
    return sum(
        math.prod(int(span.lengths()[0]) for span in box_of(each, dims)) * network.tensors[each.tensor].bits
        for each in accesses
    )


def _long_softmax(network: Network, most_row_bytes: float) -> frozenset[str]:
    """Return what softmax makes whose rows, read and written, are too long to be whole, as they have to be."""
    found = set()
    for item in network.operators:
        if item.kind == "Softmax" and item.whole:
            made = network.tensors[item.writes[0].tensor]
            if 2 * math.prod(item.dims[dim] for dim in item.whole) * made.bits > 8 * most_row_bytes:
                found.add(made.name)
    return frozenset(found)


def _translated(
    data: bytes,
    origin: Origin,
    long_softmax: frozenset[str],
    copied: frozenset[str],
    alone: Mapping[str, tuple[float, Literal["matrix", "vector"]]],
) -> Translation:
    file = origin.model if isinstance(origin.model, Path) else None
    try:
        long_rows = LongRows(origin.most_row_bytes, long_softmax)
        graph = graph_from_onnx(data, origin.dims, None if file is None else file.parent, long_rows)
        builder = Builder(graph, most_row_bytes=origin.most_row_bytes)
        guessed = set(graph.guessed)
        for node in graph.nodes:
            is_guess = any(name in guessed for name in node.inputs)
            guessed |= set(node.outputs) if is_guess else set()
            try:
                expect_signature(node.proto, graph.opsets)
                if node.outputs and node.outputs[0] in alone:
                    work, unit = alone[node.outputs[0]]
                    builder.barrier(node, work=work, unit=unit, known=True)
                elif copied.isdisjoint(node.outputs):
                    _translate(builder, node)
                else:
                    builder.barrier(node, known=True)
            except (IndexError, KeyError, TypeError, ValueError, ZeroDivisionError):
                if is_guess:  # which is what does not fit, perhaps
                    builder.barrier(node)
                    continue
                place, cure = f"node {node.name} ({node.kind})", "check the model with onnx.checker.check_model"
                shapes = {
                    end: [list(graph.shapes[name]) for name in names if name in graph.shapes]
                    for end, names in (("inputs", node.inputs), ("outputs", node.outputs))
                }
                raise InputError(
                    "has inputs or attributes that do not fit", place=place, value=shapes, cure=cure
                ) from None
        outputs = builder.mark_outputs()
        for tensor in builder.tensors:
            if max(tensor.shape, default=0) > _LONGEST_AXIS:
                shown, cure = f"{max(tensor.shape)} elements", "reshape it into rows"
                raise InputError(
                    "has too long an axis",
                    place=f"tensor {tensor.name}",
                    value=shown,
                    allowed=f"up to {_LONGEST_AXIS}",
                    cure=cure,
                )
        if not builder.operators:
            raise InputError("has no operator that computes", place="graph", allowed="one node at least that does")
    except InputError as error:
        raise (error if file is None else error.in_file(file)) from None
    remarks = [
        f"{kind} is not known ({_some(names)}): its traffic counts, and nothing is fused with it"
        for kind, names in builder.unknown.items()
    ]
    operators = with_running_rows(builder)
    made = (tuple(builder.tensors), operators, (*graph.remarks, *remarks))
    network, kept = needed_part(Network(graph.name, *made, origin, outputs))
    return Translation(network, graph, tuple(builder.nodes[number] for number in kept), builder.views)


def _some(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _translate(builder: Builder, node: Node) -> None:
    outputs = [name for name in node.outputs if name]
    if not outputs or all(name in builder.graph.constants for name in outputs):
        return
    kind = node.kind.removeprefix("com.microsoft.")
    if all(0 in builder.shape(name) for name in outputs):
        if _VIEWS.get(kind) is _reshape and 0 not in builder.shape(node.inputs[0]):
            raise ValueError("nothing in place of something")
        return
    if kind in _VIEWS and node.inputs and _VIEWS[kind](builder, node):
        return
    translate = TRANSLATIONS.get(kind)
    if translate is None or not node.inputs or not translate(builder, node):
        builder.barrier(node, known=translate is not None or kind in _VIEWS)


def _same(builder: Builder, node: Node) -> bool:
    """Identity and its kin; a conversion between types of one width."""
    source, target = node.inputs[0], node.outputs[0]
    bits = builder.graph.bits
    if node.kind in {"Cast", "CastLike"} and bits.get(source, 32) != bits.get(target, 32):
        return False
    if node.kind == "DequantizeLinear":
        others = [name for name in node.inputs[1:] if name]
        if not all(builder.is_constant(name) for name in others):
            return False
        shape, axis, block = (
            builder.shape(source),
            int(node.attributes.get("axis", 1)),
            node.attributes.get("block_size"),
        )
        for other in map(builder.shape, others):  # one for all, one per place of an axis, one per block
            if math.prod(other) > 1 and not (len(other) == len(shape) if block else other == (shape[axis],)):
                raise ValueError("a scale of another shape")
    builder.view(target, source)
    return True


def _reshape(builder: Builder, node: Node) -> bool:
    before, after = builder.shape(node.inputs[0]), builder.shape(node.outputs[0])
    if math.prod(before) != math.prod(after):
        if builder.graph.guessed.isdisjoint(node.outputs):
            raise ValueError("makes another number of elements")
        return False
    builder.view(node.outputs[0], node.inputs[0], Regroup(after, before))
    return True


def _transpose(builder: Builder, node: Node) -> bool:
    rank = len(builder.shape(node.inputs[0]))
    order = tuple(int(axis) % rank for axis in node.attributes.get("perm") or range(rank - 1, -1, -1))
    if sorted(order) != list(range(rank)):
        raise ValueError("not all axes, each once")
    # Axis i of the output is axis order[i] of the input.
    builder.view(node.outputs[0], node.inputs[0], Permute(order))
    return True


def _split(builder: Builder, node: Node) -> bool:
    shape = builder.shape(node.inputs[0])
    axis = axis_of(node, 0, len(shape))
    start = 0
    for name in node.outputs:
        place = tuple(start if number == axis else 0 for number in range(len(shape)))
        builder.view(name, node.inputs[0], Stride(place, (1,) * len(shape), shape))
        start += builder.shape(name)[axis]
    return start == shape[axis]


def _slice(builder: Builder, node: Node) -> bool:
    shape, values = builder.shape(node.inputs[0]), builder.graph.values
    if any(name and name not in values for name in node.inputs[1:]):
        return False
    given = [values[name].ravel() if name else None for name in node.inputs[1:]] + [None] * 4
    if any(array is not None and array.dtype.kind not in "iu" for array in given):
        raise TypeError("names places that are no integers")
    starts, axes, steps = node.attributes.get("starts", given[0]), node.attributes.get("axes", given[2]), given[3]
    first, step = [0] * len(shape), [1] * len(shape)
    for at, start in enumerate(map(int, starts)):
        axis, by = at if axes is None else int(axes[at]), 1 if steps is None else int(steps[at])
        size = shape[axis]
        first[axis] = min(max(start + size * (start < 0), 0), size - 1 if by < 0 else size)
        step[axis] = by
    builder.view(node.outputs[0], node.inputs[0], Stride(tuple(first), tuple(step), shape))
    return True


def _picked(builder: Builder, node: Node) -> bool:
    """Gather of one row, or of rows at equal distances, that are constant: a part of its source."""
    table, indices = node.inputs[:2]
    chosen = builder.graph.values.get(indices)
    shape = builder.shape(table)
    if chosen is None or chosen.ndim > 1 or not shape or builder.is_constant(table):
        return False
    axis = axis_of(node, 0, len(shape))
    if chosen.size and not -shape[axis] <= int(chosen.min()) <= int(chosen.max()) < shape[axis]:
        raise ValueError("names rows that the table lacks")
    places = [int(place) % shape[axis] for place in chosen.ravel().tolist()]
    by = places[1] - places[0] if len(places) > 1 else 1
    if not places or by == 0 or any(b - a != by for a, b in itertools.pairwise(places)):
        return False
    start = tuple(places[0] if number == axis else 0 for number in range(len(shape)))
    step = tuple(by if number == axis else 1 for number in range(len(shape)))
    kept = (*shape[:axis], len(places), *shape[axis + 1 :])
    builder.view(node.outputs[0], table, Regroup(builder.shape(node.outputs[0]), kept), Stride(start, step, shape))
    return True


def _concat(builder: Builder, node: Node) -> bool:
    shape = builder.shape(node.outputs[0])
    axis = axis_of(node, 0, len(shape))
    start, parts = 0, []
    for name in node.inputs:
        part = builder.shape(name)
        if len(part) != len(shape):
            return False
        if part[:axis] + part[axis + 1 :] != shape[:axis] + shape[axis + 1 :]:
            raise ValueError("parts that differ along other axes")
        place = tuple(-start if number == axis else 0 for number in range(len(shape)))
        if 0 not in part:
            step = Stride(place, (1,) * len(shape), part)
            parts += [(number, chained((step,), inner)) for number, inner in builder.stored(name)]
        start += part[axis]
    if start != shape[axis]:
        raise ValueError(f"parts of {start} in place of {shape[axis]} elements")
    builder.parts[node.outputs[0]] = parts
    return bool(parts)


def _expand(builder: Builder, node: Node) -> bool:
    before, after = builder.shape(node.inputs[0]), builder.shape(node.outputs[0])
    if node.kind == "Tile" and any(size not in {1, wanted} for size, wanted in zip(before, after, strict=True)):
        return False
    if len(before) > len(after) or node.outputs[0] in builder.graph.outputs:
        return False
    builder.view(node.outputs[0], node.inputs[0], Expand(before))
    return True


_VIEWS: Final[dict[str, Callable[[Builder, Node], bool]]] = {
    **dict.fromkeys(("Identity", "Dropout", "Cast", "CastLike", "DequantizeLinear"), _same),
    **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze"), _reshape),
    "Transpose": _transpose,
    "Split": _split,
    "Slice": _slice,
    "Gather": _picked,
    "Concat": _concat,
    **dict.fromkeys(("Expand", "Tile"), _expand),
}
