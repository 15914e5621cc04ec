"""The plan: a layout, one processor of the grid for every vertex; and tables of what the algorithms computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.spatial.model import Grid


@dataclass(frozen=True, slots=True)
class Layout:
    """Vertex v, whose parent is ``parent[v]``, sits on processor (``x[v]``, ``y[v]``) of ``grid``.

    All arrays have shape (n,), int32; a root's parent is -1.
    """

    parent: npt.NDArray[np.int32]
    x: npt.NDArray[np.int32]
    y: npt.NDArray[np.int32]
    grid: Grid

    def _repr_html_(self) -> str:
        return f"<p>layout of {len(self.x)} vertices on a grid of {self.grid}</p>"


@dataclass(frozen=True, slots=True)
class VertexTable:
    """What an algorithm computed: arrays by name, one entry per vertex (or query)."""

    arrays: Mapping[str, npt.NDArray[Any]]
