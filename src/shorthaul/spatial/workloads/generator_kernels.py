"""Kernels that grow random trees from given random numbers."""

from __future__ import annotations

import cython


def split(draws: cython.const_double[::1], parent: cython.int[::1], leaf: cython.int[::1]) -> None:
    """Split a leaf chosen by each draw into two; one draw per inner vertex, ``leaf`` for the leaves so far."""
    i: cython.longlong
    j: cython.longlong
    with cython.nogil:
        for i in range(draws.shape[0]):
            j = min(cython.cast(cython.longlong, draws[i] * (i + 1)), i)
            parent[2 * i + 1] = leaf[j]
            parent[2 * i + 2] = leaf[j]
            leaf[j] = 2 * i + 1
            leaf[i + 1] = 2 * i + 2


def attach(draws: cython.const_double[::1], parent: cython.int[::1]) -> None:
    """Preferential attachment: vertices from 2 on choose an end of an edge, vertex 1 hangs under vertex 0."""
    v: cython.longlong
    end: cython.longlong  # of the edge above each vertex from 1 on the upper one, then the lower one
    with cython.nogil:
        for v in range(2, draws.shape[0]):
            end = min(cython.cast(cython.longlong, draws[v] * (2 * (v - 1))), 2 * (v - 1) - 1)
            parent[v] = cython.cast(cython.int, (end >> 1) + 1) if end & 1 else parent[(end >> 1) + 1]


def hang(degree: cython.const_int[::1], parent: cython.int[::1], left: cython.int[::1], stack: cython.int[::1]) -> None:
    """Find the parents of the tree whose preorder list of child counts is a rotation of ``degree`` (cycle lemma)."""
    n: cython.Py_ssize_t = degree.shape[0]
    balance: cython.longlong = 0
    least: cython.longlong = 1
    begin: cython.Py_ssize_t = 0
    top: cython.Py_ssize_t = 0
    p: cython.Py_ssize_t
    v: cython.Py_ssize_t
    with cython.nogil:
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
