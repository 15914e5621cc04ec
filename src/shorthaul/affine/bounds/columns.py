"""Stencils whose places have values of their own: coefficients, right sides, fields that are read at their place only.

A part of a play that has many places needs a value for each; one that has few computes them at many steps, and then
their neighbours too, at nearly as many (lemma on columns of a stencil).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import islpy as isl
import sympy

from shorthaul.affine.bounds.partition import stencil_levels
from shorthaul.affine.bounds.partition.fields import (
    Columns,
    Cycle,
    Field,
    Line,
    cycles,
    field_of,
    line_of,
    steps_aside,
    still_fields,
)
from shorthaul.affine.bounds.partition.isoperimetry import Offset, Shape, differences, isoperimetric_constant
from shorthaul.affine.bounds.partition.parts import as_union, union_of, union_of_maps, united
from shorthaul.affine.bounds.partition.stencil_levels import Stencil, bordered
from shorthaul.affine.bounds.partition.stencil_reads import Read, all_reads, direct_reads, shift_map, steps_alone
from shorthaul.affine.bounds.walls import walled
from shorthaul.affine.effort import step
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.subspaces import less


def stencils(flow: DataFlow, without: frozenset[str] = frozenset()) -> Iterator[Stencil]:
    """Yield the stencils by levels of statements not in ``without``, and those whose places have values twice:

    without these, and with them.
    """
    found = stencil_levels.stencils(flow)
    yield from with_values((item for item in found if not without & set(item.statements)), flow)


def with_values(stencils: Iterable[Stencil], flow: DataFlow) -> Iterator[Stencil]:
    """Yield stencils, each whose places have values once more with these."""
    known: list[Cycle] | None = None
    for item in stencils:
        yield walled(item, flow)
        middle = _centred(item) or _bare(item)
        if middle is None:
            continue
        known = cycles(steps_aside(flow)) if known is None else known
        found = _with_values(flow, known, *middle)
        if found is not None:
            yield found


@dataclass(frozen=True, slots=True)
class _Middle:
    """About what neighbours lie evenly: ``twice`` the distance to there, by statement.

    Where nothing is read there, ``parity`` chooses the coordinates of places that tell their ``halves``.
    """

    twice: tuple[Offset, ...]
    parity: Offset = ()
    halves: int = 1

    def opposite(self, at: int, shift: Offset, other: int) -> Offset:
        """Return the distance of a statement that leads as far to the other side as one of ``at`` does."""
        sums = zip(self.twice[at], self.twice[other], shift, strict=True)
        return tuple((a + b) // 2 - by for a, b, by in sums)


def _centred(item: Stencil) -> tuple[Stencil, _Middle] | None:
    """Return a stencil with those neighbours only that lie evenly about one of them."""
    if item.covector != steps_alone(len(item.covector)) or not item.own.is_empty() or item.is_coupled:
        return None
    first = item.shifts[0]
    if item.box is not None:
        origin = tuple(a + b for a, b in zip(min(first), (0, *item.box.origin), strict=True))
        beside = {less(shift, origin) for shift in first}
        if any(tuple(-value for value in one) not in beside for one in beside):
            return None
        return item, _Middle(_twice(item.shifts, _sum(origin, origin)))
    best, rate = None, 0.0
    for centre in first:
        asides = [less(shift, centre) for shift in first]
        kept = [at for at, one in enumerate(asides) if tuple(-value for value in one) in asides]
        near = differences(frozenset(first[at] for at in kept))
        rated = isoperimetric_constant(near, item.dimensions) if len(kept) > 1 else None
        if rated is not None and float(rated[0]) > rate:
            best, rate = (kept, centre, rated), float(rated[0])
    if best is None:
        return None
    kept, centre, rated = best
    return _only(item, kept, *rated), _Middle(_twice(item.shifts, _sum(centre, centre)))


def _bare(item: Stencil) -> tuple[Stencil, _Middle] | None:
    """Return a stencil with those neighbours only that lie evenly about a place of which nothing is read."""
    if item.box is not None or not item.own.is_empty() or item.is_coupled:
        return None
    first, n = item.shifts[0], item.dimensions
    best, rate = None, (0.0, 0)
    for total in {_sum(*pair) for pair in itertools.combinations(first, 2)}:
        step()
        twice = _twice(item.shifts, total)
        whole = not any(value % 2 for value in total)
        if len(twice) > 1 and not whole:
            continue
        delta = tuple(-sum(values) // (2 if whole else 1) for values in zip(*twice, strict=True))
        if delta[0] != 1:
            continue
        pairs = {at: less(_sum(shift, shift), total) for at, shift in enumerate(first) if less(total, shift) in first}
        places = {at: [a - by * two[0] for a, by in zip(two[1:], delta[1:], strict=True)] for at, two in pairs.items()}
        for parity in itertools.product((0, 1), repeat=n):
            odd = {
                at: tuple(value // 2 for value in place)
                for at, place in places.items()
                if not any(value % 2 for value in place) and sum(a * b for a, b in zip(place, parity, strict=True)) % 4
            }
            rated = isoperimetric_constant(frozenset({*odd.values(), (0,) * n}), n) if odd else None
            if rated is None:
                continue
            halves = 2 if len(twice) > 1 else _halves(item.covector, delta, parity)
            if (float(rated[0]), -halves) > rate:
                best, rate = (sorted(odd), rated, _Middle(twice, parity, halves)), (float(rated[0]), -halves)
    if best is None:
        return None
    kept, rated, middle = best
    return _only(item, kept, *rated), middle


def _sum(one: Offset, other: Offset) -> Offset:
    return tuple(a + b for a, b in zip(one, other, strict=True))


def _twice(shifts: Sequence[Sequence[Offset]], first: Offset) -> tuple[Offset, ...]:
    """Return twice the distance to the middle by statement, for that of the first one."""
    moves = [less(group[0], shifts[0][0]) for group in shifts]
    return tuple(_sum(first, _sum(move, move)) for move in moves)


def _halves(covector: Offset, delta: Offset, parity: Offset) -> int:
    """Return 1 if level and the chosen coordinates of a place always add up to an even number, else 2.

    >>> _halves((2, 1, 1), (1, 0, 0), (1, 1)), _halves((1, 0, 0), (1, 0, 0), (1, 1))
    (1, 2)
    """
    first = covector[0] - sum(a * b for a, b in zip(parity, delta[1:], strict=True))
    others = _sum(covector[1:], parity)
    return 1 + any(value % 2 for value in (first, *others))


def _only(item: Stencil, kept: Sequence[int], constant: sympy.Expr, shape: Shape) -> Stencil:
    """Return a stencil with some of its neighbours."""
    shifts = tuple(tuple(group[at] for at in kept) for group in item.shifts)
    ways = tuple(tuple(way for way in group if way[0] in near) for group, near in zip(item.ways, shifts, strict=True))
    between = union_of_maps(isl.UnionMap.from_map(level) for group in ways for _, levels in group for level in levels)
    return bordered(replace(item, shifts=shifts, constant=constant, shape=shape, between=between.range(), ways=ways))


def _with_values(flow: DataFlow, known: Sequence[Cycle], item: Stencil, middle: _Middle) -> Stencil | None:
    """Return a stencil with the values of its places, None if these have none or the ring is in the way."""
    line_and_period = line_of(tuple(map(sum, zip(*middle.twice, strict=True))))
    if line_and_period is None:
        return None
    line, offsets = line_and_period[0], [(0,) * len(item.covector)]
    for twice in middle.twice[1:]:
        offsets.append(less(offsets[-1], tuple(value // 2 for value in twice)))
    placed = [line.classes(name, at, 1) for name, at in zip(item.statements, offsets, strict=True)]
    own = union_of_maps(one.intersect_domain(as_union(at)) for one, at in zip(placed, item.domains, strict=True))
    taken = item.spill.union(union_of(item.domains))
    fields = _fields(flow, known, item, line, offsets, taken)
    taken = united([taken, *(one.vertices for one in fields)])
    fields += still_fields(flow, dict(zip(item.statements, item.domains, strict=True)), own, taken)
    ring = union_of([]) if item.box is not None else _ring(flow, item, middle)
    if not fields or ring is None:
        return None
    columns = Columns(tuple(fields), line.delta, tuple(offsets), ring, middle.parity, middle.halves)
    return replace(
        item,
        columns=columns,
        spill=united([item.spill, *(one.vertices for one in fields)]),
        sources=united([item.sources, *(one.sources for one in fields)]),
    )


def _fields(
    flow: DataFlow,
    known: Sequence[Cycle],
    item: Stencil,
    line: Line,
    offsets: Sequence[Offset],
    taken: isl.UnionSet,
) -> list[Field]:
    """Return fields of one value a place that the instances of all statements read, of others than these."""
    reads: list[list[Read]] = []
    found = []
    for cycle in known:
        if set(item.statements) & set(cycle.names) or line_of(cycle.total) != (line, 1):
            continue
        if not reads:
            direct = direct_reads(flow)
            reads = [all_reads(direct, name) for name in item.statements]
        made = []
        for name, domain, read, offset in zip(item.statements, item.domains, reads, offsets, strict=True):
            one = field_of(flow, cycle, name, domain, read, line, offset)
            if one is None:
                break
            made.append(one)
        united = _as_one(made) if len(made) == len(reads) else None
        if united is not None and united.vertices.intersect(taken).is_empty():
            taken = taken.union(united.vertices)
            found.append(united)
    return found


def _as_one(fields: Sequence[Field]) -> Field | None:
    """Return a field as the instances of several statements need it, None if a vertex belongs to several places."""
    if len({len(item.start) for item in fields}) > 1:
        return None
    walk, classes = (
        union_of_maps(maps).coalesce() for maps in zip(*((one.walk, one.classes) for one in fields), strict=True)
    )
    if not walk.is_single_valued() or not classes.is_single_valued():
        return None
    start = tuple(union_of_maps(levels) for levels in zip(*(item.start for item in fields), strict=True))
    sources = united([item.sources for item in fields]).subtract(walk.domain())
    return Field(1, start, walk, classes, united([item.vertices for item in fields]), sources)


def _ring(flow: DataFlow, item: Stencil, middle: _Middle) -> isl.UnionSet | None:
    """Return the vertices beside the columns of the instances, None if one does not read what it has to."""
    ring, needed = union_of([]), union_of_maps([])
    inside, width = union_of(item.domains), len(item.statements)
    for at, name in enumerate(item.statements):
        before, after = (at - 1) % width, (at + 1) % width
        for shift in item.shifts[at]:
            step()
            down = shift_map(name, item.statements[before], shift)
            up = shift_map(item.statements[after], name, middle.opposite(at, shift, after))
            near = up.intersect_domain(inside).range().intersect(down.intersect_range(inside).domain())
            near = near.subtract(inside).coalesce()
            ring, needed = ring.union(near), needed.union(down.intersect_domain(near))
    for at, name in enumerate(() if middle.parity else item.statements):
        centre = tuple(value // 2 for value in middle.twice[at])
        own = shift_map(name, item.statements[(at - 1) % width], centre)
        needed = needed.union(own.intersect_domain(ring).intersect_range(ring.union(inside)))
    reads = union_of_maps(
        isl.UnionMap.from_map(one.relation.reverse()) for name in item.statements for one in flow.into(name)
    )
    return ring.coalesce() if needed.is_subset(reads) else None
