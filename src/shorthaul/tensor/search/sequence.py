"""A sequence of groups as a plan: what must be stored, and what is best retained from one group to the next."""

from __future__ import annotations

import math
from itertools import combinations, pairwise
from typing import Final, NamedTuple

from shorthaul.tensor.cost_model.granularity import Execution
from shorthaul.tensor.plan import Plan, Subgraph
from shorthaul.tensor.search.groups import Group, Groups, bits

#: Above this many tensors that could be retained, only none, each alone and as many as fit are tried.
_MOST_FREE: Final = 3

Sequence = tuple[int, ...]


class Links(NamedTuple):
    """What the groups of a sequence pass on, by position, as bit masks of tensors.

    ``forced`` must be retained for the next group, ``free`` may be, ``shared`` are stored although the group consumes
    them itself; all other tensors that a later group wants are stored.
    """

    forced: list[int]
    free: list[int]
    shared: list[int]


def links(groups: Groups, sequence: list[Group]) -> Links | None:
    """Return what the groups of a sequence pass on, None if some group would miss an input."""
    rules = groups.rules
    forced, free, shared = ([0] * len(sequence) for _ in range(3))
    latest: dict[int, list[int]] = {}  # by tensor: who produced it last, who used that last, the tensor
    produced: list[list[int]] = []
    for position, group in enumerate(sequence):
        for tensor in group.needs:
            try:
                latest[tensor][1] = position
            except KeyError:
                return None
        for tensor in group.makes:
            latest[tensor] = made = [position, -1, tensor]
            produced.append(made)
    for position, last_user, tensor in produced:
        if last_user < 0:
            continue
        bit = 1 << tensor
        only_next = last_user == position + 1
        if not sequence[position].inner & bit:
            if only_next:
                free[position] |= bit
        elif rules.stores_shared:
            shared[position] |= bit
            if only_next:
                free[position] |= bit
        elif only_next:
            forced[position] |= bit
        else:
            return None
    if rules.retains_inputs:
        for position, (group, following) in enumerate(pairwise(sequence)):
            free[position] |= group.inputs & following.inputs
    return Links(forced, free, shared)


def _choices(groups: Groups, forced: int, free: int) -> list[int]:
    """Return the sets of tensors worth retaining."""
    if not free and not forced:
        return [0]
    capacity = groups.capacity
    tensors = [1 << tensor for tensor in bits(free) if groups.size[tensor] <= capacity]
    if len(tensors) <= _MOST_FREE:
        sets = [sum(chosen) for count in range(len(tensors) + 1) for chosen in combinations(tensors, count)]
    else:
        sets = [0, *tensors]
        most = 0
        for tensor in sorted(tensors, key=lambda bit: -groups.size[bit.bit_length() - 1]):
            if groups.total_size(forced | most | tensor) <= capacity:
                most |= tensor
                sets.append(most)
        sets = list(dict.fromkeys(sets))
    return [forced | chosen for chosen in sets if groups.total_size(forced | chosen) <= capacity]


class Step(NamedTuple):
    """One group of a plan: what it retains, what it stores besides its sinks, and how it is executed."""

    operators: int
    retained: int
    shared: int
    execution: Execution


class Evaluation(NamedTuple):
    """The best plan of a sequence: its latency, and what each group retains (innermost last, as nested pairs)."""

    latency: float
    retained: Retained


#: What the groups up to one retain: that of the last, and the same for those before it.
Retained = tuple[int, "Retained | None"]


def evaluate(groups: Groups, sequence: Sequence) -> Evaluation | None:
    """Return the best plan with these groups in this order, None if there is none.

    A shortest path: the states between two groups are the sets of tensors retained.
    """
    known = groups.known
    passed = links(groups, [known[operators] for operators in sequence])
    if passed is None:
        return None
    states: dict[int, tuple[float, Retained | None]] = {0: (0.0, None)}
    for operators, forced, free, shared in zip(sequence, *passed, strict=True):
        following: dict[int, tuple[float, Retained | None]] = {}
        for retained in _choices(groups, forced, free) if forced or free else (0,):
            best = math.inf
            path: Retained | None = None
            for resident, (latency, before) in states.items():
                execution = groups.execution(operators, resident, retained, shared & ~retained)
                if execution is not None and latency + execution.latency < best:
                    best = latency + execution.latency
                    path = (retained, before)
            if path is not None:
                following[retained] = best, path
        if not following:
            return None
        states = following
    latency, retained_last = min(states.values(), key=lambda state: state[0])
    assert retained_last is not None, "a sequence has at least one group"
    return Evaluation(latency, retained_last)


def steps_of(groups: Groups, sequence: Sequence, found: Evaluation) -> tuple[Step, ...]:
    """Return the steps of an evaluated sequence."""
    passed = links(groups, [groups.group(operators) for operators in sequence])
    assert passed is not None, "the sequence was evaluated"
    kept: list[int] = []
    path: Retained | None = found.retained
    while path is not None:
        retained, path = path
        kept.append(retained)
    steps = []
    resident = 0
    for operators, shared, retained in zip(sequence, passed.shared, reversed(kept), strict=True):
        execution = groups.execution(operators, resident, retained, shared & ~retained)
        assert execution is not None, "the sequence was evaluated"
        steps.append(Step(operators, retained, shared & ~retained, execution))
        resident = retained
    return tuple(steps)


def executable(groups: Groups, sequence: Sequence) -> Sequence | None:
    """Return the groups in an order in which every input is there, as close to the given one as it gets."""
    there = groups.graph_inputs
    known = groups.known
    waiting = [known[operators] for operators in sequence]
    for group in waiting:
        if group.inputs & ~there:
            break
        there |= group.produced
    else:
        return sequence
    there = groups.graph_inputs
    order: list[int] = []
    while waiting:
        for number, group in enumerate(waiting):
            if not group.inputs & ~there:
                order.append(group.operators)
                there |= group.produced
                del waiting[number]
                break
        else:
            return None
    return tuple(order)


def plan_of(groups: Groups, steps: tuple[Step, ...]) -> Plan:
    """Return the plan with these steps."""
    problem = groups.problem
    position = {operator: number for number, operator in enumerate(problem.topological_order)}
    subgraphs = []
    for step in steps:
        execution = step.execution
        size = execution.granularity
        output = next(bits(groups.outputs(step.operators, step.retained, step.shared)))
        shape = problem.tensors[output]
        traversal = None
        if execution.order is not None:
            order = execution.order.order(-(-shape.height // size.h), -(-shape.width // size.w))
            traversal = tuple(order.tolist())
        subgraphs.append(
            Subgraph(
                operators=tuple(sorted(bits(step.operators), key=position.__getitem__)),
                granularity=size,
                retained=tuple(bits(step.retained)),
                traversal=traversal,
                latency=execution.latency,
            )
        )
    return Plan(tuple(subgraphs))
