"""Vertices of large subtrees in the middle of these: shorter chains from the root to the leaves, for runs on a machine.

A layout along a curve enters every subtree at its end; few vertices decide how far the leaves are.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from shorthaul.graphs.tree_kernels import subtree_sizes
from shorthaul.spatial import tuning
from shorthaul.spatial.layout.cost_kernels import edge_energy, farthest
from shorthaul.spatial.layout.stored_tree import StoredTree

Index = npt.NDArray[np.int32]


def with_middles(stored: StoredTree) -> StoredTree:
    """Return the tree with vertices of large subtrees moved there, if the longest way from a root gets shorter.

    Each changes places with a leaf. Of several sizes from which on a subtree is large, that of the shortest way is
    taken, if the energy grows by no more than :data:`tuning.MIDDLE_ENERGY`.
    """
    size = subtree_sizes(stored.parent, np.empty(0, np.int32))
    energy, _ = edge_energy(stored.parent, stored.x, stored.y)
    way = np.zeros(stored.n, np.int64)
    least, best = farthest(stored.parent, stored.x, stored.y, way), stored
    for share in tuning.MIDDLE_SHARES:
        large = np.flatnonzero(size > max(stored.n // share, 1))
        if len(large) > tuning.MOST_MIDDLES:
            break
        moved = _moved(stored, size, large)
        found = farthest(moved.parent, moved.x, moved.y, way)
        allowed = (1 + tuning.MIDDLE_ENERGY) * energy
        if found < least and edge_energy(moved.parent, moved.x, moved.y)[0] <= allowed:
            least, best = found, moved
    return best


def _moved(stored: StoredTree, size: Index, large: npt.NDArray[np.intp]) -> StoredTree:
    x, y = stored.x.copy(), stored.y.copy()
    holder = np.full((stored.grid.height, stored.grid.width), -1, np.int32)
    holder[y, x] = np.arange(stored.n, dtype=np.int32)
    for v in large.tolist():
        subtree = slice(v, v + int(size[v]))
        leaf = _leaf_near(holder, size, int(np.median(stored.x[subtree])), int(np.median(stored.y[subtree])))
        if leaf >= 0:
            x[v], y[v], x[leaf], y[leaf] = x[leaf], y[leaf], x[v], y[v]
            holder[y[v], x[v]], holder[y[leaf], x[leaf]] = v, leaf
    return dataclasses.replace(stored, x=x, y=y)


def _leaf_near(holder: Index, size: Index, x: int, y: int) -> int:
    """Return a leaf in one of the cells around (x, y), the nearest; -1 if there is none."""
    reach = tuning.MIDDLE_REACH
    top, left = max(y - reach, 0), max(x - reach, 0)
    around = holder[top : y + reach + 1, left : x + reach + 1]
    rows, columns = np.nonzero((around >= 0) & (size[around] == 1))
    if len(rows) == 0:
        return -1
    nearest = int(np.argmin(np.abs(rows + top - y) + np.abs(columns + left - x)))
    return int(around[rows[nearest], columns[nearest]])
