"""What operators compute on a region of their dimensions: pointwise operators, products, rows, reductions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import ml_dtypes
import numpy as np
import numpy.typing as npt
from onnx import helper

from shorthaul.tensor.networks.execution.arrays import evaluated
from shorthaul.tensor.networks.execution.experts import tanh_gelu
from shorthaul.tensor.networks.execution.reading import Index, Reader, converted, mesh
from shorthaul.tensor.networks.model import Operator
from shorthaul.tensor.networks.translation.graph import Node
from shorthaul.tensor.networks.translation.operators import CUMULATIVE, FLATTENED, weights_of

Array = npt.NDArray[Any]
#: First and last position of every dimension.
Region = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Piece:
    """An operator on a region of its dimensions, at positions of its node: ``reader`` gives its operands."""

    operator: Operator
    node: Node
    region: Region
    reader: Reader

    @property
    def kind(self) -> str:
        """The operator's name, without its domain."""
        return self.node.kind.removeprefix("com.microsoft.")

    def along(self, name: str) -> npt.NDArray[np.int64]:
        """Return the positions of the dimension ``name``; one that is left out has one."""
        names = self.operator.dim_names
        return self._positions(names.index(name)) if name in names else np.zeros(1, np.int64)

    def written(self) -> list[npt.NDArray[np.int64]]:
        """Return the positions along every axis of what is written."""
        axes = self.operator.writes[0].axes
        return [self._positions(index.terms[0][0]) if index.terms else np.zeros(1, np.int64) for index in axes]

    def _positions(self, dim: int) -> npt.NDArray[np.int64]:
        low, high = self.region[dim]
        first, by = (self.operator.first[dim], self.operator.steps[dim]) if self.operator.first else (0, 1)
        return np.arange(low, high + 1) * by + first

    def input(self, number: int) -> str:
        """Return the name of an input, empty where it is left out."""
        return self.node.inputs[number] if number < len(self.node.inputs) else ""

    def shape(self, number: int) -> tuple[int, ...]:
        """Return the shape of an input."""
        return self.reader.shape(self.node.inputs[number])

    def take(self, number: int, index: Index) -> Array:
        """Return elements of an input."""
        return self.reader.take(self.node.inputs[number], index)

    def constant(self, number: int, default: Any = None) -> Any:
        """Return an input that is read whole, as scales and sizes are; ``default`` where there is none."""
        name = self.input(number)
        return self.reader.whole(name) if name else default

    def number(self, name: str, default: float) -> float:
        """Return an attribute that is a number."""
        return float(self.node.attributes.get(name, default))

    def by_reference(self, operands: Mapping[str, Array]) -> Array:
        """Return what the reference makes of operands."""
        return evaluated(self.node, self.reader.graph, operands)[self.node.outputs[0]]


@dataclass(frozen=True, slots=True)
class Kind:
    """How an operator is executed: partly, how parts are put together, and what is done at the end.

    ``partial`` computes a region; ``merge`` joins what two regions found that differ in reduced dimensions only;
    ``finish`` makes the output of what all of them found, with the region of the last one.
    """

    partial: Callable[[Piece], Array]
    merge: Callable[[Array, Array], Array] = np.add
    finish: Callable[[Piece, Array], Array] | None = None


def cut(piece: Piece, number: int, places: Sequence[npt.NDArray[np.int64]]) -> Array:
    """Return an input that is broadcast to places of an output."""
    shape = piece.shape(number)
    last = list(places[max(0, len(places) - len(shape)) :])
    last = [np.zeros(1, np.int64)] * (len(shape) - len(last)) + last
    return piece.take(number, mesh(*(at[:1] * 0 if size == 1 else at for size, at in zip(shape, last, strict=True))))


def pointwise(piece: Piece) -> Array:
    """Return every element of a region from those at its place."""
    places = piece.written()
    simple = _FORMULAS.get(piece.kind)
    special = _SPECIAL.get(piece.kind)
    if special is not None:
        return special(piece, places)
    values = {
        name: cut(piece, number, places) if 0 not in piece.shape(number) else piece.constant(number)
        for number, name in enumerate(piece.node.inputs)
        if name
    }
    shape = tuple(len(at) for at in places)
    if simple is not None and all(value.dtype.kind == "f" for value in values.values()):
        found = simple(*(values[name] for name in piece.node.inputs if name))
    else:
        found = piece.by_reference(values)
    return np.broadcast_to(found, shape) if found.shape != shape else found


def _channel(piece: Piece, number: int, places: Sequence[npt.NDArray[np.int64]]) -> Any:
    """Return an input with one number per channel at the channels of a region, or one number for all."""
    shape = piece.shape(number)
    if math.prod(shape) == 1:
        return piece.constant(number).reshape(())
    axis = int(piece.node.attributes.get("axis", 1)) % len(places)
    block = int(piece.node.attributes.get("block_size", 0))
    if block:
        return piece.take(number, mesh(*(at // block if along == axis else at for along, at in enumerate(places))))
    if len(shape) > 1 or len(places) == 1:
        return cut(piece, number, places)
    return piece.take(number, mesh(places[axis])).reshape([-1 if at == axis else 1 for at in range(len(places))])


def _batch_normalised(piece: Piece, places: Sequence[npt.NDArray[np.int64]]) -> Array:
    scale, shift, mean, variance = (_channel(piece, number, places) for number in range(1, 5))
    root = np.sqrt(variance + piece.number("epsilon", 1e-5))
    return np.asarray((cut(piece, 0, places) - mean) / root * scale + shift)


def rounded(values: Array, zero: Any, dtype: Any) -> Array:
    """Return numbers rounded to a quantised type."""
    limits = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
    found: Array = np.clip(np.rint(values) + np.asarray(zero, np.float64), limits.min, limits.max).astype(dtype)
    return found


def _quantised(piece: Piece, places: Sequence[npt.NDArray[np.int64]]) -> Array:
    scale = _channel(piece, 1, places)
    zero = _channel(piece, 2, places) if piece.input(2) else np.zeros(())
    kind = piece.reader.graph.types[piece.node.outputs[0]]
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(kind))
    if "int" not in dtype.name:
        most = float(ml_dtypes.finfo(dtype).max) if piece.number("saturate", 1) else math.inf  # type: ignore[no-untyped-call]
        return np.asarray(np.clip(cut(piece, 0, places) / scale, -most, most).astype(dtype))
    return rounded(cut(piece, 0, places) / scale, zero, dtype)


def _converted(piece: Piece, places: Sequence[npt.NDArray[np.int64]]) -> Array:
    return converted(piece.reader, piece.node, cut(piece, 0, places))


def _dequantised(piece: Piece, places: Sequence[npt.NDArray[np.int64]]) -> Array:
    zero = _channel(piece, 2, places) if piece.input(2) else np.zeros(())
    return np.asarray((cut(piece, 0, places).astype(np.float64) - zero) * _channel(piece, 1, places))


def _triangle(piece: Piece, places: Sequence[npt.NDArray[np.int64]]) -> Array:
    rows, columns = mesh(*places)[-2:]
    diagonal = int(piece.constant(1, np.zeros((), np.int64)).reshape(()))
    is_upper = bool(piece.node.attributes.get("upper", 1))
    kept = columns >= rows + diagonal if is_upper else columns <= rows + diagonal
    values = piece.take(0, mesh(*places))
    return np.where(kept, values, np.zeros((), values.dtype))


def _gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + _erf(x / math.sqrt(2))))


def _erf(x: Array) -> Array:
    from scipy.special import erf

    return np.asarray(erf(x))


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


#: Formulas of common operators on real numbers; all others are the reference's.
_FORMULAS: Final[dict[str, Callable[..., Array]]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Relu": lambda x: np.maximum(x, 0),
    "Sigmoid": _sigmoid, "Tanh": np.tanh, "Sqrt": np.sqrt, "Exp": np.exp, "Log": np.log, "Neg": np.negative,
    "Abs": np.abs, "Erf": _erf, "Reciprocal": lambda x: 1 / x,
    "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
}  # fmt: skip
_SPECIAL: Final[dict[str, Callable[[Piece, Sequence[npt.NDArray[np.int64]]], Array]]] = {
    "BatchNormalization": _batch_normalised,
    **dict.fromkeys(("Cast", "CastLike"), _converted),
    "QuantizeLinear": _quantised,
    "DequantizeLinear": _dequantised,
    "Trilu": _triangle,
    "FastGelu": lambda piece, places: tanh_gelu(reduce(np.add, _all(piece, places))),
    "BiasGelu": lambda piece, places: _gelu(reduce(np.add, _all(piece, places))),
    "Gelu": lambda piece, places: _gelu_of(piece)(*_all(piece, places)),
    "QuickGelu": lambda piece, places: _quick_gelu(piece, *_all(piece, places)),
}


def _all(piece: Piece, places: Sequence[npt.NDArray[np.int64]]) -> list[Array]:
    return [cut(piece, number, places) for number, name in enumerate(piece.node.inputs) if name]


def _gelu_of(piece: Piece) -> Callable[[Array], Array]:
    return tanh_gelu if piece.node.attributes.get("approximate", "none") == "tanh" else _gelu


def _quick_gelu(piece: Piece, x: Array) -> Array:
    return np.asarray(x * _sigmoid(piece.number("alpha", 1.702) * x))


def matmul(piece: Piece) -> Array:
    """Return products of rows and columns, batches broadcast."""
    at = {"QLinearMatMul": (0, 3), "MatMulInteger": (0, 1)}.get(piece.kind, (0, 1))
    first, second = piece.shape(at[0]), piece.shape(at[1])
    ranks = len(first), len(second)
    m, n, k = (piece.along(name) for name in "mnk")
    kept = (ranks[0] > 1) + (ranks[1] > 1)
    batch = piece.written()[: len(piece.operator.writes[0].axes) - kept]
    batches = []
    for shape in (first, second):
        last = batch[len(batch) - len(shape[:-2]) :] if len(shape) > 2 else []
        batches.append([at[:1] * 0 if size == 1 else at for size, at in zip(shape[:-2], last, strict=True)])
    left = piece.take(at[0], mesh(*batches[0], *([m] if ranks[0] > 1 else []), k))
    right = piece.take(at[1], mesh(*batches[1], k, *([n] if ranks[1] > 1 else [])))
    if left.dtype.kind != "f":
        left, right = _centred(piece, left, m, at[0]), _centred(piece, right, n, at[1])
    return np.asarray(left @ right)


def _centred(piece: Piece, values: Array, places: npt.NDArray[np.int64], at: int) -> Array:
    """Return quantised numbers less their zero, as 64-bit integers; a vector of zeros is one per row or column."""
    if piece.kind == "MatMul":
        return values
    zero = at + 2  # it follows its operand, or both of them
    offset = piece.constant(zero, np.zeros((), np.int64)).astype(np.int64)
    if offset.size > 1:
        offset = offset.ravel()[places]
        offset = offset[:, None] if at == 0 else offset
    return np.asarray(values.astype(np.int64) - (offset.reshape(()) if offset.size == 1 else offset))


def finish_matmul(piece: Piece, total: Array) -> Array:
    """Return a product in the type of the output."""
    if piece.kind == "MatMulInteger":
        return total.astype(np.int32)
    if piece.kind == "QLinearMatMul":
        n = piece.along("n")
        scale = [np.asarray(piece.constant(number), np.float64) for number in (1, 4, 6)]
        scale = [item.ravel()[n] if item.size > 1 else item.reshape(()) for item in scale]
        zero = piece.constant(7)
        return rounded(total * (scale[0] * scale[1] / scale[2]), zero, zero.dtype)
    return total


def packed_product(piece: Piece) -> Array:
    """Return products of rows with weights of few bits."""
    *rows, n = piece.written()
    left = piece.take(0, mesh(*rows, piece.along("k")))
    right = piece.reader.take(weights_of(piece.node), mesh(n, piece.along("k")))
    return np.asarray(left @ right.T)


def gemm(piece: Piece) -> Array:
    """Return a product of matrices, either one transposed."""
    m, n, k = (piece.along(name) for name in "mnk")
    turned, other = bool(piece.node.attributes.get("transA", 0)), bool(piece.node.attributes.get("transB", 0))
    left = piece.take(0, mesh(k, m)).T if turned else piece.take(0, mesh(m, k))
    right = piece.take(1, mesh(n, k)).T if other else piece.take(1, mesh(k, n))
    return np.asarray(left @ right)


def finish_gemm(piece: Piece, total: Array) -> Array:
    """Return a product, scaled, with its third input."""
    total = total * piece.number("alpha", 1.0) if piece.number("alpha", 1.0) != 1 else total
    if piece.input(2):
        total = total + piece.number("beta", 1.0) * cut(piece, 2, piece.written())
    return np.asarray(total)


def einsum(piece: Piece) -> Array:
    """Return sums of products by letters."""
    equation = str(piece.node.attributes["equation"]).replace(" ", "")
    left, _, _ = equation.partition("->")
    operands = []
    for number, word in enumerate(left.split(",")):
        shape = piece.shape(number)
        places = [piece.along(letter)[: None if size > 1 else 1] for letter, size in zip(word, shape, strict=True)]
        places = [at * 0 if size == 1 else at for at, size in zip(places, shape, strict=True)]
        operands.append(piece.take(number, mesh(*places)))
    return np.asarray(np.einsum(equation, *operands, optimize=True))


def rows(piece: Piece) -> Array:
    """Return rows that are normalised, or summed up, each whole."""
    places = piece.written()
    values = {piece.input(0): piece.take(0, mesh(*places))}
    for number, name in enumerate(piece.node.inputs[1:], 1):
        if not name:
            continue
        if piece.kind == "InstanceNormalization":
            values[name] = piece.take(number, mesh(places[1]))
        elif piece.kind in CUMULATIVE:
            values[name] = piece.constant(number)
        else:
            values[name] = cut(piece, number, places)
    if piece.kind == "SimplifiedLayerNormalization":
        x = values[piece.input(0)]
        root = np.sqrt((x * x).mean(-1, keepdims=True) + piece.number("epsilon", 1e-5))
        return np.asarray(x / root * values[piece.input(1)])
    return piece.by_reference(values)


def group_normalised(piece: Piece) -> Array:
    """Return groups of channels, each normalised whole."""
    shape = piece.shape(0)
    n, g = piece.along("n"), piece.along("g")
    count = int(piece.node.attributes.get("num_groups", 1))
    depth = shape[1] // count
    inside = [np.arange(size) for size in (depth, *shape[2:])]
    spread = mesh(n, g, *inside)
    x = piece.take(0, (spread[0], spread[1] * depth + spread[2], *spread[3:]))
    axes = tuple(range(2, x.ndim))
    x = x - x.mean(axes, keepdims=True)
    x = x / np.sqrt((x * x).mean(axes, keepdims=True) + piece.number("epsilon", 1e-5))
    by_channel = (spread[1] * depth + spread[2])[0]
    for number, apply in ((1, np.multiply), (2, np.add)):
        size = piece.shape(number)[0]
        x = apply(x, piece.take(number, (by_channel if size == shape[1] else spread[1][0],)))
    return np.asarray(x)


def reduction(piece: Piece) -> Array:
    """Return what is to be added up, or the extreme, of a region."""
    if not piece.operator.reduced and piece.node.attributes.get("noop_with_empty_axes", 0):
        return pointwise(piece)
    shape = piece.shape(0)
    letters = [piece.along("abcdefgh"[axis % 8]) for axis in range(len(shape))]
    values = piece.take(0, mesh(*letters))
    reduced = tuple(axis for axis in range(len(shape)) if axis in _reduced_axes(piece))
    keeps = bool(piece.node.attributes.get("keepdims", 1))
    if piece.kind.startswith("Arg"):
        return piece.by_reference({piece.input(0): values})
    found = _REDUCED[piece.kind][0](values, reduced)
    found = found.astype(values.dtype) if values.dtype.kind in "iu" else found  # NumPy adds up in 64 bits
    return np.asarray(found if keeps else found.squeeze(reduced))


def _reduced_axes(piece: Piece) -> set[int]:
    rank = len(piece.shape(0))
    given = piece.node.attributes.get(
        "axes", piece.node.attributes.get("axis", 0 if piece.kind.startswith("Arg") else None)
    )
    if piece.input(1):
        given = piece.constant(1).ravel().tolist()
    axes = [given] if isinstance(given, int) else given
    return {int(axis) % max(rank, 1) for axis in axes} if axes else set(range(rank))


def finish_reduction(piece: Piece, total: Array) -> Array:
    """Return the mean, the root or the logarithm of what was added up."""
    if not piece.operator.reduced and piece.node.attributes.get("noop_with_empty_axes", 0):
        return total
    count = math.prod(piece.shape(0)[axis] for axis in _reduced_axes(piece))
    if piece.kind == "ReduceMean":
        return np.asarray(total / count if total.dtype.kind == "f" else total // count)
    if piece.kind == "ReduceL2":
        return np.sqrt(total)
    return np.log(total) if piece.kind == "ReduceLogSum" else total


def _logarithm(values: Array, axes: tuple[int, ...]) -> Array:
    for axis in axes:
        values = np.logaddexp.reduce(values, axis=axis, keepdims=True)
    return values


_Reduce = Callable[[Array, tuple[int, ...]], Array]


def _plain(function: Callable[..., Any], before: Callable[[Array], Array] = np.asarray) -> _Reduce:
    return lambda values, axes: np.asarray(function(before(values), axis=axes, keepdims=True))


_REDUCED: Final[dict[str, tuple[_Reduce, Callable[[Array, Array], Array]]]] = {
    **dict.fromkeys(("ReduceSum", "ReduceMean", "ReduceLogSum"), (_plain(np.sum), np.add)),
    "ReduceL1": (_plain(np.sum, np.abs), np.add),
    **dict.fromkeys(("ReduceL2", "ReduceSumSquare"), (_plain(np.sum, np.square), np.add)),
    "ReduceLogSumExp": (_logarithm, np.logaddexp),
    "ReduceMax": (_plain(np.max), np.maximum),
    "ReduceMin": (_plain(np.min), np.minimum),
    "ReduceProd": (_plain(np.prod), np.multiply),
}


KINDS: Final[dict[str, Kind]] = {
    **dict.fromkeys(("MatMul", "QLinearMatMul", "MatMulInteger"), Kind(matmul, finish=finish_matmul)),
    "Gemm": Kind(gemm, finish=finish_gemm),
    "MatMulNBits": Kind(
        packed_product,
        finish=lambda piece, total: total + piece.take(5, mesh(piece.along("n"))) if piece.input(5) else total,
    ),
    "Einsum": Kind(einsum),
    **dict.fromkeys((*FLATTENED, *CUMULATIVE, "LpNormalization", "MeanVarianceNormalization"), Kind(rows)),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization", "InstanceNormalization"), Kind(rows)),
    "SimplifiedLayerNormalization": Kind(rows),
    "GroupNormalization": Kind(group_normalised),
    **{kind: Kind(reduction, merge, finish_reduction) for kind, (_, merge) in _REDUCED.items()},
    **dict.fromkeys(("ArgMax", "ArgMin"), Kind(reduction)),
}
