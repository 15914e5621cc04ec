"""Sums over data that are used to add to other sums: distances and centres, a layer and its gradient.

In c[k] += w(i, k) x[i], w(i, k) a function of a sum over the products of x[i] and b[k], a segment either loads w(i, k)
or computes it from L words of x[i] and L of b[k], which serve all k or i beside c[k]. With I rows i, and t lines of the
sums c, K >= L I + (1 + L / M) t for M lines in c[k], and at most I t instances:

    U = max(K^2 / (4 L (1 + L / M)), M K).

Projections give no more than M times the pairs here, as the length of sums is no matter to them. Made for given sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import islpy as isl
import sympy

from shorthaul.affine.bounds.hourglass import most_places, only
from shorthaul.affine.bounds.partition.candidates import best_events, usable_paths
from shorthaul.affine.bounds.partition.parts import sets_of
from shorthaul.affine.bounds.sums.finished_sums import FinishedSums, all_sums, of_paths, sums_certificate, to_sums
from shorthaul.affine.effort import limited, step
from shorthaul.affine.integer_sets.counting import card, count_formula, most_formula
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.integer_sets.subspaces import kernel, span
from shorthaul.affine.proofs.lemmas import CUTS, OWN_VERTICES, SEGMENTS, USED_SUMS
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.proofs.segments import events_at, least_events, value_text
from shorthaul.affine.tuning import PARTITION_OPERATIONS


@dataclass(frozen=True, slots=True)
class UsedSums:
    """The argument: ``known`` with one chain beside the sums, ``lines`` as many points as chains have at one place."""

    known: FinishedSums
    rows: int  #: which family of the terms tells the rows; the other one tells the places of chains
    lines: isl.Set


def used_sums(flow: DataFlow) -> Iterator[UsedSums]:
    """Yield the arguments for all statements that add what they read of sums."""
    for sums in all_sums(flow):
        others = [item.name for item in flow.program.statements if item.name != sums.statement]
        for name in others if len(sums.part.paths) == 2 else ():
            with suppress(isl.Error), limited(PARTITION_OPERATIONS):
                yield from _of_statement(flow, name, sums)


def _of_statement(flow: DataFlow, name: str, sums: Any) -> Iterator[UsedSums]:
    """Yield the first argument for the instances of one statement."""
    usable = usable_paths(flow, name)
    chains = [path for path in usable if path.is_chain and len(path.levels) == 1]
    for path in usable if chains else ():
        tail = None if path.is_chain else to_sums(flow, path, sums)
        for chain in chains if tail is not None else ():
            found = of_paths(flow, sums, (path, chain), tail or ())
            for rows in (0, 1) if found is not None else ():
                lines = None if found is None else _lines(found, rows)
                if found is not None and lines is not None:
                    yield UsedSums(found, rows, lines)
                    return


def _lines(item: FinishedSums, rows: int) -> isl.Set | None:
    """Return as many points as there are chains at one place at most, None where the lemma does not hold."""
    step()
    ends = [*item.part.all_levels[0], *item.tail][-1]
    row, place = (ends.apply_range(_class(item, family)) for family in (rows, 1 - rows))
    chain = item.part.embedding(kernel(item.part.paths[1].kernel, len(item.part.order)))
    if not chain.reverse().apply_range(place).is_single_valued() or not row.range_product(chain).is_injective():
        return None
    within = isl.Map.from_union_map(place.reverse().apply_range(chain)).coalesce()
    return most_places(within).gist_params(item.part.domain.params())


def _class(item: FinishedSums, family: int) -> isl.UnionMap:
    """Return term -> the class of what it reads by a family, whatever its position."""
    part = item.sums.part
    width = len(part.order)
    positions = [[int(at == one) for at in range(width)] for one in item.sums.positions]
    return part.embedding(kernel(span([*part.paths[family].kernel, *positions]), width))


def most_of(K: Any, L: Any, M: Any, own: bool) -> tuple[Any, Any]:
    """Return the most instances of one segment where it computes all sums, and where it loads all."""
    beside = K if own else 0
    return K**2 * M / (4 * L * (L + M)) + beside, M * K + beside


def sub_bound(item: UsedSums, flow: DataFlow, sizes: Mapping[str, int]) -> SubBound:
    """Return the argument with its numbers as formulas, with the events of a segment that suit ``sizes``."""
    known, context, program = item.known, flow.program.context, flow.program
    size = count_formula(card(known.part.domain, context))
    sources = sympy.Add(*(most_formula(found, context) for found in sets_of(known.sources)))
    positions = only(known.sums.part.domain, known.sums.positions).gist_params(known.sums.part.domain.params())
    L, M = (sympy.Max(1, count_formula(card(points, context))) for points in (positions, item.lines))
    points, less, length, lines = (number_at(value, sizes) for value in (size, sources, L, M))

    def worth(events: int) -> float:
        most = max(most_of(float(sizes["S"] + events), length, lines, bool(known.part.own)))
        return events_at(points / most, events, sizes["S"]) - less

    T = sympy.Integer(best_events(worth, sizes["S"]))
    U = sympy.Max(*most_of(S + T, L, M, bool(known.part.own)), evaluate=False)
    value = least_events(size / U, T) - sources
    numbers = {"events": T, "length": L, "instances_count": size, "sources_count": sources, "most_instances": U}
    return SubBound(
        "sums that are used on lines",
        tuple(dict.fromkeys((known.part.statement, known.sums.statement))),
        set_text(known.part.domain, program),
        value,
        known.spill,
        set_text(known.spill, program),
        {"|D|": size, "L": L, "M": M, "T": T, "U": U, "sources": sources},
        _steps(item, flow, (T, U, L, M)),
        (SEGMENTS, CUTS, *([OWN_VERTICES] if known.part.own else []), USED_SUMS),
        certificate={
            **sums_certificate(known, numbers),
            "kind": "used sums",
            "exponents": [],
            "term_exponents": [],
            "rows": item.rows,
            "lines": str(M),
        },
    )


def _steps(item: UsedSums, flow: DataFlow, numbers: Sequence[sympy.Expr]) -> tuple[str, ...]:
    """Return what was checked and concluded."""
    known, program, (T, U, L, M) = item.known, flow.program, numbers
    iterators = program.by_name[known.sums.statement].iterators
    along = ", ".join(iterators[at] for at in known.sums.positions)
    needed = "; then ".join(set_text(level, program) for level in (*known.part.all_levels[0], *known.tail))
    read = [" <- ".join(known.sums.part.paths[at].references) for at in (item.rows, 1 - item.rows)]
    return (
        f"D: {set_text(known.part.domain, program)}",
        f"Lines: {known.part.paths[1].text()}; vertices {set_text(known.part.vertices[1], program)}",
        f"Every p of D needs the last term of a sum of {known.sums.statement}: {needed}",
        f"Sums: {set_text(known.sums.part.domain, program)}, L = {L} terms along {along}, each an operand of the next.",
        f"Rows by {read[0]}, places by {read[1]}; a place has M = {M} lines at most.",
        "An instance is the only one of its row on its line, and all of a line are at one place.",
        f"sources: {set_text(known.sources, program)}",
        f"Lemma (sums that are used on lines): |P| <= U = {U}, K = S + T; any T will do; chosen: T = {T}.",
        f"Lemma (segments): value = {value_text('|D|', 'U', T)} - sources.",
    )
