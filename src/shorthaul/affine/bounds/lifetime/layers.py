"""Layers: all of one time step exists before anything of the next one (Olivry et al. 2020, Sec. 6, sets made exact).

Let the vertices of a statement fall into layers by their first coordinate, let every vertex of layer t be an ancestor
of every vertex of layer t + 1, and let n vertex-disjoint paths lead from layer t to layer t + 1. Just before the first
vertex of layer t + 1 is computed, the whole layer t has been, so the last computed vertex of every path is still to be
read. At most S - 1 of them are in fast memory, which has to take the new vertex, so n - S + 1 loads of path vertices
follow. If the paths of different layers share no vertex but their ends, which count for the later layer, the loads of
all layers add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import islpy as isl
import sympy

from shorthaul.affine.bounds.lifetime.lifetime_certificate import lifetime_certificate, summed
from shorthaul.affine.bounds.lifetime.wavefront import Reachability, summed_text, ways_back
from shorthaul.affine.effort import results_within
from shorthaul.affine.integer_sets.counting import Cardinality, count_formula
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.parametrisation import alive_per_event, positive_sum
from shorthaul.affine.integer_sets.quasi_polynomial import Polynomial
from shorthaul.affine.proofs.moments_of_play import LAYERS
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.tuning import LAYER_COMPOSITIONS, LAYER_OPERATIONS, LONGEST_LAYER_PATH

_SET = isl.dim_type.set
_LAYER = "layer"


@dataclass(frozen=True, slots=True)
class Layers:
    """Layers of a statement, and the vertices of the paths from each to the next (``paths``: layer -> last but one)."""

    statement: str
    ends: isl.UnionMap
    spill: isl.UnionSet
    pieces: tuple[tuple[isl.Set, Polynomial], ...]
    sums: tuple[Cardinality, ...]
    levels: tuple[isl.UnionMap, ...]
    rests_on: Mapping[str, Any]

    def at(self, sizes: dict[str, int]) -> float:
        """Return the bound at ``sizes``, which has S."""
        return float(sum(item.weight_at(sizes) for item in self.sums))


def layers(flow: DataFlow) -> Iterator[Layers]:
    """Yield the argument for every statement that has one and is found within the operations allowed."""
    reach = Reachability.of(flow)
    names = [item.name for item in flow.program.statements]
    yield from results_within(LAYER_OPERATIONS, names, lambda name: _of_statement(flow, reach, name))


def _of_statement(flow: DataFlow, reach: Reachability, name: str) -> Layers | None:
    domain = flow.program.by_name[name].domain
    width = domain.dim(_SET)
    if width < 2:
        return None
    x, y = ([f"{letter}{at}" for at in range(width)] for letter in "xy")
    inside = isl.UnionSet.from_set(domain)
    following = _read(f"{{ {name}[{', '.join(x)}] -> {name}[{', '.join(y)}] : y0 = x0 + 1 }}")
    following = following.intersect_domain(inside).intersect_range(inside)
    back = _read(f"{{ {name}[{', '.join(x)}] -> {name}[{', '.join(['x0 - 1', *x[1:]])}] }}")
    back = back.intersect_domain(inside).intersect_range(inside)
    ancestors = reach.ancestors(name, steps=LAYER_COMPOSITIONS)
    if back.is_empty() or not following.is_subset(ancestors.reverse()):
        return None
    for levels in ways_back(reach, [name], LONGEST_LAYER_PATH):
        arriving = levels[-1].intersect(back).domain()
        levels = tuple(level.intersect_domain(arriving) for level in levels)
        if arriving.is_empty() or not _distinct(levels):
            continue
        layer = _read(f"{{ {name}[{', '.join(x)}] -> {_LAYER}[x0] }}").intersect_domain(arriving)
        spill = levels[0].range()
        for level in levels[1:]:
            spill = spill.union(level.range())
        pieces = tuple(alive_per_event(flow, layer.reverse()))
        sums = tuple(positive_sum(where, count, flow.program.context) for where, count in pieces)
        rests_on = {"ancestors": str(ancestors), "levels": [str(level) for level in levels]}
        return Layers(name, layer.reverse(), spill.coalesce(), pieces, sums, levels, rests_on)
    return None


def _read(text: str) -> isl.UnionMap:
    return isl.UnionMap.read_from_str(isl.DEFAULT_CONTEXT, text)


def _distinct(levels: tuple[isl.UnionMap, ...]) -> bool:
    """True if no vertex is on two paths (each level by itself is injective)."""
    together = _read("{ }")
    for level in levels:
        together = together.union(level.reverse())
    return bool(together.is_single_valued())


def sub_bound(item: Layers, flow: DataFlow) -> SubBound:
    """Return the argument with its numbers as formulas, valid for all values of the parameters."""
    facts = {f"n of piece {at}": count.sympy() for at, (_, count) in enumerate(item.pieces)}
    program = flow.program
    trace = "; then ".join(set_text(level, program) for level in item.levels)
    steps = (
        f"Layers: the vertices of {item.statement} by their first coordinate, x0. Every vertex of layer x0 - 1 is an",
        "ancestor of every vertex of layer x0 (the relation lies inside the compositions of the program's flows).",
        f"Paths that lead from layer x0 - 1 to layer x0 end in {set_text(item.ends.range(), program)}",
        f"and go through {trace}, each a function of the end that is one-to-one.",
        "No vertex is on two paths (ends left out); n counts the ends in layer x0.",
        *(
            f"piece {at}: {summed_text(where, count.sympy(), count_formula(part))}"
            for at, ((where, count), part) in enumerate(zip(item.pieces, item.sums, strict=True))
        ),
        "Lemma (layers): at least n - S + 1 loads of path vertices for each layer x0, and the layers add up.",
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
