"""What a layout costs when every vertex sends one message to each of its children."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.amounts import Cost
from shorthaul.spatial.layout.cost_kernels import add_routes, edge_energy, sum_routes
from shorthaul.spatial.model import Grid

Index = npt.NDArray[np.int32]


def link_loads(source: Index, target: Index, x: Index, y: Index, grid: Grid) -> Index:
    """Return how many of the messages source[i] -> target[i] cross each link, shape (4, height, width).

    Axis 0 is east, west, south, north; entry (0, y, x) is the link from (x, y) to (x + 1, y), (1, y, x) the same
    link backwards, (2, y, x) and (3, y, x) those between (x, y) and (x, y + 1). Messages travel along the row first.
    A message from or to -1 is none.
    """
    loads = np.zeros((4, grid.cells), np.int32)
    add_routes(x, y, grid.width, loads, source, target)
    sum_routes(grid.width, grid.height, loads)
    return loads.reshape(4, grid.height, grid.width)


def local_messaging(parent: Index, x: Index, y: Index, grid: Grid) -> tuple[Cost, Index]:
    """Return the cost of one message from every parent to each child, and its :func:`link_loads`."""
    energy, longest = edge_energy(parent, x, y)
    loads = link_loads(parent, np.arange(len(parent), dtype=np.int32), x, y, grid)
    depth = int(bool((parent >= 0).any()))
    return Cost(energy_hops=int(energy), depth=depth, distance_hops=int(longest), link_load=int(loads.max())), loads
