"""A stretch of a sequence on its own: its operators, what others made for it, and what others need of it."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace
from typing import NamedTuple

from shorthaul.tensor.model import Operator, OperatorType, Problem
from shorthaul.tensor.plan import Plan
from shorthaul.tensor.search.schedules import Sequence


class Stretch(NamedTuple):
    """The groups of a sequence from ``begin`` to ``end``, as a problem of its own.

    ``operators`` are the numbers of its operators in the whole problem. Behind them the problem has one operator for
    each tensor that a later group needs: it stands for all that comes after the stretch.
    """

    begin: int
    end: int
    problem: Problem
    operators: tuple[int, ...]
    tensors: tuple[int, ...]

    @property
    def later(self) -> frozenset[int]:
        """The operators that stand for what comes after."""
        return frozenset(range(len(self.operators), len(self.problem.operators)))

    def alone(self) -> tuple[Problem, list[int]]:
        """Return the problem of the stretch without what stands for later groups, and the tensors that these need."""
        count = len(self.operators)
        needed = [operator.inputs[0] for operator in self.problem.operators[count:]]
        tensors, operators = self.problem.tensors[: len(self.tensors)], self.problem.operators[:count]
        return replace(self.problem, tensors=tensors, operators=operators), needed

    def own(self, sequence: Sequence) -> Sequence:
        """Return what the stretch has of the whole sequence, in its own numbers."""
        number = {operator: place for place, operator in enumerate(self.operators)}
        return tuple(tuple(sorted(number[operator] for operator in group)) for group in sequence[self.begin : self.end])

    def plan(self, plan: Plan) -> Plan:
        """Return what the stretch takes of a plan of the sequence, in its own numbers."""
        number = {operator: place for place, operator in enumerate(self.operators)}
        tensor = {tensor: place for place, tensor in enumerate(self.tensors)}
        return Plan(
            tuple(
                replace(
                    subgraph,
                    operators=tuple(number[operator] for operator in subgraph.operators),
                    retained=tuple(tensor[kept] for kept in subgraph.retained),
                )
                for subgraph in plan.subgraphs[self.begin : self.end]
            )
        )

    def into(self, sequence: Sequence, found: Sequence) -> Sequence:
        """Return the whole sequence with these groups, in the stretch's numbers, in place of its own."""
        mine = [tuple(self.operators[place] for place in group) for group in found]
        return (*sequence[: self.begin], *mine, *sequence[self.end :])


def stretches(problem: Problem, sequence: Sequence, plan: Plan, size: int, first: int) -> Iterator[Stretch]:
    """Cut a sequence into stretches of at least ``size`` operators (the first one: ``first``), as few more as can be.

    They come from the last to the first. None ends where its ``plan`` keeps something in fast memory, nor between who
    stores a tensor and who makes it again for the next group alone.
    """
    ends, wanted = [], first
    whole = _whole(problem, sequence, plan)
    for place, subgraph in enumerate(plan.subgraphs):
        wanted -= len(subgraph.operators)
        if (wanted <= 0 and not subgraph.retained and place + 1 not in whole) or place + 1 == len(sequence):
            ends.append(place + 1)
            wanted = size
    later: set[int] = set()  # tensors that later groups take of earlier ones
    for begin, end in reversed([*zip([0, *ends], ends, strict=False)]):
        yield _stretch(problem, sequence, begin, end, later)
        for group in reversed(sequence[begin:end]):
            later |= {tensor for index in group for tensor in problem.operators[index].inputs}
            later -= {problem.operators[index].output for index in group}


def _whole(problem: Problem, sequence: Sequence, plan: Plan) -> set[int]:
    """Return the places of groups before which a tensor is stored that is made again behind, and not stored there."""
    made = [{problem.operators[index].output for index in group} for group in sequence]
    taken = [{tensor for index in group for tensor in problem.operators[index].inputs} for group in sequence]
    kept = [made[place] & set(subgraph.retained) for place, subgraph in enumerate(plan.subgraphs)]
    again: list[set[int]] = []  # what groups behind the next one take besides, from the last group on
    beyond: set[int] = set()
    later: set[int] = set()
    for here, mine, asked in zip(reversed(kept), reversed(made), reversed(taken), strict=True):
        again.append(here & beyond)
        beyond = later - mine
        later = (later | asked) - mine
    found: set[int] = set()
    stored: dict[int, int] = {}
    for place, tensors in enumerate(reversed(again)):
        for tensor in tensors & stored.keys():
            found.update(range(stored[tensor] + 1, place + 1))
        stored |= dict.fromkeys(made[place] - kept[place] - taken[place], place)
    return found


def _stretch(problem: Problem, sequence: Sequence, begin: int, end: int, later: Set[int]) -> Stretch:
    inside = sorted({operator for group in sequence[begin:end] for operator in group})
    mine = {problem.operators[index].output for index in inside}
    needed = mine & later
    used = sorted(mine | {tensor for index in inside for tensor in problem.operators[index].inputs})
    number = {tensor: place for place, tensor in enumerate(used)}
    operators = [
        Operator(item.kind, tuple(number[tensor] for tensor in item.inputs), number[item.output], item.base_cost)
        for item in (problem.operators[index] for index in inside)
    ]
    tensors = [problem.tensors[tensor] for tensor in used]
    for tensor in sorted(needed):
        operators.append(Operator(OperatorType.POINTWISE, (number[tensor],), len(tensors), 0.0))
        tensors.append(problem.tensors[tensor])
    return Stretch(begin, end, Problem(tuple(tensors), tuple(operators), problem.machine), tuple(inside), tuple(used))
