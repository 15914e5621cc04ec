"""Tiles of unequal edges in every loop, for given sizes: boxes whose memory cells are held, for any affine access.

In an order that keeps all dependences through memory every cell holds one value at a time, so cells are counted, not
values. A box of edges t touches at most F(t) cells of a group of accesses with one linear part: in every subscript
the sum of |factor| (t - 1), and 1, and how far their constants are apart. While a box runs, all its cells are held.
All cells between the outermost ones are, used or not, unless no two points of the loops share a cell. Let p be the
innermost loop over boxes on which a group depends: along p a cell that has left a box does not come back, so a whole
run of p loads F with t_p as long as the loop, and loops further in load nothing. Cells whose first access in the phase
is a write are loaded at every visit but the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import prod

import islpy as isl
import numpy as np
import numpy.typing as npt
import sympy

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.integer_sets.dependences import Conflicts, DataFlow, accesses_of
from shorthaul.affine.orders.placement import (
    Placement,
    Row,
    Signs,
    function_rows,
    integer_solution,
    placement_map,
    signs_of,
)
from shorthaul.affine.orders.tile_policy import Counts, Phase
from shorthaul.affine.orders.tile_steps import Edge, Step
from shorthaul.affine.tuning import MOST_BOX_ROUNDS

FloatArray = npt.NDArray[np.float64]
_SET = isl.dim_type.set


@dataclass(frozen=True)
class Cells:
    """Accesses with one linear part: ``factors`` per subscript and coordinate, ``spread`` of their constants.

    ``fresh`` tells that the first access to every cell is a write.
    """

    array: str
    factors: tuple[tuple[int, ...], ...]
    spread: tuple[int, ...]
    fresh: bool

    @cached_property
    def loops(self) -> frozenset[int]:
        """The coordinates that matter."""
        return frozenset(at for row in self.factors for at, factor in enumerate(row) if factor)

    def count(self, edges: Sequence[FloatArray] | Sequence[int]) -> FloatArray | int:
        """Return F: the most cells held in a box of these edges."""
        total: FloatArray | int = 1
        for row, spread in zip(self.factors, self.spread, strict=True):
            total = total * sum((abs(factor) * (edges[at] - 1) for at, factor in enumerate(row) if factor), 1 + spread)
        return np.minimum(total, prod(edges[at] for at in self.loops)) if self.is_injective else total

    @cached_property
    def is_injective(self) -> bool:
        """True if there is one cell for every point of the loops that matter: boxes share none then.

        Otherwise a cell may come back after boxes without it, so all cells between the outermost ones are held.
        """
        rank = np.linalg.matrix_rank(np.array(self.factors)) if self.loops else 0
        return not self.fresh and not any(self.spread) and int(rank) == len(self.loops)


@dataclass(frozen=True)
class Box:
    """Loops over boxes, outermost first, with their edges; coordinates begin at ``first``. Inside: program order."""

    loops: tuple[int, ...]
    edges: tuple[int, ...]
    first: tuple[int, ...]


@dataclass(frozen=True)
class BoxStep:
    """One phase in boxes that were searched at given sizes; ``plain`` is the phase for all sizes."""

    plain: Step
    box: Box
    cells: tuple[Cells, ...]
    extents: tuple[int, ...]
    sizes: Mapping[str, int]

    @property
    def names(self) -> tuple[str, ...]:
        """The statements."""
        return self.plain.names

    @property
    def phase(self) -> Phase | None:
        """The statements in their space."""
        return self.plain.phase

    @property
    def counts(self) -> Counts:
        """What counts its instances."""
        return self.plain.counts

    @property
    def edges(self) -> tuple[Edge, ...]:
        """No edge is a function of S."""
        return ()

    @property
    def rate(self) -> float:
        """The loads at its sizes: there is no other place where it could be compared."""
        return self.loads(self.sizes, self.sizes["S"])

    @property
    def uses_of(self) -> dict[str, float]:
        """How often values are used (see :class:`Step`)."""
        return self.plain.uses_of

    def formula(self, names: Mapping[Edge, sympy.Symbol]) -> sympy.Expr:  # noqa: ARG002
        """Return the loads at its sizes."""
        return sympy.Integer(int(self.rate))

    def loads(self, sizes: Mapping[str, int], capacity: int) -> float:  # noqa: ARG002
        """Return the loads at the sizes for which the box was searched."""
        return float(sum(self._loads(item) for item in self.cells))

    def loads_bytes(
        self,
        sizes: Mapping[str, int],  # noqa: ARG002
        capacity: int,  # noqa: ARG002
        widths: Mapping[str, int],
    ) -> float:
        """Return the bytes at the sizes for which the box was searched."""
        return float(sum(widths[item.array] * self._loads(item) for item in self.cells))

    def _loads(self, cells: Cells) -> int:
        last = max((at for at, loop in enumerate(self.box.loops) if loop in cells.loops), default=-1)
        edges = list(self.extents)
        for loop, edge in zip(self.box.loops, self.box.edges, strict=True):
            edges[loop] = edge
        outside = self.box.loops[: max(last, 0)]
        if last >= 0:
            edges[self.box.loops[last]] = self.extents[self.box.loops[last]]
        total = 0
        for parts in product(*(_parts(self.extents[loop], edges[loop]) for loop in outside)):
            here = list(edges)
            for loop, (edge, _) in zip(outside, parts, strict=True):
                here[loop] = edge
            total += prod(times for _, times in parts) * int(cells.count(here))
        return total - (int(cells.count(self.extents)) if cells.fresh else 0)


def _parts(extent: int, edge: int) -> list[tuple[int, int]]:
    """Return (edge, how many) of the boxes along one loop."""
    return [(size, times) for size, times in ((edge, extent // edge), (extent % edge, 1)) if size and times]


@dataclass(frozen=True)
class WholeStep:
    """Everything in program order, all of it kept: every input is loaded once. Holds at the given sizes only."""

    plain: Step
    inputs: Mapping[str, int]
    phase: None = None
    edges: tuple[Edge, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The statements."""
        return self.plain.names

    @property
    def counts(self) -> Counts:
        """What counts its instances."""
        return self.plain.counts

    @property
    def rate(self) -> float:
        """The loads at its sizes."""
        return float(sum(self.inputs.values()))

    @property
    def uses_of(self) -> dict[str, float]:
        """How often values are used (see :class:`Step`)."""
        return self.plain.uses_of

    def formula(self, names: Mapping[Edge, sympy.Symbol]) -> sympy.Expr:  # noqa: ARG002
        """Return the loads at its sizes."""
        return sympy.Integer(int(self.rate))

    def loads(self, sizes: Mapping[str, int], capacity: int) -> float:  # noqa: ARG002
        """Return the loads at its sizes."""
        return self.rate

    def loads_bytes(
        self,
        sizes: Mapping[str, int],  # noqa: ARG002
        capacity: int,  # noqa: ARG002
        widths: Mapping[str, int],
    ) -> float:
        """Return the bytes at its sizes."""
        return float(sum(widths[name] * count for name, count in self.inputs.items()))


def whole(flow: DataFlow, plain: Step, sizes: Mapping[str, int]) -> WholeStep | None:
    """Return the whole program, ``plain``, with all its memory kept; None where that does not fit into S."""
    touched: dict[str, isl.Set] = {}
    for item in accesses_of(flow.program):
        cells = item.relation.range()
        touched[item.array] = touched[item.array].union(cells) if item.array in touched else cells
    if sum(card(cells).at(sizes) for cells in touched.values()) >= sizes["S"]:
        return None
    return WholeStep(plain, {name: card(cells).at(sizes) for name, cells in flow.inputs.items()})


def boxed(flow: DataFlow, step: Step, conflicts: Conflicts, sizes: Mapping[str, int]) -> BoxStep | None:
    """Return ``step`` in the best boxes found at ``sizes`` (every parameter, and S), None if it has none."""
    if step.phase is None:
        return None
    placement = step.phase.placement
    space = _ranges(flow, placement, sizes)
    cells = None if space is None else _cells(flow, step, placement, sizes)
    if space is None or cells is None:
        return None
    first, extents = space
    signs = _signs(conflicts, placement)
    best: tuple[float, Box] | None = None
    for outer, tiled in _tileable(signs, len(extents)):
        effort.step()
        found = _Search(cells, extents, outer, tiled, sizes["S"]).best()
        if found is not None and (best is None or found[0] < best[0]):
            best = found[0], Box(found[1], found[2], first)
    return None if best is None else BoxStep(step, best[1], cells, extents, sizes)


def _ranges(
    flow: DataFlow, placement: Placement, sizes: Mapping[str, int]
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the least value and the extent of every coordinate; None where nothing is executed."""
    program, whole = flow.program, None
    for name, rows in placement.items():
        statement = program.by_name[name]
        place = placement_map(name, len(statement.iterators), rows, program.parameters)
        image = statement.domain.apply(place)
        for parameter in program.parameters:
            at = image.find_dim_by_name(isl.dim_type.param, parameter)
            if at >= 0:
                image = image.fix_val(isl.dim_type.param, at, isl.Val(sizes[parameter]))
        whole = image if whole is None else whole.union(image)
    if whole is None or whole.is_empty():
        return None
    ends = [(whole.dim_min_val(at).to_python(), whole.dim_max_val(at).to_python()) for at in range(whole.dim(_SET))]
    return tuple(low for low, _ in ends), tuple(high - low + 1 for low, high in ends)


def _cells(flow: DataFlow, step: Step, placement: Placement, sizes: Mapping[str, int]) -> tuple[Cells, ...] | None:
    """Return the groups of everything that is read; None where an access has no affine form in the coordinates.

    Values of other phases are counted one by one: they need not have a cell each while this phase is executed.
    """
    own = {(use.sink, use.array) for use in step.reads if use.source is None or use.source in step.names}
    arrays = {array for _, array in own}
    inputs = {use.array for use in step.reads if use.source is None}
    found: dict[tuple[str, str | None, tuple[tuple[int, ...], ...]], list[tuple[int, ...]]] = {}

    def note(array: str, source: str | None, sink: str, rows: Sequence[Row] | None) -> bool:
        lines = None if rows is None else _in_coordinates(rows, placement[sink], sizes)
        if lines is not None:
            key = array, source, tuple(line.factors for line in lines)
            found.setdefault(key, []).append(tuple(line.constant for line in lines))
        return lines is not None

    for name in step.names:
        statement = flow.program.by_name[name]
        reads = [item for item in statement.reads if (name, item.array) in own]
        for item in (*reads, *([statement.write] if statement.write.array in arrays else [])):
            if not note(item.array, None, name, function_rows(item.relation)):
                return None
    for use in step.reads:
        is_foreign = use.source is not None and use.source not in step.names
        if is_foreign and not note(use.array, use.source, use.sink, use.rows):
            return None
    result = []
    for (array, source, factors), constants in found.items():
        spread = tuple(max(values) - min(values) for values in zip(*constants, strict=True))
        groups = sum((array, source) == known[:2] for known in found)
        fresh = source is None and array not in inputs and groups == 1
        result.append(Cells(array, factors, spread, fresh))
    return tuple(result)


def _in_coordinates(own: Sequence[Row], rows: Sequence[Row], sizes: Mapping[str, int]) -> list[Row] | None:
    """Return functions of the iterators as functions of the coordinates, parameters as numbers."""
    result = []
    for row in own:
        weights = integer_solution(tuple(line.factors for line in rows), row.factors) if rows else ()
        if weights is None:
            return None
        constant = row.constant + sum(factor * sizes[name] for name, factor in row.parameters)
        for weight, line in zip(weights, rows, strict=True):
            constant -= weight * (line.constant + sum(factor * sizes[name] for name, factor in line.parameters))
        result.append(Row(weights, (), constant))
    return result


def _signs(conflicts: Conflicts, placement: Placement) -> frozenset[Signs]:
    """Return the signs of distances between instances that share memory, one of them writing."""
    program = conflicts.program
    result: set[Signs] = set()
    for first, second in product(placement, repeat=2):
        for _, _, pairs in conflicts.between(first, second):
            ends = [
                placement_map(name, len(program.by_name[name].iterators), placement[name], program.parameters)
                for name in (first, second)
            ]
            result |= signs_of(pairs.apply_domain(ends[0]).apply_range(ends[1]).deltas())
    return frozenset(result)


def _tileable(signs: frozenset[Signs], width: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield loops that run one by one outside, with the others that may be tiled, each with more of these."""
    known: set[frozenset[int]] = set()
    for count in range(min(width, 3)):
        for outer in combinations(range(width), count):
            rest = [item for item in signs if not any(item[at] for at in outer)]
            if not all(next((item[at] for at in outer if item[at]), 1) > 0 for item in signs):
                continue
            tiled = [at for at in range(width) if at not in outer and all(item[at] >= 0 for item in rest)]
            reach = frozenset((*outer, *tiled))
            if not any(reach <= other for other in known):
                known.add(reach)
                yield outer, tuple(tiled)


class _Search:
    """Edges and the order of the loops over boxes, by local search from several starts, many boxes at once."""

    def __init__(
        self,
        cells: Sequence[Cells],
        extents: tuple[int, ...],
        outer: tuple[int, ...],
        tiled: tuple[int, ...],
        capacity: int,
    ) -> None:
        self.cells, self.extents, self.outer, self.capacity = cells, extents, outer, capacity
        self.tiled = tuple(at for at in tiled if extents[at] > 1)
        self.choices = [_edges_of(extents[at]) for at in self.tiled]

    def best(self) -> tuple[float, tuple[int, ...], tuple[int, ...]] | None:
        """Return (loads at most, loops over boxes, their edges); None if not even boxes of one instance fit."""
        best: tuple[float, tuple[int, ...]] | None = None
        for start in self._starts():
            here, value = start, float(self._values(np.array([start]))[0])
            for _ in range(MOST_BOX_ROUNDS):
                effort.step()
                near = self._neighbours(here)
                values = self._values(near)
                at = int(values.argmin())
                if not values[at] < value:
                    break
                here, value = tuple(near[at].tolist()), float(values[at])
            if value < float("inf") and (best is None or value < best[0]):
                best = value, here
        if best is None:
            return None
        edges = dict(zip(self.tiled, best[1], strict=True))
        order = [at for at in self._order(np.array([best[1]])) if edges[at] < self.extents[at]]
        loops = (*self.outer, *order)
        return best[0], loops, tuple(edges.get(at, 1) for at in loops)

    def _starts(self) -> Iterator[tuple[int, ...]]:
        """Yield boxes with edges about equal: the largest that fits, and a middle one."""
        edges = (
            tuple(max(value for value in options if value <= 2.0 ** (step / 2)) for options in self.choices)
            for step in range(2 * max(self.extents).bit_length() + 1)
        )
        fitting = [item for item in dict.fromkeys(edges) if np.isfinite(self._values(np.array([item]))[0])]
        if fitting:
            yield fitting[-1]
            yield fitting[len(fitting) // 2]

    def _neighbours(self, here: tuple[int, ...]) -> npt.NDArray[np.int64]:
        """Return all boxes in which one edge, or two, differ."""
        found = [here]
        for at, options in enumerate(self.choices):
            found += [(*here[:at], value, *here[at + 1 :]) for value in options]
        for a, b in combinations(range(len(here)), 2):
            for first, second in product(self.choices[a], self.choices[b]):
                found.append((*here[:a], first, *here[a + 1 : b], second, *here[b + 1 :]))
        return np.array(found, np.int64).reshape(len(found), len(here))

    def _values(self, boxes: npt.NDArray[np.int64]) -> FloatArray:
        return self._by_order(boxes)[0]

    def _order(self, boxes: npt.NDArray[np.int64]) -> tuple[int, ...]:
        return self._by_order(boxes)[1]

    def _by_order(self, boxes: npt.NDArray[np.int64]) -> tuple[FloatArray, tuple[int, ...]]:
        """Return the loads of every box in its best order of loops, and that order for the first box.

        Loops are placed from the innermost outwards. A group is paid for when the first loop it depends on is placed:
        once for every turn of the loops not placed yet.
        """
        count = len(boxes)
        edges: list[FloatArray] = [np.full(count, float(extent)) for extent in self.extents]
        for at in self.outer:
            edges[at] = np.ones(count)
        for column, at in enumerate(self.tiled):
            edges[at] = boxes[:, column].astype(np.float64)
        room = 1.0 + sum(item.count(edges) for item in self.cells)
        turns = {at: np.ceil(self.extents[at] / edges[at]) for at in (*self.outer, *self.tiled)}
        outside = np.prod([turns[at] for at in self.outer], axis=0) if self.outer else np.ones(count)
        paid = self._paid(edges)
        best: dict[frozenset[int], tuple[FloatArray, npt.NDArray[np.int64]]] = {
            frozenset(): (np.zeros(count), np.zeros(0, np.int64))
        }
        for size in range(1, len(self.tiled) + 1):
            for members in combinations(self.tiled, size):
                inside = frozenset(members)
                others = outside * np.prod(
                    [turns[at] for at in self.tiled if at not in inside] or [np.ones(count)], axis=0
                )
                options = [
                    best[inside - {at}][0]
                    + others
                    * sum(
                        (
                            paid[number, at]
                            for number, item in enumerate(self.cells)
                            if at in item.loops and not item.loops & (inside - {at})
                        ),
                        np.zeros(count),
                    )
                    for at in members
                ]
                least = np.stack(options)
                best[inside] = least.min(axis=0), least.argmin(axis=0)
        values = best[frozenset(self.tiled)][0] + self._rest(edges, outside)
        order: list[int] = []
        left = frozenset(self.tiled)
        while left:
            chosen = sorted(left, key=self.tiled.index)[int(best[left][1][0])]
            order.append(chosen)
            left -= {chosen}
        return np.where(room <= self.capacity, values, np.inf), tuple(order)

    def _paid(self, edges: list[FloatArray]) -> dict[tuple[int, int], FloatArray]:
        """Return what a group costs with a loop innermost among those it depends on."""
        result = {}
        for number, item in enumerate(self.cells):
            for at in item.loops & set(self.tiled):
                whole = list(edges)
                whole[at] = np.full(len(edges[at]), float(self.extents[at]))
                result[number, at] = np.asarray(item.count(whole), np.float64)
        return result

    def _rest(self, edges: list[FloatArray], outside: FloatArray) -> FloatArray:
        """Return what groups cost that depend on none of the tiled loops, less the first visits of fresh cells."""
        total = np.zeros(len(outside))
        for item in self.cells:
            if not item.loops & set(self.tiled):
                total = total + item.count(edges) * (outside if item.loops & set(self.outer) else 1)
            if item.fresh:
                total = total - float(item.count(self.extents))
        return total


def _edges_of(extent: int) -> list[int]:
    """Return the edges that cut ``extent`` into boxes of about equal size, few of them where it is long."""
    found = {1, extent}
    count = 1.0
    while count < extent:
        found.add(-(-extent // int(count)))
        count = max(count + 1, count * 1.12)
    return sorted(found)
