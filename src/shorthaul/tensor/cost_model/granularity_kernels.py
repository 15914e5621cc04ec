"""The best granularities of a subgraph, by what every order of their tiles takes at least."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import ceil, floor
from cython.cimports.shorthaul.tensor.cost_model.cost_constants import (
    BEGIN,
    COLUMNS,
    COLUMNS_EXACT,
    END,
    EXACT,
    GROUP,
    HEIGHT,
    NUMBER,
    REDUCTION,
    ROWS,
    ROWS_EXACT,
    STEP,
    TILE,
    WIDTH,
)
from cython.cimports.shorthaul.tensor.cost_model.cost_kernels import Costs, evaluate_within, peak_of, settle
from cython.cimports.shorthaul.tensor.cost_model.order_kernels import any_order

#: Lengths up to this are tried one by one; of longer ones a selection.
ALL_LENGTHS = cython.declare(cython.longlong, 256)
NEARBY = cython.declare(cython.longlong, 32)


@cython.final
@cython.cclass
class Choices:
    """The best granularities met, best first; of equal ones those with the largest tiles and steps."""

    costs: Costs
    w_most: cython.longlong
    h_most: cython.longlong
    k_most: cython.longlong
    left_prologue: cython.longlong
    right_prologue: cython.longlong
    most_steps: cython.double
    count = cython.declare(cython.longlong, visibility="readonly")
    w = cython.declare(cython.longlong[::1], visibility="readonly")
    h = cython.declare(cython.longlong[::1], visibility="readonly")
    k = cython.declare(cython.longlong[::1], visibility="readonly")
    latency = cython.declare(cython.double[::1], visibility="readonly")

    def __init__(
        self, costs: Costs, limits: cython.const_longlong[::1], most_steps: cython.double, kept: cython.longlong
    ) -> None:
        """``limits``: the largest w, h and k, the longest left and right prologue."""
        self.costs = costs
        self.w_most, self.h_most, self.k_most = limits[0], limits[1], limits[2]
        self.left_prologue, self.right_prologue = limits[3], limits[4]
        self.most_steps = most_steps
        self.count = 0
        self.w = np.zeros(kept, np.int64)
        self.h = np.zeros(kept, np.int64)
        self.k = np.zeros(kept, np.int64)
        self.latency = np.full(kept, float("inf"))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_allowed(choices: Choices, w: cython.longlong, h: cython.longlong, k: cython.longlong) -> cython.bint:
    """True where the rule on Pointwise operators that feed a MatMul is kept; a whole tile may be called longer."""
    left: cython.longlong = choices.left_prologue
    right: cython.longlong = choices.right_prologue
    if k < left and (left > choices.costs.native_width or w < min(choices.costs.width, left)):
        return False
    return not (k < right and (right > choices.costs.native_height or h < min(choices.costs.height, right)))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _insert(
    choices: Choices, w: cython.longlong, h: cython.longlong, k: cython.longlong, latency: cython.double
) -> cython.void:
    price: cython.double = floor(latency * 1e6 + 0.5)
    place: cython.Py_ssize_t = 0
    at: cython.Py_ssize_t
    while place < choices.count:
        other = floor(choices.latency[place] * 1e6 + 0.5)
        volume = choices.w[place] * choices.h[place] * choices.k[place]
        if choices.w[place] == w and choices.h[place] == h and choices.k[place] == k:
            return
        if price < other or (price == other and w * h * k > volume):
            break
        place += 1
    if place == choices.latency.shape[0]:
        return
    if choices.count < choices.latency.shape[0]:
        choices.count += 1
    at = choices.count - 1
    while at > place:
        choices.w[at] = choices.w[at - 1]
        choices.h[at] = choices.h[at - 1]
        choices.k[at] = choices.k[at - 1]
        choices.latency[at] = choices.latency[at - 1]
        at -= 1
    choices.w[place] = w
    choices.h[place] = h
    choices.k[place] = k
    choices.latency[place] = latency


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _outline(costs: Costs, w: cython.longlong, h: cython.longlong, k: cython.longlong) -> cython.double:
    """Return a quick lower bound on the latency: interior tiles compute, store, and load what no tile leaves there."""
    compute: cython.double = 0.0
    most: cython.double = 0.0
    traffic: cython.double = cython.cast(cython.double, w * h * costs.stored)
    for c in range(costs.base.shape[0]):
        time = costs.base[c]
        group = costs.charges[GROUP, c]
        if costs.charges[ROWS, c] == TILE and costs.charges[EXACT, c] != ROWS_EXACT:
            time = time * ceil(h / costs.native_height)
        elif costs.charges[ROWS, c] == TILE:
            time = time * (h / costs.native_height)
        if costs.charges[COLUMNS, c] == TILE and costs.charges[EXACT, c] != COLUMNS_EXACT:
            time = time * ceil(w / costs.native_width)
        elif costs.charges[COLUMNS, c] == TILE:
            time = time * (w / costs.native_width)
        if costs.charges[ROWS, c] == STEP or costs.charges[COLUMNS, c] == STEP:
            time = 0.0  # in parts of unequal length: left out
        elif group >= 0 and costs.charges[REDUCTION, c] != STEP:
            time = time * ((costs.reductions[group] + k - 1) // k)
        if costs.charges[BEGIN, c] == c:  # of an operator with several charges, the dearest
            compute += most
            most = 0.0
        most = max(most, time)
    for s in range(costs.loads.shape[1]):
        if costs.loads[END, s] - costs.loads[BEGIN, s] > 1:
            continue
        if costs.loads[ROWS, s] == STEP and costs.loads[COLUMNS, s] == TILE:
            if costs.loads[HEIGHT, s] > k:
                traffic += cython.cast(cython.double, costs.loads[HEIGHT, s] * w * costs.loads[NUMBER, s])
        elif costs.loads[COLUMNS, s] == STEP and costs.loads[ROWS, s] == TILE:
            if costs.loads[WIDTH, s] > k:
                traffic += cython.cast(cython.double, costs.loads[WIDTH, s] * h * costs.loads[NUMBER, s])
    tiles: cython.longlong = (costs.height // h) * (costs.width // w)
    return cython.cast(cython.double, tiles) * max(compute + most, traffic / costs.bandwidth)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def steps_that_differ(costs: Costs) -> cython.double:
    """Return how many steps of all tiles a replay looks at, those that are equal to the one before them left out."""
    return cython.cast(cython.double, costs.rows) * costs.columns * min(costs.steps, costs.borders.shape[0] + 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _consider(choices: Choices, w: cython.longlong, h: cython.longlong, k: cython.longlong) -> cython.void:
    last: cython.Py_ssize_t = choices.latency.shape[0] - 1
    if w < 1 or h < 1 or k < 1 or not is_allowed(choices, w, h, k):
        return
    if _outline(choices.costs, w, h, k) > choices.latency[last] + 1e-6:
        return
    settle(choices.costs, w, h, k)
    if steps_that_differ(choices.costs) > choices.most_steps:
        return
    if peak_of(choices.costs) > choices.costs.capacity:
        return
    if evaluate_within(choices.costs, choices.latency[last] + 1e-6):
        _insert(choices, w, h, k, any_order(choices.costs))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _peak(
    costs: Costs, w: cython.longlong, h: cython.longlong, k: cython.longlong, axis: cython.int, length: cython.longlong
) -> cython.double:
    settle(costs, length if axis == 0 else w, length if axis == 1 else h, length if axis == 2 else k)
    return peak_of(costs)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _most(choices: Choices, axis: cython.int) -> cython.longlong:
    return choices.w_most if axis == 0 else (choices.h_most if axis == 1 else choices.k_most)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _largest(
    choices: Choices, w: cython.longlong, h: cython.longlong, k: cython.longlong, axis: cython.int
) -> cython.longlong:
    """Return the largest length along an axis that fits in place of the one given, 0 if none does.

    The working set grows convexly with the length: where the chord meets the capacity, it fits.
    """
    most: cython.longlong = _most(choices, axis)
    low: cython.double = _peak(choices.costs, w, h, k, axis, 1)
    if low > choices.costs.capacity:
        return 0
    high: cython.double = _peak(choices.costs, w, h, k, axis, most)
    if high <= choices.costs.capacity:
        return most
    return 1 + cython.cast(
        cython.longlong, cython.cast(cython.double, most - 1) * ((choices.costs.capacity - low) / (high - low))
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _even(lengths: cython.const_longlong[::1], most: cython.longlong) -> cython.longlong:
    """Return the largest of ascending ``lengths`` that is no more than ``most``, 0 if none is."""
    found: cython.longlong = 0
    for place in range(lengths.shape[0]):
        if lengths[place] > most:
            break
        found = lengths[place]
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _consider_along(
    choices: Choices,
    w: cython.longlong,
    h: cython.longlong,
    k: cython.longlong,
    axis: cython.int,
    length: cython.longlong,
) -> cython.void:
    _consider(choices, length if axis == 0 else w, length if axis == 1 else h, length if axis == 2 else k)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _border(
    choices: Choices,
    first: cython.const_longlong[::1],
    second: cython.const_longlong[::1],
    along: cython.const_longlong[::1],
    axis: cython.int,
) -> cython.void:
    """Consider lengths along an axis as long as they may be; as long as cuts it evenly; and as many whole native ones.

    ``first`` and ``second`` are lengths along the other axes: of steps (of tiles where the steps' are sought), and of
    the other sides of tiles.
    """
    last: cython.Py_ssize_t = choices.latency.shape[0] - 1
    native: cython.longlong = cython.cast(
        cython.longlong, choices.costs.native_height if axis == 1 else choices.costs.native_width
    )
    most: cython.longlong = _most(choices, axis)
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    for a in range(first.shape[0] - 1, -1, -1):  # large ones first: they leave the others less to beat
        for b in range(second.shape[0] - 1, -1, -1):
            w = most if axis == 0 else (second[b] if axis == 1 else first[a])
            h = most if axis == 1 else second[b]
            k = most if axis == 2 else first[a]
            if _outline(choices.costs, w, h, k) > choices.latency[last]:
                continue
            length = _largest(choices, w, h, k, axis)
            _consider_along(choices, w, h, k, axis, length)
            even = _even(along, length)
            if even < length:
                _consider_along(choices, w, h, k, axis, even)
            whole = length - length % native
            if whole != even and whole < length:
                _consider_along(choices, w, h, k, axis, whole)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _refine(
    choices: Choices, line: Choices, start: cython.Py_ssize_t, factors: cython.const_double[::1]
) -> cython.void:
    """Move a choice along each axis in turn to the best there; ``line`` keeps it."""
    line.count = 1
    line.w[0] = choices.w[start]
    line.h[0] = choices.h[start]
    line.k[0] = choices.k[start]
    line.latency[0] = choices.latency[start]
    for turn in range(4):
        axis = 2 if turn == 0 or turn == 3 else turn - 1
        w = line.w[0]
        h = line.h[0]
        k = line.k[0]
        value = w if axis == 0 else (h if axis == 1 else k)
        most = _most(line, axis)
        if most == 1 or (axis == 2 and line.costs.reductions.shape[0] == 0):
            continue
        if turn == 3 and w == choices.w[start] and h == choices.h[start]:
            continue
        many = most if most <= ALL_LENGTHS else factors.shape[0] + 2 * NEARBY + 1
        for number in range(many):
            if most <= ALL_LENGTHS:
                length = most - number
            elif number < factors.shape[0]:
                length = cython.cast(cython.longlong, floor(value * factors[number] + 0.5))
            else:
                length = value - NEARBY + (number - factors.shape[0])
            length = max(1, min(length, most))
            _consider_along(line, w, h, k, axis, length)


def largest(choices: Choices, w: int, h: int, k: int, axis: int) -> int:
    """Return the largest length along an axis that fits in place of the one given; 0 if none does."""
    return int(_largest(choices, w, h, k, axis))


def search(
    choices: Choices,
    line: Choices,
    widths: cython.const_longlong[::1],
    heights: cython.const_longlong[::1],
    depths: cython.const_longlong[::1],
    factors: cython.const_double[::1],
) -> None:
    """Look at granularities on the border of what fits, and refine the best along each axis.

    ``line`` has the limits of ``choices`` and keeps one granularity. ``factors`` are those of lengths worth a try.
    """
    with cython.nogil:
        _border(choices, depths, widths, heights, 1)
        _border(choices, depths, heights, widths, 0)
        _border(choices, widths, heights, depths, 2)
        found = choices.count
        for start in range(found):
            _refine(choices, line, start, factors)
            # In place of where it began: what is refined later must not be pushed out.
            choices.w[start] = line.w[0]
            choices.h[start] = line.h[0]
            choices.k[start] = line.k[0]
            choices.latency[start] = line.latency[0]
