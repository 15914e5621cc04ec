"""ONNX models as problems of the tensor engine: MatMul, Gemm, 1x1 Conv and pointwise operators on matrices.

A tensor of rank 3 or more is a matrix of its last axis against all others; in a model with convolutions one of rank 4
(N, C, H, W) is a matrix of channels against pixels. Constants that are broadcast (biases, scales) stay in registers
and are left out. A native tile takes one unit of time per step of a MatMul's reduction, and one for a pointwise
operator.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shorthaul.core.errors import InputError
from shorthaul.core.options import Options, option
from shorthaul.tensor.model import Machine, Operator, OperatorType, Problem, Tensor

# fmt: off
POINTWISE = frozenset((
    "Abs", "Add", "BatchNormalization", "Ceil", "Clip", "Cos", "Div", "Elu", "Erf", "Exp", "Floor", "Gelu",
    "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Max", "Mean", "Min", "Mish", "Mul", "Neg", "PRelu", "Pow",
    "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Sqrt", "Sub", "Sum",
    "Tanh", "ThresholdedRelu",
))
# fmt: on
#: Operators whose output is their first input, as long as it stays the same matrix.
VIEWS = frozenset(["Cast", "Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"])

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AcceleratorOptions(Options):
    """The machine of a problem made from an ONNX model, which names none."""

    capacity: float = option(2.0**20, "ONNX: elements of fast memory.", least=1)
    bandwidth: float = option(16.0, "ONNX: elements from or to slow memory per unit of time.", least=1e-9)
    native: str = option("128x128", "ONNX: the native tile, WIDTHxHEIGHT elements.")

    def machine(self) -> Machine:
        """Return the machine; raises :class:`InputError`."""
        match = re.fullmatch(r"([1-9]\d{0,8})[xX]([1-9]\d{0,8})", self.native.strip())
        if match is None:
            raise InputError("is no tile", place="--native", value=self.native, allowed="WIDTHxHEIGHT, as in 128x128")
        return Machine(self.capacity, self.bandwidth, int(match[1]), int(match[2]))


@dataclass(slots=True)
class _Graph:
    """The problem as far as it is built; ``number`` and ``constant`` speak of ONNX names."""

    shapes: dict[str, Shape]
    constant: set[str]
    images: bool
    tensors: list[Tensor] = field(default_factory=list)
    operators: list[Operator] = field(default_factory=list)
    number: dict[str, int] = field(default_factory=dict)

    def matrix(self, name: str, place: str) -> Tensor:
        if name not in self.shapes:
            raise InputError("has no shape that can be inferred", place=place, value=name, cure="give its shape")
        shape = self.shapes[name]
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
        import onnx
        from google.protobuf.message import DecodeError
    except ImportError:
        raise InputError("ONNX models need the package onnx", cure="pip install 'shorthaul[onnx]'") from None
    try:
        model = onnx.shape_inference.infer_shapes(onnx.load_model_from_string(data), data_prop=True)
    except (DecodeError, onnx.shape_inference.InferenceError, onnx.checker.ValidationError, ValueError) as error:
        problem = f"is not an ONNX model: {str(error).splitlines()[0]}"
        raise InputError(problem, file=file, cure="write it with onnx.save") from None
    try:
        return _problem(model.graph, machine)
    except InputError as error:
        raise (error if file is None else error.in_file(file)) from None


def _problem(graph: Any, machine: Machine) -> Problem:
    constant = {tensor.name for tensor in graph.initializer}
    images = any(node.op_type == "Conv" for node in graph.node)
    built = _Graph(_shapes(graph), constant, images)
    for index, node in enumerate(graph.node):
        place = f"node {index} ({node.op_type}{' ' + node.name if node.name else ''})"
        _expect_operands(node, place)
        if node.op_type == "Constant":
            built.constant |= set(node.output)
        elif node.op_type in VIEWS:
            _view(built, node, place)
        elif node.op_type in POINTWISE:
            _pointwise(built, node, place)
        elif node.op_type in {"MatMul", "Gemm", "Conv"}:
            _matmul(built, node, place)
        else:
            allowed = f"MatMul, Gemm, Conv (1x1), {', '.join(sorted(VIEWS))}; {', '.join(sorted(POINTWISE))}"
            raise InputError("is an operator that is not supported", place=place, value=node.op_type, allowed=allowed)
    if not built.operators:
        raise InputError("has no operator that computes", place="graph", allowed="a MatMul or pointwise operator")
    return Problem(tuple(built.tensors), tuple(built.operators), machine)


def _expect_operands(node: Any, place: str) -> None:
    """Raise :class:`InputError` unless the node has the inputs that it reads and an output."""
    least = 0 if node.op_type == "Constant" else 2 if node.op_type in {"MatMul", "Gemm", "Conv"} else 1
    found = len([name for name in node.input[:least] if name])
    if found < least or not node.output or not node.output[0]:
        value = f"{found} inputs, {len(node.output)} outputs"
        raise InputError("lacks inputs or an output", place=place, value=value, allowed=f"{least} inputs, an output")


def _shapes(graph: Any) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.name in shapes or not value.type.tensor_type.HasField("shape"):
            continue
        dims = value.type.tensor_type.shape.dim
        for axis, dim in enumerate(dims):
            if not dim.HasField("dim_value") or dim.dim_value < 1:
                raise InputError(
                    "has an axis that is not fixed",
                    place=f"{value.name}, axis {axis}",
                    value=dim.dim_param or dim.dim_value,
                    allowed="positive integers",
                    cure="plan for a --machine, with sizes as in --dim batch=1; or fix the model's input shapes",
                )
        shapes[value.name] = tuple(dim.dim_value for dim in dims)
    return shapes


def _view(built: _Graph, node: Any, place: str) -> None:
    source, target = node.input[0], node.output[0]
    if source in built.constant:
        built.constant.add(target)
        return
    before, after = built.matrix(source, place), built.matrix(target, place)
    if before != after:
        shown = f"{built.shapes[source]} to {built.shapes[target]}"
        raise InputError("turns a matrix into another one", place=place, value=shown, allowed="views of one matrix")
    built.number[target] = built.tensor(source, before)


def _pointwise(built: _Graph, node: Any, place: str) -> None:
    inputs = [name for name in node.input if name]
    target = node.output[0]
    if all(name in built.constant for name in inputs):
        built.constant.add(target)
        return
    output = built.matrix(target, place)
    used = []
    for name in inputs:
        matrix = built.matrix(name, place)
        if matrix == output:
            used.append(built.tensor(name, matrix))
        elif name not in built.constant:
            shown = f"{name} of shape {built.shapes[name]} for {built.shapes[target]}"
            raise InputError("broadcasts what is no constant", place=place, value=shown, allowed="inputs of one shape")
    operator = Operator(OperatorType.POINTWISE, tuple(used), built.tensor(target, output), 1.0)
    built.operators.append(operator)


def _matmul(built: _Graph, node: Any, place: str) -> None:
    left, right = node.input[:2]
    first, second = built.matrix(left, place), built.matrix(right, place)
    attributes = {item.name: item for item in node.attribute}
    if node.op_type == "Conv":
        _expect_pointwise_kernel(built.shapes[right], attributes, place)
        left, right = right, left  # weights (M, C, 1, 1) times channels against pixels
        shape = built.shapes[left]
        first, second = Tensor(height=shape[0], width=shape[1]), first
    elif len(built.shapes[right]) != 2 or len(built.shapes[left]) < 2 or (built.images and len(built.shapes[left]) > 3):
        shown = f"{built.shapes[left]} times {built.shapes[right]}"
        raise InputError("multiplies what is no matrix", place=place, value=shown, allowed="a right input of rank 2")
    if node.op_type == "Gemm":
        first = _turned(built, left, first, attributes.get("transA"), place)
        second = _turned(built, right, second, attributes.get("transB"), place)
    if node.op_type != "MatMul" and len(node.input) > 2 and node.input[2] and node.input[2] not in built.constant:
        raise InputError("adds what is no constant", place=place, value=node.input[2], allowed="a constant bias")
    inputs = (built.tensor(left, first), built.tensor(right, second))
    output = built.tensor(node.output[0], Tensor(height=first.height, width=second.width))
    built.operators.append(Operator(OperatorType.MATMUL, inputs, output, float(first.width)))


def _turned(built: _Graph, name: str, matrix: Tensor, attribute: Any, place: str) -> Tensor:
    if attribute is None or not attribute.i:
        return matrix
    if name not in built.constant:
        raise InputError("transposes what is no constant", place=place, value=name, allowed="transposed weights")
    return Tensor(height=matrix.width, width=matrix.height)


def _expect_pointwise_kernel(weights: Shape, attributes: dict[str, Any], place: str) -> None:
    wrong = [] if len(weights) == 4 and weights[2:] == (1, 1) else [f"weights of shape {weights}"]
    if "group" in attributes and attributes["group"].i != 1:
        wrong.append(f"group {attributes['group'].i}")
    for name, plain in (("strides", 1), ("pads", 0)):
        if name in attributes and set(attributes[name].ints) - {plain}:
            wrong.append(f"{name} {list(attributes[name].ints)}")
    if wrong:
        allowed = "kernels of 1x1, one group, strides 1, no padding"
        raise InputError("is a convolution that is no MatMul", place=place, value=", ".join(wrong), allowed=allowed)
