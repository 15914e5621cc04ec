"""Networks of ONNX whose operators, attributes and shapes are changed: what inference then says may be wrong, or missing."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np

INTEGERS = ((), (0,), (1,), (-1,), (2, 2), (0, 1), (1, 1, 1, 1), (0, 2, 1, 3), (3, 2, 1, 0), (2**40,), (2**63 - 1,))
NUMBERS = (0, 1, -1, 2, 3, -2, 7, 100, 2**40, -(2**63))
SHAPES = ((), (1,), (4, 6), (6, 4), (1, 3, 8, 8), (24,), (1, 1), (2, 6, 5))
OPERATORS = [
    "Relu",
    "MatMul",
    "Conv",
    "MaxPool",
    "Transpose",
    "Flatten",
    "Gemm",
    "Split",
    "Concat",
    "ReduceMean",
    "Softmax",
    "Squeeze",
    "Slice",
    "Pad",
    "Expand",
    "Reshape",
    "LayerNormalization",
    "GroupNormalization",
    "ConvTranspose",
    "AveragePool",
    "Resize",
    "Gather",
    "Einsum",
    "Where",
    "TopK",
    "LRN",
    "Trilu",
    "DepthToSpace",
    "PRelu",
    "Dropout",
    "Tile",
    "ArgMax",
    "Loop",
    "If",
    "LSTM",
]


def networks(folder: Path) -> None:
    """Write three networks with a dozen operators each."""
    import onnx

    node = onnx.helper.make_node
    chains: dict[str, tuple[list[int], list[Any], dict[str, Any]]] = {
        "image": (
            [1, 3, 8, 8],
            [
                node("Conv", ["x", "k"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1]),
                node("MaxPool", ["c"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
                node("Transpose", ["m"], ["t"], perm=[0, 2, 3, 1]),
                node("Flatten", ["t"], ["f"], axis=1),
                node("Gemm", ["f", "w", "b"], ["y"], transB=1),
            ],
            {"k": np.ones((4, 3, 3, 3)), "w": np.ones((5, 64)), "b": np.ones(5)},
        ),
        "parts": (
            [2, 6, 5],
            [
                node("Split", ["x", "s"], ["a", "b"], axis=1),
                node("Sigmoid", ["a"], ["sa"]),
                node("Concat", ["sa", "b"], ["c"], axis=1),
                node("ReduceMean", ["c"], ["r"], axes=[2], keepdims=1),
                node("Sub", ["c", "r"], ["d"]),
                node("Slice", ["d", "from", "to"], ["e"]),
                node("Softmax", ["e"], ["y"], axis=-1),
            ],
            {"s": np.array([3, 3]), "from": np.array([0, 1]), "to": np.array([2, 5])},
        ),
        "rows": (
            [1, 6, 8],
            [
                node("LayerNormalization", ["x", "g", "g"], ["n"], axis=-1),
                node("Reshape", ["n", "heads"], ["h"]),
                node("Transpose", ["h"], ["t"], perm=[0, 2, 1, 3]),
                node("Transpose", ["h"], ["u"], perm=[0, 2, 3, 1]),
                node("MatMul", ["t", "u"], ["z"]),
                node("Softmax", ["z"], ["y"], axis=-1),
            ],
            {"g": np.ones(8), "heads": np.array([1, 6, 2, 4])},
        ),
    }
    for name, (shape, nodes, given) in chains.items():
        arrays = {key: array.astype(np.float32) if array.dtype.kind == "f" else array for key, array in given.items()}
        initial = [onnx.numpy_helper.from_array(array, key) for key, array in arrays.items()]
        info = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph(nodes, name, [info("x", 1, shape)], [info("y", 1, None)], initial)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
        (folder / f"{name}.onnx").write_bytes(model.SerializeToString())


def mutate_operators(data: bytes, random: Random) -> bytes:
    """Change operators, attributes, inputs, versions, and what the file says of shapes."""
    import onnx

    model = onnx.load_model_from_string(data)
    graph = model.graph
    made = [name for node in graph.node for name in node.output]
    for _ in range(random.choice((1, 1, 2, 3))):
        node, kind = random.choice(graph.node), random.randrange(8)
        if kind < 2 and node.attribute:
            item = random.choice(node.attribute)
            if random.random() < 0.2:
                node.attribute.remove(item)
            elif item.type == onnx.AttributeProto.INTS:
                item.ints[:] = random.choice(INTEGERS)
            else:
                item.i = random.choice(NUMBERS)
        elif kind == 2:
            node.op_type = random.choice(OPERATORS)
        elif kind == 3:
            model.opset_import[0].version = random.choice((1, 6, 9, 11, 13, 18, 21, 99))
        elif kind == 4 and node.input:
            node.input[random.randrange(len(node.input))] = random.choice([*made, "x", "", "nobody"])
        elif kind == 5 and node.input:
            del node.input[random.randrange(len(node.input))]
        elif kind == 6:
            graph.value_info.append(onnx.helper.make_tensor_value_info(random.choice(made), 1, random.choice(SHAPES)))
        elif kind == 7:
            graph.input[0].CopyFrom(onnx.helper.make_tensor_value_info("x", 1, random.choice(SHAPES)))
    return bytes(model.SerializeToString())
