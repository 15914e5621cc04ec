"""Loops whose place follows from that of the others: those over the tiles of a tiled loop nest, and of one step.

Instances keep their identity without such an iterator, and bounds argue in the dimensions that are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import islpy as isl

from shorthaul.affine.effort import limited
from shorthaul.affine.tuning import REDUNDANT_LOOP_OPERATIONS

_SET = isl.dim_type.set
Item = TypeVar("Item", isl.Set, isl.Map)


def independent(domain: isl.Set) -> tuple[int, ...]:
    """Return the dimensions of ``domain`` that are left without those that are functions of the others.

    Outer dimensions are left out first.

    >>> independent(isl.Set("[n] -> { [ii, i] : 0 <= i < n and ii mod 8 = 0 and ii <= i < ii + 8 }"))
    (1,)
    >>> independent(isl.Set("[n] -> { [i, j] : 0 <= i < n and i <= j < n }"))
    (0, 1)
    """
    kept = list(range(domain.dim(_SET)))
    for at in range(len(kept)):
        fewer = [other for other in kept if other != at]
        if _injective(domain, fewer):
            kept = fewer
    return tuple(kept)


def _injective(domain: isl.Set, kept: Sequence[int]) -> bool:
    """True if no two points of ``domain`` agree in the dimensions ``kept``."""
    names = [f"x{at}" for at in range(domain.dim(_SET))]
    plain = domain.reset_tuple_id() if domain.has_tuple_id() else domain
    text = f"{{ [{', '.join(names)}] -> [{', '.join(names[at] for at in kept)}] }}"
    projection = isl.Map.read_from_str(isl.DEFAULT_CONTEXT, text).intersect_domain(plain)
    try:
        with limited(REDUNDANT_LOOP_OPERATIONS):
            return bool(projection.is_injective())
    except isl.Error:
        return False


def without(item: Item, kind: isl.dim_type, kept: Sequence[int]) -> Item:
    """Return a set or map without the dimensions of ``kind`` that are not in ``kept``; the tuple keeps its name."""
    name = item.get_tuple_name(kind) if isinstance(item, isl.Map) else item.get_tuple_name()
    result = item
    for at in reversed(range(item.dim(kind))):
        if at not in kept:
            result = result.project_out(kind, at, 1)
    if isinstance(result, isl.Map):
        return result.set_tuple_name(kind, name)
    return result.set_tuple_name(name)
