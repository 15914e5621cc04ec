"""Names by quotient and remainder: what a subscript with a stride shares is seen by every projection.

In I[s h + r] an element is read by several (h, r). Let r = s r' + r'' with 0 <= r'' < s, and name element a by
a = s a' + a'' likewise. Then the element read is (a', a'') = (h + r', r''): the remainder r'' is a coordinate of its
own, of which elements of I know the value, and only r' is joined with h. Names are one to one, so the graph is the
same and every argument on it holds for the program (``Lemma (places)``). What is gained: where r takes R values, those
of r' are ceil(R / s), and for a convolution with strides, or a transposed one, of R x Q places

    |P| <= (|O| |I| |F| R' Q')^(1/2),    R' = ceil(R / s), Q' = ceil(Q / s),    in place of R Q.

A coordinate is split where a subscript has it with the factor 1 or -1 and all others with multiples of s, and where it
takes few values whatever the sizes. All vertices of that array have such names: inputs, and instances that write it at
a coordinate of theirs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

import islpy as isl

from shorthaul.affine.bounds.names import place_of, subscripts, with_places
from shorthaul.affine.bounds.partition.brascamp_lieb import few_values
from shorthaul.affine.effort import step
from shorthaul.affine.integer_sets.dependences import DataFlow, Flow
from shorthaul.affine.model import Statement

_IN, _SET = isl.dim_type.in_, isl.dim_type.set

Row = tuple[int, ...]
#: By array and subscript a the stride, and (e, b): what is divided by it is e a - b.
Strides = dict[tuple[str, int], tuple[int, int, int]]


def by_remainders(flow: DataFlow) -> tuple[DataFlow, dict[str, isl.Map]] | None:
    """Return the graph named by quotients and remainders, and these names; None where no subscript has a stride."""
    program = flow.program
    strides = _strides(program.statements)
    reads = {(item.name, read.tag) for item in program.statements for read in item.reads}
    if not strides or any((item.sink, item.reference.tag) not in reads for item in flow.flows):
        return None  # sums in any order have reads that no statement has
    places = {item.name: _in_parts(item.domain, _split(item, strides)) for item in program.statements}
    for array, points in flow.inputs.items():
        space = isl.LocalSpace.from_space(points.get_space())
        split = {
            at: (_divided(isl.Aff.var_on_domain(space, _SET, at), strides[array, at]), strides[array, at][0])
            for at in range(points.dim(_SET))
            if (array, at) in strides
        }
        places[array] = _in_parts(points, split)
    made = {item.name: _named(item, places[item.name]) for item in program.statements}
    flows = []
    for item in flow.flows:
        step()
        sink = made[item.sink]
        reference = next(read for read in sink.reads if read.tag == item.reference.tag)
        before = places[item.reference.array if item.source is None else item.source]
        relation = item.relation.apply_range(places[item.sink]).apply_domain(before)
        flows.append(Flow(item.source, item.sink, reference, _with_equalities(relation)))
    inputs = {array: points.apply(places[array]).coalesce() for array, points in flow.inputs.items()}
    return DataFlow(replace(program, statements=tuple(made.values())), tuple(flows), inputs), places


def _strides(statements: Sequence[Statement]) -> Strides:
    """Return the subscripts that are named in parts: those with a stride, and what has a coordinate of theirs."""
    strides: Strides = {}
    for item in statements:
        for key, row, _ in _subscripts(item):
            found = _stride(row)
            if found is not None and few_values(item.domain, (), {}, (found[0],)) is not None:
                strides.setdefault(key, (found[1], 1, 0))
    known = 0
    while known < len(strides):
        known = len(strides)
        for item in statements:
            split = _split(item, strides)
            for key, row, form in _subscripts(item):
                step()
                for own, (other, stride) in split.items():
                    if _alone(row, stride) == own:
                        sign = row[own] * other.get_coefficient_val(_IN, own).to_python()
                        first = form.scale_val(isl.Val(sign)).sub(other).get_constant_val().to_python()
                        strides.setdefault(key, (stride, sign, first))
    return strides


def _subscripts(statement: Statement) -> Iterator[tuple[tuple[str, int], Row, isl.Aff]]:
    """Yield the subscripts of a statement: array and which one it is, its coefficients, and itself."""
    for access in (statement.write, *statement.reads):
        for at, row, form in subscripts(access):
            yield (access.array, at), row, form


def _stride(row: Row) -> tuple[int, int] | None:
    """Return the coordinate with the factor 1 or -1, and the divisor of all other factors; None if it is 1 or 0."""
    at = next((at for at, value in enumerate(row) if abs(value) == 1), None)
    if at is None:
        return None
    stride = math.gcd(*row[:at], *row[at + 1 :])
    return (at, stride) if stride > 1 else None


def _alone(row: Row, stride: int) -> int | None:
    """Return the coordinate with the factor 1 or -1 where all other factors are multiples of the stride."""
    own = [at for at, value in enumerate(row) if value % stride]
    return own[0] if len(own) == 1 and abs(row[own[0]]) == 1 else None


def _split(statement: Statement, strides: Strides) -> dict[int, tuple[isl.Aff, int]]:
    """Return by coordinate what of the statement is divided by which stride."""
    split: dict[int, tuple[isl.Aff, int]] = {}
    for key, row, form in _subscripts(statement):
        found = strides.get(key, (1, 1, 0))
        own = _alone(row, found[0])
        if own is not None:
            for k, value in enumerate(row):
                if k != own:
                    form = form.add_coefficient_val(_IN, k, isl.Val(-value))
            split.setdefault(own, (_divided(form, found), found[0]))
    return split


def _divided(form: isl.Aff, by: tuple[int, int, int]) -> isl.Aff:
    """Return what of a subscript is divided."""
    return form.scale_val(isl.Val(by[1])).add_constant_val(isl.Val(-by[2]))


def _in_parts(points: isl.Set, split: Mapping[int, tuple[isl.Aff, int]]) -> isl.Map:
    """Return point -> the same with quotients in place of coordinates, and all remainders behind.

    Where there is only one quotient, the remainder takes its place.
    """
    local = isl.LocalSpace.from_space(points.get_space())
    forms = [isl.Aff.var_on_domain(local, _SET, at) for at in range(points.dim(_SET))]
    for at, (form, stride) in split.items():
        quotient = form.scale_down_val(isl.Val(stride)).floor()
        rest = form.sub(quotient.scale_val(isl.Val(stride)))
        if points.apply(isl.Map.from_aff(quotient)).is_singleton():
            forms[at] = rest
        else:
            forms[at] = quotient
            forms.append(rest)
    return place_of(points.get_space(), forms)


def _named(statement: Statement, place: isl.Map) -> Statement:
    """Return the statement with other names of its instances."""
    made = with_places(statement, place)
    more = range(len(statement.iterators), made.domain.dim(_SET))
    names = tuple(f"{statement.iterators[0]}_{at}" for at in more)
    return replace(made, iterators=(*statement.iterators, *names), times=(*statement.times, *(0 for _ in more)))


def _with_equalities(relation: isl.Map) -> isl.Map:
    """Return the relation with the equalities that hold for its points stated, by pieces."""
    pieces = [isl.Map.from_basic_map(item.intersect(item.affine_hull())) for item in relation.get_basic_maps()]
    return reduce(isl.Map.union, pieces).coalesce()
