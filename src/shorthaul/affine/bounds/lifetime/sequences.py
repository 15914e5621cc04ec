"""Intervals of time one after the other: which of those that begin at the events of a line end before others begin.

Where the domain has a gap, the events behind it need not follow from those before it. Both sides may then be played at
the same time, and one load may serve both. So the order is taken from ancestors: interval (b, b'] ends before the one
that begins at c if b' is c or an ancestor of c, or if it ends before another one that does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl


def in_sequence(
    pairs: isl.UnionMap, exists: isl.UnionMap, axis: int, line: Sequence[int], length: int = 1
) -> tuple[isl.UnionMap, isl.UnionMap]:
    """Return event -> events of its line whose intervals end before its own begins, and those that may overlap it.

    ``pairs``: event at which an interval begins -> event at which it ends, ``length`` further along ``axis``; events
    that are no multiple of that apart are not compared. ``exists``: event -> ancestors.
    """
    events = pairs.domain()
    if events.is_empty():
        return pairs, pairs
    before = _along(events, line, f"y{axis} < x{axis} and (x{axis} - y{axis}) mod {length} = 0")
    ends = exists.union(pairs.range().identity()).intersect_domain(events)
    ended = ends.apply_range(pairs.reverse()).intersect(before)
    gaps = before.subtract(ended.union(before.apply_range(ended)))
    if gaps.is_empty():
        return before, gaps
    reach = before.union(events.identity())
    # what lies on both sides of a gap: without it, each pair follows from pairs that are left
    across = reach.apply_range(gaps).apply_range(reach).coalesce()
    return before.subtract(across).coalesce(), across


def sides(pairs: isl.UnionMap, exists: isl.UnionMap, axis: int, line: Sequence[int]) -> Iterator[isl.UnionMap]:
    """Yield the intervals of all events, and where these have gaps those before the first one and behind the last."""
    yield pairs
    _, across = in_sequence(pairs, exists, axis, line)
    if not across.is_empty():
        for some in (across.range(), across.domain()):
            yield pairs.subtract_domain(some)


def sharing_in_sequence(
    vertices: isl.UnionMap, order: isl.UnionMap, axis: int, line: Sequence[int], length: int
) -> bool:
    """True if intervals that share a vertex are of one line, and in ``order`` or no multiple of ``length`` apart.

    The intervals of a line fall into ``length`` classes, and a load is in one of each class at most.
    """
    if vertices.reverse().is_single_valued():
        return True
    sharing = vertices.apply_range(vertices.reverse())
    sharing = sharing.subtract(sharing.domain().identity())
    if length > 1:
        sharing = sharing.subtract(_along(vertices.domain(), line, f"(x{axis} - y{axis}) mod {length} != 0"))
    return bool(sharing.is_subset(order.union(order.reverse())))


def _along(events: isl.UnionSet, line: Sequence[int], where: str) -> isl.UnionMap:
    """Return the pairs x -> y of events of a statement that are on one line, and where the condition holds."""
    sets: list[isl.Set] = []
    events.foreach_set(sets.append)
    x, y = ([f"{letter}{at}" for at in range(sets[0].dim(isl.dim_type.set))] for letter in "xy")
    name = sets[0].get_tuple_name()
    conditions = " and ".join([*(f"x{at} = y{at}" for at in line), where])
    text = f"{{ {name}[{', '.join(x)}] -> {name}[{', '.join(y)}] : {conditions} }}"
    pairs = isl.UnionMap(text)
    return pairs.intersect_domain(events).intersect_range(events)
