"""Sums that wait for one another in rows, verified from a certificate (lemma on sums that wait)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import islpy as isl

from shorthaul.affine.check.data_flow import Reads, empty_map, equal_coordinates
from shorthaul.affine.check.execution import fixed
from shorthaul.affine.check.formulas import combined, is_same, value_of
from shorthaul.affine.check.lifetime_argument import follows
from shorthaul.core.errors import InputError


@dataclass(frozen=True)
class WaitingSums:
    """The certificate, read: terms, and relations from terms and last terms."""

    domain: isl.Set
    positions: tuple[int, ...]
    columns: tuple[int, ...]
    before: isl.UnionMap
    factors: tuple[isl.UnionMap, ...]
    tail: tuple[isl.UnionMap, ...]
    reader: isl.UnionMap
    ancestors: isl.UnionMap
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
        """Where the paths of the factors end."""
        return self.factors[-1].range()

    def kept(self, *left_out: Sequence[int]) -> list[int]:
        """Return the coordinates that are not ``left_out``."""
        taken = {at for group in left_out for at in group}
        return [at for at in range(self.domain.dim(isl.dim_type.set)) if at not in taken]

    def alike(self, coordinates: Sequence[int]) -> isl.UnionMap:
        """Return the pairs of terms with equal ``coordinates``."""
        pairs = isl.UnionMap.from_map(equal_coordinates(self.domain, coordinates))
        return pairs.intersect_domain(self.points).intersect_range(self.points)


def waiting_sums_of(given: Mapping[str, Any], reads: Reads) -> WaitingSums:
    """Return the argument in a certificate; raises :class:`InputError` where it does not fit the graph."""
    (name,) = map(str, given["statements"])
    domain = isl.Set(str(given["domain"]))
    positions, columns = (tuple(map(int, given[key])) for key in ("positions", "columns"))
    before, reader, ancestors = (isl.UnionMap(str(given[key])) for key in ("before", "reader", "ancestors"))
    factors, tail = (tuple(isl.UnionMap(str(level)) for level in given[key]) for key in ("factors", "tail"))
    item = WaitingSums(
        domain, positions, columns, before, factors, tail, reader, ancestors, isl.UnionSet(str(given["spill"])), given
    )
    if domain.get_tuple_name() != name or not domain.is_subset(reads.domains[name]):
        raise InputError(f"has terms that {name} has not", place="domain")
    coordinates = [*positions, *columns]
    if (
        not set(coordinates) <= set(item.kept())
        or len(set(coordinates)) < len(coordinates)
        or not (factors and coordinates)
    ):
        raise InputError("does not say which loops are those of terms and rows", place="part")
    return item


def wrong_waiting_sums(item: WaitingSums, reads: Reads) -> Iterator[str]:
    """Yield what does not hold of the sets and relations of an argument, for all sizes."""
    same, row = item.alike(item.kept(item.positions)), item.alike(item.kept(item.positions, item.columns))
    if not item.before.is_subset(reads.all.intersect(same)):
        yield "a term does not read another one of its sum"
    yield from _wrong_lengths(item)
    if not same.intersect_domain(item.last).intersect_range(item.last).is_subset(item.last.identity()):
        yield "a sum has two last terms"
    yield from _wrong_tail(item, reads)
    if not follows(item.ancestors, reads.all):
        yield "the ancestors do not follow from reads"
    ends = row.intersect_domain(item.last).intersect_range(item.last)
    if not item.reader.reverse().apply_range(ends).is_subset(item.ancestors):
        yield "a reader does not come after all sums of its row"
    yield from _wrong_factors(item, row, reads)


def _wrong_lengths(item: WaitingSums) -> Iterator[str]:
    """Yield if the sums do not have terms at the same positions."""
    product = isl.Set.universe(item.domain.get_space())
    for kept in (item.positions, item.kept(item.positions)):
        spread = item.domain
        for at in item.kept(kept):
            spread = spread.project_out(isl.dim_type.set, at, 1).insert_dims(isl.dim_type.set, at, 1)
        product = product.intersect(spread.set_tuple_name(item.domain.get_tuple_name()))
    if not product.is_subset(item.domain):
        yield "sums do not have terms at the same positions"


def _wrong_tail(item: WaitingSums, reads: Reads) -> Iterator[str]:
    """Yield where what follows the last terms is not of one sum each, or does not read what it follows."""
    before, owned = item.last.identity(), item.alike(item.kept(item.positions)).intersect_domain(item.last)
    for level in (*item.tail, item.reader):
        if not level.is_single_valued() or not level.domain().is_equal(item.last):
            yield "something does not follow every last term once"
        if not level.reverse().apply_range(before).is_subset(reads.all):
            yield "what follows a sum does not read it"
        before = level
    for level in item.tail:
        owned = owned.union(level)
    if not owned.reverse().is_single_valued():
        yield "a vertex is of two sums"


def _wrong_factors(item: WaitingSums, row: isl.UnionMap, reads: Reads) -> Iterator[str]:
    """Yield where paths of terms do not follow reads, or two of a row share a vertex."""
    before, every = item.points.identity(), empty_map()
    for level in item.factors:
        if not level.is_single_valued() or not level.domain().is_equal(item.points):
            yield "a path is not from every term"
        if not before.reverse().apply_range(level).is_subset(reads.all):
            yield "a path does not follow reads"
        before, every = level, every.union(level)
    if not every.apply_range(every.reverse()).intersect(row).is_subset(item.points.identity()):
        yield "two terms of a row have a vertex of their paths in common"
    own = item.points
    for level in item.tail:
        own = own.union(level.range())
    if not own.intersect(every.range()).is_empty():
        yield "a vertex of a sum is on a path"
    if not item.spill.is_equal(own.union(every.range())):
        yield "the may-spill set is not that of sums and paths"


def wrong_waiting_value(
    item: WaitingSums, counts: Callable[[isl.UnionSet], int], sizes: Mapping[str, int], capacities: Sequence[int]
) -> Iterator[str]:
    """Yield numbers that are not what is counted at ``sizes``, or a value that does not follow from them."""
    taken = item.kept(item.positions, item.columns)
    rows, places = (_shadow(item.domain, kept, sizes) for kept in (taken, item.positions))
    known = {"sums_count": counts(item.last), "rows_count": rows, "sources_count": counts(item.sources)}
    if places:  # without terms their number is no matter
        known["length"] = places
    for name, number in known.items():
        if not is_same(value_of(str(item.given[name]), sizes), Fraction(number)):
            yield f"{name} is not {number}, which is counted"
    for capacity in capacities:
        yield from wrong_waiting_formulas(item, {**sizes, "S": capacity})


def _shadow(domain: isl.Set, kept: Sequence[int], sizes: Mapping[str, int]) -> int:
    """Return how many values some coordinates have together."""
    here = fixed(domain, sizes)
    for at in reversed(range(domain.dim(isl.dim_type.set))):
        here = here if at in kept else here.project_out(isl.dim_type.set, at, 1)
    return int(here.count_val().to_python())


def wrong_waiting_formulas(item: WaitingSums, here: Mapping[str, int]) -> Iterator[str]:
    """Yield if the value at any sizes does not follow from the counts, as their formulas give them."""
    sums, rows, length, sources = (
        value_of(str(item.given[name]), here) for name in ("sums_count", "rows_count", "length", "sources_count")
    )
    within = combined(ast.Div, combined(ast.Mult, rows, Fraction(2 * here["S"])), length)
    value = combined(ast.Sub, combined(ast.Sub, sums, within), sources)
    if not is_same(value, value_of(str(item.given["value"]), here)):
        yield f"the value does not follow from the counts at {dict(here)}"
