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


def test_functions_have_no_operator_that_the_version_of_the_model_lacks() -> None:
    """A normalisation in a model of version 14, as onnxruntime writes it, which cannot read it in a function."""
    net = Net("older", opset=14, filled=True)
    y = net.op("SkipLayerNormalization", net.input(2, 3, 8), net.input(2, 3, 8), net.weight(8), net.weight(8),
               domain="com.microsoft")  # fmt: skip
    model = net.model(y)
    network = network_from_onnx(model.SerializeToString())
    assert "taken as" not in str(network.remarks)
    plan = NetworkPlan((Group(tuple(range(len(network.operators)))),))
    written = functions_of(plan, network)
    onnx.checker.check_model(written)
    given = inputs_of(graph_from_onnx(model.SerializeToString(), {}), model, None, 0)
    (found,) = outputs_of(written, given)[0].values()
    total = sum(given.values())
    total = total - total.mean(-1, keepdims=True)
    weights = [onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer]
    expected = total / np.sqrt((total**2).mean(-1, keepdims=True) + 1e-12) * weights[0] + weights[1]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
