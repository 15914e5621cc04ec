"""What is left of phases where others take some of their vertices: the paths without these.

Memory holds S words at any time, so every family of phases subtracts S for each of its intervals; what their paths
load adds up if no vertex is on paths of both. So of two families that read two matrices each, one of both, one keeps
what the other has left.
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from shorthaul.affine.bounds.lifetime.phases import Phase, Phases, counted
from shorthaul.affine.bounds.lifetime.wavefront import Reachability
from shorthaul.affine.bounds.partition.parts import union_of_maps
from shorthaul.affine.effort import limited, step
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.tuning import PHASE_OPERATIONS


def remaining(item: Phases, taken: isl.UnionSet, flow: DataFlow) -> Phases | None:
    """Return the argument without the paths that have vertices in ``taken``, None if nothing is left of it."""
    with limited(PHASE_OPERATIONS):
        left = (_without(kind, taken, Reachability.of(flow)) for kind in item.kinds)
        kinds = tuple(kind for kind in left if kind is not None)
    return replace(item, kinds=kinds) if kinds else None


def _without(kind: Phase, taken: isl.UnionSet, reach: Reachability) -> Phase | None:
    """Return intervals without some paths, counted again; their order is as before."""
    begins = isl.UnionMap(kind.rests_on["begins"])
    paths, ends, vertices = [], [], []
    for path in kind.rests_on["paths"]:
        step()
        found, levels = isl.UnionMap(path["ends"]), [isl.UnionMap(text) for text in path["levels"]]
        for met in (taken, *(level.intersect_range(taken).domain() for level in levels)):
            found = found.subtract_range(met)
        if found.is_empty():
            continue
        levels = [level.intersect_domain(found.range()) for level in levels]
        paths.append({"ends": str(found), "levels": [str(level) for level in levels]})
        ends.append(begins.apply_range(found))
        vertices += [ends[-1], *(ends[-1].apply_range(level) for level in levels)]
    if not paths:
        return None
    rests_on = {**kind.rests_on, "paths": paths}
    every, last = union_of_maps(vertices).coalesce(), union_of_maps(ends).coalesce()
    return counted(reach, replace(kind, ends=last, vertices=every, rests_on=rests_on, pieces=(), sums=()))
