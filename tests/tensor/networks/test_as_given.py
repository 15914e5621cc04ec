"""Outputs beside what onnxruntime makes of the file as it is: what is put in place first is not compared with itself."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from tests.tensor.networks.onnx_writer import Net

import shorthaul as surface
from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.tensor.networks.execution.onnx_functions import functions_of
from shorthaul.tensor.networks.execution.verdict import execute
from shorthaul.tensor.networks.plan import Group, NetworkPlan
from shorthaul.tensor.networks.translation.network import network_from_onnx
from shorthaul.tensor.networks.translation.subgraphs import inlined


def runtime(monkeypatch: pytest.MonkeyPatch, run: Any) -> None:
    """Put a runtime in place that computes by ``run(model, values)``."""

    class Session:
        def __init__(self, source: bytes, *_: Any) -> None:
            self.model = onnx.load_model_from_string(source)

        def run(self, names: list[str], inputs: dict[str, Any]) -> list[Any]:
            del names
            return [np.asarray(run(self.model, *inputs.values()))]

    module = types.SimpleNamespace(InferenceSession=Session, SessionOptions=types.SimpleNamespace, __version__="0")
    monkeypatch.setitem(sys.modules, "onnxruntime", module)


def with_a_function() -> bytes:
    net = Net("doubled")
    model = net.model(net.op("Twice", net.input(2, 8), domain="own"))
    body = [helper.make_node("Add", ["x", "x"], ["y"])]
    model.functions.append(
        helper.make_function("own", "Twice", ["x"], ["y"], body, [helper.make_opsetid("", net.opset)])
    )
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.graph.output[0].type.tensor_type.elem_type = 1
    return bytes(model.SerializeToString())


@pytest.mark.parametrize("factor", [2.0, 3.0])
def test_a_file_that_means_something_else_than_its_functions_in_place_differs(
    factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime(
        monkeypatch, lambda model, x: x * (np.float32(factor) if model.functions else np.float64(2)).astype(x.dtype)
    )
    done = surface.tensor.run(network_from_onnx(with_a_function()), machine="cortex-m7", effort=0.1)
    assert done.extra["run"]["error_as_given"] == pytest.approx(abs(factor - 2) / factor, abs=1e-6)
    assert (done.status == "invalid") == (factor != 2)


@pytest.mark.parametrize("off", [0.0, 0.01])
def test_of_a_model_without_functions_the_models_own_types_are_told_of(
    off: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime(monkeypatch, lambda _, x: np.maximum(x, 0) * (1 + off * (x.dtype == np.float32)))
    net = Net("relu")
    data = net.model(net.op("Relu", net.input(2, 8))).SerializeToString()
    done = surface.tensor.run(network_from_onnx(data), machine="cortex-m7", effort=0.1)
    assert done.check.ok
    assert done.extra["run"]["compared_with"] == "onnxruntime 0"
    assert ("differs by 0.0099" in str(done.check.remarks)) == bool(off)


def test_a_reference_that_is_wrong_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference stands in for types that a runtime lacks; where the runtime agrees with us, it is the reference."""

    def run(model: Any, x: Any) -> Any:
        if x.dtype == np.float64:
            raise ValueError("no doubles")
        return np.maximum(x, 0)

    def wrong(*_: Any) -> Any:
        return [np.zeros((2, 8))], "the reference of onnx 0"

    runtime(monkeypatch, run)
    monkeypatch.setattr("shorthaul.tensor.networks.execution.arrays._by_reference", wrong)
    net = Net("relu")
    data = net.model(net.op("Relu", net.input(2, 8))).SerializeToString()
    done = surface.tensor.run(network_from_onnx(data), machine="cortex-m7", effort=0.1)
    assert done.check.ok
    assert done.extra["run"]["compared_with"] == "onnxruntime 0 in the model's own types"
    assert "the reference of onnx 0 differs by" in str(done.check.remarks)


@pytest.mark.parametrize("auto", ["SAME_UPPER", "SAME_LOWER", "NOTSET"])
def test_a_transposed_convolution_may_be_asked_for_one_place_more(auto: str) -> None:
    """As onnxruntime 1.32 has it, which was compared once: the place more comes last; the reference puts it first."""
    net = Net("wider")
    kernel = net.constant([[[1, 10, 100]]], np.float32)
    x = net.constant([[[1, 2, 3, 4]]], np.float32)
    x = net.op("Mul", x, net.input(1, 1, 1, name="one"))
    y = net.op("ConvTranspose", x, kernel, strides=[2], output_shape=[10], auto_pad=auto)
    network = network_from_onnx(net.model(y).SerializeToString())
    plan = NetworkPlan(tuple(Group((number,)) for number in range(len(network.operators))))
    (found,) = execute(network, plan, None, Search(seed=1)).outputs.values()
    found = found.ravel() / found.ravel()[0]
    assert np.allclose(found, [1, 10, 102, 20, 203, 30, 304, 40, 400, 0])


def test_functions_of_one_name_are_told_apart_by_their_overload() -> None:
    """What one of them says of an attribute is not what the other one says."""
    net = Net("overloaded")
    model = net.model(net.op("Act", net.op("Act", net.input(2, 8), domain="own"), domain="own"))
    model.graph.node[1].overload = "steep"
    opset = [helper.make_opsetid("", net.opset)]
    for overload, slope in (("", 0.5), ("steep", 2.0)):
        leaky = helper.make_node("LeakyRelu", ["x"], ["y"])
        leaky.attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
        said = [helper.make_attribute("slope", slope)]
        made = helper.make_function(
            "own", "Act", ["x"], ["y"], [leaky], opset, attribute_protos=said, overload=overload
        )
        model.functions.append(made)
    assert [node.attribute[0].f for node in inlined(onnx, model).graph.node] == [0.5, 2.0]
    model.graph.node[1].input.append(model.graph.input[0].name)
    with pytest.raises(InputError, match="has a function that does not fit its calls"):
        inlined(onnx, model)


def constant_output(kind: str) -> Any:
    net = Net(kind, filled=True)
    x = net.op("Relu", net.input(2, 8))
    seen = net.op("Unique", x) if kind == "Unique" else net.op("MatMul", x, net.weight(8, 5))
    return network_from_onnx(net.model(x, net.op("Shape", seen)).SerializeToString())


def test_outputs_that_are_constants_are_written_as_such() -> None:
    network = constant_output("MatMul")
    plan = NetworkPlan(tuple(Group((number,)) for number in range(len(network.operators))))
    written = functions_of(plan, network)
    onnx.checker.check_model(written, full_check=True)
    made = onnx.reference.ReferenceEvaluator(written).run(None, {network.tensors[0].name: np.ones((2, 8), np.float32)})
    assert made[1].tolist() == [2, 5]


def test_outputs_that_follow_from_a_guessed_shape_are_refused() -> None:
    network = constant_output("Unique")
    with pytest.raises(InputError, match="follows from a shape that is not known"):
        surface.tensor.run(network, machine="cortex-m7", effort=0.1)
    plan = NetworkPlan(tuple(Group((number,)) for number in range(len(network.operators))))
    with pytest.raises(InputError, match="follows from a shape that is not known"):
        functions_of(plan, network)
