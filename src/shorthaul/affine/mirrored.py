"""Two statements that read one triangle of a matrix from both sides (symm): the shared reads are not worth sharing.

Points (o, b, j) of two statements, the first with o < b, the second with o > b. Chains run along b and give one vertex
per (o, j), different ones in the two statements; a broadcast gives one vertex per (b, j); another one gives a vertex
per unordered pair {o, b}, so that one vertex serves two classes. The merged K-partition loses sqrt 2 by that. It does
not have to, away from the diagonal: let |o - b| >= w > K on D.

For one j let B be the places of the first broadcast, C and t the chains of the two statements, e1 and e2 the points,
s the pairs used by both, a = e1 + e2 - s. A segment computes a run of consecutive b of every chain, at
most K of them, all in B; so it lies in one run of B, and not in the run that holds o. Let C_pq be the chains of o in
run p that use run q, t_qp likewise.
Then |B| (|C| + |t|) - e1 - e2 >= sum over p, q of |B_p| |C_pq| + |B_q| |t_qp| >= 2 sum |C_pq| |t_qp| >= 2 s, hence

    (e1 + e2)^2 <= (e1 + e2 - s) (e1 + e2 + 2 s) <= a |B| (|C| + |t|),

and summing over j, |P| <= (K/3)^(3/2) as if no vertex served two classes.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import islpy as isl

from shorthaul.affine.brascamp_lieb import Exponents
from shorthaul.affine.k_partition import Part, Partition, sources_and_spill, translation, vertices_of
from shorthaul.affine.subspaces import span

_UNIT = tuple(tuple(int(a == b) for b in range(3)) for a in range(3))


def away_from_diagonal(plain: Partition) -> Partition | None:
    """Return the argument of this module for a merged partition of its form, else None."""
    if len(plain.parts) != 2 or plain.dimensions != 3 or len(plain.kernels) != 3 or len(plain.cliques) != 1:
        return None
    paths = plain.parts[0].paths
    chain = next((at for at, path in enumerate(paths) if path.is_chain), None)
    shared = next((at for at, fold in enumerate(plain.folds) if fold == 2), None)
    if chain is None or shared is None or sum(plain.folds) != 4 or any(len(path.levels) != 1 for path in paths):
        return None
    other = 3 - chain - shared
    axes = [_axis(plain, family) for family in (other, chain, shared)]
    if None in axes:
        return None
    o, b = axes[0], axes[1]
    assert o is not None
    assert b is not None
    if not (_mirror(plain, shared, o, b) and _convex_steps(plain, chain)):
        return None
    own = [vertices_of((part,), chain) for part in plain.parts]
    if not own[0].intersect(own[1]).is_empty():
        return None
    parts = []
    for part, sign in zip(plain.parts, _sides(plain, o, b), strict=True):
        if sign == 0:
            return None
        parts.append(replace(part, domain=part.domain.intersect(_far(part, o, b, sign)).coalesce()))
    sources, spill = sources_and_spill(parts, [vertices_of(parts, family) for family in range(3)])
    half = Exponents((Fraction(1, 2),) * 3, (Fraction(1),) * 3)
    return replace(plain, parts=tuple(parts), folds=(1, 1, 1), exponents=half, sources=sources, spill=spill)


def _axis(plain: Partition, family: int) -> int | None:
    """Return the coordinate along which the family's kernel runs, if it is one."""
    return next((at for at in range(3) if plain.kernels[family] == span([_UNIT[at]])), None)


def _sides(plain: Partition, o: int, b: int) -> list[int]:
    """Return 1 for the part with o < b and -1 for the one with o > b; zeros where that does not hold."""
    signs = []
    for part in plain.parts:
        image = part.embedding(_UNIT).range()
        below, above = (
            isl.UnionSet.read_from_str(isl.DEFAULT_CONTEXT, f"{{ [x0, x1, x2] : x{first} < x{second} }}")
            for first, second in ((o, b), (b, o))
        )
        signs.append(1 if image.is_subset(below) else -1 if image.is_subset(above) else 0)
    return signs if sum(signs) == 0 else [0, 0]


def _far(part: Part, o: int, b: int, sign: int) -> isl.Set:
    """Return the instances with |o - b| >= 3 S + 1."""
    names = [f"x{at}" for at in range(3)]
    low, high = (names[part.order[o]], names[part.order[b]])[:: 1 if sign > 0 else -1]
    text = f"[S] -> {{ {part.statement}[{', '.join(names)}] : {high} - {low} >= 3S + 1 }}"
    return isl.Set.read_from_str(isl.DEFAULT_CONTEXT, text)


def _mirror(plain: Partition, shared: int, o: int, b: int) -> bool:
    """True if a vertex of the shared family is read by (o, b) of one part only with (b, o) of the other one."""
    first, second = (
        part.level(shared, 0).reverse().apply_range(part.embedding([_UNIT[o], _UNIT[b]])) for part in plain.parts
    )
    swap = isl.UnionMap.read_from_str(isl.DEFAULT_CONTEXT, "{ [o, b] -> [b, o] }")
    return bool(first.reverse().apply_range(second).is_subset(swap))


def _convex_steps(plain: Partition, chain: int) -> bool:
    """True if the chains step by one, without a break inside the domains, and the domains are convex."""
    for part in plain.parts:
        delta = part.paths[chain].delta
        if delta is None or sum(map(abs, delta)) != 1:
            return False
        basics = part.domain.coalesce().get_basic_sets()
        if len(basics) != 1 or basics[0].dim(isl.dim_type.div):
            return False
        if not translation(part, part.paths[chain]).is_subset(part.level(chain, 0)):
            return False
    return True
