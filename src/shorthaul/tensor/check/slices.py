"""What a subgraph asks for and computes, without names: slices by tensor to load, and by operator to compute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from shorthaul.tensor.check.steps import Extent, walk
from shorthaul.tensor.model import Problem

#: What an axis of a slice follows.
WHOLE: Final = 0
TILE: Final = 1
STEP: Final = 2
_CODES: Final = {Extent.FULL: WHOLE, Extent.TILE: TILE, Extent.STEP: STEP}


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice of a tensor of ``height`` x ``width``: what its axes follow, and in the steps of which reduction.

    ``length`` is 0 for a slice that only the last step of a tile asks for. A slice that is computed has a ``cost``, a
    ``marking`` and, for a MatMul, ``part`` if a step does part of the reduction, or the whole of it.
    """

    rows: int
    columns: int
    length: int
    height: int
    width: int
    cost: float = 0.0
    marking: str = "none"
    part: str = "none"


@dataclass(frozen=True, slots=True)
class Column:
    """A subgraph in its surroundings, without names: slices by tensor to load, and by operator to compute."""

    height: int
    width: int
    longest: int
    deepest: int
    prologues: tuple[int, int]
    loads: tuple[tuple[Slice, ...], ...]
    works: tuple[tuple[Slice, ...], ...]
    stored: int
    held: int


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


def meets(group: tuple[Slice, ...], axis: str) -> bool:
    """True if some of these slices follow a tile along this axis, and some a step."""
    return {TILE, STEP} <= {getattr(item, axis) for item in group}


def mixed(group: tuple[Slice, ...]) -> bool:
    """Return whether slices may coincide by chance: along one axis some follow the tile and others the step."""
    return meets(group, "rows") or meets(group, "columns")
