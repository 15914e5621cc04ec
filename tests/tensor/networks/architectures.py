"""Forty public architectures at real sizes, as exporters write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto
from tests.tensor.networks.onnx_writer import Net

ARCHITECTURES: dict[str, Callable[[], Any]] = {}


def named(make: Callable[[], Any]) -> Callable[[], Any]:
    ARCHITECTURES[make.__name__] = make
    return make


def classify(net: Net, x: str, c: int, classes: int = 1000) -> Any:
    x = net.op("Flatten", net.op("GlobalAveragePool", x), axis=1)
    return net.model(net.op("Gemm", x, net.weight(classes, c), net.weight(classes), transB=1))


@named
def alexnet() -> Any:
    net = Net("alexnet")
    x = net.conv(net.input(1, 3, 224, 224), 3, 64, 11, 4, pad=2, bias=True, act="Relu")
    x = net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2])
    x = net.op("LRN", x, size=5)
    x = net.conv(x, 64, 192, 5, bias=True, act="Relu")
    x = net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2])
    for c, m in ((192, 384), (384, 256), (256, 256)):
        x = net.conv(x, c, m, bias=True, act="Relu")
    x = net.reshape(net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2]), 1, -1)
    for c, m in ((9216, 4096), (4096, 4096), (4096, 1000)):
        x = net.act(net.op("Gemm", net.op("Dropout", x), net.weight(m, c), net.weight(m), transB=1), "Relu")
    return net.model(x)


@named
def vgg16() -> Any:
    net = Net("vgg16")
    x, c = net.input("batch", 3, 224, 224), 3
    for m in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
        if m:
            x, c = net.conv(x, c, m, bias=True, act="Relu"), m
        else:
            x = net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net.op("Flatten", x, axis=1)
    for c, m in ((25088, 4096), (4096, 4096), (4096, 1000)):
        x = net.op("Gemm", x, net.weight(m, c), net.weight(m), transB=1)
    return net.model(x)


def resnet(name: str, blocks: tuple[int, ...], *, deep: bool, groups: int = 1, width: int = 64, batch: int = 1) -> Any:
    net = Net(name)
    x = net.conv(net.input(batch, 3, 224, 224), 3, 64, 7, 2, norm=True, act="Relu")
    x, c = net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), 64
    for stage, count in enumerate(blocks):
        for number in range(count):
            s = 2 if stage and not number else 1
            inner, out = width << stage, (64 << stage) * (4 if deep else 1)
            y = net.conv(x, c, inner, 1 if deep else 3, 1 if deep else s, norm=True, act="Relu")
            y = net.conv(y, inner, inner, 3, s if deep else 1, g=groups, norm=True, act="Relu" if deep else "")
            y = net.conv(y, inner, out, 1, norm=True) if deep else y
            if s > 1 or c != out:
                x = net.conv(x, c, out, 1, s, norm=True)
            x, c = net.op("Relu", net.add(y, x)), out
    return classify(net, x, c)


@named
def resnet18() -> Any:
    return resnet("resnet18", (2, 2, 2, 2), deep=False)


@named
def resnet50() -> Any:
    return resnet("resnet50", (3, 4, 6, 3), deep=True, batch=8)


@named
def resnext50() -> Any:
    return resnet("resnext50", (3, 4, 6, 3), deep=True, groups=32, width=128)


@named
def densenet121() -> Any:
    net = Net("densenet121")
    x = net.conv(net.input(1, 3, 224, 224), 3, 64, 7, 2, norm=True, act="Relu")
    x, c = net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), 64
    for stage, count in enumerate((6, 12, 24, 16)):
        for _ in range(count):
            y = net.op("Relu", net.op("BatchNormalization", x, *(net.weight(c) for _ in range(4))))
            y = net.conv(net.conv(y, c, 128, 1, norm=True, act="Relu"), 128, 32)
            x, c = net.op("Concat", x, y, axis=1), c + 32
        if stage < 3:
            x, c = net.conv(x, c, c // 2, 1, act="Relu"), c // 2
            x = net.op("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
    return classify(net, x, c)


@named
def squeezenet() -> Any:
    net = Net("squeezenet")
    x, c = net.conv(net.input(1, 3, 224, 224), 3, 64, 3, 2, bias=True, act="Relu"), 64
    for number, (s, e) in enumerate(((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256))):
        if number in {0, 2, 4}:
            x = net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2])
        y = net.conv(x, c, s, 1, bias=True, act="Relu")
        wide = [net.conv(y, s, e, k, bias=True, act="Relu") for k in (1, 3)]
        x, c = net.op("Concat", *wide, axis=1), 2 * e
    return net.model(net.op("GlobalAveragePool", net.conv(x, c, 1000, 1, bias=True, act="Relu")))


@named
def googlenet() -> Any:
    net = Net("googlenet")
    x = net.conv(net.input(1, 3, 224, 224), 3, 64, 7, 2, act="Relu")
    x = net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    x = net.conv(net.conv(x, 64, 64, 1, act="Relu"), 64, 192, 3, act="Relu")
    x, c = net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1), 192
    for a, b, d, e, f, g in ((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), (192, 96, 208, 16, 48, 64)):
        pool = net.op("MaxPool", x, kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1])
        ways = [
            net.conv(x, c, a, 1, act="Relu"),
            net.conv(net.conv(x, c, b, 1, act="Relu"), b, d, 3, act="Relu"),
            net.conv(net.conv(x, c, e, 1, act="Relu"), e, f, 5, act="Relu"),
            net.conv(pool, c, g, 1, act="Relu"),
        ]
        x, c = net.op("Concat", *ways, axis=1), a + d + f + g
    return classify(net, x, c)


@named
def mobilenet_v1() -> Any:
    net = Net("mobilenet_v1")
    x, c = net.conv(net.input(1, 3, 224, 224), 3, 32, 3, 2, norm=True, act="Relu"), 32
    for m, s in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2), (1024, 1)):
        x = net.conv(x, c, c, 3, s, g=c, norm=True, act="Relu")
        x, c = net.conv(x, c, m, 1, norm=True, act="Relu"), m
    return classify(net, x, c)


def squeeze_excite(net: Net, x: str, c: int, r: int, gate: str = "Sigmoid") -> str:
    y = net.op("ReduceMean", x, net.constant([2, 3]), keepdims=1)
    y = net.conv(net.conv(y, c, r, 1, bias=True, act="Relu"), r, c, 1, bias=True, act=gate)
    return net.op("Mul", x, y)


def inverted(net: Net, x: str, c: int, m: int, k: int, s: int, e: int, *, act: str, excite: int = 0) -> str:
    y = net.conv(x, c, c * e, 1, norm=True, act=act) if e > 1 else x
    y = net.conv(y, c * e, c * e, k, s, g=c * e, norm=True, act=act)
    y = squeeze_excite(net, y, c * e, excite) if excite else y
    y = net.conv(y, c * e, m, 1, norm=True)
    return net.add(x, y) if s == 1 and c == m else y


@named
def mobilenet_v2() -> Any:
    net = Net("mobilenet_v2")
    x, c = net.conv(net.input(1, 3, 224, 224), 3, 32, 3, 2, norm=True, act="Clip"), 32
    settings = (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    )
    for e, m, n, s in settings:
        for number in range(n):
            x, c = inverted(net, x, c, m, 3, 1 if number else s, e, act="Clip"), m
    return classify(net, net.conv(x, c, 1280, 1, norm=True, act="Clip"), 1280)


@named
def mobilenet_v3() -> Any:
    net = Net("mobilenet_v3")
    x, c = net.conv(net.input(1, 3, 224, 224), 3, 16, 3, 2, norm=True, act="HardSwish"), 16
    for e, m, k, s in ((1, 16, 3, 2), (4, 24, 3, 2), (4, 24, 3, 1), (4, 40, 5, 2), (6, 40, 5, 1), (6, 96, 5, 2)):
        x, c = inverted(net, x, c, m, k, s, e, act="HardSwish", excite=c * e // 4), m
    return classify(net, net.conv(x, c, 576, 1, norm=True, act="HardSwish"), 576)


@named
def efficientnet_b0() -> Any:
    net = Net("efficientnet_b0")
    x, c = net.conv(net.input("N", 3, 224, 224), 3, 32, 3, 2, norm=True, act="SiLU"), 32
    settings = ((1, 16, 1, 3, 1), (6, 24, 2, 3, 2), (6, 40, 2, 5, 2), (6, 80, 3, 3, 2), (6, 112, 3, 5, 1),
                (6, 192, 4, 5, 2), (6, 320, 1, 3, 1))  # fmt: skip
    for e, m, n, k, s in settings:
        for number in range(n):
            x, c = inverted(net, x, c, m, k, 1 if number else s, e, act="SiLU", excite=max(1, c // 4)), m
    return classify(net, net.conv(x, c, 1280, 1, norm=True, act="SiLU"), 1280)


@named
def shufflenet_v2() -> Any:
    net = Net("shufflenet_v2")
    x = net.conv(net.input(1, 3, 224, 224), 3, 24, 3, 2, norm=True, act="Relu")
    x = net.conv(net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), 24, 116, 1)
    for _ in range(3):
        left, right = net.op("Split", x, net.constant([58, 58]), axis=1, outputs=2)
        y = net.conv(right, 58, 58, 1, norm=True, act="Relu")
        y = net.conv(net.conv(y, 58, 58, 3, g=58, norm=True), 58, 58, 1, norm=True, act="Relu")
        x = net.op("Concat", left, y, axis=1)
        x = net.reshape(net.transpose(net.reshape(x, 1, 2, 58, 56, 56), 0, 2, 1, 3, 4), 1, 116, 56, 56)
    return classify(net, x, 116)


@named
def convnext_tiny() -> Any:
    net = Net("convnext_tiny")
    x, size = net.conv(net.input(1, 3, 224, 224), 3, 96, 4, 4, pad=0, bias=True), 56
    for stage, (c, n) in enumerate(((96, 3), (192, 3), (384, 9), (768, 3))):
        if stage:
            x, size = net.conv(x, c // 2, c, 2, 2, pad=0, bias=True), size // 2
        for _ in range(n):
            y = net.transpose(net.conv(x, c, c, 7, g=c, bias=True), 0, 2, 3, 1)
            y = net.linear(net.linear(net.layernorm(y, c), c, 4 * c, act="GeluErf"), 4 * c, c)
            x = net.add(x, net.transpose(net.op("Mul", y, net.weight(c)), 0, 3, 1, 2))
    return classify(net, x, 768)


@named
def unet() -> Any:
    net = Net("unet")
    x, c, kept = net.input(1, 1, 512, 512), 1, []
    for m in (64, 128, 256, 512):
        x = net.conv(net.conv(x, c, m, bias=True, act="Relu"), m, m, bias=True, act="Relu")
        kept.append(x)
        x, c = net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), m
    x = net.conv(net.conv(x, 512, 1024, act="Relu"), 1024, 1024, act="Relu")
    for m in (512, 256, 128, 64):
        up = net.op("ConvTranspose", x, net.weight(2 * m, m, 2, 2), net.weight(m), kernel_shape=[2, 2], strides=[2, 2])
        x = net.op("Concat", kept.pop(), up, axis=1)
        x = net.conv(net.conv(x, 2 * m, m, act="Relu"), m, m, act="Relu")
    return net.model(net.op("Softmax", net.conv(x, 64, 2, 1, bias=True), axis=1))


@named
def tiny_yolo() -> Any:
    net = Net("tiny_yolo")
    x, c, route = net.input(1, 3, 416, 416), 3, ""
    for m in (16, 32, 64, 128, 256):
        x = net.op("LeakyRelu", net.conv(x, c, m, norm=True), alpha=0.1)
        route, c = x, m
        x = net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net.conv(net.conv(x, 256, 512, norm=True, act="Relu"), 512, 256, 1, norm=True, act="Relu")
    up = net.op(
        "Resize", net.conv(x, 256, 128, 1, norm=True), "", net.constant([1, 1, 2, 2], np.float32), mode="nearest"
    )
    small = net.conv(net.conv(net.op("Concat", up, route, axis=1), 384, 256, act="Relu"), 256, 255, 1, bias=True)
    return net.model(net.conv(x, 256, 255, 1, bias=True), small)


@named
def espcn() -> Any:
    net = Net("espcn")
    x = net.conv(net.input(1, 1, 540, 960), 1, 64, 5, bias=True, act="Tanh")
    x = net.conv(net.conv(x, 64, 32, 3, bias=True, act="Tanh"), 32, 9, 3, bias=True)
    return net.model(net.op("DepthToSpace", x, blocksize=3, mode="CRD"))


@named
def deeplab_head() -> Any:
    net = Net("deeplab_head")
    x = net.input(1, 2048, 33, 33)
    ways = [net.conv(x, 2048, 256, 1, norm=True, act="Relu")]
    ways += [net.conv(x, 2048, 256, 3, d=d, norm=True, act="Relu") for d in (6, 12, 18)]
    pooled = net.conv(net.op("GlobalAveragePool", x), 2048, 256, 1, act="Relu")
    ways.append(net.op("Resize", pooled, "", "", net.constant([1, 256, 33, 33]), mode="linear"))
    x = net.conv(net.op("Concat", *ways, axis=1), 1280, 256, 1, norm=True, act="Relu")
    x = net.conv(x, 256, 21, 1, bias=True)
    return net.model(
        net.op("ArgMax", net.op("Resize", x, "", "", net.constant([1, 21, 513, 513]), mode="linear"), axis=1)
    )


@named
def resnet3d() -> Any:
    net = Net("resnet3d")
    x, c = net.conv(net.input(1, 3, 16, 112, 112), 3, 64, (3, 7, 7), 2, norm=True, act="Relu", rank=3), 64
    for _ in range(2):
        y = net.conv(net.conv(x, c, c, 3, norm=True, act="Relu", rank=3), c, c, 3, norm=True, rank=3)
        x = net.op("Relu", net.add(x, y))
    return classify(net, x, 64, 400)


@named
def wavenet() -> Any:
    net = Net("wavenet")
    x = net.conv(net.input(1, 1, 16000), 1, 64, 1, bias=True, rank=1)
    skips = []
    for layer in range(10):
        padded = net.op("Pad", x, net.constant([0, 0, 1 << layer, 0, 0, 0]))
        ways = [net.conv(padded, 64, 64, 2, d=1 << layer, pad=0, bias=True, act=a, rank=1) for a in ("Tanh", "Sigmoid")]
        y = net.op("Mul", *ways)
        skips.append(net.conv(y, 64, 128, 1, bias=True, rank=1))
        x = net.add(x, net.conv(y, 64, 64, 1, bias=True, rank=1))
    return net.model(net.conv(net.op("Relu", net.op("Sum", *skips)), 128, 256, 1, bias=True, rank=1))


def encoder(net: Net, x: str, b: int, s: int, c: int, h: int, f: int, layers: int, **more: Any) -> str:
    for _ in range(layers):
        x = net.block(x, b, s, c, h, f, **more)
    return x


def embedded(net: Net, b: int | str, s: int | str, c: int, vocabulary: int) -> str:
    ids = net.input(b, s, name="input_ids", kind=TensorProto.INT64)
    return net.op("Gather", net.weight(vocabulary, c), ids)


@named
def bert_base() -> Any:
    net = Net("bert_base")
    x = net.add(embedded(net, 1, 384, 768, 30522), net.weight(1, 384, 768))
    mask = net.op("Cast", net.input(1, 384, name="attention_mask", kind=TensorProto.INT64), to=TensorProto.FLOAT)
    mask = net.op(
        "Unsqueeze", net.op("Mul", net.op("Sub", net.number(1), mask), net.number(-1e9)), net.constant([1, 2])
    )
    x = encoder(net, net.layernorm(x, 768), 1, 384, 768, 12, 3072, 12, first=False, mask=mask)
    first = net.op("Gather", x, net.constant(0), axis=1)
    return net.model(x, net.op("Tanh", net.op("Gemm", first, net.weight(768, 768), net.weight(768))))


@named
def distilbert_dynamic() -> Any:
    """Shapes are computed in the graph, as PyTorch exports them with dynamic axes."""
    net = Net("distilbert_dynamic")
    x = embedded(net, "batch", "sequence", 768, 30522)

    def size(of: str, axis: int) -> str:
        return net.op("Unsqueeze", net.op("Gather", net.op("Shape", of), net.constant(axis)), net.constant([0]))

    for _ in range(6):
        shape = net.op("Concat", size(x, 0), size(x, 1), net.constant([12]), net.constant([64]), axis=0)
        q, k, v = (net.transpose(net.op("Reshape", net.linear(x, 768, 768), shape), 0, 2, 1, 3) for _ in range(3))
        y = net.transpose(net.attend(q, k, v, 64), 0, 2, 1, 3)
        y = net.op("Reshape", y, net.op("Concat", size(x, 0), size(x, 1), net.constant([768]), axis=0))
        x = net.layernorm(net.add(x, net.linear(y, 768, 768)), 768)
        x = net.layernorm(net.add(x, net.linear(net.linear(x, 768, 3072, act="GeluErf"), 3072, 768)), 768)
    return net.model(x)


@named
def gpt2() -> Any:
    net = Net("gpt2")
    x, c, s = net.add(embedded(net, 1, 1024, 768, 50257), net.weight(1024, 768)), 768, 1024
    mask = net.weight(1, 1, s, s)
    for _ in range(12):
        y = net.reshape(net.layernorm(x, c), s, c)
        y = net.reshape(net.op("Gemm", y, net.weight(c, 3 * c), net.weight(3 * c)), 1, s, 3 * c)
        q, k, v = (
            net.heads(part, 1, s, 12, 64) for part in net.op("Split", y, net.constant([c] * 3), axis=2, outputs=3)
        )
        y = net.reshape(net.transpose(net.attend(q, k, v, 64, mask), 0, 2, 1, 3), 1, s, c)
        x = net.add(x, net.linear(y, c, c))
        x = net.add(x, net.linear(net.linear(net.layernorm(x, c), c, 4 * c, act="GeluErf"), 4 * c, c))
    return net.model(net.linear(net.layernorm(x, c), c, 50257, bias=False))


def rotated(net: Net, x: str, cos: str, sin: str, d: int) -> str:
    """Rotary embedding of (batch, heads, places, d), as Hugging Face writes it."""
    low = net.op("Slice", x, net.constant([0]), net.constant([d // 2]), net.constant([3]))
    high = net.op("Slice", x, net.constant([d // 2]), net.constant([2**62]), net.constant([3]))
    turned = net.op("Concat", net.op("Neg", high), low, axis=-1)
    return net.add(net.op("Mul", x, cos), net.op("Mul", turned, sin))


def llama_block(net: Net, x: str, s: int, t: int, c: int, h: int, g: int, f: int, *, cached: bool = False) -> list[str]:
    d, past = c // h, t - s
    cos, sin = net.input(1, 1, s, d), net.input(1, 1, s, d)
    y = net.rmsnorm(x, c)
    q = rotated(net, net.heads(net.linear(y, c, c, bias=False), 1, s, h, d), cos, sin, d)
    k = rotated(net, net.heads(net.linear(y, c, g * d, bias=False), 1, s, g, d), cos, sin, d)
    v = net.heads(net.linear(y, c, g * d, bias=False), 1, s, g, d)
    if cached:
        k = net.op("Concat", net.input(1, g, past, d), k, axis=2)
        v = net.op("Concat", net.input(1, g, past, d), v, axis=2)

    def repeated(part: str) -> str:
        wide = net.op("Expand", net.op("Unsqueeze", part, net.constant([2])), net.constant([1, g, h // g, t, d]))
        return net.reshape(wide, 1, h, t, d)

    y = net.transpose(net.attend(q, repeated(k), repeated(v), d, net.weight(1, 1, s, t)), 0, 2, 1, 3)
    x = net.add(x, net.linear(net.reshape(y, 1, s, c), c, c, bias=False))
    y = net.rmsnorm(x, c)
    gate = net.act(net.linear(y, c, f, bias=False), "SiLU")
    x = net.add(x, net.linear(net.op("Mul", gate, net.linear(y, c, f, bias=False)), f, c, bias=False))
    return [x, k, v] if cached else [x]


@named
def llama_7b_block() -> Any:
    net = Net("llama_7b_block", kind=TensorProto.FLOAT16)
    return net.model(*llama_block(net, net.input(1, 2048, 4096), 2048, 2048, 4096, 32, 32, 11008))


@named
def llama3_8b_block_gqa() -> Any:
    net = Net("llama3_8b_block_gqa", kind=TensorProto.BFLOAT16)
    return net.model(*llama_block(net, net.input(1, 1024, 4096), 1024, 1024, 4096, 32, 8, 14336))


@named
def mistral_decode() -> Any:
    net = Net("mistral_decode", kind=TensorProto.FLOAT16)
    return net.model(*llama_block(net, net.input(1, 1, 4096), 1, 2048, 4096, 32, 8, 14336, cached=True))


@named
def gpt_neox_block() -> Any:
    net = Net("gpt_neox_block")
    x, c = net.input(1, 512, 2048), 2048
    y = net.attention(net.layernorm(x, c), 1, 512, c, 16)
    z = net.linear(net.linear(net.layernorm(x, c), c, 4 * c, act="GeluErf"), 4 * c, c)
    return net.model(net.op("Sum", x, y, z))


@named
def t5_block() -> Any:
    net = Net("t5_block")
    x, bias, c = net.input(1, 512, 512), net.weight(1, 8, 512, 512), 512
    memory = net.input(1, 128, 512)
    x = net.add(x, net.attention(net.rmsnorm(x, c), 1, 512, c, 8, mask=bias))
    x = net.add(x, net.attention(net.rmsnorm(x, c), 1, 512, c, 8, source=memory, t=128))
    return net.model(net.add(x, net.linear(net.linear(net.rmsnorm(x, c), c, 2048, act="Relu"), 2048, c)))


@named
def vit_b16() -> Any:
    net = Net("vit_b16")
    x = net.conv(net.input(1, 3, 224, 224), 3, 768, 16, 16, pad=0, bias=True)
    x = net.transpose(net.reshape(x, 1, 768, 196), 0, 2, 1)
    x = net.add(net.op("Concat", net.weight(1, 1, 768), x, axis=1), net.weight(1, 197, 768))
    x = net.layernorm(encoder(net, x, 1, 197, 768, 12, 3072, 12), 768)
    return net.model(net.linear(net.op("Gather", x, net.constant(0), axis=1), 768, 1000))


@named
def swin_block() -> Any:
    net = Net("swin_block")
    x, c, w, n = net.input(1, 56, 56, 96), 96, 7, 8
    y = net.layernorm(x, c)
    for axis in (1, 2):  # a cyclic shift
        front = net.op("Slice", y, net.constant([3]), net.constant([56]), net.constant([axis]))
        y = net.op(
            "Concat", front, net.op("Slice", y, net.constant([0]), net.constant([3]), net.constant([axis])), axis=axis
        )
    y = net.transpose(net.reshape(y, 1, n, w, n, w, c), 0, 1, 3, 2, 4, 5)
    y = net.attention(net.reshape(y, n * n, w * w, c), n * n, w * w, c, 3, mask=net.weight(1, 3, 49, 49))
    y = net.reshape(net.transpose(net.reshape(y, 1, n, n, w, w, c), 0, 1, 3, 2, 4, 5), 1, 56, 56, c)
    x = net.add(x, y)
    return net.model(net.add(x, net.linear(net.linear(net.layernorm(x, c), c, 4 * c, act="GeluErf"), 4 * c, c)))


@named
def whisper_encoder() -> Any:
    net = Net("whisper_encoder")
    x = net.conv(net.input(1, 80, 3000), 80, 384, 3, bias=True, act="GeluErf", rank=1)
    x = net.transpose(net.conv(x, 384, 384, 3, 2, bias=True, act="GeluErf", rank=1), 0, 2, 1)
    return net.model(net.layernorm(encoder(net, net.add(x, net.weight(1500, 384)), 1, 1500, 384, 6, 1536, 4), 384))


@named
def clip_text() -> Any:
    net = Net("clip_text")
    x = net.add(embedded(net, 4, 77, 512, 49408), net.weight(77, 512))
    return net.model(net.layernorm(encoder(net, x, 4, 77, 512, 8, 2048, 12, mask=net.weight(1, 1, 77, 77)), 512))


@named
def mixture_of_experts() -> Any:
    net = Net("mixture_of_experts")
    x = net.input(256, 1024)
    gates = net.op("Softmax", net.linear(x, 1024, 8, bias=False), axis=-1)
    best, _ = net.op("TopK", gates, net.constant([2]), axis=-1, outputs=2)
    floor = net.op("ReduceMin", best, net.constant([1]), keepdims=1)
    gates = net.op("Where", net.op("GreaterOrEqual", gates, floor), gates, net.number(0))
    total = ""
    for number in range(8):
        y = net.linear(net.linear(x, 1024, 4096, act="GeluErf"), 4096, 1024)
        y = net.op(
            "Mul", y, net.op("Slice", gates, net.constant([number]), net.constant([number + 1]), net.constant([1]))
        )
        total = net.add(total, y) if total else y
    return net.model(total)


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
