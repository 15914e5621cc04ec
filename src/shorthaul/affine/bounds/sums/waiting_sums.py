"""Sums of a row that wait for one another: no reader of one is computed before all sums of the row are.

The softmax of a row of scores needs their maximum first, a normalisation their mean, so a row of N scores has to be
complete before any of them is used. Those that are never loaded wait in fast memory when a group of rows begins or
ends, or both what they are made of, L values that differ from sum to sum, and the M values that they are used with are
there in between. Groups of L + M rows give

    loads  >=  sums - rows * S / (L + M) - sources,

all scores of attention but S / (2 D) in a row, where the search for shared sums (``finished_sums``) finds hardly any.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import islpy as isl
import sympy

from shorthaul.affine.bounds.hourglass import axes, of_equal_width, only, same_coordinates
from shorthaul.affine.bounds.lifetime.wavefront import Reachability
from shorthaul.affine.bounds.partition.candidates import usable_paths
from shorthaul.affine.bounds.partition.parts import as_union, sets_of, thickness, union_of_maps, united
from shorthaul.affine.bounds.partition.paths import affine_piece
from shorthaul.affine.bounds.sums.finished_sums import Sums, all_sums
from shorthaul.affine.effort import results_within, step
from shorthaul.affine.integer_sets.counting import card, count_formula, most_formula
from shorthaul.affine.integer_sets.dependences import DataFlow, maps_of
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.subspaces import kernel
from shorthaul.affine.model import Program
from shorthaul.affine.proofs.lemmas import WAITING_SUMS
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.tuning import LONGEST_LAYER_PATH, MOST_PATH_SETS, WAITING_COMPOSITIONS, WAVEFRONT_OPERATIONS

_SET = isl.dim_type.set
COUNTS = ("sums_count", "rows_count", "length", "users_count", "sources_count")


@dataclass(frozen=True, slots=True)
class Use:
    """What reads sums at last: the instances of ``domain``, those of one sum told apart by the loops ``positions``.

    ``later`` leads from last terms to the values of a sum alone behind its reader, ``users`` to all that read the last
    of these; ``factors`` lead from there to values that differ for all users of a row.
    """

    later: tuple[isl.UnionMap, ...]
    users: isl.UnionMap
    domain: isl.Set
    positions: tuple[int, ...]
    factors: tuple[isl.UnionMap, ...]

    @property
    def read(self) -> isl.UnionSet:
        """The vertices of the paths of users."""
        return united(level.range() for level in self.factors)


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
    use: Use | None = None

    @property
    def sources(self) -> isl.UnionSet:
        """The ends of the factors."""
        return united([self.factors[-1].range(), *([self.use.factors[-1].range()] if self.use else [])])

    @property
    def values(self) -> tuple[isl.UnionMap, ...]:
        """How last terms lead on to the values of their sums alone."""
        return (*self.tail, self.reader, *self.use.later) if self.use else self.tail

    @property
    def spill(self) -> isl.UnionSet:
        """The vertices whose loads are counted."""
        terms = as_union(self.sums.part.domain)
        read = [self.use.read] if self.use else []
        return united([terms, *(level.range() for level in (*self.values, *self.factors)), *read])

    @property
    def rows(self) -> isl.Set:
        """As many points as there are rows."""
        domain = self.sums.part.domain
        taken = {*self.columns, *self.sums.positions}
        return only(domain, tuple(at for at in range(domain.dim(_SET)) if at not in taken))


def waiting_sums(flow: DataFlow) -> Iterator[WaitingSums]:
    """Yield the argument for every statement whose sums wait for one another in rows, and with what uses them."""
    for found in results_within(WAVEFRONT_OPERATIONS, all_sums(flow), lambda sums: _of_sums(flow, sums)):
        yield found[0]
        yield from itertools.islice(results_within(WAVEFRONT_OPERATIONS, found, lambda item: _used(flow, item)), 1)


def _of_sums(flow: DataFlow, sums: Sums) -> list[WaitingSums] | None:
    """Return the argument with the longest rows for every reader of the sums that waits, None if nothing does."""
    reach = Reachability.of(flow)
    width = sums.part.domain.dim(_SET)
    others = [at for at in range(width) if at not in sums.positions]
    chains = list(_chains(flow, sums))
    for size in range(len(others), 0, -1):
        for columns in itertools.combinations(others, size):
            row = same_coordinates(sums.statement, width, [at for at in others if at not in columns])
            last = isl.UnionMap.from_map(row).intersect_domain(sums.last).intersect_range(sums.last)
            factors, found = _factors(sums, isl.UnionMap.from_map(row), columns), []
            for *tail, reader in chains if factors is not None else ():
                step()
                ancestors = reach.ancestors(sets_of(reader.range())[0].get_tuple_name(), steps=WAITING_COMPOSITIONS)
                if factors is not None and reader.reverse().apply_range(last).is_subset(ancestors):
                    found.append(WaitingSums(sums, columns, factors, tuple(tail), reader, ancestors))
            if found:
                return found
    return None


def _used(flow: DataFlow, item: WaitingSums) -> WaitingSums | None:
    """Return the argument with users that share nothing in a row, None if there are none."""
    known = len(item.tail)
    for chain in _chains(flow, item.sums):
        if len(chain) > known and chain[known].is_equal(item.reader):
            for name, users in _read(flow, chain[-1]):
                for use in _uses(flow, name, chain[known + 1 :], users):
                    if _stands(made := replace(item, use=use)):
                        return made
    return None


def _uses(flow: DataFlow, name: str, later: tuple[isl.UnionMap, ...], users: isl.UnionMap) -> Iterator[Use]:
    """Yield what the users of sums in one statement read that differs for those of one sum."""
    function = [affine_piece(one) for one in maps_of(users.reverse().coalesce())]
    width = flow.program.by_name[name].domain.dim(_SET)
    places = axes(kernel(function[0][0], width)) if len(function) == 1 and function[0] is not None else None
    for path in usable_paths(flow, name) if places else ():
        if not path.is_chain and not any(row[at] for row in path.kernel for at in places or ()):
            found = next(iter(sets_of(users.range().intersect(as_union(path.domain)))), None)
            domain = None if found is None else of_equal_width(found, places or ())
            if domain is not None and thickness(domain) == width:
                points = as_union(domain)
                levels = tuple(level.intersect_domain(points) for level in path.levels)
                yield Use(later, users.intersect_range(points), domain, places or (), levels)


def _stands(item: WaitingSums) -> bool:
    """True if every sum has its users, and neither users of a row nor sums, terms and users share a vertex."""
    step()
    sums, use, points = item.sums, item.use, as_union(item.sums.part.domain)
    if use is None or not use.users.domain().is_equal(sums.last):
        return False
    width = sums.part.domain.dim(_SET)
    kept = [at for at in range(width) if at not in (*item.columns, *sums.positions)]
    row = isl.UnionMap.from_map(same_coordinates(sums.statement, width, kept))
    row = use.users.reverse().apply_range(row.intersect_domain(sums.last).intersect_range(sums.last))
    read, own = union_of_maps(use.factors), [points, *(level.range() for level in item.values)]
    sharing = read.apply_range(read.reverse()).intersect(row.apply_range(use.users))
    return bool(
        union_of_maps([*item.values, sums.last.identity()]).is_injective()
        and sharing.is_subset(as_union(use.domain).identity())
        and use.read.intersect(united([*own, *(level.range() for level in item.factors)])).is_empty()
        and united(own).intersect(united(level.range() for level in item.factors)).is_empty()
    )


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


def _chains(flow: DataFlow, sums: Sums) -> Iterator[tuple[isl.UnionMap, ...]]:
    """Yield values that lead on from the last terms, one for each sum."""
    front: list[tuple[isl.UnionMap, ...]] = [()]
    for _ in range(LONGEST_LAYER_PATH):
        following = []
        for chain in front:
            for item, reader in _read(flow, chain[-1] if chain else sums.last.identity()):
                if item != sums.statement and reader.domain().is_equal(sums.last) and reader.is_bijective():
                    yield (*chain, reader)
                    following.append((*chain, reader))
        front = following[:MOST_PATH_SETS]


def _read(flow: DataFlow, here: isl.UnionMap) -> Iterator[tuple[str, isl.UnionMap]]:
    """Yield the statements that read vertices, and what leads to all instances of each that do by one reference."""
    for name in sorted({item.get_tuple_name() for item in sets_of(here.range())}):
        for item in flow.out_of(name):
            step()
            yield item.sink, here.apply_range(isl.UnionMap.from_map(item.relation)).coalesce()


def sub_bound(item: WaitingSums, flow: DataFlow) -> SubBound:
    """Return the argument with its numbers as formulas."""
    context, program = flow.program.context, flow.program
    (last,) = sets_of(item.sums.last)
    number = count_formula(card(last, context))
    rows = count_formula(card(item.rows.gist_params(last.params()), context))
    places = only(item.sums.part.domain, item.sums.positions).gist_params(item.sums.part.domain.params())
    L = sympy.Max(1, count_formula(card(places, context)))
    sources = sympy.Add(*(most_formula(found, context) for found in sets_of(item.sources)))
    use = item.use
    M = count_formula(card(only(use.domain, use.positions).gist_params(use.domain.params()), context)) if use else 0
    value = number - rows * S / (L + M) - sources
    iterators = program.by_name[item.sums.statement].iterators
    along, columns = (", ".join(iterators[at] for at in group) for group in (item.sums.positions, item.columns))
    read = [set_text(level, program) for level in item.factors]
    then = [set_text(level, program) for level in (*item.tail, item.reader)]
    steps = (
        f"Sums: {set_text(item.sums.part.domain, program)}, L = {L} terms along {along}.",
        f"A row has those along {columns}. No two terms of a row read the same of: {'; '.join(read)}",
        f"Behind the last term of a sum: {'; then '.join(then)}. This reader is a descendant of all sums of its row.",
        *([] if use is None else _use_steps(use, M, program)),
        f"sources: {set_text(item.sources, program)}",
        "Lemma (sums that wait): value = sums - rows S / (L + M) - sources.",
    )
    facts = {"sums": number, "rows": rows, "L": L, "M": sympy.sympify(M), "sources": sources}
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
            "use": None if use is None else _use_certificate(use),
            **dict(zip(COUNTS, map(str, facts.values()), strict=True)),
        },
    )


def _use_steps(use: Use, M: sympy.Expr, program: Program) -> tuple[str, ...]:
    then = [set_text(level, program) for level in (*use.later, use.users)]
    read = [set_text(level, program) for level in use.factors]
    return (
        f"The reader belongs to its sum. M = {M} users of each sum: {'; then '.join(then)}.",
        f"No two users of a row read the same of: {'; '.join(read)}",
    )


def _use_certificate(use: Use) -> dict[str, object]:
    return {
        "later": [str(level) for level in use.later],
        "users": str(use.users),
        "domain": str(use.domain),
        "positions": list(use.positions),
        "factors": [str(level) for level in use.factors],
    }
