"""Connected components in compiled code: nodes joined along edges, every component known by its first node."""

from __future__ import annotations

import cython


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _first_of(above: cython.longlong[::1], node: cython.longlong) -> cython.longlong:
    """Return the first node that ``node`` was joined with; ways there become half as long."""
    while above[node] != node:
        above[node] = above[above[node]]
        node = above[node]
    return node


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _join(
    sources: cython.const_longlong[::1], targets: cython.const_longlong[::1], labels: cython.longlong[::1]
) -> cython.void:  # fmt: skip
    count: cython.longlong = 0
    for i in range(labels.shape[0]):
        labels[i] = i
    for i in range(sources.shape[0]):
        one = _first_of(labels, sources[i])
        other = _first_of(labels, targets[i])
        labels[max(one, other)] = min(one, other)
    for i in range(labels.shape[0]):  # nodes before this one have their numbers
        if labels[i] == i:
            labels[i] = count
            count += 1
        else:
            labels[i] = labels[labels[i]]


def join(
    sources: cython.const_longlong[::1], targets: cython.const_longlong[::1], labels: cython.longlong[::1]
) -> None:  # fmt: skip
    """Write the number of each node's component, counted by their first nodes."""
    with cython.nogil:
        _join(sources, targets, labels)
