"""Light-first order computed on the machine itself, from vertices stored anywhere (Baumann et al., Theorem 4)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.spatial.algorithms.euler_tour import Links, subtree_sizes_by_tour, tour_ranks
from shorthaul.spatial.computer.machine import SpatialComputer

Index = npt.NDArray[np.int32]
Values = npt.NDArray[np.int64]


def create_layout(computer: SpatialComputer, tree: Links, *, seed: int = 0) -> Values:
    """Return the light-first position of every vertex; vertex v starts on processor v and ends on its position.

    Sizes by an Euler tour, siblings sorted by size, a second tour in that order, and a permutation:
    O(n^1.5) energy; O(log^2 n) depth, from the sorting network.
    """
    n = len(tree.parent)
    size = subtree_sizes_by_tour(computer, tree, seed=seed)
    computer.hosting(None)
    above = np.where(tree.parent >= 0, tree.parent, n).astype(np.int64)
    key, vertex = above * (n + 1) + size, np.arange(n, dtype=np.int64)
    sort_network(computer, key, vertex)
    lighter_first = _relink(computer, tree, key // (n + 1), vertex.astype(np.int32))
    preorder, _ = tour_ranks(computer, lighter_first, weights=(1, 0), seed=seed + 1)
    computer.hosting(None)
    position = preorder - 1
    computer.send(np.arange(n, dtype=np.int32), position.astype(np.int32), position)
    return np.asarray(position, np.int64)


def sort_network(computer: SpatialComputer, key: Values, item: Values) -> None:
    """Sort (key, item) over the processors in place by Batcher's odd-even merge sort: O(n^1.5) energy."""
    n = computer.processors
    block = 1
    while block < n:
        step = block
        while step >= 1:
            low = np.arange(step % block, n - step, dtype=np.int32)
            low = low[((low - step % block) // step) % 2 == 0]
            high = low + np.int32(step)
            within = low // (2 * block) == high // (2 * block)
            _exchange(computer, low[within], high[within], key, item)
            step //= 2
        block *= 2


def _exchange(computer: SpatialComputer, low: Index, high: Index, key: Values, item: Values) -> None:
    sender, receiver = np.concatenate([low, high]), np.concatenate([high, low])
    computer.send(sender, receiver, key[sender], item[sender])
    swap = (key[low] > key[high]) | ((key[low] == key[high]) & (item[low] > item[high]))
    a, b = low[swap], high[swap]
    key[a], key[b] = key[b], key[a]
    item[a], item[b] = item[b], item[a]


def _relink(computer: SpatialComputer, tree: Links, above: Values, vertex: Index) -> Links:
    """Return the links in sorted order: neighbours in it tell each other, then the vertices and their parents."""
    n = computer.processors
    slot = np.arange(n, dtype=np.int32)
    computer.send(slot[1:], slot[:-1], above[1:], vertex[1:])
    computer.send(slot[:-1], slot[1:], above[:-1])
    first, following = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    same = np.flatnonzero(above[:-1] == above[1:]).astype(np.int32)
    computer.send(same, vertex[same], vertex[same + 1])
    following[vertex[same]] = vertex[same + 1]
    leads = np.flatnonzero(np.concatenate([[True], above[:-1] != above[1:]]) & (above < n)).astype(np.int32)
    parent = above[leads].astype(np.int32)
    computer.send(leads, parent, vertex[leads])
    first[parent] = vertex[leads]
    return Links(tree.parent, first, following)
