"""The linear program itself: its rows, or classes of them whose prices are the same, and the columns so far.

Prices that are the same for rows that look alike, as blocks repeat, are prices nevertheless, so the best of them bound
every plan. They are few, and the program that asks only for their sums has far fewer columns that matter: none for each
choice among blocks that are the same. It says soon what the program with all rows may take long to say.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from shorthaul.core.search import Search
from shorthaul.tensor.model import Problem
from shorthaul.tensor.tuning import ENTRIES_PER_EFFORT, PIVOTS_PER_EFFORT

if TYPE_CHECKING:
    from shorthaul.tensor.bounds.groups.rows import Rows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: What a column serves of classes of rows.
Served = frozenset[tuple[int, float]]

#: A column has to be cheaper by this part to take the place of another one that serves the same.
_CHEAPER: Final = 1e-12
#: Amounts of a column up to this are rounding.
_SOME: Final = 1e-7


class Master:
    """A linear program over the sums of the rows of each class; the first ``asked`` rows ask for something.

    A column is what it serves of each class, and its cost.
    """

    def __init__(self, asked: int, class_of: Integers) -> None:
        from ortools.linear_solver import pywraplp

        self._class_of = class_of
        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        self._optimal = pywraplp.Solver.OPTIMAL
        least = np.bincount(class_of[:asked], minlength=int(class_of.max(initial=-1)) + 1)
        infinity = self._solver.infinity()
        self._rows = [self._solver.Constraint(float(number), infinity) for number in least]
        self._solver.Objective().SetMinimization()
        self._known: dict[Served, tuple[float, Any]] = {}  # the cheapest variable
        self._entries = 0  # that a solution reads

    @property
    def classes(self) -> int:
        """The number of classes of rows."""
        return len(self._rows)

    def enter(self, rows: tuple[int, ...], signs: tuple[float, ...], cost: float) -> bool:
        """Enter a column; return whether none serves the same at this cost or less."""
        key = self.key(rows, signs)
        if cost >= self._known.get(key, (math.inf, None))[0] * (1 - _CHEAPER):
            return False
        variable = self._solver.NumVar(0, self._solver.infinity(), "")
        self._known[key] = cost, variable
        self._entries += len(key)
        self._solver.Objective().SetCoefficient(variable, cost)
        for row, sign in key:
            self._rows[row].SetCoefficient(variable, sign)
        return True

    def key(self, rows: tuple[int, ...], signs: tuple[float, ...]) -> Served:
        """Return what a column serves of each class of rows."""
        total: dict[int, float] = {}
        for row, sign in zip(self._class_of[list(rows)].tolist(), signs, strict=True):
            total[row] = total.get(row, 0.0) + sign
        return frozenset((row, sign) for row, sign in total.items() if sign)

    def amounts(self) -> dict[Served, float]:
        """Return how much the solution has of the columns that serve the same."""
        amounts = ((key, variable.solution_value()) for key, (_, variable) in self._known.items())
        return {key: amount for key, amount in amounts if amount > _SOME}

    def solve(self, search: Search) -> tuple[float, Floats] | None:
        """Return the value and the prices by row, None without a solution."""
        if search.remaining_s() < math.inf:
            self._solver.SetTimeLimit(max(1, int(1000 * search.remaining_s())))
        status = self._solver.Solve()
        search.spend(max(1, self._solver.iterations()) * math.sqrt(len(self._rows)) / PIVOTS_PER_EFFORT)
        search.spend(self._entries / ENTRIES_PER_EFFORT)
        if status != self._optimal:
            return None
        prices = np.maximum([row.dual_value() for row in self._rows], 0.0)
        return self._solver.Objective().Value(), prices[self._class_of]


def alike_rows(problem: Problem, rows: Rows, later: frozenset[int], radius: int) -> Integers:
    """Return by row the number of its class: rows alike up to neighbours ``radius`` operators away.

    Operators ``later`` are like none that are covered.
    """
    operators, tensors = colours(problem, later, radius)
    keys: list[Hashable] = [None] * rows.number
    for row, index in enumerate(rows.cover):
        keys[row] = "cover", operators[index]
    for (index, tensor), row in rows.link.items():
        operator = problem.operators[index]
        side = operator.inputs.index(tensor) if operator.is_matmul else 0
        keys[row] = "link", operators[index], side, tensors[tensor]
    for deeds, row in rows.support.items():
        alike = operators, tensors, tensors  # by what a deed is
        keys[row] = "support", tuple(sorted((kind, alike[kind][number]) for kind, number in deeds))
    for sets, row in rows.succession.items():
        keys[row] = "succession", tuple(sorted(tuple(sorted(tensors[tensor] for tensor in each)) for each in sets))
    for tensor, row in rows.hand_over.items():
        keys[row] = "hand over", tensors[tensor]
    for (index, tensor, shape, demands), row in rows.cut.items():
        operator = problem.operators[index]
        side = operator.inputs.index(tensor) if operator.is_matmul else 0
        keys[row] = "cut", operators[index], side, tensors[tensor], shape, demands
    for shape, row in rows.weight.items():
        keys[row] = "weight", shape
    return np.array(_numbered(keys), dtype=np.int64)


def colours(problem: Problem, later: frozenset[int], radius: int) -> tuple[list[int], list[int]]:
    """Return numbers of operators and of tensors, the same where they look alike."""
    operators = _numbered(
        (each.is_matmul, each.base_cost, index in later) for index, each in enumerate(problem.operators)
    )
    tensors: list[int] = []
    for _ in range(radius + 1):
        tensors = _numbered(
            (
                shape,
                None if (source := problem.producer[tensor]) is None else operators[source],
                tuple(sorted(operators[user] for user in problem.consumers[tensor])),
            )
            for tensor, shape in enumerate(problem.tensors)
        )
        inputs = [[tensors[tensor] for tensor in each.inputs] for each in problem.operators]
        operators = _numbered(
            (
                operators[index],
                tuple(inputs[index] if each.is_matmul else sorted(inputs[index])),
                tensors[each.output],
            )
            for index, each in enumerate(problem.operators)
        )
    return operators, tensors


def _numbered(keys: Iterable[Hashable]) -> list[int]:
    """Return the same number for keys that are equal, by order of appearance."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]
