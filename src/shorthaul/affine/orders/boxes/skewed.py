"""Loops upwards, and skewed: a multiple of outer ones is added to a loop along which dependences lead back, to cut it.

In a band matrix stored by its diagonals, a step of a factorisation writes ``A[k + i][j - i]``: the element that (k, i,
j) overwrites was written by (k - 1, i + 1, j + 1). In the coordinates (k, i + k, j + k) it stays where it is, and all
three may be cut. So may time and place of a sweep over points that read both neighbours, whatever inputs it reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product

import islpy as isl

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.points import at_sizes
from shorthaul.affine.integer_sets.subspaces import integer_solution
from shorthaul.affine.orders.placement import Placement, Read, Row, placement_map
from shorthaul.affine.orders.turns import least_delays, reachable
from shorthaul.affine.tuning import LARGEST_SKEW, LARGEST_SKEW_ALONE, STEPS_PER_SIGN

#: The distances between what is computed and what reads it, by both statements.
_Distances = Mapping[tuple[str, str], list[isl.Set]]


def skewed(flow: DataFlow, placement: Placement, sizes: Mapping[str, int]) -> Placement | None:
    """Return a placement with multiples of coordinates in front added to others, so that none leads back at ``sizes``.

    Every statement may be late along a coordinate. What cannot be mended stays; None where nothing is.

    >>> from shorthaul.affine.frontend.scop import program_from_text
    >>> from shorthaul.affine.integer_sets.dependences import flow_dependences
    >>> text = "for (int t = 1; t < T; t++) for (int i = 1; i < N; i++) x[t][i] = x[t - 1][i] + x[t - 1][i + 1];"
    >>> flow = flow_dependences(program_from_text(f"void f(int T, int N, double x[T][N + 1]) {{ {text} }}"))
    >>> rows = {"S0": (Row((1, 0)), Row((0, 1)))}
    >>> [row.factors for row in skewed(flow, rows, {"T": 9, "N": 9})["S0"]]
    [(1, 0), (1, 1)]
    """
    width = len(next(iter(placement.values())))
    rows: dict[str, list[Row]] = {name: [] for name in placement}
    changed = False
    for at in range(width):
        found = _mended(flow, placement, rows, at, sizes)
        changed = changed or found is not None
        for name, row in (found or {name: item[at] for name, item in placement.items()}).items():
            rows[name].append(row)
    return {name: tuple(item) for name, item in rows.items()} if changed else None


def _mended(
    flow: DataFlow, placement: Placement, front: Mapping[str, list[Row]], at: int, sizes: Mapping[str, int]
) -> dict[str, Row] | None:
    """Return a coordinate along which nothing leads back, with multiples of those in ``front``; None if as it was."""
    rows = {name: (*front[name], item[at]) for name, item in placement.items()}
    distances = _distances(flow, rows, sizes)
    names = list(placement)
    pairs = sorted(distances, key=lambda both: both[0] != both[1])
    for factors in _multiples(at):
        least = _least(distances, pairs, (*factors, 1))
        if least is None:
            continue
        found = least_delays(len(names), {(names.index(a), names.index(b)): item for (a, b), item in least.items()})
        if found is None:
            continue
        if not any(found) and not any(factors):
            return None
        result = {}
        for name, late in zip(names, found, strict=True):
            row = rows[name][-1]
            for factor, other in zip(factors, front[name], strict=True):
                row = row.plus(other, factor)
            result[name] = replace(row, constant=row.constant + late)
        return result
    return None


def late_in_steps(flow: DataFlow, placement: Placement, sizes: Mapping[str, int]) -> Placement:
    """Return a placement with statements late along all loops but the first, so that within a step none leads back.

    Loops along which some would have to wait for themselves stay as they are.
    """
    names, rows = list(placement), {name: list(own) for name, own in placement.items()}
    width = len(rows[names[0]])
    within = isl.Set(f"{{ [{', '.join(['0', *(f'd{at}' for at in range(1, width))])}] }}")
    distances: dict[tuple[str, str], list[isl.Set]] = {}
    for (source, sink), found in _distances(flow, placement, sizes).items():
        here = [inside for item in found if not (inside := item.intersect(within)).is_empty()]
        if here and source != sink:
            distances[source, sink] = here
    for at in range(1, width):
        least = _least(distances, list(distances), tuple(int(other == at) for other in range(width)))
        between = {(names.index(a), names.index(b)): item for (a, b), item in (least or {}).items()}
        for name, late in zip(names, least_delays(len(names), between) or [0] * len(names), strict=True):
            rows[name][at] = replace(rows[name][at], constant=rows[name][at].constant + late)
    return {name: tuple(own) for name, own in rows.items()}


def _multiples(count: int) -> Iterator[tuple[int, ...]]:
    """Yield factors of ``count`` coordinates, small ones first: of several, and larger ones of one alone."""
    most = range(-LARGEST_SKEW, LARGEST_SKEW + 1)
    yield from sorted(product(most, repeat=count), key=lambda item: (sum(map(abs, item)), [-value for value in item]))
    for factor, at in product(range(LARGEST_SKEW + 1, LARGEST_SKEW_ALONE + 1), range(count)):
        yield (*(0,) * at, factor, *(0,) * (count - at - 1))


def _distances(flow: DataFlow, rows: Placement, sizes: Mapping[str, int]) -> _Distances:
    program = flow.program
    pairs = [
        (item.source, item.sink, item.relation) for item in flow.flows if item.source in rows and item.sink in rows
    ]
    result: dict[tuple[str, str], list[isl.Set]] = {}
    for source, sink, relation in pairs:
        effort.step(STEPS_PER_SIGN)
        ends = [
            placement_map(name, len(program.by_name[name].iterators), tuple(rows[name]), program.parameters)
            for name in (source or "", sink)
        ]
        found = at_sizes(relation.apply_domain(ends[0]).apply_range(ends[1]).deltas(), sizes)
        if not found.is_empty():
            result.setdefault((source or "", sink), []).append(found)
    return result


def _least(
    distances: _Distances, pairs: list[tuple[str, str]], factors: tuple[int, ...]
) -> dict[tuple[str, str], int] | None:
    """Return the least of a sum of coordinates by pair of statements; None where one has none, or no delays mend it.

    ``pairs`` are looked at one after the other; the one that ends this is the first of the next time.
    """
    names = [f"d{at}" for at in range(len(factors))]
    text = f"{{ [{', '.join(names)}] -> [{Row(factors).text(names)}] }}"
    along = isl.Map(text)
    result: dict[tuple[str, str], int] = {}
    for number, both in enumerate(pairs):
        effort.step(STEPS_PER_SIGN)
        ends = [item.apply(along).dim_min_val(0) for item in distances[both]]
        if all(end.is_int() for end in ends):
            result[both] = min(end.to_python() for end in ends)
            if result[both] + result.get(both[::-1], 0) >= 0 or both[::-1] not in result:
                continue  # what leads back to itself, or there and back, is late for good
        pairs.insert(0, pairs.pop(number))
        return None
    return result


def aligned(flow: DataFlow, placement: Placement, sizes: Mapping[str, int]) -> Placement:
    """Return a placement in which what counts its first loop the other way round begins at the same step.

    So a pass forwards and one backwards read the same inputs together, if neither needs the other.
    """
    names = list(placement)
    after: dict[str, set[str]] = {name: set() for name in names}
    for item in flow.flows:
        if item.source in after and item.sink in after:
            after[item.source or ""].add(item.sink)
            after[item.sink].add(item.source or "")
    first = reachable(after, names[0])
    result, known = dict(placement), {*first}
    for name in names:
        if name in known:
            continue
        others = reachable(after, name)
        known |= others
        if _directions(placement, first).isdisjoint(_directions(placement, others)):
            late = _begin(flow, placement, first, sizes) - _begin(flow, placement, others, sizes)
            for other in others:
                row, *inner = placement[other]
                result[other] = (replace(row, constant=row.constant + late), *inner)
    return result


def _directions(placement: Placement, names: Iterable[str]) -> set[bool]:
    """Return whether first loops go down."""
    return {next((factor for factor in placement[name][0].factors if factor), 1) < 0 for name in names}


def _begin(flow: DataFlow, placement: Placement, names: Iterable[str], sizes: Mapping[str, int]) -> int:
    """Return the first step of statements."""
    program, found = flow.program, []
    for name in names:
        domain = program.by_name[name].domain
        row = placement_map(name, domain.dim(isl.dim_type.set), placement[name][:1], program.parameters)
        steps = at_sizes(domain.apply(row), sizes)
        if not steps.is_empty():
            found.append(steps.dim_min_val(0).to_python())
    return min(found, default=0)


def in_windows(placement: Placement, reads: Iterable[Read]) -> tuple[Placement, frozenset[int]] | None:
    """Return a placement with what is read in windows in the middle of these, and their loops; None if it is so.

    A statement without the loops of a filter stands at one place of them. Where boxes are not cut along these, it may
    be any: that at which its cells are those that are read there. Of a row that is read whole, as by the matrix of a
    recurrence, every element stands where it is read; boxes are not cut along the row then either.
    """
    result, moved = dict(placement), set[int]()
    for read in reads:
        source, value = read.source, read.rows
        if source is None or source == read.sink or value is None or result.get(source) is not placement.get(source):
            continue
        own, user = placement.get(source, ()), placement[read.sink]
        kept = [at for at, row in enumerate(own) if any(row.factors)]
        known = (*value, *(user[at] for at in kept))
        for at in {*range(len(own))}.difference(kept):
            factors = integer_solution(tuple(row.factors for row in known), user[at].factors)
            if factors is None or not any(user[at].factors):
                continue
            left = user[at].plus(Row(factors).after(known), -1)
            same = [Row(tuple(int(at == k) for k in range(len(value)))) for at in range(len(value))]
            place = Row(factors, left.parameters, left.constant).after((*same, *(own[at] for at in kept)))
            if place != own[at]:
                result[source] = (*result[source][:at], place, *result[source][at + 1 :])
                told = [k for k in kept if any(a and b for a, b in zip(own[k].factors, place.factors, strict=True))]
                moved |= {at, *told}
    return (result, frozenset(moved)) if moved else None


def undirected(placement: Placement) -> Placement:
    """Return a placement with all loops upwards and in step: what is accessed on both ways is one group then."""
    return {name: tuple(_upwards(row) for row in rows) for name, rows in placement.items()}


def _upwards(row: Row) -> Row:
    down = next((factor for factor in row.factors if factor), 1) < 0
    return Row(tuple(-factor for factor in row.factors) if down else row.factors, (), 0)
