"""Kernels that measure messages on the grid: distances, and link loads under XY routing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel

Index = npt.NDArray[np.int32]
Counts = npt.NDArray[np.signedinteger[Any]]


@kernel
def edge_energy(parent: Index, x: Index, y: Index) -> tuple[int, int]:
    """Return the summed and the largest Manhattan distance over all edges (v, parent[v])."""
    total, longest = 0, 0
    for v in range(parent.size):
        p = parent[v]
        if p >= 0:
            d = abs(x[v] - x[p]) + abs(y[v] - y[p])
            total += d
            longest = max(longest, d)
    return total, longest


@kernel
def distance_counts(parent: Index, x: Index, y: Index, longest: int) -> Counts:
    """Return how many edges have each distance 0..longest."""
    counts = np.zeros(longest + 1, np.int64)
    for v in range(parent.size):
        p = parent[v]
        if p >= 0:
            counts[abs(x[v] - x[p]) + abs(y[v] - y[p])] += 1
    return counts


@kernel
def add_route(sx: int, sy: int, tx: int, ty: int, width: int, changes: Counts) -> None:
    """Add one message from (sx, sy) to (tx, ty), routed along the row first, to the load changes of the links.

    ``changes`` has shape (4, height * width): east, west, south, north. Where a route enters a run of links its
    first processor gets +1, behind the last -1; running sums along rows (east, west) and columns give the loads.
    """
    if tx > sx:
        changes[0, sy * width + sx] += 1
        changes[0, sy * width + tx] -= 1
    elif tx < sx:
        changes[1, sy * width + tx] += 1
        changes[1, sy * width + sx] -= 1
    if ty > sy:
        changes[2, sy * width + tx] += 1
        changes[2, ty * width + tx] -= 1
    elif ty < sy:
        changes[3, ty * width + tx] += 1
        changes[3, sy * width + tx] -= 1


@kernel
def add_routes(source: Index, target: Index, x: Index, y: Index, width: int, changes: Counts) -> None:
    """Add the messages source[i] -> target[i] (see :func:`add_route`); one from or to -1 is none."""
    for i in range(source.size):
        s, t = source[i], target[i]
        if s >= 0 and t >= 0:
            add_route(x[s], y[s], x[t], y[t], width, changes)


@kernel
def add_node_routes(
    sender: Index, receiver: Index, host: Index, x: Index, y: Index, width: int, changes: Counts
) -> None:
    """Add the messages between nodes, hosted by processors (see :func:`add_route`)."""
    for i in range(sender.size):
        a, b = host[sender[i]], host[receiver[i]]
        add_route(x[a], y[a], x[b], y[b], width, changes)


@kernel
def sum_routes(width: int, height: int, changes: Counts) -> int:
    """Turn load changes into loads, in place, and return the largest."""
    largest = 0
    for cell in range(width * height):
        for side in range(4):
            if side < 2 and cell % width:
                changes[side, cell] += changes[side, cell - 1]
            elif side >= 2 and cell >= width:
                changes[side, cell] += changes[side, cell - width]
            largest = max(largest, changes[side, cell])
    return largest
