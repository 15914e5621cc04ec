"""Sums of one statement in a certificate: their terms, and what has to hold of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import islpy as isl

from shorthaul.affine.check.data_flow import OnDomain, Reads, equal_coordinates
from shorthaul.affine.check.execution import fixed
from shorthaul.core.errors import InputError


@dataclass(frozen=True)
class Terms(OnDomain):
    """Terms, the loops ``positions`` that tell those of one sum apart, and term -> the one before."""

    domain: isl.Set
    positions: tuple[int, ...]
    before: isl.UnionMap
    spill: isl.UnionSet
    given: Mapping[str, Any]

    @property
    def last(self) -> isl.UnionSet:
        """The terms that no other one of their sum reads."""
        return self.points.subtract(self.before.range())

    def kept(self, *left_out: Sequence[int]) -> list[int]:
        """Return the coordinates that are not ``left_out``."""
        taken = {at for group in left_out for at in group}
        return [at for at in range(self.domain.dim(isl.dim_type.set)) if at not in taken]

    def alike(self, coordinates: Sequence[int]) -> isl.UnionMap:
        """Return the pairs of terms with equal ``coordinates``."""
        pairs = isl.UnionMap.from_map(equal_coordinates(self.domain, coordinates))
        return pairs.intersect_domain(self.points).intersect_range(self.points)


def terms_of(given: Mapping[str, Any], reads: Reads) -> Terms:
    """Return the terms in a certificate; raises :class:`InputError` where they do not fit the graph."""
    (name,) = map(str, given["statements"])
    domain, positions = isl.Set(str(given["domain"])), tuple(map(int, given["positions"]))
    item = Terms(domain, positions, isl.UnionMap(str(given["before"])), isl.UnionSet(str(given["spill"])), given)
    if domain.get_tuple_name() != name or not domain.is_subset(reads.domains[name]):
        raise InputError(f"has terms that {name} has not", place="domain")
    return item


def wrong_terms(item: Terms, reads: Reads) -> Iterator[str]:
    """Yield what does not hold of the terms of sums, for all sizes."""
    others = item.kept(item.positions)
    same = item.alike(others)
    if not item.before.is_subset(reads.all.intersect(same)):
        yield "a term does not read another one of its sum"
    if not same.intersect_domain(item.last).intersect_range(item.last).is_subset(item.last.identity()):
        yield "a sum has two last terms"
    if not has_all_pairs(item.domain, item.positions, others):
        yield "sums do not have terms at the same positions"


def has_all_pairs(domain: isl.Set, *groups: Sequence[int]) -> bool:
    """True if the values that two groups of coordinates take occur each with each."""
    one, other = (domain.apply(equal_coordinates(domain, kept)) for kept in groups)
    return bool(one.intersect(other).is_subset(domain))


def wrong_way(points: isl.UnionSet, way: Sequence[isl.UnionMap], reads: Reads) -> Iterator[str]:
    """Yield where a path does not follow reads from every one of some instances."""
    before = points.identity()
    for level in way:
        if not level.is_single_valued() or not level.domain().is_equal(points):
            yield "a path is not from every term"
        if not before.reverse().apply_range(level).is_subset(reads.all):
            yield "a path does not follow reads"
        before = level


def shadow(domain: isl.Set, kept: Sequence[int], sizes: Mapping[str, int]) -> int:
    """Return how many values some coordinates have together at given sizes."""
    here = fixed(domain, sizes)
    for at in reversed(range(domain.dim(isl.dim_type.set))):
        here = here if at in kept else here.project_out(isl.dim_type.set, at, 1)
    return int(here.count_val().to_python())
