"""A stencil argument by levels, verified from its certificate: reads and borders by isl, numbers in exact fractions.

What has to hold is that of the lemmas on segments, on rows and on balanced rows: every instance reads its neighbours in
the level below, the neighbourhood has the shape that an isoperimetric inequality is known for, sources and ends are the
borders of the instances, and the value follows from their numbers.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import islpy as isl

from shorthaul.affine.check.data_flow import Reads, union_of_maps, union_of_sets
from shorthaul.affine.check.formulas import (
    Number,
    as_decimal,
    combined,
    events_of,
    is_number,
    least_events,
    other_counts,
    other_value,
    power,
    value_of,
)
from shorthaul.affine.check.stencils.boxes import allows, at_all_steps, constant_in_box, is_box, wrong_sides
from shorthaul.affine.check.stencils.columns import (
    Columns,
    columns_of,
    wrong_columns,
    wrong_fields,
)
from shorthaul.affine.check.stencils.walls import Walls, room, walls_of, wrong_walls
from shorthaul.affine.check.subspaces import spanned
from shorthaul.core.errors import InputError

Vector = tuple[int, ...]

_ROUNDING: Final = Decimal("1e-20")
#: The cross in the plane and in space: c to the power of n.
_CROSS: Final = {2: Fraction(8), 3: Fraction(36)}


@dataclass(frozen=True)
class Way:
    """How a neighbour is read by way of temporaries: instance -> each of these, nearest first."""

    shift: Vector
    levels: tuple[isl.UnionMap, ...]

    def temporaries(self) -> isl.UnionMap:
        """Return instance -> all temporaries on the way."""
        return union_of_maps(self.levels)


@dataclass(frozen=True)
class Stencil:
    """The certificate of one argument, read; ``shifts`` lead from an instance to what it reads, by statement."""

    names: tuple[str, ...]
    domains: tuple[isl.Set, ...]
    covector: Vector
    shifts: tuple[tuple[Vector, ...], ...]
    sources: isl.UnionSet
    ends: isl.UnionSet
    spill: isl.UnionSet
    ways: tuple[tuple[Way, ...], ...]
    columns: Columns | None
    walls: Walls
    given: Mapping[str, Any]

    @property
    def dimensions(self) -> int:
        """The dimension of a level."""
        return len(self.covector) - 1

    @cached_property
    def points(self) -> isl.UnionSet:
        """All instances."""
        return union_of_sets(isl.UnionSet.from_set(item) for item in self.domains)

    @cached_property
    def constant(self) -> Number | None:
        """The number c of the inequality for the places of a level, None if the shape that is named is not there."""
        return _constant_in(self)

    @property
    def coupled(self) -> bool:
        """True for two fields at one level."""
        return bool(self.given.get("coupled", False))

    @property
    def neighbours(self) -> list[tuple[int, int, Vector]]:
        """Number of a statement, of the one that it reads in the level below, and the distance."""
        pairs = [(at, at if self.coupled else at - 1) for at in range(len(self.names))]
        found = [(at, source % len(self.names), shift) for at, source in pairs for shift in self.shifts[at]]
        across = (-1, *(0,) * self.dimensions)
        return [*found, (0, 1, across), (1, 0, across)] if self.coupled else found

    def move(self, at: int, shift: Vector, source: int | None = None) -> isl.UnionMap:
        """Return instance of a statement -> what it reads at some distance, of the one before if of no other."""
        names, before = [f"x{k}" for k in range(len(self.covector))], at - 1 if source is None else source
        values = ", ".join(f"{name} + {by}" for name, by in zip(names, shift, strict=True))
        return isl.UnionMap(f"{{ {self.names[at]}[{', '.join(names)}] -> {self.names[before]}[{values}] }}")

    @property
    def centres(self) -> list[Vector] | None:
        """How far the middle of the box's neighbourhood is from an instance, by statement; None without a box."""
        if self.given["box"] is None:
            return None
        origin = (0, *map(int, self.given["box"]["origin"]))
        return [tuple(a + b for a, b in zip(min(shifts), origin, strict=True)) for shifts in self.shifts]

    def of_box(self, at: int) -> tuple[isl.UnionSet, isl.UnionSet] | None:
        """Return what lies at all steps of the box below the instances of a statement, and above them."""
        if self.centres is None:
            return None
        here, after = isl.UnionSet.from_set(self.domains[at]), (at + 1) % len(self.names)
        down, up = self.move(at, self.centres[at]), self.move(after, self.centres[after]).reverse()
        return at_all_steps(here.apply(down)), at_all_steps(here.apply(up))

    @property
    def temporaries(self) -> isl.UnionSet:
        """All temporaries by way of which neighbours are read."""
        return union_of_maps(way.temporaries() for group in self.ways for way in group).range()


def stencil_of(given: Mapping[str, Any], reads: Reads) -> Stencil:
    """Return the argument in a certificate; raises :class:`InputError` where it does not fit the graph."""
    names = tuple(map(str, given["statements"]))
    domains = tuple(isl.Set(str(item)) for item in given["domains"])
    covector = tuple(map(int, given["covector"]))
    shifts = tuple(tuple(tuple(map(int, shift)) for shift in item) for item in given["shifts"])
    widths = {len(shift) for item in shifts for shift in item} | {item.dim(isl.dim_type.set) for item in domains}
    if not (len(names) == len(domains) == len(shifts) == len(set(names)) > 0 and widths == {len(covector)}):
        raise InputError("does not have as many statements or coordinates everywhere", place="part")
    if len(covector) < 2 or not all(shifts):
        raise InputError("has no levels", place="part")
    for name, domain in zip(names, domains, strict=True):
        if domain.get_tuple_name() != name or not domain.is_subset(reads.domains[name]):
            raise InputError(f"has instances that {name} has not", place="domains")
    sources, ends, spill = (isl.UnionSet(str(given[key])) for key in ("sources", "ends", "spill"))
    ways = tuple(tuple(way_of(item) for item in group) for group in given["ways"])
    boxed = given["own"] and given["balanced"] and given["box"] is not None
    if len(ways) != len(names) or not isinstance(given["own"], bool) or boxed:
        raise InputError("does not say how statements read", place="ways")
    columns = columns_of(given["columns"], names, covector) if given.get("columns") else None
    unfit = columns and (given["box"] is not None if columns.parity else any(covector[1:]))
    if columns and (given.get("coupled", False) or given["own"] or given["balanced"] or unfit):
        raise InputError("is no stencil by steps", place="columns")
    walls = walls_of(given.get("walls"))
    if given.get("walls") and (columns or given["box"] is not None or any(ways)):
        raise InputError("are those of another argument", place="walls")
    return Stencil(names, domains, covector, shifts, sources, ends, spill, ways, columns, walls, given)


def way_of(given: Mapping[str, Any]) -> Way:
    """Return a way in a certificate."""
    levels = tuple(isl.UnionMap(str(level)) for level in given["levels"])
    return Way(tuple(map(int, given["shift"])), levels)


def wrong_levels(item: Stencil, reads: Reads) -> Iterator[str]:
    """Yield what does not hold of reads, levels, the neighbourhood and the borders, for all sizes.

    Two coupled fields are at one level, and read one another at their place one step before.
    """
    first = (1, *(0,) * item.dimensions)
    if any(value < 0 for value in item.covector) or (len(item.names) > 1 and item.covector != first):
        yield "the covector does not number levels"
    plain = not item.given["own"] and item.given["box"] is None and not any(item.ways)
    if item.coupled and not (plain and len(item.names) == 2 and set(item.shifts[0]) == set(item.shifts[1])):
        yield "there are not two fields of one neighbourhood, which read one another themselves"
        return
    for at, shifts in enumerate(item.shifts):
        if len(set(shifts)) < len(shifts) or neighbourhood(shifts) != neighbourhood(item.shifts[0]):
            yield "the statements do not have one neighbourhood"
        down = 0 if at and not item.coupled else -1
        if any(sum(a * b for a, b in zip(item.covector, shift, strict=True)) != down for shift in shifts):
            yield "a neighbour is not in the level below"
    inside = item.points
    read, ends, below = isl.UnionSet("{ }"), isl.UnionSet("{ }"), list[isl.UnionMap]()
    boxes = [item.of_box(at) for at in range(len(item.names))]
    for at, source, shift in item.neighbours:
        move, box, above = item.move(at, shift, source), boxes[at], boxes[source]
        here, there = (isl.UnionSet.from_set(item.domains[one]) for one in (at, source))
        below.append(
            move.intersect_domain(here) if box is None else move.intersect_domain(here).intersect_range(box[0])
        )
        by_way = union_of_maps(way.levels[-1] for way in item.ways[at] if way.shift == shift).domain()
        taken = item.walls.read(below[-1])
        if not taken.subtract_domain(by_way).is_subset(reads.of(item.names[at])):
            yield f"an instance of {item.names[at]} does not read all of its neighbours"
        read = read.union(taken.range())
        near = there if above is None else there.intersect(move.intersect_domain(above[1]).range())
        ends = ends.union(near.subtract(move.intersect_domain(inside).range()))
    for at in range(len(item.names)):
        yield from _wrong_ways(item, at, reads)
    yield from wrong_walls(item.walls, item.dimensions, below, reads)
    needed, sources = read.union(item.temporaries), read.subtract(inside).union(item.walls.walls)
    yield from _wrong_temporaries(item, read)
    if item.columns is not None:
        yield from _wrong_columns(item, item.columns, needed, reads)
        needed, sources = needed.union(item.columns.vertices), sources.union(item.columns.sources)
    if not item.spill.is_equal(needed):
        yield "the may-spill set is not what the instances read"
    if not item.sources.is_equal(sources) or not read.intersect(reads.inputs).is_subset(item.walls.inputs.range()):
        yield "the sources are not what is read and not among the instances"
    if not item.ends.is_equal(ends):
        yield "the ends are not the instances without all successors"
    if item.constant is None:
        yield "the neighbourhood does not have the shape that is named"
    yield from _wrong_box(item)


def _wrong_box(item: Stencil) -> Iterator[str]:
    """Yield where instances do not fill one box at every step."""
    for at, domain in enumerate(item.domains):
        box, before = item.of_box(at), item.domains[at - 1]
        if box is None:
            continue
        here, there = domain.params(), before.params()
        below = box[0].intersect_params(there)
        if not is_box(domain, 0) or not below.is_equal(
            at_all_steps(isl.UnionSet.from_set(before)).intersect_params(here)
        ):
            yield "the instances do not fill a box"
        if item.ways[at] or item.covector != (1, *(0,) * item.dimensions):
            yield "levels in a box are not the steps"


def _wrong_ways(item: Stencil, at: int, reads: Reads) -> Iterator[str]:
    """Yield where the ways to the neighbours of a statement do not follow reads."""
    name, points = item.names[at], isl.UnionSet.from_set(item.domains[at])
    for way in item.ways[at]:
        if way.shift not in item.shifts[at] or not way.levels:
            yield f"a way from {name} leads to no neighbour"
            continue
        before = points.identity()
        last = item.move(at, way.shift).intersect_domain(way.levels[-1].domain())
        for level in (*way.levels, last):
            pairs = before.reverse().apply_range(level)
            if not level.is_single_valued() or not level.domain().is_subset(before.domain()):
                yield f"a way from {name} is no function on instances"
            if not pairs.is_subset(reads.all):
                yield f"a way from {name} does not follow reads"
            before = level


def _wrong_columns(item: Stencil, columns: Columns, needed: isl.UnionSet, reads: Reads) -> Iterator[str]:
    """Yield where values are not those of places, or are read as neighbours or by way of temporaries too."""
    places, vertices = columns.placed(item.names, levels=False), columns.vertices
    yield from wrong_columns(columns, item.names, item.shifts, item.centres, item.points, reads)
    if not vertices.intersect(needed.union(item.points)).is_empty():
        yield "a value of a place is a neighbour"
    yield from wrong_fields(columns.fields, item.points, lambda _: places, vertices, item.sources, reads)


def _wrong_temporaries(item: Stencil, read: isl.UnionSet) -> Iterator[str]:
    """Yield where temporaries are neighbours or instances, not of one instance, or stand for several neighbours."""
    if not item.temporaries.intersect(read.union(item.points)).is_empty():
        yield "a temporary is an instance or a neighbour"
    if item.given["own"]:
        readers = union_of_maps(way.temporaries() for group in item.ways for way in group).reverse()
        if not readers.is_single_valued():
            yield "a temporary is on the way of two instances"
        return
    reached, passed, themselves = (isl.UnionMap("{ }") for _ in range(3))
    for at, group in enumerate(item.ways):
        for way in group:
            temporaries = way.temporaries()
            passed = passed.union(temporaries)
            to = item.move(at, way.shift).intersect_domain(way.levels[-1].domain())
            reached = reached.union(temporaries.reverse().apply_range(to))
        direct = (shift for shift in item.shifts[at] if shift not in {way.shift for way in group})
        points = isl.UnionSet.from_set(item.domains[at])
        themselves = themselves.union(union_of_maps(item.move(at, shift).intersect_domain(points) for shift in direct))
    beyond = passed.apply_range(reached.domain_map().reverse()).uncurry()  # [instance -> temporary] -> neighbour
    if not beyond.subtract(passed.domain_map().apply_range(themselves)).is_single_valued():
        yield "a temporary stands for several neighbours"


def neighbourhood(shifts: Sequence[Vector]) -> frozenset[Vector]:
    """Return the vectors from the least shift to all of them."""
    least = min(shifts)
    return frozenset(tuple(a - b for a, b in zip(shift, least, strict=True)) for shift in shifts)


def _constant_in(item: Stencil) -> Number | None:
    places = neighbourhood(item.shifts[0])
    if item.given["box"] is not None:
        return constant_in_box(frozenset(place[1:] for place in places), item.dimensions, item.given["box"])
    if item.columns is not None and item.columns.parity:  # that of places, with their own one
        places = frozenset({(0,) * item.dimensions, *(item.columns.aside(shift, 0)[1] for shift in item.shifts[0])})
    found = constant_of(places, item.dimensions, item.given["shape"])
    return _of_two(item, found) if found is not None and item.coupled else found


def _of_two(item: Stencil, c: Number) -> Number | None:
    """Return c for two fields coupled at their place, each with c (lemma), None if it is not known."""
    if item.dimensions == 1:
        return combined(ast.Add, c, Fraction(1))
    shape = item.given["shape"]
    least = as_decimal(Fraction(16) if shape.get("apexes") else _CROSS[2])
    known = item.dimensions == 2 and as_decimal(combined(ast.Mult, c, c)) >= least * (1 - _ROUNDING)
    return Fraction(4) if known else None


def _edge(item: Stencil, c: Number, rho: Number) -> Number:
    """Return the second term of B over K (lemma on balanced rows, that around balls where it holds)."""
    n, box, number = item.dimensions, item.given["box"], is_number(item.given["events"])
    edge = Fraction(1 if n == 1 else Fraction(n + 1, n))
    shape = item.given["shape"]
    thin = all(len(group) == 1 for group in shape.get("apexes", ()))
    kinds = ("line", "box") if shape.get("apexes") else ("line", "box", "cross")
    has_balls = n <= 3 and shape["kind"] in kinds and (thin or n == 2)
    if box is not None or not number or not (has_balls or item.coupled):
        return edge
    L = combined(ast.Div, combined(ast.Mult, Fraction(n), rho), c)
    least = max(combined(ast.Div, Fraction(1, 2), L), combined(ast.Sub, Fraction(6), L), key=as_decimal)
    return combined(ast.Mult, edge, min(Fraction(1), least, key=as_decimal))


def constant_of(places: frozenset[Vector], n: int, shape: Mapping[str, Any]) -> Number | None:
    """Return c such that |A + N| >= |A| + c |A|^((n-1)/n) for all finite A, None if the shape is not there."""
    if shape.get("apexes"):
        return _of_pyramid(places, n, shape)
    if n == 1:
        return Fraction(len(places) - 1)
    origin, edges = tuple(map(int, shape["origin"])), [tuple(map(int, edge)) for edge in shape["edges"]]
    if len(edges) != n or len(spanned(edges)) != n or origin not in places:
        return None

    def has(steps: Sequence[int]) -> bool:
        moved = (sum(step * edge[at] for step, edge in zip(steps, edges, strict=True)) for at in range(len(origin)))
        return tuple(a + b for a, b in zip(origin, moved, strict=True)) in places

    sizes = [int(value) for value in shape["sizes"]]
    return _CONSTANTS[str(shape["kind"])](n, sizes, has)


def _of_box(n: int, sizes: Sequence[int], has: Callable[[Sequence[int]], bool]) -> Number | None:
    whole = len(sizes) == n and min(sizes) > 0
    if not whole or not all(map(has, itertools.product(*(range(side + 1) for side in sizes)))):
        return None
    return combined(ast.Mult, Fraction(n), power(Fraction(math.prod(sizes)), Fraction(1, n)))


def _of_cross(n: int, sizes: Sequence[int], has: Callable[[Sequence[int]], bool]) -> Number | None:
    steps = [[sign * (a == axis) for a in range(n)] for axis in range(n) for sign in (-1, 1)]
    return power(_CROSS[n], Fraction(1, n)) if n in _CROSS and not sizes and all(map(has, steps)) else None


def _of_pyramid(places: frozenset[Vector], n: int, shape: Mapping[str, Any]) -> Number | None:
    """Return c for the places of a plane of n - 1 dimensions and the last group of apexes, at heights without a gap."""
    origin = tuple(map(int, shape["origin"]))
    *before, last = [[tuple(map(int, place)) for place in group] for group in shape["apexes"]]
    named = {origin, *last, *itertools.chain.from_iterable(before)}
    if n < 2 or not all((last, *before)) or not named <= places:
        return None
    edges = [*(tuple(map(int, edge)) for edge in shape["edges"]), *(_less(group[0], origin) for group in before)]
    if len(edges) != n - 1 or len(spanned(edges)) != n - 1:
        return None

    def over(place: Vector, times: int) -> bool:
        """True if a place is so many times as far from the plane as the first apex."""
        away = [a - times * (b - c) - c for a, b, c in zip(place, last[0], origin, strict=True)]
        return len(spanned([*edges, away])) == n - 1

    plane = frozenset(place for place in places if over(place, 0))
    heights = [next((k for k in range(-len(last), len(last) + 1) if over(place, k)), 0) for place in last]
    reached = {0, *heights}
    base = None if last[0] in plane else constant_of(plane, n - 1, {**shape, "apexes": before})
    if base is None or max(reached) - min(reached) != len(last) or len(reached) != len(last) + 1:
        return None
    steep = power(combined(ast.Mult, Fraction(n, n - 1), base), Fraction(n - 1, n))
    return combined(ast.Mult, power(Fraction(len(last)), Fraction(1, n)), steep)


def _less(place: Vector, origin: Vector) -> Vector:
    return tuple(a - b for a, b in zip(place, origin, strict=True))


_CONSTANTS: Final = {"box": _of_box, "cross": _of_cross}


def wrong_value(item: Stencil, counts: Callable[[isl.UnionSet], int], sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield formulas of an argument that are not what ``counts`` counts at ``sizes``."""
    numbers = {"instances_count": item.points, "sources_count": item.sources, "ends_count": item.ends}
    numbers["ring_count"] = isl.UnionSet("{ }") if item.columns is None else item.columns.ring
    yield from other_counts(item.given, {name: counts(points) for name, points in numbers.items()}, sizes)
    if item.given["box"] is not None:
        yield from wrong_sides(item.given["box"], item.domains[0], 0, counts, sizes)


def wrong_formulas(item: Stencil, here: Mapping[str, int]) -> Iterator[str]:
    """Yield if the value at any sizes does not follow from the counts, as their formulas give them."""
    n, c, box, capacity = item.dimensions, item.constant, item.given["box"], here["S"]
    names = ("instances_count", "sources_count", "ends_count", "ring_count")
    size, sources, ends, ring = (value_of(str(item.given[name]), here) for name in names)
    T = events_of(item.given, here)
    if c is None:
        return  # which is said elsewhere
    K, bulk = capacity + T + room(item.walls, n), combined(ast.Div, Fraction(n, n + 1), c)
    U, counted = combined(ast.Mult, bulk, power(K, Fraction(n + 1, n))), size
    if item.columns is not None:
        U, counted = item.columns.most_instances(n, c, K), combined(ast.Sub, size, item.columns.beside(n, c, K, ring))
    if item.given["own"]:
        U = combined(ast.Add, U, K)
    allowed = Fraction(box is None or allows(box, here, K))
    whole = least_events(item.given["events"], T, combined(ast.Div, counted, U), capacity)
    value = combined(ast.Sub, allowed * whole, sources)
    if item.given["balanced"] is not False:
        rho = power(K / (2 ** (n + 1) - 1), Fraction(1, n))
        edge = combined(ast.Mult, K, combined(ast.Add, _edge(item, c, rho), Fraction(item.given["own"])))
        most = combined(
            ast.Add, combined(ast.Mult, combined(ast.Mult, combined(ast.Mult, Fraction(2), bulk), rho), K), edge
        )
        handed = combined(ast.Mult, combined(ast.Div, rho, c), combined(ast.Sub, sources, ends))
        segments = combined(ast.Div, combined(ast.Add, size, handed), most)
        even = combined(ast.Mult, T, combined(ast.Sub, segments, Fraction(1)))
        if is_number(item.given["events"]):
            even = least_events(item.given["events"], T, segments, capacity)
        handed_on = combined(ast.Mult, allowed, even)
        value = max(value, combined(ast.Sub, handed_on, sources), key=as_decimal)
    yield from other_value(item.given, value, here)
