"""A lower bound from a linear program over all subgraphs that a plan may be made of.

A *column* is a connected set of operators with what it finds resident and what it retains, at the least latency of any
granularity and order. Every plan is a choice of columns that satisfies

- *cover*: every operator is in a column;
- *link*: for every operator and every tensor it takes from another, some column that holds the operator makes the
  tensor itself or finds it resident, or some column stores it;
- *hand over*: a tensor is found resident no more often than it is retained.

So the least total of the linear relaxation bounds every plan, and its dual prices are the certificate: for no column do
the prices of the rows it serves exceed its latency. Columns are generated: the prices of those so far are looked for a
column that they favour, until there is none. At any time prices divided by the largest ratio of worth to latency are a
certificate of a bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shorthaul.core.search import Search
from shorthaul.tensor.bounds.diagram import Diagram
from shorthaul.tensor.bounds.pricing import Column, Pricing
from shorthaul.tensor.cost_model.exhaustion import Floor, is_exhaustible
from shorthaul.tensor.cost_model.profile import Profile, profile_of
from shorthaul.tensor.model import Problem, Rules
from shorthaul.tensor.tuning import (
    EXHAUSTED_PER_EFFORT,
    GRANULARITIES_PER_OUTLINE,
    LABELS_PER_EFFORT,
    MOST_LABELS,
    MOST_NODES,
)

Floats = NDArray[np.float64]

#: Columns that enter the linear program at once.
_ENTERING: Final = 300
#: Prices above a latency by this part are rounding.
_ROUNDING: Final = 1e-9
#: Groups in the making that go on at each node in the first pricings.
_WIDTH: Final = 8
#: The weight of the best prices so far against the last ones.
_INERTIA: Final = 0.5
#: The share of the effort in which columns are generated, and the parts of the last prices that are tried to be proven
#: in the rest where those themselves are not.
_GENERATING: Final = 0.8
_SCALES: Final = (1.0, 0.98, 0.95, 0.9, 0.8, 0.7)
#: A program whose bound is this near to its value is solved.
_CLOSE: Final = 1e-7


def _better(best: Floats, point: Floats, ratio: float | None, asked: int) -> Floats:
    """Return the better of two certificates; that of ``point`` is true once divided by ``ratio``, if there is one."""
    if ratio is None or point[:asked].sum() / ratio <= best[:asked].sum():
        return best
    return point / ratio


@dataclass(frozen=True, slots=True)
class Prices:
    """Dual prices: ``cover`` by operator, ``link`` by operator and tensor, ``hand_over`` by tensor. They add up."""

    cover: dict[int, float]
    link: dict[tuple[int, int], float]
    hand_over: dict[int, float]

    @property
    def value(self) -> float:
        """The bound: what all rows that ask for something are worth together."""
        return math.fsum([*self.cover.values(), *self.link.values()])

    def document(self) -> dict[str, object]:
        """Return the certificate of a result document."""
        return {
            "cover": [[operator, price] for operator, price in self.cover.items()],
            "link": [[operator, tensor, price] for (operator, tensor), price in self.link.items()],
            "hand_over": [[tensor, price] for tensor, price in self.hand_over.items()],
        }


def column_prices(problem: Problem, rules: Rules, search: Search, covers: list[float] | None = None) -> Prices | None:
    """Return the prices of the linear program as far as ``search`` gets; None under rules that it does not apply to.

    ``covers`` are prices to begin with, by operator, good ones or not.
    """
    if rules.stores_shared or rules.retains_inputs or not is_exhaustible(problem.machine, rules):
        return None
    program = Program(problem, rules, search)
    return program.solve(search, covers or []) if program.diagram.is_complete else None


class Program:
    """The linear program with the columns so far, each at its least latency."""

    def __init__(self, problem: Problem, rules: Rules, search: Search) -> None:
        from ortools.linear_solver import pywraplp

        self.problem = problem
        self.rules = rules
        self.diagram = Diagram(problem, rules, search, MOST_NODES)
        search.spend(self.diagram.nodes / LABELS_PER_EFFORT)
        self.columns: dict[Column, float] = {}
        self._floors: dict[Profile, Floor] = {}
        self._floor_of: dict[int, Floor] = {}
        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        rows = self.diagram.rows
        infinity = self._solver.infinity()
        self._rows = [self._solver.Constraint(float(row < rows.asked), infinity) for row in range(rows.number)]
        self._solver.Objective().SetMinimization()
        if self.diagram.is_complete:
            self.pricing = Pricing(self.diagram)
            self._begin()

    def _begin(self) -> None:
        """Enter each operator alone, and what no plan can afford for rows that nothing serves yet."""
        rows = self.diagram.rows
        for index, operator in enumerate(self.problem.operators):
            links = [rows.link[user, operator.output] for user in self.problem.consumers[operator.output]]
            served = (rows.cover[index], *links)
            column = Column(frozenset([index]), frozenset(), frozenset(), served, (1.0,) * len(served))
            floor = self._floor(column)
            floor.raise_it()
            if math.isfinite(floor.price):
                self.enter(column, floor.price)
        dear = 10 * math.fsum(self.columns.values()) + 1
        for row in range(rows.asked):
            self._enter((row,), (1.0,), dear)

    def enter(self, column: Column, latency: float) -> None:
        """Enter a column, or lower its cost."""
        if latency < self.columns.get(column, math.inf):
            self.columns[column] = latency
            self._enter(column.rows, column.signs, latency)

    def _enter(self, rows: tuple[int, ...], signs: tuple[float, ...], cost: float) -> None:
        variable = self._solver.NumVar(0, self._solver.infinity(), "")
        self._solver.Objective().SetCoefficient(variable, cost)
        total: dict[int, float] = {}
        for row, sign in zip(rows, signs, strict=True):
            total[row] = total.get(row, 0.0) + sign
        for row, sign in total.items():
            self._rows[row].SetCoefficient(variable, sign)

    def _floor(self, column: Column) -> Floor:
        produced = {self.problem.operators[index].output for index in column.inside}
        consumed = {tensor for index in column.inside for tensor in self.problem.operators[index].inputs}
        outputs = sorted((produced - consumed) | column.retained)
        profile = profile_of(self.problem, column.inside, outputs, column.resident, column.retained)
        if profile not in self._floors:
            self._floors[profile] = Floor(profile, self.problem.machine, self.rules)
        return self._floors[profile]

    def solve(self, search: Search, covers: list[float]) -> Prices | None:
        """Generate columns until none is favoured or the search ends; return the best prices that are proven."""
        from ortools.linear_solver import pywraplp

        asked = self.diagram.rows.asked
        best, centre, last = np.zeros((3, self.diagram.rows.number))
        centre[: len(covers)] = covers
        most = search.part(_GENERATING)
        width, inertia = _WIDTH, _INERTIA
        while not most.expired():
            if self._solver.Solve() != pywraplp.Solver.OPTIMAL:
                break
            value = self._solver.Objective().Value()
            last = np.maximum([row.dual_value() for row in self._rows], 0.0)
            point = inertia * centre + (1 - inertia) * last
            found, ratio = self._generate(point, most, width)
            best = _better(best, point, ratio, asked)
            if best[:asked].sum() > centre[:asked].sum():
                centre = best
            if value - best[:asked].sum() <= _CLOSE * value:
                break
            if found:
                inertia = _INERTIA
            elif inertia:
                inertia = 0.0
            elif ratio is None and width < MOST_LABELS:
                width *= 4
            else:
                break
        for scale in _SCALES:  # lower prices favour fewer groups
            if search.expired() or best[:asked].sum() >= scale * last[:asked].sum():
                break
            best = _better(best, scale * last, self._generate(scale * last, search, MOST_LABELS)[1], asked)
        return self._prices(best)

    def _generate(self, duals: Floats, search: Search, width: int) -> tuple[int, float | None]:
        """Enter columns that the prices favour; return how many, and the largest ratio of a worth to a latency."""
        before = self.pricing.labels
        found, is_complete = self.pricing.favoured(duals, search, width=width, most=MOST_LABELS)
        search.spend((self.pricing.labels - before) / LABELS_PER_EFFORT)
        found.sort(key=lambda item: self.pricing.least(item.profile) / item.worth)
        ratio, entered = 1.0, 0
        unsure = []
        for item in found:
            floor = self._floor_of.get(item.profile)
            if floor is None:
                floor = self._floor_of[item.profile] = self._floor(self.pricing.column(item.label))
            if floor.price == math.inf and entered < _ENTERING:
                self._raise(floor, search)
            if floor.price < item.worth * (1 - _ROUNDING) and entered < _ENTERING:
                self.enter(self.pricing.column(item.label), floor.price)
                entered += 1
            elif floor.value < item.worth * (1 - _ROUNDING):
                unsure.append((item, floor))
            ratio = max(ratio, item.worth / max(floor.value, self.pricing.least(item.profile), 1e-300))
        if entered or not is_complete:
            return entered, ratio if is_complete else None
        # Only what is still favoured at the latencies met has to be proven.
        ratio = 1.0
        for item, floor in unsure:
            while floor.value < item.worth and floor.price >= item.worth and not floor.is_final:
                if search.expired():
                    break
                self._raise(floor, search)
            if floor.value < item.worth * (1 - _ROUNDING):
                ratio = max(ratio, item.worth / max(floor.value, self.pricing.least(item.profile), 1e-300))
                self.enter(self.pricing.column(item.label), floor.value if floor.is_final else floor.price)
                entered += 1
        return entered, ratio

    def _raise(self, floor: Floor, search: Search) -> None:
        search.spend((floor.raise_it() + GRANULARITIES_PER_OUTLINE) / EXHAUSTED_PER_EFFORT)

    def _prices(self, duals: Floats) -> Prices:
        rows = self.diagram.rows
        return Prices(
            {row: float(duals[row]) for row in rows.cover if duals[row] > 0},
            {link: float(duals[row]) for link, row in rows.link.items() if duals[row] > 0},
            {tensor: float(duals[row]) for tensor, row in rows.hand_over.items() if duals[row] > 0},
        )
