"""The best granularity and traversal order of a subgraph, by its profile."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.cost import StepCosts, step_costs
from shorthaul.tensor.model import Machine, Rules
from shorthaul.tensor.plan import Granularity
from shorthaul.tensor.profile import Profile
from shorthaul.tensor.traversal import ALL, PLAIN, Serpentine, isolated_moves, moves_of, plain_moves

Integers = NDArray[np.int64]

#: Into how many parts an axis is cut, as multiples of the fewest possible.
_CUTS: Final = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64, 128)
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
    >>> from shorthaul.tensor.profile import COLUMNS_EXACT, TILE, LAST, NO_REDUCTION, Charge, Load, Profile
    >>> load = Load(TILE, TILE, LAST, 256, 256, False)
    >>> charge = Charge(TILE, TILE, LAST, 256, 256, 0, NO_REDUCTION)
    >>> profile = Profile(256, 256, (), 0, ((load, 1),), ((charge, 1000.0),), (), (), stored=1, held=0)
    >>> Granularities(Machine(35000, 10, 128, 128), CONTEST).best(profile).latency
    13107.2
    """

    def __init__(self, machine: Machine, rules: Rules) -> None:
        self.machine = machine
        self.rules = rules
        self.known: dict[Profile, Execution | None] = {}

    def best(self, profile: Profile) -> Execution | None:
        """Return the best execution found, None if no granularity fits into fast memory."""
        try:
            return self.known[profile]
        except KeyError:
            found = self.known[profile] = self._search(profile)
            return found

    def _search(self, profile: Profile) -> Execution | None:
        if profile.held >= self.machine.capacity and (profile.loads or profile.shared_loads or profile.stored):
            return None
        machine = self.machine
        native = self.rules.granularity_is_native
        w_limit = min(profile.width, machine.native_width) if native else profile.width
        h_limit = min(profile.height, machine.native_height) if native else profile.height
        k_limit = max(1, min(profile.k_limit, machine.native_width) if native else profile.k_limit)
        widths = _cuts((profile.width,), w_limit, machine.native_width)
        heights = _cuts((profile.height,), h_limit, machine.native_height)
        depths = _cuts(profile.reductions, k_limit, machine.native_width)
        w, h, k = (grid.ravel() for grid in np.meshgrid(widths, heights, depths, indexing="ij"))
        best = self._evaluate(profile, w, h, k)
        if best is None:
            return None
        latency, choices = best
        for w0, h0, k0 in choices:
            centre = (w0, h0, k0)
            for axis in (2, 0, 1, 2):
                limit = (w_limit, h_limit, k_limit)[axis]
                if limit == 1 or (axis == 2 and not profile.reductions):
                    continue
                line = [np.full(0, 0)] * 3
                values = _line(centre[axis], limit)
                line = [values if i == axis else np.full(len(values), centre[i]) for i in range(3)]
                found = self._evaluate(profile, *line)
                if found is not None and found[0] <= latency * 1.02:
                    centre = found[1][0]
                    if found[0] < latency:
                        latency, choices = found[0], [centre]
        return self._finish(profile, Granularity(*choices[0]))

    def _evaluate(
        self, profile: Profile, w: Integers, h: Integers, k: Integers
    ) -> tuple[float, list[tuple[int, int, int]]] | None:
        """Return the best latency and the best granularities, best first; of equal ones the largest."""
        costs = step_costs(profile, self.machine, w, h, k)
        latency = np.where(costs.peak <= self.machine.capacity, self._total(costs), np.inf)
        ranked = np.lexsort((-(w * h * k), np.round(latency, 6)))[:_REFINED]
        if not np.isfinite(latency[ranked[0]]):
            return None
        chosen = [(int(w[i]), int(h[i]), int(k[i])) for i in ranked if np.isfinite(latency[i])]
        return float(latency[ranked[0]]), chosen

    @staticmethod
    def _total(costs: StepCosts) -> NDArray[np.float64]:
        by_rows = costs.total(plain_moves(costs.rows, costs.columns, by_columns=False))
        by_columns = costs.total(plain_moves(costs.rows, costs.columns, by_columns=True))
        return np.minimum(by_rows, by_columns)

    def _finish(self, profile: Profile, size: Granularity) -> Execution:
        """Return the execution with the best traversal order for one granularity."""
        arrays = (np.array([value], dtype=np.int64) for value in (size.w, size.h, size.k))
        costs = step_costs(profile, self.machine, *arrays)
        rows, columns = int(costs.rows[0]), int(costs.columns[0])
        isolated = float(costs.total(isolated_moves(costs.rows, costs.columns))[0])
        best = Execution(isolated, size, None)
        if rows * columns == 1:
            return best
        clipped = profile.height % size.h or profile.width % size.w
        for serpentine in ALL if clipped and rows * columns <= 1 << 16 else PLAIN:
            moves = moves_of(serpentine.order(rows, columns), rows, columns)[..., None]
            latency = float(costs.total(moves)[0])
            if latency < best.latency * (1 - 1e-12):
                best = Execution(latency, size, serpentine)
        return best


def _cuts(lengths: tuple[int, ...], limit: int, native: int) -> Integers:
    """Return lengths up to ``limit``: those that cut the axes evenly, powers of two, multiples of the native one."""
    values = {limit}
    for length in lengths:
        fewest = -(-length // limit)
        cuts = {fewest * cut for cut in _CUTS} | {fewest + 1, fewest + 2, fewest + 3}
        values |= {-(-length // cut) for cut in cuts}
    values |= {native << power for power in range(12)} | {native >> power for power in range(native.bit_length())}
    values |= {1 << power for power in range(limit.bit_length())}
    return np.array(sorted(value for value in values if 1 <= value <= limit), dtype=np.int64)


def _line(value: int, limit: int) -> Integers:
    """Return every length up to ``limit`` where those are few, otherwise those around ``value``."""
    if limit <= 256:
        return np.arange(1, limit + 1, dtype=np.int64)
    around = np.unique(np.clip(np.round(value * np.geomspace(0.5, 2, 129)).astype(np.int64), 1, limit))
    nearby = np.clip(np.arange(value - 32, value + 33), 1, limit)
    return np.unique(np.concatenate([around, nearby]))
