"""Bounds on what a group in the making may still gain, box by box of granularities, with the room left in fast memory.

Within a box all pieces of a group are priced at the same granularities, and what it holds whole or in slices uses up
fast memory: of many branches that each pay by themselves, few fit together. So few groups in the making are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shorthaul.core.search import Search
from shorthaul.tensor.bounds import completion_kernels
from shorthaul.tensor.bounds.groups.compaction import END
from shorthaul.tensor.bounds.groups.cutting import Outputs
from shorthaul.tensor.bounds.groups.diagram import Diagram
from shorthaul.tensor.bounds.groups.pieces import HELD, ROWS, TIME, TRAFFIC, mix
from shorthaul.tensor.bounds.walking import Judged
from shorthaul.tensor.tuning import (
    BOXES_OF_LABELS_PER_EFFORT,
    COMPLETIONS_PER_EFFORT,
    LABELS_PER_EFFORT,
    SURVEYED_PER_EFFORT,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Tables = tuple[Integers, list[Outputs], Floats]

#: The weights of compute against traffic, in a tile's last step and in others, and the levels of room, that potentials
#: are worked out for.
_WEIGHTS: Final = (
    (1.0, 1.0),
    (0.0, 0.0),
    (0.5, 0.5),
    (0.1, 0.1),
    (0.9, 0.9),
    (0.25, 0.25),
    (1.0, 0.0),
    (0.0, 1.0),
    (1.0, 0.5),
    (0.0, 0.5),
)
_ROOMS: Final = 8
#: The first of the weights, at which boxes without any hope are left out before all others.
_FIRST_WEIGHTS: Final = 3
#: Potentials held at once: so many boxes are looked at together, at least one.
_MOST_POTENTIALS: Final = 1 << 23
#: Tables whose costs are worked out together, and arcs times boxes that are surveyed together.
_TABLES_AT_ONCE: Final = 16
_SURVEYED_AT_ONCE: Final = 1 << 20


class ByBox:
    """The tables of all arcs of a diagram; ``grow`` returns the profiles of groups with an arc added."""

    def __init__(self, diagram: Diagram, grow: Callable[[Integers, Integers], Integers], made: Tables) -> None:
        self._diagram = diagram
        self._grow = grow
        table, outputs, tables = made
        self._tables = tables
        self._parts = np.array([number for number, each in enumerate(outputs) if each.is_part], dtype=np.int64)
        shapes = {shape: number for number, shape in enumerate(diagram.rows.weight)}
        self._shapes = np.array([shapes[outputs[number].shape] for number in self._parts], dtype=np.int64)
        of_parts = tables[self._parts]
        self._open = np.isfinite(of_parts[:, TIME])
        self._compute = np.where(self._open, of_parts[:, TIME : TIME + 2].sum(axis=1), 0.0)
        self._traffic = of_parts[:, TRAFFIC : TRAFFIC + 2].sum(axis=1)
        tables[self._parts, :HELD] = 0.0
        self._potentials = 2 * (_ROOMS + 1) * len(_WEIGHTS)
        self._at_once = min(tables.shape[2], max(1, _MOST_POTENTIALS // (diagram.nodes * self._potentials)))
        self._mix = np.ascontiguousarray(mix(*np.array(_WEIGHTS).T))
        self._costs: list[Floats] = []  #: by the first weights, each by table and box
        self._table = table
        self._capacity = diagram.problem.machine.capacity
        self._made = completion_kernels.Completions(
            diagram.source,
            diagram.target,
            table,
            np.array([arcs.start for arcs in diagram.layers], dtype=np.int64),
            np.array([arcs.stop for arcs in diagram.layers], dtype=np.int64),
            tables,
            self._mix,
            self._capacity,
            _ROOMS,
            diagram.nodes,
            self._at_once,
        )

    def weigh(self, weights: Floats, search: Search) -> None:
        """Price parts by their means, where compute has these weights, by shape of outputs, if there is time."""
        if self._costs and not len(self._parts):
            return
        weight = weights[self._shapes][:, None]
        mean = weight * self._compute + (1 - weight) * self._traffic
        self._tables[self._parts, TRAFFIC] = mean  # whatever weighs one and the other
        self._tables[self._parts, TIME] = np.where(self._open, mean, np.inf)
        costs = np.empty((_FIRST_WEIGHTS, len(self._tables), self._tables.shape[2]))
        self._costs = []
        for first in range(0, len(costs[0]), _TABLES_AT_ONCE):  # all of them are large
            if search.expired():
                return
            some = slice(first, first + _TABLES_AT_ONCE)
            held = self._tables[some, HELD:].max(axis=1)
            is_closed = (self._tables[some, TIME] == np.inf) | (held > self._capacity)
            times = np.where(is_closed[:, None], 0.0, self._tables[some, :HELD])
            costs[:, some] = np.tensordot(self._mix[:_FIRST_WEIGHTS], times, axes=(1, 1))
            costs[:, some][:, is_closed] = np.inf
        self._costs = [*costs]

    def chunks(self, gains: Floats, search: Search) -> Iterator[BoxJudge]:
        """Yield judges of some boxes each, of all with hope together, at these gains; ``search`` may end that."""
        boxes = self._hopeful(gains, search)
        for first in range(0, len(boxes), self._at_once):
            if search.expired():
                return
            some = boxes[first : first + self._at_once]
            completion_kernels.prepare(self._made, gains, END, some)
            search.spend(len(some) * self._potentials * len(self._table) / COMPLETIONS_PER_EFFORT)
            yield BoxJudge(self._made, self._grow, len(some))

    def _hopeful(self, gains: Floats, search: Search) -> Integers:
        """Return the boxes in which some group may gain something, whatever room it takes."""
        diagram, table = self._diagram, self._table
        begin = np.concatenate([np.arange(each.start, each.stop) for each in diagram.starts])
        hopeful = [np.zeros(0, dtype=np.int64)]
        at_once = max(1, _SURVEYED_AT_ONCE // len(table))
        for first in range(0, self._tables.shape[2], at_once):
            if search.expired():
                break
            boxes = np.arange(first, min(first + at_once, self._tables.shape[2]))
            hope = np.full((len(begin), len(boxes)), np.inf)
            for costs in self._costs:
                net = gains[:, None] - costs[:, boxes][table]
                hope = np.minimum(hope, net[begin] + potentials(diagram, net)[diagram.target[begin]])
                search.spend(net.size / SURVEYED_PER_EFFORT)
                kept = (hope > 0).any(axis=0)
                boxes, hope = boxes[kept], hope[:, kept]
            hopeful.append(boxes)
        return np.concatenate(hopeful)


class BoxJudge:
    """Bounds what groups in the making may gain in some boxes; each has a table of them, infinite without hope."""

    def __init__(
        self, made: completion_kernels.Completions, grow: Callable[[Integers, Integers], Integers], boxes: int
    ) -> None:
        self._made = made
        self._grow = grow
        self.at_once = 512
        self.labels_per_effort = 1 / (boxes / BOXES_OF_LABELS_PER_EFFORT + 1 / LABELS_PER_EFFORT)
        self._tables = np.zeros((1, ROWS, boxes))  # the first one is that of a group with nothing in it
        self._free = np.zeros(0, dtype=np.int64)

    def judge(self, profile: Integers, state: Integers, arc: Integers, total: Floats) -> Judged:
        """Judge groups with an arc added, all boxes of each."""
        if len(self._free) < len(arc):
            self._reserve(len(arc))
        hope = np.empty(len(arc))
        used = completion_kernels.add(self._made, self._tables, state, arc, total, self._free, hope)
        states, self._free = self._free[:used], self._free[used:]
        kept = np.flatnonzero(hope)
        return Judged(kept, self._grow(profile[kept], arc[kept]), hope[kept], states)

    def _reserve(self, least: int) -> None:
        """Make room for so many tables at least, and for as many as there are."""
        known = len(self._tables)
        more = max(known, least)
        self._tables = np.concatenate([self._tables, np.empty((more, *self._tables.shape[1:]))])
        self._free = np.concatenate([self._free, np.arange(known, known + more)])

    def forget(self, states: Integers) -> None:
        """Take the tables of these states for others."""
        self._free = np.concatenate([states, self._free])


def potentials(diagram: Diagram, net: Floats) -> Floats:
    """Return the most that a group may still gain from each node on, of what arcs gain, column by column."""
    found = np.full((diagram.nodes, net.shape[1]), -np.inf)
    found[END] = 0.0
    for arcs in reversed(diagram.layers):
        if arcs.stop > arcs.start:
            values = net[arcs] + found[diagram.target[arcs]]
            sources = diagram.source[arcs]
            first = np.flatnonzero(np.diff(sources, prepend=-1))
            found[sources[first]] = np.maximum.reduceat(values, first, axis=0)
    return found


def tables_of(diagram: Diagram, search: Search) -> Tables | None:
    """Return the number of each arc's table, the outputs of each table's groups, and all tables, if there is time."""
    numbers: dict[tuple[int, Outputs], int] = {}
    pairs = zip(diagram.addition.tolist(), diagram.outputs, strict=True)
    found = np.array([numbers.setdefault(pair, len(numbers)) for pair in pairs], dtype=np.int64)
    made = [diagram.table_of(diagram.additions[number], outputs) for number, outputs in numbers]
    tables = np.empty((len(made), ROWS, max((table.shape[1] for table in made), default=0)))
    for table, one in zip(tables, made, strict=True):
        if search.expired():
            return None
        table[:, : one.shape[1]] = one
        table[:, one.shape[1] :] = 0.0
        table[TIME, one.shape[1] :] = np.inf  # where there are fewer boxes
    return found, [outputs for _, outputs in numbers], tables
