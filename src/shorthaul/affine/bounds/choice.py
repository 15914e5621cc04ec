"""The choice of several sub-bounds with disjoint may-spill sets (Olivry et al. 2020, Section 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import islpy as isl
import sympy

from shorthaul.affine.bounds.partition.candidates import Candidate, Instance, candidate
from shorthaul.affine.bounds.partition.k_partition import partition
from shorthaul.affine.effort import limited
from shorthaul.affine.integer_sets.counting import LongFormulaError
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.tuning import MOST_IN_VAIN, PARTITION_OPERATIONS


@dataclass(frozen=True, slots=True)
class Fixed:
    """An argument that is no K-partition.

    ``worths`` is its value at each instance, ``count`` gives its formulas, ``value`` what it is worth at sizes;
    ``less`` what is left of it where vertices are taken by another one; without it that is nothing.
    """

    item: Any
    worths: tuple[float, ...]
    count: Callable[[], SubBound]
    value: Callable[[Mapping[str, int]], float] | None = None
    less: Callable[[isl.UnionSet], Fixed | None] = lambda _: None

    @property
    def spill(self) -> isl.UnionSet:
        """The vertices whose loads are counted."""
        spill: isl.UnionSet = self.item.spill
        return spill

    def worth(self, at: int) -> float:
        """Return what the argument is worth at the instance ``at``."""
        return self.worths[at]

    def most_at(self, sizes: Mapping[str, int]) -> float:
        """Return what the argument is worth at ``sizes``; one made for them may be worth a little more."""
        return number_at(self.count().value, sizes) if self.value is None else self.value(sizes)


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of argument: ``find`` yields all of a program, ``count`` turns one into its formulas.

    ``has_value`` tells that arguments have a method ``at(sizes)``; otherwise the formula gives their value. ``rest``
    gives what is left of one without some vertices.
    """

    find: Callable[[DataFlow], Iterator[Any]]
    count: Callable[[Any, DataFlow], SubBound]
    has_value: bool = True
    rest: Callable[[Any, isl.UnionSet, DataFlow], Any] | None = None

    def arguments(self, flow: DataFlow, where: tuple[Instance, ...]) -> Iterator[Fixed]:
        """Yield the arguments of a program with their values at the instances."""
        sizes = [item.sizes(flow.program.parameters) for item in where]
        yield from filter(None, (self._fixed(item, flow, sizes) for item in self.find(flow)))

    def _fixed(self, item: Any, flow: DataFlow, sizes: Sequence[dict[str, int]]) -> Fixed | None:
        """Return an argument with its values, None where its formula is too long to have one."""
        count = cache(partial(self.count, item, flow))
        if self.has_value:
            worths = [item.at(at) for at in sizes]
        else:
            try:
                worths = [number_at(count().value, at) for at in sizes]
            except LongFormulaError:
                return None

        def less(taken: isl.UnionSet) -> Fixed | None:
            left = None if self.rest is None else self.rest(item, taken, flow)
            return None if left is None else self._fixed(left, flow, sizes)

        return Fixed(item, tuple(worths), count, item.at if self.has_value else None, less)


def combinations(
    pool: Sequence[Candidate | Fixed], flow: DataFlow, where: tuple[Instance, ...], *, symmetric: bool
) -> tuple[list[SubBound], list[tuple[int, ...]]]:
    """Return sub-bounds, and by position which of them add up: for every instance the best ones of the pool."""
    parts: dict[tuple[str, str, sympy.Expr], SubBound] = {}
    sums: list[set[int]] = []
    for at in range(len(where)):
        chosen = set()
        for item in _combine(pool, flow, at, symmetric=symmetric):
            key = (item.method, item.domain, item.value)
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
    taken = isl.UnionSet("{ }")
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
                bound = item.count()
                if bound is not None:
                    chosen.append(bound)
                    taken = taken.union(item.spill).coalesce()
            else:
                less = _remainder(item, taken, flow, symmetric=symmetric)
                if less is not None and less.worth(at) > value / 100:
                    waiting.append(less)
        except isl.Error:
            continue
    return chosen


@dataclass(frozen=True, slots=True)
class _Row:
    """An argument with what it is worth at most: one of the pool, or a sub-bound as it is counted."""

    most: float
    item: Candidate | Fixed | None
    bound: SubBound | None

    @property
    def spill(self) -> isl.UnionSet:
        """The vertices whose loads are counted."""
        found = self.bound if self.bound is not None else self.item
        assert found is not None
        return found.spill


def combined_at(
    pool: Sequence[Candidate | Fixed],
    made: Sequence[tuple[float, SubBound]],
    flow: DataFlow,
    sizes: Mapping[str, int],
    exact: Callable[[SubBound], tuple[float, SubBound]],
    times: float,
    least: float,
) -> list[tuple[float, SubBound]]:
    """Return sub-bounds with disjoint may-spill sets and their values, that are worth as much as is found at ``sizes``.

    These are ``made``, and those of the pool as ``exact`` gives them; what is worth ``least`` or less does not matter.
    An argument of the pool counts ``times``. The best ones are taken one after the other, and what these have left of
    others. The formulas of an argument are made when nothing else can be worth more.
    """
    rows = [_Row(value, None, bound) for value, bound in made]
    rows += [_Row(times * item.most_at(sizes), item, None) for item in pool]
    waiting = [row for row in rows if row.most > least]
    taken = isl.UnionSet("{ }")
    chosen: list[tuple[float, SubBound]] = []
    in_vain = 0
    while waiting:
        waiting.sort(key=lambda row: -row.most)
        row = waiting.pop(0)
        if row.most <= least:
            continue
        try:
            if not row.spill.intersect(taken).is_empty():
                if isinstance(row.item, Fixed) and in_vain == MOST_IN_VAIN:
                    continue
                if row.item is not None and row.most > 10 * least:
                    less = _remainder(row.item, taken, flow, symmetric=True)
                    most = 0.0 if less is None else times * less.most_at(sizes)
                    in_vain = in_vain if isinstance(row.item, Candidate) else 0 if most > least else in_vain + 1
                    waiting += [] if less is None else [_Row(most, less, None)]
            elif row.bound is not None:
                chosen.append((row.most, row.bound))
                taken = taken.union(row.bound.spill).coalesce()
            elif row.item is not None and (counted := row.item.count()) is not None:
                value, bound = exact(counted)
                waiting.append(_Row(value, row.item, bound))
        except isl.Error:
            continue
    return chosen


def _remainder(
    item: Candidate | Fixed, taken: isl.UnionSet, flow: DataFlow, *, symmetric: bool
) -> Candidate | Fixed | None:
    """Return the argument without the instances that touch ``taken``, None where it does not hold any more."""
    if isinstance(item, Fixed):
        return item.less(taken)
    with limited(PARTITION_OPERATIONS):
        again = partition(item.argument.parts, taken, symmetric=symmetric)
    if again is None or not again.spill.intersect(taken).is_empty():
        return None
    return candidate(again, flow, item.instances)
