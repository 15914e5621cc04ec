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
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shorthaul.core.search import Search
from shorthaul.tensor.bounds.diagram import END, Addition, Diagram
from shorthaul.tensor.model import Tensor

Floats = NDArray[np.float64]

#: The weights of compute against traffic that bounds are made with.
_WEIGHTS: Final = (1.0, 0.0, 0.1, 0.5, 0.9, 0.05, 0.25, 0.75, 0.95, 0.02, 0.075, 0.15, 0.35, 0.65, 0.85, 0.98)


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


class Pricing:
    """Prices columns over and over; profiles in the making are worked out once."""

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.bandwidth = diagram.problem.machine.bandwidth
        self.capacity = diagram.problem.machine.capacity
        self._layers = self._arcs_by_layer()
        self._profiles: list[_Profile] = []
        self._costs: list[tuple[float, ...]] = []  # by profile, what its arcs cost at each weight
        self._number: dict[tuple[Tensor, _Profile], int] = {}
        self._grown: dict[tuple[int, int], int] = {}
        self._additions = list(diagram.additions)
        weights = np.array(_WEIGHTS)
        self._mix = np.stack([weights, 1 - weights], axis=1)
        self.costs = np.multiply.outer(diagram.compute, weights)
        self.costs += np.multiply.outer(diagram.traffic / self.bandwidth, 1 - weights)
        self._targets = diagram.target.tolist()
        self._shapes: list[Tensor] = []
        self._alike: list[int] = []  # by profile, the same number where only the amount held differs
        self._arcs_of = self._arcs_by_node()
        self.labels = 0  #: groups in the making met so far
        self.nothing = 0.0  #: groups that may gain no more are given up

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
        for arcs in reversed(self._layers):
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
        diagram = self.diagram
        gains = self._gains(duals)
        # what a path may gain after an arc, less what the arc costs, by weight
        potentials = self._potentials(gains)
        after = (potentials[diagram.target] - self.costs).tolist()
        potential = potentials.tolist()
        gain = gains.tolist()
        making: dict[int, dict[int, tuple[float, Label]]] = {}
        found: dict[tuple[int, int], Found] = {}
        is_complete = True
        labels = 0
        for place, starts in enumerate(diagram.starts):
            if search.expired() or labels > most:
                return list(found.values()), False
            begun: list[tuple[int, Label | None, range]] = []
            if starts:
                shape = diagram.problem.tensors[diagram.problem.operators[diagram.order[place]].output]
                begun.append((self._profile(shape, _Profile()), None, starts))
            for node in diagram.layers[place]:
                there = self._undominated(making.pop(node, {}))
                if len(there) > width:
                    is_complete = False
                    there = sorted(there, key=lambda item: -item[1])[:width]
                arcs = self._arcs_of[node]
                begun += [(profile, label, arcs) for profile, _, label in there]
            for profile, label, arcs in begun:
                worth = 0.0 if label is None else label.worth
                costs = self._costs[profile]
                for arc in arcs:
                    total = worth + gain[arc]
                    if total + min(map(sub, after[arc], costs)) <= self.nothing:
                        continue
                    grown = self._grow(profile, arc)
                    target = self._targets[arc]
                    hope = total + min(map(sub, potential[target], self._costs[grown]))
                    if hope <= self.nothing:
                        continue
                    labels += 1
                    if target == END:
                        if (grown, place) not in found or found[grown, place].worth < total:
                            found[grown, place] = Found(grown, total, Label(total, label, arc))
                        continue
                    beside = making.setdefault(target, {})
                    if grown not in beside or beside[grown][1].worth < total:
                        beside[grown] = hope, Label(total, label, arc)
        self.labels += labels
        return list(found.values()), is_complete

    def _undominated(self, there: dict[int, tuple[float, Label]]) -> list[tuple[int, float, Label]]:
        """Return the groups in the making at a node, less those that hold more than another and are worth no more."""
        best: dict[int, float] = {}
        kept = []
        for profile, (hope, label) in sorted(there.items(), key=lambda item: self._profiles[item[0]].held):
            alike = self._alike[profile]
            if label.worth > best.get(alike, -math.inf):
                best[alike] = label.worth
                kept.append((profile, hope, label))
        return kept

    def least(self, profile: int) -> float:
        """Return what a group of this profile takes at least."""
        return max(self._costs[profile])

    def _grow(self, profile: int, arc: int) -> int:
        """Return the profile with what an arc adds."""
        key = (profile, self.diagram.addition[arc])
        grown = self._grown.get(key, -1)
        if grown < 0:
            more = self._profiles[profile].grown(self._additions[key[1]])
            grown = self._profile(self._shapes[profile], more)
            self._grown[key] = grown
        return grown

    def _profile(self, shape: Tensor, profile: _Profile) -> int:
        number = self._number.setdefault((shape, profile), len(self._profiles))
        if number == len(self._profiles):
            self._profiles.append(profile)
            self._costs.append(self._least_costs(shape, profile))
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
