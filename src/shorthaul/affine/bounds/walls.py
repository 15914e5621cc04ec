"""Stencils up to their borders: what is read where there is no neighbour stands for a vertex computed from nothing.

An instance beside the border of a grid reads an input in place of a neighbour, and so does all of the first step. In
place of such a neighbour the graph here has a vertex that is computed from nothing: where one instance reads it, and no
other one of the kind, whatever input that reads (the border, the same one in every step); else the input itself, if it
is read in place of this neighbour only (the grid before the first step). So all that reads inside of walls is part of a
level (``Lemma (walls)``), but what reads two of them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import reduce

import islpy as isl

from shorthaul.affine.bounds.graph_certificate import Step
from shorthaul.affine.bounds.partition.parts import as_union, sets_of, union_of, union_of_maps
from shorthaul.affine.bounds.partition.paths import affine_steps
from shorthaul.affine.bounds.partition.stencil_reads import moved
from shorthaul.affine.effort import step
from shorthaul.affine.integer_sets.dependences import DataFlow, Flow, maps_of
from shorthaul.affine.integer_sets.subspaces import unit

_IN = isl.dim_type.in_

#: Sink and tag of a read.
_Tag = tuple[str, str]


def with_walls(flow: DataFlow) -> tuple[DataFlow, Step] | None:
    """Return the graph in which such inputs are computed, with the step that makes it; None if there are none."""
    missing = _missing(flow)
    every = union_of_maps(missing.values())
    once = every.subtract_range(_of_several(every.reverse()))
    walls = once.subtract_domain(_of_several(once)).coalesce()
    rest = every.subtract_range(once.range())
    elements = union_of_maps(
        missing[tag].intersect_range(rest.range()).reverse().apply_range(_inputs(flow, tag)) for tag in missing
    )
    elements = elements.subtract_range(_of_several(elements.reverse()))
    elements = elements.subtract_domain(_of_several(elements)).coalesce()
    if walls.is_empty() and elements.is_empty():
        return None
    made = {"kind": "walls", "walls": str(walls), "inputs": str(elements.reverse())}
    return _extended(flow, missing, walls, elements), made


def _missing(flow: DataFlow) -> dict[_Tag, isl.UnionMap]:
    """Return instance -> neighbour that there is not, for reads of at least two neighbours in one statement."""
    found = {}
    for statement in flow.program.statements:
        name, width = statement.name, len(statement.iterators)
        steps = [item for item in affine_steps(flow, name) if item.source is not None]
        near = defaultdict(set)
        for item in steps:
            if item.matrix == unit(width) and item.shift is not None:
                near[item.source].add((item.reference, item.shift))
        for source, reads in near.items():
            tags = [tag for tag, _ in reads]
            for tag, shift in reads:
                if len({other for _, other in reads}) > 1 and tags.count(tag) == 1:
                    step()
                    to = isl.UnionMap.from_map(moved(name, str(source), shift))
                    to = to.intersect_domain(_inputs(flow, (name, tag)).domain())
                    found[name, tag] = to.subtract_range(as_union(flow.program.by_name[str(source)].domain))
    return {tag: to for tag, to in found.items() if not to.is_empty()}


def _inputs(flow: DataFlow, tag: _Tag) -> isl.UnionMap:
    """Return the inputs that instances read by a reference."""
    into = (item for item in flow.into(tag[0]) if item.source is None and item.reference.tag == tag[1])
    return union_of_maps(isl.UnionMap.from_map(item.relation.reverse()) for item in into)


def _of_several(relation: isl.UnionMap) -> isl.UnionSet:
    """Return what has several images."""
    pairs = relation.range_product(relation)
    return pairs.subtract_range(relation.range().identity().wrap()).domain()


def _extended(
    flow: DataFlow, missing: dict[_Tag, isl.UnionMap], walls: isl.UnionMap, elements: isl.UnionMap
) -> DataFlow:
    """Return the graph with vertices for walls and in place of inputs, ``elements``."""
    flows: dict[tuple[str | None, str, str], Flow] = {}
    for item in flow.flows:
        step()
        found = [item]
        if item.source is None:
            read = isl.UnionMap.from_map(item.relation)
            beside = missing.get((item.sink, item.reference.tag), union_of_maps([])).intersect(walls)
            left = read.subtract_domain(elements.range()).subtract_range(beside.domain())
            computed = beside.reverse().union(elements.apply_range(read))
            found = [replace(item, relation=one) for one in maps_of(left)]
            found += [replace(item, source=one.get_tuple_name(_IN), relation=one) for one in maps_of(computed)]
        for one in found:
            key = one.source, one.sink, one.reference.tag
            known = [flows[key].relation] if key in flows else []
            flows[key] = replace(one, relation=reduce(isl.Map.union, known, one.relation).coalesce())
    new = {item.get_tuple_name(): item for item in sets_of(walls.range().union(elements.domain()))}
    statements = tuple(
        replace(item, domain=item.domain.union(new[item.name]).coalesce()) if item.name in new else item
        for item in flow.program.statements
    )
    inputs = union_of(item.relation.domain() for item in flows.values() if item.source is None)
    known_inputs = {item.get_tuple_name(): item for item in sets_of(inputs)}
    return DataFlow(replace(flow.program, statements=statements), tuple(flows.values()), known_inputs)
