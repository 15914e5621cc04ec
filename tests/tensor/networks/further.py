"""Further public networks at real sizes: perceptrons, recommenders, diffusion blocks, recurrent and quantised ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto
from tests.tensor.networks.onnx_writer import Net
from tests.tensor.networks.registry import named
from tests.tensor.networks.transformers import embedded


@named
def mlp() -> Any:
    net = Net("mlp")
    x = net.input("batch", 784)
    for c, m in ((784, 2048), (2048, 2048), (2048, 10)):
        x = net.op("Relu", net.op("Gemm", x, net.weight(m, c), net.weight(m), transB=1))
    return net.model(x)


@named
def mlp_mixer() -> Any:
    net = Net("mlp_mixer")
    x = net.conv(net.input(1, 3, 224, 224), 3, 768, 16, 16, pad=0, bias=True)
    x = net.transpose(net.reshape(x, 1, 768, 196), 0, 2, 1)
    for _ in range(12):
        y = net.transpose(net.layernorm(x, 768), 0, 2, 1)
        y = net.linear(net.linear(y, 196, 384, act="GeluErf"), 384, 196)
        x = net.add(x, net.transpose(y, 0, 2, 1))
        x = net.add(x, net.linear(net.linear(net.layernorm(x, 768), 768, 3072, act="GeluErf"), 3072, 768))
    return net.model(net.linear(net.op("ReduceMean", x, net.constant([1]), keepdims=0), 768, 1000))


@named
def gmlp() -> Any:
    net = Net("gmlp")
    x = net.input(1, 128, 512)
    for _ in range(6):
        y = net.linear(net.layernorm(x, 512), 512, 2048, act="GeluErf")
        u, v = net.op("Split", y, net.constant([1024, 1024]), axis=2, outputs=2)
        v = net.op("Add", net.op("MatMul", net.weight(128, 128), net.layernorm(v, 1024)), net.weight(128, 1))
        x = net.add(x, net.linear(net.op("Mul", u, v), 1024, 512))
    return net.model(x)


@named
def dlrm() -> Any:
    net = Net("dlrm")
    b, d = 2048, 64
    x = net.input(b, 13)
    for c, m in ((13, 512), (512, 256), (256, d)):
        x = net.linear(x, c, m, act="Relu")
    rows = [net.reshape(x, b, 1, d)]
    for _ in range(8):
        ids = net.input(b, 1, kind=TensorProto.INT64)
        rows.append(net.op("Gather", net.weight(100000, d), ids))
    all_rows = net.op("Concat", *rows, axis=1)
    pairs = net.reshape(net.op("MatMul", all_rows, net.transpose(all_rows, 0, 2, 1)), b, 81)
    x = net.op("Concat", x, pairs, axis=1)
    for c, m in ((d + 81, 512), (512, 256), (256, 1)):
        x = net.linear(x, c, m, act="Relu")
    return net.model(net.op("Sigmoid", x))


def group_norm(net: Net, x: str, c: int, size: int, groups: int = 32) -> str:
    y = net.reshape(x, 1, groups, -1)
    y = net.op("InstanceNormalization", y, net.weight(groups), net.weight(groups))
    y = net.op("Mul", net.reshape(y, 1, c, size, size), net.weight(c, 1, 1))
    return net.add(y, net.weight(c, 1, 1))


@named
def diffusion_unet_block() -> Any:
    net = Net("diffusion_unet_block")
    x, time, text, c, size = net.input(1, 320, 64, 64), net.input(1, 1280), net.input(1, 77, 768), 320, 64
    y = net.conv(net.act(group_norm(net, x, c, size), "SiLU"), c, c, bias=True)
    shift = net.op("Unsqueeze", net.linear(net.act(time, "SiLU"), 1280, c), net.constant([2, 3]))
    y = net.conv(net.act(group_norm(net, net.add(y, shift), c, size), "SiLU"), c, c, bias=True)
    x = net.add(x, y)
    y = net.transpose(net.reshape(group_norm(net, x, c, size), 1, c, size**2), 0, 2, 1)
    y = net.add(y, net.attention(net.layernorm(y, c), 1, size**2, c, 8))
    y = net.add(y, net.attention(net.layernorm(y, c), 1, size**2, c, 8, source=text, t=77, cs=768))
    wide = net.linear(net.layernorm(y, c), c, 8 * c)
    left, right = net.op("Split", wide, net.constant([4 * c, 4 * c]), axis=2, outputs=2)
    y = net.add(y, net.linear(net.op("Mul", left, net.act(right, "GeluErf")), 4 * c, c))
    return net.model(net.add(x, net.reshape(net.transpose(y, 0, 2, 1), 1, c, size, size)))


@named
def dit_block() -> Any:
    net = Net("dit_block", opset=20)
    x, t, c = net.input(1, 256, 1152), net.input(1, 1152), 1152
    six = net.linear(net.act(t, "SiLU"), c, 6 * c)
    parts = [net.op("Unsqueeze", p, net.constant([1])) for p in net.op("Split", six, num_outputs=6, axis=1, outputs=6)]

    def modulated(y: str, shift: str, scale: str) -> str:
        return net.add(net.op("Mul", net.layernorm(y, c), net.add(scale, net.number(1))), shift)

    y = net.attention(modulated(x, parts[0], parts[1]), 1, 256, c, 16)
    x = net.add(x, net.op("Mul", parts[2], y))
    y = net.linear(net.linear(modulated(x, parts[3], parts[4]), c, 4 * c, act="Gelu"), 4 * c, c)
    return net.model(net.add(x, net.op("Mul", parts[5], y)))


@named
def lstm_language_model() -> Any:
    net = Net("lstm_language_model")
    x = net.transpose(embedded(net, 8, 64, 512, 10000), 1, 0, 2)
    y, *_ = net.op("LSTM", x, net.weight(1, 2048, 512), net.weight(1, 2048, 512), hidden_size=512, outputs=3)
    return net.model(net.linear(net.op("Squeeze", y, net.constant([1])), 512, 10000))


@named
def quantised_resnet_stage() -> Any:
    net = Net("quantised_resnet_stage", opset=19)
    scale, zero = net.constant(0.02, np.float32), net.constant(0, np.int8)

    def stored(x: str) -> str:
        return net.op("DequantizeLinear", net.op("QuantizeLinear", x, scale, zero), scale, zero)

    def conv(x: str, c: int, m: int, k: int) -> str:
        weight = net.constant(np.zeros((m, c, k, k)), np.int8)
        return net.op(
            "Conv", x, net.op("DequantizeLinear", weight, scale, zero), pads=[k // 2] * 4, kernel_shape=[k, k]
        )

    x = stored(net.input(1, 256, 56, 56))
    for _ in range(3):
        y = stored(net.op("Relu", conv(x, 256, 64, 1)))
        y = stored(net.op("Relu", conv(y, 64, 64, 3)))
        x = stored(net.op("Relu", net.add(conv(y, 64, 256, 1), x)))
    return net.model(x)


@named
def graph_convolution() -> Any:
    net = Net("graph_convolution")
    x, adjacency = net.input(2708, 1433), net.input(2708, 2708)
    for c, m in ((1433, 16), (16, 7)):
        x = net.op("Relu", net.op("MatMul", adjacency, net.linear(x, c, m, bias=False)))
    return net.model(net.op("LogSoftmax", x, axis=1))
