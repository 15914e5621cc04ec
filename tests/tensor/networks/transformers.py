"""Public transformers at real sizes: of text, images and sound."""

from __future__ import annotations

from typing import Any

from onnx import TensorProto
from tests.tensor.networks.onnx_writer import Net
from tests.tensor.networks.registry import named


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
