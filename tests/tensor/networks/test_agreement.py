"""Shapes that contradict what operators do: refused, or the operator is a barrier where they were a guess."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.helper import make_node

import shorthaul.tensor as engine
from shorthaul.core.errors import InputError
from shorthaul.tensor.networks.model import Index, Stride
from shorthaul.tensor.networks.translation.agreement import expect_covered, expect_read, expect_seen
from shorthaul.tensor.networks.translation.network import network_from_onnx

UNSQUEEZE = make_node("Unsqueeze", ["x"], ["u"], axes=[0])
MATRIX, VECTOR, FRACTION = np.ones((6, 4), np.float32), np.ones(4, np.float32), np.array([0.5])
FILTER = np.ones((3, 8, 1), np.float32)


def model(nodes: list[Any], *said: tuple[str, list[int]], opset: int = 17) -> bytes:
    """Return a model of an input of 8 by 6; ``said`` are shapes of tensors as the file has them."""
    info = onnx.helper.make_tensor_value_info
    arrays = {"w": MATRIX, "v": VECTOR, "r": FRACTION, "k": FILTER, "shape": np.array([6, 9])}
    given = [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = onnx.helper.make_graph(
        nodes,
        "g",
        [info("x", 1, [8, 6])],
        [info("y", 1, None)],
        given,
        value_info=[info(name, 1, shape) for name, shape in said],
    )
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    return bytes(made.SerializeToString())


@pytest.mark.parametrize(
    "data",
    [
        model([make_node("MatMul", ["x", "w"], ["m"]), make_node("Relu", ["m"], ["y"])], ("m", [8, 5])),
        model([make_node("Transpose", ["x"], ["m"], perm=[1, 0]), make_node("Relu", ["m"], ["y"])], ("m", [8, 6])),
        model([make_node("Concat", ["x", "x"], ["m"], axis=0), make_node("Relu", ["m"], ["y"])], ("m", [15, 6])),
        model([make_node("ReduceMean", ["x"], ["m"], keepdims=2), make_node("Relu", ["m"], ["y"])]),
        model([make_node("GroupNormalization", ["x"], ["m"], num_groups=2), make_node("Relu", ["m"], ["y"])], opset=12),
        model([make_node("LRN", ["x"], ["y"])]),
        model([make_node("LayerNormalization", ["x", "w"], ["y"], axis=-1)]),
        # one window too large for its axis, of which ONNX infers a place all the same
        model([UNSQUEEZE, make_node("MaxPool", ["u"], ["y"], kernel_shape=[7], strides=[2])], opset=12),
        model([UNSQUEEZE, make_node("MaxPool", ["u"], ["y"], kernel_shape=[2], strides=[-(2**62)])], opset=12),
        model([make_node("Slice", ["x", "r", "r"], ["y"])]),
        model([make_node("Reshape", ["x", "shape"], ["m"]), make_node("Relu", ["m"], ["y"])]),
        model(
            [UNSQUEEZE, make_node("Conv", ["u", "k", "k"], ["m"]), make_node("Relu", ["m"], ["y"])],
            ("m", [1, 3, 6]),
            opset=12,
        ),
        model([make_node("If", [], ["m"]), make_node("Relu", ["m"], ["y"])]),
        model([make_node("Transpose", [""], ["m"]), make_node("Relu", ["m"], ["y"])]),
        model([make_node("Shape", [], ["m"]), make_node("Relu", ["m"], ["y"])]),
        model(
            [make_node("ReduceSum", ["x"], ["m"], keepdims=0), make_node("LayerNormalization", ["m", "v"], ["y"])],
            opset=11,
        ),
        model([UNSQUEEZE, make_node("Conv", ["u", "k"], ["y"], group=2)], opset=12),
        model([make_node("Softmax", ["x"], ["y"], axis=5)]),
        model([make_node("Gather", ["x", "shape"], ["y"], axis=0)]),
    ],
    ids=[
        *("product", "transposed", "joined", "kept axes", "inputs", "attribute", "broadcast", "window"),
        *(
            "backwards",
            "fraction",
            "elements",
            "bias",
            "branch",
            "nothing",
            "shape",
            "no axis",
            "groups",
            "axis",
            "rows",
        ),
    ],
)
def test_a_contradiction_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match=r"do not fit|contradict"):
        network_from_onnx(data)


@pytest.mark.parametrize(
    ("nodes", "says"),
    [
        ([("x", "m"), ("b", "a"), ("a", "b"), ("m", "y")], "Relu_1.*stands in a circle"),
        ([("x", "m"), ("q", "y")], "Relu_1.*reads what no node makes"),
        ([("x", "y"), ("x", "y")], "Relu_1.*there already"),
        ([("x", "m")], "y: is an output that nothing makes"),
    ],
)
def test_nodes_without_an_order_are_refused(nodes: list[tuple[str, str]], says: str) -> None:
    with pytest.raises(InputError, match=says):
        network_from_onnx(model([make_node("Relu", [read], [made]) for read, made in nodes]))


def test_nodes_out_of_order_are_put_in_order() -> None:
    """As onnxruntime takes them, and a converter of its own writes them."""
    ends = [("Tanh", "b", "y"), ("Relu", "x", "a"), ("Exp", "a", "b")]
    data = model([make_node(kind, [read], [made]) for kind, read, made in ends])
    network = network_from_onnx(data)
    assert [item.kind for item in network.operators] == ["Relu", "Exp", "Tanh"]
    done = engine.run(network, machine="cortex-m7", effort=0.1)
    assert done.check is not None
    assert done.check.ok
    assert done.extra["run"]["largest_error"] < 1e-12


def test_an_attribute_without_a_value_is_refused() -> None:
    data = onnx.load_model_from_string(model([make_node("Concat", ["x", "x"], ["y"], axis=0)]))
    data.graph.node[0].attribute[0].ref_attr_name = "alpha"
    with pytest.raises(InputError, match="stands for an attribute of no function"):
        network_from_onnx(data.SerializeToString())


def test_a_window_may_reach_into_the_padding() -> None:
    for more in ({"pads": [0, 1]}, {"ceil_mode": 1}):
        pool = make_node("MaxPool", ["u"], ["y"], kernel_shape=[7], strides=[2], **more)
        assert network_from_onnx(model([UNSQUEEZE, pool], opset=12)).operators


@pytest.mark.parametrize("kind", ["MatMul", "Gemm"])
def test_what_does_not_fit_a_guess_is_a_barrier(kind: str) -> None:
    """Nobody knows what the first operator makes; its result is taken for as large as its input."""
    data = model([make_node("Mystery", ["x"], ["m"], domain="foreign"), make_node(kind, ["m", "v"], ["y"])])
    network = network_from_onnx(data)
    assert [operator.barrier for operator in network.operators] == [True, True]
    found = engine.plan(network, machine="phone-npu", effort=0.01)
    assert found.check is not None
    assert found.check.ok


def test_views_and_accesses() -> None:
    expect_seen((2, 3), [Stride((1, 0), (2, 1), (4, 3))], (4, 3))
    expect_seen((2,), [Stride((3,), (-3,), (4,))], (4,))
    for shape, step in (((3, 3), Stride((1, 0), (2, 1), (4, 3))), ((2,), Stride((3,), (-4,), (4,)))):
        with pytest.raises(ValueError, match="does not fit"):
            expect_seen(shape, [step], step.source)
    row = Index(((0, 1),))
    expect_covered([row, Index()], (5, 1), [5])
    expect_read([row, Index()], (5, 1), [5])
    for axes, shape in (([row], (6,)), ([row], (5, 1)), ([Index()], (5,))):
        with pytest.raises(ValueError, match="in place of"):
            expect_covered(axes, shape, [5])
    for index, size in ((Index(((0, 1),), 1), 5), (row, 6), (Index(), 2), (Index(((0, 1),), 0, 2), 2)):
        with pytest.raises(ValueError, match="reads"):
            expect_read([index], (size,), [5])


def outside(location: bytes, **elements: bytes) -> bytes:
    """Return a model with indices in a file."""
    made = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[8, 6] x, float[6, 4] w) => (float[4, 4] y) <int64[2] i = {0, 3}, int64[2] q = {4, 4}>
        { m = MatMul(x, w) g = Gather<axis = 1>(m, i) y = Reshape(g, q) }
    """)
    (indices,) = (tensor for tensor in made.graph.initializer if tensor.name == "i")
    indices.ClearField("int64_data")
    indices.data_location = onnx.TensorProto.EXTERNAL
    indices.external_data.add(key="location", value="L" * len(location))
    for field, value in elements.items():
        setattr(indices, field, value)
    return bytes(made.SerializeToString()).replace(b"L" * len(location), location)


def test_places_of_weights_that_are_no_text_are_refused(tmp_path: Path) -> None:
    tmp_path.joinpath("model.onnx").write_bytes(outside(b"\xed\xa0\x80"))
    with pytest.raises(InputError, match="a name that is not UTF-8 text"):
        engine.plan(tmp_path / "model.onnx", machine="phone-npu")


@pytest.mark.parametrize("location", [b"i" * 5000, b"../outside.bin"])
def test_weights_come_from_beside_the_model_alone(
    location: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else the file says: the folder that a command is called in has nothing to do with it."""
    here, models = tmp_path / "here" / "in", tmp_path / "models" / "in"
    for folder in (here, models):
        folder.mkdir(parents=True)
        folder.parent.joinpath("outside.bin").write_bytes(np.array([0, 99]).tobytes())
    models.joinpath("model.onnx").write_bytes(outside(location, raw_data=b"\x01" * 16))
    monkeypatch.chdir(here)
    assert engine.plan(models / "model.onnx", machine="phone-npu").check.ok


def test_operators_that_make_or_read_nothing_are_refused() -> None:
    with pytest.raises(InputError, match=r"node odd \(Reshape\): has no output"):
        network_from_onnx(model([make_node("Relu", ["x"], ["y"]), make_node("Reshape", ["x", "w"], [], name="odd")]))
    with pytest.raises(InputError):
        network_from_onnx(model([make_node("Relu", ["x"], ["y"]), make_node("Reshape", [], ["z"])]))


def test_missing_weights_of_text_are_refused(tmp_path: Path) -> None:
    made = onnx.load_model_from_string(model([make_node("MatMul", ["x", "w"], ["y"])]))
    made.graph.initializer.append(onnx.TensorProto(name="words", data_type=onnx.TensorProto.STRING, dims=[2]))
    onnx.save(made, tmp_path / "model.onnx")
    with pytest.raises(InputError, match="initializer words: has no elements"):
        engine.run(tmp_path / "model.onnx", machine="phone-npu")


def test_nodes_without_names_are_counted_as_in_the_file() -> None:
    folded = make_node("Constant", [], ["c"], value=onnx.numpy_helper.from_array(VECTOR))
    network = network_from_onnx(
        model([folded, make_node("MatMul", ["x", "w"], ["m"]), make_node("Mul", ["m", "c"], ["y"])])
    )
    assert [operator.name for operator in network.operators] == ["MatMul_1", "Mul_2"]
