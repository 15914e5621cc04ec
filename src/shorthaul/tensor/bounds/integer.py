"""A plan out of the columns of the linear program: the cheapest ones that serve every row, each whole or not at all."""

from __future__ import annotations

from typing import Final

from shorthaul.core.search import Search
from shorthaul.tensor.bounds.columns import Program
from shorthaul.tensor.bounds.pricing import Column

#: Costs are whole numbers, this many for the cost of all columns of a plan.
_GRAINS: Final = 10**7


def chosen_groups(program: Program, search: Search) -> list[tuple[int, ...]] | None:
    """Return groups of operators, in an order in which they can be executed; None if none were found.

    The columns generated so far serve every row together, at the least cost that is found within ``search``. What
    groups retain follows from their order: one that finds a tensor resident comes right after one that retains it,
    where that can be.
    """
    from ortools.sat.python import cp_model

    columns = program.columns
    if not columns or search.expired():
        return None
    model = cp_model.CpModel()
    rows = program.diagram.rows
    terms: list[list[cp_model.LinearExprT]] = [[] for _ in range(rows.number)]
    grain = max(min(program.value, max(columns.values()) * len(columns)), 1e-9) / _GRAINS
    costs = []
    variables = []
    for column, latency in columns.items():
        variable = model.new_bool_var("")
        variables.append(variable)
        costs.append(round(latency / grain) * variable)
        for row, sign in zip(column.rows, column.signs, strict=True):
            terms[row].append(int(sign) * variable)
    for row, served in enumerate(terms):
        if served or row < rows.asked:
            model.add(sum(served) >= int(row < rows.asked))
    model.minimize(sum(costs))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = search.seed % 2**31
    solver.parameters.max_deterministic_time = min(search.left(), 60.0)
    solver.parameters.max_time_in_seconds = max(0.01, min(search.remaining_s(), 1e6))
    status = solver.solve(model)
    search.spend(solver.response_proto.deterministic_time)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    return _in_order(program, [column for column, mine in zip(columns, variables, strict=True) if solver.value(mine)])


def _in_order(program: Program, chosen: list[Column]) -> list[tuple[int, ...]] | None:
    """Return the operators of the columns in an order in which every input is there before, None without one."""
    problem = program.problem
    place = {index: number for number, index in enumerate(problem.topological_order)}
    waiting = sorted(chosen, key=lambda column: min(place[index] for index in column.inside))
    there = set(problem.graph_inputs)
    ordered: list[tuple[int, ...]] = []
    kept: frozenset[int] = frozenset()
    while waiting:
        ready = [column for column in waiting if _inputs(program, column) <= there]
        if not ready:
            return None
        best = max(ready, key=lambda column: (len(column.resident & kept), -len(column.resident)))
        waiting.remove(best)
        kept = best.retained
        there |= {problem.operators[index].output for index in best.inside}
        ordered.append(tuple(sorted(best.inside)))
    return ordered


def _inputs(program: Program, column: Column) -> set[int]:
    operators = [program.problem.operators[index] for index in column.inside]
    return {tensor for operator in operators for tensor in operator.inputs} - {item.output for item in operators}
