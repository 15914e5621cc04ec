"""Experimental: the volume of what a set of dependence vectors spans, to leading order only.

Let a statement read its own values at the distances -D, D a set of vectors in Z^d, and W the convex hull of 0 and -D.
For a large finite set P of instances, P - D has about (|P|^(1/d) + vol(W)^(1/d))^d points (Brunn and Minkowski; for
sets of lattice points Ruzsa), so |In(P)| >= d vol(W)^(1/d) |P|^((d-1)/d), and with |In(P)| <= K = d S

    |P| <= (K / d)^(d/(d-1)) / vol(W)^(1/(d-1)).

Terms of lower order in |P| are left out here, so this is no proven bound: small parts may have fewer in-vertices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import islpy as isl
import numpy as np
import sympy

from shorthaul.affine.bounds.partition.parts import as_union, sets_of, thickness
from shorthaul.affine.bounds.partition.paths import affine_steps
from shorthaul.affine.integer_sets.counting import card, count_formula, rational
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.proofs.lemmas import SEGMENTS
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound

_SET = isl.dim_type.set


@dataclass(frozen=True, slots=True)
class ConvexBody:
    """A statement, the instances D whose neighbours are all computed, its distances and the volume of their hull."""

    statement: str
    domain: isl.Set
    distances: tuple[tuple[int, ...], ...]
    volume: Fraction
    spill: isl.UnionSet
    sources: isl.UnionSet


def convex_bodies(flow: DataFlow) -> Iterator[ConvexBody]:
    """Yield the argument for every statement whose own dependences span its space."""
    found = (_of_statement(flow, item.name) for item in flow.program.statements)
    yield from (item for item in found if item is not None)


def _of_statement(flow: DataFlow, name: str) -> ConvexBody | None:
    domain = flow.program.by_name[name].domain
    width = domain.dim(_SET)
    unit = tuple(tuple(int(a == b) for b in range(width)) for a in range(width))
    steps = [
        (step, step.shift)
        for step in affine_steps(flow, name)
        if step.source == name and step.matrix == unit and step.shift is not None and any(step.shift)
    ]
    shifts = tuple(sorted({shift for _, shift in steps}))
    volume = hull_volume(shifts) if width >= 2 and len(shifts) >= width else Fraction(0)
    if not volume:
        return None
    inside, spill = domain, as_union(domain.subtract(domain))
    for shift in shifts:
        some = domain.subtract(domain)
        for step, other in steps:
            if other == shift:
                some = some.union(step.function.domain())
        inside = inside.intersect(some).coalesce()
    if thickness(inside) < width:
        return None
    for step, _ in steps:
        spill = spill.union(isl.UnionMap.from_map(step.function.intersect_domain(inside)).range())
    return ConvexBody(name, inside, shifts, volume, spill.coalesce(), spill.subtract(as_union(inside)).coalesce())


def hull_volume(vectors: tuple[tuple[int, ...], ...]) -> Fraction:
    """Return the volume of the convex hull of 0 and the vectors, 0 if it is flat.

    >>> hull_volume(((1, 0), (0, 1), (1, 1)))
    Fraction(1, 1)
    """
    from scipy.spatial import Delaunay, QhullError

    points = np.array([(0,) * len(vectors[0]), *vectors])
    try:
        simplices = Delaunay(points).simplices
    except QhullError:
        return Fraction(0)
    edges = points[simplices[:, 1:]] - points[simplices[:, :1]]
    total = sum(abs(round(float(value))) for value in np.linalg.det(edges.astype(float)))
    return Fraction(total, math.factorial(len(vectors[0])))


def sub_bound(item: ConvexBody, flow: DataFlow) -> SubBound:
    """Return the argument with its numbers as formulas."""
    context = flow.program.context
    d = item.domain.dim(_SET)
    size = count_formula(card(item.domain, context))
    sources = sympy.Add(*(count_formula(card(part, context)) for part in sets_of(item.sources)))
    T = (d - 1) * S
    U = S ** sympy.Rational(d, d - 1) / sympy.root(rational(item.volume), d - 1)
    steps = (
        f"{item.statement} reads its own values at {list(item.distances)}; W is the convex hull of these and 0.",
        "To leading order |In(P)| >= d vol(W)^(1/d) |P|^((d-1)/d): lower-order terms are not proven.",
        f"sources (read by D, not in D): {set_text(item.sources, flow.program)}",
        "Lemma (segments), if that were so: T floor(|D|/U) - sources.",
    )
    return SubBound(
        "convex body (experimental)",
        (item.statement,),
        set_text(item.domain, flow.program),
        T * sympy.floor(size / U) - sources,
        item.spill,
        set_text(item.spill, flow.program),
        {"|D|": size, "vol(W)": rational(item.volume), "K": d * S, "T": T, "U": U, "sources": sources},
        steps,
        (SEGMENTS,),
    )
