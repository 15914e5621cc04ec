"""The least latency of a subgraph in any order of its tiles, where slices of one tensor coincide by chance.

Along an axis some slices follow the tile, others the step: they are the same in a few steps, which depend on the place
of the tile. All steps of a tile but its first one take the same in every order; what the first one finds depends on
the tile before it, of which there are few kinds.
"""

from __future__ import annotations

import cython
from cython.cimports.shorthaul.tensor.cost_model.cost_constants import (
    BEGIN,
    COLUMNS,
    END,
    GROUP,
    ROWS,
    STEP,
    TILE,
)
from cython.cimports.shorthaul.tensor.cost_model.cost_kernels import Costs, settle
from cython.cimports.shorthaul.tensor.cost_model.order_kernels import Orders, enter, forget, later_steps, step_time

INF = cython.declare(cython.double, float("inf"))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _same_parts(costs: Costs, group: cython.longlong, tile: cython.longlong, tiles: cython.longlong) -> cython.bint:
    """True if a part of a reduction and the extent of a tile can be the same: equal lengths, or equal last ones."""
    if tile == costs.k:
        return True
    return (tiles - 1) * tile == (costs.steps_of[group] - 1) * costs.k


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _may_be_same(
    costs: Costs,
    one: cython.const_longlong[:, ::1],
    tile: cython.Py_ssize_t,
    step: cython.Py_ssize_t,
) -> cython.bint:
    """True if a slice that follows the tile along an axis may be one that follows the step there, in some step."""
    group: cython.longlong = one[GROUP, step]
    if one[COLUMNS, tile] == TILE and one[COLUMNS, step] == STEP:
        if _same_parts(costs, group, costs.wide[0], costs.columns):
            return True
    if one[ROWS, tile] == TILE and one[ROWS, step] == STEP:
        return _same_parts(costs, group, costs.tall[0], costs.rows)
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def may_coincide(costs: Costs) -> cython.bint:
    """True if slices of one tensor, or of what one operator computes, may coincide by chance in some step."""
    s: cython.Py_ssize_t
    other: cython.Py_ssize_t
    for s in range(costs.loads.shape[1]):
        for other in range(costs.loads[BEGIN, s], costs.loads[END, s]):
            if _may_be_same(costs, costs.loads, s, other):
                return True
    for s in range(costs.base.shape[0]):
        for other in range(costs.charges[BEGIN, s], costs.base.shape[0]):
            if costs.charges[BEGIN, other] == costs.charges[BEGIN, s] and _may_be_same(costs, costs.charges, s, other):
                return True
    return False


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
def _entered(orders: Orders, i: cython.longlong, j: cython.longlong) -> cython.double:
    """Return the least time of the first step of tile (i, j) after others."""
    old_i: cython.longlong
    old_j: cython.longlong
    least: cython.double = INF
    for a in range(3):
        old_i = i if a == 2 else _other(i, orders.costs.rows, a)
        for b in range(3):
            old_j = j if b == 2 else _other(j, orders.costs.columns, b)
            if old_i >= 0 and old_j >= 0 and (a != 2 or b != 2):
                least = min(least, enter(orders, old_i, old_j, i, j))
    return least


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
    """Return a quick bound on the latency of every order of the tiles at a granularity; infinite if it does not fit.

    Every tile is entered from one in its row, from one in its column, from another one, or first of all. The step
    before is then the last one of that tile, whose slices follow its row, its column, the last step, or nothing.
    Slices that follow the last step, or nothing, are the same whichever tile that is. One that follows its row covers
    what a first step asks for in three cases: that asks for the slice of its own row, and it is the same row; or for
    the first part of a reduction, or for all of it, which only the first row covers, as both begin at 0. So along each
    axis three kinds of places before are tried: the tile's own, the first one, and any other. The least of these times
    bounds the tile, as if any number of tiles could follow the best one.

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
            first = min(_start(orders, i, j), _entered(orders, i, j))
            total += cython.cast(cython.double, rows * columns) * (first + later_steps(orders, i, j))
            if orders.peak > costs.capacity:
                return INF
            if total >= limit:
                return total
            j += columns
        i += rows
    return total


def take(orders: Orders, w: cython.longlong, h: cython.longlong, k: cython.longlong) -> None:
    """Take a granularity."""
    settle(orders.costs, w, h, k)
    orders.w = w
    orders.h = h


def entered(
    orders: Orders, old_i: cython.longlong, old_j: cython.longlong, i: cython.longlong, j: cython.longlong
) -> float:
    """Return the time of the first step of tile (i, j) right after another tile, first of all if those are below 0."""
    return float(_start(orders, i, j) if old_i < 0 else enter(orders, old_i, old_j, i, j))


def later(orders: Orders) -> float:
    """Return the time of all steps of all tiles but the first ones."""
    i: cython.longlong = 0
    j: cython.longlong
    total: cython.double = 0.0
    while i < orders.costs.rows:
        j = 0
        while j < orders.costs.columns:
            total += cython.cast(cython.double, _alike(orders, i, False) * _alike(orders, j, True)) * later_steps(
                orders, i, j
            )
            j += _alike(orders, j, True)
        i += _alike(orders, i, False)
    return float(total)


def floor(orders: Orders, w: cython.longlong, h: cython.longlong, k: cython.longlong) -> float:
    """Return the quick bound on all orders at one granularity."""
    return float(chance_floor(orders, orders.costs, w, h, k, INF))
