"""Compiled loops of :mod:`isoperimetry`: least neighbourhoods in a box, and least ends of sets of many levels."""

from __future__ import annotations

import cython
import numpy as np

_FAR = cython.declare(cython.longlong, 1 << 60)


def grown(
    below: cython.const_longlong[::1],
    height: cython.Py_ssize_t,
    has_corners: cython.bint,
    least: cython.longlong[::1],
    work: cython.longlong,
) -> int:
    """Write the least sizes of neighbourhoods in a box of so many slices; return the work it took, -1 if it was more.

    ``below[s]``, which rises, is the least size in a slice, of sets of s cells. ``least`` (shape (most + 1,)) is large
    to begin with. Slices become smaller, and each has the cells next to its own and those over the slice below, with
    ``has_corners`` those over the neighbourhood of the slice below.
    """
    most: cython.Py_ssize_t = least.shape[0] - 1
    widest: cython.Py_ssize_t = min(below.shape[0] - 1, most)
    paid: cython.longlong[:, ::1] = np.full((most + 1, widest + 1), _FAR, np.int64)  # by all cells and the last slice
    tails: cython.longlong[::1] = np.full(widest + 2, _FAR, np.int64)
    count: cython.Py_ssize_t
    m: cython.Py_ssize_t
    s: cython.Py_ssize_t
    w: cython.Py_ssize_t
    most_s: cython.Py_ssize_t
    cost: cython.longlong
    spent: cython.longlong = 0
    with cython.nogil:
        for s in range(1, widest + 1):
            paid[s, s] = below[s]
            cost = below[s] if has_corners else s
            least[s] = min(least[s], below[s] + (cost if height > 1 else 0))
        for count in range(2, min(height, most) + 1):
            # From slices of m cells in all: the last has m / (count - 1) cells at most. What is written has more cells
            # than what is read later.
            for m in range(most - 1, count - 2, -1):
                most_s = min(widest, m // (count - 1))
                tails[most_s + 1] = _FAR
                for s in range(most_s, 0, -1):
                    tails[s] = min(tails[s + 1], paid[m, s] + (below[s] if has_corners else s))
                spent += most_s
                for s in range(1, min(most_s, most - m) + 1):
                    if has_corners:
                        cost = tails[s]
                    else:
                        cost = tails[min(most_s, below[s]) + 1]
                        for w in range(s, min(most_s, below[s]) + 1):
                            cost = min(cost, paid[m, w] + below[s])
                        spent += below[s] - s
                    paid[m + s, s] = cost
                    if count < height:
                        cost += below[s] if has_corners else s
                    least[m + s] = min(least[m + s], cost)
                if spent > work:
                    break
            if spent > work:
                break
    return int(spent) if spent <= work else -1


def least_totals(
    grown: cython.const_longlong[::1],
    gap: cython.const_longlong[::1],
    inner: cython.const_longlong[::1],
    lowest: cython.const_longlong[::1],
    highest: cython.const_longlong[::1],
    begins_open: cython.bint,
    end: cython.const_longlong[::1],
    totals: cython.longlong[::1],
) -> int:
    """Write what sets with so many units in all cost at least; return what sets with more than any of these do.

    A set is a sequence of levels of 0, 1, 2, ... units. Level b costs max(gap[b], grown[b] - highest[a], lowest[a] -
    inner[b]) on top of level a, the last one ``end[a]``; with ``begins_open`` a first level costs gap[b] only. A set
    with more has a level that takes it past the most. ``lowest`` and ``highest`` rise.
    """
    most: cython.Py_ssize_t = totals.shape[0] - 1
    widest: cython.Py_ssize_t = end.shape[0] - 1
    paid: cython.longlong[:, ::1] = np.full((most + 1, widest + 1), _FAR, np.int64)
    # The least of paid - highest of smaller levels, and of paid + lowest of larger ones.
    below: cython.longlong[::1] = np.full(widest + 1, _FAR, np.int64)
    above: cython.longlong[::1] = np.full(widest + 2, _FAR, np.int64)
    first: cython.longlong[::1] = np.zeros(widest + 1, np.int64)  # where the gap counts most, on top of which levels
    after: cython.longlong[::1] = np.zeros(widest + 1, np.int64)
    total: cython.Py_ssize_t
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    cost: cython.longlong
    beyond: cython.longlong = _FAR
    with cython.nogil:
        for b in range(1, widest + 1):
            a = 0
            while a <= widest and grown[b] - highest[a] >= max(gap[b], lowest[a] - inner[b]):
                a += 1
            first[b] = a
            while a <= widest and lowest[a] - inner[b] < max(gap[b], grown[b] - highest[a]):
                a += 1
            after[b] = a
        paid[0, 0] = 0
        for total in range(most + 1):
            for b in range(1, min(total, widest) + 1):
                paid[total, 0] = min(paid[total, 0], paid[total, b] + end[b])
            totals[total] = paid[total, 0]
            below[0] = paid[total, 0] - highest[0]
            for a in range(1, widest + 1):
                below[a] = min(below[a - 1], paid[total, a] - highest[a])
            for a in range(widest, -1, -1):
                above[a] = min(above[a + 1], paid[total, a] + lowest[a])
            for b in range(1, widest + 1):
                cost = above[after[b]] - inner[b]
                if first[b] > 0:
                    cost = min(cost, below[first[b] - 1] + grown[b])
                for a in range(first[b], after[b]):
                    cost = min(cost, paid[total, a] + gap[b])
                if begins_open:
                    cost = min(cost, paid[total, 0] + gap[b])
                if total + b <= most:
                    paid[total + b, b] = cost
                else:
                    beyond = min(beyond, cost)
    return int(beyond)
