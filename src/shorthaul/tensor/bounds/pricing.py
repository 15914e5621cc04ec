"""The columns of the linear program that its prices favour, found on a diagram of all groups.

A group's latency is no less than any weighted mean of its compute and its traffic, and both are no less than what its
arcs add up to. So for each weight a longest path bounds what the rest of a group may gain: a group in the making is
given up once its gain so far and that bound come to nothing. Groups in the making at one node that have the same
profile so far differ in their prices only: the best one goes on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shorthaul.core.search import Search
from shorthaul.tensor.bounds.completions import ByBox, potentials, tables_of
from shorthaul.tensor.bounds.groups.compaction import END, NOWHERE, Addition, Choice
from shorthaul.tensor.bounds.groups.cutting import Means, Outputs
from shorthaul.tensor.bounds.groups.diagram import Diagram
from shorthaul.tensor.bounds.groups.ordering import deeds_of, holds_one
from shorthaul.tensor.bounds.groups.pieces import HELD, TIME, TRAFFIC, mix
from shorthaul.tensor.bounds.groups.rows import Rows
from shorthaul.tensor.bounds.walking import Found, Judge, Judged, Walk
from shorthaul.tensor.model import Problem
from shorthaul.tensor.tuning import (
    GROWN_PER_EFFORT,
    LABELS_PER_EFFORT,
    LAYERS_PER_EFFORT,
    PARTS_PER_EFFORT,
    PROFILES_PER_EFFORT,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: The weights of compute against traffic that bounds are made with.
_WEIGHTS: Final = (1.0, 0.0, 0.1, 0.5, 0.9, 0.05, 0.25, 0.75, 0.95, 0.02, 0.075, 0.15, 0.35, 0.65, 0.85, 0.98)
#: The same, where those in a tile's last step and in others differ.
_APART: Final = ((1.0, 0.0), (0.0, 1.0), (1.0, 0.5), (0.5, 0.0), (0.0, 0.5), (0.5, 1.0), (1.0, 0.1), (1.0, 0.25))


class Column(NamedTuple):
    """A group with what it finds resident and retains, and its coefficients in the linear program."""

    inside: frozenset[int]
    resident: frozenset[int]
    retained: frozenset[int]
    rows: tuple[int, ...]
    signs: tuple[float, ...]
    is_part: bool = False  #: a part of a group
    beside: frozenset[int] = frozenset()  #: what it stores beside taking it


def column_of(
    problem: Problem,
    rows: Rows,
    inside: frozenset[int],
    resident: frozenset[int],
    retained: frozenset[int],
    beside: frozenset[int] = frozenset(),
) -> Column:
    """Return a group with its coefficients."""
    produced = {problem.operators[index].output for index in inside}
    consumed = {tensor for index in inside for tensor in problem.operators[index].inputs}
    resident &= consumed - produced
    retained &= produced
    sinks = produced - consumed - retained
    served = [rows.cover[index] for index in inside]
    there = produced if rows.keeps_for_all else produced | resident
    for_all = sinks | beside | retained if rows.keeps_for_all else sinks
    taking = [(user, t) for user in inside for t in dict.fromkeys(problem.operators[user].inputs) if t in there]
    served += [rows.link[pair] for pair in taking]
    served += [rows.link[user, tensor] for tensor in for_all for user in problem.consumers[tensor]]
    served += [] if rows.keeps_for_all else [rows.hand_over[tensor] for tensor in retained]
    if rows.support:
        deeds = deeds_of(problem, inside, resident, retained)
        served += [row for each, row in rows.support.items() if deeds.supports(each)]
    served += [row for sets, row in rows.succession.items() if holds_one(retained, sets)]
    taken = [] if rows.keeps_for_all else [rows.hand_over[tensor] for tensor in resident]
    taken += [row for sets, row in rows.succession.items() if holds_one(resident, sets)]
    signs = (1.0,) * len(served) + (-1.0,) * len(taken)
    return Column(inside, resident, retained, (*served, *taken), signs, beside=beside)


@dataclass(frozen=True, slots=True)
class _Profile:
    """A profile in the making: pieces with how often they occur, and amounts."""

    pieces: tuple[tuple[int, int], ...] = ()
    stored: int = 0
    held: float = 0
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


class _ByWeight:
    """Bounds what groups in the making may gain by the potentials of their nodes, for each weight."""

    def __init__(self, pricing: Pricing, potentials: Floats) -> None:
        self.at_once = 1 << 14
        self.labels_per_effort = LABELS_PER_EFFORT
        self._pricing = pricing
        # what a path may gain after an arc, less what the arc costs, by weight
        self._after = potentials[pricing.diagram.target] - pricing.costs
        self._potential = potentials

    def judge(self, profile: Integers, state: Integers, arc: Integers, total: Floats) -> Judged:
        """Judge groups with an arc added, before their profiles are worked out and after."""
        pricing = self._pricing
        hope = total + (self._after[arc] - pricing.costs_of(profile)).min(axis=1)
        kept = np.flatnonzero(hope > pricing.nothing)
        arc = arc[kept]
        grown = pricing.grow(profile[kept], arc)
        hope = total[kept] + (self._potential[pricing.diagram.target[arc]] - pricing.costs_of(grown)).min(axis=1)
        has_hope = hope > pricing.nothing
        kept = kept[has_hope]
        return Judged(kept, grown[has_hope], hope[has_hope], state[kept])

    def forget(self, states: Integers) -> None:
        """Do nothing: groups have no states here."""


class Pricing:
    """Prices columns over and over; profiles in the making are worked out once."""

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.bandwidth = diagram.problem.machine.bandwidth
        self.capacity = diagram.problem.machine.capacity
        self._profiles: list[_Profile] = []
        self._number: dict[tuple[Outputs, _Profile], int] = {}
        self._grown: dict[int, int] = {}  #: by profile and what is added to it
        self._additions, self._addition = diagram.additions, diagram.addition
        pairs = np.array([*zip(_WEIGHTS, _WEIGHTS, strict=True), *_APART])
        self._mix = mix(*pairs.T)
        self._shapes = {shape: number for number, shape in enumerate(diagram.rows.weight)}
        self._weights = np.zeros(len(self._shapes))
        self._means, self._mean_of = Means(), dict[int, int]()  # of profiles of parts, and the numbers of these there
        self._arc_means, self._arc_of_means = Means(), np.zeros(len(diagram.source), np.int64)
        self.costs = self._costs_of_arcs()
        self._costs_of = np.full((1, len(self._mix)), np.nan)  # by profile and weight, where they were asked for
        self._costed = 0  # profiles whose costs were
        self._outputs: list[Outputs] = []
        self.labels = 0  #: groups in the making met so far
        self.nothing = 0.0  #: groups that may gain no more are given up
        self._by_box: ByBox | None = None
        #: by layer, groups with nothing in them, for each arc that begins one
        self._begin = [
            np.array([self._profile(diagram.outputs[arc], _Profile()) for arc in starts], dtype=np.int64)
            for starts in diagram.starts
        ]

    def _gains(self, duals: Floats) -> Floats:
        """Return by arc what its rows are worth, and price parts at their weights."""
        diagram = self.diagram
        weights = np.clip(duals[diagram.rows.prices :], 0.0, 1.0)
        if (weights != self._weights).any():
            self._weights = weights
            of_parts = np.flatnonzero(self._arc_of_means >= 0)
            self.costs[of_parts] = self._arc_means.least(weights)[self._arc_of_means[of_parts], None]
            self._costs_of[[*self._mean_of]] = self._means.least(weights)[:, None]
        total = np.concatenate([[0.0], np.cumsum(duals[diagram.row] * diagram.sign)])
        gains: Floats = total[diagram.row_end[1:]] - total[diagram.row_end[:-1]]
        return gains

    def favoured(self, duals: Floats, search: Search, *, width: int, most: int) -> tuple[list[Found], bool]:
        """Return the best group of each profile, and last operator, whose worth may exceed its latency.

        Of the groups in the making at one node, the ``width`` best go on. The second value is true if nothing was left
        out: for that there was no more at any node, no more than ``most`` in all, and time enough.
        """
        gains = self._gains(duals)
        found: dict[tuple[int, int], Found] = {}
        walk = Walk(self.diagram, found, width)
        self._run(walk, gains, _ByWeight(self, potentials(self.diagram, gains[:, None] - self.costs)), search, most)
        return list(found.values()), walk.is_complete

    def favoured_by_box(self, duals: Floats, search: Search, *, width: int, most: int) -> tuple[list[Found], bool]:
        """Return what :meth:`favoured` returns, with fewer groups in the making.

        What a group may still gain is bounded box by box, with the room that is left in fast memory.
        """
        if self._by_box is None:
            made = tables_of(self.diagram, search)
            if made is None:
                return [], False
            self._by_box = ByBox(self.diagram, self.grow, made)
        gains = self._gains(duals)
        self._by_box.weigh(self._weights, search)
        found: dict[tuple[int, int], Found] = {}
        is_complete = True
        for judge in self._by_box.chunks(gains, search):
            walk = Walk(self.diagram, found, width)
            self._run(walk, gains, judge, search, most)
            most -= walk.labels
            is_complete &= walk.is_complete
            if most < 0:
                break
        return list(found.values()), is_complete and most >= 0 and not search.expired()

    def _run(self, walk: Walk, gains: Floats, judge: Judge, search: Search, most: int) -> None:
        """Walk to the end, or until the effort is spent."""
        known = self.made()
        for labels in walk.run(self._begin, gains, judge, search, most):
            search.spend(1 / LAYERS_PER_EFFORT + labels / judge.labels_per_effort + self.made() - known)
            known = self.made()
        self.labels += walk.labels

    def made(self) -> float:
        """Return the effort that all profiles so far took, and what the arcs cost."""
        costed = (self._costed - len(self._mean_of) + self._arcs_costed) / PROFILES_PER_EFFORT
        return costed + len(self._mean_of) / PARTS_PER_EFFORT + len(self._profiles) / GROWN_PER_EFFORT

    def ranked(self, found: list[Found]) -> list[Found]:
        """Return groups in the order of what they take at least, as a part of their worth."""
        worth = np.array([item.worth for item in found])
        least = self.costs_of(np.array([item.profile for item in found], dtype=np.int64)).max(axis=1)
        return [found[place] for place in np.argsort(least / worth, kind="stable").tolist()]

    def least(self, profile: int) -> float:
        """Return what a group of this profile takes at least."""
        return float(self.costs_of(np.array([profile])).max())

    def costs_of(self, profile: Integers) -> Floats:
        """Return for each weight what groups of these profiles cost at least."""
        for number in np.unique(profile[np.isnan(self._costs_of[profile, 0])]).tolist():
            self._costs_of[number] = self._least_costs(number)
            self._costed += 1
        costs: Floats = self._costs_of[profile]
        return costs

    def grow(self, profile: Integers, arc: Integers) -> Integers:
        """Return profiles with what arcs add."""
        known, keys = self._grown, (profile * len(self._additions) + self._addition[arc]).tolist()
        return np.array([known[key] if key in known else self._grown_by(key) for key in keys], dtype=np.int64)

    def _grown_by(self, key: int) -> int:
        profile, addition = divmod(key, len(self._additions))
        more = self._profiles[profile].grown(self._additions[addition])
        grown = self._grown[key] = self._profile(self._outputs[profile], more)
        return grown

    def _profile(self, outputs: Outputs, profile: _Profile) -> int:
        number = self._number.setdefault((outputs, profile), len(self._profiles))
        if number == len(self._profiles):
            self._profiles.append(profile)
            self._outputs.append(outputs)
            if number == len(self._costs_of):
                self._costs_of = np.concatenate([self._costs_of, np.full_like(self._costs_of, np.nan)])
        return number

    def _least_costs(self, number: int) -> Floats:
        """Return for each weight what a profile costs at least, infinite where no granularity is left."""
        outputs, profile = self._outputs[number], self._profiles[number]
        amounts = Addition((), *(getattr(profile, name) for name in Addition._fields[1:]))
        table = self.diagram.table_of(amounts, outputs, profile.pieces, self.capacity)
        if outputs.is_part:
            self._means.add(self._shapes[outputs.shape], *_times(table))
            self._mean_of[number] = len(self._mean_of)
            return np.full(len(self._mix), self._means.at(self._mean_of[number], self._weights)[0])
        return self._least(table)

    def _least(self, table: Floats) -> Floats:
        if not table.shape[1]:
            return np.full(len(self._mix), np.inf)
        least: Floats = (self._mix @ table[:HELD]).min(axis=1)
        return least

    def _costs_of_arcs(self) -> Floats:
        """Return by arc and weight what its additions cost at least: they add up to no more than any group costs."""
        diagram = self.diagram
        known: dict[tuple[int, Outputs], tuple[Floats, int]] = {}
        for number, outputs in zip(self._addition.tolist(), diagram.outputs, strict=True):
            if (number, outputs) not in known:
                more = self._additions[number]
                table = diagram.table_of(Addition(more.pieces, more.stored), outputs)
                table = table[:, np.isfinite(table[TIME])]
                mean = NOWHERE
                if outputs.is_part:
                    mean = self._arc_means.add(self._shapes[outputs.shape], *_times(table))
                known[number, outputs] = self._least(table), mean
        self._arcs_costed = len(known)
        every = [known[pair] for pair in zip(self._addition.tolist(), diagram.outputs, strict=True)]
        self._arc_of_means = np.array([mean for _, mean in every], dtype=np.int64)
        costs = np.array([cost for cost, _ in every]).reshape(-1, len(self._mix))
        of_parts = np.flatnonzero(self._arc_of_means >= 0)
        if len(of_parts):
            costs[of_parts] = self._arc_means.least(self._weights)[self._arc_of_means[of_parts], None]
        return costs

    def times(self, profile: int) -> tuple[float, float, float]:
        """Return what a part costs, and its compute and traffic there."""
        return self._means.at(self._mean_of[profile], self._weights)

    def is_part(self, profile: int) -> bool:
        """True if groups of this profile are parts of others."""
        return self._outputs[profile].is_part

    def column(self, found: Found) -> Column:
        """Return the group that was found."""
        outputs = self._outputs[found.profile]
        column = self._column(list(found.trails.arcs(found.number)), outputs)
        return self._priced(column, outputs, *self.times(found.profile)[1:]) if outputs.is_part else column

    def parts(self) -> Iterator[tuple[Column, float]]:
        """Yield all parts of one arc, with their traffic, at every granularity that may cost least."""
        diagram = self.diagram
        for starts, begin in zip(diagram.starts, self._begin, strict=True):
            ends = [(arc, start) for arc, start in zip(starts, begin, strict=True) if diagram.target[arc] == END]
            arcs = [(arc, start) for arc, start in ends if diagram.outputs[arc].is_part]
            if not arcs:
                continue
            profiles = self.grow(np.array([start for _, start in arcs]), np.array([arc for arc, _ in arcs]))
            self.costs_of(profiles)
            for (arc, _), profile in zip(arcs, profiles.tolist(), strict=True):
                for compute, traffic in self._means.points(self._mean_of[profile]):
                    column = self._column([arc], diagram.outputs[arc])
                    yield self._priced(column, diagram.outputs[arc], compute, traffic), traffic

    def _priced(self, column: Column, outputs: Outputs, compute: float, traffic: float) -> Column:
        """Return a part with its coefficient in the row of its weight."""
        row = self.diagram.rows.weight[outputs.shape]
        return column._replace(rows=(*column.rows, row), signs=(*column.signs, traffic - compute))

    def _column(self, arcs: list[int], outputs: Outputs) -> Column:
        diagram = self.diagram
        choices: list[Choice] = []
        rows: list[int] = []
        signs: list[float] = []
        for arc in arcs:
            choices += diagram.choices[arc]
            served = slice(diagram.row_end[arc], diagram.row_end[arc + 1])
            rows += diagram.row[served].tolist()
            signs += diagram.sign[served].tolist()
        operators = diagram.problem.operators
        return Column(
            frozenset(choice.operator for choice in choices),
            frozenset(tensor for choice in choices for tensor in choice.resident),
            frozenset(operators[choice.operator].output for choice in choices if choice.is_retained),
            tuple(rows),
            tuple(signs),
            outputs.is_part,
            frozenset(operators[choice.operator].output for choice in choices if choice.is_beside),
        )


def _times(table: Floats) -> tuple[Floats, Floats]:
    """Return compute and traffic in all steps."""
    return table[TIME : TIME + 2].sum(axis=0), table[TRAFFIC : TRAFFIC + 2].sum(axis=0)
