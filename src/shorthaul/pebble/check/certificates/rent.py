"""Sums of products by the rent of memory, verified: a price per word and term that covers what terms are computed from.

A slice is the terms of one k: its operands are in no other slice, its terms are of different sums. Stays of operands in
memory are vertices, terms edges: ``rent`` is paid for all stays at each term from their first one to their last. A
slice is cut while terms of others are computed, as often as the rent of the stays that go on pays for their further
vertices. At a term, the sums of up to ``near`` terms on either side in its slice pay rent as well. For those that are
not in memory then, a value is stored and loaded, which is worth more than all terms on one side can lack, unless the
sum begins or ends there. The proof stands in ``bounds/rents.py``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shorthaul.pebble.check.certificates.part import WrongError

FloatArray = npt.NDArray[np.float64]

#: So many terms of a slice are counted one by one, more of them by the best mean.
_MOST_COUNTED = 256
#: Slices that lack terms on one side of a gap at most, beyond which there are always fewer; the most rent and terms.
_MOST_NEAR, _MOST_RENT = 2**20, 1.0
_LEAST_RENT = 1e-5


class Slices(NamedTuple):
    """Sums of products in slices: how many terms and sums, and operands of at least so much weight, what sums weigh.

    ``largest`` is how many terms a slice has at most, ``least`` how many vertices an edge takes at least.
    """

    terms: int
    sums: int
    operands: int
    weight: int
    value: int
    largest: int
    least: float
    is_symmetric: bool


def moved(found: Slices, rooms: int, rent: float, near: int) -> float:
    """Return what is moved beyond inputs and outputs at this rent; raises :class:`WrongError`."""
    if not _LEAST_RENT <= rent <= _MOST_RENT:
        raise WrongError(f"rent must be from {_LEAST_RENT} to {_MOST_RENT}")
    if not 0 <= near <= _MOST_NEAR:
        raise WrongError(f"near must be from 0 to {_MOST_NEAR}")
    lacking = _lacking(near, rent) * found.value
    if lacking > found.value:
        raise WrongError("near: terms lack more than a store pays for")
    few = min(found.largest, _MOST_COUNTED)
    each, last = math.inf, 0.0
    for edges, graph in enumerate(_least_graphs(few, rent, found).tolist(), start=1):
        pairs = sum(edges - apart for apart in range(1, min(near, edges - 1) + 1))
        last = rent * found.value * (edges + 2 * pairs) / edges
        each = min(each, found.weight * graph / edges + last)
    if found.largest > few:  # the least of (1 + rent * beside) / degree
        mean = math.sqrt(2 * rent) + 1.5 * rent if found.is_symmetric else 2 * math.sqrt(rent) + rent
        each = min(each, found.weight * mean + last)
    return found.terms * each - rent * rooms - 2 * found.sums * lacking - found.operands * found.weight


def _lacking(near: int, rent: float) -> float:
    """Return how many units of rent of a sum's value terms on one side of a gap lack at most, in values."""
    most, slices = 0.0, 1
    while near:
        now = rent * (near * slices - rent * near * (near + 1) * slices * (slices - 1) / 2)
        if now < most:
            break
        most, slices = now, slices + 1
    return most


def _least_graphs(edges: int, rent: float, found: Slices) -> FloatArray:
    """Return vertices and their rent for 1..``edges``, by going through how many edges each further vertex has."""
    least = np.full(edges + 1, np.inf)
    best, fewest = least.copy(), np.arange(edges + 1) * found.least
    least[0] = 0.0
    for vertices in range(1, edges + 2):
        further = least.copy()
        for degree in range(1, min(edges, vertices - 1) + 1):
            beside = degree + degree * (degree + 1) / 2 if found.is_symmetric else degree * (degree + 1)
            np.minimum(further[degree:], least[:-degree] + rent * beside, out=further[degree:])
        most = vertices * (vertices - 1) // 2 if found.is_symmetric else vertices * vertices // 4
        further[most + 1 :] = np.inf
        least = further
        np.minimum(best, least + np.maximum(vertices, fewest), out=best)
    return best[1:]
