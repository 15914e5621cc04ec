"""Lemmas that take the place of exponents, verified from certificates: hourglasses, and triangles read from both sides.

Steps, places and columns have to be what the lemma says, and one instance has to follow on another; of a triangle, the
statements lie on both sides of the diagonal, and what serves one instance serves the mirrored one of the other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import islpy as isl

from shorthaul.affine.check.data_flow import Reads
from shorthaul.affine.check.execution import fixed
from shorthaul.affine.check.formulas import Number, as_decimal, combined, floor, is_same, power, value_of
from shorthaul.affine.check.lifetime_argument import follows
from shorthaul.affine.check.partition_argument import Argument, Part
from shorthaul.affine.check.subspaces import spanned


def wrong_neck(item: Argument, reads: Reads) -> Iterator[str]:
    """Yield what does not hold of an argument by the lemma on hourglasses, for all sizes."""
    neck, (part,) = item.given["hourglass"], item.parts
    time, stride = int(neck["time"]), int(neck["stride"])
    places, columns = (list(map(int, neck[name])) for name in ("places", "columns"))
    if sorted([time, *places, *columns]) != list(range(item.width)) or not places or not columns or abs(stride) != 1:
        yield "the coordinates are not those of steps, places and columns"
    unit = [[int(a == b) for b in range(item.width)] for a in range(item.width)]
    if item.kernels != (spanned([unit[time]]), spanned([unit[at] for at in columns])) or item.folds != (1, 1):
        yield "the families are not those of places and columns, and of steps and places"
    if part.order != tuple(range(item.width)) or item.given["cliques"] != [[0, 1]]:
        yield "the families are not added"
    domain = part.domain
    product = domain.apply(_equal(item, places)).intersect(domain.apply(_equal(item, [time, *columns])))
    if not product.is_subset(domain):
        yield "the instances are no product of places with steps and columns"
    later = _equal(item, [*places, *columns], f"y{time} > x{time}")
    if not domain.apply(later).intersect(domain.apply(later.reverse())).is_subset(domain):
        yield "a column is left out in a step between two others"
    after = _equal(item, columns, f"y{time} = x{time} + {stride}").intersect_domain(domain).intersect_range(domain)
    ancestors = isl.UnionMap(str(neck["ancestors"]))
    if not follows(ancestors, reads.all) or not isl.UnionMap.from_map(after.reverse()).is_subset(ancestors):
        yield "an instance is no descendant of its whole column one step before"


def _equal(item: Argument, coordinates: Sequence[int], where: str = "true") -> isl.Map:
    """Return the pairs of instances with some equal coordinates."""
    name = item.parts[0].statement
    x, y = (", ".join(f"{letter}{at}" for at in range(item.width)) for letter in "xy")
    same = " and ".join([*(f"x{at} = y{at}" for at in coordinates), where])
    return isl.Map(f"{{ {name}[{x}] -> {name}[{y}] : {same} }}")


def wrong_width(item: Argument, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield if there are not as many places as the certificate says."""
    neck = item.given["hourglass"]
    alone = fixed(item.parts[0].domain, sizes)
    for at in reversed(range(item.width)):
        if at not in neck["places"]:
            alone = alone.project_out(isl.dim_type.set, at, 1)
    places = int(alone.count_val().to_python())
    if not is_same(value_of(str(neck["width"]), sizes), Fraction(places)):
        yield f"{places} places are counted, not {neck['width']}"


def most_by_columns(item: Argument, sizes: Mapping[str, int], events: Fraction) -> Number:
    """Return U: the most instances in one segment of so many events."""
    width = value_of(str(item.given["hourglass"]["width"]), sizes)
    if not isinstance(width, Fraction):
        return as_decimal(width)
    K = sizes["S"] + events
    return (K + 2 * width) ** 2 / (4 * max(width, Fraction(1)))


# -- one triangle read from both sides


def _mirrored_axes(item: Argument) -> tuple[int, int, int, int] | None:
    """Return the coordinates o and b, the family of the chains and that of the triangle; None where they are not."""
    unit = [[int(a == b) for b in range(3)] for a in range(3)]
    if item.width != 3 or len(item.parts) != 2 or sorted(item.folds) != [1, 1, 2] or sum(item.chains) != 1:
        return None
    if sorted(item.kernels) != sorted(spanned([row]) for row in unit):
        return None
    axes = [next(at for at in range(3) if kernel == spanned([unit[at]])) for kernel in item.kernels]
    chain, shared = item.chains.index(True), item.folds.index(2)
    if chain == shared:
        return None
    return axes[3 - chain - shared], axes[chain], chain, shared


def wrong_mirror(item: Argument) -> Iterator[str]:
    """Yield what does not hold of two statements that read one triangle from both sides, for all sizes."""
    axes = _mirrored_axes(item)
    if axes is None or item.given["cliques"] != [[0, 1, 2]] or any(len(f) > 1 for p in item.parts for f in p.families):
        yield "the families are not chains, one triangle and what both share"
        return
    o, b, chain, shared = axes
    rows = [[int(at == axis) for at in range(3)] for axis in (o, b)]
    sides = ["{ [o, b] : o < b }", "{ [o, b] : o > b }"]
    images = [part.placed(rows).range() for part in item.parts]
    if not any(
        all(image.is_subset(isl.UnionSet(side)) for image, side in zip(images, order, strict=True))
        for order in (sides, sides[::-1])
    ):
        yield "the statements are not on both sides of the diagonal"
    first, second = (part.families[shared][0].reverse().apply_range(part.placed(rows)) for part in item.parts)
    if not first.reverse().apply_range(second).is_subset(isl.UnionMap("{ [o, b] -> [b, o] }")):
        yield "a vertex of the triangle does not serve mirrored instances"
    if not item.parts[0].vertices(chain).intersect(item.parts[1].vertices(chain)).is_empty():
        yield "the chains of the two statements have common vertices"
    for part in item.parts:
        basics = part.domain.coalesce().get_basic_sets()
        if len(basics) != 1 or basics[0].dim(isl.dim_type.div):
            yield f"the instances of {part.statement} are not convex"
        if not any(_one_step(part, part.order[b], by).is_subset(part.families[chain][0]) for by in (-1, 1)):
            yield f"the chains of {part.statement} do not go on by one"


def _one_step(part: Part, axis: int, by: int) -> isl.UnionMap:
    """Return instance -> instance one further along a loop."""
    x = [f"x{at}" for at in range(3)]
    y = [f"{name} + {by}" if at == axis else name for at, name in enumerate(x)]
    move = isl.UnionMap(f"{{ {part.statement}[{', '.join(x)}] -> {part.statement}[{', '.join(y)}] }}")
    return move.intersect_domain(part.points).intersect_range(part.points)


def weight_of_mirrored(item: Argument, sizes: Mapping[str, int], events: Fraction) -> Number:
    """Return the weight of all instances: 1 away from the diagonal, sqrt(3)/2 near it."""
    axes = _mirrored_axes(item)
    if axes is None:
        return Fraction(0)
    o, b, _, _ = axes
    width = -floor(-combined(ast.Mult, Fraction(9, 4), power((sizes["S"] + events) / 3, Fraction(1, 2))))
    far = near = 0
    for part in item.parts:
        points: list[isl.Point] = []
        fixed(part.domain, sizes).foreach_point(points.append)
        for point in points:
            places = (point.get_coordinate_val(isl.dim_type.set, part.order[at]).to_python() for at in (o, b))
            distance = abs(next(places) - next(places))
            far, near = (far + 1, near) if distance >= width else (far, near + 1)
    half = combined(ast.Mult, power(Fraction(3), Fraction(1, 2)), Fraction(near, 2))
    return combined(ast.Add, Fraction(far), half)
