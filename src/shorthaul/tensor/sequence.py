"""A sequence of groups as a plan: what must be stored, and what is best retained from one group to the next."""

from __future__ import annotations

from itertools import combinations
from typing import Final, NamedTuple

from shorthaul.tensor.granularity import Execution
from shorthaul.tensor.groups import Group, Groups, bits
from shorthaul.tensor.plan import Plan, Subgraph

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
    produced_at: dict[int, int] = {}
    users: list[dict[int, list[int]]] = []
    for position, group in enumerate(sequence):
        for tensor in group.needs:
            source = produced_at.get(tensor)
            if source is None:
                return None
            users[source].setdefault(tensor, []).append(position)
        for tensor in bits(group.produced):
            produced_at[tensor] = position
        users.append({})
    rules = groups.rules
    forced, free, shared = ([0] * len(sequence) for _ in range(3))
    for position, wanted in enumerate(users):
        inner = sequence[position].inner
        for tensor, by in wanted.items():
            bit = 1 << tensor
            only_next = by[-1] == position + 1
            if not inner & bit:
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
        if rules.retains_inputs and position + 1 < len(sequence):
            free[position] |= sequence[position].inputs & sequence[position + 1].inputs
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


def evaluate(groups: Groups, sequence: Sequence) -> tuple[float, tuple[Step, ...]] | None:
    """Return the latency of the best plan with these groups in this order, and its steps; None if there is none.

    A shortest path: the states between two groups are the sets of tensors retained.
    """
    members = [groups.group(operators) for operators in sequence]
    passed = links(groups, members)
    if passed is None:
        return None
    states: dict[int, tuple[float, _Path | None]] = {0: (0.0, None)}
    for position, operators in enumerate(sequence):
        shared = passed.shared[position]
        following: dict[int, tuple[float, _Path | None]] = {}
        for retained in _choices(groups, passed.forced[position], passed.free[position]):
            kept_shared = shared & ~retained
            best: tuple[float, _Path | None] | None = None
            for resident, (latency, path) in states.items():
                execution = groups.execution(operators, resident, retained, kept_shared)
                if execution is not None and (best is None or latency + execution.latency < best[0]):
                    total = latency + execution.latency
                    best = (total, _Path(path, Step(operators, retained, kept_shared, execution)))
            if best is not None:
                following[retained] = best
        if not following:
            return None
        states = following
    latency, path = states[0] if 0 in states else min(states.values(), key=lambda state: state[0])
    steps = []
    while path is not None:
        steps.append(path.step)
        path = path.before
    return latency, tuple(reversed(steps))


class _Path(NamedTuple):
    before: _Path | None
    step: Step


def executable(groups: Groups, sequence: Sequence) -> Sequence | None:
    """Return the groups in an order in which every input is there, as close to the given one as it gets."""
    there = groups.graph_inputs
    waiting = [groups.group(operators) for operators in sequence]
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
