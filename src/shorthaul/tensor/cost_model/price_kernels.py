"""A bound on the latency of a subgraph in every order of its tiles, at one granularity."""

from __future__ import annotations

import cython
from cython.cimports.shorthaul.tensor.cost_model.cost_constants import ALONG_COLUMN, ALONG_ROW, START
from cython.cimports.shorthaul.tensor.cost_model.cost_kernels import Costs, evaluate, settle

INF = cython.declare(cython.double, float("inf"))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def any_order(costs: Costs) -> cython.double:
    """Return a lower bound on the latency of every order of the tiles.

    Each tile but the first is entered along its row, along its column, or worse. In every row one tile at least is not
    entered along the row, in every column one not along the column; the first one of all is such a one.
    """
    c: cython.Py_ssize_t
    axis: cython.Py_ssize_t
    line: cython.Py_ssize_t
    place: cython.Py_ssize_t
    total: cython.double = 0.0
    most: cython.double = 0.0
    for c in range(4):
        if costs.count[c] > 0:
            entered = min(costs.first[4 * ALONG_ROW + c], costs.first[4 * ALONG_COLUMN + c])
            total += costs.count[c] * (costs.rest[c] + entered)
    for axis in range(2):  # lines are rows, or columns
        along = ALONG_ROW if axis == 0 else ALONG_COLUMN
        across = ALONG_COLUMN if axis == 0 else ALONG_ROW
        number = costs.rows if axis == 0 else costs.columns
        turns: cython.double = 0.0
        begun: cython.double = INF
        for line in range(2):
            least: cython.double = INF
            for place in range(2):
                c = 2 * line + place if axis == 0 else 2 * place + line
                if costs.count[c] > 0:
                    least = min(least, max(0.0, costs.first[4 * across + c] - costs.first[4 * along + c]))
            if least == INF:
                continue
            turns += least * (number - 1 if line == 0 else 1)
            for place in range(2):
                c = 2 * line + place if axis == 0 else 2 * place + line
                if costs.count[c] > 0:
                    entered = min(costs.first[4 * along + c], costs.first[4 * across + c])
                    begun = min(begun, costs.first[4 * START + c] - entered - least)
        most = max(most, turns + begun)
    return total + most


def floor(costs: Costs, w: cython.longlong, h: cython.longlong, k: cython.longlong) -> float:
    """Return the bound on all orders at one granularity, for a profile of which no slices coincide by chance."""
    settle(costs, w, h, k)
    evaluate(costs)
    return float(any_order(costs))
