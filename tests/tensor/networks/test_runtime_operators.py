"""Operators of onnxruntime: taken apart, and equal to what they are defined as."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.reference.runtime_attention import attended, by_head, turned
from tests.tensor.networks.onnx_writer import Net
from tests.tensor.networks.small_networks import machine

from shorthaul.core.search import Search
from shorthaul.tensor.networks.execution.verdict import execute
from shorthaul.tensor.networks.translation.network import network_from_onnx
from shorthaul.tensor.verbs.network_search import planned

Array = npt.NDArray[Any]
OWN = "com.microsoft"
RNG = np.random.default_rng(0)


def computed(
    model: Any, path: Path, given: dict[str, Any] | None = None, barriers: int = 0
) -> tuple[dict[str, Array], list[Array]]:
    """Return inputs and weights by name, and the outputs of a plan that is executed."""
    network = network_from_onnx(model.SerializeToString())
    assert sum(item.barrier for item in network.operators) == barriers
    plan, replayed = planned(network, machine(10**5), Search(effort=0.1))
    assert not replayed.violations
    values = {}
    for value in model.graph.input:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        values[value.name] = RNG.standard_normal(shape)
    values |= given or {}
    np.savez(path / "inputs.npz", **values)
    made = execute(network, plan, str(path / "inputs.npz"), Search(seed=1)).outputs
    weights = {tensor.name: numpy_helper.to_array(tensor).astype(float) for tensor in model.graph.initializer}
    return values | weights, [made[value.name] for value in model.graph.output]


def near(found: Array, expected: Array) -> None:
    """Constants are of single precision, as the models are."""
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("mask", "past", "ahead"), [("", 0, False), ("places", 4, False), ("rows", 0, True), ("ends", 0, True)]
)
def test_attention_of_one_product(mask: str, past: int, ahead: bool, tmp_path: Path) -> None:
    net, b, s, n, h = Net("attention", filled=True), 2, 5, 3, 4
    t, wide = s + past, h if past else 2 * h
    x, w, bias = net.input(b, s, n * h), net.weight(n * h, n * (2 * h + wide)), net.weight(n * (2 * h + wide))
    masks = {"places": np.ones((b, t)), "rows": np.tril(np.ones((b, s, t))), "ends": np.array([t - 2, t])}
    masks["places"][0, -2:] = 0
    given = {"mask": masks[mask].astype(np.int32)} if mask else {}
    inputs = [x, w, bias, net.input(*masks[mask].shape, name="mask", kind=TensorProto.INT32) if mask else ""]
    inputs += [net.input(2, b, n, past, h)] if past else []
    more = {"qkv_hidden_sizes": [n * h, n * h, n * wide]} if not past else {}
    names = net.op("Attention", *inputs, domain=OWN, outputs=1 + bool(past), num_heads=n, unidirectional=int(ahead),
                   **more)  # fmt: skip
    v, (made, *kept) = computed(net.model(*(names if past else [names])), tmp_path, given)
    product = v[x] @ v[w] + v[bias]
    q, k, values = (by_head(part, n) for part in np.split(product, [n * h, 2 * n * h], axis=2))
    if past:
        k, values = (np.concatenate([v[inputs[4]][at], part], 2) for at, part in enumerate((k, values)))
        near(kept[0], np.stack([k, values]))

    def seen(sample: int, query: int, key: int) -> bool:
        allowed = not ahead or key <= query + past
        if mask == "places":
            return allowed and bool(masks[mask][sample, key])
        return allowed and (
            bool(masks[mask][sample, query, key]) if mask == "rows" else mask != "ends" or key < masks[mask][sample]
        )

    near(made, attended(q, k, values, seen=seen))


@pytest.mark.costly
@pytest.mark.parametrize("form", ["apart", "packed", "two packed", "by head"])
def test_attention_of_many_heads(form: str, tmp_path: Path) -> None:
    net, b, s, n, h = Net("many heads", filled=True), 2, 5, 3, 4
    t = s if form in {"apart", "packed"} else 7
    queries = {"packed": (b, s, n, 3, h)}.get(form, (b, s, n * h))
    keys = {"packed": None, "two packed": (b, t, n, 2, h), "by head": (b, n, t, h)}.get(form, (b, t, n * h))
    inputs = [net.input(*queries), net.input(*keys) if keys else ""]
    inputs.append(net.input(*keys) if keys and form != "two packed" else "")
    past = 2 if form == "apart" else 0
    inputs += [net.weight(3 * n * h) if form in {"apart", "packed"} else "", "", net.input(1, n, s, t + past)]
    inputs += [net.input(b, n, past, h) for _ in range(2)] if past else []
    y, key, value = net.op(
        "MultiHeadAttention", *inputs, domain=OWN, outputs=3, num_heads=n, unidirectional=int(past > 0)
    )
    v, (made, *kept) = computed(net.model(y, key, value), tmp_path)
    bias = v[inputs[3]].reshape(3, 1, n, 1, h) if inputs[3] else np.zeros((3, 1, 1, 1, 1))
    if form == "packed":
        parts = [v[inputs[0]][:, :, :, at].transpose(0, 2, 1, 3) for at in range(3)]
    elif form == "two packed":
        parts = [by_head(v[inputs[0]], n), *(v[inputs[1]][:, :, :, at].transpose(0, 2, 1, 3) for at in range(2))]
    elif form == "by head":
        parts = [by_head(v[inputs[0]], n), v[inputs[1]], v[inputs[2]]]
    else:
        parts = [by_head(v[name], n) for name in inputs[:3]]
    q, k, values = (part + each for part, each in zip(parts, bias, strict=True))
    if past:
        k, values = (np.concatenate([v[inputs[6 + at]], part], 2) for at, part in enumerate((k, values)))
    near(made, attended(q, k, values, bias=v[inputs[5]], seen=lambda _, i, j: not past or j <= i + past))
    for found, expected in zip(kept, (k, values), strict=True):
        near(found, expected)


GROUPED: dict[str, dict[str, Any]] = {
    "prompt": {"places": 5},
    "packed and turned": {"places": 4, "packed": True, "rotary": True},
    "next word": {"places": 1, "past": 6, "rotary": True, "interleaved": True},
    "window": {"places": 3, "past": 4, "window": 3, "cap": 2.0},
    "samples of different length": {"batch": 2, "places": 2, "past": 6, "lengths": [5, 8], "rotary": True, "window": 4},
    "cache of a fixed size": {"batch": 2, "places": 1, "past": 8, "fixed": True, "lengths": [6, 8], "rotary": True},
    "sink": {"places": 3, "past": 2, "sink": True},
}


@pytest.mark.costly
@pytest.mark.parametrize("name", GROUPED)
def test_grouped_queries(name: str, tmp_path: Path) -> None:
    case = {"batch": 1, "past": 0, "window": -1, "cap": 0.0, **GROUPED[name]}
    net, b, s, p, n, g, h = Net("grouped", filled=True), case["batch"], case["places"], case["past"], 4, 2, 8
    cached = p - s if case.get("fixed") else p
    totals = np.array(case.get("lengths", [cached + s] * b))
    before = totals - s
    given = {"lengths": (totals - 1).astype(np.int32), "total": np.array([cached + s], np.int32)}
    widths = [(n + 2 * g) * h] if case.get("packed") else [n * h, g * h, g * h]
    inputs = [net.input(b, s, width) for width in widths] + ["", ""] * case.get("packed", False)
    inputs += [net.input(b, g, p, h) for _ in range(2)] if p else ["", ""]
    inputs += [net.input(b, name="lengths", kind=TensorProto.INT32), net.input(1, name="total", kind=TensorProto.INT32)]
    angles = np.outer(np.arange(12), 1 / 10.0 ** np.arange(h // 2)).astype(np.float32)
    inputs += [net.constant(f(angles), np.float32) for f in (np.cos, np.sin)] if case.get("rotary") else ["", ""]
    inputs += ["", "", net.input(n)] if case.get("sink") else []
    y, key, value = net.op("GroupQueryAttention", *inputs, domain=OWN, outputs=3, num_heads=n, kv_num_heads=g,
                           do_rotary=int(case.get("rotary", False)), local_window_size=case["window"],
                           rotary_interleaved=int(case.get("interleaved", False)), softcap=case["cap"])  # fmt: skip
    model = net.model(y, key, value)
    if case.get("fixed"):
        for output in model.graph.output[1:]:
            name_of_output = output.name
            output.CopyFrom(net.inputs[3])
            output.name = name_of_output
    v, (made, *kept) = computed(model, tmp_path, given)
    flat = v[inputs[0]] if case.get("packed") else np.concatenate([v[part] for part in inputs[:3]], 2)
    q, k, values = (
        by_head(part, heads) for part, heads in zip(np.split(flat, [n * h, (n + g) * h], 2), (n, g, g), strict=True)
    )
    if case.get("rotary"):
        at = before[:, None] + np.arange(s)
        more = {"interleaved": case.get("interleaved", False)}
        q, k = (turned(part, at, v[inputs[7]], v[inputs[8]], **more) for part in (q, k))
    if p:
        k, values = (np.concatenate([v[inputs[3 + at]][:, :, :cached], part], 2) for at, part in enumerate((k, values)))

    def seen(sample: int, query: int, key: int) -> bool:
        place = key if key < cached else int(before[sample]) + key - cached
        there = key >= cached or key < before[sample]
        here = int(before[sample]) + query
        return bool(there and place <= here and (case["window"] < 0 or place > here - case["window"]))

    near(made, attended(q, k, values, seen=seen, cap=case["cap"], sink=v[inputs[11]] if case.get("sink") else None))
    for found, expected in zip(kept, (k, values), strict=True):
        near(found, expected)


@pytest.mark.costly
@pytest.mark.parametrize("kind", ["PER_TENSOR", "PER_CHANNEL"])
def test_caches_of_8_bits(kind: str, tmp_path: Path) -> None:
    """New keys and values are rounded as those of earlier places were, and read as rounded."""
    net, n, g, h, p, s = Net("quantised", filled=True), 4, 2, 8, 5, 2
    flat = [net.input(1, s, heads * h) for heads in (n, g, g)]
    past = [net.input(1, g, p, h, name=name, kind=TensorProto.INT8) for name in ("keys", "values")]
    counts = [net.constant([p + s - 1], np.int32), net.constant([p + s], np.int32)]
    shape = (1,) if kind == "PER_TENSOR" else (1, g, 1, h)
    factors = [RNG.uniform(0.01, 0.02, shape).astype(np.float32) for _ in range(2)]
    scales = [net.constant(factor, np.float32) for factor in factors]
    outputs = net.op("GroupQueryAttention", *flat, *past, *counts, *[""] * 5, *scales, domain=OWN, outputs=3,
                     num_heads=n, kv_num_heads=g, k_quant_type=kind, v_quant_type=kind, kv_cache_bit_width=8)  # fmt: skip
    given = {name: RNG.integers(-100, 100, (1, g, p, h)).astype(np.int8) for name in ("keys", "values")}
    v, (made, *kept) = computed(net.model(*outputs), tmp_path, given)
    whole = []
    for number, factor in enumerate(factors):
        new = np.clip(np.round(by_head(v[flat[1 + number]], g) / factor), -128, 127)
        whole.append(np.concatenate([given["keys" if number == 0 else "values"], new], 2))
        assert np.array_equal(kept[number], whole[number])
    read = (rounded * factor for rounded, factor in zip(whole, factors, strict=True))
    near(made, attended(by_head(v[flat[0]], n), *read, seen=lambda _, query, key: key <= p + query, cap=0.0, sink=None))


@pytest.mark.costly
@pytest.mark.parametrize(
    ("flat", "one", "interleaved"), [(True, False, False), (False, True, True), (True, True, False)]
)
def test_rotary_embedding(flat: bool, one: bool, interleaved: bool, tmp_path: Path) -> None:
    net, b, n, s, h = Net("rotary", filled=True), 2, 3, 4, 8
    x = net.input(b, s, n * h) if flat else net.input(b, n, s, h)
    at = np.array([3]) if one else np.array([[0, 1, 2, 3], [5, 2, 7, 1]])
    angles = np.outer(np.arange(9), 1 / 10.0 ** np.arange(h // 4))
    tables = [net.constant(f(angles), np.float32) for f in (np.cos, np.sin)]
    positions = net.input(*at.shape, name="at", kind=TensorProto.INT64)
    y = net.op("RotaryEmbedding", x, positions, *tables, domain=OWN, interleaved=int(interleaved), num_heads=n,
               rotary_embedding_dim=h // 2)  # fmt: skip
    v, (made,) = computed(net.model(net.op("Tanh", y)), tmp_path, {"at": at})
    places = at + np.arange(s) if one else at
    found = turned(by_head(v[x], n) if flat else v[x], np.broadcast_to(places, (b, s)), v[tables[0]], v[tables[1]],
                   interleaved=interleaved)  # fmt: skip
    near(made, np.tanh(found.transpose(0, 2, 1, 3).reshape(b, s, -1) if flat else found))


def test_groups_of_channels_that_come_last(tmp_path: Path) -> None:
    net = Net("groups", filled=True)
    x, more, bias = net.input(2, 4, 5, 8), net.input(2, 4, 5, 8), net.input(2, 8)
    factors = [net.weight(8) for _ in range(4)]
    first = net.op("GroupNorm", x, *factors[:2], domain=OWN, groups=4, activation=1)
    y, total = net.op("SkipGroupNorm", first, *factors[2:], more, bias, domain=OWN, groups=2, outputs=2)
    z = net.op("BiasSplitGelu", y, net.weight(8), domain=OWN)
    weights, kernel = [tensor.name for tensor in net.weights], net.weight(3, 2, 2, 4)
    made = net.op("NhwcConv", z, kernel, domain=OWN, kernel_shape=[2, 2])
    v, found = computed(net.model(y, total, made), tmp_path)

    def normalised(x: Array, scale: Array, shift: Array, groups: int) -> Array:
        rows = x.reshape(*x.shape[:3], groups, -1)
        rows = rows - rows.mean((1, 2, 4), keepdims=True)
        return (rows / np.sqrt((rows**2).mean((1, 2, 4), keepdims=True) + 1e-5)).reshape(x.shape) * scale + shift

    expected = normalised(v[x], v[factors[0]], v[factors[1]], 4)
    expected = expected / (1 + np.exp(-expected)) + v[more] + v[bias][:, None, None]
    near(found[1], expected)
    expected = normalised(expected, v[factors[2]], v[factors[3]], 2)
    near(found[0], expected)
    from scipy.special import erf

    halves = np.split(expected + v[weights[-1]], 2, axis=-1)
    gated = halves[0] * halves[1] * 0.5 * (1 + erf(halves[1] / np.sqrt(2)))
    parts = [gated[:, y : 3 + y, x : 4 + x] @ v[kernel][:, y, x].T for y in range(2) for x in range(2)]
    near(found[2], sum(parts, np.zeros(())))


def test_quantised_by_range_and_in_parts(tmp_path: Path) -> None:
    net = Net("quantised", filled=True)
    x = net.input(4, 16)
    weights = np.random.default_rng(1).integers(0, 255, (16, 12))
    names = [net.constant(weights, np.uint8), net.constant(0.02, np.float32), net.constant(128, np.uint8)]
    y = net.op("DynamicQuantizeMatMul", x, *names, net.weight(12), domain=OWN)
    v, (made,) = computed(net.model(y), tmp_path)
    least, most = min(0.0, v[x].min()), max(0.0, v[x].max())
    scale = (most - least) / 255
    zero = np.rint(-least / scale)
    rows = np.clip(np.rint(v[x] / scale) + zero, 0, 255) - zero
    near(made, rows * scale @ ((weights - 128) * 0.02) + v["w3"])
    net = Net("parts")
    a, s, z = net.input(1, 2, 4, 4, kind=TensorProto.UINT8), net.constant(0.02, np.float32), net.constant(128, np.uint8)
    other = net.constant(0.01, np.float32)
    joined = net.op("QLinearConcat", s, z, a, other, z, a, s, z, domain=OWN, axis=1)
    pooled = net.op("QLinearGlobalAveragePool", joined, s, z, s, z, domain=OWN)
    given = np.random.default_rng(2).integers(0, 255, (1, 2, 4, 4)).astype(np.uint8)
    v, (made,) = computed(net.model(pooled), tmp_path, {a: given})
    near_half = np.rint((given - 128.0) / 2)
    means = np.concatenate([near_half, given - 128.0], 1).mean((2, 3), keepdims=True)
    np.testing.assert_array_equal(made, np.rint(means) + 128)


def packed_last(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Put several numbers of few bits into each byte, along the last axis, the first in its lowest bits."""
    count = 8 // bits
    padded = np.pad(numbers, [*[(0, 0)] * (numbers.ndim - 1), (0, -numbers.shape[-1] % count)])
    several = padded.reshape(*padded.shape[:-1], -1, count)
    return np.asarray((several << np.arange(count) * bits).sum(-1))


@pytest.mark.parametrize(
    ("few_bits", "kind", "shared", "zeros"),
    [
        *((0, "silu", 1, None), (0, "swiglu", 0, None), (4, "swiglu", 1, None), (8, "relu", 1, None)),
        *((4, "relu", 1, "rows"), (8, "silu", 1, "rows"), (4, "swiglu", 1, "blocks")),
    ],
)
def test_experts_get_the_tokens_that_are_sent_to_them(
    few_bits: int, kind: str, shared: int, zeros: str | None, tmp_path: Path
) -> None:
    """Each token alone, expert by expert; as onnxruntime 1.32 computes it, which was compared once."""
    t, c, f, e, k = (5, 32, 48, 4, 2) if zeros == "blocks" else (5, 8, 6, 4, 2)
    wide = 2 * f if kind == "swiglu" else f
    net = Net("experts", filled=True)
    x, scores = net.input(1, t, c), net.input(t, e)
    numbers, parts, last = [], [], []
    for rows, columns in ((wide, c), (c, f)):
        if few_bits:
            packed = RNG.integers(0, 256, (e, rows, columns * few_bits // 8))
            blocks = (columns // 16,) if zeros == "blocks" else ()
            scale = RNG.uniform(0.01, 0.1, (e, rows, *blocks)).astype(np.float32)
            whole = np.stack([packed >> at & 2**few_bits - 1 for at in range(0, 8, few_bits)], -1)
            zero = (
                RNG.integers(0, 2**few_bits, (e, rows, *blocks)) if zeros else np.full((e, rows), 2 ** (few_bits - 1))
            )
            by_input = [
                np.repeat(item.reshape(e, rows, -1), columns // (blocks or (1,))[0], -1) for item in (zero, scale)
            ]
            numbers.append((whole.reshape(e, rows, columns) - by_input[0]) * by_input[1])
            parts += [net.constant(packed, np.uint8), net.constant(scale, np.float32)]
            last.append(net.constant(packed_last(zero, few_bits), np.uint8) if zeros else "")
        else:
            numbers.append(RNG.standard_normal((e, rows, columns)).astype(np.float32))
            parts.append(net.constant(numbers[-1], np.float32))
        parts.append("")
    more = {"expert_weight_bits": few_bits} if few_bits else {}
    more |= {"swiglu_fusion": 1, "activation_beta": 1.0} if kind == "swiglu" else {}
    more |= {"block_size": 16} if zeros == "blocks" else {}
    parts += ["", "", "", *last] if zeros else []
    y = net.op("QMoE" if few_bits else "MoE", x, scores, *parts, domain=OWN, k=k, activation_type=kind,
               normalize_routing_weights=shared, **more)  # fmt: skip
    values, (found,) = computed(net.model(net.op("Neg", y)), tmp_path, barriers=1)
    for token, score, made in zip(values[x][0], values[scores], found[0], strict=True):
        best = np.argsort(-score)[:k]
        share = np.exp(score[best]) / (np.exp(score[best]).sum() if shared else np.exp(score).sum())
        expected = np.zeros(c)
        for expert, part in zip(best, share, strict=True):
            inside = numbers[0][expert] @ token
            if kind == "swiglu":
                inside = inside[::2] / (1 + np.exp(-inside[::2])) * (inside[1::2] + 1)
            inside = np.maximum(inside, 0) if kind == "relu" else inside
            inside = inside / (1 + np.exp(-inside)) if kind == "silu" else inside
            expected += part * (numbers[1][expert] @ inside)
        near(made, -expected)


@pytest.mark.parametrize("packed", [True, False])
def test_rows_of_a_table_of_few_bits(packed: bool, tmp_path: Path) -> None:
    net, random = Net("rows", opset=21, filled=True), np.random.default_rng(3)
    table, scales = random.integers(0, 16, (9, 48)), random.uniform(0.1, 0.2, (9, 3))
    zeros = random.integers(0, 16, (9, 3))
    at = net.input(2, 4, kind=TensorProto.INT64)
    if packed:
        data, zero = (net.constant(packed_last(each, 4), np.uint8) for each in (table, zeros))
    else:
        data, zero = (f"few{number}" for number in range(2))
        few = ((data, table), (zero, zeros))
        net.weights += [helper.make_tensor(n, TensorProto.UINT4, v.shape, v.ravel().tolist()) for n, v in few]
    more = {"bits": 4} if packed else {}
    inputs = (data, at, net.constant(scales, np.float32), zero)
    y = net.op("GatherBlockQuantized", *inputs, domain=OWN, block_size=16, quantize_axis=1, **more)
    v, (made,) = computed(net.model(net.op("Sin", y)), tmp_path, {at: random.integers(0, 9, (2, 4))})
    numbers = (table.reshape(9, 3, 16) - zeros[..., None]) * scales.astype(np.float32)[..., None]
    near(made, np.sin(numbers.reshape(9, 48)[v[at]]))


def test_sums_and_factors_of_quantised_numbers(tmp_path: Path) -> None:
    """Each as real numbers, rounded once; rows of the second are broadcast, no result lies midway."""
    net, random = Net("pairs"), np.random.default_rng(5)
    x, y = (net.input(*size, kind=TensorProto.UINT8) for size in ((3, 4), (4,)))
    s, by, z = net.constant(0.25, np.float32), net.constant(0.375, np.float32), net.constant(128, np.uint8)
    names = [net.op(kind, x, s, z, y, by, z, by, z, domain=OWN) for kind in ("QLinearAdd", "QLinearMul")]
    names += [net.op("QLinearSigmoid", x, s, z, by, z, domain=OWN)]
    names += [net.op("QLinearLeakyRelu", x, s, z, by, z, domain=OWN, alpha=0.3)]
    given = {x: random.integers(0, 255, (3, 4)).astype(np.uint8), y: random.integers(0, 255, 4).astype(np.uint8)}
    _, made = computed(net.model(*names), tmp_path, given)
    one, other = (given[x] - 128.0) / 4, (given[y] - 128.0) * 0.375
    real = (one + other, one * other, 1 / (1 + np.exp(-one)), np.where(one < 0, np.float32(0.3) * one, one))
    for found, expected in zip(made, real, strict=True):
        np.testing.assert_array_equal(found, np.clip(np.rint(expected / 0.375) + 128, 0, 255))


def test_quantised_windows_whose_channels_come_last(tmp_path: Path) -> None:
    net, random = Net("channels last"), np.random.default_rng(4)
    x, s, z = net.input(1, 6, 6, 3, kind=TensorProto.UINT8), net.constant(2**-6, np.float32), net.constant(99, np.uint8)
    kernel = random.integers(-20, 20, (4, 3, 2, 2))
    weights = (net.constant(kernel, np.int8), net.constant(2**-5, np.float32), net.constant(0, np.int8))
    y = net.op("QLinearConv", x, s, z, *weights, s, z, domain=OWN, channels_last=1, kernel_shape=[2, 2])
    y = net.op("NhwcMaxPool", y, domain=OWN, kernel_shape=[2, 2], strides=[3, 3])
    mean = net.op("QLinearReduceMean", y, s, z, s, z, domain=OWN, axes=[1, 2], keepdims=1)
    pooled = net.op("QLinearGlobalAveragePool", y, s, z, s, z, domain=OWN, channels_last=1)
    chosen = net.op("QLinearWhere", net.constant([True, False, True, False], np.bool_), mean, s, z, y, s, z, s, z,
                    domain=OWN)  # fmt: skip
    given = random.integers(0, 255, (1, 6, 6, 3)).astype(np.uint8)
    _, (same, found) = computed(net.model(pooled, chosen), tmp_path, {x: given})
    windows = np.lib.stride_tricks.sliding_window_view(given - 99.0, (2, 2), (1, 2))
    made = np.clip(np.rint(np.einsum("byxcij,mcij->byxm", windows, kernel) / 32) + 99, 0, 255)
    made = np.stack([[made[:, i : i + 2, j : j + 2].max((1, 2)) for j in (0, 3)] for i in (0, 3)], 1)
    made = made.transpose(2, 1, 0, 3)
    means = np.rint(made.mean((1, 2), keepdims=True))
    np.testing.assert_array_equal(same, means)
    np.testing.assert_array_equal(found, np.where([True, False, True, False], means, made))


def test_embedding_and_attention_of_quantised_numbers(tmp_path: Path) -> None:
    net, random, b, s, d, n = Net("quantised", filled=True), np.random.default_rng(5), 2, 5, 12, 3
    ids, segments = (net.input(b, s, name=name, kind=TensorProto.INT32) for name in ("ids", "segments"))
    numbers = [random.integers(0, 255, shape) for shape in ((9, d), (6, d), (2, d), (d,), (d,), (d, 3 * d))]
    tables = [net.constant(each, np.uint8) for each in numbers[:5]]
    scale, zero = net.constant(0.02, np.float32), net.constant(120, np.uint8)
    y, _ = net.op("QEmbedLayerNormalization", ids, segments, *tables, "", *(scale,) * 5, *(zero,) * 5, domain=OWN,
                  outputs=2)  # fmt: skip
    rows = net.op("QuantizeLinear", y, scale, zero)
    by = random.uniform(0.001, 0.002, 3 * d)
    inputs = (rows, net.constant(numbers[5], np.uint8), net.weight(3 * d), scale, net.constant(by, np.float32))
    made = net.op("QAttention", *inputs, "", zero, zero, domain=OWN, num_heads=n)
    given = {"ids": random.integers(0, 9, (b, s)), "segments": random.integers(0, 2, (b, s))}
    v, (found,) = computed(net.model(made), tmp_path, {key: value.astype(np.int32) for key, value in given.items()})
    real = [(each - 120.0) * np.float32(0.02) for each in numbers[:5]]
    total = real[0][v["ids"]] + real[1][:s] + real[2][v["segments"]]
    total = total - total.mean(-1, keepdims=True)
    total = total / np.sqrt((total**2).mean(-1, keepdims=True) + 1e-12) * real[3] + real[4]
    total = (np.clip(np.rint(total / np.float32(0.02)) + 120, 0, 255) - 120) * np.float32(0.02)
    product = total @ ((numbers[5] - 120.0) * by.astype(np.float32)) + v[inputs[2]]
    near(found, attended(*(by_head(part, n) for part in np.split(product, 3, axis=2))))
