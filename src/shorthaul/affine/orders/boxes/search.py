"""Edges of boxes and the order of the loops over them, by local search from several starts, many boxes at once."""

from __future__ import annotations

import functools
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
import numpy.typing as npt

from shorthaul.affine import effort
from shorthaul.affine.orders.boxes.cells import Cells, FloatArray
from shorthaul.affine.tuning import MOST_BOX_ROUNDS, NO_SLACK, STRIP, WIDEST_WHOLE, Slack

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Level:
    """A memory of ``capacity`` words, and what a load into it counts in the search."""

    capacity: int
    weight: float = 1.0


@dataclass(frozen=True)
class Found:
    """What the loads count at most, the candidate, and for every level its loops over boxes with their edges.

    The first ``outer`` loops of the first level run one by one outside of all others.
    """

    value: float
    candidate: tuple[int, ...]
    loops: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    outer: int


class BoxSearch:
    """Boxes for one memory or several: those of each level, outermost first, are cut into those of the next.

    Rows of one cell, and boxes without room for strips of a loop in ``still``, count as the shares of ``slack`` more.
    Loops in ``outer`` run one by one outside of all boxes, or with edges that are ``fixed``. Of boxes that load the
    same those wanted ``small`` are the smallest found. A candidate is a row of numbers: the edges of the innermost
    boxes, then for every level above how many of the boxes before make one of its own along each loop.
    """

    def __init__(
        self,
        cells: Sequence[Cells],
        extents: tuple[int, ...],
        outer: tuple[int, ...],
        tiled: tuple[int, ...],
        levels: Sequence[Level],
        slack: Slack = NO_SLACK,
        still: frozenset[tuple[int, int]] = frozenset(),
        *,
        small: bool = False,
        fixed: Mapping[int, int] | None = None,
    ) -> None:
        self.cells, self.extents, self.outer, self.levels = cells, extents, outer, levels
        self.slack, self.still, self.small, self.fixed = slack, still, small, fixed or {}
        self.tiled = tuple(at for at in tiled if extents[at] > 1)
        strips = {at for at, _ in still}
        edges = [whole_strips(edges_of(extents[at])) if at in strips else edges_of(extents[at]) for at in self.tiled]
        self.choices = [
            *edges,
            *([-(-options[-1] // edge) for edge in options] for _ in levels[1:] for options in edges),
        ]
        self._best_near: dict[tuple[int, ...], tuple[tuple[int, ...], float]] = {}

    def best(self, further: Sequence[tuple[int, ...]] = ()) -> Found | None:
        """Return the best boxes found, None if not even boxes of one instance fit; ``further``: innermost edges."""
        return min(self.optima(further), key=lambda found: found.value, default=None)

    def optima(self, further: Sequence[tuple[int, ...]] = ()) -> list[Found]:
        """Return the boxes found from all starts; ``further``: innermost edges to start from as well.

        Where regions are no boxes, loads are estimates: boxes to start from are found too.
        """
        above = (1,) * len(self.tiled) * (len(self.levels) - 1)
        starts = [*self._starts(), *((*edges, *above) for edges in further)]
        values = self._values(np.array(starts, np.int64)).tolist() if starts else []
        ends = self._descended(list(zip(starts, values, strict=True)))
        if any(item.is_cut for item in self.cells) and not self.small:
            ends = [item for pair in zip(zip(starts, values, strict=True), ends, strict=True) for item in pair]
        whole, value = self._with_whole_loops()
        if value < min((least for _, least in ends), default=float("inf")):
            ends += self._descended([(whole, value)])
        found = dict(item for item in ends if item[1] < float("inf"))
        return [Found(least, here, tuple(self._loops(here)), len(self.outer)) for here, least in found.items()]

    def _descended(self, starts: list[tuple[tuple[int, ...], float]]) -> list[tuple[tuple[int, ...], float]]:
        """Return the boxes to which better neighbours lead from each of ``starts``, with what they load.

        All go a step at a time together: a call for all neighbours takes little longer than one for those of a start.
        """
        here, moving = list(starts), list(range(len(starts)))
        for _ in range(MOST_BOX_ROUNDS):
            if not moving:
                break
            effort.step(len(moving))
            new = [at for at in dict.fromkeys(here[at][0] for at in moving) if at not in self._best_near]
            blocks = [self._neighbours(item) for item in new]  # ways from several starts meet
            values = self._values(np.concatenate(blocks)) if blocks else np.zeros(0)
            ends = np.cumsum([len(block) for block in blocks])
            for item, near, own in zip(new, blocks, np.split(values, ends[:-1]), strict=False):
                at = int(own.argmin())
                self._best_near[item] = tuple(near[at].tolist()), float(own[at])
            better = {at: self._best_near[here[at][0]] for at in moving}
            moving = [at for at in moving if better[at][1] < here[at][1]]
            for at in moving:
                here[at] = better[at]
        return [(self._smaller(*item), item[1]) if self.small and item[1] < float("inf") else item for item in here]

    def _with_whole_loops(self) -> tuple[tuple[int, ...], float]:
        """Return the best boxes, and what they load, in which some loops are not cut and the others about equally.

        What is held there for all of a phase, as a small matrix, is far from boxes with edges about equal.
        """
        own = self.choices[: len(self.tiled)]
        widest = len(own) if len(own) <= WIDEST_WHOLE else 2
        tried = dict.fromkeys(
            tuple(own[at][-1] if at in members else edge for at, edge in enumerate(edges))
            for size in range(1, min(widest, len(own) - 1) + 1)
            for members in combinations(range(len(own)), size)
            for edges in self._about_equal
        )
        if not tried:
            return (), float("inf")
        effort.step()
        values = self._values(np.array(list(tried), np.int64))
        at = int(values.argmin())
        return list(tried)[at], float(values[at])

    def _smaller(self, here: tuple[int, ...], value: float) -> tuple[int, ...]:
        """Return boxes that load no more than ``value`` and hold less than those ``here``, while there are some."""
        for _ in range(MOST_BOX_ROUNDS):
            effort.step()
            near = self._neighbours(here)
            held = np.where(self._values(near) <= value, self._room(near), np.inf)
            at = int(held.argmin())
            if not held[at] < self._room(np.array([here]))[0]:
                break
            here = tuple(near[at].tolist())
        return here

    def _room(self, boxes: IntArray) -> FloatArray:
        """Return what innermost boxes hold."""
        edges = self._edges(boxes)[-1]
        return sum((np.asarray(item.count(edges), np.float64) for item in self.cells), np.zeros(len(boxes)))

    def _loops(self, candidate: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Yield the loops over boxes and their edges, the outermost level first."""
        within = [np.array([float(extent)]) for extent in self.extents]
        outer = self.outer
        for edges in self._edges(np.array([candidate])):
            order = self._visited(within, edges, outer)[1]
            loops = (*outer, *(at for at in order if edges[at][0] < within[at][0]))
            yield loops, tuple(int(edges[at][0]) for at in loops)
            within, outer = edges, ()

    def _starts(self) -> Iterator[tuple[int, ...]]:
        """Yield boxes with edges about equal, the largest that fits and a middle one, also with one loop not cut.

        That loop has edges of 1. Where regions are no boxes, what holds its cells along another loop is the best.
        """
        width = len(self.tiled)
        for still in (None, *range(width)) if any(item.is_cut for item in self.cells) else (None,):
            edges = self._about_equal
            if still is not None:
                edges = [(*item[:still], 1, *item[still + 1 :]) for item in edges]
            tried = list(dict.fromkeys(edges))
            fits = self._fits(self._edges(np.array(tried, np.int64)))
            fitting = [item for item, good in zip(tried, fits, strict=True) if good]
            if fitting:
                yield fitting[-1]
                if still is None:
                    yield fitting[len(fitting) // 2]

    @functools.cached_property
    def _about_equal(self) -> list[tuple[int, ...]]:
        """Candidates with innermost edges about equal, from small to large ones."""
        own, above = self.choices[: len(self.tiled)], (1,) * (len(self.choices) - len(self.tiled))
        steps = range(2 * max(self.extents).bit_length() + 1)
        return [(*(options[bisect(options, 2.0 ** (step / 2)) - 1] for options in own), *above) for step in steps]

    def _neighbours(self, here: tuple[int, ...]) -> IntArray:
        """Return all candidates in which one number differs, or two of one level or of one loop."""
        width, own = len(self.tiled), np.array([here], np.int64)
        blocks = [own]
        for at, options in enumerate(self.choices):
            blocks.append(np.repeat(own, len(options), axis=0))
            blocks[-1][:, at] = options
        for a, b in combinations(range(len(here)), 2):
            if a // width == b // width or a % width == b % width:
                first, second = self.choices[a], self.choices[b]
                blocks.append(np.repeat(own, len(first) * len(second), axis=0))
                blocks[-1][:, a] = np.repeat(first, len(second))
                blocks[-1][:, b] = np.tile(second, len(first))
        return np.concatenate(blocks)

    def _edges(self, boxes: IntArray) -> list[list[FloatArray]]:
        """Return the edges of every coordinate, outermost level first."""
        width, count = len(self.tiled), len(boxes)
        own = [np.full(count, float(extent)) for extent in self.extents]
        for at in self.outer:
            own[at] = np.full(count, float(min(self.fixed.get(at, 1), self.extents[at])))
        result: list[list[FloatArray]] = []
        for level in range(len(self.levels)):
            edges = list(own)
            for column, at in enumerate(self.tiled):
                number = boxes[:, level * width + column].astype(np.float64)
                edges[at] = np.minimum(number * result[0][at], float(self.extents[at])) if result else number
            result.insert(0, edges)
        return result

    def _values(self, boxes: IntArray) -> FloatArray:
        """Return what the loads of all levels count, infinite where a box does not fit."""
        edges = self._edges(boxes)
        fits = self._fits(edges)
        values = np.full(len(boxes), np.inf)
        if fits.any():  # few neighbours fit, and what they hold is told sooner than what they load
            values[fits] = self._loads([[edge[fits] for edge in own] for own in edges])
        return values

    def _fits(self, edges: list[list[FloatArray]]) -> npt.NDArray[np.bool_]:
        """Return which candidates fit, by their edges."""
        fits = np.ones(len(edges[0][0]), np.bool_)
        for level, own in zip(self.levels, edges, strict=True):
            fits &= 1.0 + sum(item.count(own) for item in self.cells) <= level.capacity
        return fits

    def _loads(self, levels: list[list[FloatArray]]) -> FloatArray:
        """Return what the loads of all levels count, by the edges of every level."""
        count = len(levels[0][0])
        within = [np.full(count, float(extent)) for extent in self.extents]
        visits, total = np.ones(count), np.zeros(count)
        first = sum(item.share * float(item.count(self.extents)) for item in self.cells if item.fresh)
        for number, (level, edges) in enumerate(zip(self.levels, levels, strict=True)):
            outer = () if number else self.outer
            loads = visits * self._visited(within, edges, outer)[0] - first
            if self.slack != NO_SLACK:
                loads /= 1 + self.slack.strips * self._has_strips(edges)
            total = total + level.weight * loads
            for at in (*outer, *self.tiled):
                visits = visits * np.ceil(within[at] / edges[at])
            within = edges
        return total

    def _has_strips(self, edges: list[FloatArray]) -> npt.NDArray[np.bool_]:
        """True if boxes have room for a strip of a loop in which an element that is written stays."""
        room = (np.minimum(edges[at], edges[along]) >= STRIP for at, along in self.still)
        return sum(room, np.zeros(len(edges[0]), np.bool_))

    def _visited(
        self, within: list[FloatArray], edges: list[FloatArray], outer: tuple[int, ...]
    ) -> tuple[FloatArray, tuple[int, ...]]:
        """Return the loads of one visit of every box ``within`` in its best order of loops, and that of the first.

        Loops are placed from the innermost outwards. A group is paid for when the first loop it depends on is placed:
        once for every turn of the loops not placed yet.
        """
        turns = {at: np.ceil(within[at] / edges[at]) for at in (*outer, *self.tiled)}
        outside = np.ones(len(edges[0])) * prod(turns[at] for at in outer)
        paid = self._paid(within, edges)
        best = {frozenset[int](): np.zeros(len(edges[0]))}
        options: dict[frozenset[int], list[FloatArray]] = {}
        for inside, left, last in self._placed:
            others = outside * prod(turns[at] for at in left)
            options[inside] = [
                best[inside - {at}] + others * sum(paid[number, at] for number in numbers)
                if numbers
                else best[inside - {at}]
                for at, numbers in last
            ]
            best[inside] = functools.reduce(np.minimum, options[inside])
        order: list[int] = []
        for inside, _, last in reversed(self._placed):
            if inside == frozenset(self.tiled).difference(order):
                costs = [option[0] for option in options[inside]]
                order.append(last[costs.index(min(costs))][0])
        return best[frozenset(self.tiled)] + self._rest(edges, outside), tuple(order)

    @functools.cached_property
    def _placed(self) -> list[tuple[frozenset[int], list[int], list[tuple[int, list[int]]]]]:
        """Sets of loops that are placed, the loops left, and each that may be placed last with the groups paid then."""
        return [
            (
                frozenset(members),
                [at for at in self.tiled if at not in members],
                [
                    (
                        at,
                        [
                            number
                            for number, item in enumerate(self.cells)
                            if at in item.loops and item.loops.isdisjoint({*members} - {at})
                        ],
                    )
                    for at in members
                ],
            )
            for size in range(1, len(self.tiled) + 1)
            for members in combinations(self.tiled, size)
        ]

    def _paid(self, within: list[FloatArray], edges: list[FloatArray]) -> dict[tuple[int, int], FloatArray]:
        """Return what a group costs with a loop innermost among those it depends on."""
        result = {}
        # where accesses fill no box all numbers are estimates, and strips are chosen by whole boxes
        whole_boxes = self.slack != NO_SLACK or any(item.is_cut for item in self.cells)
        for number, item in enumerate(self.cells):
            exact = item.is_injective and not whole_boxes
            for at in item.loops & set(self.tiled):
                whole = list(edges)
                whole[at] = within[at]
                result[number, at] = np.asarray(item.count(whole), np.float64) * self._share(item, edges)
                for other in (item.loops - {at}) & {*self.outer, *self.tiled} if exact else ():
                    # the last box along a loop is smaller
                    result[number, at] *= within[other] / (edges[other] * np.ceil(within[other] / edges[other]))
        return result

    def _rest(self, edges: list[FloatArray], outside: FloatArray) -> FloatArray:
        """Return what groups cost that depend on none of the tiled loops."""
        total = np.zeros(len(outside))
        for item in self.cells:
            if not item.loops & set(self.tiled):
                visits = outside if item.loops & set(self.outer) else 1
                total = total + item.count(edges) * self._share(item, edges) * visits
        return total

    def _share(self, item: Cells, edges: list[FloatArray]) -> FloatArray | float:
        return item.in_lines(edges, self.slack.rows) if self.slack.rows else 1.0


def edges_of(extent: int) -> list[int]:
    """Return the edges that cut ``extent`` into boxes of about equal size, few of them where it is long."""
    found = {1, extent}
    count = 1.0
    while count < extent:
        found.add(-(-extent // int(count)))
        count = max(count + 1, count * 1.12)
    return sorted(found)


def whole_strips(edges: list[int]) -> list[int]:
    """Return edges of whole strips in place of longer ones; the last is the whole loop."""
    return sorted({edges[-1], *(edge if edge < STRIP else edge // STRIP * STRIP for edge in edges)})
