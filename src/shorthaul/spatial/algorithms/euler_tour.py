"""The Euler tour of a tree by list ranking, and subtree sizes from it (Baumann et al., Section IV)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.spatial.algorithms.list_ranking import rank_list
from shorthaul.spatial.computer.machine import SpatialComputer

Index = npt.NDArray[np.int32]
Values = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Links:
    """What every vertex knows of its neighbours: parent, first child, next sibling; -1 where there is none."""

    parent: Index
    first_child: Index
    next_sibling: Index


def links(parent: Index, starts: Index, kids: Index) -> Links:
    """Return the links of a tree whose children are listed in ``starts`` and ``kids`` (roots under n)."""
    n = len(parent)
    first = np.full(n, -1, np.int32)
    has = starts[1 : n + 1] > starts[:n]
    first[has] = kids[starts[:n][has]]
    following = np.full(n, -1, np.int32)
    same = parent[kids[:-1]] == parent[kids[1:]]
    following[kids[:-1][same]] = kids[1:][same]
    return Links(parent, first, following)


def tour_ranks(
    computer: SpatialComputer, tree: Links, *, weights: tuple[int, int] = (1, 1), seed: int = 0
) -> tuple[Values, Values]:
    """Return the summed weight of the tour up to the step into every vertex, and up to the step out of it.

    Each vertex hosts both steps; ``weights`` are those of a step in and of a step out. With (1, 1) the sums are the
    indices in the tour, from 1; with (1, 0) the first is the preorder number, from 1.
    """
    n = len(tree.parent)
    vertex = np.arange(n, dtype=np.int32)
    into = np.where(tree.first_child >= 0, tree.first_child, vertex + n)
    upward = np.where(tree.parent >= 0, tree.parent + n, -1)
    out = np.where(tree.next_sibling >= 0, tree.next_sibling, upward)
    following = np.concatenate([into, out]).astype(np.int32)
    weight = np.repeat(np.array(weights, np.int64), n)
    sums = rank_list(computer, following, np.concatenate([vertex, vertex]), weight, seed=seed)
    return sums[:n], sums[n:]


def subtree_sizes_by_tour(computer: SpatialComputer, tree: Links, *, seed: int = 0) -> Values:
    """Return the number of descendants of every vertex, itself included: (last - first + 1) / 2 in the tour."""
    into, out = tour_ranks(computer, tree, seed=seed)
    return np.asarray((out - into + 1) // 2, np.int64)
