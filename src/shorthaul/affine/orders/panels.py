"""Panels: inside of a panel of one coordinate, what lies outside of the panel is a set of independent lines.

Coordinate k is cut into panels of B. For chosen coordinates x, an instance is *apart* in x if its x lies in another
panel of the same grid than its k; it is *late* if it is apart in all of them. In every panel the instances run in
increasing order of what they are apart in, the late ones last. Let y -> y' be a dependence inside of a panel. If x
differs between the two only where y_k <= x(y) <= y'_k, then y is not apart in x there: nothing apart comes before
something that is not, so the order is legal. If a and b (the *plane*) differ only where some x(y) is between y_k and
y'_k, the late lines of fixed (a, b) do not depend on each other. That is right-looking factorisation (x: the column),
and the blocked algorithm of Floyd and Warshall (x: row and column). Without k all instances are late.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import islpy as isl

from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.signs import Signs
from shorthaul.affine.orders.placement import Placement, Read, placement_map


@dataclass(frozen=True, slots=True)
class Panels:
    """``plane``: the coordinates of independent lines; ``along``: the coordinate cut into panels, None for one panel.

    ``apart`` are the coordinates whose panel has to differ for an instance to be late; panels are cut where the
    coordinate ``along`` plus ``shift`` passes the grid of the others.
    """

    plane: tuple[int, int]
    along: int | None = None
    apart: tuple[int, ...] = ()
    shift: int = 0

    @property
    def position(self) -> str:
        """The coordinate along which panels follow each other, in coordinates y0, y1, ...; 0 if there are none."""
        return "0" if self.along is None else f"(y{self.along} + {self.shift})"


class Distances:
    """The dependences among placed statements as maps between coordinates."""

    def __init__(self, flow: DataFlow, placement: Placement) -> None:
        self.width = len(next(iter(placement.values())))
        self.maps: list[isl.Map] = []
        program = flow.program
        for item in flow.flows:
            if item.source is not None and item.source in placement and item.sink in placement:
                ends = [
                    placement_map(name, len(program.by_name[name].iterators), placement[name], program.parameters)
                    for name in (item.source, item.sink)
                ]
                self.maps.append(item.relation.apply_domain(ends[0]).apply_range(ends[1]))

    def where(self, condition: str) -> isl.Map:
        """Return the pairs of coordinates x0, x1, ... and y0, y1, ... with ``condition``."""
        x, y = (", ".join(f"{letter}{at}" for at in range(self.width)) for letter in "xy")
        return isl.Map(f"{{ [{x}] -> [{y}] : {condition} }}")

    def inside(self, given: str, allowed: str) -> bool:
        """True if every dependence with the condition ``given`` has the condition ``allowed``."""
        left, right = self.where(given), self.where(allowed)
        return all(bool(item.intersect(left).is_subset(right)) for item in self.maps)


def panels(flow: DataFlow, placement: Placement, planes: Sequence[tuple[int, int]]) -> Iterator[Panels]:
    """Return the legal choices with one of ``planes``, those without panels first."""
    found = Distances(flow, placement)
    yield from (Panels(plane) for plane in planes if _independent(found, plane, "false"))
    for plane in planes:
        for along in set(range(found.width)) - set(plane):
            if not found.inside("true", f"y{along} >= x{along}"):
                continue
            for count in (1, 2):
                for apart in combinations(plane, count):
                    yield from _shifted(found, plane, along, apart)


def _shifted(found: Distances, plane: tuple[int, int], along: int, apart: tuple[int, ...]) -> Iterator[Panels]:
    """Return the panels with the first shift that is legal, if one is."""
    for shift in (0, 1, -1):
        near = {at: f"x{along} + {shift} <= x{at} <= y{along} + {shift}" for at in apart}
        keeps = all(found.inside(f"x{at} != y{at}", near[at]) for at in apart)
        if keeps and _independent(found, plane, " or ".join(near.values())):
            yield Panels(plane, along, apart, shift)
            return


def _independent(found: Distances, plane: Sequence[int], unless: str) -> bool:
    a, b = plane
    return found.inside(f"x{a} != y{a} or x{b} != y{b}", unless)


def line_signs(signs: frozenset[Signs], plane: Sequence[int]) -> frozenset[Signs]:
    """Return the signs of distances within a line."""
    return frozenset(item for item in signs if not any(item[at] for at in plane))


def restricted(read: Read, flow: DataFlow, placement: Placement, where: isl.Set) -> Read | None:
    """Return ``read`` for the instances placed in ``where``; None if there are none."""
    rows = placement[read.sink]
    program = flow.program
    place = placement_map(read.sink, len(program.by_name[read.sink].iterators), rows, program.parameters)
    kept = read.function.intersect_domain(place.intersect_range(where).domain()).coalesce()
    return None if kept.is_empty() else replace(read, function=kept, domain=kept.domain())


def is_private(read: Read, flow: DataFlow, placement: Placement, plane: Sequence[int]) -> bool:
    """True if the value is computed on the line of the instance that reads it."""
    if read.source is None or read.source not in placement or read.rows is None:
        return False
    program = flow.program
    ends = [
        placement_map(name, len(program.by_name[name].iterators), placement[name], program.parameters)
        for name in (read.source, read.sink)
    ]
    steps = read.function.apply_range(ends[0]).reverse().apply_range(ends[1]).deltas()
    return all(bool(steps.is_subset(_still(steps.dim(isl.dim_type.set), at))) for at in plane)


def _still(width: int, at: int) -> isl.Set:
    names = ", ".join(f"x{k}" for k in range(width))
    return isl.Set(f"{{ [{names}] : x{at} = 0 }}")
