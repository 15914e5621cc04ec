"""The latency of a subgraph in closed form, and its least over all granularities and orders.

Most steps of a subgraph are alike. A tile is interior or at the lower or right edge (clipped); it is entered from
nowhere, from elsewhere, along its row or along its column; and its steps fall into few classes between the steps at
which a sink MatMul begins or ends. One step of each class is evaluated and counted as often as it occurs.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import ceil
from cython.cimports.shorthaul.tensor.cost_model.cost_constants import (
    ALONG_COLUMN,
    ALONG_ROW,
    BEGIN,
    COLUMNS,
    COLUMNS_EXACT,
    END,
    EXACT,
    FULL,
    GROUP,
    HEIGHT,
    HELD,
    JUMP,
    LAST,
    NO_REDUCTION,
    NUMBER,
    REDUCTION,
    ROWS,
    ROWS_EXACT,
    STEP,
    TILE,
    WIDTH,
)

INF = cython.declare(cython.double, float("inf"))


@cython.final
@cython.cclass
class Costs:
    """The costs of one profile: after :func:`evaluate`, those of one granularity.

    Slices and charges are columns of numbers; those of one tensor, or of one operator, follow one another, from
    ``begin`` on. ``first[4 m + 2 i + j]`` is the time of the first step of a tile entered by move ``m``, in an interior
    row (i = 0) or the last one (i = 1), an interior column (j = 0) or the last one (j = 1); ``rest[2 i + j]`` is the
    time of all its other steps; ``count[2 i + j]`` says how many such tiles there are.
    """

    def __init__(
        self,
        sizes: cython.const_longlong[::1],
        machine: cython.const_double[::1],
        reductions: cython.const_longlong[::1],
        loads: cython.const_longlong[:, ::1],
        charges: cython.const_longlong[:, ::1],
        base: cython.const_double[::1],
    ) -> None:
        """``sizes``: height, width, stored, held; ``machine``: capacity, bandwidth, native width and height."""
        self.height, self.width, self.stored, self.held = sizes[0], sizes[1], sizes[2], sizes[3]
        self.capacity, self.bandwidth = machine[0], machine[1]
        self.native_width, self.native_height = machine[2], machine[3]
        self.reductions = reductions
        self.loads = loads
        self.charges = charges
        self.base = base
        self.k = self.rows = self.columns = self.steps = 1
        self.tall = np.zeros(2, np.int64)
        self.wide = np.zeros(2, np.int64)
        self.steps_of = np.zeros(max(1, reductions.shape[0]), np.int64)
        self.borders = np.zeros(3 * reductions.shape[0] + 1, np.int64)
        self.count = np.zeros(4)
        self.first = np.zeros(16)
        self.rest = np.zeros(4)
        self.l_er = np.zeros(loads.shape[1], np.int64)
        self.l_ec = np.zeros(loads.shape[1], np.int64)
        self.c_er = np.zeros(charges.shape[1], np.int64)
        self.c_ec = np.zeros(charges.shape[1], np.int64)
        self.survives = np.zeros(loads.shape[1], np.int64)
        self.times = np.zeros(charges.shape[1])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _up(length: cython.longlong, part: cython.longlong) -> cython.longlong:
    return (length + part - 1) // part


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _code(costs: Costs, code: cython.longlong, group: cython.longlong, tiles: cython.longlong) -> cython.longlong:
    """Return what an axis follows, where that makes a difference."""
    if code == TILE and tiles == 1:
        return FULL
    if code == STEP and costs.steps_of[group] == 1:
        return FULL
    return code


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def asked(costs: Costs, group: cython.longlong, step: cython.longlong) -> cython.bint:
    """True if the sinks of ``group`` ask for something in ``step``."""
    if group == LAST:
        return step == costs.steps - 1
    return step < costs.steps_of[group]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def part_of(costs: Costs, group: cython.longlong, step: cython.longlong) -> cython.longlong:
    """Return how much of its reduction a sink of ``group`` does in ``step``."""
    return min(costs.k, costs.reductions[group] - step * costs.k)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def settle(costs: Costs, w: cython.longlong, h: cython.longlong, k: cython.longlong) -> cython.void:
    """Take a granularity."""
    groups: cython.Py_ssize_t = costs.reductions.shape[0]
    h = min(h, costs.height)
    w = min(w, costs.width)
    costs.k = k
    costs.rows = _up(costs.height, h)
    costs.columns = _up(costs.width, w)
    costs.tall[0] = h
    costs.tall[1] = costs.height - (costs.rows - 1) * h
    costs.wide[0] = w
    costs.wide[1] = costs.width - (costs.columns - 1) * w
    costs.steps = 1
    costs.borders[0] = 1
    for i in range(groups):
        costs.steps_of[i] = _up(costs.reductions[i], k)
        costs.steps = max(costs.steps, costs.steps_of[i])
    for i in range(groups):
        # What a group's last step leaves there may serve others in the step after it, but not in those that follow.
        costs.borders[3 * i + 1] = max(1, costs.steps_of[i] - 1)
        costs.borders[3 * i + 2] = costs.steps_of[i]
        costs.borders[3 * i + 3] = min(costs.steps_of[i] + 1, costs.steps)
    for i in range(1, 3 * groups + 1):  # ascending
        value = costs.borders[i]
        j = i
        while j > 0 and costs.borders[j - 1] > value:
            costs.borders[j] = costs.borders[j - 1]
            j -= 1
        costs.borders[j] = value
    costs.count[0] = cython.cast(cython.double, costs.rows - 1) * (costs.columns - 1)
    costs.count[1] = cython.cast(cython.double, costs.rows - 1)
    costs.count[2] = cython.cast(cython.double, costs.columns - 1)
    costs.count[3] = 1
    for i in range(costs.loads.shape[1]):
        costs.l_er[i] = _code(costs, costs.loads[ROWS, i], costs.loads[GROUP, i], costs.rows)
        costs.l_ec[i] = _code(costs, costs.loads[COLUMNS, i], costs.loads[GROUP, i], costs.columns)
    for i in range(costs.base.shape[0]):
        costs.c_er[i] = _code(costs, costs.charges[ROWS, i], costs.charges[GROUP, i], costs.rows)
        costs.c_ec[i] = _code(costs, costs.charges[COLUMNS, i], costs.charges[GROUP, i], costs.columns)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _size(
    costs: Costs, s: cython.Py_ssize_t, tall: cython.longlong, wide: cython.longlong, step: cython.longlong
) -> cython.longlong:
    """Return the elements of a slice in ``step``, 0 where nobody asks for it or another slice is the same."""
    other: cython.Py_ssize_t
    if not asked(costs, costs.loads[GROUP, s], step):
        return 0
    for other in range(costs.loads[BEGIN, s], s):
        if (
            costs.l_er[other] == costs.l_er[s]
            and costs.l_ec[other] == costs.l_ec[s]
            and asked(costs, costs.loads[GROUP, other], step)
        ):
            return 0
    rows = costs.loads[HEIGHT, s]
    columns = costs.loads[WIDTH, s]
    if costs.loads[ROWS, s] == TILE:
        rows = tall
    elif costs.loads[ROWS, s] == STEP:
        rows = part_of(costs, costs.loads[GROUP, s], step)
    if costs.loads[COLUMNS, s] == TILE:
        columns = wide
    elif costs.loads[COLUMNS, s] == STEP:
        columns = part_of(costs, costs.loads[GROUP, s], step)
    return rows * columns * costs.loads[NUMBER, s]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _slices(costs: Costs, tall: cython.longlong, wide: cython.longlong, step: cython.longlong) -> cython.longlong:
    """Return the elements that the input slices of ``step`` take in fast memory."""
    total: cython.longlong = 0
    for s in range(costs.loads.shape[1]):
        if not costs.loads[HELD, s]:
            total += _size(costs, s, tall, wide, step)
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def peak_of(costs: Costs) -> cython.double:
    """Return the largest working set: that of an interior tile, which is nowhere smaller than a clipped one."""
    tall: cython.longlong = costs.tall[0]
    wide: cython.longlong = costs.wide[0]
    most: cython.longlong = _slices(costs, tall, wide, 0)
    for i in range(costs.borders.shape[0] - 1):
        if costs.borders[i + 1] > costs.borders[i]:
            most = max(most, _slices(costs, tall, wide, costs.borders[i]))
    return cython.cast(cython.double, most + tall * wide * costs.stored + costs.held)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def charge(
    costs: Costs, c: cython.Py_ssize_t, tall: cython.longlong, wide: cython.longlong, step: cython.longlong
) -> cython.double:
    """Return the time that a charge takes in ``step``, 0 where nobody asks for it."""
    group: cython.longlong = costs.charges[GROUP, c]
    part: cython.longlong = 0
    if not asked(costs, group, step):
        return 0.0
    if group != LAST:
        part = part_of(costs, group, step)
    rows = cython.cast(cython.double, costs.charges[HEIGHT, c])
    columns = cython.cast(cython.double, costs.charges[WIDTH, c])
    if costs.charges[ROWS, c] == TILE:
        rows = cython.cast(cython.double, tall)
    elif costs.charges[ROWS, c] == STEP:
        rows = cython.cast(cython.double, part)
    if costs.charges[COLUMNS, c] == TILE:
        columns = cython.cast(cython.double, wide)
    elif costs.charges[COLUMNS, c] == STEP:
        columns = cython.cast(cython.double, part)
    rows = rows / costs.native_height
    columns = columns / costs.native_width
    if costs.charges[EXACT, c] != ROWS_EXACT:
        rows = ceil(rows)
    if costs.charges[EXACT, c] != COLUMNS_EXACT:
        columns = ceil(columns)
    time = costs.base[c] * rows * columns
    if costs.charges[REDUCTION, c] == STEP:
        time = time * (cython.cast(cython.double, part) / cython.cast(cython.double, costs.reductions[group]))
    return time


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def same_reduction(costs: Costs, one: cython.Py_ssize_t, other: cython.Py_ssize_t) -> cython.bint:
    """True if two charges of one operator cover the same part of its reduction."""
    step: cython.Py_ssize_t = one
    if costs.charges[REDUCTION, one] == costs.charges[REDUCTION, other]:
        return True
    if costs.charges[REDUCTION, one] == NO_REDUCTION or costs.charges[REDUCTION, other] == NO_REDUCTION:
        return False
    if costs.charges[REDUCTION, one] != STEP:
        step = other
    return costs.steps_of[costs.charges[GROUP, step]] == 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compute(costs: Costs, tall: cython.longlong, wide: cython.longlong, step: cython.longlong) -> cython.double:
    """Return the time that the operators take in ``step``; the same slice is computed once, at its dearest charge."""
    earlier: cython.Py_ssize_t
    total: cython.double = 0.0
    for c in range(costs.base.shape[0]):
        costs.times[c] = charge(costs, c, tall, wide, step)
        for earlier in range(costs.charges[BEGIN, c], c):
            if (
                costs.times[c] > 0
                and costs.times[earlier] > 0
                and costs.c_er[c] == costs.c_er[earlier]
                and costs.c_ec[c] == costs.c_ec[earlier]
                and same_reduction(costs, c, earlier)
            ):
                costs.times[earlier] = max(costs.times[earlier], costs.times[c])
                costs.times[c] = 0.0
    for c in range(costs.base.shape[0]):
        total += costs.times[c]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _covers(costs: Costs, there: cython.Py_ssize_t, s: cython.Py_ssize_t) -> cython.bint:
    """True if slice ``there`` of the step before makes slice ``s`` free: it is the same, or the whole tensor."""
    if costs.l_er[there] == FULL and costs.l_ec[there] == FULL:
        return True
    return costs.l_er[there] == costs.l_er[s] and costs.l_ec[there] == costs.l_ec[s]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _survivors(costs: Costs) -> cython.void:
    """Note by slice after which moves it is there in a tile's first step."""
    other: cython.Py_ssize_t
    moves: cython.longlong
    for s in range(costs.loads.shape[1]):
        moves = 0
        for other in range(costs.loads[BEGIN, s], costs.loads[END, s]):
            if (
                asked(costs, costs.loads[GROUP, other], costs.steps - 1)
                and costs.l_er[other] != STEP
                and costs.l_ec[other] != STEP
                and _covers(costs, other, s)
            ):
                if costs.l_ec[other] != TILE:
                    moves |= 1 << ALONG_ROW
                if costs.l_er[other] != TILE:
                    moves |= 1 << ALONG_COLUMN
                if costs.l_ec[other] != TILE and costs.l_er[other] != TILE:
                    moves |= 1 << JUMP
        costs.survives[s] = moves


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _later_loads(costs: Costs, tall: cython.longlong, wide: cython.longlong, step: cython.longlong) -> cython.longlong:
    """Return the elements loaded in ``step``, not a tile's first one."""
    other: cython.Py_ssize_t
    total: cython.longlong = 0
    there: cython.bint
    for s in range(costs.loads.shape[1]):
        there = False
        for other in range(costs.loads[BEGIN, s], costs.loads[END, s]):
            there = there or (
                asked(costs, costs.loads[GROUP, other], step - 1)
                and costs.l_er[other] != STEP
                and costs.l_ec[other] != STEP
                and _covers(costs, other, s)
            )
        if not there:
            total += _size(costs, s, tall, wide, step)
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def later_step(costs: Costs, c: cython.Py_ssize_t, step: cython.longlong) -> cython.double:
    """Return the time of a step of a tile of class ``c``, not its first one."""
    tall: cython.longlong = costs.tall[c // 2]
    wide: cython.longlong = costs.wide[c % 2]
    traffic: cython.longlong = _later_loads(costs, tall, wide, step)
    if step == costs.steps - 1:
        traffic += tall * wide * costs.stored
    return max(_compute(costs, tall, wide, step), cython.cast(cython.double, traffic) / costs.bandwidth)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _tile(costs: Costs, c: cython.Py_ssize_t) -> cython.void:
    """Evaluate the steps of a tile of class ``c``."""
    tall: cython.longlong = costs.tall[c // 2]
    wide: cython.longlong = costs.wide[c % 2]
    stored: cython.longlong = tall * wide * costs.stored
    compute: cython.double = _compute(costs, tall, wide, 0)
    move: cython.Py_ssize_t
    traffic: cython.longlong = stored if costs.steps == 1 else 0
    for move in range(4):
        costs.first[4 * move + c] = cython.cast(cython.double, traffic)
    for s in range(costs.loads.shape[1]):
        size = _size(costs, s, tall, wide, 0)
        for move in range(4):
            if not (costs.survives[s] >> move) & 1:
                costs.first[4 * move + c] += cython.cast(cython.double, size)
    for move in range(4):
        costs.first[4 * move + c] = max(compute, costs.first[4 * move + c] / costs.bandwidth)
    costs.rest[c] = 0.0
    for i in range(costs.borders.shape[0] - 1):
        if costs.borders[i + 1] > costs.borders[i]:
            step = costs.borders[i]
            costs.rest[c] += cython.cast(cython.double, costs.borders[i + 1] - step) * later_step(costs, c, step)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def evaluate_within(costs: Costs, limit: cython.double) -> cython.bint:
    """Evaluate the tiles of all classes; False, and no more than one class, where the latency is above ``limit``."""
    c: cython.Py_ssize_t
    like: cython.Py_ssize_t
    move: cython.Py_ssize_t
    _survivors(costs)
    for c in range(4):
        if costs.count[c] <= 0:
            costs.rest[c] = 0.0
            for move in range(4):
                costs.first[4 * move + c] = 0.0
            continue
        # A class that is not clipped along an axis is the one inside of that axis.
        like = c
        if like % 2 == 1 and costs.wide[1] == costs.wide[0] and costs.count[like - 1] > 0:
            like -= 1
        if like >= 2 and costs.tall[1] == costs.tall[0] and costs.count[like - 2] > 0:
            like -= 2
        if like == c:
            _tile(costs, c)
        else:
            costs.rest[c] = costs.rest[like]
            for move in range(4):
                costs.first[4 * move + c] = costs.first[4 * move + like]
        if c == 0:
            least = costs.rest[0] + min(costs.first[4 * ALONG_ROW], costs.first[4 * ALONG_COLUMN])
            if costs.count[0] * least > limit:
                return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def evaluate(costs: Costs) -> cython.void:
    """Evaluate the tiles of all classes that occur, at the granularity that was set."""
    evaluate_within(costs, INF)
