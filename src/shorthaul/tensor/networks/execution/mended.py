"""What the reference of onnx lacks, or does not do as ONNX says, or not precisely."""

from __future__ import annotations

import itertools
import math
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
from onnx.reference.op_run import OpRun
from onnx.reference.ops import (
    op_batch_normalization,
    op_dequantize_linear,
    op_hardmax,
    op_log_softmax,
    op_loop,
    op_resize,
    op_softmax,
)

from shorthaul.tensor.networks.execution.experts import MoE, QMoE
from shorthaul.tensor.networks.execution.pooled import AveragePool, Conv, ConvTranspose, LpPool
from shorthaul.tensor.networks.execution.recurrent import GRU, LSTM, RNN
from shorthaul.tensor.networks.execution.support_vectors import SVMClassifier
from shorthaul.tensor.networks.translation.operators import LAST_FLATTENED

Array = npt.NDArray[Any]


class GatherElements(OpRun):  # type: ignore[misc]
    """Elements of a table, which may reach further along the other axes than the places do.

    The reference fails where another axis has one place, or less.
    """

    def _run(self, table: Array, places: Array, axis: int = 0) -> tuple[Array]:
        along = axis % table.ndim
        inside = tuple(slice(None) if at == along else slice(size) for at, size in enumerate(places.shape))
        return (np.take_along_axis(table[inside], places % table.shape[along], axis=along),)


class Erf(OpRun):  # type: ignore[misc]
    """The error function in double precision: that of the reference rounds to single."""

    def _run(self, x: Array) -> tuple[Array]:
        from scipy.special import erf

        return (np.asarray(erf(x), x.dtype),)


class Loop(op_loop.Loop):  # type: ignore[misc]
    """Steps of a graph: the reference joins what they collect along its first axis, instead of a new one.

    It also takes no step where no condition is given.
    """

    _run_body: Any

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.K = 0  # collected here

    def _run(self, *inputs: Any, **other: Any) -> tuple[Array, ...]:
        step, rounds = self._run_body, []
        if len(inputs) > 1 and inputs[1] is None:
            inputs = (inputs[0], np.array(True), *inputs[2:])

        def noted(*inputs: Any, **other: Any) -> Any:
            rounds.append(step(*inputs, **other))
            return rounds[-1]

        self._run_body = noted
        try:
            made = super()._run(*inputs, **other)
        finally:
            self._run_body = step
        places = range(self.N, len(self.onnx_node.output))
        collected = (np.stack([each[1 + place] for each in rounds]) if rounds else np.empty(0) for place in places)
        return (*made[: self.N], *collected)


class ZipMap(OpRun):  # type: ignore[misc]
    """Numbers with their names, of which the numbers count; the reference lacks it."""

    op_domain = "ai.onnx.ml"

    def _run(self, x: Array, **names: Any) -> tuple[Array]:
        del names
        return (x,)


class LRN(OpRun):  # type: ignore[misc]
    """Normalisation over neighbouring channels: the reference passes over as many channels as there are samples."""

    def _run(self, x: Array, alpha: float, beta: float, bias: float, size: int) -> tuple[Array]:
        before = (size - 1) // 2
        margins = [(0, 0)] * x.ndim
        margins[1] = (before, size - 1 - before)
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(x * x, margins), size, axis=1)
        return (np.asarray(x / (bias + alpha / size * windows.sum(-1)) ** beta),)


class MeanVarianceNormalization(OpRun):  # type: ignore[misc]
    """Numbers less their mean, over their deviation: the reference has constants of single precision in it."""

    def _run(self, x: Array, axes: Any = None) -> tuple[Array]:
        along = (0, 2, 3) if axes is None else tuple(axes)
        x = x - x.mean(along, keepdims=True)
        return (np.asarray(x / (np.sqrt((x * x).mean(along, keepdims=True)) + 1e-9)),)


class BatchNormalization(op_batch_normalization.BatchNormalization_14):  # type: ignore[misc]
    """Normalisation by given figures: the reference trains in versions before 14, which have no ``training_mode``."""

    def _run(self, *inputs: Array, training_mode: int = 0, **other: Any) -> tuple[Array, ...]:
        known = {key: other[key] for key in ("epsilon", "momentum") if key in other}
        return cast("tuple[Array, ...]", super()._run(*inputs, training_mode=training_mode, **known))


class DequantizeLinear(op_dequantize_linear._CommonDequantizeLinear):  # type: ignore[misc]
    """Numbers of quantised ones: the reference lacks the versions before 19, which differ in types alone."""


class Resize(op_resize.Resize):  # type: ignore[misc]
    """Interpolation: the reference has the weights of a cubic one in single precision."""

    def _run(self, *inputs: Any, cubic_coeff_a: Any = None, **other: Any) -> tuple[Array]:
        steep = None if cubic_coeff_a is None else float(cubic_coeff_a)
        return cast("tuple[Array]", super()._run(*inputs, cubic_coeff_a=steep, **other))


class GridSample(OpRun):  # type: ignore[misc]
    """Samples of an image: the reference has places in single precision, one after the other.

    It also knows the ways of versions since 20 by their names alone.
    """

    def _run(
        self, x: Array, grid: Array, mode: str = "linear", padding_mode: str = "zeros", align_corners: int = 0
    ) -> tuple[Array]:
        return (sampled(x, grid, mode, padding_mode, bool(align_corners)),)


class DeformConv(OpRun):  # type: ignore[misc]
    """A convolution of moved taps: the reference has places in single precision, one after the other."""

    def _run(self, x: Array, weights: Array, offset: Array, bias: Any = None, mask: Any = None, **given: Any) -> Any:
        (batch, channels, *sizes), taps = x.shape, weights.shape[2:]
        groups, parts, count = given.get("group") or 1, given.get("offset_group") or 1, math.prod(taps)
        strides, pads = given.get("strides") or [1, 1], given.get("pads") or [0] * 4
        dilations, space = given.get("dilations") or [1, 1], offset.shape[2:]
        moves = offset.reshape(batch * parts, count, 2, *space)
        places = []
        for axis, size in enumerate(sizes):
            tap = np.indices(taps)[axis].reshape(count, 1, 1) * dilations[axis] - pads[axis]
            place = np.indices(space)[axis] * strides[axis] + tap + moves[:, :, axis]
            places.append((2 * place + 1) / size - 1)
        grid = np.stack(places[::-1], -1).reshape(batch * parts, -1, space[1], 2)
        found = sampled(x.reshape(batch * parts, channels // parts, *sizes), grid, "linear", "zeros", corners=False)
        found = found.reshape(batch, parts, channels // parts, count, *space)
        found = found if mask is None else found * mask.reshape(batch, parts, 1, count, *space)
        found = found.reshape(batch, groups, channels // groups, count, *space)
        filters = weights.reshape(groups, -1, channels // groups, count)
        made = np.einsum("ngctyx,gmct->ngmyx", found, filters).reshape(batch, -1, *space)
        return (made if bias is None else made + bias[:, None, None],)


def sampled(x: Array, grid: Array, mode: str, margin: str, corners: bool) -> Array:
    """Return samples of an image at places from -1 to 1, the last axis first."""
    batch, channels, *sizes = x.shape
    steps = {"nearest": (0,), "cubic": (-1, 0, 1, 2), "bicubic": (-1, 0, 1, 2)}.get(mode, (0, 1))
    taps: list[list[tuple[Array, Array]]] = []
    for axis, size in enumerate(sizes):
        at = grid[..., len(sizes) - 1 - axis].reshape(batch, -1).astype(np.float64)
        low, high = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)
        at = (at + 1) / 2 * (size - 1) if corners else ((at + 1) * size - 1) / 2
        at = np.rint(at) if mode == "nearest" else at
        if margin == "border":
            at = np.where((at < low) | (at > high), at.clip(0, size - 1), at)
        elif margin == "reflection":
            at = _reflected(at, low, high)
        first = np.floor(at)
        along = []
        for step, weight in zip(steps, _weights(at - first, len(steps)), strict=True):
            place = first + step
            inside = (place >= 0) & (place < size) if margin == "zeros" else np.True_
            place = np.trunc(_reflected(place, low, high)) if margin == "reflection" else place
            along.append((place.clip(0, size - 1).astype(np.int64), weight * inside))
        taps.append(along)
    flat = x.reshape(batch, channels, -1)
    made: Any = 0.0
    for chosen in itertools.product(*taps):
        index, weight = np.zeros_like(chosen[0][0]), np.ones(chosen[0][1].shape)
        for size, (place, factor) in zip(sizes, chosen, strict=True):
            index, weight = index * size + place, weight * factor
        made = made + np.take_along_axis(flat, index[:, None], axis=2) * weight[:, None]
    return np.asarray(np.asarray(made).reshape(batch, channels, *grid.shape[1:-1]), x.dtype)


def _reflected(at: Array, low: float, high: float) -> Array:
    """Return places that lie outside of the borders mirrored at them until they are inside."""
    beyond, span = np.where(at < low, low - at, at - high), max(high - low, 1e-300)
    turns = np.trunc(beyond / span)
    rest = beyond - turns * span
    begins = (at < low) == (turns % 2 == 0)
    return np.where((at < low) | (at > high), np.where(begins, low + rest, high - rest), at)


def _weights(part: Array, count: int) -> list[Array]:
    """Return the weights of so many places around one that lies by ``part`` after the first of the inner two."""
    if count < 4:
        return [np.ones_like(part)] if count == 1 else [1 - part, part]
    steep = -0.75
    outer = [((steep * x - 5 * steep) * x + 8 * steep) * x - 4 * steep for x in (part + 1, 2 - part)]
    inner = [((steep + 2) * x - (steep + 3)) * x * x + 1 for x in (part, 1 - part)]
    return [outer[0], *inner, outer[1]]


class LogSoftmax(op_log_softmax.LogSoftmax):  # type: ignore[misc]
    """Logarithms of shares: the reference takes those of shares that are rounded to zero."""

    def _run(self, x: Array) -> tuple[Array]:
        moved = x - x.max(self.axis, keepdims=True, initial=-np.inf)
        return (moved - np.log(np.exp(moved).sum(self.axis, keepdims=True)),)


def _flattening(kind: type[Any]) -> type[Any]:
    """Return an operator over rows as all versions of ONNX have it: the reference knows the newest one alone."""

    def run(self: Any, x: Array) -> tuple[Array]:
        if self.run_params["opsets"].get("", LAST_FLATTENED + 1) > LAST_FLATTENED:
            return cast("tuple[Array]", kind._run(self, x))
        axis = next((item.i for item in self.onnx_node.attribute if item.name == "axis"), 1) % x.ndim
        self.axis = -1
        rows = x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))
        return (kind._run(self, rows)[0].reshape(x.shape),)

    return type(kind.__name__, (kind,), {"_run": run})


_ROWS: Final = (op_softmax.Softmax, LogSoftmax, op_hardmax.Hardmax)
#: What the reference does not do, or not precisely.
OWN: Final = [
    *(AveragePool, BatchNormalization, Conv, ConvTranspose, DeformConv, DequantizeLinear, Erf, GatherElements, GRU),
    *(GridSample, Loop, LpPool, LRN, LSTM, MeanVarianceNormalization, MoE, QMoE, RNN, Resize, SVMClassifier, ZipMap),
    *map(_flattening, _ROWS),
]
