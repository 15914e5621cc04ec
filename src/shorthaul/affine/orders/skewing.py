"""Skewed coordinates for stencils: covectors along which no dependence points backwards, chosen for large tiles.

If every dependence distance d has 0 <= n_k . d <= m_k, boxes in the coordinates n_k . y are legal tiles. A tile of
edges m_k b over all coordinates but one, marched along that one, loads about (D - 1)/b values per instance and keeps
b^(D - 1) prod m_k / |det n|: the best covectors have the largest |det n| / prod m_k.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from math import gcd

import numpy as np
import numpy.typing as npt

from shorthaul.affine.orders.placement import Placement, Read, Row
from shorthaul.affine.tuning import MOST_COVECTORS, MOST_SKEWS

#: Entries of covectors are tried up to this size, by number of coordinates.
_LARGEST_ENTRY = {2: 2, 3: 2, 4: 1}


def skewed_placements(placement: Placement, reads: Sequence[Read]) -> Iterator[Placement]:
    """Return ``placement`` in the best skewed coordinates for the uniform dependences among its statements."""
    width = len(next(iter(placement.values())))
    distances = uniform_distances(placement, reads)
    if width not in _LARGEST_ENTRY or len(distances) < 2:
        return
    for rows in best_covectors(distances, width):
        yield {
            name: tuple(Row(row).after(places) for row in rows) if places[0].factors else tuple(places)
            for name, places in placement.items()
        }


def uniform_distances(placement: Placement, reads: Sequence[Read]) -> tuple[tuple[int, ...], ...]:
    """Return the constant distances between a computed value and an instance that reads it."""
    found = set()
    for item in reads:
        if item.source not in placement or item.rows is None:
            continue
        steps = [
            here.plus(there.after(item.rows), -1)
            for here, there in zip(placement[item.sink], placement[item.source or ""], strict=True)
            if item.rows
        ]
        if steps and not any(any(step.factors) or step.parameters for step in steps):
            found.add(tuple(step.constant for step in steps))
    return tuple(sorted(found))


def best_covectors(distances: Sequence[Sequence[int]], width: int) -> list[tuple[tuple[int, ...], ...]]:
    """Return the sets of ``width`` independent covectors with the largest tiles, best first.

    >>> best_covectors([(1, 0), (0, 1)], 2)[0]
    ((0, 1), (1, 0))
    """
    most = _LARGEST_ENTRY[width]
    steps = np.array(distances, dtype=np.int64)
    found: list[tuple[int, tuple[int, ...]]] = []
    for entries in product(range(-most, most + 1), repeat=width):
        along = steps @ np.array(entries)
        if gcd(*entries) == 1 and along.min() >= 0 and along.max() > 0:
            found.append((int(along.max()), entries))
    found.sort(key=lambda item: (item[0] / np.linalg.norm(item[1]), sum(map(abs, item[1]))))
    found = found[:MOST_COVECTORS]
    chosen = list(combinations(range(len(found)), width))
    if not chosen:
        return []
    vectors = np.array([entries for _, entries in found], dtype=np.float64)
    reach = np.array([value for value, _ in found], dtype=np.float64)
    at = np.array(chosen)
    volume: npt.NDArray[np.float64] = np.abs(np.linalg.det(vectors[at])) / reach[at].prod(axis=1)
    simple = np.abs(vectors[at]).sum(axis=(1, 2))
    ranked = np.lexsort((simple, -np.round(volume, 9)))
    return [tuple(found[k][1] for k in chosen[place]) for place in ranked[:MOST_SKEWS].tolist() if volume[place] > 1e-9]
