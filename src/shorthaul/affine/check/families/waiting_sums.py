"""Sums that wait for one another in rows, verified from a certificate (lemma on sums that wait)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import islpy as isl

from shorthaul.affine.check.data_flow import OnDomain, Reads, equal_coordinates, union_of_maps
from shorthaul.affine.check.families.terms import Terms, has_all_pairs, shadow, terms_of, wrong_terms, wrong_way
from shorthaul.affine.check.formulas import combined, other_counts, other_value, value_of
from shorthaul.affine.check.lifetime_argument import follows
from shorthaul.core.errors import InputError


@dataclass(frozen=True)
class Use(OnDomain):
    """The users of sums in a certificate: relations from last terms, and from users (``factors``)."""

    later: tuple[isl.UnionMap, ...]
    users: isl.UnionMap
    domain: isl.Set
    positions: tuple[int, ...]
    factors: tuple[isl.UnionMap, ...]


@dataclass(frozen=True)
class WaitingSums(Terms):
    """The certificate, read: terms, and relations from terms and last terms."""

    columns: tuple[int, ...]
    factors: tuple[isl.UnionMap, ...]
    tail: tuple[isl.UnionMap, ...]
    reader: isl.UnionMap
    ancestors: isl.UnionMap
    use: Use | None

    @property
    def sources(self) -> isl.UnionSet:
        """Where the paths of the factors end."""
        ends = self.factors[-1].range()
        return ends.union(self.use.factors[-1].range()) if self.use else ends

    @property
    def values(self) -> tuple[isl.UnionMap, ...]:
        """From last terms to the further vertices of their sums."""
        return (*self.tail, self.reader, *self.use.later) if self.use else self.tail


def waiting_sums_of(given: Mapping[str, Any], reads: Reads) -> WaitingSums:
    """Return the argument in a certificate; raises :class:`InputError` where it does not fit the graph."""
    columns = tuple(map(int, given["columns"]))
    reader, ancestors = (isl.UnionMap(str(given[key])) for key in ("reader", "ancestors"))
    factors, tail = (tuple(isl.UnionMap(str(level)) for level in given[key]) for key in ("factors", "tail"))
    terms, use = vars(terms_of(given, reads)), _use_of(given["use"], reads)
    item = WaitingSums(
        **terms, columns=columns, factors=factors, tail=tail, reader=reader, ancestors=ancestors, use=use
    )
    coordinates = [*item.positions, *columns]
    if (
        not set(coordinates) <= set(item.kept())
        or len(set(coordinates)) < len(coordinates)
        or not (factors and coordinates)
    ):
        raise InputError("does not say which loops are those of terms and rows", place="part")
    return item


def _use_of(given: Mapping[str, Any] | None, reads: Reads) -> Use | None:
    if given is None:
        return None
    later, factors = (tuple(isl.UnionMap(str(level)) for level in given[key]) for key in ("later", "factors"))
    domain, positions = isl.Set(str(given["domain"])), tuple(map(int, given["positions"]))
    if (
        not factors
        or not set(positions) <= set(range(domain.dim(isl.dim_type.set)))
        or not domain.is_subset(reads.domains[domain.get_tuple_name()])
    ):
        raise InputError("does not say which instances use sums", place="use")
    return Use(later, isl.UnionMap(str(given["users"])), domain, positions, factors)


def wrong_waiting_sums(item: WaitingSums, reads: Reads) -> Iterator[str]:
    """Yield what does not hold of the sets and relations of an argument, for all sizes."""
    yield from wrong_terms(item, reads)
    yield from _wrong_tail(item, reads)
    if not follows(item.ancestors, reads.all):
        yield "the ancestors do not follow from reads"
    row = item.alike(item.kept(item.positions, item.columns))
    ends = row.intersect_domain(item.last).intersect_range(item.last)
    if not item.reader.reverse().apply_range(ends).is_subset(item.ancestors):
        yield "a reader does not come after all sums of its row"
    yield from _wrong_factors(item, row, reads)
    if item.use is not None:
        yield from _wrong_use(item.use, item, ends, reads)


def _wrong_tail(item: WaitingSums, reads: Reads) -> Iterator[str]:
    """Yield where what follows the last terms is not of one sum each, or does not read what it follows."""
    before, owned = item.last.identity(), item.alike(item.kept(item.positions)).intersect_domain(item.last)
    for level in (*item.tail, item.reader, *(item.use.later if item.use else ())):
        if not level.is_single_valued() or not level.domain().is_equal(item.last):
            yield "something does not follow every last term once"
        if not level.reverse().apply_range(before).is_subset(reads.all):
            yield "what follows a sum does not read it"
        before = level
    for level in item.values:
        owned = owned.union(level)
    if not owned.reverse().is_single_valued():
        yield "a vertex is of two sums"


def _wrong_factors(item: WaitingSums, row: isl.UnionMap, reads: Reads) -> Iterator[str]:
    """Yield where paths of terms do not follow reads, or two of a row share a vertex."""
    yield from wrong_way(item.points, item.factors, reads)
    every = union_of_maps(item.factors)
    if not every.apply_range(every.reverse()).intersect(row).is_subset(item.points.identity()):
        yield "two terms of a row have a vertex of their paths in common"
    own, paths = item.points.union(union_of_maps(item.values).range()), every.range()
    if item.use is not None:
        used = union_of_maps(item.use.factors).range()
        if not used.intersect(paths).is_empty():
            yield "a term and a user have a vertex of their paths in common"
        paths = paths.union(used)
    if not own.intersect(paths).is_empty():
        yield "a vertex of a sum is on a path"
    if not item.spill.is_equal(own.union(paths)):
        yield "the may-spill set is not that of sums and paths"


def _wrong_use(use: Use, item: WaitingSums, ends: isl.UnionMap, reads: Reads) -> Iterator[str]:
    """Yield where users do not read their sums, are not as many for each, or share a vertex in a row."""
    others = [at for at in range(use.domain.dim(isl.dim_type.set)) if at not in use.positions]
    user = use.users.reverse()
    if not user.is_single_valued() or not user.domain().is_equal(use.points) or not user.range().is_equal(item.last):
        yield "a user is not of one sum, or a sum has none"
    if not user.apply_range(item.values[-1]).is_subset(reads.all):
        yield "a user does not read its sum"
    alike = isl.UnionMap.from_map(equal_coordinates(use.domain, others))
    alike = alike.intersect_domain(use.points).intersect_range(use.points)
    if not has_all_pairs(use.domain, use.positions, others) or not alike.is_subset(user.apply_range(use.users)):
        yield "sums do not have users at the same positions"
    yield from wrong_way(use.points, use.factors, reads)
    every = union_of_maps(use.factors)
    row = user.apply_range(ends).apply_range(use.users)
    if not every.apply_range(every.reverse()).intersect(row).is_subset(use.points.identity()):
        yield "two users of a row have a vertex of their paths in common"


def wrong_waiting_value(
    item: WaitingSums, counts: Callable[[isl.UnionSet], int], sizes: Mapping[str, int]
) -> Iterator[str]:
    """Yield numbers that are not what is counted at ``sizes``."""
    rows = shadow(item.domain, item.kept(item.positions, item.columns), sizes)
    known = {"sums_count": counts(item.last), "rows_count": rows, "sources_count": counts(item.sources)}
    if places := shadow(item.domain, item.positions, sizes):  # without terms their number is no matter
        known["length"] = places
    known["users_count"] = 0 if item.use is None else shadow(item.use.domain, item.use.positions, sizes)
    yield from other_counts(item.given, known, sizes)


def wrong_waiting_formulas(item: WaitingSums, here: Mapping[str, int]) -> Iterator[str]:
    """Yield if the value at any sizes does not follow from the counts, as their formulas give them."""
    names = ("sums_count", "rows_count", "length", "users_count", "sources_count")
    sums, rows, length, users, sources = (value_of(str(item.given[name]), here) for name in names)
    within = combined(ast.Div, combined(ast.Mult, rows, Fraction(here["S"])), combined(ast.Add, length, users))
    value = combined(ast.Sub, combined(ast.Sub, sums, within), sources)
    yield from other_value(item.given, value, here)
