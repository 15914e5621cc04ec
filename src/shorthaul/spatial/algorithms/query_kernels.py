"""Kernels over batches of queries: splitting them, and packing balls around their ends."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel

Index = npt.NDArray[np.int32]


@kernel
def batches(first: Index, second: Index, n: int, most: int) -> Index:
    """Return a batch number per query so that no vertex is in more than ``most`` queries of one batch (greedy)."""
    batch = np.full(first.size, -1, np.int32)
    load = np.zeros(n, np.int32)
    left = first.size
    turn = 0
    while left > 0:
        load[:] = 0
        for q in range(first.size):
            if batch[q] < 0 and load[first[q]] < most and load[second[q]] < most:
                batch[q] = turn
                load[first[q]] += 1
                if second[q] != first[q]:
                    load[second[q]] += 1
                left -= 1
        turn += 1
    return batch


@kernel
def crowded(center: int, x: Index, y: Index, apart: int, columns: int, rows: int, kept: Index) -> bool:
    """True if a kept centre lies closer than ``apart`` to this one, or its square has no room left.

    ``kept`` of shape (rows * columns, 2) holds the centres in every square of side ``apart``, -1 where there is none.
    """
    column, row = x[center] // apart, y[center] // apart
    if kept[row * columns + column, 1] >= 0:
        return True
    for j in range(max(row - 1, 0), min(row + 2, rows)):
        for i in range(max(column - 1, 0), min(column + 2, columns)):
            for k in range(2):
                other = kept[j * columns + i, k]
                if other >= 0 and abs(x[center] - x[other]) + abs(y[center] - y[other]) < apart:
                    return True
    return False


@kernel
def packed_queries(
    first: Index, second: Index, reach: Index, x: Index, y: Index, width: int, height: int, radius: int
) -> int:
    """Return how many queries of ``reach`` at least ``radius`` a greedy choice keeps 2 radius - 1 hops apart.

    Every end of a chosen query is that far from every end of another.
    """
    apart = 2 * radius - 1
    columns, rows = (width - 1) // apart + 1, (height - 1) // apart + 1
    kept = np.full((rows * columns, 2), -1, np.int32)
    count = 0
    for q in range(first.size):
        if reach[q] < radius:
            continue
        if crowded(first[q], x, y, apart, columns, rows, kept) or crowded(second[q], x, y, apart, columns, rows, kept):
            continue
        for end in (first[q], second[q]):
            square = (y[end] // apart) * columns + x[end] // apart
            kept[square, 1 if kept[square, 0] >= 0 else 0] = end
        count += 1
    return count
