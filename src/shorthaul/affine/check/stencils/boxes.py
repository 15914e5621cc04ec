"""Arguments on places that fill a box, verified: the box, the inequality inside of it, up to how many places it holds.

The inequality |(A + N) in the box| >= |A| + c |A|^((n-1)/n) and its limits are those that are proven with the bounds.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import islpy as isl

from shorthaul.affine.check.formulas import Number, combined, is_same, power, value_of

Vector = tuple[int, ...]
_SET = isl.dim_type.set


def constant_in_box(places: frozenset[Vector], n: int, box: Mapping[str, Any]) -> Number | None:
    """Return c for a neighbourhood inside of a box, None if it does not hold the shape that is named."""
    kind, origin, radius = str(box["kind"]), tuple(map(int, box["origin"])), int(box["radius"])
    known: Mapping[tuple[str, int], Number] = {
        ("cube", 1): Fraction(1),
        ("cube", 2): Fraction(2),
        ("cube", 3): Fraction(3),
        ("cross", 2): power(Fraction(2), Fraction(1, 2)),
        ("cross", 3): Fraction(1329, 1000),
        ("cross in a cube", 3): power(Fraction(9, 2), Fraction(1, 3)),
    }
    if (kind, n) not in known or radius < 1 or len(origin) != n or len(box["sides"]) != n:
        return None
    for step in itertools.product(range(-radius, radius + 1), repeat=n):
        near = kind == "cube" or sum(map(abs, step)) <= radius
        if near and tuple(a + b for a, b in zip(origin, step, strict=True)) not in places:
            return None
    return combined(ast.Mult, Fraction(radius), known[kind, n])


def most_places(kind: str, sides: Sequence[Fraction]) -> Fraction:
    """Return up to how many places of A + N the inequality holds in a box."""
    least = min(sides)
    if kind == "cross in a cube":
        return (least**3 - least) / 6 if max(sides) == least else Fraction(0)
    shares = {"cube": (Fraction(1, 4), Fraction(64, 729)), "cross": (Fraction(1, 2), Fraction(1, 8))}[kind]
    return least - 1 if len(sides) == 1 else shares[len(sides) - 2] * least ** len(sides)


def is_box(domain: isl.Set, axis: int) -> bool:
    """True if the points are all pairs of a step, numbered by ``axis``, and a place of a box without gaps."""
    width, product = domain.dim(_SET), isl.Set.universe(domain.get_space())
    between = isl.Map("{ [x] -> [y] : x < y }")
    for at in range(width):
        values = _only(domain, at)
        if at != axis and not values.apply(between).intersect(values.apply(between.reverse())).is_subset(values):
            return False
        wide = values.insert_dims(_SET, 0, at).insert_dims(_SET, at + 1, width - at - 1)
        product = product.intersect(_named(wide, domain))
    return bool(product.is_equal(domain))


def _named(points: isl.Set, like: isl.Set) -> isl.Set:
    return points.set_tuple_id(like.get_tuple_id())


def _only(domain: isl.Set, at: int) -> isl.Set:
    """Return the values of one coordinate."""
    width = domain.dim(_SET)
    return domain.project_out(_SET, at + 1, width - at - 1).project_out(_SET, 0, at)


def at_all_steps(points: isl.UnionSet) -> isl.UnionSet:
    """Return the places of points at all numbers of the first coordinate."""
    sets: list[isl.Set] = []
    points.foreach_set(sets.append)
    found = isl.UnionSet("{ }")
    for item in sets:
        spread = _named(item.project_out(_SET, 0, 1).insert_dims(_SET, 0, 1), item)
        found = found.union(isl.UnionSet.from_set(spread))
    return found


def wrong_sides(
    box: Mapping[str, Any], domain: isl.Set, axis: int, counts: Callable[[isl.UnionSet], int], sizes: Mapping[str, int]
) -> Iterator[str]:
    """Yield the sides ``given`` as formulas that are not those of the box at ``sizes``, where there are instances."""
    if not counts(isl.UnionSet.from_set(domain)):
        return
    axes = [at for at in range(domain.dim(_SET)) if at != axis]
    for at, side in zip(axes, box["sides"], strict=True):
        number = counts(isl.UnionSet.from_set(_only(domain, at).set_tuple_name("side")))
        if not is_same(value_of(str(side), sizes), Fraction(number)):
            yield f"a side of the box is {side}, {number} are counted"


def allows(box: Mapping[str, Any], sizes: Mapping[str, int], places: Fraction) -> bool:
    """True if the inequality holds for sets with so many places of A + N at ``sizes``."""
    sides = [Fraction(value_of(str(side), sizes)) for side in box["sides"]]
    return places <= most_places(str(box["kind"]), sides)
