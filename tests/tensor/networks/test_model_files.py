"""What ONNX files hold: constants and shapes, in them or beside them, functions, and what makes no sense."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import pytest
from tests.tensor.networks.exported import EXPORTED
from tests.tensor.networks.onnx_writer import Net
from tests.tensor.networks.small_networks import read

import shorthaul as surface
from shorthaul.core.errors import InputError
from shorthaul.tensor.networks.translation.graph import graph_from_onnx
from shorthaul.tensor.networks.translation.network import network_from_onnx


def test_shapes_that_lie_in_a_file_beside_the_model_are_read(tmp_path: Path) -> None:
    net = Net("outside", filled=True)
    model = net.model(net.op("Relu", net.reshape(net.input(4, 6), 8, 3)))
    del model.graph.value_info[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    convert = onnx.external_data_helper.convert_model_to_external_data
    convert(model, location="weights.bin", size_threshold=0, convert_attribute=False)
    onnx.save(model, tmp_path / "model.onnx")
    data = (tmp_path / "model.onnx").read_bytes()
    network = network_from_onnx(data, file=tmp_path / "model.onnx")
    assert [item.dims for item in network.operators] == [(8, 3)]
    (tmp_path / "weights.bin").unlink()
    network = network_from_onnx(data, file=tmp_path / "model.onnx")
    assert any("is not known" in remark for remark in network.remarks)
    assert any("weights.bin, where 1 initializers lie, is not beside the model" in remark for remark in network.remarks)
    with pytest.raises(InputError, match=r"(?s)initializer .*file that is not there.*weights\.bin.*beside the model"):
        surface.tensor.run(tmp_path / "model.onnx", machine="phone-npu")


def test_constants_that_make_no_sense_are_named(tmp_path: Path) -> None:
    net = Net("constants", filled=True)
    model = net.model(net.op("Relu", net.reshape(net.input(4, 6), 8, 3)))
    convert = onnx.external_data_helper.convert_model_to_external_data
    convert(model, location="weights.bin", size_threshold=0, convert_attribute=False)
    onnx.save(model, tmp_path / "model.onnx")
    (place,) = (number for number, tensor in enumerate(model.graph.initializer) if tensor.dims)
    for change, said in (
        (lambda tensor: tensor.dims.__setitem__(slice(None), (-1,)), "out of range"),
        (lambda tensor: tensor.dims.__setitem__(slice(None), (2**62, 4)), "out of range"),
        (lambda tensor: tensor.dims.__setitem__(slice(None), (3,)), "do not fit"),
        (lambda tensor: tensor.dims.extend([1] * 40), "too many axes|do not fit"),
        (lambda tensor: setattr(tensor, "data_type", 99), "does not know|do not fit"),
    ):
        damaged = onnx.load(tmp_path / "model.onnx", load_external_data=False)
        change(damaged.graph.initializer[place])
        with pytest.raises(InputError, match=said):
            network_from_onnx(damaged.SerializeToString(), file=tmp_path / "model.onnx")
    whole = onnx.load(tmp_path / "model.onnx", load_external_data=False)
    for tensor in whole.graph.initializer:
        del tensor.external_data[1:]  # all of the file, which protobuf does not bear
    os.truncate(tmp_path / "weights.bin", 3 << 30)
    with pytest.raises(InputError, match="do not fit"):
        network_from_onnx(whole.SerializeToString(), file=tmp_path / "model.onnx")
    deep = Net("deep")
    with pytest.raises(InputError, match="too many axes"):
        read(deep.model(deep.op("Relu", deep.input(*[1] * 80))))
    long = Net("long")
    with pytest.raises(InputError, match="too long an axis"):
        read(long.model(long.op("Relu", long.input(2**29))))


def test_constants_of_functions_whose_files_have_no_name_of_a_file() -> None:
    make = onnx.helper
    outside = onnx.TensorProto(name="v", data_type=1, dims=[6, 4], data_location=onnx.TensorProto.EXTERNAL)
    outside.external_data.add(key="location", value="x" * 5000)
    inner = [make.make_node("Constant", [], ["w"], value=outside), make.make_node("MatMul", ["a", "w"], ["b"])]
    opset, own = make.make_opsetid("", 18), make.make_opsetid("f", 1)
    function = make.make_function("f", "F", ["a"], ["b"], inner, [opset])
    ends = (make.make_tensor_value_info(name, 1, shape) for name, shape in (("x", [8, 6]), ("y", [8, 4])))
    graph = make.make_graph([make.make_node("F", ["x"], ["y"], domain="f")], "g", *([end] for end in ends))
    model = make.make_model(graph, opset_imports=[opset, own], functions=[function], ir_version=10)
    assert read(model).operators[0].dims == (8, 4, 6)


def test_functions_have_the_attributes_that_they_say_where_none_is_given() -> None:
    make = onnx.helper
    leaky = make.make_node("LeakyRelu", ["a"], ["b"])
    leaky.attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    opset, own, slope = make.make_opsetid("", 18), make.make_opsetid("f", 1), make.make_attribute("slope", 0.25)
    inner = make.make_function("f", "F", ["a"], ["b"], [leaky], [opset], [], [slope])
    calls = [make.make_node("F", ["a"], ["c"], domain="f", slope=0.5), make.make_node("F", ["c"], ["b"], domain="f")]
    outer = make.make_function("f", "G", ["a"], ["b"], calls, [opset, own])
    ends = (make.make_tensor_value_info(name, 1, [8, 6]) for name in "xy")
    graph = make.make_graph([make.make_node("G", ["x"], ["y"], domain="f")], "g", *([end] for end in ends))
    model = make.make_model(graph, opset_imports=[opset, own], functions=[inner, outer], ir_version=10)
    nodes = graph_from_onnx(model.SerializeToString(), {}).nodes
    assert [node.attributes["alpha"] for node in nodes] == [0.5, 0.25]


def test_a_loop_whose_weights_lie_in_a_file_of_no_length() -> None:
    make = onnx.helper
    outside = onnx.TensorProto(name="w", data_type=1, dims=[6, 6], data_location=onnx.TensorProto.EXTERNAL)
    for key, value in (("location", "weights.bin"), ("length", "-5")):
        outside.external_data.add(key=key, value=value)
    told = {"i": (7, []), "c": (9, []), "p": (1, [8, 6]), "d": (9, []), "q": (1, [8, 6])}
    ends = {name: make.make_tensor_value_info(name, *kind) for name, kind in told.items()}
    inner = [make.make_node("MatMul", ["p", "w"], ["q"]), make.make_node("Identity", ["c"], ["d"])]
    body = make.make_graph(inner, "body", [ends[name] for name in "icp"], [ends["d"], ends["q"]], [outside])
    given = [onnx.numpy_helper.from_array(np.array(value), name) for name, value in (("n", 3), ("go", True))]
    x, y = (make.make_tensor_value_info(name, 1, [8, 6]) for name in "xy")
    graph = make.make_graph([make.make_node("Loop", ["n", "go", "x"], ["y"], body=body)], "g", [x], [y], given)
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 18)], ir_version=10)
    assert read(model).operators


def test_old_files_whose_constants_are_no_inputs_have_shapes() -> None:
    net = Net("old", filled=True)
    model = net.model(net.op("MatMul", net.input(4, 6), net.weight(6, 5)))
    del model.graph.value_info[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    model.ir_version = 3
    network = network_from_onnx(model.SerializeToString())
    assert network.operators[0].dims == (4, 5, 6)
    assert not network.remarks


def test_a_node_that_makes_no_sense_is_named() -> None:
    net = Net("nonsense")
    with pytest.raises(InputError, match=r"Conv_1|contradict"):
        read(net.model(net.op("Conv", net.input(1, 4, 8, 8))))
    with pytest.raises(InputError, match="is not an ONNX model"):
        network_from_onnx(b"no model")


def test_models_of_runtimes_go_in() -> None:
    dims = {"grouped_queries": {"s": 3, "p": 5}}
    networks = {name: read(make(), dims.get(name)) for name, make in EXPORTED.items()}
    barriers = {name: {item.kind for item in made.operators if item.barrier} for name, made in networks.items()}
    assert {name: kinds for name, kinds in barriers.items() if kinds} == {
        "choices_at_run_time": {"If"},
        "of_unknown_shape": {"org.example.Strange", "Transpose"},
    }
    guessed = {name for name, made in networks.items() if any("taken as" in remark for remark in made.remarks)}
    assert guessed == {"of_unknown_shape"}
    outputs = [access.shape for access in networks["grouped_queries"].outputs if len(access.shape) == 4]
    assert outputs == [(1, 2, 8, 8)] * 4, "earlier places and new ones are parts of keys, and of values"


def test_large_constants_of_nodes_are_weights() -> None:
    """As some exporters write all weights: they are loaded as those are that the file lists, and nothing makes them."""
    weight = onnx.numpy_helper.from_array(np.ones((300, 300), np.float32), "weight")
    networks = []
    for is_node in (False, True):
        net = Net("weights")
        made = net.op(
            "Relu",
            net.op("MatMul", net.input(8, 300), net.op("Constant", value=weight) if is_node else net.weight(300, 300)),
        )
        networks.append(network_from_onnx(net.model(made).SerializeToString()))
    one, other = networks
    assert [(item.kind, item.dims) for item in one.operators] == [(item.kind, item.dims) for item in other.operators]
    assert [(item.shape, item.role) for item in one.tensors] == [(item.shape, item.role) for item in other.tensors]
    assert not other.remarks
