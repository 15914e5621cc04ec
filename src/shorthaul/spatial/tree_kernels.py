"""Kernels over parent arrays: depths, children, subtree sizes, preorder positions. Roots have parent -1."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel

Index = npt.NDArray[np.int32]


@kernel
def first_wrong_parent(parent: Index) -> tuple[int, bool]:
    """Return the first vertex whose parent is no vertex (-1: none), and whether every parent precedes its children."""
    n = parent.size
    ordered = True
    for v in range(n):
        if parent[v] >= n or parent[v] < -1:
            return v, False
        if parent[v] >= v:
            ordered = False
    return -1, ordered


@kernel
def depths(parent: Index) -> tuple[Index, int]:
    """Return the number of edges to the root of every vertex, and a vertex on a cycle (-1 if there is none)."""
    n = parent.size
    depth = np.full(n, -1, np.int32)
    mark = np.full(n, -1, np.int32)
    for v in range(n):
        steps = 0
        u = v
        while u >= 0 and depth[u] < 0:
            if mark[u] == v:
                return depth, u
            mark[u] = v
            steps += 1
            u = parent[u]
        level = steps if u >= 0 else steps - 1
        if u >= 0:
            level += depth[u]
        u = v
        while u >= 0 and depth[u] < 0:
            depth[u] = level
            level -= 1
            u = parent[u]
    return depth, -1


@kernel
def sorted_by(keys: Index, largest: int) -> Index:
    """Return the indices ordered by key (0..largest), equal keys by index: one counting sort."""
    n = keys.size
    starts = np.zeros(largest + 2, np.int32)
    for v in range(n):
        starts[keys[v] + 1] += 1
    for k in range(largest + 1):
        starts[k + 1] += starts[k]
    order = np.empty(n, np.int32)
    for v in range(n):
        order[starts[keys[v]]] = v
        starts[keys[v]] += 1
    return order


@kernel
def children(parent: Index, sequence: Index) -> tuple[Index, Index]:
    """Return (starts, kids): the children of v are kids[starts[v]:starts[v+1]] in the order of ``sequence``.

    The roots are the children of n; starts has n + 2 entries. An empty ``sequence`` means 0, 1, ...
    """
    n = parent.size
    starts = np.zeros(n + 2, np.int32)
    for v in range(n):
        p = parent[v] if parent[v] >= 0 else n
        starts[p + 1] += 1
    for v in range(n + 1):
        starts[v + 1] += starts[v]
    cursor = starts[: n + 1].copy()
    kids = np.empty(n, np.int32)
    for i in range(n):
        v = sequence[i] if sequence.size else i
        p = parent[v] if parent[v] >= 0 else n
        kids[cursor[p]] = v
        cursor[p] += 1
    return starts, kids


@kernel
def subtree_sizes(parent: Index, parents_first: Index) -> Index:
    """Return the number of descendants of every vertex, itself included; an empty order means 0, 1, ..."""
    n = parent.size
    sizes = np.ones(n, np.int32)
    for i in range(n - 1, -1, -1):
        v = parents_first[i] if parents_first.size else i
        if parent[v] >= 0:
            sizes[parent[v]] += sizes[v]
    return sizes


@kernel
def preorder_positions(starts: Index, kids: Index, sizes: Index, parents_first: Index) -> Index:
    """Return the position of every vertex when it comes before its children's subtrees, these in the order of kids."""
    n = sizes.size
    position = np.empty(n, np.int32)
    free = 0
    for i in range(starts[n], starts[n + 1]):
        position[kids[i]] = free
        free += sizes[kids[i]]
    for i in range(n):
        v = parents_first[i] if parents_first.size else i
        free = position[v] + 1
        for j in range(starts[v], starts[v + 1]):
            position[kids[j]] = free
            free += sizes[kids[j]]
    return position


@kernel
def breadth_first_positions(starts: Index, kids: Index) -> Index:
    """Return the position of every vertex in breadth-first order."""
    n = kids.size
    queue = np.empty(n, np.int32)
    position = np.empty(n, np.int32)
    tail = 0
    for i in range(starts[n], starts[n + 1]):
        queue[tail] = kids[i]
        tail += 1
    for head in range(n):
        v = queue[head]
        position[v] = head
        for i in range(starts[v], starts[v + 1]):
            queue[tail] = kids[i]
            tail += 1
    return position


@kernel
def heavy_children(parent: Index, sizes: Index) -> Index:
    """Return the child with the largest subtree of every vertex (the last such in index order), -1 for a leaf."""
    n = parent.size
    heavy = np.full(n, -1, np.int32)
    for v in range(n):
        p = parent[v]
        if p >= 0 and (heavy[p] < 0 or sizes[v] >= sizes[heavy[p]]):
            heavy[p] = v
    return heavy
