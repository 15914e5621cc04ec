"""A plan out of the columns of the linear program: the cheapest ones that serve every row, each whole or not at all."""

from __future__ import annotations

import math
from collections import Counter
from typing import Final, NamedTuple

from ortools.sat.python import cp_model

from shorthaul.core.search import Search
from shorthaul.core.searching.cp_sat import run_solver
from shorthaul.tensor.bounds.columns import Program
from shorthaul.tensor.bounds.pricing import Column
from shorthaul.tensor.model import Problem
from shorthaul.tensor.tuning import CONSTRAINTS_PER_EFFORT, EFFORT_PER_SOLVER_TIME

#: Costs are whole numbers, this many for the cost of all columns of a plan.
_GRAINS: Final = 10**7
#: The most of CP-SAT's deterministic time, and of what the clock leaves: the rest is for it to end in.
_LONGEST: Final = 60.0
_CLOCK_SHARE: Final = 0.9
#: The share of the effort in which it may be built.
_BUILDING: Final = 0.3


def chosen_groups(program: Program, search: Search, latency: float = math.inf) -> list[tuple[int, ...]] | None:
    """Return groups of operators, in an order in which they can be executed; None if none were found.

    The columns generated so far serve every row together, at the least cost that is found within ``search``, of those
    that may be in a plan of about ``latency``. One that finds tensors resident
    comes right after one that retains them.
    """
    if search.expired():
        return None
    useful = _few(program.problem, program.useful(latency, search), CONSTRAINTS_PER_EFFORT * search.left())
    columns = [column for column in program.columns for _ in range(useful[column])]
    if not columns or search.expired():
        return None
    choice = _Choice(program, columns)
    search.spend(len(choice.model.proto.constraints) / CONSTRAINTS_PER_EFFORT)
    if search.expired():
        return None
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = search.seed % 2**31
    solver.parameters.max_deterministic_time = min(search.left() / EFFORT_PER_SOLVER_TIME, _LONGEST)
    solver.parameters.max_time_in_seconds = max(0.01, min(_CLOCK_SHARE * search.remaining_s(), 1e6))
    status = run_solver(solver, choice.model, search)
    search.spend(solver.response_proto.deterministic_time * EFFORT_PER_SOLVER_TIME)
    return choice.groups(solver) if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else None


class _Flow(NamedTuple):
    """A column, and its tensors: loaded, stored, and made for the group alone."""

    column: Column
    loaded: set[int]
    stored: set[int]
    own: set[int]


def _flow(problem: Problem, column: Column) -> _Flow:
    operators = [problem.operators[index] for index in column.inside]
    taken = {tensor for operator in operators for tensor in operator.inputs}
    made = {operator.output for operator in operators}
    return _Flow(
        column, taken - made - column.resident, made - taken - column.retained, (made & taken) - column.retained
    )


def _few(problem: Problem, columns: list[Column], most: float) -> Counter[Column]:
    """Return the first columns and how often each is among them: so many that about a part of ``most`` constraints are
    needed to put them in order.
    """
    keeping: dict[frozenset[int], int] = {}
    needed = 0.0
    for place, column in enumerate(columns):
        flow = _flow(problem, column)
        needed += 2 * len(flow.stored) + 3 * len(flow.loaded) + 2 * len(flow.own)
        if column.resident:
            needed += sum(number for kept, number in keeping.items() if column.resident <= kept)
        if column.retained:
            keeping[column.retained] = keeping.get(column.retained, 0) + 1
        if needed > _BUILDING * most:
            return Counter(columns[:place])
    return Counter(columns)


class _Choice:
    """The integer program: which columns, in which order, and which of them follow one another at once.

    The rows alone leave out that every group finds what it takes, and that no groups wait for one another in a circle.
    """

    def __init__(self, program: Program, columns: list[Column]) -> None:
        self.problem = program.problem
        self.model = cp_model.CpModel()
        self.flows = [_flow(self.problem, column) for column in columns]
        self.chosen = [self.model.new_bool_var("") for _ in self.flows]
        self.last = 2 * len(self.problem.operators)
        self.turn = [self._some_turn() for _ in self.flows]
        self.follows: dict[tuple[int, int], cp_model.IntVar] = {}
        self._serve(program)
        self._order(program.diagram.later)
        self._follow()

    def _some_turn(self) -> cp_model.IntVar:
        return self.model.new_int_var(0, self.last, "")

    def _serve(self, program: Program) -> None:
        """Serve all rows, at the least cost."""
        columns, rows = [flow.column for flow in self.flows], program.diagram.rows
        latencies = [program.columns[column] for column in columns]
        grain = max(min(program.value, max(latencies) * len(columns)), 1e-9) / _GRAINS
        costs = [round(latency / grain) for latency in latencies]
        self.model.minimize(sum(cost * mine for cost, mine in zip(costs, self.chosen, strict=True)))
        terms: list[list[cp_model.LinearExprT]] = [[] for _ in range(rows.number)]
        for column, mine in zip(columns, self.chosen, strict=True):
            for row, sign in zip(column.rows, column.signs, strict=True):
                terms[row].append(int(sign) * mine)
        for row, served in enumerate(terms):
            if served or row < rows.asked:
                self.model.add(sum(served) >= int(row < rows.asked))

    def _order(self, later: frozenset[int]) -> None:
        """Let every group come after all that store what it loads.

        What a group makes for itself alone is stored by groups after it, or loaded by groups before it only: the rules
        want it so. Operators ``later`` load after all groups.
        """
        model = self.model
        stored: dict[int, list[cp_model.IntVar]] = {}
        first: dict[int, cp_model.IntVar] = {}
        final: dict[int, cp_model.IntVar] = {}  # by tensor, when the last group that stores it is done
        loaded = {tensor: self._some_turn() for flow in self.flows for tensor in flow.loaded}  # by the last one
        for flow, mine, turn in zip(self.flows, self.chosen, self.turn, strict=True):
            for tensor in flow.stored:
                stored.setdefault(tensor, []).append(mine)
                model.add(first.setdefault(tensor, self._some_turn()) <= turn).only_enforce_if(mine)
                model.add(final.setdefault(tensor, self._some_turn()) >= turn).only_enforce_if(mine)
            for tensor in flow.loaded:
                model.add(loaded[tensor] >= turn).only_enforce_if(mine)
        late = {tensor for index in later for tensor in self.problem.operators[index].inputs}
        for flow, mine, turn in zip(self.flows, self.chosen, self.turn, strict=True):
            for tensor in flow.loaded - set(self.problem.graph_inputs):
                model.add(sum(stored.get(tensor, [])) >= mine)
                if tensor in final:
                    model.add(turn > final[tensor]).only_enforce_if(mine)
            for tensor in flow.own & first.keys():
                is_first = model.new_bool_var("")
                model.add(turn < first[tensor]).only_enforce_if(mine, is_first)
                if tensor in late:
                    model.add(is_first == 1)
                elif tensor in loaded:
                    model.add(turn > loaded[tensor]).only_enforce_if(mine, ~is_first)

    def _follow(self) -> None:
        """Let a group that finds tensors resident follow one that retains them, and no other follow that one."""
        after: dict[int, list[cp_model.IntVar]] = {}
        keeping = [place for place, flow in enumerate(self.flows) if flow.column.retained]
        for place, flow in enumerate(self.flows):
            resident = flow.column.resident
            if not resident:
                continue
            pairs = []
            for other in keeping:
                if other != place and resident <= self.flows[other].column.retained:
                    pair = self.follows[other, place] = self.model.new_bool_var("")
                    pairs.append(pair)
                    after.setdefault(other, []).append(pair)
                    self.model.add(self.turn[place] == self.turn[other] + 1).only_enforce_if(pair)
            self.model.add(sum(pairs) >= self.chosen[place])
        for place, pairs in after.items():
            self.model.add(sum(pairs) <= self.chosen[place])

    def groups(self, solver: cp_model.CpSolver) -> list[tuple[int, ...]] | None:
        """Return the operators of the columns chosen in an order in which every input is there before."""
        chosen = [place for place, mine in enumerate(self.chosen) if solver.value(mine)]
        chosen.sort(key=lambda place: solver.value(self.turn[place]))
        following = {one: other for (one, other), pair in self.follows.items() if solver.value(pair)}
        units = []
        for place in chosen:
            if place not in following.values():
                units.append([place])
                while units[-1][-1] in following:
                    units[-1].append(following[units[-1][-1]])
        there = set(self.problem.graph_inputs)
        ordered: list[tuple[int, ...]] = []
        while units:
            unit = next((unit for unit in units if self._is_ready(unit, there)), None)
            if unit is None:
                return None
            units.remove(unit)
            there.update(tensor for place in unit for tensor in self.flows[place].stored)
            ordered += [tuple(sorted(self.flows[place].column.inside)) for place in unit]
        return ordered

    def _is_ready(self, unit: list[int], there: set[int]) -> bool:
        """True if groups that follow one another find what they load."""
        found = set(there)
        for place in unit:
            if not self.flows[place].loaded <= found:
                return False
            found |= self.flows[place].stored
        return True
