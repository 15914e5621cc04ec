"""The latency of a subgraph in the order of a serpentine, and a bound on that of every order, per granularity."""

from __future__ import annotations

import cython
from cython.cimports.shorthaul.tensor.cost_model.cost_constants import ALONG_COLUMN, ALONG_ROW, START
from cython.cimports.shorthaul.tensor.cost_model.cost_kernels import Costs, evaluate, settle

INF = cython.declare(cython.double, float("inf"))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def serpentine(costs: Costs, by_columns: cython.bint) -> cython.double:
    """Return the latency of the plain serpentine by rows, or by columns."""
    lines: cython.longlong = costs.columns if by_columns else costs.rows
    tiles: cython.longlong = costs.rows if by_columns else costs.columns
    entry: cython.longlong = ALONG_ROW if by_columns else ALONG_COLUMN
    along: cython.longlong = ALONG_COLUMN if by_columns else ALONG_ROW
    inner: cython.longlong = max(lines - 2, 0)  # lines 1 to lines - 2 are entered at the far end and the near in turn
    far: cython.longlong = (inner + 1) // 2
    near: cython.longlong = inner // 2
    last_is_far: cython.bint = (lines - 1) % 2 == 1
    start: cython.longlong
    total: cython.double = 0.0
    line: cython.Py_ssize_t
    tile: cython.Py_ssize_t
    c: cython.Py_ssize_t
    for line in range(2):
        for tile in range(2):
            c = 2 * tile + line if by_columns else 2 * line + tile
            start = (line == 1) == (lines == 1) and (tile == 1) == (tiles == 1)
            if tiles == 1:
                entered = (inner if line == 0 else (1 if lines > 1 else 0)) if tile == 1 else 0
            elif line == 0:
                entered = far if tile == 1 else near
            else:
                entered = 1 if lines > 1 and last_is_far == (tile == 1) else 0
            total += costs.count[c] * costs.rest[c] + start * costs.first[4 * START + c]
            total += entered * costs.first[4 * entry + c]
            total += (costs.count[c] - entered - start) * costs.first[4 * along + c]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def any_order(costs: Costs) -> cython.double:
    """Return a lower bound on the latency of every order of the tiles.

    Each tile but the first is entered along its row, along its column, or worse. In every row one tile at least is not
    entered along the row, in every column one not along the column, and the first one loads everything.
    """
    c: cython.Py_ssize_t
    i: cython.Py_ssize_t
    total: cython.double = 0.0
    rows: cython.double = 0.0
    columns: cython.double = 0.0
    start: cython.double = INF
    for c in range(4):
        if costs.count[c] > 0:
            by_row = costs.first[4 * ALONG_ROW + c]
            by_column = costs.first[4 * ALONG_COLUMN + c]
            total += costs.count[c] * (costs.rest[c] + min(by_row, by_column))
            start = min(start, costs.first[4 * START + c] - max(by_row, by_column))
    for i in range(2):
        least = INF
        for c in range(2 * i, 2 * i + 2):  # the classes of this row
            if costs.count[c] > 0:
                least = min(least, max(0.0, costs.first[4 * ALONG_COLUMN + c] - costs.first[4 * ALONG_ROW + c]))
        if least < INF:
            rows += least * (costs.rows - 1 if i == 0 else 1)
        least = INF
        for c in range(i, 4, 2):  # the classes of this column
            if costs.count[c] > 0:
                least = min(least, max(0.0, costs.first[4 * ALONG_ROW + c] - costs.first[4 * ALONG_COLUMN + c]))
        if least < INF:
            columns += least * (costs.columns - 1 if i == 0 else 1)
    return total + max(rows, columns) + max(0.0, start)


def floor(costs: Costs, w: cython.longlong, h: cython.longlong, k: cython.longlong) -> float:
    """Return the bound on all orders at one granularity, for a profile of which no slices coincide by chance."""
    settle(costs, w, h, k)
    evaluate(costs)
    return float(any_order(costs))
