"""The compiled loop of :mod:`fusion`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel

IntArray = npt.NDArray[np.int64]


@kernel
def fused_heads(
    order: IntArray, starts: IntArray, child_starts: IntArray, children: IntArray, most: int,
    with_largest: bool,
) -> IntArray:  # fmt: skip
    """Return for every node the node that it is computed together with, itself where that is none, shape (n,).

    A computed node that only one node reads goes with that reader, if it and what goes with it are at most ``most``
    nodes, and without ``with_largest`` unless it is the reader's largest such operand, with which a chain goes on.
    """
    n = len(order)
    size = np.zeros(n, np.int64)
    largest = np.full(n, -1, np.int64)
    for node in order:
        if starts[node] == starts[node + 1]:
            continue
        size[node] += 1
        if child_starts[node + 1] - child_starts[node] == 1:
            child = children[child_starts[node]]
            size[child] += size[node]
            if largest[child] < 0 or size[node] > size[largest[child]]:
                largest[child] = node
    head = np.arange(n)
    for place in range(n - 1, -1, -1):
        node = order[place]
        if size[node] == 0 or size[node] > most or child_starts[node + 1] - child_starts[node] != 1:
            continue
        child = children[child_starts[node]]
        if with_largest or largest[child] != node:
            head[node] = head[child]
    return head
