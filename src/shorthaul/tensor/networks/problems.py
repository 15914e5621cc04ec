"""ONNX models as problems of the tensor engine: MatMul, Gemm, 1x1 Conv and pointwise operators on matrices.

A tensor of rank 3 or more is a matrix of its last axis against all others; in a model with convolutions one of rank 4
(N, C, H, W) is a matrix of channels against pixels. Constants that are broadcast (biases, scales) stay in registers
and are left out. A native tile takes one unit of time per step of a MatMul's reduction, and one for a pointwise
operator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shorthaul.core.errors import InputError
from shorthaul.tensor.model import Machine, Operator, OperatorType, Problem, Tensor
from shorthaul.tensor.networks.translation.agreement import expect_signature
from shorthaul.tensor.networks.translation.graph import Graph, Node, graph_from_onnx
from shorthaul.tensor.networks.translation.operators import POINTWISE

#: Operators whose output is their first input, as long as it stays the same matrix.
VIEWS = frozenset(["Cast", "Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"])


@dataclass(slots=True)
class _Built:
    """The problem as far as it is built; ``number`` speaks of ONNX names."""

    graph: Graph
    images: bool
    tensors: list[Tensor] = field(default_factory=list)
    operators: list[Operator] = field(default_factory=list)
    number: dict[str, int] = field(default_factory=dict)

    def shape(self, name: str, place: str) -> tuple[int, ...]:
        if name not in self.graph.shapes:
            raise InputError("has no shape that can be inferred", place=place, value=name, cure="give its shape")
        return self.graph.shapes[name]

    def matrix(self, name: str, place: str) -> Tensor:
        shape = self.shape(name, place)
        if self.images and len(shape) == 4:
            return Tensor(height=shape[1], width=shape[0] * shape[2] * shape[3])
        return Tensor(height=math.prod(shape[:-1]), width=shape[-1] if shape else 1)

    def tensor(self, name: str, matrix: Tensor) -> int:
        if name not in self.number:
            self.number[name] = len(self.tensors)
            self.tensors.append(matrix)
        return self.number[name]


def problem_from_onnx(data: bytes, machine: Machine, *, file: Path | None = None) -> Problem:
    """Return the operator graph of an ONNX model on ``machine``.

    Raises :class:`InputError` for what is no model, operators other than those above, shapes that are not fixed, and if
    the package ``onnx`` is not installed.
    """
    try:
        return _problem(graph_from_onnx(data, {}, None if file is None else file.parent), machine)
    except InputError as error:
        if "--dim" in error.cure:
            error.cure = "plan for a --machine, with sizes as in --dim batch=1; or fix the model's input shapes"
        raise (error if file is None else error.in_file(file)) from None


def _problem(graph: Graph, machine: Machine) -> Problem:
    built = _Built(graph, images=any(node.kind == "Conv" for node in graph.nodes))
    for node in graph.nodes:
        place = f"node {node.name} ({node.kind})"
        if graph.constants.issuperset(filter(None, node.outputs)):
            continue
        try:
            expect_signature(node.proto, graph.opsets)
        except ValueError as error:
            raise InputError(str(error), place=place, cure="check the model with onnx.checker.check_model") from None
        if node.kind in VIEWS:
            _view(built, node, place)
        elif node.kind in POINTWISE:
            _pointwise(built, node, place)
        elif node.kind in {"MatMul", "Gemm", "Conv"}:
            _matmul(built, node, place)
        else:
            allowed = f"MatMul, Gemm, Conv (1x1), {', '.join(sorted(VIEWS))}; {', '.join(sorted(POINTWISE))}"
            cure = "name a machine (--machine): then softmax, convolutions and many more go in"
            raise InputError("is no operator of a problem", place=place, value=node.kind, allowed=allowed, cure=cure)
    if not built.operators:
        raise InputError("has no operator that computes", place="graph", allowed="a MatMul or pointwise operator")
    return Problem(tuple(built.tensors), tuple(built.operators), machine)


def _view(built: _Built, node: Node, place: str) -> None:
    source, target = node.inputs[0], node.outputs[0]
    before, after = built.matrix(source, place), built.matrix(target, place)
    if before != after:
        shown = f"{built.graph.shapes[source]} to {built.graph.shapes[target]}"
        raise InputError("turns a matrix into another one", place=place, value=shown, allowed="views of one matrix")
    built.number[target] = built.tensor(source, before)


def _pointwise(built: _Built, node: Node, place: str) -> None:
    target = node.outputs[0]
    output = built.matrix(target, place)
    used = []
    for name in filter(None, node.inputs):
        matrix = built.matrix(name, place)
        if matrix == output:
            used.append(built.tensor(name, matrix))
        elif name not in built.graph.constants:
            shown = f"{name} of shape {built.graph.shapes[name]} for {built.graph.shapes[target]}"
            raise InputError("broadcasts what is no constant", place=place, value=shown, allowed="inputs of one shape")
    operator = Operator(OperatorType.POINTWISE, tuple(used), built.tensor(target, output), 1.0)
    built.operators.append(operator)


def _matmul(built: _Built, node: Node, place: str) -> None:
    left, right = node.inputs[:2]
    first, second = built.matrix(left, place), built.matrix(right, place)
    shapes = built.graph.shapes
    if node.kind == "Conv":
        _expect_pointwise_kernel(shapes[right], node.attributes, place)
        left, right = right, left  # weights (M, C, 1, 1) times channels against pixels
        shape = shapes[left]
        first, second = Tensor(height=shape[0], width=shape[1]), first
    elif len(shapes[right]) != 2 or len(shapes[left]) < 2 or (built.images and len(shapes[left]) > 3):
        shown = f"{shapes[left]} times {shapes[right]}"
        raise InputError("multiplies what is no matrix", place=place, value=shown, allowed="a right input of rank 2")
    if node.kind == "Gemm":
        first = _turned(built, left, first, node.attributes.get("transA", 0), place)
        second = _turned(built, right, second, node.attributes.get("transB", 0), place)
    bias = node.inputs[2] if node.kind != "MatMul" and len(node.inputs) > 2 else ""
    if bias and bias not in built.graph.constants:
        raise InputError("adds what is no constant", place=place, value=bias, allowed="a constant bias")
    inputs = (built.tensor(left, first), built.tensor(right, second))
    output = built.tensor(node.outputs[0], Tensor(height=first.height, width=second.width))
    built.operators.append(Operator(OperatorType.MATMUL, inputs, output, float(first.width)))


def _turned(built: _Built, name: str, matrix: Tensor, is_turned: int, place: str) -> Tensor:
    if not is_turned:
        return matrix
    if name not in built.graph.constants:
        raise InputError("transposes what is no constant", place=place, value=name, allowed="transposed weights")
    return Tensor(height=matrix.width, width=matrix.height)


def _expect_pointwise_kernel(weights: tuple[int, ...], attributes: Mapping[str, Any], place: str) -> None:
    wrong = [] if len(weights) == 4 and weights[2:] == (1, 1) else [f"weights of shape {weights}"]
    wrong += [f"group {attributes['group']}"] if attributes.get("group", 1) != 1 else []
    for name, plain in (("strides", 1), ("pads", 0)):
        given = list(attributes.get(name, ()))
        wrong += [f"{name} {given}"] if set(given) - {plain} else []
    if wrong:
        allowed = "kernels of 1x1, one group, strides 1, no padding"
        raise InputError("is a convolution that is no MatMul", place=place, value=", ".join(wrong), allowed=allowed)
