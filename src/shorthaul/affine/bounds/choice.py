"""The choice of several sub-bounds with disjoint may-spill sets (Olivry et al. 2020, Section 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import islpy as isl

from shorthaul.affine.bounds.partition.candidates import Candidate, Instance, candidate, empty_union, sub_bound
from shorthaul.affine.bounds.partition.k_partition import Partition, partition
from shorthaul.affine.bounds.partition.parts import sets_of
from shorthaul.affine.effort import limited
from shorthaul.affine.integer_sets.counting import LongFormulaError
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.tuning import MOST_FORMULA_PIECES, PARTITION_OPERATIONS


@dataclass(frozen=True, slots=True)
class Fixed:
    """An argument that stands as it is: none of it is left where its vertices are taken by another one.

    ``worths`` is its value at each instance, ``count`` gives its formulas.
    """

    item: Any
    worths: tuple[float, ...]
    count: Callable[[], SubBound]

    @property
    def spill(self) -> isl.UnionSet:
        """The vertices whose loads are counted."""
        spill: isl.UnionSet = self.item.spill
        return spill

    def worth(self, at: int) -> float:
        """Return what the argument is worth at the instance ``at``."""
        return self.worths[at]


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of argument: ``find`` yields all of a program, ``count`` turns one into its formulas.

    ``has_value`` tells that arguments have a method ``at(sizes)``; otherwise the formula gives their value.
    """

    find: Callable[[DataFlow], Iterator[Any]]
    count: Callable[[Any, DataFlow], SubBound]
    has_value: bool = True

    def arguments(self, flow: DataFlow, where: tuple[Instance, ...]) -> Iterator[Fixed]:
        """Yield the arguments of a program with their values at the instances."""
        sizes = [item.sizes(flow.program.parameters) for item in where]
        for item in self.find(flow):
            count = cache(partial(self.count, item, flow))
            if self.has_value:
                worths = [item.at(at) for at in sizes]
            else:
                try:
                    worths = [number_at(count().value, at) for at in sizes]
                except LongFormulaError:
                    continue
            yield Fixed(item, tuple(worths), count)


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

    An argument that meets a chosen one is tried again without the instances that touch the vertices taken. Where the
    search ends, the sub-bounds chosen so far are returned.
    """
    taken = empty_union()
    chosen: list[SubBound] = []
    waiting = list(pool)
    while waiting:
        waiting.sort(key=lambda item: -item.worth(at))
        item = waiting.pop(0)
        value = item.worth(at)
        if value <= 0:
            break
        try:
            if item.spill.intersect(taken).is_empty():
                bound = _counted(item, flow)
                if bound is not None:
                    chosen.append(bound)
                    taken = taken.union(item.spill).coalesce()
            elif isinstance(item, Candidate):
                less = _remainder(item, taken, flow, symmetric=symmetric)
                if less is not None and less.worth(at) > value / 100:
                    waiting.append(less)
        except isl.Error:
            continue
    return chosen


def _remainder(item: Candidate, taken: isl.UnionSet, flow: DataFlow, *, symmetric: bool) -> Candidate | None:
    """Return the argument without the instances that touch ``taken``, None where it does not hold any more."""
    with limited(PARTITION_OPERATIONS):
        limit = item.argument.exponents.limit
        again = partition(item.argument.parts, taken, symmetric=symmetric, limited_by=limit)
    if again is None or not again.spill.intersect(taken).is_empty():
        return None
    return candidate(again, flow, item.instances)


def _counted(item: Candidate | Fixed, flow: DataFlow) -> SubBound | None:
    """Return the argument as formulas, or None where its sets are in too many pieces for a formula anybody reads."""
    if isinstance(item, Fixed):
        return item.count()
    argument: Partition = item.argument
    sets = [*(part.domain for part in argument.parts), *sets_of(argument.sources)]
    if sum(item.n_basic_set() for item in sets) > MOST_FORMULA_PIECES:
        return None
    with limited(20 * PARTITION_OPERATIONS):
        return sub_bound(argument, flow)
