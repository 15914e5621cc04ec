"""Convolutions and means over windows, one tap of all windows at a time.

The reference of onnx takes windows one by one, or dilated taps with the zeros between them, and moves windows that
reach beyond the end (``ceil_mode``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx.reference.op_run import OpRun

Array = npt.NDArray[Any]


class AveragePool(OpRun):  # type: ignore[misc]
    """Means over windows; what lies beyond the padded end is not counted."""

    def _run(self, x: Array, kernel_shape: Sequence[int], count_include_pad: int = 0, **given: Any) -> tuple[Array]:
        ones = np.ones_like(x[:1, :1])
        counted = sum(_by_tap(ones, kernel_shape, border=count_include_pad, **given))
        return (np.asarray(sum(_by_tap(x, kernel_shape, **given)) / counted, x.dtype),)


class LpPool(OpRun):  # type: ignore[misc]
    """Norms over windows."""

    def _run(self, x: Array, kernel_shape: Sequence[int], p: int = 2, **given: Any) -> tuple[Array]:
        total = sum(np.abs(part) ** p for part in _by_tap(x, kernel_shape, **given))
        return (np.asarray(total ** (1 / p), x.dtype),)


class Conv(OpRun):  # type: ignore[misc]
    """A convolution."""

    def _run(self, x: Array, weights: Array, bias: Any = None, group: int = 1, **given: Any) -> tuple[Array]:
        given.pop("kernel_shape", None)
        filters = weights.reshape(group, -1, weights.shape[1], math.prod(weights.shape[2:]))
        made: Any = 0.0
        space: tuple[int, ...] = ()
        for number, part in enumerate(_by_tap(x, weights.shape[2:], **given)):
            space = part.shape[2:]
            made = made + filters[..., number] @ part.reshape(len(x), group, weights.shape[1], math.prod(space))
        return (_with_bias(made.reshape(len(x), len(weights), *space), bias),)


class ConvTranspose(OpRun):  # type: ignore[misc]
    """A transposed convolution: every input spreads over its window."""

    def _run(self, x: Array, weights: Array, bias: Any = None, group: int = 1, **given: Any) -> tuple[Array]:
        (batch, _, *sizes), taps = x.shape, weights.shape[2:]
        ones, none = [1] * len(taps), [0] * len(taps)
        strides, dilations = given.get("strides") or ones, given.get("dilations") or ones
        more, pads = given.get("output_padding") or none, list(given.get("pads") or none * 2)
        wide = [
            (size - 1) * by + (tap - 1) * apart + 1 + beyond
            for size, by, tap, apart, beyond in zip(sizes, strides, taps, dilations, more, strict=True)
        ]
        wanted, auto = given.get("output_shape"), given.get("auto_pad") or ""
        if wanted or auto.startswith("SAME"):
            wanted = list(wanted or (size * by for size, by in zip(sizes, strides, strict=True)))[-len(taps) :]
            both = [max(total - size, 0) for total, size in zip(wide, wanted, strict=True)]
            wide = [size + total for size, total in zip(wanted, both, strict=True)]
            pads = [total // 2 if auto == "SAME_UPPER" else total - total // 2 for total in both]
            pads += [total - front for total, front in zip(both, pads, strict=True)]
        filters = weights.reshape(group, -1, weights.shape[1], math.prod(taps)).swapaxes(1, 2)
        rows = x.reshape(batch, group, len(weights) // group, -1)
        made = np.zeros((batch, group * weights.shape[1], *wide), x.dtype)
        for number, places in enumerate(_places(taps, dilations, strides, sizes)):
            made[places] += (filters[..., number] @ rows).reshape(batch, -1, *sizes)
        kept: Any = (
            ...,
            *(slice(at, size - end) for at, size, end in zip(pads, wide, pads[len(taps) :], strict=False)),
        )
        return (_with_bias(made[kept], bias),)


def _with_bias(made: Array, bias: Any) -> Array:
    return made if bias is None else made + bias.reshape(-1, *[1] * (made.ndim - 2))


def _places(
    kernel: Sequence[int], dilations: Sequence[int], strides: Sequence[int], counts: Sequence[int]
) -> Iterator[Any]:
    """Yield, by tap, where it lies in so many windows."""
    for tap in itertools.product(*map(range, kernel)):
        each = zip(tap, dilations, strides, counts, strict=True)
        yield (..., *(slice(at * apart, at * apart + (count - 1) * by + 1, by) for at, apart, by, count in each))


def _by_tap(
    x: Array,
    kernel: Sequence[int],
    *,
    border: float = 0,
    strides: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    auto_pad: str | None = None,
    ceil_mode: int = 0,
) -> Iterator[Array]:
    """Yield, by tap, its elements in all windows: ``border`` around x, zeros beyond that."""
    axes, auto = len(kernel), auto_pad or ""
    strides, dilations = strides or [1] * axes, dilations or [1] * axes
    first, last = (list(part) for part in ((pads or [0] * 2 * axes)[:axes], (pads or [0] * 2 * axes)[axes:]))
    counts, beyond = [], []
    for axis, (size, by) in enumerate(zip(x.shape[2:], strides, strict=True)):
        width = (kernel[axis] - 1) * dilations[axis] + 1
        if auto.startswith("SAME"):
            total = max((-(-size // by) - 1) * by + width - size, 0)
            first[axis] = total // 2 if auto == "SAME_UPPER" else total - total // 2
            last[axis] = total - first[axis]
        room = first[axis] + size + last[axis] - width
        count = (-(-room // by) if ceil_mode else room // by) + 1
        if ceil_mode and (count - 1) * by >= first[axis] + size:  # a window begins before the end of x
            count -= 1
        counts.append(count)
        beyond.append(max((count - 1) * by - room, 0))
    padded = np.pad(x, [(0, 0), (0, 0), *zip(first, last, strict=True)], constant_values=border)
    padded = np.pad(padded, [(0, 0), (0, 0), *((0, more) for more in beyond)])
    for places in _places(kernel, dilations, strides, counts):
        yield padded[places]
