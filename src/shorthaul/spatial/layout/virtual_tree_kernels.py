"""Kernel of the virtual tree: TRANSFORM (Baumann et al., Section III-D) without recursion."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt

Index = npt.NDArray[np.int32]


@cython.final
@cython.cclass
class Groups:
    """The virtual tree as far as it is made, and groups of siblings (low, high, holder, slot) still to be hung."""

    parent: cython.int[::1]
    host: cython.int[::1]
    slot: cython.int[::1]
    nodes: cython.Py_ssize_t
    stack: cython.int[:, ::1]
    top: cython.Py_ssize_t

    def __init__(self, n: cython.Py_ssize_t) -> None:
        self.parent = np.full(2 * n, -1, np.int32)
        self.host = np.arange(2 * n, dtype=np.int32)
        self.slot = np.zeros(2 * n, np.int32)
        self.nodes = n
        self.stack = np.empty((128, 4), np.int32)
        self.top = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _push(
    groups: Groups, low: cython.Py_ssize_t, high: cython.Py_ssize_t, holder: cython.Py_ssize_t, slot: cython.int
) -> cython.void:
    groups.stack[groups.top, 0] = low
    groups.stack[groups.top, 1] = high
    groups.stack[groups.top, 2] = holder
    groups.stack[groups.top, 3] = slot
    groups.top += 1


def transform(starts: cython.const_int[::1], kids: cython.const_int[::1]) -> tuple[Index, Index, Index]:
    """Return (parent, host, slot) of the virtual tree of a tree with these sorted children.

    Nodes 0..n-1 are the vertices. A vertex whose appended children are not empty gets one more node, which stands
    above it and them; ``host`` names the vertex it stands for. ``slot`` is 0, 1 or 2: which child of its parent a node
    is. A vertex has at most two children in this form, an added node at most three (itself and two more groups).
    """
    groups = Groups(kids.shape[0])
    with cython.nogil:
        _transform(groups, starts, kids)
    nodes = groups.nodes
    return np.array(groups.parent[:nodes]), np.array(groups.host[:nodes]), np.array(groups.slot[:nodes])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _transform(groups: Groups, starts: cython.const_int[::1], kids: cython.const_int[::1]) -> cython.void:
    v: cython.Py_ssize_t
    low: cython.Py_ssize_t
    high: cython.Py_ssize_t
    half: cython.Py_ssize_t
    for v in range(kids.shape[0]):
        low = starts[v]
        high = starts[v + 1] - 1
        if high < low:
            continue
        half = (high - low + 1) >> 1
        _push(groups, low + half, high, v, 1 if half > 0 else 0)
        if half > 0:
            _push(groups, low, low + half - 1, v, 0)
        while groups.top > 0:
            groups.top -= 1
            _hang(groups, kids)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hang(groups: Groups, kids: cython.const_int[::1]) -> cython.void:
    """Hang the group on top of the stack: its first sibling alone, or below a node added for it and the others."""
    low: cython.Py_ssize_t = groups.stack[groups.top, 0]
    high: cython.Py_ssize_t = groups.stack[groups.top, 1]
    holder: cython.int = groups.stack[groups.top, 2]
    slot: cython.int = groups.stack[groups.top, 3]
    head: cython.Py_ssize_t = kids[low]
    half: cython.Py_ssize_t
    added: cython.Py_ssize_t
    if low == high:
        groups.parent[head] = holder
        groups.slot[head] = slot
        return
    added = groups.nodes
    groups.nodes += 1
    groups.host[added] = head
    groups.parent[added] = holder
    groups.slot[added] = slot
    groups.parent[head] = added
    groups.slot[head] = 0
    half = (high - low) >> 1
    _push(groups, low + 1 + half, high, added, 2 if half > 0 else 1)
    if half > 0:
        _push(groups, low + 1, low + half, added, 1)
