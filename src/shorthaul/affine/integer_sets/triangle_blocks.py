"""Triangular blocks: every pair of n rows in one block of m rows, so that m rows serve m (m - 1) / 2 pairs at once.

Rows are put into m zones of c, and row v of zone u is called (u, v). Block (p, q) takes the row (u, p + q u mod c) of
every zone u. If no prime below m divides c, two rows of different zones are together in exactly one block: the
difference of their zones is invertible modulo c. Every row is in c blocks. Pairs within one zone are left over
(Beaumont, Eyraud-Dubois, Vérité, Langou: I/O-optimal algorithms for symmetric linear algebra kernels, SPAA 2022).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


#: More rows than this are not listed: sizes of zones are then bounded by what is known on prime numbers.
_MOST_LISTED = 1 << 20
#: From x on there is a prime in [x, x + x / y]: Nagura 1952, Schoenfeld 1976.
_PRIMES = ((25, 5), (2_010_760, 16_597))


def zone_size(rows: int, most: int, width: int = 1) -> float:
    """Return the least c that zones can have: c * m >= rows, no prime below m divides c, for an m up to ``most``.

    With a ``width`` that number of successive rows counts as one, in ``rows`` and in ``most``, and c is in units of
    it. For more than a million rows an integer that is not less, or infinity where none is known.

    >>> zone_size(100, 6), zone_size(4, 6)
    (17, 1)
    """
    rows, most = -(-rows // width), most // width
    if rows <= _MOST_LISTED:
        return int(_sizes(rows, most)[-1])
    least = -(-rows // most)
    widths = [least // y + 1 for x, y in _PRIMES if least >= max(x, most)]
    return least + min(widths) if widths else float("inf")


@lru_cache(maxsize=64)
def _sizes(rows: int, most: int) -> IntArray:
    """Return c for every number of rows from 1 to ``rows``."""
    numbers = np.arange(1, rows + 1)
    # c = 2 with two blocks, or the smallest prime factor p of c allows up to p zones
    factors = _least_factors(2 * rows + 4)
    zones = np.minimum(factors, most)
    zones[1] = most
    reach = np.arange(len(factors)) * zones
    reach[0] = 0
    best = np.maximum.accumulate(reach)
    return np.searchsorted(best, numbers)


@lru_cache(maxsize=64)
def _least_factors(below: int) -> IntArray:
    """Return the smallest prime factor of every number, of 0 and 1 the number itself."""
    result = np.arange(below)
    for at in range(2, int(below**0.5) + 1):
        if result[at] == at:
            multiples = result[at * at :: at]
            multiples[multiples == np.arange(at * at, below, at)] = at
    return result


def largest_gap(rows: int, most: int, slack: Fraction = Fraction(0), width: int = 1) -> Fraction | float:
    """Return the largest c - (1 + slack) n / most over all numbers of rows n from 1 to ``rows``, at least 0.

    For ``width`` see :func:`zone_size`. For more than a million rows a number that is not less; infinite with a width.

    >>> largest_gap(100, 6)
    Fraction(23, 6)
    """
    if rows <= _MOST_LISTED:
        sizes = _sizes(-(-rows // width), most // width)
        larger = np.flatnonzero(np.diff(sizes, prepend=0))  # the first units with zones of a size, where most are left
        share = (1 + slack) / most
        scaled = (
            sizes[larger].astype(object) * share.denominator - (larger.astype(object) * width + 1) * share.numerator
        )
        return max(Fraction(0), Fraction(scaled.max(), share.denominator))
    if width > 1:
        return float("inf")
    gap = Fraction(2 * max(25, most))  # below that a prime is less than twice as large
    for (x, y), (end, _) in zip(_PRIMES, (*_PRIMES[1:], (rows // most + 1, 0)), strict=True):
        if end > x:
            gap = max(gap, (end if slack * y < 1 else x) * (Fraction(1, y) - slack) + 2)
    return gap


def blocks(first: IntArray, second: IntArray, size: int) -> IntArray:
    """Return the block of every pair of rows, numbered from 0; -1 for pairs within one zone of ``size`` rows.

    >>> blocks(np.array([0, 0]), np.array([1, 4]), 3).tolist()
    [-1, 1]
    """
    u, v = first // size, first % size
    s, t = second // size, second % size
    difference = np.abs(u - s)
    inverse = np.zeros(int(difference.max(initial=0)) + 1, dtype=np.int64)
    for step in np.unique(difference[difference > 0]).tolist():
        inverse[step] = pow(step, -1, size) if size > 1 else 0
    slope = (np.sign(s - u) * (t - v) * inverse[difference]) % size
    offset = (v - slope * u) % size
    return np.where(difference > 0, offset * size + slope, -1)
