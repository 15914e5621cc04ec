"""What a group of operators asks for and computes, straight from a walk through its steps."""

from __future__ import annotations

from shorthaul.tensor.check.slices import STEP, TILE, WHOLE, Column, Slice
from shorthaul.tensor.check.steps import Extent, walk
from shorthaul.tensor.model import Problem

_CODES = {Extent.FULL: WHOLE, Extent.TILE: TILE, Extent.STEP: STEP}


def column(
    problem: Problem, inside: frozenset[int], outputs: list[int], resident: frozenset[int], retained: frozenset[int]
) -> Column:
    """Return the column of the operators ``inside``, whose ``outputs`` are stored or retained."""
    works, inputs = walk(problem, inside, outputs)
    loads: dict[int, list[Slice]] = {}
    for demand in inputs:
        if demand.tensor not in resident:
            shape = problem.tensors[demand.tensor]
            length = 0 if demand.sink is None else problem.reduction(demand.sink)
            item = Slice(_CODES[demand.rows], _CODES[demand.columns], length, shape.height, shape.width)
            if item not in (slices := loads.setdefault(demand.tensor, [])):
                slices.append(item)
    made: dict[int, list[Slice]] = {}
    for work in works:
        demand, operator = work.demand, problem.operators[work.operator]
        shape = problem.tensors[operator.output]
        length = 0 if demand.sink is None else problem.reduction(demand.sink)
        part = "none" if work.reduction is None else work.reduction.value
        codes = (_CODES[demand.rows], _CODES[demand.columns])
        item = Slice(*codes, length, shape.height, shape.width, operator.base_cost, demand.marking.value, part)
        if item not in (slices := made.setdefault(work.operator, [])):
            slices.append(item)
    matmuls = [index for index in inside if problem.operators[index].is_matmul]
    prologues = [0, 0]
    for index in matmuls:
        for side, tensor in enumerate(problem.operators[index].inputs):
            source = problem.producer[tensor]
            if source is not None and source in inside and not problem.operators[source].is_matmul:
                prologues[side] = max(prologues[side], problem.reduction(index))
    shape = problem.tensors[outputs[0]]
    lengths = [item.length for slices in made.values() for item in slices]
    return Column(
        height=shape.height,
        width=shape.width,
        longest=max(lengths, default=0),
        deepest=min((problem.reduction(index) for index in matmuls), default=1),
        prologues=(prologues[0], prologues[1]),
        loads=tuple(sorted(map(_sorted, loads.values()), key=repr)),
        works=tuple(sorted(map(_sorted, made.values()), key=repr)),
        stored=sum(tensor not in retained for tensor in outputs),
        held=sum(problem.tensors[tensor].size for tensor in [*resident, *retained]),
    )


def _sorted(slices: list[Slice]) -> tuple[Slice, ...]:
    return tuple(sorted(slices, key=repr))
