"""Plans executed on arrays: the numbers of the reference, and the bytes, of every step, that the replay counts."""

from __future__ import annotations

import itertools
import json
import sys
import types
import zlib
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from tests.tensor.networks.exported import EXPORTED, packed
from tests.tensor.networks.odd_networks import ODD
from tests.tensor.networks.onnx_writer import Net
from tests.tensor.networks.single_operators import SINGLE
from tests.tensor.networks.small_networks import machine, random_plan

import shorthaul as surface
from shorthaul.core.errors import InfeasibleError, InputError
from shorthaul.core.search import Search
from shorthaul.tensor.check.network_replay import replay_network
from shorthaul.tensor.networks.execution.arrays import fill, inputs_of, outputs_of
from shorthaul.tensor.networks.execution.onnx_functions import functions_of
from shorthaul.tensor.networks.execution.verdict import TOLERANCE, execute
from shorthaul.tensor.networks.grouping.fusion import fuse
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import Group, Loop, NetworkPlan
from shorthaul.tensor.networks.translation.graph import graph_from_onnx
from shorthaul.tensor.networks.translation.network import network_from_onnx

RNG = np.random.default_rng(9)
#: What the reference cannot compute: operators of runtimes alone.
UNVERIFIED = {"llama_of_few_bits", "grouped_queries", "fused_by_a_runtime", "of_unknown_shape"}
MODELS = {**SINGLE, **ODD, **{name: make for name, make in EXPORTED.items() if name not in UNVERIFIED}}
#: The networks that every run of the tests executes.
ALWAYS = {
    *("uneven_strides", "concatenated_slices", "product_chain", "reductions_of_any_axis", "integers"),
    *(
        "normalised_rows",
        "barriers",
        "largest",
        "words",
        "Softmax, flattened",
        "Conv in groups",
        "ArgMax",
        "AveragePool, two behind",
        "CumSum",
        "Resize",
    ),
    *(
        "squeezed_if_of_one",
        "ReduceSum of no axes",
        "Pad of axes, reflect",
        "choices_at_run_time",
        "masked_attention_operator",
        "like_the_input",
        "quantised_in_blocks",
        "half_attention_with_a_mask",
        "Gather of what was made",
        "GatherElements",
        "GatherND",
        "ScatterElements added",
        "TensorScatter, circular",
        "flexible_attention",
        "DFT",
        "STFT",
        "GridSample, version 16",
        "Resize, not_smaller",
        "ReverseSequence",
        "CumProd",
        "Compress",
        "Einsum of batches",
        "CenterCropPad",
        "ScatterND",
        "GridSample",
        "Slice along negative axes, version 9",
        "MaxPool with a last window behind",
        "Einsum of diagonals",
    ),
}


def some(names: Iterable[str], always: Collection[str]) -> list[Any]:
    """Return names as parameters, those not in ``always`` for long studies."""
    return [name if name in always else pytest.param(name, marks=pytest.mark.slow) for name in names]


def agrees(network: Network, plan: NetworkPlan, capacity: float, *, double: bool = False) -> bool:
    """Execute a plan: the outputs, the bytes and the operations are right; False for a plan that breaks a rule."""
    replayed = replay_network(network, plan, capacity, double_buffered=double)
    if replayed.violations:
        return False
    done = execute(network, plan, None, Search(seed=3))
    assert max(done.errors.values()) < TOLERANCE
    for seen, moved in zip(replayed.groups, done.moved, strict=True):
        assert (moved.loads_bytes, moved.stores_bytes) == (seen.loads_bytes, seen.stores_bytes)
        assert moved.operations == pytest.approx(seen.operations)
    return True


def test_what_only_a_runtime_computes_is_compared_in_the_types_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference has no GlobalLpPool; a runtime that has it in single precision only is asked instead."""

    class Session:
        off = 1e-5

        def __init__(self, model: bytes, *_: Any) -> None:
            kind = onnx.load_model_from_string(model).graph.input[0].type.tensor_type.elem_type
            assert kind == onnx.TensorProto.FLOAT

        def run(self, names: list[str], inputs: dict[str, Any]) -> list[Any]:
            (x,) = inputs.values()
            assert x.dtype == np.float32
            return [np.maximum(x, 0).__pow__(2).sum((2, 3), keepdims=True) ** 0.5 * (1 + self.off)] * len(names)

    runtime = types.SimpleNamespace(InferenceSession=Session, SessionOptions=types.SimpleNamespace, __version__="0")
    monkeypatch.setitem(sys.modules, "onnxruntime", runtime)
    net = Net("pooled")
    model = net.model(net.op("GlobalLpPool", net.op("Relu", net.input(1, 2, 3, 4)), p=2)).SerializeToString()
    network = network_from_onnx(model)
    done = surface.tensor.run(network, machine="cortex-m7", effort=0.1)
    assert done.status != "invalid"
    assert done.extra["run"]["compared_with"] == "onnxruntime 0 in the model's own types"
    Session.off = 0.01
    assert surface.tensor.run(network, machine="cortex-m7", effort=0.1).status == "invalid"


@pytest.mark.parametrize(("axis", "width"), [(-1, 5), (2, 5), (2, 80)])
def test_places_may_be_fewer_than_what_elements_are_taken_from(
    axis: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference asks for as many along other axes, counts them wrongly from the last, and takes from 64 at most."""
    places = np.array([[[0, -1, 2]]])

    def run(names: list[str], inputs: dict[str, Any]) -> list[Any]:
        (x,) = inputs.values()
        return [np.take_along_axis(np.maximum(x, 0)[:1, :1], places % width, axis=2)] * len(names)

    session = types.SimpleNamespace(run=run)
    runtime = {"InferenceSession": lambda *_: session, "SessionOptions": types.SimpleNamespace, "__version__": "0"}
    monkeypatch.setitem(sys.modules, "onnxruntime", types.SimpleNamespace(**runtime))
    net = Net("taken")
    x = net.op("Relu", net.input(2, 3, width))
    model = net.model(net.op("GatherElements", x, net.constant(places.tolist()), axis=axis)).SerializeToString()
    done = surface.tensor.run(network_from_onnx(model), machine="cortex-m7", effort=0.1)
    assert done.check.ok
    assert done.extra["run"]["compared_with"][:11] == "onnxruntime"


def long_rows(kind: str, opset: int) -> Any:
    """Return a network with rows of 400 or 1,600 elements between two other operators."""
    net = Net(kind, opset=opset, filled=True)
    x = net.op("Relu", net.input(3, 8, 10, 40))
    if kind.endswith("Softmax"):
        x = net.op(kind, net.reshape(x, 3, 8, 400), axis=-1)
    elif kind == "LayerNormalization":
        x = net.op(kind, x, net.weight(10, 40), net.weight(10, 40), axis=2)
    elif kind == "RMSNormalization":
        x = net.op(kind, net.reshape(x, 24, 400), net.weight(400), axis=-1)
    elif kind == "InstanceNormalization":
        x = net.reshape(x, 3, 2, 1600) if opset > 9 else x  # groups of channels
        by = 2 if opset > 9 else 8
        x = net.op(kind, x, net.weight(by), net.weight(by))
    else:
        by = 2 if opset < 21 else 8
        x = net.op(kind, x, net.weight(by), net.weight(by), num_groups=2)
    return net.model(net.op("Tanh", x))


@pytest.mark.costly
@pytest.mark.parametrize(
    ("kind", "opset"),
    [
        *(("Softmax", 13), ("LayerNormalization", 17)),
        pytest.param("InstanceNormalization", 9, marks=pytest.mark.slow),
        pytest.param("GroupNormalization", 18, marks=pytest.mark.slow),
        pytest.param("LogSoftmax", 18, marks=pytest.mark.slow),
        pytest.param("RMSNormalization", 23, marks=pytest.mark.slow),
        pytest.param("InstanceNormalization", 18, marks=pytest.mark.slow),
        pytest.param("GroupNormalization", 21, marks=pytest.mark.slow),
    ],
)
def test_rows_that_do_not_fit_take_several_passes(kind: str, opset: int) -> None:
    model, on = long_rows(kind, opset).SerializeToString(), machine(3000)
    whole = network_from_onnx(model)
    with pytest.raises(InfeasibleError, match=kind):
        list(fuse(whole, on, Search(), 3000))
    network = network_from_onnx(model, most_row_bytes=on.most_row_bytes())
    plan = NetworkPlan(tuple(item.group for item in next(fuse(network, on, Search(), 3000))))
    assert agrees(network, plan, 3000, double=True)
    assert network_from_onnx(model, most_row_bytes=machine(10**6).most_row_bytes()).operators == whole.operators


@pytest.mark.costly
@pytest.mark.parametrize("name", some(MODELS, ALWAYS))
def test_random_plans_give_the_numbers_of_the_reference(name: str) -> None:
    network = network_from_onnx(MODELS[name]().SerializeToString())
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    valid = (agrees(network, random_plan(network, rng), 1e9) for _ in range(40))
    assert sum(itertools.islice(filter(None, valid), 2)) == 2


@pytest.mark.costly
@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.0.0",
    reason="with NumPy 1 the reference multiplies single precision by a scalar of double in single precision",
)
@pytest.mark.parametrize("weight_step", [0.01, 2.0**-7])
def test_a_quantised_block_gives_the_steps_of_the_reference(weight_step: float) -> None:
    """Weights in steps of 0.01 show where they were computed in single precision; a power of two has ties, all exact."""
    net, rng = Net("quantised block", opset=19, filled=True), np.random.default_rng(2)
    step, zero = net.constant(0.05, np.float32), net.constant(3, np.int8)
    of_weights = net.constant(weight_step, np.float32), net.constant(0, np.int8)

    def quantised(x: str) -> str:
        return str(net.op("DequantizeLinear", net.op("QuantizeLinear", x, step, zero), step, zero))

    def convolved(x: str) -> str:
        weights = net.constant(rng.integers(-60, 60, (8, 8, 3, 3)), np.int8)
        made = net.op("DequantizeLinear", weights, *of_weights)
        return str(net.op("Conv", x, made, pads=[1] * 4, kernel_shape=[3, 3]))

    x = quantised(net.input(1, 8, 12, 12))
    y = quantised(convolved(quantised(net.op("Relu", convolved(x)))))
    model = net.model(quantised(net.op("Relu", net.op("Add", y, x))))
    network = network_from_onnx(model.SerializeToString())
    plan = NetworkPlan(tuple(item.group for item in next(fuse(network, machine(20000), Search(), 20000.0))))
    assert list(execute(network, plan, None, Search(seed=1)).errors.values()) == [0.0]


@pytest.mark.parametrize(("kind", "opset"), [("Softmax", 11), ("Softmax", 13), ("LogSoftmax", 9), ("Hardmax", 12)])
def test_rows_of_old_versions_are_all_axes_from_the_second_on(kind: str, opset: int) -> None:
    net = Net("old", opset=opset)
    x = np.random.default_rng(0).standard_normal((3, 4, 5))
    model = net.model(net.op(kind, net.input(3, 4, 5)))
    (operator,) = network_from_onnx(model.SerializeToString()).operators
    axes = (2,) if opset > 12 else (1, 2)
    assert operator.whole == frozenset(axes)
    ((found,),) = (outputs_of(model, {"input0": x})[0].values(),)
    shares = np.exp(x) / np.exp(x).sum(axes, keepdims=True)
    made = {"Softmax": shares, "LogSoftmax": np.log(shares), "Hardmax": x == x.max(axes, keepdims=True)}
    np.testing.assert_allclose(found, made[kind], rtol=1e-12)


def test_logarithms_of_small_shares_are_finite() -> None:
    net, x = Net("far apart"), np.array([[0.0, 5.0, -2000.0]])
    ((found,),) = (outputs_of(net.model(net.op("LogSoftmax", net.input(1, 3))), {"input0": x})[0].values(),)
    np.testing.assert_allclose(found, x - 5 - np.log1p(np.exp(-5.0)), rtol=1e-12)


@pytest.mark.parametrize("opset", [7, 9, 13, 14, 15])
def test_normalisation_of_any_version_takes_the_figures_given(opset: int) -> None:
    net, x = Net("given", opset=opset), np.random.default_rng(0).standard_normal((2, 3, 4, 4))
    figures = np.array([[1, 2, 0.5], [0.1, 0.2, -0.3], [1, -1, 0.5], [1, 2, 3]])
    made = net.op("BatchNormalization", net.input(2, 3, 4, 4), *map(net.number, figures))
    ((found,),) = (outputs_of(net.model(made), {"input0": x})[0].values(),)
    scale, shift, mean, variance = np.float32(figures).astype(float)[..., None, None]
    np.testing.assert_allclose(found, (x - mean) / np.sqrt(variance + 1e-5) * scale + shift, rtol=1e-9)


@pytest.mark.parametrize(("opset", "axis"), [(10, None), (13, 0), (19, 1)])
def test_quantised_weights_of_any_version_are_executed(opset: int, axis: int | None) -> None:
    net, random = Net("quantised weights", opset=opset), np.random.default_rng(0)
    scale: Any = 0.25 if axis is None else random.integers(1, 9, 6) / 8
    zero: Any = np.zeros_like(scale, np.int8)
    weights, by = random.integers(-9, 10, (6, 6)), {} if axis is None else {"axis": axis}
    real = net.op(
        "DequantizeLinear", net.constant(weights, np.int8), net.number(scale), net.constant(zero, np.int8), **by
    )
    (found,) = outputs(net.model(net.op("MatMul", net.input(5, 6), real)))
    x = np.random.default_rng((3, 1)).standard_normal((5, 6))
    scales = np.reshape(scale, (-1, 1)) if axis == 0 else scale
    np.testing.assert_allclose(found, x @ (weights * scales), rtol=1e-12)


def test_what_a_loop_collects_has_an_axis_of_its_steps() -> None:
    net, ends = Net("loop", opset=16, filled=True), ("step", "goes", "before", "goes on", "after", "seen")
    sizes = {"step": [], "goes": [], "goes on": []}
    step, goes, before, goes_on, after, seen = (
        helper.make_tensor_value_info(name, {"step": 7, "goes": 9, "goes on": 9}.get(name, 1), sizes.get(name, [2, 3]))
        for name in ends
    )
    weights, start = net.weight(3, 3), net.input(2, 3)
    nodes = [
        helper.make_node(kind, inputs, [made])
        for kind, inputs, made in [
            ("MatMul", ["before", weights], "after"),
            ("Tanh", ["after"], "seen"),
            ("Identity", ["goes"], "goes on"),
        ]
    ]
    body = helper.make_graph(nodes, "body", [step, goes, before], [goes_on, after, seen])
    last, collected = net.op("Loop", net.constant(4), net.constant(True, np.bool_), start, outputs=2, body=body)
    model = net.model(net.op("Add", net.op("Relu", collected), last))
    found = execute(*planned(model), None, Search(seed=3))
    x = np.random.default_rng((3, 1)).standard_normal((2, 3))
    matrix = numpy_helper.to_array(next(item for item in model.graph.initializer if item.name == weights)).astype(float)
    states = [x @ np.linalg.matrix_power(matrix, count) for count in range(1, 5)]
    (made,) = found.outputs.values()
    np.testing.assert_allclose(made, np.maximum(np.tanh(states), 0) + states[-1], rtol=1e-9, atol=1e-12)
    assert max(found.errors.values()) < 1e-12


def recurrence(kind: str, count: int) -> Any:
    """A state that is multiplied and added to in every step, and what is collected of it."""
    info, real = onnx.helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    net = Net(kind, filled=True)
    x, state, w = net.op("Relu", net.input(count, 3, 4)), net.input(3, 4), net.weight(4, 4)
    nodes = [onnx.helper.make_node(*each) for each in (
        ("MatMul", ["state", w], ["product"]), ("Add", ["product", "here"], ["sum"]), ("Tanh", ["sum"], ["next"]),
        ("Mul", ["next", "half"], ["kept"]),
    )]  # fmt: skip
    half = [onnx.numpy_helper.from_array(np.float32(0.5), "half")]
    ends = [info("next", real, (3, 4)), info("kept", real, (3, 4))]
    if kind == "Scan":
        body = onnx.helper.make_graph(
            nodes, "body", [info("state", real, (3, 4)), info("here", real, (3, 4))], ends, half
        )
        more = {"num_scan_inputs": 1, "scan_input_directions": [1], "scan_output_axes": [1],
                "scan_output_directions": [1]}  # fmt: skip
        last, kept = net.op("Scan", state, x, body=body, outputs=2, **more)
    else:
        nodes[:0] = [
            onnx.helper.make_node("Gather", [x, "step"], ["here"]),
            onnx.helper.make_node("Identity", ["on"], ["going"]),
        ]
        begins = [
            info("step", onnx.TensorProto.INT64, ()),
            info("on", onnx.TensorProto.BOOL, ()),
            info("state", real, (3, 4)),
        ]
        body = onnx.helper.make_graph(nodes, "body", begins, [info("going", onnx.TensorProto.BOOL, ()), *ends], half)
        last, kept = net.op("Loop", net.constant(count), "", state, body=body, outputs=2)
    return net.model(last, net.op("Exp", kept))


def planned(model: Any) -> tuple[Any, NetworkPlan]:
    network = network_from_onnx(model.SerializeToString())
    return network, NetworkPlan(tuple(item.group for item in next(fuse(network, machine(1500), Search(), 1500.0))))


def outputs(model: Any) -> list[Any]:
    """Return the outputs of a model executed by a plan, with weights and inputs of a seed."""
    network, plan = planned(model)
    assert not replay_network(network, plan, 1500, double_buffered=True).violations
    return list(execute(network, plan, None, Search(seed=3)).outputs.values())


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("bits", [4, 8])
def test_packed_weights_are_numbers_less_their_zero_times_their_scale(bits: int, *, zeros: bool) -> None:
    net = Net("packed", filled=True)
    model = net.model(packed(net, net.input(3, 40), 40, 7, bits=bits, zeros=zeros))
    weights, scales, *offsets = (onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer)
    x = inputs_of(graph_from_onnx(model.SerializeToString(), {}), model, None, 3)["input0"]

    def number(row: Any, place: int) -> int:
        return int(row[place * bits // 8]) >> (place * bits % 8) & (2**bits - 1)

    expected = np.zeros((3, 7))
    for n in range(7):
        for k in range(40):
            row = offsets[0].reshape(7, -1)[n] if zeros else None
            zero = 2 ** (bits - 1) if row is None else number(row, k // 16)
            expected[:, n] += x[:, k] * (number(weights[n].ravel(), k) - zero) * float(scales[n, k // 16])
    np.testing.assert_allclose(outputs(model)[0], expected, rtol=1e-12)
    read = {tensor.name: tensor.bytes for tensor in network_from_onnx(model.SerializeToString()).tensors}
    assert read[f"c0 ({bits} bits)"] == 7 * 40 * bits // 8


@pytest.mark.slow
def test_fused_operators_of_a_runtime_are_those_of_onnx() -> None:
    net = Net("plain", filled=True)
    x = net.input(1, 3, 12, 10)
    y = net.op("Relu", net.op("Conv", x, net.weight(8, 3, 3, 3), net.weight(8), pads=[1, 1, 1, 1]))
    z = net.add(net.op("Conv", y, net.weight(8, 8, 1, 1), net.weight(8)), y)
    z = net.op("Conv", net.op("LeakyRelu", z, alpha=0.2), net.weight(8, 1, 3, 3), group=8)
    rows = net.reshape(net.op("Clip", z, net.number(0), net.number(6)), 1, 8, 80)
    product = net.op("Mul", net.op("MatMul", rows, net.transpose(rows, 0, 2, 1)), net.number(0.125))
    skip, factor, shift, bias = net.input(1, 8, 8), net.weight(8), net.weight(8), net.weight(8)
    total = net.add(net.add(product, skip), bias)
    flat = net.reshape(net.op("LayerNormalization", total, factor, shift, epsilon=1e-5), 8, 8)
    plain = net.model(net.op("Tanh", net.op("Gemm", flat, net.weight(5, 8), net.weight(5), transB=1)))
    fused = EXPORTED["fused_by_a_runtime"]()
    weights = [[t.raw_data for t in m.graph.initializer if t.name.startswith("w")] for m in (fused, plain)]
    assert weights[0] == weights[1]
    np.testing.assert_allclose(outputs(fused)[0], outputs(plain)[0], rtol=1e-6)


@pytest.mark.slow
def test_a_model_of_few_bits_is_executed() -> None:
    """Its normalisations hand on the sum that they normalise."""
    model = EXPORTED["llama_of_few_bits"]()
    logits, total = outputs(model)
    assert logits.shape == (1, 6, 50)
    assert total.shape == (1, 6, 32)
    assert np.isfinite(logits).all()


@pytest.mark.costly
@pytest.mark.parametrize("kind", ["Loop", "Scan"])
def test_loops_of_a_known_count_are_their_steps(kind: str) -> None:
    model = recurrence(kind, 5)
    network = network_from_onnx(model.SerializeToString())
    assert [item.kind for item in network.operators].count("MatMul") == 5
    last, kept = outputs(model)
    given = inputs_of(graph_from_onnx(model.SerializeToString(), {}), model, None, 3)
    state, weights, expected = given["input1"], onnx.numpy_helper.to_array(model.graph.initializer[0]), []
    for row in np.maximum(given["input0"], 0)[:: -1 if kind == "Scan" else 1]:
        state = np.tanh(state @ weights + row)
        expected.append(np.exp(state * 0.5))
    np.testing.assert_allclose(last, state, rtol=1e-12)
    ordered = np.stack(expected[::-1], 1) if kind == "Scan" else np.stack(expected)
    np.testing.assert_allclose(kept, ordered, rtol=1e-12)
    many = network_from_onnx(recurrence(kind, 200).SerializeToString())
    assert [item.kind for item in many.operators if item.barrier] == [kind]


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_plans_give_the_numbers_of_the_reference(name: str) -> None:
    network = network_from_onnx(MODELS[name]().SerializeToString())
    rng = np.random.default_rng(1)
    assert sum(agrees(network, random_plan(network, rng), 1e9) for _ in range(40)) > 0
    for capacity in (700, 4000, 50000):
        on = machine(capacity)
        plan = NetworkPlan(tuple(item.group for item in next(fuse(network, on, Search(), float(capacity)))))
        assert agrees(network, plan, capacity, double=True)


def test_a_plan_that_keeps_too_little_near_is_stopped() -> None:
    """Executed without its last loop's tiles, a group misses what its operators read."""
    net = Net("two")
    network = network_from_onnx(net.model(net.op("Exp", net.op("Relu", net.input(6, 4)))).SerializeToString())
    split = NetworkPlan((Group((0,), (Loop(0, 0, 2),)), Group((1,))))
    assert agrees(network, split, 1e9)
    early = NetworkPlan((Group((1,)), Group((0,))))
    with pytest.raises(InputError, match="nobody stored it"):
        execute(network, early, None, Search())


def test_an_operator_that_nobody_knows_is_named() -> None:
    net = Net("unknown")
    model = net.model(net.op("Odd", net.op("Relu", net.input(4, 8)), domain="org.example"))
    network = network_from_onnx(model.SerializeToString())
    with pytest.raises(InputError, match=r"Odd_2 \(org.example.Odd\): cannot be executed"):
        execute(network, NetworkPlan((Group((0,)), Group((1,)))), None, Search())


@pytest.mark.parametrize("name", some([*ODD, "words", "barriers", "scales_made_on_the_way"], ALWAYS))
def test_a_model_of_functions_computes_the_same(name: str) -> None:
    """A function per group: the checker of onnx takes the model, and its reference makes the same numbers of it."""
    model = onnx.shape_inference.infer_shapes(MODELS[name]())
    fill(model, None, 0)
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    network, rng = network_from_onnx(model.SerializeToString()), np.random.default_rng(2)
    plan = random_plan(network, rng)
    while replay_network(network, plan, 1e9, double_buffered=False).violations:
        plan = random_plan(network, rng)
    written = functions_of(plan, network)
    onnx.checker.check_model(written)
    assert len(written.functions) == len(plan.groups)
    graph = graph_from_onnx(model.SerializeToString(), {})
    given = inputs_of(graph, model, None, 0)
    expected, found = (outputs_of(item, given)[0] for item in (model, written))
    for output, values in expected.items():
        np.testing.assert_allclose(found[output], values, rtol=1e-12)
    told = json.loads({item.key: item.value for item in written.functions[0].metadata_props}["shorthaul.tiles"])
    assert [item["tile"] for item in told] == [loop.tile for loop in plan.groups[0].loops]


def test_windows_over_a_grid_of_blocks_are_copied_where_they_do_not_fit() -> None:
    """Rows cut by windows of neighbours and then over a grid: what one step reads lies over all of the image."""
    net = Net("grid", filled=True)
    blocks = net.reshape(net.op("Relu", net.input(16, 4, 3)), 4, 4, 2, 2, 3)
    image = net.reshape(net.transpose(blocks, 0, 2, 1, 3, 4), 8, 8, 3)
    grid = net.reshape(net.transpose(net.reshape(image, 2, 4, 2, 4, 3), 1, 3, 0, 2, 4), 16, 4, 3)
    model = net.model(net.op("Neg", net.layernorm(grid, 3))).SerializeToString()
    assert not any(item.barrier for item in network_from_onnx(model).operators)
    on = machine(700)
    network = network_from_onnx(model, most_row_bytes=on.most_row_bytes())
    assert [item.kind for item in network.operators if item.barrier] == ["Transpose"]
    plan = NetworkPlan(tuple(item.group for item in next(fuse(network, on, Search(), 700))))
    assert agrees(network, plan, 700, double=True)
