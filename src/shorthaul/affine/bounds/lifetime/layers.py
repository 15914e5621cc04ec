"""Layers: all of one time step exists before anything of the next one (Olivry et al. 2020, Sec. 6, sets made exact).

Let the vertices of a statement fall into layers by their first coordinate, let every vertex of layer t be an ancestor
of every vertex of layer t + 1, and let n vertex-disjoint paths lead from layer t to layer t + 1. Just before the first
vertex of layer t + 1 is computed, the whole layer t has been, so the last computed vertex of every path is still to be
read. At most S - 1 of them are in fast memory, which has to take the new vertex, so n - S + 1 loads of path vertices
follow. If the paths of different layers share no vertex but their ends, which count for the later layer, the loads of
all layers add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import islpy as isl
import sympy

from shorthaul.affine.bounds.lifetime.lifetime_certificate import lifetime_certificate, summed
from shorthaul.affine.bounds.lifetime.wavefront import Reachability, summed_text, ways_back
from shorthaul.affine.bounds.partition.parts import sets_of, thickness, union_of_maps, united
from shorthaul.affine.effort import results_within
from shorthaul.affine.integer_sets.counting import Cardinality, count_formula
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.parametrisation import alive_per_event, positive_sum
from shorthaul.affine.integer_sets.quasi_polynomial import Polynomial
from shorthaul.affine.proofs.lemmas import LAYERS
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.tuning import LAYER_COMPOSITIONS, LAYER_OPERATIONS, LONGEST_LAYER_PATH

_SET = isl.dim_type.set


@dataclass(frozen=True, slots=True)
class Layers:
    """Layers of a statement, and the functions from the ends of the paths from each to the next to their vertices.

    ``ends``: layer -> the ends of paths in it.
    """

    statement: str
    ends: isl.UnionMap
    spill: isl.UnionSet
    pieces: tuple[tuple[isl.Set, Polynomial], ...]
    sums: tuple[Cardinality, ...]
    way: tuple[isl.UnionMap, ...]
    rests_on: Mapping[str, Any]

    def at(self, sizes: dict[str, int]) -> float:
        """Return the bound at ``sizes``, which has S."""
        return float(sum(item.weight_at(sizes) for item in self.sums))


def layers(flow: DataFlow) -> Iterator[Layers]:
    """Yield the argument for every statement that has one and is found within the operations allowed."""
    reach = Reachability.of(flow)
    wide = [item.name for item in flow.program.statements if item.domain.dim(_SET) > 1]
    yield from results_within(LAYER_OPERATIONS, wide, lambda name: _of_statement(flow, reach, name))


def _of_statement(flow: DataFlow, reach: Reachability, name: str) -> Layers | None:
    domain = flow.program.by_name[name].domain
    width = domain.dim(_SET)
    inside = isl.UnionSet.from_set(domain)
    x, y = ([f"{letter}{at}" for at in range(width)] for letter in "xy")
    back = isl.UnionMap(f"{{ {name}[{', '.join(x)}] -> {name}[{', '.join(y)}] : y0 = x0 - 1 }}")
    back = back.intersect_domain(inside).intersect_range(inside)
    ancestors = reach.ancestors(name, steps=LAYER_COMPOSITIONS)
    if back.is_empty() or not back.is_subset(ancestors):
        return None
    way = _way_of(reach, name, back)
    if way is None:
        return None
    layer = isl.UnionMap(f"{{ {name}[{', '.join(x)}] -> layer[x0] }}").intersect_domain(inside)
    ends = layer.intersect_domain(way[0].domain()).reverse().coalesce()
    pieces = tuple(alive_per_event(flow, ends))
    sums = tuple(positive_sum(where, count, flow.program.context) for where, count in pieces)
    rests_on = {"ancestors": str(ancestors.coalesce()), "layers": str(layer), "way": list(map(str, way))}
    return Layers(name, ends, united([level.range() for level in way]).coalesce(), pieces, sums, way, rests_on)


def _way_of(reach: Reachability, name: str, back: isl.UnionMap) -> tuple[isl.UnionMap, ...] | None:
    """Return paths from the layer before, as functions from their ends, that have no vertex in common.

    Of several kinds those with ends in the most directions: others are on a border.
    """
    best, most = None, -1
    for levels in sorted(ways_back(reach, [name], LONGEST_LAYER_PATH), key=_width_of, reverse=True):
        if _width_of(levels) <= most:
            break
        arriving = levels[-1].intersect(back).domain()
        mine = tuple(level.intersect_domain(arriving) for level in levels)
        if _width_of(mine) > most and _distinct(mine):
            best, most = mine, _width_of(mine)
    return best


def _width_of(levels: Sequence[isl.UnionMap]) -> int:
    """Return in how many directions there are ends of paths, -1 if there are none."""
    return max(map(thickness, sets_of(levels[-1].domain())), default=-1)


def _distinct(levels: Sequence[isl.UnionMap]) -> bool:
    """True if no vertex is on two paths (each level by itself is injective)."""
    together = union_of_maps(level.reverse() for level in levels)
    return bool(together.is_single_valued())


def sub_bound(item: Layers, flow: DataFlow) -> SubBound:
    """Return the argument with its numbers as formulas, valid for all values of the parameters."""
    facts = {f"n of piece {at}": count.sympy() for at, (_, count) in enumerate(item.pieces)}
    program = flow.program
    steps = (
        f"Layers: vertices of {item.statement} by x0: {set_text(item.ends, program)}",
        "Every vertex of a layer is an ancestor of every vertex of the next one (the relation lies inside the",
        "compositions of the program's flows).",
        f"Paths go back from their ends through {'; then '.join(set_text(level, program) for level in item.way)}",
        "Each of these is a function of the end that is one-to-one, and leads back to the layer before.",
        "No vertex is on two paths (ends left out); n counts the ends in a layer.",
        *(
            f"piece {at}: {summed_text(where, count.sympy(), count_formula(part))}"
            for at, ((where, count), part) in enumerate(zip(item.pieces, item.sums, strict=True))
        ),
        "Lemma (layers): at least n - S + 1 loads of path vertices for each layer, and the layers add up.",
    )
    return SubBound(
        "layers",
        (item.statement,),
        set_text(item.ends.range(), program),
        sympy.Add(*(count_formula(part) for part in item.sums)),
        item.spill,
        set_text(item.spill, program),
        {**facts, "per layer": sympy.Symbol("n") - S + 1},
        steps,
        (LAYERS,),
        certificate=lifetime_certificate(
            "layers", (item.statement,), [summed(item.ends, item.pieces, program)], item.rests_on
        ),
    )
