"""How a graph that stands for a program's is made, step by step, as certificates hold it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import islpy as isl
import sympy

from shorthaul.affine.bounds.partition.parts import as_union, union_of, union_of_maps
from shorthaul.affine.integer_sets.dependences import DataFlow

_SET = isl.dim_type.set

Step = Mapping[str, str | None]


def placed(
    flow: DataFlow,
    places: Mapping[str, isl.UnionMap],
    *,
    copies: Collection[str] = (),
    slices: isl.UnionMap | None = None,
    times: sympy.Expr | int = 1,
) -> Step:
    """Return the step after which the instances, or inputs, of some names have ``places``; others keep their own.

    Those of the statements ``copies`` are one with what they read. What is counted counts ``times``, once for each of
    the ``slices``.
    """
    domains = {item.name: item.domain for item in flow.program.statements}
    kept = union_of(item for name, item in {**domains, **flow.inputs}.items() if name not in places)
    place = union_of_maps([kept.identity(), *places.values()])
    return {
        "kind": "places",
        "place": str(place.coalesce()),
        "copies": str(union_of(domains[name] for name in copies)),
        "slices": None if slices is None else str(slices.coalesce()),
        "times": str(times),
    }


def in_slices(
    flow: DataFlow, chosen: Mapping[str, int], subscripts: Mapping[str, Sequence[int]], times: sympy.Expr | None
) -> Step:
    """Return the step to one of the graph's copies, by a coordinate of every statement and a subscript of every array.

    ``times``: how many copies there are, None where the coordinate has one value only.
    """
    places, slices = {}, []
    for item in flow.program.statements:
        domain = as_union(item.domain)
        places[item.name] = _without(item.name, item.domain.dim(_SET), chosen[item.name], "").intersect_domain(domain)
        slices.append(_at(item.name, item.domain.dim(_SET), chosen[item.name]).intersect_domain(domain))
    if times is None:
        return placed(flow, places)
    for array, points in flow.inputs.items():
        at, width = subscripts[array][0], points.dim(_SET)
        places[array] = _without(array, width, at, "0").intersect_domain(as_union(points))
        slices.append(_at(array, width, at).intersect_domain(as_union(points)))
    return placed(flow, places, slices=union_of_maps(slices), times=times)


def _without(name: str, width: int, at: int, instead: str) -> isl.UnionMap:
    """Return the relation that leaves out a coordinate, or puts something else in its place."""
    names = [f"x{k}" for k in range(width)]
    kept = [*names[:at], *([instead] if instead else []), *names[at + 1 :]]
    return isl.UnionMap(f"{{ {name}[{', '.join(names)}] -> {name}[{', '.join(kept)}] }}")


def _at(name: str, width: int, at: int) -> isl.UnionMap:
    """Return the relation from vertices to a coordinate."""
    names = [f"x{k}" for k in range(width)]
    return isl.UnionMap(f"{{ {name}[{', '.join(names)}] -> [{names[at]}] }}")
