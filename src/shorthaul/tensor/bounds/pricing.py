"""The columns of the linear program that its prices favour, found on a diagram of all groups.

A group's latency is no less than any weighted mean of its compute and its traffic, and both are no less than what its
arcs add up to. So for each weight a longest path bounds what the rest of a group may gain: a group in the making is
given up once its gain so far and that bound come to nothing. Groups in the making at one node that have the same
profile so far differ in their prices only: the best one goes on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from operator import sub
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shorthaul.core.search import Search
from shorthaul.tensor.bounds.completions import ByBox, Judge
from shorthaul.tensor.bounds.diagram import END, Addition, Diagram
from shorthaul.tensor.model import Tensor

Floats = NDArray[np.float64]

#: The weights of compute against traffic that bounds are made with.
_WEIGHTS: Final = (1.0, 0.0, 0.1, 0.5, 0.9, 0.05, 0.25, 0.75, 0.95, 0.02, 0.075, 0.15, 0.35, 0.65, 0.85, 0.98)
#: Arcs times boxes up to which groups in the making are judged box by box at once, rather than by weights before.
_SMALL: Final = 4_000_000


class Label(NamedTuple):
    """A group in the making: what its prices add up to, and how it came to be."""

    worth: float
    before: Label | None
    arc: int


class Column(NamedTuple):
    """A group with what it finds resident and retains, and its coefficients in the linear program."""

    inside: frozenset[int]
    resident: frozenset[int]
    retained: frozenset[int]
    rows: tuple[int, ...]
    signs: tuple[float, ...]


class Found(NamedTuple):
    """A group that its prices favour: its profile, by number, and what it decides."""

    profile: int
    worth: float
    label: Label


@dataclass(frozen=True, slots=True)
class _Profile:
    """A profile in the making: pieces with how often they occur, and amounts."""

    pieces: tuple[tuple[int, int], ...] = ()
    stored: int = 0
    held: int = 0
    k_limit: float = math.inf
    left_prologue: int = 0
    right_prologue: int = 0

    def grown(self, more: Addition) -> _Profile:
        pieces = dict(self.pieces)
        for piece in more.pieces:
            pieces[piece] = pieces.get(piece, 0) + 1
        return _Profile(
            tuple(sorted(pieces.items())),
            self.stored + more.stored,
            self.held + more.held,
            min(self.k_limit, more.k_limit),
            max(self.left_prologue, more.left_prologue),
            max(self.right_prologue, more.right_prologue),
        )


class Making(NamedTuple):
    """A group in the making at a node: what it may gain in all, and what its judge knows of it."""

    hope: float
    label: Label
    state: Any


class _ByWeight:
    """Bounds what groups in the making may gain by the potentials of their nodes, for each weight."""

    empty: Final = None

    def __init__(self, pricing: Pricing, potentials: Floats) -> None:
        self._pricing = pricing
        # what a path may gain after an arc, less what the arc costs, by weight
        self._after = (potentials[pricing.diagram.target] - pricing.costs).tolist()
        self._potential = potentials.tolist()

    def judge(self, profile: int, _: None, arc: int, total: float) -> tuple[int, float, None] | None:
        """Return the profile of a group with an arc added, and its hope; None if there is none."""
        pricing = self._pricing
        if total + min(map(sub, self._after[arc], pricing.costs_of[profile])) <= pricing.nothing:
            return None
        grown = pricing.grow(profile, arc)
        hope = total + min(map(sub, self._potential[pricing.targets[arc]], pricing.costs_of[grown]))
        return (grown, hope, None) if hope > pricing.nothing else None


class Pricing:
    """Prices columns over and over; profiles in the making are worked out once."""

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.bandwidth = diagram.problem.machine.bandwidth
        self.capacity = diagram.problem.machine.capacity
        self.layers = self._arcs_by_layer()
        self._profiles: list[_Profile] = []
        self.costs_of: list[tuple[float, ...]] = []  # by profile, what its arcs cost at each weight
        self._number: dict[tuple[Tensor, _Profile], int] = {}
        self._grown: dict[tuple[int, int], int] = {}
        self.additions = list(diagram.additions)
        weights = np.array(_WEIGHTS)
        self._mix = np.stack([weights, 1 - weights], axis=1)
        self.costs = np.multiply.outer(diagram.compute, weights)
        self.costs += np.multiply.outer(diagram.traffic / self.bandwidth, 1 - weights)
        self.targets = diagram.target.tolist()
        self._shapes: list[Tensor] = []
        self._alike: list[int] = []  # by profile, the same number where only the amount held differs
        self._arcs_of = self._arcs_by_node()
        self.labels = 0  #: groups in the making met so far
        self.nothing = 0.0  #: groups that may gain no more are given up
        self._by_box: ByBox | None = None

    @property
    def is_small(self) -> bool:
        """True if judging groups in the making box by box takes little."""
        return self.diagram.boxes.count * len(self.diagram.source) <= _SMALL

    def _arcs_by_layer(self) -> list[slice]:
        """Return the arcs of the nodes of each layer."""
        diagram = self.diagram
        found = []
        begin = 0
        for starts in diagram.starts:
            found.append(slice(begin, starts.start))
            begin = starts.stop
        return found

    def _arcs_by_node(self) -> list[range]:
        source = self.diagram.source
        begin = np.flatnonzero(np.diff(source, prepend=-2))
        arcs = [range(0)] * self.diagram.nodes
        for first, stop in zip(begin.tolist(), [*begin[1:].tolist(), len(source)], strict=True):
            if source[first] >= 0:
                arcs[source[first]] = range(first, stop)
        return arcs

    def _gains(self, duals: Floats) -> Floats:
        """Return by arc what its rows are worth."""
        diagram = self.diagram
        total = np.concatenate([[0.0], np.cumsum(duals[diagram.row] * diagram.sign)])
        gains: Floats = total[diagram.row_end[1:]] - total[diagram.row_end[:-1]]
        return gains

    def _potentials(self, gains: Floats) -> Floats:
        """Return for each node and weight the most that a group may still gain from there."""
        diagram = self.diagram
        potential = np.full((diagram.nodes, len(_WEIGHTS)), -np.inf)
        potential[END] = 0.0
        net = gains[:, None] - self.costs
        for arcs in reversed(self.layers):
            if arcs.stop > arcs.start:
                values = net[arcs] + potential[diagram.target[arcs]]
                sources = diagram.source[arcs]
                first = np.flatnonzero(np.diff(sources, prepend=-1))
                potential[sources[first]] = np.maximum.reduceat(values, first, axis=0)
        return potential

    def favoured(self, duals: Floats, search: Search, *, width: int, most: int) -> tuple[list[Found], bool]:
        """Return the best group of each profile, and last operator, whose worth may exceed its latency.

        Of the groups in the making at one node, the ``width`` best go on. The second value is true if nothing was left
        out: for that there was no more at any node, no more than ``most`` in all, and time enough.
        """
        gains = self._gains(duals)
        found: dict[tuple[int, int], Found] = {}
        is_complete = self._walk(found, gains, _ByWeight(self, self._potentials(gains)), search, width, most)
        return list(found.values()), is_complete

    def all_favoured(self, duals: Floats, search: Search, most: int) -> tuple[list[Found], bool]:
        """Return what :meth:`favoured` returns, with nothing left out, as long as there are no more than ``most``.

        What a group may still gain is bounded box by box, with the room that is left in fast memory.
        """
        if self._by_box is None:
            self._by_box = ByBox(self.diagram, self.grow)
        gains = self._gains(duals)
        found: dict[tuple[int, int], Found] = {}
        before = self.labels
        for judge in self._by_box.chunks(gains, search):
            if not self._walk(found, gains, judge, search, most, most - (self.labels - before)):
                return list(found.values()), False
        return list(found.values()), not search.expired()

    def _walk(
        self,
        found: dict[tuple[int, int], Found],
        gains: Floats,
        judge: _ByWeight | Judge,
        search: Search,
        width: int,
        most: int,
    ) -> bool:
        """Put the groups that may be favoured into ``found``; return whether nothing was left out."""
        diagram = self.diagram
        gain = gains.tolist()
        making: dict[int, dict[int, Making]] = {}
        is_complete = True
        before = self.labels
        for place, starts in enumerate(diagram.starts):
            if search.expired() or self.labels - before > most:
                return False
            begun: list[tuple[int, Label | None, Any, range]] = []
            if starts:
                shape = diagram.problem.tensors[diagram.problem.operators[diagram.order[place]].output]
                begun.append((self.begin(shape), None, judge.empty, starts))
            for node in diagram.layers[place]:
                there = self._undominated(making.pop(node, {}))
                if len(there) > width:
                    is_complete = False
                    there = sorted(there, key=lambda item: -item[1].hope)[:width]
                begun += [(profile, one.label, one.state, self._arcs_of[node]) for profile, one in there]
            for profile, label, state, arcs in begun:
                worth = 0.0 if label is None else label.worth
                for arc in arcs:
                    total = worth + gain[arc]
                    judged = judge.judge(profile, state, arc, total)
                    if judged is None:
                        continue
                    grown, hope, after = judged
                    self.labels += 1
                    target = self.targets[arc]
                    if target == END:
                        if (grown, place) not in found or found[grown, place].worth < total:
                            found[grown, place] = Found(grown, total, Label(total, label, arc))
                        continue
                    beside = making.setdefault(target, {})
                    if grown not in beside or beside[grown].label.worth < total:
                        beside[grown] = Making(hope, Label(total, label, arc), after)
        return is_complete

    def _undominated(self, there: dict[int, Making]) -> list[tuple[int, Making]]:
        """Return the groups in the making at a node, less those that hold more than another and are worth no more."""
        best: dict[int, float] = {}
        kept = []
        for profile, one in sorted(there.items(), key=lambda item: self._profiles[item[0]].held):
            alike = self._alike[profile]
            if one.label.worth > best.get(alike, -math.inf):
                best[alike] = one.label.worth
                kept.append((profile, one))
        return kept

    def least(self, profile: int) -> float:
        """Return what a group of this profile takes at least."""
        return max(self.costs_of[profile])

    def grow(self, profile: int, arc: int) -> int:
        """Return the profile with what an arc adds."""
        key = (profile, self.diagram.addition[arc])
        grown = self._grown.get(key, -1)
        if grown < 0:
            more = self._profiles[profile].grown(self.additions[key[1]])
            grown = self._profile(self._shapes[profile], more)
            self._grown[key] = grown
        return grown

    def begin(self, shape: Tensor) -> int:
        """Return the profile of a group with nothing in it."""
        return self._profile(shape, _Profile())

    def _profile(self, shape: Tensor, profile: _Profile) -> int:
        number = self._number.setdefault((shape, profile), len(self._profiles))
        if number == len(self._profiles):
            self._profiles.append(profile)
            self.costs_of.append(self._least_costs(shape, profile))
            self._shapes.append(shape)
            self._alike.append(self._number.setdefault((shape, replace(profile, held=-1)), number))
        return number

    def _least_costs(self, shape: Tensor, profile: _Profile) -> tuple[float, ...]:
        """Return for each weight what a profile costs at least, infinite where no granularity is left."""
        boxes = self.diagram.boxes
        table = boxes.outputs(shape, profile.stored, profile.held)
        for piece, number in profile.pieces:
            table += number * self.diagram.table(piece, shape)
        fits = np.maximum(table[2], table[3]) <= self.capacity
        fits &= boxes.allowed(shape, profile.k_limit, profile.left_prologue, profile.right_prologue)
        if not fits.any():
            return (math.inf,) * len(_WEIGHTS)
        table = table[:2, fits]
        table[1] /= self.bandwidth
        return tuple((self._mix @ table).min(axis=1).tolist())

    def column(self, label: Label) -> Column:
        """Return the group that a label stands for."""
        diagram = self.diagram
        choices = []
        rows: list[int] = []
        signs: list[float] = []
        at: Label | None = label
        while at is not None:
            choices.append(diagram.choice[at.arc])
            arc = slice(diagram.row_end[at.arc], diagram.row_end[at.arc + 1])
            rows += diagram.row[arc].tolist()
            signs += diagram.sign[arc].tolist()
            at = at.before
        output = [operator.output for operator in diagram.problem.operators]
        return Column(
            frozenset(choice.operator for choice in choices if choice.operator >= 0),
            frozenset(tensor for choice in choices for tensor in choice.resident),
            frozenset(output[choice.operator] for choice in choices if choice.is_retained),
            tuple(rows),
            tuple(signs),
        )
