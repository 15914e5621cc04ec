"""Neighbourhoods with a known vertex-isoperimetric inequality, and why it holds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import mul
from typing import Any

import sympy

from shorthaul.affine.integer_sets.subspaces import Subspace, kernel, less, span
from shorthaul.affine.tuning import MOST_NEIGHBOURS

Offset = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """A neighbourhood N with |A + N| >= |A| + c |A|^((n-1)/n) for all finite sets A, and the reason.

    ``whole``: c is that of the convex hull or near it. ``kind`` is the shape at ``origin`` along ``edges``, ``sizes``
    the sides of a box. ``apexes`` are places beside it, one at each height over all before. ``balls``: (2) of the lemma
    on balanced rows around balls is known too.
    """

    name: str
    because: str
    whole: bool = True
    kind: str = "line"
    origin: Offset = ()
    edges: tuple[Offset, ...] = ()
    sizes: tuple[int, ...] = ()
    apexes: tuple[tuple[Offset, ...], ...] = ()
    balls: bool = True

    def document(self) -> dict[str, Any]:
        """Return the shape as data for a certificate."""
        return {
            "kind": self.kind,
            "origin": list(self.origin),
            "edges": [list(edge) for edge in self.edges],
            "sizes": list(self.sizes),
            "apexes": [[list(place) for place in group] for group in self.apexes],
        }


_LINE = (
    "(1) with n = 1 and c = |N| - 1: on the line |A + N| >= |A| + |N| - 1, for A with the least element of N, "
    "and then the largest element of A with the others, are |A| + |N| - 1 different sums."
)
_COSETS = (
    "Take the edges as coordinates: A falls into cosets of the lattice that they span, translates of the part "
    "of N named lead from different cosets to different ones, and the sum of |A_i|^((n-1)/n) over the cosets "
    "is at least |A|^((n-1)/n), so it is enough to show (1) in Z^n for"
)
_PYRAMID = """\
(1) for that part of N, with c' and m = n - 1, gives (1) with c = (h (n c'/m)^m)^(1/n), where N has places at the h
heights -p, ..., -1, 1, ..., q over that plane, h = p + q, in some unit: let A lie in planes whole units apart (where it
lies in several such rows of planes, |A|^(m/n) is subadditive), a_z the sizes of its slices, d_z = c' a_z^((m-1)/m), 0
for a_z = 0, and a_y = a the largest. Slice z of A + N has a_z + d_z places at least, and at least a_(z-s) for every
height s. So beyond y, on either side with heights, the slices fall into sequences v_1, v_2, ..., 0 of every q-th (p-th)
one, h in all, of which v_k gains max(d(v_k), v_(k-1) - v_k) or more, v_0 = a. Let f(x) = x - (m/n) a^(-1/m) x^(n/m), so
f' = 1 - (x/a)^(1/m). For u, v <= a
  max(d(v), u - v) - (d(a)/a) v >= f(u) - f(v):
with k = (v/a)^(1/m) the second term is k d(v), and the right side is at most (1 - k) (u - v), as f is concave, if u >=
v, and at most 0 else, as f grows. Added up, a sequence gains f(a) = a/n and d(a)/a for each of its places at least;
slice y, and one on a side without heights, d(a)/a for each of its places too. So |A + N| - |A| >= h a/n + |A| c'
a^(-1/m), at least c |A|^(m/n) for every a, by weighted means."""
_CROSS = (
    "It is a pyramid of two heights over the cross of one dimension less, a set on the line at last: c = n "
    f"(2^n/n!)^(1/n).\n{_LINE}\n{_PYRAMID}"
)


def differences(shifts: frozenset[Offset]) -> frozenset[Offset]:
    """Return the vectors from the least of ``shifts`` to all of them."""
    least = min(shifts)
    return frozenset(less(item, least) for item in shifts)


@lru_cache(maxsize=256)
def isoperimetric_constant(offsets: frozenset[Offset], n: int | None = None) -> tuple[sympy.Expr, Shape] | None:
    """Return the largest known c of the inequality for a neighbourhood in a lattice of ``n`` dimensions, and why.

    The vectors may be longer than n, if they lie in a plane of n dimensions. None if no inequality is known.

    >>> isoperimetric_constant(frozenset({(-1,), (0,), (1,)}))[0]
    2
    """
    n = len(next(iter(offsets))) if n is None else n
    if n == 1:
        origin, *others = sorted(offsets)
        along = tuple(less(item, origin) for item in others[:1])
        return sympy.Integer(len(offsets) - 1), Shape("a set on the line", _LINE, origin=origin, edges=along)
    found: dict[sympy.Expr, Shape] = {}
    for origin, edges in _frames(offsets, n):
        box = _largest_box(offsets, origin, edges)
        if box is not None:
            found.setdefault(n * sympy.root(sympy.prod(box), n), _box(origin, edges, box))
        if n <= 3 and all(_at(origin, edges, step) in offsets for step in _cross(n)):
            factor = sympy.root(sympy.Rational(2**n, sympy.factorial(n)), n)
            text = (
                f"N holds {origin} and {origin} +- v for the edges v in {_listed(edges)}. {_COSETS} the cross. {_CROSS}"
            )
            found.setdefault(n * factor, Shape("a cross", text, True, "cross", origin, edges))
    for base, apexes in _pyramids(offsets, n):
        rated = isoperimetric_constant(base, n - 1)
        if rated is not None:
            found.setdefault(*_pyramid(n, *rated, apexes))
    return max(found.items(), key=lambda item: (round(float(item[0]), 9), item[1].balls), default=None)


def _pyramids(offsets: frozenset[Offset], n: int) -> Iterator[tuple[frozenset[Offset], tuple[Offset, ...]]]:
    """Yield the places of every plane through n of them that leaves a place out, and others at most heights over it."""
    done: set[tuple[object, Offset]] = set()
    for origin in sorted(offsets):
        for edges in itertools.combinations(_edges(offsets, origin), n - 1):
            plane = span(edges)
            over = kernel(plane, len(origin))
            heights = _heights(over, origin)
            if (plane, heights) in done or len(plane) < n - 1:
                continue
            done.add((plane, heights))
            away = {item: less(_heights(over, item), heights) for item in offsets}
            base = frozenset(item for item in offsets if not any(away[item]))
            if base != offsets:
                yield base, max((_apexes(away, item) for item in sorted(offsets - base)), key=len)


def _heights(over: Subspace, place: Offset) -> Offset:
    """Return how far over a plane through 0 a place is, by the vectors across it."""
    return tuple(sum(map(mul, row, place)) for row in over)


def _edges(offsets: frozenset[Offset], origin: Offset) -> list[Offset]:
    """Return what leads from one place to the others, of many neighbours single steps only."""
    edges = [less(item, origin) for item in sorted(offsets) if item != origin]
    return edges if len(offsets) <= MOST_NEIGHBOURS else [item for item in edges if sum(map(abs, item)) == 1]


def _apexes(heights: Mapping[Offset, Offset], first: Offset) -> tuple[Offset, ...]:
    """Return a place at each height that is a whole number of times that of ``first``, without a gap on either side."""
    at = {height: item for item, height in sorted(heights.items())}
    at[heights[first]] = first
    sides = (tuple(sign * value for value in heights[first]) for sign in (1, -1))
    return tuple(
        at[height]
        for side in sides
        for height in itertools.takewhile(at.__contains__, (tuple(k * x for x in side) for k in itertools.count(1)))
    )


def _pyramid(n: int, constant: sympy.Expr, base: Shape, apexes: tuple[Offset, ...]) -> tuple[sympy.Expr, Shape]:
    """Return c for a base in n - 1 dimensions and places beside it, one at each height."""
    c = sympy.root(len(apexes) * (n * constant / (n - 1)) ** (n - 1), n)
    text = f"N holds, at h = {len(apexes)} heights over a plane of {n - 1} dimensions, {_listed(apexes)}, and in that "
    text += f"plane, without these, {base.name}: {base.because}" + ("" if base.apexes else f"\n{_PYRAMID}")
    groups, whole = (*base.apexes, apexes), base.whole and len(apexes) % 2 == 0
    balls = n == 2 or (n == 3 and base.balls and base.kind != "cross" and {1} == set(map(len, groups)))
    return c, replace(base, name="a pyramid", because=text, whole=whole, apexes=groups, balls=balls)


def _frames(offsets: frozenset[Offset], n: int) -> Iterator[tuple[Offset, tuple[Offset, ...]]]:
    """Yield a place of the neighbourhood and n independent edges that lead from it to others."""
    for origin in sorted(offsets):
        for chosen in itertools.combinations(_edges(offsets, origin), n):
            if len(span(chosen)) == n:
                yield origin, chosen


def _at(origin: Offset, edges: Sequence[Offset], steps: Sequence[int]) -> Offset:
    return tuple(
        start + sum(step * edge[at] for step, edge in zip(steps, edges, strict=True)) for at, start in enumerate(origin)
    )


def _cross(n: int) -> list[Offset]:
    return [tuple(sign * int(a == axis) for a in range(n)) for axis in range(n) for sign in (-1, 1)]


def _largest_box(offsets: frozenset[Offset], origin: Offset, edges: Sequence[Offset]) -> Offset | None:
    """Return the sides of the largest box at a place, in steps along the edges."""
    n = len(edges)
    longest = []
    for axis in range(n):
        steps = (tuple(count * int(a == axis) for a in range(n)) for count in itertools.count(1))
        longest.append(sum(1 for _ in itertools.takewhile(lambda step: _at(origin, edges, step) in offsets, steps)))
    boxes = (
        sides
        for sides in itertools.product(*(range(1, most + 1) for most in longest))
        if all(_at(origin, edges, step) in offsets for step in itertools.product(*(range(k + 1) for k in sides)))
    )
    return max(boxes, key=lambda sides: (sympy.prod(sides), sides), default=None)


def _listed(edges: Sequence[Offset]) -> str:
    return ", ".join(map(str, edges))


def _box(origin: Offset, edges: Sequence[Offset], sides: Sequence[int]) -> Shape:
    n, volume = len(sides), sympy.prod(sides)
    lengths = " x ".join(map(str, sides))
    because = (
        f"N holds the places that one reaches from {origin} with up to {lengths} steps along the edges "
        f"{_listed(edges)}. {_COSETS} a box of {lengths} steps. It holds with n = {n} and c = {n} "
        f"({volume})^(1/{n}): put a unit cube at every place of A. The cubes at A + N then cover the sum of "
        f"that body and a box with sides {lengths}, and by Brunn and Minkowski |A + N| >= (|A|^(1/{n}) + "
        f"({volume})^(1/{n}))^{n}, of which (1) keeps the two largest terms."
    )
    return Shape(f"a box of sides {list(sides)}", because, True, "box", origin, tuple(edges), tuple(sides), (), n <= 3)
