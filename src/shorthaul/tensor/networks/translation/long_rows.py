"""Softmax and normalisations over rows too long for a memory: passes over the row, each of which can be cut. Margins
that mirror such rows, or go on at the other end of any, are parts of them.

The other way round, a softmax that is written as such passes is put together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from shorthaul.tensor.networks.translation.writing import Known, Shape, Writer, margins

#: The versions of ONNX from which on softmax takes one axis, slices have steps, and reductions are given their axes as
#: a tensor, by kind.
_ONE_AXIS: Final = 13
_STEPS_OF_SLICES: Final = 10
_AXES_AS_INPUT: Final = {"ReduceSum": 13, "ReduceMean": 18, "ReduceMax": 18}
#: Normalisations with a factor and a summand by channel or by group; of others these lie along the row.
_BY_CHANNEL: Final = ("InstanceNormalization", "GroupNormalization")


@dataclass(frozen=True, slots=True)
class LongRows:
    """Rows of more than ``most_bytes``, read and written, of normalisations, and of softmax that makes ``softmax``.

    Of other softmax they are cut by who adds up over them.
    """

    most_bytes: float = math.inf
    softmax: frozenset[str] = frozenset()


def taken_apart(
    onnx: Any, node: Any, name: str, known: Known, before: Mapping[str, Shape], opset: int, rows_of: LongRows
) -> Writer | None:
    """Return nodes that compute what ``node`` does, pass after pass over its rows, and their constants.

    None where it has no rows, or they are not among ``rows_of``, with the factors along them. ``before`` are shapes
    before a ``Reshape``.
    """
    take = _TAKEN_APART.get(node.op_type) if node.domain in {"", "ai.onnx"} else None
    if node.op_type == "Softmax" and node.output[0] not in rows_of.softmax:
        return None
    shapes, types, _ = known
    shape = shapes.get(node.input[0]) if take is not None else None
    if take is None or not shape or node.input[0] not in types or any(node.output[1:]):
        return None
    rows = _Rows(Writer(onnx, node, name, known, opset), shape, before.get(node.input[0], shape))
    width = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(types[node.input[0]])).itemsize
    row = math.prod(rows.shape[axis] for axis in rows.axes)
    if not row or not rows.axes:
        return None
    factors = 0 if node.op_type == "Pad" else (1 if node.op_type in _BY_CHANNEL else row) * len(node.input[1:])
    fits = width * (2 * row + factors) <= rows_of.most_bytes or (math.prod(shape) == row and node.op_type != "Pad")
    if (fits and rows.writer.values.get("mode") != b"wrap") or not take(rows):
        return None
    return rows.writer


class _Rows:
    """The rows of a node: the axes along which they lie, and what is computed of each."""

    def __init__(self, writer: Writer, shape: Shape, before: Shape) -> None:
        self.writer, self.shape = writer, shape
        self.source, self.output = writer.inputs[0], writer.outputs[0]
        rank = len(shape)
        self.margins = self._margins(rank) if writer.kind == "Pad" else ()
        if writer.kind == "Pad":
            self.axes = tuple(axis for axis in range(rank) if any(self.margins[axis::rank]))
        elif writer.kind in _BY_CHANNEL:
            self.axes = tuple(range(2, rank))
        else:
            axis = int(writer.values.get("axis", -1)) % rank
            self.axes = (axis,) if "Softmax" in writer.kind else tuple(range(axis, rank))
        # Groups of channels, named as such or by a view: the places of a channel are axes of their own.
        groups = int(writer.values.get("num_groups", shape[1] if rank > 1 else 1))
        channels = before if before[:1] == shape[:1] and len(before) > 1 and not before[1] % groups else shape
        if writer.kind in _BY_CHANNEL and channels[1] != groups:
            self.shape = (shape[0], groups, channels[1] // groups, *channels[2:])
            self.axes = tuple(range(2, len(self.shape)))

    def _margins(self, rank: int) -> tuple[int, ...]:
        """Return what is added before and behind all axes."""
        writer = self.writer
        pads = writer.values.get("pads", writer.numbers.get(writer.input(1)))
        axes = writer.numbers.get(writer.input(3), np.arange(rank))
        if pads is None or (writer.input(3) and writer.input(3) not in writer.numbers):
            return (0,) * (2 * rank)
        return margins(np.ravel(pads).tolist(), np.ravel(axes).tolist(), rank)

    def reduced(self, kind: str, source: str) -> str:
        """Return what a reduction makes of every row."""
        if self.writer.opset >= _AXES_AS_INPUT[kind]:
            return self.writer.add(kind, source, self.writer.constant(self.axes), keepdims=1)
        return self.writer.add(kind, source, axes=self.axes, keepdims=1)

    def deviation(self, squares: str) -> str:
        """Return the square root of the mean of ``squares``, the least variance added."""
        variance = self.reduced("ReduceMean", squares)
        epsilon = self.writer.number(float(self.writer.values.get("epsilon", 1e-5)))
        return self.writer.add("Sqrt", self.writer.add("Add", variance, epsilon))


def _softmax(rows: _Rows, *, logarithm: bool) -> bool:
    """The largest element, the sum of powers, and the row over it; powers are computed twice rather than kept."""
    if rows.writer.opset < _ONE_AXIS:
        return False
    writer = rows.writer
    largest = rows.reduced("ReduceMax", rows.source)
    total = rows.reduced("ReduceSum", writer.add("Exp", writer.add("Sub", rows.source, largest)))
    below = writer.add("Sub", rows.source, largest)
    if logarithm:
        writer.add("Sub", below, writer.add("Log", total), output=rows.output)
    else:
        writer.add("Div", writer.add("Exp", below), total, output=rows.output)
    return True


def _mean_square(rows: _Rows) -> bool:
    writer = rows.writer
    root = rows.deviation(writer.add("Mul", rows.source, rows.source))
    made = writer.add("Div", rows.source, root)
    writer.add("Mul", made, writer.inputs[1], output=rows.output)
    return True


def _normalised(rows: _Rows, source: str) -> str:
    """Return rows with the mean 0 and the variance 1; differences are computed twice rather than kept."""
    writer = rows.writer
    mean = rows.reduced("ReduceMean", source)
    difference = writer.add("Sub", source, mean)
    root = rows.deviation(writer.add("Mul", difference, difference))
    return writer.add("Div", writer.add("Sub", source, mean), root)


def _layer(rows: _Rows) -> bool:
    writer, factors = rows.writer, [name for name in rows.writer.inputs[1:3] if name]
    made = _normalised(rows, rows.source)
    for kind, factor in zip(("Mul", "Add"), factors, strict=False):
        made = writer.add(kind, made, factor, output=rows.output if factor == factors[-1] else "")
    return bool(factors)


def _channels(rows: _Rows) -> bool:
    """Rows of a channel, or of a group of them, with a factor and a summand by channel or by group."""
    writer, whole = rows.writer, rows.writer.shapes[rows.source]
    made = rows.source if rows.shape == whole else rows.writer.reshaped(rows.source, rows.shape)
    made = _normalised(rows, made)
    size = math.prod(writer.shapes.get(writer.inputs[1], ()))
    by_group = rows.shape != whole and size == rows.shape[1]
    if size != whole[1] and not by_group:
        return False
    if not by_group and rows.shape != whole:
        made = rows.writer.reshaped(made, whole)
    ones = (1,) * (len(rows.shape if by_group else whole) - 2)
    scale, shift = (rows.writer.reshaped(name, (size, *ones)) for name in writer.inputs[1:3])
    is_done = not (by_group and rows.shape != whole)
    made = writer.add("Add", writer.add("Mul", made, scale), shift, output=rows.output if is_done else "")
    if not is_done:
        rows.writer.reshaped(made, whole, rows.output)
    return True


def _parts_of_rows(rows: _Rows) -> bool:
    """A margin that mirrors what lies behind the border, or is the other end of the row."""
    writer, rank = rows.writer, len(rows.shape)
    mode = writer.values.get("mode", b"constant")
    if mode not in {b"reflect", b"wrap"} or writer.opset < _STEPS_OF_SLICES:
        return False
    made = rows.source
    for axis in rows.axes:
        size, (front, behind) = rows.shape[axis], rows.margins[axis::rank]
        if not 0 <= min(front, behind) <= max(front, behind) < size:
            return False
        mirrored = ((front, 0, -1), (size - 2, size - 2 - behind, -1))
        parts = []
        for first, last, step in ((size - front, size, 1), (0, behind, 1)) if mode == b"wrap" else mirrored:
            ends = (first, last if last >= 0 else -size - 1, axis, step)
            parts += [writer.add("Slice", made, *(writer.constant([end]) for end in ends))] if first != last else [""]
        parts = [part for part in (parts[0], made, parts[1]) if part]
        made = writer.add("Concat", *parts, output=rows.output if axis == rows.axes[-1] else "", axis=axis)
    return True


_TAKEN_APART: Final[dict[str, Callable[[_Rows], bool]]] = {
    "Softmax": partial(_softmax, logarithm=False),
    "LogSoftmax": partial(_softmax, logarithm=True),
    **dict.fromkeys(("RMSNormalization", "SimplifiedLayerNormalization"), _mean_square),
    "LayerNormalization": _layer,
    **dict.fromkeys(_BY_CHANNEL, _channels),
    "Pad": _parts_of_rows,
}


def put_together(onnx: Any, graph: Any, known: Known, opset: int) -> None:
    """Put a ``Softmax`` in place of powers over their sum.

    Powers of rows less their largest element are those of the rows, over their sum.
    """
    maker = {name: node for node in graph.node for name in node.output}
    shapes, _, values_of = known
    numbers = dict(values_of)
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            numbers[node.output[0]] = onnx.numpy_helper.to_array(node.attribute[0].t)

    def row_axis(node: Any, kind: str, source: str) -> int | None:
        """Return the axis along which a node reduces a tensor and keeps it, None if it does anything else."""
        if node is None or node.op_type != kind or node.domain or node.input[0] != source or source not in shapes:
            return None
        values = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
        given = values.get("axes", numbers.get(node.input[1]) if len(node.input) > 1 else None)
        axes = [] if given is None else np.ravel(given).tolist()
        return int(axes[0]) % len(shapes[source]) if len(axes) == 1 and values.get("keepdims", 1) else None

    for node in graph.node:
        powers = maker.get(node.input[0]) if node.op_type == "Div" and not node.domain else None
        if powers is None or powers.op_type != "Exp" or powers.domain:
            continue
        axis, source = row_axis(maker.get(node.input[1]), "ReduceSum", node.input[0]), powers.input[0]
        if axis is None or (opset < _ONE_AXIS and axis != len(shapes[node.input[0]]) - 1):
            continue
        less = maker.get(source)
        if less is not None and less.op_type == "Sub" and not less.domain:
            largest = row_axis(maker.get(less.input[1]), "ReduceMax", less.input[0])
            source = less.input[0] if largest == axis else source
        together = onnx.helper.make_node("Softmax", [source], list(node.output), node.name, axis=axis)
        node.CopyFrom(together)
