"""Lines of values in a plane of instances, verified from a certificate (lemma on lines in a plane)."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Any

import islpy as isl

from shorthaul.affine.check.data_flow import OnDomain, Reads, union_of_sets
from shorthaul.affine.check.formulas import combined, events_of, least_events, other_counts, other_value, value_of
from shorthaul.core.errors import InputError


@dataclass(frozen=True)
class Family:
    """Paths: instance -> their first vertex, vertex -> the next one, instance -> all vertices."""

    direction: tuple[int, int]
    first: isl.UnionMap
    onward: isl.UnionMap
    along: isl.UnionMap


@dataclass(frozen=True)
class Square:
    """Steps u and v, and what instances read at u, at v and at u + v."""

    steps: tuple[tuple[int, ...], ...]
    reads: tuple[isl.UnionMap, ...]

    @property
    def vertices(self) -> isl.UnionSet:
        """All that is read."""
        return union_of_sets(item.range() for item in self.reads)

    @property
    def distances(self) -> list[tuple[int, ...]]:
        """How far away each of the three values is."""
        return [*self.steps, tuple(a + b for a, b in zip(*self.steps, strict=True))]


@dataclass(frozen=True)
class Lines(OnDomain):
    """The certificate, read."""

    domain: isl.Set
    plane: tuple[int, int]
    families: tuple[Family, ...]
    square: Square | None
    spill: isl.UnionSet
    given: Mapping[str, Any]

    @property
    def sources(self) -> isl.UnionSet:
        """The vertices from which no path goes on."""
        found = isl.UnionSet("{ }")
        for item in self.families:
            found = found.union(item.along.range().subtract(item.onward.domain()))
        return found if self.square is None else found.union(self.square.vertices.subtract(self.points))

    @property
    def directions(self) -> list[tuple[int, int]]:
        """Those of all families, with lines along v and along -v alike."""
        found = [item.direction for item in self.families]
        steps = () if self.square is None else self.square.steps
        found += [(step[self.plane[0]], step[self.plane[1]]) for step in steps]
        return [max((a, b), (-a, -b)) for a, b in found]

    @property
    def weight(self) -> Fraction:
        """The number w such that a segment computes at most K^2 / w instances."""
        directions = self.directions
        number = len(directions)
        most = max([Fraction(number, 2), *(Fraction(directions.count(one)) for one in directions)])
        return 4 * most * (number - most)


def lines_of(given: Mapping[str, Any], reads: Reads) -> Lines:
    """Return the argument in a certificate; raises :class:`InputError` where it does not fit the graph."""
    (name,) = map(str, given["statements"])
    domain = isl.Set(str(given["domain"]))
    one, other = map(int, given["plane"])
    families = []
    for item in given["families"]:
        first, onward, along = (isl.UnionMap(str(item[key])) for key in ("first", "onward", "along"))
        across, down = map(int, item["direction"])
        # lines along v and along -v are the same
        if gcd(across, down) != 1 or (across, down) < (0, 0):
            raise InputError("is no direction of lines", place="direction", value=str(item["direction"]))
        families.append(Family((across, down), first, onward, along))
    if domain.get_tuple_name() != name or not domain.is_subset(reads.domains[name]):
        raise InputError(f"has instances that {name} has not", place="domain")
    square = None
    if given["square"] is not None:
        steps = tuple(tuple(map(int, step)) for step in given["square"]["steps"])
        square = Square(steps, tuple(isl.UnionMap(str(item)) for item in given["square"]["reads"]))
        width = domain.dim(isl.dim_type.set)
        if [len(step) for step in steps] != [width, width] or len(square.reads) != 3:
            raise InputError("is no square of two steps and three reads", place="square")
        outside = any(step[at] for step in steps for at in range(width) if at not in (one, other))
        if outside or any(gcd(step[one], step[other]) != 1 for step in steps):
            raise InputError("has steps that lead out of the plane, or over lines", place="square")
        if steps[0][one] * steps[1][other] == steps[0][other] * steps[1][one]:
            raise InputError("has steps along one line", place="square")
    if (
        len(families) + 2 * (square is not None) < 2
        or one == other
        or not {one, other} <= set(range(domain.dim(isl.dim_type.set)))
    ):
        raise InputError("has no lines in a plane of two loops", place="part")
    made = Lines(domain, (one, other), tuple(families), square, isl.UnionSet(str(given["spill"])), given)
    if made.weight <= 0:
        raise InputError("has lines of one direction only", place="families")
    return made


def wrong_lines(item: Lines, reads: Reads) -> Iterator[str]:
    """Yield what does not hold of the sets and relations of an argument, for all sizes."""
    every = isl.UnionSet("{ }")
    for number, one in enumerate(item.families):
        if not one.first.domain().is_equal(item.points) or not one.along.domain().is_equal(item.points):
            yield f"family {number}: an instance has no path"
        if not one.first.is_subset(reads.all) or not one.first.is_subset(one.along):
            yield f"family {number}: a path does not begin with what an instance reads"
        if not one.onward.is_subset(reads.all):
            yield f"family {number}: a path does not follow reads"
        if not one.along.apply_range(one.onward).is_subset(one.along):
            yield f"family {number}: a path leaves its line"
        if not one.along.reverse().apply_range(_classes(item, one.direction)).is_single_valued():
            yield f"family {number}: a vertex is on paths from two lines"
        every = every.union(one.along.range())
    for a, b in itertools.combinations(item.families, 2):
        if not a.along.range().intersect(b.along.range()).is_empty():
            yield "two families have common vertices"
    if item.square is not None:
        yield from _wrong_square(item, item.square, every, reads)
        every = every.union(item.square.vertices)
    if not item.spill.is_equal(every):
        yield "the may-spill set is not that of the vertices of the paths"


def _wrong_square(item: Lines, square: Square, others: isl.UnionSet, reads: Reads) -> Iterator[str]:
    """Yield where values of places are not read by all instances, or are no values of one place each."""
    places = isl.UnionMap("{ }")
    name = item.domain.get_tuple_name()
    for read, distance in zip(square.reads, square.distances, strict=True):
        if not read.domain().is_equal(item.points) or not read.is_subset(reads.all):
            yield "square: an instance does not read a value of it"
        loops = [f"x{at}" for at in range(len(distance))]
        there = ", ".join(f"{loop} - ({far})" for loop, far in zip(loops, distance, strict=True))
        place = isl.UnionMap(f"{{ {name}[{', '.join(loops)}] -> {name}[{there}] }}")
        places = places.union(place.intersect_domain(item.points).reverse().apply_range(read))
    if not places.is_single_valued() or not places.is_injective():
        yield "square: a place has two values, or two places have one"
    if not places.intersect_domain(item.points).is_subset(item.points.identity()):
        yield "square: the value of an instance's place is not its own"
    if not square.vertices.intersect(others).is_empty():
        yield "square: its vertices are on paths of a family"


def _classes(item: Lines, direction: tuple[int, int]) -> isl.UnionMap:
    """Return instance -> what tells its line from others: all loops outside of the plane, and a form inside."""
    width, (one, other) = item.domain.dim(isl.dim_type.set), item.plane
    loops = [f"x{at}" for at in range(width)]
    outside = [loop for at, loop in enumerate(loops) if at not in item.plane]
    form = f"{direction[1]}*{loops[one]} - {direction[0]}*{loops[other]}"
    text = f"{{ {item.domain.get_tuple_name()}[{', '.join(loops)}] -> [{', '.join([form, *outside])}] }}"
    return isl.UnionMap(text).intersect_domain(item.points)


def wrong_lines_value(item: Lines, counts: Callable[[isl.UnionSet], int], sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield numbers that are not what is counted at ``sizes``."""
    yield from other_counts(item.given, {"instances_count": counts(item.points)}, sizes)
    yield from other_counts(item.given, {"sources_count": counts(item.sources)}, sizes, at_least=True)


def wrong_lines_formulas(item: Lines, here: Mapping[str, int]) -> Iterator[str]:
    """Yield if the value at any sizes does not follow from the counts, as their formulas give them."""
    events = events_of(item.given, here)
    size, sources = (value_of(str(item.given[name]), here) for name in ("instances_count", "sources_count"))
    segments = combined(ast.Div, size, (here["S"] + events) ** 2 / item.weight)
    value = combined(ast.Sub, least_events(item.given["events"], events, segments, here["S"]), sources)
    yield from other_value(item.given, value, here)
