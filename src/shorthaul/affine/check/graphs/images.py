"""Relations of a certificate at given sizes, vertex by vertex."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import islpy as isl
import numpy as np

from shorthaul.affine.check.execution import Vertex, evaluate

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


def image(relation: isl.UnionMap, vertices: Iterable[Vertex], sizes: Mapping[str, int]) -> dict[Vertex, Vertex]:
    """Return the value of a function for all vertices for which it has one."""
    known: dict[str, list[Vertex]] = defaultdict(list)
    for vertex in vertices:
        known[vertex[0]].append(vertex)
    found: dict[Vertex, Vertex] = {}
    maps: list[isl.Map] = []
    relation.foreach_map(maps.append)
    for item in maps:
        own = known.get(item.get_tuple_name(_IN), [])
        name = item.get_tuple_name(_OUT) if item.has_tuple_name(_OUT) else ""
        rows = np.array([row for _, row in own], dtype=np.int64).reshape(len(own), item.dim(_IN))
        defined, values = evaluate(item, sizes, rows)
        listed = [(name, tuple(row)) for row in values.tolist()]
        found.update((own[at], listed[at]) for at in np.flatnonzero(defined).tolist())
    return found


def by_name(points: isl.UnionSet) -> dict[str, isl.Set]:
    """Return the parts of a set by their name."""
    sets: list[isl.Set] = []
    points.coalesce().foreach_set(sets.append)
    return {item.get_tuple_name(): item for item in sets if not item.is_empty()}
