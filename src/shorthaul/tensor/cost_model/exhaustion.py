"""The least latency of a subgraph over all granularities and orders, proven by exhaustion, if they are not too many.

The order is bounded by a linear program over what comes before what. Tiles are of few kinds, and so is what they find:
it depends on the kind of the tile before, and on whether that is in the same row, in the same column, or in neither.
Every order enters every tile once, one of all first, and leaves every tile once at most; in a row not all tiles are
entered along it, nor in a column. The least cost of amounts that keep this bounds every order, and so do any prices of
it, exactly: rounding in the program does no harm.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.cost_model import chance_kernels, cost_kernels, exhaustion_kernels, order_kernels
from shorthaul.tensor.cost_model.cost import kernel_arguments
from shorthaul.tensor.cost_model.profile import Profile
from shorthaul.tensor.model import Machine, Rules

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Boxes of tiles halved at once, the first time and later on, and granularities evaluated.
_FEWEST: Final = 64
_MOST: Final = 4_096
_EVALUATED: Final = 64_000
#: Granularities evaluated in the time in which one bound is made better (4 ms).
_OF_A_PROGRAM: Final = 8_000
#: A bound that is below the limit by this part is not below it.
_ROUNDING: Final = 1e-12
#: What a bound is of: a granularity, the best there is, or one that can be made better; or a box of tiles.
_BEST: Final = 0
_ONE: Final = 1
_BOX: Final = 2


class Floor:
    """A lower bound on the latency of a profile that grows with :meth:`raise_it`, up to the least there is.

    It holds for slices that coincide by chance (:attr:`Profile.is_mixed`) too. ``limit`` is a latency that is met: the
    bound grows no further. The box of tiles with the least bound is halved, until it is one; all steps of that are
    looked at, and then orders at those granularities that have the least bounds.
    """

    def __init__(self, profile: Profile, machine: Machine, rules: Rules, limit: float = np.inf) -> None:
        costs = cost_kernels.Costs(*kernel_arguments(profile, machine))
        w, h, k = profile.width, profile.height, max(1, profile.k_limit)
        if rules.granularity_is_native:
            w, h, k = min(w, machine.native_width), min(h, machine.native_height), min(k, machine.native_width)
        prologues = (profile.left_prologue, profile.right_prologue) if rules.prologues_are_whole else (0, 0)
        self._profile = profile
        self._limit = limit * (1 - _ROUNDING)
        self._orders = order_kernels.Orders(costs, *profile.mixed_axes)
        limits = np.array([k, *prologues], dtype=np.int64)
        self._work = exhaustion_kernels.Exhaustion(costs, self._orders, limits, self._limit)
        #: The bound so far, infinite if no granularity fits.
        self.value = 0.0
        self.is_final = False
        self._chunk = _FEWEST
        # a heap: bounds, what they are of, its numbers, and how much less that is than the bound there
        self._open: list[tuple[float, int, tuple[int, ...], float]] = []
        self._add_boxes(np.array([[1, w, 1, h]]), np.zeros(1))

    def raise_it(self) -> int:
        """Look at some more granularities; return how many, boxes of tiles included."""
        if self.is_final:
            return 0
        before, more = self._work.done, 0
        boxes: list[tuple[int, ...]] = []
        values = []
        while len(boxes) < self._chunk and self._open and self._open[0][1] == _BOX:
            value, _, box, _ = heappop(self._open)
            boxes.append(box)
            values.append(value)
        if boxes:
            self._look_at(np.array(boxes), np.array(values))
            self._chunk = min(2 * self._chunk, _MOST)
        elif self._open and self._open[0][1] == _ONE:
            bound, _, size, less = heappop(self._open)
            bound = max(bound, least_of_orders(self._orders, self._profile, (size[0], size[1], size[2])) - less)
            self._add(bound, _BEST, size)
            more = _OF_A_PROGRAM
        self.value = min(self._limit, self._open[0][0] if self._open else np.inf)
        self.is_final = not self._open or self._open[0][1] == _BEST
        return int(self._work.done - before) + more

    def _look_at(self, boxes: Integers, values: Floats) -> None:
        """Halve boxes along the longer axis; where they are one tile, look at all steps."""
        is_one = (boxes[:, 0] == boxes[:, 1]) & (boxes[:, 2] == boxes[:, 3])
        ones, known = boxes[is_one], values[is_one]
        pairs = np.ascontiguousarray(ones[:, ::2])
        done = exhaustion_kernels.exhaust(self._work, pairs, known, _EVALUATED)
        for w, h, k, bound, less in np.asarray(exhaustion_kernels.kept(self._work)).tolist():
            self._add(bound, _ONE, (int(w), int(h), int(k)), less)
        for box, value in zip(ones[done:].tolist(), known[done:].tolist(), strict=True):
            self._add(value, _BOX, tuple(box))
        boxes, known = boxes[~is_one], values[~is_one]
        axis = np.where(boxes[:, 1] * boxes[:, 2] >= boxes[:, 3] * boxes[:, 0], 0, 2)
        each = np.arange(len(boxes))
        lower, upper = boxes.copy(), boxes.copy()
        lower[each, axis + 1] = (boxes[each, axis] + boxes[each, axis + 1]) // 2
        upper[each, axis] = lower[each, axis + 1] + 1
        self._add_boxes(np.concatenate([lower, upper]), np.concatenate([known, known]))

    def _add_boxes(self, boxes: Integers, known: Floats) -> None:
        """Add boxes of which bounds are ``known``: their own, or those if they are larger."""
        values = np.empty(len(boxes))
        exhaustion_kernels.bound_boxes(self._work, boxes, values)
        for box, value in zip(boxes.tolist(), np.maximum(values, known).tolist(), strict=True):
            self._add(value, _BOX, tuple(box))

    def _add(self, bound: float, kind: int, numbers: tuple[int, ...], less: float = 0.0) -> None:
        if bound < self._limit:
            heappush(self._open, (bound, kind, numbers, less))


class _Arc(NamedTuple):
    """A tile of one kind right after one of another: which line they share, if any, and the time it takes."""

    before: int
    kind: int
    line: int | None
    time: float


def kinds_of(number: int, special: int | None) -> list[list[int]]:
    """Return places along an axis by kind; where ``special`` is one, it and the first one are kinds of their own.

    >>> kinds_of(6, None), kinds_of(6, 3), kinds_of(1, 0)
    ([[0, 1, 2, 3, 4], [5]], [[0], [3], [5], [1, 2, 4]], [[0]])
    """
    alone = {number - 1} if special is None else {0, number - 1, special} & set(range(number))
    kinds = [[place] for place in sorted(alone)]
    others = [place for place in range(number) if place not in alone]
    return [others, *kinds] if special is None and others else [*kinds, *[others][: len(others)]]


def least_of_orders(orders: order_kernels.Orders, profile: Profile, size: tuple[int, int, int]) -> float:
    """Return a bound on the latency of every order at a granularity that fits: width, height and step."""
    w, h, k = size
    chance_kernels.take(orders, w, h, k)
    down, across = -(-profile.height // h), -(-profile.width // w)
    last = -(-max(profile.reductions, default=1) // k) - 1  # slices of the tile there may be those of the last step
    axes = zip((down, across), profile.mixed_axes, strict=True)
    rows, columns = (kinds_of(number, last if is_mixed else None) for number, is_mixed in axes)
    kinds = [*product(rows, columns)]
    starts = [chance_kernels.entered(orders, -1, -1, mine[0], own[0]) for mine, own in kinds]
    counts = [len(mine) * len(own) for mine, own in kinds]
    caps = [len(mine) * (across - 1) for mine in rows] + [len(own) * (down - 1) for own in columns]
    arcs = []
    for (kind, mine), (before, old) in product(enumerate(kinds), repeat=2):
        i, j = mine[0][0], mine[1][0]
        old_i = next((place for place in old[0] if place != i), -1)
        old_j = next((place for place in old[1] if place != j), -1)
        ways: list[tuple[int, int, int | None]] = [(old_i, old_j, None)]
        ways += [(i, old_j, rows.index(mine[0]))] * (old[0] is mine[0])
        ways += [(old_i, j, len(rows) + columns.index(mine[1]))] * (old[1] is mine[1])
        for row, column, line in ways:
            if row >= 0 and column >= 0:
                arcs.append(_Arc(before, kind, line, chance_kernels.entered(orders, row, column, i, j)))
    rest = float(chance_kernels.later(orders))
    return rest + (_least(starts, counts, caps, arcs) if arcs else starts[0])


def _least(starts: list[float], counts: list[int], caps: list[int], arcs: list[_Arc]) -> float:
    """Return the least time of entering all tiles, by prices of having left a tile, and of entering along a line."""
    from ortools.linear_solver import pywraplp

    solver = pywraplp.Solver.CreateSolver("GLOP")
    entered = [solver.Constraint(count, count) for count in counts]
    left = [solver.Constraint(-solver.infinity(), count) for count in counts]
    lines = [solver.Constraint(-solver.infinity(), cap) for cap in caps]
    first = solver.Constraint(1, 1)
    objective = solver.Objective()
    objective.SetMinimization()
    for kind, time in enumerate(starts):
        variable = solver.NumVar(0, 1, "")
        objective.SetCoefficient(variable, time)
        entered[kind].SetCoefficient(variable, 1)
        first.SetCoefficient(variable, 1)
    for arc in arcs:
        variable = solver.NumVar(0, solver.infinity(), "")
        objective.SetCoefficient(variable, arc.time)
        entered[arc.kind].SetCoefficient(variable, 1)
        left[arc.before].SetCoefficient(variable, 1)
        if arc.line is not None:
            lines[arc.line].SetCoefficient(variable, 1)
    if solver.Solve() != pywraplp.Solver.OPTIMAL:
        return 0.0
    of_leaving, of_lines = ([max(0.0, -row.dual_value()) for row in rows] for rows in (left, lines))
    least = [float("inf")] * len(counts)
    for arc in arcs:
        priced = arc.time + of_leaving[arc.before] + (0.0 if arc.line is None else of_lines[arc.line])
        least[arc.kind] = min(least[arc.kind], priced)
    total = sum(count * time for count, time in zip(counts, least, strict=True))
    total += min(start - time for start, time in zip(starts, least, strict=True))
    paid = zip(counts + caps, of_leaving + of_lines, strict=True)
    return float(total - sum(count * price for count, price in paid))
