"""Where the tiles of one coordinate begin: loads counted for every origin, where few tiles make that matter.

What is loaded again are the values whose uses lie on both sides of a plane between two tiles. Averaged over origins
there are as many planes as the extent has edges of a tile, but two tiles have one plane between them, and planes are
small near the ends of skewed coordinates. So one coordinate gets its origin by exact counts of the values by their
place along it; in the others loads stay averages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import islpy as isl
import numpy as np
import numpy.typing as npt

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.counting import card

#: Whole numbers of any size.
_Counts = npt.NDArray[np.object_]
_PARAM = isl.dim_type.param


@dataclass(frozen=True)
class Part:
    """Points of the space, each with uses in a box from ``low`` to ``high`` around it; every tile that meets the box
    counts ``weight`` loads of ``array``.
    """

    array: str
    points: isl.Set
    low: tuple[int, ...]
    high: tuple[int, ...]
    weight: int = 1

    @cached_property
    def count(self) -> int:
        """The number of points."""
        return card(self.points).at({})

    def ends(self, at: int) -> tuple[int, int]:
        """Return the least and the largest coordinate of a point."""
        return self.points.dim_min_val(at).to_python(), self.points.dim_max_val(at).to_python()

    def others(self, at: int, tiles: Mapping[int, int]) -> Fraction:
        """Return how many tiles a box meets in all coordinates but ``at``, averaged over their origins."""
        found = Fraction(1)
        for other, edge in tiles.items():
            if other != at:
                found *= 1 + Fraction(self.high[other] - self.low[other], edge)
        return found

    def crossing(self, at: int, first: int, last: int) -> _Counts:
        """Return for p from ``first`` to ``last`` how many boxes have places both below p and not below p along ``at``.

        All boxes lie between ``first`` and ``last``.
        """
        start, end = self.ends(at)
        moved = self.points.insert_dims(_PARAM, 0, 1).set_dim_name(_PARAM, 0, "place")
        line = isl.Set(f"[place] -> {{ [{', '.join(f'y{k}' for k in range(len(self.low)))}] : y{at} = place }}")
        number = card(moved.intersect(line))
        counts = np.array([0, *(number.at({"place": value}) for value in range(start, end + 1))], dtype=object)
        below = counts.cumsum()  # points at places before start + k

        def before(places: npt.NDArray[np.int64]) -> _Counts:
            return below[np.clip(places - start, 0, len(counts) - 1)]

        planes = np.arange(first, last + 1)
        crossing: _Counts = before(planes - self.low[at]) - before(planes - self.high[at])
        return crossing


class Grid:
    """The loads of ``parts`` for every origin of the tiles of the coordinate ``at``."""

    def __init__(self, parts: Sequence[Part], at: int) -> None:
        self.parts, self.at = parts, at
        ends = [part.ends(at) for part in parts]
        self.first = min(low + part.low[at] for (low, _), part in zip(ends, parts, strict=True))
        self.last = max(high + part.high[at] for (_, high), part in zip(ends, parts, strict=True))
        self._crossing: list[_Counts] = []

    def edges(self, near: int) -> list[int]:
        """Return edges that cut the extent into about as many tiles as edges ``near`` do."""
        extent = self.last - self.first + 1
        number = -(-extent // near)
        found = {-(-extent // count) - less for count in range(max(1, number - 3), number + 3) for less in range(3)}
        return sorted(edge for edge in found if edge > 0)

    def best(self, tiles: Mapping[int, int]) -> tuple[int, dict[str, Any]]:
        """Return the origin with the fewest loads, and these loads by array."""
        if not self._crossing:
            for part in self.parts:
                effort.step()
                self._crossing.append(part.crossing(self.at, self.first, self.last))
        edge = tiles[self.at]
        factors = [part.weight * part.others(self.at, tiles) for part in self.parts]
        lines = [float(factor) * line.astype(float) for factor, line in zip(factors, self._crossing, strict=True)]
        whole = np.sum(lines, axis=0)
        padded = np.concatenate([whole, np.zeros(-len(whole) % edge)]).reshape(-1, edge)
        place = int(padded.sum(axis=0).argmin())  # planes at first + place, edge after edge
        loads: dict[str, Any] = {}
        for part, factor, line in zip(self.parts, factors, self._crossing, strict=True):
            found = factor * (part.count + sum(line[place::edge].tolist()))
            loads[part.array] = loads.get(part.array, 0) + found
        return -(self.first + place) % edge, loads
