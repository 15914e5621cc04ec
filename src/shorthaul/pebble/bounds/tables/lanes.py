"""Tables whose places have several values, each read along a lane of its own: alignment with affine gaps.

Let the node M(p) of a table with two axes read, for each axis e, a link D(p) that reads M(p - e) and D(p - e); and let
it read M(p - (1, 1)), itself or by way of a link or a helper. Let A be the places of a segment (:mod:`table_cuts`).

**What is moved.** If p is in A and p - e is not, D(p) or D(p - e) was computed before the segment, as M(p - e) was that
reads it, and is read in it. So is M(p - (1, 1)), or what M(p) reads it by, if that place is not in A. If p is in A and
p + e is not, D(p + e) is computed in the segment and M(p + e) reads it later, or D(p + e) reads D(p) later, which is
computed in the segment if p - e is in A; so is M(p), or what is between, for p + (1, 1). All of these are different.

**Sets of places.** Let A have q places, in R1 rows and C1 columns with one each and R2 and C2 with more, and G
diagonals. A line of one place is read once and a line of more is read and left, a diagonal too, so what A reads and
leaves is C1 + R1 + 2 (C2 + R2 + G) at least. And q <= C1 + G C2 and q <= R1 + G R2: so this is 2 q + 2 G at least if G
is 1 or 2, and 4 q / 3 + 6 if it is 3. The places alone on no line are q - C1 - R1 at least. How many can they be? Let
r(x) be the number of ways to write x as a sum of one of C2 and one of G numbers; the min(r(x), t) add up to t (C2 + G -
t) at least (Pollard), so those of all x but the R2 largest do to t (C2 + G - t - R2), with t half of C2 + G - R2: C2 G
- (C2 + G - R2)^2 / 4 + 1 / 4 are left at most. If G <= C2 + R2, these are (C2 + R2) G / 2 - G^2 / 4 + 1 / 4 at most, so
what A reads and leaves is (4 q - 1) / G + 3 G at least, if G >= 4: sqrt(48 q - 12) or more. If G > C2 + R2, they are C2
R2 at most; then it is no less: by the same inequalities for all q up to 48, one by one, and by the first and the last
alone above.

**Letters.** A helper may read M(p - (1, 1)) beside letters: if it was computed before the segment, it is what is read
of the diagonal, and M(p) needs no letters. There are G such at most, or those beyond G are read beside them, so 2
sqrt(q - G) values are left to be read, or q - G if that is less.
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

    >>> least_ends(np.array([4, 30]), has_letters=False, is_helped=False).tolist()
    [10.0, 38.0]
    """
    best = np.full(len(sizes), np.inf)
    for across in range(1, 4 * math.isqrt(int(sizes.max())) + 6):
        if across < 3:
            lines = 2.0 * (sizes + across)
        else:
            lines = (4 * sizes - 1) / across + 3 * across if across > 3 else 4 * sizes / 3 + 6
        left = np.maximum(0, sizes - across) if is_helped else sizes
        spelled = np.minimum(left, 2 * np.sqrt(left)) if is_helped else np.ceil(2 * np.sqrt(left) - _ROUNDING)
        best = np.minimum(best, np.ceil(lines - _ROUNDING) + has_letters * spelled)
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
