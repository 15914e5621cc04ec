"""Stencils whose places have values of their own: coefficients, right sides, fields that are read at their place only.

A part of a play that has many places needs a value for each; one that has few computes them at many steps, and then
their neighbours too, at nearly as many (lemma on columns of a stencil).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import islpy as isl

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
from shorthaul.affine.bounds.partition.isoperimetry import Offset, differences, isoperimetric_constant
from shorthaul.affine.bounds.partition.parts import as_union, union_of, union_of_maps
from shorthaul.affine.bounds.partition.stencil_levels import Stencil, borders
from shorthaul.affine.bounds.partition.stencil_reads import Read, all_reads, direct_reads, shift_map
from shorthaul.affine.effort import step
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.subspaces import less


def stencils(flow: DataFlow) -> Iterator[Stencil]:
    """Yield the stencils by levels, and those whose places have values twice: without these, and with them."""
    yield from with_values(stencil_levels.stencils(flow), flow)


def with_values(stencils: Iterable[Stencil], flow: DataFlow) -> Iterator[Stencil]:
    """Yield stencils, each whose places have values once more with these."""
    known: list[Cycle] | None = None
    for item in stencils:
        yield item
        centred = _centred(item)
        if centred is None:
            continue
        known = cycles(steps_aside(flow)) if known is None else known
        found = _with_values(flow, known, *centred)
        if found is not None:
            yield found


def _centred(item: Stencil) -> tuple[Stencil, list[Offset]] | None:
    """Return a stencil with those neighbours only that lie evenly about one of them, and this one by statement."""
    if item.covector != (1, *(0,) * item.dimensions) or not item.own.is_empty():
        return None
    if item.is_coupled:
        return None
    first = item.shifts[0]
    if item.box is not None:
        origin = tuple(a + b for a, b in zip(min(first), (0, *item.box.origin), strict=True))
        beside = {less(shift, origin) for shift in first}
        if any(tuple(-value for value in one) not in beside for one in beside):
            return None
        return item, [group[first.index(origin)] for group in item.shifts]
    best, rate = None, 0.0
    for middle, centre in enumerate(first):
        asides = [less(shift, centre) for shift in first]
        kept = [at for at, one in enumerate(asides) if tuple(-value for value in one) in asides]
        near = differences(frozenset(first[at] for at in kept))
        rated = isoperimetric_constant(near, item.dimensions) if len(kept) > 1 else None
        if rated is not None and float(rated[0]) > rate:
            best, rate = (kept, middle, *rated), float(rated[0])
    if best is None:
        return None
    kept, middle, constant, shape = best
    shifts = tuple(tuple(group[at] for at in kept) for group in item.shifts)
    spill, ends = borders(item.statements, item.domains, shifts)
    ways = tuple(tuple(way for way in group if way[0] in near) for group, near in zip(item.ways, shifts, strict=True))
    between = union_of_maps(isl.UnionMap.from_map(level) for group in ways for _, levels in group for level in levels)
    made = replace(
        item,
        shifts=shifts,
        constant=constant,
        shape=shape,
        spill=spill.union(between.range()).coalesce(),
        sources=spill.subtract(union_of(item.domains)).coalesce(),
        ends=ends.coalesce(),
        between=between.range(),
        ways=ways,
    )
    return made, [group[middle] for group in item.shifts]


def _with_values(flow: DataFlow, known: Sequence[Cycle], item: Stencil, centres: Sequence[Offset]) -> Stencil | None:
    """Return a stencil with the values of its places, None if these have none or the ring is in the way."""
    line_and_period = line_of(tuple(map(sum, zip(*centres, strict=True))))
    if line_and_period is None:
        return None
    line, offsets = line_and_period[0], [(0,) * len(centres[0])]
    for centre in centres[1:]:
        offsets.append(less(offsets[-1], centre))
    placed = [line.classes(name, at, 1) for name, at in zip(item.statements, offsets, strict=True)]
    own = union_of_maps(one.intersect_domain(as_union(at)) for one, at in zip(placed, item.domains, strict=True))
    taken = item.spill.union(union_of(item.domains))
    fields = _fields(flow, known, item, line, offsets, taken)
    taken = union_of_sets([taken, *(one.vertices for one in fields)])
    fields += still_fields(flow, dict(zip(item.statements, item.domains, strict=True)), own, taken)
    ring = union_of([]) if item.box is not None else _ring(flow, item, centres)
    if not fields or ring is None:
        return None
    columns = Columns(tuple(fields), line.delta, tuple(offsets), ring)
    return replace(
        item,
        columns=columns,
        spill=union_of_sets([item.spill, *(one.vertices for one in fields)]),
        sources=union_of_sets([item.sources, *(one.sources for one in fields)]),
    )


def union_of_sets(sets: Sequence[isl.UnionSet]) -> isl.UnionSet:
    """Return the union of union sets."""
    found = sets[0]
    for item in sets[1:]:
        found = found.union(item)
    return found.coalesce()


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
    sources = union_of_sets([item.sources for item in fields]).subtract(walk.domain())
    return Field(1, start, walk, classes, union_of_sets([item.vertices for item in fields]), sources)


def _ring(flow: DataFlow, item: Stencil, centres: Sequence[Offset]) -> isl.UnionSet | None:
    """Return the vertices beside the columns of the instances, None if one does not read what it has to."""
    ring, needed = union_of([]), union_of_maps([])
    inside, width = union_of(item.domains), len(item.statements)
    for at, name in enumerate(item.statements):
        before, after = (at - 1) % width, (at + 1) % width
        opposite = {less(shift, centres[after]): shift for shift in item.shifts[after]}
        for shift in item.shifts[at]:
            step()
            down = shift_map(name, item.statements[before], shift)
            back = opposite[tuple(-value for value in less(shift, centres[at]))]
            up = shift_map(item.statements[after], name, back)
            near = up.intersect_domain(inside).range().intersect(down.intersect_range(inside).domain())
            near = near.subtract(inside).coalesce()
            ring, needed = ring.union(near), needed.union(down.intersect_domain(near))
    for at, name in enumerate(item.statements):
        own = shift_map(name, item.statements[(at - 1) % width], centres[at])
        needed = needed.union(own.intersect_domain(ring).intersect_range(ring.union(inside)))
    reads = union_of_maps(
        isl.UnionMap.from_map(one.relation.reverse()) for name in item.statements for one in flow.into(name)
    )
    return ring.coalesce() if needed.is_subset(reads) else None
