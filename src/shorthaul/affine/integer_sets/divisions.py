"""Sets and maps without the divisions that loops over tiles leave behind and that say nothing."""

from __future__ import annotations

from typing import TypeVar

import islpy as isl

Item = TypeVar("Item", isl.Set, isl.Map)


def has_divisions(item: isl.Set | isl.Map) -> bool:
    """Return whether a division or remainder occurs in a set or map."""
    return any(basic.dim(isl.dim_type.div) for basic in _pieces(item))


def without_divisions(item: Item, known: Item) -> Item:
    """Return ``item``, a part of ``known``, without divisions where these change nothing.

    Of x = 8 t + r with 0 <= r < 8 nothing is left for x. Constraints with divisions are dropped; that makes a larger
    set, which is the same one if it is a part of ``item``.

    >>> tiles = isl.Set("[n] -> { A[i] : exists (t : 2 t <= i < 2 t + 2 and 0 <= t and i < n) }")
    >>> without_divisions(tiles, isl.Set("[n] -> { A[i] }"))
    Set("[n] -> { A[i] : 0 <= i < n }")
    """
    if not has_divisions(item):
        return item
    whole = isl.Map.from_basic_map if isinstance(item, isl.Map) else isl.Set.from_basic_set
    union, *others = (whole(basic.remove_divs()) for basic in _pieces(item))
    for other in others:
        union = union.union(other)
    for larger in (whole(union.simple_hull()), union):
        made = larger.intersect(known).coalesce()
        if made.is_subset(item):
            return made
    return item


def _pieces(item: isl.Set | isl.Map) -> list[isl.BasicSet] | list[isl.BasicMap]:
    found: list[isl.BasicSet] | list[isl.BasicMap]
    found = item.get_basic_maps() if isinstance(item, isl.Map) else item.get_basic_sets()
    return found
