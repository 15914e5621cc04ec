"""Treefix sums by one wave over the virtual tree: the least energy, a depth of the tree's height."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.spatial.computer import SpatialComputer
from shorthaul.spatial.computer_kernels import fold_down, fold_up
from shorthaul.spatial.operators import Operator
from shorthaul.spatial.tree_kernels import depths, sorted_by
from shorthaul.spatial.virtual_tree import VirtualTree

Index = npt.NDArray[np.int32]
Values = npt.NDArray[Any]


def convergecast(computer: SpatialComputer, tree: VirtualTree, values: Values, operator: Operator) -> Values:
    """Return the sum over every subtree, by processor: each node reports once all its children have."""
    computer.hosting(tree.host)
    held = _held(computer, values, operator)
    order, starts = _levels(tree)
    sender = np.ascontiguousarray(order[starts[1] :][::-1])
    computer.keep(2)  # parent and slot, children still awaited
    if operator.code >= 0:
        receiver = tree.parent[sender]
        _wave(computer, sender, receiver, len(starts) - 2, operator)
        fold_up(sender, receiver, held.reshape(len(held), -1), operator.code)
        return held
    for level in range(len(starts) - 2, 0, -1):
        nodes = order[starts[level] : starts[level + 1]]
        for place in range(3):
            node = nodes[tree.slot[nodes] == place]
            parent = tree.parent[node]
            computer.send(node, parent, held[node])
            held[parent] = operator.combine(held[parent], held[node])
    return held


def broadcast_down(computer: SpatialComputer, tree: VirtualTree, values: Values, operator: Operator) -> Values:
    """Return the sum along the path from the root to every vertex: each node tells its children its own sum."""
    computer.hosting(tree.host)
    held = _held(computer, values, operator)
    order, starts = _levels(tree)
    receiver = order[starts[1] :]
    computer.keep(3)  # the children
    if operator.code >= 0:
        sender = tree.parent[receiver]
        _wave(computer, sender, receiver, len(starts) - 2, operator)
        fold_down(sender, receiver, held.reshape(len(held), -1), operator.code)
        return held
    for level in range(1, len(starts) - 1):
        node = order[starts[level] : starts[level + 1]]
        parent = tree.parent[node]
        computer.send(parent, node, held[parent])
        held[node] = operator.combine(held[parent], held[node])
    return held


def _held(computer: SpatialComputer, values: Values, operator: Operator) -> Values:
    held = computer.register(operator.identity, values.dtype, words=operator.words)
    held[: len(values)] = values
    return held


def _levels(tree: VirtualTree) -> tuple[Index, npt.NDArray[np.int64]]:
    """Return the nodes by depth and where each depth begins."""
    depth, _ = depths(tree.parent)
    order = sorted_by(depth, int(depth.max()))
    return order, np.concatenate([[0], np.cumsum(np.bincount(depth))])


def _wave(computer: SpatialComputer, sender: Index, receiver: Index, rounds: int, operator: Operator) -> None:
    computer.send(sender, receiver, np.empty((0, operator.words), np.int64), in_order=True)
    computer.rounds += max(0, rounds - 1)
