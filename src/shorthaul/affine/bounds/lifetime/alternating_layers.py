"""Layers in turn: sweeps in one direction and then in the other, as of implicit methods of alternating directions.

Of every layer let n chains y, z, y', e be given: z reads y and a value w beside it, y' reads z, and e, of the layer,
reads y'. Let e be z of a chain of the next layer, with y' in place of y, and let every y and w of a layer be ancestors
of all of its e. Then a play has the events M: the first e of a layer is computed. At M all y and w are computed. If z
of a chain is not, both wait; otherwise z or y' does. Until the next M all of y' is computed: of a chain whose z was
missing both y and w are read, else z is, or y' is unless e, z of the next layer, is missing then. So with m chains
whose z is missing at M, and m' at the next one, n + m - m' values that exist at M are read between them, of which at
most S - 1 are in fast memory at M: the others are loaded. Over all layers m and m' cancel, at the end of the play m' is
0, and as these times are disjoint,

    loads  >=  sum over the layers of (n - S + 1).

The loops outside of the layers, if any, make sequences of layers of which each has vertices of its own: these add up.
Layers by themselves (see ``layers``) count one path for each step; here every sweep of a step counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

import islpy as isl
import sympy

from shorthaul.affine.bounds.lifetime.lifetime_certificate import lifetime_certificate, summed
from shorthaul.affine.bounds.lifetime.wavefront import Reachability, summed_text
from shorthaul.affine.effort import results_within, step
from shorthaul.affine.integer_sets.counting import Cardinality, count_formula
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.parametrisation import alive_per_event, positive_sum
from shorthaul.affine.integer_sets.quasi_polynomial import Polynomial
from shorthaul.affine.proofs.lemmas import ALTERNATING
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.tuning import LAYER_COMPOSITIONS, LAYER_OPERATIONS, MOST_SWEEPS

_SET = isl.dim_type.set
#: The vertices of a chain beside its end, in the order of a certificate.
ROLES = ("y", "w", "z", "y'")


@dataclass(frozen=True, slots=True)
class _Sweep:
    """How the values of a statement come about: what it reads, y and w, and of which statement's values y is made."""

    statement: str
    y: isl.UnionMap
    w: isl.UnionMap
    before: str
    back: isl.UnionMap  #: to the value of ``before``


@dataclass(frozen=True, slots=True)
class Alternating:
    """Layers of several statements in turn: layer -> ends of its chains, and end -> the chain's vertices by role."""

    statements: tuple[str, ...]
    ends: isl.UnionMap
    chains: Mapping[str, isl.UnionMap]
    pieces: tuple[tuple[isl.Set, Polynomial], ...]
    sums: tuple[Cardinality, ...]
    rests_on: Mapping[str, Any]

    @property
    def spill(self) -> isl.UnionSet:
        """The vertices whose loads are counted."""
        spill = self.chains[ROLES[0]].range()
        for role in ROLES[1:]:
            spill = spill.union(self.chains[role].range())
        return spill.coalesce()

    def at(self, sizes: dict[str, int]) -> float:
        """Return the bound at ``sizes``, which has S."""
        return float(sum(item.weight_at(sizes) for item in self.sums))


def alternating_layers(flow: DataFlow) -> Iterator[Alternating]:
    """Yield the argument for every cycle of sweeps that has one and is found within the operations allowed."""
    reach = Reachability.of(flow)
    sweeps = [found for item in flow.program.statements for found in _sweeps(flow, item.name)]
    yield from results_within(LAYER_OPERATIONS, _cycles(sweeps), lambda cycle: _of_cycle(flow, reach, cycle))


def _cycles(sweeps: Sequence[_Sweep]) -> Iterator[tuple[_Sweep, ...]]:
    """Yield sweeps of different statements of which each is made of values of the one before, the first of the last."""
    place = {name: at for at, name in enumerate(dict.fromkeys(item.statement for item in sweeps))}
    longer: list[tuple[_Sweep, ...]] = [(item,) for item in sweeps]
    for _ in range(MOST_SWEEPS):
        yield from (cycle for cycle in longer if cycle[0].before == cycle[-1].statement)
        longer = [
            (*cycle, item)
            for cycle in longer
            for item in sweeps
            if item.before == cycle[-1].statement
            and place[item.statement] > place[cycle[0].statement]
            and all(item.statement != other.statement for other in cycle)
        ]


def _sweeps(flow: DataFlow, name: str) -> Iterator[_Sweep]:
    """Yield the sweeps of a statement whose chains are one-to-one."""
    for y, w in permutations(_own_reads(flow, name), 2):
        for before, read in _own_reads(flow, y[0]) if y[0] != w[0] else ():
            if before not in {y[0], w[0]}:
                yield _Sweep(name, y[1], w[1], before, y[1].apply_range(read))


def _own_reads(flow: DataFlow, name: str) -> list[tuple[str, isl.UnionMap]]:
    """Return the values of other statements of as many loops that instances read, each by one instance."""
    width = flow.program.by_name[name].domain.dim(_SET)
    return [
        (item.source, isl.UnionMap.from_map(item.relation.reverse()))
        for item in flow.into(name)
        if item.source not in {None, name}
        and width == item.relation.dim(isl.dim_type.in_) >= 2
        and item.relation.is_injective()
        and item.relation.is_single_valued()
    ]


def _of_cycle(flow: DataFlow, reach: Reachability, cycle: Sequence[_Sweep]) -> Alternating | None:
    later = next(((axis, at) for at, sweep in enumerate(cycle) if (axis := _axis(sweep)) is not None), None)
    if later is None:
        return None
    axis, start = later
    cycle = (*cycle[start:], *cycle[:start])
    empty = _read("{ }")
    chains = dict.fromkeys(ROLES, empty)
    numbers = ancestors = empty
    for at, sweep in enumerate(cycle):
        step()
        earlier = cycle[at - 1]
        y, w = sweep.back.apply_range(earlier.y), sweep.back.apply_range(earlier.w)
        ends = y.domain().intersect(w.domain())
        for role, relation in zip(ROLES, (y, w, sweep.back, sweep.y), strict=True):
            chains[role] = chains[role].union(relation.intersect_domain(ends))
        numbers = numbers.union(_numbers(flow, sweep.statement, axis, at))
    layer = numbers.intersect_domain(chains["z"].domain())
    alive = layer.reverse().coalesce()
    if alive.is_empty() or not _in_turn(chains, numbers, axis, len(cycle)):
        return None
    together = [alive.apply_range(chains[role]) for role in ROLES]
    if not all(one.intersect(other).is_empty() for one, other in combinations(together, 2)):
        return None
    for sweep in cycle:
        ancestors = ancestors.union(reach.ancestors(sweep.statement, steps=LAYER_COMPOSITIONS))
    if not layer.apply_range(together[0].union(together[1])).is_subset(ancestors):
        return None
    pieces = tuple(alive_per_event(flow, alive))
    counts = {value.sympy() for _, value in pieces}
    if len(counts) > 1 or any(item.name.startswith("x") for item in counts.pop().free_symbols):
        return None
    sums = tuple(positive_sum(where, value, flow.program.context) for where, value in pieces)
    rests_on = {
        "ancestors": str(ancestors.coalesce()),
        "layers": str(numbers),
        "chains": {role: str(relation.coalesce()) for role, relation in chains.items()},
    }
    return Alternating(tuple(item.statement for item in cycle), alive, chains, pieces, sums, rests_on)


def _axis(sweep: _Sweep) -> int | None:
    """Return the first loop of which the value that a sweep is made of is never one of the same iteration, if any."""
    maps: list[isl.Map] = []
    sweep.back.foreach_map(maps.append)
    (item,) = maps
    axes = range(item.dim(isl.dim_type.in_))
    return next((at for at in axes if item.equate(isl.dim_type.in_, at, isl.dim_type.out, at).is_empty()), None)


def _numbers(flow: DataFlow, statement: str, axis: int, place: int) -> isl.UnionMap:
    """Return vertex -> layer[iterations of the loops up to ``axis``, place in the cycle]."""
    domain = flow.program.by_name[statement].domain
    names = [f"x{loop}" for loop in range(domain.dim(_SET))]
    made = _read(f"{{ {statement}[{', '.join(names)}] -> layer[{', '.join(names[: axis + 1])}, {place}] }}")
    return made.intersect_domain(isl.UnionSet.from_set(domain))


def _in_turn(chains: Mapping[str, isl.UnionMap], numbers: isl.UnionMap, axis: int, count: int) -> bool:
    """True if chains of consecutive layers have their vertices in common, and others none.

    Layers that differ in loops outside of ``axis`` are in sequences of their own.
    """
    z, last = chains["z"], count - 1
    ends = z.domain()
    layer = numbers.intersect_domain(ends)
    outer = "".join(f"o{at}, " for at in range(axis))
    following = _read(
        f"{{ layer[{outer}x, y] -> layer[{outer}x, y + 1] : y < {last}; "
        f"layer[{outer}x, {last}] -> layer[{outer}x + 1, 0] }}"
    )
    if not z.apply_range(numbers).apply_range(following).is_equal(layer):
        return False
    known = layer.range()
    after = known.intersect(following.intersect_domain(known).range())
    goes_on = layer.intersect_range(following.intersect_range(known).domain()).domain()
    continued = z.intersect_domain(layer.intersect_range(after).domain())
    sequence = _read(f"{{ layer[{outer}x, y] -> sequence[{outer}] }}".replace(", ]", "]"))
    of_sequence = layer.apply_range(sequence).reverse()
    vertices = _read("{ }")
    for relation in chains.values():
        vertices = vertices.union(of_sequence.apply_range(relation))
    return bool(
        goes_on.is_subset(z.range())
        and continued.range().is_subset(ends)
        and continued.apply_range(chains["y'"]).is_equal(chains["y"].intersect_domain(continued.domain()))
        and sequence.intersect_domain(known.subtract(after)).is_injective()
        and vertices.reverse().is_single_valued()
    )


def _read(text: str) -> isl.UnionMap:
    return isl.UnionMap.read_from_str(isl.DEFAULT_CONTEXT, text)


def sub_bound(item: Alternating, flow: DataFlow) -> SubBound:
    """Return the argument with its numbers as formulas, valid for all values of the parameters."""
    program = flow.program
    facts = {f"n of piece {at}": count.sympy() for at, (_, count) in enumerate(item.pieces)}
    chains = "; ".join(f"{role}: {set_text(item.chains[role], program)}" for role in ROLES)
    steps = (
        f"Layers: vertices of {', '.join(item.statements)} in turn, by x0, x1, ...: {set_text(item.ends, program)}",
        f"Chains y, z, y' of each, and w beside y: {chains}; all of them are functions that are one-to-one, and the",
        "relations follow reads. Every vertex of a layer is z of the next layer, with y' for y; every y and w is an",
        "ancestor of the whole layer (the relation lies inside the compositions of the program's flows).",
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
