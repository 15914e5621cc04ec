"""Means and norms over windows that reach beyond the end (``ceil_mode``): the reference of onnx moves such windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from onnx.reference.ops import op_average_pool, op_lp_pool

Array = npt.NDArray[Any]


class AveragePool(op_average_pool.AveragePool_19):  # type: ignore[misc]
    """Means over windows; what lies beyond the padded end is not counted."""

    op_domain = ""

    def _run(self, x: Array, ceil_mode: int = 0, count_include_pad: int = 0, **other: Any) -> tuple[Array]:
        if not ceil_mode:
            return cast("tuple[Array]", super()._run(x, count_include_pad=count_include_pad, **other))
        counted = _in_windows(np.ones_like(x), 1 if count_include_pad else 0, **other)
        return (np.asarray(_in_windows(x, 0, **other) / counted, x.dtype),)


class LpPool(op_lp_pool.LpPool):  # type: ignore[misc]
    """Norms over windows."""

    op_domain = ""

    def _run(self, x: Array, ceil_mode: int = 0, p: int = 2, **other: Any) -> tuple[Array]:
        if not ceil_mode:
            return cast("tuple[Array]", super()._run(x, p=p, **other))
        return (np.asarray(_in_windows(np.abs(x) ** p, 0, **other) ** (1 / p), x.dtype),)


def _in_windows(
    x: Array,
    border: float,
    *,
    kernel_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    auto_pad: str | None = None,
) -> Array:
    """Return sums over windows: ``border`` around x, zeros beyond that."""
    del auto_pad  # not with ceil_mode
    axes = len(kernel_shape)
    strides, dilations = strides or [1] * axes, dilations or [1] * axes
    first, last = (pads or [0] * 2 * axes)[:axes], (pads or [0] * 2 * axes)[axes:]
    padded = np.pad(x, [(0, 0), (0, 0), *zip(first, last, strict=True)], constant_values=border)
    for axis in range(axes):
        width = (kernel_shape[axis] - 1) * dilations[axis] + 1
        size = padded.shape[2 + axis]
        count = -(-(size - width) // strides[axis]) + 1
        if (count - 1) * strides[axis] >= size - last[axis]:  # a window begins before the end of x
            count -= 1
        missing = max((count - 1) * strides[axis] + width - size, 0)
        padded = np.pad(padded, [(0, missing if at == 2 + axis else 0) for at in range(2 + axes)])
        windows = np.lib.stride_tricks.sliding_window_view(padded, width, 2 + axis)
        kept = tuple(slice(None, None, strides[axis]) if at == 2 + axis else slice(None) for at in range(2 + axes))
        padded = windows[(*kept, slice(None, None, dilations[axis]))].sum(-1)
    return padded
