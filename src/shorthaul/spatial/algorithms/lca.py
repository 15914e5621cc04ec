"""Batched lowest common ancestors by a cover of the tree with subtrees (Baumann et al., Section VI)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.spatial.algorithms.local_messaging import local_broadcast
from shorthaul.spatial.algorithms.query_kernels import batches
from shorthaul.spatial.computer.collectives import all_reduce, broadcast_ranges
from shorthaul.spatial.computer.machine import SpatialComputer
from shorthaul.spatial.computer.operators import OPERATORS
from shorthaul.spatial.layout.stored_tree import StoredTree
from shorthaul.spatial.layout.virtual_tree import VirtualTree

Index = npt.NDArray[np.int32]
Values = npt.NDArray[Any]
Treefix = Callable[[SpatialComputer, VirtualTree, Values], Values]

#: Queries that a processor holds at a time; more are answered in further batches.
QUERIES_HELD = 16


def path_layers(computer: SpatialComputer, tree: VirtualTree, light: npt.NDArray[np.bool_], down: Treefix) -> Values:
    """Return the layer of every vertex' heavy path: a top-down sum of ones at the paths' first vertices.

    ``light`` marks the vertices that are not the last (heaviest) child of their parent.
    """
    return down(computer, tree, light.astype(np.int64))[: len(light)]


def lowest_common_ancestors(
    computer: SpatialComputer, stored: StoredTree, queries: Index, *, up: Treefix, down: Treefix, barriers: bool
) -> Index:
    """Return the lowest common ancestor (a processor) of every pair of processors, -1 in different trees; shape (q,).

    ``up`` and ``down`` run the treefix sums that give sizes and layers. Each subtree is a range of processors; the
    first vertex x of every path but the roots' broadcasts within its subtree the range of its parent w and its own.
    Who is in x's subtree and has a query with a vertex in w's but not in x's knows w to be the answer.
    """
    tree = stored.virtual()
    n = stored.n
    computer.carry(2 * QUERIES_HELD)  # partner and answer of each query
    size = up(computer, tree, np.ones(n, np.int64))[:n]
    first = np.arange(n, dtype=np.int64)
    computer.carry(2)  # size, parent
    ranges = local_broadcast(computer, tree, np.stack([first, first + size], axis=1))
    computer.carry(2)
    # The heaviest child is the last one of its parent, whose range it has been told.
    light = (stored.parent >= 0) & (first + size != ranges[:, 1])
    layer = path_layers(computer, tree, light, down)
    computer.carry(1)
    computer.hosting(None)
    return _answer(computer, queries, size, layer, ranges, light, barriers=barriers)


def _answer(
    computer: SpatialComputer,
    queries: Index,
    size: Values,
    layer: Values,
    ranges: Values,
    light: npt.NDArray[np.bool_],
    *,
    barriers: bool,
) -> Index:
    n = len(size)
    answers = np.full(len(queries), -1, np.int32)
    a, b = np.ascontiguousarray(queries[:, 0]), np.ascontiguousarray(queries[:, 1])
    # Both vertices of a query know it, and whether the other is below.
    answers = np.where((a <= b) & (b < a + size[a]), a, answers)
    answers = np.where((b <= a) & (a < b + size[b]), b, answers).astype(np.int32)
    batch = batches(a, b, n, QUERIES_HELD) if len(queries) else np.empty(0, np.int32)
    computer.carry(4)  # the two ranges broadcast last
    held = np.zeros((n, 4), np.int64)
    heads = [np.flatnonzero(light & (layer == level)).astype(np.int32) for level in range(1, int(layer.max()) + 1)]
    for turn in range(int(batch.max(initial=-1)) + 1):
        open_queries = np.flatnonzero((batch == turn) & (answers < 0))
        for head in heads:
            held[:, 3] = 0
            held[head] = np.stack([ranges[head, 0], ranges[head, 1], head, head + size[head]], axis=1)
            broadcast_ranges(computer, head, (head + size[head] - 1).astype(np.int32), held)
            for own, other in ((a, b), (b, a)):
                told = open_queries[held[own[open_queries], 3] > 0]
                known, partner = held[own[told]], other[told]
                within = (known[:, 0] <= partner) & (partner < known[:, 1])
                within &= (partner < known[:, 2]) | (partner >= known[:, 3])
                answers[told[within]] = known[within, 0]
            open_queries = open_queries[answers[open_queries] < 0]
            if barriers:
                all_reduce(computer, np.ones(n, np.int64), OPERATORS["and"])
    return answers
