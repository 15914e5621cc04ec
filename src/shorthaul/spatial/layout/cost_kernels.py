"""Kernels that measure messages on the grid: distances, and link loads under XY routing.

Load changes have shape (4, height * width): east, west, south, north. Where a route, along its row first, enters a run
of links its first processor gets +1, behind the last -1; running sums along rows (east, west) or columns are the loads.
"""

from __future__ import annotations

import cython


def edge_energy(
    parent: cython.const_int[::1], x: cython.const_int[::1], y: cython.const_int[::1]
) -> tuple[int, int]:  # fmt: skip
    """Return the summed and the largest Manhattan distance over all edges (v, parent[v])."""
    with cython.nogil:
        total: cython.longlong = 0
        longest: cython.longlong = 0
        hops: cython.longlong
        p: cython.Py_ssize_t
        for v in range(parent.shape[0]):
            p = parent[v]
            if p >= 0:
                hops = abs(x[v] - x[p]) + abs(y[v] - y[p])
                total += hops
                longest = max(longest, hops)
    return int(total), int(longest)


def farthest(
    parent: cython.const_int[::1], x: cython.const_int[::1], y: cython.const_int[::1], way: cython.longlong[::1]
) -> int:
    """Return the longest ``way`` from a root along the edges, at first all 0; every parent precedes its children."""
    longest: cython.longlong = 0
    p: cython.Py_ssize_t
    with cython.nogil:
        for v in range(parent.shape[0]):
            p = parent[v]
            if p >= 0:
                way[v] = way[p] + abs(x[v] - x[p]) + abs(y[v] - y[p])
                longest = max(longest, way[v])
    return int(longest)


def add_routes(
    x: cython.const_int[::1],
    y: cython.const_int[::1],
    width: cython.Py_ssize_t,
    changes: cython.int[:, ::1],
    source: cython.const_int[::1],
    target: cython.const_int[::1],
) -> None:
    """Add the messages source[i] -> target[i] between processors at (x, y); one from or to -1 is none."""
    row: cython.Py_ssize_t
    end: cython.Py_ssize_t
    with cython.nogil:
        for i in range(source.shape[0]):
            if source[i] < 0 or target[i] < 0:
                continue
            sx = x[source[i]]
            tx = x[target[i]]
            row = y[source[i]] * width
            end = y[target[i]] * width
            if tx > sx:
                changes[0, row + sx] += 1
                changes[0, row + tx] -= 1
            elif tx < sx:
                changes[1, row + tx] += 1
                changes[1, row + sx] -= 1
            if end > row:
                changes[2, row + tx] += 1
                changes[2, end + tx] -= 1
            elif end < row:
                changes[3, end + tx] += 1
                changes[3, row + tx] -= 1


def sum_routes(width: cython.Py_ssize_t, height: cython.Py_ssize_t, changes: cython.int[:, ::1]) -> int:
    """Turn load changes into loads, in place, and return the largest."""
    with cython.nogil:
        largest: cython.int = 0
        side: cython.Py_ssize_t
        for side in range(4):
            for row in range(height):
                if side < 2:
                    for cell in range(row * width + 1, (row + 1) * width):
                        changes[side, cell] += changes[side, cell - 1]
                elif row > 0:
                    for cell in range(row * width, (row + 1) * width):
                        changes[side, cell] += changes[side, cell - width]
                for cell in range(row * width, (row + 1) * width):
                    largest = max(largest, changes[side, cell])
    return int(largest)
