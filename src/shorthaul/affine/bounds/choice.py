"""The choice of several sub-bounds with disjoint may-spill sets (Olivry et al. 2020, Section 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from shorthaul.affine.bounds.partition.candidates import EFFORT, Candidate, Instance, candidate, counted, nothing
from shorthaul.affine.bounds.partition.k_partition import Partition, partition, sets_of
from shorthaul.affine.dependences import DataFlow
from shorthaul.affine.integer_sets.effort import limited
from shorthaul.affine.proofs.proof import SubBound

#: Sets in more pieces than this have formulas that nobody reads.
_MOST_PIECES = 12


@dataclass(frozen=True, slots=True)
class Fixed:
    """A finished sub-bound and what it is worth at the instances."""

    bound: SubBound
    worths: Sequence[float]

    def worth(self, at: int) -> float:
        """Return what the argument is worth at the instance ``at``."""
        return self.worths[at]


def combinations(
    pool: Sequence[Candidate | Fixed], flow: DataFlow, where: tuple[Instance, ...], *, symmetric: bool
) -> tuple[list[SubBound], list[tuple[int, ...]]]:
    """Return sub-bounds, and by position which of them add up: for every instance the best ones of the pool."""
    parts: dict[tuple[str, str, str], SubBound] = {}
    sums: list[set[int]] = []
    for at in range(len(where)):
        chosen = set()
        for item in _combine(pool, flow, at, symmetric=symmetric):
            key = (item.method, item.domain, str(item.value))
            parts.setdefault(key, item)
            chosen.add(list(parts).index(key))
        sums.append(chosen)
    kept = [item for at, item in enumerate(sums) if not any(item < other for other in sums) and item not in sums[:at]]
    return list(parts.values()), [tuple(sorted(item)) for item in kept]


def _combine(pool: Sequence[Candidate | Fixed], flow: DataFlow, at: int, *, symmetric: bool) -> list[SubBound]:
    """Return sub-bounds with disjoint may-spill sets: the best of the pool, then the best of what is left of the rest.

    An argument that meets a chosen one is tried again without the instances that touch the vertices taken.
    """
    taken = nothing()
    chosen: list[SubBound] = []
    waiting = list(pool)
    while waiting:
        waiting.sort(key=lambda item: -item.worth(at))
        item = waiting.pop(0)
        value = item.worth(at)
        if value <= 0:
            break
        spill = item.argument.spill if isinstance(item, Candidate) else item.bound.spill
        if spill.intersect(taken).is_empty():
            bound = _counted_cheaply(item.argument, flow) if isinstance(item, Candidate) else item.bound
            if bound is None:
                continue
            chosen.append(bound)
            taken = taken.union(spill).coalesce()
        elif isinstance(item, Candidate):
            try:
                with limited(EFFORT):
                    limit = item.argument.exponents.limit
                    again = partition(item.argument.parts, taken, symmetric=symmetric, limited_by=limit)
            except isl.Error:
                continue
            if again is not None and again.spill.intersect(taken).is_empty():
                less = candidate(again, flow, item.instances)
                if less.worth(at) > value / 100:
                    waiting.append(less)
    return chosen


def _counted_cheaply(argument: Partition, flow: DataFlow) -> SubBound | None:
    """Return the counted argument, or None where its sets are in too many pieces for a formula anybody reads."""
    sets = [*(part.domain for part in argument.parts), *sets_of(argument.sources)]
    if sum(item.n_basic_set() for item in sets) > _MOST_PIECES:
        return None
    try:
        with limited(20 * EFFORT):
            return counted(argument, flow)
    except isl.Error:
        return None
