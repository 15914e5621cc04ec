"""Tables whose places have several values, each read along a lane of its own: alignment with affine gaps.

Let the node M(p) of a table with two axes read, for each axis e, a link D(p) that reads M(p - e) and D(p - e); and let
it read M(p - (1, 1)), itself or by way of a link or a helper. Let A be the places of a segment (:mod:`table_cuts`).

**What is moved.** If p is in A and p - e is not, D(p) or D(p - e) was computed before the segment, as M(p - e) was that
reads it, and is read in it. So is M(p - (1, 1)), or what M(p) reads it by, if that place is not in A. If p is in A and
p + e is not, D(p + e) is computed in the segment and M(p + e) reads it later, or D(p + e) reads D(p) later, which is
computed in the segment if p - e is in A; so is M(p), or what is between, for p + (1, 1). All of these are different.

**Sets of places.** Let A have q places, m of them on lines along an axis on which no two of A follow one another: each
of these is read once there. The others meet R rows, C columns and G diagonals, so what A reads and leaves is m + 2 (R +
C + G) at least. How many are they? Let r(x) be the number of ways to write x as a sum of one of C and one of G numbers;
then the min(r(x), t) add up to t (C + G - t) at least (Pollard), so those of all x but the R largest do to t (C + G - t
- R), with t half of C + G - R: C G - (C + G - R)^2 / 4 + 1 / 4 are left at most. So n places have R + C + G >= (2 n - 1
/ 2) / G + 3 G / 2, which is sqrt(12 n - 3) or more. Over all m, the sum is least at m = 0 or m = q.

**Letters.** A helper may read M(p - (1, 1)) beside letters: if it was computed before the segment, it is what is read
of the diagonal, and M(p) needs no letters. There are G such at most, or those beyond G are read beside them, so 2
sqrt(q - G) letters are left, whatever G is.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shorthaul.pebble.bounds.tables.table_search import Table
from shorthaul.pebble.model import Cdag, IntArray

FloatArray = npt.NDArray[np.float64]
Place = tuple[int, int]

_ROUNDING = 1e-6


def least_ends(sizes: IntArray, *, has_letters: bool, is_helped: bool) -> FloatArray:
    """Return what segments of so many places read and leave at least, letters too; shape (sizes,).

    >>> least_ends(np.array([48]), has_letters=False, is_helped=False).tolist()
    [48.0]
    """
    if not (has_letters and is_helped):
        lines: FloatArray = np.minimum(np.ceil(2 * np.sqrt(12 * sizes - 3) - _ROUNDING), sizes + 2)
        lines += np.ceil(2 * np.sqrt(sizes) - _ROUNDING) * has_letters
        return lines
    best: FloatArray = sizes + 2 + 2 * np.sqrt(sizes - 1)
    for diagonals in range(1, 4 * math.isqrt(int(sizes.max())) + 5):
        met = (2 * sizes - 0.5) / diagonals + 1.5 * diagonals
        best = np.minimum(best, 2 * met + 2 * np.sqrt(np.maximum(0, sizes - diagonals)))
    ends: FloatArray = np.ceil(best - _ROUNDING)
    return ends


def lost(cdag: Cdag, table: Table) -> tuple[int, bool]:
    """Return how many values less are read and left than if all lanes were whole, and if helpers read the table."""
    found = _Lanes(cdag, table)
    computed = [place for place, node in found.where.items() if not cdag.given[node]]
    missing = 0
    for place in computed:
        for axis in (0, 1):
            missing += 2 - found.goes_on(place, axis) - found.goes_on(_moved(place, axis, 1), axis)
        missing += 2 - found.reads_across(place) - found.reads_across((place[0] + 1, place[1] + 1))
    return missing, found.is_helped


class _Lanes:
    """The nodes by place, what each reads, and the value of each lane at each place."""

    def __init__(self, cdag: Cdag, table: Table) -> None:
        places = [(int(row), int(column)) for row, column in table.places.tolist()]
        self.where: dict[Place, int] = dict(zip(places, table.nodes.tolist(), strict=True))
        self._owner = dict(table.links.tolist())
        self._helped = dict(table.helpers[:, :2].tolist())
        nodes = (*self.where.values(), *self._owner, *self._helped)
        self._read = {node: set(cdag.parents.neighbours(node).tolist()) for node in nodes}
        self._values: tuple[dict[Place, int], ...] = ({}, {})
        for place, node in self.where.items():
            for axis, values in enumerate(self._values):
                before = self.where.get(_moved(place, axis, -1))
                met = [link for link in self._read[node] if before is not None and self._is_of(link, before)]
                if met:
                    values[place] = min(met)
        self._on_lanes = {value for values in self._values for value in values.values()}
        in_table = set(self.where.values())
        self.is_helped = any(self._read[helper] & in_table for helper in self._helped)

    def _is_of(self, link: int, node: int) -> bool:
        return self._owner.get(link) == node and node in self._read[link]

    def goes_on(self, place: Place, axis: int) -> bool:
        """Tell whether the value of a place reads that of the place before."""
        values, before = self._values[axis], _moved(place, axis, -1)
        return place in values and before in values and values[before] in self._read[values[place]]

    def reads_across(self, place: Place) -> bool:
        """Tell whether a place reads the one before it on both axes, itself or by way of what no lane has."""
        reader, before = self.where.get(place), self.where.get((place[0] - 1, place[1] - 1))
        if reader is None or before is None:
            return False
        if before in self._read[reader]:
            return True
        links = [link for link in self._read[reader] if self._is_of(link, before) and link not in self._on_lanes]
        helpers = [value for value in self._read[reader] if self._helped.get(value) == reader]
        return bool(links) or any(before in self._read[helper] for helper in helpers)


def _moved(place: Place, axis: int, by: int) -> Place:
    return (place[0] + by, place[1]) if axis == 0 else (place[0], place[1] + by)
