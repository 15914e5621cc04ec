"""Whether an order keeps every dependence through memory, for all sizes of tiles, and which loops are parallel.

Local data of the region, as ``double t = x[i] - y[j];``, are one place for all iterations, so that hardly any other
order keeps all conflicts. Where the first p entries of time vectors are equal for the instance that computes a value
and for all that read it, instances with equal p entries are a block that is executed as one. Then conflicts between
blocks need no order: between the two ends of a flow only instances of its block are executed, and these keep theirs. So
data that are declared in the body of a loop over one of these entries have a place for each iteration.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import islpy as isl

from shorthaul.affine import effort
from shorthaul.affine.c_code.parts import Nest, Part
from shorthaul.affine.integer_sets.dependences import Conflicts
from shorthaul.affine.orders.boxes.storage import Storage

_IN, _OUT, _PARAM = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.param


@dataclass(frozen=True)
class Order:
    """What is known of a nest: arrays whose conflicts it breaks, and (entry, part, part) where one is carried.

    ``local`` has for local data how many of the first entries are equal for all that use a value; ``flows`` has which
    parts set and read one.
    """

    broken: frozenset[str]
    carried: frozenset[tuple[int, str, str]]
    local: Mapping[str, int] = field(default_factory=dict)
    flows: Mapping[str, frozenset[tuple[str, str]]] = field(default_factory=dict)


def conflicts_with(storage: Storage, known: dict[Hashable, Any] | None = None) -> Conflicts:
    """Return the conflicts of a program with ``storage``; ``known`` is what was found before."""
    flow = storage.flow
    local = {name: tuple(item for item in flow.flows if item.reference.array == name) for name in _local(storage)}
    return Conflicts(flow.program, storage.accesses(), {} if known is None else known, local)


def _local(storage: Storage) -> list[str]:
    """Return the data without a buffer that are declared in the region, and have no value from elsewhere."""
    flow = storage.flow
    return [name for name in flow.program.code.private if name not in storage.buffers and name not in flow.inputs]


def examined(nest: Nest, conflicts: Conflicts, name: str | None = None) -> Order:
    """Return which conflicts among the statements of ``nest`` its order breaks, and which entries carry the others.

    With a ``name`` only conflicts with this statement are looked at.
    """
    broken: set[str] = set()
    carried: set[tuple[int, str, str]] = set()
    members = {name: [item for item in nest.parts if item.statement == name] for name in nest.names}
    flows: dict[str, frozenset[tuple[str, str]]] = {}
    local = {array: depth for array in conflicts.local if (depth := _depth(array, nest, members, conflicts, flows))}
    for first, second in product(nest.names, repeat=2):
        if name is not None and name not in (first, second):
            continue
        for array, key, pairs in conflicts.between(first, second):
            for a, b in product(members[first], members[second]):
                found = key, id(a), id(b), local.get(array, 0)
                if found not in conflicts.known:
                    conflicts.known[found] = a, b, _carried(a, b, pairs, nest.tiles, local.get(array, 0))
                entries = conflicts.known[found][2]
                if entries is None:
                    broken.add(array)
                else:
                    carried |= {(at, a.name, b.name) for at in entries}
    return Order(frozenset(broken), frozenset(carried), local, flows)


def _depth(
    array: str,
    nest: Nest,
    members: Mapping[str, Sequence[Part]],
    conflicts: Conflicts,
    flows: dict[str, frozenset[tuple[str, str]]],
) -> int:
    """Return how many of the first entries are equal for all that use a value of local data; 0 if some are outside.

    ``flows`` gets the parts that set and read one.
    """
    depth, pairs = nest.length, set()
    for number, flow in enumerate(conflicts.local[array]):
        ends = [members.get(name or "", ()) for name in (flow.source, flow.sink)]
        if any(ends) and not all(ends):
            return 0
        for a, b in product(*ends):
            found = "depth", array, number, id(a), id(b)
            if found not in conflicts.known:
                conflicts.known[found] = a, b, _equal(a, b, flow.relation, nest.tiles)
            equal = conflicts.known[found][2]
            if equal is not None:
                depth = min(depth, equal)
                pairs.add((a.name, b.name))
    flows[array] = frozenset(pairs)
    return depth


def _equal(a: Part, b: Part, pairs: isl.Map, tiles: Mapping[str, int]) -> int | None:
    """Return how many of the first entries of time vectors are equal for all ``pairs``, None if there are none."""
    effort.step()
    rest = lifted(a, b, pairs, tiles)
    if rest.is_empty():
        return None
    for at in range(a.time.dim(_OUT)):
        if any(not rest.intersect(apart(rest, at, _tile(a, b, at), back=back)).is_empty() for back in (True, False)):
            return at
        rest = rest.equate(_IN, at, _OUT, at)
    return int(a.time.dim(_OUT))


def _tile(a: Part, b: Part, at: int) -> str | None:
    """Return the size of tiles of which an entry has the origins, the same for both."""
    return a.tiles.get(at) if a.tiles.get(at) == b.tiles.get(at) else None


def broken_between(nests: Sequence[Nest], conflicts: Conflicts) -> frozenset[str]:
    """Return the arrays with conflicts that lead from a nest to one before it."""
    return frozenset(
        array
        for at, nest in enumerate(nests)
        for later in nests[at + 1 :]
        for array in leads_back(nest.names, later.names, conflicts)
    )


def leads_back(before: Sequence[str], after: Sequence[str], conflicts: Conflicts) -> frozenset[str]:
    """Return the arrays with conflicts that lead from one of the statements ``after`` to one ``before``.

    Local data count where some of them use a value together with others.
    """
    ends = [(array, {item.source, item.sink}) for array, flows in conflicts.local.items() for item in flows]
    shared = {array for array, both in ends for names in (before, after) if both - {*names} and both & {*names}}
    found = (array for first in after for second in before for array, _, _ in conflicts.between(first, second))
    return frozenset(array for array in found if array in shared or array not in conflicts.local)


def _carried(a: Part, b: Part, pairs: isl.Map, tiles: Mapping[str, int], depth: int) -> set[int] | None:
    """Return the entries of the time vector that order ``pairs``; None if they turn some round.

    Pairs apart in the first ``depth`` entries need no order.
    """
    effort.step()
    rest = within_blocks(lifted(a, b, pairs, tiles), depth)
    found: set[int] = set()
    for at in range(depth, a.time.dim(_OUT)):
        if rest.is_empty():
            return found
        tile = _tile(a, b, at)
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


def within_blocks(pairs: isl.Map, depth: int) -> isl.Map:
    """Return the pairs of time vectors with equal entries up to ``depth``."""
    for at in range(depth):
        pairs = pairs.equate(_IN, at, _OUT, at)
    return pairs


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
