"""Kernel of the generalised Hilbert curve: its first cells as x and y."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt

Index = npt.NDArray[np.int32]


@cython.final
@cython.cclass
class Walk:
    """The cells walked so far."""

    x: cython.int[::1]
    y: cython.int[::1]
    count: cython.longlong

    def __init__(self, count: cython.longlong) -> None:
        self.x = np.empty(count, np.int32)
        self.y = np.empty(count, np.int32)
        self.count = 0


def gilbert(width: cython.longlong, height: cython.longlong, count: cython.longlong) -> tuple[Index, Index]:
    """A generalised Hilbert curve on any rectangle: blocks of a longer and a shorter axis, halved evenly."""
    walk = Walk(count)
    with cython.nogil:
        if width >= height:
            _walk(walk, 0, 0, width, 0, 0, height)
        else:
            _walk(walk, 0, 0, 0, height, width, 0)
    return np.asarray(walk.x), np.asarray(walk.y)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sign(value: cython.longlong) -> cython.longlong:
    return 1 if value > 0 else -1 if value < 0 else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _line(
    walk: Walk,
    cx: cython.longlong,
    cy: cython.longlong,
    ax: cython.longlong,
    ay: cython.longlong,
) -> cython.void:
    for step in range(min(abs(ax + ay), walk.x.shape[0] - walk.count)):
        walk.x[walk.count] = cx + step * _sign(ax)
        walk.y[walk.count] = cy + step * _sign(ay)
        walk.count += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _walk(
    walk: Walk,
    cx: cython.longlong,
    cy: cython.longlong,
    ax: cython.longlong,
    ay: cython.longlong,
    bx: cython.longlong,
    by: cython.longlong,
) -> cython.void:
    """Walk through the block with this corner and these two sides, along the first of them."""
    w: cython.longlong = abs(ax + ay)
    h: cython.longlong = abs(bx + by)
    half_w: cython.longlong = w >> 1
    half_h: cython.longlong = h >> 1
    dax: cython.longlong = _sign(ax)
    day: cython.longlong = _sign(ay)
    dbx: cython.longlong = _sign(bx)
    dby: cython.longlong = _sign(by)
    if walk.count == walk.x.shape[0]:
        return
    if h == 1:
        _line(walk, cx, cy, ax, ay)
    elif w == 1:
        _line(walk, cx, cy, bx, by)
    elif 2 * w > 3 * h:
        if half_w & 1 and w > 2:
            half_w += 1
        ax -= dax * half_w
        ay -= day * half_w
        _walk(walk, cx, cy, dax * half_w, day * half_w, bx, by)
        _walk(walk, cx + dax * half_w, cy + day * half_w, ax, ay, bx, by)
    else:
        if half_h & 1 and h > 2:
            half_h += 1
        bx -= dbx * half_h
        by -= dby * half_h
        _walk(walk, cx, cy, dbx * half_h, dby * half_h, dax * half_w, day * half_w)
        _walk(walk, cx + dbx * half_h, cy + dby * half_h, ax, ay, bx, by)
        cx += ax - dax + dbx * (half_h - 1)
        cy += ay - day + dby * (half_h - 1)
        _walk(walk, cx, cy, -dbx * half_h, -dby * half_h, dax * half_w - ax, day * half_w - ay)
