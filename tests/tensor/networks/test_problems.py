"""ONNX models become problems that the tensor engine plans."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.commands import shorthaul, shorthaul_json

from shorthaul.core.errors import InputError
from shorthaul.tensor.model import Problem, Tensor
from shorthaul.tensor.networks.problems import problem_from_onnx
from shorthaul.tensor.options import AcceleratorOptions

MACHINE = AcceleratorOptions().machine()


def model(nodes: list, inputs: dict[str, list], weights: dict[str, tuple[int, ...]], outputs: tuple[str, ...]) -> bytes:
    graph = helper.make_graph(
        nodes,
        "sample",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(np.zeros(shape, np.float32), name) for name, shape in weights.items()],
    )
    return helper.make_model(graph).SerializeToString()


def node(kind: str, inputs: str, output: str, **attributes: object) -> onnx.NodeProto:
    return helper.make_node(kind, inputs.split(), [output], **attributes)


def summary(problem: Problem) -> list[tuple]:
    shape = [(tensor.height, tensor.width) for tensor in problem.tensors]
    return [(str(op.kind), [shape[t] for t in op.inputs], shape[op.output], op.base_cost) for op in problem.operators]


def perceptron() -> bytes:
    nodes = [
        node("Gemm", "x w1 b1", "h", transB=1),
        node("Relu", "h", "a"),
        node("MatMul", "a w2", "m"),
        node("Add", "m b2", "o"),
        node("Add", "o x", "y"),
    ]
    weights = {"w1": (64, 32), "b1": (64,), "w2": (64, 32), "b2": (32,)}
    return model(nodes, {"x": [10, 32]}, weights, ("y",))


def test_a_perceptron() -> None:
    assert summary(problem_from_onnx(perceptron(), MACHINE)) == [
        ("MatMul", [(10, 32), (32, 64)], (10, 64), 32.0),
        ("Pointwise", [(10, 64)], (10, 64), 1.0),
        ("MatMul", [(10, 64), (64, 32)], (10, 32), 64.0),
        ("Pointwise", [(10, 32)], (10, 32), 1.0),  # the bias is a constant of another shape
        ("Pointwise", [(10, 32), (10, 32)], (10, 32), 1.0),
    ]


def test_rows_of_a_batch_and_views() -> None:
    shape = helper.make_tensor("value", TensorProto.INT64, [2], [14, 5])
    nodes = [
        node("MatMul", "x w", "h"),
        node("Constant", "", "shape", value=shape),
        node("Reshape", "h shape", "r"),
        node("Gelu", "r", "g"),
        node("Identity", "g", "y"),
    ]
    problem = problem_from_onnx(model(nodes, {"x": [2, 7, 16]}, {"w": (16, 5)}, ("y",)), MACHINE)
    assert summary(problem) == [
        ("MatMul", [(14, 16), (16, 5)], (14, 5), 16.0),
        ("Pointwise", [(14, 5)], (14, 5), 1.0),
    ]
    assert len(problem.tensors) == 4  # the views are the tensors themselves


def test_convolutions_that_are_matrix_products() -> None:
    nodes = [
        node("Conv", "x k b", "c", kernel_shape=[1, 1]),
        node("BatchNormalization", "c s s s s", "n"),
        node("Relu", "n", "a"),
        node("Conv", "a l", "d"),
        node("Add", "d x", "y"),
    ]
    weights = {"k": (8, 3, 1, 1), "b": (8,), "s": (8,), "l": (3, 8, 1, 1)}
    problem = problem_from_onnx(model(nodes, {"x": [2, 3, 5, 4]}, weights, ("y",)), MACHINE)
    assert summary(problem) == [
        ("MatMul", [(8, 3), (3, 40)], (8, 40), 3.0),
        ("Pointwise", [(8, 40)], (8, 40), 1.0),
        ("Pointwise", [(8, 40)], (8, 40), 1.0),
        ("MatMul", [(3, 8), (8, 40)], (3, 40), 8.0),
        ("Pointwise", [(3, 40), (3, 40)], (3, 40), 1.0),
    ]
    assert problem.tensors[0] == Tensor(width=3, height=8)


WRONG = {
    "softmax": (
        [node("Softmax", "x", "y")],
        {"x": [4, 4]},
        {},
        ("node Softmax_0 (Softmax)", "is no operator of a problem", "MatMul, Gemm", "--machine"),
    ),
    "symbolic": ([node("Relu", "x", "y")], {"x": ["batch", 4]}, {}, ("without a size", "batch", "--machine")),
    "kernel": (
        [node("Conv", "x k", "y")],
        {"x": [1, 3, 8, 8]},
        {"k": (4, 3, 3, 3)},
        ("no MatMul", "(4, 3, 3, 3)", "1x1"),
    ),
    "strides": (
        [node("Conv", "x k", "y", strides=[2, 2])],
        {"x": [1, 3, 8, 8]},
        {"k": (4, 3, 1, 1)},
        ("strides [2, 2]",),
    ),
    "batched": ([node("MatMul", "x z", "y")], {"x": [2, 3, 4], "z": [2, 4, 5]}, {}, ("no matrix", "rank 2")),
    "transposed": ([node("Gemm", "x z", "y", transA=1)], {"x": [4, 3], "z": [4, 5]}, {}, ("transposes", "'x'")),
    "bias": (
        [node("Gemm", "x z b", "y")],
        {"x": [3, 4], "z": [4, 5], "b": [5]},
        {},
        ("adds what is no constant", "'b'"),
    ),
    "broadcast": ([node("Add", "x z", "y")], {"x": [3, 4], "z": [4]}, {}, ("broadcasts", "z of shape (4,)")),
    "reshaped": (
        [node("Flatten", "x", "f"), node("Relu", "f", "y")],
        {"x": [2, 3, 4]},
        {},
        ("another one", "(2, 3, 4) to (2, 12)"),
    ),
    "nothing": ([node("Identity", "x", "y")], {"x": [2, 3]}, {}, ("no operator that computes",)),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_supported_is_named(name: str) -> None:
    nodes, inputs, weights, says = WRONG[name]
    with pytest.raises(InputError) as raised:
        problem_from_onnx(model(nodes, inputs, weights, ("y",)), MACHINE, file=Path("m.onnx"))
    assert all(part in str(raised.value) for part in ("m.onnx", *says)), str(raised.value)


def test_files_that_are_no_models_and_machines_that_are_none() -> None:
    for data in (b"", b"(a,b);", bytes(range(256)), perceptron()[:50]):
        with pytest.raises(InputError):
            problem_from_onnx(data, MACHINE)
    for native in ("128", "0x1", "axb"):
        with pytest.raises(InputError, match="--native"):
            AcceleratorOptions(native=native).machine()


def test_from_the_command_line_to_a_plan(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(perceptron())
    flags = ("--capacity", "5000", "--bandwidth", "4", "--native", "16x16")
    done = shorthaul("convert", "m.onnx", "problem.json", *flags, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    problem = json.loads((tmp_path / "problem.json").read_text())
    assert problem["fast_memory_capacity"] == 5000
    assert problem["native_granularity"] == [16, 16]
    planned = shorthaul_json("tensor", "plan", "problem.json", "--effort", "0.5", cwd=tmp_path)
    assert planned["check"]["ok"]
    assert planned["cost"]["latency"] >= planned["bound"]["value"]
