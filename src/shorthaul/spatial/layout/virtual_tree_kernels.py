"""Kernel of the virtual tree: TRANSFORM (Baumann et al., Section III-D) without recursion."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel

Index = npt.NDArray[np.int32]
Spans = npt.NDArray[np.int64]


@kernel
def push(stack: Spans, top: int, low: int, high: int, holder: int, place: int) -> int:
    """Put the siblings low..high on the stack, to hang under ``holder`` at ``place``; return its new height."""
    stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = low, high, holder, place
    return top + 1


@kernel
def transform(starts: Index, kids: Index) -> tuple[Index, Index, Index, int]:
    """Return (parent, host, slot, nodes) of the virtual tree of a tree with these sorted children.

    Nodes 0..n-1 are the vertices. A vertex whose appended children are not empty gets one more node, which stands
    above it and them; ``host`` names the vertex it stands for. ``slot`` is 0, 1 or 2: which child of its parent a node
    is. A vertex has at most two children in this form, an added node at most three (itself and two more groups).
    """
    n = kids.size
    parent = np.full(2 * n, -1, np.int32)
    host = np.empty(2 * n, np.int32)
    slot = np.zeros(2 * n, np.int32)
    for v in range(n):
        host[v] = v
    nodes = n
    stack = np.empty((128, 4), np.int64)
    for v in range(n):
        lo, hi = starts[v], starts[v + 1] - 1
        if hi < lo:
            continue
        half = (hi - lo + 1) // 2
        top = push(stack, 0, lo + half, hi, v, 1 if half else 0)
        if half:
            top = push(stack, top, lo, lo + half - 1, v, 0)
        while top > 0:
            top -= 1
            lo, hi, holder, place = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
            head = kids[lo]
            if lo == hi:
                parent[head] = holder
                slot[head] = place
                continue
            added = nodes
            nodes += 1
            host[added] = head
            parent[added] = holder
            slot[added] = place
            parent[head] = added
            slot[head] = 0
            half = (hi - lo) // 2
            top = push(stack, top, lo + 1 + half, hi, added, 2 if half else 1)
            if half:
                top = push(stack, top, lo + 1, lo + half, added, 1)
    return parent[:nodes].copy(), host[:nodes].copy(), slot[:nodes].copy(), nodes
