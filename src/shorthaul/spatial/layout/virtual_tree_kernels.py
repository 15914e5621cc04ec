"""Kernel of the virtual tree: TRANSFORM (Baumann et al., Section III-D) without recursion."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt

Index = npt.NDArray[np.int32]


@cython.final
@cython.cclass
class Growing:
    """The virtual tree as far as it is made; the first nodes are the vertices, whose children ``kids`` lists."""

    kids: cython.const_int[::1]
    parent: cython.int[::1]
    host: cython.int[::1]
    slot: cython.int[::1]
    nodes: cython.Py_ssize_t

    def __init__(self, kids: cython.const_int[::1]) -> None:
        self.kids = kids
        self.parent = np.empty(2 * kids.shape[0], np.int32)
        self.host = np.empty(2 * kids.shape[0], np.int32)
        self.slot = np.empty(2 * kids.shape[0], np.int32)
        self.nodes = kids.shape[0]


def transform(starts: cython.const_int[::1], kids: cython.const_int[::1]) -> tuple[Index, Index, Index]:
    """Return (parent, host, slot) of the virtual tree of a tree with these sorted children.

    Nodes 0..n-1 are the vertices. A vertex whose appended children are not empty gets one more node, which stands
    above it and them; ``host`` names the vertex it stands for. ``slot`` is 0, 1 or 2: which child of its parent a node
    is. A vertex has at most two children in this form, an added node at most three (itself and two more groups).
    """
    tree = Growing(kids)
    with cython.nogil:
        n: cython.Py_ssize_t = tree.kids.shape[0]
        i: cython.Py_ssize_t
        for i in range(starts[n], starts[n + 1]):
            tree.parent[tree.kids[i]] = -1
            tree.slot[tree.kids[i]] = 0
        for v in range(n):
            tree.host[v] = v
            _hang(tree, starts[v], starts[v + 1], v, 0)
    n = tree.nodes
    return np.asarray(tree.parent)[:n], np.asarray(tree.host)[:n], np.asarray(tree.slot)[:n]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hang(
    tree: Growing, low: cython.Py_ssize_t, high: cython.Py_ssize_t, holder: cython.Py_ssize_t, slot: cython.int
) -> cython.void:
    """Hang the siblings low, ..., high - 1 under ``holder`` in two groups, the first of them at ``slot``."""
    middle: cython.Py_ssize_t = low + ((high - low) >> 1)
    if low < middle:
        _hang_group(tree, low, middle, holder, slot)
        slot += 1
    if middle < high:
        _hang_group(tree, middle, high, holder, slot)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hang_group(
    tree: Growing, low: cython.Py_ssize_t, high: cython.Py_ssize_t, holder: cython.Py_ssize_t, slot: cython.int
) -> cython.void:
    """Hang a group: its first sibling alone, or below a node added for it and the others."""
    head: cython.Py_ssize_t = tree.kids[low]
    if high - low > 1:
        tree.host[tree.nodes] = head
        tree.parent[tree.nodes] = holder
        tree.slot[tree.nodes] = slot
        holder = tree.nodes
        slot = 0
        tree.nodes += 1
        _hang(tree, low + 1, high, holder, 1)
    tree.parent[head] = holder
    tree.slot[head] = slot
