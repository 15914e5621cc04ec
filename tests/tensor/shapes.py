"""Small operator graphs of many shapes, and groups of their operators: what hunts for wrong bounds draw from.

Chains that take their weights again, residual blocks, powers of square matrices, tensors that are left and right
operands, Pointwise operators before products, diamonds and fan-outs; native tiles and capacities of all kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from shorthaul.tensor.model import Machine, Problem
from shorthaul.tensor.workloads.cases import GraphBuilder

SIZES = ((1, 2, 3), (2, 3), (2, 4), (3, 6), (2, 3, 5), (1, 4), (3, 4), (2, 6))
NATIVES = ((1, 1), (1, 4), (4, 1), (2, 2), (2, 3), (3, 2), (3, 3), (5, 2), (2, 5), (4, 4), (6, 3))
_COSTS = (0, 0, 1, 1, 3, 10)

Growth = Callable[["_Shape"], None]


class _Shape:
    """A graph in the making; ``made`` are its tensors so far."""

    def __init__(self, random: Random, sizes: tuple[int, ...]) -> None:
        self.random, self.sizes, self.graph = random, sizes, GraphBuilder()
        self.made = [self.input(), self.input()]

    def input(self, height: int = 0, width: int = 0) -> int:
        return self.graph.tensor(height or self.random.choice(self.sizes), width or self.random.choice(self.sizes))

    def recent(self) -> int:
        return self.random.choice(self.made[-3:] if self.random.random() < 0.6 else self.made)

    def matmul(self, left: int, right: int) -> None:
        self.made.append(self.graph.matmul(left, right, self.random.choice(_COSTS)))

    def pointwise(self, *inputs: int) -> None:
        self.made.append(self.graph.pointwise(inputs, self.random.choice(_COSTS)))

    def times(self, left: int, width: int = 0) -> None:
        """Multiply by a tensor that is there already, if one fits, or by a new one."""
        tensors = self.graph.tensors
        depth = tensors[left].width
        fitting = [t for t, each in enumerate(tensors) if each.height == depth and width in (0, each.width)]
        is_again = fitting and self.random.random() < 0.5
        self.matmul(left, self.random.choice(fitting) if is_again else self.input(depth, width))


def _chain(shape: _Shape) -> None:
    if shape.random.random() < 0.3:
        shape.pointwise(shape.made[-1])
    else:
        shape.times(shape.made[-1])


def _residual(shape: _Shape) -> None:
    begin = shape.made[-1]
    shape.times(begin)
    shape.times(shape.made[-1], shape.graph.tensors[begin].width)
    shape.pointwise(shape.made[-1], begin)


def _operands(shape: _Shape) -> None:
    """Products whose operands are what others made, on either side."""
    left = shape.recent()
    fitting = [t for t in shape.made if shape.graph.tensors[t].height == shape.graph.tensors[left].width]
    if fitting and shape.random.random() < 0.7:
        shape.matmul(left, shape.random.choice(fitting))
    else:
        shape.matmul(shape.input(0, shape.graph.tensors[left].height), left)


def _prologue(shape: _Shape) -> None:
    left = shape.made[-1]
    right = shape.input(shape.graph.tensors[left].width)
    for side in (left, right):
        if shape.random.random() < 0.6:
            shape.pointwise(side)
            left, right = (shape.made[-1], right) if side == left else (left, shape.made[-1])
    shape.matmul(left, right)


def _diamond(shape: _Shape) -> None:
    begin = shape.recent()
    alike = [t for t in shape.made if shape.graph.tensors[t] == shape.graph.tensors[begin]]
    if shape.random.random() < 0.5:
        shape.pointwise(begin, *shape.random.choices(alike, k=shape.random.randint(0, 2)))
    else:
        shape.times(begin)


GROWTHS: tuple[Growth, ...] = (_chain, _residual, _operands, _prologue, _diamond)


def shaped_problem(random: Random, operators: int, *, is_square: bool | None = None) -> Problem:
    """Return a graph of about so many operators, a third of them of square matrices of one size."""
    sizes = random.choice(SIZES)
    if random.random() < 1 / 3 if is_square is None else is_square:
        sizes = (random.choice(sizes),)
    shape = _Shape(random, sizes)
    growth = random.choice(GROWTHS)
    while len(shape.graph.operators) < operators:
        growth(shape)
    largest = max(tensor.size for tensor in shape.graph.tensors)
    capacity = max(3.0, random.choice((0.7, 1, 1.2, 1.5, 2, 2.5, 3, 4, 6)) * largest)
    bandwidth = random.choice((0.01, 0.03, 0.1, 0.3, 0.7, 1, 3, 9))
    return replace(shape.graph.problem(1, 1), machine=Machine(capacity, bandwidth, *random.choice(NATIVES)))


def shaped_group(
    random: Random, problem: Problem
) -> tuple[frozenset[int], tuple[int, ...], frozenset[int], frozenset[int]] | None:
    """Return operators that hang together, what they store or retain, find resident and retain; None if none is met."""
    made = [operator.output for operator in problem.operators]
    kept = [tensor for tensor in made if problem.consumers[tensor]]
    for _ in range(20):
        inside = {random.randrange(len(made))}
        for _ in range(random.randrange(len(made))):
            around = {user for index in inside for user in problem.consumers[made[index]]}
            around |= {problem.producer[t] for index in inside for t in problem.operators[index].inputs} - {None}
            inside.add(random.choice(sorted(around | inside)))
        produced = {made[index] for index in inside}
        taken = {tensor for index in inside for tensor in problem.operators[index].inputs}
        retained = {tensor for tensor in kept if tensor in produced and random.random() < 0.3}
        resident = {tensor for tensor in kept if random.random() < (0.4 if tensor in taken - produced else 0.05)}
        outputs = (produced - taken) | retained
        if len({problem.tensors[tensor] for tensor in outputs}) == 1:
            return frozenset(inside), tuple(sorted(outputs)), frozenset(resident), frozenset(retained)
    return None
