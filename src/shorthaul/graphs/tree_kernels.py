"""Kernels over parent arrays: depths, children, subtree sizes, positions, heavy paths. Roots have parent -1."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt

Index = npt.NDArray[np.int32]


def first_wrong_parent(parent: cython.const_int[::1]) -> tuple[int, bool]:
    """Return the first vertex whose parent is no vertex (-1: none), and whether every parent precedes its children."""
    ordered: cython.bint
    with cython.nogil:
        wrong = _first_wrong_parent(parent)
        ordered = wrong < 0 and _is_ordered(parent)
    return int(wrong), bool(ordered)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _first_wrong_parent(parent: cython.const_int[::1]) -> cython.longlong:
    n: cython.Py_ssize_t = parent.shape[0]
    for v in range(n):
        if parent[v] >= n or parent[v] < -1:
            return v
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_ordered(parent: cython.const_int[::1]) -> cython.bint:
    for v in range(parent.shape[0]):
        if parent[v] >= v:
            return False
    return True


def is_parents_first(parent: cython.const_int[::1], order: cython.const_int[::1]) -> bool:
    """Return whether ``order`` has every vertex once, after its parent."""
    if order.shape[0] != parent.shape[0]:
        return False
    seen: cython.uchar[::1] = np.zeros(parent.shape[0], np.uint8)
    with cython.nogil:
        found = _is_parents_first(parent, order, seen)
    return bool(found)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_parents_first(
    parent: cython.const_int[::1], order: cython.const_int[::1], seen: cython.uchar[::1]
) -> cython.bint:
    v: cython.Py_ssize_t
    for i in range(order.shape[0]):
        v = order[i]
        if v < 0 or v >= seen.shape[0] or seen[v] or (parent[v] >= 0 and not seen[parent[v]]):
            return False
        seen[v] = 1
    return True


def depths(parent: cython.const_int[::1]) -> tuple[Index, int]:
    """Return the number of edges to the root of every vertex, and a vertex on a cycle (-1 if there is none)."""
    depth: cython.int[::1] = np.full(parent.shape[0], -1, np.int32)
    mark: cython.int[::1] = np.full(parent.shape[0], -1, np.int32)
    with cython.nogil:
        culprit = _set_depths(parent, depth, mark)
    return np.asarray(depth), int(culprit)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _set_depths(parent: cython.const_int[::1], depth: cython.int[::1], mark: cython.int[::1]) -> cython.longlong:
    level: cython.int
    for v in range(parent.shape[0]):
        if depth[v] >= 0:
            continue
        if parent[v] >= 0 and depth[parent[v]] >= 0:
            depth[v] = depth[parent[v]] + 1
            continue
        level = -1
        u = v
        while u >= 0 and depth[u] < 0:
            if mark[u] == v:
                return u
            mark[u] = v
            level += 1
            u = parent[u]
        if u >= 0:
            level += depth[u] + 1
        u = v
        while u >= 0 and depth[u] < 0:
            depth[u] = level
            level -= 1
            u = parent[u]
    return -1


def sorted_by(keys: cython.const_int[::1], largest: cython.Py_ssize_t) -> Index:
    """Return the indices ordered by key (0..largest), equal keys by index: one counting sort."""
    starts: cython.int[::1] = np.zeros(largest + 2, np.int32)
    order: cython.int[::1] = np.empty(keys.shape[0], np.int32)
    with cython.nogil:
        _sort(keys, starts, order)
    return np.asarray(order)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sort(keys: cython.const_int[::1], starts: cython.int[::1], order: cython.int[::1]) -> cython.void:
    for v in range(keys.shape[0]):
        starts[keys[v] + 1] += 1
    for k in range(starts.shape[0] - 1):
        starts[k + 1] += starts[k]
    for v in range(keys.shape[0]):
        k = keys[v]
        at = starts[k]
        order[at] = v
        starts[k] = at + 1


def children(parent: cython.const_int[::1], sequence: cython.const_int[::1]) -> tuple[Index, Index]:
    """Return (starts, kids): the children of v are kids[starts[v]:starts[v+1]] in the order of ``sequence``.

    The roots are the children of n; starts has n + 2 entries. An empty ``sequence`` means 0, 1, ...
    """
    starts: cython.int[::1] = np.zeros(parent.shape[0] + 2, np.int32)
    kids: cython.int[::1] = np.empty(parent.shape[0], np.int32)
    with cython.nogil:
        _group_children(parent, sequence, starts, kids)
    return np.asarray(starts), np.asarray(kids)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _group_children(
    parent: cython.const_int[::1], sequence: cython.const_int[::1], starts: cython.int[::1], kids: cython.int[::1]
) -> cython.void:
    n: cython.Py_ssize_t = parent.shape[0]
    for v in range(n):
        starts[(parent[v] if parent[v] >= 0 else n) + 1] += 1
    for p in range(n + 1):
        starts[p + 1] += starts[p]
    # Every start moves to the end of its group, which is where the next one began.
    for i in range(n):
        v = sequence[i] if sequence.shape[0] > 0 else i
        p = parent[v] if parent[v] >= 0 else n
        at = starts[p]
        kids[at] = v
        starts[p] = at + 1
    for p in range(n + 1, 0, -1):
        starts[p] = starts[p - 1]
    starts[0] = 0


def subtree_sizes(parent: cython.const_int[::1], parents_first: cython.const_int[::1]) -> Index:
    """Return the number of descendants of every vertex, itself included; an empty order means 0, 1, ..."""
    sizes: cython.int[::1] = np.ones(parent.shape[0], np.int32)
    with cython.nogil:
        _add_sizes(parent, parents_first, sizes)
    return np.asarray(sizes)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_sizes(
    parent: cython.const_int[::1], parents_first: cython.const_int[::1], sizes: cython.int[::1]
) -> cython.void:
    for i in range(parent.shape[0] - 1, -1, -1):
        v = parents_first[i] if parents_first.shape[0] > 0 else i
        if parent[v] >= 0:
            sizes[parent[v]] += sizes[v]


def preorder_positions(
    starts: cython.const_int[::1],
    kids: cython.const_int[::1],
    sizes: cython.const_int[::1],
    parents_first: cython.const_int[::1],
) -> Index:
    """Return the position of every vertex when it comes before its children's subtrees, these in the order of kids."""
    position: cython.int[::1] = np.empty(kids.shape[0], np.int32)
    with cython.nogil:
        _set_preorder(starts, kids, sizes, parents_first, position)
    return np.asarray(position)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _set_preorder(
    starts: cython.const_int[::1],
    kids: cython.const_int[::1],
    sizes: cython.const_int[::1],
    parents_first: cython.const_int[::1],
    position: cython.int[::1],
) -> cython.void:
    n: cython.Py_ssize_t = kids.shape[0]
    j: cython.Py_ssize_t
    free: cython.int = 0
    for i in range(starts[n], starts[n + 1]):
        position[kids[i]] = free
        free += sizes[kids[i]]
    for i in range(n):
        v = parents_first[i] if parents_first.shape[0] > 0 else i
        free = position[v] + 1
        for j in range(starts[v], starts[v + 1]):
            position[kids[j]] = free
            free += sizes[kids[j]]


def renumbered(parent: cython.const_int[::1], rank: cython.const_int[::1]) -> tuple[Index, Index]:
    """Return the parents where vertex v is called ``rank[v]``, and the vertices in the order of these numbers."""
    found: cython.int[::1] = np.empty(parent.shape[0], np.int32)
    order: cython.int[::1] = np.empty(parent.shape[0], np.int32)
    v: cython.Py_ssize_t
    with cython.nogil:
        for v in range(parent.shape[0]):
            found[rank[v]] = rank[parent[v]] if parent[v] >= 0 else -1
            order[rank[v]] = cython.cast(cython.int, v)
    return np.asarray(found), np.asarray(order)


def breadth_first_positions(starts: cython.const_int[::1], kids: cython.const_int[::1]) -> Index:
    """Return the position of every vertex in breadth-first order."""
    queue: cython.int[::1] = np.empty(kids.shape[0], np.int32)
    ends: cython.int[::1] = np.empty(kids.shape[0], np.int32)
    position: cython.int[::1] = np.empty(kids.shape[0], np.int32)
    with cython.nogil:
        _set_breadth_first(starts, kids, queue, ends, position)
    return np.asarray(position)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _set_breadth_first(
    starts: cython.const_int[::1],
    kids: cython.const_int[::1],
    queue: cython.int[::1],
    ends: cython.int[::1],
    position: cython.int[::1],
) -> cython.void:
    n: cython.Py_ssize_t = kids.shape[0]
    head: cython.Py_ssize_t = 0
    tail: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t
    v: cython.Py_ssize_t
    for i in range(starts[n], starts[n + 1]):
        queue[tail] = kids[i]
        tail += 1
    while head < tail:
        level = tail
        # All that waits for memory first, level by level, so that the processor waits for many vertices at once.
        for i in range(head, level):
            v = queue[i]
            position[v] = i
            queue[i] = starts[v]
            ends[i] = starts[v + 1]
        for i in range(head, level):
            for j in range(queue[i], ends[i]):
                queue[tail] = kids[j]
                tail += 1
        head = level


def heavy_children(parent: cython.const_int[::1], sizes: cython.const_int[::1]) -> Index:
    """Return the child with the largest subtree of every vertex (the last such in index order), -1 for a leaf."""
    heavy: cython.int[::1] = np.full(parent.shape[0], -1, np.int32)
    with cython.nogil:
        _set_heavy(parent, sizes, heavy)
    return np.asarray(heavy)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _set_heavy(parent: cython.const_int[::1], sizes: cython.const_int[::1], heavy: cython.int[::1]) -> cython.void:
    p: cython.Py_ssize_t
    for v in range(parent.shape[0]):
        p = parent[v]
        if p >= 0 and (heavy[p] < 0 or sizes[v] >= sizes[heavy[p]]):
            heavy[p] = v


def ranks_and_layers(
    parent: cython.const_int[::1], parents_first: cython.const_int[::1], heavy: cython.const_int[::1]
) -> tuple[Index, Index]:
    """Return each node's rank on its heavy path (0 at the top) and the number of paths above it."""
    rank: cython.int[::1] = np.zeros(parent.shape[0], np.int32)
    layer: cython.int[::1] = np.zeros(parent.shape[0], np.int32)
    with cython.nogil:
        _rank(parent, parents_first, heavy, rank, layer)
    return np.asarray(rank), np.asarray(layer)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rank(
    parent: cython.const_int[::1],
    parents_first: cython.const_int[::1],
    heavy: cython.const_int[::1],
    rank: cython.int[::1],
    layer: cython.int[::1],
) -> cython.void:
    v: cython.Py_ssize_t
    p: cython.Py_ssize_t
    for i in range(parent.shape[0]):
        v = parents_first[i]
        p = parent[v]
        if p >= 0:
            if heavy[p] == v:
                rank[v] = rank[p] + 1
                layer[v] = layer[p]
            else:
                layer[v] = layer[p] + 1
