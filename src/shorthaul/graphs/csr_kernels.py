"""Edges in the order of the nodes that they leave, in compiled code: one step per edge."""

from __future__ import annotations

import cython


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _place(
    sources: cython.const_longlong[::1],
    targets: cython.const_longlong[::1],
    free: cython.longlong[::1],
    placed: cython.longlong[::1],
) -> cython.void:
    for i in range(sources.shape[0]):
        node = sources[i]
        placed[free[node]] = targets[i]
        free[node] += 1


def place(
    sources: cython.const_longlong[::1],
    targets: cython.const_longlong[::1],
    free: cython.longlong[::1],
    placed: cython.longlong[::1],
) -> None:
    """Write the end of every edge behind those of its source, whose next place ``free`` tells."""
    with cython.nogil:
        _place(sources, targets, free, placed)
