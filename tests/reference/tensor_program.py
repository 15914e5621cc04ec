"""The least total of the linear program over all groups of a small problem at once, written apart from the engine's.

Every connected set of operators, whatever it finds resident and retains, is a column at the latency that a function
says; nothing is left out, nothing generated, and SciPy solves it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog
from tests.reference.tensor_exhaustive import subsets

from shorthaul.tensor.model import Problem


class Group(NamedTuple):
    """Operators, the tensors they store or retain, and what they find resident and retain."""

    inside: tuple[int, ...]
    outputs: tuple[int, ...]
    resident: tuple[int, ...]
    retained: tuple[int, ...]


def groups_of(problem: Problem) -> Iterator[Group]:
    """Yield all groups: connected by tensors made inside, their outputs of one shape."""
    fitting = {tensor for tensor, each in enumerate(problem.tensors) if each.size <= problem.machine.capacity}
    for inside in subsets(range(len(problem.operators))):
        made = {problem.operators[index].output for index in inside}
        taken = {tensor for index in inside for tensor in problem.operators[index].inputs}
        if not inside or not _is_connected(problem, inside, made):
            continue
        may_be_resident = [tensor for tensor in taken - made if problem.producer[tensor] is not None]
        may_be_retained = [tensor for tensor in made if problem.consumers[tensor]]
        for resident, retained in product(
            subsets(sorted(fitting & {*may_be_resident})), subsets(sorted(fitting & {*may_be_retained}))
        ):
            outputs = tuple(sorted((made - taken) | {*retained}))
            if len({problem.tensors[tensor] for tensor in outputs}) == 1:
                yield Group(inside, outputs, resident, retained)


def _is_connected(problem: Problem, inside: tuple[int, ...], made: set[int]) -> bool:
    near, pending = {inside[0]}, [inside[0]]
    while pending:
        index = pending.pop()
        operator = problem.operators[index]
        around = {problem.producer[tensor] for tensor in operator.inputs if tensor in made}
        around |= {user for user in problem.consumers[operator.output] if user in inside}
        pending += around - near
        near |= around
    return len(near) == len(inside)


def program_value(problem: Problem, latency: Callable[[Group], float]) -> float:
    """Return the least total of groups, fractions allowed, that every plan is a choice of; infinite if there is none."""
    cover = {index: row for row, index in enumerate(range(len(problem.operators)))}
    pairs = [
        (index, tensor)
        for index, operator in enumerate(problem.operators)
        for tensor in sorted({*operator.inputs})
        if problem.producer[tensor] is not None
    ]
    link = {pair: len(cover) + row for row, pair in enumerate(pairs)}
    asked = len(cover) + len(link)
    columns: list[np.ndarray] = []
    costs: list[float] = []
    for group in groups_of(problem):
        cost = latency(group)
        if math.isinf(cost):
            continue
        made = {problem.operators[index].output for index in group.inside}
        column = np.zeros(asked + len(problem.tensors))
        for (index, tensor), row in link.items():
            has_it = index in group.inside and tensor in made | {*group.resident}
            if has_it or tensor in {*group.outputs} - {*group.retained}:
                column[row] = 1
        column[[cover[index] for index in group.inside]] = 1
        column[[asked + tensor for tensor in group.retained]] = 1
        column[[asked + tensor for tensor in group.resident]] = -1
        columns.append(column)
        costs.append(cost)
    if not columns:
        return math.inf
    least = np.repeat([1.0, 0.0], [asked, len(problem.tensors)])
    found = linprog(costs, A_ub=-np.array(columns).T, b_ub=-least, method="highs")
    return float(found.fun) if found.status == 0 else math.inf
