"""Sums over two rows of one array, such as Gram and kernel matrices and distances between all pairs of points.

The sum of {i, j} has L terms, each of which reads a value of row i and one of row j. What a stretch of a play computes
whole belongs to rows of which all L values were there, so to m (m - 1) / 2 pairs of m rows. Rows that were there in two
stretches, one after the other, make pairs in one of them only; this takes off a third of what each stretch by itself
may have, and a bound is 0.73 times what blocks of S / L rows load, where that of the K-partition is a half. What a term
computes for itself, as t in t = x[i][q] - x[j][q]; s += t * t, belongs to its sum. Made for given sizes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import islpy as isl
import sympy

from shorthaul.affine.bounds.hourglass import of_equal_width, only, same_coordinates
from shorthaul.affine.bounds.partition.candidates import best_events
from shorthaul.affine.bounds.partition.parts import Part, as_union, names_of, sets_of, union_of_maps, united, with_own
from shorthaul.affine.bounds.partition.paths import Path
from shorthaul.affine.bounds.sums.finished_sums import adding, chains_and_reads
from shorthaul.affine.effort import results_within, step
from shorthaul.affine.integer_sets.counting import at_least, card, count_formula, most_formula
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.proofs.lemmas import PAIRED_ROWS
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.tuning import PARTITION_OPERATIONS

_SET = isl.dim_type.set
Levels = tuple[isl.UnionMap, ...]


@dataclass(frozen=True, slots=True)
class PairedRows:
    """The argument: terms, the loops along which they are added, and two ways to values of rows.

    ``before`` leads from a term to the one before; ``orders`` of a pair of rows, one or two, have a sum each. Vertices
    of the statements ``own`` are on the paths of one term each.
    """

    terms: isl.Set
    positions: tuple[int, ...]
    before: isl.UnionMap
    ways: tuple[Levels, ...]
    orders: int
    own: frozenset[str]

    @property
    def last(self) -> isl.UnionSet:
        """The terms that no other one follows."""
        return as_union(self.terms).subtract(self.before.range())

    @property
    def sources(self) -> isl.UnionSet:
        """The values of rows."""
        return united(levels[-1].range() for levels in self.ways)

    @property
    def spill(self) -> isl.UnionSet:
        """The vertices whose loads are counted."""
        return united([as_union(self.terms), *(level.range() for levels in self.ways for level in levels)])


def paired_rows(flow: DataFlow) -> Iterator[PairedRows]:
    """Yield the argument for every statement whose sums read two rows of one array."""
    yield from results_within(PARTITION_OPERATIONS, adding(flow), lambda name: _of_statement(flow, name))


def _of_statement(flow: DataFlow, name: str) -> PairedRows | None:
    for chain, positions, reads in chains_and_reads(flow, name):
        for one, other in itertools.combinations(reads, 2):
            step()
            if one.source == other.source and one.kernel != other.kernel:
                found = _of_paths(chain, (one, other), positions)
                if found is not None:
                    return found
    return None


def _of_paths(chain: Path, paths: tuple[Path, Path], positions: tuple[int, ...]) -> PairedRows | None:
    """Return the argument for two paths of terms, None where their ends are not rows of one array."""
    domain = chain.domain.intersect(paths[0].domain).intersect(paths[1].domain)
    first, second = (path.levels[-1].intersect_domain(as_union(domain)) for path in paths)
    itself = first.intersect(second).domain()  # of sums of one row, which have no second one
    domain = of_equal_width(_subset(domain, itself), positions)
    domain = domain.intersect_params(at_least(domain.get_var_names(isl.dim_type.param), 1)).coalesce()
    if domain.is_empty():
        return None
    points, width = as_union(domain), domain.dim(_SET)
    ways = tuple(tuple(level.intersect_domain(points) for level in path.levels) for path in paths)
    kept = [at for at in range(width) if at not in positions]
    same, place = (
        isl.UnionMap.from_map(same_coordinates(chain.statement, width, chosen))
        .intersect_domain(points)
        .intersect_range(points)
        for chosen in (kept, positions)
    )
    before = chain.levels[0].intersect_domain(points).intersect_range(points).subtract(points.identity())
    (part,) = with_own([Part(chain.statement, domain, paths, tuple(range(width)))])
    found = PairedRows(domain, positions, before, ways, orders_of(ways[0][-1], ways[1][-1]), part.own)
    together = same.intersect_domain(found.last).intersect_range(found.last)
    is_sum = before.is_subset(same) and together.is_subset(found.last.identity())
    return found if is_sum and _are_rows(found, same, place) else None


def _subset(domain: isl.Set, without: isl.UnionSet) -> isl.Set:
    """Return the instances of a statement that are not in ``without``."""
    left = sets_of(as_union(domain).subtract(without))
    return left[0] if left else isl.Set.empty(domain.get_space())


def orders_of(first: isl.UnionMap, second: isl.UnionMap) -> int:
    """Return 2 if two terms read the same two values, the other way round, else 1."""
    turned = first.apply_range(second.reverse()).intersect(second.apply_range(first.reverse()))
    return 1 if turned.is_empty() else 2


def _are_rows(item: PairedRows, same: isl.UnionMap, place: isl.UnionMap) -> bool:
    """Return whether what terms read are rows with one value at each position, two different ones for each sum."""
    ends = [levels[-1] for levels in item.ways]
    first, second = ends
    rows = union_of_maps([end.reverse().apply_range(same).apply_range(end) for end in ends])
    both = first.apply_range(first.reverse()).intersect(second.apply_range(second.reverse()))
    if not both.is_subset(as_union(item.terms).identity()) or not first.apply_range(rows).intersect(second).is_empty():
        return False
    if not rows.apply_range(rows).is_subset(rows):
        return False
    for one, other in itertools.product(ends, repeat=2):
        step()
        alike = one.reverse().apply_range(place).apply_range(other).intersect(rows)
        if not alike.is_subset(item.sources.identity()) or not one.apply_range(other.reverse()).is_subset(place):
            return False
    kept = [(level, way[-1]) for way in item.ways for level in _others(way, item.own)]
    owned = union_of_maps([level.reverse().apply_range(end) for level, end in kept])
    is_apart = all(names_of(level).isdisjoint(item.own) for level, _ in kept)
    meeting = owned.domain().intersect(as_union(item.terms))
    return is_apart and bool(owned.is_single_valued()) and bool(meeting.is_empty())


def _others(levels: Levels, own: frozenset[str]) -> Levels:
    """Return the levels of a path from the first one on that has vertices that are not own."""
    return tuple(itertools.dropwhile(lambda level: names_of(level) <= own, levels))


# -- numbers


def sub_bound(item: PairedRows, flow: DataFlow, sizes: Mapping[str, int]) -> SubBound:
    """Return the argument with its numbers as formulas, with the events of a stretch that suit ``sizes``."""
    context, program = flow.program.context, flow.program
    size = sympy.Add(*(count_formula(card(found, context)) for found in sets_of(item.last)))
    sources = sympy.Add(*(most_formula(found, context) for found in sets_of(item.sources)))
    places = only(item.terms, item.positions).gist_params(item.terms.params())
    L = sympy.Max(1, count_formula(card(places, context)))
    points, length = number_at(size, sizes), number_at(L, sizes)

    def worth(events: int) -> int:
        most = float(max(_most(sizes["S"], events, length, item.orders)))
        return events * (math.ceil(points / most) - 1)

    T = sympy.Integer(best_events(worth, sizes["S"]))
    U = sympy.Max(*_most(S, T, L, sympy.Integer(item.orders)), evaluate=False)
    value = T * (sympy.ceiling(size / U, evaluate=False) - 1) - sources
    name = item.terms.get_tuple_name()
    iterators = program.by_name[name].iterators
    along = ", ".join(iterators[at] for at in item.positions)
    read = ["; then ".join(set_text(level, program) for level in way) for way in item.ways]
    facts = {"|D|": size, "L": L, "w": sympy.Integer(item.orders), "T": T, "U": U, "sources": sources}
    steps = (
        f"Sums: {set_text(item.terms, program)}, L = {L} terms along {along}, each an operand of the next.",
        *([f"Own vertices of terms: those of {', '.join(sorted(item.own))}."] if item.own else []),
        f"Terms read a value of one row, {read[0]}, and of another one, {read[1]}.",
        f"A row has one value for each of {along}; at most {item.orders} sums have the same two rows.",
        f"sources: {set_text(item.sources, program)}",
        f"Lemma ({PAIRED_ROWS.name}): at most U = {U} sums for each T = {T} events; any T will do.",
        "value = T (ceil(|D|/U) - 1) - sources.",
    )
    return SubBound(
        "sums over two rows of one array",
        (name,),
        set_text(item.terms, program),
        value,
        item.spill,
        set_text(item.spill, program),
        facts,
        steps,
        (PAIRED_ROWS,),
        certificate={
            "kind": "paired rows",
            "statements": [name],
            "domain": str(item.terms),
            "positions": list(item.positions),
            "before": str(item.before),
            "ways": [[str(level) for level in way] for way in item.ways],
            "orders": item.orders,
            "own": sorted(item.own),
            "events": str(T),
            "sums_count": str(size),
            "length": str(L),
            "sources_count": str(sources),
            "most_sums": str(U),
        },
    )


def _most(S: Any, T: Any, L: Any, w: Any) -> tuple[Any, Any]:
    """Return the most sums of a stretch, on average, by the lemma: the larger one of two numbers."""
    return w * (3 * T**2 + 2 * S * T + S**2) / (4 * L**2), L**2 / w + w * (S + T) ** 2 / (4 * L**2)
