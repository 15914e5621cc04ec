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
    HELD,
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
    later_step,
    peak_of,
    settle,
)
from cython.cimports.shorthaul.tensor.cost_model.order_kernels import Orders, any_order

INF = cython.declare(cython.double, float("inf"))
#: A box of tiles takes as long as so many granularities.
BOX = cython.declare(cython.longlong, 10)


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
    """The least latency of a profile over all steps up to the limit, and all orders.

    ``floor`` is the least bound on all orders among the granularities evaluated; those of which it is below ``limit``
    are ``kept``: width, height, step, bound, and how much less that is than the bound at this granularity.
    """

    costs: Costs
    orders: Orders
    is_mixed: cython.bint
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
        orders: Orders,
        limits: cython.const_longlong[::1],
        limit: cython.double,
    ) -> None:
        """``limits``: the longest step, left and right prologue."""
        self.costs = costs
        self.orders = orders
        self.is_mixed = orders.is_mixed
        self.k_most = limits[0]
        self.left_prologue, self.right_prologue = limits[1], limits[2]
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
    code: cython.longlong,
    extent: cython.double,
    tiles: cython.longlong,
    is_exact: cython.bint,
    shortest: cython.double,
    last: cython.double,
) -> cython.double:
    """Return the same in native tiles, each paid for whole unless the axis is charged as it is.

    ``shortest`` is the least length of all tiles but the last one, ``last`` that of the last one, in native tiles.
    """
    if is_exact:
        return _in_all(code, extent, tiles)
    if code == TILE:
        return max(ceil(extent), cython.cast(cython.double, tiles - 1) * ceil(shortest) + ceil(last))
    return cython.cast(cython.double, tiles) * ceil(extent)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _least_compute(costs: Costs, w: cython.longlong, h: cython.longlong) -> cython.double:
    """Return the least time to compute of tiles at least so wide and high, and no larger than those that were set."""
    wide = cython.cast(cython.double, min(w, costs.width)) / costs.native_width
    high = cython.cast(cython.double, min(h, costs.height)) / costs.native_height
    last_wide = 1.0 / costs.native_width
    last_high = 1.0 / costs.native_height
    if costs.wide[0] <= w:
        last_wide = cython.cast(cython.double, costs.wide[1]) / costs.native_width
    if costs.tall[0] <= h:
        last_high = cython.cast(cython.double, costs.tall[1]) / costs.native_height
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
        time *= _native_in_all(by_row, rows / costs.native_height, costs.rows, exact == ROWS_EXACT, high, last_high)
        time *= _native_in_all(
            by_column, columns / costs.native_width, costs.columns, exact == COLUMNS_EXACT, wide, last_wide
        )
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

    What follows the tiles along one axis alone is ``down`` or ``across``: every tile loads its part of one or of the
    other. A product of both parts is no more than the lesser one times the largest part of either.
    """
    s: cython.Py_ssize_t
    first: cython.Py_ssize_t
    total: cython.double = cython.cast(cython.double, costs.height * costs.width * costs.stored)
    down: cython.double = 0.0
    across: cython.double = 0.0
    for first in range(costs.loads.shape[1]):
        if costs.loads[BEGIN, first] != first:
            continue
        end: cython.longlong = costs.loads[END, first]
        once = cython.cast(
            cython.double, costs.loads[HEIGHT, first] * costs.loads[WIDTH, first] * costs.loads[NUMBER, first]
        )
        most: cython.double = once
        if end - first == 1 and costs.l_er[first] == TILE and costs.l_ec[first] == FULL:
            down += once
            continue
        if end - first == 1 and costs.l_er[first] == FULL and costs.l_ec[first] == TILE:
            across += once
            continue
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
    rows = cython.cast(cython.double, costs.height) / cython.cast(cython.double, costs.tall[0])
    columns = cython.cast(cython.double, costs.width) / cython.cast(cython.double, costs.wide[0])
    return total + max(down + across, min(down * columns, across * rows))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _least_held(costs: Costs, w: cython.longlong, h: cython.longlong, k: cython.longlong) -> cython.double:
    """Return what all tiles and steps no smaller than these hold at least: in a first step, or in a last one.

    Of the slices of a tensor the largest, as others may be the same there. A last step may be short; the longest
    reduction goes on until then.
    """
    s: cython.Py_ssize_t
    first: cython.longlong = 0
    last: cython.longlong = 0
    in_first: cython.longlong = 0
    in_last: cython.longlong = 0
    longest: cython.longlong = 0
    for s in range(costs.reductions.shape[0]):
        longest = max(longest, costs.reductions[s])
    h, w = min(h, costs.height), min(w, costs.width)
    for s in range(costs.loads.shape[1]):
        if costs.loads[BEGIN, s] == s:
            first += in_first
            last += in_last
            in_first = in_last = 0
        if costs.loads[HELD, s]:
            continue
        group = costs.loads[GROUP, s]
        length: cython.longlong = 0 if group == LAST else costs.reductions[group]
        rows = costs.loads[HEIGHT, s]
        columns = costs.loads[WIDTH, s]
        if costs.loads[ROWS, s] == TILE:
            rows = h
        if costs.loads[COLUMNS, s] == TILE:
            columns = w
        size = costs.loads[NUMBER, s]
        shortest = size
        if costs.loads[ROWS, s] == STEP:
            size *= min(k, length)
        else:
            size *= rows
            shortest *= rows
        if costs.loads[COLUMNS, s] == STEP:
            size *= min(k, length)
        else:
            size *= columns
            shortest *= columns
        if group != LAST:
            in_first = max(in_first, size)
        if length == 0 or length == longest:
            in_last = max(in_last, shortest)
    most = max(first + in_first, last + in_last) + h * w * costs.stored + costs.held
    return cython.cast(cython.double, most)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _most_depth(work: Exhaustion, w: cython.longlong, h: cython.longlong, low: cython.longlong) -> cython.longlong:
    """Return the longest step that may fit with tiles of this size, or larger ones; ``low`` if none above it does."""
    high = work.k_most
    while low < high:
        middle = (low + high + 1) // 2
        if _least_held(work.costs, w, h, middle) > work.costs.capacity:
            high = middle - 1
        else:
            low = middle
    return low


def bound_boxes(work: Exhaustion, boxes: cython.const_longlong[:, ::1], values: cython.double[::1]) -> None:
    """Write a lower bound on the latency for each box of tiles, infinite where nothing fits.

    A box is its first and last width, and its first and last height.
    """
    i: cython.Py_ssize_t
    costs: Costs = work.costs
    with cython.nogil:
        for i in range(boxes.shape[0]):
            work.done += BOX
            values[i] = INF
            k = _least_depth(work, costs, boxes[i, 1], boxes[i, 3])
            if k > work.k_most or _least_held(costs, boxes[i, 0], boxes[i, 2], k) > costs.capacity:
                continue
            settle(costs, boxes[i, 1], boxes[i, 3], _most_depth(work, boxes[i, 0], boxes[i, 2], k))
            values[i] = max(_least_compute(costs, boxes[i, 0], boxes[i, 2]), _least_traffic(costs) / costs.bandwidth)


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
    pairs: cython.const_longlong[:, ::1],
    values: cython.const_double[::1],
    most: cython.longlong,
) -> int:
    """Evaluate all granularities of pairs of width and height, whose bounds are ``values``.

    Returns the number of pairs looked at once ``most`` granularities are evaluated, all of them when nothing is left.
    """
    place: cython.Py_ssize_t = 0
    done: cython.longlong = 0
    is_fitting: cython.bint
    costs: Costs = work.costs
    work.kept = np.empty((most + work.k_most, 5))
    work.number = 0
    with cython.nogil:
        while place < pairs.shape[0] and done < most:
            w, h = pairs[place, 0], pairs[place, 1]
            least = _least_depth(work, costs, w, h)
            k = max(_most_depth(work, w, h, least), work.even)
            while k >= least:
                settle(costs, w, h, k)
                done += 1
                if work.is_mixed and may_coincide(costs):
                    followed = work.orders.followed
                    floor = chance_floor(work.orders, costs, w, h, k, work.limit)
                    _keep(work, w, h, k, max(values[place], floor), 0.0)
                    done += work.orders.followed - followed
                else:
                    is_fitting = peak_of(costs) <= costs.capacity
                    if is_fitting or k == work.even:
                        evaluate(costs)
                        floor = any_order(costs)
                        if k == work.even:
                            less = _straddled(costs)
                            if floor - less >= work.limit or (is_fitting and costs.reductions.shape[0] == 1):
                                _keep(work, w, h, k, max(values[place], floor - less), less)
                                break
                        if is_fitting:
                            _keep(work, w, h, k, max(values[place], floor), 0.0)
                k -= 1
            place += 1
        work.done += done
    return int(place)


def kept(work: Exhaustion) -> cython.double[:, ::1]:
    """Return what the last call of :func:`exhaust` kept."""
    return work.kept[: work.number]
