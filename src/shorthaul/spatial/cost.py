"""What a layout costs when every vertex sends one message to each of its children."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.amounts import Cost
from shorthaul.spatial.cost_kernels import add_routes, edge_energy, sum_routes
from shorthaul.spatial.model import Grid

Index = npt.NDArray[np.int32]


def link_loads(source: Index, target: Index, x: Index, y: Index, grid: Grid) -> npt.NDArray[np.int64]:
    """Return how many of the messages source[i] -> target[i] cross each link, shape (4, height, width).

    Axis 0 is east, west, south, north; entry (0, y, x) is the link from (x, y) to (x + 1, y), (1, y, x) the same
    link backwards, (2, y, x) and (3, y, x) those between (x, y) and (x, y + 1). Messages travel along the row first.
    A target of -1 is no message.
    """
    loads = np.zeros((4, grid.cells), np.int64)
    add_routes(source, target, x, y, grid.width, loads)
    sum_routes(grid.width, grid.height, loads)
    return loads.reshape(4, grid.height, grid.width)


def local_messaging(parent: Index, x: Index, y: Index, grid: Grid) -> Cost:
    """Return energy, depth, longest distance and link load of one message from every parent to each child."""
    energy, longest = edge_energy(parent, x, y)
    loads = np.zeros((4, grid.cells), np.int64)
    _add_downward(parent, x, y, grid, loads)
    largest = sum_routes(grid.width, grid.height, loads)
    depth = int(bool((parent >= 0).any()))
    return Cost(energy_hops=energy, depth=depth, distance_hops=longest, link_load=largest)


def _add_downward(parent: Index, x: Index, y: Index, grid: Grid, loads: npt.NDArray[np.int64]) -> None:
    child = np.flatnonzero(parent >= 0).astype(np.int32)
    add_routes(parent[child], child, x, y, grid.width, loads)
