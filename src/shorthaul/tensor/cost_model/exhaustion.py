"""The least latency of a subgraph over all granularities and orders, proven by exhaustion, if they are not too many."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.cost_model import cost_kernels, exhaustion_kernels, order_kernels
from shorthaul.tensor.cost_model.cost import kernel_arguments
from shorthaul.tensor.cost_model.entering import least_of_orders
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
