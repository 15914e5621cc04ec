"""The compiled loop of :mod:`fusion`."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


def fused_heads(
    order: cython.const_longlong[::1],
    given: cython.const_uchar[::1],
    child_starts: cython.const_longlong[::1],
    children: cython.const_longlong[::1],
    most: cython.longlong,
    with_largest: cython.bint,
) -> IntArray:
    """Return for every node the node that it is computed together with, itself where that is none, shape (n,).

    A computed node that only one node reads goes with that reader, if it and what goes with it are at most ``most``
    nodes, and without ``with_largest`` unless it is the reader's largest such operand, with which a chain goes on.
    """
    n = order.shape[0]
    head = np.arange(n)
    head_view: cython.longlong[::1] = head
    size: cython.longlong[::1] = np.zeros(n, np.int64)
    largest: cython.longlong[::1] = np.full(n, -1, np.int64)
    with cython.nogil:
        _measure(order, given, child_starts, children, size, largest)
        _join(order, child_starts, children, size, largest, most, with_largest, head_view)
    return head


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _measure(
    order: cython.const_longlong[::1],
    given: cython.const_uchar[::1],
    child_starts: cython.const_longlong[::1],
    children: cython.const_longlong[::1],
    size: cython.longlong[::1],
    largest: cython.longlong[::1],
) -> cython.void:
    """Set the size of the subtree that each node alone reads, 0 for inputs, and its largest operand among those."""
    for place in range(order.shape[0]):
        node = order[place]
        if given[node]:
            continue
        size[node] += 1
        if child_starts[node + 1] - child_starts[node] == 1:
            child = children[child_starts[node]]
            size[child] += size[node]
            if largest[child] < 0 or size[node] > size[largest[child]]:
                largest[child] = node


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _join(
    order: cython.const_longlong[::1],
    child_starts: cython.const_longlong[::1],
    children: cython.const_longlong[::1],
    size: cython.longlong[::1],
    largest: cython.longlong[::1],
    most: cython.longlong,
    with_largest: cython.bint,
    head: cython.longlong[::1],
) -> cython.void:
    for place in range(order.shape[0] - 1, -1, -1):
        node = order[place]
        if 0 < size[node] <= most and child_starts[node + 1] - child_starts[node] == 1:
            child = children[child_starts[node]]
            if with_largest or largest[child] != node:
                head[node] = head[child]
