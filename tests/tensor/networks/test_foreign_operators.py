"""Operators of other domains than ONNX: known by what a runtime tells, written without what old versions lack."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import onnx
import pytest
from tests.tensor.networks.onnx_writer import Net

import shorthaul as surface
from shorthaul.tensor.networks.execution.arrays import inputs_of, outputs_of
from shorthaul.tensor.networks.execution.onnx_functions import functions_of
from shorthaul.tensor.networks.plan import Group, NetworkPlan
from shorthaul.tensor.networks.translation.graph import graph_from_onnx
from shorthaul.tensor.networks.translation.network import network_from_onnx


def test_what_only_a_runtime_knows_is_a_barrier_of_the_shape_that_it_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator of another domain, in single precision alone; without the runtime its shape is a guess."""

    class Session:
        def __init__(self, model: bytes, *_: Any) -> None:
            loaded = onnx.load_model_from_string(model)
            self.kinds = [value.type.tensor_type.elem_type for value in loaded.graph.input]
            self.alone = len(loaded.graph.node) == 1
            if onnx.TensorProto.DOUBLE in self.kinds:
                raise RuntimeError("not implemented")

        def get_outputs(self) -> list[Any]:
            return [types.SimpleNamespace(name="distances2", type="tensor(float)", shape=["unknown", 4])]

        def run(self, _: list[str] | None, inputs: dict[str, Any]) -> list[Any]:
            x, y = inputs.values()
            assert x.dtype == np.float32
            x = x if self.alone else np.maximum(x, 0)
            return [((x[:, None] - y) ** 2).sum(-1)]

    net = Net("distances")
    y = net.op("Distances", net.op("Relu", net.input(3, 5)), net.input(4, 5), domain="of.others")
    model = net.model(y).SerializeToString()
    assert "taken as [3, 5]" in str(network_from_onnx(model).remarks)
    runtime = types.SimpleNamespace(InferenceSession=Session, SessionOptions=types.SimpleNamespace, __version__="0")
    monkeypatch.setitem(sys.modules, "onnxruntime", runtime)
    network = network_from_onnx(model)
    assert network.tensors[-1].shape == (3, 4)
    assert "taken as" not in str(network.remarks)
    done = surface.tensor.run(network, machine="cortex-m7", effort=0.1)
    assert done.extra["run"]["largest_error"] < 1e-6
    assert "executed by onnxruntime here too" in str(done.check.remarks)


@pytest.mark.parametrize(("steps", "agrees"), [(1, True), (9, False)])
def test_a_runtime_may_round_to_the_next_step(steps: int, agrees: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum of two quantised tensors, in single precision alone; only a step of 127 is a matter of last digits."""

    class Session:
        def __init__(self, model: bytes, *_: Any) -> None:
            loaded = onnx.load_model_from_string(model)
            if any(tensor.data_type == onnx.TensorProto.DOUBLE for tensor in loaded.graph.initializer):
                raise RuntimeError("not implemented")

        def run(self, _: list[str] | None, inputs: dict[str, Any]) -> list[Any]:
            x, y = (value.astype(np.float64) for value in inputs.values())
            made = np.clip(np.rint((x + y) / 2), 0, 255)
            made[0, 0] += steps
            return [made.astype(np.float32)]

    net = Net("sums")
    scale, wide, zero = net.constant(0.25, np.float32), net.constant(0.5, np.float32), net.constant(0, np.uint8)
    ends = [end for _ in range(2) for end in (net.input(4, 5, kind=onnx.TensorProto.UINT8), scale, zero)]
    y = net.op("DequantizeLinear", net.op("QLinearAdd", *ends, wide, zero, domain="com.microsoft"),
               net.constant(1.0, np.float32), zero)  # fmt: skip
    runtime = types.SimpleNamespace(InferenceSession=Session, SessionOptions=types.SimpleNamespace, __version__="0")
    monkeypatch.setitem(sys.modules, "onnxruntime", runtime)
    done = surface.tensor.run(network_from_onnx(net.model(y).SerializeToString()), machine="cortex-m7", effort=0.1)
    assert done.check.ok == agrees
    assert ("to which step" in str(done.check.remarks)) == agrees
    assert (done.extra["run"]["largest_error"] == 0) == agrees


@pytest.mark.parametrize(("kind", "opset"), [("SkipLayerNormalization", 14), ("SkipSimplifiedLayerNormalization", 17)])
def test_functions_have_no_operator_that_the_version_of_the_model_lacks(kind: str, opset: int) -> None:
    """A normalisation that this version of ONNX lacks, as onnxruntime has it, which cannot read it in a function."""
    is_simple = "Simplified" in kind
    net = Net("older", opset=opset, filled=True)
    factors = [net.weight(8) for _ in range(2 - is_simple)]
    y = net.op(kind, net.input(2, 3, 8), net.input(2, 3, 8), *factors, domain="com.microsoft", epsilon=1e-5)
    model = net.model(y)
    network = network_from_onnx(model.SerializeToString())
    assert "taken as" not in str(network.remarks)
    plan = NetworkPlan((Group(tuple(range(len(network.operators)))),))
    written = functions_of(plan, network)
    onnx.checker.check_model(written)
    given = inputs_of(graph_from_onnx(model.SerializeToString(), {}), model, None, 0)
    (found,) = outputs_of(written, given)[0].values()
    total = sum(given.values())
    total = total if is_simple else total - total.mean(-1, keepdims=True)
    weights = [onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer]
    expected = total / np.sqrt((total**2).mean(-1, keepdims=True) + 1e-5) * weights[0]
    expected = expected if is_simple else expected + weights[1]
    assert all(onnx.defs.has(node.op_type, opset, node.domain) for body in written.functions for node in body.node)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_functions_say_what_definitions_name_and_lists_stay_lists() -> None:
    """onnxruntime infers shapes by definitions in functions; a list that is empty at first is no tensor."""
    net = Net("definitions")
    x = net.op("MeanVarianceNormalization", net.op("Relu", net.input(1, 3, 4, 4)))
    ends = {name: onnx.helper.make_tensor_value_info(name, kind, []) for name, kind in (("i", 7), ("c", 9), ("d", 9))}
    lists = [onnx.helper.make_tensor_sequence_value_info(name, 1, None) for name in ("s", "t")]
    inner = [
        onnx.helper.make_node("SequenceInsert", ["s", x], ["t"]),
        onnx.helper.make_node("ReduceMax", [x], ["m"], keepdims=0),
        onnx.helper.make_node("Less", ["m", net.constant(9, np.float32)], ["d"]),
    ]
    body = onnx.helper.make_graph(inner, "body", [ends["i"], ends["c"], lists[0]], [ends["d"], lists[1]])
    found = net.op("Loop", net.constant(3), net.constant(True, np.bool_), net.op("SequenceEmpty"), body=body)
    network = network_from_onnx(net.model(net.op("SequenceLength", found)).SerializeToString())
    assert any("the shape of" in remark for remark in network.remarks)
    written = functions_of(NetworkPlan(tuple(Group((n,)) for n in range(len(network.operators)))), network)
    nodes = [*written.graph.node, *(node for each in written.functions for node in each.node)]
    assert {"SequenceEmpty", "Loop"} <= {node.op_type for node in nodes}
    (norm,) = (node for node in nodes if node.op_type == "MeanVarianceNormalization")
    assert [item.name for item in norm.attribute] == ["axes"]
