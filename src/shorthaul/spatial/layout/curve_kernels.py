"""Kernels of the space-filling curves: the first cells of each curve as x and y."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt

Index = npt.NDArray[np.int32]


def hilbert(side: cython.longlong, count: cython.Py_ssize_t) -> tuple[Index, Index]:
    """The Hilbert curve on a square of 2^k cells a side, from (0, 0) to (side - 1, 0)."""
    x: cython.int[::1] = np.empty(count, np.int32)
    y: cython.int[::1] = np.empty(count, np.int32)
    with cython.nogil:
        _hilbert(side, x, y)
    return np.asarray(x), np.asarray(y)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hilbert(side: cython.longlong, x: cython.int[::1], y: cython.int[::1]) -> cython.void:
    levels: cython.int = 0
    level: cython.int
    i: cython.longlong
    quarter: cython.longlong
    half: cython.int
    cx: cython.int
    cy: cython.int
    while (1 << levels) < side:
        levels += 1
    for i in range(x.shape[0]):
        cx = 0
        cy = 0
        half = 1
        for level in range(levels):
            quarter = (i >> (2 * level)) & 3
            if quarter == 0:
                cx, cy = cy, cx
            elif quarter == 1:
                cy += half
            elif quarter == 2:
                cx += half
                cy += half
            else:
                cx, cy = 2 * half - 1 - cy, half - 1 - cx
            half *= 2
        # the start is kept at (0, 0) whatever the number of levels
        if levels & 1:
            cx, cy = cy, cx
        x[i] = cy
        y[i] = cx


def z_order(count: cython.Py_ssize_t) -> tuple[Index, Index]:
    """Z-order: upper left, upper right, lower left, lower right, y pointing down."""
    x: cython.int[::1] = np.empty(count, np.int32)
    y: cython.int[::1] = np.empty(count, np.int32)
    with cython.nogil:
        _z_order(x, y)
    return np.asarray(x), np.asarray(y)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _z_order(x: cython.int[::1], y: cython.int[::1]) -> cython.void:
    i: cython.longlong
    level: cython.int
    cx: cython.longlong
    cy: cython.longlong
    for i in range(x.shape[0]):
        cx = 0
        cy = 0
        for level in range(16):
            cx |= ((i >> (2 * level)) & 1) << level
            cy |= ((i >> (2 * level + 1)) & 1) << level
        x[i] = cx
        y[i] = cy


def peano(side: cython.longlong, count: cython.Py_ssize_t) -> tuple[Index, Index]:
    """Peano's curve on a square of 3^k cells a side: a ternary digit is turned round by the other axis' digits."""
    x: cython.int[::1] = np.empty(count, np.int32)
    y: cython.int[::1] = np.empty(count, np.int32)
    with cython.nogil:
        _peano(side, x, y)
    return np.asarray(x), np.asarray(y)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _peano(side: cython.longlong, x: cython.int[::1], y: cython.int[::1]) -> cython.void:
    i: cython.longlong
    rest: cython.longlong
    scale: cython.longlong
    ninth: cython.longlong
    digits: cython.longlong
    dx: cython.longlong
    dy: cython.longlong
    cx: cython.longlong
    cy: cython.longlong
    odd_x: cython.longlong
    odd_y: cython.longlong
    for i in range(x.shape[0]):
        cx = 0
        cy = 0
        odd_x = 0
        odd_y = 0
        scale = side // 3
        ninth = side * side // 9
        rest = i
        while scale > 0:
            digits = rest // ninth
            rest -= digits * ninth
            dx = digits // 3
            dy = digits - 3 * dx
            cx += (2 - dx if odd_y & 1 else dx) * scale
            odd_x += dx
            cy += (2 - dy if odd_x & 1 else dy) * scale
            odd_y += dy
            scale //= 3
            ninth //= 9
        x[i] = cx
        y[i] = cy


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
    px: cython.longlong
    py: cython.longlong
    qx: cython.longlong
    qy: cython.longlong
    rx: cython.longlong
    ry: cython.longlong
    mx: cython.longlong
    my: cython.longlong
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


def rows(width: cython.longlong, count: cython.Py_ssize_t, turning: cython.bint) -> tuple[Index, Index]:
    """Row after row, every second one backwards if ``turning`` (the snake)."""
    x: cython.int[::1] = np.empty(count, np.int32)
    y: cython.int[::1] = np.empty(count, np.int32)
    with cython.nogil:
        _rows(width, turning, x, y)
    return np.asarray(x), np.asarray(y)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rows(width: cython.longlong, turning: cython.bint, x: cython.int[::1], y: cython.int[::1]) -> cython.void:
    i: cython.longlong
    cx: cython.longlong = 0
    cy: cython.longlong = 0
    for i in range(x.shape[0]):
        x[i] = width - 1 - cx if turning and cy & 1 else cx
        y[i] = cy
        cx += 1
        if cx == width:
            cx = 0
            cy += 1


def gilbert(width: cython.longlong, height: cython.longlong, count: cython.Py_ssize_t) -> tuple[Index, Index]:
    """A generalised Hilbert curve on any rectangle: blocks of a longer and a shorter axis, halved evenly."""
    blocks = Blocks(count)
    with cython.nogil:
        if width >= height:
            _push(blocks, 0, 0, width, 0, 0, height)
        else:
            _push(blocks, 0, 0, 0, height, width, 0)
        while blocks.top > 0 and blocks.filled < count:
            _split(blocks)
    return np.asarray(blocks.x), np.asarray(blocks.y)


@cython.final
@cython.cclass
class Blocks:
    """Blocks of a generalised Hilbert curve still to be walked, and the cells walked so far.

    A block is its first corner and the vectors of its two sides, the longer one first.
    """

    stack: cython.longlong[:, ::1]
    top: cython.Py_ssize_t
    x: cython.int[::1]
    y: cython.int[::1]
    filled: cython.Py_ssize_t

    def __init__(self, count: cython.Py_ssize_t) -> None:
        self.stack = np.empty((256, 6), np.int64)
        self.top = 0
        self.x = np.empty(count, np.int32)
        self.y = np.empty(count, np.int32)
        self.filled = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _push(
    blocks: Blocks,
    cx: cython.longlong,
    cy: cython.longlong,
    ax: cython.longlong,
    ay: cython.longlong,
    bx: cython.longlong,
    by: cython.longlong,
) -> cython.void:
    blocks.stack[blocks.top, 0] = cx
    blocks.stack[blocks.top, 1] = cy
    blocks.stack[blocks.top, 2] = ax
    blocks.stack[blocks.top, 3] = ay
    blocks.stack[blocks.top, 4] = bx
    blocks.stack[blocks.top, 5] = by
    blocks.top += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sign(value: cython.longlong) -> cython.longlong:
    return 1 if value > 0 else -1 if value < 0 else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _split(blocks: Blocks) -> cython.void:
    """Take the block on top: walk it if it is a line, else put its parts in its place."""
    at: cython.Py_ssize_t = blocks.top - 1
    cx: cython.longlong = blocks.stack[at, 0]
    cy: cython.longlong = blocks.stack[at, 1]
    ax: cython.longlong = blocks.stack[at, 2]
    ay: cython.longlong = blocks.stack[at, 3]
    bx: cython.longlong = blocks.stack[at, 4]
    by: cython.longlong = blocks.stack[at, 5]
    w: cython.longlong = abs(ax + ay)
    h: cython.longlong = abs(bx + by)
    half_w: cython.longlong = w >> 1
    half_h: cython.longlong = h >> 1
    a2x: cython.longlong
    a2y: cython.longlong
    b2x: cython.longlong
    b2y: cython.longlong
    blocks.top = at
    if h == 1:
        _walk(blocks, cx, cy, _sign(ax), _sign(ay), w)
    elif w == 1:
        _walk(blocks, cx, cy, _sign(bx), _sign(by), h)
    elif 2 * w > 3 * h:
        if half_w & 1 and w > 2:
            half_w += 1
        a2x = _sign(ax) * half_w
        a2y = _sign(ay) * half_w
        _push(blocks, cx + a2x, cy + a2y, ax - a2x, ay - a2y, bx, by)
        _push(blocks, cx, cy, a2x, a2y, bx, by)
    else:
        if half_h & 1 and h > 2:
            half_h += 1
        a2x = _sign(ax) * half_w
        a2y = _sign(ay) * half_w
        b2x = _sign(bx) * half_h
        b2y = _sign(by) * half_h
        _push(
            blocks,
            cx + (ax - _sign(ax)) + (b2x - _sign(bx)),
            cy + (ay - _sign(ay)) + (b2y - _sign(by)),
            -b2x,
            -b2y,
            a2x - ax,
            a2y - ay,
        )
        _push(blocks, cx + b2x, cy + b2y, ax, ay, bx - b2x, by - b2y)
        _push(blocks, cx, cy, b2x, b2y, a2x, a2y)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _walk(
    blocks: Blocks,
    cx: cython.longlong,
    cy: cython.longlong,
    sx: cython.longlong,
    sy: cython.longlong,
    steps: cython.longlong,
) -> cython.void:
    step: cython.longlong
    for step in range(min(steps, blocks.x.shape[0] - blocks.filled)):
        blocks.x[blocks.filled] = cx + step * sx
        blocks.y[blocks.filled] = cy + step * sy
        blocks.filled += 1
