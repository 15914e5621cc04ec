"""The crossing of two scans: two chains run over the same places in opposite orders, and a later vertex joins them.

At every place x of a line there are F(x) and B(x), and a vertex that reads both. F(x) is an ancestor of F(y), and B(y)
of B(x), whenever x comes before y in the line. Wait until for the first time every x has F(x) or B(x). Then no x has
both: F has been computed on a beginning of the line and B exactly on the rest. So one value at each of the n places
still waits for its reader. Let u be a value that both scans read, directly or as one of its copies. If a computed
vertex of the scans has read u and one not computed yet will, then u exists and u or a copy of it must be in fast
memory later. If at most m values of U, those that both scans of the line read, fail this at any crossing, then

    loads of F, B, U and copies after the crossing of the line  >=  n + |U| - m - S,

beyond the first loads of inputs, since those of U among the inputs were loaded before. Lines share no vertex (checked),
so their loads add up.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import islpy as isl
import sympy

from shorthaul.affine.bounds.lifetime.lifetime_certificate import lifetime_certificate, summed
from shorthaul.affine.bounds.lifetime.wavefront import exact_closure
from shorthaul.affine.bounds.partition.parts import union_of_maps
from shorthaul.affine.effort import results_within
from shorthaul.affine.integer_sets.counting import Cardinality, count_formula
from shorthaul.affine.integer_sets.dependences import DataFlow, Flow
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.parametrisation import alive_per_event, sum_over_events
from shorthaul.affine.integer_sets.quasi_polynomial import Polynomial
from shorthaul.affine.proofs.lemmas import CROSSING
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.tuning import MOST_LOST, WAVEFRONT_OPERATIONS


@dataclass(frozen=True, slots=True)
class Crossing:
    """Two scans, what waits in each line when they cross (``alive``: first place -> vertex), and the bound."""

    scans: tuple[str, str]
    join: str
    alive: isl.UnionMap
    missing: int  #: values of ``alive`` that may not be alive at a crossing
    spill: isl.UnionSet
    pieces: tuple[tuple[isl.Set, Polynomial], ...]
    sums: tuple[Cardinality, ...]
    rests_on: Mapping[str, Any]

    def at(self, sizes: dict[str, int]) -> float:
        """Return the bound at ``sizes``, which has S."""
        return sum(item.at(sizes) for item in self.sums)


@dataclass(frozen=True, slots=True)
class _Line:
    """The places of two scans, named by the vertices of the first: orders, groups, and the place's second vertex."""

    scans: tuple[str, str]
    opposite: isl.UnionMap  #: F(x) -> B(x)
    later: isl.UnionMap  #: place -> later places of its line
    together: isl.UnionMap  #: place -> places of its line
    first: isl.UnionSet


def crossings(flow: DataFlow) -> Iterator[Crossing]:
    """Yield the argument for every pair of scans that some statement joins."""
    for statement in flow.program.statements:
        read = [item for item in flow.into(statement.name) if item.source not in (None, statement.name)]
        pairs = itertools.combinations(read, 2)
        yield from results_within(WAVEFRONT_OPERATIONS, pairs, partial(_of_pair, flow, statement.name))


def _of_pair(flow: DataFlow, name: str, pair: tuple[Flow, Flow]) -> Crossing | None:
    one, other = pair
    if one.source is None or other.source is None or one.source == other.source:
        return None
    opposite = one.relation.apply_range(other.relation.reverse()).coalesce()
    line = _line(flow, (one.source, other.source), opposite)
    return None if line is None else _argument(flow, line, name)


def _line(flow: DataFlow, scans: tuple[str, str], opposite: isl.Map) -> _Line | None:
    """Return the lines in which the scans run in opposite orders, None if the places do not fall into such lines."""
    if not (opposite.is_single_valued() and opposite.is_injective()):
        return None
    paired = isl.UnionMap.from_map(opposite)
    places = paired.domain()
    same = places.identity()
    for forward, backward in itertools.product(_chains(flow, scans[0]), _chains(flow, scans[1])):
        turned = paired.apply_range(backward.reverse()).apply_range(paired.reverse())
        later = forward.intersect(turned).coalesce()
        if later.is_empty():
            continue
        together = later.union(later.reverse()).union(same).coalesce()
        if together.apply_range(together).is_subset(together):
            return _Line(scans, paired, later, together, places.subtract(later.range()).coalesce())
    return None


def _chains(flow: DataFlow, statement: str) -> Iterator[isl.UnionMap]:
    """Yield vertex -> later vertices of the statement, along one dependence or two that return to it."""
    for item in flow.out_of(statement):
        steps = [item.relation] if item.sink == statement else []
        if item.sink != statement:
            following = (after for after in flow.out_of(item.sink) if after.sink == statement)
            steps = [item.relation.apply_range(after.relation) for after in following]
        for step in steps:
            closed = None if step.is_empty() else exact_closure([step.coalesce()])
            if closed is not None:
                yield closed


def _argument(flow: DataFlow, line: _Line, join: str) -> Crossing:
    """Return the argument with every array or statement whose values both scans read and that adds to it."""
    same = line.opposite.domain().identity()
    beginning = line.later.reverse().union(same)
    both = same.union(line.opposite)
    lines = line.together.intersect_domain(line.first)
    alive, spill, missing = lines, lines.apply_range(both).range(), 0
    groups = isl.UnionMap("{ }")
    taken = []
    for copies in _read_by_scans(flow, line.scans):
        by_first, by_second = (_reads(flow, name, copies) for name in line.scans)
        by_second = line.opposite.apply_range(by_second)
        shared = line.together.apply_range(by_first).intersect(line.together.apply_range(by_second)).coalesce()
        here = shared.intersect_domain(line.first)
        read = beginning.apply_range(by_first).union(line.later.apply_range(by_second))
        awaited = line.later.apply_range(by_first).union(beginning.apply_range(by_second))
        lost = shared.subtract(read.intersect(awaited))
        served = groups.union(copies.intersect_domain(here.range()))
        number = _most_of_one(lost)
        if here.is_empty() or number > MOST_LOST or not here.is_injective() or not served.is_injective():
            continue
        alive, groups, missing = alive.union(here), served, missing + number
        copies = copies.intersect_domain(here.range())
        taken.append({"values": str(here), "copies": str(copies)})
        spill = spill.union(copies.range())
    less = Polynomial.number(-missing - 1)
    pieces = tuple((where, count.plus(less)) for where, count in alive_per_event(flow, alive.coalesce()))
    sums = tuple(sum_over_events(flow, line.scans[0], where, count) for where, count in pieces)
    rests_on = {"join": join, "opposite": str(line.opposite), "later": str(line.later), "groups": taken}
    return Crossing(line.scans, join, alive.coalesce(), missing, spill.coalesce(), pieces, sums, rests_on)


def _most_of_one(relation: isl.UnionMap) -> int:
    """Return how many vertices a place has at most, or more than are allowed."""
    number = 0
    while not relation.is_empty() and number <= MOST_LOST:
        relation, number = relation.subtract(relation.lexmin()), number + 1
    return number


def _read_by_scans(flow: DataFlow, scans: tuple[str, str]) -> list[isl.UnionMap]:
    """Return, for arrays and statements that may be read by both scans, value -> itself and its copies."""
    copying = {
        item.name
        for item in flow.program.statements
        if item.name not in scans and len({known.reference.tag for known in flow.into(item.name)}) == 1
    }
    values: dict[str, isl.Set] = {}
    copies: dict[str, isl.UnionMap] = {}
    for item in flow.flows:
        name = item.relation.get_tuple_name(isl.dim_type.in_)
        if name in scans or not (item.sink in scans or item.sink in copying):
            continue
        domain = item.relation.domain()
        values[name] = domain if name not in values else values[name].union(domain)
        if item.sink in copying:
            known = copies.get(name)
            made = isl.UnionMap.from_map(item.relation)
            copies[name] = made if known is None else known.union(made)
    result = []
    for name in sorted(values):
        itself = isl.UnionSet.from_set(values[name]).identity()
        result.append(itself.union(copies[name]) if name in copies else itself)
    return result


def _reads(flow: DataFlow, statement: str, copies: isl.UnionMap) -> isl.UnionMap:
    """Return vertex of the statement -> values of which it reads the value itself or a copy."""
    operands = union_of_maps(isl.UnionMap.from_map(item.relation.reverse()) for item in flow.into(statement))
    return operands.apply_range(copies.reverse())


def sub_bound(item: Crossing, flow: DataFlow) -> SubBound:
    """Return the argument with its numbers as formulas, valid for all values of the parameters."""
    one, other = item.scans
    less = item.missing + 1
    facts = {f"n + |U| of piece {at}": count.sympy() + less for at, (_, count) in enumerate(item.pieces)}
    steps = (
        (
            f"F are the vertices of {one}, B those of {other}; in every line they scan the same places in "
            f"opposite orders (along exact closures of their dependences), and {item.join} reads both at every "
            "place."
        ),
        "A line is named by the vertex of F at its first place, with coordinates x0, x1, ...; lines share no vertex.",
        f"The places of a line and U, the values that both scans read: {set_text(item.alive, flow.program)}",
        (
            "A value of U is in use if a computed vertex of the scans has read it and one not computed yet "
            f"will read it. For every place at which the scans may meet, at most m = {item.missing} values of "
            "U are not in use (checked)."
        ),
        "Lemma (crossing of two scans): n + |U| - m - S loads for each line, which add up.",
        *(
            f"piece {at}: first place in {where}; sum of {count.sympy() + 1} - S over the lines where this is positive "
            f"is {count_formula(part)}"
            for at, ((where, count), part) in enumerate(zip(item.pieces, item.sums, strict=True))
        ),
    )
    return SubBound(
        "crossing of two scans",
        item.scans,
        set_text(item.alive.domain(), flow.program),
        sympy.Add(*(count_formula(part) for part in item.sums)),
        item.spill,
        set_text(item.spill, flow.program),
        {**facts, "m": sympy.Integer(item.missing), "per line": sympy.Symbol("n + |U| - m") - S},
        steps,
        (CROSSING,),
        certificate=lifetime_certificate(
            "crossing", item.scans, [summed(item.alive, item.pieces, flow.program, less=less)], item.rests_on
        ),
    )
