"""A lower bound from a linear program over all subgraphs that a plan may be made of.

A *column* is a connected set of operators with what it finds resident and what it retains, at the least latency of any
granularity and order. Every plan is a choice of columns that satisfies

- *cover*: every operator is in a column;
- *link*: for every operator and every tensor it takes from another, some column that holds the operator makes the
  tensor itself or finds it resident, or some column stores it;
- *hand over*: a tensor is found resident no more often than it is retained.

So the least total of the linear relaxation bounds every plan, and its dual prices are the certificate: for no column do
the prices of the rows it serves exceed its latency. Latencies are bounded from below first, and exhausted only where
the program would use them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shorthaul.core.search import Search
from shorthaul.tensor.cost_model.exhaustion import Floor, is_exhaustible
from shorthaul.tensor.cost_model.profile import Profile, profile_of
from shorthaul.tensor.model import Problem, Rules
from shorthaul.tensor.tuning import COLUMNS_PER_EFFORT, FLOORS_PER_EFFORT, MOST_COLUMNS, MOST_GROUPS

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Columns that enter the linear program at once.
_ENTERING: Final = 200
#: Reduced costs above this part of the bound are rounding.
_ROUNDING: Final = 1e-9


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


def column_prices(problem: Problem, rules: Rules, search: Search) -> Prices | None:
    """Return the prices of the linear program as far as ``search`` gets; None if there are too many columns for it."""
    if rules.stores_shared or rules.retains_inputs or not is_exhaustible(problem.machine, rules):
        return None
    program = _Program(problem, rules)
    if not program.fill(search):
        return None
    return program.solve(search)


def connected_groups(problem: Problem, rules: Rules) -> Iterator[int]:
    """Yield every connected set of operators, as bit masks, that no rule on prologues forbids at once."""
    count = len(problem.operators)
    around = [0] * count
    apart = [0] * count
    for index, operator in enumerate(problem.operators):
        for side, tensor in enumerate(operator.inputs):
            source = problem.producer[tensor]
            if source is None:
                continue
            around[index] |= 1 << source
            around[source] |= 1 << index
            if rules.prologues_are_whole and operator.is_matmul and not problem.operators[source].is_matmul:
                machine = problem.machine
                room = max(machine.native_width, (machine.native_width, machine.native_height)[side])
                if problem.reduction(index) > room:
                    apart[index] |= 1 << source
                    apart[source] |= 1 << index
    for first in range(count):
        # Every set whose smallest operator is this one: each of its neighbours joins now or never.
        pending = [(1 << first, around[first], apart[first] | ((1 << first) - 1))]
        while pending:
            inside, near, never = pending.pop()
            yield inside
            fresh = near & ~inside & ~never
            while fresh:
                bit = fresh & -fresh
                fresh ^= bit
                index = bit.bit_length() - 1
                pending.append((inside | bit, near | around[index], never | apart[index]))
                never |= bit


class _Program:
    """The linear program: columns with a floor each, rows numbered cover, link, hand over."""

    def __init__(self, problem: Problem, rules: Rules) -> None:
        self.problem = problem
        self.rules = rules
        self.links = [
            (index, tensor)
            for index, operator in enumerate(problem.operators)
            for tensor in dict.fromkeys(operator.inputs)
            if problem.producer[tensor] is not None
        ]
        self.handed = [tensor for tensor in range(len(problem.tensors)) if self._may_stay(tensor)]
        begin = len(problem.operators)
        self.link_row = {link: begin + number for number, link in enumerate(self.links)}
        self.links_of: dict[int, list[tuple[int, int]]] = {}
        for link in self.links:
            self.links_of.setdefault(link[1], []).append(link)
        begin += len(self.links)
        self.hand_row = {tensor: begin + number for number, tensor in enumerate(self.handed)}
        self.rows = begin + len(self.handed)
        self.floors: list[Floor] = []
        self.known: dict[Profile, int] = {}
        self.tried = 0  # columns, those that do not fit among them
        self.floor_of: list[int] = []  # by column
        self.entries: list[tuple[int, ...]] = []  # by column, rows with coefficient 1
        self.taken: list[tuple[int, ...]] = []  # by column, rows with coefficient -1

    def _may_stay(self, tensor: int) -> bool:
        problem = self.problem
        is_inner = problem.producer[tensor] is not None and bool(problem.consumers[tensor])
        return is_inner and problem.tensors[tensor].size <= problem.machine.capacity

    def fill(self, search: Search) -> bool:
        """Make all columns; False if there are too many, or the search ends."""
        groups = list(islice(connected_groups(self.problem, self.rules), MOST_GROUPS + 1))
        if len(groups) > MOST_GROUPS:
            return False
        for group in groups:
            before = self.tried
            self._add(group, search)
            search.spend((self.tried - before + 1) / COLUMNS_PER_EFFORT)
            if self.tried > MOST_COLUMNS or search.expired():
                return False
        return True

    def _add(self, group: int, search: Search) -> None:
        problem = self.problem
        inside = frozenset(index for index in range(len(problem.operators)) if group >> index & 1)
        produced = {problem.operators[index].output for index in inside}
        consumed = {tensor for index in inside for tensor in problem.operators[index].inputs}
        sinks = produced - consumed
        shapes = {problem.tensors[tensor] for tensor in sinks}
        if len(shapes) > 1:
            return
        readable = [tensor for tensor in self.handed if tensor in consumed - produced]
        keepable = [tensor for tensor in self.handed if tensor in produced and problem.tensors[tensor] in shapes]
        for retained in self._subsets(keepable, 0):
            size = sum(problem.tensors[tensor].size for tensor in retained)
            outputs = sorted(sinks | set(retained))
            for resident in self._subsets(readable, size):
                self.tried += 1
                if self.tried > MOST_COLUMNS or (self.tried % 64 == 0 and search.expired()):
                    return
                profile = profile_of(problem, inside, outputs, frozenset(resident), frozenset(retained))
                self._add_column(inside, produced, sinks - set(retained), resident, retained, profile)

    def _subsets(self, tensors: list[int], held: int) -> Iterator[tuple[int, ...]]:
        room = self.problem.machine.capacity - held
        for count in range(len(tensors) + 1):
            found = False
            for chosen in combinations(tensors, count):
                if sum(self.problem.tensors[tensor].size for tensor in chosen) <= room:
                    found = True
                    yield chosen
            if not found:
                return

    def _add_column(
        self,
        inside: frozenset[int],
        produced: set[int],
        stored: set[int],
        resident: tuple[int, ...],
        retained: tuple[int, ...],
        profile: Profile,
    ) -> None:
        if profile not in self.known:
            self.known[profile] = len(self.floors)
            self.floors.append(Floor(profile, self.problem.machine, self.rules))
        floor = self.known[profile]
        if np.isinf(self.floors[floor].value):
            return
        rows = set(inside)
        there = produced.union(resident)
        for index in inside:
            rows.update(
                self.link_row[index, tensor]
                for tensor in self.problem.operators[index].inputs
                if tensor in there and (index, tensor) in self.link_row
            )
        for tensor in stored:
            rows.update(self.link_row[link] for link in self.links_of.get(tensor, ()))
        rows.update(self.hand_row[tensor] for tensor in retained)
        self.floor_of.append(floor)
        self.entries.append(tuple(sorted(rows)))
        self.taken.append(tuple(self.hand_row[tensor] for tensor in resident))

    def solve(self, search: Search) -> Prices | None:
        """Solve, raise the floors that the solution uses, and again, until they are final or the search ends."""
        from ortools.linear_solver import pywraplp
        from scipy.sparse import csr_matrix

        number = len(self.floor_of)
        where = [(column, row, 1.0) for column, rows in enumerate(self.entries) for row in rows]
        where += [(column, row, -1.0) for column, rows in enumerate(self.taken) for row in rows]
        columns, rows, values = zip(*where, strict=True)
        matrix = csr_matrix((values, (columns, rows)), shape=(number, self.rows))
        solver = pywraplp.Solver.CreateSolver("GLOP")
        asked = len(self.problem.operators) + len(self.links)
        constraints = [solver.Constraint(1.0 if row < asked else 0.0, solver.infinity()) for row in range(self.rows)]
        used: dict[int, pywraplp.Variable] = {}
        floor_of = np.array(self.floor_of)
        best: Floats | None = None
        count = len(self.problem.operators)
        entering = np.array([n for n, rows in enumerate(self.entries) if sum(row < count for row in rows) == 1])
        while True:
            cost = np.array([floor.value for floor in self.floors])[floor_of]
            for column in entering.tolist():
                if column not in used:
                    variable = used[column] = solver.NumVar(0, solver.infinity(), "")
                    for place in range(matrix.indptr[column], matrix.indptr[column + 1]):
                        constraints[matrix.indices[place]].SetCoefficient(variable, matrix.data[place])
            objective = solver.Objective()
            for column, variable in used.items():
                objective.SetCoefficient(variable, cost[column])
            objective.SetMinimization()
            if solver.Solve() != pywraplp.Solver.OPTIMAL:
                return None if best is None else self._prices(best)
            duals = np.maximum([constraint.dual_value() for constraint in constraints], 0.0)
            worth = matrix @ duals
            reduced = cost - worth
            wrong = np.flatnonzero(reduced < -_ROUNDING * max(1.0, float(cost.max())))
            scale = min(1.0, float(np.min(cost[worth > 0] / worth[worth > 0], initial=1.0)))
            if best is None or duals[:asked].sum() * scale > best[:asked].sum():
                best = duals * scale
            if search.expired():
                return self._prices(best)
            search.spend(0.02)
            fresh = wrong[~np.isin(wrong, list(used))]
            if len(fresh):
                entering = fresh[np.argsort(reduced[fresh], kind="stable")[:_ENTERING]]
                continue
            entering = np.empty(0, np.int64)
            loose = {self.floor_of[column] for column, variable in used.items() if variable.solution_value() > 1e-7}
            loose = {floor for floor in loose if not self.floors[floor].is_final}
            if not loose:
                return self._prices(best)
            for floor in sorted(loose):
                self.floors[floor].raise_it()
                search.spend(1 / FLOORS_PER_EFFORT)

    def _prices(self, duals: Floats) -> Prices:
        count, links = len(self.problem.operators), len(self.links)
        return Prices(
            {row: float(duals[row]) for row in range(count) if duals[row] > 0},
            {link: float(duals[self.link_row[link]]) for link in self.links if duals[self.link_row[link]] > 0},
            {t: float(duals[count + links + n]) for n, t in enumerate(self.handed) if duals[count + links + n] > 0},
        )
