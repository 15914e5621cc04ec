"""Places that are computed: those of extremes along an axis or in windows, what is put back there, moved windows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from shorthaul.tensor.networks.translation.writing import Shape, Writer

#: The largest along an axis that are sought one after the other.
_MOST_EXTREMES: Final = 16
#: The version since which there is a choice between two numbers.
_SINCE_CHOICES: Final = 9
#: The version since which elements are taken at places that are computed, along an axis.
SINCE_PLACES_ARE_TAKEN: Final = 11
#: The version since which samples of an image between two places are called linear.
_SINCE_SAMPLES_ARE_LINEAR: Final = 20


def largest(writer: Writer) -> bool:
    """The few largest or smallest along an axis: again and again the first extreme, which is left out from then on."""
    source, kinds = writer.inputs[0], writer.onnx.TensorProto
    shape, kind = writer.shapes.get(source), writer.types.get(source)
    count = writer.values["k"] if "k" in writer.values else writer.numbers.get(writer.input(1))
    if count is None or not shape or kind is None or writer.opset < _SINCE_CHOICES:
        return False
    axis, many = int(writer.values.get("axis", -1)) % len(shape), int(np.asarray(count).ravel()[0])
    own = np.dtype(writer.onnx.helper.tensor_dtype_to_np_dtype(kind))
    if not 0 < many <= min(_MOST_EXTREMES, shape[axis]) or 2 * own.itemsize * shape[axis] > writer.most_row_bytes:
        return False
    left = source
    if kind not in {kinds.FLOAT, kinds.DOUBLE}:
        left, kind = writer.add("Cast", source, to=kinds.DOUBLE), kinds.DOUBLE
    dtype = np.float32 if kind == kinds.FLOAT else np.float64
    left = left if writer.values.get("largest", 1) else writer.add("Neg", left)
    left = writer.add("Max", left, writer.constant(np.finfo(dtype).min, dtype))  # above what is left out
    gone = writer.constant(-np.inf, dtype)
    places = writer.constant(np.arange(shape[axis]).reshape(-1, *(1,) * (len(shape) - 1 - axis)))
    found, chosen, here = list[str](), list[str](), ""
    for _ in range(many):
        left = writer.add("Where", here, gone, left) if found else left
        found.append(writer.add("ArgMax", left, axis=axis, keepdims=1))
        here = writer.add("Equal", places, found[-1])
        if writer.opset < SINCE_PLACES_ARE_TAKEN:
            alone = writer.add("Where", here, source, writer.constant(0, own))
            chosen.append(writer.add("ReduceSum", alone, axes=[axis], keepdims=1))
    values, indices = (*writer.outputs, "")[:2]
    at = writer.add("Concat", *found, output=indices, axis=axis)
    if chosen:
        return bool(writer.add("Concat", *chosen, output=values, axis=axis))
    return not values or bool(writer.add("GatherElements", source, at, output=values, axis=axis))


def apart(shape: Shape | None, values: Mapping[str, Any]) -> Shape | None:
    """Return the sizes of windows that lie side by side and fill all of an image, None where they do not.

    >>> apart((1, 3, 4, 6), {"kernel_shape": [2, 3], "strides": [2, 3]})
    (2, 3)
    >>> apart((1, 3, 4, 6), {"kernel_shape": [2, 3]}) is None
    True
    """
    sizes = tuple(int(size) for size in values.get("kernel_shape", ()))
    if shape is None or len(shape) != len(sizes) + 2 or not sizes:
        return None
    is_plain = tuple(values.get("strides", (1,) * len(sizes))) == sizes and not any(values.get("pads", ()))
    is_plain = is_plain and values.get("auto_pad", b"NOTSET") in {b"NOTSET", b"VALID"}
    is_plain = (
        is_plain and all(size == 1 for size in values.get("dilations", ())) and not values.get("storage_order", 0)
    )
    return sizes if is_plain and all(n % size == 0 for n, size in zip(shape[2:], sizes, strict=True)) else None


def pooled_by_windows_apart(onnx: Any, nodes: Any, shapes: Mapping[str, Shape]) -> dict[str, Shape]:
    """Return the shapes of what is pooled by windows side by side, by the tensors of the places that are found."""
    found = {}
    for node in nodes:
        if node.op_type == "MaxPool" and len(node.output) > 1 and node.output[1]:
            shape = shapes.get(node.input[0])
            values = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
            if shape is not None and apart(shape, values):
                found[node.output[1]] = shape
    return found


def pooled(writer: Writer) -> bool:
    """The largest of every window, and where in the whole tensor it lies, if somebody asks for that."""
    source, shape = writer.inputs[0], writer.shapes.get(writer.inputs[0])
    sizes = apart(shape, writer.values)
    if sizes is None or shape is None or len(writer.outputs) < 2 or not writer.outputs[1]:
        return False
    if writer.outputs[0]:
        writer.add("MaxPool", source, output=writer.outputs[0], **writer.values)
    rank, counts = len(sizes), [n // size for n, size in zip(shape[2:], sizes, strict=True)]
    cut = writer.reshaped(source, (*shape[:2], *(n for pair in zip(counts, sizes, strict=True) for n in pair)))
    order = [0, 1, *range(2, 2 + 2 * rank, 2), *range(3, 2 + 2 * rank, 2)]
    rows = writer.reshaped(writer.add("Transpose", cut, perm=order), (*shape[:2], *counts, math.prod(sizes)))
    left = writer.add("ArgMax", rows, axis=2 + rank, keepdims=0)
    made = _begins(writer, shape, (1, 1, *sizes))
    for axis, size in enumerate(sizes):  # the place in the window, axis by axis
        behind, step = math.prod(sizes[axis + 1 :]), math.prod(shape[axis + 3 :])
        at = left
        if axis < rank - 1:
            at = writer.add("Div", left, writer.constant(behind))
            left = writer.add("Sub", left, writer.add("Mul", at, writer.constant(behind)))
        if size > 1:
            made = writer.add("Add", made, writer.add("Mul", at, writer.constant(step)) if step > 1 else at)
    return bool(writer.add("Identity", made, output=writer.outputs[1]))


def _begins(writer: Writer, shape: Shape, every: Shape) -> str:
    """Return the numbers in the flat tensor of every so many-th place along each axis, as a sum along the axes."""
    made = ""
    for axis, (size, by) in enumerate(zip(shape, every, strict=True)):
        ramp = np.arange(0, size, by) * math.prod(shape[axis + 1 :])
        if len(ramp) > 1 or not made:
            along = writer.constant(ramp.reshape(-1, *(1,) * (len(shape) - 1 - axis)))
            made = writer.add("Add", made, along) if made else along
    return made


def put_back(writer: Writer) -> bool:
    """What was pooled, at the place where its window had it, and 0 elsewhere.

    Where the places are known to come of windows side by side, each element looks at its own window alone.
    """
    source, places = writer.inputs[:2]
    shape = writer.shapes.get(source)
    whole = writer.pooled_of.get(places)
    if shape is None or whole is None:
        return False
    asked = writer.numbers.get(writer.input(2)) if writer.input(2) else np.array(whole)
    sizes = apart(whole, writer.values)
    counts = None if sizes is None else (*whole[:2], *(n // by for n, by in zip(whole[2:], sizes, strict=True)))
    if sizes is None or counts != shape or asked is None or tuple(asked.tolist()) != whole:
        return False
    one = (*shape[:2], *(size for count in shape[2:] for size in (count, 1)))
    many = (*shape[:2], *(size for pair in zip(shape[2:], sizes, strict=True) for size in pair))

    def spread(name: str) -> str:
        wide = writer.add("Expand", writer.reshaped(name, one), writer.constant(many))
        return writer.reshaped(wide, whole)

    own = writer.add("Equal", spread(places), _begins(writer, whole, (1,) * len(whole)))
    return bool(writer.add("Where", own, spread(source), writer.number(0), output=writer.outputs[0]))


def moved_windows(writer: Writer) -> bool:
    """A convolution of which every tap is moved by an offset: samples of the image, then a convolution of the samples.

    All samples of a tap lie below one another, so that the taps are a column of places equally far apart.
    """
    image, kernel, offset = writer.inputs[:3]
    (batch, channels, *sizes), (made, own, *taps) = writer.shapes[image], writer.shapes[kernel]
    values, bias, mask = writer.values, writer.input(3), writer.input(4)
    if len(sizes) != 2 or image not in writer.types:
        return False
    parts, (rows, columns) = int(values.get("offset_group", 1)), writer.shapes[offset][2:]
    every, count = batch * parts, math.prod(taps)
    strides, around = values.get("strides") or (1, 1), values.get("pads") or (0,) * 4
    dilations = values.get("dilations") or (1, 1)
    # Places from -1 to 1 over the border, along the row first: (2 place + 1) / size - 1.
    places = [np.zeros((1, count, 1, 1, 2)), np.zeros((1, 1, rows, 1, 2)), np.zeros((1, 1, 1, columns, 2))]
    grid = np.indices(taps).reshape(2, count)
    for axis, size in enumerate(sizes):
        first = (2 * (grid[axis] * dilations[axis] - around[axis]) + 1) / size - 1
        places[0][0, :, 0, 0, 1 - axis] = first
        step = 2 * strides[axis] / size
        places[1 + axis][..., 1 - axis] = step * np.arange((rows, columns)[axis]).reshape(
            (-1, 1) if axis == 0 else (-1,)
        )
    at = writer.add("Transpose", writer.reshaped(offset, (every, count, 2, rows, columns)), perm=[0, 1, 3, 4, 2])
    at = writer.add("Slice", at, *(writer.constant([value]) for value in (1, -3, 4, -1)))
    at = writer.add("Mul", at, writer.number(np.array([2 / size for size in reversed(sizes)])))
    for moved in places:
        at = writer.add("Add", at, writer.number(moved))
    at = writer.reshaped(at, (every, count * rows, columns, 2))
    mode = "bilinear" if writer.opset < _SINCE_SAMPLES_ARE_LINEAR else "linear"
    samples = writer.add("GridSample", writer.reshaped(image, (every, channels // parts, *sizes)), at, mode=mode)
    if mask:
        samples = writer.add("Mul", samples, writer.reshaped(mask, (every, 1, count * rows, columns)))
    samples = writer.reshaped(samples, (batch, channels, count * rows, columns))
    weights = writer.reshaped(kernel, (made, own, count, 1))
    spread = {"kernel_shape": [count, 1], "dilations": [rows, 1], "group": int(values.get("group", 1))}
    return bool(writer.add("Conv", samples, weights, *[bias] * bool(bias), output=writer.outputs[0], **spread))
