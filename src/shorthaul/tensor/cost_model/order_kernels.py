"""The latency of a subgraph in one order of its tiles, exactly as the replay finds it, and a bound on that of all.

Where no slices coincide by chance the classes of tiles say it. Otherwise every tile is followed: its slices are
compared by the rows and columns they cover, in each step at which something changes.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.tensor.cost_model.cost_constants import (
    ALONG_COLUMN,
    ALONG_ROW,
    BEGIN,
    COLUMNS,
    END,
    GROUP,
    HEIGHT,
    HELD,
    JUMP,
    NUMBER,
    ROWS,
    START,
    STEP,
    TILE,
    WIDTH,
)
from cython.cimports.shorthaul.tensor.cost_model.cost_kernels import (
    Costs,
    asked,
    charge,
    evaluate,
    peak_of,
    same_reduction,
    settle,
)

INF = cython.declare(cython.double, float("inf"))
#: No slice: not asked for.
ABSENT = cython.declare(cython.longlong, -1)
#: Lines, and tiles within a line, are visited ascending, descending, or with the last one second.
DESCENDING = cython.declare(cython.longlong, 1)
INNER = cython.declare(cython.longlong, 2)


@cython.final
@cython.cclass
class Orders:
    """The tiles of one granularity. An extent is a number made of its begin and its end, to compare it at once."""

    def __init__(self, costs: Costs, mixed_rows: cython.bint, mixed_columns: cython.bint) -> None:
        self.costs = costs
        self.mixed_rows, self.mixed_columns = mixed_rows, mixed_columns
        self.is_mixed = mixed_rows or mixed_columns
        self.w = self.h = 0
        self.peak = 0.0
        self.followed = 0
        self.rows_now = np.zeros(costs.loads.shape[1], np.int64)
        self.columns_now = np.zeros(costs.loads.shape[1], np.int64)
        self.rows_before = np.zeros(costs.loads.shape[1], np.int64)
        self.columns_before = np.zeros(costs.loads.shape[1], np.int64)
        self.rows_made = np.zeros(costs.base.shape[0], np.int64)
        self.columns_made = np.zeros(costs.base.shape[0], np.int64)
        self.times = np.zeros(costs.base.shape[0])
        self.rest = np.empty(0)
        self.first = np.empty(0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _extent(
    code: cython.longlong,
    length: cython.longlong,
    begin: cython.longlong,
    tile: cython.longlong,
    part: cython.longlong,
    deep: cython.longlong,
) -> cython.longlong:
    """Return an extent: of a tile that begins at ``begin``, of a step that begins at ``part``, or all of it."""
    if code == TILE:
        return begin << 31 | min(begin + tile, length)
    if code == STEP:
        return part << 31 | min(part + deep, length)
    return length


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _long(extent: cython.longlong) -> cython.longlong:
    return (extent & 0x7FFFFFFF) - (extent >> 31)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _ask(orders: Orders, i: cython.longlong, j: cython.longlong, step: cython.longlong) -> cython.void:
    """Note what a step of tile (i, j) asks for; what was noted last becomes what was there before."""
    for s in range(orders.costs.loads.shape[1]):
        orders.rows_before[s] = orders.rows_now[s]
        orders.columns_before[s] = orders.columns_now[s]
        if asked(orders.costs, orders.costs.loads[GROUP, s], step):
            orders.rows_now[s] = _extent(
                orders.costs.loads[ROWS, s],
                orders.costs.loads[HEIGHT, s],
                i * orders.h,
                orders.h,
                step * orders.costs.k,
                orders.costs.k,
            )
            orders.columns_now[s] = _extent(
                orders.costs.loads[COLUMNS, s],
                orders.costs.loads[WIDTH, s],
                j * orders.w,
                orders.w,
                step * orders.costs.k,
                orders.costs.k,
            )
        else:
            orders.rows_now[s] = ABSENT


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def forget(orders: Orders) -> cython.void:
    """Nothing was there before."""
    for s in range(orders.rows_now.shape[0]):
        orders.rows_now[s] = ABSENT


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_there(orders: Orders, s: cython.Py_ssize_t) -> cython.bint:
    """True if the step before used this slice, or the whole tensor."""
    for other in range(orders.costs.loads[BEGIN, s], orders.costs.loads[END, s]):
        if orders.rows_before[other] == ABSENT:
            continue
        if orders.rows_before[other] == orders.rows_now[s] and orders.columns_before[other] == orders.columns_now[s]:
            return True
        if (
            orders.rows_before[other] == orders.costs.loads[HEIGHT, s]
            and orders.columns_before[other] == orders.costs.loads[WIDTH, s]
        ):
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_another(orders: Orders, s: cython.Py_ssize_t) -> cython.bint:
    """True if an earlier slice of the same step is the same."""
    for other in range(orders.costs.loads[BEGIN, s], s):
        if orders.rows_now[other] == orders.rows_now[s] and orders.columns_now[other] == orders.columns_now[s]:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compute(
    orders: Orders,
    i: cython.longlong,
    j: cython.longlong,
    tall: cython.longlong,
    wide: cython.longlong,
    step: cython.longlong,
) -> cython.double:
    total: cython.double = 0.0
    earlier: cython.Py_ssize_t
    deep: cython.longlong = orders.costs.k
    for c in range(orders.costs.base.shape[0]):
        orders.times[c] = charge(orders.costs, c, tall, wide, step)
        orders.rows_made[c] = _extent(
            orders.costs.charges[ROWS, c], orders.costs.charges[HEIGHT, c], i * orders.h, orders.h, step * deep, deep
        )
        orders.columns_made[c] = _extent(
            orders.costs.charges[COLUMNS, c], orders.costs.charges[WIDTH, c], j * orders.w, orders.w, step * deep, deep
        )
        for earlier in range(orders.costs.charges[BEGIN, c], c):
            if (
                orders.times[c] > 0
                and orders.times[earlier] > 0
                and orders.rows_made[c] == orders.rows_made[earlier]
                and orders.columns_made[c] == orders.columns_made[earlier]
                and same_reduction(orders.costs, c, earlier)
            ):
                orders.times[earlier] = max(orders.times[earlier], orders.times[c])
                orders.times[c] = 0.0
    for c in range(orders.costs.base.shape[0]):
        total += orders.times[c]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def step_time(orders: Orders, i: cython.longlong, j: cython.longlong, step: cython.longlong) -> cython.double:
    """Return the time of a step of tile (i, j), after what was noted last."""
    tall: cython.longlong = orders.costs.tall[1 if i == orders.costs.rows - 1 else 0]
    wide: cython.longlong = orders.costs.wide[1 if j == orders.costs.columns - 1 else 0]
    stored: cython.longlong = tall * wide * orders.costs.stored
    traffic: cython.longlong = stored if step == orders.costs.steps - 1 else 0
    taken: cython.longlong = stored + orders.costs.held
    orders.followed += 1
    _ask(orders, i, j, step)
    for s in range(orders.costs.loads.shape[1]):
        if orders.rows_now[s] == ABSENT or _is_another(orders, s):
            continue
        size = _long(orders.rows_now[s]) * _long(orders.columns_now[s]) * orders.costs.loads[NUMBER, s]
        if not orders.costs.loads[HELD, s]:
            taken += size
        if not _is_there(orders, s):
            traffic += size
    orders.peak = max(orders.peak, cython.cast(cython.double, taken))
    return max(_compute(orders, i, j, tall, wide, step), cython.cast(cython.double, traffic) / orders.costs.bandwidth)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _next(orders: Orders, i: cython.longlong, j: cython.longlong, step: cython.longlong) -> cython.longlong:
    """Return the next step of tile (i, j) that differs from ``step``."""
    following: cython.longlong = orders.costs.steps
    for b in range(orders.costs.borders.shape[0]):
        if orders.costs.borders[b] > step:
            following = min(following, orders.costs.borders[b])
    for axis in range(2):
        if orders.mixed_rows if axis == 0 else orders.mixed_columns:
            same = (
                i * orders.h if axis == 0 else j * orders.w
            ) // orders.costs.k  # the step that may cover what the tile does
            for after in range(3):
                if same + after > step:
                    following = min(following, same + after)
    return following


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def later_steps(orders: Orders, i: cython.longlong, j: cython.longlong) -> cython.double:
    """Return the time of all steps of tile (i, j) but the first."""
    step: cython.longlong = 1
    total: cython.double = 0.0
    while step < orders.costs.steps:
        following = _next(orders, i, j, step)
        _ask(orders, i, j, step - 1)
        total += cython.cast(cython.double, following - step) * step_time(orders, i, j, step)
        step = following
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rest(orders: Orders, i: cython.longlong, j: cython.longlong) -> cython.double:
    """Return the same, worked out once."""
    kind: cython.Py_ssize_t = _kind(orders, i, j)
    if orders.rest[kind] < 0:
        orders.rest[kind] = later_steps(orders, i, j)
    return orders.rest[kind]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _kind(orders: Orders, i: cython.longlong, j: cython.longlong) -> cython.longlong:
    """Return the number of all tiles that are as this one is, but for the one before them."""
    row: cython.longlong = i if orders.mixed_rows else (1 if i == orders.costs.rows - 1 else 0)
    column: cython.longlong = j if orders.mixed_columns else (1 if j == orders.costs.columns - 1 else 0)
    return row * (orders.costs.columns if orders.mixed_columns else 2) + column


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enter(
    orders: Orders, old_i: cython.longlong, old_j: cython.longlong, i: cython.longlong, j: cython.longlong
) -> cython.double:
    """Return the time of the first step of tile (i, j) right after another tile."""
    _ask(orders, old_i, old_j, orders.costs.steps - 1)
    return step_time(orders, i, j, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _first(
    orders: Orders, old_i: cython.longlong, old_j: cython.longlong, i: cython.longlong, j: cython.longlong
) -> cython.double:
    """Return the same, worked out once for each side that tiles are entered from."""
    side: cython.longlong = -1  # of a neighbour
    if old_i == i and abs(old_j - j) == 1:
        side = 0 if old_j < j else 1
    elif old_j == j and abs(old_i - i) == 1:
        side = 2 if old_i < i else 3
    at: cython.Py_ssize_t = 4 * _kind(orders, i, j) + side
    if side >= 0 and orders.first[at] >= 0:
        return orders.first[at]
    time: cython.double = enter(orders, old_i, old_j, i, j)
    if side >= 0:
        orders.first[at] = time
    return time


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _entered(
    orders: Orders, old_i: cython.longlong, old_j: cython.longlong, i: cython.longlong, j: cython.longlong
) -> cython.double:
    """Return the time of tile (i, j) after tile (old_i, old_j), first of all if those are below 0."""
    c: cython.Py_ssize_t = (2 if i == orders.costs.rows - 1 else 0) + (1 if j == orders.costs.columns - 1 else 0)
    move: cython.Py_ssize_t = JUMP
    if orders.is_mixed:
        if old_i >= 0:
            return _first(orders, old_i, old_j, i, j) + _rest(orders, i, j)
        forget(orders)
        return step_time(orders, i, j, 0) + _rest(orders, i, j)
    if old_i < 0:
        move = START
    elif old_j == j:
        move = ALONG_COLUMN
    elif old_i == i:
        move = ALONG_ROW
    return orders.costs.first[4 * move + c] + orders.costs.rest[c]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _place(kind: cython.longlong, number: cython.longlong, length: cython.longlong) -> cython.longlong:
    if kind == DESCENDING:
        return length - 1 - number
    if kind == INNER and length > 2 and number > 0:
        return length - 1 if number == 1 else number - 1
    return number


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _total(
    orders: Orders, by_columns: cython.bint, turns: cython.bint, lines: cython.longlong, within: cython.longlong
) -> cython.double:
    count: cython.longlong = orders.costs.columns if by_columns else orders.costs.rows
    length: cython.longlong = orders.costs.rows if by_columns else orders.costs.columns
    old_i: cython.longlong = -1
    old_j: cython.longlong = -1
    total: cython.double = 0.0
    for line in range(count):
        for number in range(length):
            along = _place(within, length - 1 - number if turns and line % 2 == 1 else number, length)
            across = _place(lines, line, count)
            i = along if by_columns else across
            j = across if by_columns else along
            total += _entered(orders, old_i, old_j, i, j)
            old_i = i
            old_j = j
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _listed(orders: Orders, order: cython.const_longlong[::1], is_flushed: cython.bint) -> cython.double:
    columns: cython.longlong = orders.costs.columns
    total: cython.double = 0.0
    old: cython.longlong = -1
    tile: cython.longlong
    for number in range(orders.costs.rows * columns):
        tile = order[number] if order.shape[0] > 0 else number
        if old < 0 or is_flushed:
            total += _entered(orders, -1, -1, tile // columns, tile % columns)
        else:
            total += _entered(orders, old // columns, old % columns, tile // columns, tile % columns)
        old = tile
    return total


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


def set_size(orders: Orders, w: cython.longlong, h: cython.longlong, k: cython.longlong) -> None:
    """Take a granularity."""
    costs: Costs = orders.costs
    orders.w, orders.h = w, h
    settle(costs, w, h, k)
    orders.peak = 0.0
    if orders.is_mixed:
        rows, columns = costs.rows if orders.mixed_rows else 2, costs.columns if orders.mixed_columns else 2
        orders.rest = np.full(rows * columns, -1.0)
        orders.first = np.full(4 * rows * columns, -1.0)
    else:
        evaluate(costs)
        orders.peak = peak_of(costs)


def walk(orders: Orders, by_columns: bool, turns: bool, lines: int, within: int) -> float:
    """Return the latency of lines of tiles, visited one after the other, to and fro where it ``turns``."""
    return float(_total(orders, by_columns, turns, lines, within))


def follow(orders: Orders, order: cython.const_longlong[::1]) -> float:
    """Return the latency of any order, row by row where it is empty."""
    return float(_listed(orders, order, False))


def isolated(orders: Orders) -> float:
    """Return the latency where fast memory is flushed between tiles."""
    costs: Costs = orders.costs
    if orders.is_mixed:
        return float(_listed(orders, np.empty(0, np.int64), True))
    total: cython.double = 0.0
    for c in range(4):
        total += costs.count[c] * (costs.first[4 * START + c] + costs.rest[c])
    return float(total)


def floor(costs: Costs, w: cython.longlong, h: cython.longlong, k: cython.longlong) -> float:
    """Return the bound on all orders at one granularity, for a profile of which no slices coincide by chance."""
    settle(costs, w, h, k)
    evaluate(costs)
    return float(any_order(costs))
