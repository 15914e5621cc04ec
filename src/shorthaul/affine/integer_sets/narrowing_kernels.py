"""Compiled part of following boxes through convex regions."""

from __future__ import annotations

import cython


def narrow(
    lines: cython.const_longlong[:, ::1], low: cython.longlong[:, ::1], high: cython.longlong[:, ::1]
) -> cython.void:
    """Narrow the ends of boxes (boxes, coordinates) to what they hold of a region, one constraint after the other.

    ``lines`` are factors and constant of what is at least 0. A box that turns out to be empty keeps low > high.
    """
    at: cython.Py_ssize_t
    most: cython.longlong
    factor: cython.longlong
    width: cython.Py_ssize_t = low.shape[1]
    if width == 0:
        return
    with cython.nogil:
        for box in range(low.shape[0]):
            for line in range(lines.shape[0]):
                most = lines[line, width]
                for at in range(width):
                    factor = lines[line, at]
                    most += factor * (high[box, at] if factor > 0 else low[box, at])
                if most < 0:  # nowhere in the box
                    high[box, 0] = low[box, 0] - 1
                    break
                for at in range(width):
                    factor = lines[line, at]
                    if factor > 0:
                        low[box, at] = max(low[box, at], high[box, at] - most // factor)
                    elif factor < 0:
                        high[box, at] = min(high[box, at], low[box, at] + most // -factor)
