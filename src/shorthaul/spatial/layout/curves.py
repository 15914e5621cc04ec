"""Space-filling curves: the index along a curve to a cell (x, y) of the grid and back."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InfeasibleError, InputError, unknown_name
from shorthaul.spatial.layout import curve_kernels
from shorthaul.spatial.model import Grid

Index = npt.NDArray[np.int32]

CURVES = ("hilbert", "gilbert", "z", "peano", "h-index", "snake", "row-major")

#: The side of a curve's square must be a power of this.
_POWER_OF = {"hilbert": 2, "z": 2, "h-index": 2, "peano": 3}


def choose(curve: str, n: int, grid: Grid | None) -> tuple[str, Grid]:
    """Return the curve and the grid for ``n`` vertices.

    ``auto`` is the Hilbert curve where the grid is a square of 2^k cells a side, else its generalisation. Without a
    grid it is the smallest square of the curve that holds n cells. Raises :class:`InfeasibleError` if ``grid`` is too
    small, :class:`InputError` if the curve is not defined on it.

    >>> choose("auto", 10, None)
    ('hilbert', Grid(width=4, height=4))
    """
    if curve != "auto" and curve not in CURVES:
        raise unknown_name("curve", curve, ("auto", *CURVES), place="--curve")
    if grid is None:
        side = math.isqrt(n - 1) + 1
        base = _POWER_OF.get(curve)
        if base is not None:
            side = _next_power(base, side)
        grid = Grid(side, side)
    if grid.cells < n:
        raise InfeasibleError(
            "processors", demand=n, limit=grid.cells, place=f"grid {grid}", cure="give a larger --grid"
        )
    if curve == "auto":
        square = grid.width == grid.height and _next_power(2, grid.width) == grid.width
        curve = "hilbert" if square else "gilbert"
    base = _POWER_OF.get(curve)
    if base is not None and (grid.width != grid.height or _next_power(base, grid.width) != grid.width):
        raise InputError(
            f"the {curve} curve is not defined on this grid",
            place="--grid",
            value=str(grid),
            allowed=f"squares whose side is a power of {base}",
            cure="use --curve gilbert, snake or row-major, which fill any rectangle",
        )
    return curve, grid


def _next_power(base: int, least: int) -> int:
    power = 1
    while power < least:
        power *= base
    return power


def cells(curve: str, grid: Grid, count: int | None = None) -> tuple[Index, Index]:
    """Return x and y of the first ``count`` cells (default: all) along ``curve``, each of shape (count,).

    >>> [axis.tolist() for axis in cells("hilbert", Grid(2, 2))]
    [[0, 0, 1, 1], [0, 1, 1, 0]]
    """
    count = grid.cells if count is None else count
    curve, grid = choose(curve, count, grid)
    match curve:
        case "hilbert":  # of a square, first to the right
            x, y = curve_kernels.gilbert(grid.width, grid.width, count)
            return (y, x) if grid.width.bit_length() % 2 else (x, y)
        case "gilbert":
            return curve_kernels.gilbert(grid.width, grid.height, count)
        case "z":
            return _z_order(np.arange(count, dtype=np.int32))
        case "peano":
            return _peano(count)
        case "h-index":
            return _h_index(grid.width, np.arange(count, dtype=np.int32))
        case _:
            y, x = np.divmod(np.arange(count, dtype=np.int32), np.int32(grid.width))
            return np.where((curve == "snake") & (y & 1 == 1), np.int32(grid.width - 1) - x, x), y


def _z_order(index: Index) -> tuple[Index, Index]:
    """Upper left, upper right, lower left, lower right, y pointing down: every second bit of the index is of y."""
    x, y = np.zeros((2, len(index)), np.int32)
    for bit in range(16):
        x |= (index >> 2 * bit & 1) << bit
        y |= (index >> 2 * bit + 1 & 1) << bit
    return x, y


def _peano(count: int) -> tuple[Index, Index]:
    """Nine copies of a square of 3^k cells a side make the next, every second one turned."""
    x = y = np.zeros(1, np.int32)
    side = 1
    while len(x) < count:
        across, down = [], []
        for column in range(3):
            for step in range(3):
                across.append(column * side + (side - 1 - x if step == 1 else x))
                down.append((2 - step if column == 1 else step) * side + (side - 1 - y if column == 1 else y))
        x, y, side = np.concatenate(across), np.concatenate(down), 3 * side
    return x[:count], y[:count]


def _h_index(side: int, index: Index) -> tuple[Index, Index]:
    """A closed curve: cells in the order of a Sierpinski curve over right triangles of area one.

    Four such triangles meet at the middle of a block of 2 x 2 cells, each covering halves of two cells; each takes one
    of the two, in a turn whose sense alternates between neighbouring blocks, so that consecutive triangles take
    neighbouring cells.
    """
    bits = max(2 * side.bit_length() - 3, 0)
    at = side * (index >> bits & 1)
    p, q, r = np.stack([at, at]), np.stack([side - at, side - at]), np.stack([side - at, at])
    for bit in range(bits - 1, -1, -1):
        later, middle = index >> bit & 1 == 1, (p + q) >> 1
        p, q, r = np.where(later, r, p), np.where(later, q, r), middle
    x, y = np.minimum(np.where((r >> 1).sum(axis=0) & 1, q, p), r)
    return x, y


def indices(curve: str, grid: Grid) -> Index:
    """Return the index along ``curve`` of every cell, shape (height, width): the inverse of :func:`cells`.

    >>> indices("snake", Grid(2, 2)).tolist()
    [[0, 1], [3, 2]]
    """
    x, y = cells(curve, grid)
    table = np.empty((grid.height, grid.width), np.int32)
    table[y, x] = np.arange(grid.cells, dtype=np.int32)
    return table
