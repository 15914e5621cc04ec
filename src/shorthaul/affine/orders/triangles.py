"""The cost of triangular blocks: independent lines (a, b) whose ends share values by rows.

A block of m rows (:mod:`triangle_blocks`) has m (m - 1) / 2 lines with a > b, twice as many with those of a < b. What
a line computes for itself is kept for the panel. A value that all lines of a row use at one step of the other
coordinates, whether the row is their a or their b, is loaded once for every block that has the row: c <= n / m + g
times, with n the rows of the panel and g the most by which zones are larger than n / m.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import islpy as isl
import sympy

from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.lattices import without_holes
from shorthaul.affine.integer_sets.subspaces import exact
from shorthaul.affine.integer_sets.triangle_blocks import largest_gap, zone_size
from shorthaul.affine.orders.boxes.regions import union
from shorthaul.affine.orders.panels import Panels, is_private
from shorthaul.affine.orders.placement import Loops, Placement, Read, placement_map
from shorthaul.affine.orders.tile_policy import Counts
from shorthaul.affine.orders.tile_steps import Edge, edge_formula
from shorthaul.affine.orders.value_classes import Counted, ValueClass, value_classes
from shorthaul.affine.tuning import ZONE_SLACKS

Count = Callable[[Counted], Any]
_SET = isl.dim_type.set


@dataclass(frozen=True)
class Triangles:
    """Triangular blocks: ``kept`` classes stay with their lines, ``uses`` are loaded one by one.

    ``values`` of rows, of ``sets`` kinds, are counted once for each step and panel; ``rows`` are pairs of one of them
    and a row that its panel may have; ``extent`` are all rows. Lines are on one or both ``sides`` of the diagonal.
    """

    chosen: Panels
    order: Loops
    kept: tuple[ValueClass, ...]
    uses: Counted
    values: Counted
    rows: Counted
    extent: Counted
    sets: int
    sides: int
    counts: Counts

    def live(self, edge: Any) -> Any:
        """Return the words that blocks of ``edge`` rows need."""
        a, b = self.chosen.plane
        sizes = {a: edge * (edge - 1) * self.sides / 2, b: 1}
        total = 1 + self.sets * edge + len(self.uses)
        return total + sum(item.live(self.order, 0, sizes) for item in self.kept)

    def _panel(self, size: Any) -> dict[int, Any]:
        return {} if self.chosen.along is None else {self.chosen.along: size}

    @cached_property
    def edge(self) -> Edge:
        """The rows of a block as a function of S."""
        return edge_formula(sympy.Poly(sympy.expand(self.live(Edge.SYMBOL)), Edge.SYMBOL))

    def largest(self, capacity: int) -> int:
        """Return the most rows of a block that fit into ``capacity`` words, 0 if fewer than two do."""
        count = self.edge.capacity
        low, high = 1, capacity + 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if count.eval(middle) <= capacity else (low, middle)
        return low if low > 1 else 0

    def loads(self, edge: Any, panel: Any, gap: Any, count: Count) -> Any:
        """Return the loads with blocks of ``edge`` rows in panels of size ``panel``."""
        total = count(self.uses) + count(self.rows) * (1 / exact(edge)) + count(self.values) * gap
        return total + sum(item.loads(self.order, 0, self._panel(panel), count) for item in self.kept)

    def least_loads(self, edge: int, panel: int, rows: int, width: int, count: Count) -> Any:
        """Return the loads at given sizes; panels have at most ``rows`` rows, without panels they have all of them.

        ``width`` rows in sequence are always in one block.
        """
        if zone_size(rows, edge, width) == float("inf"):
            return float("inf")
        if self.chosen.along is None:
            gap = zone_size(rows, edge, width) - Fraction(rows, edge)
            return self.loads(edge, panel, gap, count)
        more = count(self.rows) * Fraction(1, edge)
        return min(
            self.loads(edge, panel, largest_gap(rows, edge, slack, width), count) + slack * more
            for slack in ZONE_SLACKS
        )

    def within_rows(self, zone: str) -> isl.Set:
        """Return the parameters for which a zone of ``zone`` rows is no larger than all rows."""
        moved = isl.Map(f"[{zone}] -> {{ [r] -> [r + {zone} - 1] : {zone} >= 1 }}")
        return self.extent[0].intersect(self.extent[0].apply(moved.reverse())).params()


def triangles(
    flow: DataFlow, placement: Placement, names: Sequence[str], late: Sequence[Read], chosen: Panels, counts: Counts
) -> Triangles | None:
    """Return triangular blocks for the reads ``late`` of the statements ``names``, or None if they have no use.

    They have one if rows share values at both ends of a line.
    """
    a, b = chosen.plane
    if not mirrored(late, placement, chosen.plane):
        return None
    lines = _coordinates(flow, placement, late)
    one_side = _all(lines, f"y{a} > y{b}") or _all(lines, f"y{a} < y{b}")
    own = [item for item in late if is_private(item, flow, placement, chosen.plane)]
    kept = list(value_classes(own, placement, frozenset(names), flow.program.parameters))
    uses: list[Read] = []
    rows: dict[object, list[Read]] = {}
    for item in (item for item in late if item not in own):
        kind = shared_by_rows(item, placement, chosen.plane)
        found = value_classes([item], placement, frozenset(), flow.program.parameters)[0]
        if found.regular and kind is not None:
            rows.setdefault(kind[0], []).append(item)
        elif found.regular and len(found.free) == found.width:
            kept.append(found)
        else:
            uses.append(item)
    if not rows:
        return None
    found_rows = row_ranges(lines, chosen)
    if found_rows is None:
        return None
    extent, ranges = found_rows
    values = [_points(members, flow, placement, chosen, None) for members in rows.values()]
    paired = [_points(members, flow, placement, chosen, ranges) for members in rows.values()]
    order = Loops((), (), _inner(chosen, len(placement[names[0]])))
    return Triangles(
        chosen,
        order,
        tuple(kept),
        tuple(item.domain for item in uses),
        tuple(values),
        tuple(paired),
        (extent,),
        len(rows),
        1 if one_side else 2,
        counts,
    )


def _inner(chosen: Panels, width: int) -> tuple[int, ...]:
    rest = [at for at in range(width) if at not in chosen.plane and at != chosen.along]
    return (*([] if chosen.along is None else [chosen.along]), *rest, *chosen.plane)


def shared_by_rows(read: Read, placement: Placement, plane: Sequence[int]) -> tuple[object, int] | None:
    """Return (what is loaded for a row at a step, the end of the line that is the row), None if lines do not share.

    Two reads with the same first entry load the same value for the same row at the same step.
    """
    rows = placement[read.sink]
    links = [read.anchor(row) for row in rows]
    ends = [at for at in plane if links[at] is not None]
    if len(ends) != 1:
        return None
    known = [links[ends[0]], *(item for at, item in enumerate(links) if at not in plane)]
    where = [None if item is None else (item[0], item[1].constant, item[1].parameters) for item in known]
    return (read.source, read.array if read.source is None else "", *where), ends[0]


def mirrored(reads: Sequence[Read], placement: Placement, plane: Sequence[int]) -> bool:
    """True if the same values are read by rows for both ends of lines."""
    ends: dict[object, set[int]] = {}
    for item in reads:
        kind = shared_by_rows(item, placement, plane)
        if kind is not None:
            ends.setdefault(kind[0], set()).add(kind[1])
    return any(len(found) == 2 for found in ends.values())


def _coordinates(flow: DataFlow, placement: Placement, reads: Sequence[Read]) -> isl.Set:
    """Return where the instances of ``reads`` are placed."""
    return union(item.domain.apply(_place(flow, placement, item.sink, None)) for item in reads)


def _place(flow: DataFlow, placement: Placement, name: str, only: Sequence[int] | None) -> isl.Map:
    rows = placement[name] if only is None else tuple(placement[name][at] for at in only)
    return placement_map(name, len(flow.program.by_name[name].iterators), rows, flow.program.parameters)


def _all(lines: isl.Set, condition: str) -> bool:
    return bool(lines.is_subset(_where(lines.dim(_SET), condition)))


def _where(width: int, condition: str) -> isl.Set:
    names = ", ".join(f"y{at}" for at in range(width))
    return isl.Set(f"{{ [{names}] : {condition} }}")


def row_ranges(lines: isl.Set, chosen: Panels) -> tuple[isl.Set, isl.Map] | None:
    """Return all rows, and k -> the rows that a panel with k may have, without holes; k is 0 without panels.

    None if a row of another step of the panel could lie outside of that range, or if the range has no end, as where
    one end of the lines is below a parameter and the other below another one.
    """
    width = lines.dim(_SET)
    names = ", ".join(f"y{at}" for at in range(width))
    both = None
    for end in chosen.plane:
        # with the coordinate that has to be apart: what is apart from k is apart from all steps of its panel
        apart = f"y{chosen.apart[0]}" if chosen.apart else "1"
        text = f"{{ [{names}] -> [{chosen.position}, {apart}, y{end}] }}"
        part = lines.apply(isl.Map(text))
        both = part if both is None else both.union(part)
    assert both is not None
    forget = isl.Map("{ [k, x, r] -> [[k] -> [r]] }")
    ranges = isl.Map.from_basic_map(both.apply(forget).unwrap().remove_divs().simple_hull())
    others = isl.Map("{ [k, x, r] -> [[l] -> [r]] : (x > k and x > l) or (x < k and x < l) }")
    steps = ranges.domain().product(ranges.range()).unwrap()
    if not ranges.wrap().is_bounded() or not both.apply(others).unwrap().intersect(steps).is_subset(ranges):
        return None
    extent = without_holes(both.project_out(_SET, 0, 2).coalesce())
    return extent, ranges


def _points(
    members: Sequence[Read], flow: DataFlow, placement: Placement, chosen: Panels, ranges: isl.Map | None
) -> isl.Set:
    """Return the values of rows by step, with ``ranges`` paired with every row that their panel may have."""
    result = None
    width = len(placement[members[0].sink])
    for read in members:
        free = [at for at in range(width) if at not in chosen.plane and read.anchor(placement[read.sink][at]) is None]
        function = read.function.set_tuple_name(isl.dim_type.out, "")
        image = function.flat_range_product(_place(flow, placement, read.sink, free))
        if ranges is not None:
            step = [] if chosen.along is None else [chosen.along]
            where = _place(flow, placement, read.sink, step)
            if step:
                moved = f"{{ [k] -> [k + {chosen.shift}] }}"
                where = where.apply_range(isl.Map(moved))
            else:
                where = where.apply_range(isl.Map("{ [] -> [0] }"))
            image = image.flat_range_product(where.apply_range(ranges))
        points = image.range()
        result = points if result is None else result.union(points)
    assert result is not None
    return without_holes(result.coalesce())
