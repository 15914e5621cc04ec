"""A second dozen of architectures, written after the reader was done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto
from tests.tensor.networks.onnx_writer import Net

HELD_BACK: dict[str, Callable[[], Any]] = {}


def named(make: Callable[[], Any]) -> Callable[[], Any]:
    HELD_BACK[make.__name__] = make
    return make


@named
def inception_factorised() -> Any:
    net = Net("inception_factorised")
    x = net.input(1, 768, 17, 17)
    tall = net.op("Conv", net.conv(x, 768, 160, 1), net.weight(160, 160, 7, 1), pads=[3, 0, 3, 0])
    wide = net.op("Conv", tall, net.weight(192, 160, 1, 7), pads=[0, 3, 0, 3])
    pool = net.op("AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    return net.model(net.op("Concat", net.conv(x, 768, 192, 1), wide, net.conv(pool, 768, 192, 1), axis=-3))


@named
def fpn() -> Any:
    net = Net("fpn")
    maps = [net.input(1, c, s, s) for c, s in ((256, 200), (512, 100), (1024, 50), (2048, 25))]
    lateral = [net.conv(x, c, 256, 1, bias=True) for x, c in zip(maps, (256, 512, 1024, 2048), strict=True)]
    outputs = [lateral[3]]
    for x in lateral[2::-1]:
        size = net.op("Shape", x)
        up = net.op("Resize", outputs[-1], "", "", size, mode="nearest", coordinate_transformation_mode="asymmetric")
        outputs.append(net.add(x, up))
    return net.model(*(net.conv(x, 256, 256, 3, bias=True) for x in outputs))


@named
def stylegan_block() -> Any:
    net = Net("stylegan_block")
    x, w = net.input(1, 512, 32, 32), net.input(1, 512)
    style = net.op(
        "Reshape", net.op("Gemm", w, net.weight(512, 512), net.weight(512), transB=1), net.constant([0, -1, 1, 1])
    )
    up = net.op("ConvTranspose", net.op("Mul", x, style), net.weight(512, 256, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1],
                output_padding=[1, 1])  # fmt: skip
    return net.model(net.op("LeakyRelu", net.op("InstanceNormalization", up, net.weight(256), net.weight(256))))


@named
def tcn() -> Any:
    net = Net("tcn")
    x = net.input("N", 25, 400)
    x = net.op("Conv", x, net.weight(64, 25, 3), auto_pad="SAME_UPPER", dilations=[1])
    for d in (2, 4, 8):
        y = net.op("PRelu", net.conv(x, 64, 64, 3, d=d, rank=1, norm=True), net.weight(64, 1))
        x = net.add(x, y)
    return net.model(net.op("Squeeze", net.op("GlobalMaxPool", x), net.constant([2])))


@named
def attention_operator() -> Any:
    net = Net("attention_operator", opset=23)
    q, k, v = (net.input(1, h, 512, 64) for h in (16, 4, 4))
    return net.model(net.op("Attention", q, k, v, is_causal=1))


@named
def gemma_block() -> Any:
    net = Net("gemma_block", opset=23, kind=TensorProto.BFLOAT16)
    x, c = net.input(1, "s", 2048), 2048
    y = net.op("RMSNormalization", x, net.weight(c), axis=-1)
    gate = net.op("Gelu", net.linear(y, c, 8192, bias=False), approximate="tanh")
    y = net.linear(net.op("Mul", gate, net.linear(y, c, 8192, bias=False)), 8192, c, bias=False)
    return net.model(net.add(x, y))


@named
def linear_attention() -> Any:
    net = Net("linear_attention")
    q, k, v = (net.op("Elu", net.input(2, 8, 1024, 64)) for _ in range(3))
    state = net.op("Einsum", k, v, equation="bhnd,bhne->bhde")
    norm = net.op(
        "Reciprocal",
        net.op("Einsum", q, net.op("ReduceSum", k, net.constant([2]), keepdims=0), equation="bhnd,bhd->bhn"),
    )
    return net.model(net.op("Einsum", q, state, norm, equation="bhnd,bhde,bhn->bhne"))


@named
def window_unfolded() -> Any:
    net = Net("window_unfolded")
    x = net.input(1, 64, 56, 56)
    y = net.op("SpaceToDepth", net.op("Pad", x, net.constant([0, 0, 2, 2, 0, 0, 2, 2]), mode="reflect"), blocksize=2)
    y = net.op("GroupNormalization", y, net.weight(8), net.weight(8), num_groups=8)
    return net.model(net.op("Clip", net.conv(y, 256, 64, 1), net.number(0), net.number(6)))


@named
def quantised_products() -> Any:
    net = Net("quantised_products", opset=21)
    scale, zero = net.constant(0.1, np.float32), net.constant(0, np.uint8)
    x = net.input(1, 128, 256, kind=TensorProto.UINT8)
    w = net.constant(np.ones((256, 512)), np.uint8)
    y = net.op("QLinearMatMul", x, scale, zero, w, scale, zero, scale, zero)
    wide = net.op("MatMulInteger", y, net.constant(np.ones((512, 64)), np.uint8))
    return net.model(net.op("Cast", wide, to=TensorProto.FLOAT16))


@named
def recurrent_encoder() -> Any:
    net = Net("recurrent_encoder")
    x = net.input(50, 4, 128)
    y, last = net.op("GRU", x, net.weight(2, 384, 128), net.weight(2, 384, 128), hidden_size=128, direction="bidirectional",
                     outputs=2)  # fmt: skip
    y = net.reshape(net.transpose(y, 0, 2, 1, 3), 50, 4, 256)
    return net.model(net.linear(y, 256, 40), last)


@named
def detection_head() -> Any:
    net = Net("detection_head")
    x = net.conv(net.input(1, 256, 40, 40), 256, 255, 1, bias=True)
    x = net.op("Sigmoid", net.transpose(net.reshape(x, 1, 3, 85, 40, 40), 0, 1, 3, 4, 2))
    xy = net.op("Slice", x, net.constant([0]), net.constant([2]), net.constant([-1]))
    rest = net.op("Slice", x, net.constant([2]), net.constant([85]), net.constant([-1]))
    xy = net.op("Mul", net.add(xy, net.weight(1, 1, 40, 40, 2)), net.number(8))
    boxes = net.reshape(net.op("Concat", xy, rest, axis=-1), 1, 4800, 85)
    scores = net.transpose(net.op("Slice", boxes, net.constant([5]), net.constant([85]), net.constant([2])), 0, 2, 1)
    corners = net.op("Slice", boxes, net.constant([0]), net.constant([4]), net.constant([2]))
    return net.model(net.op("NonMaxSuppression", corners, scores, net.constant([100])))


@named
def state_space_scan() -> Any:
    net = Net("state_space_scan")
    x = net.input(1, 512, 1024)
    y = net.act(
        net.transpose(net.conv(net.transpose(x, 0, 2, 1), 1024, 1024, 4, g=1024, pad=3, rank=1), 0, 2, 1), "SiLU"
    )
    y = net.op("Slice", y, net.constant([0]), net.constant([512]), net.constant([1]))
    decay = net.op("CumSum", net.op("Softplus", net.linear(y, 1024, 1024)), net.constant(1))
    y = net.op("Mul", y, net.op("Exp", net.op("Neg", decay)))
    return net.model(net.op("Tile", net.op("ReduceMax", y, net.constant([1])), net.constant([1, 3, 1])))
