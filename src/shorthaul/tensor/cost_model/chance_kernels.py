"""The least latency of a subgraph in any order of its tiles, where slices of one tensor coincide by chance.

Along an axis some slices follow the tile, others the step: they are the same in a few steps, which depend on the place
of the tile. All steps of a tile but its first one take the same in every order; what the first one finds depends on
the tile before it, of which there are few kinds.
"""

from __future__ import annotations

import cython
from cython.cimports.shorthaul.tensor.cost_model.cost_kernels import Costs, settle
from cython.cimports.shorthaul.tensor.cost_model.order_kernels import Orders, enter, forget, later_steps, step_time

INF = cython.declare(cython.double, float("inf"))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _other(place: cython.longlong, tiles: cython.longlong, number: cython.longlong) -> cython.longlong:
    """Return the first tile along an axis, or one that is neither that nor the one at ``place``; -1 without one."""
    if number == 0:
        return 0 if place != 0 else -1
    found: cython.longlong = 2 if place == 1 else 1
    return found if found < tiles else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _alike(orders: Orders, place: cython.longlong, along_columns: cython.bint) -> cython.longlong:
    """Return how many tiles along an axis, from this one on, are like it.

    Where slices do not coincide along the axis, or tiles and steps are not equally long, nothing distinguishes those
    between the first one and the last one.
    """
    tiles = orders.costs.columns if along_columns else orders.costs.rows
    if place == 0 or place == tiles - 1:
        return 1
    if along_columns:
        return 1 if orders.mixed_columns and orders.w == orders.costs.k else tiles - 2
    return 1 if orders.mixed_rows and orders.h == orders.costs.k else tiles - 2


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _start(orders: Orders, i: cython.longlong, j: cython.longlong) -> cython.double:
    """Return the time of the first step of tile (i, j) where it is the first one of all."""
    forget(orders)
    return step_time(orders, i, j, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _entered(
    orders: Orders, i: cython.longlong, j: cython.longlong, own_row: cython.bint, own_column: cython.bint
) -> cython.double:
    """Return the least time of the first step of tile (i, j) after others, in its own row and column or not."""
    old_i: cython.longlong
    old_j: cython.longlong
    least: cython.double = INF
    for a in range(3):
        old_i = i if a == 2 else _other(i, orders.costs.rows, a)
        if old_i < 0 or (a == 2 and not own_row):
            continue
        for b in range(3):
            old_j = j if b == 2 else _other(j, orders.costs.columns, b)
            if old_j < 0 or (b == 2 and not own_column) or (a == 2 and b == 2):
                continue
            least = min(least, enter(orders, old_i, old_j, i, j))
    return least


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _turns(orders: Orders, by_columns: cython.bint) -> cython.double:
    """Return what is added as one tile at least of every row, or column, is not entered from it, and one starts."""
    line: cython.longlong = 0
    place: cython.longlong
    total: cython.double = 0.0
    begun: cython.double = INF
    least: cython.double
    while line < (orders.costs.columns if by_columns else orders.costs.rows):
        least = INF
        place = 0
        while place < (orders.costs.rows if by_columns else orders.costs.columns):
            i = place if by_columns else line
            j = line if by_columns else place
            start = _start(orders, i, j)
            others = min(start, _entered(orders, i, j, by_columns, not by_columns))
            least = min(least, others - min(others, _entered(orders, i, j, True, True)))
            begun = min(begun, start - others)
            place += _alike(orders, place, not by_columns)
        often = _alike(orders, line, by_columns)
        total += cython.cast(cython.double, often) * least
        line += often
    return total + begun


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def chance_floor(
    orders: Orders,
    costs: Costs,
    w: cython.longlong,
    h: cython.longlong,
    k: cython.longlong,
    limit: cython.double,
) -> cython.double:
    """Return a lower bound on the latency of every order of the tiles at a granularity; infinite if it does not fit.

    Every tile is entered from one in its row, from one in its column, from another one, or first of all. The step
    before is then the last one of that tile, whose slices follow its row, its column, the last step, or nothing.
    Slices that follow the last step, or nothing, are the same whichever tile that is. One that follows its row covers
    what a first step asks for in three cases: that asks for the slice of its own row, and it is the same row; or for
    the first part of a reduction, or for all of it, which only the first row covers, as both begin at 0. So along each
    axis three kinds of places before are tried: the tile's own, the first one, and any other. The least of these times
    bounds the tile. In every row one tile at least is not entered from its row, in every column one not from its
    column, and that of the first tile of all finds nothing. In the row of the first tile of all, that tile is not
    entered from its row: so what its start takes beyond other such entries comes on top.

    Stops where a bound on some tiles comes to ``limit``.
    """
    i: cython.longlong = 0
    j: cython.longlong
    total: cython.double = 0.0
    settle(costs, w, h, k)
    orders.w = w
    orders.h = h
    orders.peak = 0.0
    while i < costs.rows:
        rows = _alike(orders, i, False)
        j = 0
        while j < costs.columns:
            columns = _alike(orders, j, True)
            first = min(_start(orders, i, j), _entered(orders, i, j, True, True))
            total += cython.cast(cython.double, rows * columns) * (first + later_steps(orders, i, j))
            if orders.peak > costs.capacity:
                return INF
            if total >= limit:
                return total
            j += columns
        i += rows
    return total + max(_turns(orders, False), _turns(orders, True))


def floor(orders: Orders, w: cython.longlong, h: cython.longlong, k: cython.longlong) -> float:
    """Return the bound on all orders at one granularity."""
    return float(chance_floor(orders, orders.costs, w, h, k, INF))
