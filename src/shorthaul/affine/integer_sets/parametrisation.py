"""Loop parametrisation: a bound for one iteration of outer loops, summed over all of them (Olivry et al. 2020, 4.3).

The indices of an event are made parameters x0, x1, ... (Omega in the paper). An argument then gives a polynomial bound
Q(Omega) for one event; here that is always a number n(Omega) of vertices that wait, less S - 1. Where the may-spill
sets of different Omega are disjoint (checked on the relation from events to vertices), or their loads fall into
disjoint intervals of time, the bounds add up: the sum of Q(Omega) over the events is a polynomial again (Faulhaber),
and it may be restricted to the Omega where Q is positive if n is affine.

Wavefronts, intervals, crossings, phases and layers are parametrised in this way. K-partitions are not, as that gains
nothing: let all paths stay in their slice, so that every kernel lies in the directions L of the inner loops. If
exponents s fit the slice and sum s >= 1, they fit the whole: for a subspace H of rank r whose part in L has rank r',
the images have rank(phi(H)) = rank(phi(H in L)) + r - r', so sum s rank(phi(H)) >= r' + (r - r') sum s >= r. The whole
has the same exponents and the same U then, and one rounding instead of one per slice.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from shorthaul.affine.integer_sets.counting import Cardinality, card, total
from shorthaul.affine.integer_sets.dependences import DataFlow, maps_of
from shorthaul.affine.integer_sets.quasi_polynomial import Polynomial

_PARAM, _SET, _IN = isl.dim_type.param, isl.dim_type.set, isl.dim_type.in_


def alive_per_event(flow: DataFlow, alive: isl.UnionMap) -> list[tuple[isl.Set, Polynomial]]:
    """Return disjoint sets of events (and parameters) and how many vertices are alive there; dimensions x0, x1, ..."""
    result: list[tuple[isl.Set, Polynomial]] = []
    for item in sorted(maps_of(alive), key=str):
        width = item.dim(_IN)
        start = item.dim(_PARAM)
        space = item.get_tuple_name(_IN)
        moved = item.move_dims(_PARAM, start, _IN, 0, width)
        for at in range(width):
            moved = moved.set_dim_name(_PARAM, start + at, f"x{at}")
        counts = card(moved.range(), flow.program.context)
        rest: list[tuple[isl.Set, Polynomial]] = []
        for piece in counts.pieces:
            where = _events(piece.where, width, space)
            for known, value in result:
                both = known.intersect(where)
                if not both.is_empty():
                    rest.append((both, value.plus(piece.value)))
            for known, _ in result:
                where = where.subtract(known)
            if not where.is_empty():
                rest.append((where, piece.value))
        for known, value in result:
            alone = known
            for piece in counts.pieces:
                alone = alone.subtract(_events(piece.where, width, space))
            if not alone.is_empty():
                rest.append((alone, value))
        result = rest
    return [(where.coalesce(), value) for where, value in result]


def _events(where: isl.Set, width: int, name: str) -> isl.Set:
    points = isl.Set.from_params(where.params())
    for at in range(width):
        position = points.find_dim_by_name(_PARAM, f"x{at}")
        moved = position >= 0
        points = points.move_dims(_SET, at, _PARAM, position, 1) if moved else points.insert_dims(_SET, at, 1)
    return points.set_tuple_name(name)


def sum_over_events(flow: DataFlow, event: str, where: isl.Set, count: Polynomial) -> Cardinality:
    """Return the sum over the events of count - (S - 1), over those where it is positive if the count is affine."""
    points = where.intersect(_named(flow.program.by_name[event].domain))
    return positive_sum(points, count, flow.program.context)


def positive_sum(points: isl.Set, count: Polynomial, context: isl.Set) -> Cardinality:
    """Return the sum over the points of count - (S - 1), over those where it is positive if the count is affine."""
    weight = count.plus(Polynomial.number(1)).plus(Polynomial.variable("S").scaled(-1))
    positive = _at_least(points, count)
    return total(points if positive is None else points.intersect(positive), weight, context)


def _named(domain: isl.Set) -> isl.Set:
    for at in range(domain.dim(_SET)):
        domain = domain.set_dim_name(_SET, at, f"x{at}")
    return domain


def _at_least(points: isl.Set, count: Polynomial) -> isl.Set | None:
    """Return the events with a count of S or more, or None if the count is not affine (floors are)."""
    text = count.affine_text()
    if text is None:
        return None
    names = [points.get_dim_name(_PARAM, at) for at in range(points.dim(_PARAM))]
    dimensions = ", ".join(f"x{at}" for at in range(points.dim(_SET)))
    scaled, factor = text
    whole = f"{{ {points.get_tuple_name()}[{dimensions}] : {scaled} >= {factor}*S }}"
    return isl.Set.read_from_str(isl.DEFAULT_CONTEXT, f"[{', '.join(dict.fromkeys([*names, 'S']))}] -> {whole}")


def disjoint_part(alive: Sequence[isl.UnionMap]) -> isl.UnionMap | None:
    """Return the union of the relations event -> vertex, or the part of it in which different events share no vertex.

    Where the union does not have that, its maps are taken one by one, and those kept that share no vertex by themselves
    nor with one kept before.
    """
    whole = isl.UnionMap.read_from_str(isl.DEFAULT_CONTEXT, "{ }")
    for item in alive:
        whole = whole.union(item)
    if whole.is_empty():
        return None
    if whole.reverse().is_single_valued():
        return whole.coalesce()
    result = isl.UnionMap.read_from_str(isl.DEFAULT_CONTEXT, "{ }")
    for found in sorted((found.coalesce() for item in alive for found in maps_of(item)), key=str):
        more = result.union(isl.UnionMap.from_map(found))
        if more.reverse().is_single_valued():
            result = more.coalesce()
    return None if result.is_empty() else result
