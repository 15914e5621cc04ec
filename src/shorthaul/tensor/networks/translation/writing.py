"""Nodes of ONNX while they are written in place of another one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Shape = tuple[int, ...]
#: Of tensors by name: shapes, types by their numbers in ONNX, and the elements of small constants.
Known = tuple[Mapping[str, Shape], Mapping[str, int], Mapping[str, Any]]


class Writer:
    """The nodes that stand for one, while they are written.

    ``constants`` are the initializers that they need, ``remarks`` what is taken for granted, ``known`` the shapes and
    types of tensors, and what small constants hold.
    """

    def __init__(self, onnx: Any, node: Any, name: str, known: Known, opset: int) -> None:
        self.onnx, self.name, self.opset = onnx, name, opset
        self.shapes, self.types, self.numbers = known
        self.inputs, self.outputs = list(node.input), list(node.output)
        self.kind: str = node.op_type
        self.values = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.remarks: list[str] = []
        #: What a row may take, read and written, over which several operators pass.
        self.most_row_bytes = math.inf
        #: Shapes of what was pooled by windows side by side, by the tensors of the places that were found.
        self.pooled_of: Mapping[str, Shape] = {}

    def input(self, number: int) -> str:
        """Return the name of an input, empty where it is left out."""
        return self.inputs[number] if number < len(self.inputs) else ""

    def add(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add a node and return the name of what it makes."""
        name = f"{self.name}/{kind}{len(self.nodes) or ''}"
        given = {key: value for key, value in attributes.items() if value is not None}
        made = output or f"{name} output"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [made], name, **given))
        return made

    def again(self, kind: str, inputs: Sequence[str]) -> str:
        """Add another operator of onnxruntime with the same attributes and outputs."""
        node = self.onnx.helper.make_node(
            kind, list(inputs), self.outputs, self.name, domain="com.microsoft", **self.values
        )
        self.nodes.append(node)
        return self.name

    def constant(self, values: Any, dtype: Any = np.int64) -> str:
        """Return the name of a constant, of integers by default."""
        name = f"{self.name}/constant{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def number(self, value: Any) -> str:
        """Return the name of a constant of the type of the first input, which is rounded where it is of use."""
        kind, exact = self.types[self.inputs[0]], np.asarray(value, np.float64)
        dtype = self.onnx.helper.tensor_dtype_to_np_dtype(kind)
        if np.array_equal(exact.astype(dtype).astype(np.float64), exact):
            return self.constant(exact, dtype)
        return self.add("Cast", self.constant(exact, np.float64), to=kind)

    def reshaped(self, source: str, shape: Shape, output: str = "") -> str:
        """Return a view under another shape."""
        return self.add("Reshape", source, self.constant(shape), output=output)

    def part(self, source: str, axis: int, start: int, stop: int) -> str:
        """Return the places from ``start`` up to ``stop`` of an axis."""
        return self.add("Slice", source, *(self.constant([value]) for value in (start, stop, axis)))


def margins(pads: Sequence[int], axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return what is added before and behind all axes, of what is added to some.

    >>> margins([1, 2, 3, 4], [-1, 0], 3)
    (2, 0, 1, 4, 0, 3)
    """
    found = [0] * (2 * rank)
    for number, axis in enumerate(axes):
        found[axis % rank], found[rank + axis % rank] = pads[number], pads[len(axes) + number]
    return tuple(found)
