"""Fields: values of which every place has one, or the last few, computed from one another step after step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import islpy as isl

from shorthaul.affine.bounds.partition.isoperimetry import Offset
from shorthaul.affine.bounds.partition.parts import as_union, union_of, union_of_maps
from shorthaul.affine.bounds.partition.paths import Step, affine_steps, with_starts
from shorthaul.affine.bounds.partition.stencil_reads import Read, shift_map
from shorthaul.affine.effort import step
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.subspaces import unit
from shorthaul.affine.model import Program
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.tuning import CHEAP_STEP, LONGEST_LAYER_PATH, MOST_PATHS_BACK


@dataclass(frozen=True, slots=True)
class Line:
    """One step along a loop; ``axis`` is the loop, in which the step is 1 or -1."""

    delta: Offset
    axis: int

    def straight(self, shift: Offset) -> tuple[int, Offset]:
        """Return how many steps a distance leads on, and by how much it leads aside then.

        >>> Line((1, 2), 0).straight((-1, -3))
        (-1, (-1,))
        """
        steps = shift[self.axis] * self.delta[self.axis]
        moved = (value - steps * by for value, by in zip(shift, self.delta, strict=True))
        return steps, tuple(value for at, value in enumerate(moved) if at != self.axis)

    def coordinates(self, offset: Offset) -> tuple[str, list[str]]:
        """Return step and place of x0, x1, ... less an offset as isl's text."""
        sign, main = self.delta[self.axis], f"x{self.axis}"
        steps = f"{sign} * {main} + {-sign * offset[self.axis]}"
        places = [
            f"x{at} + {-sign * by} * {main} + {sign * by * offset[self.axis] - offset[at]}"
            for at, by in enumerate(self.delta)
            if at != self.axis
        ]
        return steps, places

    def classes(self, statement: str, offset: Offset, period: int) -> isl.UnionMap:
        """Return instance -> its place, and for longer periods its step modulo the period."""
        steps, places = self.coordinates(offset)
        values = [*places, *([f"({steps}) mod {period}"] if period > 1 else [])]
        names = ", ".join(f"x{at}" for at in range(len(offset)))
        return isl.UnionMap(f"{{ {statement}[{names}] -> [{', '.join(values)}] }}")


@dataclass(frozen=True, slots=True)
class Cycle:
    """Statements of which an instance reads one of the next, and the last one one of the first, ``total`` further on.

    ``offsets`` are the distances from an instance of the first one, ``tags`` the reads.
    """

    names: tuple[str, ...]
    offsets: tuple[Offset, ...]
    tags: tuple[str, ...]
    total: Offset


@dataclass(frozen=True, slots=True)
class Field:
    """Values of which every place has ``period`` at a time: ``start`` leads there from an instance, ``walk`` goes back.

    ``classes`` maps all these vertices to their place and, for longer periods, the step modulo the period.
    """

    period: int
    start: tuple[isl.UnionMap, ...]
    walk: isl.UnionMap
    classes: isl.UnionMap
    vertices: isl.UnionSet
    sources: isl.UnionSet

    def document(self) -> dict[str, object]:
        """Return the field as data."""
        return {
            "period": self.period,
            "start": [str(level) for level in self.start],
            "walk": str(self.walk),
            "classes": str(self.classes),
        }


@dataclass(frozen=True, slots=True)
class Columns:
    """The values that every place of a stencil has.

    ``delta`` leads from an instance to a later one of its place, ``offsets`` from one of the first statement to the
    next one of each; ``ring`` are the vertices beside columns of instances. Where no instance reads the vertex at its
    own place, they fall into ``halves``, told by the level and the coordinates chosen by ``parity``.
    """

    fields: tuple[Field, ...]
    delta: Offset
    offsets: tuple[Offset, ...]
    ring: isl.UnionSet
    parity: Offset = ()
    halves: int = 1

    @property
    def values(self) -> Fraction:
        """How many values of its own a place has in each half."""
        return Fraction(len(self.fields), self.halves)

    def document(self) -> dict[str, object]:
        """Return the values as data."""
        fields = [item.document() for item in self.fields]
        offsets = [list(offset) for offset in self.offsets]
        places = {"delta": list(self.delta), "offsets": offsets, "parity": list(self.parity)}
        return {"fields": fields, **places, "ring": str(self.ring)}

    def texts(self, program: Program) -> tuple[str, str]:
        """Return what proofs say of the values."""
        fields = "; ".join(set_text(item.vertices, program) for item in self.fields)
        halves = f" D is in {self.halves} of the halves, chi = {self.parity}." if self.parity else ""
        return (
            f"A place is a line along {self.delta}.{halves} Values of places, each vertex of one value and place: "
            + fields,
            f"ring, beside instances between two others of their place: {set_text(self.ring, program)}",
        )


def line_of(total: Offset) -> tuple[Line, int] | None:
    """Return the line on which a distance back leads by so many steps, None if it is along no loop.

    >>> line_of((-2, 0, -4))
    (Line(delta=(1, 0, 2), axis=0), 2)
    """
    for axis, value in enumerate(total):
        if value and not any(item % value for item in total):
            sign = -1 if value > 0 else 1
            return Line(tuple(sign * item // value for item in total), axis), abs(value)
    return None


def steps_aside(flow: DataFlow) -> dict[str, list[Step]]:
    """Return for every statement its reads of others of as many loops at a fixed distance."""
    found = {}
    for item in flow.program.statements:
        width = item.domain.dim(isl.dim_type.set)
        steps = affine_steps(flow, item.name) if width > 1 else ()
        found[item.name] = [
            one for one in steps if one.source is not None and one.matrix == unit(width) and one.shift is not None
        ]
    return found


def cycles(steps: Mapping[str, Sequence[Step]]) -> list[Cycle]:
    """Return cycles of reads at fixed distances, one for each list of statements and distance in all."""
    found: dict[tuple[tuple[str, ...], Offset], Cycle] = {}
    for first in steps:
        front = [Cycle((first,), (), (), (0,) * _width(steps[first]))]
        for _ in range(LONGEST_LAYER_PATH):
            following = []
            for item in front:
                for read in steps[item.names[-1]]:
                    step(CHEAP_STEP)
                    assert read.source is not None
                    assert read.shift is not None
                    total = tuple(a + b for a, b in zip(item.total, read.shift, strict=True))
                    longer = Cycle(item.names, (*item.offsets, item.total), (*item.tags, read.reference), total)
                    if read.source == first:
                        found.setdefault((item.names, total), longer)
                    elif read.source > first and read.source not in item.names:
                        following.append(Cycle((*item.names, read.source), longer.offsets, longer.tags, total))
            front = following[:MOST_PATHS_BACK]
    return list(found.values())


def _width(reads: Sequence[Step]) -> int:
    return len(reads[0].matrix) if reads else 0


def field_of(
    flow: DataFlow,
    cycle: Cycle,
    statement: str,
    domain: isl.Set,
    reads: Iterable[Read],
    line: Line,
    offset: Offset | None = None,
) -> Field | None:
    """Return the field that a cycle keeps, as the instances ``domain`` of a statement need it; None if it is none.

    Each of its vertices belongs to one place, and for periods of several steps to one step modulo the period. Places
    are those of instances less an ``offset``.
    """
    known = line_of(cycle.total)
    if known is None or known[0] != line:
        return None
    start: tuple[isl.UnionMap, ...] = ()
    zero = (0,) * len(line.delta)
    if statement in cycle.names:
        at, shift = cycle.names.index(statement), zero
    else:
        way = next((item for item in reads if item.source in cycle.names and domain.is_subset(item.where)), None)
        if way is None:
            return None
        at, shift = cycle.names.index(way.source), way.shift
        levels = [isl.UnionMap.from_map(level.intersect_domain(domain)) for level in way.by]
        start = (*levels, shift_map(statement, way.source, shift).intersect_domain(as_union(domain)))
    beyond = zero if offset is None else offset
    own = line.classes(statement, beyond, known[1])
    places = as_union(domain).apply(own)
    walk, classes, lines = union_of_maps([]), union_of_maps([]), union_of([])
    for name, on, tag in zip(cycle.names, cycle.offsets, cycle.tags, strict=True):
        step()
        aside = tuple(a - b + c + d for a, b, c, d in zip(on, cycle.offsets[at], shift, beyond, strict=True))
        placed = line.classes(name, aside, known[1]).intersect_range(places)
        placed = placed.intersect_domain(as_union(flow.program.by_name[name].domain))
        reading = with_starts(flow, name, tag).intersect_domain(placed.domain())
        walk, lines = walk.union(reading), lines.union(placed.domain())
        classes = classes.union(placed).union(reading.reverse().apply_range(placed))
    ends = lines.union(walk.range())
    for level in start:
        classes = classes.union(level.reverse().apply_range(own))
    classes = classes.coalesce()
    if not classes.is_single_valued() or not walk.is_single_valued():
        return None
    return Field(known[1], start, walk.coalesce(), classes, classes.domain(), ends.subtract(walk.domain()).coalesce())


def still_fields(flow: DataFlow, domains: Mapping[str, isl.Set], own: isl.UnionMap, taken: isl.UnionSet) -> list[Field]:
    """Return inputs that all instances read, different ones at different places, as fields without a walk.

    ``own`` maps instances to their places; inputs in ``taken`` are left out.
    """
    groups = [list(_stills(flow, name, domain)) for name, domain in domains.items()]
    nothing, found = union_of_maps([]), []
    for first in groups[0]:
        start = first
        for group in groups[1:]:
            fitting = (start.union(one) for one in group if _is_of_places(start.union(one), own))
            start = next(fitting, nothing)
        vertices = start.range().coalesce()
        of_all = start.domain().is_equal(own.domain()) and _is_of_places(start, own)
        if of_all and vertices.intersect(taken).is_empty():
            classes = start.reverse().apply_range(own).coalesce()
            found.append(Field(1, (start,), nothing, classes, vertices, vertices))
            taken = taken.union(vertices)
    return found


def _is_of_places(start: isl.UnionMap, own: isl.UnionMap) -> bool:
    step()
    return bool(start.reverse().apply_range(own).is_single_valued())


def _stills(flow: DataFlow, name: str, domain: isl.Set) -> Iterator[isl.UnionMap]:
    """Yield maps from all instances to inputs."""
    for item in flow.into(name):
        read = item.relation.reverse()
        if item.source is None and read.is_single_valued() and domain.is_subset(read.domain()):
            yield isl.UnionMap.from_map(read.intersect_domain(domain).coalesce())
