"""Systems of fields whose places fill a box, border and all: double cones without a border.

Where an instance reaches all its neighbours in the box, the lemma on double cones holds with an inequality inside of
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import islpy as isl
import sympy

from shorthaul.affine.bounds.boxes.stencils import box_of, lengths_of
from shorthaul.affine.bounds.cones import (
    Cones,
    Neighbourhood,
    fields_of,
    neighbours_by_trip,
    shifts_of,
    straightened,
    ways_of,
    where_of,
    without_gaps,
)
from shorthaul.affine.bounds.partition.fields import Cycle, cycles, line_of, steps_aside
from shorthaul.affine.bounds.partition.isoperimetry import Shape
from shorthaul.affine.bounds.partition.stencil_reads import Read, all_reads, direct_reads, moved
from shorthaul.affine.effort import limited, step
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.proofs.inside import inside
from shorthaul.affine.tuning import CONE_OPERATIONS


def boxed_cones(flow: DataFlow) -> Iterator[Cones]:
    """Yield the arguments on instances that fill a box, for every neighbourhood that they reach all of there."""
    steps = steps_aside(flow)
    known = cycles(steps)
    lines = {found[0] for item in known if (found := line_of(item.total)) is not None}
    direct = direct_reads(flow) if lines else {}
    for name in steps:
        if not any(name in item.names for item in known):
            continue
        domain = flow.program.by_name[name].domain
        for line in sorted(lines, key=lambda item: (item.axis, item.delta)):
            if len(line.delta) != domain.dim(isl.dim_type.set):
                continue
            reads = all_reads(direct, name)
            for places, trip, kept in neighbours_by_trip(shifts_of(steps, name), line):
                with suppress(isl.Error), limited(CONE_OPERATIONS):
                    around = Neighbourhood(line, places, trip, kept, sympy.Integer(1), Shape("", ""))
                    yield from _boxed(flow, reads, known, name, around)


def _boxed(
    flow: DataFlow, reads: Sequence[Read], known: Sequence[Cycle], name: str, around: Neighbourhood
) -> Iterator[Cones]:
    step()
    ways, line, domain = ways_of(reads, name, around), around.line, flow.program.by_name[name].domain
    product = domain.apply(straightened(name, line))
    sides = box_of(product, line.axis)
    if ways is None or sides is None or not without_gaps(product, line.axis):
        return
    for shift, items in ways.items():
        if not domain.intersect(domain.apply(moved(name, name, tuple(-by for by in shift)))).is_subset(where_of(items)):
            return
    fields = fields_of(flow, known, name, domain, reads, line)
    if not fields:
        return
    used = tuple(item for items in ways.values() for item in items)
    lengths = lengths_of(sides, flow)
    still = (0,) * len(lengths)
    for box in inside(frozenset(around.places), lengths, [still]):
        rated = replace(around, constant=box.constant, shape=Shape(box.kind, box.because))
        yield Cones(name, domain, rated, fields, used, domain.subtract(domain), box)
