"""What the replay of a subgraph depends on, without the names of tensors and operators: repeated blocks share it."""

from __future__ import annotations

from collections.abc import Hashable

from shorthaul.tensor.check.steps import Demand, Surroundings, Walk, held_throughout
from shorthaul.tensor.model import Problem


def likeness(problem: Problem, inside: frozenset[int], walked: Walk, around: Surroundings) -> Hashable:
    """Return a key: subgraphs of equal keys, granularities and orders do the same in every step.

    Tensors and operators are numbered as the walk up from the outputs meets them; beside that stands what the steps
    know of each.
    """
    works, inputs = walked
    tensors: dict[int, int] = {}
    operators: dict[int, int] = {}

    def named(demand: Demand) -> Hashable:
        tensor = tensors.setdefault(demand.tensor, len(tensors))
        sink = None if demand.sink is None else operators.setdefault(demand.sink, len(operators))
        return tensor, demand.rows, demand.columns, sink, demand.marking

    asked = [
        (operators.setdefault(work.operator, len(operators)), named(work.demand), work.reduction) for work in works
    ]
    loaded = [named(demand) for demand in inputs if demand.tensor not in around.resident]
    return (
        tuple(asked),
        tuple(loaded),
        tuple((problem.tensors[tensor], tensor in around.retained) for tensor in tensors),
        tuple(
            (problem.operators[index].base_cost, problem.operators[index].is_matmul and problem.reduction(index))
            for index in operators
        ),
        len(set(around.outputs) - around.retained),
        held_throughout(problem, inside, around),
        around.flushes,
    )
