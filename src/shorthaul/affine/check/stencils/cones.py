"""An argument by double cones, verified from its certificate.

Neighbours have to be reached within a round trip, at every step, and every vertex of a field belongs to one place.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import islpy as isl

from shorthaul.affine.check.data_flow import OnDomain, Reads
from shorthaul.affine.check.formulas import (
    Number,
    combined,
    events_of,
    least_events,
    other_counts,
    other_value,
    power,
    value_of,
)
from shorthaul.affine.check.stencils.boxes import allows, constant_in_box, is_box, wrong_sides
from shorthaul.affine.check.stencils.columns import Field, fields_of, wrong_fields
from shorthaul.affine.check.stencils.levels import Vector, Way, constant_of, neighbourhood, way_of
from shorthaul.core.errors import InputError


@dataclass(frozen=True)
class Cones(OnDomain):
    """The certificate of an argument by double cones, read; ``ways`` lead by reads to instances of the statement."""

    name: str
    domain: isl.Set
    delta: Vector
    axis: int
    places: frozenset[Vector]
    trip: int
    ways: tuple[Way, ...]
    fields: tuple[Field, ...]
    sources: isl.UnionSet
    border: isl.Set
    spill: isl.UnionSet
    given: Mapping[str, Any]

    @property
    def values(self) -> int:
        """How many values a place has."""
        return sum(item.period for item in self.fields)

    def straight(self, shift: Vector) -> tuple[int, Vector]:
        """Return the steps of a distance, and how far it leads aside."""
        steps = shift[self.axis] * self.delta[self.axis]
        aside = (value - steps * by for value, by in zip(shift, self.delta, strict=True))
        return steps, tuple(value for at, value in enumerate(aside) if at != self.axis)

    def move(self, shift: Vector) -> isl.Map:
        """Return instance -> instance at a distance."""
        names = [f"x{at}" for at in range(len(shift))]
        values = ", ".join(f"{name} + {by}" for name, by in zip(names, shift, strict=True))
        return isl.Map(f"{{ {self.name}[{', '.join(names)}] -> {self.name}[{values}] }}")

    def where(self, shift: Vector) -> isl.Set:
        """Return the instances that are reached from those at a distance."""
        found = self.domain.subtract(self.domain)
        for way in self.ways:
            if way.shift == shift:
                found = found.union(way.levels[-1].domain().extract_set(found.get_space()))
        return found

    @property
    def straightened(self) -> isl.Set:
        """The instances with the place along the line in place of the other coordinates."""
        names, sign = [f"x{at}" for at in range(len(self.delta))], self.delta[self.axis]
        values = [
            name if at == self.axis else f"{name} + {-sign * by} * {names[self.axis]}"
            for at, (name, by) in enumerate(zip(names, self.delta, strict=True))
        ]
        return self.domain.apply(isl.Map(f"{{ {self.name}[{', '.join(names)}] -> {self.name}[{', '.join(values)}] }}"))

    @property
    def constant(self) -> Number | None:
        """The c of the inequality for the neighbours, None if they do not have the shape that is named."""
        n, box = len(self.delta) - 1, self.given["box"]
        if box is None:
            return constant_of(neighbourhood(tuple(self.places)), n, self.given["shape"])
        return constant_in_box(self.places, n, box) if not any(map(int, box["origin"])) else None

    @property
    def along(self) -> isl.Map:
        """Instance -> the instances of the same place that are later."""
        x, y = ([f"{letter}{at}" for at in range(len(self.delta))] for letter in "xy")
        by = f"({y[self.axis]} - {x[self.axis]})"
        sign = self.delta[self.axis]
        same = [f"{b} = {a} + {step * sign} * {by}" for a, b, step in zip(x, y, self.delta, strict=True)]
        text = " and ".join([*same, f"{sign} * {by} > 0"])
        return isl.Map(f"{{ {self.name}[{', '.join(x)}] -> {self.name}[{', '.join(y)}] : {text} }}")

    def classes(self, period: int) -> isl.UnionMap:
        """Return instance -> its place, and its step modulo the period."""
        names, sign = [f"x{at}" for at in range(len(self.delta))], self.delta[self.axis]
        main = names[self.axis]
        values = [
            f"{x} + {-sign * by} * {main}"
            for at, (x, by) in enumerate(zip(names, self.delta, strict=True))
            if at != self.axis
        ]
        values += [f"({sign} * {main}) mod {period}"] if period > 1 else []
        return isl.UnionMap(f"{{ {self.name}[{', '.join(names)}] -> [{', '.join(values)}] }}")


def cones_of(given: Mapping[str, Any], reads: Reads) -> Cones:
    """Return the argument in a certificate; raises :class:`InputError` where it does not fit the graph."""
    (name,), domain = given["statements"], isl.Set(str(given["domain"]))
    delta, axis = tuple(map(int, given["delta"])), int(given["axis"])
    places = frozenset(tuple(map(int, place)) for place in given["neighbours"])
    made = Cones(
        str(name),
        domain,
        delta,
        axis,
        places,
        int(given["trip"]),
        tuple(way_of(item) for item in given["ways"]),
        fields_of(given["fields"]),
        isl.UnionSet(str(given["sources"])),
        isl.Set(str(given["border"])),
        isl.UnionSet(str(given["spill"])),
        given,
    )
    width = domain.dim(isl.dim_type.set)
    if domain.get_tuple_name() != name or not domain.is_subset(reads.domains[made.name]):
        raise InputError(f"has instances that {name} has not", place="domain")
    if len(delta) != width or width < 2 or abs(delta[axis]) != 1 or {len(way.shift) for way in made.ways} != {width}:
        raise InputError("has no line", place="delta")
    if {len(place) for place in places} != {width - 1}:
        raise InputError("has no neighbours", place="neighbours")
    return made


def wrong_cones(item: Cones, reads: Reads) -> Iterator[str]:
    """Yield what does not hold of neighbours, the border and fields, for all sizes."""
    yield from _wrong_trips(item, reads)
    if item.constant is None:
        yield "the neighbourhood does not have the shape that is named"
    domain, along = item.domain, item.along
    if not domain.apply(along).intersect(domain.apply(along.reverse())).is_subset(domain):
        yield "a step is left out between two others"
    beside = domain
    for place in item.places if item.given["box"] is None else ():
        aside = list(place)
        aside.insert(item.axis, 0)
        beside = beside.union(domain.apply(item.move(tuple(aside))))
    if not item.border.is_equal(beside.subtract(domain)):
        yield "the border is not that of the instances"
    later = beside.apply(along).intersect(beside)
    if not later.is_subset(item.where(tuple(-value for value in item.delta))):
        yield "an instance is not reached from the one before at its place"
    if item.given["box"] is not None and not is_box(item.straightened, item.axis):
        yield "the instances do not fill a box"
    if not _product(item).is_subset(domain):
        yield "not all places have the same steps"
    yield from wrong_fields(item.fields, item.points, item.classes, item.spill, item.sources, reads)


def _product(item: Cones) -> isl.Set:
    """Return the instances of the places of the domain at all of its steps."""
    names, other = ([f"{letter}{at}" for at in range(len(item.delta))] for letter in "xy")
    main, sign = (names[item.axis], other[item.axis]), item.delta[item.axis]
    aside = [
        f"{y} - {x} = {by * sign} * ({main[1]} - {main[0]})" for x, y, by in zip(names, other, item.delta, strict=True)
    ]
    head = f"{item.name}[{', '.join(names)}] -> {item.name}[{', '.join(other)}]"
    same_place = isl.Map(f"{{ {head} : {' and '.join(aside)} }}")
    same_step = isl.Map(f"{{ {head} : {main[0]} = {main[1]} }}")
    return item.domain.apply(same_place).intersect(item.domain.apply(same_step))


def _wrong_trips(item: Cones, reads: Reads) -> Iterator[str]:
    """Yield where neighbours are not reached within a round trip, by ways that follow reads."""
    costs: dict[Vector, int] = {}
    for way in item.ways:
        steps, aside = item.straight(way.shift)
        yield from _wrong_way(item, way, reads)
        if steps <= 0:
            costs[aside] = min(-steps, costs.get(aside, -steps))
        where = item.where(way.shift)
        there = where if not any(aside) else where.intersect(where.apply(item.move(way.shift)))
        needed = item.domain
        if item.given["box"] is not None:  # what lies outside of the box is no neighbour
            there, needed = where, needed.intersect(needed.apply(item.move(way.shift).reverse()))
        if not needed.is_subset(there):
            yield f"an instance does not reach its neighbours at {way.shift}"
    still = (0,) * (len(item.delta) - 1)
    if still not in item.places or costs.get(still) != 1:
        yield "an instance is not reached from the one before at its place"
    for place in item.places - {still}:
        over = tuple(-value for value in place)
        if place not in costs or over not in costs or costs[place] + costs[over] > item.trip:
            yield f"the neighbour at {place} is not reached within the round trip"


def _wrong_way(item: Cones, way: Way, reads: Reads) -> Iterator[str]:
    """Yield where a way from an instance to another one does not follow reads."""
    before = isl.UnionSet.from_set(isl.Set.universe(item.domain.get_space())).identity()
    for level in way.levels:
        pairs = before.intersect_domain(level.domain()).reverse().apply_range(level)
        alike = level.is_single_valued() and level.domain().is_subset(before.domain())
        if not alike or not pairs.is_subset(reads.all):
            yield f"the way at {way.shift} does not follow reads"
        before = level
    if not way.levels or not way.levels[-1].is_subset(isl.UnionMap.from_map(item.move(way.shift))):
        yield f"the way at {way.shift} leads elsewhere"


def wrong_cone_value(item: Cones, counts: Callable[[isl.UnionSet], int], sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield formulas of an argument that are not what ``counts`` counts at ``sizes``."""
    border, box = isl.UnionSet.from_set(item.border), item.given["box"]
    numbers = {"instances_count": item.points, "sources_count": item.sources, "border_count": border}
    yield from other_counts(item.given, {name: counts(points) for name, points in numbers.items()}, sizes)
    if box is not None:
        yield from wrong_sides(box, item.straightened, item.axis, counts, sizes)


def wrong_cone_formulas(item: Cones, here: Mapping[str, int]) -> Iterator[str]:
    """Yield if the value at any sizes does not follow from the counts, as their formulas give them."""
    n, g, trip, weight = len(item.delta) - 1, item.values, item.trip, int(item.given["weight"])
    c, box, capacity = item.constant, item.given["box"], here["S"]
    names = ("instances_count", "sources_count", "border_count")
    size, sources, beside = (value_of(str(item.given[name]), here) for name in names)
    if weight < 1 or (box is None and Fraction(weight) ** (n + 1) * trip**n < Fraction(g) ** (n + 1)):
        yield "an instance of the border counts for too few events"
    T = events_of(item.given, here)
    if c is None:
        return  # which is said elsewhere
    K = capacity + T + weight - 1
    q = K / g
    cone = combined(ast.Mult, combined(ast.Div, Fraction(n, n + 1), c), power(q, Fraction(n + 1, n)))
    U = combined(ast.Mult, Fraction(trip), combined(ast.Add, q, cone))
    if max(one.period for one in item.fields) > 1:
        U = combined(ast.Add, U, K)
    allowed = Fraction(box is None or allows(box, here, q))
    events = least_events(item.given["events"], T, combined(ast.Div, size, U), capacity)
    less = combined(ast.Add, sources, combined(ast.Mult, Fraction(weight), beside))
    yield from other_value(item.given, combined(ast.Sub, allowed * events, less), here)
