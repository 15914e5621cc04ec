"""Small models as exporters and runtimes write them: fused operators, packed weights, choices, loops, guessed shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from tests.tensor.networks.onnx_writer import Net

EXPORTED: dict[str, Callable[[], Any]] = {}
OWN = "com.microsoft"


def named(make: Callable[[], Any]) -> Callable[[], Any]:
    EXPORTED[make.__name__] = make
    return make


def packed(net: Net, x: str, k: int, n: int, *, bits: int = 4, zeros: bool = False, flat: bool = False) -> str:
    """A product with packed weights, in blocks of 16."""
    blocks, size = -(-k // 16), 16 * bits // 8
    weights = net.constant(net.random.integers(0, 256, (n, blocks, size)), np.uint8)
    scales = net.constant(net.random.uniform(0.01, 0.1, (n * blocks,) if flat else (n, blocks)), np.float32)
    row = -(-blocks * bits // 8)
    extra = [net.constant(net.random.integers(0, 256, n * row), np.uint8)] if zeros else []
    return net.op("MatMulNBits", x, weights, scales, *extra, domain=OWN, K=k, N=n, bits=bits, block_size=16)


@named
def llama_of_few_bits() -> Any:
    net = Net("llama_of_few_bits", filled=True)
    x, gamma = net.input(1, 6, 32), net.weight(32)
    y = net.op("SimplifiedLayerNormalization", x, gamma, axis=-1, epsilon=1e-5)
    for _ in range(2):
        y = net.op("Mul", packed(net, y, 32, 32, flat=True), packed(net, y, 32, 32, bits=8))
        y, _, _, x = net.op("SkipSimplifiedLayerNormalization", x, y, net.weight(32), domain=OWN, outputs=4)
        net.nodes[-1].output[1:3] = ["", ""]
        gate = net.act(packed(net, y, 32, 72, zeros=True), "SiLU")
        y = packed(net, net.op("Mul", gate, packed(net, y, 32, 72)), 72, 32, zeros=True)
        y, _, _, x = net.op("SkipSimplifiedLayerNormalization", x, y, net.weight(32), domain=OWN, outputs=4)
        net.nodes[-1].output[1:3] = ["", ""]
    return net.model(packed(net, y, 32, 50), x)


@named
def grouped_queries() -> Any:
    net = Net("grouped_queries")
    x, past = net.input(1, "s", 64), [net.input(1, 2, "p", 8, name=name) for name in ("past_k", "past_v")]
    q, k, v = (net.linear(x, 64, width, bias=False) for width in (64, 16, 16))
    length, total = net.input(1, kind=TensorProto.INT32), net.input(kind=TensorProto.INT32)
    y, key, value = net.op("GroupQueryAttention", q, k, v, *past, length, total, domain=OWN, outputs=3, num_heads=8,
                           kv_num_heads=2)  # fmt: skip
    return net.model(net.linear(y, 64, 64), key, value)


@named
def fused_by_a_runtime() -> Any:
    net = Net("fused_by_a_runtime", filled=True)
    x = net.input(1, 3, 12, 10)
    y = net.op("FusedConv", x, net.weight(8, 3, 3, 3), net.weight(8), domain=OWN, pads=[1, 1, 1, 1], activation="Relu")
    z = net.op("FusedConv", y, net.weight(8, 8, 1, 1), net.weight(8), y, domain=OWN, activation="LeakyRelu",
               activation_params=[0.2])  # fmt: skip
    z = net.op("FusedConv", z, net.weight(8, 1, 3, 3), domain=OWN, group=8, activation="Clip",
               activation_params=[0.0, 6.0])  # fmt: skip
    rows = net.reshape(z, 1, 8, 80)
    product = net.op("FusedMatMul", rows, rows, domain=OWN, transB=1, alpha=0.125)
    rows = net.op("SkipLayerNormalization", product, net.input(1, 8, 8), net.weight(8), net.weight(8), net.weight(8),
                  domain=OWN, epsilon=1e-5)  # fmt: skip
    flat = net.reshape(rows, 8, 8)
    return net.model(
        net.op("FusedGemm", flat, net.weight(5, 8), net.weight(5), domain=OWN, transB=1, activation="Tanh")
    )


def graph(name: str, nodes: list[Any], output: str, constants: list[Any] | None = None) -> Any:
    return helper.make_graph(nodes, name, [], [helper.make_empty_tensor_value_info(output)], constants or [])


@named
def squeezed_if_of_one() -> Any:
    """A choice by the size of an axis, as exporters write a squeeze."""
    net = Net("squeezed_if_of_one", filled=True)
    x = net.op("MatMul", net.input(5, 1, 6), net.weight(6, 4))
    axis, one = net.constant([1]), net.constant(1)
    size = net.op("Gather", net.op("Shape", x), axis)
    condition = net.op("Squeeze", net.op("Equal", size, one))
    then = graph("then", [helper.make_node("Squeeze", [x, axis], ["squeezed"], "squeeze")], "squeezed")
    other = graph("other", [helper.make_node("Identity", [x], ["same"], "same")], "same")
    y = net.op("If", condition, then_branch=then, else_branch=other)
    return net.model(net.op("Gemm", y, net.weight(4, 3)))


@named
def choices_at_run_time() -> Any:
    """A choice and a loop whose graphs read what lies around them."""
    net = Net("choices_at_run_time", filled=True)
    x, flag = net.op("Relu", net.input(4, 6)), net.input(kind=TensorProto.BOOL)
    y = net.op("MatMul", x, net.weight(6, 6))
    then = graph("then", [helper.make_node("Add", [x, y], ["sum"], "add")], "sum")
    half = numpy_helper.from_array(np.float32(0.5), "half")
    other = graph("other", [helper.make_node("Mul", [y, "half"], ["part"], "mul")], "part", [half])
    z = net.op("If", flag, then_branch=then, else_branch=other)
    body = helper.make_graph(
        [
            helper.make_node("Add", ["state", y], ["next"], "step"),
            helper.make_node("Identity", ["going"], ["on"], "on"),
        ],
        "body",
        [
            helper.make_tensor_value_info("number", TensorProto.INT64, ()),
            helper.make_tensor_value_info("going", TensorProto.BOOL, ()),
            helper.make_tensor_value_info("state", TensorProto.FLOAT, (4, 6)),
        ],
        [
            helper.make_tensor_value_info("on", TensorProto.BOOL, ()),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, (4, 6)),
        ],
    )
    z = net.op("Loop", net.constant(3), "", z, body=body)
    return net.model(net.op("Tanh", z))


@named
def masked_attention_operator() -> Any:
    """The operator Attention with a mask among the constants, and with keys and values of earlier places."""
    net = Net("masked_attention_operator", opset=23, filled=True)
    q, k, v = (net.input(1, heads, 5, 8) for heads in (4, 2, 2))
    past = [net.input(1, 2, 3, 8) for _ in range(2)]
    mask = net.constant(np.tril(np.ones((5, 8)), 3), bool)
    y, key, value = net.op("Attention", q, k, v, mask, *past, outputs=3)
    return net.model(y, key, value)


@named
def half_attention_with_a_mask() -> Any:
    """Numbers of 16 bits and a mask that is an input: constants of one element are read as they are and converted."""
    net = Net("half_attention_with_a_mask", opset=23, filled=True, kind=TensorProto.FLOAT16)
    q, k, v = (net.input(1, 2, 5, 8) for _ in range(3))
    mask = net.input(5, 5, kind=TensorProto.BOOL)
    return net.model(net.op("Attention", q, k, v, mask, softcap=2.0))


@named
def like_the_input() -> Any:
    """Constants in the type of the input, as functions of ONNX write them; a scale that is used twice."""
    net = Net("like_the_input", filled=True)
    x = net.input(3, 8)
    alpha = net.op("CastLike", net.constant(1.5, np.float64), x)
    y = net.op("Mul", net.op("Elu", net.op("Div", x, alpha)), alpha)
    scale = net.op("ReduceMax", net.op("Abs", y), keepdims=0)
    return net.model(net.op("Mul", net.op("Div", y, scale), net.op("Sqrt", scale)))


@named
def quantised_in_blocks() -> Any:
    net = Net("quantised_in_blocks", opset=21, filled=True)
    x = net.op("MatMul", net.input(6, 16), net.weight(16, 32))
    scales = net.constant(net.random.uniform(0.02, 0.05, (6, 4)), np.float32)
    y = net.op("QuantizeLinear", x, scales, net.constant(np.full((6, 4), 3), np.int8), axis=1, block_size=8)
    y = net.op("DequantizeLinear", y, scales, net.constant(np.full((6, 4), 3), np.int8), axis=1, block_size=8)
    return net.model(net.op("Relu", y))


@named
def of_unknown_shape() -> Any:
    """An operator of unknown shape: what is guessed does not fit what follows, which is a barrier then."""
    net = Net("of_unknown_shape")
    x = net.op("Strange", net.op("Relu", net.input(4, 6)), domain="org.example")
    y = net.transpose(x, 2, 0, 1)
    return net.model(net.op("Exp", y))


@named
def volumes() -> Any:
    net = Net("volumes", opset=13, filled=True)
    x = net.conv(net.input(1, 2, 6, 8, 8), 2, 4, 3, rank=3, act="Relu", bias=True)
    x = net.op("MaxPool", x, kernel_shape=[2, 2, 2], strides=[2, 2, 2])
    x = net.op("ConvTranspose", x, net.weight(4, 3, 2, 2, 2), strides=[2, 2, 2])
    x = net.op("Resize", x, "", net.constant([1, 1, 0.5, 1, 1], np.float32), mode="nearest")
    return net.model(net.op("GlobalAveragePool", net.op("InstanceNormalization", x, net.weight(3), net.weight(3))))


@named
def rotated_heads() -> Any:
    """Rotary embedding and grouped queries written out, shapes computed from the input's."""
    net = Net("rotated_heads", opset=17, filled=True)
    x = net.input(2, 5, 24, name="hidden")
    shape = net.op("Shape", x)
    b, s = (net.op("Gather", shape, net.constant([at])) for at in (0, 1))
    angles = net.op(
        "MatMul",
        net.reshape(
            net.op("Cast", net.op("Range", net.constant(0), net.op("Squeeze", s), net.constant(1)), to=1), -1, 1
        ),
        net.constant(np.ones((1, 3)) / 7, np.float32),
    )
    angles = net.op("Concat", angles, angles, axis=-1)
    parts = []
    for heads in (4, 2, 2):
        y = net.linear(x, 24, heads * 6, bias=False)
        y = net.transpose(
            net.op("Reshape", y, net.op("Concat", b, s, net.constant([heads]), net.constant([6]), axis=0)), 0, 2, 1, 3
        )
        if len(parts) < 2:
            left, right = net.op("Split", y, net.constant([3, 3]), axis=-1, outputs=2)
            turned = net.op("Concat", net.op("Neg", right), left, axis=-1)
            y = net.add(net.op("Mul", y, net.op("Cos", angles)), net.op("Mul", turned, net.op("Sin", angles)))
        if heads == 2:
            wide = net.op("Concat", b, net.constant([2, 2]), s, net.constant([6]), axis=0)
            y = net.op("Expand", net.op("Unsqueeze", y, net.constant([2])), wide)
            y = net.op("Reshape", y, net.op("Concat", b, net.constant([4]), s, net.constant([6]), axis=0))
        parts.append(y)
    y = net.transpose(net.attend(*parts, 6), 0, 2, 1, 3)
    return net.model(net.linear(net.op("Reshape", y, net.constant([0, 0, -1])), 24, 24))


@named
def placed_by_a_range() -> Any:
    """Rows of a table by their places, of which there are as many as the input has."""
    net = Net("places", filled=True)
    x = net.input(2, 5, 8)
    length = net.op("Slice", net.op("Shape", x), net.constant([1]), net.constant([2]))
    places = net.op("Range", net.constant(0), net.op("Squeeze", length), net.constant(1))
    return net.model(net.add(x, net.op("Gather", net.weight(9, 8), places)))
