"""Values that are sums: a part of a play may compute many whole sums for little, and then has them for nothing.

In a K-partition every class of a family costs a vertex that is in fast memory before or is loaded. Where a family reads
sums (the weights of attention, the first of two products), a part may compute whole sums instead, and these share what
they read: w sums of L terms a[i] b[j] need only 2 L sqrt(w) values. So for S well above L^2 less is loaded than without
this, and a bound has to count both ways (attention: N^2 D^2 / S; Saha and Ye 2024). What a term computes for itself
belongs to its sum, and instances that read sums may have vertices of their own. Made for given sizes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import islpy as isl
import sympy

from shorthaul.affine.bounds.hourglass import axes, of_equal_width, only, same_coordinates
from shorthaul.affine.bounds.partition.brascamp_lieb import Exponents, best_exponents, least_sum
from shorthaul.affine.bounds.partition.candidates import best_events, usable_paths
from shorthaul.affine.bounds.partition.k_partition import fold, partition
from shorthaul.affine.bounds.partition.parts import (
    Part,
    as_union,
    sets_of,
    sources_and_spill,
    thickness,
    union_of_maps,
    united,
    with_own,
)
from shorthaul.affine.bounds.partition.paths import Path, affine_piece, affine_steps
from shorthaul.affine.effort import limited, results_within, step
from shorthaul.affine.integer_sets.counting import at_least, card, count_formula, most_formula, rational
from shorthaul.affine.integer_sets.dependences import DataFlow, maps_of
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.integer_sets.subspaces import kernel, span, unit
from shorthaul.affine.proofs.lemmas import BRASCAMP_LIEB, CUTS, FINISHED_SUMS, OWN_VERTICES, SEGMENTS
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.proofs.segments import events_at, least_events, value_text
from shorthaul.affine.tuning import LONGEST_LAYER_PATH, MOST_PATH_SETS, PARTITION_OPERATIONS

_SET = isl.dim_type.set


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums of one statement: its instances with what they read (``part``), and where a term stands in its sum.

    All sums have terms at the same ``positions``; ``exponents`` are those of what is read, for terms of one position.
    ``before`` leads from a term to the one before, ``last`` are the terms that no other one follows.
    """

    part: Part
    positions: tuple[int, ...]
    exponents: Exponents
    before: isl.UnionMap
    last: isl.UnionSet

    @property
    def statement(self) -> str:
        """The statement that adds."""
        return self.part.statement

    @property
    def same(self) -> isl.UnionMap:
        """Term -> the terms of the same sum."""
        width = self.part.domain.dim(_SET)
        kept = [at for at in range(width) if at not in self.positions]
        points = as_union(self.part.domain)
        found = isl.UnionMap.from_map(same_coordinates(self.statement, width, kept))
        return found.intersect_domain(points).intersect_range(points)

    @property
    def own(self) -> isl.UnionMap:
        """Term -> vertices on the paths of this term only."""
        levels = itertools.chain.from_iterable(self.part.all_levels)
        return union_of_maps(levels).intersect_range(self.part.own_vertices)


@dataclass(frozen=True, slots=True)
class FinishedSums:
    """The argument: instances D (``part``), of which the family number ``family`` reads sums.

    ``exponents`` are those of D's families; ``tail`` leads from D to the vertices between the source of the family and
    the last term of the sum, which is the last one.
    """

    part: Part
    exponents: tuple[Fraction, ...]
    family: int
    tail: tuple[isl.UnionMap, ...]
    sums: Sums
    read: isl.UnionSet  #: sources of the families that D reads
    factors: isl.UnionSet  #: sources of what terms read
    spill: isl.UnionSet

    @property
    def sources(self) -> isl.UnionSet:
        """The vertices that count as available whenever they are computed, and inputs."""
        return self.read.union(self.factors).coalesce()


def finished_sums(flow: DataFlow) -> Iterator[FinishedSums]:
    """Yield the arguments for all sums: for what reads them, and for their last terms alone."""
    names = [item.name for item in flow.program.statements]
    ways = (
        (find, sums)
        for sums in all_sums(flow)
        for find in (_alone, *(_reader(name) for name in names if name != sums.statement))
    )
    yield from results_within(PARTITION_OPERATIONS, ways, lambda way: way[0](flow, way[1]))


def all_sums(flow: DataFlow) -> Iterator[Sums]:
    """Yield the sums of every statement that has some."""
    for name in adding(flow):
        key = "sums", name
        if key not in flow.known:
            flow.known[key] = None
            with suppress(isl.Error), limited(PARTITION_OPERATIONS):
                flow.known[key] = _sums(flow, name)
        if flow.known[key] is not None:
            yield flow.known[key]


def adding(flow: DataFlow) -> list[str]:
    """Return the statements that may have sums: those that read themselves."""
    return [name for name in flow.program.by_name if any(item.sink == name for item in flow.out_of(name))]


def chains_and_reads(flow: DataFlow, name: str) -> Iterator[tuple[Path, tuple[int, ...], list[Path]]]:
    """Yield the chains along which a statement adds, the loops of their terms, and what terms read that differs."""
    width = flow.program.by_name[name].domain.dim(_SET)
    if width < 2:
        return
    usable = usable_paths(flow, name)
    for chain in (path for path in usable if path.is_chain and len(path.levels) == 1):
        positions = axes(chain.kernel)
        if positions is not None and len(positions) < width:
            reads = [item for item in usable if not item.is_chain]
            yield chain, positions, [item for item in reads if not any(r[at] for r in item.kernel for at in positions)]


def _sums(flow: DataFlow, name: str) -> Sums | None:
    """Return the sums of a statement that share most of what they read, None if it has none."""
    width = flow.program.by_name[name].domain.dim(_SET)
    best: tuple[Fraction, Sums] | None = None
    for chain, positions, reads in chains_and_reads(flow, name):
        others = [at for at in range(width) if at not in positions]
        for size in range(1, len(others) + 1):
            for chosen in itertools.combinations(reads, size):
                step()
                spaces = tuple(span([[row[at] for at in others] for row in item.kernel]) for item in chosen)
                exponents = best_exponents(spaces, len(others), (tuple(range(size)),))
                if exponents is None or (best is not None and exponents.sigma >= best[0]):
                    continue
                made = _of_chain(chain, chosen, positions, exponents)
                if made is not None:
                    best = (exponents.sigma, made)
    return None if best is None else best[1]


def _of_chain(chain: Path, chosen: Sequence[Path], positions: tuple[int, ...], exponents: Exponents) -> Sums | None:
    """Return the sums of a chain whose terms read ``chosen``, None where lengths differ or vertices are shared."""
    domain = chain.domain
    for path in chosen:
        domain = domain.intersect(path.domain)
    domain = of_equal_width(domain, positions)
    domain = domain.intersect_params(at_least(domain.get_var_names(isl.dim_type.param), 1))
    if thickness(domain) < domain.dim(_SET):
        return None
    (part,) = with_own([Part(chain.statement, domain, tuple(chosen), tuple(range(domain.dim(_SET))))])
    points = as_union(domain)
    if any(fold((part,), at) != 1 for at in range(len(chosen))) or _meet([*part.vertices, part.own_vertices, points]):
        return None
    before = chain.levels[0].intersect_domain(points).intersect_range(points).subtract(points.identity())
    last = points.subtract(before.range())
    made = Sums(part, positions, exponents, before, last)
    together = made.same.intersect_domain(last).intersect_range(last)
    return made if before.is_subset(made.same) and together.is_subset(last.identity()) else None


def _meet(sets: Sequence[isl.UnionSet]) -> bool:
    """True if two of the sets have common vertices."""
    return any(not one.intersect(other).is_empty() for one, other in itertools.combinations(sets, 2))


# -- what is counted


def _alone(_: DataFlow, sums: Sums) -> FinishedSums | None:
    """Return the argument for the last terms of sums themselves."""
    (last,) = sets_of(sums.last)
    width = last.dim(_SET)
    itself = Path(sums.statement, last, (sums.last.identity(),), (), (), sums.statement, False)
    return _argument(Part(sums.statement, last, (itself,), tuple(range(width))), (Fraction(1),), 0, (), sums)


def _reader(name: str) -> Callable[[DataFlow, Sums], FinishedSums | None]:
    """Return how the argument for instances of a statement that read sums is found."""

    def find(flow: DataFlow, sums: Sums) -> FinishedSums | None:
        width = flow.program.by_name[name].domain.dim(_SET)
        usable = usable_paths(flow, name)
        for path in usable:
            tail = None if path.is_chain else to_sums(flow, path, sums)
            if tail is None:
                continue
            others = [item for item in usable if item is not path]
            for chosen in _best_sets(path, others, width):
                found = of_paths(flow, sums, chosen, tail)
                if found is not None:
                    return found
        return None

    return find


def of_paths(
    flow: DataFlow, sums: Sums, chosen: tuple[Path, ...], tail: tuple[isl.UnionMap, ...]
) -> FinishedSums | None:
    """Return the argument for instances that read sums by the first of some paths, None if it does not work."""
    name = chosen[0].statement
    common = flow.program.by_name[name].domain
    width = common.dim(_SET)
    for item in chosen:
        common = common.intersect(item.domain)
    ends = [*chosen[0].levels, *tail][-1].intersect_range(sums.last)
    common = common.intersect(_of(ends.domain(), name, common))
    part = Part(name, common.coalesce(), chosen, tuple(range(width)))
    for whole in (part, *with_own([part])) if thickness(common) == width else ():
        made = partition([whole], isl.UnionSet("{ }"), symmetric=False)
        if made is not None and len(made.cliques) == 1 and made.folds == (1,) * len(chosen):
            found = _argument(made.parts[0], made.exponents.s, 0, tail, sums)
            if found is not None:
                return found
    return None


def _of(points: isl.UnionSet, name: str, like: isl.Set) -> isl.Set:
    """Return the instances of one statement in a union set."""
    found = [item for item in sets_of(points) if item.get_tuple_name() == name]
    return found[0] if found else isl.Set.empty(like.get_space())


def _best_sets(path: Path, others: Sequence[Path], width: int) -> list[tuple[Path, ...]]:
    """Return the sets of paths with ``path`` first whose exponents have the least sum."""
    found = []
    for size in range(1, max(2, width - 1) + 1):
        for chosen in itertools.combinations(others, size):
            step()
            sigma = least_sum((path.kernel, *(item.kernel for item in chosen)), width)
            if sigma is not None and sigma > 1:
                found.append((sigma, (path, *chosen)))
    least = min((sigma for sigma, _ in found), default=None)
    return [chosen for sigma, chosen in found if sigma == least][:MOST_PATH_SETS]


def to_sums(flow: DataFlow, path: Path, sums: Sums) -> tuple[isl.UnionMap, ...] | None:
    """Return how a broadcast goes on from its source to the last term of a sum, None if it does not."""
    (last,) = maps_of(path.levels[-1])
    front: list[tuple[isl.Map, tuple[isl.UnionMap, ...]]] = [(last, ())]
    for _ in range(LONGEST_LAYER_PATH):
        following = []
        for function, tail in front:
            name = function.get_tuple_name(isl.dim_type.out)
            if name == sums.statement:
                return tail
            for item in affine_steps(flow, name) if name in flow.program.by_name else ():
                step()
                composed = function.apply_range(item.function).coalesce()
                known = None if composed.is_empty() else affine_piece(composed)
                if known is not None and kernel(known[0], len(path.kernel[0])) == path.kernel:
                    following.append((composed, (*tail, isl.UnionMap.from_map(composed))))
        front = following[:MOST_PATH_SETS]
    return None


def _argument(
    part: Part, exponents: tuple[Fraction, ...], family: int, tail: tuple[isl.UnionMap, ...], sums: Sums
) -> FinishedSums | None:
    """Return the argument, None where a vertex is of two classes or families share vertices."""
    step()
    points = as_union(part.domain)
    tail = tuple(item.intersect_domain(points) for item in tail)
    ends = [*part.all_levels[family], *tail][-1]
    if not ends.domain().is_equal(points) or not ends.range().is_subset(sums.last):
        return None
    rows = kernel(part.paths[family].kernel, len(part.order)) if part.paths[family].kernel else unit(len(part.order))
    classes = part.embedding(rows)
    terms = ends.apply_range(sums.same)
    every = union_of_maps([*part.levels[family], *tail, terms, terms.apply_range(sums.own)])
    if not every.reverse().apply_range(classes).is_single_valued():
        return None
    others = [at for at in range(len(part.paths)) if at != family]
    rest = replace(part, paths=tuple(part.paths[at] for at in others))
    vertices = [*rest.vertices, every.range(), *sums.part.vertices]
    if _meet([*vertices, part.own_vertices]):
        return None
    sources, _ = sources_and_spill((sums.part,), sums.part.vertices)
    more, spill = sources_and_spill((rest,), vertices) if others else (isl.UnionSet("{ }"), united(vertices))
    return FinishedSums(part, exponents, family, tail, sums, more, sources, spill.union(part.own_vertices).coalesce())


# -- numbers


def sub_bound(item: FinishedSums, flow: DataFlow, sizes: Mapping[str, int]) -> SubBound:
    """Return the argument with its numbers as formulas, with the events of a segment that suit ``sizes``."""
    context = flow.program.context
    size = count_formula(card(item.part.domain, context))
    sources = sympy.Add(*(most_formula(found, context) for found in sets_of(item.sources)))
    places = only(item.sums.part.domain, item.sums.positions).gist_params(item.sums.part.domain.params())
    L = sympy.Max(1, count_formula(card(places, context)))
    points, known, length = (number_at(value, sizes) for value in (size, sources, L))
    T = best_events(lambda events: _worth(item, events, sizes["S"], (points, known, length)), sizes["S"])
    K = S + T
    U = sympy.Max(*_most(item, K, L), evaluate=False)
    value = least_events(size / U, sympy.Integer(T)) - sources
    return SubBound(
        "K-partition with finished sums",
        tuple(dict.fromkeys((item.part.statement, item.sums.statement))),
        set_text(item.part.domain, flow.program),
        value,
        item.spill,
        set_text(item.spill, flow.program),
        {"|D|": size, "L": L, "K": K, "T": sympy.Integer(T), "U": U, "sources": sources},
        _steps(item, flow, (T, U, L)),
        (SEGMENTS, CUTS, *([OWN_VERTICES] if item.part.own else []), FINISHED_SUMS, BRASCAMP_LIEB),
        certificate=sums_certificate(
            item, {"events": T, "length": L, "instances_count": size, "sources_count": sources, "most_instances": U}
        ),
    )


def sums_certificate(item: FinishedSums, numbers: Mapping[str, object]) -> dict[str, object]:
    """Return the argument as data that a checker of its own verifies."""
    others = [at for at in range(len(item.part.paths)) if at != item.family]
    nothing = isl.UnionSet("{ }")
    ending = [*item.part.all_levels[item.family], *item.tail]
    read = [item.part.all_levels[at] for at in others]
    terms = item.sums.part
    return {
        "kind": "finished sums",
        "statements": [item.part.statement, item.sums.statement],
        "reading": _families(item.part, others, read, item.read) if others else None,
        "ending": _families(item.part, [item.family], [ending], nothing),
        "terms": _families(terms, range(len(terms.paths)), terms.all_levels, item.factors),
        "before": str(item.sums.before),
        "positions": list(item.sums.positions),
        "exponents": [str(item.exponents[at]) for at in (item.family, *others)],
        "term_exponents": [str(value) for value in item.sums.exponents.s],
        "sources": str(item.sources),
        **{name: str(value) for name, value in numbers.items()},
    }


def _families(
    part: Part, chosen: Sequence[int], levels: Sequence[Sequence[isl.UnionMap]], sources: isl.UnionSet
) -> dict[str, object]:
    """Return some families of paths as a certificate holds them."""
    return {
        "statement": part.statement,
        "domain": str(part.domain),
        "order": list(part.order),
        "own": sorted(part.own),
        "families": [[str(level) for level in item] for item in levels],
        "chains": [part.paths[at].is_chain for at in chosen],
        "kernels": [[list(row) for row in span(part.paths[at].kernel)] for at in chosen],
        "sources": str(sources),
    }


def _most(item: FinishedSums, K: Any, L: Any, number: Callable[[Fraction], Any] = rational) -> tuple[Any, Any]:
    """Return the most instances of one segment, without finished sums and with nothing else, as a ``number``."""
    s, own = [number(value) for value in item.exponents], number(item.exponents[item.family])
    within = item.sums.exponents
    slices = number(within.sigma)
    c = math.prod(number(value) ** number(value) for value in within.s) / slices**slices
    sigma, more = number(sum(item.exponents, Fraction(0))), slices * own
    others = sigma - own
    product = math.prod(value**value for at, value in enumerate(s) if at != item.family)
    beside = K if item.part.own else 0
    plain = (K / sigma) ** sigma * product * own**own + beside
    finished = product * c**own * more**more / L**more * (K / (others + more)) ** (others + more) + beside
    return plain, finished


def _worth(item: FinishedSums, events: int, capacity: int, numbers: tuple[float, float, float]) -> float:
    points, sources, length = numbers
    return events_at(points / max(_most(item, capacity + events, length, float)), events, capacity) - sources


def _steps(item: FinishedSums, flow: DataFlow, numbers: tuple[int, sympy.Expr, sympy.Expr]) -> tuple[str, ...]:
    """Return what was checked and concluded."""
    T, U, L = numbers
    program = flow.program
    terms, iterators = item.sums.part, program.by_name[item.sums.statement].iterators
    along = ", ".join(iterators[at] for at in item.sums.positions)
    read = " and ".join(f"psi{at} by {' <- '.join(path.references)}" for at, path in enumerate(terms.paths))
    lines = [f"D: {set_text(item.part.domain, program)}"]
    for at, path in enumerate(item.part.paths):
        if at != item.family:
            vertices = set_text(item.part.vertices[at], program)
            lines.append(f"phi{at}: {path.text()}, s{at} = {item.exponents[at]}; vertices {vertices}")
    levels = [*item.part.all_levels[item.family], *item.tail]
    needed = "; then ".join(set_text(level, program) for level in levels)
    number, own = item.family, item.exponents[item.family]
    if item.part.own:
        lines.append(f"Own vertices: {set_text(item.part.own_vertices, program)}; they let K more instances be in P.")
    lines += [
        f"phi{number}, s{number} = {own}: every p of D needs the last term of a sum of {item.sums.statement}: {needed}",
        f"Sums: {set_text(item.sums.part.domain, program)}, L = {L} terms along {along}, each an operand of the next.",
        f"Terms read {read}, which differ for terms of different {along}.",
        *([f"Own vertices of terms: {set_text(terms.own_vertices, program)}"] if terms.own else []),
        f"Exponents t of these, for one position: {', '.join(map(str, item.sums.exponents.s))}",
        f"Disjoint, each on paths of one class only: vertices of phi{number} with all terms, of the others, of psi.",
        f"sources: {set_text(item.sources, program)}",
        f"Lemma (finished sums): |P| <= U = {U}, K = S + T; any T will do; chosen: T = {T}.",
        f"Lemma (segments): value = {value_text('|D|', 'U', sympy.Integer(T))} - sources.",
    ]
    return tuple(lines)
