"""Stencils by levels up to their borders: places below an instance at which no instance is, ``Lemma (walls)``.

An instance beside the border of a grid reads something else in place of a neighbour, and all of the first step reads
inputs. The place of such a neighbour stands for an input, read in place of this neighbour only, or for a wall of one
instance, which has no more than levels have dimensions, corners of a grid that many.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce

import islpy as isl

from shorthaul.affine.bounds.partition.parts import as_union, sets_of, union_of, union_of_maps
from shorthaul.affine.bounds.partition.stencil_levels import Stencil
from shorthaul.affine.bounds.partition.stencil_reads import Way, borders, shift_map
from shorthaul.affine.effort import step
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.tuning import MOST_WALLED_PIECES


@dataclass(frozen=True, slots=True)
class _Reads:
    """Instances that read a neighbour, and of others its place where no instance is and what they read instead."""

    near: isl.UnionSet
    missing: isl.UnionMap
    inputs: isl.UnionMap


def walled(item: Stencil, flow: DataFlow) -> Stencil:
    """Return a stencil up to its borders; itself if nothing is there, or if it reads by way of temporaries."""
    if any(item.ways) or item.box is not None:
        return item
    reads = {way: _reads(flow, way) for way in item.reads}
    known = _as_often([one.missing.domain() for one in reads.values()], item.dimensions + 1)
    few = known[0].subtract(known[-1])
    shared = _as_often([one.missing.range() for one in reads.values()], 2)[1]
    walls = {way: one.missing.intersect_domain(few).subtract_range(shared) for way, one in reads.items()}
    places = union_of_maps(walls.values()).range()
    inputs = union_of_maps(one.missing.reverse().apply_range(one.inputs) for one in reads.values())
    inputs = _of_one(_of_one(inputs.subtract_domain(places)).reverse()).reverse().coalesce()
    domains = {name: as_union(flow.program.by_name[name].domain) for name in item.statements}
    for way, one in reads.items():
        instead = one.missing.intersect(one.inputs.apply_range(inputs.reverse()))
        every = one.near.union(walls[way].domain()).union(instead.domain())
        domains[way[0]] = domains[way[0]].intersect(every)
    made = tuple(_of_many_sizes(sets_of(domains[name])[0]) for name in item.statements)
    if any(one.n_basic_set() > MOST_WALLED_PIECES for one in made):
        return item
    if all(one.is_subset(before) for one, before in zip(made, item.domains, strict=True)):
        return item
    below, ends = borders(dict(zip(item.statements, made, strict=True)), item.reads)
    inputs = inputs.intersect_domain(below)
    places = places.intersect(below).coalesce()
    spill = below.subtract(places).subtract(inputs.domain()).union(inputs.range()).coalesce()
    sources = spill.subtract(union_of(made)).union(places).coalesce()
    return replace(item, domains=made, spill=spill, sources=sources, ends=ends, walls=places, inputs=inputs)


def _reads(flow: DataFlow, way: Way) -> _Reads:
    step()
    name, source, shift = way
    down, near, tags = shift_map(name, source, shift), union_of([]), set[str]()
    for item in flow.into(name):
        if item.source == source:
            found = isl.UnionMap.from_map(item.relation.reverse()).intersect(down).domain()
            near, tags = near.union(found), tags if found.is_empty() else {*tags, item.reference.tag}
    inputs = (item.relation for item in flow.into(name) if item.source is None and item.reference.tag in tags)
    domain, beyond = (as_union(flow.program.by_name[one].domain) for one in (name, source))
    missing = down.intersect_domain(domain.subtract(near)).subtract_range(beyond)
    return _Reads(near, missing, union_of_maps(isl.UnionMap.from_map(one.reverse()) for one in inputs))


def _of_many_sizes(points: isl.Set) -> isl.Set:
    """Return a set without the parts that there are at few sizes only, which make formulas long."""
    parts = (one for one in points.get_basic_sets() if not one.params().affine_hull().get_constraints())
    return reduce(isl.Set.union, map(isl.Set.from_basic_set, parts), points.subtract(points)).coalesce()


def _as_often(sets: Iterable[isl.UnionSet], most: int) -> list[isl.UnionSet]:
    """Return what is in one set at least, in two, and so on, up to ``most``."""
    found = [union_of([])] * most
    for item in sets:
        for at in range(most - 1, 0, -1):
            found[at] = found[at].union(found[at - 1].intersect(item))
        found[0] = found[0].union(item)
    return found


def _of_one(relation: isl.UnionMap) -> isl.UnionMap:
    """Return a relation without what has several images."""
    pairs = relation.range_product(relation)
    return relation.subtract_domain(pairs.subtract_range(relation.range().identity().wrap()).domain())
