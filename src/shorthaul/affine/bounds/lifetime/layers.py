"""Layers: all of one time step exists before anything of the next one (Olivry et al. 2020, Sec. 6, sets made exact).

Let the vertices of a statement fall into layers by their first coordinate, let every vertex of layer t be an ancestor
of every vertex of layer t + 1, and let n vertex-disjoint paths lead from layer t to layer t + 1. Just before the first
vertex of layer t + 1 is computed, the whole layer t has been, so the last computed vertex of every path is still to be
read. At most S - 1 of them are in fast memory, which has to take the new vertex, so n - S + 1 loads of path vertices
follow. If the paths of different layers share no vertex but their ends, which count for the later layer, the loads of
all layers add up. Layers may be those of several statements in turn, not all of which have one in every step: the first
value of a sweep of an implicit method often needs all of the third sweep before it, so four layers take three steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, permutations
from typing import Any

import islpy as isl
import sympy

from shorthaul.affine.bounds.lifetime.lifetime_certificate import lifetime_certificate, summed
from shorthaul.affine.bounds.lifetime.wavefront import Reachability, summed_text, ways_back
from shorthaul.affine.bounds.partition.parts import sets_of, thickness, united
from shorthaul.affine.effort import results_within
from shorthaul.affine.integer_sets.counting import Cardinality, count_formula
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.parametrisation import alive_per_event, positive_sum
from shorthaul.affine.integer_sets.quasi_polynomial import Polynomial
from shorthaul.affine.proofs.moments_of_play import LAYERS
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.tuning import (
    COMPARED_ARGUMENTS,
    LAYER_COMPOSITIONS,
    LAYER_OPERATIONS,
    LONGEST_LAYER_PATH,
    MOST_STAGE_CYCLES,
    MOST_STAGES,
)

_SET = isl.dim_type.set


@dataclass(frozen=True, slots=True)
class Layers:
    """Layers of statements in turn, and the vertices of the paths from each to the next (``ways``: of every statement).

    ``ends``: layer -> the ends of paths in it.
    """

    statements: tuple[str, ...]
    ends: isl.UnionMap
    spill: isl.UnionSet
    pieces: tuple[tuple[isl.Set, Polynomial], ...]
    sums: tuple[Cardinality, ...]
    ways: tuple[tuple[isl.UnionMap, ...], ...]
    rests_on: Mapping[str, Any]

    def at(self, sizes: dict[str, int]) -> float:
        """Return the bound at ``sizes``, which has S."""
        return float(sum(item.weight_at(sizes) for item in self.sums))


@dataclass(frozen=True, slots=True)
class _Stage:
    """All of the statement ``before`` in the step ``shift`` steps earlier comes before anything of ``statement``."""

    before: str
    statement: str
    shift: int


def layers(flow: DataFlow) -> Iterator[Layers]:
    """Yield the argument for every statement that has one, and for several in turn that make more layers in a step.

    Only what is found within the operations allowed.
    """
    yield from layers_of_one(flow)
    reach, wide = Reachability.of(flow), _wide(flow)
    if len(wide) > 1:
        stages = list(results_within(LAYER_OPERATIONS, permutations(wide, 2), lambda pair: _stage(flow, reach, *pair)))
        found = results_within(LAYER_OPERATIONS, _cycles(stages), lambda cycle: _of_cycle(flow, reach, cycle))
        yield from islice(found, 1)


def layers_of_one(flow: DataFlow) -> Iterator[Layers]:
    """Yield the argument for every statement that has one by itself, as published."""
    reach, alone = Reachability.of(flow), [(_Stage(name, name, 1),) for name in _wide(flow)]
    yield from results_within(LAYER_OPERATIONS, alone, lambda cycle: _of_cycle(flow, reach, cycle))


def _wide(flow: DataFlow) -> list[str]:
    return [item.name for item in flow.program.statements if item.domain.dim(_SET) > 1]


def _stage(flow: DataFlow, reach: Reachability, before: str, name: str) -> _Stage | None:
    """Return how many steps later, none or one, a statement comes after all of another one but for a border of it.

    None if it does not.
    """
    ancestors, parameters = reach.ancestors(name, steps=LAYER_COMPOSITIONS), flow.program.parameters
    sizes = " and ".join(f"{parameter} >= {COMPARED_ARGUMENTS[0].size}" for parameter in parameters) or "true"
    large = isl.Set.read_from_str(isl.DEFAULT_CONTEXT, f"[{', '.join(parameters)}] -> {{ : {sizes} }}")
    for shift in (0, 1):
        pairs = _steps_apart(flow, before, name, shift)
        beside = pairs.subtract(ancestors).range().intersect_params(large)
        if not pairs.is_empty() and all(thickness(item) < item.dim(_SET) for item in sets_of(beside)):
            return _Stage(before, name, shift)
    return None


def _steps_apart(flow: DataFlow, before: str, name: str, shift: int) -> isl.UnionMap:
    """Return vertex -> all those of ``before`` so many steps earlier."""
    by_name = flow.program.by_name
    widths = (by_name[item].domain.dim(_SET) for item in (name, before))
    x, y = ([f"{letter}{at}" for at in range(width)] for letter, width in zip("xy", widths, strict=True))
    pairs = _read(f"{{ {name}[{', '.join(x)}] -> {before}[{', '.join(y)}] : y0 = x0 - {shift} }}")
    ends = (isl.UnionSet.from_set(by_name[item].domain) for item in (name, before))
    return pairs.intersect_domain(next(ends)).intersect_range(next(ends))


def _cycles(stages: Sequence[_Stage]) -> list[tuple[_Stage, ...]]:
    """Return cycles of stages that make more layers than steps, those of the most first."""
    found: list[tuple[_Stage, ...]] = []
    longer: list[tuple[_Stage, ...]] = [(item,) for item in stages]
    for _ in range(MOST_STAGES - 1):
        longer = [
            (*path, item)
            for path in longer
            for item in stages
            if item.before == path[-1].statement
            and item.statement not in {one.statement for one in path}
            and (item.statement >= path[0].before)
        ][:MOST_STAGE_CYCLES]
        found += [path for path in longer if path[-1].statement == path[0].before]
    rated = [(len(path) / sum(item.shift for item in path), path) for path in found if any(item.shift for item in path)]
    best = sorted((item for item in rated if item[0] > 1), key=lambda item: -item[0])
    return [path for _, path in best[:MOST_STAGE_CYCLES]]


def _of_cycle(flow: DataFlow, reach: Reachability, cycle: Sequence[_Stage]) -> Layers | None:
    period, offset = sum(item.shift for item in cycle), 0
    numbers = ancestors = ends = _read("{ }")
    ways: list[tuple[isl.UnionMap, ...]] = []
    last = len(cycle) - 1
    for at, stage in enumerate((cycle[-1], *cycle[:-1])):  # the statement of the last stage has the first layers
        offset += stage.shift if at else 0
        width = flow.program.by_name[stage.statement].domain.dim(_SET)
        x = [f"x{loop}" for loop in range(width)]
        inside = isl.UnionSet.from_set(flow.program.by_name[stage.statement].domain)
        number = _read(f"{{ {stage.statement}[{', '.join(x)}] -> layer[q, {at}] : x0 = {period} q + {offset} }}")
        numbers = numbers.union(number.intersect_domain(inside))
        ancestors = ancestors.union(reach.ancestors(stage.statement, steps=LAYER_COMPOSITIONS))
    following = _read(f"{{ layer[q, j] -> layer[q, j + 1] : 0 <= j < {last}; layer[q, {last}] -> layer[q + 1, 0] }}")
    back = numbers.apply_range(following.reverse()).apply_range(numbers.reverse())
    beside = back.subtract(ancestors)
    if last and not beside.is_empty():  # a border that the next layer does not need
        numbers = numbers.subtract_domain(beside.range())
        back = numbers.apply_range(following.reverse()).apply_range(numbers.reverse())
    if back.is_empty() or not back.is_subset(ancestors):
        return None
    for stage in (cycle[-1], *cycle[:-1]):
        mine = next(_ways_of(reach, stage, back), None)
        if mine is None:
            return None
        ways.append(mine)
        ends = ends.union(numbers.intersect_domain(mine[0].domain()).reverse())
    if not _distinct([level for levels in ways for level in levels]):
        return None
    spill = united([level.range() for levels in ways for level in levels])
    pieces = tuple(alive_per_event(flow, ends.coalesce()))
    sums = tuple(positive_sum(where, count, flow.program.context) for where, count in pieces)
    rests_on = {
        "ancestors": str(ancestors.coalesce()),
        "layers": str(numbers),
        "ways": [list(map(str, levels)) for levels in ways],
    }
    names = tuple(stage.statement for stage in (cycle[-1], *cycle[:-1]))
    return Layers(names, ends.coalesce(), spill.coalesce(), pieces, sums, tuple(ways), rests_on)


def _ways_of(reach: Reachability, stage: _Stage, back: isl.UnionMap) -> Iterator[tuple[isl.UnionMap, ...]]:
    """Yield paths from the layer before, as functions from their ends, that have no vertex in common."""
    # a function that is not one-to-one may be so on the paths from the layer before
    for injective in (True,) if stage.before == stage.statement else (True, False):
        for levels in ways_back(reach, [stage.statement], LONGEST_LAYER_PATH, injective=injective):
            arriving = levels[-1].intersect(back).domain()
            mine = tuple(level.intersect_domain(arriving) for level in levels)
            if not arriving.is_empty() and _distinct(mine) and all(level.is_injective() for level in mine):
                yield mine


def _read(text: str) -> isl.UnionMap:
    return isl.UnionMap.read_from_str(isl.DEFAULT_CONTEXT, text)


def _distinct(levels: Sequence[isl.UnionMap]) -> bool:
    """True if no vertex is on two paths (each level by itself is injective)."""
    together = _read("{ }")
    for level in levels:
        together = together.union(level.reverse())
    return bool(together.is_single_valued())


def sub_bound(item: Layers, flow: DataFlow) -> SubBound:
    """Return the argument with its numbers as formulas, valid for all values of the parameters."""
    facts = {f"n of piece {at}": count.sympy() for at, (_, count) in enumerate(item.pieces)}
    program = flow.program
    lines = [
        f"Paths that end in {name} go through {'; then '.join(set_text(level, program) for level in levels)}"
        for name, levels in zip(item.statements, item.ways, strict=True)
    ]
    steps = (
        f"Layers: vertices of {', '.join(item.statements)} in turn, by (x0, x1): {set_text(item.ends, program)}",
        "Every vertex of a layer is an ancestor of every vertex of the next one (the relation lies inside the",
        "compositions of the program's flows).",
        *lines,
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
        item.statements,
        set_text(item.ends.range(), program),
        sympy.Add(*(count_formula(part) for part in item.sums)),
        item.spill,
        set_text(item.spill, program),
        {**facts, "per layer": sympy.Symbol("n") - S + 1},
        steps,
        (LAYERS,),
        certificate=lifetime_certificate(
            "layers", item.statements, [summed(item.ends, item.pieces, program)], item.rests_on
        ),
    )
