"""The least latency of a subgraph over all granularities and orders, proven by exhaustion, if they are not too many."""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.cost_model import cost_kernels, exhaustion_kernels, order_kernels
from shorthaul.tensor.cost_model.cost import kernel_arguments
from shorthaul.tensor.cost_model.entering import least_of_orders
from shorthaul.tensor.cost_model.profile import STEP, Load, Profile
from shorthaul.tensor.model import Machine, Rules

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Granularities evaluated at once, the first time and later on.
_FEWEST: Final = 2_000
_MOST: Final = 64_000
#: Bounds of granularities that are made better at once, and granularities evaluated in the time of one (4 ms).
_SHARPENED: Final = 8
_OF_A_PROGRAM: Final = 8_000
#: A bound that is below the limit by this part is not below it.
_ROUNDING: Final = 1e-12
#: Pairs of width and height above which no table of them is made: as numbers, it takes 32 MiB.
LARGEST_TILES: Final = 1 << 22


class Floor:
    """A lower bound on the latency of a profile that grows with :meth:`raise_it`, up to the least there is.

    It holds for slices that coincide by chance (:attr:`Profile.is_mixed`) too. ``limit`` is a latency that is met: the
    bound grows no further. When all granularities are looked at, those with the least bounds get better ones.
    """

    def __init__(self, profile: Profile, machine: Machine, rules: Rules, limit: float = np.inf) -> None:
        costs = fitting = cost_kernels.Costs(*kernel_arguments(profile, machine))
        if profile.shared_loads:
            fitting = cost_kernels.Costs(*kernel_arguments(surely_held(profile), machine))
        w, h, k = profile.width, profile.height, max(1, profile.k_limit)
        if rules.granularity_is_native:
            w, h, k = min(w, machine.native_width), min(h, machine.native_height), min(k, machine.native_width)
        prologues = (profile.left_prologue, profile.right_prologue) if rules.prologues_are_whole else (0, 0)
        self._profile = profile
        self._shape = (w, h)
        self._limit = limit * (1 - _ROUNDING)
        limits = np.array([w, h, k, *prologues], dtype=np.int64)
        self._orders = order_kernels.Orders(costs, *profile.mixed_axes)
        self._work = exhaustion_kernels.Exhaustion(costs, fitting, self._orders, limits, self._limit)
        #: The bound so far, infinite if no granularity fits.
        self.value = 0.0
        self.is_final = w * h > LARGEST_TILES
        self._ranked: tuple[Integers, Floats] | None = None  # pairs of width and height, and their bounds
        self._place = 0
        self._chunk = _FEWEST
        self._low: list[
            tuple[float, bool, tuple[int, int, int], float]
        ] = []  # a heap: bounds, and whether they are best

    def raise_it(self) -> int:
        """Look at some more granularities, each time at more of them; return how many, tiles outlined included."""
        if self.is_final:
            return 0
        before = self._work.done
        if self._ranked is None:
            table = np.empty(self._shape)
            exhaustion_kernels.outlines(self._work, self._limit, table)
            outline = table.ravel()
            order = np.argsort(outline, kind="stable")
            self._ranked = order[: np.searchsorted(outline[order], np.inf)], outline
        pairs, outline = self._ranked
        if self._place < len(pairs):
            self._place = exhaustion_kernels.exhaust(self._work, pairs, outline, self._place, self._chunk)
            for w, h, k, floor, less in np.asarray(exhaustion_kernels.kept(self._work)).tolist():
                heappush(self._low, (floor, False, (int(w), int(h), int(k)), less))
            self._chunk = min(2 * self._chunk, _MOST)
            done = int(self._work.done - before)
        else:
            done = self._sharpen()
        is_whole = self._place >= len(pairs)
        least = self._low[0][0] if self._low else np.inf
        self.value = float(min(least, self._limit, np.inf if is_whole else outline[pairs[self._place]]))
        self.is_final = is_whole and (not self._low or self._low[0][1])
        return done

    def _sharpen(self) -> int:
        """Replace the least bounds by better ones, of what comes before what; return what that takes."""
        for done in range(_SHARPENED):
            if not self._low or self._low[0][1]:
                return done * _OF_A_PROGRAM
            floor, _, size, less = heappop(self._low)
            better = max(floor, least_of_orders(self._orders, self._profile, size) - less)
            if better < self._limit:
                heappush(self._low, (better, True, size, less))
        return _SHARPENED * _OF_A_PROGRAM


def surely_held(profile: Profile) -> Profile:
    """Return the profile without slices that may be others; it holds no more in any step, nor in longer ones.

    A slice that follows the step may be another one of its tensor by chance, or where the step is as long as the axis.
    The slices that are left are distinct from one another as they are in the whole profile.
    """
    return replace(profile, shared_loads=tuple(map(_without_steps, profile.shared_loads)))


def _without_steps(slices: tuple[Load, ...]) -> tuple[Load, ...]:
    return tuple(item for item in slices if STEP not in (item.rows, item.columns)) or slices[:1]
