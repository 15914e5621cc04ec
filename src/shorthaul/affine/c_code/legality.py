"""Whether an order keeps every dependence through memory, for all sizes of tiles, and which loops are parallel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import islpy as isl

from shorthaul.affine import effort
from shorthaul.affine.c_code.parts import Nest, Part
from shorthaul.affine.integer_sets.dependences import Conflicts

_IN, _OUT, _PARAM = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.param


@dataclass(frozen=True)
class Order:
    """What is known of a nest: arrays whose conflicts it breaks, and (entry, part, part) where one is carried."""

    broken: frozenset[str]
    carried: frozenset[tuple[int, str, str]]


def examined(nest: Nest, conflicts: Conflicts, name: str | None = None) -> Order:
    """Return which conflicts among the statements of ``nest`` its order breaks, and which entries carry the others.

    With a ``name`` only conflicts with this statement are looked at.
    """
    broken: set[str] = set()
    carried: set[tuple[int, str, str]] = set()
    members = {name: [item for item in nest.parts if item.statement == name] for name in nest.names}
    for first, second in product(nest.names, repeat=2):
        if name is not None and name not in (first, second):
            continue
        for array, key, pairs in conflicts.between(first, second):
            for a, b in product(members[first], members[second]):
                found = key, id(a), id(b)
                if found not in conflicts.known:
                    conflicts.known[found] = a, b, _carried(a, b, pairs, nest.tiles)
                entries = conflicts.known[found][2]
                if entries is None:
                    broken.add(array)
                else:
                    carried |= {(at, a.name, b.name) for at in entries}
    return Order(frozenset(broken), frozenset(carried))


def broken_between(nests: Sequence[Nest], conflicts: Conflicts) -> frozenset[str]:
    """Return the arrays with conflicts that lead from a nest to one before it."""
    return frozenset(
        array
        for at, nest in enumerate(nests)
        for later in nests[at + 1 :]
        for array in leads_back(nest.names, later.names, conflicts)
    )


def leads_back(before: Sequence[str], after: Sequence[str], conflicts: Conflicts) -> frozenset[str]:
    """Return the arrays with conflicts that lead from one of the statements ``after`` to one ``before``."""
    return frozenset(array for first in after for second in before for array, _, _ in conflicts.between(first, second))


def _carried(a: Part, b: Part, pairs: isl.Map, tiles: Mapping[str, int]) -> set[int] | None:
    """Return the entries of the time vector that order ``pairs``; None if they turn some round."""
    effort.step()
    rest = lifted(a, b, pairs, tiles)
    found: set[int] = set()
    for at in range(a.time.dim(_OUT)):
        if rest.is_empty():
            return found
        tile = a.tiles.get(at) if a.tiles.get(at) == b.tiles.get(at) else None
        if not rest.intersect(apart(rest, at, tile, back=True)).is_empty():
            return None
        if not rest.intersect(apart(rest, at, tile, back=False)).is_empty():
            found.add(at)
        rest = rest.equate(_IN, at, _OUT, at)
    return found if rest.is_empty() else None


def lifted(a: Part, b: Part, pairs: isl.Map, tiles: Mapping[str, int]) -> isl.Map:
    """Return pairs of instances as pairs of time vectors, for sizes and tiles of at least 1."""
    rest = a.instance.apply_range(pairs).apply_range(b.instance.reverse()).apply_domain(a.time).apply_range(b.time)
    for name in (*tiles, *(rest.get_dim_name(_PARAM, at) for at in range(rest.dim(_PARAM)))):
        place = rest.find_dim_by_name(_PARAM, name)
        if place >= 0:
            rest = rest.lower_bound_val(_PARAM, place, isl.Val(1))
    return rest


def apart(pairs: isl.Map, at: int, tile: str | None, *, back: bool) -> isl.Map:
    """Return the pairs of time vectors whose entry ``at`` falls (``back``) or grows, by a tile or more if it is one."""
    space = pairs.get_space()
    constraint = isl.Constraint.alloc_inequality(isl.LocalSpace.from_space(space))
    sign = 1 if back else -1
    constraint = constraint.set_coefficient_val(_IN, at, isl.Val(sign)).set_coefficient_val(_OUT, at, isl.Val(-sign))
    if tile is None:
        constraint = constraint.set_constant_val(isl.Val(-1))
    else:
        constraint = constraint.set_coefficient_val(_PARAM, pairs.find_dim_by_name(_PARAM, tile), isl.Val(-1))
    return isl.Map.universe(space).add_constraint(constraint)
