"""Messages between parents and children of any degree over the virtual tree (Baumann et al., Theorem 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.spatial.computer.machine import SpatialComputer
from shorthaul.spatial.computer.operators import Operator
from shorthaul.spatial.layout.virtual_tree import VirtualTree

Index = npt.NDArray[np.int32]
Values = npt.NDArray[Any]


def levels(tree: VirtualTree, n: int) -> list[Index]:
    """Return the nodes by how many messages they are below their parent in the tree: 1, 2, ..."""
    level = np.zeros(tree.nodes, np.int32)
    nodes = np.flatnonzero((tree.parent >= 0) & (tree.parent < n)).astype(np.int32)
    added = np.flatnonzero(tree.parent >= n).astype(np.int32)
    result = [nodes] if len(nodes) else []
    level[nodes] = 1
    while len(added):
        ready = level[tree.parent[added]] == len(result)
        result.append(added[ready])
        level[added[ready]] = len(result)
        added = added[~ready]
    return result


def local_broadcast(computer: SpatialComputer, tree: VirtualTree, values: Values) -> Values:
    """Return what every vertex receives when each sends its value to all its children; roots keep their own.

    ``values`` has shape (n,) or (n, words). O(n) energy and O(log(largest degree)) depth.
    """
    n = len(values)
    computer.hosting(tree.host)
    words = 1 if values.ndim == 1 else values.shape[1]
    held = computer.register(0, values.dtype, words=words)
    held[:n] = values
    for turn, nodes in enumerate(levels(tree, n)):
        parent = tree.parent[nodes]
        sent = values[parent] if turn == 0 else held[parent]
        computer.send(parent, nodes, sent)
        held[nodes] = sent
    computer.keep(-words)
    return held[:n]


def local_reduce(computer: SpatialComputer, tree: VirtualTree, values: Values, operator: Operator) -> Values:
    """Return for every vertex the sum of its children's values, in light-first order; the identity at a leaf."""
    n = len(values)
    computer.hosting(tree.host)
    gathered = computer.register(operator.identity, values.dtype, words=operator.words)
    for nodes in reversed(levels(tree, n)):
        for place in range(3):
            node = nodes[tree.slot[nodes] == place]
            parent = tree.parent[node]
            real = node < n
            sent = gathered[node]
            sent[real] = values[node[real]]
            computer.send(node, parent, sent)
            gathered[parent] = operator.combine(gathered[parent], sent)
    computer.keep(-operator.words)
    return gathered[:n]


def create_virtual_tree(computer: SpatialComputer, parent: Index, index: Index, degree: Index) -> tuple[Index, Index]:
    """Let every vertex find the heads of the groups appended to it, by messages; return them as (first, second).

    ``parent`` is by processor in light-first order; ``index`` numbers each child from 1 among ``degree`` siblings.
    A child knows its neighbouring siblings; which indices head which groups follows from index and degree alone, so
    only references have to be passed: a finished group tells who comes after it. -1 where there is no such head.
    """
    n = len(parent)
    order = np.lexsort((index, parent))
    right = np.full(n, -1, np.int32)
    same = (parent[order[:-1]] == parent[order[1:]]) & (parent[order[:-1]] >= 0)
    right[order[:-1][same]] = order[1:][same]
    extent = _group_ends(index, degree) - index  # how many siblings a group holds beyond its head
    half = extent // 2
    computer.keep(6)
    first = np.where((extent > 0) & (parent >= 0), right, -1).astype(np.int32)
    second = np.full(n, -1, np.int32)
    after = np.where(extent == 0, right, -1).astype(np.int32)
    for size in np.unique(extent[(extent > 0) & (parent >= 0)]).tolist():
        node = np.flatnonzero((extent == size) & (parent >= 0)).astype(np.int32)
        lower = first[node]
        computer.send(lower, node, after[lower])
        if half[node[0]] == 0:  # a single appended sibling
            after[node] = after[lower]
            continue
        second[node] = after[lower]
        upper = second[node]
        computer.send(node, upper)
        computer.send(upper, node, after[upper])
        after[node] = after[upper]
    return first, second


def _group_ends(index: Index, degree: Index) -> Index:
    """Return the last index of the group that each child heads."""
    low, high = np.ones_like(index), degree.copy()
    top = high // 2
    left = index <= top
    low, high = np.where(left, low, top + 1), np.where(left, top, high)
    while (inside := (index > low) & (index <= high)).any():
        half = (high - low) // 2
        lower = index <= low + half
        new_low = np.where(lower, low + 1, low + 1 + half)
        high = np.where(inside & lower, low + half, high)
        low = np.where(inside, new_low, low)
    return high
