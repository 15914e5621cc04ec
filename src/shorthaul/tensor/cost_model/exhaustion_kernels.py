"""The least latency of a subgraph over all granularities and orders, by exhaustion."""

from __future__ import annotations

import math

import cython
import numpy as np
from cython.cimports.libc.math import ceil
from cython.cimports.shorthaul.tensor.cost_model.chance_kernels import chance_floor, may_coincide
from cython.cimports.shorthaul.tensor.cost_model.cost_constants import (
    BEGIN,
    COLUMNS,
    COLUMNS_EXACT,
    END,
    EXACT,
    FULL,
    GROUP,
    HEIGHT,
    LAST,
    NUMBER,
    REDUCTION,
    ROWS,
    ROWS_EXACT,
    STEP,
    TILE,
    WIDTH,
)
from cython.cimports.shorthaul.tensor.cost_model.cost_kernels import (
    Costs,
    evaluate,
    first_held,
    later_step,
    peak_of,
    settle,
)
from cython.cimports.shorthaul.tensor.cost_model.order_kernels import Orders
from cython.cimports.shorthaul.tensor.cost_model.price_kernels import any_order

INF = cython.declare(cython.double, float("inf"))
#: Widths, and heights, that are bounded together first.
BLOCK = cython.declare(cython.longlong, 8)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _covers_steps(costs: Costs) -> cython.bint:
    """True if some slices of a tensor follow the step and others do not: these may be all of it, which is kept."""
    s: cython.Py_ssize_t
    other: cython.Py_ssize_t
    for s in range(costs.loads.shape[1]):
        if costs.loads[ROWS, s] != STEP and costs.loads[COLUMNS, s] != STEP:
            for other in range(costs.loads[BEGIN, s], costs.loads[END, s]):
                if costs.loads[ROWS, other] == STEP or costs.loads[COLUMNS, other] == STEP:
                    return True
    return False


@cython.final
@cython.cclass
class Exhaustion:
    """The least latency of a profile over all granularities up to the limits, and all orders.

    ``floor`` is the least bound on all orders among the granularities evaluated; those of which it is below ``limit``
    are ``kept``: width, height, step, bound, and how much less that is than the bound at this granularity.
    """

    costs: Costs
    fitting: Costs  # with so many slices that may coincide by chance that none does; the same where there are none
    orders: Orders
    is_mixed: cython.bint
    w_most: cython.longlong
    h_most: cython.longlong
    k_most: cython.longlong
    left_prologue: cython.longlong  # reductions whose operand is made inside, 0 where no rule says so
    right_prologue: cython.longlong
    even: cython.longlong  # the longest step that cuts all reductions evenly, 0 where that says nothing of shorter ones
    limit: cython.double
    floor = cython.declare(cython.double, visibility="readonly")
    number = cython.declare(cython.longlong, visibility="readonly")  # of those kept by the last call
    kept: cython.double[:, ::1]
    done = cython.declare(cython.longlong, visibility="public")  # granularities, tiles, and steps looked at so far

    def __init__(
        self,
        costs: Costs,
        fitting: Costs,
        orders: Orders,
        limits: cython.const_longlong[::1],
        limit: cython.double,
    ) -> None:
        """``limits``: the largest w, h and k, the longest left and right prologue."""
        self.costs = costs
        self.fitting = fitting
        self.orders = orders
        self.is_mixed = orders.is_mixed
        self.w_most, self.h_most, self.k_most = limits[0], limits[1], limits[2]
        self.left_prologue, self.right_prologue = limits[3], limits[4]
        self.even = 0
        if costs.reductions.shape[0] > 0 and not orders.is_mixed and not _covers_steps(costs):
            common = math.gcd(*(int(length) for length in costs.reductions))
            most = min(self.k_most, int(costs.native_width), int(costs.native_height))
            self.even = max(k for k in range(1, most + 1) if common % k == 0)
        self.limit = limit
        self.floor = float("inf")
        self.kept = np.empty((0, 5))
        self.number = self.done = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _least_depth(work: Exhaustion, costs: Costs, w: cython.longlong, h: cython.longlong) -> cython.longlong:
    """Return the smallest ``k`` that the rule on prologues allows."""
    least: cython.longlong = 1
    if work.left_prologue > costs.native_width or w < min(costs.width, work.left_prologue):
        least = max(least, work.left_prologue)
    if work.right_prologue > costs.native_height or h < min(costs.height, work.right_prologue):
        least = max(least, work.right_prologue)
    return least


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _divided(costs: Costs, s: cython.Py_ssize_t) -> cython.bint:
    """True if the steps of a tile ask for one part of this slice after the other."""
    if costs.loads[GROUP, s] == LAST or costs.steps_of[costs.loads[GROUP, s]] == 1:
        return False
    return costs.loads[ROWS, s] == STEP or costs.loads[COLUMNS, s] == STEP


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _in_all(code: cython.longlong, extent: cython.double, tiles: cython.longlong) -> cython.double:
    """Return how far a slice extends along an axis in all tiles, which together extend so far if it follows them."""
    return extent if code == TILE else extent * cython.cast(cython.double, tiles)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _native_in_all(
    code: cython.longlong, extent: cython.double, tiles: cython.longlong, is_exact: cython.bint
) -> cython.double:
    """Return the same in native tiles, each paid for whole unless the axis is charged as it is."""
    if is_exact:
        return _in_all(code, extent, tiles)
    if code == TILE:
        return max(cython.cast(cython.double, tiles), ceil(extent))
    return cython.cast(cython.double, tiles) * ceil(extent)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _least_compute(costs: Costs) -> cython.double:
    """Return the least time that all tiles no larger than those that were set take to compute."""
    c: cython.Py_ssize_t
    total: cython.double = 0.0
    most: cython.double = 0.0
    for c in range(costs.base.shape[0]):
        group = costs.charges[GROUP, c]
        by_row = costs.charges[ROWS, c]
        by_column = costs.charges[COLUMNS, c]
        rows = cython.cast(cython.double, costs.reductions[group] if by_row == STEP else costs.charges[HEIGHT, c])
        columns = cython.cast(cython.double, costs.reductions[group] if by_column == STEP else costs.charges[WIDTH, c])
        exact = costs.charges[EXACT, c]
        time = costs.base[c]
        time *= _native_in_all(by_row, rows / costs.native_height, costs.rows, exact == ROWS_EXACT)
        time *= _native_in_all(by_column, columns / costs.native_width, costs.columns, exact == COLUMNS_EXACT)
        if group >= 0 and costs.charges[REDUCTION, c] != STEP and by_row != STEP and by_column != STEP:
            time *= cython.cast(cython.double, costs.steps_of[group])
        if costs.charges[BEGIN, c] == c:  # of an operator with several charges, the dearest
            total += most
            most = 0.0
        most = max(most, time)
    return total + most


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _least_traffic(costs: Costs) -> cython.double:
    """Return the fewest elements that all tiles no larger than those that were set load and store.

    Every tensor is loaded once; in every tile the parts of a reduction that pass by in several steps. Of the slices of
    a tensor only the largest counts, and none where one of them is the whole tensor. Where others coincide with it by
    chance, two parts of it may be there already, each as long as the tile.
    """
    s: cython.Py_ssize_t
    first: cython.Py_ssize_t
    total: cython.double = cython.cast(cython.double, costs.height * costs.width * costs.stored)
    for first in range(costs.loads.shape[1]):
        if costs.loads[BEGIN, first] != first:
            continue
        end: cython.longlong = costs.loads[END, first]
        once = cython.cast(
            cython.double, costs.loads[HEIGHT, first] * costs.loads[WIDTH, first] * costs.loads[NUMBER, first]
        )
        most: cython.double = once
        for s in range(first, end):
            if costs.l_er[s] == FULL and costs.l_ec[s] == FULL:
                most = once
                break
            if not _divided(costs, s):
                continue
            rows = _in_all(costs.loads[ROWS, s], cython.cast(cython.double, costs.loads[HEIGHT, s]), costs.rows)
            columns = _in_all(costs.loads[COLUMNS, s], cython.cast(cython.double, costs.loads[WIDTH, s]), costs.columns)
            size = rows * columns * costs.loads[NUMBER, s]
            if end - first > 1:
                if costs.loads[ROWS, s] == STEP:
                    size -= 2.0 * costs.height * columns
                else:
                    size -= 2.0 * rows * costs.width
            most = max(most, size)
        total += most
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _outline(costs: Costs) -> cython.double:
    """Return a lower bound on the latency at all tiles no larger than those that were set."""
    return max(_least_compute(costs), _least_traffic(costs) / costs.bandwidth)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _most_depth(
    work: Exhaustion, fitting: Costs, w: cython.longlong, h: cython.longlong, low: cython.longlong
) -> cython.longlong:
    """Return the longest step that may fit, ``low`` if none above it does: longer ones hold no less in a first step.

    They may in others, as the last step of a tile, in which more is loaded, is shorter or longer.
    """
    high = work.k_most
    while low < high:
        middle = (low + high + 1) // 2
        settle(fitting, w, h, middle)
        if first_held(fitting) > fitting.capacity:
            high = middle - 1
        else:
            low = middle
    return low


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _outline_block(
    work: Exhaustion,
    costs: Costs,
    fitting: Costs,
    left: cython.longlong,
    top: cython.longlong,
    limit: cython.double,
    values: cython.double[:, ::1],
) -> cython.void:
    """Write the bounds of a block of tiles, wider than ``left`` and higher than ``top``."""
    right = min(left + BLOCK, work.w_most)
    bottom = min(top + BLOCK, work.h_most)
    settle(costs, right, bottom, work.k_most)
    least = _outline(costs)
    work.done += 1
    w: cython.longlong
    h: cython.longlong
    for w in range(left + 1, right + 1):
        for h in range(top + 1, bottom + 1):
            values[w - 1, h - 1] = least
            if least >= limit:
                continue
            work.done += 1
            values[w - 1, h - 1] = INF
            k = _least_depth(work, costs, w, h)
            if k > work.k_most:
                continue
            settle(fitting, w, h, k)
            if peak_of(fitting) > fitting.capacity:
                continue
            settle(costs, w, h, _most_depth(work, fitting, w, h, k))
            values[w - 1, h - 1] = _outline(costs)


def outlines(work: Exhaustion, limit: cython.double, values: cython.double[:, ::1]) -> None:
    """Write a lower bound on the latency for each width and height of a tile (from 1), infinite where nothing fits.

    Tiles that take ``limit`` at least may get one bound together.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    with cython.nogil:
        for i in range((work.w_most + BLOCK - 1) // BLOCK):
            for j in range((work.h_most + BLOCK - 1) // BLOCK):
                _outline_block(work, work.costs, work.fitting, i * BLOCK, j * BLOCK, limit, values)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _straddled(costs: Costs) -> cython.double:
    """Return what shorter steps may save against the ones that were set, which cut all reductions evenly.

    Take a tile, any order, and both ways to cut it into steps. A part of a step has its part at least of what a whole
    one computes and loads, as what is the same in every step is paid more often. So as long as sinks go on together
    shorter steps take no less; nor do a first and a last one, with what only they load, store or compute: being shorter
    they hide less of it. Only in a step in which some sinks end may others compute what waited, or wait while those
    compute: no more than all that others do there is hidden, and that is less than a whole step of theirs.
    """
    c: cython.Py_ssize_t
    group: cython.Py_ssize_t
    total: cython.double = 0.0
    for group in range(costs.reductions.shape[0]):
        if costs.steps_of[group] < costs.steps:
            for c in range(4):
                if costs.count[c] > 0:
                    total += costs.count[c] * later_step(costs, c, costs.steps_of[group])
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _keep(
    work: Exhaustion,
    w: cython.longlong,
    h: cython.longlong,
    k: cython.longlong,
    floor: cython.double,
    less: cython.double,
) -> cython.void:
    """Take note of a bound on all orders at a granularity, or at no longer steps."""
    work.floor = min(work.floor, floor)
    if floor < work.limit:
        work.kept[work.number, 0] = cython.cast(cython.double, w)
        work.kept[work.number, 1] = cython.cast(cython.double, h)
        work.kept[work.number, 2] = cython.cast(cython.double, k)
        work.kept[work.number, 3] = floor
        work.kept[work.number, 4] = less
        work.number += 1


def exhaust(
    work: Exhaustion,
    pairs: cython.const_longlong[::1],
    values: cython.const_double[::1],
    first: cython.longlong,
    most: cython.longlong,
) -> int:
    """Evaluate granularities, pairs of width and height by ascending bound, until none can be below the limit.

    A pair is its place in ``values``, as :func:`outlines` writes them. Returns the number of pairs looked at once
    ``most`` granularities are evaluated, all of them when nothing is left.
    """
    place: cython.Py_ssize_t
    done: cython.longlong = 0
    is_fitting: cython.bint
    costs: Costs = work.costs
    work.kept = np.empty((most + work.k_most, 5))
    work.number = 0
    with cython.nogil:
        place = first
        while place < pairs.shape[0] and done < most:
            if values[pairs[place]] >= work.limit:
                place = pairs.shape[0]
                break
            w = pairs[place] // work.h_most + 1
            h = pairs[place] % work.h_most + 1
            least = _least_depth(work, costs, w, h)
            k = max(_most_depth(work, work.fitting, w, h, least), work.even)
            while k >= least:
                settle(costs, w, h, k)
                done += 1
                if work.is_mixed and may_coincide(costs):
                    followed = work.orders.followed
                    floor = chance_floor(work.orders, costs, w, h, k, work.limit)
                    _keep(work, w, h, k, max(values[pairs[place]], floor), 0.0)
                    done += work.orders.followed - followed
                else:
                    is_fitting = peak_of(costs) <= costs.capacity
                    if is_fitting or k == work.even:
                        evaluate(costs)
                        floor = any_order(costs)
                        if k == work.even:
                            less = _straddled(costs)
                            if floor - less >= work.limit or (is_fitting and costs.reductions.shape[0] == 1):
                                _keep(work, w, h, k, floor - less, less)
                                break
                        if is_fitting:
                            _keep(work, w, h, k, floor, 0.0)
                k -= 1
            place += 1
        work.done += done
    return int(place)


def kept(work: Exhaustion) -> cython.double[:, ::1]:
    """Return what the last call of :func:`exhaust` kept."""
    return work.kept[: work.number]
