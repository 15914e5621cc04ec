"""Public convolutional networks at real sizes: of images, volumes and sound."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.tensor.networks.onnx_writer import Net
from tests.tensor.networks.registry import named


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
