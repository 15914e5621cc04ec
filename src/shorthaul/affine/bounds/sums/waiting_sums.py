"""Sums of a row that wait for one another: no reader of one is computed before all sums of the row are.

The softmax of a row of scores needs their maximum first, a normalisation their mean, so a row of N scores has to be
complete before any of them is used. Those that are never loaded were in fast memory when a group of rows began, or are
computed in it, from L values each that differ from sum to sum. Groups of L rows give

    loads  >=  sums - rows * S / L - sources,

all scores of attention but for S / D in a row, where the search for shared sums (``finished_sums``) finds hardly any.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import islpy as isl
import sympy

from shorthaul.affine.bounds.hourglass import only, same_coordinates
from shorthaul.affine.bounds.lifetime.wavefront import Reachability
from shorthaul.affine.bounds.partition.parts import as_union, sets_of, union_of_maps, united
from shorthaul.affine.bounds.sums.finished_sums import Sums, all_sums
from shorthaul.affine.effort import results_within, step
from shorthaul.affine.integer_sets.counting import card, count_formula, most_formula
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.proofs.lemmas import WAITING_SUMS
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.tuning import LONGEST_LAYER_PATH, MOST_PATH_SETS, WAITING_COMPOSITIONS, WAVEFRONT_OPERATIONS

_SET = isl.dim_type.set


@dataclass(frozen=True, slots=True)
class WaitingSums:
    """The argument: ``sums`` of rows that differ in the loops ``columns``, of which all else is a row's.

    ``factors`` lead from a term to values that differ for all terms of a row. ``tail`` leads from a last term to the
    values of its sum alone that follow, ``reader`` to the instance that reads the last of them. ``ancestors`` are what
    tells that it comes after all sums of its row.
    """

    sums: Sums
    columns: tuple[int, ...]
    factors: tuple[isl.UnionMap, ...]
    tail: tuple[isl.UnionMap, ...]
    reader: isl.UnionMap
    ancestors: isl.UnionMap

    @property
    def sources(self) -> isl.UnionSet:
        """The ends of the factors."""
        return self.factors[-1].range().coalesce()

    @property
    def spill(self) -> isl.UnionSet:
        """The vertices whose loads are counted."""
        terms = as_union(self.sums.part.domain)
        return united([terms, *(level.range() for level in (*self.tail, *self.factors))])

    @property
    def rows(self) -> isl.Set:
        """As many points as there are rows."""
        domain = self.sums.part.domain
        taken = {*self.columns, *self.sums.positions}
        return only(domain, tuple(at for at in range(domain.dim(_SET)) if at not in taken))


def waiting_sums(flow: DataFlow) -> Iterator[WaitingSums]:
    """Yield the argument for every statement whose sums wait for one another in rows."""
    yield from results_within(WAVEFRONT_OPERATIONS, all_sums(flow), lambda sums: _of_sums(flow, sums))


def _of_sums(flow: DataFlow, sums: Sums) -> WaitingSums | None:
    """Return the argument with the longest rows, None if nothing waits."""
    reach = Reachability.of(flow)
    width = sums.part.domain.dim(_SET)
    others = [at for at in range(width) if at not in sums.positions]
    ways = list(_ways(flow, sums))
    for size in range(len(others), 0, -1):
        for columns in itertools.combinations(others, size):
            row = same_coordinates(sums.statement, width, [at for at in others if at not in columns])
            factors = _factors(sums, isl.UnionMap.from_map(row), columns)
            for tail, reader in ways if factors is not None else ():
                step()
                name = sets_of(reader.range())[0].get_tuple_name()
                ancestors = reach.ancestors(name, steps=WAITING_COMPOSITIONS)
                last = isl.UnionMap.from_map(row).intersect_domain(sums.last).intersect_range(sums.last)
                if factors is not None and reader.reverse().apply_range(last).is_subset(ancestors):
                    return WaitingSums(sums, columns, factors, tail, reader, ancestors)
    return None


def _factors(sums: Sums, row: isl.UnionMap, columns: Sequence[int]) -> tuple[isl.UnionMap, ...] | None:
    """Return what terms read of which no two of a row share a value, None if they share all."""
    points = as_union(sums.part.domain)
    for path, levels in zip(sums.part.paths, sums.part.all_levels, strict=True):
        if any(vector[at] for vector in path.kernel for at in columns):
            continue
        step()
        read = union_of_maps(levels)
        sharing = read.apply_range(read.reverse()).intersect(row).subtract(points.identity())
        if sharing.is_empty() and read.range().intersect(points).is_empty():
            return levels
    return None


def _ways(flow: DataFlow, sums: Sums) -> Iterator[tuple[tuple[isl.UnionMap, ...], isl.UnionMap]]:
    """Yield values that lead on from the last terms, one for each, and a reader of the last of them."""
    front: list[tuple[isl.UnionMap, ...]] = [()]
    for _ in range(LONGEST_LAYER_PATH):
        following = []
        for tail in front:
            here = tail[-1] if tail else sums.last.identity()
            for name in sorted({item.get_tuple_name() for item in sets_of(here.range())}):
                for item in flow.out_of(name):
                    step()
                    reader = here.apply_range(isl.UnionMap.from_map(item.relation)).coalesce()
                    whole = reader.domain().is_equal(sums.last) and reader.is_single_valued()
                    if whole and item.sink != sums.statement and reader.is_injective():
                        yield tail, reader
                        following.append((*tail, reader))
        front = following[:MOST_PATH_SETS]


def sub_bound(item: WaitingSums, flow: DataFlow) -> SubBound:
    """Return the argument with its numbers as formulas."""
    context, program = flow.program.context, flow.program
    (last,) = sets_of(item.sums.last)
    number = count_formula(card(last, context))
    rows = count_formula(card(item.rows.gist_params(last.params()), context))
    places = only(item.sums.part.domain, item.sums.positions).gist_params(item.sums.part.domain.params())
    L = sympy.Max(1, count_formula(card(places, context)))
    sources = sympy.Add(*(most_formula(found, context) for found in sets_of(item.sources)))
    value = number - rows * S / L - sources
    iterators = program.by_name[item.sums.statement].iterators
    along, columns = (", ".join(iterators[at] for at in group) for group in (item.sums.positions, item.columns))
    read = [set_text(level, program) for level in item.factors]
    then = [set_text(level, program) for level in (*item.tail, item.reader)]
    steps = (
        f"Sums: {set_text(item.sums.part.domain, program)}, L = {L} terms along {along}.",
        f"A row has those along {columns}. No two terms of a row read the same of: {'; '.join(read)}",
        f"Behind the last term of a sum: {'; then '.join(then)}. This reader is a descendant of all sums of its row.",
        f"sources: {set_text(item.sources, program)}",
        "Lemma (sums that wait): value = sums - rows S / L - sources.",
    )
    facts = {"sums": number, "rows": rows, "L": L, "sources": sources}
    return SubBound(
        "sums that wait in rows",
        (item.sums.statement,),
        set_text(item.sums.part.domain, program),
        value,
        item.spill,
        set_text(item.spill, program),
        facts,
        steps,
        (WAITING_SUMS,),
        certificate={
            "kind": "waiting sums",
            "statements": [item.sums.statement],
            "domain": str(item.sums.part.domain),
            "positions": list(item.sums.positions),
            "columns": list(item.columns),
            "before": str(item.sums.before),
            "factors": [str(level) for level in item.factors],
            "tail": [str(level) for level in item.tail],
            "reader": str(item.reader),
            "ancestors": str(item.ancestors),
            **dict(zip(("sums_count", "rows_count", "length", "sources_count"), map(str, facts.values()), strict=True)),
        },
    )
