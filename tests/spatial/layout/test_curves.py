from __future__ import annotations

import math

import numpy as np
import pytest

from shorthaul.core.errors import InfeasibleError, InputError
from shorthaul.spatial.layout.curves import CURVES, cells, choose, indices
from shorthaul.spatial.model import Grid, grid_from_text

SQUARES = {"hilbert": (1, 2, 8, 32), "z": (1, 2, 16), "h-index": (1, 2, 4, 32), "peano": (1, 3, 9, 27)}
ANY = [(1, 1), (1, 9), (9, 1), (7, 5), (6, 6), (15, 15), (32, 32), (75, 99), (100, 3), (50, 94)]
GRIDS = [(curve, (side, side)) for curve, sides in SQUARES.items() for side in sides]
GRIDS += [(curve, sides) for curve in ("gilbert", "snake", "row-major") for sides in ANY]


@pytest.mark.parametrize(("curve", "sides"), GRIDS)
def test_every_cell_once_and_back(curve: str, sides: tuple[int, int]) -> None:
    grid = Grid(*sides)
    x, y = cells(curve, grid)
    assert sorted(zip(x.tolist(), y.tolist(), strict=True)) == [
        (i, j) for i in range(sides[0]) for j in range(sides[1])
    ]
    assert (indices(curve, grid)[y, x] == np.arange(grid.cells)).all()
    prefix = grid.cells // 2
    assert (cells(curve, grid, prefix)[0] == x[:prefix]).all()


@pytest.mark.parametrize(
    ("curve", "sides"),
    [(c, s) for c, s in GRIDS if c not in {"z", "row-major"} and (c != "gilbert" or s[0] % 2 == 0 or s[1] % 2 == 1)],
)
def test_neighbours_along_the_curve_are_neighbours(curve: str, sides: tuple[int, int]) -> None:
    x, y = cells(curve, Grid(*sides))
    assert (np.abs(np.diff(x)) + np.abs(np.diff(y)) == 1).all()


@pytest.mark.parametrize(
    ("curve", "side", "factor"),
    [("hilbert", 32, 3), ("peano", 27, math.sqrt(10 + 2 / 3)), ("h-index", 64, 2 * math.sqrt(2))],
)
def test_distance_bounds(curve: str, side: int, factor: float) -> None:
    # Section III-B: dist(i, i + j) <= alpha sqrt(j) + o(sqrt(j)); the H-index needs the o() term for short steps.
    x, y = cells(curve, Grid(side, side))
    for j in range(1, side * side):
        farthest = (np.abs(x[j:] - x[:-j]) + np.abs(y[j:] - y[:-j])).max()
        assert farthest <= factor * math.sqrt(j) + (1e-9 if curve != "h-index" else 0.1)


def test_the_h_index_is_closed() -> None:
    x, y = cells("h-index", Grid(16, 16))
    assert abs(x[0] - x[-1]) + abs(y[0] - y[-1]) == 1


def test_z_order_as_drawn() -> None:
    x, y = cells("z", Grid(2, 2))
    assert list(zip(x.tolist(), y.tolist(), strict=True)) == [(0, 0), (1, 0), (0, 1), (1, 1)]


def test_z_order_jumps_are_powers_of_two() -> None:
    x, y = cells("z", Grid(32, 32))
    length = np.abs(np.diff(x)) + np.abs(np.diff(y))
    assert set(length.tolist()) == {2**k for k in range(6)}


def test_choosing_a_grid() -> None:
    assert choose("auto", 17, None) == ("gilbert", Grid(5, 5))
    assert choose("auto", 16, None) == ("hilbert", Grid(4, 4))
    assert choose("hilbert", 17, None) == ("hilbert", Grid(8, 8))
    assert choose("peano", 10, None) == ("peano", Grid(9, 9))
    assert choose("gilbert", 700_000, grid_from_text("750x994"))[1].cells == 745_500


def test_wrong_grids() -> None:
    with pytest.raises(InfeasibleError, match="processors"):
        choose("auto", 5, Grid(2, 2))
    with pytest.raises(InputError, match="not defined on this grid"):
        choose("hilbert", 5, Grid(3, 3))
    with pytest.raises(InputError, match="unknown curve"):
        choose("hilbrt", 5, None)
    for text in ("3", "3x", "0x4", "-1x4", "axb", "99999x99999"):
        with pytest.raises(InputError):
            grid_from_text(text)
    assert set(SQUARES) <= set(CURVES)
