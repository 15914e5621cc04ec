"""Rows that are read whole, verified from a certificate: who reads what, and that a column passes its steps one by one.

Sets and relations are verified for all sizes by isl, what the instances weigh and how many vertices are read by
counting at some sizes, width by width, and the value from these numbers in exact fractions.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import islpy as isl

from shorthaul.affine.check.data_flow import OnDomain, Reads
from shorthaul.affine.check.execution import fixed
from shorthaul.affine.check.formulas import combined, events_of, least_events, other_counts, other_value, value_of
from shorthaul.affine.check.lifetime_argument import follows
from shorthaul.affine.check.partition_points import counted
from shorthaul.core.errors import InputError

_LINES = ("apart", "crossing", "same", "narrowing")
#: Up to which size, and at how many, the ends of pieces of the weight are looked at.
_MOST_LIMIT, _LIMITS = 1_000, 12


@dataclass(frozen=True)
class WholeRows(OnDomain):
    """The certificate, read; ``places`` leads from (column, step) to the places there."""

    domain: isl.Set
    axes: tuple[int, int, int]
    onward: int
    delay: int
    reads: tuple[isl.UnionMap, isl.UnionMap]
    ranges: tuple[tuple[int, int, int], ...]
    numbers: Mapping[str, int]
    spill: isl.UnionSet
    places: isl.Map
    given: Mapping[str, Any]

    @property
    def pairs(self) -> isl.Set:
        """The columns with their steps."""
        return self.places.domain()

    @property
    def widths(self) -> isl.Map:
        """(Column, step) -> the number of its places, which have no gaps."""
        ends = self.places.lexmin().flat_range_product(self.places.lexmax())
        return ends.apply_range(isl.Map("{ [first, last] -> [last - first + 1] }"))

    def placed(self, *kept: int) -> isl.UnionMap:
        """Return instance -> some of its column (0), step (1) and place (2)."""
        values = ", ".join(f"i{self.axes[at]}" for at in kept)
        return isl.UnionMap(f"{{ {self.domain.get_tuple_name()}[i0, i1, i2] -> [{values}] }}")


def whole_rows_of(given: Mapping[str, Any], reads: Reads) -> WholeRows:
    """Return the argument in a certificate; raises :class:`InputError` where it does not fit the graph."""
    (name,) = map(str, given["statements"])
    domain, axes = isl.Set(str(given["domain"])), tuple(map(int, given["axes"]))
    if (
        domain.get_tuple_name() != name
        or not domain.is_subset(reads.domains[name])
        or domain.dim(isl.dim_type.set) != 3
    ):
        raise InputError(f"has instances that {name} has not, or not three loops", place="domain")
    if sorted(axes) != [0, 1, 2] or given["lines"] not in _LINES or int(given["onward"]) not in (1, -1):
        raise InputError("does not name column, step and place, or lines as the lemma does", place="axes")
    column, row, place = axes
    first, second = (isl.UnionMap(str(item)) for item in given["reads"])
    apart = isl.Map(f"{{ {name}[i0, i1, i2] -> [[i{column}, i{row}] -> [i{place}]] }}")
    return WholeRows(
        domain,
        (column, row, place),
        int(given["onward"]),
        int(given["delay"]),
        (first, second),
        tuple((int(start), int(far), int(width)) for start, far, width in given["ranges"]),
        {key: int(given[key]) for key in ("least", "most", "rim", "largest_memory")},
        isl.UnionSet(str(given["spill"])),
        domain.apply(apart).unwrap(),
        given,
    )


def wrong_rows(item: WholeRows, reads: Reads) -> Iterator[str]:
    """Yield what does not hold of the sets and relations of an argument, for all sizes."""
    for axis, one in enumerate(item.reads):
        if not one.domain().is_equal(item.points) or not one.is_subset(reads.all):
            yield f"line {axis}: an instance reads nothing on it, or what it does not read"
        if not one.reverse().apply_range(item.placed(axis, 2)).is_single_valued():
            yield f"line {axis}: a vertex is on two lines, or at two places of one"
    if not item.spill.is_equal(item.reads[0].range().union(item.reads[1].range())):
        yield "the may-spill set is not that of the vertices of the lines"
    yield from _wrong_steps(item, reads)
    yield from _wrong_widths(item)
    yield from _wrong_lines(item)


def _wrong_steps(item: WholeRows, reads: Reads) -> Iterator[str]:
    """Yield where an instance is no ancestor of its column some steps later, or a column has gaps."""
    ancestors = isl.UnionMap(str(item.given["ancestors"]))
    if item.delay < 1 or not follows(ancestors, reads.all):
        yield "the ancestors do not follow from reads"
    # any number of steps from the delay on is a sum of such below twice the delay, and no step between is empty
    until = 2 * item.delay - 1
    later = isl.UnionMap(f"{{ [c, t] -> [c, u] : {item.delay} <= {item.onward} * (u - t) <= {until} }}")
    at = item.placed(0, 1).intersect_domain(item.points)
    if not at.apply_range(later).apply_range(at.reverse()).is_subset(ancestors.reverse()):
        yield "an instance does not come after all of its column so many steps before"
    above, below = (item.pairs.apply(isl.Map(f"{{ [c, t] -> [c, u] : u {sign} t }}")) for sign in "><")
    if not above.intersect(below).is_subset(item.pairs):
        yield "a column is left out in a step between two others"


def _wrong_widths(item: WholeRows) -> Iterator[str]:
    """Yield where places have gaps, are fewer than said, or become more from step to step by more than said."""
    up = item.places.lexmin().apply_range(isl.Map("{ [k] -> [l] : l >= k }"))
    if not up.intersect(item.places.lexmax().apply_range(isl.Map("{ [k] -> [l] : l <= k }"))).is_equal(item.places):
        yield "the places of a column in a step have gaps"
    least, rim = item.numbers["least"], item.numbers["rim"]
    if least < 1 or item.numbers["most"] < 1 or not item.widths.range().is_subset(isl.Set(f"{{ [w] : w >= {least} }}")):
        yield f"a column has fewer than {least} places in a step"
    nearby = isl.Map(f"{{ [c, t] -> [c, u] : -{item.delay} <= t - u <= {item.delay} }}")
    more = item.widths.reverse().apply_range(nearby).apply_range(item.widths)
    if rim < 0 or not more.is_subset(isl.Map(f"{{ [w] -> [v] : v <= w + {rim} }}")):
        yield f"a step has more than {rim} places more than one nearby"


def _wrong_lines(item: WholeRows) -> Iterator[str]:
    """Yield where lines of columns and of steps have more in common than is said."""
    columns, steps = (one.reverse() for one in item.reads)
    kind = item.given["lines"]
    met = columns.apply_range(item.placed(0)).range_product(steps.apply_range(item.placed(1)))
    if kind == "apart" and not met.is_empty():
        yield "a vertex is on the line of a column and on that of a step"
    if kind == "crossing" and not met.is_injective():
        yield "lines of a column and of a step have two common vertices"
    if kind == "narrowing":
        number = isl.Map("{ [c, t] -> [b, s] : s = c }")
        wider = item.widths.reverse().apply_range(number).apply_range(item.widths)
        if not wider.is_subset(isl.Map("{ [w] -> [v] : w <= v }")):
            yield "a column is wider at a step than another one is at the step of its number"
    if kind in ("same", "narrowing"):
        common = columns.apply_range(item.placed(0, 2)).reverse().apply_range(steps.apply_range(item.placed(1, 2)))
        if not common.is_subset(isl.UnionMap("{ [x, k] -> [x, k] }")):
            yield "a vertex is on lines of a column and of a step with different numbers, or at different places"
        yield from _wrong_triples(item)


def _wrong_triples(item: WholeRows) -> Iterator[str]:
    """Yield where three lines may be pairs of a column and a step each, within what a segment holds."""
    if not any(item.pairs.is_subset(isl.Set(f"{{ [c, t] : c {sign} t }}")) for sign in "<>"):
        yield "a column comes after some of its steps and before others"
    starts = [start for start, _, _ in item.ranges]
    if not item.ranges or starts != sorted(starts):
        yield "the ranges of steps are not in order"
        return
    for number, (start, far, width) in enumerate(item.ranges):
        after = f"s >= {start}" if number else "s = s"
        until = f"s < {starts[number + 1]}" if number + 1 < len(starts) else "s = s"
        if width * (far + 2 - 2 * item.delay) <= item.numbers["largest_memory"]:
            yield f"range {number}: three lines may be joined that far away"
        from_here = item.pairs.intersect(isl.Set(f"{{ [c, s] : {after} }}"))
        if not item.widths.intersect_domain(from_here).range().is_subset(isl.Set(f"{{ [w] : w >= {width} }}")):
            yield f"range {number}: a column has fewer than {width} places in a step"
        # column c at steps u and l, column u at step l
        both = isl.Map(
            f"{{ [u, l] -> [s] : {after} and {until} and -{far} <= u - l <= {far} and "
            "((s = l and l <= u) or (s = u and u < l)) }"
        ).domain()
        rows = item.pairs.apply(isl.Map("{ [c, t] -> [[c] -> [t]] }")).unwrap()
        twice = rows.range_product(rows).range().unwrap()
        if not twice.wrap().flatten().intersect(both).intersect(item.pairs).is_empty():
            yield f"range {number}: three lines are pairs of a column and a step each"


# -- the numbers


def sizes_at_limits(item: WholeRows, names: list[str]) -> list[dict[str, int]]:
    """Return sizes near those at which one piece of the weight's formula ends, all the same."""
    limits = map(int, re.findall(r"(?:[<>]=? |Eq\(\w+, )(\d+)", str(item.given["weight"])))
    found = sorted({max(1, at + near) for at in limits if at <= _MOST_LIMIT for near in (-1, 0, 1)})
    return [dict.fromkeys(names, at) for at in found[:_LIMITS]]


def wrong_rows_counts(item: WholeRows, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield if the instances do not weigh what is said at ``sizes``, or if more vertices are read."""
    weight, widths = 0, item.widths
    values = fixed(widths.range(), sizes)
    if not values.is_empty():
        first, last = (int(end.to_python()) for end in (values.dim_min_val(0), values.dim_max_val(0)))
        for width in range(first, last + 1):
            many = fixed(widths.intersect_range(isl.Set(f"{{ [{width}] }}")).domain(), sizes).count_val()
            weight += int(many.to_python()) * width * min(width, item.numbers["most"])
    yield from other_counts(item.given, {"weight": weight}, sizes)
    yield from other_counts(item.given, {"sources_count": counted(item.spill, sizes)}, sizes, at_least=True)


def wrong_rows_formulas(item: WholeRows, here: Mapping[str, int]) -> Iterator[str]:
    """Yield if the value at any sizes does not follow from the counts, as their formulas give them."""
    events = events_of(item.given, here)
    weight, sources = (value_of(str(item.given[name]), here) for name in ("weight", "sources_count"))
    segments = combined(ast.Div, weight, most_weight(item, here["S"] + events))
    value = combined(ast.Sub, least_events(item.given["events"], events, segments, here["S"]), sources)
    yield from other_value(item.given, value, here)


def most_weight(item: WholeRows, K: Fraction) -> Fraction:
    """Return what the instances of a segment with K vertices weigh at most."""
    w, q = Fraction(item.numbers["least"]), Fraction(item.numbers["least"] ** 2)
    wider, under_way = 1 + item.numbers["rim"] / w, 2 * item.delay

    def of_both(times: Fraction) -> Fraction:
        both = wider * times * K + partial
        return both**2 / (4 * wider * times)

    partial = Fraction(under_way * item.numbers["most"])
    if item.given["lines"] == "apart":
        return max(wider * K**2 / 4, partial * K)
    if item.given["lines"] in ("same", "narrowing"):
        joined = Fraction(0) if item.numbers["largest_memory"] >= K else wider * K**2 / 2 + partial * K
        pairs = of_both(Fraction(1))
        if item.given["lines"] == "narrowing":
            pairs = min(pairs, max(wider * K**2 / 4, partial * K) + partial**2 / wider)
        return max(pairs, joined)
    few = of_both(q / max(q - 2 * K / 3, q / 3)) + under_way * wider * (2 * K / 3) ** 2 / w
    if 7 * q <= 9 * K:
        return max(few, wider * (K**2 + under_way * K**2 / w) + partial * K)
    return max(few, wider * (2 * K**2 * q / (9 * (q - K)) + under_way * K**2 / w) + partial * K / 3)
