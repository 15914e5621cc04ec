"""The best granularity and traversal order of a subgraph, by its profile."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.cost_model import granularity_kernels
from shorthaul.tensor.cost_model.cost import ALL, PLAIN, Costs, Traversal
from shorthaul.tensor.cost_model.profile import Profile
from shorthaul.tensor.model import Machine, Rules
from shorthaul.tensor.plan import Granularity

Integers = NDArray[np.int64]

#: Into how many parts an axis is cut, as multiples of the fewest possible.
_CUTS: Final = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64, 128)
#: Steps that differ in one subgraph that a replay still follows in seconds; more, up to the second, where nothing else
#: fits.
_MOST_STEPS: Final = (1 << 21, 10**9)
#: Tiles above which the order is not written out, and above which few orders are tried.
_MOST_TILES: Final = 1 << 18
_FEW_TILES: Final = 1 << 12
#: What the search of a profile takes besides, in kinds of loads.
_BESIDES: Final = 2
#: Granularities that are refined after the first pass.
_REFINED: Final = 3
#: Lengths worth a try around one, where not all are tried.
_FACTORS: Final = np.geomspace(0.5, 2, 129)


class Execution(NamedTuple):
    """How a subgraph is executed, and the latency of that; ``order`` is None for the default order."""

    latency: float
    granularity: Granularity
    order: Traversal | None


class Granularities:
    """Best executions by profile, each searched once.

    >>> from shorthaul.tensor.model import CONTEST, Machine
    >>> from shorthaul.tensor.cost_model.profile import COLUMNS_EXACT, TILE, LAST, NO_REDUCTION, Charge, Load, Profile
    >>> load = Load(TILE, TILE, LAST, 256, 256, False)
    >>> charge = Charge(TILE, TILE, LAST, 256, 256, 0, NO_REDUCTION)
    >>> profile = Profile(256, 256, (), 0, 0, 0, ((load, 1),), ((charge, 1000.0),), (), (), stored=1, held=0)
    >>> Granularities(Machine(35000, 10, 128, 128), CONTEST).best(profile).latency
    13107.2
    """

    def __init__(self, machine: Machine, rules: Rules) -> None:
        self.machine = machine
        self.rules = rules
        self.known: dict[Profile, Execution | None] = {}
        self.kinds = 0  #: of loads, charges and reductions in profiles searched, and a few more for each profile

    def best(self, profile: Profile) -> Execution | None:
        """Return the best execution found, None if no granularity fits into fast memory."""
        try:
            return self.known[profile]
        except KeyError:
            found = self.known[profile] = self._search(profile)
            kinds = len(profile.loads) + len(profile.shared_loads) + len(profile.charges) + len(profile.reductions)
            self.kinds += _BESIDES + kinds
            return found

    def _search(self, profile: Profile) -> Execution | None:
        if profile.held >= self.machine.capacity and (profile.loads or profile.shared_loads or profile.stored):
            return None
        costs = Costs(profile, self.machine)
        w, h, k = self._limits(profile)
        prologues = (profile.left_prologue, profile.right_prologue) if self.rules.prologues_are_whole else (0, 0)
        limits = np.array([w, h, k, *prologues], dtype=np.int64)
        cuts = (
            _cuts(profile.width, w, self.machine.native_width),
            _cuts(profile.height, h, self.machine.native_height),
        )
        depths = _depths(profile.reductions, k)
        for most in _MOST_STEPS:
            choices = granularity_kernels.Choices(costs.kernel, limits, most, _REFINED)
            line = granularity_kernels.Choices(costs.kernel, limits, most, 1)
            granularity_kernels.search(choices, line, *cuts, depths, _FACTORS)
            if choices.count:
                sizes = [Granularity(choices.w[n], choices.h[n], choices.k[n]) for n in range(choices.count)]
                if profile.is_mixed:
                    sizes = self._coinciding(profile, sizes, choices)
                return self._ordered(profile, costs, sizes)
        return None

    def _limits(self, profile: Profile) -> tuple[int, int, int]:
        """Return the largest granularity that the rules allow and that makes a difference."""
        w, h, k = profile.width, profile.height, max(1, profile.k_limit)
        if not self.rules.granularity_is_native:
            return w, h, k
        return min(w, self.machine.native_width), min(h, self.machine.native_height), min(k, self.machine.native_width)

    def _ordered(self, profile: Profile, costs: Costs, sizes: list[Granularity]) -> Execution:
        """Return the execution with the best order, at any of these granularities, which fit."""
        best: Execution | None = None
        for size in dict.fromkeys(sizes):
            costs.at(size)
            rows, columns = -(-profile.height // size.h), -(-profile.width // size.w)
            for order in self._orders(profile, size, rows * columns):
                latency = costs.walk(order) if order is not None else self._default(costs)
                if costs.peak <= self.machine.capacity and (best is None or latency < best.latency * (1 - 1e-12)):
                    best = Execution(latency, size, order)
        assert best is not None, "the granularities fit"
        return best._replace(granularity=self._called(profile, best.granularity))

    def _default(self, costs: Costs) -> float:
        return costs.isolated() if self.rules.default_order_flushes else costs.follow(None)

    def _orders(self, profile: Profile, size: Granularity, tiles: int) -> Iterable[Traversal | None]:
        if tiles == 1 or tiles > _MOST_TILES:
            return (None,)
        if tiles > _FEW_TILES:
            return (None, *PLAIN)
        is_clipped = profile.height % size.h or profile.width % size.w
        return (None, *(ALL if profile.is_mixed or is_clipped else PLAIN))

    def _coinciding(
        self, profile: Profile, sizes: list[Granularity], choices: granularity_kernels.Choices
    ) -> list[Granularity]:
        """Return the granularities, and beside the first those whose steps are as long as its tiles, cut to fit."""
        w_most, h_most, k_most = self._limits(profile)
        prologue = max(profile.left_prologue, profile.right_prologue) if self.rules.prologues_are_whole else 0
        most = max(_MOST_STEPS[0], *(_steps(profile, size) for size in sizes))
        w, h, k = sizes[0].w, sizes[0].h, sizes[0].k
        by_rows, by_columns = profile.mixed_axes
        others = [(w, h, h), (w, k, k)] * by_rows + [(w, h, w), (k, h, k)] * by_columns
        fits = granularity_kernels.largest
        others += [(min(w, fits(choices, w, side, side, 0)), side, side) for side in (h, k) if by_rows]
        others += [(side, min(h, fits(choices, side, h, side, 1)), side) for side in (w, k) if by_columns]
        found = [*sizes]
        found += [
            Granularity(*other)
            for other in others
            if 0 < other[0] <= w_most and 0 < other[1] <= h_most and prologue <= other[2] <= k_most
        ]
        return [size for size in found if _steps(profile, size) <= most]

    def _called(self, profile: Profile, size: Granularity) -> Granularity:
        """Return the granularity as the rule on Pointwise operators wants it called: a whole tile may be longer."""
        if not self.rules.prologues_are_whole:
            return size
        w = max(size.w, profile.left_prologue) if size.k < profile.left_prologue else size.w
        h = max(size.h, profile.right_prologue) if size.k < profile.right_prologue else size.h
        return Granularity(w, h, size.k)


def _steps(profile: Profile, size: Granularity) -> int:
    steps = min(-(-max(profile.reductions, default=1) // size.k), 3 * len(profile.reductions) + 2)
    return -(-profile.height // size.h) * -(-profile.width // size.w) * steps


@cache
def _cuts(length: int, limit: int, native: int) -> Integers:
    """Return lengths of tiles up to ``limit``, ascending from 1: those that cut the axis evenly, and powers of two.

    As finely as where tiles end at native ones: else there are few short ones.

    >>> _cuts(10, 6, 6).tolist()
    [1, 2, 3, 4, 5, 6]
    >>> [_cuts(2048, 2048, native).size for native in (2048, 128)]
    [31, 50]
    """
    values = {1, limit, *(1 << power for power in range(limit.bit_length()))}
    for most in {limit, min(limit, native)}:
        fewest = -(-length // most)
        values |= {-(-length // count) for count in [*range(fewest, fewest + 24), *(fewest * cut for cut in _CUTS)]}
    return np.array(sorted(value for value in values if value <= limit), dtype=np.int64)


@cache
def _depths(lengths: tuple[int, ...], limit: int) -> Integers:
    """Return lengths of reduction steps: evenly cut, and powers of two."""
    values = {limit, *(1 << power for power in range(limit.bit_length()))}
    for length in lengths:
        fewest = -(-length // limit)
        values |= {-(-length // (fewest * cut)) for cut in _CUTS}
    return np.array(sorted(values), dtype=np.int64)
