"""Kernels that grow random trees from given random numbers."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt

Index = npt.NDArray[np.int32]


def yule(draws: cython.const_double[::1]) -> Index:
    """Split a leaf chosen by each draw into two; one draw per inner vertex."""
    parent: cython.int[::1] = np.full(2 * draws.shape[0] + 1, -1, np.int32)
    leaf: cython.int[::1] = np.zeros(draws.shape[0] + 1, np.int32)
    with cython.nogil:
        _split(draws, parent, leaf)
    return np.asarray(parent)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _split(draws: cython.const_double[::1], parent: cython.int[::1], leaf: cython.int[::1]) -> cython.void:
    i: cython.longlong
    j: cython.longlong
    for i in range(draws.shape[0]):
        j = min(cython.cast(cython.longlong, draws[i] * (i + 1)), i)
        parent[2 * i + 1] = leaf[j]
        parent[2 * i + 2] = leaf[j]
        leaf[j] = 2 * i + 1
        leaf[i + 1] = 2 * i + 2


def attached(draws: cython.const_double[::1]) -> Index:
    """Preferential attachment: every new vertex chooses an old one with probability proportional to its degree."""
    parent: cython.int[::1] = np.full(draws.shape[0], -1, np.int32)
    ends: cython.int[::1] = np.zeros(2 * draws.shape[0], np.int32)
    with cython.nogil:
        _attach(draws, parent, ends)
    return np.asarray(parent)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _attach(draws: cython.const_double[::1], parent: cython.int[::1], ends: cython.int[::1]) -> cython.void:
    v: cython.longlong
    count: cython.longlong
    for v in range(1, draws.shape[0]):
        count = 2 * (v - 1)
        if count > 0:
            parent[v] = ends[min(cython.cast(cython.longlong, draws[v] * count), count - 1)]
        else:
            parent[v] = 0
        ends[count] = parent[v]
        ends[count + 1] = v


def from_degrees(degree: cython.const_int[::1]) -> Index:
    """Return the parents of the tree whose preorder list of child counts is a rotation of ``degree`` (cycle lemma)."""
    parent: cython.int[::1] = np.full(degree.shape[0], -1, np.int32)
    left: cython.int[::1] = np.zeros(degree.shape[0], np.int32)
    stack: cython.int[::1] = np.empty(degree.shape[0] + 1, np.int32)
    with cython.nogil:
        _hang(degree, parent, left, stack)
    return np.asarray(parent)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hang(
    degree: cython.const_int[::1], parent: cython.int[::1], left: cython.int[::1], stack: cython.int[::1]
) -> cython.void:
    n: cython.Py_ssize_t = degree.shape[0]
    balance: cython.longlong = 0
    least: cython.longlong = 1
    begin: cython.Py_ssize_t = 0
    top: cython.Py_ssize_t = 0
    p: cython.Py_ssize_t
    for v in range(n):
        balance += degree[v] - 1
        if balance < least:
            least = balance
            begin = v + 1 if v + 1 < n else 0
    for v in range(n):
        if top > 0:
            p = stack[top - 1]
            parent[v] = p
            left[p] -= 1
            if left[p] == 0:
                top -= 1
        left[v] = degree[begin + v if begin + v < n else begin + v - n]
        if left[v] > 0:
            stack[top] = v
            top += 1
