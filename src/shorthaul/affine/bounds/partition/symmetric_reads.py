"""Symmetric operands (symm): two statements read one triangle through one array, which does not weaken the bound.

Points (o, b, j) of two statements, the first with o < b, the second with o > b. Chains run along b and give one vertex
per (o, j), different ones in the two statements; a broadcast gives one vertex per (b, j); another one gives a vertex
per unordered pair {o, b}, so that one vertex serves two points for every j. The merged K-partition loses sqrt 2 by
that. It does not have to: give points with |o - b| >= w the weight 1 and the others sqrt(3)/2, w = ceil(9/4 sqrt(K/3)).
Then the points that one segment computes weigh at most (K/3)^(3/2), as if no vertex served two points.

What counts are runs: consecutive instances of one chain, all of the segment, as many as there are. A segment computes
one run of a chain; less the instances with an own vertex as a cut (see ``k_partition``) it has more, each with a cut.

For one j let B be the places of the first broadcast, b = |B|; C and t the runs of the two statements, c = |C| + |t|;
x and y the points with |o - b| < w and the others, e = x + y; s and f the near and the far pairs that both statements
use; a vertices of the other broadcast in all. Then a >= e - s - f, s <= x/2, f <= y/2, s + f <= |C| |t| <= c^2/4.

Let B_p be the longest pieces of consecutive places of B; a run is in one of them. Count the places of B that a run does
not use. Let C_pq be the number of different o in B_p that have a run of C in B_q, t_qp likewise of t. Where p and q
differ, each of these runs misses all of B_p, at least C_pq places. A run of C in the piece of its o misses those up to
o, one of t those from o on: these miss at least 1 + 2 + ... + C_pp. With the pairs of both kinds,

    b c - e >= 2 sum C_pq t_qp + sum (C_pp^2 + t_pp^2) / 2 >= 2 (pairs in two pieces) + (pairs in one piece).

* b <= w. Far pairs lie in two pieces, so a b c >= (e - s - f) (e + s + 2f). The right side is least at a corner of
  0 <= s <= x/2, 0 <= f <= y/2 and at all four at least (sqrt(3)/2 x + y)^2. So the weight for this j is at most
  sqrt(a b c) <= sqrt(a) (b + c) / 2.
* b > w. The weight is at most e, e <= 2a, e <= a + c^2/4 <= a + sqrt(a) c / 2 for c <= 2 sqrt(a), and e <= b c.
  The most of e / (b + c) is at b = w, at c = 2 sqrt(a) or where the last two bounds meet:
  2a / (w + 2 sqrt(a)) or a w / (w^2 - w sqrt(a)/2 + a).

Over all j the sum of b + c is at most K - a. sqrt(a) (K - a) / 2 <= (K/3)^(3/2), and the two quotients times K - a are
below that as well: with K = 3 and u = sqrt(a) that is 2u^2 (3 - u^2) <= 9/4 + 2u and 9/4 u^2 (3 - u^2) <= 81/16 - 9/8 u
+ u^2 for 0 <= u <= sqrt 3.
"""

from __future__ import annotations

import islpy as isl

from shorthaul.affine.bounds.partition.k_partition import BAND, Partition
from shorthaul.affine.bounds.partition.parts import Part, translation, vertices_of
from shorthaul.affine.integer_sets.subspaces import span, unit

_UNIT = unit(3)


def away_from_diagonal(plain: Partition) -> tuple[isl.Set, ...]:
    """Return the instances of weight 1, with the parameter ``BAND`` for w, if the argument has this form, else ()."""
    if len(plain.parts) != 2 or plain.dimensions != 3 or len(plain.kernels) != 3 or len(plain.cliques) != 1:
        return ()
    if plain.moved is not None or plain.times_own > 1:
        return ()
    kinds = {tuple(path.is_chain for path in part.paths) for part in plain.parts}
    chain = next((at for at, is_chain in enumerate(min(kinds)) if is_chain and len(kinds) == 1), None)
    shared = next((at for at, fold in enumerate(plain.folds) if fold == 2), None)
    if chain is None or shared is None or sum(plain.folds) != 4 or _has_longer_paths(plain):
        return ()
    other = 3 - chain - shared
    o, b = _axis(plain, other), _axis(plain, chain)
    if o is None or b is None or _axis(plain, shared) is None:
        return ()
    if not (_mirror(plain, shared, o, b) and _convex_steps(plain, chain)):
        return ()
    own = [vertices_of((part,), chain) for part in plain.parts]
    if not own[0].intersect(own[1]).is_empty():
        return ()
    sides = _sides(plain, o, b)
    if not all(sides):
        return ()
    pairs = zip(plain.parts, sides, strict=True)
    return tuple(part.domain.intersect(_far(part, o, b, sign)).coalesce() for part, sign in pairs)


def _has_longer_paths(plain: Partition) -> bool:
    """True if a path of some part has more than one level, own vertices of instances left out."""
    return any(len(levels) != 1 for part in plain.parts for levels in part.levels)


def _axis(plain: Partition, family: int) -> int | None:
    """Return the coordinate along which the family's kernel runs, if it is one."""
    return next((at for at in range(3) if plain.kernels[family] == span([_UNIT[at]])), None)


def _sides(plain: Partition, o: int, b: int) -> list[int]:
    """Return 1 for the part with o < b and -1 for the one with o > b; zeros where that does not hold."""
    signs = []
    for part in plain.parts:
        image = part.embedding(_UNIT).range()
        below, above = (
            isl.UnionSet(f"{{ [x0, x1, x2] : x{first} < x{second} }}") for first, second in ((o, b), (b, o))
        )
        signs.append(1 if image.is_subset(below) else -1 if image.is_subset(above) else 0)
    return signs if sum(signs) == 0 else [0, 0]


def _far(part: Part, o: int, b: int, sign: int) -> isl.Set:
    """Return the instances with |o - b| >= w."""
    names = [f"x{at}" for at in range(3)]
    low, high = (names[part.order[o]], names[part.order[b]])[:: 1 if sign > 0 else -1]
    text = f"[{BAND}] -> {{ {part.statement}[{', '.join(names)}] : {high} - {low} >= {BAND} }}"
    return isl.Set(text)


def _mirror(plain: Partition, shared: int, o: int, b: int) -> bool:
    """True if a vertex of the shared family is read by (o, b) of one part only with (b, o) of the other one."""
    first, second = (
        part.levels[shared][0].reverse().apply_range(part.embedding([_UNIT[o], _UNIT[b]])) for part in plain.parts
    )
    swap = isl.UnionMap("{ [o, b] -> [b, o] }")
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
        if not translation(part, part.paths[chain]).is_subset(part.levels[chain][0]):
            return False
    return True
