"""The least latency of a subgraph over all granularities and orders, proven by exhaustion, where the rules cap them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from shorthaul.tensor.cost_model import cost_kernels, exhaustion_kernels
from shorthaul.tensor.cost_model.cost import kernel_arguments
from shorthaul.tensor.cost_model.profile import STEP, TILE, Charge, Load, Profile
from shorthaul.tensor.model import Machine, Rules

#: Granularities evaluated at once.
_MOST: Final = 20_000
#: Pairs of width and height above which no table of them is made.
LARGEST_TILES: Final = 1 << 20


def is_exhaustible(machine: Machine, rules: Rules) -> bool:
    """True where the rules cap the granularity, and few enough are left."""
    return rules.granularity_is_native and machine.native_width * machine.native_height <= LARGEST_TILES


class Floor:
    """A lower bound on the latency of a profile that grows with :meth:`raise_it`, up to the least there is.

    It holds for slices that coincide by chance (:attr:`Profile.is_mixed`) too.
    """

    def __init__(self, profile: Profile, machine: Machine, rules: Rules) -> None:
        costs = relaxed = cost_kernels.Costs(*kernel_arguments(profile, machine))
        if profile.is_mixed:
            relaxed = cost_kernels.Costs(*kernel_arguments(without_mixed(profile), machine))
        w = min(profile.width, machine.native_width)
        h = min(profile.height, machine.native_height)
        k = min(max(1, profile.k_limit), machine.native_width)
        prologues = (profile.left_prologue, profile.right_prologue) if rules.prologues_are_whole else (0, 0)
        self._work = exhaustion_kernels.Exhaustion(costs, relaxed, np.array([w, h, k, *prologues], dtype=np.int64))
        outline = np.empty((w, h))
        exhaustion_kernels.outlines(self._work, outline)
        self._outline = outline.ravel()
        order = np.argsort(self._outline, kind="stable")
        self._pairs = order[: np.searchsorted(self._outline[order], np.inf)]
        self._place = 0

    @property
    def value(self) -> float:
        """The bound so far, infinite if no granularity fits."""
        ahead = self._outline[self._pairs[self._place]] if self._place < len(self._pairs) else np.inf
        return float(min(self._work.floor, self._work.price, ahead))

    def start(self, latency: float) -> None:
        """Take a latency that the profile is known to have: nothing above it is looked at."""
        self._work.price = min(self._work.price, latency)

    @property
    def is_final(self) -> bool:
        """True when the bound grows no more."""
        return self._place >= len(self._pairs)

    def raise_it(self) -> None:
        """Look at some more granularities."""
        self._place = exhaustion_kernels.exhaust(self._work, self._pairs, self._outline, self._place, _MOST)


def without_mixed(profile: Profile) -> Profile:
    """Return the profile without the slices that may coincide by chance; it costs no more anywhere."""
    if not profile.is_mixed:
        return profile
    loads = tuple(group for group in profile.shared_loads if not _is_mixed(group))
    charges = tuple((base, work[:1] if _is_mixed(work) else work) for base, work in profile.shared_charges)
    return replace(profile, shared_loads=loads, shared_charges=charges)


def _is_mixed(slices: tuple[Load, ...] | tuple[Charge, ...]) -> bool:
    axes = ({item.rows for item in slices}, {item.columns for item in slices})
    return any({TILE, STEP} <= axis for axis in axes)
