"""Softmax in its online form: tiles of rows, each normalised by itself, and which of them a sum adds up."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.tensor.networks.execution.memory import Ranges
from shorthaul.tensor.networks.execution.operators import Piece
from shorthaul.tensor.networks.execution.reading import Index, mesh, seen_at
from shorthaul.tensor.networks.model import Access, Network, Operator

Array = npt.NDArray[Any]


def softmax_of_tile(piece: Piece, operator: Operator) -> tuple[Array, Array]:
    """Return the softmax of a tile of every row, and the logarithm of its sum of exponentials."""
    values = piece.take(0, mesh(*piece.written()))
    (row,) = operator.running
    axis = [index.terms[0][0] if index.terms else -1 for index in operator.writes[0].axes].index(row)
    top = values.max(axis, keepdims=True)
    shifted = np.exp(values - top)
    total = shifted.sum(axis, keepdims=True)
    logs = np.where(np.isneginf(top), -np.inf, top + np.log(total))
    return shifted / total, logs


def rows_of(network: Network, softmax: int, adds: int, region: Ranges) -> Index:
    """Return the first place of the row of a softmax that each element of a region of its sums adds up."""
    item = network.operators[adds]
    kept = [index.terms[0][0] if index.terms else -1 for index in item.writes[0].axes]
    rank = len(kept)
    dims = [np.full((1,) * rank, low) for low, _ in region]
    for axis, dim in enumerate(kept):
        if dim >= 0:
            low, high = region[dim]
            dims[dim] = np.arange(low, high + 1).reshape([-1 if at == axis else 1 for at in range(rank)])
    above = _between(network, softmax, adds)
    while True:
        maker = above.pop()
        made = network.operators[maker].writes[0]
        (access,) = (access for access in item.reads if access.tensor == made.tensor)
        places = _followed(access, dims)
        if maker == softmax:
            return places
        item = network.operators[maker]
        dims = [np.zeros((1,) * rank, np.int64)] * len(item.dims)
        for index, at in zip(made.axes, places, strict=True):
            if index.terms:
                dims[index.terms[0][0]] = at


def _between(network: Network, softmax: int, adds: int) -> list[int]:
    """Return a softmax and the operators between it and what adds up over its rows, in order."""
    found = [softmax]
    while (after := network.consumers[network.operators[found[-1]].writes[0].tensor][-1]) != adds:
        found.append(after)
    return found


def _followed(access: Access, dims: list[npt.NDArray[np.int64]]) -> Index:
    """Return the places of a stored tensor that an access reads at places of the dimensions."""
    zero = np.zeros((1,) * dims[0].ndim, np.int64)
    found = [
        (sum((dims[dim] * factor for dim, factor in index.terms), zero) + index.offset) // index.divisor
        for index in access.axes
    ]
    return seen_at(tuple(found), access.steps)
