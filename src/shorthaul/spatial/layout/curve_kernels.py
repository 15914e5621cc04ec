"""Kernels of the space-filling curves: the first cells of each curve as x and y."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel

Index = npt.NDArray[np.int32]
Cells = npt.NDArray[np.int64]


@kernel
def hilbert(side: int, count: int) -> tuple[Index, Index]:
    """The Hilbert curve on a square of 2^k cells a side, from (0, 0) to (side - 1, 0)."""
    x = np.empty(count, np.int32)
    y = np.empty(count, np.int32)
    levels = 0
    while (1 << levels) < side:
        levels += 1
    for i in range(count):
        cx, cy = 0, 0
        for level in range(levels):
            quarter = (i >> (2 * level)) & 3
            half = 1 << level
            if quarter == 0:
                cx, cy = cy, cx
            elif quarter == 1:
                cy += half
            elif quarter == 2:
                cx += half
                cy += half
            else:
                cx, cy = 2 * half - 1 - cy, half - 1 - cx
        # the start is kept at (0, 0) whatever the number of levels
        if levels & 1:
            cx, cy = cy, cx
        x[i] = cy
        y[i] = cx
    return x, y


@kernel
def z_order(count: int) -> tuple[Index, Index]:
    """Z-order: upper left, upper right, lower left, lower right, y pointing down."""
    x = np.empty(count, np.int32)
    y = np.empty(count, np.int32)
    for i in range(count):
        cx, cy = 0, 0
        for level in range(16):
            cx |= ((i >> (2 * level)) & 1) << level
            cy |= ((i >> (2 * level + 1)) & 1) << level
        x[i] = cx
        y[i] = cy
    return x, y


@kernel
def peano(side: int, count: int) -> tuple[Index, Index]:
    """Peano's curve on a square of 3^k cells a side: a ternary digit is turned round by the other axis' digits."""
    x = np.empty(count, np.int32)
    y = np.empty(count, np.int32)
    for i in range(count):
        cx, cy, odd_x, odd_y = 0, 0, 0, 0
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
    return x, y


@kernel
def h_index(side: int, count: int) -> tuple[Index, Index]:
    """The H-index on a square of 2^k cells a side, a closed curve.

    Cells are taken in the order of a Sierpinski curve over right triangles of area one. Four such triangles meet at
    the middle of a block of 2 x 2 cells, each covering halves of two cells; each takes one of the two, in a turn whose
    sense alternates between neighbouring blocks, so that consecutive triangles take neighbouring cells.
    """
    x = np.empty(count, np.int32)
    y = np.empty(count, np.int32)
    if side == 1:
        x[:] = 0
        y[:] = 0
        return x, y
    bits = 0
    while (1 << bits) < side * side:
        bits += 1
    for i in range(count):
        if (i >> (bits - 1)) & 1:
            px, py, qx, qy, rx, ry = side, side, 0, 0, 0, side
        else:
            px, py, qx, qy, rx, ry = 0, 0, side, side, side, 0
        for bit in range(bits - 2, -1, -1):
            mx, my = (px + qx) // 2, (py + qy) // 2
            if (i >> bit) & 1:
                px, py = rx, ry
            else:
                qx, qy = rx, ry
            rx, ry = mx, my
        if ((rx // 2 + ry // 2) & 1) == 0:
            x[i] = min(px, rx)
            y[i] = min(py, ry)
        else:
            x[i] = min(qx, rx)
            y[i] = min(qy, ry)
    return x, y


@kernel
def rows(width: int, count: int, turning: bool) -> tuple[Index, Index]:
    """Row after row, every second one backwards if ``turning`` (the snake)."""
    x = np.empty(count, np.int32)
    y = np.empty(count, np.int32)
    for i in range(count):
        cy = i // width
        cx = i - cy * width
        x[i] = width - 1 - cx if turning and cy & 1 else cx
        y[i] = cy
    return x, y


@kernel
def push(stack: Cells, top: int, cx: int, cy: int, ax: int, ay: int, bx: int, by: int) -> int:
    """Put a block on the stack, its corner and the vectors of its two sides; return the new height of the stack."""
    # Number by number: assigning an array to a row makes Numba compile its error messages, for two seconds.
    stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = cx, cy, ax, ay
    stack[top, 4], stack[top, 5] = bx, by
    return top + 1


@kernel
def gilbert(width: int, height: int, count: int) -> tuple[Index, Index]:
    """A generalised Hilbert curve on any rectangle: blocks of a longer and a shorter axis, halved evenly."""
    x = np.empty(count, np.int32)
    y = np.empty(count, np.int32)
    stack = np.empty((256, 6), np.int64)
    if width >= height:
        top = push(stack, 0, 0, 0, width, 0, 0, height)
    else:
        top = push(stack, 0, 0, 0, 0, height, width, 0)
    i = 0
    while top > 0 and i < count:
        top -= 1
        cx, cy, ax, ay = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        bx, by = stack[top, 4], stack[top, 5]
        w, h = abs(ax + ay), abs(bx + by)
        dax, day = np.sign(ax), np.sign(ay)
        dbx, dby = np.sign(bx), np.sign(by)
        if h == 1 or w == 1:
            steps = w if h == 1 else h
            sx, sy = (dax, day) if h == 1 else (dbx, dby)
            for _ in range(steps):
                if i == count:
                    break
                x[i] = cx
                y[i] = cy
                cx += sx
                cy += sy
                i += 1
            continue
        half_w, half_h = w // 2, h // 2
        if 2 * w > 3 * h:
            if half_w & 1 and w > 2:
                half_w += 1
            a2x, a2y = dax * half_w, day * half_w
            top = push(stack, top, cx + a2x, cy + a2y, ax - a2x, ay - a2y, bx, by)
            top = push(stack, top, cx, cy, a2x, a2y, bx, by)
            continue
        if half_h & 1 and h > 2:
            half_h += 1
        a2x, a2y = dax * half_w, day * half_w
        b2x, b2y = dbx * half_h, dby * half_h
        last_x, last_y = cx + (ax - dax) + (b2x - dbx), cy + (ay - day) + (b2y - dby)
        top = push(stack, top, last_x, last_y, -b2x, -b2y, -(ax - a2x), -(ay - a2y))
        top = push(stack, top, cx + b2x, cy + b2y, ax, ay, bx - b2x, by - b2y)
        top = push(stack, top, cx, cy, b2x, b2y, a2x, a2y)
    return x, y
