"""Inputs that one statement visits by rows and another one by columns, held from one visit to the other.

Where a loop passes row c and column c of a matrix together, element (i, j) is visited at c = i and at c = j. What is
left of the memory holds it between, for as many elements as there is room for: those whose visits are nearest.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product

import islpy as isl
import numpy as np

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.integer_sets.points import points
from shorthaul.affine.orders.boxes.cells import BEFORE, Cells
from shorthaul.affine.orders.boxes.regions import IntArray
from shorthaul.affine.orders.boxes.steps import Between, BoxStep
from shorthaul.affine.tuning import MOST_CROSSING, POINT_STEPS


@dataclass(frozen=True)
class _Visits:
    """Where the elements of a matrix are visited for the first and for the last time, in so many steps."""

    array: str
    first: IntArray
    last: IntArray
    steps: int

    def saved(self, wait: int) -> int:
        """Return the loads that are saved where what waits no longer than ``wait`` is held."""
        return self.steps * int(np.count_nonzero(self.last - self.first <= wait))

    def held(self, wait: int, end: int) -> IntArray:
        """Return how many elements are held at every place before ``end``."""
        near = self.last - self.first <= wait
        come = np.bincount(self.first[near], minlength=end + 1)
        go = np.bincount(self.last[near] + 1, minlength=end + 2)[: end + 1]
        return np.cumsum(come - go)


def with_crossings(step: BoxStep, along: int) -> BoxStep:
    """Return boxes of one value of the loop ``along`` with as many inputs as there is room for held between visits."""
    box = step.box
    if len(step.boxes) > 1 or step.spilled or box.loops != (0, along) or box.edges != (1, 1):
        return step
    found = list(_visits(step, along))
    room = step.capacities[0] - step.room
    if not found or room <= 0:
        return step

    def most(wait: int) -> int:
        return int(np.sum([item.held(wait, step.extents[along]) for item in found], axis=0).max())

    wait = bisect_right(range(1, step.extents[along]), room, key=most)
    saved = {item.array: item.saved(wait) for item in found}
    return replace(step, between=Between(tuple(saved.items()), most(wait))) if wait else step


def _visits(step: BoxStep, along: int) -> Iterator[_Visits]:
    """Yield what two groups of one input visit in every step, at different places of a coordinate."""
    used = set[int]()
    for a, b in combinations(range(len(step.cells)), 2):
        one, other = step.cells[a], step.cells[b]
        if (
            one.name != other.name
            or not used.isdisjoint({a, b})
            or not all(map(_is_matrix, (one, other), (along,) * 2))
        ):
            continue
        effort.step()
        places = [_where(step, item) for item in (one, other)]
        if any(step.loads_of(item) < card(where).at({}) for item, where in zip((one, other), places, strict=True)):
            continue  # some of these visits load nothing as it is
        found = _in_every_step(places)
        if found is None:
            continue
        steps, inside = found
        mine = [
            _elements(item, where, along, step.box.first[along])
            for item, where in zip((one, other), inside, strict=True)
        ]
        both = mine[0].flat_range_product(mine[1]).wrap().flatten()
        count = card(both).at({})
        if not 0 < count <= MOST_CROSSING:
            continue
        effort.step(count * POINT_STEPS)
        visits = points(both, {})[:, -2:]
        first, last = visits.min(axis=1), visits.max(axis=1)
        apart = first < last
        used |= {a, b}
        yield _Visits(one.array, first[apart], last[apart], steps)


def _is_matrix(cells: Cells, along: int) -> bool:
    """True if cells are there before a step, which visits each of them at one place of the loop ``along``."""
    plain = cells.source in (None, BEFORE) and not (cells.fresh or any(cells.spread) or cells.among)
    return plain and cells.is_injective and along in cells.loops and not any(row[0] for row, _ in _rows(cells))


def _rows(cells: Cells) -> list[tuple[tuple[int, ...], int]]:
    """Return the subscripts with their constants, without the number of the step."""
    return [(row, low) for row, low in zip(cells.factors, cells.least, strict=True) if any(row[1:])]


def _where(step: BoxStep, cells: Cells) -> isl.Set:
    """Return where a group is accessed, in the coordinates."""
    names = [f"c{at}" for at in range(len(step.extents))]
    pairs = zip(names, step.box.first, step.extents, strict=True)
    inside = " and ".join(f"{low} <= {name} < {low + extent}" for name, low, extent in pairs)
    parts = []
    for item in cells.where:
        lines = (f"{_sum(line[:-1], names, line[-1])} >= 0" for line in item.constraints)
        parts.append(f"[{', '.join(names)}] : {' and '.join((inside, *lines))}")
    return isl.Set(f"{{ {'; '.join(parts)} }}").coalesce()


def _sum(factors: tuple[int, ...], names: list[str], constant: int) -> str:
    return " + ".join([*(f"{factor} {name}" for factor, name in zip(factors, names, strict=True)), str(constant)])


def _in_every_step(places: list[isl.Set]) -> tuple[int, list[isl.Set]] | None:
    """Return a number of steps, and the places in every one of them; all steps, or not the outermost."""
    low = max(item.dim_min_val(0).to_python() for item in places)
    high = min(item.dim_max_val(0).to_python() for item in places)
    for less, fewer in sorted(product(range(2), repeat=2), key=sum):
        first, last = low + less, high - fewer
        if first > last:
            continue
        within = isl.Set(f"{{ [s] : {first} <= s <= {last} }}")
        cut = [item.intersect(within.add_dims(isl.dim_type.set, item.dim(isl.dim_type.set) - 1)) for item in places]
        rest = [item.project_out(isl.dim_type.set, 0, 1) for item in cut]
        if all(within.flat_product(one).is_equal(item) for one, item in zip(rest, cut, strict=True)):
            return last - first + 1, rest
    return None


def _elements(cells: Cells, where: isl.Set, along: int, first: int) -> isl.Map:
    """Return the elements accessed at places without their step, each with its place along a loop, from 0 on."""
    names = [f"c{at}" for at in range(1, 1 + where.dim(isl.dim_type.set))]
    rows = [_sum(row[1:], names, low) for row, low in _rows(cells)]
    inner = isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(rows)}] }}")
    place = isl.Map(f"{{ [{', '.join(names)}] -> [c{along} - {first}] }}")
    return inner.intersect_domain(where).reverse().apply_range(place)
