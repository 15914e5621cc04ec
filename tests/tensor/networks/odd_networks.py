"""Small networks at odd sizes: strides that leave rests, groups, broadcasting, views of views, integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto, helper
from tests.tensor.networks.onnx_writer import Net

ODD: dict[str, Callable[[], Any]] = {}


def named(make: Callable[[], Any]) -> Callable[[], Any]:
    ODD[make.__name__] = make
    return make


def cut(net: Net, x: str, axis: int, start: int, end: int, step: int = 1) -> str:
    return str(net.op("Slice", x, *(net.constant([value]) for value in (start, end, axis, step))))


@named
def uneven_strides() -> Any:
    net = Net("uneven strides")
    x = net.op("Relu", net.input(1, 3, 17, 13))
    y = net.op("Conv", x, net.weight(5, 3, 4, 2), strides=[3, 2], pads=[1, 0, 2, 1], dilations=[1, 3])
    z = net.op("MaxPool", y, kernel_shape=[2, 3], strides=[2, 2], ceil_mode=1)
    return net.model(net.conv(z, 5, 4, 1, 2), net.op("Tanh", y))


@named
def grouped_branches() -> Any:
    net = Net("grouped branches")
    x = net.conv(net.input(2, 6, 9, 7), 6, 12, 3, 1, g=3, act="Relu")
    left = net.conv(x, 12, 12, 3, 2, g=12, norm=True)
    right = net.conv(x, 12, 12, 1, 2, g=4)
    return net.model(net.op("Mul", left, net.op("Sigmoid", right)))


@named
def broadcast_everywhere() -> Any:
    net = Net("broadcast everywhere")
    rows, columns = net.op("Exp", net.input(1, 7, 1)), net.op("Tanh", net.input(3, 1, 5))
    x = net.op("Mul", net.add(rows, columns), net.input(5))
    return net.model(net.op("Max", x, rows, net.op("Neg", columns)), net.op("Sum", rows, x))


@named
def concatenated_slices() -> Any:
    net = Net("concatenated slices")
    x = net.op("Relu", net.input(2, 11, 6))
    parts = [cut(net, x, 1, 2, 7), cut(net, net.op("Exp", x), 1, 9, 3, -1), cut(net, x, 1, 0, 11, 4)]
    y = net.op("Concat", *parts, axis=1)
    return net.model(net.op("Sqrt", cut(net, y, 1, 3, 12)), net.op("MatMul", y, net.weight(6, 4)))


@named
def residual_of_other_shape() -> Any:
    net = Net("residual of other shape")
    x = net.conv(net.input(1, 4, 11, 9), 4, 6, 3, 1, act="Relu")
    pooled = net.op("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    y = net.conv(net.conv(x, 6, 6, 3, 2), 6, 6, 3)
    both = net.add(y, pooled)
    gate = net.op("GlobalAveragePool", both)
    return net.model(net.op("Mul", both, net.op("Sigmoid", net.conv(gate, 6, 6, 1))))


@named
def product_chain() -> Any:
    net = Net("product chain")
    a, b, c = net.input(3, 5, 7), net.input(1, 7, 4), net.input(3, 4, 9)
    x = net.op("MatMul", net.op("MatMul", a, b), c)
    y = net.op("MatMul", x, net.op("Softmax", net.transpose(x, 0, 2, 1), axis=1))
    return net.model(net.op("Einsum", y, net.input(5, 6), equation="bij,jk->kib"))


@named
def reductions_of_any_axis() -> Any:
    net = Net("reductions of any axis")
    x = net.op("Relu", net.input(4, 3, 5, 2))
    first = net.op("ReduceSum", x, net.constant([0]), keepdims=0)
    middle = net.op("ReduceMax", x, net.constant([1, 3]), keepdims=1)
    y = net.op("Sub", x, middle)
    last = net.op("ReduceMean", net.op("Mul", y, first), net.constant([-1, 0]), keepdims=0)
    return net.model(last, net.op("ReduceL2", y, net.constant([2]), keepdims=1))


@named
def integers() -> Any:
    net = Net("integers", kind=TensorProto.INT8)
    x, w = net.input(3, 10, kind=TensorProto.UINT8), net.weight(10, 6)
    y = net.op("Cast", net.op("MatMulInteger", x, w), to=TensorProto.FLOAT)
    z = net.op("Mul", y, net.constant([0.5], np.float32))
    q = net.op("QuantizeLinear", net.op("Relu", z), net.constant(0.1, np.float32), net.constant(3, np.uint8))
    return net.model(q, net.op("Gather", net.input(20, 6, kind=TensorProto.FLOAT16), net.constant([3, 1, 19])))


@named
def nothing_added_up() -> Any:
    net = Net("nothing added up")
    x = net.op("Relu", net.input(4, 5))
    none = cut(net, x, 0, 2, 2)
    total = net.op("ReduceSum", none, net.constant([0]), keepdims=0)
    product = net.op("MatMul", net.transpose(none, 1, 0), net.op("MatMul", none, net.weight(5, 6)))
    return net.model(net.op("Add", net.op("MatMul", x, product), net.op("MatMul", total, net.weight(5, 6))))


@named
def floats_of_8_bits() -> Any:
    net = Net("floats of 8 bits", opset=19)
    zero = helper.make_tensor("zero", TensorProto.FLOAT8E4M3FN, [], [0.0])
    net.weights.append(zero)
    scale = net.constant(0.01, np.float32)  # the largest numbers are cut off
    q = net.op("QuantizeLinear", net.op("Relu", net.input(6, 16)), scale, "zero")
    return net.model(net.op("MatMul", net.op("DequantizeLinear", q, scale, "zero"), net.weight(16, 8)))


@named
def shuffled_channels() -> Any:
    net = Net("shuffled channels")
    x = net.conv(net.input(1, 6, 5, 5), 6, 6, 1, g=3, act="Relu")
    x = net.reshape(net.transpose(net.reshape(x, 1, 3, 2, 5, 5), 0, 2, 1, 3, 4), 1, 6, 5, 5)
    left, right = net.op("Split", net.conv(x, 6, 6, 3, g=6), axis=1, num_outputs=2, outputs=2)
    return net.model(net.op("Concat", right, net.op("Relu", left), axis=1))


@named
def pixels_and_depth() -> Any:
    net = Net("pixels and depth")
    x = net.op("Relu", net.input(1, 8, 5, 3))
    up = net.op("DepthToSpace", x, blocksize=2)
    down = net.op("SpaceToDepth", net.conv(up, 2, 3, 3), blocksize=2)
    return net.model(net.op("Add", net.conv(down, 12, 8, 1), x))


@named
def normalised_rows() -> Any:
    net = Net("normalised rows")
    x = net.layernorm(net.input(1, 7, 12), 12)
    row = net.op("Gather", x, net.constant(0), axis=1)
    y = net.op("Tanh", net.op("Gemm", row, net.weight(12, 12), net.weight(12)))
    heads = net.transpose(net.reshape(x, 7, 3, 4), 1, 0, 2)
    return net.model(y, net.op("Softmax", cut(net, heads, 1, 0, 3), axis=-1))


@named
def transposed_and_padded() -> Any:
    net = Net("transposed and padded")
    x = net.op("ConvTranspose", net.input(1, 4, 5, 6), net.weight(4, 3, 3, 2), strides=[2, 3], pads=[1, 0, 0, 1])
    x = net.op("Pad", net.op("Relu", x), net.constant([0, 0, 1, 0, 0, 0, 2, 1]))
    return net.model(net.conv(x, 3, 5, 3, 2, d=2, pad=1), net.op("Relu", net.op("GlobalMaxPool", x)))


@named
def own_square() -> Any:
    net = Net("own square")
    x = net.op("Relu", net.input(6, 6))
    y = net.op("MatMul", x, net.transpose(x, 1, 0))
    return net.model(net.op("Add", net.op("Mul", y, y), net.op("Expand", cut(net, x, 0, 1, 2), net.constant([6, 6]))))


@named
def flattened_heads() -> Any:
    net = Net("flattened heads")
    x = net.linear(net.heads(net.linear(net.input(2, 5, 6), 6, 6), 2, 5, 3, 2), 2, 2)
    y = net.reshape(net.op("Relu", net.transpose(x, 0, 2, 1, 3)), 10, 6)
    z = net.op("Gemm", net.reshape(y, 4, 15), net.weight(7, 15), transB=1)
    return net.model(cut(net, z, 0, 1, 4, 2), net.op("ReduceMean", y, net.constant([0]), keepdims=0))


@named
def looked_up() -> Any:
    net = Net("looked up")
    x = net.op("Relu", net.input(2, 3, 5))
    y = net.op("GatherElements", x, net.constant([[[4, 0], [1, -1]]] * 2), axis=2)
    z = net.op("Gather", net.op("Exp", x), net.constant([[2, 0], [1, 1]]), axis=1)
    w = net.op("GatherND", net.op("Tanh", x), net.constant([[[2, 3], [0, 0]]] * 2), batch_dims=1)
    return net.model(net.op("Add", y, net.reshape(w, 2, 2, 1)), net.op("Neg", z))
