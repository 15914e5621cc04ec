"""Kernels that grow random trees from given random numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel

Index = npt.NDArray[np.int32]
Draws = npt.NDArray[np.float64]


@kernel
def yule(draws: Draws) -> Index:
    """Split a leaf chosen by each draw into two; one draw per inner vertex."""
    inner = draws.size
    parent = np.full(2 * inner + 1, -1, np.int32)
    leaf = np.zeros(inner + 1, np.int32)
    for i in range(inner):
        j = min(int(draws[i] * (i + 1)), i)
        for k in range(2):
            parent[2 * i + 1 + k] = leaf[j]
        leaf[j] = 2 * i + 1
        leaf[i + 1] = 2 * i + 2
    return parent


@kernel
def attached(draws: Draws) -> Index:
    """Preferential attachment: every new vertex chooses an old one with probability proportional to its degree."""
    n = draws.size
    parent = np.full(n, -1, np.int32)
    ends = np.zeros(2 * n, np.int32)
    for v in range(1, n):
        count = 2 * (v - 1)
        p = ends[min(int(draws[v] * count), count - 1)] if count else 0
        parent[v] = p
        ends[count] = p
        ends[count + 1] = v
    return parent


@kernel
def from_degrees(degree: Index) -> Index:
    """Return the parents of the tree whose preorder list of child counts is a rotation of ``degree`` (cycle lemma)."""
    n = degree.size
    balance, least, begin = 0, 1, 0
    for i in range(n):
        balance += degree[i] - 1
        if balance < least:
            least = balance
            begin = (i + 1) % n
    parent = np.full(n, -1, np.int32)
    left = np.zeros(n, np.int32)
    stack = np.empty(n + 1, np.int32)
    top = 0
    for v in range(n):
        if top > 0:
            p = stack[top - 1]
            parent[v] = p
            left[p] -= 1
            if left[p] == 0:
                top -= 1
        left[v] = degree[(begin + v) % n]
        if left[v] > 0:
            stack[top] = v
            top += 1
    return parent
