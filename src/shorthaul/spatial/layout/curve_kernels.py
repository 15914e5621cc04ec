"""Kernels of the space-filling curves: the first cells of each curve as x and y."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt

Index = npt.NDArray[np.int32]


def hilbert(count: cython.longlong) -> tuple[Index, Index]:
    """The Hilbert curve from (0, 0), first to the right: four copies of a square of 2^k cells a side make the next."""
    x: cython.int[::1] = np.zeros(count, np.int32)
    y: cython.int[::1] = np.zeros(count, np.int32)
    with cython.nogil:
        _hilbert(count, x, y)
    return np.asarray(x), np.asarray(y)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hilbert(count: cython.longlong, x: cython.int[::1], y: cython.int[::1]) -> cython.void:
    side: cython.int = 1
    block: cython.longlong = 1
    upward: cython.bint = True  # the second square stands above the first, not to its right
    while block < count:
        for i in range(block, min(2 * block, count)):
            x[i] = y[i - block] + (0 if upward else side)
            y[i] = x[i - block] + (side if upward else 0)
        for i in range(2 * block, min(3 * block, count)):
            x[i] = y[i - 2 * block] + side
            y[i] = x[i - 2 * block] + side
        for i in range(3 * block, min(4 * block, count)):
            x[i] = (2 * side if upward else side) - 1 - x[i - 3 * block]
            y[i] = (side if upward else 2 * side) - 1 - y[i - 3 * block]
        upward = not upward
        side *= 2
        block *= 4


def h_index(side: cython.longlong, count: cython.Py_ssize_t) -> tuple[Index, Index]:
    """The H-index on a square of 2^k cells a side, a closed curve.

    Cells are taken in the order of a Sierpinski curve over right triangles of area one. Four such triangles meet at
    the middle of a block of 2 x 2 cells, each covering halves of two cells; each takes one of the two, in a turn whose
    sense alternates between neighbouring blocks, so that consecutive triangles take neighbouring cells.
    """
    x: cython.int[::1] = np.zeros(count, np.int32)
    y: cython.int[::1] = np.zeros(count, np.int32)
    if side > 1:
        with cython.nogil:
            _h_index(side, x, y)
    return np.asarray(x), np.asarray(y)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _h_index(side: cython.longlong, x: cython.int[::1], y: cython.int[::1]) -> cython.void:
    bits: cython.int = 0
    bit: cython.int
    i: cython.longlong
    while (cython.cast(cython.longlong, 1) << bits) < side * side:
        bits += 1
    for i in range(x.shape[0]):
        px = py = qx = qy = rx = ry = 0
        if (i >> (bits - 1)) & 1:
            px = py = ry = side
        else:
            qx = qy = rx = side
        for bit in range(bits - 2, -1, -1):
            mx = (px + qx) >> 1
            my = (py + qy) >> 1
            if (i >> bit) & 1:
                px = rx
                py = ry
            else:
                qx = rx
                qy = ry
            rx = mx
            ry = my
        if ((rx >> 1) + (ry >> 1)) & 1 == 0:
            x[i] = min(px, rx)
            y[i] = min(py, ry)
        else:
            x[i] = min(qx, rx)
            y[i] = min(qy, ry)


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
