"""Treefix sums by one wave over the virtual tree: the least energy, a depth of the tree's height."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.spatial.computer.machine import SpatialComputer
from shorthaul.spatial.computer.operators import Operator, fold
from shorthaul.spatial.layout.virtual_tree import VirtualTree
from shorthaul.spatial.tree_kernels import depths, sorted_by

Index = npt.NDArray[np.int32]
Values = npt.NDArray[Any]


def convergecast(computer: SpatialComputer, tree: VirtualTree, values: Values, operator: Operator) -> Values:
    """Return the sum over every subtree, by processor: each node reports once all its children have."""
    computer.hosting(tree.host)
    held = _held(computer, values, operator)
    order, starts, height = _turns(tree)
    sender = np.ascontiguousarray(order[starts[1] :][::-1])
    receiver = tree.parent[sender]
    computer.keep(2)  # parent and slot, children still awaited
    _wave(computer, sender, receiver, height, operator)
    if operator.code >= 0:
        fold(sender, receiver, held, operator)
        return held
    for node, parent in _selections(tree, order, starts[::-1]):
        held[parent] = operator.combine(held[parent], held[node])
    return held


def broadcast_down(computer: SpatialComputer, tree: VirtualTree, values: Values, operator: Operator) -> Values:
    """Return the sum along the path from the root to every vertex: each node tells its children its own sum."""
    computer.hosting(tree.host)
    held = _held(computer, values, operator)
    order, starts, height = _turns(tree)
    receiver = order[starts[1] :]
    sender = tree.parent[receiver]
    computer.keep(3)  # the children
    _wave(computer, sender, receiver, height, operator)
    if operator.code >= 0:
        fold(sender, receiver, held, operator)
        return held
    for node, parent in _selections(tree, order, starts):
        held[node] = operator.combine(held[parent], held[node])
    return held


def _held(computer: SpatialComputer, values: Values, operator: Operator) -> Values:
    held = computer.register(operator.identity, values.dtype, words=operator.words)
    held[: len(values)] = values
    return held


def _turns(tree: VirtualTree) -> tuple[Index, npt.NDArray[np.int64], int]:
    """Return the nodes by depth and slot, where those of each depth and slot begin (roots first, then the end), height.

    Nodes of one depth and slot have different parents.
    """
    depth, _ = depths(tree.parent)
    turn = 3 * depth + tree.slot
    order = sorted_by(turn, int(turn.max()))
    return order, np.append(np.flatnonzero(np.diff(turn[order], prepend=-1)), len(order)), int(depth.max())


def _selections(
    tree: VirtualTree, order: Index, starts: npt.NDArray[np.int64]
) -> Iterator[tuple[Index | slice, Index | slice]]:
    """Yield the nodes of each turn but the roots' and their parents; ``starts`` may be reversed."""
    above = tree.parent[order]
    for one, other in itertools.pairwise(starts.tolist()):
        begin, end = min(one, other), max(one, other)
        if begin == 0:
            continue
        if end == begin + 1:  # on a path, slices of one are several times faster than arrays of indices
            node, parent = int(order[begin]), int(above[begin])
            yield slice(node, node + 1), slice(parent, parent + 1)
        else:
            yield order[begin:end], above[begin:end]


def _wave(computer: SpatialComputer, sender: Index, receiver: Index, height: int, operator: Operator) -> None:
    """Count one message for every edge, each after those before it, in as many rounds as the tree is high."""
    before = computer.rounds
    computer.send(sender, receiver, np.empty((0, operator.words), np.int64), in_order=True)
    computer.rounds = before + height
