"""Phases in boxes, and a whole program that fits: steps of an order at given sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain, product
from math import ceil, inf, prod

import numpy as np

from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.orders.boxes.alive import Alive
from shorthaul.affine.orders.boxes.cells import Cells
from shorthaul.affine.orders.boxes.regions import IntArray, boxes_in, within
from shorthaul.affine.orders.boxes.storage import touched
from shorthaul.affine.orders.tile_steps import AtSizes, Step
from shorthaul.affine.tuning import MOST_COUNTS_KEPT, MOST_TOUCHED, NO_SLACK, PIECES_OF_A_RUN, STRIP, Slack


@dataclass(frozen=True)
class Box:
    """Loops over boxes, outermost first, with their edges; coordinates begin at ``first``. Inside: program order.

    The first ``outer`` loops have to stay outermost, with edges of 1.
    """

    loops: tuple[int, ...]
    edges: tuple[int, ...]
    first: tuple[int, ...]
    outer: int = 0


@dataclass(frozen=True)
class Spilled:
    """A group of cells of which a part may be held only: its number, its reads, and the most of one instance.

    Of the cells in a box those read least often are left out. Each of their reads is a load. Where every cell is in
    boxes with one value of the loop ``along`` only, ``by_place`` are the reads at each of these values.
    """

    group: int
    uses: int
    at_once: int
    along: int = -1
    by_place: tuple[int, ...] = ()


@dataclass(frozen=True)
class Between:
    """Inputs that are held from one visit to another: by array the loads that this saves, and the most held."""

    saved: tuple[tuple[str, int], ...] = ()
    room: int = 0


@dataclass(frozen=True)
class BoxStep(AtSizes):
    """One phase in boxes that were searched at given sizes; ``plain`` is the phase for all sizes.

    With several ``boxes`` each is cut into the next, and the k-th stays in a memory of ``capacities[k]`` words.
    In ``still`` are loops along which an element that is written stays, with one along its row. Where it is known what
    is ``alive`` inside, no more needs room. Groups that are ``spilled`` are held in part, those
    with the fewest reads of a cell first, where a box has no room for all. What is held ``between`` visits of groups of
    one input has room beside them. To search ``again`` takes other memories.
    """

    boxes: tuple[Box, ...]
    capacities: tuple[int, ...]
    cells: tuple[Cells, ...]
    extents: tuple[int, ...]
    sizes: Mapping[str, int]
    still: frozenset[tuple[int, int]] = frozenset()
    alive: Alive | None = None
    spilled: tuple[Spilled, ...] = ()
    between: Between = Between()
    again: Callable[[Mapping[str, int], tuple[int, ...]], BoxStep | None] | None = field(default=None, compare=False)

    @property
    def box(self) -> Box:
        """All loops over boxes, outermost first."""
        loops = tuple(loop for item in self.boxes for loop in item.loops)
        return Box(loops, tuple(edge for item in self.boxes for edge in item.edges), self.boxes[0].first)

    @property
    def inside(self) -> tuple[int, ...]:
        """The coordinates that instances inside of a box are sorted by, before program order."""
        return () if self.alive is None else self.alive.inside

    @property
    def fits(self) -> bool:
        """True if what is held at a time in the innermost boxes fits into the smallest memory."""
        return self.room <= self.capacities[-1] if not self.spilled else self.left_out is not None

    @cached_property
    def left_out(self) -> dict[int, float] | None:
        """The parts of the cells of groups for which a box has no room; None where even without them it is too large.

        Every read of what is left out needs a word for a moment.
        """
        words = {item.group: int(self.cells[item.group].count(self.spans)) for item in self.spilled}
        return self._parts(words, self.touched - self.capacities[-1])

    def _parts(self, words: Mapping[int, int], missing: int) -> dict[int, float] | None:
        """Return the parts of groups of so many ``words`` that are left out where so many words are ``missing``."""
        result: dict[int, float] = {}
        for item in self._least_read:
            if missing <= 0:
                break
            missing += item.at_once
            result[item.group] = min(1.0, missing / max(1, words[item.group]))
            missing -= words[item.group]
        return None if missing > 0 else result

    @cached_property
    def _least_read(self) -> list[Spilled]:
        """The groups that may be held in part, those with the fewest reads of a cell first."""
        return sorted(self.spilled, key=lambda item: item.uses / int(self.cells[item.group].count(self.spans)))

    @cached_property
    def _left_out_by_place(self) -> list[dict[int, float]] | None:
        """The same for the boxes at every place of the outermost loop over boxes, by what they have room for there.

        None where a group that is left out has cells in boxes at several places.
        """
        loop, edge = next(zip(self.box.loops, self.box.edges, strict=True), (-1, 1))
        known = {item.group for item in self.spilled if item.along == loop >= 0}
        if not known.issuperset(self.left_out or ()):
            return None
        low = np.array([self.box.first] * ceil(self.extents[loop] / edge), np.int64)
        high = low + np.array(self.extents, np.int64) - 1
        low[:, loop] += edge * np.arange(len(low))
        high[:, loop] = np.minimum(high[:, loop], low[:, loop] + edge - 1)
        counts = [self._most_at(item, low, high) for item in self.cells]
        missing = np.sum(counts, axis=0) + 1 - self.capacities[-1]
        parts = [
            self._parts({item.group: int(counts[item.group][at]) for item in self.spilled}, int(missing[at]))
            for at in range(len(low))
        ]
        found = [item for item in parts if item is not None]
        return found if len(found) == len(parts) and known.issuperset(chain(*found)) else None

    def _most_at(self, cells: Cells, low: IntArray, high: IntArray) -> IntArray:
        """Return the most cells of a box where the coordinates have these ends, shape (places, coordinates)."""
        lows, highs = within(cells.where, low, high)
        spans = np.where(np.asarray(lows <= highs).all(axis=1, keepdims=True), highs - lows + 1, 0)
        edges = [np.minimum(own, most) for own, most in zip(spans.T, self.spans, strict=True)]
        found = np.asarray(cells.count([item.astype(np.float64) for item in edges]))
        return np.where(spans.min(axis=1) > 0, found, 0).astype(np.int64)

    @property
    def spans(self) -> list[int]:
        """The edges of an innermost box along all coordinates."""
        edges = dict(zip(self.box.loops, self.box.edges, strict=True))
        return [min(edges.get(at, extent), extent) for at, extent in enumerate(self.extents)]

    @property
    def room(self) -> int:
        """The most words held at a time in the innermost boxes, with room for one result."""
        touched, alive = self.touched, None
        if self.spilled and touched > self.capacities[-1]:
            return self.capacities[-1]
        if self.alive is not None and self.capacities[-1] < touched <= MOST_TOUCHED * self.capacities[-1]:
            alive = self.alive.most(self.cells, tuple(zip(self.box.loops, self.box.edges, strict=True)))
        return self.between.room + (touched if alive is None else min(touched, 1 + alive))

    @property
    def touched(self) -> int:
        """All cells of an innermost box, with room for one result."""
        held = self.spans
        return 1 + int(sum(item.count(held) for item in self.cells))

    @property
    def passing(self) -> int:
        """The cells of an innermost box that come and go along the innermost loop over boxes."""
        held = self.spans
        return int(sum(item.count(held) for item in self.cells if item.loops.intersection(self.box.loops[-1:])))

    def share(self, slack: Slack) -> float:
        """Return what a load counts where rows in memory should be long, and strips of a loop have room.

        A strip is one along which an element that is written stays.
        """
        if slack == NO_SLACK:
            return 1.0
        edges, spans = dict(zip(self.box.loops, self.box.edges, strict=True)), self.spans
        strips = any(min(edges.get(at, STRIP), edges.get(along, STRIP)) >= STRIP for at, along in self.still)
        words = [self._loads(item, self.capacities[-1]) + item.fresh for item in self.cells]
        lines = sum(count * item.in_lines(spans, slack.rows) for item, count in zip(self.cells, words, strict=True))
        return float(lines) / max(1.0, sum(words)) / (1 + slack.strips * strips)

    @property
    def rate(self) -> float:
        """The loads at its sizes: there is no other place where it could be compared."""
        return self.loads(self.sizes, self.sizes["S"])

    def loads(self, sizes: Mapping[str, int], capacity: int) -> float:  # noqa: ARG002
        """Return the loads at the sizes for which the boxes were searched; infinite where none fits."""
        return self.loads_within(capacity, inf)

    def loads_within(self, capacity: int, most: float) -> float:
        """Return the loads, infinite where there are more than ``most``: groups are not counted further then."""
        found: float = -sum(words for _, words in self.between.saved)
        for at, item in enumerate(self.cells):
            found += self._loads(item, capacity) + self._reloads(at)
            if found > most:
                return inf
        return found

    def loads_bytes(
        self,
        sizes: Mapping[str, int],  # noqa: ARG002
        capacity: int,
        widths: Mapping[str, int],
    ) -> float:
        """Return the bytes at the sizes for which the boxes were searched."""
        loads = (self._loads(item, capacity) + self._reloads(at) for at, item in enumerate(self.cells))
        saved = sum(widths[array] * words for array, words in self.between.saved)
        return sum(widths[item.array] * words for item, words in zip(self.cells, loads, strict=True)) - saved

    def loads_of(self, cells: Cells) -> float:
        """Return the loads of one group."""
        return self._loads(cells, self.capacities[-1])

    def _reloads(self, group: int) -> int:
        """Return the loads for cells of a group that are left out: on average they are read as often as all."""
        mine = next((item for item in self.spilled if item.group == group), None)
        if mine is None:
            return 0
        places = self._left_out_by_place
        if places is None:
            return ceil((self.left_out or {}).get(group, 0.0) * mine.uses)
        if not any(group in item for item in places):
            return 0
        uses = np.add.reduceat(np.array(mine.by_place, np.int64), range(0, len(mine.by_place), self.box.edges[0]))
        return ceil(sum(item.get(group, 0.0) * int(use) for item, use in zip(places, uses, strict=True)))

    def _loads(self, cells: Cells, capacity: int) -> float:
        at = next((at for at, words in enumerate(self.capacities) if words <= capacity), None)
        if at is None:
            return inf
        boxes = self.boxes[: at + 1]
        if cells.is_written_first and len(boxes) == 1 and is_visited_once(boxes[0], cells):
            return 0
        found = self._loads_in_regions(boxes, cells) if any(item.is_cut for item in self.cells) else None
        if found is not None:
            found -= cells.fresh
        else:
            found = _loads_within(boxes, cells, self.extents) - cells.first(self.extents)
        return min(found, _loads_from_elsewhere(boxes[0], cells, self.extents)) if len(boxes) == 1 else found

    def _loads_in_regions(self, boxes: tuple[Box, ...], cells: Cells) -> int | None:
        """Return the loads of all visits in the regions of the accesses; None where these are too many.

        A cell that another group holds during the whole visit is not loaded once more.
        """
        *outer, box = boxes
        edges = dict(zip(box.loops, box.edges, strict=True))
        others = [item for item in self.cells if not item.is_among(edges)]
        if cells.is_among(edges):
            return 0  # another group has all of them
        if cells.among:
            cells = replace(cells, among=())  # pieces of a run may have all of a loop
        last = max((at for at, loop in enumerate(box.loops) if loop in cells.loops), default=0)
        loops = [pair for item in outer for pair in zip(item.loops, item.edges, strict=True)]
        loops += zip(box.loops[:last], box.edges[:last], strict=True)
        if cells.is_injective and not cells.loops.isdisjoint(box.loops):
            # boxes of a run share nothing: some of them together are no wider than they are
            several = max(1, self.extents[box.loops[last]] // (box.edges[last] * PIECES_OF_A_RUN))
            loops.append((box.loops[last], several * box.edges[last]))
        return _loads_of_boxes(cells, tuple(others), self.extents, box.first, tuple(loops), box.loops, last)


def is_visited_once(box: Box, cells: Cells) -> bool:
    """True if every cell is accessed in boxes of one run only."""
    last = max((at for at, loop in enumerate(box.loops) if loop in cells.loops), default=-1)
    return cells.is_injective and cells.loops.issuperset(box.loops[: max(last, 0)])


def _loads_from_elsewhere(box: Box, cells: Cells, extents: tuple[int, ...]) -> float:
    """Return the loads of a group in which runs of boxes read what they compute themselves, but for some cells.

    Infinite where values come from other runs.
    """
    last = max((at for at, loop in enumerate(box.loops) if loop in cells.loops), default=0)
    outer = box.loops[:last]
    if not cells.fresh or not cells.inside.issuperset(outer):
        return inf
    return cells.elsewhere * prod(ceil(extents[loop] / edge) for loop, edge in zip(outer, box.edges, strict=False))


@lru_cache(maxsize=MOST_COUNTS_KEPT)
def _loads_of_boxes(
    cells: Cells,
    others: tuple[Cells, ...],
    extents: tuple[int, ...],
    first: tuple[int, ...],
    cut: tuple[tuple[int, int], ...],
    loops: tuple[int, ...],
    last: int,
) -> int | None:
    """Return the loads of boxes that are ``cut``, visited along the loop ``last`` of ``loops``.

    The boxes that a search compares differ in a loop or two: most groups were counted before.
    """
    ends = boxes_in(cells.where, extents, first, cut)
    if ends is None:
        return None
    count = cells.counted(*ends)
    shared = np.zeros(len(count))
    for other in others:
        if _holds(other, cells, loops, last):
            shared = np.maximum(shared, _common(other, cells, *ends))
    return int((count - np.minimum(count, shared)).sum())


def _holds(other: Cells, cells: Cells, loops: tuple[int, ...], last: int) -> bool:
    """True if ``other`` holds what it has while ``cells`` visit boxes along the loop ``last`` of ``loops``.

    Its cells stay all the time, or come and go in the same boxes. Of two such groups the first holds.
    """
    if other is cells or other.name != cells.name or other.lattice != cells.lattice or cells.fresh:
        return False
    if other.fresh and other.factors not in cells.behind:
        return False  # where the other one computes a cell, these may read what it held before
    if not (other.fill_boxes and cells.fill_boxes):
        return False
    inner = other.loops.intersection(loops[last:])
    if inner and other.is_injective and not cells.is_injective:
        return False  # it is counted in narrower pieces than these runs
    if not inner:
        return bool(cells.loops.intersection(loops)) or other.factors < cells.factors
    return inner == {loops[last]} and other.moves_as(cells, loops[last]) and other.factors < cells.factors


def _common(other: Cells, cells: Cells, low: IntArray, high: IntArray) -> IntArray:
    """Return how many cells of both groups there are in every box."""
    lows, highs = within(other.where, low, high)
    pairs = zip(other.ends(lows, highs), cells.ends(low, high), strict=True)
    ends = [(np.maximum(first, least), np.minimum(last, most)) for (first, last), (least, most) in pairs]
    result = np.ones(len(low), np.int64)
    if other.band is None and cells.band is None:
        for first, last in ends:
            result *= np.maximum(0, last - first + 1)
    else:
        one, two = (other.band, cells.band) if other.band is not None else (cells.band, None)
        band = None if one is None else one.common(two)
        result = 0 * result if band is None else band.within(ends)
    return np.where((lows > highs).any(axis=1), 0, result)


def _loads_within(boxes: tuple[Box, ...], cells: Cells, extents: tuple[int, ...]) -> int:
    """Return the loads of one visit of ``extents``, cut into boxes: the last of them stay in memory."""
    box, *inner = boxes
    edges = list(extents)
    for loop, edge in zip(box.loops, box.edges, strict=True):
        edges[loop] = min(edge, extents[loop])
    if inner:
        outside = box.loops
    else:
        last = max((at for at, loop in enumerate(box.loops) if loop in cells.loops), default=-1)
        outside = box.loops[: max(last, 0)]
        if last >= 0:
            edges[box.loops[last]] = extents[box.loops[last]]
    total = 0
    for parts in product(*(_parts(extents[loop], edges[loop]) for loop in outside)):
        here = list(edges)
        for loop, (edge, _) in zip(outside, parts, strict=True):
            here[loop] = edge
        visit = _loads_within(tuple(inner), cells, tuple(here)) if inner else int(cells.count(here))
        total += prod(times for _, times in parts) * visit
    return total


def _parts(extent: int, edge: int) -> list[tuple[int, int]]:
    """Return (edge, how many) of the boxes along one loop."""
    return [(size, times) for size, times in ((edge, extent // edge), (extent % edge, 1)) if size and times]


@dataclass(frozen=True)
class WholeStep(AtSizes):
    """Everything in program order, all of it kept: every input is loaded once. Holds at the given sizes only."""

    inputs: Mapping[str, int]
    phase: None = None

    @property
    def rate(self) -> float:
        """The loads at its sizes."""
        return sum(self.inputs.values())

    def loads_bytes(
        self,
        sizes: Mapping[str, int],  # noqa: ARG002
        capacity: int,  # noqa: ARG002
        widths: Mapping[str, int],
    ) -> float:
        """Return the bytes at its sizes."""
        return sum(widths[name] * count for name, count in self.inputs.items())


def whole(flow: DataFlow, plain: Step, sizes: Mapping[str, int]) -> WholeStep | None:
    """Return the whole program, ``plain``, with all its memory kept; None where that does not fit into S."""
    if sum(card(cells).at(sizes) for cells in touched(flow.program).values()) >= sizes["S"]:
        return None
    return WholeStep(plain, {name: card(cells).at(sizes) for name, cells in flow.inputs.items()})
