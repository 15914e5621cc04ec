"""Sums over two rows of one array, verified from a certificate (lemma of that name)."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import islpy as isl

from shorthaul.affine.check.data_flow import Reads, empty_map, equal_coordinates
from shorthaul.affine.check.execution import fixed
from shorthaul.affine.check.formulas import combined, is_same, value_of
from shorthaul.affine.check.graphs.images import by_name
from shorthaul.core.errors import InputError


@dataclass(frozen=True)
class PairedRows:
    """The certificate, read: terms, how they follow one another, and two paths from each to a value of a row."""

    domain: isl.Set
    positions: tuple[int, ...]
    before: isl.UnionMap
    ways: tuple[tuple[isl.UnionMap, ...], ...]
    orders: int
    own: frozenset[str]  #: statements of vertices on the paths of one term each
    spill: isl.UnionSet
    given: Mapping[str, Any]

    @property
    def points(self) -> isl.UnionSet:
        """All terms."""
        return isl.UnionSet.from_set(self.domain)

    @property
    def last(self) -> isl.UnionSet:
        """The terms that no other one of their sum reads."""
        return self.points.subtract(self.before.range())

    @property
    def sources(self) -> isl.UnionSet:
        """The values of rows."""
        return self.ways[0][-1].range().union(self.ways[1][-1].range())

    @property
    def others(self) -> list[int]:
        """The coordinates that tell which sum a term is of."""
        return [at for at in range(self.domain.dim(isl.dim_type.set)) if at not in self.positions]

    def alike(self, coordinates: Sequence[int]) -> isl.UnionMap:
        """Return the pairs of terms with equal ``coordinates``."""
        pairs = isl.UnionMap.from_map(equal_coordinates(self.domain, coordinates))
        return pairs.intersect_domain(self.points).intersect_range(self.points)


def paired_rows_of(given: Mapping[str, Any], reads: Reads) -> PairedRows:
    """Return the argument in a certificate; raises :class:`InputError` where it does not fit the graph."""
    (name,) = map(str, given["statements"])
    domain, spill = isl.Set(str(given["domain"])), isl.UnionSet(str(given["spill"]))
    ways = tuple(tuple(isl.UnionMap(str(level)) for level in way) for way in given["ways"])
    positions = tuple(map(int, given["positions"]))
    before, own = isl.UnionMap(str(given["before"])), frozenset(map(str, given["own"]))
    item = PairedRows(domain, positions, before, ways, int(given["orders"]), own, spill, given)
    if domain.get_tuple_name() != name or not domain.is_subset(reads.domains[name]):
        raise InputError(f"has terms that {name} has not", place="domain")
    if len(ways) != 2 or not all(ways) or not positions or len({*positions, *item.others}) < len(item.others) + 1:
        raise InputError("does not have two paths and the loops of terms", place="part")
    if not set(positions) < set(range(domain.dim(isl.dim_type.set))):
        raise InputError("does not have sums", place="part")
    return item


def wrong_paired_rows(item: PairedRows, reads: Reads) -> Iterator[str]:
    """Yield what does not hold of the sets and relations of an argument, for all sizes."""
    yield from _wrong_sums(item, reads)
    yield from _wrong_paths(item, reads)
    yield from _wrong_rows(item)


def _wrong_sums(item: PairedRows, reads: Reads) -> Iterator[str]:
    """Yield what does not hold of the terms of sums."""
    same = item.alike(item.others)
    if not item.before.is_subset(reads.all.intersect(same)):
        yield "a term does not read another one of its sum"
    if not same.intersect_domain(item.last).intersect_range(item.last).is_subset(item.last.identity()):
        yield "a sum has two last terms"
    # sums and positions that occur, each with each
    spread = [item.domain.apply(equal_coordinates(item.domain, kept)) for kept in (item.positions, item.others)]
    if not spread[0].intersect(spread[1]).is_subset(item.domain):
        yield "sums do not have terms at the same positions"


def _wrong_paths(item: PairedRows, reads: Reads) -> Iterator[str]:
    """Yield where paths do not follow reads, or a vertex leads to two values, or is own of two terms, or a term."""
    owned, inner = empty_map(), empty_map()
    for way in item.ways:
        before, is_own = item.points.identity(), True
        for level in way:
            if not level.is_single_valued() or not level.domain().is_equal(item.points):
                yield "a path is not from every term"
            if not before.reverse().apply_range(level).is_subset(reads.all):
                yield "a path does not follow reads"
            is_own = is_own and set(by_name(level.range())) <= item.own
            if is_own:
                inner = inner.union(level.reverse())
            else:
                owned = owned.union(level.reverse().apply_range(way[-1]))
            before = level
        if is_own:
            yield "a value of a row is a term's own"
    if not inner.is_single_valued() or not inner.domain().intersect(item.points.union(owned.domain())).is_empty():
        yield "an own vertex is on the paths of two terms, or is a term or another vertex of a path"
    if not owned.is_single_valued():
        yield "a vertex of a path leads to two values of rows"
    if not owned.domain().intersect(item.points).is_empty():
        yield "a vertex of a path is a term"
    if not item.spill.is_equal(item.points.union(owned.domain()).union(inner.domain())):
        yield "the may-spill set is not that of terms and paths"


def _wrong_rows(item: PairedRows) -> Iterator[str]:
    """Yield where the values that terms read are not those of rows, one for each position."""
    ends = [way[-1] for way in item.ways]
    same, place = item.alike(item.others), item.alike(item.positions)
    rows = empty_map()
    for end in ends:
        rows = rows.union(end.reverse().apply_range(same).apply_range(end))
    if not rows.apply_range(rows).is_subset(rows):
        yield "a value is of two rows"
    if not ends[0].apply_range(rows).intersect(ends[1]).is_empty():
        yield "a sum has only one row"
    for one, other in itertools.product(ends, repeat=2):
        if not one.apply_range(other.reverse()).is_subset(place):
            yield "a value is read at two positions"
        if not one.reverse().apply_range(place).apply_range(other).intersect(rows).is_subset(item.sources.identity()):
            yield "a row has two values for one position"
    known = [one.apply_range(other.reverse()) for one, other in itertools.product(ends, repeat=2)]
    if not known[0].intersect(known[3]).is_subset(item.points.identity()):
        yield "two sums have the same rows in the same order"
    if item.orders not in (1, 2) or (item.orders == 1 and not known[1].intersect(known[2]).is_empty()):
        yield "more sums have the same two rows than is said"


def wrong_paired_value(
    item: PairedRows, counts: Callable[[isl.UnionSet], int], sizes: Mapping[str, int], capacities: Sequence[int]
) -> Iterator[str]:
    """Yield numbers that are not what is counted at ``sizes``, or a value that does not follow from them."""
    places = fixed(item.domain, sizes)
    for at in reversed(item.others):
        places = places.project_out(isl.dim_type.set, at, 1)
    known = {"sums_count": counts(item.last), "sources_count": counts(item.sources)}
    if not places.is_empty():  # without terms their number is no matter
        known["length"] = int(places.count_val().to_python())
    for name, number in known.items():
        if not is_same(value_of(str(item.given[name]), sizes), Fraction(number)):
            yield f"{name} is not {number}, which is counted"
    for capacity in capacities:
        yield from wrong_paired_formulas(item, {**sizes, "S": capacity})


def wrong_paired_formulas(item: PairedRows, here: Mapping[str, int]) -> Iterator[str]:
    """Yield if the value at any sizes does not follow from the counts, as their formulas give them."""
    names = ("events", "sums_count", "length", "sources_count")
    T, sums, L, sources = (value_of(str(item.given[name]), here) for name in names)
    capacity, w = here["S"], item.orders
    if not isinstance(T, Fraction) or T.denominator != 1 or T < 1 or not isinstance(L, Fraction):
        yield "the events of a stretch are no whole number"
        return
    whole = w * (3 * T**2 + 2 * capacity * T + capacity**2) / (4 * L**2)
    most = max(whole, L**2 / w + w * (capacity + T) ** 2 / (4 * L**2))
    if not is_same(most, value_of(str(item.given["most_sums"]), here)):
        yield "U does not follow from the counts"
    if not isinstance(sums, Fraction):
        yield "the number of sums is no number"
        return
    value = combined(ast.Sub, T * (ceil(sums / most) - 1), sources)
    if not is_same(value, value_of(str(item.given["value"]), here)):
        yield f"the value does not follow from the counts at {dict(here)}"
