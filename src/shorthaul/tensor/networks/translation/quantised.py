"""Operators of onnxruntime on quantised numbers, as products of integers, or as what they are on real numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from shorthaul.tensor.networks.translation.writing import Writer

#: The version of ONNX since which sums read their axes.
_AXES_READ: Final = 18


def integer_product(writer: Writer, factors: tuple[str, str], zeros: tuple[str, str], scales: tuple[str, str]) -> str:
    """Return a product of integers as real numbers."""
    made = writer.add("MatMulInteger", *factors, *_without_last(zeros))
    real = writer.add("Cast", made, to=_real(writer, scales[0]))
    return writer.add("Mul", real, writer.add("Mul", *scales))


def _without_last(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return inputs without those at the end that are left out."""
    while names and not names[-1]:
        names = names[:-1]
    return names


def _real(writer: Writer, scale: str) -> Any:
    return writer.types.get(scale) or writer.onnx.TensorProto.FLOAT


def _with_bias(writer: Writer, made: str, number: int) -> bool:
    """Make the output of a product and a bias, if there is one."""
    bias = writer.input(number)
    kind, more = ("Add", [bias]) if bias else ("Identity", [])
    return bool(writer.add(kind, made, *more, output=writer.outputs[0]))


def by_range(writer: Writer) -> bool:
    """Numbers as whole ones from 0 to 255, by the least and the largest of them."""
    return bool(_by_range(writer, (*writer.outputs, "", "")))


def _by_range(writer: Writer, outputs: Sequence[str]) -> tuple[str, str, str]:
    source, nothing = writer.inputs[0], writer.number(0.0)
    least = writer.add("Min", writer.add("ReduceMin", source, keepdims=0), nothing)
    most = writer.add("Max", writer.add("ReduceMax", source, keepdims=0), nothing)
    scale = writer.add("Div", writer.add("Sub", most, least), writer.number(255.0), output=outputs[1])
    zero = writer.add("Round", writer.add("Div", writer.add("Sub", nothing, least), scale))
    zero = writer.add("Cast", zero, output=outputs[2], to=writer.onnx.TensorProto.UINT8)
    return writer.add("QuantizeLinear", source, scale, zero, output=outputs[0]), scale, zero


def dynamic_product(writer: Writer) -> bool:
    """The left factor is quantised by its own range."""
    numbers, scale, zero = _by_range(writer, ("", "", ""))
    made = integer_product(writer, (numbers, writer.inputs[1]), (zero, writer.input(3)), (scale, writer.inputs[2]))
    return _with_bias(writer, made, 4)


def real_product(writer: Writer) -> bool:
    """A product of integers, and what it is in real numbers."""
    zeros, scales = (writer.input(4), writer.input(5)), (writer.inputs[2], writer.inputs[3])
    return _with_bias(writer, integer_product(writer, (writer.inputs[0], writer.inputs[1]), zeros, scales), 6)


def gemm(writer: Writer) -> bool:
    """A product of quantised matrices, either turned, quantised again or not."""
    left, left_scale, left_zero, right, right_scale, right_zero = writer.inputs[:6]
    if writer.values.get("transA", 0):
        left = writer.add("Transpose", left, perm=[1, 0])
    if writer.values.get("transB", 0):
        right = writer.add("Transpose", right, perm=[1, 0])
    made = writer.add("MatMulInteger", left, right, left_zero, right_zero)
    made = writer.add("Add", made, writer.input(6)) if writer.input(6) else made
    factor, kind = float(writer.values.get("alpha", 1.0)), _real(writer, left_scale)
    scale = writer.add("Mul", left_scale, right_scale)
    if factor != 1.0:
        scale = writer.add("Mul", scale, writer.constant(factor, np.float32))
    real = writer.add("Cast", made, to=kind)
    if not writer.input(7):
        return bool(writer.add("Mul", real, scale, output=writer.outputs[0]))
    return _quantised(writer, writer.add("Mul", real, scale), writer.input(7), writer.input(8))


def _quantised(writer: Writer, real: str, scale: str, zero: str) -> bool:
    return bool(writer.add("QuantizeLinear", real, *_without_last((scale, zero)), output=writer.outputs[0]))


def _real_input(writer: Writer, at: int) -> str:
    return writer.add("DequantizeLinear", *_without_last(tuple(writer.input(at + more) for more in range(3))))


def channels_first(writer: Writer, source: str, rank: int) -> str:
    """Return a tensor whose channels were the last axis."""
    return writer.add("Transpose", source, perm=[0, rank - 1, *range(1, rank - 1)])


def channels_last(writer: Writer, source: str, rank: int, output: str = "") -> str:
    """Return a tensor whose channels are the last axis again."""
    return writer.add("Transpose", source, output=output, perm=[0, *range(2, rank), 1])


def _through_real(kind: str) -> Callable[[Writer], bool]:
    """Return what makes real numbers, computes, and quantises again."""

    def write(writer: Writer) -> bool:
        last, rank = bool(writer.values.get("channels_last", 0)), len(writer.shapes[writer.inputs[0]])
        flat = int(writer.values.get("opset", 13)) < 13 and int(writer.values.get("axis", -1)) != -1
        if kind == "Softmax" and (flat or writer.opset < 13):
            return False
        given = {key: value for key, value in writer.values.items() if key not in {"channels_last", "opset"}}
        axes = [writer.constant(given.pop("axes"))] if kind == "ReduceMean" and writer.opset >= _AXES_READ else []
        real = _real_input(writer, 0)
        real = writer.add(kind, channels_first(writer, real, rank) if last else real, *axes, **given)
        real = channels_last(writer, real, rank) if last else real
        return _quantised(writer, real, writer.input(3), writer.input(4))

    return write


def _of_two(kind: str) -> Callable[[Writer], bool]:
    """Return what makes real numbers of two tensors, computes, and quantises again."""
    return lambda writer: _quantised(
        writer, writer.add(kind, _real_input(writer, 0), _real_input(writer, 3)), writer.input(6), writer.input(7)
    )


def choice(writer: Writer) -> bool:
    """Elements of either of two quantised tensors."""
    real = writer.add("Where", writer.inputs[0], _real_input(writer, 1), _real_input(writer, 4))
    return _quantised(writer, real, writer.input(7), writer.input(8))


def convolution(writer: Writer) -> bool:
    """A convolution of quantised numbers, whose channels may be the last axis of data and output."""
    own = {key: value for key, value in writer.values.items() if key != "channels_last"}
    if not writer.values.get("channels_last", 0):
        return bool(writer.add("QLinearConv", *writer.inputs, output=writer.outputs[0], **own))
    rank = len(writer.shapes[writer.inputs[0]])
    first = channels_first(writer, writer.inputs[0], rank)
    return bool(
        channels_last(writer, writer.add("QLinearConv", first, *writer.inputs[1:], **own), rank, writer.outputs[0])
    )


def pooling(writer: Writer) -> bool:
    """The largest of windows, channels last."""
    rank = len(writer.shapes[writer.inputs[0]])
    made = writer.add("MaxPool", channels_first(writer, writer.inputs[0], rank), **writer.values)
    return bool(channels_last(writer, made, rank, writer.outputs[0]))


def attention(writer: Writer) -> bool:
    """Attention of what quantised numbers and weights are in real ones."""
    (data, weights, bias, scale, by), zeros = writer.inputs[:5], (writer.input(6), writer.input(7))
    real = (
        writer.add("DequantizeLinear", *_without_last(ends), axis=axis)
        for ends, axis in (((data, scale, zeros[0]), None), ((weights, by, zeros[1]), 1))
    )
    more = _without_last((bias, writer.input(5), writer.input(8)))
    return bool(writer.again("Attention", (*real, *more)))


def embedding(writer: Writer) -> bool:
    """Rows of quantised tables, added up and normalised, by factors that are quantised too."""
    real = [
        writer.add("DequantizeLinear", *_without_last((writer.inputs[at], writer.input(at + 6), writer.input(at + 11))))
        if writer.inputs[at]
        else ""
        for at in range(2, 7)
    ]
    return bool(writer.again("EmbedLayerNormalization", _without_last((*writer.inputs[:2], *real, writer.input(7)))))


def rows_of_blocks(writer: Writer) -> bool:
    """Rows of a table of few bits, whose blocks have scales and perhaps zeros of their own."""
    (data, at, scales), zeros, values = writer.inputs[:3], writer.input(3), writer.values
    shape, rank = writer.shapes[data], len(writer.shapes[at])
    by, along = (
        int(values.get(key, default)) % len(shape) for key, default in (("gather_axis", 0), ("quantize_axis", 1))
    )
    bits, is_packed = int(values.get("bits", 4)), writer.types[data] == writer.onnx.TensorProto.UINT8
    if by == along or bits not in {4, 8} or (is_packed and along != len(shape) - 1):
        return False
    blocks, after = writer.shapes[scales][along], along + (rank - 1 if by < along else 0)

    def rows(source: str, count: int) -> str:
        made = writer.add("Gather", source, at, axis=by)
        if not is_packed or bits == 8:
            return made
        halves = [writer.add("Mod", made, sixteen), writer.add("Div", made, sixteen)]
        wide = (*shape[:by], *writer.shapes[at], *shape[by + 1 : -1])
        halves = [writer.reshaped(half, (*wide, -1, 1)) for half in halves]
        made = writer.reshaped(writer.add("Concat", *halves, axis=len(wide) + 1), (*wide, -1))
        return writer.part(made, len(wide), 0, count)

    sixteen = writer.constant(16, np.uint8)
    ends = [rows(data, shape[along] * (2 if is_packed and bits == 4 else 1)), writer.add("Gather", scales, at, axis=by)]
    if zeros:
        ends.append(rows(zeros, blocks))
    elif is_packed:
        middle = writer.constant(np.full(1, 2 ** (bits - 1)), np.uint8)
        wide = (*shape[:by], *writer.shapes[at], *shape[by + 1 : along], blocks, *shape[along + 1 :])
        ends.append(writer.add("Expand", middle, writer.constant(wide)))
    size = int(values.get("block_size", 128))
    return bool(writer.add("DequantizeLinear", *ends, output=writer.outputs[0], axis=after, block_size=size))


def concatenation(writer: Writer) -> bool:
    """Quantised parts, each with a scale of its own."""
    parts = [_real_input(writer, at) for at in range(2, len(writer.inputs), 3)]
    real = writer.add("Concat", *parts, axis=writer.values["axis"])
    return _quantised(writer, real, *writer.inputs[:2])


QUANTISED: Final[dict[str, Callable[[Writer], bool]]] = {
    "DynamicQuantizeMatMul": dynamic_product,
    "MatMulIntegerToFloat": real_product,
    "QGemm": gemm,
    "QLinearAdd": _of_two("Add"),
    "QLinearMul": _of_two("Mul"),
    "QLinearConcat": concatenation,
    "QLinearLeakyRelu": _through_real("LeakyRelu"),
    "QLinearSigmoid": _through_real("Sigmoid"),
    "QLinearSoftmax": _through_real("Softmax"),
    "QLinearAveragePool": _through_real("AveragePool"),
    "QLinearGlobalAveragePool": _through_real("GlobalAveragePool"),
    "QLinearReduceMean": _through_real("ReduceMean"),
    "QLinearWhere": choice,
    "QLinearConv": convolution,
    "NhwcMaxPool": pooling,
    "QAttention": attention,
    "QEmbedLayerNormalization": embedding,
    "GatherBlockQuantized": rows_of_blocks,
}
