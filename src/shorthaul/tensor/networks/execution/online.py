"""Softmax in its online form: tiles of rows, each normalised by itself, and what they weigh against one another."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.tensor.networks.execution.operators import Piece
from shorthaul.tensor.networks.execution.reading import mesh
from shorthaul.tensor.networks.model import Operator

Array = npt.NDArray[Any]


def softmax_of_tile(piece: Piece, operator: Operator) -> tuple[Array, Array]:
    """Return the softmax of a tile of every row, and the logarithm of its sum of exponentials.

    A tile of nothing but minus infinity weighs nothing, and is 0 here.
    """
    values = piece.take(0, mesh(*piece.written()))
    (row,) = operator.running
    axis = [index.terms[0][0] if index.terms else -1 for index in operator.writes[0].axes].index(row)
    top = values.max(axis, keepdims=True)
    shifted = np.exp(values - np.where(np.isneginf(top), 0.0, top))
    total = shifted.sum(axis, keepdims=True)
    with np.errstate(divide="ignore"):
        logs = top + np.log(total)
    return np.divide(shifted, total, out=np.zeros_like(shifted), where=total > 0), np.where(total > 0, logs, -np.inf)


def laid_out(logs: Array, softmax: Operator, product: Operator) -> Array:
    """Return what is known of rows along the axes of the output of the product that adds up over them."""
    made = softmax.writes[0].tensor
    (access,) = (access for access in product.reads if access.tensor == made)
    along = [index.terms[0][0] if index.terms else -2 for index in access.axes]
    wanted = [index.terms[0][0] if index.terms else -1 for index in product.writes[0].axes]
    kept = [axis for axis, dim in enumerate(along) if dim in wanted]
    flat = logs.reshape([size for axis, size in enumerate(logs.shape) if axis in kept])
    order = sorted(range(len(kept)), key=lambda at: wanted.index(along[kept[at]]))
    shape = iter(flat.transpose(order).shape)
    dims = {along[axis] for axis in kept}
    return flat.transpose(order).reshape([next(shape) if dim in dims else 1 for dim in wanted])
