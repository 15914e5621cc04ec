"""Random operator graphs and random schedules for them, many of them legal, many not quite."""

from __future__ import annotations

import numpy as np

from shorthaul.tensor.model import Machine, Operator, OperatorType, Problem, Rules, Tensor
from shorthaul.tensor.plan import Granularity, Plan, Subgraph

SIZES = (3, 4, 6, 8, 12)


def random_problem(rng: np.random.Generator, *, operators: int = 6, sizes: tuple[int, ...] | None = None) -> Problem:
    """A connected-ish graph whose shapes fit; a few sizes, so that outputs often share a shape."""
    few = rng.choice(SIZES if sizes is None else sizes, size=int(rng.integers(1, 4)), replace=False)
    tensors = [Tensor(int(rng.choice(few)), int(rng.choice(few))) for _ in range(2)]
    made: list[Operator] = []
    for _ in range(int(rng.integers(1, operators + 1))):
        first = int(rng.integers(len(tensors)))
        cost = float(rng.integers(0, 50))
        if rng.random() < 0.5:
            made.append(_matmul(rng, tensors, few, first, cost))
        else:
            made.append(_pointwise(rng, tensors, first, cost))
    native = (int(rng.choice((2, 4, 8))), int(rng.choice((2, 4, 8))))
    machine = Machine(float(rng.integers(20, 900)), float(rng.choice((0.5, 2, 7))), *native)
    return Problem(tuple(tensors), tuple(made), machine)


def _matmul(rng, tensors, sizes, first, cost):
    if rng.random() < 0.5:
        left = first
        fitting = [t for t, tensor in enumerate(tensors) if tensor.height == tensors[left].width]
        if fitting and rng.random() < 0.6:
            right = int(rng.choice(fitting))
        else:
            right = len(tensors)
            tensors.append(Tensor(int(rng.choice(sizes)), tensors[left].width))
    else:
        right = first
        left = len(tensors)
        tensors.append(Tensor(tensors[right].height, int(rng.choice(sizes))))
    tensors.append(Tensor(tensors[right].width, tensors[left].height))
    return Operator(OperatorType.MATMUL, (left, right), len(tensors) - 1, cost)


def _pointwise(rng, tensors, first, cost):
    inputs = [first]
    fitting = [t for t, tensor in enumerate(tensors) if tensor == tensors[first]]
    if rng.random() < 0.5:
        inputs.append(int(rng.choice(fitting)))
    tensors.append(tensors[first])
    return Operator(OperatorType.POINTWISE, tuple(inputs), len(tensors) - 1, cost)


def random_plan(rng: np.random.Generator, problem: Problem, rules: Rules) -> Plan:
    """Operators in order, cut into groups, some computed again, some tensors kept, all kinds of tiles and orders."""
    groups: list[list[int]] = []
    for index in problem.topological_order:
        if groups and rng.random() < 0.6:
            groups[-1].append(index)
        else:
            groups.append([index])
    for group in groups:
        if rng.random() < 0.4:
            _recompute(rng, problem, group)
        if rng.random() < 0.03:
            rng.shuffle(group)
    if len(groups) > 1 and rng.random() < 0.05:
        groups.pop(int(rng.integers(len(groups))))
    return Plan(tuple(_subgraph(rng, problem, rules, group) for group in groups))


def _recompute(rng, problem, group):
    sources = {problem.producer[t] for op in group for t in problem.operators[op].inputs} - {None, *group}
    if sources:
        group.append(int(rng.choice(sorted(sources))))
        group.sort(key=problem.topological_order.index)


def _subgraph(rng, problem, rules, group):
    produced = [problem.operators[op].output for op in group]
    output = problem.tensors[produced[-1]]
    depths = [problem.reduction(op) for op in group if problem.operators[op].is_matmul]
    most = (problem.machine.native_width, problem.machine.native_height) if rules.granularity_is_native else (12, 12)
    granularity = Granularity(
        int(rng.integers(1, most[0] + 1)),
        int(rng.integers(1, most[1] + 1)),
        int(rng.integers(1, min([most[0], *depths]) + 1 + (rng.random() < 0.03))),
    )
    retained = [t for t in produced if problem.consumers[t] and rng.random() < 0.3]
    if rng.random() < (0.02 if rules.granularity_is_native else 0.3):
        retained.append(int(rng.integers(len(problem.tensors))))
    tiles = -(-output.width // granularity.w) * -(-output.height // granularity.h)
    traversal = None
    if rng.random() < 0.6:
        traversal = tuple(range(tiles)) if rng.random() < 0.3 else tuple(map(int, rng.permutation(tiles)))
    return Subgraph(tuple(group), granularity, tuple(dict.fromkeys(retained)), traversal, 0.0)
