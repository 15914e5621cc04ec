"""Networks of one operator in the middle: every kind that is executed, with its odd attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from tests.tensor.networks.onnx_writer import Net

SINGLE: dict[str, Callable[[], Any]] = {}


def weight(*shape: int) -> Callable[[Net], str]:
    return lambda net: net.weight(*shape)


def number(value: Any, kind: type = np.float32) -> Callable[[Net], str]:
    return lambda net: net.constant(value, kind)


def places(*values: int) -> Callable[[Net], str]:
    return number(values[0] if len(values) == 1 else list(values), np.int64)


def chain(
    kind: str,
    *extra: str | Callable[[Net], str],
    shape: tuple[int, ...] = (2, 6, 7, 5),
    before: str = "Relu",
    opset: int = 20,
    named: str = "",
    **attributes: Any,
) -> None:
    """Add a network: an operator on what another one made, and one after it that reads it as it comes."""

    def make() -> Any:
        net = Net(kind, opset=opset)
        x = net.op(before, net.input(*shape)) if before else net.input(*shape)
        y = net.op(kind, x, *(item if isinstance(item, str) else item(net) for item in extra), **attributes)
        return net.model(y)

    SINGLE[named or kind] = make


chain("Gelu")
chain("OneHot", number(4, np.int64), number([0.5, 2.0]), shape=(3, 5), before="Sign", axis=1)
chain("Clip", number(0.1), number(0.5))
chain("PRelu", weight(6, 1, 1))
chain("Pow", number(2.0))
chain("Cast", to=T.FLOAT16, before="Exp")
chain("Cast", to=T.INT32, named="Cast to integers")
chain("BatchNormalization", *(weight(6) for _ in range(4)))
chain("BatchNormalization", *(weight(6) for _ in range(4)), opset=9, named="BatchNormalization, version 9")
chain("Gather", number([[3, 0], [5, 5]], np.int64), axis=1, named="Gather of what was made")
chain("Gather", number([1, 1, 0], np.int64), axis=-2, shape=(3, 2, 5), named="Gather of rows of what was made")
chain("GatherElements", number([[[0, 4], [1, -1], [3, 3]]] * 2, np.int64), axis=2, shape=(2, 3, 5))
chain("GatherElements", number([[3, 0, 0, 1]] * 3, np.int64), axis=0, shape=(4, 4), named="GatherElements of columns")
chain("GatherND", number([[[0, 3], [1, 1], [0, 2]]] * 2, np.int64), batch_dims=1, shape=(2, 2, 4, 3))
chain("GatherND", number([[1, 3], [0, 0]], np.int64), shape=(2, 4), named="GatherND of places")
chain("ScatterElements", number([[[4, 1], [-2, 0]]] * 3, np.int64), weight(3, 2, 2), axis=1, shape=(3, 5, 2))
chain("ScatterElements", number([[2, 0, 2], [2, 3, -1]], np.int64), weight(2, 3), axis=0, shape=(4, 3),
      named="ScatterElements added", reduction="add")  # fmt: skip
chain("ScatterND", number([[[3], [-1]], [[0], [1]]], np.int64), weight(2, 2, 3, 2), shape=(6, 3, 2))
chain("ScatterND", number([[0, 3], [1, 1], [0, 3]], np.int64), weight(3, 3), shape=(2, 4, 3), reduction="max",
      named="ScatterND of places")  # fmt: skip
chain("Scatter", number([[4, 1, 0]], np.int64), weight(1, 3), axis=1, shape=(1, 6), opset=10)
chain("Compress", number([True, False, False, True, True], np.bool_), axis=1, shape=(2, 5, 3))
chain("Compress", number([False, True, True], np.bool_), shape=(2, 2), named="Compress of all elements")
chain("CumProd", places(-1), shape=(2, 3, 4), opset=26, exclusive=1, reverse=1)
chain("TensorScatter", weight(2, 3, 2, 4), number([1, 3], np.int64), shape=(2, 3, 5, 4), opset=24)
chain("TensorScatter", weight(2, 2, 3), number([4, 0], np.int64), shape=(2, 5, 3), opset=24, axis=1, mode="circular",
      named="TensorScatter, circular")  # fmt: skip
chain("TensorScatter", weight(2, 3, 1), shape=(2, 3, 4), opset=24, axis=-1, named="TensorScatter from the first place")
chain("ReverseSequence", number([3, 0, 5], np.int64), shape=(5, 3, 2))
chain("ReverseSequence", lambda net: net.constant([2, 1], np.int32), shape=(3, 2, 4), time_axis=2, batch_axis=1,
      named="ReverseSequence along the last axis")  # fmt: skip
chain("CenterCropPad", number([4, 9], np.int64), axes=[1, -1], shape=(2, 7, 6))
chain("GridSample", lambda net: net.weight(2, 4, 3, 2), shape=(2, 3, 5, 6), opset=16)
chain("GridSample", lambda net: net.weight(2, 4, 3, 2), shape=(2, 3, 5, 6), opset=16, mode="bicubic", padding_mode="border",
      named="GridSample, version 16")  # fmt: skip
chain("Slice", opset=9, starts=[-2, 1], ends=[99, -1], axes=[-1, 1], named="Slice along negative axes, version 9")
chain("MaxPool", kernel_shape=[3, 3], strides=[3, 3], pads=[1, 1, 1, 1], ceil_mode=1, shape=(1, 4, 5, 8),
      named="MaxPool with a last window behind")  # fmt: skip
chain("AveragePool", kernel_shape=[2, 3], strides=[3, 4], pads=[0, 1, 1, 2], ceil_mode=1, count_include_pad=1,
      shape=(1, 4, 6, 7), named="AveragePool with a last window behind")  # fmt: skip
chain(
    "AveragePool",
    kernel_shape=[3, 3],
    strides=[3, 3],
    ceil_mode=1,
    shape=(1, 3, 10, 7),
    named="AveragePool, two behind",
)
chain("LpPool", kernel_shape=[3, 2], strides=[2, 3], pads=[1, 0, 0, 1], ceil_mode=1, p=3, named="LpPool with a rest")
chain("Trilu", places(1))
chain("Trilu", upper=0, named="lower triangle")
chain("Expand", number([2, 6, 7, 5], np.int64), shape=(6, 1, 5), before="Exp")
chain("SpaceToDepth", blocksize=2, shape=(1, 3, 4, 6), before="Exp")
chain("DepthToSpace", blocksize=2, mode="CRD", shape=(1, 8, 4, 6), before="Exp")
chain("Softmax", axis=1)
chain("LogSoftmax", axis=-1)
chain("Softmax", shape=(3, 4, 5), opset=11, named="Softmax, flattened")
chain("LogSoftmax", axis=2, shape=(2, 3, 4, 5), opset=9, named="LogSoftmax, flattened")
chain("Hardmax", shape=(3, 4, 5), opset=12, named="Hardmax, flattened")
chain("Hardmax", axis=2)
chain("CumSum", places(2))
chain("DFT", shape=(2, 5, 3, 1), opset=17, axis=1, named="DFT, version 17")
chain("DFT", places(8), places(-2), shape=(3, 5, 2), opset=20)
chain("DFT", "", places(1), shape=(2, 6, 3, 1), opset=20, onesided=1, named="DFT, one side")
chain("DFT", shape=(3, 5, 2), opset=20, inverse=1, named="DFT, back")
chain("STFT", places(3), weight(6), shape=(2, 20, 1), opset=17, onesided=1)
chain("STFT", places(2), "", places(5), shape=(2, 16, 2), opset=17, onesided=0, named="STFT, both sides")
chain("LayerNormalization", weight(7, 5), weight(7, 5), axis=2)
chain("RMSNormalization", weight(5), axis=-1, opset=23)
chain("InstanceNormalization", weight(6), weight(6))
chain("GroupNormalization", weight(6), weight(6), num_groups=3, opset=21)
chain("GroupNormalization", weight(3), weight(3), num_groups=3, opset=18, named="GroupNormalization by group")
chain("MeanVarianceNormalization")
chain("LRN", size=4, alpha=0.1)
chain("ReduceMean", places(1, 2))
chain("ReduceLogSumExp", number([3], np.int64), keepdims=0)
chain("ReduceLogSum", number([1], np.int64), before="Exp")
chain("ReduceProd", number([0], np.int64))
chain("ReduceMin")
chain("ReduceL1", places(2, 3))
chain("ReduceSumSquare", number([-1], np.int64))
chain("ReduceSum", noop_with_empty_axes=1)
chain("ReduceSum", number([], np.int64), noop_with_empty_axes=1, named="ReduceSum of no axes")
chain("ArgMax", axis=2, keepdims=0)
chain("MatMul", weight(5), named="MatMul by a vector")
chain("MatMul", lambda net: net.input(2, 1, 5, 4))
chain("Gemm", weight(4, 6), weight(4), shape=(6, 7), transA=1, transB=1, alpha=0.5, beta=2.0)
chain("Einsum", lambda net: net.input(5, 8), equation="nchw,wk->nhkc")
chain("Einsum", equation="nchw->wn", named="Einsum of one")
chain("Einsum", lambda net: net.input(6, 5, 4), equation="... h w, ... w k -> ... k h", named="Einsum of batches")
chain("Einsum", lambda net: net.input(2, 1, 5, 3), equation="b...d,b...k", named="Einsum of batches, all kept",
      shape=(2, 4, 5, 6))  # fmt: skip
chain("Einsum", lambda net: net.input(3, 3, 2), equation="ibi,iic->bc", named="Einsum of diagonals", shape=(3, 2, 3))
chain("Einsum", equation="...iii", named="Einsum of all three axes", shape=(2, 3, 3, 3))
chain("MaxPool", kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
chain("MaxPool", kernel_shape=[2, 2], auto_pad="SAME_LOWER", named="MaxPool, same size")
chain("AveragePool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
chain("AveragePool", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1, count_include_pad=1, named="AveragePool, rest")
chain("LpPool", kernel_shape=[2, 2], p=3)
chain("GlobalMaxPool")
chain("GlobalAveragePool")
chain("Conv", weight(4, 6, 3, 3), auto_pad="SAME_LOWER", strides=[2, 2])
chain("Conv", weight(4, 3, 3, 3), weight(4), group=2, pads=[1, 1, 1, 1], named="Conv in groups")
chain("Conv", weight(4, 6, 3), shape=(2, 6, 9), dilations=[2], named="Conv in one axis")
chain("Conv", weight(4, 2, 2, 3, 2), shape=(1, 2, 5, 6, 4), pads=[0, 1, 1, 0, 1, 0], named="Conv in three axes")
chain("ConvTranspose", weight(6, 2, 3, 2), weight(2), strides=[2, 3], pads=[1, 0, 0, 1])
chain("ConvTranspose", weight(6, 2, 3, 3), strides=[2, 2], auto_pad="SAME_LOWER", named="ConvTranspose, same size")
chain("ConvTranspose", weight(6, 2, 3, 3), strides=[2, 2], output_shape=[15, 11], named="ConvTranspose to a shape")
chain("Pad", number([0, 0, 1, 2, 0, 1, 0, 3], np.int64), number(0.5))
for mode in ("constant", "reflect"):
    chain("Pad", number([2, 1, 1, 3], np.int64), "", number([-1, 1], np.int64), mode=mode, named=f"Pad of axes, {mode}")
for mode in ("reflect", "edge", "wrap"):
    chain("Pad", number([0, 0, 1, 2, 0, 0, 2, 3], np.int64), mode=mode, named=f"Pad, {mode}")
chain("Resize", "", number([1, 1, 2, 1.5]), mode="linear")
chain("Resize", "", number([1, 1, 1.3, 2.7]), mode="nearest", named="Resize by odd scales")
chain("Resize", "", number([1, 1, 2, 2]), mode="cubic", exclude_outside=1, cubic_coeff_a=-0.5, named="Resize, cubic")
for where in ("align_corners", "asymmetric", "pytorch_half_pixel"):
    for mode, how in (("linear", ""), ("cubic", ""), ("nearest", "ceil"), ("nearest", "floor")):
        chain(
            "Resize",
            "",
            "",
            number([2, 6, 12, 3], np.int64),
            mode=mode,
            coordinate_transformation_mode=where,
            named=f"Resize, {where}, {mode} {how}",
            **({"nearest_mode": how} if how else {}),
        )
chain("Resize", "", number([0.5, 3]), axes=[1, 3], mode="linear", opset=18, named="Resize of some axes")
for policy in ("not_larger", "not_smaller"):
    chain("Resize", "", "", number([13, 8], np.int64), axes=[2, 3], keep_aspect_ratio_policy=policy, mode="linear", opset=18,
          named=f"Resize, {policy}")  # fmt: skip
chain("Upsample", number([1, 1, 2, 2]), opset=9)
chain("Gather", lambda net: net.input(3, 4, kind=T.INT64), before="", axis=2)
chain("RoiAlign", number([[0, 0, 5, 6], [1, 2, 3.5, 8], [0, 0, 0.5, 0.5]]), number([0, 1, 1], np.int64), shape=(2, 3, 5, 4),
      opset=16, output_height=3, output_width=2, sampling_ratio=2, spatial_scale=0.5)  # fmt: skip
chain("Gather", number([[0, 3], [4, 1]], np.int64), axis=3, named="Gather of a made one")
chain("Gather", places(2), axis=1, named="Gather of one row")


def named(make: Callable[[], Any]) -> Callable[[], Any]:
    SINGLE[make.__name__] = make
    return make


def integers(*shape: int) -> Callable[[Net], str]:
    return number(np.random.default_rng(0).integers(-100, 100, shape), np.int8)


@named
def flexible_attention() -> Any:
    """Two heads of queries share keys; scores after their own place are left out, shares are halved."""
    net, ends, each = Net("flexible attention", opset=25), [], (1, 2, 5, 5)
    ahead = numpy_helper.from_array(np.triu(np.full((5, 5), -1e30, np.float32), 1), "ahead")
    for kind, constant in (("Add", ahead), ("Mul", numpy_helper.from_array(np.float32(0.5), "half"))):
        infos = [[helper.make_tensor_value_info(name, T.FLOAT, each)] for name in ("before", "after")]
        ends.append(
            helper.make_graph([helper.make_node(kind, ["before", constant.name], ["after"])], kind, *infos, [constant])
        )
    query, key = net.op("Relu", net.input(1, 2, 5, 4)), net.input(1, 1, 5, 4)
    y = net.op(
        "FlexAttention",
        query,
        key,
        net.input(1, 1, 5, 3),
        domain="ai.onnx.preview",
        score_mod=ends[0],
        prob_mod=ends[1],
    )
    return net.model(net.op("Exp", y))


@named
def quantised_convolution() -> Any:
    net = Net("quantised convolution", opset=21)
    zero, scale = net.constant(7, np.uint8), net.constant(0.02, np.float32)
    x = net.op("QuantizeLinear", net.input(1, 4, 9, 8), scale, zero)
    by_channel = net.constant(np.linspace(0.01, 0.03, 6), np.float32), net.constant(np.zeros(6), np.int8)
    out = net.constant(0.3, np.float32), net.constant(100, np.uint8)
    bias = net.constant(np.arange(6) * 50, np.int32)
    y = net.op("QLinearConv", x, scale, zero, integers(6, 4, 3, 3)(net), *by_channel, *out, bias, pads=[1, 1, 1, 1])
    return net.model(net.op("Relu", net.op("DequantizeLinear", y, *out)))


@named
def quantised_products() -> Any:
    net = Net("quantised products", opset=21)
    zero, scale = net.constant(3, np.int8), net.constant(0.02, np.float32)
    x, w = net.op("QuantizeLinear", net.input(5, 8), scale, zero), integers(8, 6)(net)
    columns = net.constant(np.linspace(0.01, 0.03, 6), np.float32), net.constant(np.zeros(6), np.int8)
    real = net.op("MatMul", net.op("DequantizeLinear", x, scale, zero), net.op("DequantizeLinear", w, *columns, axis=1))
    y = net.op("QuantizeLinear", real, scale, zero)
    z = net.op("QLinearMatMul", y, scale, zero, integers(6, 3)(net), scale, zero, net.constant(0.5, np.float32), zero)
    return net.model(z, net.op("MatMulInteger", x, w, zero))


@named
def scales_made_on_the_way() -> Any:
    net = Net("scales made on the way", opset=21)
    x, scale, zero = net.op("DynamicQuantizeLinear", net.op("Relu", net.input(5, 8)), outputs=3)
    y = net.op("MatMulInteger", x, integers(8, 6)(net), zero)
    real = net.op("DequantizeLinear", x, scale, zero)
    return net.model(net.op("Mul", net.op("Cast", y, to=T.FLOAT), scale), net.op("Exp", real))


@named
def words() -> Any:
    net = Net("words")
    ids = net.op("Cast", net.input(2, 7, kind=T.INT32), to=T.INT64)
    return net.model(net.op("Add", net.op("Gather", net.weight(30, 6), ids), net.input(7, 6)))


@named
def barriers() -> Any:
    net = Net("barriers")
    x, *_ = net.op("LSTM", net.op("Relu", net.input(4, 2, 5)), net.weight(1, 12, 5), net.weight(1, 12, 3),
                   hidden_size=3, outputs=3)  # fmt: skip
    largest, at = net.op("TopK", net.op("Tanh", x), net.constant([2]), outputs=2)
    return net.model(net.op("Exp", largest), at)


@named
def largest() -> Any:
    """Rounded, so that many are alike; some are infinite."""
    net = Net("largest")
    x = net.op("Round", net.op("Mul", net.input(3, 6, 4), net.constant(1.5, np.float32)))
    x = net.op("Where", net.op("Greater", x, net.constant(0.0, np.float32)), x, net.constant(-np.inf, np.float32))
    most, at = net.op("TopK", x, net.constant([5]), axis=1, outputs=2)
    least, place = net.op("TopK", net.op("Cast", net.op("Exp", x), to=7), net.constant([2]), largest=0, outputs=2)
    return net.model(net.op("Exp", most), net.op("Neg", at), net.op("Neg", least), net.op("Abs", place))


@named
def largest_of_old_versions() -> Any:
    net = Net("largest of old versions", opset=10)
    x = net.op("Floor", net.op("Mul", net.input(2, 4, 2), net.constant(1.5, np.float32)))
    most, at = net.op("TopK", x, net.constant([3]), axis=1, outputs=2)
    return net.model(net.op("Exp", most), net.op("Neg", at))


@named
def largest_by_an_attribute() -> Any:
    net = Net("largest by an attribute", opset=9)
    most, at = net.op("TopK", net.op("Ceil", net.input(3, 4)), k=2, outputs=2)
    return net.model(net.op("Exp", most), net.op("Neg", at))


@named
def pooled_and_put_back() -> Any:
    """Halves, so that some are alike; the second tensor has one axis of places."""
    net = Net("pooled and put back", opset=13)
    ends = []
    for shape, size in (((1, 2, 4, 3), [2, 3]), ((2, 1, 8), [4])):
        x = net.op("Round", net.op("Relu", net.input(*shape)))
        most, at = net.op("MaxPool", x, kernel_shape=size, strides=size, outputs=2)
        ends += [net.op("Sin", net.op("MaxUnpool", net.op("Exp", most), at, kernel_shape=size, strides=size)), at]
    return net.model(*ends)


@named
def statistics() -> Any:
    net = Net("statistics")
    x, mean = net.op("LayerNormalization", net.op("Relu", net.input(4, 9)), net.weight(9), outputs=2)
    return net.model(net.op("Exp", x), net.op("Neg", mean))
