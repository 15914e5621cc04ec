"""Treefix sums by scans along heavy paths, layer by layer: every second node of a path is merged at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.spatial.algorithms.rake_compress import NONE, Contracted, expand_down, expand_up, merge, prepare
from shorthaul.spatial.computer.machine import SpatialComputer
from shorthaul.spatial.computer.operators import Operator
from shorthaul.spatial.layout.virtual_tree import VirtualTree
from shorthaul.spatial.tree_kernels import depths, heavy_children, ranks_and_layers, sorted_by, subtree_sizes

Index = npt.NDArray[np.int32]
Values = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class HeavyPaths:
    """The heavy paths, stored with a tree: each node's rank on its path, layer, and heavy child (-1: none)."""

    rank: Index
    layer: Index
    heavy: Index


def heavy_paths(tree: VirtualTree) -> HeavyPaths:
    """Return the heavy-path decomposition of the virtual tree (Baumann et al., Section VI-A)."""
    depth, _ = depths(tree.parent)
    order = sorted_by(depth, int(depth.max()))
    heavy = heavy_children(tree.parent, subtree_sizes(tree.parent, order))
    rank, layer = ranks_and_layers(tree.parent, order, heavy)
    return HeavyPaths(rank, layer, heavy)


def scan_up(computer: SpatialComputer, tree: VirtualTree, values: Values, operator: Operator) -> Values:
    """Return the sum over every subtree, by node; layers from the leaves up, O(log^2 n) depth."""
    paths = heavy_paths(tree)
    state = prepare(computer, tree, values, operator, up=True)
    computer.keep(2)  # rank and layer
    state.kid[:] = paths.heavy
    by_layer = sorted_by(paths.layer, int(paths.layer.max()))
    starts = np.concatenate([[0], np.cumsum(np.bincount(paths.layer))])
    for layer in range(len(starts) - 2, -1, -1):
        nodes = by_layer[starts[layer] : starts[layer + 1]]
        state.path[nodes] = operator.combine(state.value[nodes], state.raked[nodes])
        _merge_paths(computer, state, nodes, paths, operator, up=True)
        heads = nodes[(paths.rank[nodes] == 0) & (tree.parent[nodes] >= 0)]
        for place in range(3):
            head = heads[tree.slot[heads] == place]
            parent = tree.parent[head]
            computer.send(head, parent, state.path[head])
            state.raked[parent] = operator.combine(state.raked[parent], state.path[head])
    return expand_up(computer, state, operator)


def scan_down(computer: SpatialComputer, tree: VirtualTree, values: Values, operator: Operator) -> Values:
    """Return the sum along the path from the root to every node: all paths are merged at once, then undone."""
    paths = heavy_paths(tree)
    state = prepare(computer, tree, values, operator, up=False)
    computer.keep(2)
    state.kid[:] = paths.heavy
    state.spared[:] = paths.heavy
    state.rakes[:] = True
    inner = np.flatnonzero(paths.heavy >= 0).astype(np.int32)
    computer.send(inner, paths.heavy[inner], state.path[inner])
    state.before_merge[paths.heavy[inner]] = state.path[inner]
    _merge_paths(computer, state, np.arange(tree.nodes, dtype=np.int32), paths, operator, up=False)
    return expand_down(computer, state, tree, operator)


def _is_next(rank: Index, step: int, node: Index) -> npt.NDArray[np.bool_]:
    return np.asarray((rank[node] >> step) & 1 == 1)


def _merge_paths(
    computer: SpatialComputer, state: Contracted, nodes: Index, paths: HeavyPaths, operator: Operator, *, up: bool
) -> None:
    """Merge every path into its first node: in step k the nodes whose rank is an odd multiple of 2^k."""
    alive = nodes[(paths.rank[nodes] > 0) | (state.kid[nodes] != NONE)]
    step = 0
    while len(alive):
        odd = (paths.rank[alive] >> step) & 1 == 1
        # Of the notices a node gets, only the last before it is merged itself matters.
        merge(computer, state, alive[odd], operator, up=up, tell=partial(_is_next, paths.rank, step + 1))
        alive = alive[~odd]
        alive = alive[(paths.rank[alive] > 0) | (state.kid[alive] != NONE)]
        step += 1
