"""Stencils by levels whose instances fill a box at every step, border and all: no border is left to be counted.

An instance reads, of its neighbours, all that lie in the box. So rows have the neighbours that they have in the box,
and the lemmas on rows hold with an inequality inside of it, for parts so small that it does. Sources are the first
level.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import islpy as isl
import sympy

from shorthaul.affine.bounds.hourglass import of_equal_width, only
from shorthaul.affine.bounds.partition.isoperimetry import Offset, Shape, differences
from shorthaul.affine.bounds.partition.parts import as_union, thickness, union_of
from shorthaul.affine.bounds.partition.stencil_levels import Stencil
from shorthaul.affine.bounds.partition.stencil_reads import Read, direct_reads, groups, level_shifts, moved, own_reads
from shorthaul.affine.effort import limited, step
from shorthaul.affine.integer_sets.counting import card, count_formula
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.subspaces import less
from shorthaul.affine.proofs.inside import Inside, inside
from shorthaul.affine.tuning import CONE_OPERATIONS

_SET = isl.dim_type.set


def boxed_stencils(flow: DataFlow) -> Iterator[Stencil]:
    """Yield the groups of statements that form a stencil in levels and fill a box at every step."""
    direct = direct_reads(flow)
    reads = own_reads(flow, direct)
    for group in groups(flow, reads):
        with suppress(isl.Error), limited(CONE_OPERATIONS):
            yield from _boxed(flow, reads, group)


def _boxed(flow: DataFlow, every: Mapping[str, Sequence[Read]], names: Sequence[str]) -> Iterator[Stencil]:
    step()
    found = level_shifts(every, names, (1, *(0,) * (flow.program.by_name[names[0]].domain.dim(_SET) - 1)))
    if found is None:
        return
    reads, shifts = found
    whole = [flow.program.by_name[name].domain for name in names]
    sides = box_of(whole[0], 0)
    if sides is None or any(item.by for at in range(len(names)) for shift in shifts[at] for item in reads[at][shift]):
        return
    least = min(shifts[0])
    lengths = lengths_of(sides, flow)
    for known in inside(frozenset(item[1:] for item in differences(frozenset(shifts[0]))), lengths):
        still = tuple(a + b for a, b in zip(least, (0, *known.origin), strict=True))
        offset = less(still, shifts[0][0])
        centres = [tuple(a + b for a, b in zip(item[0], offset, strict=True)) for item in shifts]
        made = _around(names, whole, reads, shifts, centres)
        if made is not None:
            yield _stencil(names, made, shifts, known, centres)


def box_of(domain: isl.Set, axis: int) -> list[isl.Set] | None:
    """Return the values of every coordinate but ``axis`` if instances are all pairs of a step and a place of a box."""
    width = domain.dim(_SET)
    if width < 2 or thickness(domain) < width or not of_equal_width(domain, (axis,)).is_equal(domain):
        return None
    sides, between = [], isl.Map("{ [x] -> [y] : x < y }")
    for at in range(width):
        values = only(domain, (at,))
        if at != axis:
            if not of_equal_width(domain, (at,)).is_equal(domain):
                return None
            if not values.apply(between).intersect(values.apply(between.reverse())).is_subset(values):
                return None
            sides.append(values.gist_params(domain.params()))
    return sides


def lengths_of(sides: Sequence[isl.Set], flow: DataFlow) -> list[sympy.Expr]:
    """Return how long the sides are wherever there are instances at all."""
    found = []
    for side in sides:
        length = count_formula(card(side, flow.program.context))
        if isinstance(length, sympy.Piecewise) and len(length.args) == 2 and length.args[1].args[0] == 0:
            length = length.args[0].args[0]  # the other piece has no places
        found.append(length)
    return found


def _around(
    names: Sequence[str],
    whole: Sequence[isl.Set],
    reads: Sequence[Mapping[Offset, Sequence[Read]]],
    shifts: Sequence[Sequence[Offset]],
    centres: Sequence[Offset],
) -> list[isl.Set] | None:
    """Return the instances with a level below if they read all neighbours in one box, None else."""
    domains = []
    for at, name in enumerate(names):
        before = whole[at - 1]
        below = whole[at].apply(moved(name, names[at - 1], centres[at]))
        if box_of(whole[at], 0) is None or not _places(below).is_equal(_places(before)):
            return None
        domain = whole[at].intersect(before.apply(moved(name, names[at - 1], centres[at]).reverse()))
        for shift in shifts[at]:
            wanted = domain.intersect(before.apply(moved(name, names[at - 1], shift).reverse()))
            where = reads[at][shift][0].where
            for item in reads[at][shift][1:]:
                where = where.union(item.where)
            if not wanted.is_subset(where):
                return None
        domains.append(domain.coalesce())
    return domains


def _places(domain: isl.Set) -> isl.Set:
    return domain.project_out(_SET, 0, 1).reset_tuple_id()


def _stencil(
    names: Sequence[str],
    domains: Sequence[isl.Set],
    shifts: Sequence[Sequence[Offset]],
    known: Inside,
    centres: Sequence[Offset],
) -> Stencil:
    """Return the argument: sources are what is read and not among the instances, ends those without a level above."""
    spill, ends = union_of([]), union_of([])
    for at, name in enumerate(names):
        after = (at + 1) % len(names)
        spill = spill.union(as_union(domains[at].apply(moved(name, names[at - 1], centres[at]))))
        read = domains[after].apply(moved(names[after], name, centres[after]))
        ends = ends.union(as_union(domains[at].subtract(read)))
    covector = (1, *(0,) * (len(centres[0]) - 1))
    return Stencil(
        tuple(names),
        tuple(domains),
        covector,
        tuple(tuple(item) for item in shifts),
        known.constant,
        Shape(known.kind, known.because),
        spill.coalesce(),
        spill.subtract(union_of(domains)).coalesce(),
        ends.coalesce(),
        union_of([]),
        union_of([]),
        tuple(() for _ in names),
        box=known,
    )
