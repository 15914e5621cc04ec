"""Sums that are used on lines, verified from a certificate: what it says beside an argument on finished sums."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import islpy as isl

from shorthaul.affine.check.data_flow import Reads
from shorthaul.affine.check.execution import fixed
from shorthaul.affine.check.formulas import Number, combined, is_same, value_of
from shorthaul.affine.check.partition_inequalities import (
    FinishedSums,
    finished_sums_of,
    wrong_sum_formulas,
    wrong_sum_value,
    wrong_sums,
)
from shorthaul.affine.check.subspaces import across, spanned
from shorthaul.core.errors import InputError


def used_sums_of(given: Mapping[str, Any], reads: Reads) -> FinishedSums:
    """Return the argument in a certificate; raises :class:`InputError` where it does not fit the program."""
    item = finished_sums_of(given, reads)
    chains = None if item.reading is None else item.reading.chains
    if chains != (True,) or len(item.terms.chains) != 2 or given["rows"] not in (0, 1):
        raise InputError("does not have one family of chains beside sums of two families of terms", place="part")
    return item


def wrong_use(item: FinishedSums, reads: Reads) -> Iterator[str]:
    """Yield where sums, lines, rows and places are not as the lemma has them, for all sizes."""
    yield from wrong_sums(item, reads)
    row = item.ends.apply_range(_of_terms(item, int(item.given["rows"])))
    line, place = _line(item), _places(item)
    if not line.reverse().apply_range(place).is_single_valued():
        yield "a line needs sums of two places"
    if not row.range_product(line).is_injective():
        yield "a line has two instances of one row"


def _line(item: FinishedSums) -> isl.UnionMap:
    assert item.reading is not None
    return item.reading.parts[0].placed(item.reading.classes(0))


def _places(item: FinishedSums) -> isl.UnionMap:
    return item.ends.apply_range(_of_terms(item, 1 - int(item.given["rows"])))


def _of_terms(item: FinishedSums, family: int) -> isl.UnionMap:
    """Return term -> its class in a family, that of all terms of its sum together."""
    width = item.terms.width
    along = [[int(at == one) for at in range(width)] for one in item.positions]
    both = spanned([*map(list, item.terms.kernels[family]), *along])
    return item.terms.parts[0].placed(across(both, width))


def wrong_lines_at(
    item: FinishedSums, counts: Callable[[isl.UnionSet], int], sizes: Mapping[str, int]
) -> Iterator[str]:
    """Yield numbers that are not what is counted at ``sizes``, or more lines of a place than the certificate says."""
    yield from wrong_sum_value(item, counts, sizes)
    places: dict[tuple[int, ...], set[tuple[int, ...]]] = defaultdict(set)
    maps: list[isl.Map] = []
    _places(item).reverse().apply_range(_line(item)).foreach_map(maps.append)
    for relation in maps:
        width = relation.dim(isl.dim_type.in_)
        pairs = fixed(relation.wrap().flatten(), sizes)
        points: list[isl.Point] = []
        pairs.foreach_point(points.append)
        for point in points:
            values = [
                point.get_coordinate_val(isl.dim_type.set, at).to_python() for at in range(pairs.dim(isl.dim_type.set))
            ]
            places[tuple(values[:width])].add(tuple(values[width:]))
    most = max(map(len, places.values()), default=0)
    given = value_of(str(item.given["lines"]), sizes)  # more only lower the bound
    if not is_same(given, Fraction(most)) and given < most:
        yield f"a place has {most} lines, not {item.given['lines']}"


def most_used(item: FinishedSums, K: Fraction, length: Fraction, here: Mapping[str, int]) -> tuple[Number, Number]:
    """Return the two numbers of the lemma: all sums are computed, or all are loaded."""
    lines = value_of(str(item.given["lines"]), here)
    over = combined(ast.Mult, 4 * length, combined(ast.Add, length, lines))
    computed = combined(ast.Div, combined(ast.Mult, K**2, lines), over)
    return computed, combined(ast.Mult, lines, K)


#: Yield if the value does not follow from the counts at some sizes.
wrong_used_formulas = partial(wrong_sum_formulas, most=most_used)
