"""Layers in turn: sweeps in one direction and then in the other, as of implicit methods of alternating directions.

Of every layer let n chains be given: paths from y by way of z and y' to an end e of the layer, and one from w to z, as
z reads y and a value w beside it, y' reads z, and e reads y'. Let e be z of a chain of the next layer, with y' in place
of y, and let every y and w of a layer be ancestors of all of its e. Then a play has the events M: the first e of a
layer is computed. At M all y and w are computed. If z of a chain is not, a vertex waits on the path from y to z and one
on that from w; otherwise one waits between z and e. Until the next M all of y' is computed: of a chain whose z was
missing both are read, else the one between z and y' is, or that between y' and e unless e, z of the next layer, is
missing then. So with m chains whose z is missing at M, and m' at the next one, n + m - m' values that exist at M are
read between them, of which at most S - 1 are in fast memory at M: the others are loaded. Over all layers m and m'
cancel, at the end of the play m' is 0, and as these times are disjoint,

    loads  >=  sum over the layers of (n - S + 1).

The loops outside of the layers, if any, make sequences of layers of which each has vertices of its own: these add up.
Layers by themselves (see ``layers``) count one path for each step; here every sweep of a step counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import islpy as isl
import sympy

from shorthaul.affine.bounds.lifetime.lifetime_certificate import lifetime_certificate, summed
from shorthaul.affine.bounds.lifetime.wavefront import Reachability, summed_text
from shorthaul.affine.effort import results_within, step
from shorthaul.affine.integer_sets.counting import Cardinality, count_formula
from shorthaul.affine.integer_sets.dependences import DataFlow, maps_of
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.parametrisation import alive_per_event, positive_sum
from shorthaul.affine.integer_sets.quasi_polynomial import Polynomial
from shorthaul.affine.model import Program
from shorthaul.affine.proofs.lemmas import ALTERNATING
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.tuning import (
    LAYER_OPERATIONS,
    LONGEST_SWEEP,
    MOST_PATHS_BACK,
    MOST_SWEEP_CYCLES,
    MOST_SWEEPS,
    SWEEP_COMPOSITIONS,
)

_SET = isl.dim_type.set
#: The names of the vertices on a path, and the functions from its end to them.
_Path = tuple[tuple[str, ...], tuple[isl.UnionMap, ...]]


@dataclass(frozen=True, slots=True)
class _Sweep:
    """How the values z of a statement come about: z -> the vertices on the way back to z of the sweep before.

    The last but one of them is y. ``besides``: z -> those on the way to w, as alternatives; one of them in an argument.
    """

    statement: str
    names: tuple[str, ...]
    path: tuple[isl.UnionMap, ...]
    besides: tuple[tuple[isl.UnionMap, ...], ...]

    @property
    def before(self) -> str:
        """The statement of the sweep before."""
        return self.names[-1]


@dataclass(frozen=True, slots=True)
class Alternating:
    """Layers of several statements in turn: layer -> ends of its chains, and the vertices of the chains."""

    statements: tuple[str, ...]
    ends: isl.UnionMap
    spill: isl.UnionSet
    pieces: tuple[tuple[isl.Set, Polynomial], ...]
    sums: tuple[Cardinality, ...]
    ways: tuple[tuple[tuple[isl.UnionMap, ...], tuple[isl.UnionMap, ...]], ...]
    rests_on: Mapping[str, Any]

    def at(self, sizes: dict[str, int]) -> float:
        """Return the bound at ``sizes``, which has S."""
        return float(sum(item.weight_at(sizes) for item in self.sums))


def alternating_layers(flow: DataFlow) -> Iterator[Alternating]:
    """Yield an argument for all statements in turn that have one and is found within the operations allowed.

    Of those that pass by one statement that for the most sweeps is taken.
    """
    reach = Reachability.of(flow, around=True)
    sweeps = [found for item in flow.program.statements for found in _sweeps(flow, item.name)]
    known: set[str] = set()
    for cycle in _cycles(sorted(sweeps, key=lambda item: len(item.path))):
        names = {name for item in cycle for name in item.names}
        if not names & known:
            for found in results_within(LAYER_OPERATIONS, [cycle], lambda item: _of_cycle(flow, reach, item)):
                known |= names
                yield found


def _cycles(sweeps: Sequence[_Sweep]) -> list[tuple[_Sweep, ...]]:
    """Return sweeps of different statements of which each is made of values of the one before, the first of the last.

    Those of the most sweeps are the first ones.
    """
    place = {name: at for at, name in enumerate(sorted({item.statement for item in sweeps}))}
    longer: list[tuple[_Sweep, ...]] = [(item,) for item in sweeps]
    found: list[tuple[_Sweep, ...]] = []
    for _ in range(MOST_SWEEPS):
        found = [cycle for cycle in longer if cycle[0].before == cycle[-1].statement] + found
        longer = [
            (*cycle, item)
            for cycle in longer
            for item in sweeps
            if item.before == cycle[-1].statement
            and place[item.statement] > place[cycle[0].statement]
            and all(item.statement != other.statement for other in cycle)
        ][:MOST_SWEEP_CYCLES]
    return found[:MOST_SWEEP_CYCLES]


def _sweeps(flow: DataFlow, name: str) -> Iterator[_Sweep]:
    """Yield the sweeps of a statement whose paths are one-to-one."""
    paths = list(_paths(flow, name))
    for names, path in paths:
        besides = tuple(beside for others, beside in paths if not {*names, name} & set(others))
        if len(names) > 1 and besides:
            yield _Sweep(name, names, path, besides)


def _paths(flow: DataFlow, name: str) -> Iterator[_Path]:
    """Yield paths back by way of different statements, the shortest first; one may end in the statement itself."""
    front: list[_Path] = [((), (isl.UnionSet.from_set(flow.program.by_name[name].domain).identity(),))]
    for _ in range(LONGEST_SWEEP):
        longer: list[_Path] = []
        for names, path in front:
            for source, read in _own_reads(flow, names[-1] if names else name):
                step()
                further = path[-1].apply_range(read).coalesce()
                if source not in names and not further.is_empty():
                    longer.append(((*names, source), (*path, further)))
        yield from ((names, path[1:]) for names, path in longer)
        front = [item for item in longer if item[0][-1] != name][:MOST_PATHS_BACK]


def _own_reads(flow: DataFlow, name: str) -> list[tuple[str, isl.UnionMap]]:
    """Return the values of statements of as many loops that instances read, each by one instance.

    Of several reads of one statement those that fewer instances have than another one are left out.
    """
    width = flow.program.by_name[name].domain.dim(_SET)
    found = [
        item
        for item in flow.into(name)
        if item.source not in {None, name}
        and width == item.relation.dim(isl.dim_type.in_) >= 2
        and item.relation.is_injective()
        and item.relation.is_single_valued()
    ]
    return [
        (str(item.source), isl.UnionMap.from_map(item.relation.reverse()))
        for item in found
        if not any(
            other.source == item.source and item.relation.range().is_strict_subset(other.relation.range())
            for other in found
        )
    ]


def _of_cycle(flow: DataFlow, reach: Reachability, cycle: Sequence[_Sweep]) -> Alternating | None:
    later = next(((axis, at) for at, sweep in enumerate(cycle) if (axis := _axis(sweep)) is not None), None)
    if later is None:
        return None
    axis, start = later
    cycle = (*cycle[start:], *cycle[:start])
    z = numbers = vertices = ancestors = isl.UnionMap("{ }")
    for at, sweep in enumerate(cycle):
        number = _numbers(flow, sweep.statement, axis, at)
        numbers = numbers.union(number)
        back = sweep.path[-1]
        z = z.union(back.intersect_domain(back.apply_range(cycle[at - 1].path[-2]).domain()))
    step()
    if not _in_turn(z, z, numbers, axis, len(cycle)):
        return None
    for sweep in cycle:
        ancestors = ancestors.union(reach.ancestors(sweep.statement, steps=SWEEP_COMPOSITIONS))
    z, chosen = isl.UnionMap("{ }"), []
    for sweep, before in zip(cycle, (cycle[-1], *cycle[:-1]), strict=True):
        found = next(
            (
                (chain, beside)
                for beside in before.besides
                if (chain := _chain(sweep, before, beside, numbers, ancestors)) is not None
            ),
            None,
        )
        if found is None:
            return None
        chain, beside = found
        chosen.append((before, beside))
        z = z.union(chain[len(sweep.path) - 1])
        for item in chain:
            vertices = vertices.union(item)
    if not _in_turn(z, vertices, numbers, axis, len(cycle)):
        return None
    alive = numbers.intersect_domain(z.domain()).reverse().coalesce()
    pieces = tuple(alive_per_event(flow, alive))
    counts = {value.sympy() for _, value in pieces}
    names = {item.name for count in counts for item in count.free_symbols}
    if len(counts) > 1 or not names or any(name.startswith("x") for name in names):
        return None
    sums = tuple(positive_sum(where, value, flow.program.context) for where, value in pieces)
    ends, used = z.domain(), z.domain().union(z.range())
    ways = [
        (
            (*(item.intersect_domain(used) for item in sweep.path[:-1]), sweep.path[-1].intersect_domain(ends)),
            tuple(item.intersect_domain(z.range()) for item in beside),
        )
        for sweep, beside in (*chosen[1:], chosen[0])
    ]
    rests_on = {
        "ancestors": str(ancestors.coalesce()),
        "layers": str(numbers),
        "sweeps": [{"path": list(map(str, path)), "beside": list(map(str, beside))} for path, beside in ways],
    }
    statements = tuple(item.statement for item in cycle)
    return Alternating(statements, alive, vertices.range().coalesce(), pieces, sums, tuple(ways), rests_on)


def _chain(
    sweep: _Sweep, before: _Sweep, beside: tuple[isl.UnionMap, ...], numbers: isl.UnionMap, ancestors: isl.UnionMap
) -> list[isl.UnionMap] | None:
    """Return the vertices of the chains that end in a sweep, z at the place that it has in its path; None if

    some are the same, or y or w is no ancestor of all of its layer.
    """
    step()
    back = sweep.path[-1]
    ends = back.domain()
    for relation in (before.path[-2], beside[-1]):
        ends = ends.intersect(back.apply_range(relation).domain())
    back = back.intersect_domain(ends)
    chain = [*(item.intersect_domain(ends) for item in sweep.path[:-1]), back]
    chain += [back.apply_range(item) for item in (*before.path[:-1], *beside)]
    layer = numbers.intersect_domain(ends)
    layers = [layer.reverse().apply_range(item) for item in chain]
    begun = layers[len(sweep.path) + len(before.path) - 2].union(layers[-1])
    if ends.is_empty() or not layer.apply_range(begun).is_subset(ancestors):
        return None
    return chain if all(one.intersect(other).is_empty() for one, other in combinations(layers, 2)) else None


def _axis(sweep: _Sweep) -> int | None:
    """Return the first loop of which the value that a sweep is made of is never one of the same iteration, if any."""
    (item,) = maps_of(sweep.path[-1])
    axes = range(item.dim(isl.dim_type.in_))
    return next((at for at in axes if item.equate(isl.dim_type.in_, at, isl.dim_type.out, at).is_empty()), None)


def _numbers(flow: DataFlow, statement: str, axis: int, place: int) -> isl.UnionMap:
    """Return vertex -> layer[iterations of the loops up to ``axis``, place in the cycle]."""
    domain = flow.program.by_name[statement].domain
    names = [f"x{loop}" for loop in range(domain.dim(_SET))]
    made = isl.UnionMap(f"{{ {statement}[{', '.join(names)}] -> layer[{', '.join(names[: axis + 1])}, {place}] }}")
    return made.intersect_domain(isl.UnionSet.from_set(domain))


def _in_turn(z: isl.UnionMap, vertices: isl.UnionMap, numbers: isl.UnionMap, axis: int, count: int) -> bool:
    """True if every layer has the ends of the one before as z, and sequences of layers have no vertices in common.

    Layers that differ in loops outside of ``axis`` are in sequences of their own.
    """
    ends, last = z.domain(), count - 1
    layer = numbers.intersect_domain(ends)
    outer = "".join(f"o{at}, " for at in range(axis))
    following = isl.UnionMap(
        f"{{ layer[{outer}x, y] -> layer[{outer}x, y + 1] : y < {last}; "
        f"layer[{outer}x, {last}] -> layer[{outer}x + 1, 0] }}"
    )
    if not z.apply_range(numbers).apply_range(following).is_equal(layer):
        return False
    known = layer.range()
    after = known.intersect(following.intersect_domain(known).range())
    goes_on = layer.intersect_range(following.intersect_range(known).domain()).domain()
    sequence = isl.UnionMap(f"{{ layer[{outer}x, y] -> sequence[{outer[:-2]}] }}")
    owned = layer.apply_range(sequence).reverse().apply_range(vertices)
    return bool(
        goes_on.is_subset(z.range())
        and z.intersect_domain(layer.intersect_range(after).domain()).range().is_subset(ends)
        and sequence.intersect_domain(known.subtract(after)).is_injective()
        and owned.reverse().is_single_valued()
    )


def _listed(path: Sequence[isl.UnionMap], program: Program) -> str:
    return " then ".join(set_text(relation, program) for relation in path)


def sub_bound(item: Alternating, flow: DataFlow) -> SubBound:
    """Return the argument with its numbers as formulas, valid for all values of the parameters."""
    program = flow.program
    facts = {f"n of piece {at}": count.sympy() for at, (_, count) in enumerate(item.pieces)}
    lines = [
        f"chains {at}: z <- ... <- y <- z before: {_listed(path, program)}; w beside it, z <- ... <- w: "
        f"{_listed(beside, program)}"
        for at, (path, beside) in enumerate(item.ways)
    ]
    steps = (
        f"Layers: vertices of {', '.join(item.statements)} in turn, by x0, x1, ...: {set_text(item.ends, program)}",
        *lines,
        "All of these are functions that are one-to-one, and follow reads; vertices of one layer are different.",
        "The ends of a layer are z of the next one; every y and w is an ancestor of all ends of its layer (the",
        "relation lies inside the compositions of the program's flows).",
        *(
            f"piece {at}: {summed_text(where, count.sympy(), count_formula(part))}"
            for at, ((where, count), part) in enumerate(zip(item.pieces, item.sums, strict=True))
        ),
        "Lemma (alternating layers): n - S + 1 loads of chain vertices for each layer (x0, x1, ...) of n chains.",
    )
    return SubBound(
        "alternating layers",
        item.statements,
        set_text(item.ends.range(), program),
        sympy.Add(*(count_formula(part) for part in item.sums)),
        item.spill,
        set_text(item.spill, program),
        {**facts, "per layer": sympy.Symbol("n") - S + 1},
        steps,
        (ALTERNATING,),
        certificate=lifetime_certificate(
            "alternating", item.statements, [summed(item.ends, item.pieces, program)], item.rests_on
        ),
    )
