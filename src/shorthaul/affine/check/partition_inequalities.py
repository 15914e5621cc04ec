"""Lemmas that take the place of exponents, or go with them, verified: hourglasses, mirrored triangles, finished sums.

Steps, places and columns have to be what the lemma says, and one instance has to follow on another; of a triangle, the
statements lie on both sides of the diagonal, and what serves one instance serves the mirrored one of the other.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, reduce
from typing import Any

import islpy as isl

from shorthaul.affine.check.data_flow import Reads, equal_coordinates, union_of_maps, union_of_sets
from shorthaul.affine.check.execution import fixed
from shorthaul.affine.check.families.line_ends import weight_beside_ends
from shorthaul.affine.check.families.terms import shadow
from shorthaul.affine.check.formulas import (
    Number,
    as_decimal,
    combined,
    events_of,
    floor,
    is_same,
    least_events,
    other_counts,
    other_value,
    power,
    value_of,
)
from shorthaul.affine.check.lifetime_argument import follows
from shorthaul.affine.check.partition_argument import Argument, Part, argument_of, wrong_for_all_sizes, wrong_path
from shorthaul.affine.check.subspaces import spanned, unmet
from shorthaul.core.errors import InputError


def wrong_neck(item: Argument, reads: Reads) -> Iterator[str]:
    """Yield what does not hold of an argument by the lemma on hourglasses, for all sizes."""
    neck, (part,) = item.given["hourglass"], item.parts
    time, stride = int(neck["time"]), int(neck["stride"])
    places, columns = (list(map(int, neck[name])) for name in ("places", "columns"))
    if sorted([time, *places, *columns]) != list(range(item.width)) or not places or not columns or abs(stride) != 1:
        yield "the coordinates are not those of steps, places and columns"
    unit = [[int(a == b) for b in range(item.width)] for a in range(item.width)]
    if item.kernels != (spanned([unit[time]]), spanned([unit[at] for at in columns])) or item.folds != (1, 1):
        yield "the families are not those of places and columns, and of steps and places"
    if part.order != tuple(range(item.width)) or item.given["cliques"] != [[0, 1]]:
        yield "the families are not added"
    domain = part.domain
    pairs = domain.apply(equal_coordinates(domain, [time, *columns]))
    if not domain.apply(equal_coordinates(domain, [time, *places])).intersect(pairs).is_subset(domain):
        yield "a step has not the same places in all its columns"
    later = equal_coordinates(domain, columns, f"y{time} > x{time}")
    if not pairs.apply(later).intersect(pairs.apply(later.reverse())).is_subset(pairs):
        yield "a column is left out in a step between two others"
    after = (
        equal_coordinates(domain, columns, f"y{time} = x{time} + {stride}")
        .intersect_domain(domain)
        .intersect_range(domain)
    )
    ancestors = isl.UnionMap(str(neck["ancestors"]))
    if not follows(ancestors, reads.all) or not isl.UnionMap.from_map(after.reverse()).is_subset(ancestors):
        yield "an instance is no descendant of its whole column one step before"


def wrong_width(item: Argument, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield if a step has more places than the certificate says, or the instances do not weigh what it says."""
    neck = item.given["hourglass"]
    kind = isl.dim_type.set
    steps: dict[int, set[tuple[int, ...]]] = {}
    points: list[isl.Point] = []
    fixed(item.parts[0].domain, sizes).foreach_point(points.append)
    instances = [[point.get_coordinate_val(kind, at).to_python() for at in range(item.width)] for point in points]
    for one in instances:
        steps.setdefault(one[neck["time"]], set()).add(tuple(one[at] for at in neck["places"]))
    widest = max(map(len, steps.values()), default=0)
    width = value_of(str(neck["width"]), sizes)  # more only lowers the bound
    if not is_same(width, Fraction(widest)) and width < widest:
        yield f"the widest step has {widest} places, not {neck['width']}"
    pairs = [(places, steps[at + 1]) for at, places in steps.items() if at + 1 in steps]
    rim = max((len(one) - len(other) for one, other in pairs), default=0)
    rim = max(rim, 0) + max(0, *(len(other) - len(one) for one, other in pairs), 0)
    if value_of(str(neck["rim"]), sizes) < rim:
        yield f"steps differ from the next ones by {rim} places, not {neck['rim']}"
    weight = sum(len(steps[one[neck["time"]]]) for one in instances)
    if not is_same(value_of(str(neck["weight"]), sizes), Fraction(weight)):
        yield f"the instances weigh {weight}, not {neck['weight']}"


def most_by_columns(item: Argument, sizes: Mapping[str, int], events: Fraction) -> Number:
    """Return U: the most that the instances of one segment of so many events weigh."""
    width, rim = (value_of(str(item.given["hourglass"][name]), sizes) for name in ("width", "rim"))
    if not isinstance(width, Fraction) or not isinstance(rim, Fraction):
        return as_decimal(width)
    K = sizes["S"] + events
    return max((K + rim) ** 2 / 4, 2 * max(width, Fraction(0)) * K)


def weight_of(item: Argument, sizes: Mapping[str, int], events: Fraction, instances: Number) -> Number:
    """Return what all instances weigh: by the width of their steps (verified by counting), by their place, or 1.

    Less what the ends of lines pay for.
    """
    if item.given.get("ends") is not None:
        return weight_beside_ends(item, instances, sizes)
    if item.given["mirrored"]:
        return weight_of_mirrored(item, sizes, events)
    if item.given["hourglass"] is not None:
        return value_of(str(item.given["hourglass"]["weight"]), sizes)
    return instances


# -- one triangle read from both sides


def _mirrored_axes(item: Argument) -> tuple[int, int, int, int] | None:
    """Return the coordinates o and b, the family of the chains and that of the triangle; None where they are not."""
    unit = [[int(a == b) for b in range(3)] for a in range(3)]
    if (
        item.is_mixed
        or item.width != 3
        or len(item.parts) != 2
        or sorted(item.folds) != [1, 1, 2]
        or sum(item.chains) != 1
        or item.moved is not None
        or item.times_own > 1
    ):
        return None
    if sorted(item.kernels) != sorted(spanned([row]) for row in unit):
        return None
    axes = [next(at for at in range(3) if kernel == spanned([unit[at]])) for kernel in item.kernels]
    chain, shared = item.chains.index(True), item.folds.index(2)
    if chain == shared:
        return None
    return axes[3 - chain - shared], axes[chain], chain, shared


def wrong_mirror(item: Argument) -> Iterator[str]:
    """Yield what does not hold of two statements that read one triangle from both sides, for all sizes."""
    axes = _mirrored_axes(item)
    if axes is None or item.given["cliques"] != [[0, 1, 2]] or any(len(f) > 1 for p in item.parts for f in p.levels):
        yield "the families are not chains, one triangle and what both share"
        return
    o, b, chain, shared = axes
    rows = [[int(at == axis) for at in range(3)] for axis in (o, b)]
    sides = ["{ [o, b] : o < b }", "{ [o, b] : o > b }"]
    images = [part.placed(rows).range() for part in item.parts]
    if not any(
        all(image.is_subset(isl.UnionSet(side)) for image, side in zip(images, order, strict=True))
        for order in (sides, sides[::-1])
    ):
        yield "the statements are not on both sides of the diagonal"
    first, second = (part.levels[shared][0].reverse().apply_range(part.placed(rows)) for part in item.parts)
    if not first.reverse().apply_range(second).is_subset(isl.UnionMap("{ [o, b] -> [b, o] }")):
        yield "a vertex of the triangle does not serve mirrored instances"
    if not item.parts[0].vertices(chain).intersect(item.parts[1].vertices(chain)).is_empty():
        yield "the chains of the two statements have common vertices"
    for part in item.parts:
        basics = part.domain.coalesce().get_basic_sets()
        if len(basics) != 1 or basics[0].dim(isl.dim_type.div):
            yield f"the instances of {part.statement} are not convex"
        if not any(_one_step(part, part.order[b], by).is_subset(part.levels[chain][0]) for by in (-1, 1)):
            yield f"the chains of {part.statement} do not go on by one"


def _one_step(part: Part, axis: int, by: int) -> isl.UnionMap:
    """Return instance -> instance one further along a loop."""
    x = [f"x{at}" for at in range(3)]
    y = [f"{name} + {by}" if at == axis else name for at, name in enumerate(x)]
    move = isl.UnionMap(f"{{ {part.statement}[{', '.join(x)}] -> {part.statement}[{', '.join(y)}] }}")
    return move.intersect_domain(part.points).intersect_range(part.points)


def weight_of_mirrored(item: Argument, sizes: Mapping[str, int], events: Fraction) -> Number:
    """Return the weight of all instances: 1 away from the diagonal, sqrt(3)/2 near it."""
    axes = _mirrored_axes(item)
    if axes is None:
        return Fraction(0)
    o, b, _, _ = axes
    width = -floor(-combined(ast.Mult, Fraction(9, 4), power((sizes["S"] + events) / 3, Fraction(1, 2))))
    far = near = 0
    for part in item.parts:
        points: list[isl.Point] = []
        fixed(part.domain, sizes).foreach_point(points.append)
        for point in points:
            places = (point.get_coordinate_val(isl.dim_type.set, part.order[at]).to_python() for at in (o, b))
            distance = abs(next(places) - next(places))
            far, near = (far + 1, near) if distance >= width else (far, near + 1)
    half = combined(ast.Mult, power(Fraction(3), Fraction(1, 2)), Fraction(near, 2))
    return combined(ast.Add, Fraction(far), half)


# -- sums that a part computes whole


@dataclass(frozen=True)
class FinishedSums:
    """The certificate of an argument by the lemma on finished sums, read.

    ``reading`` has the families of D but the one that ends at sums, ``ending`` that one, ``terms`` those of the terms.
    """

    reading: Argument | None
    ending: Argument
    terms: Argument
    before: isl.UnionMap
    positions: tuple[int, ...]
    sources: isl.UnionSet
    spill: isl.UnionSet
    given: Mapping[str, Any]

    @property
    def same(self) -> isl.UnionMap:
        """Term -> the terms of the same sum."""
        kept = [at for at in range(self.terms.width) if at not in self.positions]
        points = self.terms.parts[0].points
        return (
            isl.UnionMap.from_map(equal_coordinates(self.terms.parts[0].domain, kept))
            .intersect_domain(points)
            .intersect_range(points)
        )

    @property
    def own(self) -> isl.UnionMap:
        """Own vertex -> instances of D on whose paths it is."""
        both = [self.ending] if self.reading is None else [self.ending, self.reading]
        return union_of_maps(item.parts[0].inner for item in both)

    @property
    def needed(self) -> isl.UnionMap:
        """Instance of D -> all terms of the sum that it needs, and what is theirs alone."""
        terms = self.ends.apply_range(self.same)
        return terms.union(terms.apply_range(self.terms.parts[0].inner.reverse()))

    @property
    def ends(self) -> isl.UnionMap:
        """Instance of D -> the last term of the sum that it needs."""
        return self.ending.parts[0].families[0][-1]

    def vertices(self) -> list[isl.UnionSet]:
        """Return the vertices of every family, those of the one that ends at sums with all terms."""
        found = [self.ending.vertices(0).union(self.needed.range())]
        for item in (self.reading, self.terms):
            found += [] if item is None else [item.vertices(at) for at in range(len(item.chains))]
        return found


def finished_sums_of(given: Mapping[str, Any], reads: Reads) -> FinishedSums:
    """Return the argument in a certificate; raises :class:`InputError` where it does not fit the program."""
    try:
        reading = None if given["reading"] is None else argument_of(_as_argument(given["reading"], given), reads)
        ending, terms = (argument_of(_as_argument(given[key], given), reads) for key in ("ending", "terms"))
        before = isl.UnionMap(str(given["before"]))
        positions = tuple(map(int, given["positions"]))
        sources, spill = (isl.UnionSet(str(given[key])) for key in ("sources", "spill"))
    except (KeyError, TypeError, ValueError, AttributeError, isl.Error) as error:
        raise InputError(f"is no certificate of finished sums: {error}"[:200], place="part") from None
    alone = not any(item.chains[at] for item in (ending, terms) for at in range(len(item.chains)))
    like = reading is None or _places(reading) == _places(ending)
    if not (alone and like and len(ending.chains) == 1 and set(positions) < set(range(terms.width))):
        raise InputError("does not have families of the form of the lemma", place="part")
    return FinishedSums(reading, ending, terms, before, positions, sources, spill, given)


def _places(item: Argument) -> tuple[Any, ...]:
    """Return what tells where the instances of an argument are."""
    return tuple((part.statement, str(part.domain), part.order) for part in item.parts)


def _as_argument(families: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return families of one statement as the certificate of an argument of their own."""
    part = {key: families[key] for key in ("statement", "domain", "order", "families")}
    count = len(families["families"])
    fixed_parts = {"folds": [1] * count, "moved": None, "symmetry": None, "cliques": [list(range(count))]}
    return {
        **fixed_parts,
        "parts": [part],
        **{key: families[key] for key in ("own", "chains", "kernels", "sources")},
        "spill": given["spill"],
    }


def wrong_sums(item: FinishedSums, reads: Reads) -> Iterator[str]:
    """Yield what does not hold of the sets and relations of an argument on finished sums, for all sizes."""
    every = item.vertices()
    sources = item.terms.sources
    for part in (one for one in (item.reading, item.terms) if one is not None):
        own = union_of_sets(part.vertices(at) for at in range(len(part.chains))).union(part.parts[0].inner.domain())
        yield from wrong_for_all_sizes(replace(part, spill=own.intersect(item.spill)), reads)
        sources = sources.union(part.sources)
    ending = item.ending.parts[0]
    if not item.ends.is_subset(ending.points.identity()):  # else D are the last terms themselves
        yield from wrong_path(item.ending, ending, 0, reads)
    if not item.ends.is_single_valued() or not item.ends.domain().is_equal(ending.points):
        yield "an instance does not need the end of one sum"
    if not item.sources.is_equal(sources):
        yield "the sources are not those of the families"
    for one, other in itertools.combinations([*every, item.own.domain()], 2):
        if not one.intersect(other).is_empty():
            yield "two families have common vertices"
    if not item.own.is_single_valued() or not item.own.domain().intersect(ending.points).is_empty():
        yield "an own vertex is on the paths of two instances, or one"
    if not item.terms.parts[0].inner.domain().intersect(union_of_sets(every[1:])).is_empty():
        yield "what is a term's own is a vertex of a family"
    together = union_of_sets(every).union(item.own.domain())
    if not together.is_subset(item.spill.union(item.sources)) or not item.spill.is_subset(together):
        yield "the may-spill set is not that of the vertices of the paths"
    spare = item.sources.subtract(item.spill)
    levels = () if item.reading is None else itertools.chain.from_iterable(item.reading.parts[0].families)
    for level in levels:
        named = level.intersect_range(spare).domain()
        if any(not named.intersect(one).is_empty() for one in (every[0], *every[-len(item.terms.chains) :])):
            yield "an instance that stands for a source is a vertex of sums"
    yield from _wrong_terms(item, reads)


def _wrong_terms(item: FinishedSums, reads: Reads) -> Iterator[str]:
    """Yield what does not hold of the terms of sums."""
    part, same = item.terms.parts[0], item.same
    points = part.points
    if not item.before.is_subset(reads.all) or not item.before.is_subset(same):
        yield "a term does not read the one before of its sum"
    last = points.subtract(item.before.range())
    if not item.ends.range().is_subset(last) or not same.intersect_domain(last).intersect_range(last).is_subset(
        last.identity()
    ):
        yield "a path does not end at the only last term of a sum"
    kept = [at for at in range(item.terms.width) if at not in item.positions]
    product = part.domain.apply(equal_coordinates(part.domain, item.positions)).intersect(
        part.domain.apply(equal_coordinates(part.domain, kept))
    )
    if not product.is_subset(part.domain):
        yield "sums do not have terms at the same positions"
    if any(row[at] for kernel in item.terms.kernels for row in kernel for at in item.positions):
        yield "terms of different positions are in one class"
    ending = item.ending.parts[0]
    classes = ending.placed(item.ending.classes(0))
    levels = [*ending.levels[0], item.ends, item.needed]
    found = union_of_maps(level.reverse().apply_range(classes) for level in levels)
    if not found.is_single_valued():
        yield "a vertex of a sum is on paths of two classes"


def wrong_finished_sums(item: FinishedSums, reads: Reads) -> Iterator[str]:
    """Yield what does not hold of an argument on finished sums, its exponents among it, for all sizes."""
    yield from wrong_sums(item, reads)
    s, t = ([Fraction(value) for value in item.given[key]] for key in ("exponents", "term_exponents"))
    kernels = [*item.ending.kernels, *(() if item.reading is None else item.reading.kernels)]
    kept = [at for at in range(item.terms.width) if at not in item.positions]
    slices = [spanned([[row[at] for at in kept] for row in kernel]) for kernel in item.terms.kernels]
    for spaces, exponents, width in ((kernels, s, item.ending.width), (slices, t, len(kept))):
        problem = unmet(spaces, exponents, width)
        if problem is not None or len(spaces) != len(exponents):
            yield problem or "there are not as many exponents as families"
    if sum(t) < 1 or not s or s[0] <= 0:
        yield "the exponents add up to less than 1"


Most = Callable[[FinishedSums, Fraction, Fraction, Mapping[str, int]], tuple[Number, Number]]


def wrong_sum_value(
    item: FinishedSums, counts: Callable[[isl.UnionSet], int], sizes: Mapping[str, int]
) -> Iterator[str]:
    """Yield formulas of an argument on finished sums that are not what ``counts`` counts."""
    known = {"instances_count": counts(item.ending.parts[0].points), "sources_count": counts(item.sources)}
    if places := shadow(item.terms.parts[0].domain, item.positions, sizes):  # without terms their number is no matter
        known["length"] = places
    yield from other_counts(item.given, known, sizes)


def wrong_sum_formulas(item: FinishedSums, here: Mapping[str, int], most: Most) -> Iterator[str]:
    """Yield if the value at any sizes does not follow from the counts, as their formulas give them.

    ``most`` are the most instances of a segment by the lemma, of which the larger number counts.
    """
    events = events_of(item.given, here)
    names = ("length", "instances_count", "sources_count")
    length, size, sources = (value_of(str(item.given[name]), here) for name in names)
    if not isinstance(length, Fraction):
        yield "the length of sums is no number"
        return
    U = max(most(item, here["S"] + events, length, here), key=as_decimal)
    if not item.own.is_empty():
        U = combined(ast.Add, U, here["S"] + events)
    if not is_same(U, value_of(str(item.given["most_instances"]), here)):
        yield "U does not follow from the exponents"
    segments = combined(ast.Div, size, U)
    value = combined(ast.Sub, least_events(item.given["events"], events, segments, here["S"]), sources)
    yield from other_value(item.given, value, here)


def most_with_sums(item: FinishedSums, K: Fraction, length: Fraction, _: Mapping[str, int]) -> tuple[Number, Number]:
    """Return the two numbers of the lemma: no sum is whole, or all are."""
    s, t = ([Fraction(value) for value in item.given[key]] for key in ("exponents", "term_exponents"))
    own, others, tau = s[0], sum(s[1:], Fraction(0)), sum(t, Fraction(0))
    product: Number = Fraction(1)
    for value in (value for value in s[1:] if value):
        product = combined(ast.Mult, product, power(value, value))
    c: Number = Fraction(1)
    for value in (value for value in t if value):
        c = combined(ast.Mult, c, power(value / tau, value))
    e, sigma = tau * own, own + others
    plain = combined(ast.Mult, combined(ast.Mult, power(K / sigma, sigma), power(own, own)), product)
    factors = (power(c, own), power(e / length, e), power(K / (e + others), e + others), product)
    return plain, reduce(partial(combined, ast.Mult), factors)


#: Yield if the value of an argument on finished sums does not follow from the counts at some sizes.
wrong_finished_formulas = partial(wrong_sum_formulas, most=most_with_sums)
