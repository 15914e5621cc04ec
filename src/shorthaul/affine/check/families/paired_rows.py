"""Sums over two rows of one array, verified from a certificate (lemma of that name)."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import islpy as isl

from shorthaul.affine.check.data_flow import Reads, empty_map
from shorthaul.affine.check.families.terms import Terms, shadow, terms_of, wrong_terms, wrong_way
from shorthaul.affine.check.formulas import combined, events_of, is_same, other_counts, other_value, value_of
from shorthaul.affine.check.graphs.images import by_name
from shorthaul.core.errors import InputError


@dataclass(frozen=True)
class PairedRows(Terms):
    """The certificate, read: terms with two paths from each to a value of a row."""

    ways: tuple[tuple[isl.UnionMap, ...], ...]
    orders: int
    own: frozenset[str]  #: statements of vertices on the paths of one term each

    @property
    def sources(self) -> isl.UnionSet:
        """The values of rows."""
        return self.ways[0][-1].range().union(self.ways[1][-1].range())


def paired_rows_of(given: Mapping[str, Any], reads: Reads) -> PairedRows:
    """Return the argument in a certificate; raises :class:`InputError` where it does not fit the graph."""
    ways = tuple(tuple(isl.UnionMap(str(level)) for level in way) for way in given["ways"])
    terms = terms_of(given, reads)
    item = PairedRows(**vars(terms), ways=ways, orders=int(given["orders"]), own=frozenset(map(str, given["own"])))
    others = item.kept(item.positions)
    if len(ways) != 2 or not all(ways) or not item.positions or len({*item.positions, *others}) < len(others) + 1:
        raise InputError("does not have two paths and the loops of terms", place="part")
    if not set(item.positions) < set(item.kept()):
        raise InputError("does not have sums", place="part")
    return item


def wrong_paired_rows(item: PairedRows, reads: Reads) -> Iterator[str]:
    """Yield what does not hold of the sets and relations of an argument, for all sizes."""
    yield from wrong_terms(item, reads)
    yield from _wrong_paths(item, reads)
    yield from _wrong_rows(item)


def _wrong_paths(item: PairedRows, reads: Reads) -> Iterator[str]:
    """Yield where paths do not follow reads, or a vertex leads to two values, or is own of two terms, or a term."""
    owned, inner = empty_map(), empty_map()
    for way in item.ways:
        yield from wrong_way(item.points, way, reads)
        is_own = True
        for level in way:
            is_own = is_own and set(by_name(level.range())) <= item.own
            if is_own:
                inner = inner.union(level.reverse())
            else:
                owned = owned.union(level.reverse().apply_range(way[-1]))
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
    same, place = item.alike(item.kept(item.positions)), item.alike(item.positions)
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
    item: PairedRows, counts: Callable[[isl.UnionSet], int], sizes: Mapping[str, int]
) -> Iterator[str]:
    """Yield numbers that are not what is counted at ``sizes``."""
    known = {"sums_count": counts(item.last), "sources_count": counts(item.sources)}
    if places := shadow(item.domain, item.positions, sizes):  # without terms their number is no matter
        known["length"] = places
    yield from other_counts(item.given, known, sizes)


def wrong_paired_formulas(item: PairedRows, here: Mapping[str, int]) -> Iterator[str]:
    """Yield if the value at any sizes does not follow from the counts, as their formulas give them."""
    names = ("sums_count", "length", "sources_count")
    T, (sums, L, sources) = events_of(item.given, here), (value_of(str(item.given[name]), here) for name in names)
    capacity, w = here["S"], item.orders
    if not isinstance(sums, Fraction) or not isinstance(L, Fraction):
        yield "the number of sums or of their terms is no number"
        return
    whole = w * (3 * T**2 + 2 * capacity * T + capacity**2) / (4 * L**2)
    most = max(whole, L**2 / w + w * (capacity + T) ** 2 / (4 * L**2))
    if not is_same(most, value_of(str(item.given["most_sums"]), here)):
        yield "U does not follow from the counts"
    value = combined(ast.Sub, T * (ceil(sums / most) - 1), sources)
    yield from other_value(item.given, value, here)
