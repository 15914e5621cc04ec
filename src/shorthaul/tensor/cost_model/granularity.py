"""The best granularity and traversal order of a subgraph, by its profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.cost_model.cost import Costs
from shorthaul.tensor.cost_model.profile import Profile
from shorthaul.tensor.cost_model.traversal import ALL, PLAIN, Serpentine, moves_of
from shorthaul.tensor.model import Machine, Rules
from shorthaul.tensor.plan import Granularity

Integers = NDArray[np.int64]

#: Into how many parts an axis is cut, as multiples of the fewest possible.
_CUTS: Final = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64, 128)
#: Steps of one subgraph that a replay still follows in seconds; more only where nothing else fits, up to the second.
_MOST_STEPS: Final = (1 << 21, 10**9)
#: Tiles above which the order is not written out.
_MOST_TILES: Final = 1 << 18
#: Granularities that are refined after the first pass.
_REFINED: Final = 3


class Execution(NamedTuple):
    """How a subgraph is executed, and the latency of that; ``order`` is None for the default order."""

    latency: float
    granularity: Granularity
    order: Serpentine | None


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
        self.searched = 0  #: profiles

    def best(self, profile: Profile) -> Execution | None:
        """Return the best execution found, None if no granularity fits into fast memory."""
        try:
            return self.known[profile]
        except KeyError:
            found = self.known[profile] = self._search(profile)
            self.searched += 1
            return found

    def _search(self, profile: Profile) -> Execution | None:
        if profile.held >= self.machine.capacity and (profile.loads or profile.shared_loads or profile.stored):
            return None
        limits = self._limits(profile)
        costs = Costs(profile, self.machine)
        best = self._evaluate(profile, costs, *self._largest_that_fit(profile, costs, limits))
        if best is None:
            return None
        latency, choices = best
        chosen = choices[0]
        for choice in choices:
            centre = choice
            for axis in (2, 0, 1, 2):
                if limits[axis] == 1 or (axis == 2 and not profile.reductions):
                    continue
                values = _line(centre[axis], limits[axis])
                line = [values if i == axis else np.full(len(values), centre[i]) for i in range(3)]
                found = self._evaluate(profile, costs, *line)
                if found is not None:
                    centre = found[1][0]
                    if found[0] < latency:
                        latency, chosen = found[0], centre
        return self._finish(profile, costs, Granularity(*chosen))

    def _limits(self, profile: Profile) -> tuple[int, int, int]:
        """Return the largest granularity that the rules allow and that makes a difference."""
        w, h, k = profile.width, profile.height, max(1, profile.k_limit)
        if not self.rules.granularity_is_native:
            return w, h, k
        return min(w, self.machine.native_width), min(h, self.machine.native_height), min(k, self.machine.native_width)

    def _largest_that_fit(
        self, profile: Profile, costs: Costs, limits: tuple[int, int, int]
    ) -> tuple[Integers, Integers, Integers]:
        """Return granularities on the border of what fits: for many widths and depths the largest heights, and so on.

        The working set grows convexly with the height of a tile: where the chord meets the capacity, the tile fits.
        """
        w_limit, h_limit, k_limit = limits
        widths, heights = _cuts(profile.width, w_limit), _cuts(profile.height, h_limit)
        depths = _depths(profile.reductions, k_limit, self.machine.native_width)
        w, k = (grid.ravel() for grid in np.meshgrid(widths, depths, indexing="ij"))
        found = [(w, fitting, k) for fitting in self._fitting(costs, w, k, h_limit, heights, is_height=True)]
        h, k = (grid.ravel() for grid in np.meshgrid(heights, depths, indexing="ij"))
        found += [(fitting, h, k) for fitting in self._fitting(costs, h, k, w_limit, widths, is_height=False)]
        w, h, k = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        return w, h, k

    def _fitting(
        self, costs: Costs, across: Integers, k: Integers, limit: int, even: Integers, *, is_height: bool
    ) -> Iterator[Integers]:
        """Yield the largest length that fits, and the largest one that cuts the axis evenly."""

        def peak(length: int) -> NDArray[np.float64]:
            along = np.full_like(k, length)
            w, h = (across, along) if is_height else (along, across)
            return costs.peaks(w, h, k)

        low, high = peak(1), peak(limit)
        room = np.maximum(self.machine.capacity - low, 0)
        length = 1 + np.floor((limit - 1) * np.minimum(room / np.maximum(high - low, 1e-9), 1.0)).astype(np.int64)
        yield length
        if limit > 1:
            yield even[np.searchsorted(even, length, side="right") - 1]

    def _evaluate(
        self, profile: Profile, costs: Costs, w: Integers, h: Integers, k: Integers
    ) -> tuple[float, list[tuple[int, int, int]]] | None:
        """Return the best latency and the best granularities, best first; of equal ones the largest."""
        price, steps = costs.prices(w, h, k)
        fits = np.isfinite(price) & self._allowed(profile, w, h, k)
        for most in _MOST_STEPS:
            if (fits & (steps <= most)).any():
                fits &= steps <= most
                break
        else:
            return None
        latency = np.where(fits, price, np.inf)
        ranked = np.lexsort((-(w * h * k), np.round(latency, 6)))[:_REFINED]
        chosen = [(int(w[i]), int(h[i]), int(k[i])) for i in ranked if np.isfinite(latency[i])]
        return float(latency[ranked[0]]), chosen

    def _allowed(self, profile: Profile, w: Integers, h: Integers, k: Integers) -> NDArray[np.bool_]:
        """Return where the rule on Pointwise operators that feed a MatMul is kept."""
        allowed = np.ones(len(k), dtype=np.bool_)
        if not self.rules.prologues_are_whole:
            return allowed
        sides = (
            (profile.left_prologue, w, profile.width, self.machine.native_width),
            (profile.right_prologue, h, profile.height, self.machine.native_height),
        )
        for reduction, tile, length, most in sides:
            # A tile as long as the output may be called longer.
            wide = tile >= min(length, reduction) if reduction <= most else False
            allowed &= (k >= reduction) | wide
        return allowed

    def _finish(self, profile: Profile, costs: Costs, size: Granularity) -> Execution:
        """Return the execution with the best traversal order for one granularity."""
        steps = costs.at(size)
        rows, columns = steps.rows, steps.columns
        if self.rules.prologues_are_whole:
            w = max(size.w, profile.left_prologue) if size.k < profile.left_prologue else size.w
            h = max(size.h, profile.right_prologue) if size.k < profile.right_prologue else size.h
            size = Granularity(w, h, size.k)
        best = Execution(steps.isolated(), size, None)
        if rows * columns == 1 or rows * columns > _MOST_TILES:
            return best
        clipped = profile.height % size.h or profile.width % size.w
        for serpentine in ALL if clipped and rows * columns <= 1 << 12 else PLAIN:
            moves = moves_of(serpentine.order(rows, columns), rows, columns)
            latency = steps.total(moves)
            if latency < best.latency * (1 - 1e-12):
                best = Execution(latency, size, serpentine)
        return best


def _cuts(length: int, limit: int) -> Integers:
    """Return lengths of tiles up to ``limit``, ascending from 1: those that cut the axis evenly, and powers of two.

    >>> _cuts(10, 6).tolist()
    [1, 2, 3, 4, 5, 6]
    """
    fewest = -(-length // limit)
    counts = np.unique(np.concatenate([np.arange(fewest, fewest + 24), fewest * np.array(_CUTS)]))
    powers = 1 << np.arange(limit.bit_length())
    values = np.unique(np.concatenate([-(-length // counts), powers, [1, limit]]))
    return values[values <= limit].astype(np.int64)


def _depths(lengths: tuple[int, ...], limit: int, native: int) -> Integers:
    """Return lengths of reduction steps: evenly cut, powers of two, multiples of the native one."""
    if not lengths:
        return np.ones(1, dtype=np.int64)
    values = {limit, *(1 << power for power in range(limit.bit_length())), *(native << power for power in range(12))}
    for length in lengths:
        fewest = -(-length // limit)
        values |= {-(-length // (fewest * cut)) for cut in _CUTS}
    return np.array(sorted(value for value in values if 1 <= value <= limit), dtype=np.int64)


def _line(value: int, limit: int) -> Integers:
    """Return every length up to ``limit`` where those are few, otherwise those around ``value``."""
    if limit <= 256:
        return np.arange(1, limit + 1, dtype=np.int64)
    around = np.unique(np.clip(np.round(value * np.geomspace(0.5, 2, 129)).astype(np.int64), 1, limit))
    nearby = np.clip(np.arange(value - 32, value + 33), 1, limit)
    return np.unique(np.concatenate([around, nearby]))
