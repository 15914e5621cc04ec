"""Values that places of a stencil have, verified: walks of one place each, the ring, and how many instances follow."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import islpy as isl

from shorthaul.affine.check.data_flow import Reads, union_of_sets
from shorthaul.affine.check.formulas import Number, combined, power
from shorthaul.core.errors import InputError

Vector = tuple[int, ...]


@dataclass(frozen=True)
class Field:
    """A value: ``start`` leads to it from instances, ``walk`` back, ``classes`` from its vertices to their place."""

    period: int
    start: tuple[isl.UnionMap, ...]
    walk: isl.UnionMap
    classes: isl.UnionMap


def fields_of(given: Sequence[Mapping[str, Any]]) -> tuple[Field, ...]:
    """Return the fields in a certificate."""
    found = tuple(
        Field(
            int(item["period"]),
            tuple(isl.UnionMap(str(level)) for level in item["start"]),
            isl.UnionMap(str(item["walk"])),
            isl.UnionMap(str(item["classes"])),
        )
        for item in given
    )
    if not found or any(item.period < 1 for item in found):
        raise InputError("has no fields", place="fields")
    return found


def wrong_fields(
    fields: Sequence[Field],
    points: isl.UnionSet,
    own: Callable[[int], isl.UnionMap],
    spill: isl.UnionSet,
    sources: isl.UnionSet,
    reads: Reads,
) -> Iterator[str]:
    """Yield where walks do not follow reads, or a vertex does not belong to one place.

    ``own`` gives the places of the instances ``points``, and their steps modulo a period.
    """
    together, ends = isl.UnionSet("{ }"), isl.UnionSet("{ }")
    for number, item in enumerate(fields):
        walk, classes, here = item.walk, item.classes, own(item.period).intersect_domain(points)
        if not walk.is_single_valued() or not walk.is_subset(reads.all) or not classes.is_single_valued():
            yield f"field {number} does not follow reads of one vertex each"
        before = points.identity()
        for level in item.start:
            pairs = before.reverse().apply_range(level)
            if not pairs.is_subset(reads.all) or not level.domain().is_equal(points):
                yield f"field {number} does not begin with a read"
            before = level
            if not level.apply_range(classes).is_equal(here):
                yield f"a vertex of field {number} on the way there is of another place"
        if not before.apply_range(classes).is_equal(here):
            yield f"field {number} does not begin at every instance"
        if not walk.apply_range(classes).is_equal(classes.intersect_domain(walk.domain())):
            yield f"a walk of field {number} leads to another place"
        if not classes.domain().intersect(together).is_empty():
            yield f"field {number} has vertices in common with another one"
        together = together.union(classes.domain())
        ends = ends.union(before.range().union(walk.range()).subtract(walk.domain()))
    if not spill.is_equal(together):
        yield "the may-spill set is not that of the fields"
    if not ends.union(together.intersect(reads.inputs)).is_subset(sources):
        yield "a field begins at a vertex that is not among the sources"


@dataclass(frozen=True)
class Columns:
    """The values of places, read; instances of a place are ``delta`` apart, those of statements by ``offsets``.

    ``parity`` chooses the coordinates that tell halves, where nothing is read at the place itself.
    """

    fields: tuple[Field, ...]
    covector: Vector
    delta: Vector
    offsets: tuple[Vector, ...]
    ring: isl.UnionSet
    parity: Vector

    @property
    def halves(self) -> int:
        """In how many halves all instances are, 1 or 2."""
        if not self.parity or len(self.offsets) > 1:
            return 1 + bool(self.parity)
        along = sum(a * b for a, b in zip((1, *self.parity), (-self.covector[0], *self.delta[1:]), strict=True))
        return 1 + any(value % 2 for value in (along, *map(sum, zip(self.covector[1:], self.parity, strict=True))))

    @property
    def vertices(self) -> isl.UnionSet:
        """All vertices of the values."""
        return union_of_sets(item.classes.domain() for item in self.fields)

    @property
    def sources(self) -> isl.UnionSet:
        """Where the walks end."""
        return union_of_sets(
            item.start[-1].range().union(item.walk.range()).subtract(item.walk.domain()) for item in self.fields
        ).coalesce()

    def most_instances(self, n: int, c: Number, K: Number) -> Number:
        """Return U of the lemma on columns of a stencil, or of that on one that does not read its centre."""
        values, twice = Fraction(len(self.fields), self.halves), 1 if self.parity else 2
        tau = twice / (twice + values)
        bulk = combined(
            ast.Mult, combined(ast.Div, Fraction(n, n + 1), c), power(combined(ast.Mult, tau, K), Fraction(n + 1, n))
        )
        bulk = combined(ast.Div, bulk, power(twice - tau ** (n + 1), Fraction(1, n)))
        edge = tau if self.parity else 2 * values / ((values + 1) * (values + 2))
        return combined(ast.Add, bulk, combined(ast.Mult, edge, K))

    def beside(self, n: int, c: Number, K: Number, ring: Number) -> Number:
        """Return how many instances vertices of the ring stand for."""
        values, more = Fraction(len(self.fields), self.halves), 0 if self.parity else 1
        each = combined(ast.Div, power(combined(ast.Div, K, values + more), Fraction(1, n)), c)
        return combined(ast.Mult, combined(ast.Mult, values / (values + 1 + more), each), ring)

    def aside(self, shift: Vector, at: int) -> tuple[int, Vector]:
        """Return how many levels a read of a statement leads down, and to which other place."""
        count = len(self.offsets)
        before = (at - 1) % count
        moved = zip(shift[1:], self.offsets[at][1:], self.offsets[before][1:], self.delta[1:], strict=True)
        down = count * sum(a * b for a, b in zip(self.covector, shift, strict=True))
        return down + before - at, tuple(a + b - c - d * shift[0] for a, b, c, d in moved)

    def placed(self, names: Sequence[str], levels: bool = True) -> isl.UnionMap:
        """Return instance -> its level, if ``levels`` are wanted, and its place."""
        found, width = isl.UnionMap("{ }"), len(self.delta)
        for at, (name, offset) in enumerate(zip(names, self.offsets, strict=True)):
            axes = zip(range(1, width), offset[1:], self.delta[1:], strict=True)
            along = " + ".join(f"{len(names) * by} x{axis}" for axis, by in enumerate(self.covector))
            values = [f"{along} + {at}"] if levels else []
            values += [f"x{axis} + {-by} + {-step} x0" for axis, by, step in axes]
            loops = ", ".join(f"x{axis}" for axis in range(width))
            found = found.union(isl.UnionMap(f"{{ {name}[{loops}] -> [{', '.join(values)}] }}"))
        return found


def columns_of(given: Mapping[str, Any], names: Sequence[str], covector: Vector) -> Columns:
    """Return the values in a certificate."""
    width = len(covector)
    made = Columns(
        fields_of(given["fields"]),
        covector,
        tuple(map(int, given["delta"])),
        tuple(tuple(map(int, offset)) for offset in given["offsets"]),
        isl.UnionSet(str(given["ring"])),
        tuple(map(int, given.get("parity", ()))),
    )
    ones = [made.delta[0], *(1 + offset[0] for offset in made.offsets)]
    if len(made.offsets) != len(names) or {*map(len, made.offsets), len(made.delta)} != {width} or set(ones) != {1}:
        raise InputError("does not say where places are", place="columns")
    if len(made.parity) not in {0, width - 1} or not {*made.parity} <= {0, 1}:
        raise InputError("does not say what tells halves", place="columns")
    if any(not item.start for item in made.fields):
        raise InputError("does not say how values are read", place="columns")
    return made


def wrong_columns(
    item: Columns,
    names: Sequence[str],
    shifts: Sequence[Sequence[Vector]],
    centres: Sequence[Vector] | None,
    points: isl.UnionSet,
    reads: Reads,
) -> Iterator[str]:
    """Yield what does not hold of places, their levels and the ring; ``centres`` are those of a box."""
    asides = [[item.aside(shift, at) for shift in group] for at, group in enumerate(shifts)]
    near = {place for _, place in asides[0]}
    still = (0,) * (len(item.delta) - 1)
    if any(level != -1 for group in asides for level, _ in group) or {*map(frozenset, asides)} != {
        frozenset(asides[0])
    }:
        yield "the statements do not have one neighbourhood of places"
    if any(tuple(-value for value in place) not in near for place in near) or (not item.parity and still not in near):
        yield "the neighbours do not lie evenly about their place"
    if item.parity and not all(sum(a * b for a, b in zip(item.parity, place, strict=True)) % 2 for place in near):
        yield "a neighbour is in the other half"
    if centres is not None and any(item.aside(one, at)[1] != still for at, one in enumerate(centres)):
        yield "the middle of the box's neighbourhood is another place"
    placed = item.placed(names)
    inside, ring = points.apply(placed), item.ring.apply(placed)
    later = _later(len(still), 2 if item.parity else 1)
    if not inside.apply(later).intersect(inside.apply(later.reverse())).is_subset(inside):
        yield "a level is left out between two of a place"
    middle = inside.apply(_moved(1, still)).intersect(inside.apply(_moved(-1, still)))
    beside, needed = isl.UnionSet("{ }"), isl.UnionMap("{ }")
    for place in near:
        here = middle.apply(_moved(0, place)).subtract(inside)
        beside = beside.union(here)
        needed = needed.union(_moved(-1, tuple(-value for value in place)).intersect_domain(here))
    if centres is not None:
        beside = beside.intersect(inside.apply(later.union(later.reverse())))
    if not ring.is_equal(beside) or (centres is not None and not beside.is_empty()):
        yield "the ring is not that of the instances"
    if not item.parity:
        needed = needed.union(_moved(-1, still).intersect_domain(ring).intersect_range(ring.union(inside)))
    if centres is None and not needed.is_subset(reads.all.apply_domain(placed).apply_range(placed)):
        yield "a vertex of the ring does not read the instances beside it"


def _moved(levels: int, place: Vector) -> isl.UnionMap:
    """Return level and place -> those at a distance."""
    names = [f"x{at}" for at in range(1 + len(place))]
    values = [f"{name} + {by}" for name, by in zip(names, (levels, *place), strict=True)]
    return isl.UnionMap(f"{{ [{', '.join(names)}] -> [{', '.join(values)}] }}")


def _later(dimensions: int, apart: int) -> isl.UnionMap:
    """Return level and place -> later levels of the place, multiples of a number of levels ``apart``."""
    places = "".join(f", x{at}" for at in range(dimensions))
    return isl.UnionMap(f"{{ [l{places}] -> [m{places}] : l < m and (m - l) mod {apart} = 0 }}")
