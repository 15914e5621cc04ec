"""Sources that are the last values of lines, as the columns of a factorisation: they need no event where they are made.

A source that a segment computes has no cut on the path that ends there. It counts as an event as a rule, one for every
source, half of them all that an order of LDL^T loads at sizes of some dozen tiles. But a segment that computes the last
value of a line has computed instances of that line, which has a cut already, and the line is no more there in the
slices in which this value is read. So a segment that ends many lines has fewer of them: it computes at most G + gamma q
w instances if it ends w of them (lemma on the ends of lines, in ``proofs/line_ends``), for any price q.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl
import sympy

from shorthaul.affine.bounds.partition.k_partition import LineEnds, Partition
from shorthaul.affine.bounds.partition.partition_steps import facts_of, partition_certificate, projections_of
from shorthaul.affine.bounds.partition.parts import sets_of, union_of, union_of_maps, vertices_of
from shorthaul.affine.integer_sets.counting import card, count_formula, most_formula
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.integer_sets.subspaces import Subspace, kernel, span
from shorthaul.affine.proofs.lemmas import CUTS, LINE_ENDS, SEGMENTS
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.proofs.segments import events_at, least_events, value_text


@dataclass(frozen=True, slots=True)
class _Form:
    """The families of an argument as the lemma has them; ``together`` are the directions inside of a slice."""

    chain: int
    broadcasts: tuple[int, ...]
    groups: int
    together: Subspace


def _form(item: Partition) -> _Form | None:
    """Return the families by their places in the lemma, None where it is about others."""
    plain = item.moved is None and not item.has_own and not item.far and not item.has_windows
    if not plain or set(item.folds) != {1}:
        return None
    if item.symmetry is not None:
        chain, pairs = item.symmetry.chain, item.symmetry.pairs
        broadcasts, groups = tuple(at for pair in pairs for at in pair), len(pairs)
    else:
        chains = [at for at, path in enumerate(item.parts[0].paths) if path.is_chain]
        mixed = any(path.is_chain != (at in chains) for part in item.parts for at, path in enumerate(part.paths))
        if mixed or len(chains) != 1 or item.cliques != ((0, 1, 2),):
            return None
        (chain,), groups = chains, 0
        broadcasts = tuple(at for at in range(3) if at != chain)
    one, other = (item.kernels[at] for at in broadcasts[:2])
    together = span([*one, *other])
    apart = len(together) == len(one) + len(other)
    injective = len(span([*together, *item.kernels[chain]])) == len(together) + len(item.kernels[chain])
    if apart and injective and len(together) < item.dimensions:
        return _Form(chain, broadcasts, groups, together)
    return None


def with_line_ends(item: Partition, flow: DataFlow) -> Partition:
    """Return the argument with the relation of its sources to the ends of lines, if it has any.

    Lines lead through the slices in the order of steps or, where sums begin with what was computed last, against it.
    """
    form = _form(item)
    if form is None:
        return item
    rows = kernel(form.together, item.dimensions)
    for slices in (rows, tuple(tuple(-value for value in row) for row in rows)):
        ends = _ends(item, form, flow, slices)
        if not ends.is_empty():
            return replace(item, ends=LineEnds(ends, slices))
    return item


def _ends(item: Partition, form: _Form, flow: DataFlow, rows: Subspace) -> isl.UnionMap:
    """Return the sources with the ends of lines, for slices in the order of the values of ``rows``."""
    own = union_of(part.domain for part in item.parts)
    vertices = [vertices_of(item.parts, at) for at in range(len(item.kernels))]
    lines, slices = _placed(item, kernel(item.kernels[form.chain], item.dimensions)), _placed(item, rows)
    before = isl.Map.lex_gt(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, len(rows)))
    earlier = slices.apply_range(isl.UnionMap.from_map(before)).apply_range(slices.reverse())
    ends = union_of_maps([])
    for found in _reads_of_ends(item, flow, own):
        more = found.subtract_domain(vertices[form.chain].union(ends.domain()))
        for known in vertices:
            more = more.subtract(more.intersect_range(known).subtract(own.identity()))
        for part, family in itertools.product(item.parts, form.broadcasts):
            users = part.levels[family][-1].intersect_range(more.domain())
            met = users.apply_range(more).apply_range(lines).apply_range(lines.reverse()).subtract(earlier)
            more = more.subtract_domain(users.intersect_domain(met.domain()).range())
        together = ends.union(more)
        if together.is_single_valued() and together.apply_range(lines).is_injective():
            ends = together.coalesce()
    return ends


def _reads_of_ends(item: Partition, flow: DataFlow, own: isl.UnionSet) -> Iterator[isl.UnionMap]:
    """Yield relations of computed sources to instances of D that they are or read."""
    computed = item.sources.intersect(item.spill)
    yield computed.intersect(own).identity()
    others = computed.subtract(own)
    statements, names = {part.statement for part in item.parts}, {one.get_tuple_name() for one in sets_of(others)}
    for one in flow.flows:
        if one.source in statements and one.sink in names:
            yield isl.UnionMap.from_map(one.relation.reverse()).intersect_domain(others).intersect_range(own)


def _placed(item: Partition, rows: Sequence[Sequence[int]]) -> isl.UnionMap:
    return union_of_maps(part.embedding(rows) for part in item.parts)


def most_beside_ends(K: sympy.Expr, groups: int, q: int) -> tuple[sympy.Expr, sympy.Expr]:
    """Return G and gamma of the lemma.

    >>> G, gamma = most_beside_ends(sympy.Integer(12), 0, 2)
    >>> G, gamma
    (8, 1/2)
    """
    gamma = 1 / (groups * sympy.sqrt(2)) if groups else sympy.Rational(1, 2)
    R = sympy.sqrt(K + q**2) - q
    return gamma * (2 * R**3 / 3 + q * R**2 + sympy.Rational(q**3, 3)), gamma


def _value(numbers: Sequence[float], groups: int, capacity: int, events: int, q: float) -> float:
    """Return the value at numbers of instances, ends and other sources, in plain floats."""
    size, ended, sources = numbers
    gamma = 1 / (groups * 2**0.5) if groups else 0.5
    R = (capacity + events + q * q) ** 0.5 - q
    G = gamma * (2 * R**3 / 3 + q * R**2 + q**3 / 3)
    return events_at((size - gamma * q * ended) / G, events, capacity) - sources


def best_beside_ends(argument: Partition, flow: DataFlow, sizes: Mapping[str, int], least: float) -> SubBound | None:
    """Return the argument with the events of a segment and the price that are best at ``sizes``.

    None where it is worth ``least`` or less.
    """
    form = _form(argument)
    if argument.ends is None or form is None:
        return None
    context = flow.program.context
    known = argument.ends.relation.domain()
    others = argument.sources.subtract(known).coalesce()
    size = sympy.Add(*(count_formula(card(part.domain, context)) for part in argument.parts))
    ended, sources = (sympy.Add(*(most_formula(one, context) for one in sets_of(points))) for points in (known, others))
    numbers = [number_at(one, sizes) for one in (size, ended, sources)]
    capacity = sizes["S"]

    def worth(chosen: tuple[int, int]) -> float:
        return _value(numbers, form.groups, capacity, *chosen)

    coarse = [max(1, round(capacity * 2 ** (at / 2))) for at in range(-16, 9)]
    prices = [(T, round(((capacity + T) / 3) ** 0.5 * at / 16)) for T in coarse for at in range(17)]
    T, q = max(prices, key=worth)
    near = [
        (max(1, round(T * (1 + at / 50))), round(q * (1 + by / 20))) for at in range(-20, 21) for by in range(-4, 5)
    ]
    chosen = max([(T, q), *near], key=worth)
    if worth(chosen) <= least:
        return None
    return _sub_bound(replace(argument, sources=others), form, flow, (size, ended, sources), chosen)


def _sub_bound(
    argument: Partition,
    form: _Form,
    flow: DataFlow,
    numbers: tuple[sympy.Expr, sympy.Expr, sympy.Expr],
    chosen: tuple[int, int],
) -> SubBound:
    size, ended, sources = numbers
    events, q = chosen
    T = sympy.Integer(events)
    K = S + T
    G, gamma = most_beside_ends(K, form.groups, q)
    weight = size - gamma * q * ended
    value = least_events(weight / G, T) - sources
    facts = {"|D|": size, "K": K, "T": T, "q": sympy.Integer(q), "W": ended, "weight of D": weight, "U": G}
    assert argument.ends is not None
    steps = (
        *facts_of(argument, flow),
        f"Slices: instances that differ by vectors spanned by {', '.join(map(str, form.together))}.",
        (
            f"E, W = {ended} sources that are the ends of lines, or read these: "
            f"{set_text(argument.ends.relation.domain(), flow.program)}; y(x): "
            f"{set_text(argument.ends.relation, flow.program)}. The "
            "line of y(x) has no instance in the slice in which x is read and in later ones, and these lines differ."
        ),
        (
            f"Lemma (ends of lines), gamma = {gamma}, q = {q}: |P| <= U + gamma q w for w ends in a segment, U = G "
            f"= {G}. So D weighs |D| - gamma q W. Any T and q will do."
        ),
        f"Lemma (segments), by weight: value = {value_text('weight of D', 'U', T)} - sources.",
    )
    certificate = partition_certificate(argument, {**facts, "sources": sources})
    return SubBound(
        "K-partition, ends of lines",
        tuple(part.statement for part in argument.parts),
        "; ".join(set_text(part.domain, flow.program) for part in argument.parts),
        value,
        argument.with_ends,
        set_text(argument.with_ends, flow.program),
        {**facts, "sources": sources},
        steps,
        (SEGMENTS, CUTS, LINE_ENDS),
        tuple(replace(found, exponent=None, weight=None) for found in projections_of(argument, flow)),
        certificate={
            **certificate,
            "ends": {
                "relation": str(argument.ends.relation),
                "slices": [list(row) for row in argument.ends.slices],
                "price": q,
                "count": str(ended),
            },
        },
    )
