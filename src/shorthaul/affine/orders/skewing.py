"""Skewed coordinates for stencils: covectors along which no dependence points backwards, chosen for large tiles.

Boxes in the coordinates n_k . y are legal tiles if every dependence distance d has n_k . d >= 0. Along each covector a
statement may be shifted by itself, as fields on staggered grids want it: half a step, which no placement in whole loops
has. A tile of edges b_k over all coordinates but one, marched along that one, loads sum_k A_k / b_k values, where A_k
sums over the statements how far along n_k their values are read, and keeps A_D prod b_k / |det n| of them. So the best
edges load (D - 1) (prod A_k / (S |det n|))^(1 / (D - 1)): the best covectors have the largest |det n| / prod A_k. What
is read again in every step, a coefficient, counts in A_k by how far apart these reads are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import gcd

import numpy as np
import numpy.typing as npt

from shorthaul.affine.orders.chains import chain_steps, placed
from shorthaul.affine.orders.placement import Placement, Read, Row
from shorthaul.affine.tuning import MOST_COVECTORS, MOST_SKEWS

#: Entries of covectors are tried up to this size, by number of coordinates.
_LARGEST_ENTRY = {2: 2, 3: 2, 4: 1}


@dataclass(frozen=True, slots=True)
class Distance:
    """A constant distance from an instance of ``source`` to one of ``sink`` that reads what it computes."""

    source: str
    sink: str
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Covector:
    """A coordinate: ``entries``, what is added by statement, and how far values are read along it, in all."""

    entries: tuple[int, ...]
    shifts: Mapping[str, int]
    reach: int


def skewed_placements(
    placement: Placement, reads: Sequence[Read], kept: Sequence[Distance] = ()
) -> Iterator[Placement]:
    """Return ``placement`` in the best skewed coordinates for the uniform dependences among its statements.

    Along none of the distances ``kept`` do coordinates lead back either.
    """
    width = len(next(iter(placement.values())))
    distances = uniform_distances(placement, reads)
    if width not in _LARGEST_ENTRY or len({item.steps for item in (*distances, *kept)}) < 2:
        return
    made = {item.array for item in reads if item.source in placement}
    again = {(item.source, item.array): (item, placement[item.sink]) for item in reads if item.array not in made}
    steps = [placed(rows, *step) for item, rows in again.values() if len(step := chain_steps(item, rows)) == 1]
    for chosen in best_covectors(distances, width, kept, steps):
        yield {
            name: tuple(Row(item.entries, (), item.shifts.get(name, 0)).after(places) for item in chosen)
            if places[0].factors
            else tuple(places)
            for name, places in placement.items()
        }


def uniform_distances(placement: Placement, reads: Sequence[Read]) -> tuple[Distance, ...]:
    """Return the constant distances between a computed value and an instance that reads it."""
    found = set()
    for item in reads:
        if item.source is None or item.source not in placement or item.rows is None:
            continue
        steps = [
            here.plus(there.after(item.rows), -1)
            for here, there in zip(placement[item.sink], placement[item.source], strict=True)
            if item.rows
        ]
        if steps and not any(any(step.factors) or step.parameters for step in steps):
            found.add(Distance(item.source, item.sink, tuple(step.constant for step in steps)))
    return tuple(sorted(found, key=lambda item: (item.steps, item.source, item.sink)))


def best_covectors(
    distances: Sequence[Distance], width: int, kept: Sequence[Distance] = (), again: Sequence[tuple[int, ...]] = ()
) -> list[tuple[Covector, ...]]:
    """Return the sets of ``width`` independent covectors with the largest tiles, best first, of mirror images one.

    In ``again`` is for each array that is read in every step how far apart these reads are.

    >>> [item.entries for item in best_covectors([Distance("S", "S", (1, 0)), Distance("S", "S", (0, 1))], 2)[0]]
    [(0, 1), (1, 0)]
    """
    most = _LARGEST_ENTRY[width]
    tried = (item for item in product(range(-most, most + 1), repeat=width) if gcd(*item) == 1)
    found = [item for entries in tried if (item := shifted(entries, distances, kept)) is not None and item.reach]
    found.sort(key=lambda item: (item.reach / np.linalg.norm(item.entries), sum(map(abs, item.entries))))
    found = found[:MOST_COVECTORS]
    chosen = list(combinations(range(len(found)), width))
    if not chosen:
        return []
    vectors = np.array([item.entries for item in found], dtype=np.float64)
    steps = np.array(again, dtype=np.float64).reshape(-1, width)
    reach = np.array([item.reach for item in found], dtype=np.float64) + np.abs(vectors @ steps.T).sum(axis=1)
    at = np.array(chosen)
    volume: npt.NDArray[np.float64] = np.abs(np.linalg.det(vectors[at])) / reach[at].prod(axis=1)
    simple = np.abs(vectors[at]).sum(axis=(1, 2))
    result: dict[str, tuple[Covector, ...]] = {}
    for place in np.lexsort((simple, -np.round(volume, 9))).tolist():
        if volume[place] > 1e-9 and len(result) < MOST_SKEWS:
            own = tuple(found[k] for k in chosen[place])
            result.setdefault(f"{volume[place]:.9f} {kind(item.entries for item in own)}", own)
    return [*result.values()]


def moved(placement: Placement) -> tuple[tuple[Row, ...], ...]:
    """Return a placement moved so that its first statement begins at 0: two that differ by a move are one order.

    >>> moved({"S": (Row((1,), (), 2),), "T": (Row((1,), (), 3),)})
    ((Row(factors=(1,), parameters=(), constant=0),), (Row(factors=(1,), parameters=(), constant=1),))
    """
    first = next(iter(placement.values()))
    return tuple(
        tuple(replace(row, constant=row.constant - base.constant) for row, base in zip(rows, first, strict=True))
        for rows in placement.values()
    )


def kind(covectors: Iterable[Sequence[int]]) -> str:
    """Return what mirror images of covectors have in common."""
    return str(sorted(sorted(map(abs, item)) for item in covectors))


def shifted(entries: tuple[int, ...], distances: Sequence[Distance], kept: Sequence[Distance] = ()) -> Covector | None:
    """Return a covector with the least shifts along which no distance points backwards; None where none do.

    Values are read along ``distances`` only; those ``kept`` besides do not count in how far.
    """
    every = (*distances, *kept)
    along = [sum(a * b for a, b in zip(entries, item.steps, strict=True)) for item in every]
    shifts = {name: 0 for item in every for name in (item.source, item.sink)}
    for _ in range(len(shifts) + 1):
        late = shifts.copy()
        for item, length in zip(every, along, strict=True):
            late[item.sink] = max(late[item.sink], late[item.source] - length)
        if late == shifts:
            break
        shifts = late
    else:
        return None
    reach = dict.fromkeys(shifts, 0)
    for item, length in zip(distances, along[: len(distances)], strict=True):
        reach[item.source] = max(reach[item.source], length + shifts[item.sink] - shifts[item.source])
    return Covector(entries, shifts, sum(reach.values()))
